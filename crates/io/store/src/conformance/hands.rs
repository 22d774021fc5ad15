//! The one helper that knows how commits are made, so that cases can show their data.

use std::cell::Cell;
use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Account, Bounds, Caller, Commit, Committed, Create, Entry, Expect, Forked, Head, Idempotency, IdempotencyKey,
    LeaseToken, Link, MessageBody, MessageEdited, MessageId, MessagesDeleted, NewEntry, NewSegment, Position, Record,
    Role, SegmentId, Tally, ThreadCommit, ThreadId, ThreadName, Timestamp, Write,
};

use crate::{EntryQuery, FeedCursor, FeedItem, GcOptions, GcReport, Order, Progress, Result, StoredEntry, Stores};

/// Makes commits, and reads what came of them.
pub struct Hands {
    /// The store under test.
    pub stores: Stores,
    drawn: Cell<u64>,
    time: Cell<i64>,
}

impl Hands {
    pub(crate) fn new(stores: Stores) -> Self {
        Self { stores, drawn: Cell::new(0), time: Cell::new(1_700_000_000_000_000) }
    }

    /// A number that was not drawn before.
    pub fn draw(&self) -> u64 {
        self.drawn.set(self.drawn.get() + 1);
        self.drawn.get()
    }

    /// A thread id that was not drawn before.
    pub fn thread_id(&self) -> ThreadId {
        let n = u128::from(self.draw());
        ThreadId::from_chance(n << 64 | n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The token of a lease that was not drawn before.
    pub fn token(&self) -> LeaseToken {
        LeaseToken::from_chance(self.draw().wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A segment id that was not drawn before.
    pub fn segment_id(&self) -> SegmentId {
        SegmentId::from_chance(self.draw().wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The time now: a second later with each call.
    pub fn now(&self) -> Timestamp {
        self.time.set(self.time.get() + 1_000_000);
        Timestamp::from_micros(self.time.get())
    }

    /// Moves the clock forward.
    pub fn pass(&self, micros: i64) {
        self.time.set(self.time.get() + micros);
    }

    /// A commit of account `local`, now.
    pub fn commit(&self, threads: Vec<ThreadCommit>) -> Commit {
        Commit { caller: Caller::local(), time: self.now(), threads, blobs: Vec::new(), idempotency: None, owner: None }
    }

    /// Commits, and expects it to hold.
    pub async fn done(&self, commit: Commit) -> Committed {
        self.stores.store.commit(commit).await.expect("a commit that holds")
    }

    /// Commits, and returns the result as it is.
    pub async fn try_commit(&self, commit: Commit) -> Result<Committed> {
        self.stores.store.commit(commit).await
    }

    /// A new root thread with these messages of the user.
    pub async fn thread(&self, messages: &[&str]) -> ThreadId {
        self.thread_with(Account::local(), Record::default(), messages).await
    }

    /// A new root thread of `account` with this record and these messages.
    pub async fn thread_with(&self, account: Account, record: Record, messages: &[&str]) -> ThreadId {
        let thread = self.thread_id();
        let entries = messages.iter().map(|text| said(text)).collect();
        let segment = NewSegment { id: self.segment_id(), link: None, birth: Tally::default() };
        self.done(self.commit(vec![ThreadCommit::Create(Create {
            thread,
            account,
            record,
            segment,
            entries,
            created: None,
        })]))
        .await;
        thread
    }

    /// Entries for a thread at any version.
    pub fn write(&self, thread: ThreadId, entries: Vec<NewEntry>) -> ThreadCommit {
        self.write_expecting(thread, Expect::default(), entries)
    }

    /// Entries for a thread that is as expected.
    pub fn write_expecting(&self, thread: ThreadId, expect: Expect, entries: Vec<NewEntry>) -> ThreadCommit {
        ThreadCommit::Write(Write { thread, expect, branch: None, entries, record: None, owner: None })
    }

    /// A branch of a thread that shows what `segment` shows up to `at`, and says nothing.
    pub fn branch(&self, thread: ThreadId, segment: SegmentId, at: Position) -> ThreadCommit {
        let link = Some(Link { parent: segment, bounds: Bounds::all(at) });
        let branch = Some(NewSegment { id: self.segment_id(), link, birth: Tally::default() });
        ThreadCommit::Write(Write {
            thread,
            expect: Expect::default(),
            branch,
            entries: Vec::new(),
            record: None,
            owner: None,
        })
    }

    /// Appends a message of a user.
    pub async fn say(&self, thread: ThreadId, text: &str) -> Committed {
        self.done(self.commit(vec![self.write(thread, vec![said(text)])])).await
    }

    /// Appends a message under a key for retries.
    pub fn keyed(&self, thread: ThreadId, text: &str, key: &str) -> Commit {
        let idempotency = Idempotency {
            key: IdempotencyKey::new(key).expect("a key"),
            hash: threadkeep_model::BlobId::of(text.as_bytes()),
        };
        Commit { idempotency: Some(idempotency), ..self.commit(vec![self.write(thread, vec![said(text)])]) }
    }

    /// A fork of `parent` with these bounds, told to the parent in the same commit.
    pub async fn fork(&self, parent: ThreadId, bounds: Bounds) -> ThreadId {
        let child = self.thread_id();
        self.done(self.forking(parent, bounds, child, Expect::default()).await).await;
        child
    }

    /// The commit of such a fork, of a parent that is as expected.
    pub async fn forking(&self, parent: ThreadId, bounds: Bounds, child: ThreadId, expect: Expect) -> Commit {
        let head = self.head(parent).await;
        let at = self.entry(head.segment, bounds.messages).await;
        let link = Some(Link { parent: head.segment, bounds });
        let segment =
            NewSegment { id: self.segment_id(), link, birth: at.map_or(Tally::default(), |entry| entry.tally) };
        let record = Record { origin_thread_id: Some(parent), ..Record::default() };
        let anchor = Some(bounds.messages);
        let told = NewEntry::new(&Entry::Forked(Forked { child, index: Some(0), anchor }));
        let create =
            Create { thread: child, account: Account::local(), record, segment, entries: Vec::new(), created: None };
        self.commit(vec![self.write_expecting(parent, expect, vec![told]), ThreadCommit::Create(create)])
    }

    /// Deletes a thread for good.
    pub async fn delete(&self, thread: ThreadId) {
        self.done(self.commit(vec![ThreadCommit::Delete { thread, expect: Expect::default() }])).await;
    }

    /// Where a living thread stands.
    pub async fn head(&self, thread: ThreadId) -> Head {
        let found = self.stores.store.thread(ThreadName::Full(thread)).await.expect("a read");
        found.expect("a living thread").head
    }

    /// The entry at a position.
    pub async fn entry(&self, segment: SegmentId, position: Position) -> Option<StoredEntry> {
        self.entries(segment, position.0, position.0).await.pop()
    }

    /// Entries of a segment, oldest first.
    pub async fn entries(&self, segment: SegmentId, first: u64, last: u64) -> Vec<StoredEntry> {
        let positions = Position(first)..=Position(last);
        let query = EntryQuery { segment, positions, order: Order::Ascending, limit: usize::MAX };
        self.stores.store.entries(query).await.expect("a read")
    }

    /// The texts of the messages of a thread's newest segment.
    pub async fn texts(&self, thread: ThreadId) -> Vec<String> {
        let segment = self.head(thread).await.segment;
        self.entries(segment, 0, Position::END.0).await.iter().filter_map(text).collect()
    }

    /// Everything in the feed after `after`, read in pages of `limit`.
    pub async fn feed(&self, after: FeedCursor, limit: usize) -> Vec<FeedItem> {
        let mut all: Vec<FeedItem> = Vec::new();
        loop {
            let from = all.last().map_or(after, |item| item.cursor);
            let some = self.stores.feed.feed(from, limit).await.expect("a read");
            if some.is_empty() {
                return all;
            }
            all.extend(some);
        }
    }

    /// Runs a garbage collection.
    pub async fn gc(&self) -> GcReport {
        let options = GcOptions { vacuum: false, now: self.now() };
        self.stores.upkeep.gc(options, quiet()).await.expect("gc")
    }
}

/// A progress that reports nothing.
pub fn quiet() -> Progress {
    Arc::new(|_, _, _| {})
}

/// A message of the user.
pub fn said(text: &str) -> NewEntry {
    NewEntry::new(&Entry::MessageAppended(MessageBody::user(text)))
}

/// A message of a role.
pub fn said_by(role: Role, text: &str) -> NewEntry {
    NewEntry::new(&Entry::MessageAppended(MessageBody::new(role, text)))
}

/// A deletion of the message at a place, anchored at `root`.
pub fn deleted(segment: SegmentId, position: u64, root: u64) -> NewEntry {
    let target = MessageId { segment, position: Position(position) };
    NewEntry::new(&Entry::MessagesDeleted(MessagesDeleted { targets: vec![target], root }))
}

/// An edit of the message at a place, anchored at `root`.
pub fn edited(segment: SegmentId, position: u64, root: u64, text: &str) -> NewEntry {
    let target = MessageId { segment, position: Position(position) };
    let content = Some(threadkeep_model::Content::text(text));
    NewEntry::new(&Entry::MessageEdited(MessageEdited { target, root, content, metadata: None }))
}

/// The text of an entry that is a message with its body inline.
pub fn text(entry: &StoredEntry) -> Option<String> {
    let body: &Bytes = entry.inline()?;
    match Entry::decode(entry.kind, entry.format, body).ok()? {
        Entry::MessageAppended(body) => Some(body.content.to_text().into_owned()),
        _ => None,
    }
}
