//! From a store to a running server: the folder, the address, the local key.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use serde::Serialize;
use threadkeep::{Courier, Directory, Engine, SystemWorld, Timestamp, World};
use threadkeep_calls::{ErrorCode, Problem, Status};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::app::{App, Settings};
use crate::background::BackgroundThreads;
use crate::folder::Folder;
use crate::front::Front;
use crate::jwt::{JwtSettings, Tokens};
use crate::keys::Keys;
use crate::log::Log;
use crate::residence::{Lines, Residence};
use crate::serve::{Connections, serve};
use crate::webhooks::Webhooks;

/// The default port of a server: THRD on a phone's keys.
const PORT: u16 = 8473;
/// Ports that are tried after that one.
const PORTS_TRIED: u16 = 100;

/// The folder of definitions in the data folder.
const DEFINITIONS: &str = "definitions";

/// The parts that a server needs to start.
pub struct Start {
    /// The engine that it serves.
    pub engine: Engine,
    /// The data folder, which it locks.
    pub folder: PathBuf,
    /// Where to listen; without it, 127.0.0.1:8473 or the next free port.
    pub listen: Option<SocketAddr>,
    /// Sizes and times of requests.
    pub settings: Settings,
    /// How connections are served.
    pub connections: Connections,
    /// How tokens are checked; without a secret and a file, none are taken.
    pub jwt: JwtSettings,
    /// The other cells, if there are several: `engine` is that of the home cell.
    pub cells: Option<Cells>,
}

/// Databases with some of the accounts each.
pub struct Cells {
    /// Says which account is in which cell.
    pub directory: Directory,
    /// The engines of all cells but the home cell, by their names.
    pub others: Vec<(String, Engine)>,
}

/// A server that listens, and answers once it is run.
pub struct Started {
    listener: TcpListener,
    /// The application of each cell, that of the home cell first.
    apps: Vec<App>,
    router: Router,
    stopping: watch::Sender<bool>,
    connections: Connections,
    url: String,
    local_key: Option<String>,
    folder: Folder,
    background: BackgroundThreads,
}

impl Start {
    /// A server on `engine` with its data in `folder`, and defaults for the rest.
    pub fn new(engine: Engine, folder: impl Into<PathBuf>) -> Self {
        let (settings, connections) = (Settings::default(), Connections::default());
        let (listen, jwt, cells) = (None, JwtSettings::default(), None);
        Self { engine, folder: folder.into(), listen, settings, connections, jwt, cells }
    }

    /// Takes the folder, and listens.
    ///
    /// # Errors
    /// If another server holds the folder, the address is taken, or the server would be reached from elsewhere without
    /// any key.
    pub async fn begin(self) -> Result<Started, Problem> {
        let Self { engine, folder, listen, mut settings, connections, jwt, cells } = self;
        // A wrong key is told before anything listens.
        engine.check_secrets().await?;
        for (_, engine) in cells.iter().flat_map(|cells| &cells.others) {
            engine.check_secrets().await?;
        }
        let tokens = Tokens::open(jwt)?;
        let mut folder = Folder::take(&folder)?;
        settings.scratch = folder.path().to_owned();
        settings.definitions.get_or_insert_with(|| folder.path().join(DEFINITIONS));
        settings.loopback = listen.is_none_or(|address| address.ip().is_loopback());
        if !settings.loopback && tokens.is_none() && !engine.has_keys().await? {
            let detail = "whoever reaches this machine would reach the server, and there is no key yet";
            let problem = Problem::new(Status::Forbidden, ErrorCode::Forbidden, detail);
            return Err(problem.hint("threadkeep keys create --account NAME, then start again"));
        }
        let listener = match listen {
            Some(address) => bind(address).await,
            None => bind_free().await,
        };
        let (listener, address) = listener.map_err(|error| {
            let place = listen.map_or_else(|| format!("127.0.0.1:{PORT}"), |address| address.to_string());
            let problem = Problem::new(
                Status::Unavailable,
                ErrorCode::CannotListen,
                format!("cannot listen on {place}: {error}"),
            );
            problem.hint("name another address with --listen; port 0 takes any that is free")
        })?;
        let url = format!("http://{address}");
        settings.public_url.get_or_insert_with(|| url.clone());
        let local_key = settings.loopback.then(Keys::draw_local);
        folder.tell(&url, local_key.as_deref(), SystemWorld.now())?;
        let background = BackgroundThreads::start().map_err(|error| {
            let detail = format!("threads for agents cannot be started: {error}");
            Problem::new(Status::Unavailable, ErrorCode::Unavailable, detail)
        })?;
        let stopping = watch::Sender::new(false);
        let keys = Keys::new(engine.clone(), local_key.as_deref()).and_tokens(tokens);
        let app = App::new(engine, keys, settings, stopping.subscribe());
        let (apps, router) = match cells {
            None => (vec![app.clone()], app.router()),
            Some(cells) => in_cells(app, cells),
        };
        Ok(Started { listener, apps, router, stopping, connections, url, local_key, folder, background })
    }
}

/// An application for each cell, that of the home cell first, and the routes in front of them.
pub(crate) fn in_cells(home: App, cells: Cells) -> (Vec<App>, Router) {
    let Cells { directory, others } = cells;
    let name = directory.names().home.clone();
    let lines = Arc::new(Lines::of(directory));
    let mut apps = Vec::with_capacity(others.len() + 1);
    for (other, engine) in others {
        let app = home.on_cell(engine, Residence::among(&lines, &other, false));
        apps.push((other, app));
    }
    apps.insert(0, (name.clone(), home.in_cell(Residence::among(&lines, &name, true))));
    let router = Front::new(&apps, lines).router();
    (apps.into_iter().map(|(_, app)| app).collect(), router)
}

async fn bind(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// The first free port from the default on.
async fn bind_free() -> io::Result<(TcpListener, SocketAddr)> {
    let mut port = PORT;
    loop {
        match bind((Ipv4Addr::LOCALHOST, port).into()).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port < PORT + PORTS_TRIED => port += 1,
            done => return done,
        }
    }
}

/// Background tasks beside requests: timeouts, observers, and the search index.
fn follow(app: &App) -> Vec<JoinHandle<()>> {
    let courier: Arc<dyn Courier> = Arc::new(Webhooks::new(app.engine.clone(), app.settings.webhooks.clone()));
    let engine = app.engine.clone();
    let mut followers =
        vec![tokio::spawn(app.engine.clone().run_timers()), tokio::spawn(engine.run_observers(Some(courier)))];
    if app.settings.search_index {
        let log = Arc::clone(&app.log);
        followers.push(tokio::spawn(app.engine.clone().run_index(move |trouble| log.line(&IndexLine::new(trouble)))));
    }
    if let Some(trouble) = app.engine.relay_trouble() {
        followers.push(tokio::spawn(tell_trouble(Arc::clone(&app.log), trouble)));
    }
    followers
}

/// Tells the log when text of other servers does not come any more, and when it comes again.
async fn tell_trouble(log: Arc<Log>, mut trouble: watch::Receiver<Option<String>>) {
    let mut told = None;
    loop {
        let now = trouble.borrow_and_update().clone();
        // Why it fails may change from one attempt to the next: what matters is that it does.
        if now.is_some() != told.is_some() {
            log.line(&IndexLine { time: SystemWorld.now(), event: "streams", error: now.clone() });
            told = now;
        }
        if trouble.changed().await.is_err() {
            return;
        }
    }
}

/// A line of the log about the search index, or about text of other servers.
#[derive(Serialize)]
struct IndexLine {
    time: Timestamp,
    event: &'static str,
    /// What is wrong; none if it goes well again.
    error: Option<String>,
}

impl IndexLine {
    fn new(trouble: Option<&threadkeep::Error>) -> Self {
        Self { time: SystemWorld.now(), event: "index", error: trouble.map(ToString::to_string) }
    }
}

impl Started {
    /// Where it is reached.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A key that works on this machine; none if the server is reached from elsewhere.
    pub fn local_key(&self) -> Option<&str> {
        self.local_key.as_deref()
    }

    /// A link that signs a browser in with the local key, once.
    pub fn sign_in(&self) -> Option<String> {
        self.local_key.as_ref()?;
        let app = self.apps.first()?;
        let path = app.sessions.draw_link(Keys::local(), Instant::now());
        Some(format!("{}{path}", app.settings.public_url.as_deref().unwrap_or(&self.url)))
    }

    /// The data folder that it holds.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Serves until `stop` resolves; then streams end, and requests that are under way may.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, apps, router, stopping, connections, folder, background, .. } = self;
        let stop = async {
            stop.await;
            stopping.send_replace(true);
        };
        let log = apps.first().map(|app| Arc::clone(&app.log));
        let followers: Vec<_> = apps.iter().flat_map(follow).collect();
        let runtimes: Vec<_> = {
            let _on_its_threads = background.handle().map(Handle::enter);
            apps.iter().map(|app| app.runtime.start()).collect()
        };
        drop(apps);
        serve(listener, router, connections, stop).await;
        for runtime in runtimes {
            runtime.stop().await;
        }
        for follower in followers {
            follower.abort();
            // It ends where it waits; its locks and files are released with it.
            drop(follower.await);
        }
        drop((background, folder));
        if let Some(log) = log {
            log.flush();
        }
    }
}
