//! Values of a thread: JSON under a key. Nothing under a key is null, and no error.

use threadkeep_calls as api;
use threadkeep_model::{Json, ThreadName, Uuid, ValueKey, Version};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::query::{Query, part};
use crate::threads::of;

/// Which values to read: all of them, in the order of their keys, unless something is said.
#[derive(Debug, Clone, Default)]
pub struct ListValues {
    /// Only those whose keys begin with this.
    pub prefix: Option<String>,
    /// At most so many; the server's page if nothing is said.
    pub limit: Option<usize>,
    /// Goes on where an earlier page ended.
    pub cursor: Option<String>,
    /// As the thread was at this version.
    pub as_of: Option<Version>,
}

fn at(thread: impl Into<ThreadName>, key: &ValueKey) -> String {
    of(thread, &format!("/kv/{}", part(key.as_str())))
}

impl Client {
    /// The value under a key, now or as of a version; with version 0 if there is none.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn value(
        &self,
        thread: impl Into<ThreadName>,
        key: &ValueKey,
        as_of: Option<Version>,
    ) -> Result<api::Value, Error> {
        self.ask(Ask::get(at(thread, key)).query(Query::default().maybe("asOf", as_of))).await
    }

    /// A page of values.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn values(
        &self,
        thread: impl Into<ThreadName>,
        which: &ListValues,
    ) -> Result<api::Page<api::Value>, Error> {
        let query = Query::default()
            .maybe("prefix", which.prefix.as_ref())
            .maybe("limit", which.limit)
            .maybe("cursor", which.cursor.as_ref())
            .maybe("asOf", which.as_of);
        self.ask(Ask::get(of(thread, "/kv")).query(query)).await
    }

    /// A page of the values that a reference shows.
    ///
    /// # Errors
    /// `reference_gone` if there is nothing to read any more.
    pub async fn reference_values(&self, reference: Uuid, which: &ListValues) -> Result<api::Page<api::Value>, Error> {
        let query = Query::default()
            .maybe("prefix", which.prefix.as_ref())
            .maybe("limit", which.limit)
            .maybe("cursor", which.cursor.as_ref());
        self.ask(Ask::get(format!("/v1/references/{reference}/kv")).query(query)).await
    }

    /// Sets the value under a key, if it is at `if_version` (0: if there is none); null takes it away. The version that the
    /// client expects of threads does not matter here.
    ///
    /// # Errors
    /// `version_conflict`; as the server refuses it otherwise. If the connection breaks it is not sent again: somebody
    /// else may have set it meanwhile.
    pub async fn set_value(
        &self,
        thread: impl Into<ThreadName>,
        key: &ValueKey,
        value: &Json,
        if_version: Option<Version>,
    ) -> Result<api::Value, Error> {
        let ask = Ask::put(at(thread, key), value)?.once();
        self.expecting(None).ask(if_at(ask, if_version)).await
    }

    /// Takes the value under a key away, if it is at `if_version`.
    ///
    /// # Errors
    /// As [`Client::set_value`].
    pub async fn delete_value(
        &self,
        thread: impl Into<ThreadName>,
        key: &ValueKey,
        if_version: Option<Version>,
    ) -> Result<api::Deleted, Error> {
        self.expecting(None).ask(if_at(Ask::delete_once(at(thread, key)), if_version)).await
    }
}

fn if_at(ask: Ask, version: Option<Version>) -> Ask {
    match version {
        Some(version) => ask.header("if-match", format!("\"{version}\"")),
        None => ask,
    }
}
