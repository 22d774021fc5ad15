//! Fences of accounts in the store in memory.

use std::future::ready;

use threadkeep_model::{Account, ThreadCommit, ThreadId};

use super::MemoryStore;
use super::state::State;
use crate::{BoxFuture, Fences, KeptKey, KeyQuery, RegistryKind, Result, StoreError};

impl State {
    /// Refuses a write of a frozen account.
    pub(super) fn fence(&self, account: &Account) -> Result<()> {
        match self.frozen.get(account) {
            Some(note) => Err(StoreError::Frozen { account: account.clone(), note: note.clone() }),
            None => Ok(()),
        }
    }

    /// Refuses a change of a thread whose owner, now or after it, is frozen.
    pub(super) fn fence_thread(&self, commit: &ThreadCommit) -> Result<()> {
        if self.frozen.is_empty() {
            return Ok(());
        }
        match commit {
            ThreadCommit::Create(create) => self.fence(&create.account),
            ThreadCommit::Write(write) => {
                self.fence(&self.living(write.thread)?.account)?;
                write.owner.as_ref().map_or(Ok(()), |owner| self.fence(owner))
            }
            ThreadCommit::Delete { thread, .. } => self.fence(&self.living(*thread)?.account),
        }
    }

    /// Refuses a change of a document that moves with a frozen account.
    pub(super) fn fence_document(&self, kind: RegistryKind, account: &Account) -> Result<()> {
        if kind.is_of_account() { self.fence(account) } else { Ok(()) }
    }

    fn release(&mut self, account: &Account, note: &str) -> Option<u64> {
        self.frozen.get(account).filter(|fence| *fence == note)?;
        let own = self.threads.values().filter(|thread| thread.account == *account);
        let own: Vec<ThreadId> = own.map(|thread| thread.id).collect();
        own.iter().for_each(|thread| self.take_out(*thread));
        self.registry.retain(|(kind, _), document| !kind.is_of_account() || document.account != *account);
        Some(own.len() as u64)
    }
}

impl Fences for MemoryStore {
    fn freeze(&self, account: Account, note: String) -> BoxFuture<'_, Result<()>> {
        self.lock().frozen.insert(account, note);
        Box::pin(ready(Ok(())))
    }

    fn thaw(&self, account: Account) -> BoxFuture<'_, Result<bool>> {
        let was_frozen = self.lock().frozen.remove(&account).is_some();
        Box::pin(ready(Ok(was_frozen)))
    }

    fn frozen(&self, account: Account) -> BoxFuture<'_, Result<Option<String>>> {
        self.read(|state| Ok(state.frozen.get(&account).cloned()))
    }

    fn keys(&self, account: Account, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<KeptKey>>> {
        self.read(|state| {
            let kept = state.idempotency.iter().filter(|((thread, sent_by, _), _)| {
                threads.contains(thread) && (*thread != KeyQuery::NEW || *sent_by == account)
            });
            let kept = kept.map(|((thread, account, key), row)| {
                let (account, key, row) = (account.clone(), key.clone(), row.clone());
                KeptKey { thread: *thread, account, key, row }
            });
            Ok(kept.collect())
        })
    }

    fn release(&self, account: Account, note: String) -> BoxFuture<'_, Result<Option<u64>>> {
        let released = self.lock().release(&account, &note);
        Box::pin(ready(Ok(released)))
    }
}
