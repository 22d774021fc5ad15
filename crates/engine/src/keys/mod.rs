//! Keys: the accounts they act for, their scopes, and when they expire.
//!
//! A key is `tk_ID_SECRET`, with 256 random bits in its secret. Only the hash of the secret is kept. A fast hash
//! is enough: slow ones protect secrets that people choose, and 256 random bits cannot be guessed.

mod opened;

use serde::{Deserialize, Serialize};
use threadkeep_calls::Scope;
use threadkeep_model::{Account, Actor, BlobId, Caller, Timestamp};
use threadkeep_store::{BoxFuture, Registered, RegistryKind, RegistryQuery, StoreError};

pub(crate) use self::opened::InUse;
pub use self::opened::Opened;
use crate::{Engine, Result};

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its id, which is no secret.
    pub id: String,
    /// The account it speaks for.
    pub account: Account,
    /// The person or agent that acts with the key.
    pub actor: Actor,
    /// Whether it may read, write or administer.
    pub scope: Scope,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends by itself.
    pub expires: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

impl Key {
    /// Whether it opens anything at this time.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|end| now < end)
    }

    /// The id in a secret; none if it is not the secret of a key.
    pub(crate) fn id_in(secret: &str) -> Option<&str> {
        let (id, _) = secret.strip_prefix(PREFIX)?.split_once('_')?;
        (!id.is_empty() && id.len() <= ID_BYTES_MAX).then_some(id)
    }

    /// The caller that a request with this key acts as.
    pub fn caller(&self) -> Caller {
        Caller { account: self.account.clone(), actor: self.actor.clone(), cause: None }
    }
}

/// A key to make.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The account it speaks for.
    pub account: Account,
    /// The person or agent that acts with the key.
    pub actor: Actor,
    /// Whether it may read, write or administer.
    pub scope: Scope,
    /// When it ends by itself.
    pub expires: Option<Timestamp>,
}

/// A key as the registry keeps it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    hash: String,
    actor: Actor,
    scope: Scope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked: Option<Timestamp>,
}

pub(crate) fn read(document: &Registered) -> Result<(Key, String)> {
    let Document { hash, actor, scope, expires, revoked } = serde_json::from_str(&document.json)
        .map_err(|error| StoreError::corrupt(format!("key {}: {error}", document.id)))?;
    let (id, account, created) = (document.id.clone(), document.account.clone(), document.created);
    Ok((Key { id, account, actor, scope, created, expires, revoked }, hash))
}

/// Whether `secret` is the one whose hash is kept. Hashes are compared, so the time it takes says nothing of the secret.
pub(crate) fn matches(secret: &str, kept: &str) -> bool {
    hash(secret) == kept
}

fn hash(secret: &str) -> String {
    BlobId::of(secret.as_bytes()).to_string()
}

/// The prefix of every key.
const PREFIX: &str = "tk_";
/// Longest id of a key that is looked up, in bytes.
const ID_BYTES_MAX: usize = 64;

impl Engine {
    /// Makes a key, and gives it with its secret, which cannot be read again.
    ///
    /// # Errors
    /// If the name of its actor breaks a rule, or the store cannot be written.
    pub fn create_key(&self, new: NewKey) -> BoxFuture<'_, Result<(Key, String)>> {
        Box::pin(async move {
            new.actor.checked()?;
            let chance = || self.shared.world.chance();
            let id = format!("{:016x}", chance() as u64);
            let secret = format!("{PREFIX}{id}_{:032x}{:032x}", chance(), chance());
            let NewKey { account, actor, scope, expires } = new;
            let created = self.shared.now();
            let key = Key { id, account, actor, scope, created, expires, revoked: None };
            self.keep_key(&key, hash(&secret)).await?;
            Ok((key, secret))
        })
    }

    async fn keep_key(&self, key: &Key, hash: String) -> Result<()> {
        let Key { id, account, actor, scope, created, expires, revoked } = key.clone();
        let document = Document { hash, actor, scope, expires, revoked };
        let json = serde_json::to_string(&document).map_err(|error| StoreError::corrupt(error.to_string()))?;
        let document = Registered { kind: RegistryKind::Key, id, account, json, created };
        Ok(self.shared.stores.registry.register(document).await?)
    }

    /// The key with this secret, whether it still [holds](Key::holds) or not.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn key_with<'a>(&'a self, secret: &'a str) -> BoxFuture<'a, Result<Option<Key>>> {
        Box::pin(async move { Ok(self.open_with(secret).await?.map(|opened| opened.key)) })
    }

    /// Up to `limit` keys after this id, in the order of their ids, those that were revoked included.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn keys(&self, after: Option<String>, limit: usize) -> BoxFuture<'_, Result<Vec<Key>>> {
        Box::pin(async move {
            let query = RegistryQuery { kind: RegistryKind::Key, account: None, after, limit };
            let found = self.shared.stores.registry.registry(query).await?;
            found.iter().map(|document| read(document).map(|(key, _)| key)).collect()
        })
    }

    /// Revokes a key for good; false if there is none that holds. Once it returns, everything that the key
    /// [opened](crate::Opened) here is over.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn revoke_key<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            if id.len() > ID_BYTES_MAX {
                return Ok(false);
            }
            let Some((mut key, hash)) = self.look_up(id).await? else { return Ok(false) };
            let holds = key.revoked.is_none();
            if holds {
                key.revoked = Some(self.shared.now());
                self.keep_key(&key, hash).await?;
            }
            // Invariant: what a key opened ends before its revocation is answered.
            self.shared.room::<InUse>().end(id);
            Ok(holds)
        })
    }

    /// Whether there is a key that holds.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn has_keys(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            let now = self.shared.now();
            let mut after = None;
            loop {
                let some = self.keys(after.take(), 100).await?;
                let Some(last) = some.last() else { return Ok(false) };
                if some.iter().any(|key| key.holds(now)) {
                    return Ok(true);
                }
                after = Some(last.id.clone());
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use threadkeep_model::ActorKind;

    use super::*;

    #[test]
    fn a_key_on_disk_looks_like_this() {
        let actor = Actor { kind: ActorKind::Agent, name: "nightly".into() };
        let mut document = Document { hash: "ab".into(), actor, scope: Scope::Read, expires: None, revoked: None };
        let json = |document: &Document| serde_json::to_string(document).expect("json");
        let begin = r#"{"hash":"ab","actor":{"type":"agent","name":"nightly"},"scope":"read""#;
        assert_eq!(json(&document), format!("{begin}}}"));
        let time = Some(Timestamp::from_micros(0));
        (document.expires, document.revoked) = (time, time);
        let times = r#""expires":"1970-01-01T00:00:00.000000Z","revoked":"1970-01-01T00:00:00.000000Z""#;
        assert_eq!(json(&document), format!("{begin},{times}}}"));
        let account = Account::local();
        let registered = Registered {
            kind: RegistryKind::Key,
            id: "k".into(),
            account: account.clone(),
            json: json(&document),
            created: Timestamp::from_micros(1),
        };
        let (key, hash) = read(&registered).expect("a key");
        assert_eq!((key.account.clone(), hash.as_str(), key.scope), (account, "ab", Scope::Read));
        assert!(!key.holds(Timestamp::from_micros(-1)), "it was revoked");
    }

    #[test]
    fn a_key_holds_until_it_expires() {
        let actor = Actor { kind: ActorKind::Human, name: "ann".into() };
        let (created, expires) = (Timestamp::from_micros(0), Some(Timestamp::from_micros(5)));
        let account = Account::local();
        let key = Key { id: "k".into(), account, actor, scope: Scope::Write, created, expires, revoked: None };
        assert!(key.holds(Timestamp::from_micros(4)) && !key.holds(Timestamp::from_micros(5)));
    }
}
