//! The registry of the store in memory.

use std::future::ready;

use super::MemoryStore;
use crate::{BoxFuture, Registered, Registry, RegistryKind, RegistryQuery, Result};

impl Registry for MemoryStore {
    fn register(&self, document: Registered) -> BoxFuture<'_, Result<()>> {
        let mut state = self.lock();
        if let Err(frozen) = state.fence_document(document.kind, &document.account) {
            return Box::pin(ready(Err(frozen)));
        }
        let key = (document.kind, document.id.clone());
        let created = state.registry.get(&key).map_or(document.created, |before| before.created);
        state.registry.insert(key, Registered { created, ..document });
        Box::pin(ready(Ok(())))
    }

    fn register_over(&self, document: Registered, before: Option<String>) -> BoxFuture<'_, Result<bool>> {
        let mut state = self.lock();
        if let Err(frozen) = state.fence_document(document.kind, &document.account) {
            return Box::pin(ready(Err(frozen)));
        }
        let key = (document.kind, document.id.clone());
        let found = state.registry.get(&key).cloned();
        let fits = found.as_ref().map(|found| &found.json) == before.as_ref();
        if fits {
            let created = found.map_or(document.created, |before| before.created);
            state.registry.insert(key, Registered { created, ..document });
        }
        Box::pin(ready(Ok(fits)))
    }

    fn registered(&self, kind: RegistryKind, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<Registered>>> {
        self.read(|state| {
            let found = ids.into_iter().filter_map(|id| state.registry.get(&(kind, id)).cloned());
            Ok(found.collect())
        })
    }

    fn registry(&self, query: RegistryQuery) -> BoxFuture<'_, Result<Vec<Registered>>> {
        self.read(|state| {
            let after = |document: &&Registered| query.after.as_ref().is_none_or(|after| document.id > *after);
            let own = |document: &&Registered| query.account.as_ref().is_none_or(|own| document.account == *own);
            let all = state.registry.values().filter(|document| document.kind == query.kind);
            Ok(all.filter(after).filter(own).take(query.limit).cloned().collect())
        })
    }

    fn unregister(&self, kind: RegistryKind, id: String) -> BoxFuture<'_, Result<bool>> {
        let mut state = self.lock();
        let key = (kind, id);
        let fenced = state.registry.get(&key).map_or(Ok(()), |found| state.fence_document(kind, &found.account));
        let removed = fenced.map(|()| state.registry.remove(&key).is_some());
        Box::pin(ready(removed))
    }
}
