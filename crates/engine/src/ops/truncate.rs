//! `truncate`: drops all messages from a point on. Files and values stay, and nothing is lost: it can be undone.

use threadkeep_model::{
    AgentAssigned, AgentState, Bounds, Entry, MessageId, NewEntry, NewSegment, Tally, Thread, ThreadId, Truncated,
    Version,
};

use super::cut::link;
use super::write;
use crate::gate::{Change, open_for};
use crate::{Engine, Error, Result, calls};

/// From where on to drop messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncateFrom {
    /// From the message with this index on, inclusive.
    Index(u64),
    /// From this message on, inclusive.
    Message(MessageId),
}

/// Drops all messages from a point on.
#[derive(Debug, Clone)]
pub struct Truncate {
    /// The point.
    pub from: TruncateFrom,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Engine {
    /// Drops all messages from a point on, and gives the thread as it is now.
    ///
    /// # Errors
    /// [`Error::MessageNotFound`], [`Error::IndexOutOfRange`]: there is no such point; [`Error::ThreadClosed`];
    /// [`Error::VersionConflict`].
    pub async fn truncate(&self, thread: ThreadId, truncate: Truncate) -> Result<Thread> {
        let (committed, mut after) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let index = match truncate.from {
                    TruncateFrom::Index(index) => index,
                    TruncateFrom::Message(message) => {
                        let located = self.locate(&view, message).await?;
                        self.index_of(&view, &located).await?
                    }
                };
                let count = view.tally.messages();
                if index >= count {
                    return Err(Error::IndexOutOfRange { index, count });
                }
                let cut = match index.checked_sub(1) {
                    Some(kept) => self.cut_after(&view, &self.locate_index(&view, kept).await?).await?,
                    None => self.cut_all(),
                };
                // Messages up to the cut, everything else up to now.
                let now = Bounds::all(thread.head.version);
                let bounds = Bounds { messages: cut.bounds.messages, ..now };
                let Tally { last_change, last_state, work, .. } = view.tally;
                let tally = Tally { last_change, last_state, work, ..cut.tally };
                let segment = NewSegment { id: self.new_segment(), link: link(&view, bounds), birth: tally };
                let mut entries = vec![NewEntry::new(&Entry::Truncated(Truncated { from_index: index }))];
                let leads_to_agents = segment.link.is_some_and(|link| !link.bounds.hides_agents());
                let state = thread.record.state();
                if !leads_to_agents && state != AgentState::default() {
                    // Nothing leads from here to the thread's birth, which may be freed one day.
                    entries.push(NewEntry::new(&Entry::AgentAssigned(AgentAssigned { state })));
                }
                let closed = self.close_calls(&view, index, &[], calls::Interrupted::Truncate).await?;
                entries.extend(cut.hidden.map(|hidden| NewEntry::new(&Entry::MessagesDeleted(hidden))));
                entries.extend(closed.as_ref().map(NewEntry::new));
                let commit = self.commit(vec![write(&thread, truncate.expected, Some(segment), entries, None)]);
                Ok((commit, thread))
            })
            .await?;
        if let Some(committed) = committed.threads.first() {
            after.head = committed.head;
        }
        Ok(after)
    }
}
