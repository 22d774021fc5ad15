//! Values on both sides of a merge: if only the source changed a value, it is taken; if both did, it is a
//! conflict.

use std::collections::{BTreeMap, BTreeSet};

use threadkeep_model::{
    CellIs, Choice, ConflictType, Json, MergeAction, MergeConflict, MergePlan, MergedValue, Resolved, Space,
    StateStrategy, Take, ThreadId, Timestamp, ValueChange, ValueKey,
};
use threadkeep_store::CellNames;

use super::scope::Scope;
use crate::files::LOOKED_AT;
use crate::ground::view::View;
use crate::{Engine, Result};

/// The value of a key, and since when; none if it was deleted.
pub(super) type Values = BTreeMap<String, (Timestamp, Option<Json>)>;

/// The values of the target while threads are merged into it.
pub(super) struct Held {
    before: Values,
    now: Values,
    from: BTreeMap<String, ThreadId>,
    conflicts: Vec<MergeConflict>,
}

impl Held {
    pub(super) fn new(values: Values) -> Self {
        Self { before: values.clone(), now: values, from: BTreeMap::new(), conflicts: Vec::new() }
    }

    /// Merges the values of one source.
    pub(super) fn merge(&mut self, source: ThreadId, before: &Values, after: &Values, plan: &MergePlan) -> Result<()> {
        let held = |values: &Values, key: &str| values.get(key).and_then(|(_, value)| value.clone());
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let (base, ours, theirs) = (held(before, key), held(&self.now, key), held(after, key));
            if theirs == base || ours == theirs {
                continue;
            }
            if ours == base {
                self.set(key, after.get(key).map_or(Timestamp::from_micros(0), |(time, _)| *time), theirs, source);
                continue;
            }
            let choice =
                plan.choices.iter().find(|choice| choice.key.as_ref().is_some_and(|named| named.as_str() == key));
            let is_later = after.get(key).map(|(time, _)| *time) > self.now.get(key).map(|(time, _)| *time);
            let resolved = resolve(choice, plan.conflict_strategy.state, is_later);
            match resolved {
                Some(Resolved::Theirs) => {
                    self.set(
                        key,
                        after.get(key).map_or(Timestamp::from_micros(0), |(time, _)| *time),
                        theirs.clone(),
                        source,
                    );
                }
                Some(Resolved::Content) => {
                    let value = choice.and_then(|choice| choice.value.clone());
                    self.set(key, Timestamp::from_micros(0), value, source);
                }
                Some(Resolved::Ours | Resolved::Union) | None => {}
            }
            self.conflicts.push(MergeConflict {
                source: Some(source),
                key: Some(key.parse()?),
                base,
                ours,
                theirs,
                resolved,
                ..MergeConflict::of(ConflictType::State)
            });
        }
        Ok(())
    }

    fn set(&mut self, key: &str, time: Timestamp, value: Option<Json>, source: ThreadId) {
        let value = value.filter(|value| value.as_str().trim() != "null");
        self.now.insert(key.to_owned(), (time, value));
        self.from.insert(key.to_owned(), source);
    }

    /// The changes, their sources, and the conflicts.
    pub(super) fn done(self) -> (Vec<ValueChange>, Vec<MergedValue>, Vec<MergeConflict>) {
        let (mut set, mut told) = (Vec::new(), Vec::new());
        for (name, source) in &self.from {
            let before = self.before.get(name).and_then(|(_, value)| value.clone());
            let now = self.now.get(name).and_then(|(_, value)| value.clone());
            let Some(key) = name.parse::<ValueKey>().ok().filter(|_| before != now) else { continue };
            let action = match (&before, &now) {
                (None, _) => MergeAction::Added,
                (Some(_), Some(_)) => MergeAction::Taken,
                (Some(_), None) => MergeAction::Removed,
            };
            told.push(MergedValue { key: key.clone(), action, thread_id: *source });
            set.push(ValueChange { key, value: now });
        }
        (set, told, self.conflicts)
    }
}

fn resolve(choice: Option<&Choice>, strategy: StateStrategy, is_later: bool) -> Option<Resolved> {
    match choice {
        Some(Choice { value: Some(_), .. }) => Some(Resolved::Content),
        Some(Choice { take: Some(Take::Theirs), .. }) => Some(Resolved::Theirs),
        Some(_) => Some(Resolved::Ours),
        None => match strategy {
            StateStrategy::Human => None,
            StateStrategy::Ours => Some(Resolved::Ours),
            StateStrategy::Theirs => Some(Resolved::Theirs),
            StateStrategy::Latest if is_later => Some(Resolved::Theirs),
            StateStrategy::Latest => Some(Resolved::Ours),
        },
    }
}

impl Engine {
    /// The values that a view shows and a scope names, those included that were taken away.
    pub(super) async fn held_in(&self, view: &View, scope: &Scope) -> Result<Values> {
        let mut values = Values::new();
        let mut next = Some(String::new());
        while let Some(from) = next {
            let page = self.cells(view, Space::Values, CellNames::Between(from, None), LOOKED_AT).await?;
            next = page.next;
            let is_value = |name: &str| !name.starts_with(ValueKey::RESERVED) && scope.has_value(name);
            for cell in page.cells.iter().filter(|cell| is_value(&cell.name)) {
                let value = match &cell.is {
                    CellIs::Gone => None,
                    CellIs::There(_) | CellIs::InEntry => self.stored_value(cell).await?.map(|stored| stored.value),
                };
                values.insert(cell.name.clone(), (cell.time, value));
            }
        }
        Ok(values)
    }
}
