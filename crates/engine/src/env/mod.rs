//! Variables: where they are found, who reads them, and how their values are sealed.
//!
//! A thread sees the first value of a name: its own, that of the threads it works for (nearest first), that of its
//! account, that of the instance. Variables of agents and prompts come after these, once those are defined here. The
//! log holds names and types; values lie sealed in the registry ([`keys`]). [`redact`] keeps secrets out of texts.

mod account;
mod keys;
mod redact;
#[cfg(test)]
mod tests;
mod ways;

use std::collections::{BTreeMap, HashMap};

use threadkeep_calls::{EnvLayer, EnvVariable};
use threadkeep_model::{EnvName, EnvType, Thread, ThreadId, Uuid, Variable};
use threadkeep_store::{BoxFuture, Registered, RegistryKind, StoreError};
use threadkeep_vault::REDACTED_BYTES_MIN;

pub(crate) use self::keys::{Config, Vault};
pub use self::keys::{KeyKeeper, KeyProblem};
use crate::{Engine, Error, Result};

/// Longest value of a variable, in bytes.
pub(crate) const VALUE_BYTES_MAX: usize = 16 << 10;
/// Most variables that a thread or an account has.
pub(crate) const VARIABLES_MAX: usize = 256;
/// Most threads that are looked at above a thread.
const DEPTH_MAX: usize = 64;
/// A value of letters alone that is shorter than this is more likely a word than a secret.
const WORD_CHARACTERS_MAX: usize = 16;

/// The id of a sealed value of a thread: also the place for which it is sealed.
pub(crate) fn place(thread: ThreadId, name: &EnvName, generation: Uuid) -> String {
    format!("thread/{thread}/{name}/{generation}")
}

/// The sealed values of a thread, by name and generation; those of secrets alone, or all.
pub(crate) fn sealed_of(thread: &Thread, secrets_alone: bool) -> Vec<(EnvName, Uuid)> {
    let all = thread.record.variables.iter();
    let chosen = all.filter(|(_, variable)| !secrets_alone || variable.kind == EnvType::Secret);
    chosen.map(|(name, variable)| (name.clone(), variable.generation)).collect()
}

/// What the writer of a variable should know.
pub(crate) fn warnings(value: &str, kind: EnvType, chosen: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if kind == EnvType::Secret && value.len() < REDACTED_BYTES_MIN {
        warnings.push(format!("The value has fewer than {REDACTED_BYTES_MIN} bytes, so it is not redacted."));
    } else if kind == EnvType::Secret
        && !chosen
        && value.len() < WORD_CHARACTERS_MAX
        && value.chars().all(char::is_alphabetic)
    {
        warnings.push(
            "The value looks like a word. As a secret it is redacted wherever it occurs; set type text if it is none."
                .to_owned(),
        );
    }
    warnings
}

impl Engine {
    /// The value of a variable as a thread sees it: its own, that of the threads it works for, or that of its account.
    ///
    /// # Errors
    /// [`Error::EnvNotFound`]; [`Error::ThreadNotFound`]; [`Error::SecretsUnavailable`].
    pub fn env<'a>(&'a self, thread: ThreadId, name: &'a EnvName) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let (_, value) =
                self.env_found(thread, name).await?.ok_or_else(|| Error::EnvNotFound { name: name.clone() })?;
            Ok(value)
        })
    }

    /// The same for code and providers that the operator defines: variables of the instance are found, too. Requests
    /// and code of users must not reach it.
    ///
    /// # Errors
    /// As [`Engine::env`].
    pub fn env_of_instance_too<'a>(&'a self, thread: ThreadId, name: &'a EnvName) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            match self.env(thread, name).await {
                Err(Error::EnvNotFound { name }) => match self.shared.room::<Vault>().config.instance.get(&name) {
                    Some(value) => Ok(value.clone()),
                    None => Err(Error::EnvNotFound { name }),
                },
                found => found,
            }
        })
    }

    /// The value of a variable of the instance, for providers and code that the operator defines.
    pub fn instance_value(&self, name: &EnvName) -> Option<String> {
        self.shared.room::<Vault>().config.instance.get(name).cloned()
    }

    /// The type of a variable as a thread sees it: secret for one that is missing or is not set on a thread.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn env_type<'a>(&'a self, thread: ThreadId, name: &'a EnvName) -> BoxFuture<'a, Result<EnvType>> {
        Box::pin(async move {
            let chain = self.env_chain(thread).await?;
            let found = self.seen_along(&chain, name).find_map(|thread| thread.record.variables.get(name));
            Ok(found.map_or(EnvType::Secret, |variable| variable.kind))
        })
    }

    /// A variable as a thread sees it, with its value.
    pub(crate) async fn env_found(&self, thread: ThreadId, name: &EnvName) -> Result<Option<(EnvVariable, String)>> {
        let chain = self.env_chain(thread).await?;
        for thread in self.seen_along(&chain, name) {
            let Some(variable) = thread.record.variables.get(name) else { continue };
            let own = BTreeMap::from([(name.clone(), variable.clone())]);
            if let Some(value) = self.opened_of(thread.id, &own).await?.remove(name) {
                let layer = EnvLayer::Thread;
                let (name, kind, thread_id) = (name.clone(), variable.kind, Some(thread.id));
                let found = EnvVariable { name, kind, layer, thread_id, value: None, warnings: Vec::new() };
                return Ok(Some((found, value)));
            }
        }
        let account = chain.first().map_or_else(|| self.caller.account.clone(), |thread| thread.account.clone());
        let Some((_, value)) = self.account_values(&account).await?.remove(name) else { return Ok(None) };
        Ok(Some((seen_as_secret(name.clone(), EnvLayer::Account), value)))
    }

    /// All variables that a thread sees, by name, without the values of secrets.
    pub(crate) async fn env_seen(&self, thread: ThreadId) -> Result<Vec<EnvVariable>> {
        let chain = self.env_chain(thread).await?;
        let mut seen: BTreeMap<EnvName, EnvVariable> = BTreeMap::new();
        for thread in &chain {
            for (name, value) in self.opened_of(thread.id, &thread.record.variables).await? {
                if !self.seen_along(&chain, &name).any(|seen| seen.id == thread.id) {
                    continue;
                }
                let Some(variable) = thread.record.variables.get(&name) else { continue };
                let (kind, layer, thread_id) = (variable.kind, EnvLayer::Thread, Some(thread.id));
                let value = Some(value).filter(|_| kind == EnvType::Text);
                let warnings = Vec::new();
                seen.entry(name.clone()).or_insert(EnvVariable { name, kind, layer, thread_id, value, warnings });
            }
        }
        if let Some(thread) = chain.first() {
            for name in self.account_values(&thread.account).await?.into_keys() {
                seen.entry(name.clone()).or_insert(seen_as_secret(name, EnvLayer::Account));
            }
        }
        for listed in self.instance_env() {
            seen.entry(listed.name.clone()).or_insert(listed);
        }
        Ok(seen.into_values().collect())
    }

    /// The variables of the instance, without their values.
    pub(crate) fn instance_env(&self) -> Vec<EnvVariable> {
        let names = self.shared.room::<Vault>().config.instance.names();
        names.map(|name| seen_as_secret(name.clone(), EnvLayer::Instance)).collect()
    }

    /// A thread of the caller, and the threads that it works for, nearest first.
    async fn env_chain(&self, thread: ThreadId) -> Result<Vec<Thread>> {
        let mut chain = vec![self.thread(thread).await?];
        while let Some(main) = chain.last().and_then(|last| last.record.main_thread_id) {
            match self.thread(main).await {
                Ok(main) if chain.len() < DEPTH_MAX => chain.push(main),
                Ok(_) | Err(Error::ThreadNotFound { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(chain)
    }

    /// The threads of a chain from which a variable is taken. A thread whose agent scopes the name takes it from no
    /// thread that it works for.
    fn seen_along<'a>(&'a self, chain: &'a [Thread], name: &'a EnvName) -> impl Iterator<Item = &'a Thread> {
        let scopes = |thread: &Thread| match (&self.defined, &thread.record.agent_id) {
            (Some(defined), Some(agent)) => defined.scopes(agent, name),
            (None, _) | (_, None) => false,
        };
        let end = chain.iter().position(scopes).map_or(chain.len(), |at| at + 1);
        chain[..end].iter()
    }

    /// Seals and keeps a value of a thread's variable. It counts once an entry names its generation.
    pub(crate) async fn keep_sealed(
        &self,
        thread: ThreadId,
        name: &EnvName,
        generation: Uuid,
        value: &str,
    ) -> Result<()> {
        let id = place(thread, name, generation);
        let envelope = self.seal(&id, value).await?;
        let (kind, account, created) = (RegistryKind::Sealed, self.caller.account.clone(), self.shared.now());
        let json = serde_json::Value::from(envelope).to_string();
        Ok(self.shared.stores.registry.register(Registered { kind, id, account, json, created }).await?)
    }

    /// Deletes sealed values of a thread, by name and generation. If the store fails now, gc deletes them.
    pub(crate) async fn drop_sealed(&self, thread: ThreadId, values: Vec<(EnvName, Uuid)>) {
        for (name, generation) in values {
            let id = place(thread, &name, generation);
            if let Err(error) = self.shared.stores.registry.unregister(RegistryKind::Sealed, id).await {
                tracing::warn!(%thread, %error, "a sealed value was not deleted; gc deletes it later");
            }
        }
    }

    /// The values of these variables of a thread. Those that were lost with their key are left out.
    pub(crate) async fn opened_of(
        &self,
        thread: ThreadId,
        variables: &BTreeMap<EnvName, Variable>,
    ) -> Result<BTreeMap<EnvName, String>> {
        if variables.is_empty() {
            return Ok(BTreeMap::new());
        }
        let ids: HashMap<String, &EnvName> =
            variables.iter().map(|(name, variable)| (place(thread, name, variable.generation), name)).collect();
        let found = self.shared.stores.registry.registered(RegistryKind::Sealed, ids.keys().cloned().collect()).await?;
        let mut values = BTreeMap::new();
        for document in found {
            let Some(name) = ids.get(&document.id) else { continue };
            let envelope: String = serde_json::from_str(&document.json)
                .map_err(|error| StoreError::corrupt(format!("sealed value {}: {error}", document.id)))?;
            values.insert((*name).clone(), self.open_sealed(&document.id, &envelope).await?);
        }
        Ok(values)
    }
}

/// A variable that is not set on a thread: seen as a secret, whatever its writer said.
fn seen_as_secret(name: EnvName, layer: EnvLayer) -> EnvVariable {
    EnvVariable { name, kind: EnvType::Secret, layer, thread_id: None, value: None, warnings: Vec::new() }
}

#[cfg(test)]
mod warned {
    use super::*;

    #[test]
    fn short_secrets_and_words_are_warned_about() {
        assert_eq!(warnings("short", EnvType::Secret, true).len(), 1);
        assert_eq!(warnings("production", EnvType::Secret, false).len(), 1);
        for (value, kind, chosen) in [
            ("production", EnvType::Secret, true),
            ("production", EnvType::Text, false),
            ("x", EnvType::Text, true),
            ("sk-1234567890", EnvType::Secret, false),
        ] {
            assert!(warnings(value, kind, chosen).is_empty(), "{value}");
        }
    }
}
