//! Variables of an account. All of them lie in one document; a second, small one names it. So a look at the small
//! one tells whether anything changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use threadkeep_model::{Account, Code, EnvName, EnvType, Invalid, Timestamp, Uuid};
use threadkeep_store::{Registered, RegistryKind, StoreError};

use super::VARIABLES_MAX;
use crate::{Engine, Error, Result};

/// How often a change is tried again that another process was faster than.
const TRIED_AGAIN_MAX: usize = 16;
/// How long a sealed value that nothing names is kept, in microseconds: its commit may be under way.
const UNNAMED_KEPT_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// The variables of an account, as the registry keeps them.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Kept {
    variables: BTreeMap<EnvName, One>,
}

#[derive(Clone, Serialize, Deserialize)]
struct One {
    #[serde(rename = "type")]
    kind: EnvType,
    generation: Uuid,
    sealed: String,
}

/// Which document is an account's.
pub(super) struct Pointer {
    json: String,
    pub(super) generation: Uuid,
}

fn place(account: &Account, name: &EnvName, generation: Uuid) -> String {
    format!("account/{}/{name}/{generation}", account.as_str())
}

fn values_id(generation: Uuid) -> String {
    format!("account/{generation}")
}

impl Engine {
    /// The values of an account's variables, with their types.
    pub(crate) async fn account_values(&self, account: &Account) -> Result<BTreeMap<EnvName, (EnvType, String)>> {
        let (_, kept) = self.account_kept(account).await?;
        let mut values = BTreeMap::new();
        for (name, One { kind, generation, sealed }) in kept.variables {
            let value = self.open_sealed(&place(account, &name, generation), &sealed).await?;
            values.insert(name, (kind, value));
        }
        Ok(values)
    }

    /// Sets a variable of the caller's account, and gives its type.
    pub(crate) async fn set_account_env(&self, name: &EnvName, value: &str, kind: Option<EnvType>) -> Result<EnvType> {
        let account = self.caller.account.clone();
        let generation = Uuid::from_chance(self.shared.world.chance());
        let sealed = self.seal(&place(&account, name, generation), value).await?;
        let mut set = EnvType::Secret;
        self.change_account_env(&account, |kept| {
            let before = kept.variables.get(name);
            if before.is_none() && kept.variables.len() >= VARIABLES_MAX {
                let rule = format!("an account has at most {VARIABLES_MAX} variables");
                return Err(Invalid::new(Code::TooLarge, "name", rule).into());
            }
            set = kind.or(before.map(|one| one.kind)).unwrap_or_default();
            kept.variables.insert(name.clone(), One { kind: set, generation, sealed: sealed.clone() });
            Ok(true)
        })
        .await?;
        Ok(set)
    }

    /// Removes a variable of the caller's account; false if there is none.
    pub(crate) async fn delete_account_env(&self, name: &EnvName) -> Result<bool> {
        let account = self.caller.account.clone();
        self.change_account_env(&account, |kept| Ok(kept.variables.remove(name).is_some())).await
    }

    /// Changes the variables of an account; nothing is written where `change` says that nothing changed.
    async fn change_account_env(
        &self,
        account: &Account,
        mut change: impl FnMut(&mut Kept) -> Result<bool>,
    ) -> Result<bool> {
        let registry = &self.shared.stores.registry;
        let document = |kind, id: String, json| Registered {
            kind,
            id,
            account: account.clone(),
            json,
            created: self.shared.now(),
        };
        for _ in 0..TRIED_AGAIN_MAX {
            let (pointer, mut kept) = self.account_kept(account).await?;
            if !change(&mut kept)? {
                return Ok(false);
            }
            let generation = Uuid::from_chance(self.shared.world.chance());
            let json = serde_json::to_string(&kept).map_err(|error| StoreError::corrupt(error.to_string()))?;
            registry.register(document(RegistryKind::Sealed, values_id(generation), json)).await?;
            let next = serde_json::Value::from(generation.to_string()).to_string();
            let named = document(RegistryKind::AccountEnv, account.as_str().to_owned(), next);
            let before = pointer.as_ref().map(|pointer| pointer.json.clone());
            let won = registry.register_over(named, before).await?;
            let obsolete = if won { pointer.map(|pointer| pointer.generation) } else { Some(generation) };
            if let Some(generation) = obsolete {
                registry.unregister(RegistryKind::Sealed, values_id(generation)).await?;
            }
            if won {
                return Ok(true);
            }
        }
        Err(Error::Busy)
    }

    async fn account_kept(&self, account: &Account) -> Result<(Option<Pointer>, Kept)> {
        for _ in 0..TRIED_AGAIN_MAX {
            let Some(pointer) = self.account_pointer(account).await? else { return Ok((None, Kept::default())) };
            let ids = vec![values_id(pointer.generation)];
            let found = self.shared.stores.registry.registered(RegistryKind::Sealed, ids).await?.pop();
            // None: another process changed it since.
            if let Some(document) = found {
                let kept = serde_json::from_str(&document.json)
                    .map_err(|error| StoreError::corrupt(format!("variables of an account: {error}")))?;
                return Ok((Some(pointer), kept));
            }
        }
        Err(Error::Busy)
    }

    /// Which document holds the account's variables; none if it has none.
    pub(super) async fn account_pointer(&self, account: &Account) -> Result<Option<Pointer>> {
        let ids = vec![account.as_str().to_owned()];
        let found = self.shared.stores.registry.registered(RegistryKind::AccountEnv, ids).await?.pop();
        let read = |document: Registered| -> Result<Pointer> {
            let generation = serde_json::from_str(&document.json)
                .map_err(|error| StoreError::corrupt(format!("variables of an account: {error}")))?;
            Ok(Pointer { json: document.json, generation })
        };
        found.map(read).transpose()
    }

    /// Deletes sealed values that nothing names: those of deleted threads at once, others once they are a day old.
    pub(crate) async fn sweep_sealed(&self) -> Result<()> {
        let now = self.shared.now();
        for document in self.all_documents(RegistryKind::Sealed).await? {
            if self.is_unnamed(&document, now).await? {
                self.shared.stores.registry.unregister(RegistryKind::Sealed, document.id).await?;
            }
        }
        Ok(())
    }

    async fn is_unnamed(&self, document: &Registered, now: Timestamp) -> Result<bool> {
        let is_old = document.created.plus_micros(UNNAMED_KEPT_MICROS) < now;
        match document.id.split('/').collect::<Vec<_>>()[..] {
            ["thread", thread, name, generation] => {
                let (Ok(thread), Ok(name)) = (thread.parse(), name.parse::<EnvName>()) else { return Ok(false) };
                let thread: threadkeep_model::ThreadId = thread;
                let Some(thread) = self.shared.stores.store.thread(thread.into()).await? else { return Ok(true) };
                let named = thread.record.variables.get(&name);
                Ok(is_old && named.is_none_or(|named| named.generation.to_string() != generation))
            }
            ["account", generation] => {
                let pointer = self.account_pointer(&document.account).await?;
                Ok(is_old && pointer.is_none_or(|pointer| pointer.generation.to_string() != generation))
            }
            _ => Ok(false),
        }
    }
}
