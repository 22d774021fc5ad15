//! Connections: the first one, which looks at the server, and the pool.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, Pool, QueueMode, RecyclingMethod, Runtime,
};
use threadkeep_store::{KeyQuery, Result, StoreError};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, CancelToken, Client, Config, Connection, SimpleQueryMessage, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::clock::StoreTime;
use crate::driven::Driven;
use crate::error::{POOL_WAIT_SECONDS, cannot_open, from_pool, pooled, silent};
use crate::learnt::Timeline;
use crate::replicas::Replicas;
use crate::schema;
use crate::url::PostgresUrl;

/// Settings of every connection, beside how long anything may take.
const SETTINGS: [(&str, &str); 9] = [
    ("default_transaction_isolation", "read committed"),
    ("client_min_messages", "error"),
    // Statements keep the plan that goes by an index, however full the tables were when they were first used.
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    // Where one thread has most of the rows, as with its forks, the planner would read whole tables to look up a few.
    ("enable_mergejoin", "off"),
    ("enable_material", "off"),
    ("jit", "off"),
];

/// How long anything may take on the server. Nothing of ours takes long: what does is a fault, and must not hold up others.
///
/// A process that stops in the middle of a commit holds its threads until its session ends: for half of the time that
/// other writers wait, so that they still succeed.
fn limits(call: Duration) -> [(&'static str, String); 3] {
    let millis = |time: Duration| format!("{}ms", time.as_millis());
    [
        ("statement_timeout", millis(call)),
        ("lock_timeout", millis(call * 4 / 5)),
        ("idle_in_transaction_session_timeout", millis(call / 2)),
    ]
}

/// Bytes of a message after which its connection is closed: a connection keeps room for the longest message that it sent.
const MESSAGE_BYTES_KEPT: usize = 2 << 20;

/// Gives a connection back that has sent a message of so many bytes.
pub(crate) fn give_back(client: Object, sent_bytes: usize) {
    if sent_bytes > MESSAGE_BYTES_KEPT {
        drop(Object::take(client));
    }
}

/// Connections to one server.
pub(crate) struct Connections {
    pub(crate) url: PostgresUrl,
    config: Config,
    tls: MakeRustlsConnect,
    pool: Pool,
    pub(crate) replicas: Replicas,
    /// The history of the server to which they lead.
    pub(crate) timeline: Arc<Timeline>,
}

impl Connections {
    /// Looks at the server, makes or migrates the tables, and opens the pool.
    pub(crate) async fn open(url: PostgresUrl) -> Result<(Self, StoreTime)> {
        let limits = limits(url.call_timeout);
        let mut settings = SETTINGS.to_vec();
        settings.extend(limits.iter().map(|(name, value)| (*name, value.as_str())));
        settings.push(("search_path", &url.schema));
        let config = url.with_settings(&settings);
        let tls = url.tls.connector().map_err(|what| StoreError::CannotOpen { path: url.to_string(), what })?;
        let connecting = tokio::time::timeout(url.entry_timeout(), config.connect(tls.clone()));
        let connected = connecting.await.map_err(|_| silent(&url))?;
        let (mut client, connection) = connected.map_err(|error| cannot_open(&error, &url))?;
        schema::check_server(connection.parameter("server_version"), &url)?;
        let connection = tokio::spawn(connection);
        refuse_pooler(&client, &url).await?;
        let lock = upkeep_lock(&url.schema);
        schema::migrate(&mut client, &url, lock).await?;
        schema::keep_feed_rising(&mut client, &url, lock).await?;
        // Commits stay durable even if the server is configured otherwise.
        let durable = client.query_one("SELECT current_setting('synchronous_commit')", &[]).await;
        let durable: String = durable.map_err(|error| cannot_open(&error, &url))?.get(0);
        if durable == "off" {
            settings.push(("synchronous_commit", "on"));
        }
        let time = StoreTime::ask(&client).await.map_err(|error| cannot_open(&error, &url))?;
        let timeline = Arc::new(Timeline::new(lock));
        timeline.ask(&client).await.map_err(|error| cannot_open(&error, &url))?;
        drop(client);
        drop(connection.await);

        let config = url.with_settings(&settings);
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config.clone(), tls.clone(), manager))
            .max_size(url.pool())
            // The last one used knows the plans of its statements, and its pages are in the caches of the machine.
            .queue_mode(QueueMode::Lifo)
            .wait_timeout(Some(Duration::from_secs(POOL_WAIT_SECONDS)))
            .create_timeout(Some(url.entry_timeout()))
            .runtime(Runtime::Tokio1)
            .post_create(asks(&timeline))
            .build()
            .map_err(|error| StoreError::CannotOpen { path: url.to_string(), what: error.to_string() })?;
        let replicas = Replicas::of(&url, &settings, &tls)?;
        Ok((Self { url, config, tls, pool, replicas, timeline }, time))
    }

    /// A connection of the pool.
    pub(crate) async fn get(&self) -> Result<Object> {
        self.pool.get().await.map_err(|error| from_pool(error, &self.url))
    }

    /// Closes the connections that no call uses. After a call that was not answered, they may wait for a server that
    /// is gone.
    pub(crate) fn close_idle(&self) {
        self.pool.retain(|_, _| false);
    }

    /// Tells the server to stop what a connection does. If it cannot be told, its own limit ends the statement.
    pub(crate) async fn cancel(&self, token: &CancelToken) {
        drop(token.cancel_query(self.tls.clone()).await);
    }

    /// A connection of its own, beside the pool. Notices of the server go to `told`.
    pub(crate) async fn apart(
        &self,
        mut told: impl FnMut(AsyncMessage) + Send + 'static,
    ) -> Result<(Client, tokio::task::JoinHandle<()>)> {
        let (client, mut connection) = self.connect().await?;
        let alive = tokio::spawn(async move {
            // It ends with the connection, for any reason; the holder of the client notices.
            while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
                told(message);
            }
        });
        self.ask_timeline(&client).await?;
        Ok((client, alive))
    }

    /// The same without a task: the user of the client drives it.
    pub(crate) async fn driven(&self) -> Result<(Client, Driven)> {
        let (client, connection) = self.connect().await?;
        let mut driven = Driven::new(connection);
        driven.drive(self.ask_timeline(&client)).await?;
        Ok((client, driven))
    }

    async fn connect(
        &self,
    ) -> Result<(Client, Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>)> {
        let connecting = tokio::time::timeout(self.url.entry_timeout(), self.config.connect(self.tls.clone()));
        let connected = connecting.await.map_err(|_| silent(&self.url))?;
        connected.map_err(|error| self.unreachable(error))
    }

    async fn ask_timeline(&self, client: &Client) -> Result<()> {
        let asked = tokio::time::timeout(self.url.call_timeout, self.timeline.ask(client)).await;
        asked.map_err(|_| silent(&self.url))?.map_err(|error| self.unreachable(error))
    }

    /// Why no connection of its own could be had.
    pub(crate) fn unreachable(&self, error: tokio_postgres::Error) -> StoreError {
        from_pool(deadpool_postgres::PoolError::Backend(error), &self.url)
    }
}

/// Every connection of a pool asks for the timeline before it is used.
fn asks(timeline: &Arc<Timeline>) -> Hook {
    let timeline = Arc::clone(timeline);
    Hook::async_fn(move |client: &mut ClientWrapper, _| {
        let timeline = Arc::clone(&timeline);
        Box::pin(async move { timeline.ask(client).await.map_err(HookError::Backend) })
    })
}

/// Refuses a pooler that ignores the settings of a connection. A plain query goes through any pooler.
async fn refuse_pooler(client: &Client, url: &PostgresUrl) -> Result<()> {
    let said = client.simple_query("SHOW search_path").await.map_err(|error| cannot_open(&error, url))?;
    let path = said.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    if path == Some(url.schema.as_str()) { Ok(()) } else { Err(pooled(url)) }
}

/// The key of the lock under which a store's tables are changed as a whole.
pub(crate) fn upkeep_lock(schema: &str) -> i64 {
    UPKEEP_TAG | number(schema.as_bytes())
}

/// The key of the lock under which threads are filed for lists.
pub(crate) fn filing_lock(schema: &str) -> i64 {
    FILING_TAG | number(schema.as_bytes())
}

/// The key of the lock on an idempotency key.
pub(crate) fn key_lock(query: &KeyQuery) -> i64 {
    KEY_TAG | number(format!("{}\n{}", query.account.as_str(), query.key.as_str()).as_bytes())
}

/// 48 bits that tell one text from another.
fn number(text: &[u8]) -> i64 {
    blake3::hash(text).as_bytes()[..6].iter().fold(0, |all, byte| all << 8 | i64::from(*byte))
}

/// The key of the lock on a thread.
pub(crate) fn thread_lock(key: i64) -> i64 {
    THREAD_TAG | key
}

/// Locks of PostgreSQL are numbers that all programs on a database share. Ours begin with "TH", "TI", "TK" and "TF" in ASCII.
const THREAD_TAG: i64 = 0x5448 << 48;
const UPKEEP_TAG: i64 = 0x5449 << 48;
const KEY_TAG: i64 = 0x544b << 48;
const FILING_TAG: i64 = 0x5446 << 48;
