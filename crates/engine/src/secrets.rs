//! Secrets that the service keeps for itself, beside threads.

use threadkeep_model::Account;
use threadkeep_store::{BoxFuture, Registered, RegistryKind};

use crate::{Engine, Result};

impl Engine {
    /// The secret of this name, made when it is first asked for: 64 random hex digits. Exports do not hold it; backups
    /// and copies of the store do.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub fn service_secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let registry = &self.shared.stores.registry;
            let found = async || registry.registered(RegistryKind::Secret, vec![name.to_owned()]).await;
            if let Some(document) = found().await?.pop() {
                return Ok(document.json);
            }
            let chance = || self.shared.world.chance();
            let secret = format!("{:032x}{:032x}", chance(), chance());
            let (id, account) = (name.to_owned(), Account::local());
            let created = self.shared.now();
            let document = Registered { kind: RegistryKind::Secret, id, account, json: secret.clone(), created };
            registry.register(document).await?;
            // If another process made one at the same moment, the one that the store kept counts.
            Ok(found().await?.pop().map_or(secret, |document| document.json))
        })
    }
}

/// The HMAC-SHA256 of `data`, as hex digits.
pub(crate) fn hmac_sha256(key: &[u8], data: &[u8]) -> String {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
    ring::hmac::sign(&key, data).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
