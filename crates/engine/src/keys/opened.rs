//! Keys in use: requests and streams end with the key that opened them.
//!
//! Nothing is cached: each use of a key reads it from the store, so a revocation holds at once, on every server of
//! the store. Reads that are asked for at the same moment are one read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use threadkeep_store::{BoxFuture, Registered, RegistryKind, StoreError};
use tokio::sync::{OnceCell, watch};

use crate::keys::{Key, matches, read};
use crate::{Engine, Error, Result};

/// Keys that are read at once.
const READ_AT_ONCE_MAX: usize = 1_000;

/// Something that a key opened, such as a request or a stream. It is over once the key is revoked.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The key, as it was when it opened this.
    pub key: Key,
    over: Arc<watch::Sender<bool>>,
}

impl Opened {
    /// Opened by a key that is in no store, and so is never revoked.
    pub fn by(key: Key) -> Self {
        Self { key, over: Arc::new(watch::Sender::new(false)) }
    }

    /// Whether the key was revoked.
    pub fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Resolves once the key is revoked: before the revocation is answered, if this process revokes it.
    pub async fn over(&self) {
        // The sender lives as long as this.
        drop(self.over.subscribe().wait_for(|over| *over).await);
    }
}

/// What is open in this process, by the ids of keys; and the reads of keys that are under way.
#[derive(Default)]
pub(crate) struct InUse {
    opened: Mutex<HashMap<String, Weak<watch::Sender<bool>>>>,
    next: Mutex<Option<Arc<Lookup>>>,
    /// One read at a time, so that the next one gathers keys meanwhile; and why the last one failed.
    turn: tokio::sync::Mutex<Option<String>>,
}

/// One read of several keys.
#[derive(Default)]
struct Lookup {
    ids: Mutex<Vec<String>>,
    found: OnceCell<Result<Vec<Registered>, String>>,
}

impl InUse {
    fn open(&self, id: &str) -> Arc<watch::Sender<bool>> {
        let mut opened = lock(&self.opened);
        let known = opened.get(id).and_then(Weak::upgrade).filter(|over| !*over.borrow());
        known.unwrap_or_else(|| {
            opened.retain(|_, over| over.strong_count() > 0);
            let over = Arc::new(watch::Sender::new(false));
            opened.insert(id.to_owned(), Arc::downgrade(&over));
            over
        })
    }

    /// Ends everything that a key opened.
    pub(crate) fn end(&self, id: &str) {
        let mut opened = lock(&self.opened);
        if let Some(over) = opened.remove(id).and_then(|over| over.upgrade()) {
            over.send_replace(true);
        }
    }
}

impl Engine {
    /// What the key with this secret opens; none if there is no such key. The key may have [ended](Key::holds).
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn open_with<'a>(&'a self, secret: &'a str) -> BoxFuture<'a, Result<Option<Opened>>> {
        Box::pin(async move {
            let Some(id) = Key::id_in(secret) else { return Ok(None) };
            let found = self.opened(id).await?.filter(|(_, hash)| matches(secret, hash));
            Ok(found.map(|(opened, _)| opened))
        })
    }

    /// What the key with this id opens, as it is now; none if there is no such key.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn open_again<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Opened>>> {
        Box::pin(async move { Ok(self.opened(id).await?.map(|(opened, _)| opened)) })
    }

    async fn opened(&self, id: &str) -> Result<Option<(Opened, String)>> {
        let in_use = self.shared.room::<InUse>();
        // Opened first, then read: a revocation in between is told to what is open.
        let over = in_use.open(id);
        let Some((key, hash)) = self.look_up(id).await? else { return Ok(None) };
        if key.revoked.is_some() {
            // Another server may have revoked it.
            in_use.end(id);
        }
        Ok(Some((Opened { key, over }, hash)))
    }

    /// The key with this id, as the store has it at some moment after this call began.
    pub(crate) async fn look_up(&self, id: &str) -> Result<Option<(Key, String)>> {
        let in_use = self.shared.room::<InUse>();
        let lookup = {
            let mut next = lock(&in_use.next);
            drop(next.take_if(|lookup| lock(&lookup.ids).len() >= READ_AT_ONCE_MAX));
            let lookup = Arc::clone(next.get_or_insert_default());
            lock(&lookup.ids).push(id.to_owned());
            lookup
        };
        let found = lookup.found.get_or_init(|| self.read_keys(&lookup)).await;
        let found = found.as_ref().map_err(|what| Error::from(StoreError::Unavailable { what: what.clone() }))?;
        found.iter().find(|document| document.id == id).map(read).transpose()
    }

    async fn read_keys(&self, lookup: &Arc<Lookup>) -> Result<Vec<Registered>, String> {
        let in_use = self.shared.room::<InUse>();
        let mut failed = match in_use.turn.try_lock() {
            Ok(turn) => turn,
            Err(_) => {
                let turn = in_use.turn.lock().await;
                // The store failed while this read waited: it does not make its callers wait once more.
                if let Some(what) = &*turn {
                    return Err(what.clone());
                }
                turn
            }
        };
        let ids = {
            let mut next = lock(&in_use.next);
            // Keys that are asked for from now on belong to the next read.
            drop(next.take_if(|next| Arc::ptr_eq(next, lookup)));
            let mut ids = lock(&lookup.ids).clone();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let read = self.shared.stores.registry.registered(RegistryKind::Key, ids).await;
        let read = read.map_err(|error| match error {
            StoreError::Unavailable { what } => what,
            other => other.to_string(),
        });
        *failed = read.as_ref().err().cloned();
        read
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
