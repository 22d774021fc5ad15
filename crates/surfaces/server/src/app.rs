//! The application: state shared by all handlers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use threadkeep::runtime::{LocalModels, Runtime};
use threadkeep::sandbox::{self, Sandbox};
use threadkeep::{Engine, SystemWorld, Timestamp, World as _};
use tokio::sync::watch;

use crate::guard::Guard;
use crate::keys::Keys;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::residence::Residence;
use crate::runs::Runs;
use crate::sessions::Sessions;
use crate::tickets::Tickets;
use crate::told::Shared;
use crate::validate::{ValidationSettings, Validator};
use crate::webhooks::WebhookSettings;

/// State shared by all handlers.
#[derive(Clone)]
pub struct App {
    pub(crate) engine: Engine,
    pub(crate) keys: Keys,
    pub(crate) settings: Arc<Settings>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) log: Arc<Log>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) sandbox: Sandbox,
    pub(crate) runtime: Runtime,
    pub(crate) runs: Arc<Runs>,
    /// The cell that it serves.
    pub(crate) residence: Residence,
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Sizes and times, with their defaults.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Most bytes of a body: 32 MiB.
    pub body_bytes_max: usize,
    /// How long a client may be silent within a body: 30 s.
    pub body_idle_max: Duration,
    /// How long a client may take for a body of JSON in all: 5 min.
    pub body_time_max: Duration,
    /// How often a stream says that it is still there: 15 s.
    pub heartbeat: Duration,
    /// How often a stream makes sure that its reader may still read: 2 s.
    pub recheck: Duration,
    /// Whether only this machine is served. Then requests that name another host, or come from the page of another one,
    /// are refused: a web page must not reach it by a name that was made to point here.
    pub loopback: bool,
    /// A folder for files that are there for a moment; the system's unless it is set.
    pub scratch: PathBuf,
    /// Where people reach it, such as https://keep.example, for links that it gives; where it listens unless it is set.
    pub public_url: Option<String>,
    /// Where webhooks may lead.
    pub webhooks: WebhookSettings,
    /// How merges are checked.
    pub validation: ValidationSettings,
    /// How code is caged.
    pub sandbox: sandbox::Settings,
    /// The folder of definitions; `definitions` in the data folder unless it is set.
    pub definitions: Option<PathBuf>,
    /// Where model servers on this machine are looked for, if the agent `default` needs one.
    pub local_models: LocalModels,
    /// Whether the search index follows the log by itself, beside requests; else it is filled by backfills alone.
    pub search_index: bool,
    /// Whether a line about each request goes to stderr.
    pub log: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_bytes_max: 32 << 20,
            body_idle_max: Duration::from_secs(30),
            body_time_max: Duration::from_secs(300),
            heartbeat: Duration::from_secs(15),
            recheck: Duration::from_secs(2),
            loopback: true,
            scratch: std::env::temp_dir(),
            public_url: None,
            webhooks: WebhookSettings::default(),
            validation: ValidationSettings::default(),
            sandbox: sandbox::Settings::default(),
            definitions: None,
            local_models: LocalModels::default(),
            search_index: true,
            log: true,
        }
    }
}

/// A line that an MCP server wrote to stderr.
#[derive(Serialize)]
struct McpLine<'a> {
    time: Timestamp,
    event: &'static str,
    server: &'a str,
    line: &'a str,
}

impl App {
    /// An application on `engine`, opened by `keys`, whose streams end once `stopping` says so. Merges are checked as
    /// the settings say.
    pub fn new(engine: Engine, keys: Keys, settings: Settings, stopping: watch::Receiver<bool>) -> Self {
        let sandbox = Sandbox::new(settings.sandbox.clone());
        let log = Arc::new(Log::new(settings.log, &engine.instance_redactor()));
        let (engine, runtime) = at_work(engine, &settings, &sandbox, &log);
        Self {
            log,
            engine,
            keys,
            sandbox,
            runtime,
            runs: Arc::default(),
            residence: Residence::only(),
            settings: Arc::new(settings),
            guard: Arc::default(),
            tickets: Arc::default(),
            sessions: Arc::default(),
            metrics: Arc::default(),
            shared: Arc::default(),
            stopping,
        }
    }

    /// The same application, where its store is one of several cells.
    pub(crate) fn in_cell(self, residence: Residence) -> Self {
        self.engine.live_among(Arc::new(residence.clone()));
        Self { residence, ..self }
    }

    /// The same application on the store of another cell. Keys, sessions, tickets, counts and the log are one for all.
    pub(crate) fn on_cell(&self, engine: Engine, residence: Residence) -> Self {
        let (engine, runtime) = at_work(engine, &self.settings, &self.sandbox, &self.log);
        let (runs, shared) = (Arc::default(), Arc::default());
        Self { engine, runtime, runs, shared, ..self.clone() }.in_cell(residence)
    }
}

/// An engine that checks merges as the settings say, with the runtime of its agents and effects.
fn at_work(engine: Engine, settings: &Settings, sandbox: &Sandbox, log: &Arc<Log>) -> (Engine, Runtime) {
    let engine = engine.validating_by(Arc::new(Validator::new(settings.validation.clone())));
    let lines = Arc::clone(log);
    let runtime = Runtime::builder(engine).sandbox(sandbox.clone()).mcp_stderr(move |server, line| {
        lines.line(&McpLine { time: SystemWorld.now(), event: "mcp", server, line });
    });
    let runtime = runtime.default_agent(settings.local_models);
    let runtime = match &settings.definitions {
        Some(folder) => runtime.definitions(folder),
        None => runtime,
    };
    let runtime = runtime.build();
    let engine = runtime.engine().clone().with_effects(Arc::new(runtime.clone()));
    (engine, runtime)
}
