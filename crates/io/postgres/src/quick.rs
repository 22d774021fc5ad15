//! Quick appends: a message or an event is one statement (`quick.sql`): lock, check, write. Several of them, to as many
//! threads, are one statement as well (`many.sql`). Where some are to the same thread, each has a statement, all in one
//! transaction, after all the locks, sent without waiting in between. All of it is one round trip.
//!
//! They go over lines: connections that are kept for them, with everything prepared.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex};

use threadkeep_model::{Caller, Committed, Kind, Role, ThreadCommitted, Write};
use threadkeep_store::Result;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::append::Append;
use crate::bound::Leaves;
use crate::call::{Lost, appended_sum, inline};
use crate::codec::{HEAD_WIDTH, head, key, rest};
use crate::connect::{Connections, thread_lock};
use crate::driven::Driven;
use crate::learnt::{Learnt, Timeline};
use crate::statement::in_order;
use crate::tables::message_columns;
use crate::{Clock, Shared};

/// Connections for appends that are free at the moment.
#[derive(Default)]
pub(crate) struct Lines(Mutex<Vec<Line>>);

/// A connection for quick appends. The append that uses it drives it.
pub(crate) struct Line {
    client: Client,
    driven: Driven,
    statements: Prepared,
}

/// The statements of a line.
struct Prepared {
    begin: Statement,
    lock: Statement,
    quick: Statement,
    quick_unlisted: Statement,
    quick_locking: Statement,
    quick_locking_unlisted: Statement,
    many: Statement,
    many_unlisted: Statement,
    commit: Statement,
    /// Those of forks, each with its text: of children without terms, and of children with some. Prepared when first used.
    forks: Vec<(String, Statement)>,
}

/// Minutes under which threads are listed at the least. They only grow, so a thread that was listed under this minute
/// needs no look at its row in the list.
pub(crate) struct Listed(Learnt<HashMap<i64, i64>>);

impl Listed {
    pub(crate) fn on(timeline: &Arc<Timeline>) -> Self {
        Self(Learnt::on(timeline))
    }

    fn reaches(&self, thread: i64, minute: i64) -> bool {
        self.0.with(|listed| listed.get(&thread).is_some_and(|listed| *listed >= minute))
    }

    /// Whether that was not known.
    pub(crate) fn note(&self, thread: i64, minute: i64) -> bool {
        const THREADS_MAX: usize = 10_000;
        self.0.with(|listed| {
            if listed.len() >= THREADS_MAX {
                listed.clear();
            }
            let before = listed.insert(thread, minute);
            before.is_none_or(|before| before < minute)
        })
    }
}

impl Lines {
    fn idle(&self) -> Option<Line> {
        let mut lines = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Those on which the server hung up are dropped here.
        while let Some(mut line) = lines.pop() {
            if line.driven.is_open() {
                return Some(line);
            }
        }
        None
    }

    /// A connection for an append that can go at once, and the row of its actor.
    pub(crate) fn ready_for(&self, shared: &Shared, append: &Append) -> Option<(Line, i64)> {
        let line = append.is_quick().then(|| self.idle())??;
        // After the line, whose server is the one that knows the row.
        match shared.actors.known(&append.0.caller) {
            Some(actor) => Some((line, actor)),
            None => {
                self.put(line);
                None
            }
        }
    }

    /// Keeps a line for the next append.
    pub(crate) fn put(&self, line: Line) {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(line);
    }
}

impl Shared {
    /// Appends all of these in one transaction. A row each; none for what could not be done quickly.
    pub(crate) async fn quick(&self, appends: &[&Append]) -> Result<Vec<Option<Row>>, Lost> {
        let done = tokio::time::timeout(self.call_timeout(), self.quick_unbounded(appends)).await;
        done.unwrap_or_else(|_| Err(Lost::Before(self.unanswered(Leaves::Perhaps))))
    }

    async fn quick_unbounded(&self, appends: &[&Append]) -> Result<Vec<Option<Row>>, Lost> {
        let mut line = self.line().await.map_err(Lost::Before)?;
        // After the line, whose server is the one that knows the rows.
        let mut actors = Vec::with_capacity(appends.len());
        for append in appends {
            actors.push(self.actor(&append.0.caller).await.map_err(Lost::Before)?);
        }
        let rows = match (appends, &actors[..]) {
            ([append], [actor]) => line.one(self, append, *actor).await.map(|row| vec![row]),
            (several, actors) if is_distinct(several) => line.many(self, several, actors).await,
            (several, actors) => line.several(self, several, actors).await,
        };
        // After an error the line is dropped, and the server takes back what it holds of it.
        let rows = rows.map_err(Lost::During)?;
        self.lines.put(line);
        Ok(rows)
    }
}

impl Shared {
    /// A line that is free, or a new one.
    pub(crate) async fn line(&self) -> Result<Line> {
        match self.lines.idle() {
            Some(line) => Ok(line),
            None => Line::open(&self.connections).await,
        }
    }

    /// The row of a caller's account and actor.
    pub(crate) async fn actor(&self, caller: &Caller) -> Result<i64> {
        match self.actors.known(caller) {
            Some(actor) => Ok(actor),
            None => self.actors.id(&self.connections.get().await?, caller).await,
        }
    }
}

impl Line {
    async fn open(connections: &Connections) -> Result<Self> {
        let (client, mut driven) = connections.driven().await?;
        let prepare = async {
            Ok(Prepared {
                begin: client.prepare("BEGIN").await?,
                lock: client.prepare(LOCK_WHAT_IS_FREE).await?,
                quick: client.prepare(&QUICK).await?,
                quick_unlisted: client.prepare(&QUICK_UNLISTED).await?,
                quick_locking: client.prepare(&QUICK_LOCKING).await?,
                quick_locking_unlisted: client.prepare(&QUICK_LOCKING_UNLISTED).await?,
                many: client.prepare(&MANY).await?,
                many_unlisted: client.prepare(&MANY_UNLISTED).await?,
                commit: client.prepare("COMMIT").await?,
                forks: Vec::new(),
            })
        };
        let statements = driven.drive(prepare).await.map_err(|error| connections.unreachable(error))?;
        Ok(Self { client, driven, statements })
    }

    /// One statement, and a transaction by itself.
    pub(crate) async fn one(
        &mut self,
        shared: &Shared,
        append: &Append,
        actor: i64,
    ) -> Result<Option<Row>, tokio_postgres::Error> {
        let (values, lock) = (Values::of(append, actor, shared.clock), thread_lock(append.thread()));
        let mut params = values.params(&0);
        params.extend([&shared.upkeep_lock as &(dyn ToSql + Sync), &lock]);
        let minute = append.0.time.minute();
        if shared.listed.reaches(append.thread(), minute) {
            let statement = &self.statements.quick_locking_unlisted;
            return self.driven.drive(self.client.query_opt(statement, &params)).await;
        }
        let row = self.driven.drive(self.client.query_opt(&self.statements.quick_locking, &params)).await?;
        if row.is_some() {
            shared.changed_at(append.thread(), minute);
        }
        Ok(row)
    }

    /// The statement of a fork, and a transaction by itself.
    pub(crate) async fn fork(
        &mut self,
        fork: &crate::statement::Statement<'_>,
    ) -> Result<Option<Row>, tokio_postgres::Error> {
        let known = self.statements.forks.iter().position(|(sql, _)| sql == fork.sql());
        let at = match known {
            Some(at) => at,
            None => {
                let prepared = self.driven.drive(self.client.prepare(fork.sql())).await?;
                self.statements.forks.push((fork.sql().to_owned(), prepared));
                self.statements.forks.len() - 1
            }
        };
        self.driven.drive(self.client.query_opt(&self.statements.forks[at].1, fork.params())).await
    }

    /// One statement for appends to as many threads.
    async fn many(
        &mut self,
        shared: &Shared,
        appends: &[&Append],
        actors: &[i64],
    ) -> Result<Vec<Option<Row>>, tokio_postgres::Error> {
        let values = appends.iter().zip(actors).map(|(append, actor)| Values::of(append, *actor, shared.clock));
        let values: Vec<Values<'_>> = values.collect();
        macro_rules! column {
            ($field:ident) => {
                values.iter().map(|values| &values.$field).collect::<Vec<_>>()
            };
        }
        let locks: Vec<i64> = appends.iter().map(|append| thread_lock(append.thread())).collect();
        let lease_now = values.first().and_then(|values| values.lease_now);
        let is_listed = |append: &&Append| shared.listed.reaches(append.thread(), append.0.time.minute());
        let statement =
            if appends.iter().all(is_listed) { &self.statements.many_unlisted } else { &self.statements.many };
        let rows = self
            .driven
            .drive(self.client.query(
                statement,
                &[
                    &shared.upkeep_lock,
                    &lease_now,
                    &locks,
                    &column!(thread),
                    &column!(rest),
                    &column!(era),
                    &column!(version),
                    &column!(lease),
                    &column!(time),
                    &column!(actor),
                    &column!(cause),
                    &column!(kind),
                    &column!(role),
                    &column!(depth),
                    &column!(silent),
                    &column!(body),
                    &column!(sum),
                ],
            ))
            .await?;
        let mut written: Vec<Option<Row>> = appends.iter().map(|_| None).collect();
        for row in rows {
            let number: i64 = row.get(HEAD_WIDTH);
            let at = usize::try_from(number - 1).unwrap_or(usize::MAX);
            if let (Some(append), Some(place)) = (appends.get(at), written.get_mut(at)) {
                shared.changed_at(append.thread(), append.0.time.minute());
                *place = Some(row);
            }
        }
        Ok(written)
    }

    /// A statement each, in one transaction that holds all locks before the first of them.
    async fn several(
        &mut self,
        shared: &Shared,
        appends: &[&Append],
        actors: &[i64],
    ) -> Result<Vec<Option<Row>>, tokio_postgres::Error> {
        let values = appends.iter().zip(actors).map(|(append, actor)| Values::of(append, *actor, shared.clock));
        let values: Vec<Values<'_>> = values.collect();
        let keys: Vec<i64> = appends.iter().map(|append| thread_lock(append.thread())).collect();
        let numbers: Vec<i32> = (0..appends.len() as i32).collect();
        let mut requests: Vec<(&Statement, Vec<&(dyn ToSql + Sync)>)> = vec![(&self.statements.begin, vec![])];
        requests.push((&self.statements.lock, vec![&shared.upkeep_lock, &keys]));
        let is_listed = |append: &&Append| shared.listed.reaches(append.thread(), append.0.time.minute());
        let listed: Vec<bool> = appends.iter().map(is_listed).collect();
        requests.extend(values.iter().zip(&numbers).zip(&listed).map(|((values, n), listed)| {
            let statement = if *listed { &self.statements.quick_unlisted } else { &self.statements.quick };
            (statement, values.params(n))
        }));
        requests.push((&self.statements.commit, vec![]));
        let sent = requests.iter().map(|(statement, params)| self.client.query_opt(*statement, params));
        let answers = self.driven.drive(in_order(sent)).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        // Those of the beginning, the locks and the end say nothing.
        let rows: Vec<Option<Row>> = answers.into_iter().skip(2).take(appends.len()).collect();
        for (append, _) in appends.iter().zip(&rows).filter(|(_, row)| row.is_some()) {
            shared.changed_at(append.thread(), append.0.time.minute());
        }
        Ok(rows)
    }
}

/// Whether all of these are to different threads.
fn is_distinct(appends: &[&Append]) -> bool {
    let mut threads = HashSet::new();
    appends.iter().all(|append| threads.insert(append.thread()))
}

/// Locks the threads that are free, and remembers which until the transaction ends: a digit each. The next statement is
/// sent without waiting for the answer.
const LOCK_WHAT_IS_FREE: &str = "
    SELECT set_config('threadkeep.locked', (
        SELECT string_agg(CASE WHEN pg_try_advisory_xact_lock(k) THEN '1' ELSE '0' END, '')
        FROM unnest($2::bigint[]) k), true)
    FROM (SELECT pg_advisory_xact_lock_shared($1) OFFSET 0) upkeep";

/// The statement of a quick append, if its thread was locked before.
static QUICK: LazyLock<String> = LazyLock::new(|| quick(LOCKED, LIST));
/// The same for a thread that is listed under the minute of the append already.
static QUICK_UNLISTED: LazyLock<String> = LazyLock::new(|| quick(LOCKED, ""));
/// The same, which locks the thread itself, if it is free.
static QUICK_LOCKING: LazyLock<String> = LazyLock::new(|| quick(LOCK, LIST));
/// The same, which locks the thread itself, for a thread that is listed already.
static QUICK_LOCKING_UNLISTED: LazyLock<String> = LazyLock::new(|| quick(LOCK, ""));

const LOCKED: &str = "substr(current_setting('threadkeep.locked'), $15 + 1, 1) = '1'";
const LOCK: &str = "pg_try_advisory_xact_lock_shared($17) AND pg_try_advisory_xact_lock($18)";
const LIST: &str = "listed AS (
    UPDATE threads t SET minute = h.updated / 60000000, moment = 0 FROM h
    WHERE t.id = h.thread AND (t.minute <> h.updated / 60000000 OR t.moment >= t.minute * 60000000)
),";

/// The statement of several.
static MANY: LazyLock<String> = LazyLock::new(|| filled(include_str!("many.sql"), "", LIST));
static MANY_UNLISTED: LazyLock<String> = LazyLock::new(|| filled(include_str!("many.sql"), "", ""));

fn quick(lock: &str, listed: &str) -> String {
    filled(include_str!("quick.sql"), lock, listed)
}

fn filled(sql: &str, lock: &str, listed: &str) -> String {
    let sql = sql.replace("{lock}", lock).replace("{listed}", listed);
    sql.replace("{format}", &Kind::FORMAT.to_string())
        .replace("{user}", &Role::User.code().to_string())
        .replace("{assistant}", &Role::Assistant.code().to_string())
}

/// The values of a quick append.
struct Values<'a> {
    thread: i64,
    rest: Vec<u8>,
    era: Option<i64>,
    version: Option<i64>,
    lease: Option<i64>,
    lease_now: Option<i64>,
    time: i64,
    actor: i64,
    cause: Option<String>,
    kind: i16,
    role: Option<i16>,
    depth: Option<i16>,
    silent: Option<bool>,
    body: &'a [u8],
    /// The checksum of its content; the statement adds the place.
    sum: i64,
}

impl<'a> Values<'a> {
    fn of(append: &'a Append, actor: i64, clock: Clock) -> Self {
        let (commit, write) = (&append.0, append.write());
        let entry = &write.entries[0];
        let lease_now = match clock {
            Clock::Server => None,
            Clock::Caller => Some(commit.time.as_micros()),
        };
        let (role, depth, silent) = message_columns(&entry.derived);
        Self {
            thread: key(write.thread),
            rest: rest(write.thread),
            era: write.expect.era.map(|era| era as i64),
            version: write.expect.version.map(|version| version.0 as i64),
            lease: write.expect.lease.map(|token| token.bits() as i64),
            lease_now,
            time: commit.time.as_micros(),
            actor,
            cause: commit.caller.cause.clone().map(threadkeep_model::strip_nulls),
            kind: i16::from(entry.kind.code()),
            role,
            depth,
            silent,
            body: inline(&entry.body),
            sum: appended_sum(commit, entry),
        }
    }

    /// In the order of `quick.sql`; `n` counts within the transaction.
    fn params<'b>(&'b self, n: &'b i32) -> Vec<&'b (dyn ToSql + Sync)> {
        vec![
            &self.thread,
            &self.rest,
            &self.era,
            &self.version,
            &self.lease,
            &self.lease_now,
            &self.time,
            &self.actor,
            &self.cause,
            &self.kind,
            &self.role,
            &self.depth,
            &self.silent,
            &self.body,
            n,
            &self.sum,
        ]
    }
}

/// The result of a quick append.
pub(crate) fn written_at(row: &Row, write: &Write) -> Result<Committed> {
    let head = head(row, 0)?;
    let committed = ThreadCommitted {
        thread: write.thread,
        segment: head.segment,
        first: head.version,
        count: 1,
        time: head.updated,
        head,
    };
    Ok(Committed { threads: vec![committed], replayed: false })
}
