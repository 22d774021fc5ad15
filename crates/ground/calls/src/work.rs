//! Work on a thread: the queue, agents, skills, custom events. Runs are next door.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use threadkeep_model::{Actor, Content, Json, MessageBody, MessageId, QueuedId, Role, Skill, Timestamp};

use crate::ErrorCode;
use crate::append::NewMessage;
use crate::call::{Declaration, Honours};
use crate::group::WORK;
use crate::message_calls::Edit;
use crate::object::{Object, parsed};
use crate::shape::{paged, reads, shaped};

paged! {
    /// Lists the queued messages.
    ListQueue = Declaration::get(("queued", "listQueue"), "/v1/threads/{thread}/queue", WORK)
        .about("Lists the queued messages.")
        .gives("All of them, in order; with `limit`, a page.")
        .fails(&[ErrorCode::InvalidCursor]);
}

reads! {
    /// Ends the work on a thread for good: nothing is queued or started on it any more.
    Terminate = Declaration::post(("terminate", "terminateThread"), "/v1/threads/{thread}/terminate", WORK)
        .about("Ends the work on a thread for good: ends its run, empties its queue, and allows no new ones.")
        .gives("The thread as it is now.")
        .versioned()
        .repeats();
}

/// A message that waits until a run takes it up.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Queue {
    /// The message to queue.
    pub message: NewMessage,
}

impl Queue {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("queue", "queueMessage"), "/v1/threads/{thread}/queue", WORK)
            .about("Queues a message; the next start or step of a run delivers it.")
            .creates("The message that waits.")
            .fails(&[ErrorCode::QueueFull, ErrorCode::ThreadClosed, ErrorCode::ThreadTerminated])
            .example(r#"{"role":"user","content":"And the weather?"}"#);
}

impl<T: Into<NewMessage>> From<T> for Queue {
    fn from(message: T) -> Self {
        Self { message: message.into() }
    }
}

impl<'de> Deserialize<'de> for Queue {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        NewMessage::deserialize(from).map(|message| Self { message })
    }
}

impl JsonSchema for Queue {
    fn schema_name() -> Cow<'static, str> {
        NewMessage::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        NewMessage::json_schema(generator)
    }
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Queued {
    /// Its name, which it keeps when it is delivered.
    pub id: QueuedId,
    /// Its number, which it keeps too.
    pub number: u64,
    /// The message that waits.
    pub queued_message: MessageBody,
    /// The actor that queued it.
    pub actor: Actor,
    /// When it was queued, or last edited.
    pub created_at: Timestamp,
}

/// New content or metadata for a message that waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditQueued {
    /// The message that waits.
    #[serde(deserialize_with = "parsed")]
    pub item: QueuedId,
    /// The new content; without it, the content stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Fields of the metadata to set; null clears one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

impl EditQueued {
    pub(crate) const DECLARATION: Declaration =
        Declaration::patch(("edit-queued", "editQueued"), "/v1/threads/{thread}/queue/{item}", WORK)
            .about("Edits a queued message.")
            .gives("The message as it is now.")
            .repeats()
            .fails(&[ErrorCode::ThreadClosed])
            .example(r#"{"content":"And the weather in May?"}"#);
}

/// Removes a message from the queue.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveQueued {
    /// The message that waits.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub item: QueuedId,
}

impl RemoveQueued {
    pub(crate) const DECLARATION: Declaration =
        Declaration::delete(("remove-queued", "removeQueued"), "/v1/threads/{thread}/queue/{item}", WORK)
            .about("Removes a message from the queue.")
            .gives("Whether there was one.")
            .fails(&[ErrorCode::ThreadClosed])
            .never(ErrorCode::QueuedNotFound);
}

/// A message as a model is given it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelMessage {
    /// The message of the thread it is; absent for one that only answers calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
    /// The role of the speaker.
    pub role: Role,
    /// The name of the speaker or the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The content: a string, or typed parts.
    pub content: Content,
}

/// Hands a thread to another agent. Its history stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Assign {
    /// The name of the agent.
    #[schemars(regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub agent_id: String,
}

impl Assign {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("assign", "assignThread"), "/v1/threads/{thread}/assign", WORK)
            .about("Hands a thread to another agent.")
            .gives("The thread as it is now.")
            .versioned()
            .repeats()
            .fails(&[ErrorCode::ThreadClosed])
            .example(r#"{"agentId":"writer"}"#);

    /// Assigns the thread to `agent_id`.
    pub fn to(agent_id: &str) -> Self {
        Self { agent_id: agent_id.to_owned() }
    }
}

/// Activates a skill, once for each name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ActivateSkill {
    /// The skill to activate.
    pub skill: Skill,
}

impl ActivateSkill {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("skill", "activateSkill"), "/v1/threads/{thread}/skills", WORK)
            .about("Activates a skill.")
            .gives("The thread as it is now.")
            .versioned()
            .repeats()
            .fails(&[ErrorCode::ThreadClosed])
            .example(r#"{"name":"pdf","arguments":{"pages":3}}"#);
}

impl<'de> Deserialize<'de> for ActivateSkill {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Object(skill) = Object::<Skill>::deserialize(from)?;
        Ok(Self { skill })
    }
}

impl JsonSchema for ActivateSkill {
    fn schema_name() -> Cow<'static, str> {
        Skill::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Skill::json_schema(generator)
    }
}

/// Tells subscribers of an event that is not logged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Emit {
    /// The name of the event.
    #[schemars(length(max = 100), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub event: String,
    /// The data of the event: any JSON.
    pub data: Json,
}

impl Emit {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("emit", "emitEvent"), "/v1/threads/{thread}/emit", WORK)
            .about("Sends an event to the followers of a thread. It is not logged.")
            .gives("How many followers received it.")
            .honours(Honours::NOTHING)
            .example(r#"{"event":"progress","data":{"percent":40}}"#);
}

/// How many subscribers heard an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmitTold {
    /// Subscribers that listened at that moment.
    pub listeners: usize,
}

shaped! {
    EditQueued as Edit, "EditMessage";
}
