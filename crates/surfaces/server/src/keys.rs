//! The keys that open this server: those in the registry, and its own local one.
//!
//! A key that was looked up is cached for a second, so that a busy client costs one lookup a second; a key
//! revoked here is forgotten at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use threadkeep::model::BlobId;
use threadkeep::{Account, Actor, ActorKind, Engine, Error, Key, Scope, SystemWorld, Timestamp, World};

use crate::jwt::Tokens;

/// How long a key that was looked up is known.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// Keys that are known at the same time.
const KNOWN_MAX: usize = 4_096;
/// The id of the local key, which is in no registry.
const LOCAL: &str = "local";

/// The keys that open a server.
#[derive(Clone)]
pub struct Keys(Arc<Known>);

struct Known {
    engine: Engine,
    local: Option<BlobId>,
    tokens: Option<Tokens>,
    lately: Mutex<HashMap<BlobId, (Key, Instant)>>,
    /// Whether keys still held at the last check, by their ids: all streams of a key share one check.
    looked: Mutex<HashMap<String, (bool, Instant)>>,
}

impl Keys {
    /// The keys in the registry of `engine`'s store, and `local` if there is one: it speaks for account `local` and may
    /// do everything.
    pub fn new(engine: Engine, local: Option<&str>) -> Self {
        let local = local.map(|secret| BlobId::of(secret.as_bytes()));
        Self(Arc::new(Known { engine, local, tokens: None, lately: Mutex::default(), looked: Mutex::default() }))
    }

    /// Tokens that are signed as they should be open the server too.
    pub(crate) fn and_tokens(self, tokens: Option<Tokens>) -> Self {
        let (engine, local) = (self.0.engine.clone(), self.0.local);
        Self(Arc::new(Known { engine, local, tokens, lately: Mutex::default(), looked: Mutex::default() }))
    }

    /// A new secret for a local key.
    pub fn draw_local() -> String {
        let chance = || SystemWorld.chance();
        format!("tk_{LOCAL}_{:032x}{:032x}", chance(), chance())
    }

    /// The key with this secret, whether it holds or not.
    pub(crate) async fn find(&self, secret: &str) -> Result<Option<Key>, Error> {
        let known = &self.0;
        // By the hash, so that the time it takes says nothing about the secret.
        let hash = BlobId::of(secret.as_bytes());
        if known.local == Some(hash) {
            return Ok(Some(local_key()));
        }
        if let Some(tokens) = known.tokens.as_ref().filter(|_| Tokens::is_token(secret)) {
            return Ok(tokens.read(secret, known.engine.now()));
        }
        let lately = self.lately().get(&hash).filter(|(_, at)| at.elapsed() < KNOWN_FOR).map(|(key, _)| key.clone());
        if let Some(key) = lately {
            return Ok(Some(key));
        }
        let found = known.engine.key_with(secret).await?;
        let mut lately = self.lately();
        match &found {
            Some(key) => {
                if lately.len() >= KNOWN_MAX {
                    lately.clear();
                }
                lately.insert(hash, (key.clone(), Instant::now()));
            }
            None => drop(lately.remove(&hash)),
        }
        Ok(found)
    }

    /// Whether a key that was found earlier still holds. While the store is away, it does.
    pub(crate) async fn still_holds(&self, key: &Key) -> bool {
        if key.id == LOCAL {
            return true;
        }
        if key.id.starts_with(crate::jwt::TOKEN_ID) {
            return key.holds(self.0.engine.now());
        }
        let looked = self.looked().get(&key.id).copied();
        if let Some((holds, at)) = looked
            && at.elapsed() < KNOWN_FOR
        {
            return holds;
        }
        let holds = self.0.engine.key_holds(&key.id).await.unwrap_or(true);
        let mut looked = self.looked();
        if looked.len() >= KNOWN_MAX {
            looked.clear();
        }
        looked.insert(key.id.clone(), (holds, Instant::now()));
        holds
    }

    /// Looks at every key anew from now on.
    pub(crate) fn forget(&self) {
        self.lately().clear();
        self.looked().clear();
    }

    fn looked(&self) -> std::sync::MutexGuard<'_, HashMap<String, (bool, Instant)>> {
        self.0.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lately(&self) -> std::sync::MutexGuard<'_, HashMap<BlobId, (Key, Instant)>> {
        self.0.lately.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keys {
    /// The account and rights of the local key.
    pub(crate) fn local() -> Key {
        local_key()
    }
}

fn local_key() -> Key {
    Key {
        id: LOCAL.to_owned(),
        account: Account::local(),
        actor: Actor { kind: ActorKind::Human, name: LOCAL.to_owned() },
        scope: Scope::Admin,
        created: Timestamp::from_micros(0),
        expires: None,
        revoked: None,
    }
}
