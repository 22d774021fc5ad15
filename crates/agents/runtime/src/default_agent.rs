//! The model of the agent `default`, where no file names one: that of a provider whose key the instance has, else one of a
//! model server on this machine, which is looked for when it is first needed.

use std::time::{Duration, Instant};

use threadkeep_engine::{DEFAULT_AGENT, Engine};
use threadkeep_model::EnvName;
use threadkeep_providers::{Local, find_local};
use tokio::sync::Mutex;

use crate::Runtime;
use crate::definitions::{FoundModel, Provider};

/// Providers that are asked if the instance has their key, the first one first: the variable, and the model.
const BY_KEY: [(&str, Provider, &str); 2] = [
    ("ANTHROPIC_API_KEY", Provider::Anthropic, "claude-sonnet-4-5"),
    ("OPENAI_API_KEY", Provider::OpenAi, "gpt-5-mini"),
];
/// How long it takes until servers are looked for again, if there was none.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// Models with this in their names make vectors, and answer nothing.
const EMBEDS: &str = "embed";

/// Ports of this machine on which model servers without keys are looked for. 0 looks for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalModels {
    /// The port of Ollama: 11434.
    pub ollama: u16,
    /// The port of llama.cpp: 8080.
    pub llama_cpp: u16,
}

impl Default for LocalModels {
    fn default() -> Self {
        Self { ollama: 11_434, llama_cpp: 8_080 }
    }
}

/// The search for a model.
pub(crate) struct Search {
    local: LocalModels,
    /// When servers were last looked for. Those who need a model at the same time look once.
    looked: Mutex<Option<Instant>>,
}

impl Search {
    pub(crate) fn new(local: LocalModels) -> Self {
        Self { local, looked: Mutex::default() }
    }
}

impl Runtime {
    /// Whether the agent `default` can work here. Unless it is defined, or has a model already, a key of the instance or
    /// a model server on this machine gives it one; the latter is looked for at most every few seconds.
    pub async fn has_default_agent(&self) -> bool {
        let Some(search) = &self.shared.search else { return self.definitions().has_agent(DEFAULT_AGENT) };
        if self.definitions().has_agent(DEFAULT_AGENT) {
            return true;
        }
        let mut looked = search.looked.lock().await;
        if self.definitions().has_agent(DEFAULT_AGENT) {
            return true;
        }
        let model = match by_key(self.engine()) {
            Some(model) => model,
            None if looked.is_some_and(|looked| looked.elapsed() < LOOK_AGAIN) => return false,
            None => {
                let found = on_this_machine(search.local).await;
                *looked = Some(Instant::now());
                let Some(model) = found else { return false };
                model
            }
        };
        if let Err(error) = self.shared.present.model_found(model) {
            tracing::warn!(%error, "the folder of definitions was not read: the agent `default` has no model");
        }
        self.definitions().has_agent(DEFAULT_AGENT)
    }
}

/// The model of a provider whose key the instance has.
fn by_key(engine: &Engine) -> Option<FoundModel> {
    let has = |name: &str| {
        let name = name.parse::<EnvName>().ok();
        name.and_then(|name| engine.instance_value(&name)).is_some_and(|key| !key.is_empty())
    };
    let (_, provider, model) = BY_KEY.into_iter().find(|(key, _, _)| has(key))?;
    Some(FoundModel { provider, model: model.to_owned(), base_url: None })
}

/// The first model of a server on this machine.
async fn on_this_machine(ports: LocalModels) -> Option<FoundModel> {
    let at = |port: u16| (port != 0).then(|| format!("127.0.0.1:{port}"));
    let found = find_local(at(ports.ollama).as_deref(), at(ports.llama_cpp).as_deref()).await;
    found.into_iter().find_map(|Local { base_url, models, .. }| {
        let model = models.into_iter().find(|model| !model.contains(EMBEDS))?;
        Some(FoundModel { provider: Provider::OpenAi, model, base_url: Some(base_url) })
    })
}
