//! The id of a store, by which work that came along with a copy is told from the store's own.

use serde::{Deserialize, Serialize};
use threadkeep_model::{Account, Uuid};
use threadkeep_store::{BoxFuture, Registered, RegistryKind, StoreError};
use tokio::sync::OnceCell;

use crate::{Engine, Error, Result};

/// The id of the one document.
const DOCUMENT: &str = "store";

/// The id, once it was read.
#[derive(Debug, Default)]
pub(crate) struct StoreId(OnceCell<Uuid>);

#[derive(Serialize, Deserialize)]
struct Document {
    id: Uuid,
}

impl Engine {
    /// The id of this store, made when it is first asked for. A backup, a copy and an import have ids of their own; a file
    /// that was copied by hand has not.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub fn store_id(&self) -> BoxFuture<'_, Result<Uuid>> {
        Box::pin(async move { self.shared.room::<StoreId>().0.get_or_try_init(|| self.find_store_id()).await.copied() })
    }

    async fn find_store_id(&self) -> Result<Uuid> {
        let (registry, kind) = (&self.shared.stores.registry, RegistryKind::Store);
        let drawn = Document { id: Uuid::from_chance(self.shared.world.chance()) };
        let json = serde_json::to_string(&drawn).map_err(|_| Error::broken("an id can be written as JSON"))?;
        let (id, account, created) = (DOCUMENT.to_owned(), Account::local(), self.shared.now());
        loop {
            if let Some(found) = registry.registered(kind, vec![id.clone()]).await?.pop() {
                let wrong = |error: serde_json::Error| StoreError::corrupt(format!("the id of the store: {error}"));
                return Ok(serde_json::from_str::<Document>(&found.json).map_err(wrong)?.id);
            }
            let made = Registered { kind, id: id.clone(), account: account.clone(), json: json.clone(), created };
            // If another process was faster, its id counts.
            registry.register_over(made, None).await?;
        }
    }
}
