//! What is defined beside the engine: the tools that may be queued, and the variables that agents keep to themselves.

use std::sync::Arc;

use threadkeep_calls::RequiredVariable;
use threadkeep_model::{EffectName, EnvName, RunSide, Thread};
use threadkeep_store::BoxFuture;

use crate::request::Request;
use crate::{Engine, Result};

/// Definitions that the engine asks about. Without any, every name may be queued and nothing is scoped.
pub trait Defined: Send + Sync {
    /// Passes if a tool, or an agent to hand off to, of this name can be used.
    ///
    /// # Errors
    /// [`Error::ToolNotFound`](crate::Error::ToolNotFound),
    /// [`Error::DefinitionInvalid`](crate::Error::DefinitionInvalid).
    fn tool(&self, name: &str) -> Result<()>;

    /// Whether threads of this agent do not take the variable from the threads that they work for.
    fn scopes(&self, agent: &str, name: &EnvName) -> bool;

    /// Passes if the agent `default` can work here.
    ///
    /// # Errors
    /// [`Error::NoModel`](crate::Error::NoModel) if it is not defined and no model is configured for it.
    fn default_agent(&self) -> BoxFuture<'_, Result<()>>;

    /// The variables that an agent requires and takes from no thread that it works for, and to which it gives no value
    /// itself, by name; none if the agent is not defined.
    fn required(&self, agent: &str) -> Vec<RequiredVariable>;

    /// The prompts with which a side of an agent works, the outermost first; none if the agent is not defined.
    fn prompt_path(&self, agent: &str, side: RunSide) -> Vec<String>;

    /// How the model of a thread's agent is asked; none if the agent is not defined.
    fn request(&self, thread: &Thread) -> Option<Request>;

    /// The summary with which another thread goes on with the work of this one, by the model of its agent, and the name of
    /// the model; none if no model can be asked. `engine` acts for the caller.
    fn summary<'a>(&'a self, engine: &'a Engine, thread: &'a Thread) -> BoxFuture<'a, Option<(String, String)>>;
}

/// Knows the effects that have handlers here, so that a wrong name is refused when it is scheduled.
pub trait KnowEffects: Send + Sync {
    /// Whether there is a handler of this name.
    fn knows(&self, name: &EffectName) -> bool;
}

impl Engine {
    /// The same engine, which asks `defined` about names.
    #[must_use]
    pub fn defined_by(&self, defined: Arc<dyn Defined>) -> Self {
        Self { defined: Some(defined), ..self.clone() }
    }
}
