//! The one helper that knows how commits are made and how to meddle with the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use threadkeep_model::{
    Account, Caller, Commit, Committed, Create, Entry, Expect, MessageBody, NewEntry, NewSegment, Record, SegmentId,
    Tally, ThreadChanged, ThreadCommit, ThreadId, Timestamp, Write,
};
use threadkeep_postgres::PostgresStore;
use threadkeep_store::{Result, Store};
use threadkeep_throwaway::{Cluster, Schema};

/// A schema of its own, and stores on it, as processes would open them.
pub(crate) struct Keep {
    pub(crate) schema: Schema,
    /// A server of its own, where a transaction that is kept open would hold up the feeds of other tests.
    cluster: Option<Cluster>,
}

/// How long a test waits for something that has to happen.
pub(crate) const WAITED_MAX: Duration = Duration::from_secs(30);

/// Asks again and again until the answer is yes; fails with `what` if it does not become yes.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    if tokio::time::timeout(WAITED_MAX, asking).await.is_err() {
        panic!("after {} s it is still not so that {what}", WAITED_MAX.as_secs());
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

fn draw() -> u64 {
    static DRAWN: AtomicU64 = AtomicU64::new(1);
    DRAWN.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Keep {
    pub(crate) fn new() -> Self {
        Self { schema: threadkeep_throwaway::schema(), cluster: None }
    }

    /// The server of its own.
    pub(crate) fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().expect("it has one")
    }

    /// The same on a server of its own.
    pub(crate) fn apart() -> Self {
        Self { cluster: Some(Cluster::start().expect("a server")), ..Self::new() }
    }

    fn server(&self) -> String {
        self.cluster.as_ref().map_or_else(|| threadkeep_throwaway::postgres().to_owned(), Cluster::url)
    }

    /// The URL, with more parameters.
    pub(crate) fn url(&self, more: &str) -> String {
        format!("{}?schema={1}&application_name={1}{more}", self.server(), self.schema.name())
    }

    pub(crate) fn open(&self) -> Arc<PostgresStore> {
        Arc::new(self.try_open("").expect("a store"))
    }

    pub(crate) fn try_open(&self, more: &str) -> Result<PostgresStore> {
        PostgresStore::open(self.url(more).parse().expect("a url"))
    }

    pub(crate) fn sql(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        threadkeep_throwaway::sql(&self.url(""), sql)
    }

    /// Ends every connection of our stores, as a server that goes down would.
    pub(crate) fn hang_up(&self) {
        let name = self.schema.name();
        self.sql(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE application_name = '{name}' AND pid <> pg_backend_pid()"
        ));
    }

    /// Waits until one of our connections waits for a lock.
    pub(crate) async fn until_one_waits(&self, looker: &tokio_postgres::Client) {
        let waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = $1";
        let waits = async || {
            // Within a transaction the server shows what it showed first, unless it is told to look again.
            looker.batch_execute("SELECT pg_stat_clear_snapshot()").await.expect("a look");
            !looker.query(waits, &[&self.schema.name()]).await.expect("a look").is_empty()
        };
        until("a connection waits for a lock", waits).await;
    }

    /// A session on the server that can keep a transaction open.
    pub(crate) async fn session(&self) -> tokio_postgres::Client {
        let (client, connection) =
            tokio_postgres::connect(&self.server(), tokio_postgres::NoTls).await.expect("a connection");
        tokio::spawn(connection);
        let search = format!("SET search_path TO {}", self.schema.name());
        client.batch_execute(&search).await.expect("a schema");
        client
    }
}

pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock");
    Timestamp::from_micros(since.as_micros() as i64)
}

pub(crate) fn commit(threads: Vec<ThreadCommit>) -> Commit {
    Commit { caller: Caller::local(), time: now(), threads, blobs: Vec::new(), idempotency: None, owner: None }
}

pub(crate) async fn create(store: &PostgresStore) -> ThreadId {
    create_with(store, Record::default()).await
}

pub(crate) async fn create_with(store: &PostgresStore, record: Record) -> ThreadId {
    let thread = ThreadId::from_chance(u128::from(draw()) << 64 | u128::from(draw()));
    let segment = NewSegment { id: SegmentId::from_chance(draw()), link: None, birth: Tally::default() };
    let create = Create { thread, account: Account::local(), record, segment, entries: Vec::new(), created: None };
    store.commit(commit(vec![ThreadCommit::Create(create)])).await.expect("a thread");
    thread
}

pub(crate) fn said(thread: ThreadId, text: &str, expect: Expect) -> ThreadCommit {
    let entries = vec![NewEntry::new(&Entry::MessageAppended(MessageBody::user(text)))];
    ThreadCommit::Write(Write { thread, expect, branch: None, entries, record: None, owner: None })
}

/// A change of the record: more than a plain append.
pub(crate) fn changed(thread: ThreadId) -> ThreadCommit {
    let entries = vec![NewEntry::new(&Entry::ThreadChanged(ThreadChanged { fields: Default::default() }))];
    ThreadCommit::Write(Write { thread, expect: Expect::default(), branch: None, entries, record: None, owner: None })
}

/// Another record.
pub(crate) fn recorded(thread: ThreadId, record: Record) -> ThreadCommit {
    let fields = Record::default().changes_to(&record);
    let entries = vec![NewEntry::new(&Entry::ThreadChanged(ThreadChanged { fields }))];
    let (expect, record) = (Expect::default(), Some(record));
    ThreadCommit::Write(Write { thread, expect, branch: None, entries, record, owner: None })
}

pub(crate) async fn say(store: &PostgresStore, thread: ThreadId, text: &str) -> Result<Committed> {
    store.commit(commit(vec![said(thread, text, Expect::default())])).await
}
