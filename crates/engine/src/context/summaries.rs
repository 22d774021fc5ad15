//! Summaries of what was cut, as cells of the thread's values: forks share them, rollbacks drop them.

use threadkeep_calls::ContextSummary;
use threadkeep_model::{
    CellIs, ContextSummarized, Covered, Entry, Invalid, MessageId, Position, Space, Thread, ThreadId, Version,
};
use threadkeep_store::{BoxFuture, StoreError};

use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::ground::view::View;
use crate::{Engine, Error, Result};

impl Engine {
    /// The summary that holds in a view: the messages that it stands for are shown, and none of them changed since.
    pub(crate) async fn context_summary(&self, thread: &Thread, view: &View) -> Result<Option<ContextSummary>> {
        let names = vec![ContextSummarized::CELL.to_owned()];
        let Some(cell) = self.cells_of(view, Space::Values, names).await?.into_values().next() else { return Ok(None) };
        if cell.is == CellIs::Gone || !self.is_of_account(thread, cell.segment).await? {
            return Ok(None);
        }
        let place = MessageId { segment: cell.segment, position: cell.position };
        let damaged = || StoreError::corrupt(format!("the summary at {place} cannot be read"));
        let entry = self.entry_at(place).await?.ok_or_else(damaged)?;
        let Entry::ContextSummarized(ContextSummarized { covers, text, model }) = self.decode(&entry).await? else {
            return Err(damaged().into());
        };
        let last = match self.locate(view, covers.last).await {
            Ok(located) => located.root,
            Err(Error::MessageNotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if self.changed_since(view, cell.position, last).await? {
            return Ok(None);
        }
        Ok(Some(ContextSummary { covers, text, model, version: Some(cell.position), tokens: 0 }))
    }

    /// Whether a message up to the slot `last` was edited, deleted or inserted after a position.
    async fn changed_since(&self, view: &View, after: Position, last: u64) -> Result<bool> {
        if view.tally.last_change <= after {
            return Ok(false);
        }
        let later = self.changes_between(view, after.next()..=view.bounds.changes, view.bounds.changes).await?;
        Ok(later.iter().any(|change| change.root <= last))
    }

    /// Whether the thread's account wrote a segment. A fork of another account's public thread does not take over what
    /// was summarized there.
    async fn is_of_account(&self, thread: &Thread, segment: threadkeep_model::SegmentId) -> Result<bool> {
        let writer = self.lineage(segment).await?.segment.thread;
        if writer == thread.id {
            return Ok(true);
        }
        let writer = self.shared.stores.store.thread(writer.into()).await?;
        Ok(writer.is_some_and(|writer| writer.account == thread.account))
    }

    /// Keeps a summary of the messages that are cut, for the requests from now on. One of messages that the thread does
    /// not show any more is dropped.
    ///
    /// # Errors
    /// [`Error::ThreadClosed`]; [`Error::VersionConflict`]; a text that is blank or too long.
    pub fn summarize_context<'a>(
        &'a self,
        thread: ThreadId,
        covers: Covered,
        text: &'a str,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Version>>> {
        Box::pin(async move {
            let text = threadkeep_model::strip_nulls(text.trim().to_owned());
            if text.is_empty() || text.len() > ContextSummarized::TEXT_BYTES_MAX {
                let rule = format!("has 1 to {} bytes", ContextSummarized::TEXT_BYTES_MAX);
                return Err(Invalid::body("summary", rule).into());
            }
            let told = self
                .aside()
                .tell(thread, || async {
                    let thread = self.thread(thread).await?;
                    open_for(&thread, Change::Content)?;
                    let view = self.view(thread.id, &thread.head, None).await?;
                    let entries = match self.locate(&view, covers.last).await {
                        Ok(_) => {
                            let model = model.map(str::to_owned);
                            let told = ContextSummarized { covers, text: text.clone(), model };
                            vec![Entry::ContextSummarized(told)]
                        }
                        Err(Error::MessageNotFound { .. }) => Vec::new(),
                        Err(error) => return Err(error),
                    };
                    Ok(Plan::new(thread, entries))
                })
                .await?;
            Ok((!told.entries.is_empty()).then_some(told.place.first))
        })
    }
}
