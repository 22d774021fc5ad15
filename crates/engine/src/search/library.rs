//! The engine's memory of the index: the shelves that were asked last.
//!
//! Volumes never change, so nothing here goes stale.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use threadkeep_model::Account;
use threadkeep_search::{Shelf, Volume};
use threadkeep_store::{StoreError, VolumeRow};
use tokio::sync::Notify;

use crate::ground::beside;
use crate::{Engine, Error, Result};

/// Bytes of shelves that are kept. One that is larger by itself is kept alone.
const KEPT_BYTES_MAX: usize = 512 << 20;
/// How often a list of volumes is read again because one of them was merged into another meanwhile.
const TRIES_MAX: usize = 8;

/// The parts of the index that an engine keeps in memory.
#[derive(Default)]
pub(crate) struct Library {
    /// Volumes in use, so that each is in memory once.
    volumes: Mutex<HashMap<u64, Weak<Volume>>>,
    shelves: Mutex<Kept>,
    /// Held while changing the index, one task at a time; the edition detects changes by other processes.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// One at a time makes vectors.
    pub(super) embedding: tokio::sync::Mutex<()>,
    /// Wakes the task that makes vectors when some are missing.
    pub(super) unembedded: Arc<Notify>,
    /// The volume for which vectors are being made: it is not merged meanwhile.
    in_work: Mutex<Option<u64>>,
    /// Until when questions do without the embedder, because it failed one of them.
    without_embedder: Mutex<Option<Instant>>,
}

/// That a volume is in work, until this is dropped.
pub(super) struct InWork<'a>(&'a Library);

impl Drop for InWork<'_> {
    fn drop(&mut self) {
        *self.0.in_work.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Shelves, each with the numbers of its volumes and when it was last asked for.
#[derive(Default)]
struct Kept {
    shelves: HashMap<Account, (Vec<u64>, Arc<Shelf>, u64)>,
    asked: u64,
}

impl Kept {
    /// The shelf of an account, if its volumes are these.
    fn get(&mut self, account: &Account, ids: &[u64]) -> Option<Arc<Shelf>> {
        self.asked += 1;
        let (known, shelf, asked) = self.shelves.get_mut(account)?;
        *asked = self.asked;
        (known == ids).then(|| Arc::clone(shelf))
    }

    /// Keeps a shelf; if there is no room for all, those go that were not asked for the longest time.
    fn keep(&mut self, account: &Account, ids: Vec<u64>, shelf: &Arc<Shelf>, room: usize) {
        self.shelves.insert(account.clone(), (ids, Arc::clone(shelf), self.asked));
        let mut bytes: usize = self.shelves.values().map(|(_, shelf, _)| shelf.memory()).sum();
        while bytes > room {
            let others = self.shelves.iter().filter(|(other, _)| *other != account);
            let Some(oldest) = others.min_by_key(|(_, (_, _, asked))| *asked).map(|(oldest, _)| oldest.clone()) else {
                return;
            };
            bytes -= self.shelves.remove(&oldest).map_or(0, |(_, shelf, _)| shelf.memory());
        }
    }
}

impl Library {
    fn volumes(&self) -> MutexGuard<'_, HashMap<u64, Weak<Volume>>> {
        self.volumes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn work_on(&self, volume: u64) -> InWork<'_> {
        *self.in_work.lock().unwrap_or_else(PoisonError::into_inner) = Some(volume);
        InWork(self)
    }

    pub(super) fn is_in_work(&self, volume: u64) -> bool {
        *self.in_work.lock().unwrap_or_else(PoisonError::into_inner) == Some(volume)
    }

    pub(super) fn may_ask_embedder(&self) -> bool {
        let until = *self.without_embedder.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_none_or(|until| Instant::now() >= until)
    }

    /// Notes whether the embedder answered a question; if not, it is not asked again for a while.
    pub(super) fn embedder_answered(&self, answered: bool, rest: Duration) {
        let until = (!answered).then(|| Instant::now() + rest);
        *self.without_embedder.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn shelves(&self) -> MutexGuard<'_, Kept> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// The shelf of an account as it is now, for a search. It is kept for the next question.
    pub(crate) async fn shelf(&self, account: &Account) -> Result<Arc<Shelf>> {
        let (ids, shelf) = self.shelf_once(account).await?;
        self.shared.library().shelves().keep(account, ids, &shelf, KEPT_BYTES_MAX);
        Ok(shelf)
    }

    /// The same, without keeping it: for work on the shelves of all accounts.
    pub(crate) async fn shelf_once(&self, account: &Account) -> Result<(Vec<u64>, Arc<Shelf>)> {
        for _ in 0..TRIES_MAX {
            let rows = self.shared.stores.shelves.volumes(Some(account.clone())).await?;
            let ids: Vec<u64> = rows.iter().map(|row| row.id).collect();
            let known = self.shared.library().shelves().get(account, &ids);
            if let Some(shelf) = known {
                return Ok((ids, shelf));
            }
            // A volume may be merged into another one while it is being read: then the list is another one, too.
            if let Some(volumes) = self.volumes(&rows).await? {
                return Ok((ids, Arc::new(Shelf::new(volumes))));
            }
        }
        Err(Error::Busy)
    }

    /// Reads the changes of a cached shelf, so that the next question need not.
    pub(crate) async fn refresh(&self, account: &Account) -> Result<()> {
        let is_kept = self.shared.library().shelves().shelves.contains_key(account);
        if is_kept {
            self.shelf(account).await?;
        }
        Ok(())
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

    pub(crate) async fn volume(&self, id: u64) -> Result<Option<Arc<Volume>>> {
        let library = &self.shared.library();
        let held = library.volumes().get(&id).and_then(Weak::upgrade);
        if held.is_some() {
            return Ok(held);
        }
        let Some(bytes) = self.shared.stores.shelves.volume(id).await? else { return Ok(None) };
        let volume = beside::aside(move || Volume::read(bytes)).await?;
        let volume = Arc::new(volume.map_err(|damaged| StoreError::corrupt(damaged.to_string()))?);
        let mut held = library.volumes();
        held.retain(|_, volume| volume.strong_count() > 0);
        held.insert(id, Arc::downgrade(&volume));
        Ok(Some(volume))
    }
}

#[cfg(test)]
mod tests {
    use threadkeep_search::Builder;

    use super::*;

    #[test]
    fn shelves_make_room_for_those_that_are_asked() {
        let volume = Volume::read(Builder::default().finish("a model")).expect("a volume");
        let shelf = Arc::new(Shelf::new(vec![Arc::new(volume)]));
        let accounts = ["ann", "bob", "cem"].map(|name| Account::new(name).expect("an account"));
        let room = 2 * shelf.memory();
        let mut kept = Kept::default();
        kept.keep(&accounts[0], vec![1], &shelf, room);
        kept.keep(&accounts[1], vec![2], &shelf, room);
        assert!(kept.get(&accounts[0], &[1]).is_some() && kept.get(&accounts[0], &[1, 7]).is_none());
        kept.keep(&accounts[2], vec![3], &shelf, room);
        let mut is_kept = |account: &Account, id| kept.get(account, &[id]).is_some();
        assert!(is_kept(&accounts[0], 1) && !is_kept(&accounts[1], 2) && is_kept(&accounts[2], 3));
        kept.keep(&accounts[1], vec![2], &shelf, 0);
        assert!(kept.get(&accounts[1], &[2]).is_some(), "one that is too large is kept alone");
        assert_eq!(kept.shelves.len(), 1);
    }
}
