//! Rows of the tables as values, and back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, params};
use threadkeep_model::{
    Account, Actor, ActorKind, BlobId, Body, Bounds, Head, Kind, Link, Position, Record, Segment, SegmentId, ShortId,
    Tally, Thread, ThreadId, Timestamp,
};
use threadkeep_store::sum::{seal, unseal};
use threadkeep_store::{Result, SegmentRow, StoreError, StoredEntry};

use crate::error::from_sqlite;

/// A thread's key: its short id.
pub(crate) fn key(id: ThreadId) -> i64 {
    id.short().bits() as i64
}

/// The bits of a thread's id that are not in its key.
pub(crate) fn rest(id: ThreadId) -> [u8; 10] {
    id.rest()
}

/// The id of a thread by its key and the rest.
pub(crate) fn thread_id(key: i64, rest: &[u8]) -> Result<ThreadId> {
    let rest = rest.try_into().map_err(|_| StoreError::corrupt(format!("thread {key:012x} has no full id")))?;
    Ok(ThreadId::from_parts(ShortId::from_bits(key as u64), rest))
}

pub(crate) fn segment_key(id: SegmentId) -> i64 {
    id.bits() as i64
}

pub(crate) fn position(value: i64) -> Position {
    Position(value.max(0) as u64)
}

pub(crate) fn tally(bytes: &[u8]) -> Result<Tally> {
    Tally::decode(bytes).ok_or_else(|| StoreError::corrupt("a tally cannot be read"))
}

/// A record as it is stored in the row `place`: of a thread, or of a segment.
pub(crate) fn sealed_record(record: &Record, place: i64) -> String {
    seal(&record.encode(), place, "")
}

pub(crate) fn record(sealed: &str, place: i64, damaged: impl FnOnce() -> StoreError) -> Result<Record> {
    Record::decode(unseal(sealed, place, "", damaged)?)
        .map_err(|error| StoreError::corrupt(format!("a record cannot be read: {error}")))
}

pub(crate) const THREAD_COLUMNS: &str = "t.id, t.rest, t.account, t.created, t.record, \
     h.version, h.segment, h.era, h.fence, h.updated, h.tally";

/// A thread from a row of [`THREAD_COLUMNS`].
pub(crate) fn thread(row: &Row<'_>) -> Result<Thread> {
    let account: String = row.get(2).map_err(from_sqlite)?;
    thread_of(row, Account::stored(account).map_err(|error| StoreError::corrupt(error.to_string()))?)
}

/// The same where the account is known.
pub(crate) fn thread_of(row: &Row<'_>, account: Account) -> Result<Thread> {
    let read = || -> rusqlite::Result<_> {
        Ok((row.get(0)?, row.get_ref(1)?.as_blob()?, row.get_ref(4)?.as_str()?, head_at(row, 5)?))
    };
    let (place, rest, json, (head, bytes)) = read().map_err(from_sqlite)?;
    let id = thread_id(place, rest)?;
    Ok(Thread {
        id,
        account,
        created: Timestamp::from_micros(row.get(3).map_err(from_sqlite)?),
        head: Head { tally: tally(bytes)?, ..head },
        record: record(json, place, || StoreError::damaged_copy(&format!("the record of thread {id}")))?,
    })
}

/// The six columns of a head from `at` on, the tally still encoded.
pub(crate) fn head_at<'a>(row: &'a Row<'_>, at: usize) -> rusqlite::Result<(Head, &'a [u8])> {
    let head = Head {
        version: position(row.get(at)?),
        segment: SegmentId::from_bits(row.get::<_, i64>(at + 1)? as u64),
        era: row.get::<_, i64>(at + 2)? as u64,
        fence: row.get::<_, i64>(at + 3)? as u64,
        updated: Timestamp::from_micros(row.get(at + 4)?),
        tally: Tally::default(),
    };
    Ok((head, row.get_ref(at + 5)?.as_blob()?))
}

pub(crate) const SEGMENT_COLUMNS: &str =
    "id, thread, rest, first, parent, messages, changes, files, vals, birth, created, account, record";

/// Reads [`SEGMENT_COLUMNS`] without the origin.
pub(crate) fn segment(row: &Row<'_>) -> Result<Segment> {
    let read = || -> rusqlite::Result<_> {
        let parent: Option<i64> = row.get(4)?;
        let link = match parent {
            None => None,
            Some(parent) => {
                let bound = |at: usize| row.get(at).map(position);
                let bounds = Bounds { messages: bound(5)?, changes: bound(6)?, files: bound(7)?, values: bound(8)? };
                Some(Link { parent: SegmentId::from_bits(parent as u64), bounds })
            }
        };
        Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get_ref(2)?.as_blob()?, row.get(3)?, link, row.get(10)?))
    };
    let (id, thread, rest, first, link, created) = read().map_err(from_sqlite)?;
    let birth = row.get_ref(9).map_err(from_sqlite)?;
    Ok(Segment {
        id: SegmentId::from_bits(id as u64),
        thread: thread_id(thread, rest)?,
        first: position(first),
        link,
        birth: tally(birth.as_blob().map_err(|error| StoreError::corrupt(error.to_string()))?)?,
        created: Timestamp::from_micros(created),
    })
}

/// How many columns [`SEGMENT_COLUMNS`] has.
pub(crate) const SEGMENT_WIDTH: usize = 13;

/// A segment from a row of [`SEGMENT_COLUMNS`].
pub(crate) fn segment_row(row: &Row<'_>) -> Result<SegmentRow> {
    match segment_row_and_damage(row)? {
        (found, None) => Ok(found),
        (_, Some(damage)) => Err(damage),
    }
}

/// The same with an empty record where it is damaged, and the damage.
pub(crate) fn segment_row_and_damage(row: &Row<'_>) -> Result<(SegmentRow, Option<StoreError>)> {
    let segment = segment(row)?;
    let account: Option<String> = row.get(11).map_err(from_sqlite)?;
    let json: Option<String> = row.get(12).map_err(from_sqlite)?;
    let (Some(account), Some(json)) = (account, json) else {
        return Ok((SegmentRow { segment, origin: None }, None));
    };
    let account = Account::stored(account).map_err(|error| StoreError::corrupt(error.to_string()))?;
    let damaged = || StoreError::damaged(&format!("the first record of thread {}", segment.thread));
    let (record, damage) = match record(&json, segment_key(segment.id), damaged) {
        Ok(record) => (record, None),
        Err(damage) => (Record::default(), Some(damage)),
    };
    Ok((SegmentRow { segment, origin: Some((account, record)) }, damage))
}

pub(crate) const ENTRY_COLUMNS: &str =
    "e.segment, e.position, e.kind, e.format, e.time, e.actor, e.cause, e.tally, e.body, e.large, e.sum";

/// How many columns [`ENTRY_COLUMNS`] has.
pub(crate) const ENTRY_WIDTH: usize = 11;

/// Who wrote entries: rows of `actors` never change, so they are kept for good. There are few of them.
#[derive(Debug, Default)]
pub(crate) struct Actors(Mutex<BTreeMap<i64, Who>>);

/// An account and an actor, shared by all entries they wrote.
type Who = (Arc<Account>, Arc<Actor>);

impl Actors {
    fn get(&self, connection: &Connection, id: i64) -> Result<Who> {
        let mut known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((account, actor)) = known.get(&id) {
            return Ok((Arc::clone(account), Arc::clone(actor)));
        }
        let row = connection
            .prepare_cached("SELECT account, kind, name FROM actors WHERE id = ?1")
            .and_then(|mut statement| {
                statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
            })
            .map_err(from_sqlite)?;
        let Some((account, kind, name)): Option<(String, u8, String)> = row else {
            return Err(StoreError::corrupt(format!("actor {id} is missing")));
        };
        let damaged = |error: threadkeep_model::Invalid| StoreError::corrupt(format!("actor {id}: {error}"));
        let kind =
            ActorKind::from_code(kind).ok_or_else(|| StoreError::corrupt(format!("actor {id} has kind {kind}")))?;
        let account = Arc::new(Account::stored(account).map_err(damaged)?);
        let actor = Arc::new(Actor { kind, name });
        known.insert(id, (Arc::clone(&account), Arc::clone(&actor)));
        Ok((account, actor))
    }

    /// An entry from a row of [`ENTRY_COLUMNS`].
    pub(crate) fn entry(&self, connection: &Connection, row: &Row<'_>) -> Result<StoredEntry> {
        self.reading().entry(connection, row)
    }

    /// Reads entries of one page: the writer of the last one is at hand for the next.
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading { actors: self, last: None }
    }
}

/// Entries being read one after the other.
pub(crate) struct Reading<'a> {
    actors: &'a Actors,
    last: Option<(i64, Who)>,
}

impl Reading<'_> {
    fn who(&mut self, connection: &Connection, id: i64) -> Result<Who> {
        match &self.last {
            Some((last, who)) if *last == id => Ok(who.clone()),
            _ => {
                let who = self.actors.get(connection, id)?;
                self.last = Some((id, who.clone()));
                Ok(who)
            }
        }
    }

    /// An entry from a row of [`ENTRY_COLUMNS`].
    pub(crate) fn entry(&mut self, connection: &Connection, row: &Row<'_>) -> Result<StoredEntry> {
        let read = || -> rusqlite::Result<_> {
            let body = row.get_ref(8)?.as_blob_or_null()?.map(Bytes::copy_from_slice);
            let large = if body.is_none() { row.get_ref(9)?.as_blob_or_null()? } else { None };
            Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(5)?, row.get_ref(7)?.as_blob()?, body, large))
        };
        let (segment, at, kind, actor, counts, body, large) = read().map_err(from_sqlite)?;
        let place = || format!("entry {} of segment {segment:016x}", position(at));
        let body = match (body, large) {
            (Some(bytes), _) => Body::Inline(bytes),
            (None, Some(hash)) => {
                let hash = hash.try_into().map_err(|_| StoreError::corrupt(format!("{} names no blob", place())))?;
                Body::Blob(BlobId::from_bytes(hash))
            }
            (None, None) => Body::Absent,
        };
        let kind = Kind::from_code(kind)
            .ok_or_else(|| StoreError::corrupt(format!("{} has the unknown kind {kind}", place())))?;
        let (account, actor) = self.who(connection, actor)?;
        let entry = StoredEntry {
            segment: SegmentId::from_bits(segment as u64),
            position: position(at),
            kind,
            format: row.get(3).map_err(from_sqlite)?,
            time: Timestamp::from_micros(row.get(4).map_err(from_sqlite)?),
            account,
            actor,
            cause: row.get(6).map_err(from_sqlite)?,
            tally: tally(counts)?,
            body,
        };
        Ok(entry.checked(row.get(10).map_err(from_sqlite)?))
    }
}

const CHUNK_BITS: u32 = 20;

/// The key of chunk `n` of a blob.
pub(crate) fn chunk_key(blob: i64, n: usize) -> i64 {
    (blob << CHUNK_BITS) | n as i64
}

/// The keys of all chunks of a blob.
pub(crate) fn chunk_keys(blob: i64) -> std::ops::RangeInclusive<i64> {
    chunk_key(blob, 0)..=chunk_key(blob, (1 << CHUNK_BITS) - 1)
}

/// The row of a blob, if it is here.
pub(crate) fn blob_key(connection: &Connection, blob: &BlobId) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT id FROM blobs WHERE hash = ?1")
        .and_then(|mut statement| statement.query_row(params![blob.as_bytes()], |row| row.get(0)).optional())
        .map_err(from_sqlite)
}
