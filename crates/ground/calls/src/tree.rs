//! Other ways through a history: fork, handoff, mention, checkpoints; the family of a thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Invalid, MessageName, ThreadName, Timestamp, Version};

use crate::ErrorCode;
use crate::call::Declaration;
use crate::group::TREE;
use crate::object::thread;
use crate::shape::{Carried, paged, reads, shaped};

/// The point at which a thread is forked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForkPoint {
    /// As the thread is now.
    #[default]
    Now,
    /// After the message with this index, inclusive.
    Index(u64),
    /// After this message, inclusive.
    Message(MessageName),
    /// As the thread was at this version.
    Version(Version),
}

/// A new thread that shares the history up to a point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ForkShape", into = "ForkShape")]
pub struct Fork {
    /// The point of the fork.
    pub at: ForkPoint,
    /// A title; without one it is `Forked: X`, then `Forked(2): X`, and so on.
    pub title: Option<String>,
}

impl Fork {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("fork", "forkThread"), "/v1/threads/{thread}/fork", TREE)
            .about("Forks a thread: the new one shares its history up to a point.")
            .creates("The new thread.")
            .versioned()
            .fails(&[
                ErrorCode::IndexOutOfRange,
                ErrorCode::VersionInFuture,
                ErrorCode::InvalidMessageId,
                ErrorCode::MessageNotFound,
                ErrorCode::OtherCell,
            ])
            .example(r#"{"messageIndex":0,"title":"Another way"}"#);

    /// After the message with this index, inclusive.
    pub fn at_index(index: u64) -> Self {
        Self { at: ForkPoint::Index(index), title: None }
    }

    /// After this message, inclusive.
    pub fn at_message(message: impl Into<MessageName>) -> Self {
        Self { at: ForkPoint::Message(message.into()), title: None }
    }

    /// As the thread was at this version.
    pub fn at_version(version: Version) -> Self {
        Self { at: ForkPoint::Version(version), title: None }
    }

    /// Gives the fork a title.
    #[must_use]
    pub fn titled(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        self
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ForkShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    message_index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<MessageName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

impl TryFrom<ForkShape> for Fork {
    type Error = Carried;

    fn try_from(shape: ForkShape) -> Result<Self, Carried> {
        let at = match (shape.message_index, shape.message_id, shape.version) {
            (None, None, None) => ForkPoint::Now,
            (Some(index), None, None) => ForkPoint::Index(index),
            (None, Some(message), None) => ForkPoint::Message(message),
            (None, None, Some(version)) => ForkPoint::Version(version),
            _ => return Err(Invalid::body("messageIndex", "name one of messageIndex, messageId and version").into()),
        };
        Ok(Self { at, title: shape.title })
    }
}

impl From<Fork> for ForkShape {
    fn from(Fork { at, title }: Fork) -> Self {
        let shape = Self { title, ..Self::default() };
        match at {
            ForkPoint::Now => shape,
            ForkPoint::Index(index) => Self { message_index: Some(index), ..shape },
            ForkPoint::Message(message) => Self { message_id: Some(message), ..shape },
            ForkPoint::Version(version) => Self { version: Some(version), ..shape },
        }
    }
}

/// Where to fork: now, or at one of these.
#[derive(JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "its variants are the documentation")]
enum ForkAt {
    /// As the thread is now.
    Now {
        /// The title of the fork.
        title: Option<String>,
    },
    /// A fork after the message with an index.
    Index {
        /// After the message with this index.
        message_index: u64,
        /// The title of the fork.
        title: Option<String>,
    },
    /// A fork after a message.
    Message {
        /// The last message that the fork shares.
        message_id: MessageName,
        /// The title of the fork.
        title: Option<String>,
    },
    /// A fork at a version.
    Version {
        /// As the thread was at this version.
        version: Version,
        /// The title of the fork.
        title: Option<String>,
    },
}

/// A new thread that goes on from a summary of this one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Handoff {
    /// The purpose of the new thread.
    #[schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub goal: String,
    /// A summary for the new thread. Default: one by the model of the thread's agent where that is defined, else the built-in
    /// summary of the conversation so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub summary: Option<String>,
    /// A description of the relation; without it, the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub comment: Option<String>,
    /// The agent of the new thread; without it, the same agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub agent_id: Option<String>,
}

impl Handoff {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("handoff", "handOff"), "/v1/threads/{thread}/handoff", TREE)
            .about("Hands off to a new thread that begins with a summary of this one.")
            .creates("The new thread.")
            .versioned()
            .example(r#"{"goal":"Write the tests"}"#);

    /// For this goal, with the built-in summary.
    pub fn to(goal: &str) -> Self {
        Self { goal: goal.to_owned(), ..Self::default() }
    }
}

/// Records that a thread mentions another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mention {
    /// The thread that is mentioned.
    #[serde(deserialize_with = "thread")]
    pub target: ThreadName,
    /// A description of the relation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Mention {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("mention", "mentionThread"), "/v1/threads/{thread}/mention", TREE)
            .about("Records that a thread mentions another one.")
            .creates("The relation that it made.")
            .example(r#"{"target":"T-5928a90d-d53b-488f-a829-4e36442142ee"}"#);

    /// A mention of `target`.
    pub fn of(target: impl Into<ThreadName>) -> Self {
        Self { target: target.into(), comment: None }
    }
}

shaped! {
    Fork as ForkAt, "Fork";
}

/// Gives the present version a name. Setting a name again moves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetCheckpoint {
    /// The name: 1 to 255 bytes, not blank.
    #[schemars(length(max = 255), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub name: String,
}

impl SetCheckpoint {
    /// Longest name, in bytes.
    pub const NAME_BYTES_MAX: usize = 255;

    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("checkpoint", "setCheckpoint"), "/v1/threads/{thread}/checkpoint", TREE)
            .about("Gives the present version a name.")
            .creates("The checkpoint.")
            .example(r#"{"name":"before the change"}"#);

    /// Names the present version.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned() }
    }
}

/// A version with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// The name of the checkpoint.
    pub name: String,
    /// The version it names.
    pub version: Version,
    /// When the name was set.
    pub created_at: Timestamp,
}

impl From<threadkeep_model::Checkpoint> for Checkpoint {
    fn from(checkpoint: threadkeep_model::Checkpoint) -> Self {
        let threadkeep_model::Checkpoint { name, version, created } = checkpoint;
        Self { name, version, created_at: created }
    }
}

paged! {
    /// Lists the checkpoints of a thread.
    ListCheckpoints = Declaration::get(("checkpoints", "listCheckpoints"), "/v1/threads/{thread}/checkpoints", TREE)
        .about("Lists the checkpoints of a thread.")
        .gives("All of them; with `limit`, a page.")
        .fails(&[ErrorCode::InvalidCursor]);
    /// Lists the relations of a thread.
    ListRelationships =
        Declaration::get(("relationships", "listRelationships"), "/v1/threads/{thread}/relationships", TREE)
            .about("Lists the relations of a thread.")
            .gives("All of them; with `limit`, a page.")
            .fails(&[ErrorCode::InvalidCursor]);
}

reads! {
    /// Shows the built-in summary of a thread.
    GetSummary = Declaration::get(("summary", "getSummary"), "/v1/threads/{thread}/summary", TREE)
        .about("Shows the built-in summary of a thread.")
        .gives("The summary.");
}

/// The built-in summary of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The text of the summary.
    pub summary: String,
}
