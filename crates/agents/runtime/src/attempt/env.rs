//! Variables as work on a thread sees them: those of the engine, then those that definitions bring.
//!
//! The order is thread, account, instance, agent, prompt; what a prompt says for one of its tools comes before what it says
//! for all. Values of definitions count as secrets, as all that is not set on
//! a thread does.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use threadkeep_engine::Error;
use threadkeep_model::EnvName;

use super::Attempt;
use crate::RuntimeError;
use crate::definitions::{Definition, Name};

impl Attempt {
    /// The value of a variable, for code of definitions.
    ///
    /// # Errors
    /// [`Error::EnvNotFound`] if no layer has it; an empty text is a value.
    pub async fn env(&self, name: &EnvName) -> Result<String, RuntimeError> {
        match self.who.env_of_instance_too(self.thread, name).await {
            Err(Error::EnvNotFound { name }) => match self.defaults().find_map(|layer| layer.get(name.as_str())) {
                Some(value) => Ok(value.clone()),
                None => Err(Error::EnvNotFound { name }.into()),
            },
            found => Ok(found?),
        }
    }

    /// The variables that definitions bring, the first layer first.
    pub(crate) fn defaults(&self) -> impl Iterator<Item = &BTreeMap<String, String>> {
        let of = |name: &Option<Name>| match self.definitions.definition(name.as_ref()?)? {
            Definition::Agent(agent) => Some(&agent.env),
            Definition::Prompt(prompt) => Some(&prompt.env),
            Definition::Model(_) | Definition::Mcp(_) | Definition::HttpTool(_) | Definition::Text(_) => None,
        };
        // What a prompt says for one of its tools is nearer than what it says for all.
        let of_tool = self.used.as_ref().map(|used| &used.env);
        [of(&self.agent), of_tool, of(&self.prompt)].into_iter().flatten()
    }

    /// The options that the prompt gives to the tool that runs.
    pub(crate) fn options(&self) -> Map<String, Value> {
        self.used.as_ref().map(|used| used.options.clone()).unwrap_or_default()
    }
}
