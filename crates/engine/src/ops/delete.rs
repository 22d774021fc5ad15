//! `delete`, `delete-message`.

use threadkeep_model::{Entry, Expect, MessageId, MessagesDeleted, NewEntry, ThreadCommit, ThreadId, Version};

use super::write;
use crate::gate::{Change, open_for};
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
    /// Deletes a thread and, with it, the threads of its subagents and of theirs, in one commit; false if there is
    /// none. Forks of it keep what they share.
    ///
    /// # Errors
    /// [`Error::VersionConflict`].
    pub async fn delete(&self, thread: ThreadId, delete: Delete) -> Result<bool> {
        let deleted = self
            .settle(thread, || async {
                let going = self.with_subagents(self.thread(thread).await?).await?;
                let ids: Vec<ThreadId> = going.iter().map(|thread| thread.id).collect();
                let mut threads: Vec<ThreadCommit> = Vec::with_capacity(going.len() + 1);
                for (n, thread) in going.iter().enumerate() {
                    let expected = delete.expected.filter(|_| n == 0);
                    let expect = Expect::at(thread.head.era, expected);
                    threads.push(ThreadCommit::Delete { thread: thread.id, expect });
                }
                threads.extend(self.unregister(&going[0], &ids).await?);
                Ok((self.commit(threads), ()))
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
                open_for(&thread, Change::Content)?;
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
