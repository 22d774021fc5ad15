//! What is wrong with a definition, and where.

use std::fmt;

use super::{Kind, Name};

/// Mistakes of spelling up to which a name is suggested.
const MISTAKES_MAX: usize = 3;

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file, from the folder of definitions.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The rule that it breaks.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.what)
    }
}

/// Why a definition cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problems {
    /// There is none of this name.
    #[error("there is no {kind} '{name}'{}", .near.as_ref().map(|near| format!("; did you mean '{near}'?")).unwrap_or_default())]
    NotFound {
        /// The word for its kind.
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// The name that is spelled most alike.
        near: Option<String>,
    },
    /// It, or something it reaches, is broken.
    #[error("the {kind} '{name}' cannot be used: {}", .problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))]
    Invalid {
        /// The word for its kind.
        kind: &'static str,
        /// Its name.
        name: String,
        /// All that is wrong with what it reaches.
        problems: Vec<Problem>,
    },
}

impl Problems {
    pub(super) fn not_found(kind: Kind, name: &str, near: Option<String>) -> Self {
        Self::NotFound { kind: kind.word(), name: name.to_owned(), near }
    }

    /// A definition that has the shape of another kind. Each folder has one shape, so this is never seen.
    pub(super) fn misplaced(name: &Name) -> Self {
        Self::Invalid { kind: name.kind.word(), name: name.text(), problems: Vec::new() }
    }
}

/// The candidate that is spelled most alike, if one is near.
pub(super) fn nearest(name: &str, candidates: impl Iterator<Item = impl Into<String>>) -> Option<String> {
    candidates
        .map(Into::into)
        .map(|candidate: String| (strsim::damerau_levenshtein(name, &candidate), candidate))
        .filter(|(mistakes, candidate)| *mistakes <= MISTAKES_MAX.min(candidate.len() / 2))
        .min()
        .map(|(_, candidate)| candidate)
}

/// `; did you mean 'x'?`, if something is near.
pub(super) fn suggestion(near: Option<String>) -> String {
    near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default()
}
