//! `archive`, `unarchive`: hidden from the main list, and back.

use threadkeep_model::{Json, Thread, ThreadId, Version};

use super::update::Update;
use crate::{Engine, Result};

/// Hides a thread from the main list. It can be brought back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Archive {
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// Brings an archived thread back to the main list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unarchive {
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Engine {
    /// Archives a thread. Once more changes nothing.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`]; [`crate::Error::VersionConflict`].
    pub async fn archive(&self, thread: ThreadId, archive: Archive) -> Result<Thread> {
        self.set_archived(thread, "true", archive.expected).await
    }

    /// Brings an archived thread back. Once more changes nothing.
    ///
    /// # Errors
    /// [`crate::Error::ArchivedForGood`] if its lifecycle is archived, which is final;
    /// [`crate::Error::VersionConflict`].
    pub async fn unarchive(&self, thread: ThreadId, unarchive: Unarchive) -> Result<Thread> {
        self.set_archived(thread, "false", unarchive.expected).await
    }

    async fn set_archived(&self, thread: ThreadId, json: &str, expected: Option<Version>) -> Result<Thread> {
        let update = Update::new().field("archived", Json::parse("archived", json)?);
        self.update(thread, Update { expected, ..update }).await
    }
}
