//! Whose a thread is.

use threadkeep::{Account, ChangeOwner};
use threadkeep_calls as api;

use super::threads::named;
use crate::access::Admin;
use crate::answer::{Answer, at, json};
use crate::conditions::{IfMatch, Lease};
use crate::input::{Body, Path};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    let change = table::put(
        ("changeOwner", "/v1/threads/{thread}/owner"),
        "Gives a thread to another account, with the threads of its subagents.",
        change,
        Gives::json::<api::Thread>("The thread as it is now.").versioned(),
    );
    Routes::new("Threads", "", [change.example(r#"{"account":"ann"}"#)])
}

/// Whoever gives a thread away puts it into the account of somebody who did not ask: a thing for those who administer.
async fn change(
    Admin(access): Admin,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(asked): Body<api::ChangeOwner>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let change = ChangeOwner { to: Account::new(asked.account)?, expected: if_match.version() };
    let thread = engine.change_owner(thread.id, change).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}
