//! Who may do what: transfers, approvals, delegations.

use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{Answer as Said, ApprovalState, Approvals, ThreadName, Uuid, Verdict};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::page_limit;
use super::threads::named;
use crate::access::{Access, Writing};
use crate::answer::{Answer, created, json};
use crate::input::{Body, Path, Query};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Authority",
        "What agents may do: approvals that somebody asks for, and delegations that somebody gives.",
        [
            table::post(
                ("transfer", "/v1/threads/{thread}/transfer"),
                "Asks to be allowed something, or lets agents do something without asking.",
                transfer,
                Gives::created::<api::Transferred>("The approval that waits, or the delegation that holds."),
            )
            .example(r#"{"direction":"request_approval","scope":["delete_file"],"reason":"it is old","timeout":"PT30S","fallback":"skip"}"#)
            .fails([ErrorCode::ThreadClosed]),
            table::get(
                ("listApprovals", "/v1/approvals"),
                "Lists approvals of all threads, in the order in which they were asked: those that wait, unless \
                 something is said.",
                list,
                Gives::json::<api::Page<api::Approval>>("Those that hold."),
            )
            .fails([ErrorCode::InvalidCursor, ErrorCode::InvalidThreadId, ErrorCode::ThreadNotFound]),
            table::get(
                ("getApproval", "/v1/approvals/{approval}"),
                "Shows an approval.",
                show,
                Gives::json::<api::Approval>("The approval."),
            ),
            table::post(
                ("approve", "/v1/approvals/{approval}/approve"),
                "Says yes to an approval.",
                approve,
                Gives::json::<api::Approval>("The approval as it is now."),
            )
            .example(r#"{"reason":"go ahead"}"#)
            .fails([ErrorCode::ApprovalAnswered, ErrorCode::ApprovalUndone]),
            table::post(
                ("deny", "/v1/approvals/{approval}/deny"),
                "Says no to an approval.",
                deny,
                Gives::json::<api::Approval>("The approval as it is now."),
            )
            .example(r#"{"reason":"not today"}"#)
            .fails([ErrorCode::ApprovalAnswered, ErrorCode::ApprovalUndone]),
            table::post(
                ("revokeApproval", "/v1/approvals/{approval}/revoke"),
                "Withdraws an approval that waits, or takes back what was approved.",
                revoke,
                Gives::json::<api::Approval>("The approval as it is now."),
            )
            .example(r#"{"reason":"it is done"}"#)
            .fails([ErrorCode::ApprovalAnswered, ErrorCode::ApprovalUndone]),
            table::get(
                ("listDelegations", "/v1/threads/{thread}/delegations"),
                "Lists what agents may do on a thread without asking.",
                delegations,
                Gives::json::<api::Page<api::Delegation>>("Those that hold."),
            ),
            table::post(
                ("revokeDelegation", "/v1/delegations/{delegation}/revoke"),
                "Takes a delegation back: agents have to ask again.",
                revoke_delegation,
                Gives::json::<api::Delegation>("The delegation that holds no more."),
            )
            .example(r#"{"reason":"it is Monday"}"#),
        ],
    )
}

async fn transfer(Writing(access): Writing, Path(name): Path<String>, Body(asked): Body<api::Transfer>) -> Answer {
    let thread = named(&access, &name).await?;
    let made = access.engine.transfer(thread.id, asked.try_into()?).await?;
    Ok(created(&api::Transferred::from(&made)))
}

/// Which approvals to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Which {
    /// Those that stand like this; `pending` if nothing is said.
    state: Option<State>,
    /// Those of this thread.
    #[schemars(with = "Option<ThreadName>")]
    thread_id: Option<String>,
    /// How many items at most.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where the page before ended.
    cursor: Option<String>,
}

/// How approvals stand that are listed.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ListedState")]
enum State {
    /// Nobody answered yet.
    Pending,
    /// Somebody said yes.
    Approved,
    /// Somebody said no, or nobody said anything in time.
    Denied,
    /// They were withdrawn, or taken back.
    Revoked,
    /// In any way.
    All,
}

async fn list(access: Access, Query(which): Query<Which>) -> Answer {
    let state = match which.state {
        None | Some(State::Pending) => Some(ApprovalState::Pending),
        Some(State::Approved) => Some(ApprovalState::Approved),
        Some(State::Denied) => Some(ApprovalState::Denied),
        Some(State::Revoked) => Some(ApprovalState::Revoked),
        Some(State::All) => None,
    };
    let thread = match &which.thread_id {
        Some(name) => Some(named(&access, name).await?.id),
        None => None,
    };
    let limit = Some(page_limit(&access.engine, which.limit)?);
    let page = access.engine.approvals(Approvals { state, thread, limit, cursor: which.cursor }).await?;
    let items: Vec<_> = page.items.iter().map(api::Approval::from).collect();
    Ok(json(&api::Page { items, next_cursor: page.next, total: None }))
}

async fn show(access: Access, Path(id): Path<String>) -> Answer {
    Ok(json(&api::Approval::from(&access.engine.approval(id.parse()?).await?)))
}

async fn approve(Writing(access): Writing, Path(id): Path<String>, Body(said): Body<api::Answer>) -> Answer {
    answer(&access, Verdict::Approve, id.parse()?, said).await
}

async fn deny(Writing(access): Writing, Path(id): Path<String>, Body(said): Body<api::Answer>) -> Answer {
    answer(&access, Verdict::Deny, id.parse()?, said).await
}

async fn revoke(Writing(access): Writing, Path(id): Path<String>, Body(said): Body<api::Answer>) -> Answer {
    answer(&access, Verdict::Revoke, id.parse()?, said).await
}

async fn answer(access: &Access, verdict: Verdict, id: Uuid, said: api::Answer) -> Answer {
    let approval = access.engine.answer(verdict, Said { id, reason: said.reason }).await?;
    Ok(json(&api::Approval::from(&approval)))
}

async fn delegations(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let found = access.engine.delegations(thread.id).await?;
    let items: Vec<_> = found.iter().map(api::Delegation::from).collect();
    let total = Some(items.len() as u64);
    Ok(json(&api::Page { items, next_cursor: None, total }))
}

async fn revoke_delegation(Writing(access): Writing, Path(id): Path<String>, Body(said): Body<api::Answer>) -> Answer {
    let revoked = access.engine.revoke_delegation(Said { id: id.parse()?, reason: said.reason }).await?;
    Ok(json(&api::Delegation::from(&revoked)))
}
