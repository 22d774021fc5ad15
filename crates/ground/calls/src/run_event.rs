//! The events in the stream of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Executor, MessageId, Uuid};

use crate::shape::words;

/// An event in the stream of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunEvent {
    /// The first piece of an answer came.
    Timing {
        /// Time from the start of the run to the first piece, in milliseconds.
        first_response_ms: f64,
        /// The way of the answer.
        pipeline: Pipeline,
    },
    /// Text of the agent. A complete text replaces the chunks of its step; discarded chunks do not count.
    Assistant {
        /// The text: a chunk, or all of it.
        content: String,
        /// The id of the run.
        run: Uuid,
        /// The number of the step, counted from 1.
        step: u64,
        /// Whether it is a chunk, or all of the text.
        stream_status: StreamStatus,
        /// The message in the log, of a complete text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
    },
    /// A tool was called, or gave its result.
    ToolCall {
        /// The name of the tool.
        tool_name: String,
        /// Whether it runs, or how it ended.
        status: ToolState,
    },
    /// The status of the run changed.
    Status {
        /// `queued`, `running`, `retrying`, `waiting`, `stopping`, `completed`, `failed` or `stopped`; `degraded` if text of
        /// other servers is not shown as it is made.
        status: String,
        /// The same in words.
        message: String,
    },
}

impl RunEvent {
    /// The name of the event, as in its field `type`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Timing { .. } => "timing",
            Self::Assistant { .. } => "assistant",
            Self::ToolCall { .. } => "tool_call",
            Self::Status { .. } => "status",
        }
    }
}

/// The way of an answer from the model to the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipeline {
    /// The runtime, which keeps nothing between two steps.
    Stateless,
    /// The caller's own executor.
    Caller,
}

impl From<Executor> for Pipeline {
    fn from(executor: Executor) -> Self {
        match executor {
            Executor::Runtime => Self::Stateless,
            Executor::Caller => Self::Caller,
        }
    }
}

/// Whether a text is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamStatus {
    /// A piece of the text of a step.
    Chunk,
    /// All of the text of a message.
    Complete,
    /// The chunks of the step so far do not count: the model is asked again.
    Discarded,
}

/// The state of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolState {
    /// The tool runs.
    Executing,
    /// The tool gave a result.
    Completed,
    /// The tool gave an error.
    Failed,
}

words! {
    Pipeline in "pipeline": "stateless" = Stateless, "caller" = Caller;
    StreamStatus in "stream_status": "chunk" = Chunk, "complete" = Complete, "discarded" = Discarded;
    ToolState in "status": "executing" = Executing, "completed" = Completed, "failed" = Failed;
}
