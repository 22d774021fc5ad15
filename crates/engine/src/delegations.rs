//! Delegations: let agents act on a thread without asking, until they are revoked.
//!
//! Like approvals they belong to the record, and hold while the entry that gave them is in view.

use threadkeep_calls::{Delegation, ListDelegations, Page, RevokeDelegation};
use threadkeep_model as model;
use threadkeep_model::{
    Actor, ActorKind, Capability, DelegationRevoked, Entry, ItemKind, Thread, ThreadId, Timestamp, checked_reason,
};
use threadkeep_store::{BoxFuture, Item, ItemQuery};

use crate::approvals::not_an_item;
use crate::ground::carry::Carry;
use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

/// A delegation on a thread, and whether it holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Given {
    thread: ThreadId,
    pub(crate) delegation: model::Delegation,
    by: Actor,
    at: Timestamp,
    /// Whether its time is not over, and the entry that gave it is in view.
    holds: bool,
}

impl From<Given> for Delegation {
    fn from(given: Given) -> Self {
        let Given { thread, delegation, by, at, holds } = given;
        let model::Delegation { id, scope, to, reason, until, can_revoke } = delegation;
        Self { id, thread_id: thread, scope, to, reason, until, can_revoke, given_by: by, given_at: at, holds }
    }
}

impl Carry for ListDelegations {
    type Made = Page<Delegation>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<Delegation>> {
        let delegations = engine.delegations(thread).await?;
        engine.part(thread, delegations, (self.limit, self.cursor), |item| format!("delegation {}", item.id))
    }
}

impl Carry for RevokeDelegation {
    type Made = Delegation;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Delegation> {
        let (id, reason) = (self.delegation, checked_reason(self.reason)?);
        let missing = || Error::DelegationNotFound { delegation: id };
        let (thread, item) = engine.own_item(ItemKind::Delegation, id).await?.ok_or_else(missing)?;
        let given = engine.read_delegation(&thread, &item).await?;
        let engine = engine.about(thread.id);
        engine
            .tell(thread.id, || async {
                let thread = engine.thread(thread.id).await?;
                let (_, item) = engine.own_item(ItemKind::Delegation, id).await?.ok_or_else(missing)?;
                let given = engine.read_delegation(&thread, &item).await?;
                may_revoke(&given.delegation, &engine.caller.actor)?;
                let reason = engine.without_secrets(thread.id, reason.clone()).await?;
                let revoked = DelegationRevoked { id, reason };
                Ok(Plan::new(thread, vec![Entry::DelegationRevoked(revoked)]))
            })
            .await?;
        Ok(Given { holds: false, ..given }.into())
    }
}

/// Refuses to revoke a permanent delegation, or a request by an agent.
fn may_revoke(delegation: &model::Delegation, by: &Actor) -> Result<()> {
    let refused = |what: &str| Err(Error::NotAllowed { what: what.to_owned() });
    match by.kind {
        ActorKind::Agent => refused("only a human revokes a delegation"),
        ActorKind::Human | ActorKind::System if !delegation.can_revoke => {
            refused("the delegation was given for good: it cannot be revoked")
        }
        ActorKind::Human | ActorKind::System => Ok(()),
    }
}

impl Engine {
    /// The delegations on a thread that hold, in the order in which they were given.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn delegations(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Delegation>>> {
        Box::pin(async move {
            let thread = self.thread(thread).await?;
            let holding = self.holding_delegations(&thread).await?;
            Ok(holding.into_iter().map(Delegation::from).collect())
        })
    }

    pub(crate) async fn holding_delegations(&self, thread: &Thread) -> Result<Vec<Given>> {
        let query = ItemQuery { thread: thread.id, kind: ItemKind::Delegation, key: None, limit: usize::MAX };
        let mut holding = Vec::new();
        for item in self.shared.stores.store.items(query).await? {
            holding.push(self.read_delegation(thread, &item).await?);
        }
        holding.retain(|delegated| delegated.holds);
        Ok(holding)
    }

    /// Whether a human lets the caller do this on `thread` without asking.
    pub(crate) async fn is_delegated(&self, thread: &Thread, capability: &Capability) -> Result<bool> {
        let (agent, now) = (&self.caller.actor.name, self.shared.now());
        let given = self.holding_delegations(thread).await?;
        Ok(given.iter().any(|given| given.delegation.covers(agent, capability, now)))
    }

    async fn read_delegation(&self, thread: &Thread, item: &Item) -> Result<Given> {
        match self.decode(&item.entry).await? {
            Entry::Delegated(delegation) => {
                let lasts = delegation.until.is_none_or(|until| self.shared.now() < until);
                // The present owner did not allow the delegations of a former owner.
                let given_here = *item.entry.account == thread.account;
                let holds = lasts && given_here && self.is_in_view(&thread.head, item.born).await?;
                let (by, at) = ((*item.entry.actor).clone(), item.entry.time);
                Ok(Given { thread: thread.id, delegation, by, at, holds })
            }
            other => Err(not_an_item(item, &other)),
        }
    }
}
