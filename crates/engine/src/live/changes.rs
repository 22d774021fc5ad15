//! A thread step by step: how each logged entry changes the record and the list of messages.
//!
//! It rests on the log alone: every step once, in order, the same in every process. Unflushed updates of a
//! read-writer are not in it: they have no version and no message ids yet. Snapshots ([`Engine::observe`]) show
//! them. A slow observer reads the log later; no writer waits for it.

use std::collections::VecDeque;

use threadkeep_model::{Entry, Message, MessageId, Position, Record, Thread, ThreadId, Version, ViewChange};
use threadkeep_store::{BoxFuture, EntryQuery, Order, Signal, StoredEntry};

use super::rewind::Tail;
use crate::messages::message;
use crate::{Engine, Error, Result};

/// Entries that are read at once.
const READ_AT_ONCE: usize = 256;

/// The changes made by one entry.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadStep {
    /// The thread after it. (Its era and fence are those of the last step that was read up to the head.)
    pub thread: Thread,
    /// Changes to the list of messages, silent ones included, in order.
    pub messages: Vec<MessageChange>,
    /// Whether this is the whole change. A rollback can bring many messages back, in several steps of one version;
    /// only the last of them is complete.
    pub complete: bool,
}

/// A change to the list of messages. Indexes count from 0.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageChange {
    /// A message was inserted at `index`; the messages from there on moved on by one.
    Added {
        /// The index that the message has now.
        index: u64,
        /// The message that was added.
        message: Message,
    },
    /// The message at `index` got new content, new metadata, or both.
    Edited {
        /// The index of the message.
        index: u64,
        /// The message as it is now.
        message: Message,
        /// Whether the content is new.
        content: bool,
        /// Whether the metadata is new.
        metadata: bool,
    },
    /// Messages were removed; the messages after them moved up.
    Removed {
        /// The index of the first of them.
        index: u64,
        /// The number of removed messages.
        count: u64,
    },
}

/// Follows a thread step by step. See [`Engine::changes_of`].
pub struct ThreadChanges {
    engine: Engine,
    /// As of the last step.
    thread: Thread,
    /// As it was found in the store, at or after that.
    found: Thread,
    signal: Signal,
    ready: VecDeque<StoredEntry>,
    tail: Option<Tail>,
    began: bool,
}

impl Engine {
    /// Follows a thread step by step, from now on. The first step is the thread as it is, and changes nothing.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn changes_of(&self, thread: ThreadId) -> BoxFuture<'_, Result<ThreadChanges>> {
        Box::pin(async move {
            let signal = self.shared.stores.feed.signals().of(thread);
            let found = self.thread(thread).await?;
            Ok(ThreadChanges {
                engine: self.clone(),
                thread: found.clone(),
                found,
                signal,
                ready: VecDeque::new(),
                tail: None,
                began: false,
            })
        })
    }

    /// Entries that were logged to a thread after `after`, which is not before its birth, up to `last`.
    async fn own_entries(&self, found: &Thread, known: &Thread, limit: usize) -> Result<Vec<StoredEntry>> {
        let store = &self.shared.stores.store;
        let (after, last) = (known.head.version, found.head.version);
        let query = |segment, first: Position, last, limit| EntryQuery {
            segment,
            positions: first.max(after.next())..=last,
            order: Order::Ascending,
            limit,
        };
        if found.head.segment == known.head.segment {
            return Ok(store.entries(query(found.head.segment, after, last, limit)).await?);
        }
        let mut entries = Vec::new();
        let mut own = store.segments(found.id, Position::END, usize::MAX).await?;
        own.reverse();
        let ends = own.iter().skip(1).map(|segment| segment.first.previous()).chain([last]);
        for (segment, end) in own.iter().zip(ends) {
            if end > after && entries.len() < limit {
                entries.extend(store.entries(query(segment.id, segment.first, end, limit - entries.len())).await?);
            }
        }
        Ok(entries)
    }
}

impl ThreadChanges {
    /// The next step: each once, in order. None once the thread is deleted. Cancelling it loses nothing.
    ///
    /// # Errors
    /// If the store cannot be read; nothing is lost by asking again.
    pub async fn next(&mut self) -> Result<Option<ThreadStep>> {
        loop {
            match self.next_so_far().await {
                Ok(None) => self.news().await,
                Err(Error::ThreadNotFound { .. }) => return Ok(None),
                found => return found,
            }
        }
    }

    /// The next step if it is already committed; none at the end of the log.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`] once the thread is deleted. If the store cannot be read now, nothing is lost by asking
    /// again.
    pub fn next_so_far(&mut self) -> BoxFuture<'_, Result<Option<ThreadStep>>> {
        Box::pin(async move {
            if !std::mem::replace(&mut self.began, true) {
                return Ok(Some(ThreadStep { thread: self.thread.clone(), messages: Vec::new(), complete: true }));
            }
            if let Some(mut tail) = self.tail.take() {
                let read = tail.read(&self.engine, self.thread.id).await;
                let unread = read.as_ref().map_or(true, |(_, more)| *more);
                self.tail = unread.then_some(tail);
                let (messages, more) = read?;
                return Ok(Some(ThreadStep { thread: self.thread.clone(), messages, complete: !more }));
            }
            if self.ready.is_empty() {
                if self.found.head.version <= self.thread.head.version {
                    self.found = self.engine.thread(self.thread.id).await?;
                }
                self.ready = self.engine.own_entries(&self.found, &self.thread, READ_AT_ONCE).await?.into();
            }
            let Some(entry) = self.ready.front() else { return Ok(None) };
            let after = self.after(entry).await?;
            let (messages, tail) = self.compare(entry, &after).await?;
            self.ready.pop_front();
            self.thread = after;
            let complete = tail.is_none();
            self.tail = tail;
            Ok(Some(ThreadStep { thread: self.thread.clone(), messages, complete }))
        })
    }

    /// Resolves when there may be more. It is a hint: call [`ThreadChanges::next_so_far`] to read the steps.
    pub async fn news(&mut self) {
        self.signal.wait().await;
    }

    /// The version of the last step.
    pub fn version(&self) -> Version {
        self.thread.head.version
    }

    /// The thread after `entry`.
    async fn after(&self, entry: &StoredEntry) -> Result<Thread> {
        if entry.position == self.found.head.version {
            return Ok(self.found.clone());
        }
        let mut after = self.thread.clone();
        after.head.version = entry.position;
        after.head.segment = entry.segment;
        after.head.updated = after.head.updated.max(entry.time);
        after.head.tally = entry.tally;
        if Record::CHANGED_BY.contains(&entry.kind) {
            after.record = after.record.after(&self.engine.decode(entry).await?)?;
        }
        Ok(after)
    }

    /// The changes of `entry` to the list of messages, and the part of them still to be read.
    async fn compare(&self, entry: &StoredEntry, after: &Thread) -> Result<(Vec<MessageChange>, Option<Tail>)> {
        let (engine, thread, head) = (&self.engine, after.id, &self.found.head);
        let messages = match entry.kind.view_change() {
            ViewChange::Appends => {
                let message = message(entry, engine.body(entry).await?)?;
                vec![MessageChange::Added { index: after.head.tally.messages().saturating_sub(1), message }]
            }
            ViewChange::Inserts => {
                let view = engine.view(thread, head, Some(entry.position)).await?;
                let id = MessageId { segment: entry.segment, position: entry.position };
                let located = engine.locate(&view, id).await?;
                let index = engine.place_of(&view, &located).await?;
                vec![MessageChange::Added { index, message: engine.assemble(&located.base, located.item()).await? }]
            }
            ViewChange::Edits => {
                let Entry::MessageEdited(edited) = engine.decode(entry).await? else { return Ok((Vec::new(), None)) };
                let view = engine.view(thread, head, Some(entry.position)).await?;
                let located = engine.locate(&view, edited.target).await?;
                vec![MessageChange::Edited {
                    index: engine.place_of(&view, &located).await?,
                    message: engine.assemble(&located.base, located.item()).await?,
                    content: edited.content.is_some(),
                    metadata: edited.metadata.is_some(),
                }]
            }
            ViewChange::Deletes => {
                let Entry::MessagesDeleted(deleted) = engine.decode(entry).await? else {
                    return Ok((Vec::new(), None));
                };
                let view = engine.view(thread, head, Some(self.thread.head.version)).await?;
                let mut indexes = Vec::with_capacity(deleted.targets.len());
                for target in deleted.targets {
                    let located = engine.locate(&view, target).await?;
                    indexes.push(engine.place_of(&view, &located).await?);
                }
                // From the end, so that none moves before its turn.
                indexes.sort_unstable_by(|one, other| other.cmp(one));
                indexes.into_iter().map(|index| MessageChange::Removed { index, count: 1 }).collect()
            }
            ViewChange::Truncates => {
                let (before, left) = (self.thread.head.tally.messages(), after.head.tally.messages());
                let gone = MessageChange::Removed { index: left, count: before.saturating_sub(left) };
                if before > left { vec![gone] } else { Vec::new() }
            }
            ViewChange::Rewinds => {
                let before = engine.view(thread, head, Some(self.thread.head.version)).await?;
                let now = engine.view(thread, head, Some(entry.position)).await?;
                let (messages, tail) = engine.rewound(&before, &now, entry.position).await?;
                let Some(mut tail) = tail else { return Ok((messages, None)) };
                let (mut messages, (back, more)) = (messages, tail.read(engine, thread).await?);
                messages.extend(back);
                return Ok((messages, more.then_some(tail)));
            }
            ViewChange::Nothing => Vec::new(),
        };
        Ok((messages, None))
    }
}
