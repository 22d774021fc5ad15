//! Files and values that a reference shows: those of its target, as they were or as they are, as far as its scope goes.

use threadkeep_calls::Value;
use threadkeep_model::{Capability, FilePath, ReferenceScope, Uuid, ValueKey, Version};
use threadkeep_store::BoxFuture;
use threadkeep_tree::Glob;

use super::Values;
use super::{FileRecord, LOOKED_AT};
use crate::ground::view::View;
use crate::reference::{Referred, gone};
use crate::{Engine, Error, Files, Result, Verb};

/// A page of a reference's files or values.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferredPage<T, N> {
    /// The files or values of the page.
    pub items: Vec<T>,
    /// Where the next page begins; none at the end.
    pub next: Option<N>,
    /// The version of the target that was read.
    pub version: Version,
}

/// The paths that a reference shows.
enum Paths {
    All,
    Fitting(Vec<Glob>),
}

impl Paths {
    fn of(scope: &[ReferenceScope]) -> Self {
        if scope.iter().any(|part| matches!(part, ReferenceScope::All | ReferenceScope::Files)) {
            return Self::All;
        }
        // An invalid pattern matches nothing.
        let pattern = |part: &ReferenceScope| match part {
            ReferenceScope::Paths(pattern) => Glob::new(pattern).ok(),
            ReferenceScope::All | ReferenceScope::Messages | ReferenceScope::Files | ReferenceScope::Values => None,
        };
        Self::Fitting(scope.iter().filter_map(pattern).collect())
    }

    fn fit(&self, path: &FilePath) -> bool {
        match self {
            Self::All => true,
            Self::Fitting(globs) => globs.iter().any(|glob| glob.matches(path.as_str())),
        }
    }
}

impl Engine {
    /// The file or directory that a reference shows at `path`, if any. A directory shows if something below it does.
    ///
    /// # Errors
    /// [`Error::ReferenceNotFound`]; [`Error::ReferenceGone`]; [`Error::NotAllowed`] if it shows no files.
    pub fn reference_stat<'a>(&'a self, id: Uuid, path: &'a FilePath) -> BoxFuture<'a, Result<Option<FileRecord>>> {
        Box::pin(async move {
            let (view, paths, _) = self.referred_files(id, None).await?;
            match self.stat_in(&view, path).await? {
                Some(found) if self.shows(&view, &paths, &found).await? => Ok(Some(found)),
                _ => Ok(None),
            }
        })
    }

    /// The entries of the directory `path` that a reference shows: directories first, then by name.
    ///
    /// # Errors
    /// [`Error::NotADirectory`]; otherwise as [`Engine::reference_stat`].
    pub fn reference_readdir<'a>(&'a self, id: Uuid, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<FileRecord>>> {
        Box::pin(async move {
            let (view, paths, _) = self.referred_files(id, None).await?;
            let found = match self.stat_in(&view, path).await? {
                Some(found) if !found.is_directory() && !paths.fit(path) => Vec::new(),
                _ => self.readdir_in(&view, path).await?,
            };
            let mut shown = Vec::new();
            for record in found {
                if self.shows(&view, &paths, &record).await? {
                    shown.push(record);
                }
            }
            Ok(shown)
        })
    }

    /// The files that a reference shows, everywhere below a directory. A frozen reference always shows its own
    /// version; a version in `files` has no effect.
    ///
    /// # Errors
    /// [`Error::VersionInFuture`]; otherwise as [`Engine::reference_stat`].
    pub fn reference_files(&self, id: Uuid, files: Files) -> BoxFuture<'_, Result<ReferredPage<FileRecord, FilePath>>> {
        Box::pin(async move {
            let (view, paths, version) = self.referred_files(id, files.as_of).await?;
            let limit = files.limit.unwrap_or(self.shared.limits.page_max);
            let (mut items, mut after) = (Vec::new(), files.after);
            loop {
                let (found, next) = self.files_in(&view, files.below.as_ref(), after.as_ref(), LOOKED_AT).await?;
                for record in found {
                    let is_shown = match &paths {
                        Paths::All => true,
                        Paths::Fitting(_) => !record.is_directory() && paths.fit(&record.path),
                    };
                    if !is_shown {
                        continue;
                    }
                    if items.len() == limit {
                        let next = items.last().map(|last: &FileRecord| last.path.clone());
                        return Ok(ReferredPage { items, next, version });
                    }
                    items.push(record);
                }
                if next.is_none() {
                    return Ok(ReferredPage { items, next: None, version });
                }
                after = next;
            }
        })
    }

    /// The value under `key` that a reference shows; none if there is none.
    ///
    /// # Errors
    /// [`Error::ReferenceNotFound`]; [`Error::ReferenceGone`]; [`Error::NotAllowed`] if it shows no values.
    pub fn reference_value<'a>(&'a self, id: Uuid, key: &'a ValueKey) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async move {
            let (target, version) = self.referred_values(id).await?;
            still_there(id, &target, self.value(target.target, key, version).await)
        })
    }

    /// The values that a reference shows, in the order of their keys. A frozen one shows one version alone.
    ///
    /// # Errors
    /// [`Error::VersionInFuture`]; otherwise as [`Engine::reference_value`].
    pub fn reference_values(&self, id: Uuid, which: Values) -> BoxFuture<'_, Result<ReferredPage<Value, ValueKey>>> {
        Box::pin(async move {
            let (target, version) = self.referred_values(id).await?;
            let version = match version.or(which.as_of) {
                Some(version) => version,
                None => still_there(id, &target, self.head(target.target, Verb::ReadFile).await)?.version,
            };
            let which = Values { as_of: Some(version), ..which };
            let (items, next) = still_there(id, &target, self.values(target.target, which).await)?;
            Ok(ReferredPage { items, next, version })
        })
    }

    async fn referred_values(&self, id: Uuid) -> Result<(Referred, Option<Version>)> {
        let shows = |scope: &ReferenceScope| matches!(scope, ReferenceScope::All | ReferenceScope::Values);
        let referred = self.referred(id, "values", shows).await?;
        let version = referred.version;
        Ok((referred, version))
    }

    /// The view that a reference reads files in, which of them it shows, and the version it is of.
    async fn referred_files(&self, id: Uuid, as_of: Option<Version>) -> Result<(View, Paths, Version)> {
        let shows = |scope: &ReferenceScope| match scope {
            ReferenceScope::All | ReferenceScope::Files | ReferenceScope::Paths(_) => true,
            ReferenceScope::Messages | ReferenceScope::Values => false,
        };
        let referred = self.referred(id, "files", shows).await?;
        self.authorize(referred.target, Capability::Read).await?;
        let head = still_there(id, &referred, self.head(referred.target, Verb::ReadFile).await)?;
        let version = referred.version.or(as_of).unwrap_or(head.version);
        let view = self.view(referred.target, &head, Some(version)).await?;
        Ok((view, Paths::of(&referred.scope), version))
    }

    /// Whether a reference that shows `paths` shows this.
    async fn shows(&self, view: &View, paths: &Paths, record: &FileRecord) -> Result<bool> {
        if matches!(paths, Paths::All) || record.path.is_root() {
            return Ok(true);
        }
        if !record.is_directory() {
            return Ok(paths.fit(&record.path));
        }
        let mut after = None;
        loop {
            let (found, next) = self.files_in(view, Some(&record.path), after.as_ref(), LOOKED_AT).await?;
            if found.iter().any(|below| !below.is_directory() && paths.fit(&below.path)) {
                return Ok(true);
            }
            if next.is_none() {
                return Ok(false);
            }
            after = next;
        }
    }
}

/// The result of a read from a reference's target, which may be deleted or hidden at any moment.
fn still_there<T>(id: Uuid, referred: &Referred, read: Result<T>) -> Result<T> {
    match read {
        Err(Error::ThreadNotFound { .. }) => Err(gone(id, referred.target)),
        read => read,
    }
}
