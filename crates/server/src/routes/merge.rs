//! Merges: what other threads made comes together in one of them.

use threadkeep::{Merge, Uuid, Verb};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::threads::named;
use crate::access::{Access, Writing};
use crate::answer::{Answer, at, created, json};
use crate::conditions::{IfMatch, Lease};
use crate::input::{Body, Path};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Merges",
        "What other threads made comes together in one of them: files, values and decisions.",
        [
            table::post(
                ("merge", "/v1/threads/{thread}/merge"),
                "Merges what other threads made into a thread, whole or not at all.",
                merge,
                Gives::json::<api::MergeTold>("What would happen: a dry run, of which nothing is kept."),
            )
            .gives(
                Gives::created::<api::MergeTold>(
                    "The merge as it was recorded, and its status. One that is conflicted, failed its check or waits for \
                     an approval is recorded too, and changed nothing else.",
                )
                .versioned(),
            )
            .example(
                r#"{"sources":["T-5928a90d-d53b-488f-a829-4e36442142ee"],"conflictStrategy":{"file":"three_way"},"choices":[{"path":"/notes.md","take":"theirs"}],"dryRun":true}"#,
            )
            .fails([
                ErrorCode::ApprovalRequired,
                ErrorCode::QuotaExceeded,
                ErrorCode::ThreadClosed,
                ErrorCode::ValidationNotConfigured,
            ]),
            table::get(
                ("listMerges", "/v1/threads/{thread}/merges"),
                "Lists the merges into a thread, those that changed nothing too.",
                merges,
                Gives::json::<api::Page<api::MergeTold>>("All of them, in the order in which they were asked for."),
            ),
            table::get(
                ("getMerge", "/v1/threads/{thread}/merges/{merge}"),
                "Shows a merge, as far as it came.",
                show,
                Gives::json::<api::MergeTold>("The merge."),
            ),
        ],
    )
}

async fn merge(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(asked): Body<api::Merge>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let mut sources = Vec::new();
    for source in asked.names()? {
        sources.push(access.engine.seen(source, Verb::ReadFile).await?.0.id);
    }
    let dry_run = asked.dry_run;
    let merge = Merge { sources, plan: asked.plan()?, dry_run, expected: if_match.version() };
    let done = lease.engine(&access.engine, &thread).merge(thread.id, merge).await?;
    let told = api::MergeTold::from(&done);
    Ok(match done.at {
        Some((version, _)) => at(version, created(&told)),
        None => json(&told),
    })
}

async fn merges(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let found = access.engine.merges(thread.id).await?;
    let items: Vec<_> = found.iter().map(api::MergeTold::from).collect();
    let total = Some(items.len() as u64);
    Ok(json(&api::Page { items, next_cursor: None, total }))
}

async fn show(access: Access, Path((name, id)): Path<(String, String)>) -> Answer {
    let thread = named(&access, &name).await?;
    let id: Uuid = id.parse()?;
    Ok(json(&api::MergeTold::from(&access.engine.merge_record(thread.id, id).await?)))
}
