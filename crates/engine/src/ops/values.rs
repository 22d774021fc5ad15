//! `set-value`: JSON under a key, durable and versioned with the log. Nothing under a key is null.

use threadkeep_calls as calls;
use threadkeep_calls::{At, DeleteValue, Deleted, GetValue, ListValues, SetValue, Value};
use threadkeep_model::{
    CellIs, Code, Entry, Invalid, Json, MessageId, Space, Thread, ThreadId, ValueChange, ValueKey, ValuesChanged,
    Version,
};
use threadkeep_store::{Cell, CellNames, StoreError};

use crate::carry::Carry;
use crate::gate::{Change, open_for};
use crate::plan::{Plan, Told};
use crate::policy::Verb;
use crate::show::ShownValues;
use crate::view::View;
use crate::{Engine, Error, Result};

/// Longest value, in bytes of JSON.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// Which values to read.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Those whose keys begin with this.
    pub prefix: String,
    /// From the key after this one on.
    pub after: Option<ValueKey>,
    /// At most so many.
    pub limit: Option<usize>,
    /// As of this version.
    pub as_of: Option<Version>,
}

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
        let (version, after) = match self.cursor.as_deref() {
            Some(cursor) => place::<ValueKey>(cursor, self.as_of)?,
            None => match self.as_of {
                Some(version) => (version, None),
                None => (engine.head(thread, Verb::ReadFile).await?.version, None),
            },
        };
        let which = Values { prefix: self.prefix, after, limit: Some(limit), as_of: Some(version) };
        let (items, next) = engine.values(thread, which).await?;
        let next_cursor = next.map(|next| cursor(version, next.as_str()));
        Ok(ShownValues(calls::Page { items, next_cursor, total: None }, version))
    }
}

/// The cursor of a page that ended after a name, as the thread was at a version.
pub fn cursor(version: Version, name: &str) -> String {
    format!("{version}.{name}")
}

/// The version and the name of a cursor, which a list as of another version does not take.
///
/// # Errors
/// [`Code::InvalidCursor`].
pub fn place<T: std::str::FromStr + std::fmt::Display>(
    cursor: &str,
    as_of: Option<Version>,
) -> Result<(Version, Option<T>), Invalid> {
    let read = cursor.split_once('.').and_then(|(version, name)| {
        let version: Version = version.parse().ok()?;
        let read: T = name.parse().ok()?;
        // A name that is spelled otherwise was not given here.
        (read.to_string() == name).then_some((version, Some(read)))
    });
    let read = read.filter(|(version, _)| as_of.is_none_or(|as_of| as_of == *version));
    let rule = "is not one that this list gave; begin anew, without a cursor";
    read.ok_or_else(|| Invalid::new(Code::InvalidCursor, "cursor", rule))
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

    /// The value under `key`, now or as of a version; none if there is none.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], [`Error::VersionInFuture`].
    pub async fn value(&self, thread: ThreadId, key: &ValueKey, as_of: Option<Version>) -> Result<Option<Value>> {
        let view = self.held_view(thread, as_of).await?;
        let found = self.cells_of(&view, Space::Values, vec![key.to_string()]).await?.into_values().next();
        match found {
            Some(cell) => self.stored_value(&cell).await,
            None => Ok(None),
        }
    }

    /// Values in the order of their keys, and the key after which to go on.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], [`Error::VersionInFuture`].
    pub async fn values(&self, thread: ThreadId, which: Values) -> Result<(Vec<Value>, Option<ValueKey>)> {
        let view = self.held_view(thread, which.as_of).await?;
        let limits = &self.shared.limits;
        let limit = which.limit.unwrap_or(limits.page).min(limits.page_max);
        self.values_in(&view, &which.prefix, which.after.as_ref(), limit).await
    }

    pub(crate) async fn values_in(
        &self,
        view: &View,
        prefix: &str,
        after: Option<&ValueKey>,
        limit: usize,
    ) -> Result<(Vec<Value>, Option<ValueKey>)> {
        let mut found: Vec<Value> = Vec::new();
        let start = after.map(|after| format!("{after}\u{1}")).unwrap_or_default();
        let mut from = Some(start.max(prefix.to_owned()));
        while let Some(start) = from {
            let names = CellNames::Between(start, None);
            let page = self.cells(view, Space::Values, names, (limit - found.len()).max(1) + 1).await?;
            from = page.next;
            for cell in &page.cells {
                if !cell.name.starts_with(prefix) {
                    return Ok((found, None));
                }
                if cell.is == CellIs::Gone {
                    continue;
                }
                if found.len() == limit {
                    let last = found.last().map(|last| last.key.clone());
                    return Ok((found, last));
                }
                found.extend(self.stored_value(cell).await?);
            }
        }
        Ok((found, None))
    }

    /// What a cell of a value says; none if nothing is there any more.
    pub(crate) async fn stored_value(&self, cell: &Cell) -> Result<Option<Value>> {
        let damaged = |what: &str| StoreError::corrupt(format!("the value {} cannot be read: {what}", cell.name));
        let value = match &cell.is {
            CellIs::Gone => return Ok(None),
            CellIs::There(text) => serde_json::from_str(text).map_err(|error| damaged(&error.to_string()))?,
            CellIs::InEntry => {
                let place = MessageId { segment: cell.segment, position: cell.position };
                let entry = self.entry_at(place).await?.ok_or_else(|| damaged("its entry is missing"))?;
                let Entry::ValuesChanged(changed) = self.decode(&entry).await? else {
                    return Err(damaged("its entry is about something else").into());
                };
                let change = changed.changes.into_iter().find(|change| change.key.as_str() == cell.name);
                change.and_then(|change| change.value).ok_or_else(|| damaged("its entry does not hold it"))?
            }
        };
        let key = cell.name.parse().map_err(|_| damaged("its key breaks a rule"))?;
        Ok(Some(Value { key, value, version: cell.position, updated_at: Some(cell.time) }))
    }
}

/// The plan, where `there` is what the key holds.
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
    use crate::plan::testing::thread;

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
