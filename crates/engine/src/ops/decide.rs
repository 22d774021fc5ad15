//! `decide`: a question is answered, and the newest answer counts.
//!
//! Decisions are entries of the record: a fork or a spawned thread does not inherit them, so a merge compares
//! only each thread's own decisions. A decision holds while the entry that made it is in view; if it is undone,
//! the answer before it counts again.

use std::collections::HashMap;

use threadkeep_calls::{Decide, Decision, ListDecisions, Page};
use threadkeep_model::{Decided, Entry, ItemKind, Thread, ThreadId, Version};
use threadkeep_store::{BoxFuture, ItemQuery, StoreError};

use super::text::checked_text;
use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

impl Carry for Decide {
    type Made = Decision;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Decision> {
        let decided = checked(self)?;
        let max = engine.shared.limits.decisions_max;
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                let query = ItemQuery { thread: thread.id, kind: ItemKind::Decision, key: None, limit: max };
                let recorded = engine.shared.stores.store.items(query).await?.len();
                decide(thread, decided.clone(), recorded, max)
            })
            .await?;
        match &told.entries[..] {
            [Entry::Decided(decided)] => {
                let (actor, created_at, version) = ((*told.by).clone(), told.place.time, told.place.first);
                Ok(decision(decided.clone(), actor, created_at, version))
            }
            _ => Err(Error::broken("a decision is one entry")),
        }
    }
}

fn checked(Decide { question, answer, reason }: Decide) -> Result<Decided> {
    let (question, answer) = (checked_text("question", question)?, checked_text("answer", answer)?);
    let reason = reason.map(|reason| checked_text("reason", reason)).transpose()?;
    Ok(Decided { question, answer, reason })
}

/// The plan, on a thread that has `recorded` decisions.
fn decide(thread: Thread, decided: Decided, recorded: usize, max: usize) -> Result<Plan> {
    open_for(&thread, Change::Content)?;
    if recorded >= max {
        return Err(Error::DecisionsFull { max });
    }
    Ok(Plan::new(thread, vec![Entry::Decided(decided)]))
}

fn decision(
    decided: Decided,
    actor: threadkeep_model::Actor,
    created_at: threadkeep_model::Timestamp,
    version: Version,
) -> Decision {
    let Decided { question, answer, reason } = decided;
    Decision { question, answer, reason, actor, created_at, version }
}

impl Carry for ListDecisions {
    type Made = Page<Decision>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<Decision>> {
        let decisions = engine.decisions(thread, self.as_of).await?;
        engine.part(thread, decisions, (self.limit, self.cursor), |item| format!("decision {}", item.question))
    }
}

impl Engine {
    /// The answers that count on a thread, now or as of a version, in the order in which they were given.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::VersionInFuture`].
    pub fn decisions(&self, thread: ThreadId, as_of: Option<Version>) -> BoxFuture<'_, Result<Vec<Decision>>> {
        Box::pin(async move {
            let thread = self.thread(thread).await?;
            let view = self.view(thread.id, &thread.head, as_of).await?;
            let query = ItemQuery { thread: thread.id, kind: ItemKind::Decision, key: None, limit: usize::MAX };
            let mut newest = HashMap::new();
            for item in self.shared.stores.store.items(query).await? {
                if !view.holds(item.born) {
                    continue;
                }
                let Entry::Decided(decided) = self.decode(&item.entry).await? else {
                    return Err(StoreError::corrupt(format!("item {} is no decision", item.key)).into());
                };
                let (actor, created, version) = ((*item.entry.actor).clone(), item.entry.time, item.entry.position);
                let decision = decision(decided, actor, created, version);
                // They come in the order of their places.
                newest.insert(decision.key(), decision);
            }
            let mut decisions: Vec<Decision> = newest.into_values().collect();
            decisions.sort_by_key(|decision| decision.version);
            Ok(decisions)
        })
    }
}

#[cfg(test)]
mod tests {
    use threadkeep_model::Lifecycle;

    use super::*;
    use crate::ground::plan::testing::thread;

    #[test]
    fn a_decision_needs_an_open_thread_with_room() {
        let decided = || checked(Decide::new("Which store?", "SQLite")).expect("a decision");
        let plan = decide(thread(), decided(), 0, 1).expect("a plan");
        assert_eq!(plan.entries, [Entry::Decided(decided())]);
        assert!(matches!(decide(thread(), decided(), 1, 1), Err(Error::DecisionsFull { max: 1 })));
        let mut closed = thread();
        closed.record.lifecycle = Lifecycle::Completed;
        assert!(matches!(decide(closed, decided(), 0, 1), Err(Error::ThreadClosed { .. })));
    }

    #[test]
    fn a_decision_has_a_question_and_an_answer() {
        assert!(checked(Decide::new(" ", "yes")).is_err() && checked(Decide::new("really?", "\0")).is_err());
    }
}
