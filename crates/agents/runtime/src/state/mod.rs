//! ThreadState: the one interface by which a program works with a thread, whatever its runtime.
//!
//! `docs/threadstate.md` compares it with the same interface in JavaScript and over HTTP.
//!
//! ```no_run
//! # use threadkeep_runtime::state::{GetMessages, MessageInput};
//! # async fn example(runtime: threadkeep_runtime::Runtime, id: threadkeep_model::ThreadId) -> Result<(), threadkeep_runtime::RuntimeError> {
//! let state = runtime.state(runtime.engine(), id).await?;
//! state.inject_message(MessageInput::user("The train leaves at eight.")).await?;
//! let last = state.get_messages(GetMessages { limit: 1, ..GetMessages::default() }).await?;
//! state.set_value("seen", serde_json::json!(last.total)).await?;
//! # Ok(())
//! # }
//! ```

mod code;
mod execution;
mod files;
mod messages;
mod shapes;

use serde_json::{Map, Value};
use threadkeep_calls::{
    At, EffectState, ListEffects, NotifyParent, QueueTool, RemoveEffect, ScheduleEffect, SetEnv, SetStatus, SetValue,
    Terminate, ToolTold,
};
use threadkeep_engine::Engine;
use threadkeep_model::{Child, EnvName, EnvType, Json, Thread, ThreadId, Uuid, ValueKey};

use crate::attempt::{Attempt, never};
use crate::definitions::{Agent, Kind, Model, Name, Prompt};
use crate::{Runtime, RuntimeError};

pub use code::CodeExecution;
pub use execution::ExecutionState;
pub use files::{FileChunk, FileChunks, WriteFileOptions};
pub use shapes::{GetMessages, Message, MessageInput, MessageUpdates, Messages, Order, ScheduledEffect, ToolCall};

/// Effects that are read at once.
const EFFECTS_AT_ONCE: usize = 1_000;

/// A thread: its messages, files, values, variables, subagents, tools and effects.
///
/// `children`, `terminated` and `execution` are as they were when the state was opened or refreshed. All else is read when
/// it is asked for.
pub struct ThreadState {
    runtime: Runtime,
    on: Attempt,
    thread: Thread,
    children: Vec<Child>,
    execution: Option<ExecutionState>,
    /// A scratch pad, which ends with the state.
    pub context: Map<String, Value>,
}

impl Runtime {
    /// The state of a thread, for the caller of `who`.
    ///
    /// # Errors
    /// If there is no such thread.
    pub async fn state(&self, who: &Engine, thread: ThreadId) -> Result<ThreadState, RuntimeError> {
        let on = self.attempt(who, thread).await?;
        let thread = who.thread(thread).await?;
        let mut state = ThreadState {
            runtime: self.clone(),
            on,
            thread,
            children: Vec::new(),
            execution: None,
            context: Map::new(),
        };
        state.refresh().await?;
        Ok(state)
    }
}

impl ThreadState {
    fn engine(&self) -> &Engine {
        &self.on.who
    }

    fn id(&self) -> ThreadId {
        self.on.thread
    }

    /// Reads again what was read when the state was opened.
    ///
    /// # Errors
    /// If the thread is gone.
    pub async fn refresh(&mut self) -> Result<(), RuntimeError> {
        self.thread = self.engine().thread(self.id()).await?;
        self.children = self.engine().children(self.id()).await?;
        self.execution = self.running().await?;
        Ok(())
    }

    /// The id of the thread.
    pub fn thread_id(&self) -> ThreadId {
        self.id()
    }

    /// The name of its agent; empty if it has none.
    pub fn agent_id(&self) -> &str {
        self.thread.record.agent_id.as_deref().unwrap_or_default()
    }

    /// The user that it belongs to, in the words of its program.
    pub fn user_id(&self) -> Option<&str> {
        self.thread.record.user_id.as_deref()
    }

    /// When it was made, in microseconds since 1970.
    pub fn created_at(&self) -> i64 {
        self.thread.created.as_micros()
    }

    /// The subagents that work for it.
    pub fn children(&self) -> &[Child] {
        &self.children
    }

    /// When it was terminated, in microseconds since 1970; none while it is active.
    pub fn terminated(&self) -> Option<i64> {
        self.thread.record.terminated.map(|time| time.as_micros())
    }

    /// The run that is open; none at rest.
    pub fn execution(&self) -> Option<&ExecutionState> {
        self.execution.as_ref()
    }

    /// What the program that embeds the runtime gave to tools that run nowhere else.
    pub fn not_packable_runtime_context(&self) -> Option<&Map<String, Value>> {
        self.runtime.shared.context.as_ref()
    }

    /// The definition of a model.
    ///
    /// # Errors
    /// If there is none of this name, or it is broken.
    pub fn load_model(&self, name: &str) -> Result<Model, RuntimeError> {
        Ok(self.on.definitions.model(name, self.on.package())?.1.clone())
    }

    /// The definition of a prompt.
    ///
    /// # Errors
    /// As [`ThreadState::load_model`].
    pub fn load_prompt(&self, name: &str) -> Result<Prompt, RuntimeError> {
        Ok(self.on.definitions.prompt(name, self.on.package())?.1.clone())
    }

    /// The definition of an agent.
    ///
    /// # Errors
    /// As [`ThreadState::load_model`].
    pub fn load_agent(&self, name: &str) -> Result<Agent, RuntimeError> {
        Ok(self.on.definitions.agent(name, self.on.package())?.1.clone())
    }

    /// The names of all prompts.
    pub fn get_prompt_names(&self) -> Vec<String> {
        self.names(Kind::Prompt)
    }

    /// The names of all agents.
    pub fn get_agent_names(&self) -> Vec<String> {
        self.names(Kind::Agent)
    }

    /// The names of all models.
    pub fn get_model_names(&self) -> Vec<String> {
        self.names(Kind::Model)
    }

    fn names(&self, kind: Kind) -> Vec<String> {
        self.on.definitions.names(kind).map(Name::text).collect()
    }

    /// The state of the thread of a subagent; none if no subagent has this reference.
    ///
    /// # Errors
    /// If the thread cannot be read.
    pub async fn get_child_thread(&self, reference: &str) -> Result<Option<Self>, RuntimeError> {
        let children = self.engine().children(self.id()).await?;
        match children.iter().find(|child| child.reference.to_string() == reference) {
            Some(child) => Ok(Some(Box::pin(self.runtime.state(self.engine(), child.reference)).await?)),
            None => Ok(None),
        }
    }

    /// The state of the thread that this one works for; none if it works for none.
    ///
    /// # Errors
    /// If the thread cannot be read.
    pub async fn get_parent_thread(&self) -> Result<Option<Self>, RuntimeError> {
        match self.engine().parent_thread(self.id()).await? {
            Some(parent) => Ok(Some(Box::pin(self.runtime.state(self.engine(), parent.id)).await?)),
            None => Ok(None),
        }
    }

    /// The value of a variable: of the thread, the account, the instance, the agent or the prompt, in this order.
    ///
    /// # Errors
    /// [`EnvNotFound`](threadkeep_engine::Error::EnvNotFound) if no layer has it. An empty text is a value.
    pub async fn env(&self, name: &str) -> Result<String, RuntimeError> {
        self.on.env(&name.parse::<EnvName>()?).await
    }

    /// Whether a variable is text or a secret. Unknown ones, and those that are not set on a thread, are secrets.
    ///
    /// # Errors
    /// A name that breaks a rule.
    pub async fn env_type(&self, name: &str) -> Result<EnvType, RuntimeError> {
        Ok(self.engine().env_type(self.id(), &name.parse::<EnvName>()?).await?)
    }

    /// Sets a variable of the thread, for its active descendants too. Without a type it keeps its own; a new one is a
    /// secret.
    ///
    /// # Errors
    /// A name that breaks a rule; a thread that is closed.
    pub async fn set_env(&self, name: &str, value: &str, kind: Option<EnvType>) -> Result<(), RuntimeError> {
        let set = SetEnv { name: name.parse()?, value: value.to_owned(), kind };
        self.engine().call(self.id(), set).await?;
        Ok(())
    }

    /// Queues a silent message for the parent. Does nothing without one.
    ///
    /// # Errors
    /// A blank text.
    pub async fn notify_parent(&self, content: &str) -> Result<(), RuntimeError> {
        let notify = NotifyParent { content: content.to_owned(), attachments: Vec::new() };
        self.engine().call(self.id(), notify).await?;
        Ok(())
    }

    /// Sets the status that the parent sees. Does nothing without one.
    ///
    /// # Errors
    /// A blank status.
    pub async fn set_status(&self, status: &str) -> Result<(), RuntimeError> {
        self.engine().call(self.id(), SetStatus { status: status.to_owned() }).await?;
        Ok(())
    }

    /// Queues a tool, or an agent to hand off to. At rest it starts a run.
    ///
    /// # Errors
    /// [`ToolNotFound`](threadkeep_engine::Error::ToolNotFound); a thread that is terminated or closed.
    pub async fn queue_tool(&self, name: &str, args: Map<String, Value>) -> Result<(), RuntimeError> {
        let args = Some(Json::from_value("args", &args)?);
        self.engine().call(self.id(), QueueTool { tool: name.to_owned(), args }).await?;
        Ok(())
    }

    /// Runs a tool at once, and logs its call and its result. A tool that fails is no error: its result says so.
    ///
    /// # Errors
    /// If there is no such tool, or an agent may not use it.
    pub async fn invoke_tool(&self, name: &str, args: Map<String, Value>) -> Result<ToolTold, RuntimeError> {
        self.runtime.invoke(self.engine(), self.id(), (name, args), &never()).await
    }

    /// Schedules an effect after so many milliseconds, and gives its id.
    ///
    /// # Errors
    /// An effect that is not defined; too many of them; a thread that is terminated or closed.
    pub async fn schedule_effect(
        &self,
        name: &str,
        args: Map<String, Value>,
        delay_ms: u64,
    ) -> Result<String, RuntimeError> {
        let args = Some(Json::from_value("args", &args)?);
        let effect = ScheduleEffect { name: name.parse()?, args, delay: delay_ms, id: None };
        Ok(self.engine().call(self.id(), effect).await?.id.to_string())
    }

    /// The effects that wait, or those of one name.
    ///
    /// # Errors
    /// If the thread cannot be read.
    pub async fn get_scheduled_effects(&self, name: Option<&str>) -> Result<Vec<ScheduledEffect>, RuntimeError> {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let list = ListEffects { name: name.map(str::to_owned), limit: Some(EFFECTS_AT_ONCE), cursor };
            let page = self.engine().call(self.id(), list).await?;
            let waiting = page.items.into_iter().filter(|effect| effect.state == EffectState::Pending);
            found.extend(waiting.map(|effect| ScheduledEffect {
                id: effect.id.to_string(),
                name: effect.name.to_string(),
                args: effect.args.to_value(),
                scheduled_at: effect.scheduled_at.as_micros(),
                created_at: effect.created_at.as_micros(),
            }));
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(found);
            }
        }
    }

    /// Removes an effect that waits. False if none of this id does.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn remove_scheduled_effect(&self, id: &str) -> Result<bool, RuntimeError> {
        let Ok(effect) = id.parse::<Uuid>() else { return Ok(false) };
        match self.engine().remove_effect(self.id(), RemoveEffect { effect }).await {
            Ok(removed) => Ok(removed),
            Err(threadkeep_engine::Error::EffectNotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends an event to the clients that follow the thread. It is not stored.
    ///
    /// # Errors
    /// A name that breaks a rule; data that is too large.
    pub async fn emit(&self, event: &str, data: &Value) -> Result<(), RuntimeError> {
        self.engine().emit(self.id(), event, Json::from_value("data", data)?).await?;
        Ok(())
    }

    /// The value under a key; none if there is none.
    ///
    /// # Errors
    /// A key that breaks a rule.
    pub async fn get_value(&self, key: &str) -> Result<Option<Value>, RuntimeError> {
        let found = self.engine().value(self.id(), &key.parse::<ValueKey>()?, None).await?;
        Ok(found.map(|found| found.value.to_value()))
    }

    /// Sets a value. Null deletes the key.
    ///
    /// # Errors
    /// A key that breaks a rule; a value that is too large: the old one stays.
    pub async fn set_value(&self, key: &str, value: Value) -> Result<(), RuntimeError> {
        let set = SetValue::new(key, Json::from_value("value", &value)?)?;
        self.engine().call(At::from(self.id()), set).await?;
        Ok(())
    }

    /// Ends the work on the thread for good: nothing is queued or started on it any more. Once more changes nothing.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn terminate(&mut self) -> Result<(), RuntimeError> {
        self.engine().call(self.id(), Terminate {}).await?;
        self.refresh().await
    }
}
