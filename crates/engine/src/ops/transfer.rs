//! `transfer`: asks to be allowed something, or lets agents do something without asking.
//!
//! What came of it is read and answered next door, in `approvals` and `delegations`.

use std::time::Duration;

use threadkeep_model::{
    ActorKind, ApprovalAsked, Capability, Delegation, Entry, Fallback, Invalid, NewEntry, Thread, ThreadId, Timestamp,
    Uuid, checked_agent, checked_reason,
};

use super::write;
use crate::approvals::Approval;
use crate::delegations::Delegated;
use crate::gate::{Change, open_for};
use crate::{Engine, Error, Result};

/// Longest time that something waits for an answer, or holds: a hundred years.
const TIMEOUT_MAX: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Asks for authority, or gives it.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// Which of the two.
    pub direction: Direction,
    /// What it is about.
    pub scope: Vec<Capability>,
    /// For a delegation, the agent, by its name; every agent if nothing is said.
    pub to: Option<String>,
    /// What for, in words.
    pub reason: Option<String>,
    /// How long to wait for an answer; for a delegation, how long it holds.
    pub timeout: Option<Duration>,
    /// What happens when nobody answers in time; `block` if nothing is said.
    pub fallback: Option<Fallback>,
    /// Whether it can be revoked later; yes if nothing is said.
    pub can_revoke: Option<bool>,
}

/// Which way authority goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Somebody asks a human.
    RequestApproval,
    /// A human gives it to agents.
    Delegate,
}

/// What a transfer made.
#[derive(Debug, Clone, PartialEq)]
pub enum Transferred {
    /// An approval that waits for an answer.
    Approval(Box<Approval>),
    /// A delegation that holds.
    Delegation(Box<Delegated>),
}

impl Transfer {
    /// Asks to be allowed `scope`.
    pub fn request_approval(scope: impl IntoIterator<Item = Capability>) -> Self {
        Self::new(Direction::RequestApproval, scope)
    }

    /// Lets agents do `scope` without asking.
    pub fn delegate(scope: impl IntoIterator<Item = Capability>) -> Self {
        Self::new(Direction::Delegate, scope)
    }

    fn new(direction: Direction, scope: impl IntoIterator<Item = Capability>) -> Self {
        let scope = scope.into_iter().collect();
        Self { direction, scope, to: None, reason: None, timeout: None, fallback: None, can_revoke: None }
    }
}

impl Engine {
    /// Asks for authority on a thread, or gives it to agents. It needs no lease.
    ///
    /// # Errors
    /// A parameter that breaks a rule or does not go with the direction; [`Error::ThreadClosed`];
    /// [`Error::NotAllowed`] if somebody else than a human delegates.
    pub async fn transfer(&self, thread: ThreadId, transfer: Transfer) -> Result<Transferred> {
        let transfer = transfer.checked()?;
        match transfer.direction {
            Direction::RequestApproval => {
                let asked = self.asked(&transfer);
                let made = self.tell_transfer(thread, Entry::ApprovalRequested(asked.clone())).await?;
                Ok(Transferred::Approval(Box::new(Approval::pending(made.id, asked))))
            }
            Direction::Delegate => {
                if self.caller.actor.kind != ActorKind::Human {
                    let what = "only a human delegates: ask for an approval instead".to_owned();
                    return Err(Error::NotAllowed { what });
                }
                let delegation = Delegation {
                    id: Uuid::from_chance(self.shared.world.chance()),
                    scope: transfer.scope,
                    to: transfer.to,
                    reason: transfer.reason,
                    until: transfer.timeout.map(|timeout| after(self.shared.world.now(), timeout)),
                    can_revoke: transfer.can_revoke.unwrap_or(true),
                };
                let thread = self.tell_transfer(thread, Entry::Delegated(delegation.clone())).await?;
                let (by, at) = (self.caller.actor.clone(), thread.head.updated);
                Ok(Transferred::Delegation(Box::new(Delegated { thread: thread.id, delegation, by, at, holds: true })))
            }
        }
    }

    /// What the caller asks for with `transfer`.
    fn asked(&self, transfer: &Transfer) -> ApprovalAsked {
        let now = self.shared.world.now();
        ApprovalAsked {
            id: Uuid::from_chance(self.shared.world.chance()),
            scope: transfer.scope.clone(),
            reason: transfer.reason.clone(),
            timeout_at: transfer.timeout.map(|timeout| after(now, timeout)),
            fallback: transfer.fallback.unwrap_or_default(),
            can_revoke: transfer.can_revoke.unwrap_or(true),
            merge: None,
            asked_by: self.caller.actor.clone(),
            asked_at: now,
        }
    }

    /// What the caller asks for when it needs `capability` and nobody allowed it.
    pub(crate) fn asked_for(&self, capability: Capability) -> ApprovalAsked {
        self.asked(&Transfer::request_approval([capability]))
    }

    /// Writes `entry` to a thread that is open, and says where that is then.
    async fn tell_transfer(&self, thread: ThreadId, entry: Entry) -> Result<Thread> {
        let entry = NewEntry::new(&entry);
        let (committed, mut told) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                Ok((self.commit(vec![write(&thread, None, None, vec![entry.clone()], None)]), thread))
            })
            .await?;
        if let Some(committed) = committed.threads.first() {
            told.head = committed.head;
        }
        Ok(told)
    }
}

impl Transfer {
    fn checked(self) -> Result<Self, Invalid> {
        if self.timeout.is_some_and(|timeout| timeout > TIMEOUT_MAX) {
            return Err(Invalid::body("timeout", "is at most a hundred years"));
        }
        match self.direction {
            Direction::RequestApproval if self.to.is_some() => {
                return Err(Invalid::body("to", "goes with delegate: whoever may answer an approval does"));
            }
            Direction::Delegate if self.fallback.is_some() => {
                return Err(Invalid::body("fallback", "goes with request_approval: a delegation just ends"));
            }
            Direction::RequestApproval | Direction::Delegate => {}
        }
        Ok(Self {
            scope: Capability::scope(self.scope)?,
            reason: checked_reason(self.reason)?,
            to: self.to.map(checked_agent).transpose()?,
            ..self
        })
    }
}

/// The time `length` after `now`.
fn after(now: Timestamp, length: Duration) -> Timestamp {
    now.plus_micros(i64::try_from(length.as_micros()).unwrap_or(i64::MAX))
}
