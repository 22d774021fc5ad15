//! Who asks: keys, the accounts they speak for, and what they may do.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use threadkeep::model::BlobId;
use threadkeep::{Caller, Engine};
use threadkeep_api::{Problem, Status};

use crate::answer::Refused;
use crate::app::App;

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Read.
    Read,
    /// Read and write.
    Write,
    /// Everything, upkeep too.
    Admin,
}

/// A key: for whom it speaks, and what it may do.
#[derive(Debug, Clone)]
pub struct Key {
    /// For whom.
    pub caller: Caller,
    /// What it may do.
    pub scope: Scope,
}

/// The keys that are known, by the hashes of their secrets.
#[derive(Debug, Clone, Default)]
pub struct Keys(Arc<RwLock<HashMap<BlobId, Key>>>);

impl Keys {
    /// Knows `secret` from now on.
    pub fn add(&self, secret: &str, key: Key) {
        let hash = BlobId::of(secret.as_bytes());
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(hash, key);
    }

    fn find(&self, secret: &str) -> Option<Key> {
        // By the hash, so that the time it takes says nothing about the secret.
        let hash = BlobId::of(secret.as_bytes());
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&hash).cloned()
    }
}

/// Whoever asks, with an engine that acts for them.
pub(crate) struct Access {
    pub(crate) engine: Engine,
    pub(crate) scope: Scope,
}

impl Access {
    /// Refuses what the key may not do.
    pub(crate) fn may(&self, needed: Scope) -> Result<(), Refused> {
        if self.scope >= needed {
            return Ok(());
        }
        let what = match needed {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "do upkeep",
        };
        let problem = Problem::new(Status::Forbidden, "forbidden", format!("this key may not {what}"));
        Err(problem.hint("use a key with a wider scope").into())
    }
}

impl FromRequestParts<App> for Access {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let given = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let secret =
            given.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let key = secret.and_then(|(_, secret)| app.keys.find(secret.trim()));
        let key = key.ok_or_else(|| {
            let problem =
                Problem::new(Status::Unauthorized, "unauthorized", "a key is needed, and this is none that is known");
            problem.hint("send Authorization: Bearer KEY; `threadkeep keys create` makes one")
        })?;
        Ok(Self { engine: app.engine.acting_as(key.caller), scope: key.scope })
    }
}
