//! Relations between threads: forks and subagents, seen from both ends.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use threadkeep_calls::{Relationship, RelationshipRole};
use threadkeep_model::{Bounds, Child, Head, Lineage, MessageId, Position, Relation, RelationKind, Thread, ThreadId};

use crate::ground::policy::{Standing, Verb, conceal_origin, standing};
use crate::ground::view::holds;
use crate::{Engine, Error, Result};

/// Most threads of a family that are read at once.
const FAMILY_MAX: usize = 10_000;

/// Threads of a family that are read without a turn among the expensive reads.
const FAMILY_FREE: usize = 100;

/// A thread with all it is related to, directly or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The threads, the one that was asked for first.
    pub threads: Vec<Thread>,
    /// The public threads of other accounts that some of them were forked from, to be shown as to visitors.
    pub origins: Vec<Thread>,
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
        let known = self.known(own.record.origin_thread_id).await?;
        seen.extend(origin_elsewhere(&own, &known, &seen));
        Ok(seen)
    }

    /// The whole family of a thread, as far as the caller may see it.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn family(&self, thread: ThreadId) -> Result<Family> {
        let first = self.thread(thread).await?;
        let mut known: HashSet<ThreadId> = HashSet::from([thread]);
        let mut waiting = VecDeque::from([first]);
        let mut family = Family {
            threads: Vec::new(),
            origins: Vec::new(),
            relations: Vec::new(),
            subagents: Vec::new(),
            cut_off: false,
        };
        let mut turn = None;
        while let Some(next) = waiting.pop_front() {
            if family.threads.len() >= FAMILY_FREE && turn.is_none() {
                turn = Some(self.shared.read_turns.turn(&self.caller.account).await?);
            }
            // Some stores read at once: others have their turn between two threads.
            tokio::task::yield_now().await;
            let children = self.children(next.id).await?;
            let mut others: Vec<ThreadId> = children.iter().map(|child| child.reference).collect();
            family.subagents.extend(children.into_iter().map(|child| (next.id, child)));
            others.extend(next.record.parent_id);
            others.extend(next.record.origin_thread_id);
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
                match self.seen(other, Verb::Read).await {
                    Ok((other, Standing::Owner)) => {
                        known.insert(other.id);
                        waiting.push_back(other);
                    }
                    // Its own relations are its owner's.
                    Ok((origin, Standing::Visitor)) if next.record.origin_thread_id == Some(other) => {
                        known.insert(origin.id);
                        family.origins.push(origin);
                    }
                    Ok((_, Standing::Visitor)) => {}
                    Err(Error::ThreadNotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            family.threads.push(next);
        }
        for thread in &family.threads {
            tokio::task::yield_now().await;
            let made = self.holding(thread).await?.into_iter();
            family.relations.extend(made.filter(|made| made.parent == thread.id && known.contains(&made.child)));
            let is_elsewhere = |origin: &&Thread| thread.record.origin_thread_id == Some(origin.id);
            family.relations.extend(family.origins.iter().find(is_elsewhere).map(|origin| forked(thread, origin.id)));
        }
        family.subagents.retain(|(_, child)| known.contains(&child.reference));
        self.conceal_origins(family.threads.iter_mut().collect()).await?;
        Ok(family)
    }

    /// The relations of a thread that hold now: with other threads of the account, and those that it made with public
    /// threads of others.
    async fn holding(&self, thread: &Thread) -> Result<Vec<Relation>> {
        let relations = self.shared.stores.store.relations(thread.id).await?;
        let other = |relation: &Relation| if relation.parent == thread.id { relation.child } else { relation.parent };
        let others: Vec<ThreadId> = relations.iter().map(other).collect();
        let others = self.shared.stores.store.threads(others).await?;
        let mut holding = Vec::new();
        for relation in relations {
            let is_parent = relation.parent == thread.id;
            let Some(other) = others.iter().find(|found| found.id == other(&relation)) else { continue };
            let seen = standing(&thread.account, &other.account, other.record.visibility, Verb::Read);
            let is_told = match seen {
                Some(Standing::Owner) => true,
                Some(Standing::Visitor) => is_parent == made_by_parent(relation.kind),
                None => false,
            };
            if !is_told {
                continue;
            }
            let parent = if is_parent { thread } else { other };
            if self.holds(parent, &relation).await? {
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
fn forked(own: &Thread, origin: ThreadId) -> Relation {
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
