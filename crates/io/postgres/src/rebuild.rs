//! Building everything derived anew from the log.

use deadpool_postgres::Object;
use threadkeep_model::{Body, Derived, Entry, Kind, Position, Record, Thread};
use threadkeep_store::{EntryQuery, Order, Progress, Result, SegmentRow, StoreError, StoredEntry, rebuilt_head};

use crate::codec::{
    Actors, ENTRY_WIDTH, SEGMENT_COLUMNS, entry_columns, get, key, record, rest, sealed_record, segment_row, thread_id,
};
use crate::derived::DerivedRows;
use crate::error::{from_commit, from_postgres};
use crate::read::{self, rows};
use crate::statement::Place;
use crate::tables::{Rows, message_columns};
use crate::terms;
use crate::{Shared, cells};

/// Rows read at once while everything is walked.
const WALKED_AT_ONCE: usize = 1_000;

impl Shared {
    /// Builds all derived rows anew, and with them the heads and records of threads.
    pub(crate) async fn rebuild(&self, progress: &Progress) -> Result<()> {
        let transaction = self.alone().await?;
        let client = transaction.client();
        rows(client, "SELECT pg_advisory_xact_lock($1)", &[&self.filing_lock]).await?;
        for table in ["changes", "relations", "checkpoints", "items", "aliases", "cells"] {
            rows(client, &format!("DELETE FROM {table}"), &[]).await?;
        }
        let total: i64 = match rows(client, "SELECT count(*) FROM entries", &[]).await?.first() {
            Some(row) => get(row, 0)?,
            None => 0,
        };
        let columns = entry_columns();
        let sql = format!(
            "SELECT {columns}, e.feed, s.thread, s.rest, t.id IS NOT NULL FROM entries e
             JOIN segments s ON s.id = e.segment LEFT JOIN threads t ON t.id = s.thread
             WHERE e.feed > $1 ORDER BY e.feed LIMIT $2"
        );
        let (mut after, mut done) = (-1i64, 0);
        loop {
            let found = rows(client, &sql, &[&after, &(WALKED_AT_ONCE as i64)]).await?;
            let Some(last) = found.last() else { break };
            after = get(last, ENTRY_WIDTH)?;
            done += found.len() as u64;
            let mut derived_rows = DerivedRows::default();
            let mut messages = MessageColumns::default();
            for (entry, row) in self.actors.entries(client, &found).await?.iter().zip(&found) {
                let feed: i64 = get(row, ENTRY_WIDTH)?;
                let thread = thread_id(get(row, ENTRY_WIDTH + 1)?, get(row, ENTRY_WIDTH + 2)?)?;
                let lives: bool = get(row, ENTRY_WIDTH + 3)?;
                let read = decode(client, entry).await?.map(|entry| entry.derived());
                let Some(derived) = read.or_else(|| entry.derived_if_damaged()) else { continue };
                messages.push(feed, &derived);
                if !lives && derived.is_of_thread() {
                    continue;
                }
                let place = Place { thread, segment: entry.segment, position: entry.position };
                derived_rows.push(&place, entry.time, &derived, feed);
            }
            derived_rows.write(client).await.map_err(from_postgres)?;
            messages.write(client).await?;
            progress("entries", done, Some(total as u64));
        }
        let orphans = "DELETE FROM relations r WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = r.child)";
        rows(client, orphans, &[]).await?;
        self.rebuild_threads(client, progress).await?;
        terms::fill(client).await.map_err(from_postgres)?;
        transaction.end("COMMIT").await.map_err(from_commit)
    }

    async fn rebuild_threads(&self, client: &Object, progress: &Progress) -> Result<()> {
        empty_damaged_records(client).await?;
        let (mut after, mut done) = (None, 0);
        loop {
            let threads = read::all_threads(client, after, WALKED_AT_ONCE).await?;
            let Some(last) = threads.last() else { return Ok(()) };
            after = Some(last.id);
            done += threads.len() as u64;
            for thread in &threads {
                rebuild_thread(client, &self.actors, thread).await?;
            }
            progress("threads", done, None);
        }
    }
}

/// Empties the records that cannot be read, so that their threads can be walked; then they are made anew.
async fn empty_damaged_records(client: &Object) -> Result<()> {
    for row in rows(client, "SELECT id, record FROM threads", &[]).await? {
        let (id, sealed): (i64, &str) = (get(&row, 0)?, get(&row, 1)?);
        if record(sealed, id, || StoreError::damaged_copy("")).is_err() {
            let empty = sealed_record(&Record::default(), id);
            rows(client, "UPDATE threads SET record = $2 WHERE id = $1", &[&id, &empty]).await?;
        }
    }
    Ok(())
}

/// What `entries` says of messages, as it should be.
#[derive(Default)]
struct MessageColumns {
    feed: Vec<i64>,
    role: Vec<Option<i16>>,
    depth: Vec<Option<i16>>,
    silent: Vec<Option<bool>>,
}

impl MessageColumns {
    fn push(&mut self, feed: i64, derived: &Derived) {
        let (role, depth, silent) = message_columns(derived);
        self.feed.push(feed);
        self.role.push(role);
        self.depth.push(depth);
        self.silent.push(silent);
    }

    async fn write(&self, client: &Object) -> Result<()> {
        let sql = "UPDATE entries e SET role = u.role, depth = u.depth, silent = u.silent
                   FROM unnest($1::bigint[], $2::smallint[], $3::smallint[], $4::boolean[]) AS u(feed, role, depth, silent)
                   WHERE e.feed = u.feed AND (e.role, e.depth, e.silent) IS DISTINCT FROM (u.role, u.depth, u.silent)";
        rows(client, sql, &[&self.feed, &self.role, &self.depth, &self.silent]).await.map(drop)
    }
}

/// A stored entry, decoded; none if its body is gone or damaged, which is not for a rebuild to mend.
async fn decode(client: &Object, entry: &StoredEntry) -> Result<Option<Entry>> {
    let body = match &entry.body {
        Body::Inline(bytes) => Some(bytes.clone()),
        Body::Blob(id) => cells::blob(client, *id).await.ok().flatten(),
        Body::Absent | Body::Damaged => None,
    };
    Ok(body.and_then(|body| Entry::decode(entry.kind, entry.format, &body).ok()))
}

/// Sets a thread's head and record to what its own segments say.
async fn rebuild_thread(client: &Object, actors: &Actors, thread: &Thread) -> Result<()> {
    let sql = format!("SELECT {SEGMENT_COLUMNS} FROM segments WHERE thread = $1 AND rest = $2");
    let found = rows(client, &sql, &[&key(thread.id), &rest(thread.id)]).await?;
    let mut segments = found.iter().map(segment_row).collect::<Result<Vec<_>>>()?;
    segments.sort_by_key(SegmentRow::order);
    let (Some(first), Some(newest)) = (segments.first(), segments.last()) else { return Ok(()) };
    let Some((mut owner, mut record)) = first.origin.clone() else { return Ok(()) };
    let columns = entry_columns();
    let sql = format!(
        "SELECT {columns} FROM entries e JOIN segments s ON s.id = e.segment
         WHERE s.thread = $1 AND s.rest = $2 AND e.kind = ANY($3::smallint[]) ORDER BY e.position"
    );
    let kinds = Record::CHANGED_BY.into_iter().chain([Kind::OwnerChanged]);
    let kinds: Vec<i16> = kinds.map(|kind| i16::from(kind.code())).collect();
    let found = rows(client, &sql, &[&key(thread.id), &rest(thread.id), &kinds]).await?;
    for entry in actors.entries(client, &found).await? {
        match decode(client, &entry).await? {
            Some(Entry::OwnerChanged(changed)) => owner = changed.to,
            Some(entry) => record = record.clone().after(&entry).unwrap_or(record),
            None => {}
        }
    }
    let newest = &newest.segment;
    let last = EntryQuery {
        segment: newest.id,
        positions: Position::START..=Position::END,
        order: Order::Descending,
        limit: 1,
    };
    let last = read::entries(client, actors, &last).await?.into_iter().next();
    let head = rebuilt_head(newest, last.as_ref(), &thread.head);
    if head == thread.head && record == thread.record && owner == thread.account {
        return Ok(());
    }
    let mut new = Rows::default();
    new.head(thread.id, &head);
    new.record(thread.id, &owner, thread.created, &record);
    new.write(client, Vec::new()).await.map_err(from_postgres)
}
