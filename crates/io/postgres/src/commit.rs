//! How a commit is written that is more than a plain append: lock the threads in the order of their ids, check, write.
//! Every commit takes two round trips. The rules are those of the model, as in every store.

use std::collections::HashMap;

use deadpool_postgres::Object;
use threadkeep_model::{
    Account, Advanced, BlobId, Body, Commit, Committed, Create, Head, Kind, Lease, NewEntry, ThreadCommit, ThreadId,
    Timestamp, Write, advance, born,
};
use threadkeep_store::terms::Filing;
use threadkeep_store::{KeyQuery, KeyRow, Result, SegmentRow, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::clock::NOW;
use crate::codec::{
    self, HEAD_COLUMNS, HEAD_WIDTH, LEASE_COLUMNS, LEASE_WIDTH, get, head, key, lease, segment_key, thread_id,
};
use crate::connect::{give_back, key_lock, thread_lock};
use crate::error::{from_commit, from_postgres};
use crate::fences;
use crate::keys;
use crate::processes;
use crate::statement::{Place, Statement};
use crate::tables::{EntryRow, Rows, clash, put_blobs};
use crate::{Clock, Shared};

/// The change of one thread by a commit, decided before the first write.
enum Step<'a> {
    Create(&'a Create, Advanced),
    Write(&'a Write, Advanced),
    Delete(ThreadId),
}

/// The data that the checks need.
struct Found {
    heads: HashMap<i64, (ThreadId, Head, Option<Lease>)>,
    /// Whose each thread is, and when it was born.
    owners: HashMap<ThreadId, (Account, Timestamp)>,
    taken: Vec<i64>,
    blobs: Vec<BlobId>,
    earlier: Option<Row>,
    lease_now: Timestamp,
    /// Whether the lease of the process that owns the work has ended.
    owner_lost: bool,
    /// The fence of an account that the commit concerns.
    frozen: Option<Row>,
}

/// A transaction that was begun. If it is dropped, its connection goes with it, and the server takes all back.
pub(crate) struct Transaction {
    client: Option<Object>,
    /// Bytes of its longest message, about.
    sent_bytes: usize,
}

impl Transaction {
    pub(crate) fn begun(client: Object) -> Self {
        Self { client: Some(client), sent_bytes: 0 }
    }

    pub(crate) fn client(&self) -> &Object {
        self.client.as_ref().expect("it is there until it ends")
    }

    /// It sends these bodies in one message.
    pub(crate) fn sends<'a>(&mut self, bodies: impl Iterator<Item = &'a Body>) {
        let inline = |body: &Body| match body {
            Body::Inline(bytes) => bytes.len(),
            Body::Blob(_) | Body::Absent | Body::Damaged => 0,
        };
        self.sent_bytes = bodies.map(inline).sum();
    }

    /// It was ended by a statement of its own: the connection goes back.
    pub(crate) fn ended(mut self) {
        if let Some(client) = self.client.take() {
            give_back(client, self.sent_bytes);
        }
    }

    /// Ends it, and gives the connection back.
    pub(crate) async fn end(mut self, how: &str) -> Result<(), tokio_postgres::Error> {
        if let Some(client) = self.client.take() {
            match client.batch_execute(how).await {
                Ok(()) => give_back(client, self.sent_bytes),
                Err(error) => {
                    drop(Object::take(client));
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

/// Checks and writes `commit`, in one transaction.
pub(crate) async fn apply(shared: &Shared, commit: &Commit) -> Result<Committed> {
    let client = shared.connections.get().await?;
    let actor = shared.actors.id(&client, &commit.caller).await?;
    let mut transaction = Transaction::begun(client);
    transaction.sends(commit.threads.iter().flat_map(ThreadCommit::entries).map(|entry| &entry.body));
    let asked = KeyQuery::of(commit);
    let found = look(transaction.client(), shared, commit, asked.as_ref()).await?;
    if let (Some(idempotency), Some(asked), Some(earlier)) = (&commit.idempotency, &asked, &found.earlier) {
        let told = keys::told(transaction.client(), asked.thread, earlier).await;
        transaction.end("ROLLBACK").await.map_err(from_postgres)?;
        return told?.answer(&idempotency.hash);
    }
    let steps = match plan(&found, commit) {
        Ok(steps) => steps,
        Err(refused) => {
            transaction.end("ROLLBACK").await.map_err(from_postgres)?;
            return Err(refused);
        }
    };
    let committed = write(transaction.client(), commit, &found, steps, actor).await;
    match committed {
        Ok(committed) => {
            transaction.ended();
            Ok(committed)
        }
        Err(error) => Err(clash(&error).unwrap_or_else(|| from_commit(error))),
    }
}

/// Begins, locks, and reads all that the checks need, in one round trip.
async fn look(client: &Object, shared: &Shared, commit: &Commit, asked: Option<&KeyQuery>) -> Result<Found> {
    let mut locks = Vec::new();
    let (mut heads, mut created) = (Vec::new(), Vec::new());
    let mut named: Vec<BlobId> = Vec::new();
    for thread in &commit.threads {
        let id = thread.thread();
        let is_new = matches!(thread, ThreadCommit::Create(_));
        if is_new { &mut created } else { &mut heads }.push(key(id));
        locks.push(thread_lock(key(id)));
        named.extend(thread.entries().iter().flat_map(|entry| &entry.blobs));
    }
    // Threads that are created have a lock each, so two creations under one key need another one in common.
    if let Some(asked) = asked.filter(|asked| asked.thread == KeyQuery::NEW) {
        locks.push(key_lock(asked));
    }
    locks.sort_unstable();
    let blobs: Vec<&[u8]> = named.iter().map(|blob| &blob.as_bytes()[..]).collect();
    let (first, since) = (asked.map(|asked| key(asked.thread)), asked.map(|asked| asked.since().as_micros()));
    let (account, retry) = (asked.map(|asked| asked.account.as_str()), asked.map(|asked| asked.key.as_str()));
    let sql_heads = format!(
        "SELECT h.thread, h.rest, {HEAD_COLUMNS}, {LEASE_COLUMNS}, t.account, t.created, {NOW}
         FROM heads h JOIN threads t ON t.id = h.thread WHERE h.thread = ANY($1)"
    );
    let sql_taken = "SELECT id FROM threads WHERE id = ANY($1) UNION ALL SELECT id FROM tombstones WHERE id = ANY($1)";
    let owners: Vec<String> = commit.owner.iter().map(ToString::to_string).collect();
    let prepare = async || -> Result<_, tokio_postgres::Error> {
        Ok((
            client.prepare_cached("SELECT lock_all($1, $2)").await?,
            client.prepare_cached(&sql_heads).await?,
            client.prepare_cached(sql_taken).await?,
            client.prepare_cached("SELECT hash FROM blobs WHERE hash = ANY($1)").await?,
            client.prepare_cached(keys::FIND).await?,
            client.prepare_cached(&processes::holding()).await?,
            client.prepare_cached(fences::FIND).await?,
        ))
    };
    let given = fences::given(commit);
    let (lock, find_heads, find_taken, find_blobs, find_earlier, find_owner, find_frozen) =
        prepare().await.map_err(from_postgres)?;
    // A question about nothing is not asked.
    let unless = async |nothing: bool, statement: &tokio_postgres::Statement, params: &[&(dyn ToSql + Sync)]| {
        if nothing { Ok(Vec::new()) } else { client.query(statement, params).await }
    };
    let (begun, locked, frozen, heads, taken, blobs, earlier, owner) = tokio::join!(
        biased;
        async { client.batch_execute("BEGIN").await },
        async { client.query(&lock, &[&shared.upkeep_lock, &locks]).await },
        // Invariant: the store checks the fence inside the commit, so no server writes to a place that was left.
        async { client.query_opt(&find_frozen, &[&given, &heads]).await },
        async { unless(heads.is_empty(), &find_heads, &[&heads]).await },
        async { unless(created.is_empty(), &find_taken, &[&created]).await },
        async { unless(blobs.is_empty(), &find_blobs, &[&blobs]).await },
        async { unless(asked.is_none(), &find_earlier, &[&first, &account, &retry, &since]).await },
        async { unless(owners.is_empty(), &find_owner, &[&owners]).await },
    );
    begun.map_err(from_postgres)?;
    locked.map_err(from_postgres)?;
    let owner_lost = owner.map_err(from_postgres)?.len() < owners.len();
    let (mut known, mut owners, mut lease_now) = (HashMap::new(), HashMap::new(), commit.time);
    for row in heads.map_err(from_postgres)? {
        let id: i64 = get(&row, 0)?;
        let found = (thread_id(id, get(&row, 1)?)?, head(&row, 2)?, lease(&row, 2 + HEAD_WIDTH)?);
        let owner = codec::account(get(&row, 2 + HEAD_WIDTH + LEASE_WIDTH)?)?;
        let created = Timestamp::from_micros(get(&row, 3 + HEAD_WIDTH + LEASE_WIDTH)?);
        owners.insert(found.0, (owner, created));
        if shared.clock == Clock::Server {
            lease_now = Timestamp::from_micros(get(&row, 4 + HEAD_WIDTH + LEASE_WIDTH)?);
        }
        known.insert(id, found);
    }
    let ids = |rows: Vec<Row>| rows.iter().map(|row| get(row, 0)).collect::<Result<Vec<i64>>>();
    let hash = |row: &Row| -> Result<BlobId> {
        let hash: &[u8] = get(row, 0)?;
        Ok(BlobId::from_bytes(hash.try_into().map_err(|_| StoreError::corrupt("a blob has no full hash"))?))
    };
    Ok(Found {
        heads: known,
        owners,
        taken: ids(taken.map_err(from_postgres)?)?,
        blobs: blobs.map_err(from_postgres)?.iter().map(hash).collect::<Result<_>>()?,
        earlier: earlier.map_err(from_postgres)?.into_iter().next(),
        lease_now,
        owner_lost,
        frozen: frozen.map_err(from_postgres)?,
    })
}

impl Found {
    fn living(&self, id: ThreadId) -> Result<&(ThreadId, Head, Option<Lease>)> {
        let found = self.heads.get(&key(id)).filter(|(found, ..)| *found == id);
        found.ok_or(StoreError::ThreadNotFound { thread: id })
    }
}

fn plan<'a>(found: &Found, commit: &'a Commit) -> Result<Vec<Step<'a>>> {
    if found.owner_lost {
        return Err(StoreError::ProcessLost);
    }
    if let Some(frozen) = &found.frozen {
        return Err(fences::refusal(frozen)?);
    }
    let mut steps = Vec::with_capacity(commit.threads.len());
    for thread in &commit.threads {
        let admit = |id: ThreadId, expect: &threadkeep_model::Expect| -> Result<Head> {
            let (_, head, lease) = found.living(id)?;
            Lease::admit(lease.as_ref(), thread, found.lease_now)
                .map_err(|refusal| StoreError::refused(id, expect, refusal))?;
            Ok(*head)
        };
        let step = match thread {
            ThreadCommit::Create(create) => {
                if found.taken.contains(&key(create.thread)) {
                    return Err(StoreError::ThreadTaken { thread: create.thread });
                }
                Step::Create(create, born(create, commit.time))
            }
            ThreadCommit::Write(write) => {
                let head = admit(write.thread, &write.expect)?;
                let advanced = advance(&head, write, commit.time)
                    .map_err(|refusal| StoreError::refused(write.thread, &write.expect, refusal))?;
                Step::Write(write, advanced)
            }
            ThreadCommit::Delete { thread, expect } => {
                let head = admit(*thread, expect)?;
                expect.check(&head).map_err(|refusal| StoreError::refused(*thread, expect, refusal))?;
                Step::Delete(*thread)
            }
        };
        let entries: &[NewEntry] = match &step {
            Step::Create(create, _) => &create.entries,
            Step::Write(write, _) => &write.entries,
            Step::Delete(_) => &[],
        };
        for blob in entries.iter().flat_map(|entry| &entry.blobs) {
            if !found.blobs.contains(blob) && !commit.blobs.iter().any(|(id, _)| id == blob) {
                return Err(StoreError::BlobMissing { blob: *blob });
            }
        }
        steps.push(step);
    }
    Ok(steps)
}

async fn write(
    client: &Object,
    commit: &Commit,
    found: &Found,
    steps: Vec<Step<'_>>,
    actor: i64,
) -> Result<Committed, tokio_postgres::Error> {
    let mut rows = Rows::default();
    let mut threads = Vec::with_capacity(steps.len());
    for step in steps {
        match step {
            Step::Create(create, advanced) => {
                let (created, head) = (advanced.created(), &advanced.head);
                rows.thread(create.thread, &create.account, created, head, &create.record, Filing::Later);
                if let Some(segment) = &advanced.opened {
                    let origin = Some((create.account.clone(), create.record.clone()));
                    rows.segment(&SegmentRow { segment: segment.clone(), origin });
                }
                push_entries(&mut rows, commit, create.thread, actor, &advanced, &create.entries);
                threads.push(advanced.committed(create.thread));
            }
            Step::Write(write, advanced) => {
                if let Some(segment) = &advanced.opened {
                    rows.segment(&SegmentRow { segment: segment.clone(), origin: None });
                }
                push_entries(&mut rows, commit, write.thread, actor, &advanced, &write.entries);
                rows.head(write.thread, &advanced.head);
                if let (Some(record), Some((account, created))) = (&write.record, found.owners.get(&write.thread)) {
                    let owner = write.owner.as_ref().unwrap_or(account);
                    rows.record(write.thread, owner, *created, record);
                }
                threads.push(advanced.committed(write.thread));
            }
            Step::Delete(thread) => rows.bury(thread, commit.time),
        }
    }
    put_blobs(client, commit.blobs.iter()).await?;
    match (KeyQuery::of(commit), KeyRow::of(commit, &threads)) {
        (Some(asked), Some(row)) => {
            let (thread, segment) = (key(asked.thread), segment_key(row.first.segment));
            let (at, count, time) = (row.first.first.0 as i64, row.first.count as i64, row.first.time.as_micros());
            let (account, retry) = (asked.account.as_str(), asked.key.as_str());
            let (hash, made) = (&row.hash.as_bytes()[..], row.encode_made());
            let remember =
                Statement::new(keys::PUT, vec![&thread, &account, &retry, &hash, &segment, &at, &count, &time, &made]);
            rows.write(client, vec![remember, Statement::commit()]).await?;
        }
        _ => rows.write(client, vec![Statement::commit()]).await?,
    }
    Ok(Committed { threads, replayed: false })
}

fn push_entries(
    rows: &mut Rows,
    commit: &Commit,
    thread: ThreadId,
    actor: i64,
    advanced: &Advanced,
    entries: &[NewEntry],
) {
    for (entry, at) in entries.iter().zip(&advanced.places) {
        let place = Place { thread, segment: advanced.head.segment, position: at.position };
        let row = EntryRow {
            kind: entry.kind,
            format: Kind::FORMAT,
            time: at.time,
            actor,
            by: (&commit.caller.account, &commit.caller.actor),
            cause: commit.caller.cause.as_deref(),
            tally: &at.tally,
            body: &entry.body,
            derived: &entry.derived,
            blobs: &entry.blobs,
        };
        rows.entry(&place, &row);
    }
}
