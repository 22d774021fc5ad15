//! Rows of the tables as values, and back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use deadpool_postgres::Object;
use threadkeep_model::{
    Account, Actor, ActorKind, BlobId, Body, Bounds, Caller, Head, Kind, Lease, Link, Position, Record, Segment,
    SegmentId, ShortId, Tally, Thread, ThreadId, Timestamp, Work,
};
use threadkeep_store::sum::{seal, unseal};
use threadkeep_store::{Result, SegmentRow, StoreError, StoredEntry};
use tokio_postgres::Row;

use crate::error::from_postgres;
use crate::learnt::{Learnt, Timeline};

/// A thread's key: its short id.
pub(crate) fn key(id: ThreadId) -> i64 {
    id.short().bits() as i64
}

/// The bits of a thread's id that are not in its key.
pub(crate) fn rest(id: ThreadId) -> Vec<u8> {
    id.rest().to_vec()
}

/// The id of a thread by its key and the rest.
pub(crate) fn thread_id(key: i64, rest: &[u8]) -> Result<ThreadId> {
    let rest = rest.try_into().map_err(|_| StoreError::corrupt(format!("thread {key:012x} has no full id")))?;
    Ok(ThreadId::from_parts(ShortId::from_bits(key as u64), rest))
}

pub(crate) fn segment_key(id: SegmentId) -> i64 {
    id.bits() as i64
}

pub(crate) fn segment_id(key: i64) -> SegmentId {
    SegmentId::from_bits(key as u64)
}

pub(crate) fn position(value: i64) -> Position {
    Position(value.max(0) as u64)
}

/// A position as a bound of a query.
pub(crate) fn bound(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

/// A limit of a query.
pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// The column at `at`.
pub(crate) fn get<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, at: usize) -> Result<T> {
    row.try_get(at).map_err(|error| StoreError::corrupt(format!("a column cannot be read: {error}")))
}

fn number(row: &Row, at: usize) -> Result<u64> {
    Ok(get::<i64>(row, at)? as u64)
}

/// A record as it is stored in the row `place`: of a thread, or of a segment.
pub(crate) fn sealed_record(record: &Record, place: i64) -> String {
    seal(&record.encode(), place, "")
}

pub(crate) fn record(sealed: &str, place: i64, damaged: impl FnOnce() -> StoreError) -> Result<Record> {
    Record::decode(unseal(sealed, place, "", damaged)?)
        .map_err(|error| StoreError::corrupt(format!("a record cannot be read: {error}")))
}

pub(crate) fn account(name: &str) -> Result<Account> {
    Account::stored(name).map_err(|error| StoreError::corrupt(error.to_string()))
}

/// The columns of a tally, in the order in which they are read and written everywhere.
pub(crate) const TALLY_COLUMNS: &str =
    "ordinals, inserted, deleted, last_change, steps, bytes, last_user, last_state, work";

/// A tally as the numbers of [`TALLY_COLUMNS`], `last_user` and `work` aside.
pub(crate) fn tally_numbers(tally: &Tally) -> [i64; 7] {
    let Tally { ordinals, inserted, deleted, last_change, steps, bytes, last_state, .. } = *tally;
    [ordinals, inserted, deleted, last_change.0, steps, bytes, last_state.0].map(|number| number as i64)
}

/// Reads [`TALLY_COLUMNS`] from `at` on.
pub(crate) fn tally(row: &Row, at: usize) -> Result<Tally> {
    Ok(Tally {
        ordinals: number(row, at)?,
        inserted: number(row, at + 1)?,
        deleted: number(row, at + 2)?,
        last_change: Position(number(row, at + 3)?),
        steps: number(row, at + 4)?,
        bytes: number(row, at + 5)?,
        last_user: get::<Option<i64>>(row, at + 6)?.map(Timestamp::from_micros),
        last_state: Position(number(row, at + 7)?),
        work: work(get(row, at + 8)?)?,
    })
}

/// The part of a tally about files and values, as it is stored: nothing if there are none.
pub(crate) fn work_bytes(tally: &Tally) -> Option<Vec<u8>> {
    (!tally.work.is_none()).then(|| Tally { work: tally.work, ..Tally::default() }.encode())
}

fn work(bytes: Option<&[u8]>) -> Result<Work> {
    let Some(bytes) = bytes else { return Ok(Work::default()) };
    let tally = Tally::decode(bytes).ok_or_else(|| StoreError::corrupt("a tally cannot be read"))?;
    Ok(tally.work)
}

/// How many columns [`head`] reads.
pub(crate) const HEAD_WIDTH: usize = 14;

/// Columns of `heads` that [`head`] reads.
pub(crate) const HEAD_COLUMNS: &str = "h.version, h.segment, h.era, h.fence, h.updated, \
     h.ordinals, h.inserted, h.deleted, h.last_change, h.steps, h.bytes, h.last_user, h.last_state, h.work";

/// Reads [`HEAD_COLUMNS`] from `at` on.
pub(crate) fn head(row: &Row, at: usize) -> Result<Head> {
    Ok(Head {
        version: position(get(row, at)?),
        segment: segment_id(get(row, at + 1)?),
        era: number(row, at + 2)?,
        fence: number(row, at + 3)?,
        updated: Timestamp::from_micros(get(row, at + 4)?),
        tally: tally(row, at + 5)?,
    })
}

/// Columns of `heads` that [`lease`] reads.
pub(crate) const LEASE_COLUMNS: &str = "h.lease_token, h.lease_until, h.lease_holder";
pub(crate) const LEASE_WIDTH: usize = 3;

/// Reads [`LEASE_COLUMNS`] from `at` on: the last lease, held or not.
pub(crate) fn lease(row: &Row, at: usize) -> Result<Option<Lease>> {
    let (token, until): (i64, i64) = (get(row, at)?, get(row, at + 1)?);
    let holder: Option<String> = get(row, at + 2)?;
    Ok(holder.map(|holder| Lease {
        token: threadkeep_model::LeaseToken::from_bits(token as u64),
        holder,
        until: Timestamp::from_micros(until),
    }))
}

/// Columns of `threads` and `heads` that [`thread`] reads.
pub(crate) fn thread_columns() -> String {
    format!("t.id, t.rest, t.account, t.created, t.record, {HEAD_COLUMNS}")
}

/// How many columns [`thread_columns`] has.
pub(crate) const THREAD_WIDTH: usize = 5 + HEAD_WIDTH;

/// A thread from a row of [`thread_columns`].
pub(crate) fn thread(row: &Row) -> Result<Thread> {
    let place = get(row, 0)?;
    let id = thread_id(place, get(row, 1)?)?;
    let damaged = || StoreError::damaged_copy(&format!("the record of thread {id}"));
    Ok(Thread {
        id,
        account: account(get(row, 2)?)?,
        created: Timestamp::from_micros(get(row, 3)?),
        record: record(get(row, 4)?, place, damaged)?,
        head: head(row, 5)?,
    })
}

pub(crate) const SEGMENT_COLUMNS: &str =
    "id, thread, rest, first, parent, messages, changes, files, vals, birth, created, account, record";

/// [`SEGMENT_COLUMNS`] without the origin: the columns that [`segment`] reads.
pub(crate) const LINK_COLUMNS: &str = "id, thread, rest, first, parent, messages, changes, files, vals, birth, created";

/// How many columns [`LINK_COLUMNS`] has.
pub(crate) const LINK_WIDTH: usize = 11;

/// Columns, each of the table with this name.
pub(crate) fn of_table(table: &str, columns: &str) -> String {
    columns.split(", ").map(|column| format!("{table}.{column}")).collect::<Vec<_>>().join(", ")
}

/// Reads [`LINK_COLUMNS`].
pub(crate) fn segment(row: &Row) -> Result<Segment> {
    segment_at(row, 0)
}

/// Reads [`LINK_COLUMNS`], from this column on.
pub(crate) fn segment_at(row: &Row, at: usize) -> Result<Segment> {
    let link = match get::<Option<i64>>(row, at + 4)? {
        None => None,
        Some(parent) => {
            let bound = |n: usize| get(row, at + n).map(position);
            let bounds = Bounds { messages: bound(5)?, changes: bound(6)?, files: bound(7)?, values: bound(8)? };
            Some(Link { parent: segment_id(parent), bounds })
        }
    };
    let birth = Tally::decode(get(row, at + 9)?).ok_or_else(|| StoreError::corrupt("a tally cannot be read"))?;
    Ok(Segment {
        id: segment_id(get(row, at)?),
        thread: thread_id(get(row, at + 1)?, get(row, at + 2)?)?,
        first: position(get(row, at + 3)?),
        link,
        birth,
        created: Timestamp::from_micros(get(row, at + 10)?),
    })
}

/// How many columns [`SEGMENT_COLUMNS`] has.
pub(crate) const SEGMENT_WIDTH: usize = 13;

/// A segment from a row of [`SEGMENT_COLUMNS`].
pub(crate) fn segment_row(row: &Row) -> Result<SegmentRow> {
    match segment_row_and_damage(row)? {
        (found, None) => Ok(found),
        (_, Some(damage)) => Err(damage),
    }
}

/// The same with an empty record where it is damaged, and the damage.
pub(crate) fn segment_row_and_damage(row: &Row) -> Result<(SegmentRow, Option<StoreError>)> {
    let segment = segment(row)?;
    let (Some(owner), Some(json)) = (get::<Option<&str>>(row, 11)?, get::<Option<&str>>(row, 12)?) else {
        return Ok((SegmentRow { segment, origin: None }, None));
    };
    let damaged = || StoreError::damaged(&format!("the first record of thread {}", segment.thread));
    let (record, damage) = match record(json, segment_key(segment.id), damaged) {
        Ok(record) => (record, None),
        Err(damage) => (Record::default(), Some(damage)),
    };
    Ok((SegmentRow { segment, origin: Some((account(owner)?, record)) }, damage))
}

/// Columns of `entries` that [`Actors::entries`] reads.
pub(crate) fn entry_columns() -> String {
    let tally = of_table("e", TALLY_COLUMNS);
    format!("e.segment, e.position, e.kind, e.format, e.time, e.actor, e.cause, e.body, e.large, {tally}, e.sum")
}

/// How many columns [`entry_columns`] has.
pub(crate) const ENTRY_WIDTH: usize = 19;

/// Who wrote entries: rows of `actors` never change, so they are kept for as long as the server's history goes on. There
/// are few of them.
#[derive(Debug)]
pub(crate) struct Actors {
    by_id: Learnt<BTreeMap<i64, Who>>,
    by_name: Learnt<BTreeMap<(Account, u8, String), i64>>,
}

/// An account and an actor, shared by all entries they wrote.
type Who = (Arc<Account>, Arc<Actor>);

impl Actors {
    pub(crate) fn on(timeline: &Arc<Timeline>) -> Self {
        Self { by_id: Learnt::on(timeline), by_name: Learnt::on(timeline) }
    }

    /// Reads rows that begin with [`entry_columns`].
    pub(crate) async fn entries(&self, client: &Object, rows: &[Row]) -> Result<Vec<StoredEntry>> {
        let mut found = Vec::with_capacity(rows.len());
        let mut last: Option<(i64, Who)> = None;
        for row in rows {
            let id = get(row, 5)?;
            let who = match last.take() {
                Some((known, who)) if known == id => who,
                _ => self.who(client, id, rows).await?,
            };
            found.push(entry(row, &who)?);
            last = Some((id, who));
        }
        Ok(found)
    }

    /// The actor with this id; if it is not known yet, all those of `rows` are looked up at once.
    async fn who(&self, client: &Object, id: i64, rows: &[Row]) -> Result<Who> {
        let known = || self.by_id.with(|known| known.get(&id).cloned());
        if let Some(who) = known() {
            return Ok(who);
        }
        let wanted = rows.iter().map(|row| get(row, 5)).collect::<Result<BTreeSet<i64>>>()?;
        let wanted: Vec<i64> = wanted.into_iter().collect();
        let statement = client
            .prepare_cached("SELECT id, account, kind, name FROM actors WHERE id = ANY($1)")
            .await
            .map_err(from_postgres)?;
        for row in client.query(&statement, &[&wanted]).await.map_err(from_postgres)? {
            let id: i64 = get(&row, 0)?;
            let code: i16 = get(&row, 2)?;
            let kind = u8::try_from(code)
                .ok()
                .and_then(ActorKind::from_code)
                .ok_or_else(|| StoreError::corrupt(format!("actor {id} has kind {code}")))?;
            let actor = Actor { kind, name: get(&row, 3)? };
            let who = (Arc::new(account(get(&row, 1)?)?), Arc::new(actor));
            self.by_id.with(|known| known.insert(id, who));
        }
        known().ok_or_else(|| StoreError::corrupt(format!("actor {id} is missing")))
    }

    /// The row of a caller's account and actor, if it was looked up before.
    pub(crate) fn known(&self, caller: &Caller) -> Option<i64> {
        let name = (caller.account.clone(), caller.actor.kind.code(), caller.actor.name.clone());
        self.by_name.with(|known| known.get(&name).copied())
    }

    /// The row of a caller's account and actor. It is written in a transaction of its own, so that a first write of a
    /// caller delays no others.
    pub(crate) async fn id(&self, client: &Object, caller: &Caller) -> Result<i64> {
        const KNOWN_MAX: usize = 10_000;
        if let Some(id) = self.known(caller) {
            return Ok(id);
        }
        let code = caller.actor.kind.code();
        let (owner, kind, name) = (caller.account.as_str(), i16::from(code), &caller.actor.name);
        let find = "SELECT id FROM actors WHERE account = $1 AND kind = $2 AND name = $3";
        let insert = "INSERT INTO actors (account, kind, name) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let mut found = client.query_opt(find, &[&owner, &kind, name]).await.map_err(from_postgres)?;
        if found.is_none() {
            client.execute(insert, &[&owner, &kind, name]).await.map_err(from_postgres)?;
            found = client.query_opt(find, &[&owner, &kind, name]).await.map_err(from_postgres)?;
        }
        let id = get(&found.ok_or_else(|| StoreError::corrupt("an actor was not kept"))?, 0)?;
        self.by_name.with(|known| {
            if known.len() >= KNOWN_MAX {
                known.clear();
            }
            known.insert((caller.account.clone(), code, caller.actor.name.clone()), id);
        });
        Ok(id)
    }
}

fn entry(row: &Row, who: &Who) -> Result<StoredEntry> {
    let (segment, at): (i64, i64) = (get(row, 0)?, get(row, 1)?);
    let place = || format!("entry {} of segment {segment:016x}", position(at));
    let body = match (get::<Option<&[u8]>>(row, 7)?, get::<Option<&[u8]>>(row, 8)?) {
        (Some(bytes), _) => Body::Inline(Bytes::copy_from_slice(bytes)),
        (None, Some(hash)) => {
            let hash = hash.try_into().map_err(|_| StoreError::corrupt(format!("{} names no blob", place())))?;
            Body::Blob(BlobId::from_bytes(hash))
        }
        (None, None) => Body::Absent,
    };
    let code: i16 = get(row, 2)?;
    let kind = u8::try_from(code).ok().and_then(Kind::from_code);
    let entry = StoredEntry {
        segment: segment_id(segment),
        position: position(at),
        kind: kind.ok_or_else(|| StoreError::corrupt(format!("{} has the unknown kind {code}", place())))?,
        format: u8::try_from(get::<i16>(row, 3)?).unwrap_or(u8::MAX),
        time: Timestamp::from_micros(get(row, 4)?),
        account: Arc::clone(&who.0),
        actor: Arc::clone(&who.1),
        cause: get(row, 6)?,
        tally: tally(row, 9)?,
        body,
    };
    Ok(entry.checked(get(row, ENTRY_WIDTH - 1)?))
}
