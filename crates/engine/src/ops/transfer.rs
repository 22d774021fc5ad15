//! `transfer`: asks for an approval, or lets agents act without asking.
//!
//! Answers are read and given next door, in `approvals` and `delegations`.

use std::time::Duration;

use threadkeep_calls::{Direction, Transfer, Transferred};
use threadkeep_model::{
    Actor, ActorKind, ApprovalAsked, Capability, Delegation, Entry, Invalid, Thread, ThreadId, Timestamp, Uuid,
    checked_agent, checked_reason,
};

use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

/// Longest time that something waits for an answer, or holds: a hundred years.
const TIMEOUT_MAX: Duration = Duration::from_secs(100 * 366 * 86_400);

impl Carry for Transfer {
    type Made = Transferred;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Transferred> {
        let transfer = checked(self)?;
        let (id, now) = (Uuid::from_chance(engine.shared.world.chance()), engine.shared.now());
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                decide(thread, &transfer, id, &engine.caller.actor, now)
            })
            .await?;
        match &told.entries[..] {
            [Entry::ApprovalRequested(asked)] => Ok(Transferred { approval_id: Some(asked.id), delegation_id: None }),
            [Entry::Delegated(given)] => Ok(Transferred { approval_id: None, delegation_id: Some(given.id) }),
            _ => Err(Error::broken("a transfer is one entry")),
        }
    }
}

/// The plan: the approval or delegation by `by`, under this id.
fn decide(thread: Thread, transfer: &Transfer, id: Uuid, by: &Actor, now: Timestamp) -> Result<Plan> {
    let entry = match transfer.direction {
        Direction::RequestApproval => Entry::ApprovalRequested(asked(transfer, id, by, now)),
        Direction::Delegate if by.kind != ActorKind::Human => {
            let what = "only a human delegates: ask for an approval instead".to_owned();
            return Err(Error::NotAllowed { what });
        }
        Direction::Delegate => Entry::Delegated(Delegation {
            id,
            scope: transfer.scope.clone(),
            to: transfer.to.clone(),
            reason: transfer.reason.clone(),
            until: transfer.timeout.map(|timeout| after(now, timeout)),
            can_revoke: transfer.can_revoke.unwrap_or(true),
        }),
    };
    open_for(&thread, Change::Content)?;
    Ok(Plan::new(thread, vec![entry]))
}

fn asked(transfer: &Transfer, id: Uuid, by: &Actor, now: Timestamp) -> ApprovalAsked {
    ApprovalAsked {
        id,
        scope: transfer.scope.clone(),
        reason: transfer.reason.clone(),
        timeout_at: transfer.timeout.map(|timeout| after(now, timeout)),
        fallback: transfer.fallback.unwrap_or_default(),
        can_revoke: transfer.can_revoke.unwrap_or(true),
        merge: None,
        call: None,
        asked_by: by.clone(),
        asked_at: now,
    }
}

impl Engine {
    /// The request made when the caller needs `scope` and has no authority for it.
    pub(crate) fn asked_for(&self, scope: Vec<Capability>) -> ApprovalAsked {
        let id = Uuid::from_chance(self.shared.world.chance());
        asked(&Transfer::request_approval(scope), id, &self.caller.actor, self.shared.now())
    }
}

fn checked(transfer: Transfer) -> Result<Transfer, Invalid> {
    if transfer.timeout.is_some_and(|timeout| timeout > TIMEOUT_MAX) {
        return Err(Invalid::body("timeout", "is at most a hundred years"));
    }
    match transfer.direction {
        Direction::RequestApproval if transfer.to.is_some() => {
            return Err(Invalid::body("to", "is for delegations only"));
        }
        Direction::Delegate if transfer.fallback.is_some() => {
            return Err(Invalid::body("fallback", "goes with request_approval: a delegation just ends"));
        }
        Direction::RequestApproval | Direction::Delegate => {}
    }
    Ok(Transfer {
        scope: Capability::scope(transfer.scope)?,
        reason: checked_reason(transfer.reason)?,
        to: transfer.to.map(checked_agent).transpose()?,
        ..transfer
    })
}

/// The time `length` after `now`.
fn after(now: Timestamp, length: Duration) -> Timestamp {
    now.plus_micros(i64::try_from(length.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::plan::testing::{agent, human, thread};

    #[test]
    fn agents_ask_and_humans_give() {
        let (id, now) = (Uuid::from_chance(1), Timestamp::from_micros(0));
        let plan = |transfer: &Transfer, by: &Actor| decide(thread(), transfer, id, by, now);
        let give = Transfer { timeout: Some(Duration::from_secs(60)), ..Transfer::delegate([Capability::Deploy]) };
        let given = plan(&give, &human()).expect("a plan").entries;
        assert!(matches!(&given[..], [Entry::Delegated(given)] if given.until == Some(now.plus_micros(60_000_000))));
        assert_eq!(plan(&give, &agent()).expect_err("refused").code(), "forbidden");
        let ask = Transfer::request_approval([Capability::Deploy]);
        let asked = plan(&ask, &agent()).expect("a plan").entries;
        assert!(matches!(&asked[..], [Entry::ApprovalRequested(asked)] if asked.asked_by == agent()));
    }

    #[test]
    fn what_does_not_go_with_the_direction_is_refused() {
        let ask = Transfer { to: Some("a".into()), ..Transfer::request_approval([Capability::Deploy]) };
        assert_eq!(checked(ask).expect_err("refused").field, "to");
        let fallback = Some(threadkeep_model::Fallback::Skip);
        let give = Transfer { fallback, ..Transfer::delegate([Capability::Deploy]) };
        assert_eq!(checked(give).expect_err("refused").field, "fallback");
    }
}
