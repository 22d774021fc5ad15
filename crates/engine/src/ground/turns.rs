//! Turns for expensive reads: a few at once in the process, fewer for one account. Cheap reads and writes take none.
//!
//! A read that finds too many others waiting is refused at once. So a read waits for at most that many others,
//! each of which has a limit of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use threadkeep_model::Account;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{Error, Result};

/// How many there are of each.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// At once, over all accounts.
    at_once: usize,
    /// Of one account at once.
    of_account: usize,
    /// Of one account that wait.
    waiting_of_account: usize,
    /// Of all accounts that wait.
    waiting: usize,
}

/// Totals, large offsets, and lists that look at every thread.
const READS: Bounds = Bounds { at_once: 2, of_account: 1, waiting_of_account: 8, waiting: 64 };
/// Exports and copies of whole accounts and stores, which take as long as their readers: none waits.
const EXPORTS: Bounds = Bounds { at_once: 4, of_account: 2, waiting_of_account: 0, waiting: 0 };

/// The turns of a process.
pub(crate) struct Turns {
    bounds: Bounds,
    all: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    /// Those of accounts that read or wait now.
    accounts: Mutex<HashMap<Account, Weak<Line>>>,
}

/// The turns of one account.
struct Line {
    turns: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

/// The permit for one expensive read. It ends when it is dropped, also by a caller that stops waiting.
pub(crate) struct ReadTurn {
    _of_account: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
    /// The turns of the account are known as long as one is taken.
    _line: Arc<Line>,
}

/// One that waits, until this is dropped.
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    /// Joins those who wait, unless there are `max` already.
    fn join(waiting: &Arc<AtomicUsize>, max: usize) -> Result<Self> {
        let joined = waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now < max).then_some(now + 1));
        joined.map(|_| Self(Arc::clone(waiting))).map_err(|waiting| Error::NoTurn { waiting })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Turns {
    pub(crate) fn of_reads() -> Self {
        Self::new(READS)
    }

    pub(crate) fn of_exports() -> Self {
        Self::new(EXPORTS)
    }

    fn new(bounds: Bounds) -> Self {
        let all = Arc::new(Semaphore::new(bounds.at_once));
        Self { bounds, all, waiting: Arc::default(), accounts: Mutex::default() }
    }

    /// Waits for the account's turn, then for one among all accounts: those who wait for their own take none of the
    /// others'.
    ///
    /// # Errors
    /// [`Error::NoTurn`] if as many wait already as may.
    pub(crate) async fn turn(&self, account: &Account) -> Result<ReadTurn> {
        let line = self.of(account);
        let of_account = match Arc::clone(&line.turns).try_acquire_owned() {
            Ok(turn) => turn,
            Err(_) => {
                let _own = Waiting::join(&line.waiting, self.bounds.waiting_of_account)?;
                let _all = Waiting::join(&self.waiting, self.bounds.waiting)?;
                Arc::clone(&line.turns).acquire_owned().await.expect("turns are never closed")
            }
        };
        let of_all = match Arc::clone(&self.all).try_acquire_owned() {
            Ok(turn) => turn,
            Err(_) => {
                let _all = Waiting::join(&self.waiting, self.bounds.waiting)?;
                Arc::clone(&self.all).acquire_owned().await.expect("turns are never closed")
            }
        };
        Ok(ReadTurn { _of_account: of_account, _of_all: of_all, _line: line })
    }

    fn of(&self, account: &Account) -> Arc<Line> {
        let mut accounts = self.accounts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(line) = accounts.get(account).and_then(Weak::upgrade) {
            return line;
        }
        accounts.retain(|_, line| line.strong_count() > 0);
        let line = Arc::new(Line { turns: Arc::new(Semaphore::new(self.bounds.of_account)), waiting: Arc::default() });
        accounts.insert(account.clone(), Arc::downgrade(&line));
        line
    }
}
