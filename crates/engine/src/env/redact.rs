//! The redactor of each caller. Secrets are prepared once, and again when they changed: a thread's by its era, an
//! account's by the generation of its variables. Both are read each time, so that a secret which another server set
//! is known.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use threadkeep_model::{Account, ActorKind, EnvName, EnvType, ThreadId, Uuid, Variable};
use threadkeep_vault::{Redactor, Secrets};

use super::DEPTH_MAX;
use super::keys::Vault;
use crate::ground::way_out::WayOut;
use crate::{Engine, Result};

/// How often variables are read again that changed while they were read.
const READ_AGAIN_MAX: usize = 16;
/// Threads, and accounts, whose secrets are kept prepared.
const PREPARED_MAX: usize = 1_024;

/// Whose secrets are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those of the caller's account.
    Callers,
    /// Those of the thread, whoever owns it.
    Anyones,
}

/// The secrets of one thread.
#[derive(Clone)]
pub(crate) struct ThreadLayer {
    era: u64,
    account: Account,
    main: Option<ThreadId>,
    variables: BTreeMap<EnvName, Variable>,
    secrets: Arc<Secrets>,
}

/// The secrets of one account.
#[derive(Clone)]
pub(crate) struct AccountLayer {
    generation: Uuid,
    secrets: Arc<Secrets>,
}

fn cached<K: Eq + Hash, V: Clone>(cache: &Mutex<HashMap<K, V>>, key: &K) -> Option<V> {
    cache.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
}

fn cache<K: Eq + Hash, V>(cache: &Mutex<HashMap<K, V>>, key: K, value: V) {
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    if cache.len() >= PREPARED_MAX {
        cache.clear();
    }
    cache.insert(key, value);
}

impl Engine {
    /// The same engine for sandboxed code: whoever acts, secrets are kept out of its calls.
    #[must_use]
    pub fn for_code(&self) -> Self {
        Self { guarded: true, ..self.clone() }
    }

    /// Whether secrets are kept out of the caller's calls. People may write what they like.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded
            || match self.caller.actor.kind {
                ActorKind::Agent | ActorKind::System => true,
                ActorKind::Human => false,
            }
    }

    /// The redactor for what the caller writes to `thread`; none if it writes as it likes, or there are no secrets.
    pub(crate) async fn guard(&self, way: WayOut, thread: Option<ThreadId>) -> Result<Option<Redactor>> {
        if !self.is_guarded() {
            return Ok(None);
        }
        Ok(Some(self.redactor(way, thread).await?).filter(|redactor| !redactor.is_empty()))
    }

    /// A text that a guarded caller writes to a thread which its call does not name.
    pub(crate) async fn without_secrets(&self, thread: ThreadId, text: Option<String>) -> Result<Option<String>> {
        match (text, self.is_guarded()) {
            (Some(text), true) => {
                let redactor = self.redactor(WayOut::Call, Some(thread)).await?;
                Ok(Some(redactor.text(&text).into_owned()))
            }
            (text, _) => Ok(text),
        }
    }

    pub(super) async fn redactor_of(&self, thread: Option<ThreadId>, whose: Whose) -> Result<Redactor> {
        let (mut layers, mut next, mut account) = (Vec::new(), thread, None);
        while let Some(id) = next.take().filter(|_| layers.len() < DEPTH_MAX) {
            if let Some(layer) = self.thread_layer(id).await? {
                // Another account's secrets are not compared: the answer would tell of them.
                if whose == Whose::Callers && layer.account != self.caller.account {
                    break;
                }
                account.get_or_insert(layer.account);
                layers.push(layer.secrets);
                next = layer.main;
            }
        }
        layers.extend(self.account_layer(account.as_ref().unwrap_or(&self.caller.account)).await?);
        layers.push(Arc::clone(&self.shared.room::<Vault>().config.instance.secrets));
        Ok(Redactor::new(layers))
    }

    /// The redactor for what an account and the instance keep secret, without the secrets of a thread.
    pub(crate) async fn account_redactor(&self, account: &Account) -> Result<Redactor> {
        let mut layers: Vec<Arc<Secrets>> = self.account_layer(account).await?.into_iter().collect();
        layers.push(Arc::clone(&self.shared.room::<Vault>().config.instance.secrets));
        Ok(Redactor::new(layers))
    }

    async fn thread_layer(&self, id: ThreadId) -> Result<Option<ThreadLayer>> {
        let vault = self.shared.room::<Vault>();
        let mut read_again = READ_AGAIN_MAX;
        loop {
            let Some(head) = self.shared.stores.store.head(id).await? else { return Ok(None) };
            let known = cached(&vault.threads, &id);
            if let Some(layer) = known.as_ref().filter(|layer| layer.era == head.era) {
                return Ok(Some(layer.clone()));
            }
            let Some(thread) = self.shared.stores.store.thread(id.into()).await? else { return Ok(None) };
            let (era, variables) = (thread.head.era, thread.record.variables);
            let secrets = match known.filter(|layer| layer.variables == variables) {
                Some(layer) => layer.secrets,
                None => {
                    let mut values = self.opened_of(id, &variables).await?;
                    // A value that is missing may have been replaced since its name was read.
                    if values.len() < variables.len() && read_again > 0 {
                        read_again -= 1;
                        if self.shared.stores.store.head(id).await?.is_none_or(|head| head.era != era) {
                            continue;
                        }
                    }
                    values.retain(|name, _| variables.get(name).is_some_and(|is| is.kind == EnvType::Secret));
                    Arc::new(Secrets::new(values.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
                }
            };
            let (account, main) = (thread.account, thread.record.main_thread_id);
            let layer = ThreadLayer { era, account, main, variables, secrets };
            cache(&vault.threads, id, layer.clone());
            return Ok(Some(layer));
        }
    }

    async fn account_layer(&self, account: &Account) -> Result<Option<Arc<Secrets>>> {
        let vault = self.shared.room::<Vault>();
        let Some(pointer) = self.account_pointer(account).await? else { return Ok(None) };
        let generation = pointer.generation;
        if let Some(layer) = cached(&vault.accounts, account).filter(|layer| layer.generation == generation) {
            return Ok(Some(layer.secrets));
        }
        let mut values = self.account_values(account).await?;
        values.retain(|_, (kind, _)| *kind == EnvType::Secret);
        let secrets = Arc::new(Secrets::new(values.iter().map(|(name, (_, value))| (name.as_str(), value.as_str()))));
        // Another process may have changed them since: then the next call reads them again.
        cache(&vault.accounts, account.clone(), AccountLayer { generation, secrets: Arc::clone(&secrets) });
        Ok(Some(secrets))
    }
}
