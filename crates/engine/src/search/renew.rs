//! Gives vectors to volumes that have none, or those of another model.
//!
//! An embedder may be slow, or away. So nothing waits for it: words are indexed and found meanwhile, and only the
//! exchange of a volume for the same one with vectors takes its turn among those who change the index.

use std::sync::Arc;

use threadkeep_search::{Unreadable, Volume};
use threadkeep_store::{NewVolume, Reshelving, VolumeRow};

use super::index::new_volume;
use super::parts::unreadable;
use crate::ground::beside;
use crate::{Engine, Error, Result};

/// Documents that are given to an embedder at once.
const GIVEN_AT_ONCE: usize = 256;
/// Documents of a volume that gets vectors as a whole. A larger one is divided first: if the work is interrupted,
/// at most this much of it is lost.
const DOCUMENTS_MAX: usize = 4_096;
/// How often the work is tried again after changes by others.
const TRIES_MAX: usize = 16;

impl Engine {
    /// Gives vectors of the present model to one volume. False if all have them.
    pub(crate) async fn embed_some(&self) -> Result<bool> {
        let library = &self.shared.library();
        let _alone = library.embedding.lock().await;
        let turn = library.turn.lock().await;
        let rows = self.shared.stores.shelves.volumes(None).await?;
        let embedder = self.embedder();
        let model = &embedder.model().id;
        // The smallest first: it holds the newest messages, or was just divided and would be merged again.
        let without = rows.into_iter().filter(|row| row.documents > 0 && row.model != *model);
        let Some(row) = without.min_by_key(|row| (row.documents, row.id)) else { return Ok(false) };
        let Some(volume) = self.volume(&row).await? else { return Ok(true) };
        if volume.len() > DOCUMENTS_MAX {
            self.divide(&row, volume).await?;
            return Ok(true);
        }
        let _in_work = library.work_on(row.id);
        drop(turn);
        let vectors = self.vectors_of(&volume).await?;
        let content = volume.with_vectors(model, &vectors).map_err(unreadable)?;
        let VolumeRow { ref account, documents, text_bytes, .. } = row;
        let renewed = NewVolume { account: account.clone(), documents, text_bytes, model: model.clone(), content };
        let _turn = library.turn.lock().await;
        self.replace(&row, vec![renewed]).await?;
        Ok(true)
    }

    async fn vectors_of(&self, volume: &Volume) -> Result<Vec<Box<[u8]>>> {
        let embedder = self.embedder();
        let mut vectors: Vec<Box<[u8]>> = Vec::with_capacity(volume.len());
        let docs: Vec<u32> = (0..volume.len() as u32).collect();
        for docs in docs.chunks(GIVEN_AT_ONCE) {
            let mut texts = Vec::with_capacity(docs.len());
            for doc in docs {
                // A document that is gone from the log is never found, so its vector does not matter.
                let text = match self.entry_at(volume.carrier(*doc)).await? {
                    Some(entry) => self.text_in(&entry).await?,
                    None => None,
                };
                texts.push(text.map_or_else(String::new, |text| text.embedded().into_owned()));
            }
            let made = embedder.embed(texts).await.map_err(|error| Error::Embedder { what: error.to_string() })?;
            vectors.extend(made.into_iter().map(|vector| vector.into_bytes()));
        }
        Ok(vectors)
    }

    /// Makes two volumes of one: the first documents, and the others.
    async fn divide(&self, row: &VolumeRow, volume: Arc<Volume>) -> Result<()> {
        let halves = beside::aside(move || {
            let first = |_: &Volume, doc: u32| (doc as usize) < DOCUMENTS_MAX;
            let first_half = threadkeep_search::merge(&[&volume], first, |_| true);
            let rest = threadkeep_search::merge(&[&volume], |volume, doc| !first(volume, doc), |_| true);
            first_half.and_then(|(first_half, _)| rest.map(|(rest, _)| [first_half, rest]))
        });
        let halves = match halves.await? {
            Err(Unreadable::Gone) => return Ok(()),
            halves => halves.map_err(unreadable)?,
        };
        let mut add = Vec::new();
        for half in halves {
            add.extend(new_volume(row.account.clone(), half)?);
        }
        self.replace(row, add).await
    }

    /// Puts others in the place of a volume, if it is still there.
    pub(super) async fn replace(&self, row: &VolumeRow, by: Vec<NewVolume>) -> Result<()> {
        let shelves = &self.shared.stores.shelves;
        for _ in 0..TRIES_MAX {
            let (edition, note) = self.edition().await?;
            if !shelves.volumes(Some(row.account.clone())).await?.iter().any(|there| there.id == row.id) {
                return Ok(());
            }
            let change = Reshelving { edition, note: note.encode(), add: by.clone(), remove: vec![row.id] };
            if shelves.reshelve(change).await? {
                return Ok(());
            }
        }
        Err(Error::Busy)
    }
}
