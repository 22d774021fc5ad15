//! Turns for expensive reads: a few at once in the process, fewer for one account. Cheap reads and writes take none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use threadkeep_model::Account;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Expensive reads at once, over all accounts.
const AT_ONCE: usize = 2;
/// Expensive reads of one account at once.
const OF_ACCOUNT: usize = 1;

/// The turns of a process.
pub(crate) struct Turns {
    all: Arc<Semaphore>,
    /// Those of accounts that read or wait now.
    accounts: Mutex<HashMap<Account, Weak<Semaphore>>>,
}

/// The permit for one expensive read. It ends when it is dropped, also by a caller that stops waiting.
pub(crate) struct ReadTurn {
    _of_account: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Default for Turns {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(AT_ONCE)), accounts: Mutex::default() }
    }
}

impl Turns {
    /// Waits for the account's turn, then for one among all accounts: those who wait for their own take none of the
    /// others'.
    pub(crate) async fn turn(&self, account: &Account) -> ReadTurn {
        let own = self.of(account);
        let of_account = own.acquire_owned().await.expect("turns are never closed");
        let of_all = Arc::clone(&self.all).acquire_owned().await.expect("turns are never closed");
        ReadTurn { _of_account: of_account, _of_all: of_all }
    }

    fn of(&self, account: &Account) -> Arc<Semaphore> {
        let mut accounts = self.accounts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(own) = accounts.get(account).and_then(Weak::upgrade) {
            return own;
        }
        accounts.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(OF_ACCOUNT));
        accounts.insert(account.clone(), Arc::downgrade(&own));
        own
    }
}
