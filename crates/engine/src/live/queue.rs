//! The unflushed updates of a live thread, and the thread with them applied. Pure.
//!
//! The version it gives is an estimate from below that only grows: the known durable version, and one for each
//! pending entry. Entries of others in between (back-links of forks, changes of the record) can only raise the
//! final version.

use std::collections::VecDeque;
use std::sync::Arc;

use threadkeep_model::{Head, MessageBody, Position, Record, Thread, Version};

use crate::Error;
use crate::ground::draft::{Draft, Refused};

/// A live thread as its read-writer sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveThread {
    /// The thread. Its record has all updates applied; its head is the durable one.
    pub thread: Thread,
    /// The version with all updates applied: an estimate that only grows, and never too high.
    pub version: Version,
    /// How many messages the thread shows with all updates applied.
    pub message_count: u64,
    /// The messages that were appended and are not flushed, in order. They have no ids yet.
    pub pending: Vec<MessageBody>,
}

/// Pending updates, in order, on top of the durable thread.
#[derive(Debug)]
pub(crate) struct Queue {
    durable: Thread,
    record: Arc<Record>,
    version: Version,
    /// The highest version that was returned for an update.
    promised: Version,
    updates: VecDeque<Pending>,
    bytes: usize,
    refused: Vec<Refused>,
    refused_bytes: usize,
    next: u64,
    /// How many of the first are being committed, or may have been.
    in_flight: usize,
}

#[derive(Debug)]
struct Pending {
    number: u64,
    draft: Arc<Draft>,
    /// The version that was returned for it.
    version: Version,
    bytes: usize,
}

impl Queue {
    pub(crate) fn on(durable: Thread) -> Self {
        Self {
            record: Arc::new(durable.record.clone()),
            version: durable.head.version,
            promised: durable.head.version,
            durable,
            updates: VecDeque::new(),
            bytes: 0,
            refused: Vec::new(),
            refused_bytes: 0,
            next: 0,
            in_flight: 0,
        }
    }

    /// The record with all updates applied.
    pub(crate) fn record(&self) -> &Arc<Record> {
        &self.record
    }

    /// The version with all updates applied: an estimate.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// The durable thread, as far as is known.
    pub(crate) fn durable(&self) -> &Thread {
        &self.durable
    }

    /// How many updates wait.
    pub(crate) fn len(&self) -> usize {
        self.updates.len()
    }

    /// Updates and bytes that are kept in memory, those that were refused and not taken back among them.
    pub(crate) fn weight(&self) -> (usize, usize) {
        (self.updates.len() + self.refused.len(), self.bytes + self.refused_bytes)
    }

    /// The thread with all updates applied.
    pub(crate) fn seen(&self) -> LiveThread {
        let appended = self.updates.iter().flat_map(|pending| pending.draft.appended());
        LiveThread { pending: appended.map(|message| message.body.clone()).collect(), ..self.seen_in_brief() }
    }

    /// The same with the last message alone of those that wait, if one does.
    pub(crate) fn seen_in_brief(&self) -> LiveThread {
        let delta: i64 = self.updates.iter().map(|pending| pending.draft.delta()).sum();
        let last = self.updates.iter().rev().find_map(|pending| pending.draft.appended().last());
        LiveThread {
            thread: Thread { record: Record::clone(&self.record), ..self.durable.clone() },
            version: self.version,
            message_count: self.durable.head.tally.messages().saturating_add_signed(delta),
            pending: last.map(|message| message.body.clone()).into_iter().collect(),
        }
    }

    /// One more update, with the record after it.
    pub(crate) fn push(&mut self, draft: Draft, record: Record, bytes: usize) -> Version {
        self.version = Position(self.version.0 + draft.entries() as u64);
        self.promised = self.version;
        self.record = Arc::new(record);
        self.bytes += bytes;
        self.next += 1;
        self.updates.push_back(Pending { number: self.next, draft: Arc::new(draft), version: self.version, bytes });
        self.version
    }

    /// The number of the update that came last.
    pub(crate) fn last(&self) -> u64 {
        self.next
    }

    /// The next group to commit of the updates up to `last`: one update, or as many neighbours as only append.
    pub(crate) fn group(&mut self, last: u64, alone: bool, entries_max: usize) -> Vec<Arc<Draft>> {
        let mut group: Vec<Arc<Draft>> = Vec::new();
        let mut entries = 0;
        for pending in self.updates.iter().take_while(|pending| pending.number <= last) {
            entries += pending.draft.entries();
            let joins = !alone && pending.draft.is_plain() && entries <= entries_max;
            if !group.is_empty() && !joins {
                break;
            }
            group.push(Arc::clone(&pending.draft));
            if !joins {
                break;
            }
        }
        self.in_flight = group.len();
        group
    }

    /// The first `count` updates are durable.
    pub(crate) fn kept(&mut self, count: usize, thread: Thread) {
        for pending in self.updates.drain(..count.min(self.updates.len())) {
            self.bytes -= pending.bytes;
        }
        self.in_flight = 0;
        self.found(thread);
    }

    /// The first `count` updates are refused.
    pub(crate) fn refuse(&mut self, count: usize, mut why: impl FnMut() -> Error) {
        for pending in self.updates.drain(..count.min(self.updates.len())) {
            self.bytes -= pending.bytes;
            self.refused_bytes += pending.bytes;
            self.refused.push(Refused { draft: Arc::unwrap_or_clone(pending.draft), error: why() });
        }
        self.in_flight = 0;
        self.replay();
    }

    /// Nothing is being committed any more.
    pub(crate) fn landed(&mut self) {
        self.in_flight = 0;
    }

    /// All updates that are not being committed, as refused.
    pub(crate) fn give_up(&mut self, mut why: impl FnMut() -> Error) -> Vec<Refused> {
        let waiting = self.updates.split_off(self.in_flight.min(self.updates.len()));
        self.bytes -= waiting.iter().map(|pending| pending.bytes).sum::<usize>();
        let draft = |pending: Pending| Arc::unwrap_or_clone(pending.draft);
        let waiting = waiting.into_iter().map(|pending| Refused { draft: draft(pending), error: why() });
        self.refused_bytes = 0;
        self.refused.drain(..).chain(waiting).collect()
    }

    /// The thread was found like this in the store.
    pub(crate) fn found(&mut self, thread: Thread) {
        if thread.head.version >= self.durable.head.version {
            self.durable = thread;
        }
        self.replay();
    }

    /// The thread was found at this head, its record unseen.
    pub(crate) fn found_at(&mut self, head: Head) {
        if head.version > self.durable.head.version {
            self.durable.head = head;
            self.replay();
        }
    }

    /// Applies the pending updates to the durable thread.
    fn replay(&mut self) {
        let mut record = self.durable.record.clone();
        for fields in self.updates.iter().flat_map(|pending| pending.draft.fields()) {
            // One that can no longer be applied is refused when its turn comes.
            record = record.merge(fields).unwrap_or(record);
        }
        self.record = Arc::new(record);
        let entries: usize = self.updates.iter().map(|pending| pending.draft.entries()).sum();
        self.version = self.version.max(Position(self.durable.head.version.0 + entries as u64));
    }

    /// Whether every update up to the one with version `target` is settled; a target beyond them has to be durable.
    pub(crate) fn reached(&self, target: Version) -> bool {
        let first = self.updates.front();
        let begins = first.map(|pending| pending.version.0.saturating_sub(pending.draft.entries() as u64));
        let settled = begins.is_none_or(|begins| begins >= target.0);
        settled && (target <= self.promised || self.durable.head.version >= target)
    }

    /// Takes the refused updates.
    pub(crate) fn take_refused(&mut self) -> Vec<Refused> {
        self.refused_bytes = 0;
        std::mem::take(&mut self.refused)
    }

    /// Whether a refused update was not handed back yet.
    pub(crate) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_model::{Account, Json, SegmentId, Tally, ThreadId, Timestamp};

    fn thread(version: u64) -> Thread {
        let updated = Timestamp::from_micros(0);
        let segment = SegmentId::from_bits(1);
        let head = Head { version: Position(version), segment, era: 0, fence: 0, updated, tally: Tally::default() };
        let (id, account) = (ThreadId::from_chance(1), Account::local());
        Thread { id, account, created: updated, head, record: Record::default() }
    }

    /// Messages are said with a letter each; a title is set with `!`.
    fn push(queue: &mut Queue, what: &str) -> u64 {
        let mut draft = Draft::on(Arc::clone(queue.record()));
        let mut record = Record::clone(queue.record());
        for letter in what.chars() {
            if letter == '!' {
                draft.set("title", Json::string(what));
                record.title = Some(what.to_owned());
            } else {
                draft.append(MessageBody::user(&letter.to_string()));
            }
        }
        queue.push(draft, record, 10).0
    }

    fn sizes(queue: &mut Queue, alone: bool, entries_max: usize) -> Vec<usize> {
        let last = queue.last();
        queue.group(last, alone, entries_max).iter().map(|draft| draft.entries()).collect()
    }

    #[test]
    fn neighbours_that_only_append_go_together_and_all_others_alone() {
        let mut queue = Queue::on(thread(0));
        for what in ["a", "bc", "d!", "e", "f"] {
            push(&mut queue, what);
        }
        assert_eq!(sizes(&mut queue, false, 1_000), [1, 2]);
        assert_eq!(sizes(&mut queue, true, 1_000), [1], "one by one after a refusal");
        assert_eq!(sizes(&mut queue, false, 2), [1], "an update is not torn apart");
        queue.kept(2, thread(3));
        assert_eq!(sizes(&mut queue, false, 1_000), [2]);
        queue.kept(1, thread(5));
        assert_eq!(queue.group(4, false, 1_000).len(), 1, "what came later waits for its own flush");
        assert_eq!(sizes(&mut queue, false, 1_000), [1, 1]);
    }

    #[test]
    fn the_version_only_grows_and_is_never_too_high() {
        let mut queue = Queue::on(thread(7));
        assert_eq!((push(&mut queue, "a"), push(&mut queue, "bc!")), (8, 11));
        // Others took two versions before the first was kept.
        queue.kept(1, thread(10));
        assert_eq!(queue.version(), Position(13));
        queue.kept(1, thread(13));
        assert_eq!((queue.version(), queue.durable().head.version), (Position(13), Position(13)));
    }

    #[test]
    fn a_version_is_reached_when_every_update_up_to_it_is_settled() {
        let mut queue = Queue::on(thread(0));
        let (first, second) = (push(&mut queue, "ab"), push(&mut queue, "c"));
        let reached = |queue: &Queue, version: u64| queue.reached(Position(version));
        assert!(reached(&queue, 0) && !reached(&queue, 1) && !reached(&queue, first));
        queue.kept(1, thread(2));
        assert!(reached(&queue, first) && !reached(&queue, second));
        queue.refuse(1, || Error::Busy);
        assert!(reached(&queue, second) && queue.take_refused().len() == 1, "refused is settled too");
        assert!(!reached(&queue, second + 1), "beyond the updates the thread itself has to be there");
        queue.found(thread(second + 1));
        assert!(reached(&queue, second + 1));
    }

    #[test]
    fn the_record_shows_what_waits_on_top_of_what_is_there() {
        let mut queue = Queue::on(thread(0));
        push(&mut queue, "!");
        let mut changed = thread(1);
        changed.record = Record { title: Some("others".into()), draft: Some("d".into()), ..Record::default() };
        queue.found(changed);
        assert_eq!((queue.record().title.as_deref(), queue.record().draft.as_deref()), (Some("!"), Some("d")));
        queue.refuse(1, || Error::Busy);
        assert_eq!(queue.record().title.as_deref(), Some("others"));
    }

    #[test]
    fn what_is_being_committed_is_not_given_up() {
        let mut queue = Queue::on(thread(0));
        for what in ["a", "!", "b"] {
            push(&mut queue, what);
        }
        assert_eq!((sizes(&mut queue, false, 9).len(), queue.weight()), (1, (3, 30)));
        assert_eq!(queue.give_up(|| Error::WriterDisposed).len(), 2);
        assert_eq!((queue.len(), queue.weight()), (1, (1, 10)));
        queue.landed();
        assert_eq!(queue.give_up(|| Error::WriterDisposed).len(), 1);
        assert_eq!(queue.weight(), (0, 0));
    }
}
