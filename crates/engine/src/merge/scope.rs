//! The scope of a merge: files by globs, values by key prefixes.

use threadkeep_model::Invalid;
use threadkeep_tree::Glob;

/// The prefix of a scope item for values.
const VALUES: &str = "kv:";

/// The files and values that a merge covers.
pub(crate) struct Scope {
    /// Every file if there is none.
    files: Option<Vec<Glob>>,
    /// Every value if there is none.
    values: Option<Vec<String>>,
}

impl Scope {
    /// Reads a scope. An empty one is everything; one that names anything is that alone.
    pub(crate) fn read(items: &[String]) -> Result<Self, Invalid> {
        if items.is_empty() {
            return Ok(Self::everything());
        }
        let (mut files, mut values) = (Vec::new(), Vec::new());
        for item in items {
            match item.strip_prefix(VALUES) {
                Some(prefix) => values.push(prefix.to_owned()),
                None => files.push(
                    Glob::new(item).map_err(|error| Invalid::body("artifactScope", format!("'{item}': {error}")))?,
                ),
            }
        }
        Ok(Self { files: Some(files), values: Some(values) })
    }

    pub(crate) fn everything() -> Self {
        Self { files: None, values: None }
    }

    /// Whether it is about all there is.
    pub(crate) fn is_everything(&self) -> bool {
        self.files.is_none() && self.values.is_none()
    }

    /// Whether it is about the file at `path`.
    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.files.as_ref().is_none_or(|globs| globs.iter().any(|glob| glob.matches(path)))
    }

    /// Whether it is about the value under `key`.
    pub(crate) fn has_value(&self, key: &str) -> bool {
        self.values.as_ref().is_none_or(|prefixes| prefixes.iter().any(|prefix| key.starts_with(prefix)))
    }

    /// Whether it is about any file at all.
    pub(crate) fn has_files(&self) -> bool {
        self.files.as_ref().is_none_or(|globs| !globs.is_empty())
    }

    /// Whether it is about any value at all.
    pub(crate) fn has_values(&self) -> bool {
        self.values.as_ref().is_none_or(|prefixes| !prefixes.is_empty())
    }
}
