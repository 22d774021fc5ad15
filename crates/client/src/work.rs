//! Work on a thread: the queue, executions, agents, skills, subagents.

use threadkeep_calls as api;
use threadkeep_model::{Child, QueuedId, Skill, ThreadName, Uuid};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::messages::id;
use crate::threads::of;

impl Client {
    /// What waits until an execution takes it up.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn queued(&self, thread: impl Into<ThreadName>) -> Result<Vec<api::Queued>, Error> {
        let page: api::Page<_> = self.ask(Ask::get(of(thread, "/queue"))).await?;
        Ok(page.items)
    }

    /// Queues a message, once, however often it has to be sent.
    ///
    /// # Errors
    /// `queue_full`, and as the server refuses it otherwise.
    pub async fn queue(
        &self,
        thread: impl Into<ThreadName>,
        message: impl Into<api::NewMessage>,
    ) -> Result<api::Queued, Error> {
        let message: api::NewMessage = message.into();
        self.with_key()?.ask(Ask::post(of(thread, "/queue"), &message)?.repeatable()).await
    }

    /// Gives a message that waits new content or metadata.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn edit_queued(
        &self,
        thread: impl Into<ThreadName>,
        item: QueuedId,
        edit: &api::EditMessage,
    ) -> Result<api::Queued, Error> {
        self.ask(Ask::patch(of(thread, &format!("/queue/{}", id(item))), edit)?.repeatable()).await
    }

    /// Withdraws a message that waits.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn remove_queued(&self, thread: impl Into<ThreadName>, item: QueuedId) -> Result<api::Deleted, Error> {
        self.ask(Ask::delete(of(thread, &format!("/queue/{}", id(item))))).await
    }

    /// Begins an execution.
    ///
    /// # Errors
    /// `execution_open` if somebody else works on the thread.
    pub async fn begin(
        &self,
        thread: impl Into<ThreadName>,
        begin: &api::Begin,
    ) -> Result<api::Progressed<'static>, Error> {
        self.ask(Ask::post(of(thread, "/executions"), begin)?).await
    }

    /// Goes one step further.
    ///
    /// # Errors
    /// `execution_over` if it ended, or was taken over.
    pub async fn step(
        &self,
        thread: impl Into<ThreadName>,
        execution: Uuid,
        step: &api::Step,
    ) -> Result<api::Progressed<'static>, Error> {
        self.ask(Ask::post(of(thread, &format!("/executions/{execution}/step")), step)?).await
    }

    /// Ends an execution.
    ///
    /// # Errors
    /// `execution_over` if it ended already, or was taken over.
    pub async fn end(
        &self,
        thread: impl Into<ThreadName>,
        execution: Uuid,
        end: &api::End,
    ) -> Result<api::Progressed<'static>, Error> {
        self.ask(Ask::post(of(thread, &format!("/executions/{execution}/end")), end)?).await
    }

    /// Cancels whichever execution is open.
    ///
    /// # Errors
    /// `nothing_to_cancel` if none is.
    pub async fn cancel(&self, thread: impl Into<ThreadName>) -> Result<api::Progressed<'static>, Error> {
        self.ask(Ask::post(of(thread, "/cancel"), &api::Nothing {})?).await
    }

    /// Hands a thread to another agent.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn assign(&self, thread: impl Into<ThreadName>, assign: &api::Assign) -> Result<api::Thread, Error> {
        self.ask(Ask::post(of(thread, "/assign"), assign)?.repeatable()).await
    }

    /// Gives a thread to another account. Only with a key of scope admin.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn change_owner(
        &self,
        thread: impl Into<ThreadName>,
        change: &api::ChangeOwner,
    ) -> Result<api::Thread, Error> {
        self.ask(Ask::put(of(thread, "/owner"), change)?).await
    }

    /// Activates a skill, once for each name.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn activate_skill(&self, thread: impl Into<ThreadName>, skill: &Skill) -> Result<api::Thread, Error> {
        self.ask(Ask::post(of(thread, "/skills"), skill)?.repeatable()).await
    }

    /// Makes a thread for a subagent, and says where the files are that it was given.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: there could be two.
    pub async fn subagent(
        &self,
        thread: impl Into<ThreadName>,
        subagent: &api::NewSubagent,
    ) -> Result<api::SubagentThread, Error> {
        self.ask(Ask::post(of(thread, "/children"), subagent)?).await
    }

    /// The threads of a thread's subagents.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn children(&self, thread: impl Into<ThreadName>) -> Result<Vec<Child>, Error> {
        let page: api::Page<_> = self.ask(Ask::get(of(thread, "/children"))).await?;
        Ok(page.items)
    }

    /// The thread that a subagent's thread works for, if it does.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn parent(&self, thread: impl Into<ThreadName>) -> Result<Option<api::Thread>, Error> {
        self.ask(Ask::get(of(thread, "/parent"))).await
    }

    /// Queues a silent message for the thread that this one works for; its attachments say where they are there.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: it could wait there twice.
    pub async fn notify_parent(
        &self,
        thread: impl Into<ThreadName>,
        notify: &api::NotifyParent,
    ) -> Result<api::Notified, Error> {
        self.ask(Ask::post(of(thread, "/notify-parent"), notify)?).await
    }

    /// Says what a subagent's thread is doing.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn set_status(
        &self,
        thread: impl Into<ThreadName>,
        status: &api::SetStatus,
    ) -> Result<api::StatusSet, Error> {
        self.ask(Ask::post(of(thread, "/status"), status)?.repeatable()).await
    }
}
