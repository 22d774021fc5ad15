//! `delete`, `delete-message`.

use threadkeep_calls::{At, Delete, DeleteMessage, Deleted};
use threadkeep_model::{
    Content, Entry, Expect, Json, MessageBody, MessageEdited, MessageId, MessagesDeleted, Part, ThreadCommit, ThreadId,
};

use crate::env::sealed_of;
use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::ground::view::{Located, View};
use crate::ops::edit::merge;
use crate::ops::rollback::calls_of;
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
                Ok((Some(engine.commit(threads)), going))
            })
            .await;
        match deleted {
            Ok(settled) => {
                let gone: Vec<_> = settled.kept.into_iter().flatten().collect();
                for thread in &gone {
                    engine.drop_sealed(thread.id, sealed_of(thread, false)).await;
                }
                if let Some(thread) = gone.first() {
                    let ids: Vec<ThreadId> = gone.iter().map(|thread| thread.id).collect();
                    engine.forget_sources(&thread.account, &ids).await;
                }
                Ok(Deleted { deleted: true })
            }
            Err(Error::ThreadNotFound { .. }) => Ok(Deleted { deleted: false }),
            Err(error) => Err(error),
        }
    }

    fn without_thread() -> Option<Deleted> {
        Some(Deleted { deleted: false })
    }
}

/// The entry that deletes one message, whose slot is `root`.
pub(crate) fn deleted(message: MessageId, root: u64) -> Entry {
    Entry::MessagesDeleted(MessagesDeleted { targets: vec![message], root })
}

/// The entry that takes the results of `calls` out of a message. A message that says more keeps the rest; `body` is then
/// what it says.
pub(crate) fn without_results(
    message: MessageId,
    root: u64,
    body: &mut MessageBody,
    calls: &[String],
) -> Result<Entry> {
    let is_result = |part: &Part| matches!(part, Part::ToolResult { tool_use_id, .. } if calls.contains(tool_use_id));
    let rest: Vec<Part> = body.content.to_parts().into_iter().filter(|part| !is_result(part)).collect();
    if rest.is_empty() {
        return Ok(deleted(message, root));
    }
    body.content = Content::parts(&rest)?;
    let content = Some(body.content.clone());
    Ok(Entry::MessageEdited(MessageEdited { target: message, root, content, metadata: None }))
}

/// The metadata of a message that made a call which is gone: it is no answer by itself.
const CALL_DROPPED: &str = r#"{"callDropped":true}"#;

/// The entry that takes a call out of the message that makes it. A message that says nothing more is deleted.
pub(crate) fn without_call(message: MessageId, root: u64, body: &MessageBody, call: &str) -> Result<Entry> {
    let is_call = |part: &Part| matches!(part, Part::ToolUse { id, .. } if id == call);
    let rest: Vec<Part> = body.content.to_parts().into_iter().filter(|part| !is_call(part)).collect();
    if rest.iter().all(|part| matches!(part, Part::Thinking { .. })) {
        return Ok(deleted(message, root));
    }
    let (content, mark) = (Some(Content::parts(&rest)?), Json::parse("metadata", CALL_DROPPED)?);
    let metadata = Some(merge(body.metadata.as_ref(), &mark)?);
    Ok(Entry::MessageEdited(MessageEdited { target: message, root, content, metadata }))
}

impl Carry for DeleteMessage {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Deleted> {
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = engine.view(thread.id, &thread.head, None).await?;
                let found = async { engine.locate(&view, engine.message_id(self.message).await?).await };
                let entries = match found.await {
                    Ok(located) => engine.deleted_with_results(&view, &located).await?,
                    Err(Error::MessageNotFound { .. }) => Vec::new(),
                    Err(error) => return Err(error),
                };
                Ok(Plan::new(thread, entries))
            })
            .await?;
        let deleted = !told.entries.is_empty();
        if deleted {
            engine.forget_sources(&engine.caller.account, &[thread]).await;
        }
        Ok(Deleted { deleted })
    }
}

impl Engine {
    /// The entries that delete a message and the results of its calls.
    async fn deleted_with_results(&self, view: &View, located: &Located) -> Result<Vec<Entry>> {
        let calls = calls_of(&self.assemble(&located.base, located.item()).await?.body()?);
        let mut entries = vec![deleted(located.id_of(located.item()), located.root)];
        for result in self.results_after(view, located, &calls).await? {
            let root = self.locate(view, result.id).await?.root;
            entries.push(without_results(result.id, root, &mut result.body()?, &calls)?);
        }
        Ok(entries)
    }

    /// Deletes a thread and, with it, the threads of its subagents and of theirs, in one commit; false if there is
    /// none. Forks of it keep the shared history.
    ///
    /// # Errors
    /// [`Error::VersionConflict`].
    pub async fn delete(&self, at: impl Into<At>, delete: Delete) -> Result<bool> {
        Ok(self.call(at, delete).await?.deleted)
    }

    /// Deletes a message, and the results of the calls that it makes; false if the thread does not show it.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn delete_message(&self, at: impl Into<At>, delete: DeleteMessage) -> Result<bool> {
        Ok(self.call(at, delete).await?.deleted)
    }
}
