//! `set-value`: JSON under a key, durable and versioned with the log. Nothing under a key is null.

use threadkeep_calls as calls;
use threadkeep_calls::{At, DeleteValue, Deleted, GetValue, ListValues, SetValue, Value};
use threadkeep_model::{
    CellIs, Code, Entry, Invalid, Json, Space, Thread, ThreadId, ValueChange, ValueKey, ValuesChanged, Version,
};
use threadkeep_store::Cell;

use crate::files::Values;
use crate::ground::carry::Carry;
use crate::ground::cursor::{cursor, place};
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::{Plan, Told};
use crate::ground::policy::Verb;
use crate::shown::ShownValues;
use crate::{Engine, Error, Result};

/// Longest value, in bytes of JSON.
const VALUE_BYTES_MAX: usize = 1 << 20;

impl Carry for SetValue {
    type Made = Value;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Value> {
        let Self { key, value, if_version } = self;
        let value = Some(value).filter(|value| !value.is_null());
        let told = engine.change_value(thread, &key, value, if_version).await?;
        Ok(match told.entries.into_iter().next() {
            Some(Entry::ValuesChanged(changed)) => match changed.changes.into_iter().next() {
                Some(ValueChange { key, value: Some(value) }) => {
                    Value { key, value, version: told.place.first, updated_at: Some(told.place.time) }
                }
                _ => Value::missing(key),
            },
            _ => Value::missing(key),
        })
    }
}

impl Carry for DeleteValue {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Deleted> {
        let told = engine.change_value(thread, &self.key, None, self.if_version).await?;
        Ok(Deleted { deleted: !told.entries.is_empty() })
    }
}

impl Carry for GetValue {
    type Made = Value;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Value> {
        let found = engine.value(thread, &self.key, self.as_of).await?;
        Ok(found.unwrap_or_else(|| Value::missing(self.key)))
    }
}

impl Carry for ListValues {
    type Made = ShownValues;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<ShownValues> {
        let limit = engine.page_limit(self.limit)?;
        let list = ("values", thread, self.prefix.clone());
        let (version, after) = match self.cursor.as_deref() {
            Some(cursor) => place::<ValueKey>(&list, cursor, self.as_of)?,
            None => match self.as_of {
                Some(version) => (version, None),
                None => (engine.head(thread, Verb::ReadFile).await?.version, None),
            },
        };
        let which = Values { prefix: self.prefix, after, limit: Some(limit), as_of: Some(version) };
        let (items, next) = engine.values(thread, which).await?;
        let next_cursor = next.map(|next| cursor(&list, version, next.as_str()));
        Ok(ShownValues(calls::Page::new(items, next_cursor, None), version))
    }
}

impl Engine {
    /// Sets a value, and gives it as it is kept; none if null took it away.
    ///
    /// # Errors
    /// [`Error::ValueConflict`] if the value has another version than expected; [`Code::TooLarge`];
    /// [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn set_value(&self, at: impl Into<At>, set: SetValue) -> Result<Option<Value>> {
        Ok(Some(self.call(at, set).await?).filter(|value| !value.is_missing()))
    }

    /// Deletes a value, and says whether there was one.
    ///
    /// # Errors
    /// As [`Engine::set_value`].
    pub async fn delete_value(&self, at: impl Into<At>, delete: DeleteValue) -> Result<bool> {
        Ok(self.call(at, delete).await?.deleted)
    }

    async fn change_value(
        &self,
        thread: ThreadId,
        key: &ValueKey,
        value: Option<Json>,
        if_version: Option<Version>,
    ) -> Result<Told> {
        if value.as_ref().is_some_and(|value| value.as_str().len() > VALUE_BYTES_MAX) {
            return Err(Invalid::new(Code::TooLarge, "value", format!("has at most {VALUE_BYTES_MAX} bytes")).into());
        }
        self.tell(thread, || async {
            let thread = self.thread(thread).await?;
            let view = self.view(thread.id, &thread.head, None).await?;
            let found = self.cells_of(&view, Space::Values, vec![key.to_string()]).await?.into_values().next();
            let there = found.filter(|cell| cell.is != CellIs::Gone);
            decide(thread, ValueChange { key: key.clone(), value: value.clone() }, there.as_ref(), if_version)
        })
        .await
    }
}

/// The plan, where `there` is the present cell of the key.
fn decide(thread: Thread, change: ValueChange, there: Option<&Cell>, if_version: Option<Version>) -> Result<Plan> {
    open_for(&thread, Change::Content)?;
    let current = there.map_or(Version::START, |cell| cell.position);
    if let Some(expected) = if_version.filter(|expected| *expected != current) {
        return Err(Error::ValueConflict { key: change.key, expected, current });
    }
    let changes = change.value.is_some() || there.is_some();
    let changed = Entry::ValuesChanged(ValuesChanged { changes: vec![change] });
    Ok(Plan::new(thread, if changes { vec![changed] } else { Vec::new() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::plan::testing::thread;

    #[test]
    fn a_missing_key_is_version_0_and_deleting_it_changes_nothing() {
        let change =
            |value: Option<&str>| ValueChange { key: "k".parse().expect("a key"), value: value.map(Json::string) };
        let plan = |value, if_version| decide(thread(), change(value), None, if_version);
        assert!(plan(None, None).expect("a plan").entries.is_empty());
        assert_eq!(plan(Some("v"), Some(Version::START)).expect("a plan").entries.len(), 1);
        assert!(matches!(plan(Some("v"), Some(Version::START.next())), Err(Error::ValueConflict { .. })));
    }
}
