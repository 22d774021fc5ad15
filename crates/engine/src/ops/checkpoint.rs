//! `checkpoint`: a name for a version.

use threadkeep_calls::{Checkpoint, ListCheckpoints, Page, SetCheckpoint};
use threadkeep_model::{CheckpointSet, Entry, Invalid, ThreadId, strip_nulls};
use threadkeep_store::BoxFuture;

use crate::ground::carry::Carry;
use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

impl Carry for SetCheckpoint {
    type Made = Checkpoint;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Checkpoint> {
        let name = strip_nulls(self.name);
        if name.trim().is_empty() || name.len() > Self::NAME_BYTES_MAX {
            let rule = format!("has 1 to {} bytes and is not blank", Self::NAME_BYTES_MAX);
            return Err(Invalid::body("name", rule).into());
        }
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                let version = thread.head.version;
                // Entries appended meanwhile come after the version that gets the name.
                Ok(Plan::new(thread, vec![Entry::CheckpointSet(CheckpointSet { name: name.clone(), version })]))
            })
            .await?;
        match told.entries.into_iter().next() {
            Some(Entry::CheckpointSet(CheckpointSet { name, version })) => {
                Ok(Checkpoint { name, version, created_at: told.place.time })
            }
            _ => Err(Error::broken("a checkpoint is one entry")),
        }
    }
}

impl Carry for ListCheckpoints {
    type Made = Page<Checkpoint>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<Checkpoint>> {
        let checkpoints = engine.checkpoints(thread).await?;
        engine.part(thread, checkpoints, (self.limit, self.cursor), |item| format!("checkpoint {}", item.name))
    }
}

impl Engine {
    /// The named versions of a thread, oldest first.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn checkpoints(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Checkpoint>>> {
        Box::pin(async move {
            self.thread(thread).await?;
            let found = self.shared.stores.store.checkpoints(thread).await?;
            Ok(found.into_iter().map(Checkpoint::from).collect())
        })
    }
}
