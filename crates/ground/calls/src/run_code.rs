//! Running code on a thread: the request and its outcome. It is no call of the list: it changes nothing by itself, and code
//! makes the calls that it was granted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Code to run on a thread: one ES module. Unknown options are a `link_error`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunCode {
    /// A name for the run, by which it can be terminated. An account uses it for one run of a thread at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub id: Option<String>,
    /// The source of the module.
    pub source: String,
    /// The language of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<CodeLanguage>,
    /// The exported function to call. Without it the default export is called, or is the result if it is no function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execute: Option<ExecuteCode>,
    /// Sources of other modules, by relative specifiers such as `./util.ts`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modules: BTreeMap<String, String>,
    /// Global variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub globals: BTreeMap<String, Value>,
    /// Modules of values: bare specifiers, each with its exports.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub imports: BTreeMap<String, BTreeMap<String, Value>>,
    /// The name of the module in errors. Default: `main.ts`, or `main.js` for JavaScript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Calls that the code may make by `import { NAME } from "threadkeep"`: names such as `append`, names of operations
    /// such as `listMessages`, or `read` and `write` for all calls about the thread. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// Memory of the code in bytes. Default: 64 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_048_576, max = 1_073_741_824))]
    pub memory_limit_bytes: Option<u64>,
    /// Time until the run is killed, in milliseconds. Default: 30,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 600_000))]
    pub timeout_ms: Option<u64>,
    /// Answers with a stream of events: `log`, `report`, and `outcome` as the last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Options that do not exist.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, Value>,
}

/// The language of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum CodeLanguage {
    /// Types are removed, not checked.
    TypeScript,
    /// Runs as it is.
    JavaScript,
}

/// A call of a function that the code exports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecuteCode {
    /// The name of the export.
    #[serde(rename = "fn", default = "default_export")]
    pub function: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Value>,
}

fn default_export() -> String {
    "default".to_owned()
}

/// How a run of code ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CodeStatus {
    /// It gave a result.
    Success,
    /// It threw.
    Error,
    /// It did not begin: a syntax error, an unknown import, export or option.
    LinkError,
    /// It needed more memory than its limit.
    Memory,
    /// It was killed: by a request, by its time limit, or because it broke a limit.
    Terminated,
}

/// The outcome of a run of code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeOutcome {
    /// How it ended.
    pub status: CodeStatus,
    /// The result as JSON; absent for `undefined`. A bigint, a `Date` and bytes are text, a `Map` and a `Set` are arrays.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub result: Option<Value>,
    /// The values that the code reported, in order.
    pub reports: Vec<Value>,
    /// The console, in order, up to 1 MiB.
    pub logs: Vec<CodeLog>,
    /// Time from the start of the code to its end, in milliseconds.
    pub duration_ms: f64,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CodeError>,
}

/// A `null` that is given is a value.
fn given<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// A line of the console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeLog {
    /// The method of `console`, such as `log` or `warn`.
    pub level: String,
    /// Its arguments as text.
    pub message: String,
}

/// The error of a run. Positions are those of the source as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeError {
    /// The name of the error, such as `TypeError`; `code_timeout` at the time limit.
    pub name: String,
    /// Its message.
    pub message: String,
    /// The calls that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

/// Whether a run was open and is killed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeTerminated {
    /// Whether there was such a run.
    pub terminated: bool,
}
