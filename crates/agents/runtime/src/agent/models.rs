//! The models of a prompt, as providers are asked: keys, addresses and prices.
//!
//! A key and the address it is sent to come from one layer, or a thread could name an address and be sent the key of the
//! instance. An address in a definition or of the instance is the operator's, and may be on this machine; one that a thread
//! or its account sets has to be public.

use std::path::PathBuf;
use std::sync::Arc;

use threadkeep_engine::Error;
use threadkeep_model::{EnvName, Invalid, Record, ThreadId};
use threadkeep_providers::{self as providers, Key, Protocol, Reach, Script};
use threadkeep_store::tags;

use super::next::Ending;
use super::reason;
use crate::attempt::Attempt;
use crate::definitions::{Model, Name, Problems, Prompt, Provider};
use crate::{Runtime, RuntimeError};

/// Tags that name a model begin with this.
const TAG: &str = "model:";

/// A model that can be asked, and what its definition says of requests.
pub(super) struct Chosen {
    pub(super) models: Vec<providers::Model>,
    pub(super) options: serde_json::Map<String, serde_json::Value>,
    pub(super) tokens_max: Option<u64>,
}

/// Why no model can be asked.
pub(super) enum NoModel {
    /// The run ends for this reason.
    Ends(Ending),
    /// The store failed.
    Error(RuntimeError),
}

impl From<RuntimeError> for NoModel {
    fn from(error: RuntimeError) -> Self {
        Self::Error(error)
    }
}

impl From<Problems> for NoModel {
    fn from(problems: Problems) -> Self {
        Self::Error(problems.into())
    }
}

impl From<Invalid> for NoModel {
    fn from(invalid: Invalid) -> Self {
        Self::Error(invalid.into())
    }
}

/// The model of a prompt, and those to fall back to. The thread may choose another one of them as the first.
pub(super) async fn chosen(
    runtime: &Runtime,
    on: &Attempt,
    prompt: &Prompt,
    record: &Record,
) -> Result<Chosen, NoModel> {
    let all = in_order(on, prompt, record)?;
    let (options, tokens_max) = match all.first() {
        Some((_, first)) => (first.provider_options.clone(), first.max_tokens),
        None => Default::default(),
    };
    let mut models = Vec::new();
    for (name, definition) in all {
        models.push(model(runtime, on, &name.text(), definition).await?);
    }
    Ok(Chosen { models, options, tokens_max })
}

/// The models that a prompt names, in the order in which they are asked: its own and its fallbacks. One that the thread
/// names, by a tag `model:NAME` or by its mode, comes first. Other models cannot be chosen.
///
/// # Errors
/// If one of them is missing or broken.
pub(super) fn in_order<'a>(
    on: &'a Attempt,
    prompt: &Prompt,
    record: &Record,
) -> Result<Vec<(&'a Name, &'a Model)>, Problems> {
    let (name, first) = on.definitions.model(&prompt.model, on.package())?;
    let mut all = vec![(name, first)];
    for fallback in &first.fallbacks {
        all.push(on.definitions.model(fallback, name.package.as_deref())?);
    }
    let tagged = tags(record).into_iter().filter_map(|tag| tag.strip_prefix(TAG).map(str::to_owned));
    let wanted = tagged.chain(record.agent_mode.clone());
    let place = |wanted: String| all.iter().position(|(name, _)| name.text() == wanted || name.name == wanted);
    if let Some(at) = wanted.filter_map(place).next() {
        let first = all.remove(at);
        all.insert(0, first);
    }
    Ok(all)
}

async fn model(runtime: &Runtime, on: &Attempt, name: &str, model: &Model) -> Result<providers::Model, NoModel> {
    let protocol = match model.provider {
        Provider::OpenAi => Protocol::OpenAi,
        Provider::Anthropic => Protocol::Anthropic,
        Provider::Script => {
            let path = runtime.folder().map_or_else(|| PathBuf::from(&model.model), |folder| folder.join(&model.model));
            let script = Script::read(&path);
            let script = script.map_err(|why| NoModel::Ends(Ending::failed(reason::STEP_ERROR, why.to_string())))?;
            Protocol::Script(Arc::new(script))
        }
    };
    let (key_name, address_name) = match model.provider {
        Provider::OpenAi => ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        Provider::Anthropic => ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        Provider::Script => ("", ""),
    };
    let key_name = model.key.as_deref().unwrap_or(key_name);
    let (key, base_url, reach) = match (&model.base_url, key_name) {
        (_, "") => (None, String::new(), Reach::Public),
        (Some(url), name) => {
            let key = match on.env(&name.parse()?).await {
                Ok(key) => Some(key),
                Err(RuntimeError::Engine(Error::EnvNotFound { .. })) => None,
                Err(error) => return Err(error.into()),
            };
            // A company's key is not sent to another address, unless the definition names it.
            let key = key.filter(|_| model.key.is_some() || url.starts_with(protocol.base_url()));
            (key, url.clone(), Reach::Anywhere)
        }
        (None, name) => {
            let name: EnvName = name.parse()?;
            let address: EnvName = address_name.parse()?;
            match own(on, on.thread, &name).await? {
                Some(key) => {
                    let url = own(on, on.thread, &address).await?;
                    (Some(key), url.unwrap_or_else(|| protocol.base_url().to_owned()), Reach::Public)
                }
                None => {
                    let url = on.who.instance_value(&address);
                    let reach = if url.is_some() { Reach::Anywhere } else { Reach::Public };
                    let key = on.who.instance_value(&name);
                    let key = key.or_else(|| on.defaults().find_map(|layer| layer.get(name.as_str()).cloned()));
                    (key, url.unwrap_or_else(|| protocol.base_url().to_owned()), reach)
                }
            }
        }
    };
    let prices = providers::Prices {
        input: model.prices.input.0,
        cache_read: model.prices.cache_read.0,
        cache_write: model.prices.cache_write.0,
        output: model.prices.output.0,
    };
    let (name, key) = (name.to_owned(), key.filter(|key| !key.is_empty()).map(Key::new));
    Ok(providers::Model { name, protocol, model: model.model.clone(), base_url, key, reach, prices })
}

/// A variable of the thread or its account.
async fn own(on: &Attempt, thread: ThreadId, name: &EnvName) -> Result<Option<String>, RuntimeError> {
    match on.who.env(thread, name).await {
        Ok(value) => Ok(Some(value)),
        Err(Error::EnvNotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
