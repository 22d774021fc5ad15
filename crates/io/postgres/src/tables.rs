//! Rows to write, gathered by table, so that each table takes one statement however many rows there are.

use std::collections::BTreeMap;

use deadpool_postgres::Object;
use threadkeep_model::{
    Account, Actor, BlobId, Body, Derived, Head, Kind, Record, Tally, Thread, ThreadId, Timestamp, strip_nulls,
};
use threadkeep_store::sum::{bytes_sum, chunk_place, content_sum, entry_sum};
use threadkeep_store::terms::Filing;
use threadkeep_store::{CHUNK_BYTES, Result, SegmentRow, StoreError};

use crate::codec::{key, rest, sealed_record, segment_key, tally_numbers, work_bytes};
use crate::derived::DerivedRows;
use crate::statement::{Place, Statement, run, side_by_side};
use crate::terms::{ListedRows, OwnTerms};

/// The values of the row of an entry.
pub(crate) struct EntryRow<'a> {
    pub(crate) kind: Kind,
    pub(crate) format: u8,
    pub(crate) time: Timestamp,
    pub(crate) actor: i64,
    pub(crate) by: (&'a Account, &'a Actor),
    pub(crate) cause: Option<&'a str>,
    pub(crate) tally: &'a Tally,
    pub(crate) body: &'a Body,
    pub(crate) derived: &'a Derived,
    pub(crate) blobs: &'a [BlobId],
}

/// Rows to write in one transaction. Numbers in the feed count up in the order in which rows are added.
#[derive(Default)]
pub(crate) struct Rows {
    told: i32,
    segments: Segments,
    entries: Entries,
    derived: DerivedRows,
    threads: Threads,
    heads: Heads,
    records: Records,
    new_listed: ListedRows,
    listed: ListedRows,
    changed: OwnTerms,
    buried: Vec<(ThreadId, Timestamp, i32)>,
}

#[derive(Default)]
struct Segments {
    n: Vec<i32>,
    id: Vec<i64>,
    thread: Vec<i64>,
    rest: Vec<Vec<u8>>,
    first: Vec<i64>,
    parent: Vec<Option<i64>>,
    bounds: [Vec<Option<i64>>; 4],
    birth: Vec<Vec<u8>>,
    created: Vec<i64>,
    account: Vec<Option<String>>,
    record: Vec<Option<String>>,
}

#[derive(Default)]
struct Entries {
    n: Vec<i32>,
    segment: Vec<i64>,
    position: Vec<i64>,
    time: Vec<i64>,
    actor: Vec<i64>,
    tally: [Vec<i64>; 7],
    last_user: Vec<Option<i64>>,
    work: Vec<Option<Vec<u8>>>,
    kind: Vec<i16>,
    format: Vec<i16>,
    role: Vec<Option<i16>>,
    depth: Vec<Option<i16>>,
    silent: Vec<Option<bool>>,
    cause: Vec<Option<String>>,
    body: Vec<Option<Vec<u8>>>,
    large: Vec<Option<Vec<u8>>>,
    sum: Vec<i64>,
    /// The blobs that entries name: the number of the entry, and the hash.
    refs: (Vec<i32>, Vec<Vec<u8>>),
}

#[derive(Default)]
struct Threads {
    id: Vec<i64>,
    rest: Vec<Vec<u8>>,
    created: Vec<i64>,
    records: Records,
    heads: Heads,
    filed: Vec<i64>,
}

#[derive(Default)]
struct Heads {
    thread: Vec<i64>,
    version: Vec<i64>,
    segment: Vec<i64>,
    era: Vec<i64>,
    fence: Vec<i64>,
    updated: Vec<i64>,
    minute: Vec<i64>,
    tally: [Vec<i64>; 7],
    last_user: Vec<Option<i64>>,
    work: Vec<Option<Vec<u8>>>,
}

#[derive(Default)]
struct Records {
    id: Vec<i64>,
    archived: Vec<bool>,
    agent: Vec<Option<String>>,
    main: Vec<Option<i64>>,
    record: Vec<String>,
}

fn push_tally(columns: &mut [Vec<i64>; 7], last_user: &mut Vec<Option<i64>>, tally: &Tally) {
    for (column, number) in columns.iter_mut().zip(tally_numbers(tally)) {
        column.push(number);
    }
    last_user.push(tally.last_user.map(Timestamp::as_micros));
}

impl Heads {
    fn push(&mut self, thread: ThreadId, head: &Head) {
        self.thread.push(key(thread));
        self.version.push(head.version.0 as i64);
        self.segment.push(segment_key(head.segment));
        self.era.push(head.era as i64);
        self.fence.push(head.fence as i64);
        self.updated.push(head.updated.as_micros());
        self.minute.push(head.updated.minute());
        push_tally(&mut self.tally, &mut self.last_user, &head.tally);
        self.work.push(work_bytes(&head.tally));
    }
}

impl Records {
    fn push(&mut self, thread: ThreadId, record: &Record) {
        self.id.push(key(thread));
        self.archived.push(record.archived);
        self.agent.push(record.agent_id.clone());
        self.main.push(record.main_thread_id.map(key));
        self.record.push(sealed_record(record, key(thread)));
    }
}

impl Rows {
    /// None yet, in a transaction that gave `told` numbers within its feed to others.
    pub(crate) fn after(told: i32) -> Self {
        Self { told, ..Self::default() }
    }

    /// The next number within the feed of this transaction.
    fn tell(&mut self) -> i32 {
        self.told += 1;
        self.told
    }

    pub(crate) fn segment(&mut self, row: &SegmentRow) {
        let n = self.tell();
        let segment = &row.segment;
        let bounds = segment.link.map(|link| link.bounds);
        let rows = &mut self.segments;
        rows.n.push(n);
        rows.id.push(segment_key(segment.id));
        rows.thread.push(key(segment.thread));
        rows.rest.push(rest(segment.thread));
        rows.first.push(segment.first.0 as i64);
        rows.parent.push(segment.link.map(|link| segment_key(link.parent)));
        let kinds = [
            bounds.map(|bounds| bounds.messages),
            bounds.map(|bounds| bounds.changes),
            bounds.map(|bounds| bounds.files),
            bounds.map(|bounds| bounds.values),
        ];
        for (column, bound) in rows.bounds.iter_mut().zip(kinds) {
            column.push(bound.map(|position| position.0 as i64));
        }
        rows.birth.push(segment.birth.encode());
        rows.created.push(segment.created.as_micros());
        rows.account.push(row.origin.as_ref().map(|(account, _)| account.as_str().to_owned()));
        rows.record.push(row.origin.as_ref().map(|(_, record)| sealed_record(record, segment_key(segment.id))));
    }

    pub(crate) fn entry(&mut self, place: &Place, entry: &EntryRow<'_>) {
        let n = self.tell();
        let rows = &mut self.entries;
        rows.n.push(n);
        rows.segment.push(segment_key(place.segment));
        rows.position.push(place.position.0 as i64);
        rows.time.push(entry.time.as_micros());
        rows.actor.push(entry.actor);
        push_tally(&mut rows.tally, &mut rows.last_user, entry.tally);
        rows.work.push(work_bytes(entry.tally));
        rows.kind.push(i16::from(entry.kind.code()));
        rows.format.push(i16::from(entry.format));
        let message = message_columns(entry.derived);
        rows.role.push(message.0);
        rows.depth.push(message.1);
        rows.silent.push(message.2);
        let cause = entry.cause.map(|cause| strip_nulls(cause.to_owned()));
        let content = content_sum(entry.kind, entry.format, entry.by, cause.as_deref(), entry.body);
        rows.sum.push(entry_sum(content, place.segment, place.position, entry.time));
        rows.cause.push(cause);
        let (body, large) = match entry.body {
            Body::Inline(bytes) => (Some(bytes.to_vec()), None),
            Body::Blob(id) => (None, Some(id.as_bytes().to_vec())),
            // A damaged entry has a checksum that no row has.
            Body::Absent | Body::Damaged => (None, None),
        };
        rows.body.push(body);
        rows.large.push(large);
        for blob in entry.blobs {
            rows.refs.0.push(n);
            rows.refs.1.push(blob.as_bytes().to_vec());
        }
        self.derived.push(place, entry.time, entry.derived, i64::from(n));
    }

    /// The rows that a thread has while it lives, again: the entry is here.
    pub(crate) fn derived_again(&mut self, place: &Place, time: Timestamp, derived: &Derived) {
        let n = self.tell();
        self.derived.push(place, time, derived, i64::from(n));
    }

    /// A thread that was not there.
    pub(crate) fn thread(
        &mut self,
        id: ThreadId,
        account: &Account,
        created: Timestamp,
        head: &Head,
        record: &Record,
        filing: Filing,
    ) {
        let filed = filing.under(head.updated.minute());
        self.new_listed.push(key(id), account, created, filed, record);
        let rows = &mut self.threads;
        rows.filed.push(filed);
        rows.id.push(key(id));
        rows.rest.push(rest(id));
        rows.created.push(created.as_micros());
        rows.records.push(id, record);
        rows.heads.push(id, head);
    }

    /// The same for one that is imported.
    pub(crate) fn imported(&mut self, thread: &Thread) {
        let Thread { id, account, created, head, record } = thread;
        self.thread(*id, account, *created, head, record, Filing::Now);
    }

    /// Where a thread stands now.
    pub(crate) fn head(&mut self, thread: ThreadId, head: &Head) {
        self.heads.push(thread, head);
    }

    /// The present record of a thread with this owner and birth.
    pub(crate) fn record(&mut self, thread: ThreadId, account: &Account, created: Timestamp, record: &Record) {
        self.listed.push_changed(key(thread), account, created, record, &mut self.changed);
        self.records.push(thread, record);
    }

    /// A thread that goes.
    pub(crate) fn bury(&mut self, thread: ThreadId, time: Timestamp) {
        let n = self.tell();
        self.buried.push((thread, time, n));
    }

    /// Writes all of it within the open transaction, and runs `more` after it.
    pub(crate) async fn write(&self, client: &Object, more: Vec<Statement<'_>>) -> Result<(), tokio_postgres::Error> {
        let checkpoints = self.derived.checkpoints();
        let mut statements = Vec::new();
        let births = self.births();
        if !births.is_empty() {
            let feed = Statement::new("WITH f AS MATERIALIZED (SELECT feed_start() AS start)", Vec::new());
            statements.push(feed.with(births, "SELECT FROM f"));
        }
        self.push_entries(&mut statements);
        statements.extend(self.derived.statements("feed_start()", &checkpoints));
        self.push_heads(&mut statements);
        statements.extend(self.changed.unfile());
        statements.extend(self.listed.terms(""));
        let ids: Vec<i64> = self.buried.iter().map(|(id, ..)| key(*id)).collect();
        let rests: Vec<Vec<u8>> = self.buried.iter().map(|(id, ..)| rest(*id)).collect();
        let times: Vec<i64> = self.buried.iter().map(|(_, time, _)| time.as_micros()).collect();
        let numbers: Vec<i32> = self.buried.iter().map(|(.., n)| *n).collect();
        if !ids.is_empty() {
            statements.push(Statement::new(
                "SELECT bury(u.id, u.rest, u.time, u.n)
                 FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::integer[]) AS u(id, rest, time, n)",
                vec![&ids, &rests, &times, &numbers],
            ));
        }
        statements.extend(more);
        run(client, &statements).await
    }

    /// The statements that write new segments and threads, as parts of one. They take the place in the feed from the row
    /// of `f`; without a row they write nothing.
    pub(crate) fn births(&self) -> Vec<Statement<'_>> {
        let mut statements = Vec::new();
        self.push_segments(&mut statements);
        self.push_threads(&mut statements);
        statements.extend(self.new_listed.terms("f, "));
        statements
    }

    fn push_segments<'a>(&'a self, statements: &mut Vec<Statement<'a>>) {
        let rows = &self.segments;
        if rows.id.is_empty() {
            return;
        }
        let [messages, changes, files, values] = &rows.bounds;
        let columns = "n integer, id bigint, thread bigint, rest bytea, first bigint, parent bigint, messages bigint,
            changes bigint, files bigint, vals bigint, birth bytea, created bigint, account text, record text";
        statements.push(Statement::new(
            format!(
                "INSERT INTO segments SELECT u.id, u.thread, u.rest, u.first, u.parent, u.messages, u.changes, u.files,
                     u.vals, u.birth, u.created, f.start + u.n, u.account, u.record FROM f, {}",
                side_by_side(columns, rows.id.len())
            ),
            vec![
                &rows.n,
                &rows.id,
                &rows.thread,
                &rows.rest,
                &rows.first,
                &rows.parent,
                messages,
                changes,
                files,
                values,
                &rows.birth,
                &rows.created,
                &rows.account,
                &rows.record,
            ],
        ));
    }

    fn push_entries<'a>(&'a self, statements: &mut Vec<Statement<'a>>) {
        let rows = &self.entries;
        if rows.n.is_empty() {
            return;
        }
        let [ordinals, inserted, deleted, last_change, steps, bytes, last_state] = &rows.tally;
        let columns = "n integer, segment bigint, position bigint, time bigint, actor bigint, ordinals bigint,
            inserted bigint, deleted bigint, last_change bigint, steps bigint, bytes bigint, last_user bigint, kind smallint,
            format smallint, role smallint, depth smallint, silent boolean, cause text, body bytea, large bytea,
            last_state bigint, work bytea, sum bigint";
        statements.push(Statement::new(
            format!(
                "WITH f AS MATERIALIZED (SELECT feed_start() AS start)
                 INSERT INTO entries SELECT f.start + u.n, u.segment, u.position, u.time, u.actor, u.ordinals, u.inserted,
                     u.deleted, u.last_change, u.steps, u.bytes, u.last_user, u.kind, u.format, u.role, u.depth, u.silent,
                     u.cause, u.body, u.large, u.last_state, u.work, u.sum FROM f, {}",
                side_by_side(columns, rows.n.len())
            ),
            vec![
                &rows.n,
                &rows.segment,
                &rows.position,
                &rows.time,
                &rows.actor,
                ordinals,
                inserted,
                deleted,
                last_change,
                steps,
                bytes,
                &rows.last_user,
                &rows.kind,
                &rows.format,
                &rows.role,
                &rows.depth,
                &rows.silent,
                &rows.cause,
                &rows.body,
                &rows.large,
                last_state,
                &rows.work,
                &rows.sum,
            ],
        ));
        if !rows.refs.0.is_empty() {
            statements.push(Statement::new(
                "WITH f AS MATERIALIZED (SELECT feed_start() AS start)
                 INSERT INTO blob_refs SELECT DISTINCT f.start + u.n, b.id
                 FROM f, unnest($1::integer[], $2::bytea[]) AS u(n, hash) JOIN blobs b ON b.hash = u.hash",
                vec![&rows.refs.0, &rows.refs.1],
            ));
        }
    }

    fn push_threads<'a>(&'a self, statements: &mut Vec<Statement<'a>>) {
        let rows = &self.threads;
        if rows.id.is_empty() {
            return;
        }
        let (records, heads, listed) = (&rows.records, &rows.heads, &self.new_listed);
        let columns = "id bigint, rest bytea, account text, archived boolean, agent text, main bigint, created bigint,
            minute bigint, record text, project text, lifecycle smallint, visibility smallint, parent bigint, filed bigint,
            moment bigint";
        statements.push(Statement::new(
            format!(
                "INSERT INTO threads (id, rest, account, archived, agent, main, created, minute, record, project, lifecycle,
                     visibility, parent, filed, moment)
                 SELECT u.* FROM f, {}",
                side_by_side(columns, rows.id.len())
            ),
            vec![
                &rows.id,
                &rows.rest,
                &listed.account,
                &records.archived,
                &records.agent,
                &records.main,
                &rows.created,
                &heads.minute,
                &records.record,
                &listed.project,
                &listed.lifecycle,
                &listed.visibility,
                &listed.parent,
                &rows.filed,
                &heads.updated,
            ],
        ));
        let [ordinals, inserted, deleted, last_change, steps, bytes, last_state] = &heads.tally;
        let columns = "thread bigint, rest bytea, version bigint, segment bigint, era bigint, fence bigint,
            updated bigint, ordinals bigint, inserted bigint, deleted bigint, last_change bigint, steps bigint,
            bytes bigint, last_user bigint, last_state bigint, work bytea";
        statements.push(Statement::new(
            format!(
                "INSERT INTO heads (thread, rest, version, segment, era, fence, updated, ordinals, inserted, deleted, last_change,
                     steps, bytes, last_user, last_state, work)
                 SELECT u.* FROM f, {}",
                side_by_side(columns, rows.id.len())
            ),
            vec![
                &heads.thread,
                &rows.rest,
                &heads.version,
                &heads.segment,
                &heads.era,
                &heads.fence,
                &heads.updated,
                ordinals,
                inserted,
                deleted,
                last_change,
                steps,
                bytes,
                &heads.last_user,
                last_state,
                &heads.work,
            ],
        ));
    }

    fn push_heads<'a>(&'a self, statements: &mut Vec<Statement<'a>>) {
        let heads = &self.heads;
        if !heads.thread.is_empty() {
            let [ordinals, inserted, deleted, last_change, steps, bytes, last_state] = &heads.tally;
            let columns = "thread bigint, version bigint, segment bigint, era bigint, fence bigint, updated bigint,
                ordinals bigint, inserted bigint, deleted bigint, last_change bigint, steps bigint, bytes bigint,
                last_user bigint, last_state bigint, work bytea";
            statements.push(Statement::new(
                format!(
                    "UPDATE heads h SET version = u.version, segment = u.segment, era = u.era, fence = u.fence,
                         updated = u.updated, ordinals = u.ordinals, inserted = u.inserted, deleted = u.deleted,
                         last_change = u.last_change, steps = u.steps, bytes = u.bytes, last_user = u.last_user,
                         last_state = u.last_state, work = u.work
                     FROM {} WHERE h.thread = u.thread",
                    side_by_side(columns, heads.thread.len())
                ),
                vec![
                    &heads.thread,
                    &heads.version,
                    &heads.segment,
                    &heads.era,
                    &heads.fence,
                    &heads.updated,
                    ordinals,
                    inserted,
                    deleted,
                    last_change,
                    steps,
                    bytes,
                    &heads.last_user,
                    last_state,
                    &heads.work,
                ],
            ));
            statements.push(Statement::new(
                format!(
                    "UPDATE threads t SET minute = u.minute, moment = 0 FROM {}
                     WHERE t.id = u.id AND (t.minute <> u.minute OR t.moment >= t.minute * 60000000)",
                    side_by_side("id bigint, minute bigint", heads.thread.len())
                ),
                vec![&heads.thread, &heads.minute],
            ));
        }
        let records = &self.records;
        if !records.id.is_empty() {
            let columns = "id bigint, archived boolean, agent text, main bigint, record text, project text,
                lifecycle smallint, visibility smallint, parent bigint, account text";
            statements.push(Statement::new(
                format!(
                    "UPDATE threads t SET archived = u.archived, agent = u.agent, main = u.main, record = u.record,
                         project = u.project, lifecycle = u.lifecycle, visibility = u.visibility, parent = u.parent,
                         account = u.account
                     FROM {} WHERE t.id = u.id",
                    side_by_side(columns, records.id.len())
                ),
                vec![
                    &records.id,
                    &records.archived,
                    &records.agent,
                    &records.main,
                    &records.record,
                    &self.listed.project,
                    &self.listed.lifecycle,
                    &self.listed.visibility,
                    &self.listed.parent,
                    &self.listed.account,
                ],
            ));
        }
    }
}

/// The columns of `entries` that say what a message is: role, depth, silent.
pub(crate) fn message_columns(derived: &Derived) -> (Option<i16>, Option<i16>, Option<bool>) {
    match derived.message() {
        Some((role, silent, depth)) => (Some(i16::from(role.code())), Some(i16::from(depth)), Some(silent)),
        None => (None, None, None),
    }
}

/// Puts blobs into the store, unless their content is there: one that is elsewhere comes home, because the body of an
/// entry has to be in the database. In the order of their hashes, so that two who bring the same ones
/// never wait for each other in a circle.
pub(crate) async fn put_blobs(
    client: &Object,
    blobs: impl Iterator<Item = &(BlobId, bytes::Bytes)>,
) -> Result<(), tokio_postgres::Error> {
    let blobs: BTreeMap<_, _> = blobs.map(|(id, bytes)| (*id, bytes)).collect();
    let insert = "INSERT INTO blobs (hash, size) VALUES ($1, $2) ON CONFLICT (hash)
                  DO UPDATE SET elsewhere = false WHERE blobs.elsewhere RETURNING id";
    let chunk = "INSERT INTO blob_chunks VALUES ($1, $2, $3, $4)";
    for (id, bytes) in blobs {
        let statement = client.prepare_cached(insert).await?;
        let row = client.query_opt(&statement, &[&&id.as_bytes()[..], &(bytes.len() as i64)]).await?;
        let Some(blob) = row.map(|row| row.get::<_, i64>(0)) else { continue };
        let statement = client.prepare_cached(chunk).await?;
        for (n, part) in bytes.chunks(CHUNK_BYTES).enumerate() {
            let sum = bytes_sum(part, chunk_place(blob, n as i32));
            client.execute(&statement, &[&blob, &(n as i32), &part, &sum]).await?;
        }
    }
    Ok(())
}

/// The refusal that a violated constraint means: another commit was faster.
pub(crate) fn clash(error: &tokio_postgres::Error) -> Option<StoreError> {
    let constraint = error.as_db_error()?.constraint()?;
    (constraint == "segments_pkey").then_some(StoreError::SegmentTaken)
}
