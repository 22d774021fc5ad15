//! Builds a store: threads and messages by import, forks and files through the engine.

use std::sync::Arc;

use threadkeep::model::{Entry, Head, Kind, NewEntry, Segment, SegmentId, Tally};
use threadkeep::{
    Account, Caller, Fork, MessageBody, NewFile, Over, Position, Record, SystemWorld, Thread, ThreadId, Timestamp,
    World, WriteFiles,
};
use threadkeep_store::{ImportBatch, ImportedEntry, SegmentRow, StoredEntry};

use super::generate::{DAY_MICROS, SeededWorld, bits, record, text, thread_id};
use super::sizes::{FORKED_MESSAGES, Sizes};
use crate::Result;
use crate::bench::{Bench, Place};
use crate::ours::Ours;

/// Rows in one step of the import.
const BATCH: usize = 20_000;
/// Files written at once.
const FILES_AT_ONCE: usize = 250;
/// Time between the births of two threads, so that all of them are born before noon.
const HALF_A_DAY_MICROS: i64 = 43_000_000_000;

/// The long thread: no ordinary thread has such a number.
pub(super) fn long_thread() -> ThreadId {
    thread_id(LONG)
}

/// The thread that is forked often.
pub(super) fn forked_thread() -> ThreadId {
    thread_id(FORKED)
}

const LONG: usize = 1 << 40;
const FORKED: usize = LONG + 1;
const WITH_FILES: usize = LONG + 2;

/// Makes a store of these sizes at `place`.
pub(super) fn build(bench: &Bench, place: &Place, sizes: &Sizes) -> Result<()> {
    let ours = Ours::open_in(place, Arc::new(SeededWorld::at_noon()))?;
    let mut import = Import::new(bench, &ours, HALF_A_DAY_MICROS / sizes.threads as i64);
    let (mut left, ordinary) = (sizes.ordinary_messages(), sizes.ordinary());
    for n in 0..ordinary {
        let rest = ordinary - n;
        // Between half and one and a half times the average, and the last one has the rest.
        let count = if rest == 1 { left } else { left / rest * (50 + bits(n as u64) as usize % 100) / 100 };
        let count = count.clamp(1, left + 1 - rest);
        import.thread(n, record(n)?, count)?;
        left -= count;
    }
    let titled = |title: &str| Record { title: Some(title.to_owned()), ..Record::default() };
    import.thread(LONG, titled("A long thread"), sizes.long)?;
    import.thread(FORKED, titled("Forked often"), FORKED_MESSAGES)?;
    import.thread(WITH_FILES, titled("With files"), 1)?;
    import.flush(true)?;
    for n in 0..sizes.forks {
        let fork = Fork::at_index((n % FORKED_MESSAGES) as u64);
        bench.runtime.block_on(ours.engine.fork(forked_thread(), fork))?;
    }
    let files: Vec<usize> = (0..sizes.files).collect();
    for some in files.chunks(FILES_AT_ONCE) {
        let file = |n: &usize| NewFile::new(&format!("/notes/{}/{n}.txt", n % 100), text(*n));
        let files = some.iter().map(file).collect::<threadkeep::Result<_, _>>()?;
        let write = WriteFiles { files, over: Over::Anything };
        bench.runtime.block_on(ours.engine.write_files(thread_id(WITH_FILES), write))?;
    }
    Ok(())
}

/// An import under way.
struct Import<'a> {
    bench: &'a Bench,
    ours: &'a Ours,
    batch: ImportBatch,
    caller: (Arc<Account>, Arc<threadkeep::Actor>),
    /// Threads and messages so far.
    threads: i64,
    messages: usize,
    step_micros: i64,
}

impl<'a> Import<'a> {
    fn new(bench: &'a Bench, ours: &'a Ours, step_micros: i64) -> Self {
        let Caller { account, actor, .. } = Caller::local();
        let caller = (Arc::new(account), Arc::new(actor));
        Self { bench, ours, batch: ImportBatch::default(), caller, threads: 0, messages: 0, step_micros }
    }

    /// A thread with this many messages, of the user and of the assistant in turn.
    fn thread(&mut self, n: usize, record: Record, messages: usize) -> Result<()> {
        let (id, segment) = (thread_id(n), SegmentId::from_chance(bits(n as u64 + (1 << 50))));
        let created = Timestamp::from_micros(DAY_MICROS + self.step_micros * self.threads);
        let account = Account::local();
        self.batch.segments.push(SegmentRow {
            segment: Segment {
                id: segment,
                thread: id,
                first: Position(1),
                link: None,
                birth: Tally::default(),
                created,
            },
            origin: Some((account.clone(), record.clone())),
        });
        let mut head =
            Head { version: Position::START, segment, era: 0, fence: 0, updated: created, tally: Tally::default() };
        for at in 0..messages {
            let said = text(self.messages);
            self.messages += 1;
            let body = if at % 2 == 0 { MessageBody::user(&said) } else { MessageBody::assistant(&said) };
            head.updated = created.plus_micros(at as i64 + 1);
            self.entry(&mut head, &Entry::MessageAppended(body));
            if self.batch.entries.len() >= BATCH {
                self.flush(false)?;
            }
        }
        self.batch.threads.push(Thread { id, account, created, head, record });
        self.threads += 1;
        if self.batch.threads.len() >= BATCH { self.flush(false) } else { Ok(()) }
    }

    /// An entry after `head`, which moves on.
    fn entry(&mut self, head: &mut Head, entry: &Entry) {
        let NewEntry { kind, body, bytes, derived, blobs, .. } = NewEntry::new(entry);
        head.version = head.version.next();
        head.tally = head.tally.after(&derived, head.version, head.updated, bytes);
        let (account, actor) = self.caller.clone();
        let entry = StoredEntry {
            segment: head.segment,
            position: head.version,
            kind,
            format: Kind::FORMAT,
            time: head.updated,
            account,
            actor,
            cause: None,
            tally: head.tally,
            body,
        };
        self.batch.entries.push(ImportedEntry { entry, derived, blobs });
    }

    fn flush(&mut self, finished: bool) -> Result<()> {
        let batch = ImportBatch { finished, now: SystemWorld.now(), ..std::mem::take(&mut self.batch) };
        Ok(self.bench.runtime.block_on(self.ours.stores().upkeep.import(batch))?)
    }
}
