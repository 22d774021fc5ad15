//! `reference`: this thread reads another one, as it was or as it is.
//!
//! A reference shows and never changes. Whether the caller may see the target is asked at each read, and a reference
//! keeps nothing alive.

use threadkeep_calls::{GetReference, ListReferences, Refer, Reference, References};
use threadkeep_model::{
    Actor, Binding, Entry, Head, Invalid, ItemKind, ReferenceScope, Referenced, Related, RelationKind, Thread,
    ThreadId, Timestamp, Uuid, Version,
};
use threadkeep_store::{BoxFuture, Item, ItemQuery};
use threadkeep_tree::Glob;

use crate::approvals::not_an_item;
use crate::ground::carry::Carry;
use crate::ground::plan::Plan;
use crate::ground::policy::Verb;
use crate::{Engine, Error, MessagePage, Page, Result};

/// The target of a reference.
pub(crate) struct Referred {
    pub(crate) target: ThreadId,
    /// At which version; as it is, without one.
    pub(crate) version: Option<Version>,
    /// The parts of the target that it shows.
    pub(crate) scope: Vec<ReferenceScope>,
}

impl Carry for Refer {
    type Made = Reference;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Reference> {
        let scope = ReferenceScope::checked(self.scope)?;
        for part in &scope {
            if let ReferenceScope::Paths(pattern) = part {
                Glob::new(pattern).map_err(|error| Invalid::body("scope", format!("{pattern}: {error}")))?;
            }
        }
        let id = Uuid::from_chance(engine.shared.world.chance());
        let told = engine
            .tell(thread, || async {
                let own = engine.thread(thread).await?;
                let (target, _) = engine.seen(self.target, Verb::Reference).await?;
                let (snapshot_version, target) = (target.head.version, target.id);
                let (scope, binding) = (scope.clone(), self.binding);
                decide(own, Referenced { id, target, scope, binding, snapshot_version })
            })
            .await?;
        match told.entries.into_iter().next() {
            Some(Entry::Referenced(referenced)) => Ok(shown(thread, referenced, &told.by, told.place.time, true)),
            _ => Err(Error::broken("a reference begins with its entry")),
        }
    }
}

/// The plan: the reference, and the relation by which both threads see it.
fn decide(own: Thread, referenced: Referenced) -> Result<Plan> {
    if referenced.target == own.id {
        return Err(Invalid::body("target", "is the thread itself; name another one").into());
    }
    let (child, kind) = (referenced.target, RelationKind::Reference);
    let related = Related { child, kind, index: None, anchor: None, comment: None };
    Ok(Plan::new(own, vec![Entry::Referenced(referenced), Entry::Related(related)]))
}

/// A reference in the form of the API.
fn shown(thread: ThreadId, referenced: Referenced, by: &Actor, created_at: Timestamp, holds: bool) -> Reference {
    let Referenced { id, target, scope, binding, snapshot_version } = referenced;
    let created_by = by.clone();
    Reference { ref_id: id, thread_id: thread, target, scope, binding, snapshot_version, created_by, created_at, holds }
}

impl Carry for ListReferences {
    type Made = References;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<References> {
        engine.references(thread).await
    }
}

impl Carry for GetReference {
    type Made = Reference;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Reference> {
        engine.reference_by_id(self.reference).await
    }
}

impl Engine {
    /// The references of a thread that hold, from both sides, each in the order in which they were made.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn references(&self, thread: ThreadId) -> BoxFuture<'_, Result<References>> {
        Box::pin(async move {
            let own = self.thread(thread).await?;
            let mut references =
                References { outgoing: self.references_of(own.id, &own.head).await?, ..Default::default() };
            let relations = self.shared.stores.store.relations(vec![thread]).await?;
            let mut readers: Vec<ThreadId> = relations
                .iter()
                .flatten()
                .map(|(relation, ..)| relation)
                .filter(|relation| relation.kind == RelationKind::Reference && relation.child == thread)
                .map(|relation| relation.parent)
                .collect();
            readers.sort_unstable();
            readers.dedup();
            for reader in readers {
                match self.thread(reader).await {
                    Ok(reader) => {
                        let made = self.references_of(reader.id, &reader.head).await?;
                        references.incoming.extend(made.into_iter().filter(|made| made.target == thread));
                    }
                    Err(Error::ThreadNotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            references.incoming.sort_by_key(|reference| reference.created_at);
            Ok(references)
        })
    }

    /// One reference, if the thread that it was made on is the caller's.
    ///
    /// # Errors
    /// [`Error::ReferenceNotFound`].
    pub fn reference_by_id(&self, id: Uuid) -> BoxFuture<'_, Result<Reference>> {
        Box::pin(async move {
            let missing = || Error::ReferenceNotFound { reference: id };
            let (thread, item) = self.own_item(ItemKind::Reference, id).await?.ok_or_else(missing)?;
            self.read_reference(thread.id, &thread.head, &item).await
        })
    }

    /// The messages that a reference shows: those of the version it was frozen at, or those of now.
    ///
    /// # Errors
    /// [`Error::ReferenceNotFound`]; [`Error::ReferenceGone`]; [`Error::NotAllowed`] if it does not show messages;
    /// the errors of [`Engine::messages`].
    pub fn reference_messages(&self, id: Uuid, page: Page) -> BoxFuture<'_, Result<MessagePage>> {
        Box::pin(async move {
            let shows = |scope: &ReferenceScope| matches!(scope, ReferenceScope::All | ReferenceScope::Messages);
            let Referred { target, version, .. } = self.referred(id, "messages", shows).await?;
            let page = version.into_iter().fold(page.through(id), Page::as_of);
            match self.messages(target, page).await {
                Err(Error::ThreadNotFound { .. }) => Err(gone(id, target)),
                read => read,
            }
        })
    }

    /// The present target of a reference; refused unless a part of its scope `shows` the wanted kind. Every read
    /// through a reference calls this first.
    pub(crate) async fn referred(
        &self,
        id: Uuid,
        wanted: &str,
        shows: impl Fn(&ReferenceScope) -> bool,
    ) -> Result<Referred> {
        let Reference { target, scope, binding, snapshot_version, holds, .. } = self.reference_by_id(id).await?;
        if !holds {
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
    async fn references_of(&self, thread: ThreadId, head: &Head) -> Result<Vec<Reference>> {
        let query = ItemQuery { thread, kind: ItemKind::Reference, key: None, limit: usize::MAX };
        let mut references = Vec::new();
        for item in self.shared.stores.store.items(query).await? {
            references.push(self.read_reference(thread, head, &item).await?);
        }
        references.retain(|reference| reference.holds);
        Ok(references)
    }

    async fn read_reference(&self, thread: ThreadId, head: &Head, item: &Item) -> Result<Reference> {
        match self.decode(&item.entry).await? {
            Entry::Referenced(referenced) => {
                let holds = self.is_in_view(head, item.born).await?;
                Ok(shown(thread, referenced, &item.entry.actor, item.entry.time, holds))
            }
            other => Err(not_an_item(item, &other)),
        }
    }
}

pub(crate) fn gone(reference: Uuid, target: ThreadId) -> Error {
    Error::ReferenceGone { reference, what: format!("there is no thread {target} to read any more") }
}
