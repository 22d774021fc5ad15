//! The primitives that people and agents share: the life of a thread, and what is put before whoever works on it.

use threadkeep::ChangeLifecycle;
use threadkeep_api as api;
use threadkeep_api::ErrorCode;

use super::threads::named;
use crate::access::Writing;
use crate::answer::{Answer, at, json};
use crate::conditions::{IfMatch, Lease};
use crate::input::{Body, Path};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Primitives",
        "What people and agents do with threads in the same words.",
        [table::post(
            ("changeLifecycle", "/v1/threads/{thread}/lifecycle"),
            "Moves a thread on in its life: done, cancel, suspend, resume, or archive, which is final.",
            lifecycle,
            Gives::json::<api::Thread>("The thread as it is now.").versioned(),
        )
        .example(r#"{"action":"suspend","reason":"Waits for the review"}"#)
        .fails([ErrorCode::InvalidTransition])],
    )
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
