//! Tools: queued for a run, or invoked at once. An invocation is no call of the list: code runs, and what it changes are
//! calls of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use threadkeep_model::{Actor, Json, QueuedId, Timestamp};

use crate::ErrorCode;
use crate::call::Declaration;
use crate::group::WORK;
use crate::shape::paged;

/// Queues a tool: a run carries it out after the calls of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueueTool {
    /// The name of the tool, or of an agent to hand off to.
    #[schemars(skip)]
    pub tool: String,
    /// Its arguments: a JSON object. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<threadkeep_model::schema::Object>")]
    pub args: Option<Json>,
}

impl QueueTool {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("queue-tool", "queueTool"), "/v1/threads/{thread}/tools/{tool}/queue", WORK)
            .about("Queues a tool for the run of a thread; it is carried out with the authority of the caller.")
            .creates("The tool that waits.")
            .fails(&[
                ErrorCode::ToolNotFound,
                ErrorCode::DefinitionInvalid,
                ErrorCode::QueueFull,
                ErrorCode::ThreadClosed,
                ErrorCode::ThreadTerminated,
            ])
            .example(r#"{"args":{"text":"three short words"}}"#);
}

paged! {
    /// Lists the tools that wait for a run.
    ListQueuedTools =
        Declaration::get(("queued-tools", "listQueuedTools"), "/v1/threads/{thread}/tools/queue", WORK)
            .about("Lists the tools that wait for a run, in the order in which they will be carried out.")
            .gives("All of them; with `limit`, a page.")
            .fails(&[ErrorCode::InvalidCursor]);
}

/// A tool that waits for a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedTool {
    /// Its name in the queue.
    pub id: QueuedId,
    /// The name of the tool, or of an agent to hand off to.
    pub tool: String,
    /// Its arguments.
    #[schemars(with = "threadkeep_model::schema::Object")]
    pub args: Json,
    /// The actor that queued it, and whose authority holds.
    pub actor: Actor,
    /// When it was queued.
    pub created_at: Timestamp,
}

/// A request to run a tool at once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InvokeTool {
    /// Its arguments. Default: none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ToolStatus {
    /// It gave a result.
    Success,
    /// It failed, or its arguments are wrong.
    Error,
}

/// The result of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolTold {
    /// How it ended.
    pub status: ToolStatus,
    /// What it gives, if it succeeded. A result over 256 KiB is a file: then this names the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Files of the thread that came with the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<ToolFile>,
}

/// A file that came with the result of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolFile {
    /// Its path in the thread.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Its media type.
    pub mime_type: String,
    /// Its size in bytes.
    pub size: u64,
}
