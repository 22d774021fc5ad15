//! From a place to a client: a server that is named, one that runs on the data folder, or the store itself.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use threadkeep::{Engine, Invalid, StoreUrl, ThreadId};
use threadkeep_api::{Problem, Status};
use threadkeep_client::{Client, Key, Retry, Settings};

use crate::failure::Failure;
use crate::inside;
use crate::place::{Place, Reach};

/// Where a server says how it is found.
const SERVER_FILE: &str = "server.json";
/// How long to wait for a server that says it runs here.
const GREETING_MAX: Duration = Duration::from_secs(2);
/// How long to go on trying when a server is away, unless a command has a say in it.
const AWAY_MAX: Duration = Duration::from_secs(3);

/// What a command reaches threads by.
pub(crate) struct Reached {
    pub(crate) client: Client,
    pub(crate) store: Store,
}

/// Whether the store itself can be had.
pub(crate) enum Store {
    /// It is open.
    Open(Engine),
    /// A server runs on its folder; it can be opened beside it.
    Beside,
    /// Only the server is known.
    Elsewhere,
}

/// Reaches the threads of `place`. Unless the command `may_begin` a store, there has to be one: nothing is made.
pub(crate) async fn reach(place: &Place, may_begin: bool) -> Result<Reached, Failure> {
    match &place.reach {
        Reach::Server(url) => {
            let client = Client::connect_with(url, Key::from_environment(), settings())?;
            return Ok(Reached { client, store: Store::Elsewhere });
        }
        Reach::Folder => {
            if let Some(client) = running(&place.folder).await {
                return Ok(Reached { client, store: Store::Beside });
            }
        }
        Reach::Store => {}
    }
    let engine = open(place, may_begin)?;
    Ok(Reached { client: inside::client(engine.clone())?, store: Store::Open(engine) })
}

fn settings() -> Settings {
    Settings { retry: Retry { give_up_after: AWAY_MAX, ..Retry::default() }, ..Settings::default() }
}

/// Opens the store itself.
pub(crate) fn open(place: &Place, may_begin: bool) -> Result<Engine, Failure> {
    if let Reach::Server(_) = place.reach {
        return Err(needs_store("this command"));
    }
    if !may_begin
        && let StoreUrl::Sqlite(path) = place.url.parse()?
        && is_missing(&path)
    {
        let detail = format!("there is no store at {}", path.display());
        let problem = Problem::new(Status::NotFound, "store_not_found", detail);
        return Err(problem.hint(place.hints().command("create \"My first thread\"")).into());
    }
    Ok(threadkeep::open(&place.url)?)
}

/// `what` does not go over the wire.
pub(crate) fn needs_store(what: &str) -> Failure {
    let rule = format!("a server cannot do it: {what} needs the store itself; name it with --store or --data");
    Invalid::parameter("server", rule).into()
}

/// Whether nothing was ever stored at `path`. A file without a byte is one that nobody finished making.
fn is_missing(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) => metadata.is_file() && metadata.len() == 0,
        Err(error) => matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory),
    }
}

/// What a server says of itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    url: String,
    api_key: Option<String>,
}

/// A client of the server that runs on `folder`; none if none does, or nothing here opens it.
///
/// A server that was killed leaves its file behind, and another one may listen at its address by now: the server has to
/// know the key that stands in the file.
async fn running(folder: &Path) -> Option<Client> {
    let said = std::fs::read(folder.join(SERVER_FILE)).ok()?;
    let Found { url, api_key } = serde_json::from_slice(&said).ok()?;
    let (own, given) = (api_key.map(Key::new), Key::from_environment());
    let key = given.or_else(|| own.clone())?;
    let greet = Client::connect_with(&url, own.clone(), Settings::default()).ok()?.retrying(Retry::never());
    let greeting = async {
        if own.is_none() {
            return greet.is_alive().await.is_ok();
        }
        // No thread has this id; a server that does not know the key says so instead.
        let nobody = ThreadId::from_bits(0);
        greet.thread(nobody).await.is_err_and(|error| error.is_refused_as("thread_not_found"))
    };
    let lives = tokio::time::timeout(GREETING_MAX, greeting).await.unwrap_or(false);
    if lives { Client::connect_with(&url, key, settings()).ok() } else { None }
}
