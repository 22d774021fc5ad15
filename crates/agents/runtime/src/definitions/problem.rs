//! What is wrong with a definition, and where.

use std::fmt;

use threadkeep_sandbox::Failure;

use super::place::line_and_column;
use super::{Definitions, Kind, Name};

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
pub(crate) fn nearest(name: &str, candidates: impl Iterator<Item = impl Into<String>>) -> Option<String> {
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

/// Where a definition that is code, or a request, says a field: file, line and column.
pub(crate) fn position_of(all: &Definitions, name: &Name, field: &str) -> (String, usize, usize) {
    let Some(source) = all.source(name) else { return (name.text(), 1, 1) };
    let after = |at: usize| source.text[at + field.len()..].trim_start().starts_with([':', '=', ',']);
    let found = source.text.match_indices(field).map(|(at, _)| at).find(|at| !field.is_empty() && after(*at));
    let (line, column) = line_and_column(&source.text, found.unwrap_or_default());
    (source.file.clone(), line, column)
}

/// A problem that a worker found while it loaded a definition.
pub(crate) fn problem_in(all: &Definitions, name: &Name, failure: &Failure, what: &str) -> Problem {
    // A mistake in a field ends with its name, behind a null.
    if let Some((what, field)) = what.split_once('\0') {
        let (file, line, column) = position_of(all, name, field);
        return Problem { file, line, column, what: what.to_owned() };
    }
    let own = all.source(name).map(|source| source.file.clone()).unwrap_or_default();
    let known = failure.filename.clone().filter(|file| all.sources().any(|(_, source)| source.file == *file));
    let place = known.is_some().then(|| (failure.line.unwrap_or(1) as usize, failure.column.unwrap_or(1) as usize));
    let (line, column) = place.unwrap_or((1, 1));
    Problem { file: known.unwrap_or(own), line, column, what: what.to_owned() }
}
