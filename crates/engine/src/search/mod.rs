//! Search: finds conversations by what they say.
//!
//! - [`index`] reads the feed and fills the shelves, one for each account, in volumes that never change.
//! - [`tidy`] merges small volumes, drops what nobody sees any more, and gives vectors to those that have none.
//! - [`text`] says what of an entry is searched at all.
//! - [`ask`] answers questions; [`seen`] says what a thread shows, which is asked before anything counts as found.
//! - [`follow`] does the first two for as long as it is let; [`check`] looks whether all is sound.
//!
//! The index only ever says where to look: what is found is read from the log, as the thread shows it.

mod ask;
mod check;
mod follow;
mod index;
mod seen;
mod text;
mod tidy;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use threadkeep_embed::{Embedder, Static, Vector};
use threadkeep_model::{Account, Invalid};
use threadkeep_search::{Shelf, Volume};
use threadkeep_store::{StoreError, VolumeRow};
use tokio::runtime::Handle;

pub use ask::{Found, Hit, HitMessage, Search};
pub use follow::{Backfilled, IndexStatus};

use crate::{Engine, Result, beside};

/// How long a search waits for the vector of its question.
const VECTOR_WAIT_MAX: Duration = Duration::from_secs(3);
/// Bytes of volumes that are kept in memory.
const KEPT_BYTES_MAX: usize = 512 << 20;

/// The way in which texts are indexed, by number. An index that was made in another one is made anew.
const WAY: u32 = 2;

/// What the index notes of itself, with every change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Note {
    /// In which way texts were indexed.
    way: u32,
    /// How far the feed was read.
    cursor: u64,
    /// What was read there: an index that lies beside another store is told by it.
    last: String,
    /// Whether threads were deleted or given away since what nobody sees was dropped.
    untidy: bool,
}

/// A shelf, with the numbers of its volumes.
type Numbered = (Vec<u64>, Arc<Shelf>);

/// What an engine remembers of the index. Volumes never change, so nothing here goes stale.
#[derive(Default)]
pub(crate) struct Library {
    volumes: Mutex<HashMap<u64, Arc<Volume>>>,
    /// The last shelf that was put together, by the numbers of its volumes.
    shelves: Mutex<HashMap<Account, Numbered>>,
    /// One at a time changes the index; whoever else does so from another process is found out by the edition.
    turn: tokio::sync::Mutex<()>,
}

impl Engine {
    /// The same engine, with vectors made by `embedder` instead of the built-in one. An index whose vectors are of
    /// another model is searched by words until its volumes have new ones. A tokio runtime in which it searches needs its
    /// time enabled.
    #[must_use]
    pub fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder: Some(embedder), ..self.clone() }
    }

    pub(crate) fn embedder(&self) -> Arc<dyn Embedder> {
        self.embedder.clone().unwrap_or_else(|| Arc::new(Static::new()))
    }

    /// The vector of a question, if it can be had soon: without one the words answer.
    pub(crate) async fn vector_soon(&self, text: &str) -> Option<Vector> {
        let embedder = self.embedder();
        let vectors = embedder.embed(vec![text.to_owned()]);
        let made = match &self.embedder {
            Some(_) if Handle::try_current().is_ok() => tokio::time::timeout(VECTOR_WAIT_MAX, vectors).await.ok()?,
            // The built-in one is done when it is asked.
            Some(_) | None => vectors.await,
        };
        made.ok()?.pop()
    }

    /// The shelf of an account as it is now.
    pub(crate) async fn shelf(&self, account: &Account) -> Result<Arc<Shelf>> {
        // A volume may be merged into another one while it is being read: then the list is another one, too.
        for _ in 0..8 {
            let rows = self.shared.stores.shelves.volumes(Some(account.clone())).await?;
            let ids: Vec<u64> = rows.iter().map(|row| row.id).collect();
            let known =
                self.shared.library.shelves.lock().unwrap_or_else(PoisonError::into_inner).get(account).cloned();
            if let Some((_, shelf)) = known.filter(|(known, _)| *known == ids) {
                return Ok(shelf);
            }
            if let Some(volumes) = self.volumes(&rows).await? {
                let shelf = Arc::new(Shelf::new(volumes));
                let mut shelves = self.shared.library.shelves.lock().unwrap_or_else(PoisonError::into_inner);
                if shelves.len() >= 1_024 {
                    shelves.clear();
                }
                shelves.insert(account.clone(), (ids, Arc::clone(&shelf)));
                return Ok(shelf);
            }
        }
        Err(crate::Error::Busy)
    }

    /// The volumes of some rows; none if one is gone meanwhile.
    async fn volumes(&self, rows: &[VolumeRow]) -> Result<Option<Vec<Arc<Volume>>>> {
        let mut volumes = Vec::with_capacity(rows.len());
        for row in rows {
            match self.volume(row.id).await? {
                Some(volume) => volumes.push(volume),
                None => return Ok(None),
            }
        }
        Ok(Some(volumes))
    }

    async fn volume(&self, id: u64) -> Result<Option<Arc<Volume>>> {
        let library = &self.shared.library;
        if let Some(volume) = library.volumes.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(Some(Arc::clone(volume)));
        }
        let Some(bytes) = self.shared.stores.shelves.volume(id).await? else { return Ok(None) };
        let volume = beside::aside(move || Volume::read(bytes)).await?;
        let volume = Arc::new(volume.map_err(|damaged| StoreError::corrupt(damaged.to_string()))?);
        let mut kept = library.volumes.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.values().map(|volume| volume.memory()).sum::<usize>() + volume.memory() > KEPT_BYTES_MAX {
            kept.clear();
            library.shelves.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        kept.insert(id, Arc::clone(&volume));
        Ok(Some(volume))
    }

    /// Forgets volumes that are not there any more.
    pub(crate) fn forget_volumes(&self, gone: &[u64]) {
        let mut kept = self.shared.library.volumes.lock().unwrap_or_else(PoisonError::into_inner);
        gone.iter().for_each(|id| drop(kept.remove(id)));
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
