//! The keys that open this server: those in the registry, signed tokens, and its own local key.

use std::sync::Arc;

use threadkeep::model::BlobId;
use threadkeep::{Account, Actor, ActorKind, Engine, Error, Key, Opened, Scope, SystemWorld, Timestamp, World};

use crate::jwt::{TOKEN_ID, Tokens};

/// The id of the local key, which is in no registry.
const LOCAL: &str = "local";

/// The keys that open a server.
#[derive(Clone)]
pub struct Keys(Arc<Known>);

struct Known {
    engine: Engine,
    local: Option<BlobId>,
    tokens: Option<Tokens>,
}

impl Keys {
    /// The keys in the registry of `engine`'s store, and `local` if there is one: it speaks for account `local` and may
    /// do everything.
    pub fn new(engine: Engine, local: Option<&str>) -> Self {
        let local = local.map(|secret| BlobId::of(secret.as_bytes()));
        Self(Arc::new(Known { engine, local, tokens: None }))
    }

    /// Tokens that are signed as they should be open the server too.
    pub(crate) fn and_tokens(self, tokens: Option<Tokens>) -> Self {
        let (engine, local) = (self.0.engine.clone(), self.0.local);
        Self(Arc::new(Known { engine, local, tokens }))
    }

    /// A new secret for a local key.
    pub fn draw_local() -> String {
        let chance = || SystemWorld.chance();
        format!("tk_{LOCAL}_{:032x}{:032x}", chance(), chance())
    }

    /// What this secret opens, whether its key holds or not; none if no key has it.
    pub(crate) async fn find(&self, secret: &str) -> Result<Option<Opened>, Error> {
        let known = &self.0;
        // By the hash, so that the time it takes says nothing about the secret.
        if known.local == Some(BlobId::of(secret.as_bytes())) {
            return Ok(Some(Opened::by(local_key())));
        }
        if let Some(tokens) = known.tokens.as_ref().filter(|_| Tokens::is_token(secret)) {
            return Ok(tokens.read(secret, known.engine.now()).map(Opened::by));
        }
        known.engine.open_with(secret).await
    }

    /// What a key that was found earlier opens now; none if it does not hold any more.
    pub(crate) async fn again(&self, key: &Key) -> Result<Option<Opened>, Error> {
        let is_registered = key.id != LOCAL && !key.id.starts_with(TOKEN_ID);
        let opened = match is_registered {
            true => self.0.engine.open_again(&key.id).await?,
            false => Some(Opened::by(key.clone())),
        };
        Ok(opened.filter(|opened| opened.key.holds(self.0.engine.now())))
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
