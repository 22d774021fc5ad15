//! `mention`: this thread names another one.

use threadkeep_calls::{Mention, Relationship, RelationshipRole};
use threadkeep_model::{Entry, Invalid, Position, Related, RelationKind, Thread, ThreadId, strip_nulls};

use crate::ground::carry::Carry;
use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

impl Carry for Mention {
    type Made = Relationship;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Relationship> {
        let comment = self.comment.map(strip_nulls);
        let told = engine
            .tell(thread, || async {
                let named_in = engine.thread(thread).await?;
                let target = engine.thread(self.target).await?.id;
                let holds = engine.mention_of(thread, target).await?.is_some();
                let place = engine.last_place(&named_in).await?;
                decide(named_in, target, comment.clone(), holds, place)
            })
            .await?;
        if let Some(Entry::Related(related)) = told.entries.into_iter().next() {
            let Related { child, kind, index, anchor: _, comment } = related;
            let (role, created_at) = (RelationshipRole::Parent, told.place.time);
            return Ok(Relationship { thread_id: child, kind, role, message_index: index, created_at, comment });
        }
        let target = engine.thread(self.target).await?.id;
        engine.mention_of(thread, target).await?.ok_or(Error::ThreadNotFound { thread: target.into() })
    }
}

/// The plan; `holds` says whether the mention is there already. A relation leaves the era alone, so the plan names the
/// version: two that are decided at once are one.
fn decide(
    thread: Thread,
    target: ThreadId,
    comment: Option<String>,
    holds: bool,
    (index, anchor): (Option<u64>, Option<Position>),
) -> Result<Plan> {
    if target == thread.id {
        return Err(Invalid::body("target", "is the thread itself; name another one").into());
    }
    let related = Related { child: target, kind: RelationKind::Mention, index, anchor, comment };
    let entries = if holds { Vec::new() } else { vec![Entry::Related(related)] };
    Ok(Plan::new(thread, entries).at_version())
}

impl Engine {
    async fn mention_of(&self, thread: ThreadId, target: ThreadId) -> Result<Option<Relationship>> {
        let holding = self.relationships(thread).await?;
        let is_it = |held: &Relationship| {
            held.kind == RelationKind::Mention && held.role == RelationshipRole::Parent && held.thread_id == target
        };
        Ok(holding.into_iter().find(is_it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::plan::testing::{other, thread};

    #[test]
    fn a_mention_that_holds_changes_nothing_and_none_names_the_thread_itself() {
        let at = (Some(0), Some(Position(1)));
        let told = decide(thread(), other().id, None, false, at).expect("a plan");
        assert!(
            told.at_version && matches!(&told.entries[..], [Entry::Related(related)] if related.child == other().id)
        );
        assert!(decide(thread(), other().id, None, true, at).expect("a plan").entries.is_empty());
        assert_eq!(decide(thread(), thread().id, None, false, at).expect_err("itself").code(), "invalid_body");
    }
}
