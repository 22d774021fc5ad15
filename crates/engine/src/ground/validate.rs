//! Checks of merged trees, by commands of the operator.

use std::collections::HashMap;

use bytes::Bytes;
use threadkeep_model::{BlobId, FilePath, Validation, ValidationResult};
use threadkeep_store::BoxFuture;

use crate::{Engine, Result};

/// Runs the commands that check the result of a merge. The operator of the program configures them; a request
/// never does.
pub trait Validate: Send + Sync {
    /// Runs a check over a tree; none if no command was configured for it.
    fn validate<'a>(
        &'a self,
        what: Validation,
        tree: &'a MergedTree,
    ) -> BoxFuture<'a, Result<Option<ValidationResult>>>;
}

/// The files that a merge would leave.
pub struct MergedTree {
    pub(crate) engine: Engine,
    pub(crate) files: Vec<(FilePath, BlobId)>,
    pub(crate) fresh: HashMap<BlobId, Bytes>,
}

impl MergedTree {
    /// The paths of all files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &FilePath> {
        self.files.iter().map(|(path, _)| path)
    }

    /// The content of the file with this number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn content(&self, number: usize) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move {
            let Some((_, hash)) = self.files.get(number) else { return Ok(Bytes::new()) };
            match self.fresh.get(hash) {
                Some(bytes) => Ok(bytes.clone()),
                None => self.engine.content(*hash, None).await,
            }
        })
    }
}
