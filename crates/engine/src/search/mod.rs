//! Search: finds conversations by their text.
//!
//! - [`index`] reads the feed and fills the shelves, one for each account, in volumes that never change.
//! - [`tidy`] merges small volumes, and drops documents that no thread shows; [`renew`] gives vectors to volumes
//!   that have none.
//! - [`text`] decides which part of an entry is searched.
//! - [`library`] keeps recently read volumes in memory; [`parts`] reads parts of large ones for a question.
//! - [`ask`] answers questions with [`answers`]; [`seen`] checks that a thread still shows a document before it counts as found.
//! - [`follow`] keeps the index up to date while it runs; [`check`] verifies the index.
//!
//! The index only says where to look: results are read from the log, as the thread shows them.

mod answers;
mod ask;
mod check;
mod follow;
mod index;
mod library;
mod parts;
mod renew;
mod seen;
mod text;
mod tidy;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use threadkeep_embed::{Embedder, Static, Vector};
use threadkeep_model::Invalid;
use tokio::runtime::Handle;

pub use ask::{Hit, HitMessage, Search};
pub(crate) use follow::BEHIND_COUNTED_MAX;
pub use follow::IndexStatus;
pub(crate) use library::Library;
pub(crate) use text::embedded;

use crate::ground::engine::Shared;
use crate::{Engine, Result};

/// How long a search waits for the vector of its question.
const VECTOR_WAIT_MAX: Duration = Duration::from_secs(3);
/// How long searches go on without vectors after one waited in vain.
const VECTOR_REST: Duration = Duration::from_secs(10);

/// The way in which texts are indexed, by number. An index that was made in another one is made anew.
const WAY: u32 = 2;

/// The state of the index, written with every change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Note {
    /// In which way texts were indexed.
    way: u32,
    /// How far the feed was read.
    cursor: u64,
    /// The last entry that was read: it shows if the index lies beside another store.
    last: String,
    /// Whether threads were deleted or given away since unseen documents were last dropped.
    untidy: bool,
}

impl Shared {
    /// The searches' memory of the index.
    pub(crate) fn library(&self) -> &Library {
        self.room()
    }
}

impl Engine {
    /// The same engine, with vectors made by `embedder` instead of the built-in one. An index whose vectors are of
    /// another model is searched by words until its volumes have new ones. A tokio runtime in which it searches needs
    /// its time enabled.
    #[must_use]
    pub fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder: Some(embedder), ..self.clone() }
    }

    pub(crate) fn embedder(&self) -> Arc<dyn Embedder> {
        self.embedder.clone().unwrap_or_else(|| Arc::new(Static::new()))
    }

    /// The vector of a question, if it can be had soon: without one the words answer. After an embedder failed,
    /// questions do without it for a while, so that not each of them waits.
    pub(crate) async fn vector_soon(&self, text: &str) -> Option<Vector> {
        self.vectors_soon(vec![text.to_owned()]).await?.pop()
    }

    /// The vectors of some texts, if they can be had soon.
    pub(crate) async fn vectors_soon(&self, texts: Vec<String>) -> Option<Vec<Vector>> {
        let embedder = self.embedder();
        let vectors = embedder.embed(texts);
        if self.embedder.is_none() || Handle::try_current().is_err() {
            // The built-in one is done when it is asked.
            return vectors.await.ok();
        }
        let library = &self.shared.library();
        if !library.may_ask_embedder() {
            return None;
        }
        let made = tokio::time::timeout(VECTOR_WAIT_MAX, vectors).await;
        let vectors = made.ok().and_then(Result::ok);
        library.embedder_answered(vectors.is_some(), VECTOR_REST);
        vectors
    }

    /// The edition of the index, and its note.
    pub(crate) async fn edition(&self) -> Result<(u64, Note)> {
        let (edition, note) = self.shared.stores.shelves.edition().await?;
        // A note that cannot be read is that of another program: the index is made anew.
        Ok((edition, serde_json::from_str(&note).unwrap_or_default()))
    }
}

impl Note {
    pub(crate) fn encode(&self) -> String {
        serde_json::to_string(self).expect("a note has plain values")
    }
}

fn invalid(field: &str, rule: impl Into<String>) -> crate::Error {
    Invalid::parameter(field, rule.into()).into()
}
