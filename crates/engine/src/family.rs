//! Relations between threads: forks and subagents, seen from both ends. Whole families are in `kin`.

use std::collections::HashMap;
use std::sync::Arc;

use threadkeep_calls::{Relationship, RelationshipRole};
use threadkeep_model::{
    Bounds, Head, Lineage, MessageId, Position, Relation, RelationKind, SegmentId, Thread, ThreadId,
};

use threadkeep_store::{BoxFuture, Related};

use crate::ground::policy::{Standing, Verb, conceal_origin, standing};
use crate::ground::view::holds;
use crate::{Engine, Result};

/// What is known of threads while many are looked at.
#[derive(Default)]
pub(crate) struct Acquainted {
    /// The caller's relation to them; none to those that it may not see.
    pub(crate) seen: HashMap<ThreadId, Option<Standing>>,
    heads: HashMap<ThreadId, Head>,
    lineages: HashMap<SegmentId, Arc<Lineage>>,
}

impl Engine {
    /// The relations of a thread that hold, in the order they were made: forks, handoffs and mentions.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn relationships(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Relationship>>> {
        Box::pin(async move {
            let own = self.thread(thread).await?;
            // Where a thread was spawned from is in its record, and in the family; it is no relationship of its own.
            let relations = self.holding(&own).await?.into_iter();
            let relations = relations.filter(|relation| relation.kind != RelationKind::Spawn);
            let seen = relations.map(|relation| {
                let (thread, role) = if relation.parent == thread {
                    (relation.child, RelationshipRole::Parent)
                } else {
                    (relation.parent, RelationshipRole::Child)
                };
                let Relation { kind, index, created, comment, .. } = relation;
                Relationship { thread_id: thread, kind, role, message_index: index, created_at: created, comment }
            });
            let mut seen: Vec<Relationship> = seen.collect();
            let known = self.known(own.record.origin_thread_id).await?;
            seen.extend(origin_elsewhere(&own, &known, &seen));
            Ok(seen)
        })
    }

    /// The relations of a thread that hold now: with other threads of the account, and those that it made with public
    /// threads of others.
    pub(crate) async fn holding(&self, thread: &Thread) -> Result<Vec<Relation>> {
        let relations = self.shared.stores.store.relations(vec![thread.id]).await?;
        self.holding_among(thread, relations.into_iter().flatten(), &mut Acquainted::default()).await
    }

    /// Those of its `relations` that hold, for one of several threads, of which many have the same relatives.
    pub(crate) async fn holding_among(
        &self,
        thread: &Thread,
        relations: impl Iterator<Item = Related>,
        among: &mut Acquainted,
    ) -> Result<Vec<Relation>> {
        among.heads.insert(thread.id, thread.head);
        let mut holding = Vec::new();
        for (relation, owner, visibility) in relations {
            let is_parent = relation.parent == thread.id;
            let other = if is_parent { relation.child } else { relation.parent };
            let seen = among.seen.entry(other);
            let seen = seen.or_insert_with(|| standing(&self.caller.account, &owner, visibility, Verb::Read));
            let is_told = match seen {
                Some(Standing::Owner) => true,
                Some(Standing::Visitor) => is_parent == made_by_parent(relation.kind),
                None => false,
            };
            if is_told && self.holds(&relation, among).await? {
                holding.push(relation);
            }
        }
        Ok(holding)
    }

    /// Reads which of `threads` the caller may see, unless that is known.
    pub(crate) async fn acquaint(&self, threads: impl Iterator<Item = ThreadId>, among: &mut Acquainted) -> Result<()> {
        let new: Vec<ThreadId> = threads.filter(|thread| !among.seen.contains_key(thread)).collect();
        let known = self.known(new.iter().copied()).await?;
        among.seen.extend(new.into_iter().map(|thread| (thread, known.get(&thread).copied())));
        Ok(())
    }

    /// Whether the entry that made a relation, and the message it was made at, are in the parent's view.
    async fn holds(&self, relation: &Relation, among: &mut Acquainted) -> Result<bool> {
        let head = match among.heads.get(&relation.parent) {
            Some(head) => *head,
            None => {
                let Some(head) = self.shared.stores.store.head(relation.parent).await? else { return Ok(false) };
                among.heads.insert(relation.parent, head);
                head
            }
        };
        let lineage = match among.lineages.get(&head.segment) {
            Some(lineage) => Arc::clone(lineage),
            None => {
                let lineage = self.lineage(head.segment).await?;
                among.lineages.insert(head.segment, Arc::clone(&lineage));
                lineage
            }
        };
        Ok(is_in_view(&lineage, &head, relation))
    }

    /// The relations that hold in which `threads` are children, by the child, in the order they were made, with parents
    /// that the caller may know of; of the others, origins are taken out of `threads`, too. The number of reads does not
    /// depend on how many threads there are.
    pub(crate) async fn parents_of(&self, threads: &mut [Thread]) -> Result<HashMap<ThreadId, Vec<Relationship>>> {
        let mut above: HashMap<ThreadId, Vec<Relationship>> = HashMap::new();
        if threads.is_empty() {
            return Ok(above);
        }
        let store = &self.shared.stores.store;
        let relations = store.parents(threads.iter().map(|thread| thread.id).collect()).await?;
        let segments = relations.iter().map(|(_, head)| head.segment).collect();
        let lineages = self.shared.lineages.get_all(&**store, segments).await?;
        let origins = threads.iter().filter_map(|thread| thread.record.origin_thread_id);
        let known = self.known(relations.iter().map(|(relation, _)| relation.parent).chain(origins)).await?;
        for (relation, head) in relations {
            let lineage = lineages.get(&head.segment);
            let is_told = relation.kind != RelationKind::Spawn && known.contains_key(&relation.parent);
            if is_told && lineage.is_some_and(|lineage| is_in_view(lineage, &head, &relation)) {
                above.entry(relation.child).or_default().push(seen_by_child(relation));
            }
        }
        for thread in threads {
            let seen = above.get(&thread.id).map_or(&[][..], Vec::as_slice);
            if let Some(origin) = origin_elsewhere(thread, &known, seen) {
                above.entry(thread.id).or_default().push(origin);
            }
            conceal_origin(thread, &known);
        }
        Ok(above)
    }
}

/// Whether a relation is the doing of its parent, or of its child.
fn made_by_parent(kind: RelationKind) -> bool {
    match kind {
        RelationKind::Mention | RelationKind::Reference => true,
        RelationKind::Fork | RelationKind::Handoff | RelationKind::Spawn => false,
    }
}

/// The fork of a public thread of another account, which only the fork tells of.
pub(crate) fn forked(own: &Thread, origin: ThreadId) -> Relation {
    let made = MessageId { segment: own.head.segment, position: Position::START };
    Relation {
        parent: origin,
        child: own.id,
        kind: RelationKind::Fork,
        made,
        index: own.record.fork_point_index,
        anchor: None,
        created: own.created,
        comment: None,
    }
}

/// The same as a relationship of the fork, unless it has one with its origin.
fn origin_elsewhere(own: &Thread, known: &HashMap<ThreadId, Standing>, seen: &[Relationship]) -> Option<Relationship> {
    let origin = own.record.origin_thread_id.filter(|origin| known.get(origin) == Some(&Standing::Visitor))?;
    let is_seen = seen.iter().any(|seen| seen.thread_id == origin && seen.kind == RelationKind::Fork);
    (!is_seen).then(|| seen_by_child(forked(own, origin)))
}

fn seen_by_child(relation: Relation) -> Relationship {
    let Relation { parent, kind, index, created, comment, .. } = relation;
    let role = RelationshipRole::Child;
    Relationship { thread_id: parent, kind, role, message_index: index, created_at: created, comment }
}

/// Whether the entry that made a relation, and the message it was made at, are in view from the parent's head.
fn is_in_view(lineage: &Arc<Lineage>, head: &Head, relation: &Relation) -> bool {
    let all = Bounds::all(head.version);
    holds(lineage, all, relation.made)
        && relation.anchor.is_none_or(|anchor| lineage.at(anchor, all).1.messages == anchor)
}
