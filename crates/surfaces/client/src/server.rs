//! The server itself: whether it is there, signing in, and for keys with scope `admin` exports, imports and backups.

use bytes::Bytes;
use http_body_util::BodyExt;
use threadkeep_calls as calls;
use threadkeep_model::{Invalid, ThreadName};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::query::part;
use crate::transport::Body;

/// An export or a backup as it comes. An export is whole only if its last line is there: the reader checks that.
pub struct Export {
    server: String,
    body: Body,
    lost: u64,
}

impl Export {
    /// Entries, records and large values that are damaged and not in this backup. An export tells in its last line.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// If it is broken off.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        while let Some(frame) = self.body.frame().await {
            let broken =
                |error: crate::BoxError| Error::Broken { server: self.server.clone(), what: error.to_string() };
            if let Ok(bytes) = frame.map_err(broken)?.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

impl Client {
    /// Whether the server is there.
    ///
    /// # Errors
    /// If it is not.
    pub async fn is_alive(&self) -> Result<(), Error> {
        self.answer(Ask::get("/healthz".to_owned())).await.map(drop)
    }

    /// Whether the server can read its store, and is not about to stop.
    ///
    /// # Errors
    /// If it cannot, or is.
    pub async fn is_ready(&self) -> Result<(), Error> {
        self.answer(Ask::get("/readyz".to_owned())).await.map(drop)
    }

    /// Runs code on a thread, and waits for its outcome.
    ///
    /// # Errors
    /// As the server refuses it. Code that fails is no error: its outcome says so.
    pub async fn run_code(
        &self,
        thread: impl Into<ThreadName>,
        request: &calls::RunCode,
    ) -> Result<calls::CodeOutcome, Error> {
        let json = serde_json::to_string(request).map_err(|error| Invalid::body("body", error.to_string()))?;
        let path = format!("/v1/threads/{}/code", thread.into());
        self.bare().ask(Ask::act(path).json(json).unhurried()).await
    }

    /// Ends a run of code that was started with this id.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn terminate_code(
        &self,
        thread: impl Into<ThreadName>,
        run: &str,
    ) -> Result<calls::CodeTerminated, Error> {
        let path = format!("/v1/threads/{}/code/{}", thread.into(), part(run));
        self.bare().ask(Ask::delete_once(path).repeatable()).await
    }

    /// Runs a tool on a thread, and waits for its result.
    ///
    /// # Errors
    /// As the server refuses it. A tool that fails is no error: its result says so.
    pub async fn invoke_tool(
        &self,
        thread: impl Into<ThreadName>,
        tool: &str,
        request: &calls::InvokeTool,
    ) -> Result<calls::ToolTold, Error> {
        let json = serde_json::to_string(request).map_err(|error| Invalid::body("body", error.to_string()))?;
        let path = format!("/v1/threads/{}/tools/{}/invoke", thread.into(), part(tool));
        self.bare().ask(Ask::act(path).json(json).unhurried()).await
    }

    /// All definitions of the server.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn definitions(&self) -> Result<calls::DefinitionList, Error> {
        self.bare().ask(Ask::get("/v1/definitions".to_owned())).await
    }

    /// A definition, by the name of its folder and its own.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn definition(&self, kind: &str, name: &str) -> Result<calls::Definition, Error> {
        let name: Vec<_> = name.split('/').map(part).collect();
        self.bare().ask(Ask::get(format!("/v1/definitions/{}/{}", part(kind), name.join("/")))).await
    }

    /// Has the server read its folder of definitions again.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn reload_definitions(&self) -> Result<calls::DefinitionList, Error> {
        self.bare().ask(Ask::act("/v1/definitions/reload".to_owned()).repeatable()).await
    }

    /// A link that signs a browser in with this key, once.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn sign_in(&self) -> Result<calls::SignIn, Error> {
        self.bare().ask(Ask::act("/v1/sign-in".to_owned()).json("{}").repeatable()).await
    }

    /// Makes a ticket for one opening of one stream.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn ticket(&self, new: &calls::NewTicket) -> Result<calls::Ticket, Error> {
        let json = serde_json::to_string(new).map_err(|error| Invalid::body("path", error.to_string()))?;
        self.bare().ask(Ask::act("/v1/tickets".to_owned()).json(json).repeatable()).await
    }

    /// How far the search index follows the log, and how large it is for the account.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn search_status(&self) -> Result<calls::SearchStatus, Error> {
        self.ask(Ask::get("/v1/search/status".to_owned())).await
    }

    /// Every thread of every account, as JSON lines.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn export(&self) -> Result<Export, Error> {
        let ask = Ask::get("/v1/admin/export".to_owned()).accepting("application/x-ndjson");
        let response = self.open(&ask, &[]).await.map_err(|(error, _)| error)?;
        Ok(Export { server: self.way.server.to_string(), body: response.into_body(), lost: 0 })
    }

    /// Imports an export, as it comes; existing threads are left alone.
    ///
    /// # Errors
    /// As the server refuses it. An export that is cut off brings nothing.
    pub async fn import(&self, export: Body) -> Result<calls::Imported, Error> {
        self.bare().pour(Ask::act("/v1/admin/import".to_owned()), export).await
    }

    /// Imports a file of another agent's conversations, such as `claude-code`. Sending it again adds only what is new.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn import_sessions(&self, source: &str, name: &str, file: Body) -> Result<calls::ImportReport, Error> {
        let path = format!("/v1/import?source={}&name={}", part(source), part(name));
        self.bare().pour(Ask::act(path).unhurried(), file).await
    }

    /// Everything as it was at one moment: a store in one file.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn backup(&self) -> Result<Export, Error> {
        let ask = Ask::act("/v1/admin/backup".to_owned()).accepting("application/vnd.sqlite3").unhurried();
        let response = self.bare().open(&ask, &[]).await.map_err(|(error, _)| error)?;
        let lost = response.headers().get("threadkeep-lost").and_then(|lost| lost.to_str().ok()?.parse().ok());
        Ok(Export { server: self.way.server.to_string(), lost: lost.unwrap_or(0), body: response.into_body() })
    }

    /// The server's counters, in the format of Prometheus.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn metrics(&self) -> Result<String, Error> {
        let answer = self.answer(Ask::get("/metrics".to_owned()).accepting("text/plain")).await?;
        Ok(answer.text())
    }
}
