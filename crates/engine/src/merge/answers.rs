//! The decisions of a merge: the target and all sources are compared with each other, in the given order. An answer
//! that none of them contests is adopted. Pure.

use std::collections::BTreeMap;

use threadkeep_calls::Decision;
use threadkeep_model::{
    ConflictType, Decided, DecisionStrategy, Json, MergeConflict, MergePlan, Resolved, Take, ThreadId,
};

/// The answers that the target would have, by the key of their question.
pub(super) struct Answers {
    /// How many answers the target has.
    pub(super) before: usize,
    answers: BTreeMap<String, Answer>,
}

struct Answer {
    question: String,
    answer: String,
    /// The source it comes from; none for the target's own.
    from: Option<ThreadId>,
}

impl Answers {
    pub(super) fn new(ours: Vec<Decision>) -> Self {
        let own = |decision: Decision| {
            let key = decision.key();
            (key, Answer { question: decision.question, answer: decision.answer, from: None })
        };
        Self { before: ours.len(), answers: ours.into_iter().map(own).collect() }
    }

    /// Takes an answer of `source`, unless another one contests it; gives the conflict then.
    pub(super) fn merge(&mut self, source: ThreadId, theirs: Decision, plan: &MergePlan) -> Option<MergeConflict> {
        let key = theirs.key();
        let adopted = |answer: String| Answer { question: theirs.question.clone(), answer, from: Some(source) };
        let Some(ours) = self.answers.get(&key) else {
            self.answers.insert(key, adopted(theirs.answer.clone()));
            return None;
        };
        if ours.answer.trim() == theirs.answer.trim() {
            return None;
        }
        let is_named = |question: &String| Decision { question: question.clone(), ..theirs.clone() }.key() == key;
        let choice = plan.choices.iter().find(|choice| choice.question.as_ref().is_some_and(is_named));
        let (resolved, answer) = match choice.map(|choice| (choice.take, choice.content.clone())) {
            Some((Some(Take::Theirs), _)) => (Some(Resolved::Theirs), Some(theirs.answer.clone())),
            Some((_, Some(content))) => (Some(Resolved::Content), Some(content)),
            Some(_) => (Some(Resolved::Ours), None),
            None => match plan.conflict_strategy.decision {
                DecisionStrategy::Human => (None, None),
                DecisionStrategy::Ours => (Some(Resolved::Ours), None),
                DecisionStrategy::Theirs => (Some(Resolved::Theirs), Some(theirs.answer.clone())),
            },
        };
        let conflict = MergeConflict {
            source: Some(source),
            question: Some(theirs.question.clone()),
            ours: Some(Json::string(&ours.answer)),
            theirs: Some(Json::string(&theirs.answer)),
            resolved,
            ..MergeConflict::of(ConflictType::Decision)
        };
        if let Some(answer) = answer {
            self.answers.insert(key, adopted(answer));
        }
        Some(conflict)
    }

    /// The answers that the target gets.
    pub(super) fn adopted(&self) -> Vec<Decided> {
        let adopted = |answer: &Answer| {
            let reason = Some(format!("merged from {}", answer.from?));
            Some(Decided { question: answer.question.clone(), answer: answer.answer.clone(), reason })
        };
        self.answers.values().filter_map(adopted).collect()
    }
}
