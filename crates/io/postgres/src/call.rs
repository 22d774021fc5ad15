//! The function `append` (`append.sql`): any plain append, checked step by step, so that it can say precisely why it
//! refuses.

use threadkeep_model::{Body, Commit, Committed, Kind, NewEntry, Refusal, ThreadCommitted, Timestamp, Write};
use threadkeep_store::sum::content_sum;
use threadkeep_store::{Result, StoreError};
use tokio_postgres::Row;

use crate::append::Append;
use crate::bound::Leaves;
use crate::codec::{HEAD_WIDTH, get, head, key, lease, position, rest, segment_id};
use crate::connect::thread_lock;
use crate::error::{from_commit, is_taken_back};
use crate::fences;
use crate::tables::message_columns;
use crate::{Clock, Shared};

impl Shared {
    /// Calls the function for all of `appends`. With `waits` they are all to one thread, and wait for it.
    pub(crate) async fn call(&self, appends: &[&Append], waits: bool) -> Called {
        match self.try_call(appends, waits).await {
            Ok(rows) => Called::Answers(rows.iter().zip(appends).map(|(row, append)| answered(row, append)).collect()),
            Err(Lost::During(error)) if is_taken_back(&error) => Called::TakenBack(Failure(from_commit(error))),
            Err(lost) => Called::Failed(Failure(lost.into_error())),
        }
    }

    async fn try_call(&self, appends: &[&Append], waits: bool) -> Result<Vec<Row>, Lost> {
        let called = tokio::time::timeout(self.call_timeout(), self.call_unbounded(appends, waits)).await;
        called.unwrap_or_else(|_| Err(Lost::Before(self.unanswered(Leaves::Perhaps))))
    }

    async fn call_unbounded(&self, appends: &[&Append], waits: bool) -> Result<Vec<Row>, Lost> {
        let client = self.connections.get().await.map_err(Lost::Before)?;
        let mut columns = Columns::default();
        for append in appends {
            let actor = match self.actors.known(&append.0.caller) {
                Some(actor) => actor,
                None => self.actors.id(&client, &append.0.caller).await.map_err(Lost::Before)?,
            };
            columns.push(append, actor);
        }
        let statement = client.prepare_cached(CALL).await.map_err(Lost::During)?;
        let lease_now = match self.clock {
            Clock::Server => None,
            Clock::Caller => appends.first().map(|append| append.0.time.as_micros()),
        };
        let c = &columns;
        let rows = client
            .query(
                &statement,
                &[
                    &waits,
                    &lease_now,
                    &self.upkeep_lock,
                    &c.lock,
                    &c.thread,
                    &c.rest,
                    &c.era,
                    &c.version,
                    &c.lease,
                    &c.time,
                    &c.actor,
                    &c.cause,
                    &c.account,
                    &c.key,
                    &c.hash,
                    &c.count,
                    &c.kind,
                    &c.format,
                    &c.body,
                    &c.role,
                    &c.silent,
                    &c.depth,
                    &c.sum,
                ],
            )
            .await;
        rows.map_err(Lost::During)
    }
}

const CALL: &str = "
    SELECT status, at_segment, at_first, at_count, at_time, (head).version, (head).segment, (head).era, (head).fence,
        (head).updated, (head).ordinals, (head).inserted, (head).deleted, (head).last_change, (head).steps, (head).bytes,
        (head).last_user, (head).last_state, (head).work, (head).lease_token, (head).lease_until, (head).lease_holder
    FROM append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)";

/// The result of a call: an answer for each append, none if another process holds its thread.
pub(crate) enum Called {
    Answers(Vec<Option<Result<Committed>>>),
    /// The server refused all of it, and nothing was kept.
    TakenBack(Failure),
    /// It failed, and whether anything was kept is in the words of the error.
    Failed(Failure),
}

/// Where a call was lost.
pub(crate) enum Lost {
    /// Before the server did anything, or without an answer; the error says which.
    Before(StoreError),
    During(tokio_postgres::Error),
}

impl Lost {
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Self::Before(error) => error,
            Self::During(error) => from_commit(error),
        }
    }
}

/// An error that concerns several.
pub(crate) struct Failure(pub(crate) StoreError);

impl Failure {
    pub(crate) fn copied(&self) -> StoreError {
        match &self.0 {
            StoreError::DiskFull => StoreError::DiskFull,
            StoreError::Corrupt { what } => StoreError::Corrupt { what: what.clone() },
            StoreError::Unavailable { what } => StoreError::Unavailable { what: what.clone() },
            other => StoreError::Unavailable { what: other.to_string() },
        }
    }
}

/// The body of an entry that has it with itself.
pub(crate) fn inline(body: &Body) -> &[u8] {
    match body {
        Body::Inline(bytes) => bytes,
        Body::Blob(_) | Body::Absent | Body::Damaged => &[],
    }
}

/// The checksum of the content of an appended entry, as it is stored.
pub(crate) fn appended_sum(commit: &Commit, entry: &NewEntry) -> i64 {
    let caller = &commit.caller;
    let cause = caller.cause.clone().map(threadkeep_model::strip_nulls);
    content_sum(entry.kind, Kind::FORMAT, (&caller.account, &caller.actor), cause.as_deref(), &entry.body)
}

/// The values of a call, column by column.
#[derive(Default)]
struct Columns<'a> {
    lock: Vec<i64>,
    thread: Vec<i64>,
    rest: Vec<Vec<u8>>,
    era: Vec<Option<i64>>,
    version: Vec<Option<i64>>,
    lease: Vec<Option<i64>>,
    time: Vec<i64>,
    actor: Vec<i64>,
    cause: Vec<Option<String>>,
    account: Vec<&'a str>,
    key: Vec<Option<&'a str>>,
    hash: Vec<Option<&'a [u8]>>,
    count: Vec<i32>,
    kind: Vec<i16>,
    format: Vec<i16>,
    body: Vec<&'a [u8]>,
    role: Vec<Option<i16>>,
    silent: Vec<Option<bool>>,
    depth: Vec<Option<i16>>,
    sum: Vec<i64>,
}

impl<'a> Columns<'a> {
    fn push(&mut self, append: &'a Append, actor: i64) {
        let (commit, write) = (&append.0, append.write());
        self.lock.push(thread_lock(key(write.thread)));
        self.thread.push(key(write.thread));
        self.rest.push(rest(write.thread));
        self.era.push(write.expect.era.map(|era| era as i64));
        self.version.push(write.expect.version.map(|version| version.0 as i64));
        self.lease.push(write.expect.lease.map(|token| token.bits() as i64));
        self.time.push(commit.time.as_micros());
        self.actor.push(actor);
        self.cause.push(commit.caller.cause.clone().map(threadkeep_model::strip_nulls));
        self.account.push(commit.caller.account.as_str());
        self.key.push(commit.idempotency.as_ref().map(|idempotency| idempotency.key.as_str()));
        self.hash.push(commit.idempotency.as_ref().map(|idempotency| &idempotency.hash.as_bytes()[..]));
        self.count.push(write.entries.len() as i32);
        for entry in &write.entries {
            self.kind.push(i16::from(entry.kind.code()));
            self.format.push(i16::from(Kind::FORMAT));
            self.body.push(inline(&entry.body));
            let (role, depth, silent) = message_columns(&entry.derived);
            self.role.push(role);
            self.silent.push(silent);
            self.depth.push(depth);
            self.sum.push(appended_sum(commit, entry));
        }
    }
}

/// The answer of the function for one append; none if another process holds its thread.
fn answered(row: &Row, append: &Append) -> Option<Result<Committed>> {
    let status = match get::<i16>(row, 0) {
        Ok(2) => return None,
        Ok(status) => status,
        Err(error) => return Some(Err(error)),
    };
    Some(answer(row, status, append.write()))
}

fn answer(row: &Row, status: i16, write: &Write) -> Result<Committed> {
    let (thread, expect) = (write.thread, &write.expect);
    let refused = |refusal: Refusal| Err(StoreError::refused(thread, expect, refusal));
    let last_lease = || lease(row, 5 + HEAD_WIDTH);
    match status {
        0 | 1 => {
            let committed = ThreadCommitted {
                thread,
                segment: segment_id(get(row, 1)?),
                first: position(get(row, 2)?),
                count: get::<i64>(row, 3)? as u64,
                time: Timestamp::from_micros(get(row, 4)?),
                head: head(row, 5)?,
            };
            Ok(Committed { threads: vec![committed], replayed: status == 1 })
        }
        3 => Err(StoreError::ThreadNotFound { thread }),
        4 => refused(Refusal::VersionConflict { current: head(row, 5)?.version }),
        5 => refused(Refusal::EraMoved),
        6 => match last_lease()? {
            Some(by) => refused(Refusal::WriterHeld { by }),
            None => Err(StoreError::corrupt("a lease has no holder")),
        },
        7 => refused(Refusal::WriterLost { to: last_lease()? }),
        8 => Err(StoreError::IdempotencyKeyReused),
        9 => Err(fences::told_by_append(get(row, 5 + HEAD_WIDTH + 2)?)?),
        other => Err(StoreError::corrupt(format!("an append was answered with {other}"))),
    }
}
