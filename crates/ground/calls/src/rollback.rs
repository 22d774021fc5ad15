//! Ways back and forth in a history: rollback, redo and truncate.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Invalid, MessageName, Timestamp, Version};

use crate::call::Declaration;
use crate::group::{MESSAGES, TREE};
use crate::object::object;
use crate::shape::{Carried, reads, shaped};
use crate::{ArtifactVersion, ErrorCode};

/// Where to go back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RollbackTo {
    /// The state at this version.
    Version(Version),
    /// The last entry at or before this time.
    Timestamp(Timestamp),
    /// The version with this name.
    Checkpoint(String),
    /// One file alone, as it was at a version. Everything else stays.
    ArtifactVersion(ArtifactVersion),
    /// Just after this step: a message of the assistant with the results of its calls.
    Step(StepName),
    /// Before the last rollback, truncation or undo; each further undo goes one step further back.
    Undo,
}

/// A step: a message of the assistant, by its index or its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StepName {
    /// By its index, counted from 0.
    Index(u64),
    /// The message with this id.
    Message(MessageName),
}

impl<'de> Deserialize<'de> for StepName {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Step;
        impl serde::de::Visitor<'_> for Step {
            type Value = StepName;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an index or the id of a message")
            }

            fn visit_u64<E>(self, index: u64) -> Result<StepName, E> {
                Ok(StepName::Index(index))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<StepName, E> {
                MessageName::from_str(text).map(StepName::Message).map_err(E::custom)
            }
        }
        from.deserialize_any(Step)
    }
}

/// Goes back to an earlier state. Nothing is lost: undone entries stay readable as of their version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RollbackShape", into = "RollbackShape")]
pub struct Rollback {
    /// The state to go back to.
    pub to: RollbackTo,
}

impl From<RollbackTo> for Rollback {
    fn from(to: RollbackTo) -> Self {
        Self { to }
    }
}

impl Rollback {
    pub(crate) const DECLARATION: Declaration = Declaration::post(
        ("rollback", "rollBack"),
        "/v1/threads/{thread}/rollback",
        TREE,
    )
    .about("Rolls back to a checkpoint, a step, a time or a version, or one file only; or undoes the last rollback.")
    .gives("The thread as it is now.")
    .versioned()
    .fails(&[
        ErrorCode::BeforeBirth,
        ErrorCode::VersionInFuture,
        ErrorCode::CheckpointNotFound,
        ErrorCode::IndexOutOfRange,
        ErrorCode::InvalidMessageId,
        ErrorCode::MessageNotFound,
        ErrorCode::NothingToUndo,
        ErrorCode::FileNotFound,
        ErrorCode::IsADirectory,
        ErrorCode::NotADirectory,
        ErrorCode::ThreadClosed,
        ErrorCode::ThreadSuspended,
        ErrorCode::ApprovalRequired,
    ])
    .example(r#"{"version":1}"#);
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct RollbackShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<StepName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "object")]
    artifact_version: Option<ArtifactVersion>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    undo: bool,
}

impl TryFrom<RollbackShape> for Rollback {
    type Error = Carried;

    fn try_from(shape: RollbackShape) -> Result<Self, Carried> {
        let RollbackShape { checkpoint, step, timestamp, version, artifact_version, undo } = shape;
        let named = [
            checkpoint.map(RollbackTo::Checkpoint),
            step.map(RollbackTo::Step),
            timestamp.map(RollbackTo::Timestamp),
            version.map(RollbackTo::Version),
            artifact_version.map(RollbackTo::ArtifactVersion),
            undo.then_some(RollbackTo::Undo),
        ];
        let mut named = named.into_iter().flatten();
        match (named.next(), named.next()) {
            (Some(to), None) => Ok(Self { to }),
            _ => {
                let rule = "name one of checkpoint, step, timestamp, version, artifactVersion and undo";
                Err(Invalid::body("version", rule).into())
            }
        }
    }
}

impl From<Rollback> for RollbackShape {
    fn from(Rollback { to }: Rollback) -> Self {
        let shape = Self::default();
        match to {
            RollbackTo::Checkpoint(name) => Self { checkpoint: Some(name), ..shape },
            RollbackTo::Step(step) => Self { step: Some(step), ..shape },
            RollbackTo::Timestamp(time) => Self { timestamp: Some(time), ..shape },
            RollbackTo::Version(version) => Self { version: Some(version), ..shape },
            RollbackTo::ArtifactVersion(file) => Self { artifact_version: Some(file), ..shape },
            RollbackTo::Undo => Self { undo: true, ..shape },
        }
    }
}

/// Where to go back to.
#[derive(JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "its variants are the documentation")]
enum Back {
    /// Back to a checkpoint.
    Checkpoint {
        /// To the version with this name.
        checkpoint: String,
    },
    /// Back to a step.
    Step {
        /// To just after this message of the assistant, with the results of its calls: its id or its index.
        step: StepName,
    },
    /// Back to a time.
    Timestamp {
        /// To how it was at this time.
        timestamp: Timestamp,
    },
    /// Back to a version.
    Version {
        /// The version to go back to.
        version: Version,
    },
    /// Only one file goes back.
    ArtifactVersion {
        /// To what this file was at a version; everything else stays.
        artifact_version: ArtifactVersion,
    },
    /// The last rollback or truncation is undone.
    Undo {
        /// To before the last rollback or truncation.
        #[schemars(extend("const" = true))]
        undo: True,
    },
}

/// The JSON value `true`.
struct True;

impl JsonSchema for True {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "True".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "const": true })
    }
}

/// From where on to drop messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncateFrom {
    /// From the message with this index on, inclusive.
    Index(u64),
    /// From this message on, inclusive.
    Message(MessageName),
}

reads! {
    /// Takes back the last undo. Each further redo goes one step further forward, until something else is written.
    Redo = Declaration::post(("redo", "redoRollback"), "/v1/threads/{thread}/redo", TREE)
        .about("Redoes what the last undo undid, if nothing else was written since.")
        .gives("The thread as it is now.")
        .versioned()
        .fails(&[
            ErrorCode::NothingToRedo,
            ErrorCode::ThreadClosed,
            ErrorCode::ThreadSuspended,
            ErrorCode::ApprovalRequired,
        ]);
}

/// Drops all messages from a point on. Files and values stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TruncateShape", into = "TruncateShape")]
pub struct Truncate {
    /// The first message to drop.
    pub from: TruncateFrom,
}

impl Truncate {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("truncate", "truncateThread"), "/v1/threads/{thread}/truncate", MESSAGES)
            .about("Drops all messages from an index or a message on; `rollback` with `undo` brings them back.")
            .gives("The thread as it is now.")
            .versioned()
            .fails(&[
                ErrorCode::IndexOutOfRange,
                ErrorCode::InvalidMessageId,
                ErrorCode::MessageNotFound,
                ErrorCode::ThreadClosed,
            ])
            .example(r#"{"fromIndex":0}"#);

    /// From the message with this index on.
    pub fn from_index(index: u64) -> Self {
        Self { from: TruncateFrom::Index(index) }
    }

    /// From this message on.
    pub fn from_message(message: impl Into<MessageName>) -> Self {
        Self { from: TruncateFrom::Message(message.into()) }
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct TruncateShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    from_index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_message_id: Option<MessageName>,
}

impl TryFrom<TruncateShape> for Truncate {
    type Error = Carried;

    fn try_from(shape: TruncateShape) -> Result<Self, Carried> {
        match (shape.from_index, shape.from_message_id) {
            (Some(index), None) => Ok(Self::from_index(index)),
            (None, Some(message)) => Ok(Self::from_message(message)),
            _ => Err(Invalid::body("fromIndex", "name either fromIndex or fromMessageId").into()),
        }
    }
}

impl From<Truncate> for TruncateShape {
    fn from(Truncate { from }: Truncate) -> Self {
        match from {
            TruncateFrom::Index(index) => Self { from_index: Some(index), from_message_id: None },
            TruncateFrom::Message(message) => Self { from_index: None, from_message_id: Some(message) },
        }
    }
}

/// From where on to drop messages.
#[derive(JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "its variants are the documentation")]
enum DropFrom {
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

shaped! {
    Rollback as Back, "Rollback";
    Truncate as DropFrom, "Truncate";
}
