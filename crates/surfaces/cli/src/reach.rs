//! From a place to a client: a server that is named, one that runs on the data folder, or the store itself.

use std::sync::Arc;
use std::time::Duration;

use threadkeep::{Account, Engine, Invalid};
use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_client::{Client, Key, Retry, Settings};

use crate::cells::{CellsFile, OpenCells};
use crate::failure::{Failure, note};
use crate::place::{IfMissing, Place, Reach, cells_file};
use crate::{found, inside, objects};
use inside::Inside;

/// How long to go on trying when a server is away, unless a command has a say in it.
const AWAY_MAX: Duration = Duration::from_secs(3);

/// The client by which a command reaches threads.
pub(crate) struct Reached {
    pub(crate) client: Client,
    pub(crate) store: Store,
    /// All cells, where there are several.
    pub(crate) cells: Option<OpenCells>,
}

/// Whether the store itself can be had.
pub(crate) enum Store {
    Open(Engine),
    /// A server runs on its folder; it is opened beside it when it is needed.
    Beside(Option<Engine>),
    /// Only the server is known.
    Elsewhere,
}

/// Reaches the threads of `place`; `missing` says what to do if there is no store. Where no server runs, `inside` says how
/// this process is one.
pub(crate) async fn reach(place: &Place, missing: IfMissing, inside: Inside) -> Result<Reached, Failure> {
    match &place.reach {
        Reach::Server(url) => {
            let client = Client::connect_with(url, Key::from_environment(), settings())?;
            return Ok(Reached { client, store: Store::Elsewhere, cells: None });
        }
        Reach::Folder => {
            if let Some(client) = found::running(&place.folder, settings()).await {
                // A caller with a key may be someone other than the owner of the folder.
                let is_guest = Key::from_environment().is_some();
                let store = if is_guest { Store::Elsewhere } else { Store::Beside(None) };
                return Ok(Reached { client, store, cells: None });
            }
        }
        Reach::Store => {}
    }
    if let Some(file) = cells_file(&place.url) {
        let cells = CellsFile::read(file)?.open(place)?;
        let client = inside::client(cells.home()?, Some(cells.for_server()?), inside)?;
        // Commands act for account `local`.
        let store = Store::Open(cells.of(&Account::local()).await?);
        return Ok(Reached { client, store, cells: Some(cells) });
    }
    let engine = open(place, missing)?;
    Ok(Reached { client: inside::client(engine.clone(), None, inside)?, store: Store::Open(engine), cells: None })
}

fn settings() -> Settings {
    Settings { retry: Retry { give_up_after: AWAY_MAX, ..Retry::default() }, ..Settings::default() }
}

/// Opens the store itself.
pub(crate) fn open(place: &Place, missing: IfMissing) -> Result<Engine, Failure> {
    if let Reach::Server(_) = place.reach {
        return Err(needs_store("this command"));
    }
    if missing == IfMissing::Begin || place.has_store() {
        let engine = objects::open(&place.url, place.objects.as_ref())?;
        // What is in memory has its key there, too.
        let is_kept = place.url != "memory:" || place.key_file.is_some();
        return Ok(if is_kept { engine.with_key_keeper(Arc::new(place.keys())) } else { engine });
    }
    let detail = format!("there is no store at {}", place.url.strip_prefix("sqlite:").unwrap_or(&place.url));
    let begin = place.hints().command("new \"My first thread\"");
    if missing == IfMissing::Empty {
        // For programs too: a wrong path must not look like an empty store.
        note(&detail);
        note(&format!("hint: {begin}"));
        return Ok(threadkeep::open("memory:")?);
    }
    Err(Problem::new(Status::NotFound, ErrorCode::StoreNotFound, detail).hint(begin).into())
}

/// `what` does not go over the wire.
pub(crate) fn needs_store(what: &str) -> Failure {
    let rule = format!("a server cannot do it: {what} needs the store itself; name it with --store or --data");
    Invalid::parameter("server", rule).into()
}
