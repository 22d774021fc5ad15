//! One attempt to work on a thread, and the calls of tools in it: what they are given, declare and give back.
//!
//! Tools, code, MCP servers, hooks and agents use these types.

pub(crate) mod built_in;
mod declared;
mod env;
mod rust;
pub(crate) mod schema;
pub(crate) mod template;

use std::sync::Arc;

use serde_json::{Map, Value};
use threadkeep_calls::NewAttachment;
use threadkeep_engine::{Engine, Held};
use threadkeep_model::{RunSide, ThreadId};
use tokio::sync::watch;

pub use declared::Declared;
pub use rust::{RustTool, State};

use crate::definitions::{Definitions, Name, UsedTool};

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The id of the call, by which its result is matched and a repeated request is known.
    pub id: String,
    /// The name of the tool, as the caller writes it.
    pub name: String,
    /// The arguments, as the caller wrote them.
    pub args: Map<String, Value>,
}

/// What came of a call: its result, and what is written in the same commit.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The result, which is also what failed.
    pub result: ToolResult,
    /// What the tool asked for, to be done in the commit of its result. Empty if it failed.
    pub held: Held,
    /// The scratch of the run as the tool left it; none if it did not touch it.
    pub context: Option<Map<String, Value>>,
    /// Whether the tool asked that the run stop.
    pub stop: bool,
    /// The side that the tool asked to be next: `a` or `b`.
    pub force_turn: Option<RunSide>,
}

/// The result of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// What it gives; none if it failed or gives nothing.
    pub result: Option<Value>,
    /// Why it failed; none if it succeeded.
    pub error: Option<String>,
    /// Files that come with it.
    pub attachments: Vec<NewAttachment>,
}

impl ToolResult {
    /// A success with this value.
    pub fn success(result: impl Into<Value>) -> Self {
        Self { result: Some(result.into()), ..Self::default() }
    }

    /// A failure for this reason.
    pub fn failure(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }

    /// Whether the tool succeeded.
    pub fn is_success(&self) -> bool {
        self.error.is_none()
    }
}

impl From<ToolResult> for Outcome {
    fn from(result: ToolResult) -> Self {
        Self { result, ..Self::default() }
    }
}

/// Turns true when the work is to stop. A sender that is gone does not stop anything.
pub type Cancel = watch::Receiver<bool>;

/// A cancellation that never comes.
pub fn never() -> Cancel {
    watch::channel(false).1
}

/// Resolves once the work is to stop.
pub(crate) async fn cancelled(cancel: &Cancel) {
    let mut cancel = cancel.clone();
    if cancel.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// One attempt to work on a thread: a run of an agent, or a single call. It keeps the definitions with which it began.
#[derive(Clone)]
pub struct Attempt {
    /// The engine of the caller whose authority holds.
    pub who: Engine,
    /// The thread that is worked on.
    pub thread: ThreadId,
    /// The definitions with which it began.
    pub definitions: Arc<Definitions>,
    /// The agent that works; its variables come after those of the instance.
    pub agent: Option<Name>,
    /// The prompt that works; its variables come last.
    pub prompt: Option<Name>,
    /// The scratch of the run, which tools share.
    pub context: Map<String, Value>,
    /// The state of the run as JSON; none at rest.
    pub execution: Option<Value>,
    /// The definition whose code runs; none outside of code.
    pub(crate) home: Option<Name>,
    /// Tools that wait for this one.
    pub(crate) depth: usize,
    /// What the prompt says of the tool that runs: variables and options.
    pub(crate) used: Option<Arc<UsedTool>>,
    /// Whether a hook works: what it writes runs no hooks.
    pub(crate) quiet: bool,
}

impl Attempt {
    /// The package in which its names are looked up first: that of the code that runs, or of the prompt.
    pub(crate) fn package(&self) -> Option<&str> {
        if let Some(home) = &self.home {
            return home.package.as_deref();
        }
        self.prompt.as_ref().or(self.agent.as_ref()).and_then(|name| name.package.as_deref())
    }
}
