//! Tools that the program itself carries out.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use threadkeep_engine::Engine;
use threadkeep_model::ThreadId;

use super::{Attempt, Call, Cancel, Declared, ToolResult, cancelled};

/// What a tool of the program is given beside its arguments.
#[derive(Clone)]
pub struct State {
    /// An engine that acts for the caller of the tool, with the caller's authority. Secrets are kept out of its calls.
    pub engine: Engine,
    /// The thread on which the tool was called.
    pub thread: ThreadId,
    /// The id of the call.
    pub call: String,
    /// The options that the prompt gives to this tool.
    pub options: Map<String, Value>,
}

type Answer = Pin<Box<dyn Future<Output = ToolResult> + Send>>;

/// A tool that the program itself carries out.
#[derive(Clone)]
pub struct RustTool {
    /// What it says of itself.
    pub declared: Declared,
    execute: Arc<dyn Fn(State, Map<String, Value>) -> Answer + Send + Sync>,
}

impl fmt::Debug for RustTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RustTool").field("declared", &self.declared).finish_non_exhaustive()
    }
}

impl RustTool {
    /// A tool that does what `execute` does.
    pub fn new<F, A>(declared: Declared, execute: F) -> Self
    where
        F: Fn(State, Map<String, Value>) -> A + Send + Sync + 'static,
        A: Future<Output = ToolResult> + Send + 'static,
    {
        Self { declared, execute: Arc::new(move |state, args| Box::pin(execute(state, args))) }
    }

    /// Runs it. Cancelled or too late, its future is dropped.
    pub(crate) async fn run(&self, on: &Attempt, call: &Call, cancel: &Cancel) -> ToolResult {
        let state =
            State { engine: on.who.for_code(), thread: on.thread, call: call.id.clone(), options: on.options() };
        tokio::select! {
            result = (self.execute)(state, call.args.clone()) => result,
            () = cancelled(cancel) => ToolResult::failure("the call was cancelled"),
            () = tokio::time::sleep(self.declared.timeout) => {
                ToolResult::failure(format!("the tool took longer than {} ms", self.declared.timeout.as_millis()))
            }
        }
    }
}
