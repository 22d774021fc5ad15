//! Connections to the MCP servers of the definitions.
//!
//! Each account has connections of its own, so a server never sees two accounts. A connection begins with the first use of
//! a tool. It ends when its definition changes, when nothing used it for a while, or with the runtime. A program and all
//! that it started end with the connection. A call that runs keeps its connection.

mod tool;

pub(crate) use tool::{McpTool, is_checked_here};

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use threadkeep_engine::WayOut;
use threadkeep_mcp_client::{Definition as Server, Failed, Place, Reach, Servers, Stderr};
use threadkeep_model::Account;
use threadkeep_outgoing::Address;
use tokio::sync::{OnceCell, mpsc};
use tokio::time::Instant;

use crate::RuntimeError;
use crate::attempt::Attempt;
use crate::attempt::template::filled_env;
use crate::definitions::{Definitions, Kind, McpServer, Name};
use crate::http::names_itself;

/// Connections of this process.
const CONNECTIONS_MAX: usize = 64;
/// How long a connection is kept that nothing uses.
const IDLE: Duration = Duration::from_secs(600);
/// Lines of stderr that wait for the log. Later ones are dropped.
const LINES_MAX: usize = 256;

/// What a connection is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    account: Account,
    /// The name of the definition.
    server: String,
    /// The text of the definition.
    text: blake3::Hash,
    /// The values of the variables that it names.
    values: blake3::Hash,
}

/// A connection, or the place for one.
struct Connection {
    servers: Servers,
    open: OnceCell<()>,
    used: Mutex<Instant>,
}

/// Receives the name of a server, and a line that it wrote to stderr.
type Tell = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// The connections of a process.
pub(crate) struct Mcp {
    all: Mutex<HashMap<Key, Arc<Connection>>>,
    tell: Tell,
}

impl Mcp {
    pub(crate) fn new(tell: Tell) -> Self {
        Self { all: Mutex::default(), tell }
    }

    /// The connection to a server for the account of an attempt, opened if it is not.
    async fn connection(
        &self,
        on: &Attempt,
        (name, server): (&Name, &McpServer),
        folder: Option<&Path>,
    ) -> Result<Result<Arc<Connection>, Failed>, RuntimeError> {
        let (place, values) = placed(on, server, folder).await?;
        let text = on.definitions.source(name).map(|source| source.text.as_str()).unwrap_or_default();
        let key = Key {
            account: on.who.caller().account.clone(),
            server: name.text(),
            text: blake3::hash(text.as_bytes()),
            values,
        };
        let Some(connection) = self.place(key) else {
            let why = format!("{CONNECTIONS_MAX} MCP servers are in use; try again later");
            return Ok(Err(Failed::Unreachable { server: name.text(), why }));
        };
        let definition = Server {
            name: name.name.clone(),
            place,
            tools: server.tools.clone(),
            timeout: Duration::from_millis(server.timeout_ms.unwrap_or(McpServer::TIMEOUT_MS)),
            stderr: Some(logged(on, name.text(), Arc::clone(&self.tell))),
        };
        let opened = connection.open.get_or_try_init(|| connection.servers.connect(definition)).await.map(drop);
        Ok(opened.map(|()| connection))
    }

    /// The place for a connection; none if all are in use.
    fn place(&self, key: Key) -> Option<Arc<Connection>> {
        let mut all = self.all();
        if !all.contains_key(&key) && all.len() >= CONNECTIONS_MAX {
            let unused = all.iter().filter(|(_, connection)| Arc::strong_count(connection) == 1);
            let oldest = unused.min_by_key(|(_, connection)| connection.used()).map(|(key, _)| key.clone());
            all.remove(&oldest?);
        }
        let new = || {
            let (servers, open, used) = (Servers::default(), OnceCell::new(), Mutex::new(Instant::now()));
            Arc::new(Connection { servers, open, used })
        };
        let connection = Arc::clone(all.entry(key).or_insert_with(new));
        connection.use_it();
        Some(connection)
    }

    /// Ends connections whose definitions changed, and those that nothing used for a while.
    pub(crate) fn keep(&self, definitions: &Definitions) {
        let is_defined = |key: &Key| {
            let found = definitions.find(Kind::Mcp, &key.server, None).and_then(|name| definitions.source(name));
            found.is_some_and(|source| blake3::hash(source.text.as_bytes()) == key.text)
        };
        self.all().retain(|key, connection| {
            let is_used = Arc::strong_count(connection) > 1 || connection.used().elapsed() < IDLE;
            is_used && is_defined(key)
        });
    }

    /// Whether there is no connection.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// Ends all connections of this process.
    pub(crate) fn end(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Arc<Connection>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn use_it(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Where a server is, with the values of its variables, and a hash of those.
async fn placed(
    on: &Attempt,
    server: &McpServer,
    folder: Option<&Path>,
) -> Result<(Place, blake3::Hash), RuntimeError> {
    let mut hasher = blake3::Hasher::new();
    let mut filled = BTreeMap::new();
    for (name, text) in server.env.iter().chain(&server.headers) {
        let value = filled_env(on, text).await?;
        for part in [name, &value] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        filled.insert(name.clone(), value);
    }
    let place = match &server.url {
        Some(url) => Place::Url { url: url.clone(), headers: filled, reach: reach(url) },
        None => {
            let command = server.command.clone().unwrap_or_default();
            Place::Program { command, env: filled, folder: folder.filter(|path| path.is_dir()).map(Path::to_owned) }
        }
    };
    Ok((place, hasher.finalize()))
}

/// A host that is written as an address or as this machine may be private; every other one is public.
fn reach(url: &str) -> Reach {
    match Address::parse(url) {
        Ok(to) if names_itself(&to) => Reach::Anywhere,
        Ok(_) | Err(_) => Reach::Public,
    }
}

/// Tells what a program writes to stderr, without secrets.
fn logged(on: &Attempt, server: String, tell: Tell) -> Stderr {
    let (send, mut lines) = mpsc::channel::<String>(LINES_MAX);
    let (who, thread) = (on.who.clone(), on.thread);
    // It ends with the connection, which has the other end.
    tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            // Without the secrets nothing can be redacted, so nothing is told.
            if let Ok(redactor) = who.redactor(WayOut::Log, Some(thread)).await {
                tell(&server, &redactor.text(&line));
            }
        }
    });
    Arc::new(move |line| drop(send.try_send(line)))
}
