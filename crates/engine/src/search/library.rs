//! The engine's memory of the index: the shelves that were asked last, until they are idle.
//!
//! Volumes never change, so nothing here goes stale. All who ask for a shelf at the same moment wait for one load of it,
//! which runs aside from the threads that answer requests. Of a large volume that is the part that every question
//! needs; a question reads the rest that it needs from the store ([`super::parts`]).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use threadkeep_model::Account;
use threadkeep_search::{Shelf, Unreadable, Volume};
use threadkeep_store::VolumeRow;
use tokio::sync::{Notify, OwnedMutexGuard};

use super::ask::AT_ONCE_MAX;
use super::parts::{Stored, unreadable};
use crate::ground::beside::{self, Heavy};
use crate::{Engine, Error, Result};

/// Bytes of shelves that are kept. One that is larger by itself is kept alone.
const KEPT_BYTES_MAX: usize = 512 << 20;
/// How long a shelf is kept after the last search of it.
const KEPT_FOR: Duration = Duration::from_secs(25);
/// How often a list of volumes is read again because one of them was merged into another meanwhile.
const TRIES_MAX: usize = 8;

/// The parts of the index that an engine keeps in memory.
#[derive(Default)]
pub(crate) struct Library {
    /// Volumes in use, so that each is in memory once.
    volumes: Mutex<HashMap<u64, Weak<Volume>>>,
    shelves: Arc<Mutex<Kept>>,
    /// Accounts whose shelves are being loaded: each by one task at a time.
    loads: Mutex<HashMap<Account, Weak<tokio::sync::Mutex<()>>>>,
    /// Turns for loads, which take much memory.
    loading: Heavy,
    /// Turns for rankings: with more at once than processors, other calls wait.
    pub(super) ranking: Heavy,
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
        *lock(&self.0.in_work) = None;
    }
}

/// The shelves in memory.
#[derive(Default)]
struct Kept {
    shelves: HashMap<Account, KeptShelf>,
    /// Whether a thread gives back what is idle.
    watched: bool,
}

/// A shelf, the numbers of its volumes, and when a search last asked for it.
struct KeptShelf {
    ids: Vec<u64>,
    shelf: Arc<Shelf>,
    asked: Instant,
}

impl Kept {
    /// The shelf of an account, if its volumes are these.
    fn get(&self, account: &Account, ids: &[u64]) -> Option<Arc<Shelf>> {
        let kept = self.shelves.get(account)?;
        (kept.ids == ids).then(|| Arc::clone(&kept.shelf))
    }

    /// Notes that a search asked for a shelf.
    fn asked(&mut self, account: &Account, now: Instant) {
        if let Some(kept) = self.shelves.get_mut(account) {
            kept.asked = now;
        }
    }

    /// Keeps a shelf; if there is no room for all, those go that were not asked for the longest time.
    fn keep(&mut self, account: &Account, ids: Vec<u64>, shelf: &Arc<Shelf>, now: Instant, room: usize) {
        let shelf = Arc::clone(shelf);
        match self.shelves.entry(account.clone()) {
            Entry::Occupied(mut kept) => {
                let asked = kept.get().asked;
                kept.insert(KeptShelf { ids, shelf, asked });
            }
            Entry::Vacant(free) => drop(free.insert(KeptShelf { ids, shelf, asked: now })),
        }
        let mut bytes: usize = self.shelves.values().map(|kept| kept.shelf.memory()).sum();
        while bytes > room {
            let others = self.shelves.iter().filter(|(other, _)| *other != account);
            let Some(oldest) = others.min_by_key(|(_, kept)| kept.asked).map(|(oldest, _)| oldest.clone()) else {
                return;
            };
            bytes -= self.shelves.remove(&oldest).map_or(0, |kept| kept.shelf.memory());
        }
    }

    /// Takes out the shelves that are idle at `now`, and says in how long the next one is.
    fn take_idle(&mut self, now: Instant) -> (Vec<Arc<Shelf>>, Option<Duration>) {
        let idle = self.shelves.extract_if(|_, kept| now.saturating_duration_since(kept.asked) >= KEPT_FOR);
        let idle = idle.map(|(_, kept)| kept.shelf).collect();
        let next = self.shelves.values().map(|kept| kept.asked).min();
        let next = next.map(|asked| KEPT_FOR - now.saturating_duration_since(asked).min(KEPT_FOR));
        self.watched = next.is_some();
        (idle, next)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives back idle shelves for as long as any are kept. Dropping many megabytes takes a while: no request waits for it.
fn watch(shelves: &Weak<Mutex<Kept>>) {
    while let Some(shelves) = shelves.upgrade() {
        let (idle, next) = lock(&shelves).take_idle(Instant::now());
        drop(shelves);
        if !idle.is_empty() {
            drop(idle);
            beside::give_memory_back();
        }
        let Some(next) = next else { return };
        std::thread::sleep(next);
    }
}

impl Library {
    fn volumes(&self) -> MutexGuard<'_, HashMap<u64, Weak<Volume>>> {
        lock(&self.volumes)
    }

    pub(super) fn work_on(&self, volume: u64) -> InWork<'_> {
        *lock(&self.in_work) = Some(volume);
        InWork(self)
    }

    pub(super) fn is_in_work(&self, volume: u64) -> bool {
        *lock(&self.in_work) == Some(volume)
    }

    pub(super) fn may_ask_embedder(&self) -> bool {
        let until = *lock(&self.without_embedder);
        until.is_none_or(|until| Instant::now() >= until)
    }

    /// Notes whether the embedder answered a question; if not, it is not asked again for a while.
    pub(super) fn embedder_answered(&self, answered: bool, rest: Duration) {
        let until = (!answered).then(|| Instant::now() + rest);
        *lock(&self.without_embedder) = until;
    }

    fn shelves(&self) -> MutexGuard<'_, Kept> {
        lock(&self.shelves)
    }

    /// The right to load the shelf of an account.
    async fn load_of(&self, account: &Account) -> OwnedMutexGuard<()> {
        let load = {
            let mut loads = lock(&self.loads);
            loads.retain(|_, load| load.strong_count() > 0);
            let under_way = loads.get(account).and_then(Weak::upgrade);
            under_way.unwrap_or_else(|| {
                let load = Arc::new(tokio::sync::Mutex::new(()));
                loads.insert(account.clone(), Arc::downgrade(&load));
                load
            })
        };
        load.lock_owned().await
    }

    fn keep(&self, account: &Account, ids: Vec<u64>, shelf: &Arc<Shelf>) {
        let mut kept = self.shelves();
        kept.keep(account, ids, shelf, Instant::now(), KEPT_BYTES_MAX);
        if !kept.watched {
            let shelves = Arc::downgrade(&self.shelves);
            let watching = std::thread::Builder::new().name("threadkeep-idle".to_owned());
            // Without a thread the shelf stays until another one needs the room, or the next load finds a thread.
            kept.watched = watching.spawn(move || watch(&shelves)).is_ok();
        }
    }
}

impl Engine {
    /// The shelf of an account as it is now, for a search. It is kept for the next question.
    pub(crate) async fn shelf(&self, account: &Account) -> Result<Arc<Shelf>> {
        self.shared.library().shelves().asked(account, Instant::now());
        self.shelf_now(account, true).await
    }

    /// The same, without keeping it: for work on the shelves of all accounts.
    pub(crate) async fn shelf_once(&self, account: &Account) -> Result<Arc<Shelf>> {
        self.shelf_now(account, false).await
    }

    /// Reads the changes of a cached shelf, so that the next question need not.
    pub(crate) async fn refresh(&self, account: &Account) -> Result<()> {
        let is_kept = self.shared.library().shelves().shelves.contains_key(account);
        if is_kept {
            self.shelf_now(account, true).await?;
        }
        Ok(())
    }

    async fn shelf_now(&self, account: &Account, keeps: bool) -> Result<Arc<Shelf>> {
        if let (_, Some(kept)) = self.kept_shelf(account).await? {
            return Ok(kept);
        }
        let library = self.shared.library();
        let alone = library.load_of(account).await;
        if let (_, Some(kept)) = self.kept_shelf(account).await? {
            return Ok(kept);
        }
        let turn = library.loading.turn().await;
        let (engine, account) = (self.clone(), account.clone());
        // The load goes on if the caller stops waiting: others may wait for it too.
        beside::read_aside(async move {
            let loaded = engine.load(&account, keeps).await;
            drop((alone, turn));
            loaded
        })
        .await?
    }

    /// The volumes of an account's shelf at present, and the shelf if it is in memory.
    async fn kept_shelf(&self, account: &Account) -> Result<(Vec<VolumeRow>, Option<Arc<Shelf>>)> {
        let rows = self.shared.stores.shelves.volumes(Some(account.clone())).await?;
        let kept = self.shared.library().shelves().get(account, &ids(&rows));
        Ok((rows, kept))
    }

    /// Loads the shelf of an account: for one task at a time.
    async fn load(&self, account: &Account, keeps: bool) -> Result<Arc<Shelf>> {
        for _ in 0..TRIES_MAX {
            let (rows, kept) = self.kept_shelf(account).await?;
            if let Some(kept) = kept {
                return Ok(kept);
            }
            // A volume may be merged into another one while it is being read: then the list is another one, too.
            if let Some(volumes) = self.volumes(&rows).await? {
                let shelf = Arc::new(Shelf::new(volumes));
                if keeps {
                    self.shared.library().keep(account, ids(&rows), &shelf);
                }
                return Ok(shelf);
            }
        }
        Err(Error::Busy)
    }

    /// The volumes of these rows; none if one is gone meanwhile.
    async fn volumes(&self, rows: &[VolumeRow]) -> Result<Option<Vec<Arc<Volume>>>> {
        let mut volumes = Vec::with_capacity(rows.len());
        for row in rows {
            match self.read_volume(row).await? {
                Some(volume) => volumes.push(volume),
                None => return Ok(None),
            }
        }
        Ok(Some(volumes))
    }

    /// A volume, read aside from the threads that answer requests; none if it is gone.
    pub(crate) async fn volume(&self, row: &VolumeRow) -> Result<Option<Arc<Volume>>> {
        let (engine, row) = (self.clone(), row.clone());
        beside::read_aside(async move { engine.read_volume(&row).await }).await?
    }

    async fn read_volume(&self, row: &VolumeRow) -> Result<Option<Arc<Volume>>> {
        let library = &self.shared.library();
        let held = library.volumes().get(&row.id).and_then(Weak::upgrade);
        if held.is_some() {
            return Ok(held);
        }
        let shelves = &self.shared.stores.shelves;
        let opened = if row.documents > AT_ONCE_MAX as u64 {
            Volume::open(Arc::new(Stored::new(shelves, row)))
        } else {
            let Some(bytes) = shelves.volume(row.id).await? else { return Ok(None) };
            Volume::read(bytes)
        };
        let volume = match opened {
            Ok(volume) => Arc::new(volume),
            Err(Unreadable::Gone) => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        let mut held = library.volumes();
        held.retain(|_, volume| volume.strong_count() > 0);
        held.insert(row.id, Arc::downgrade(&volume));
        Ok(Some(volume))
    }
}

fn ids(rows: &[VolumeRow]) -> Vec<u64> {
    rows.iter().map(|row| row.id).collect()
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
        let began = Instant::now();
        let at = |second| began + Duration::from_secs(second);
        kept.keep(&accounts[0], vec![1], &shelf, at(0), room);
        kept.keep(&accounts[1], vec![2], &shelf, at(1), room);
        assert!(kept.get(&accounts[0], &[1]).is_some() && kept.get(&accounts[0], &[1, 7]).is_none());
        kept.asked(&accounts[0], at(2));
        kept.keep(&accounts[2], vec![3], &shelf, at(3), room);
        let is_kept = |account: &Account, id| kept.get(account, &[id]).is_some();
        assert!(is_kept(&accounts[0], 1) && !is_kept(&accounts[1], 2) && is_kept(&accounts[2], 3));
        kept.keep(&accounts[1], vec![2], &shelf, at(4), 0);
        assert!(kept.get(&accounts[1], &[2]).is_some(), "one that is too large is kept alone");
        assert_eq!(kept.shelves.len(), 1);
    }

    #[test]
    fn shelves_are_given_back_once_no_search_asks_for_them() {
        let shelf = || Arc::new(Shelf::new(Vec::new()));
        let accounts = ["ann", "bob"].map(|name| Account::new(name).expect("an account"));
        let (began, second) = (Instant::now(), Duration::from_secs(1));
        let mut kept = Kept { watched: true, ..Kept::default() };
        let of_ann = {
            let (of_ann, of_bob) = (shelf(), shelf());
            kept.keep(&accounts[0], vec![1], &of_ann, began, usize::MAX);
            kept.keep(&accounts[1], vec![2], &of_bob, began, usize::MAX);
            Arc::downgrade(&of_ann)
        };
        kept.asked(&accounts[1], began + 10 * second);
        // The index follows the log meanwhile: that is no search.
        kept.keep(&accounts[1], vec![2, 3], &shelf(), began + 20 * second, usize::MAX);
        let (idle, next) = kept.take_idle(began + KEPT_FOR - second);
        assert_eq!((idle.len(), next), (0, Some(second)));
        let (idle, next) = kept.take_idle(began + KEPT_FOR);
        assert_eq!((idle.len(), next), (1, Some(10 * second)));
        drop(idle);
        assert!(of_ann.upgrade().is_none() && kept.watched, "ann's memory is free, and bob's is watched");
        let (idle, next) = kept.take_idle(began + KEPT_FOR + 10 * second);
        assert_eq!((idle.len(), next), (1, None));
        assert!(kept.shelves.is_empty() && !kept.watched, "the next load starts another thread");
    }
}
