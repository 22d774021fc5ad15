//! Which memories hold, and which are gone for good.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use threadkeep_calls::Memory;
use threadkeep_model::{Account, MessageName, Thread, ThreadId};
use threadkeep_store::{Registered, RegistryKind, RegistryQuery};

use super::{Kept, READ_AT_ONCE, read};
use crate::ground::view::View;
use crate::projects::place as project_place;
use crate::{Engine, Error, Result};

impl Engine {
    /// Those of the caller's memories that hold: their project exists, and a source is shown where they depend on one.
    pub(super) async fn memories_that_hold(&self, memories: Vec<Memory>) -> Result<Vec<Memory>> {
        let named: BTreeSet<&str> = memories.iter().filter_map(|memory| memory.project_id.as_deref()).collect();
        let projects = self.projects_with(named).await?;
        let mut views: HashMap<ThreadId, Option<View>> = HashMap::new();
        let mut held = Vec::with_capacity(memories.len());
        for memory in memories {
            if memory.project_id.as_ref().is_some_and(|project| !projects.contains_key(project)) {
                continue;
            }
            let depends = !memory.edited && !memory.sources.is_empty();
            if let Some(thread) = memory.thread_id.filter(|_| depends) {
                if let Entry::Vacant(unseen) = views.entry(thread) {
                    unseen.insert(match self.thread_of(&self.caller.account, thread).await? {
                        Some(thread) => Some(self.view(thread.id, &thread.head, None).await?),
                        None => None,
                    });
                }
                let Some(Some(view)) = views.get(&thread) else { continue };
                if !self.shows_one_of(view, &memory.sources).await? {
                    continue;
                }
            }
            held.push(memory);
        }
        Ok(held)
    }

    /// A thread of this account.
    async fn thread_of(&self, account: &Account, id: ThreadId) -> Result<Option<Thread>> {
        let thread = self.shared.stores.store.thread(id.into()).await?;
        Ok(thread.filter(|thread| thread.account == *account))
    }

    async fn shows_one_of(&self, view: &View, sources: &[MessageName]) -> Result<bool> {
        for source in sources {
            let found = async { self.locate(view, self.message_id(*source).await?).await };
            match found.await {
                Ok(_) => return Ok(true),
                Err(Error::MessageNotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Removes the memories of these threads, of one account, whose last source was deleted. Should that fail, reads
    /// pass over them all the same, and garbage collection removes them.
    pub(crate) async fn forget_sources(&self, account: &Account, threads: &[ThreadId]) {
        let forget = async {
            for document in self.all_memories(account).await? {
                let (_, kept) = read(&document)?;
                if kept.thread.is_some_and(|thread| threads.contains(&thread)) {
                    self.forget_if_gone(document, &kept).await?;
                }
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = forget.await {
            tracing::warn!(%error, "memories of deleted messages were not removed yet");
        }
    }

    /// Removes the memories of a project that was deleted.
    pub(crate) async fn forget_project(&self, project: &str) -> Result<()> {
        for document in self.all_memories(&self.caller.account).await? {
            if read(&document)?.1.project.as_deref() == Some(project) {
                self.shared.stores.registry.unregister(RegistryKind::Memory, document.id).await?;
            }
        }
        Ok(())
    }

    /// Removes memories of all accounts whose last source was deleted, or whose project is gone.
    pub(crate) async fn sweep_memories(&self) -> Result<()> {
        let mut after = None;
        loop {
            let query = RegistryQuery { kind: RegistryKind::Memory, account: None, after, limit: READ_AT_ONCE };
            let some = self.shared.stores.registry.registry(query).await?;
            let Some(last) = some.last() else { return Ok(()) };
            after = Some(last.id.clone());
            for document in some {
                let (_, kept) = read(&document)?;
                self.forget_if_gone(document, &kept).await?;
            }
        }
    }

    async fn forget_if_gone(&self, document: Registered, kept: &Kept) -> Result<()> {
        if self.is_gone(&document.account, kept).await? {
            self.shared.stores.registry.unregister(RegistryKind::Memory, document.id).await?;
        }
        Ok(())
    }

    /// Whether nothing can bring it back. A source that a rollback or a truncation hides is shown again after an undo.
    async fn is_gone(&self, account: &Account, kept: &Kept) -> Result<bool> {
        if let Some(project) = &kept.project {
            let wanted = vec![project_place(account, project)];
            if self.shared.stores.registry.registered(RegistryKind::Project, wanted).await?.is_empty() {
                return Ok(true);
            }
        }
        let Some(thread) = kept.thread.filter(|_| !kept.edited && !kept.sources.is_empty()) else { return Ok(false) };
        let Some(thread) = self.thread_of(account, thread).await? else { return Ok(true) };
        let seen = self.what_shows(thread).await?;
        for source in &kept.sources {
            match self.message_id(*source).await {
                Ok(message) if seen.has_deleted(message) => {}
                Ok(_) => return Ok(false),
                Err(Error::MessageNotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
