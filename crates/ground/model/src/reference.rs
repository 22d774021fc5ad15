//! References to other threads: the parts that are read, and whether a reference follows its target.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::{as_text, words};
use crate::{Invalid, strip_nulls};

/// Whether a reference shows its target as it was, or as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// The target as it was when the reference was made.
    #[default]
    Frozen,
    /// The target as it is at each read.
    Live,
}

words!(Binding: Frozen "frozen", Live "live");

/// A part of its target that a reference shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReferenceScope {
    /// All parts of the thread.
    All,
    /// The messages of the thread.
    Messages,
    /// The files of the thread.
    Files,
    /// The values of the thread.
    Values,
    /// The files whose paths match this pattern, such as `src/**`.
    Paths(String),
}

impl ReferenceScope {
    /// Longest pattern, in bytes.
    pub const PATTERN_BYTES_MAX: usize = 1_024;

    /// Most parts of a scope.
    pub const COUNT_MAX: usize = 100;

    /// `scope` in a fixed order, each part once; an empty scope is [`ReferenceScope::All`].
    ///
    /// # Errors
    /// If it has too many parts.
    pub fn checked(mut scope: Vec<Self>) -> Result<Vec<Self>, Invalid> {
        scope.sort();
        scope.dedup();
        if scope.len() > Self::COUNT_MAX {
            return Err(Invalid::body("scope", format!("has at most {} parts", Self::COUNT_MAX)));
        }
        Ok(if scope.is_empty() || scope.contains(&Self::All) { vec![Self::All] } else { scope })
    }
}

impl fmt::Display for ReferenceScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all",
            Self::Messages => "messages",
            Self::Files => "files",
            Self::Values => "kv",
            Self::Paths(pattern) => pattern,
        })
    }
}

impl FromStr for ReferenceScope {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Ok(match text {
            "all" => Self::All,
            "messages" => Self::Messages,
            "files" => Self::Files,
            "kv" => Self::Values,
            pattern => {
                let pattern = strip_nulls(pattern.to_owned());
                if pattern.trim().is_empty() || pattern.len() > Self::PATTERN_BYTES_MAX {
                    let most = Self::PATTERN_BYTES_MAX;
                    let rule = format!("is all, messages, files, kv, or a pattern for paths of 1 to {most} bytes");
                    return Err(Invalid::body("scope", rule));
                }
                Self::Paths(pattern)
            }
        })
    }
}

as_text!(ReferenceScope);
