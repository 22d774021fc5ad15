//! The agent `default` that every program has, for folders without one: its files, as they would be written.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use threadkeep_engine::DEFAULT_AGENT;

use super::files::Source;
use super::{Kind, Name, Provider};

/// What the model of the agent is told.
const PROMPT: &str = "You are a helpful assistant. Answer in the language of the user.";

/// A model for the agent that no file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundModel {
    pub(crate) provider: Provider,
    /// The provider's name of the model.
    pub(crate) model: String,
    /// Where the provider is, if it is not at its usual address.
    pub(crate) base_url: Option<String>,
}

/// Adds the agent, its prompt and its model, as far as `sources` lacks them, and gives the text of what was added. Nothing
/// is added where the agent is defined, or where there is no model.
pub(super) fn fill_in(sources: &mut BTreeMap<Name, Source>, model: Option<&FoundModel>) -> Option<String> {
    let name = |kind| Name { kind, package: None, name: DEFAULT_AGENT.to_owned() };
    let has_model = model.is_some() || sources.contains_key(&name(Kind::Model));
    if sources.contains_key(&name(Kind::Agent)) || !has_model {
        return None;
    }
    let agent =
        json!({ "description": "Answers with the model of this server.", "sideA": { "prompt": DEFAULT_AGENT } });
    let prompt = json!({ "prompt": PROMPT, "model": DEFAULT_AGENT });
    let model = model.map(|found| {
        let mut model = json!({ "provider": found.provider, "model": found.model });
        if let Some(url) = &found.base_url {
            model["baseUrl"] = json!(url);
        }
        (Kind::Model, model)
    });
    let mut added = String::new();
    let mut add = |kind: Kind, definition: &Value| {
        let text = definition.to_string();
        sources.entry(name(kind)).or_insert_with(|| {
            added.push_str(&text);
            Source { file: format!("(built in) {}/{DEFAULT_AGENT}.json", kind.folder()), text }
        });
    };
    for (kind, definition) in [(Kind::Agent, agent), (Kind::Prompt, prompt)].into_iter().chain(model) {
        add(kind, &definition);
    }
    Some(added)
}
