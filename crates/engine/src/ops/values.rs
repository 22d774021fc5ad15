//! `set-value`: JSON under a key, durable and versioned with the log. Nothing under a key is null.

use threadkeep_model::{
    CellIs, Code, Entry, Invalid, Json, MessageId, NewEntry, Space, ThreadId, Timestamp, ValueChange, ValueKey,
    ValuesChanged, Version,
};
use threadkeep_store::{Cell, CellNames, StoreError};

use super::write;
use crate::gate::{Change, open_for};
use crate::view::View;
use crate::{Engine, Error, Result};

/// Longest value, in bytes of JSON.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// Sets a value, or takes it away.
#[derive(Debug, Clone)]
pub struct SetValue {
    /// Under which key.
    pub key: ValueKey,
    /// The value; none, or null, takes away what is there.
    pub value: Option<Json>,
    /// The version the value must have for this to happen; 0 if there must be none.
    pub if_version: Option<Version>,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl SetValue {
    /// This value under this key, whatever is there.
    ///
    /// # Errors
    /// If the key breaks a rule.
    pub fn new(key: &str, value: Json) -> Result<Self, Invalid> {
        Ok(Self { key: key.parse()?, value: Some(value), if_version: None, expected: None })
    }
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredValue {
    /// Its key.
    pub key: ValueKey,
    /// The JSON, exactly as it was set.
    pub value: Json,
    /// The version of the thread with which it was set.
    pub version: Version,
    /// When.
    pub updated: Timestamp,
}

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

impl Engine {
    /// Sets a value, and gives it as it is kept; none if it took one away, or there was none.
    ///
    /// # Errors
    /// [`Error::ValueConflict`] if the value has another version than expected; [`Code::TooLarge`];
    /// [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn set_value(&self, thread: ThreadId, set: SetValue) -> Result<Option<StoredValue>> {
        Ok(self.change_value(thread, set).await?.1)
    }

    /// Takes a value away, and says whether there was one. Of `set`, the value does not matter.
    ///
    /// # Errors
    /// As [`Engine::set_value`].
    pub async fn delete_value(&self, thread: ThreadId, set: SetValue) -> Result<bool> {
        Ok(self.change_value(thread, SetValue { value: None, ..set }).await?.0)
    }

    /// Whether anything happened, and what lies there now.
    async fn change_value(&self, thread: ThreadId, set: SetValue) -> Result<(bool, Option<StoredValue>)> {
        let SetValue { key, value, if_version, expected } = set;
        let value = value.filter(|value| !value.is_null());
        if value.as_ref().is_some_and(|value| value.as_str().len() > VALUE_BYTES_MAX) {
            return Err(Invalid::new(Code::TooLarge, "value", format!("has at most {VALUE_BYTES_MAX} bytes")).into());
        }
        let (committed, changes) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let found = self.cells_of(&view, Space::Values, vec![key.to_string()]).await?.into_values().next();
                let there = found.filter(|cell| cell.is != CellIs::Gone);
                let current = there.as_ref().map_or(Version::START, |cell| cell.position);
                if let Some(expected) = if_version.filter(|expected| *expected != current) {
                    return Err(Error::ValueConflict { key: key.clone(), expected, current });
                }
                let change = ValueChange { key: key.clone(), value: value.clone() };
                let changed = Entry::ValuesChanged(ValuesChanged { changes: vec![change] });
                let changes = value.is_some() || there.is_some();
                let entries = if changes { vec![NewEntry::new(&changed)] } else { Vec::new() };
                Ok((self.commit(vec![write(&thread, expected, None, entries, None)]), changes))
            })
            .await?;
        let place = committed.threads.first().filter(|_| changes);
        let stored = value.zip(place);
        let stored = stored.map(|(value, place)| StoredValue { key, value, version: place.first, updated: place.time });
        Ok((changes, stored))
    }

    /// The value under `key`, now or as of a version; none if there is none.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], [`Error::VersionInFuture`].
    pub async fn value(&self, thread: ThreadId, key: &ValueKey, as_of: Option<Version>) -> Result<Option<StoredValue>> {
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
    pub async fn values(&self, thread: ThreadId, which: Values) -> Result<(Vec<StoredValue>, Option<ValueKey>)> {
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
    ) -> Result<(Vec<StoredValue>, Option<ValueKey>)> {
        let mut found: Vec<StoredValue> = Vec::new();
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
    pub(crate) async fn stored_value(&self, cell: &Cell) -> Result<Option<StoredValue>> {
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
        Ok(Some(StoredValue { key, value, version: cell.position, updated: cell.time }))
    }
}
