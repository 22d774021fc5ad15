//! `checkpoint`: a name for a version.

use threadkeep_model::{Checkpoint, CheckpointSet, Entry, Invalid, NewEntry, ThreadId, Version, strip_nulls};

use super::write;
use crate::{Engine, Error, Result};

/// A name for a version. Setting a name again moves it.
#[derive(Debug, Clone)]
pub struct SetCheckpoint {
    /// The name: 1 to 255 bytes, not blank.
    pub name: String,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl SetCheckpoint {
    /// Longest name, in bytes.
    pub const NAME_BYTES_MAX: usize = 255;

    /// Names the present version.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), expected: None }
    }
}

impl Engine {
    /// Names the present version of a thread.
    ///
    /// # Errors
    /// A blank or too long name; [`Error::VersionConflict`].
    pub async fn checkpoint(&self, thread: ThreadId, set: SetCheckpoint) -> Result<Checkpoint> {
        let name = strip_nulls(set.name);
        if name.trim().is_empty() || name.len() > SetCheckpoint::NAME_BYTES_MAX {
            let rule = format!("has 1 to {} bytes and is not blank", SetCheckpoint::NAME_BYTES_MAX);
            return Err(Invalid::body("name", rule).into());
        }
        let (committed, version) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                let version = thread.head.version;
                let entry = NewEntry::new(&Entry::CheckpointSet(CheckpointSet { name: name.clone(), version }));
                // What is appended meanwhile comes after the version that gets the name.
                Ok((self.commit(vec![write(&thread, set.expected, None, vec![entry], None)]), version))
            })
            .await?;
        let created = committed.threads.first().map(|committed| committed.time).ok_or(Error::Busy)?;
        Ok(Checkpoint { name, version, created })
    }
}
