//! The registry: keys, projects and other small JSON documents beside the threads, each under an id.

use threadkeep_model::{Account, Timestamp};

use crate::{BoxFuture, Result};

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RegistryKind {
    /// A key: for whom it speaks, and what it may do.
    Key = 1,
    /// A project: a group of threads.
    Project = 2,
    /// The progress of a follower of the feed of this store.
    Follower = 3,
    /// Something that only the service knows.
    Secret = 4,
    /// Sealed values of variables.
    Sealed = 5,
    /// Which sealed values are those of an account.
    AccountEnv = 6,
    /// A key that seals values, itself sealed by the key file; and which of them is used.
    DataKey = 7,
    /// Which store this is.
    Store = 8,
    /// A text that is remembered across threads.
    Memory = 9,
    /// The cell that an account lives in, in the directory of a home cell.
    Place = 10,
}

impl RegistryKind {
    /// Every kind, by its code.
    pub const ALL: [Self; 10] = [
        Self::Key,
        Self::Project,
        Self::Follower,
        Self::Secret,
        Self::Sealed,
        Self::AccountEnv,
        Self::DataKey,
        Self::Store,
        Self::Memory,
        Self::Place,
    ];

    /// The kinds that a copy of the store has, too: the feed and the id of each store are its own.
    pub const COPIED: [Self; 7] =
        [Self::Key, Self::Project, Self::Secret, Self::DataKey, Self::Sealed, Self::AccountEnv, Self::Memory];

    /// The code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// A document of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// The kind of the document.
    pub kind: RegistryKind,
    /// Its id, unique among its kind.
    pub id: String,
    /// The account it belongs to.
    pub account: Account,
    /// The document as JSON.
    pub json: String,
    /// When it was registered first.
    pub created: Timestamp,
}

/// Documents of one kind.
#[derive(Debug, Clone)]
pub struct RegistryQuery {
    /// The kind of documents.
    pub kind: RegistryKind,
    /// Only those of this account.
    pub account: Option<Account>,
    /// Only those after this id.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// The registry. Each change is durable before it returns.
pub trait Registry: Send + Sync {
    /// Registers a document, or replaces the one under its id; the time of its first registration stays.
    fn register(&self, document: Registered) -> BoxFuture<'_, Result<()>>;

    /// Registers a document if the one under its id still has the JSON `before`, or, with none, if there is none; false
    /// if that is not so, and nothing has changed then. Its account stays.
    fn register_over(&self, document: Registered, before: Option<String>) -> BoxFuture<'_, Result<bool>>;

    /// The documents with these ids, in no particular order; those that are not there are left out.
    fn registered(&self, kind: RegistryKind, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<Registered>>>;

    /// Documents in the order of their ids.
    fn registry(&self, query: RegistryQuery) -> BoxFuture<'_, Result<Vec<Registered>>>;

    /// Takes a document out; false if there is none.
    fn unregister(&self, kind: RegistryKind, id: String) -> BoxFuture<'_, Result<bool>>;
}
