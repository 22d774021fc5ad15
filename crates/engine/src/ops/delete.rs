//! `delete`, `delete-message`.

use threadkeep_calls::{At, Delete, DeleteMessage, Deleted};
use threadkeep_model::{Entry, Expect, MessagesDeleted, ThreadCommit, ThreadId};

use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

impl Carry for Delete {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Deleted> {
        let deleted = engine
            .settle(thread, || async {
                let going = engine.with_subagents(engine.thread(thread).await?).await?;
                let ids: Vec<ThreadId> = going.iter().map(|thread| thread.id).collect();
                let gone = |thread: &threadkeep_model::Thread| {
                    let expect = Expect::at(thread.head.era, None);
                    ThreadCommit::Delete { thread: thread.id, expect }
                };
                let mut threads: Vec<ThreadCommit> = going.iter().map(gone).collect();
                threads.extend(engine.unregister(&going[0], &ids).await?);
                Ok((Some(engine.commit(threads)), ()))
            })
            .await;
        match deleted {
            Ok(_) => Ok(Deleted { deleted: true }),
            Err(Error::ThreadNotFound { .. }) => Ok(Deleted { deleted: false }),
            Err(error) => Err(error),
        }
    }

    fn without_thread() -> Option<Deleted> {
        Some(Deleted { deleted: false })
    }
}

impl Carry for DeleteMessage {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Deleted> {
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = engine.view(thread.id, &thread.head, None).await?;
                let found = async {
                    let message = engine.message_id(self.message).await?;
                    Ok((message, engine.locate(&view, message).await?.root))
                };
                let targets = match found.await {
                    Ok((message, root)) => Some(MessagesDeleted { targets: vec![message], root }),
                    Err(Error::MessageNotFound { .. }) => None,
                    Err(error) => return Err(error),
                };
                Ok(Plan::new(thread, targets.map(Entry::MessagesDeleted).into_iter().collect()))
            })
            .await?;
        Ok(Deleted { deleted: !told.entries.is_empty() })
    }
}

impl Engine {
    /// Deletes a thread and, with it, the threads of its subagents and of theirs, in one commit; false if there is
    /// none. Forks of it keep the shared history.
    ///
    /// # Errors
    /// [`Error::VersionConflict`].
    pub async fn delete(&self, at: impl Into<At>, delete: Delete) -> Result<bool> {
        Ok(self.call(at, delete).await?.deleted)
    }

    /// Deletes a message; false if the thread does not show it.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn delete_message(&self, at: impl Into<At>, delete: DeleteMessage) -> Result<bool> {
        Ok(self.call(at, delete).await?.deleted)
    }
}
