//! Accounts that must not be written here, because they move to another store or have moved there.
//!
//! The store itself refuses the writes, so a server that slept through the move cannot write to the old place.

use threadkeep_model::{Account, ThreadId};

use crate::{BoxFuture, KeptKey, RegistryKind, Result};

/// The fence of each account, and what is done behind it.
pub trait Fences: Send + Sync {
    /// Freezes an account, or replaces the note of its fence. When this returns, every write of the account that began
    /// before has ended, and every later one is refused with [`StoreError::Frozen`](crate::StoreError::Frozen).
    ///
    /// Refused are commits to threads of the account, new threads, changes of owner to it, and changes of its documents
    /// ([`RegistryKind::OF_ACCOUNTS`]). Imports pass: they bring what the move copies. `note` is told with each refusal.
    fn freeze(&self, account: Account, note: String) -> BoxFuture<'_, Result<()>>;

    /// Takes the fence of an account away; false if there is none.
    fn thaw(&self, account: Account) -> BoxFuture<'_, Result<bool>>;

    /// The note of the fence of an account; none if it is not frozen.
    fn frozen(&self, account: Account) -> BoxFuture<'_, Result<Option<String>>>;

    /// The idempotency keys that lie under these threads. Under [`KeyQuery::NEW`](crate::KeyQuery::NEW), only those of
    /// `account`.
    fn keys(&self, account: Account, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<KeptKey>>>;

    /// Lets go of all threads and documents of an account, and says how many threads there were. Their ids stay free, so
    /// the account may come back. [`Upkeep::gc`](crate::Upkeep::gc) frees their log, as far as no other thread sees it.
    ///
    /// None, and nothing has changed, unless the fence of the account has exactly this note: then another move froze or
    /// thawed it meanwhile.
    fn release(&self, account: Account, note: String) -> BoxFuture<'_, Result<Option<u64>>>;
}

impl RegistryKind {
    /// The kinds of documents that move with their account. Keys stay: they are of the store that knows all accounts.
    pub const OF_ACCOUNTS: [Self; 4] = [Self::Project, Self::Sealed, Self::AccountEnv, Self::Memory];

    /// Whether documents of this kind move with their account.
    pub fn is_of_account(self) -> bool {
        Self::OF_ACCOUNTS.contains(&self)
    }
}
