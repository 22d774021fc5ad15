//! `serve`: threads over HTTP, until the program is asked to end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use threadkeep::{Engine, KeyFileAt, private};
use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_server::Start;

use crate::cells::CellsFile;
use crate::context::Context;
use crate::failure::Failure;
use crate::notify::Manager;
use crate::objects;
use crate::place::cells_file;
use crate::settings::ServerSettings;
use crate::text::quoted;

/// Serve threads over HTTP, until Ctrl-C or SIGTERM
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep serve                                  on 127.0.0.1:8473, or the next free port
  threadkeep serve --data ./work --listen 127.0.0.1:0 --json
  threadkeep keys create --account ann && threadkeep serve --listen 0.0.0.0:8473
  threadkeep serve --store cells:cells.toml         accounts in several databases (docs/scaling.md)

One line of JSON for each request goes to stderr. The address and a local key are in DIR/server.json, for your eyes
alone. Beyond this machine the local key is off, and at least one key must have been created.")]
pub(crate) struct Serve {
    #[command(flatten)]
    settings: ServerSettings,
    /// Delete the secrets of a store whose key is lost, and begin with a new key
    #[arg(long)]
    forget_secrets: bool,
}

/// The port of a server that is not told another one.
const USUAL_PORT: &str = ":8473";

/// Said once the server answers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ready<'a> {
    event: &'static str,
    url: &'a str,
    api_key: Option<&'a str>,
    sign_in_url: Option<String>,
    data_dir: PathBuf,
    pid: u32,
    version: &'static str,
    /// What to do about a data folder that other users can open.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl Serve {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        objects::check(context.objects()).await?;
        let mut start = match context.cells() {
            Some(cells) => {
                if let Some(file) = cells_file(context.store_url()) {
                    CellsFile::read(file)?.check_objects().await?;
                }
                let mut ready = Vec::new();
                for (name, engine) in cells.engines() {
                    ready.push((name.clone(), self.prepared(engine.clone(), context).await?));
                }
                let cells = cells.with(ready);
                let mut start = Start::new(cells.home()?, context.folder());
                start.cells = Some(cells.for_server()?);
                start
            }
            None => {
                let engine = context.engine("serve")?;
                Start::new(self.prepared(engine, context).await?, context.folder())
            }
        };
        start.listen = self.settings.listen;
        start.settings = self.settings.settings();
        start.connections = self.settings.connections();
        start.jwt = self.settings.tokens()?;
        let over = over()?;
        let manager = Manager::find();
        let started = start.begin().await?;
        let ready = Ready {
            event: "ready",
            url: started.url(),
            api_key: started.local_key(),
            sign_in_url: started.sign_in(),
            data_dir: started.folder().to_owned(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION"),
            warning: warning(started.folder()),
        };
        if context.json {
            context.out.json(&ready)?;
        } else {
            print(context, &ready)?;
        }
        if self.settings.listen.is_none() && !ready.url.ends_with(USUAL_PORT) {
            let port = ready.url.rsplit(':').next().unwrap_or_default();
            context.note(format!("port {} is taken: listening on {port} instead", &USUAL_PORT[1..]));
        }
        context.out.flush()?;
        manager.tell(&format!("READY=1\nSTATUS=Listening on {}", ready.url));
        let over = async {
            over.await;
            manager.tell("STOPPING=1\nSTATUS=Waiting for requests that are under way");
        };
        tokio::select! {
            () = started.run(over) => {}
            () = manager.show_life() => {}
        }
        Ok(())
    }
}

impl Serve {
    /// The engine of a store as this server uses it.
    async fn prepared(&self, engine: Engine, context: &Context) -> Result<Engine, Failure> {
        let mut engine = engine.with_limits(self.settings.limits()?);
        if let Some(path) = self.settings.key_file() {
            engine = engine.with_key_keeper(Arc::new(KeyFileAt::new(path)));
        }
        if self.forget_secrets && !engine.forget_secrets().await? {
            context.note("the key of the secrets is there: nothing was deleted");
        }
        // A shared store has no file that all its servers see: its key is made when the first secret is set.
        if context.is_shared() && self.settings.key_file().is_none() {
            engine.check_secrets().await?;
        } else {
            engine.open_secrets().await?;
        }
        let engine = self.settings.embedding().apply(engine).await?;
        self.settings.relay(&engine)?;
        Ok(engine)
    }
}

fn print(context: &mut Context, ready: &Ready<'_>) -> Result<(), Failure> {
    let out = &mut context.out;
    out.line(format!("Threadkeep {} is ready.", ready.version))?;
    out.line("")?;
    out.line(format!("  address      {}", ready.url))?;
    if let Some(link) = &ready.sign_in_url {
        out.line(format!("  sign in      {link}  (once)"))?;
    }
    match ready.api_key {
        Some(key) => out.line(format!("  local key    {key}"))?,
        None => out.line("  local key    off: the server is reached from elsewhere; use a key you created")?,
    }
    out.line(format!("  data folder  {}", ready.data_dir.display()))?;
    if let Some(warning) = &ready.warning {
        out.line(format!("  warning      {warning}"))?;
    }
    out.line("  stop         Ctrl-C")
}

/// What to do if other users of the machine can open the data folder.
fn warning(folder: &Path) -> Option<String> {
    let mode = private::wider_mode(folder)?;
    let run = format!("chmod 700 {}", quoted(&folder.display().to_string()));
    Some(format!("other users can open the data folder (mode {mode:04o}); run: {run}"))
}

/// Resolves when the program is asked to end. A second time, it ends at once.
fn over() -> Result<impl Future<Output = ()>, Failure> {
    let cannot = |error: std::io::Error| {
        Problem::new(Status::Internal, ErrorCode::Internal, format!("signals cannot be received: {error}"))
    };
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).map_err(cannot)?;
    #[cfg(unix)]
    let mut interrupt = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).map_err(cannot)?;
    Ok(async move {
        #[cfg(unix)]
        {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tokio::spawn(async move {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                std::process::exit(130);
            });
        }
        #[cfg(not(unix))]
        drop(tokio::signal::ctrl_c().await);
    })
}
