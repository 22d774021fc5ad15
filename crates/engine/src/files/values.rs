//! Reading values: JSON under keys, now or as of a version. How they change is in `ops::values`.

use threadkeep_calls::Value;
use threadkeep_model::{CellIs, Entry, MessageId, Space, ThreadId, ValueKey, Version};
use threadkeep_store::{BoxFuture, Cell, CellNames, StoreError};

use crate::ground::view::View;
use crate::{Engine, Result};

/// The values to read.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Those whose keys begin with this.
    pub prefix: String,
    /// From the key after this one on.
    pub after: Option<ValueKey>,
    /// Most values to return.
    pub limit: Option<usize>,
    /// As of this version.
    pub as_of: Option<Version>,
}

impl Engine {
    /// The value under `key`, now or as of a version; none if there is none.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], [`Error::VersionInFuture`].
    pub fn value<'a>(
        &'a self,
        thread: ThreadId,
        key: &'a ValueKey,
        as_of: Option<Version>,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async move {
            let view = self.held_view(thread, as_of).await?;
            let found = self.cells_of(&view, Space::Values, vec![key.to_string()]).await?.into_values().next();
            match found {
                Some(cell) => self.stored_value(&cell).await,
                None => Ok(None),
            }
        })
    }

    /// Values in the order of their keys, and the key after which to go on.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], [`Error::VersionInFuture`].
    pub fn values(&self, thread: ThreadId, which: Values) -> BoxFuture<'_, Result<(Vec<Value>, Option<ValueKey>)>> {
        Box::pin(async move {
            let view = self.held_view(thread, which.as_of).await?;
            let limits = &self.shared.limits;
            let limit = which.limit.unwrap_or(limits.page).min(limits.page_max);
            self.values_in(&view, &which.prefix, which.after.as_ref(), limit).await
        })
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
                if cell.is == CellIs::Gone || cell.name.starts_with(ValueKey::RESERVED) {
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

    /// The value in a cell; none if it was deleted.
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
