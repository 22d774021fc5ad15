//! The server that runs on the data folder: where it is, and that it is that one.
//!
//! A server that is started again has another key, and perhaps another port. A running command finds it again: if
//! the server was not reached, or did not know the key, its file is read anew before the next attempt.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use threadkeep_calls as calls;
use threadkeep_client::{Client, Exchange, Failed, Key, Request, Response, Retry, Settings, Transport};

/// Where a server says how it is found.
const SERVER_FILE: &str = "server.json";
/// How long to wait for a server that says it runs here.
const GREETING_MAX: Duration = Duration::from_secs(2);
const UNAUTHORIZED: u16 = 401;

/// The content of the server's file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    url: String,
    api_key: Option<String>,
}

impl Said {
    fn read(folder: &Path) -> Option<Self> {
        let said = std::fs::read(folder.join(SERVER_FILE)).ok()?;
        serde_json::from_slice(&said).ok()
    }

    /// Whether the server that said it answers.
    ///
    /// A server that was killed leaves its file behind, and another one may listen at its address by now: it has to
    /// know the key in the file.
    async fn is_so(&self) -> bool {
        let own = self.api_key.as_deref().map(Key::new);
        let has_key = own.is_some();
        let Ok(client) = Client::connect(&self.url, own) else { return false };
        let client = client.retrying(Retry::never());
        let greeting = async {
            if !has_key {
                return client.is_alive().await.is_ok();
            }
            // The least that a key is needed for.
            client.call(calls::At::none(), calls::ListProjects { limit: Some(1), cursor: None }).await.is_ok()
        };
        tokio::time::timeout(GREETING_MAX, greeting).await.unwrap_or(false)
    }
}

/// Where the server on `folder` says it is, whether it still runs or not.
pub(crate) fn address(folder: &Path) -> Option<String> {
    Said::read(folder).map(|said| said.url)
}

/// A client of the server that runs on `folder`, by the key in the environment or else its own; none if no server does,
/// or nothing here opens it.
pub(crate) async fn running(folder: &Path, settings: Settings) -> Option<Client> {
    let said = Said::read(folder)?;
    let given = Key::from_environment();
    let key = given.clone().or_else(|| said.api_key.as_deref().map(Key::new))?;
    if !said.is_so().await {
        return None;
    }
    let transport = Client::connect_with(&said.url, None, settings).ok()?.transport();
    let (server, own_key) = (said.url.clone(), given.is_none());
    let at = Mutex::new(At { transport, said });
    let found = Found { folder: folder.to_owned(), settings, own_key, at };
    Client::over(Arc::new(found), &server, key, settings).ok()
}

/// The way to the server of a folder, wherever that is at the moment.
struct Found {
    folder: PathBuf,
    settings: Settings,
    /// Whether the key is the server's own, which changes with it.
    own_key: bool,
    at: Mutex<At>,
}

/// Where the server was last.
#[derive(Clone)]
struct At {
    transport: Arc<dyn Transport>,
    said: Said,
}

impl Found {
    fn at(&self) -> MutexGuard<'_, At> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks where the server is now; whether that is somewhere else, or it has another key.
    fn look_again(&self) -> bool {
        let Some(said) = Said::read(&self.folder).filter(|said| *said != self.at().said) else { return false };
        let Ok(client) = Client::connect_with(&said.url, None, self.settings) else { return false };
        *self.at() = At { transport: client.transport(), said };
        true
    }

    async fn send(&self, mut request: Request) -> Result<Response, Failed> {
        let At { transport, said } = self.at().clone();
        let headers = request.headers_mut();
        let host = said.url.split_once("://").map_or(said.url.as_str(), |(_, host)| host);
        headers.insert("host", host.parse().map_err(Failed::before)?);
        if let Some(key) = said.api_key.filter(|_| self.own_key) {
            headers.insert("authorization", format!("Bearer {key}").parse().map_err(Failed::before)?);
        }
        match transport.exchange(request).await {
            // The key was refused, so nothing was done.
            Ok(response) if response.status() == UNAUTHORIZED && self.own_key && self.look_again() => {
                Err(Failed::before("the server was started again"))
            }
            Err(failed) => {
                self.look_again();
                Err(failed)
            }
            answered => answered,
        }
    }
}

impl Transport for Found {
    fn exchange(&self, request: Request) -> Exchange<'_> {
        Box::pin(self.send(request))
    }

    fn apart(&self) -> Arc<dyn Transport> {
        let At { transport, said } = self.at().clone();
        let at = Mutex::new(At { transport: transport.apart(), said });
        Arc::new(Self { folder: self.folder.clone(), settings: self.settings, own_key: self.own_key, at })
    }
}
