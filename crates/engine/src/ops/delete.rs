//! `delete`, `delete-message`.

use threadkeep_model::{Entry, Expect, MessageId, MessagesDeleted, NewEntry, ThreadCommit, ThreadId, Version};

use super::{open, write};
use crate::{Engine, Error, Result};

/// Deletes a thread: it is gone at once, and its id is never used again.
#[derive(Debug, Clone, Default)]
pub struct Delete {
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// Deletes a message: a logged change, so as-of reads still show it.
#[derive(Debug, Clone)]
pub struct DeleteMessage {
    /// Which one.
    pub message: MessageId,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Engine {
    /// Deletes a thread; false if there is none. Forks of it keep what they share.
    ///
    /// # Errors
    /// [`Error::VersionConflict`].
    pub async fn delete(&self, thread: ThreadId, delete: Delete) -> Result<bool> {
        let deleted = self
            .settle(thread, || async {
                let found = self.thread(thread).await?;
                let expect = Expect::at(found.head.era, delete.expected);
                Ok((self.commit(vec![ThreadCommit::Delete { thread, expect }]), ()))
            })
            .await;
        match deleted {
            Ok(_) => Ok(true),
            Err(Error::ThreadNotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes a message; false if the thread does not show it.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn delete_message(&self, thread: ThreadId, delete: DeleteMessage) -> Result<bool> {
        let deleted = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open(&thread)?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let root = self.locate(&view, delete.message).await?.root;
                let entry = Entry::MessagesDeleted(MessagesDeleted { targets: vec![delete.message], root });
                let entries = vec![NewEntry::new(&entry)];
                Ok((self.commit(vec![write(&thread, delete.expected, None, entries, None)]), ()))
            })
            .await;
        match deleted {
            Ok(_) => Ok(true),
            Err(Error::MessageNotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
