//! What a service keeps beside threads: keys and projects, each a small JSON document under an id.

use threadkeep_model::{Account, Timestamp};

use crate::{BoxFuture, Result};

/// What is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RegistryKind {
    /// A key: for whom it speaks, and what it may do.
    Key = 1,
    /// A project: what groups threads.
    Project = 2,
    /// How far somebody came who follows the feed of this store.
    Follower = 3,
    /// Something that only the service knows.
    Secret = 4,
}

impl RegistryKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Key, Self::Project, Self::Follower, Self::Secret];

    /// The kinds that a copy of the store has, too: the feed of each store is its own.
    pub const COPIED: [Self; 3] = [Self::Key, Self::Project, Self::Secret];

    /// The code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// What it is.
    pub kind: RegistryKind,
    /// Its id, unique among its kind.
    pub id: String,
    /// The account it belongs to.
    pub account: Account,
    /// The document.
    pub json: String,
    /// When it was registered first.
    pub created: Timestamp,
}

/// Documents of one kind.
#[derive(Debug, Clone)]
pub struct RegistryQuery {
    /// The kind.
    pub kind: RegistryKind,
    /// Only those of this account.
    pub account: Option<Account>,
    /// Only those after this id.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// What a service keeps beside threads. Each change is durable before it returns.
pub trait Registry: Send + Sync {
    /// Registers a document, or replaces the one under its id; the time of its first registration stays.
    fn register(&self, document: Registered) -> BoxFuture<'_, Result<()>>;

    /// The documents with these ids, in no particular order; those that are not there are left out.
    fn registered(&self, kind: RegistryKind, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<Registered>>>;

    /// Documents in the order of their ids.
    fn registry(&self, query: RegistryQuery) -> BoxFuture<'_, Result<Vec<Registered>>>;

    /// Takes a document out; false if there is none.
    fn unregister(&self, kind: RegistryKind, id: String) -> BoxFuture<'_, Result<bool>>;
}
