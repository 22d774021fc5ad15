//! Work on a thread, on the wire: executions, the queue, and what a model is given.

use serde::{Deserialize, Serialize};
use threadkeep_engine::{ModelMessage as Given, Progressed as Done, Queued as Waiting};
use threadkeep_model::{Actor, Content, Damaged, MessageBody, MessageId, QueuedId, Role, Timestamp, Uuid, Version};

use crate::{Injection, Message};

/// An execution that is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// Its identity.
    pub execution_id: Uuid,
    /// Who works.
    pub by: String,
    /// When it began.
    pub began_at: Timestamp,
    /// From when on others may take over, unless it goes a step further.
    pub expires_at: Timestamp,
    /// How many steps it went.
    pub steps: u64,
}

impl From<threadkeep_model::Execution> for Execution {
    fn from(execution: threadkeep_model::Execution) -> Self {
        let threadkeep_model::Execution { id, by, fence: _, began, until, steps } = execution;
        Self { execution_id: id, by, began_at: began, expires_at: until, steps }
    }
}

/// What a begin, a step or an end did: `messages` is what a model is given, for a begin, and what was appended otherwise.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Progressed<'a> {
    /// The execution.
    pub execution_id: Uuid,
    /// The thread's version.
    pub version: Version,
    /// What was appended to the conversation by it, in order.
    pub delivered: Vec<Message<'a>>,
    /// What was injected and is taken up with it, immediate ones first. It is not part of the conversation.
    #[serde(default)]
    pub injections: Vec<Injection>,
    /// The conversation as a model is given it, for a begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<ModelMessage>>,
}

impl<'a> Progressed<'a> {
    /// `done` as the wire shows it, with what a model is given where that is asked for.
    ///
    /// # Errors
    /// If a body on disk is damaged.
    pub fn new(done: &'a Done, given: Option<&[Given]>) -> Result<Self, Damaged> {
        Ok(Self {
            execution_id: done.execution,
            version: done.version,
            delivered: done.messages.iter().map(Message::new).collect::<Result<_, _>>()?,
            injections: done.injections.iter().map(Injection::from).collect(),
            messages: given.map(|given| given.iter().map(ModelMessage::from).collect()),
        })
    }
}

/// A message as a model is given it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelMessage {
    /// The message of the thread it is; absent for one that only answers calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
    /// Its role.
    pub role: Role,
    /// The name of the speaker or the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it says: a string, or typed parts.
    pub content: Content,
}

impl From<&Given> for ModelMessage {
    fn from(given: &Given) -> Self {
        let Given { id, role, name, content } = given.clone();
        Self { id, role, name, content }
    }
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Queued {
    /// Its name, which it keeps when it is delivered.
    pub id: QueuedId,
    /// Its number, which it keeps too.
    pub number: u64,
    /// The message.
    pub queued_message: MessageBody,
    /// Who queued it.
    pub actor: Actor,
    /// When it was queued, or last edited.
    pub created_at: Timestamp,
}

impl From<&Waiting> for Queued {
    fn from(waiting: &Waiting) -> Self {
        let Waiting { id, number, message, actor, created } = waiting.clone();
        Self { id, number, queued_message: message, actor: (*actor).clone(), created_at: created }
    }
}
