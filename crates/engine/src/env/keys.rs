//! The keys of sealed values: the data keys of the store, and the key file that opens them.
//!
//! A data key seals values. It lies in the store, sealed by the key file, which lies outside. So a rotation of the key
//! file seals the data keys again and leaves the values alone. All data keys of a store open; one of them seals.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use threadkeep_model::{Account, EnvName, ThreadId};
use threadkeep_store::{BoxFuture, Registered, RegistryKind, RegistryQuery, StoreError};
use threadkeep_vault::{Key, KeyFile, NONCE_BYTES, Secrets, sealed_by};

use super::redact::{AccountLayer, ThreadLayer};
use crate::{Engine, Error, Result};

/// The id of the document that names the data key that seals.
const CURRENT: &str = "current";
/// Documents read at once.
const READ_AT_ONCE: usize = 500;

/// What is wrong with a key file, in a sentence that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyProblem(pub String);

/// Where the key file of a store is. A surface provides it: the engine touches no files.
pub trait KeyKeeper: Send + Sync {
    /// The keys; none if there is no file yet.
    ///
    /// # Errors
    /// If the file is unreadable, too short, or open to others.
    fn read(&self) -> Result<Option<KeyFile>, KeyProblem>;

    /// Keeps `keys` if there is no file yet, and gives the keys that are kept.
    ///
    /// # Errors
    /// If the file cannot be written, or the one that is there is wrong.
    fn make(&self, keys: KeyFile) -> Result<KeyFile, KeyProblem>;

    /// Replaces the keys, whole or not at all. The caller holds the [`lock`](Self::lock).
    ///
    /// # Errors
    /// If the file cannot be written. It is as it was then.
    fn replace(&self, keys: KeyFile) -> Result<(), KeyProblem>;

    /// Keeps other processes from rotating the key until the result is dropped.
    ///
    /// # Errors
    /// If another process holds it.
    fn lock(&self) -> Result<Box<dyn Send>, KeyProblem>;
}

/// Keys that are gone with the process.
#[derive(Default)]
struct InMemory(Mutex<Option<KeyFile>>);

impl KeyKeeper for InMemory {
    fn read(&self) -> Result<Option<KeyFile>, KeyProblem> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn make(&self, keys: KeyFile) -> Result<KeyFile, KeyProblem> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(keys).clone())
    }

    fn replace(&self, keys: KeyFile) -> Result<(), KeyProblem> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(keys);
        Ok(())
    }

    fn lock(&self) -> Result<Box<dyn Send>, KeyProblem> {
        Ok(Box::new(()))
    }
}

/// The variables of the instance.
pub(crate) struct Instance {
    values: BTreeMap<EnvName, String>,
    pub(super) secrets: Arc<Secrets>,
}

impl Instance {
    fn new(values: BTreeMap<EnvName, String>) -> Self {
        let secrets = Secrets::new(values.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        Self { values, secrets: Arc::new(secrets) }
    }

    pub(super) fn get(&self, name: &EnvName) -> Option<&String> {
        self.values.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &EnvName> {
        self.values.keys()
    }
}

/// Where keys and variables of the instance come from.
#[derive(Clone)]
pub(crate) struct Config {
    pub(super) keeper: Arc<dyn KeyKeeper>,
    pub(super) instance: Arc<Instance>,
}

impl Default for Config {
    fn default() -> Self {
        Self { keeper: Arc::new(InMemory::default()), instance: Arc::new(Instance::new(BTreeMap::new())) }
    }
}

/// The room of variables: keys that were opened, and secrets prepared for finding.
#[derive(Default)]
pub(crate) struct Vault {
    pub(crate) config: Config,
    ring: tokio::sync::Mutex<Option<Arc<Ring>>>,
    pub(super) threads: Mutex<HashMap<ThreadId, ThreadLayer>>,
    pub(super) accounts: Mutex<HashMap<Account, AccountLayer>>,
}

impl Vault {
    pub(crate) fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }
}

/// The data keys of the store.
struct Ring {
    keys: HashMap<String, Key>,
    /// The id of the one that seals.
    current: Option<String>,
}

impl Engine {
    /// An engine on the same stores whose secrets are opened by the keys of `keeper`. It shares nothing else with this
    /// one.
    #[must_use]
    pub fn with_key_keeper(&self, keeper: Arc<dyn KeyKeeper>) -> Self {
        self.with_config(Config { keeper, ..self.shared.room::<Vault>().config.clone() })
    }

    /// An engine on the same stores with these variables of the instance. All of them are secrets. It shares nothing
    /// else with this one.
    #[must_use]
    pub fn with_instance_env(&self, variables: impl IntoIterator<Item = (EnvName, String)>) -> Self {
        let instance = Arc::new(Instance::new(variables.into_iter().collect()));
        self.with_config(Config { instance, ..self.shared.room::<Vault>().config.clone() })
    }

    /// Opens the keys of the secrets, and makes a key file and a data key if the store has none.
    ///
    /// # Errors
    /// [`Error::SecretsUnavailable`] if the key file is missing, wrong, too short or open to others. Nothing has
    /// changed then.
    pub fn open_secrets(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.ring().await.map(drop) })
    }

    /// Opens the keys of the secrets, if the store has any; makes nothing.
    ///
    /// # Errors
    /// As [`Engine::open_secrets`].
    pub fn check_secrets(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.opened_ring().await.map(drop) })
    }

    /// Deletes all sealed values of a store whose key is lost, and begins with a new key; false if the key is there, and
    /// nothing has to be deleted.
    ///
    /// # Errors
    /// [`Error::SecretsUnavailable`] if there is a key file that cannot be used; if the store cannot be read.
    pub fn forget_secrets(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            // A file that is too open or too short may still be the right one: its owner decides.
            self.key_file()?;
            match self.load_ring().await {
                Ok(_) => return Ok(false),
                Err(Error::SecretsUnavailable { .. }) => {}
                Err(error) if error.is_damage() => {}
                // A store that cannot be read now has not lost its key.
                Err(error) => return Err(error),
            }
            for kind in [RegistryKind::Sealed, RegistryKind::AccountEnv, RegistryKind::DataKey] {
                for document in self.all_documents(kind).await? {
                    self.shared.stores.registry.unregister(kind, document.id).await?;
                }
            }
            *self.shared.room::<Vault>().ring.lock().await = None;
            self.open_secrets().await?;
            Ok(true)
        })
    }

    /// Makes a new key for the key file, and seals the data keys with it. Values stay as they are, and servers that run
    /// go on. Gives the id of the new key.
    ///
    /// # Errors
    /// [`Error::SecretsUnavailable`] if the present key is wrong, or the file cannot be written.
    pub fn rotate_secrets(&self) -> BoxFuture<'_, Result<String>> {
        Box::pin(async move { self.rotate_secrets_with(&[]).await })
    }

    /// The same with other stores that have the same key file: all cells of a server.
    ///
    /// # Errors
    /// As [`Engine::rotate_secrets`].
    pub fn rotate_secrets_with<'a>(&'a self, others: &'a [Engine]) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let keeper = Arc::clone(&self.shared.room::<Vault>().config.keeper);
            let _alone = keeper.lock().map_err(unavailable)?;
            let mut rings = Vec::with_capacity(others.len() + 1);
            for engine in std::iter::once(self).chain(others) {
                rings.push((engine, engine.ring().await?));
            }
            let file = self.key_file()?.ok_or_else(|| unavailable(KeyProblem("there is no key file".into())))?;
            let file = file.with_first(Key::new(self.random()));
            // Invariant: at every moment, the file holds the keys that sealed what is in the store.
            keeper.replace(file.clone()).map_err(unavailable)?;
            for (engine, ring) in rings {
                for key in ring.keys.values() {
                    engine.shared.stores.registry.register(engine.wrapped(file.first(), key)).await?;
                }
            }
            let id = file.first().id().to_owned();
            keeper.replace(file.first_alone()).map_err(unavailable)?;
            Ok(id)
        })
    }

    /// Seals a value for a place.
    pub(super) async fn seal(&self, place: &str, value: &str) -> Result<String> {
        let ring = self.ring().await?;
        let current = ring.current.as_ref().and_then(|id| ring.keys.get(id));
        let key = current.ok_or(Error::broken("a ring that was opened has a key that seals"))?;
        Ok(key.seal(place, self.random::<NONCE_BYTES>(), value.as_bytes()))
    }

    /// Opens a value that was sealed for a place.
    pub(super) async fn open_sealed(&self, place: &str, envelope: &str) -> Result<String> {
        let damaged = |why: &str| StoreError::corrupt(format!("the sealed value {place} cannot be opened: {why}"));
        let id = sealed_by(envelope).ok_or_else(|| damaged("it is no envelope"))?;
        let mut ring = self.opened_ring().await?;
        if !ring.keys.contains_key(id) {
            // Another process may have brought the key since.
            *self.shared.room::<Vault>().ring.lock().await = None;
            ring = self.opened_ring().await?;
        }
        let lost = || unavailable(KeyProblem(format!("the key {id} that sealed {place} is not in the store")));
        let key = ring.keys.get(id).ok_or_else(lost)?;
        let plain = key.open(place, envelope).map_err(|why| damaged(&why.to_string()))?;
        Ok(std::str::from_utf8(&plain).map_err(|_| damaged("it is no text"))?.to_owned())
    }

    /// The data keys, which must be there.
    async fn opened_ring(&self) -> Result<Arc<Ring>> {
        let mut held = self.shared.room::<Vault>().ring.lock().await;
        if let Some(ring) = &*held {
            return Ok(Arc::clone(ring));
        }
        let ring = Arc::new(self.load_ring().await?);
        Ok(Arc::clone(held.insert(ring)))
    }

    /// The data keys, with one that seals: it is made if there is none.
    async fn ring(&self) -> Result<Arc<Ring>> {
        let mut held = self.shared.room::<Vault>().ring.lock().await;
        if let Some(ring) = held.as_ref().filter(|ring| ring.current.is_some()) {
            return Ok(Arc::clone(ring));
        }
        let mut ring = self.load_ring().await?;
        if ring.current.is_none() {
            let file = match self.key_file()? {
                Some(file) => file,
                None => {
                    let made = KeyFile::new(Key::new(self.random()));
                    self.shared.room::<Vault>().config.keeper.make(made).map_err(unavailable)?
                }
            };
            let key = Key::new(self.random());
            let registry = &self.shared.stores.registry;
            registry.register(self.wrapped(file.first(), &key)).await?;
            let json = serde_json::Value::from(key.id()).to_string();
            if !registry.register_over(self.data_document(CURRENT, json), None).await? {
                // Another process was faster: its key seals.
                registry.unregister(RegistryKind::DataKey, key.id().to_owned()).await?;
            }
            ring = self.load_ring().await?;
        }
        Ok(Arc::clone(held.insert(Arc::new(ring))))
    }

    /// Reads the data keys, and opens them by the key file.
    async fn load_ring(&self) -> Result<Ring> {
        let mut ring = Ring { keys: HashMap::new(), current: None };
        let documents = self.all_documents(RegistryKind::DataKey).await?;
        if documents.is_empty() {
            return Ok(ring);
        }
        let missing = || unavailable(KeyProblem("there is no key file, and the store holds sealed values".into()));
        let file = self.key_file()?.ok_or_else(missing)?;
        for Registered { id, json, .. } in documents {
            let text: String =
                serde_json::from_str(&json).map_err(|error| StoreError::corrupt(format!("data key {id}: {error}")))?;
            if id == CURRENT {
                ring.current = Some(text);
                continue;
            }
            let opened = file.keys().find_map(|key| key.unwrap(&id, &text).ok());
            let wrong = || {
                let by = sealed_by(&text).unwrap_or("unknown");
                unavailable(KeyProblem(format!("the key file holds another key than {by}, which sealed this store")))
            };
            ring.keys.insert(id, opened.ok_or_else(wrong)?);
        }
        Ok(ring)
    }

    fn key_file(&self) -> Result<Option<KeyFile>> {
        self.shared.room::<Vault>().config.keeper.read().map_err(unavailable)
    }

    /// The document of a data key, sealed by a key of the file.
    fn wrapped(&self, by: &Key, key: &Key) -> Registered {
        let envelope = by.wrap(self.random(), key);
        self.data_document(key.id(), serde_json::Value::from(envelope).to_string())
    }

    fn data_document(&self, id: &str, json: String) -> Registered {
        let (kind, account, created) = (RegistryKind::DataKey, Account::local(), self.shared.now());
        Registered { kind, id: id.to_owned(), account, json, created }
    }

    /// Every document of a kind.
    pub(super) async fn all_documents(&self, kind: RegistryKind) -> Result<Vec<Registered>> {
        let mut all: Vec<Registered> = Vec::new();
        loop {
            let after = all.last().map(|last| last.id.clone());
            let query = RegistryQuery { kind, account: None, after, limit: READ_AT_ONCE };
            let some = self.shared.stores.registry.registry(query).await?;
            if some.is_empty() {
                return Ok(all);
            }
            all.extend(some);
        }
    }

    /// Random bytes from the world.
    fn random<const BYTES: usize>(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for part in bytes.chunks_mut(16) {
            part.copy_from_slice(&self.shared.world.chance().to_le_bytes()[..part.len()]);
        }
        bytes
    }
}

fn unavailable(problem: KeyProblem) -> Error {
    Error::SecretsUnavailable { what: problem.0 }
}
