//! Delegations: what agents may do on a thread without asking, and taking it back.
//!
//! Like approvals they belong to the record, and hold while what gave them is in view.

use threadkeep_model::{
    Actor, ActorKind, Capability, Delegation, DelegationRevoked, Entry, ItemKind, NewEntry, Thread, ThreadId,
    Timestamp, checked_reason,
};
use threadkeep_store::{Item, ItemQuery};

use crate::approvals::{Answer, Approval, Verdict, not_an_item};
use crate::ops::write;
use crate::{Engine, Error, Result};

/// What agents may do on a thread without asking.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegated {
    /// The thread.
    pub thread: ThreadId,
    /// What was given.
    pub delegation: Delegation,
    /// By whom.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// Whether its time is not over, and what gave it is in view.
    pub holds: bool,
}

/// What a revocation took back.
#[derive(Debug, Clone, PartialEq)]
pub enum Revoked {
    /// An approval.
    Approval(Box<Approval>),
    /// A delegation.
    Delegation(Box<Delegated>),
}

impl Engine {
    /// Revokes an approval, or a delegation.
    ///
    /// # Errors
    /// As [`Engine::answer`]; [`Error::ApprovalNotFound`] if there is neither.
    pub async fn revoke(&self, answer: Answer) -> Result<Revoked> {
        match self.revoke_delegation(answer.clone()).await {
            Ok(delegated) => Ok(Revoked::Delegation(Box::new(delegated))),
            Err(Error::DelegationNotFound { .. }) => {
                Ok(Revoked::Approval(Box::new(self.answer(Verdict::Revoke, answer).await?)))
            }
            Err(error) => Err(error),
        }
    }

    /// The delegations on a thread that hold, in the order in which they were given.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn delegations(&self, thread: ThreadId) -> Result<Vec<Delegated>> {
        let thread = self.thread(thread).await?;
        self.holding_delegations(&thread).await
    }

    pub(crate) async fn holding_delegations(&self, thread: &Thread) -> Result<Vec<Delegated>> {
        let query = ItemQuery { thread: thread.id, kind: ItemKind::Delegation, key: None, limit: usize::MAX };
        let mut holding = Vec::new();
        for item in self.shared.stores.store.items(query).await? {
            holding.push(self.read_delegation(thread, &item).await?);
        }
        holding.retain(|delegated| delegated.holds);
        Ok(holding)
    }

    /// Revokes a delegation: agents have to ask again from now on. Only humans do, and only what can be revoked.
    ///
    /// # Errors
    /// [`Error::DelegationNotFound`] if there is none, or it was revoked before; [`Error::NotAllowed`].
    pub async fn revoke_delegation(&self, answer: Answer) -> Result<Delegated> {
        let reason = checked_reason(answer.reason)?;
        let missing = || Error::DelegationNotFound { delegation: answer.id };
        let (thread, _) = self.own_item(ItemKind::Delegation, answer.id).await?.ok_or_else(missing)?;
        let (_, delegated) = self
            .settle(thread.id, || async {
                let thread = self.thread(thread.id).await?;
                let (_, item) = self.own_item(ItemKind::Delegation, answer.id).await?.ok_or_else(missing)?;
                let mut delegated = self.read_delegation(&thread, &item).await?;
                let refused = |what: &str| Err(Error::NotAllowed { what: what.to_owned() });
                if self.caller.actor.kind == ActorKind::Agent {
                    return refused("only a human revokes a delegation");
                }
                if !delegated.delegation.can_revoke {
                    return refused("the delegation was given for good: it cannot be revoked");
                }
                delegated.holds = false;
                let revoked = DelegationRevoked { id: answer.id, reason: reason.clone() };
                let entry = NewEntry::new(&Entry::DelegationRevoked(revoked));
                Ok((self.commit(vec![write(&thread, None, None, vec![entry], None)]), delegated))
            })
            .await?;
        Ok(delegated)
    }

    /// Whether a human lets the caller do this on `thread` without asking.
    pub(crate) async fn is_delegated(&self, thread: &Thread, capability: &Capability) -> Result<bool> {
        let (agent, now) = (&self.caller.actor.name, self.shared.world.now());
        let given = self.holding_delegations(thread).await?;
        Ok(given.iter().any(|given| given.delegation.covers(agent, capability, now)))
    }

    async fn read_delegation(&self, thread: &Thread, item: &Item) -> Result<Delegated> {
        match self.decode(&item.entry).await? {
            Entry::Delegated(delegation) => {
                let lasts = delegation.until.is_none_or(|until| self.shared.world.now() < until);
                // What a former owner gave is nothing that the present one allowed.
                let given_here = *item.entry.account == thread.account;
                let holds = lasts && given_here && self.is_in_view(&thread.head, item.born).await?;
                let (by, at) = ((*item.entry.actor).clone(), item.entry.time);
                Ok(Delegated { thread: thread.id, delegation, by, at, holds })
            }
            other => Err(not_an_item(item, &other)),
        }
    }
}
