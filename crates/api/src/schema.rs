//! JSON Schemas of bodies that are not read by derived code, or that take one of several shapes.
//!
//! Each shape is a type that is never built: its fields are the documentation.
#![allow(dead_code, reason = "these types are read by derives only")]

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use threadkeep_model::schema::{Object, ThreadFields};
use threadkeep_model::{Content, MessageName, Timestamp, Version};

use crate::request::Place;
use crate::{
    CreateThread, EditMessage, ErrorCode, Fork, Message, NewEvent, NewMessage, NewMessages, Problem, ProjectChanges,
    Rollback, SaidMessage, StepName, Truncate,
};

/// A new thread: any of its fields, and its first messages.
#[derive(JsonSchema, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "NewThread")]
struct NewThread {
    #[serde(flatten)]
    fields: ThreadFields,
    /// Its first messages.
    #[schemars(length(max = 1_000))]
    messages: Vec<NewMessage>,
}

/// What a project says of itself; null clears a field.
#[derive(JsonSchema, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "ProjectFields")]
struct ProjectFields {
    /// A name for people.
    #[schemars(length(max = 1_024), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    name: String,
    /// The name of an icon.
    #[schemars(length(max = 1_024))]
    icon_name: Option<String>,
    /// The sandbox that its threads work in.
    sandbox: Option<threadkeep_engine::Sandbox>,
}

/// Several messages, added as one.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
struct Batch {
    /// The messages.
    #[schemars(length(min = 1, max = 1_000))]
    messages: Vec<NewMessage>,
}

/// The messages that a batch added.
#[derive(JsonSchema)]
pub struct AppendedMessages {
    /// The messages.
    messages: Vec<Message<'static>>,
}

/// A message to add, at the end or before another.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "PlacedMessage")]
struct Placed {
    #[serde(flatten)]
    message: NewMessage,
    /// Where it shall stand; at the end if nothing is said.
    position: Option<Place>,
}

/// One message, or several.
#[derive(JsonSchema)]
#[serde(untagged)]
enum OneOrMore {
    /// One message.
    One(Placed),
    /// Several.
    Batch(Batch),
}

/// A message that an event brings.
#[derive(JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case", deny_unknown_fields)]
enum Event {
    /// Something a user or an assistant said.
    Message(Said),
    /// A tool was called.
    ToolUse(Object),
    /// A fragment of what the assistant said.
    AssistantText(Object),
    /// How a piece of work ended.
    Result(Object),
}

/// Something a user or an assistant said.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
struct Said {
    /// Who said it.
    role: Speaker,
    /// What was said.
    content: Content,
}

/// Who speaks in an event.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Speaker {
    /// The user.
    User,
    /// The assistant.
    Assistant,
}

/// From where on to drop messages.
#[derive(JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase", deny_unknown_fields)]
enum TruncateFrom {
    /// From an index on.
    Index {
        /// From this index on.
        from_index: u64,
    },
    /// From a message on.
    Message {
        /// From this message on.
        from_message_id: MessageName,
    },
}

/// Where to fork: now, or at one of these.
#[derive(JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase", deny_unknown_fields)]
enum ForkAt {
    /// As the thread is now.
    Now {
        /// A title.
        title: Option<String>,
    },
    /// After an index.
    Index {
        /// After the message with this index.
        message_index: u64,
        /// A title.
        title: Option<String>,
    },
    /// After a message.
    Message {
        /// After this message.
        message_id: MessageName,
        /// A title.
        title: Option<String>,
    },
    /// At a version.
    Version {
        /// As the thread was at this version.
        version: Version,
        /// A title.
        title: Option<String>,
    },
}

/// Where to go back to.
#[derive(JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase", deny_unknown_fields)]
enum RollbackTo {
    /// To a checkpoint.
    Checkpoint {
        /// To the version with this name.
        checkpoint: String,
    },
    /// To a step.
    Step {
        /// To just after this message of the assistant, with the results of its calls: its id or its index.
        step: StepName,
    },
    /// To a time.
    Timestamp {
        /// To how it was at this time.
        timestamp: Timestamp,
    },
    /// To a version.
    Version {
        /// To this version.
        version: Version,
    },
    /// One file only.
    ArtifactVersion {
        /// To what this file was at a version; everything else stays.
        artifact_version: crate::ArtifactVersion,
    },
    /// Back again.
    Undo {
        /// To before the last rollback or truncation.
        undo: True,
    },
}

struct True;

impl JsonSchema for True {
    fn schema_name() -> Cow<'static, str> {
        "True".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": true })
    }
}

/// New content, new metadata, or both.
#[derive(JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
enum Edit {
    /// New content.
    Content {
        /// New content.
        content: Content,
        /// Fields of the metadata to set; null clears one.
        metadata: Option<Object>,
    },
    /// New metadata alone.
    Metadata {
        /// Fields of the metadata to set; null clears one.
        metadata: Object,
    },
}

/// What went wrong, as RFC 9457 has it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Problem")]
pub struct ProblemTold {
    /// The page that explains the code, relative to the server.
    #[schemars(regex(pattern = "^/docs/errors/[a-z_]+$"))]
    r#type: String,
    /// The status in words.
    title: String,
    /// The status of the answer.
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    #[serde(flatten)]
    problem: Problem,
    /// The request's id, as in the header `X-Request-Id`.
    request_id: String,
}

impl JsonSchema for ErrorCode {
    fn schema_name() -> Cow<'static, str> {
        "ErrorCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let codes: Vec<&str> = Self::ALL.iter().map(|code| code.as_str()).collect();
        json_schema!({
            "description": "A stable code. `/docs/errors/CODE` explains it; later versions may add some.",
            "type": "string",
            "enum": codes,
        })
    }
}

macro_rules! shaped {
    ($($type:ty as $shape:ty, $name:literal;)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$shape>::json_schema(generator)
            }
        }
    )*};
}

shaped! {
    CreateThread as NewThread, "NewThread";
    ProjectChanges as ProjectFields, "ProjectChanges";
    NewMessages as OneOrMore, "NewMessages";
    NewEvent as Event, "NewEvent";
    SaidMessage as Said, "SaidMessage";
    Truncate as TruncateFrom, "Truncate";
    Fork as ForkAt, "Fork";
    Rollback as RollbackTo, "Rollback";
    EditMessage as Edit, "EditMessage";
}
