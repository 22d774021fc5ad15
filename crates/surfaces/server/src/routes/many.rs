//! One stream over many threads.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{FeedCursor, Invalid, ThreadName, Verb};
use threadkeep_calls::ErrorCode;

use crate::access::Access;
use crate::answer::Answer;
use crate::app::App;
use crate::conditions::LastEventId;
use crate::following::{Following, Threads, Which, cursor, place};
use crate::input::Query;
use crate::stream::{events, ids_of, no_cursor};
use crate::table::{self, Gives, Routes};

/// Threads that one stream may name.
const NAMED_MAX: usize = 1_000;

pub(crate) fn routes() -> Routes {
    let stream = table::get(
        ("streamThreads", "/v1/stream"),
        "Follows many threads as server-sent events; it does not end by itself.",
        stream,
        Gives::events("`id:` is a cursor, `event:` the kind, `data:` an entry of a history."),
    );
    Routes::new("Streams", "", [stream.fails([ErrorCode::InvalidThreadId, ErrorCode::ThreadNotFound])])
}

/// Which threads to follow, and from where on.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Asked {
    /// These threads: up to 1,000 ids, with commas between them.
    threads: Option<String>,
    /// All threads of this project.
    project_id: Option<String>,
    /// A cursor of this stream, or `latest`. Default: from the first entry.
    after: Option<String>,
    /// A ticket, in place of a key.
    ticket: Option<String>,
}

async fn stream(
    State(app): State<App>,
    access: Access,
    LastEventId(came): LastEventId,
    Query(asked): Query<Asked>,
) -> Answer {
    let which = match (&asked.threads, asked.project_id) {
        (Some(names), None) => {
            let mut threads = std::collections::HashSet::new();
            for name in ids_of(names) {
                let (thread, _) = access.engine.seen(name.parse::<ThreadName>()?, Verb::Stream).await?;
                threads.insert(thread.id);
                if threads.len() > NAMED_MAX {
                    let rule = format!("names at most {NAMED_MAX} threads");
                    return Err(Invalid::parameter("threads", rule).into());
                }
            }
            Which::These(threads)
        }
        (None, Some(project)) => Which::Project(project, std::collections::HashSet::new()),
        _ => return Err(Invalid::parameter("threads", "name either threads=ID,ID or projectId=ID").into()),
    };
    let after = match came.as_deref().or(asked.after.as_deref()) {
        None => FeedCursor(0),
        Some("latest") => access.engine.feed_latest().await?,
        Some(text) => place(text, &app.residence.mark)
            .ok_or_else(|| no_cursor("is not a cursor that this stream gave, or latest"))?,
    };
    let threads =
        Threads::follow(&access.engine, which, after, (app.shared.clone(), app.residence.mark.clone())).await?;
    Ok(events(&app, Following::Threads(Box::new(threads)), &cursor(after, &app.residence.mark), Some(access.opened)))
}
