//! Relations between threads: forks and subagents, seen from both ends.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use threadkeep_calls::{Relationship, RelationshipRole};
use threadkeep_model::{Bounds, Child, Head, Lineage, Relation, RelationKind, Thread, ThreadId};

use crate::ground::policy::{Standing, Verb};
use crate::ground::view::holds;
use crate::{Engine, Error, Result};

/// Most threads of a family that are read at once.
const FAMILY_MAX: usize = 10_000;

/// A thread with all it is related to, directly or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The threads, the one that was asked for first.
    pub threads: Vec<Thread>,
    /// The relations among them that hold.
    pub relations: Vec<Relation>,
    /// The subagents among them, each with the thread it works for.
    pub subagents: Vec<(ThreadId, Child)>,
    /// Whether there are more threads than were read.
    pub cut_off: bool,
}

impl Engine {
    /// The relations of a thread that hold, in the order they were made: forks, handoffs and mentions.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn relationships(&self, thread: ThreadId) -> Result<Vec<Relationship>> {
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
        seen.extend(self.origin_elsewhere(&own).await?);
        Ok(seen)
    }

    /// The public thread of another account that a thread was forked from. Only the fork tells of it.
    async fn origin_elsewhere(&self, own: &Thread) -> Result<Option<Relationship>> {
        let Some(origin) = own.record.origin_thread_id else { return Ok(None) };
        match self.standing(origin, Verb::Read).await {
            Ok(Standing::Visitor) => Ok(Some(Relationship {
                thread_id: origin,
                kind: RelationKind::Fork,
                role: RelationshipRole::Child,
                message_index: own.record.fork_point_index,
                created_at: own.created,
                comment: None,
            })),
            Ok(Standing::Owner) | Err(Error::ThreadNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The whole family of a thread, as far as the caller may see it.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn family(&self, thread: ThreadId) -> Result<Family> {
        let first = self.thread(thread).await?;
        let mut known: HashSet<ThreadId> = HashSet::from([thread]);
        let mut waiting = VecDeque::from([first]);
        let mut family = Family { threads: Vec::new(), relations: Vec::new(), subagents: Vec::new(), cut_off: false };
        while let Some(next) = waiting.pop_front() {
            let children = self.children(next.id).await?;
            let mut others: Vec<ThreadId> = children.iter().map(|child| child.reference).collect();
            family.subagents.extend(children.into_iter().map(|child| (next.id, child)));
            others.extend(next.record.parent_id);
            for relation in self.holding(&next).await? {
                others.push(if relation.parent == next.id { relation.child } else { relation.parent });
            }
            for other in others {
                if known.contains(&other) {
                    continue;
                }
                if known.len() >= FAMILY_MAX {
                    family.cut_off = true;
                    continue;
                }
                match self.thread(other).await {
                    Ok(other) => {
                        known.insert(other.id);
                        waiting.push_back(other);
                    }
                    Err(Error::ThreadNotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            family.threads.push(next);
        }
        for thread in &family.threads {
            let made = self.holding(thread).await?.into_iter();
            family.relations.extend(made.filter(|made| made.parent == thread.id && known.contains(&made.child)));
        }
        family.subagents.retain(|(_, child)| known.contains(&child.reference));
        Ok(family)
    }

    /// The relations of a thread that hold now.
    async fn holding(&self, thread: &Thread) -> Result<Vec<Relation>> {
        let mut holding = Vec::new();
        for relation in self.shared.stores.store.relations(thread.id).await? {
            let parent = if relation.parent == thread.id {
                thread.clone()
            } else {
                match self.thread(relation.parent).await {
                    Ok(parent) => parent,
                    Err(Error::ThreadNotFound { .. }) => continue,
                    Err(error) => return Err(error),
                }
            };
            if self.holds(&parent, &relation).await? {
                holding.push(relation);
            }
        }
        Ok(holding)
    }

    /// Whether the entry that made a relation, and the message it was made at, are in the parent's view.
    async fn holds(&self, parent: &Thread, relation: &Relation) -> Result<bool> {
        let lineage = self.lineage(parent.head.segment).await?;
        Ok(is_in_view(&lineage, &parent.head, relation))
    }

    /// The relations that hold in which `threads` are children, by the child, in the order they were made. The number
    /// of reads does not depend on how many threads there are. A parent in another account is included: the child
    /// knows it.
    pub(crate) async fn parents_of(&self, threads: &[Thread]) -> Result<HashMap<ThreadId, Vec<Relationship>>> {
        let mut above: HashMap<ThreadId, Vec<Relationship>> = HashMap::new();
        if threads.is_empty() {
            return Ok(above);
        }
        let store = &self.shared.stores.store;
        let relations = store.parents(threads.iter().map(|thread| thread.id).collect()).await?;
        let segments = relations.iter().map(|(_, head)| head.segment).collect();
        let lineages = self.shared.lineages.get_all(&**store, segments).await?;
        for (relation, head) in relations {
            let lineage = lineages.get(&head.segment);
            let is_told = relation.kind != RelationKind::Spawn;
            if is_told && lineage.is_some_and(|lineage| is_in_view(lineage, &head, &relation)) {
                let Relation { parent, child, kind, index, created, comment, .. } = relation;
                let role = RelationshipRole::Child;
                let seen =
                    Relationship { thread_id: parent, kind, role, message_index: index, created_at: created, comment };
                above.entry(child).or_default().push(seen);
            }
        }
        Ok(above)
    }
}

/// Whether the entry that made a relation, and the message it was made at, are in view from the parent's head.
fn is_in_view(lineage: &Arc<Lineage>, head: &Head, relation: &Relation) -> bool {
    let all = Bounds::all(head.version);
    holds(lineage, all, relation.made)
        && relation.anchor.is_none_or(|anchor| lineage.at(anchor, all).1.messages == anchor)
}
