//! `reference`: this thread reads another one, as it was or as it is.
//!
//! A reference shows and never changes. Whether the caller may see the target is asked at each read, and a reference
//! keeps nothing alive.

use std::sync::Arc;

use threadkeep_model::{
    Actor, Binding, Entry, Head, Invalid, ItemKind, NewEntry, ReferenceScope, Referenced, Related, RelationKind,
    ThreadId, ThreadName, Timestamp, Uuid, Version,
};
use threadkeep_store::{Item, ItemQuery};
use threadkeep_tree::Glob;

use super::write;
use crate::approvals::not_an_item;
use crate::policy::Verb;
use crate::{Engine, Error, MessagePage, Page, Result};

/// Another thread that this one shall read.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Which one.
    pub target: ThreadName,
    /// What of it; everything if nothing is said.
    pub scope: Vec<ReferenceScope>,
    /// Whether it follows the target.
    pub binding: Binding,
}

impl Reference {
    /// A reference to all of `target` as it is now, which stays as it is.
    pub fn to(target: impl Into<ThreadName>) -> Self {
        Self { target: target.into(), scope: Vec::new(), binding: Binding::Frozen }
    }
}

/// What a thread reads of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadReference {
    /// The thread that reads.
    pub thread: ThreadId,
    /// What it reads.
    pub referenced: Referenced,
    /// Who made it.
    pub by: Arc<Actor>,
    /// When.
    pub at: Timestamp,
    /// Whether what made it is in view: a rollback undoes it, and an undo brings it back.
    pub holds: bool,
}

/// What a reference reads.
pub(crate) struct Referred {
    /// Which thread.
    pub(crate) target: ThreadId,
    /// At which version; as it is, without one.
    pub(crate) version: Option<Version>,
    /// What of it.
    pub(crate) scope: Vec<ReferenceScope>,
}

/// The references of a thread that hold, from both sides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct References {
    /// What it reads.
    pub outgoing: Vec<ThreadReference>,
    /// What reads it, as far as the caller may see that.
    pub incoming: Vec<ThreadReference>,
}

impl Engine {
    /// Makes a reference from `thread` to another one, which may be a public one of another account. Both threads show
    /// the relation from then on, to those who may see them.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], of either; a scope that breaks a rule; a thread does not refer to itself.
    pub async fn reference(&self, thread: ThreadId, reference: Reference) -> Result<ThreadReference> {
        let scope = ReferenceScope::checked(reference.scope)?;
        for part in &scope {
            if let ReferenceScope::Paths(pattern) = part {
                Glob::new(pattern).map_err(|error| Invalid::body("scope", format!("{pattern}: {error}")))?;
            }
        }
        let id = Uuid::from_chance(self.shared.world.chance());
        let (committed, referenced) = self
            .settle(thread, || async {
                let own = self.thread(thread).await?;
                let (target, _) = self.seen(reference.target, Verb::Reference).await?;
                if target.id == own.id {
                    return Err(Invalid::body("target", "is the thread itself; name another one").into());
                }
                let referenced = Referenced {
                    id,
                    target: target.id,
                    scope: scope.clone(),
                    binding: reference.binding,
                    snapshot_version: target.head.version,
                };
                let (child, kind) = (target.id, RelationKind::Reference);
                let related = Related { child, kind, index: None, anchor: None, comment: None };
                let entries = [Entry::Referenced(referenced.clone()), Entry::Related(related)];
                let entries = entries.iter().map(NewEntry::new).collect();
                Ok((self.commit(vec![write(&own, None, None, entries, None)]), referenced))
            })
            .await?;
        let at = committed.threads.first().ok_or(Error::Busy)?.time;
        Ok(ThreadReference { thread, referenced, by: Arc::new(self.caller.actor.clone()), at, holds: true })
    }

    /// The references of a thread that hold, from both sides, each in the order in which they were made.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn references(&self, thread: ThreadId) -> Result<References> {
        let own = self.thread(thread).await?;
        let mut references =
            References { outgoing: self.references_of(own.id, &own.head).await?, ..Default::default() };
        let relations = self.shared.stores.store.relations(thread).await?;
        let mut readers: Vec<ThreadId> = relations
            .iter()
            .filter(|relation| relation.kind == RelationKind::Reference && relation.child == thread)
            .map(|relation| relation.parent)
            .collect();
        readers.sort_unstable();
        readers.dedup();
        for reader in readers {
            match self.thread(reader).await {
                Ok(reader) => {
                    let made = self.references_of(reader.id, &reader.head).await?;
                    references.incoming.extend(made.into_iter().filter(|made| made.referenced.target == thread));
                }
                Err(Error::ThreadNotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        references.incoming.sort_by_key(|reference| reference.at);
        Ok(references)
    }

    /// One reference, if the thread that it was made on is the caller's.
    ///
    /// # Errors
    /// [`Error::ReferenceNotFound`].
    pub async fn reference_by_id(&self, id: Uuid) -> Result<ThreadReference> {
        let missing = || Error::ReferenceNotFound { reference: id };
        let (thread, item) = self.own_item(ItemKind::Reference, id).await?.ok_or_else(missing)?;
        self.read_reference(thread.id, &thread.head, &item).await
    }

    /// The messages that a reference shows: those of the version it was frozen at, or those of now.
    ///
    /// # Errors
    /// [`Error::ReferenceNotFound`]; [`Error::ReferenceGone`]; [`Error::NotAllowed`] if it does not show messages; what
    /// [`Engine::messages`] refuses.
    pub async fn reference_messages(&self, id: Uuid, page: Page) -> Result<MessagePage> {
        let shows = |scope: &ReferenceScope| matches!(scope, ReferenceScope::All | ReferenceScope::Messages);
        let Referred { target, version, .. } = self.referred(id, "messages", shows).await?;
        let page = version.map_or(page.clone(), |version| page.as_of(version));
        match self.messages(target, page).await {
            Err(Error::ThreadNotFound { .. }) => Err(gone(id, target)),
            read => read,
        }
    }

    /// What a reference reads now; refused unless a part of its scope `shows` what is wanted. Whatever reads through references asks this first.
    pub(crate) async fn referred(
        &self,
        id: Uuid,
        wanted: &str,
        shows: impl Fn(&ReferenceScope) -> bool,
    ) -> Result<Referred> {
        let reference = self.reference_by_id(id).await?;
        let Referenced { target, scope, binding, snapshot_version, .. } = reference.referenced;
        if !reference.holds {
            let what = "what made it was rolled back; it holds again once that is undone".to_owned();
            return Err(Error::ReferenceGone { reference: id, what });
        }
        if !scope.iter().any(shows) {
            let scope: Vec<String> = scope.iter().map(ToString::to_string).collect();
            let what = format!("the reference shows {}, and no {wanted}", scope.join(", "));
            return Err(Error::NotAllowed { what });
        }
        // Whether it was deleted or is not shown to the caller any more makes no difference to them.
        match self.standing(target, Verb::Reference).await {
            Ok(_) => Ok(Referred { target, version: (binding == Binding::Frozen).then_some(snapshot_version), scope }),
            Err(Error::ThreadNotFound { .. }) => Err(gone(id, target)),
            Err(error) => Err(error),
        }
    }

    /// The references made on a thread that hold.
    async fn references_of(&self, thread: ThreadId, head: &Head) -> Result<Vec<ThreadReference>> {
        let query = ItemQuery { thread, kind: ItemKind::Reference, key: None, limit: usize::MAX };
        let mut references = Vec::new();
        for item in self.shared.stores.store.items(query).await? {
            references.push(self.read_reference(thread, head, &item).await?);
        }
        references.retain(|reference| reference.holds);
        Ok(references)
    }

    async fn read_reference(&self, thread: ThreadId, head: &Head, item: &Item) -> Result<ThreadReference> {
        match self.decode(&item.entry).await? {
            Entry::Referenced(referenced) => {
                let holds = self.is_in_view(head, item.born).await?;
                Ok(ThreadReference {
                    thread,
                    referenced,
                    by: Arc::clone(&item.entry.actor),
                    at: item.entry.time,
                    holds,
                })
            }
            other => Err(not_an_item(item, &other)),
        }
    }
}

pub(crate) fn gone(reference: Uuid, target: ThreadId) -> Error {
    Error::ReferenceGone { reference, what: format!("there is no thread {target} to read any more") }
}
