//! Checks an agent's authority: every change that needs authority comes here.

use threadkeep_model::{ActorKind, ApprovalState, Authorisation, Capability, Entry, Thread, ThreadId, Uuid};

use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

impl Engine {
    /// Passes if the caller may do this on `thread`. Humans and the system may. So may agents if the capability needs
    /// no approval ([`Capability::authorisation`]), if a human delegated it to them, or if their request was
    /// approved: an approval holds for that agent, on that thread, for all that it names, until it is revoked.
    ///
    /// Otherwise this asks for an approval, once: while it is pending, the same agent gets the same approval.
    ///
    /// # Errors
    /// [`Error::ApprovalRequired`] with the approval; [`Error::ThreadNotFound`].
    pub async fn authorize(&self, thread: ThreadId, capability: Capability) -> Result<()> {
        match self.caller.actor.kind {
            ActorKind::Human | ActorKind::System => return Ok(()),
            ActorKind::Agent => {}
        }
        match capability.authorisation() {
            Authorisation::Auto => return Ok(()),
            Authorisation::RequireHuman => {}
        }
        let required = |approval: Uuid| Error::ApprovalRequired { approval, capability: capability.to_string() };
        // Asking for an approval is not the call itself: the call's envelope does not apply to it.
        let engine = self.aside();
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                let entries = match engine.standing_of(&thread, &capability).await? {
                    Authority::Given => Vec::new(),
                    Authority::Asked(approval) => return Err(required(approval)),
                    Authority::Missing => vec![Entry::ApprovalRequested(engine.asked_for(capability.clone()))],
                };
                Ok(Plan::new(thread, entries))
            })
            .await?;
        match told.entries.into_iter().next() {
            Some(Entry::ApprovalRequested(asked)) => Err(required(asked.id)),
            _ => Ok(()),
        }
    }

    async fn standing_of(&self, thread: &Thread, capability: &Capability) -> Result<Authority> {
        if self.is_delegated(thread, capability).await? {
            return Ok(Authority::Given);
        }
        let mut authority = Authority::Missing;
        for approval in self.holding_approvals(thread).await? {
            if approval.asked.asked_by != self.caller.actor {
                continue;
            }
            match approval.state {
                ApprovalState::Approved if approval.asked.scope.contains(capability) => return Ok(Authority::Given),
                ApprovalState::Pending if approval.asked.scope == [capability.clone()] => {
                    authority = Authority::Asked(approval.asked.id);
                }
                ApprovalState::Approved | ApprovalState::Pending | ApprovalState::Denied | ApprovalState::Revoked => {}
            }
        }
        Ok(authority)
    }
}

/// The caller's authority for a capability.
enum Authority {
    /// It may.
    Given,
    /// It asked, and there is no answer yet.
    Asked(Uuid),
    /// It may not, and has not asked.
    Missing,
}
