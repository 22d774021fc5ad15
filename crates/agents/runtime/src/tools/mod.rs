//! Tools: what a model, a person or another tool calls by name, with arguments that match a schema.

mod built_in;
mod code;
mod http;
mod invoke;
mod run;

use serde_json::Map;
use threadkeep_engine::Engine;
pub use threadkeep_engine::Held;
use threadkeep_model::ThreadId;

pub use crate::attempt::{Attempt, Call, Cancel, Declared, Outcome, RustTool, State, ToolResult, never};
pub(crate) use built_in::remember;
pub(crate) use code::ATTACHED_MAX;
pub(crate) use run::Ready;

use crate::definitions::{Definition, Kind};
use crate::{Runtime, RuntimeError};

impl Runtime {
    /// An attempt on a thread, for the caller of `who`, with the definitions as they are now. The agent of the thread, if it
    /// is defined here, is the one that works.
    ///
    /// # Errors
    /// If there is no such thread.
    pub async fn attempt(&self, who: &Engine, thread: ThreadId) -> Result<Attempt, RuntimeError> {
        let found = who.thread(thread).await?;
        let definitions = self.definitions();
        let agent =
            found.record.agent_id.as_deref().and_then(|agent| definitions.find(Kind::Agent, agent, None)).cloned();
        let prompt = agent.as_ref().and_then(|name| match definitions.definition(name)? {
            Definition::Agent(agent) => definitions.find(Kind::Prompt, &agent.side_a.prompt, name.package.as_deref()),
            Definition::Prompt(_)
            | Definition::Model(_)
            | Definition::Mcp(_)
            | Definition::HttpTool(_)
            | Definition::Text(_) => None,
        });
        let prompt = prompt.cloned();
        let (who, context) = (who.clone(), Map::new());
        let (execution, home, depth, used, quiet) = (None, None, 0, None, false);
        Ok(Attempt { who, thread: found.id, definitions, agent, prompt, context, execution, home, depth, used, quiet })
    }
}
