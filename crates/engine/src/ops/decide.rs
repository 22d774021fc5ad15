//! `decide`: a question is answered, and the newest answer counts.
//!
//! Decisions are entries of the record: a fork or a spawned thread does not inherit them, so a merge compares what each
//! thread decided itself. A decision holds while the entry that made it is in view; where it is undone, the answer
//! before it counts again.

use std::collections::HashMap;
use std::sync::Arc;

use threadkeep_model::{
    Actor, Code, Decided, Entry, Invalid, ItemKind, NewEntry, ThreadId, Timestamp, Version, strip_nulls,
};
use threadkeep_store::{ItemQuery, StoreError};

use super::write;
use crate::gate::{Change, open_for};
use crate::{Engine, Error, Result};

/// Longest question, answer or reason, in bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Answers a question.
#[derive(Debug, Clone, Default)]
pub struct Decide {
    /// The question. White space and case make no difference between two of them.
    pub question: String,
    /// The answer, which counts from now on.
    pub answer: String,
    /// Why, in words for people.
    pub reason: Option<String>,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Decide {
    /// This answer to this question.
    pub fn new(question: &str, answer: &str) -> Self {
        Self { question: question.to_owned(), answer: answer.to_owned(), ..Self::default() }
    }
}

/// An answer that counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The question, as it was last asked.
    pub question: String,
    /// The answer.
    pub answer: String,
    /// Why.
    pub reason: Option<String>,
    /// Who decided.
    pub actor: Arc<Actor>,
    /// When.
    pub created: Timestamp,
    /// Where it stands in the thread's history.
    pub version: Version,
}

impl Decision {
    /// What tells questions apart: without white space at the ends, with one space wherever there is some, in lower case.
    pub fn key(&self) -> String {
        same_question(&self.question)
    }
}

fn same_question(question: &str) -> String {
    question.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

impl Engine {
    /// Records the answer to a question. The same question answered again gets the new answer; the old one stays in the
    /// history.
    ///
    /// # Errors
    /// A blank or too long text; [`Error::ThreadClosed`]; [`Error::DecisionsFull`]; [`Error::VersionConflict`].
    pub async fn decide(&self, thread: ThreadId, decide: Decide) -> Result<Decision> {
        let (question, answer) = (text("question", decide.question)?, text("answer", decide.answer)?);
        let reason = decide.reason.map(|reason| text("reason", reason)).transpose()?;
        let decided = Decided { question: question.clone(), answer: answer.clone(), reason: reason.clone() };
        let entry = NewEntry::new(&Entry::Decided(decided));
        let (committed, ()) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let max = self.shared.limits.decisions_max;
                let query = ItemQuery { thread: thread.id, kind: ItemKind::Decision, key: None, limit: max };
                if self.shared.stores.store.items(query).await?.len() >= max {
                    return Err(Error::DecisionsFull { max });
                }
                Ok((self.commit(vec![write(&thread, decide.expected, None, vec![entry.clone()], None)]), ()))
            })
            .await?;
        let place = committed.threads.first().ok_or(Error::Busy)?;
        let actor = Arc::new(self.caller.actor.clone());
        Ok(Decision { question, answer, reason, actor, created: place.time, version: place.first })
    }

    /// The answers that count on a thread, now or as of a version, in the order in which they were given.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::VersionInFuture`].
    pub async fn decisions(&self, thread: ThreadId, as_of: Option<Version>) -> Result<Vec<Decision>> {
        let thread = self.thread(thread).await?;
        let view = self.view(thread.id, &thread.head, as_of).await?;
        let query = ItemQuery { thread: thread.id, kind: ItemKind::Decision, key: None, limit: usize::MAX };
        let mut newest = HashMap::new();
        for item in self.shared.stores.store.items(query).await? {
            if !view.holds(item.born) {
                continue;
            }
            let Entry::Decided(Decided { question, answer, reason }) = self.decode(&item.entry).await? else {
                return Err(StoreError::corrupt(format!("item {} is no decision", item.key)).into());
            };
            let (actor, created, version) = (item.entry.actor, item.entry.time, item.entry.position);
            let decision = Decision { question, answer, reason, actor, created, version };
            // They come in the order of their places.
            newest.insert(decision.key(), decision);
        }
        let mut decisions: Vec<Decision> = newest.into_values().collect();
        decisions.sort_by_key(|decision| decision.version);
        Ok(decisions)
    }
}

fn text(field: &str, text: String) -> Result<String, Invalid> {
    let text = strip_nulls(text);
    if text.trim().is_empty() {
        return Err(Invalid::body(field, "must not be blank"));
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(Invalid::new(Code::TooLarge, field, format!("has at most {TEXT_BYTES_MAX} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::same_question;

    #[test]
    fn white_space_and_case_make_no_other_question() {
        assert_eq!(same_question("  Which\n store?\t"), "which store?");
        assert_eq!(same_question("WELCHE FARBE, ÜBRIGENS?"), same_question("Welche Farbe, übrigens?"));
        assert_ne!(same_question("Which store"), same_question("Which store?"));
    }
}
