//! The primitives that people and agents share: the life of a thread, and what is put before whoever works on it.

use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{Acknowledge, ChangeLifecycle, Decide, Inject, Spawn, Uuid, Version};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::threads::named;
use crate::access::{Access, Writing};
use crate::answer::{Answer, at, created, json};
use crate::conditions::{IfMatch, Lease};
use crate::input::{Body, Path, Query};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Primitives",
        "What people and agents do with threads in the same words.",
        [
            table::post(
                ("spawnThread", "/v1/threads/{thread}/spawn"),
                "Makes a thread for an intent of its own, with all, some or nothing of what this one holds.",
                spawn,
                Gives::created::<api::Spawned>("The new thread, and where it came from."),
            )
            .example(
                r#"{"intent":"Fix the flaky test","inherit":"partial","inheritScope":["messages:last=20","skills"]}"#,
            ),
            table::post(
                ("changeLifecycle", "/v1/threads/{thread}/lifecycle"),
                "Moves a thread on in its life: done, cancel, suspend, resume, or archive, which is final.",
                lifecycle,
                Gives::json::<api::Thread>("The thread as it is now.").versioned(),
            )
            .example(r#"{"action":"suspend","reason":"Waits for the review"}"#)
            .fails([ErrorCode::InvalidTransition]),
            table::post(
                ("inject", "/v1/threads/{thread}/inject"),
                "Puts something before whoever works on a thread; the next begin or step of an execution takes it up.",
                inject,
                Gives::created::<api::Injected>("What was injected."),
            )
            .example(r#"{"type":"constraint","content":"Only the standard library","urgency":"immediate"}"#)
            .fails([ErrorCode::InjectionsFull, ErrorCode::ThreadClosed, ErrorCode::ThreadTerminated]),
            table::get(
                ("listInjections", "/v1/threads/{thread}/injections"),
                "Lists what was injected and waits, or was taken up.",
                injections,
                Gives::json::<api::Page<api::Injection>>("All of them, in the order they were made."),
            ),
            table::post(
                ("acknowledgeInjection", "/v1/threads/{thread}/injections/{injection}/ack"),
                "Takes up an injection by hand; once more changes nothing.",
                acknowledge,
                Gives::json::<api::Injection>("The injection, and who took it up."),
            )
            .example(r#"{}"#)
            .fails([ErrorCode::InjectionNotFound]),
            table::post(
                ("decide", "/v1/threads/{thread}/decide"),
                "Records the answer to a question; the newest one counts.",
                decide,
                Gives::created::<api::Decision>("The answer that counts."),
            )
            .example(r#"{"question":"Which store?","answer":"SQLite","reason":"One file"}"#)
            .fails([ErrorCode::DecisionsFull, ErrorCode::ThreadClosed]),
            table::get(
                ("listDecisions", "/v1/threads/{thread}/decisions"),
                "Lists the answers that count on a thread.",
                decisions,
                Gives::json::<api::Page<api::Decision>>("All of them, in the order they were given."),
            )
            .fails([ErrorCode::VersionInFuture]),
        ],
    )
}

async fn spawn(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    Body(asked): Body<api::Spawn>,
) -> Answer {
    let inherit = asked.inherits()?;
    let parent = named(&access, &name).await?;
    let api::Spawn { intent, agent_id, .. } = asked;
    let spawn = Spawn { intent, inherit, agent_id, expected: if_match.version() };
    let child = access.engine.spawn(parent.id, spawn).await?;
    Ok(created(&api::Spawned { thread_id: child.id, parent_id: parent.id }))
}

async fn lifecycle(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(asked): Body<api::ChangeLifecycle>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let api::ChangeLifecycle { action, reason } = asked;
    let change = ChangeLifecycle { action, reason, expected: if_match.version() };
    let thread = engine.lifecycle(thread.id, change).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn inject(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    Body(asked): Body<api::Inject>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let api::Inject { kind, content, urgency } = asked;
    let inject = Inject { kind, content, urgency, expected: if_match.version() };
    let injected = access.engine.inject(thread.id, inject).await?;
    Ok(created(&api::Injected { injection_id: injected.id }))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Which {
    /// Those that wait, those that were taken up, or all; those that wait if nothing is said.
    state: api::InjectionState,
}

async fn injections(access: Access, Path(name): Path<String>, Query(which): Query<Which>) -> Answer {
    let thread = named(&access, &name).await?;
    let found = access.engine.injections(thread.id, which.state.into()).await?;
    let items: Vec<_> = found.iter().map(api::Injection::from).collect();
    let total = Some(items.len() as u64);
    Ok(json(&api::Page { items, next_cursor: None, total }))
}

async fn acknowledge(
    Writing(access): Writing,
    Path((name, injection)): Path<(String, String)>,
    Body(api::Nothing {}): Body<api::Nothing>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let injection: Uuid = injection.parse()?;
    let taken = access.engine.acknowledge(thread.id, Acknowledge { injection }).await?;
    Ok(json(&api::Injection::from(&taken)))
}

async fn decide(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    Body(asked): Body<api::Decide>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let api::Decide { question, answer, reason } = asked;
    let decide = Decide { question, answer, reason, expected: if_match.version() };
    let decision = access.engine.decide(thread.id, decide).await?;
    Ok(created(&api::Decision::from(&decision)))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct AsOf {
    /// As the thread was at this version.
    as_of: Option<Version>,
}

async fn decisions(access: Access, Path(name): Path<String>, Query(at): Query<AsOf>) -> Answer {
    let thread = named(&access, &name).await?;
    let found = access.engine.decisions(thread.id, at.as_of).await?;
    let items: Vec<_> = found.iter().map(api::Decision::from).collect();
    let total = Some(items.len() as u64);
    Ok(json(&api::Page { items, next_cursor: None, total }))
}
