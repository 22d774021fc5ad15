//! The history: all that was logged to a thread, by version, across its branches; and following it live.
//!
//! A follower joins the signal first, then reads, then waits: no entry falls in between, and none comes twice,
//! because entries already read are skipped by their version. A slow follower reads the log later; no writer
//! waits for it.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::Bytes;
use threadkeep_calls::ThreadEvent;
use threadkeep_model::{
    Account, Actor, Bounds, Class, Derived, Entry, Head, Kind, MessageId, Position, SegmentId, ThreadId, Timestamp,
    Version,
};
use threadkeep_store::{BoxFuture, EntryQuery, Order, Signal, StoreError, StoredEntry};

use crate::ground::policy::{Standing, Verb};
use crate::{Engine, Error, Result};

/// Entries read at once while a follower catches up.
const CATCH_UP_AT_ONCE: usize = 256;
/// Bytes of bodies after which a follower reads no further ahead.
const CATCH_UP_BYTES: usize = 1 << 20;

/// An entry of a thread's history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// The thread whose history it is.
    pub thread: ThreadId,
    /// Its version in the log.
    pub version: Version,
    /// Where it lies. For an appended or inserted message this is the message's id.
    pub place: MessageId,
    /// The kind of the entry.
    pub kind: Kind,
    /// When the entry was committed, by the store's clock.
    pub time: Timestamp,
    /// The account that answers for it.
    pub account: Arc<Account>,
    /// The person or agent who made the change.
    pub actor: Arc<Actor>,
    /// The cause that its writer named, such as a run.
    pub cause: Option<String>,
    /// The format of the body.
    pub format: u8,
    /// The body, as JSON.
    pub json: Bytes,
}

impl HistoryEntry {
    /// The events that it stands for, such as `status_changed`.
    ///
    /// # Errors
    /// If the body on disk is damaged.
    pub fn events(&self) -> Result<Vec<ThreadEvent>> {
        if ThreadEvent::may_follow(self.kind) { Ok(ThreadEvent::of(&self.entry()?)) } else { Ok(Vec::new()) }
    }

    /// The fact itself.
    ///
    /// # Errors
    /// If the body on disk is damaged.
    pub fn entry(&self) -> Result<Entry> {
        Entry::decode(self.kind, self.format, &self.json).map_err(|what| {
            let place = format!("entry {} of segment {}", self.place.position, self.place.segment);
            StoreError::corrupt(format!("{place}: {what}")).into()
        })
    }
}

/// Follows the history of one thread: entries logged after a version, then new entries as they are committed.
pub struct Subscription {
    engine: Engine,
    thread: ThreadId,
    after: Version,
    signal: Signal,
    ready: VecDeque<HistoryEntry>,
    /// Where the last entry that it gave lies.
    segment: Option<SegmentId>,
    /// Whether the last look reached the head. Then there is no more until there is a signal.
    is_current: bool,
    /// The caller's relation to the thread when it began.
    standing: Standing,
    reads: u64,
}

impl Subscription {
    /// The next entry: each once, in order. None once the thread is deleted. Cancelling it loses nothing.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<HistoryEntry>> {
        loop {
            // Every follower of a busy thread would look in vain once for each entry it gets.
            if self.is_current && self.ready.is_empty() && !self.signal.is_told() {
                self.news().await;
            }
            match self.next_so_far().await {
                Ok(None) => self.news().await,
                Err(Error::ThreadNotFound { .. }) => return Ok(None),
                found => return found,
            }
        }
    }

    /// The next entry if it is already committed; none at the end of the log.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`] once the thread is deleted. If the store cannot be read now, nothing is lost by asking
    /// again.
    pub fn next_so_far(&mut self) -> BoxFuture<'_, Result<Option<HistoryEntry>>> {
        Box::pin(async move {
            if !self.ready.is_empty() && self.signal.take() {
                // Invariant: entries that were read earlier are not given to a caller that lost the thread meanwhile.
                self.is_current = false;
                self.head().await?;
            }
            if self.ready.is_empty() {
                self.is_current = false;
                let head = self.head().await?;
                let (thread, after) = (self.thread, self.after);
                let found = match self.segment == Some(head.segment) {
                    true => self.engine.newest(thread, &head, after, CATCH_UP_AT_ONCE, CATCH_UP_BYTES).await?,
                    false => self.engine.history_up_to(thread, &head, after, CATCH_UP_AT_ONCE, CATCH_UP_BYTES).await?,
                };
                self.is_current = found.last().map_or(after, |last| last.version) >= head.version;
                self.ready = found.into();
                self.reads += 1;
            }
            let next = self.ready.pop_front();
            if let Some(entry) = &next {
                (self.after, self.segment) = (entry.version, Some(entry.place.segment));
            }
            Ok(next)
        })
    }

    /// The head, while the caller's relation to the thread is the one it began with: an owner who became a visitor
    /// begins anew.
    async fn head(&self) -> Result<Head> {
        match self.engine.head_and_standing(self.thread, Verb::Stream).await? {
            (head, standing) if standing == self.standing => Ok(head),
            _ => Err(Error::ThreadNotFound { thread: self.thread.into() }),
        }
    }

    /// How often it read from the store: what it gives was read by then.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Resolves when there may be more. It is a hint: call [`Subscription::next_so_far`] to read the entries.
    pub async fn news(&mut self) {
        self.signal.wait().await;
        self.is_current = false;
    }

    /// The thread that it follows.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// The version of the last entry it gave: where to resume.
    pub fn version(&self) -> Version {
        self.after
    }
}

impl Engine {
    /// Up to `limit` entries of a thread's history after version `after`, oldest first: the entries it inherited at
    /// its birth, then every entry logged to it, abandoned branches included.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn history(&self, thread: ThreadId, after: Version, limit: usize) -> BoxFuture<'_, Result<Vec<HistoryEntry>>> {
        Box::pin(async move { self.history_within(thread, after, limit, usize::MAX, Verb::Read).await })
    }

    /// The same, and no more once the bodies have [`Limits::page_bytes_max`](crate::Limits) bytes together.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn history_page(
        &self,
        thread: ThreadId,
        after: Version,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<HistoryEntry>>> {
        Box::pin(async move {
            self.history_within(thread, after, limit, self.shared.limits.page_bytes_max, Verb::Read).await
        })
    }

    async fn history_within(
        &self,
        thread: ThreadId,
        after: Version,
        limit: usize,
        bytes_max: usize,
        verb: Verb,
    ) -> Result<Vec<HistoryEntry>> {
        let head = self.head(thread, verb).await?;
        self.history_up_to(thread, &head, after, limit, bytes_max).await
    }

    /// The same up to `head`, after the caller's right to read was checked.
    async fn history_up_to(
        &self,
        thread: ThreadId,
        head: &Head,
        after: Version,
        limit: usize,
        bytes_max: usize,
    ) -> Result<Vec<HistoryEntry>> {
        if after >= head.version || limit == 0 {
            return Ok(Vec::new());
        }
        let mut own = self.shared.stores.store.segments(thread, Position::END, usize::MAX).await?;
        own.reverse();
        let Some(first) = own.first() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        if after.next() < first.first {
            found = self.inherited(thread, first.id, after, limit, bytes_max).await?;
        }
        let mut bytes: usize = found.iter().map(|entry| entry.json.len()).sum();
        let ends = own.iter().skip(1).map(|segment| segment.first.previous()).chain([head.version]);
        for (segment, end) in own.iter().zip(ends) {
            if end <= after || found.len() >= limit || bytes >= bytes_max {
                continue;
            }
            let positions = after.next().max(segment.first)..=end;
            self.add_entries(thread, segment.id, positions, (limit, bytes_max), &mut found).await?;
            bytes = found.iter().map(|entry| entry.json.len()).sum();
        }
        Ok(found)
    }

    /// The same for a reader whose last entry lies in the newest segment: all later entries lie there, too.
    async fn newest(
        &self,
        thread: ThreadId,
        head: &Head,
        after: Version,
        limit: usize,
        bytes_max: usize,
    ) -> Result<Vec<HistoryEntry>> {
        let mut found = Vec::new();
        if after < head.version {
            let positions = after.next()..=head.version;
            self.add_entries(thread, head.segment, positions, (limit, bytes_max), &mut found).await?;
        }
        Ok(found)
    }

    /// Adds entries of a segment to those found, up to the limits on their number and bytes.
    async fn add_entries(
        &self,
        thread: ThreadId,
        segment: SegmentId,
        positions: RangeInclusive<Position>,
        (limit, bytes_max): (usize, usize),
        found: &mut Vec<HistoryEntry>,
    ) -> Result<()> {
        let mut bytes: usize = found.iter().map(|entry| entry.json.len()).sum();
        let query = EntryQuery { segment, positions, order: Order::Ascending, limit: limit - found.len() };
        for entry in self.shared.stores.store.entries(query).await? {
            if bytes >= bytes_max {
                break;
            }
            let entry = match self.historic(thread, entry).await {
                // The page ends before a damaged entry: those before it are read, and the next page reports it.
                Err(error) if error.is_damage() && !found.is_empty() => break,
                entry => entry?,
            };
            bytes += entry.json.len();
            found.push(entry);
        }
        Ok(())
    }

    /// The entries of other threads that a thread saw at its birth, after version `after`. Records are not inherited.
    async fn inherited(
        &self,
        thread: ThreadId,
        first: SegmentId,
        after: Version,
        limit: usize,
        bytes_max: usize,
    ) -> Result<Vec<HistoryEntry>> {
        let lineage = self.lineage(first).await?;
        let (Some(link), Some(parent)) = (lineage.segment.link, lineage.parent.as_deref()) else {
            return Ok(Vec::new());
        };
        let birth = &lineage.segment.birth;
        let mut spans: Vec<_> = parent
            .spans(link.bounds, birth)
            .map(|span| (span.segment().id, span.segment().first, span.bounds))
            .collect();
        spans.reverse();
        let (mut found, mut bytes): (Vec<HistoryEntry>, usize) = (Vec::new(), 0);
        for (segment, begin, bounds) in spans {
            let mut from = after.next().max(begin);
            while from <= bounds.highest() && found.len() < limit && bytes < bytes_max {
                let query = EntryQuery {
                    segment,
                    positions: from..=bounds.highest(),
                    order: Order::Ascending,
                    limit: CATCH_UP_AT_ONCE,
                };
                let entries = self.shared.stores.store.entries(query).await?;
                let Some(last) = entries.last() else { break };
                from = last.position.next();
                for entry in entries {
                    if found.len() < limit
                        && bytes < bytes_max
                        && self.is_inherited(&entry, bounds, birth.ordinals).await?
                    {
                        let entry = match self.historic(thread, entry).await {
                            Err(error) if error.is_damage() && !found.is_empty() => return Ok(found),
                            entry => entry?,
                        };
                        bytes += entry.json.len();
                        found.push(entry);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Whether an entry is seen under `bounds`; a change also has to concern a message that is seen.
    async fn is_inherited(&self, entry: &StoredEntry, bounds: Bounds, ordinals: u64) -> Result<bool> {
        let class = entry.kind.class();
        if entry.position > bounds.of(class) {
            return Ok(false);
        }
        if class != Class::Changes {
            return Ok(true);
        }
        Ok(match self.decode(entry).await?.derived() {
            Derived::Change(change) => change.root < ordinals,
            Derived::Nothing
            | Derived::Message { .. }
            | Derived::Delivered { .. }
            | Derived::Relation { .. }
            | Derived::Checkpoint { .. }
            | Derived::Item { .. }
            | Derived::State
            | Derived::Cells { .. } => true,
        })
    }

    pub(crate) async fn historic(&self, thread: ThreadId, entry: StoredEntry) -> Result<HistoryEntry> {
        let json = self.body(&entry).await?;
        Ok(HistoryEntry {
            thread,
            version: entry.position,
            place: MessageId { segment: entry.segment, position: entry.position },
            kind: entry.kind,
            time: entry.time,
            account: entry.account,
            actor: entry.actor,
            cause: entry.cause,
            format: entry.format,
            json,
        })
    }

    /// Follows a thread's history after version `after`: catches up, then live.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; a version in the future is refused, never guessed at.
    pub fn subscribe(&self, thread: ThreadId, after: Version) -> BoxFuture<'_, Result<Subscription>> {
        Box::pin(async move {
            let signal = self.shared.stores.feed.signals().of(thread);
            let (head, standing) = self.head_and_standing(thread, Verb::Stream).await?;
            let current = head.version;
            if after > current {
                return Err(Error::VersionInFuture { version: after, current });
            }
            let (engine, ready) = (self.clone(), VecDeque::new());
            Ok(Subscription {
                engine,
                thread,
                after,
                signal,
                ready,
                segment: None,
                is_current: false,
                standing,
                reads: 0,
            })
        })
    }
}
