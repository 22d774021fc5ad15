//! Where the search index lies: volumes that never change, and a note of how far it came.
//!
//! Everything here is derived from the log. A store does not look into a volume.

use std::ops::Range;

use bytes::Bytes;
use threadkeep_model::Account;

use crate::{BoxFuture, Result};

/// A volume, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeRow {
    /// Its number, never given twice.
    pub id: u64,
    /// The account whose threads it is about.
    pub account: Account,
    /// How many documents it has.
    pub documents: u64,
    /// Bytes of the texts it was made of.
    pub text_bytes: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The model of its vectors; empty if it has none.
    pub model: String,
}

/// A volume to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVolume {
    /// The account whose threads it is about.
    pub account: Account,
    /// How many documents it has.
    pub documents: u64,
    /// Bytes of the texts it was made of.
    pub text_bytes: u64,
    /// The model of its vectors; empty if it has none.
    pub model: String,
    /// The bytes of the volume.
    pub content: Bytes,
}

/// A change of the index, made whole or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reshelving {
    /// The edition that this was decided on.
    pub edition: u64,
    /// The note from now on.
    pub note: String,
    /// The volumes to add.
    pub add: Vec<NewVolume>,
    /// Volumes to remove; those that are not there are passed over.
    pub remove: Vec<u64>,
}

/// Where the search index lies.
pub trait Shelves: Send + Sync {
    /// The volumes of an account, or of all, in the order of their numbers.
    fn volumes(&self, account: Option<Account>) -> BoxFuture<'_, Result<Vec<VolumeRow>>>;

    /// The content of a volume, if it is there.
    fn volume(&self, id: u64) -> BoxFuture<'_, Result<Option<Bytes>>>;

    /// Parts of the content of a volume, in the order of `ranges`, which end within it; none if the volume is not there.
    fn parts(&self, id: u64, ranges: Vec<Range<usize>>) -> BoxFuture<'_, Result<Option<Vec<Bytes>>>>;

    /// The edition of the index, which every change raises, and the note it left; 0 and nothing at first.
    fn edition(&self) -> BoxFuture<'_, Result<(u64, String)>>;

    /// Changes the index if its edition is still the expected one; false, and nothing changed, if not.
    fn reshelve(&self, change: Reshelving) -> BoxFuture<'_, Result<bool>>;

    /// Throws everything away, also what cannot be read any more, with the note; the edition is another one then.
    fn clear(&self) -> BoxFuture<'_, Result<()>>;

    /// Overwrites and gives back what removed volumes left behind, as far as the store can. Says how many bytes.
    fn sweep(&self) -> BoxFuture<'_, Result<u64>>;
}
