//! Upkeep, for keys with scope `admin`: gc, doctor, export, import, metrics.

use bytes::Bytes;
use http_body_util::BodyExt;
use threadkeep_calls as api;

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::transport::Body;

/// An export or a backup as it comes. An export is whole only if the last line is there, which whoever reads it checks.
pub struct Export {
    server: String,
    body: Body,
}

impl Export {
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
    /// Frees what no thread reaches any more.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn gc(&self, run: &api::RunGc) -> Result<api::Gc, Error> {
        self.ask(Ask::post("/v1/admin/gc".to_owned(), run)?.repeatable().unhurried()).await
    }

    /// Compares what is derived with the log, and builds it anew if that is wanted.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn doctor(&self, run: &api::RunDoctor) -> Result<api::Doctor, Error> {
        self.ask(Ask::post("/v1/admin/doctor".to_owned(), run)?.repeatable().unhurried()).await
    }

    /// Every thread of every account, as JSON lines.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn export(&self) -> Result<Export, Error> {
        let ask = Ask::get("/v1/admin/export".to_owned()).accepting("application/x-ndjson");
        let response = self.open(&ask, &[]).await.map_err(|(error, _)| error)?;
        Ok(Export { server: self.way.server.to_string(), body: response.into_body() })
    }

    /// Takes in what was exported, as it comes; what is there already is left alone.
    ///
    /// # Errors
    /// As the server refuses it. An export that is cut off brings nothing.
    pub async fn import(&self, export: Body) -> Result<api::Imported, Error> {
        self.pour(Ask::pour("/v1/admin/import"), export).await
    }

    /// Everything as it was at one moment: a store in one file.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn backup(&self) -> Result<Export, Error> {
        let ask = Ask::post("/v1/admin/backup".to_owned(), &api::Nothing {})?.accepting("application/vnd.sqlite3");
        let response = self.open(&ask.unhurried(), &[]).await.map_err(|(error, _)| error)?;
        Ok(Export { server: self.way.server.to_string(), body: response.into_body() })
    }

    /// What the server counts, as Prometheus reads it.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn metrics(&self) -> Result<String, Error> {
        let answer = self.answer(Ask::get("/metrics".to_owned()).accepting("text/plain")).await?;
        Ok(answer.text())
    }
}
