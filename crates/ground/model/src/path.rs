//! Names of files and values: paths and keys.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::text::from_text;
use crate::{Code, Invalid, strip_nulls};

/// The path of a file or directory: absolute, normalised, and never outside the thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct FilePath(String);

impl FilePath {
    /// Longest path, in bytes.
    pub const BYTES_MAX: usize = 1_024;
    /// Longest name of a file or directory, in bytes.
    pub const NAME_BYTES_MAX: usize = 255;

    /// The directory that holds everything.
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// The path as text, with a slash in front and none behind.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is [`FilePath::root`].
    pub fn is_root(&self) -> bool {
        self.0 == "/"
    }

    /// The name of the file or directory; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(_, name)| name)
    }

    /// The directories above it, the nearest first, without the root.
    pub fn ancestors(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            let (above, _) = rest.rsplit_once('/')?;
            rest = above;
            (!above.is_empty()).then_some(above)
        })
    }

    /// The beginning of every path below it: the path and a slash.
    pub fn prefix(&self) -> String {
        if self.is_root() { self.0.clone() } else { format!("{}/", self.0) }
    }

    /// This path moved from below `from` to below `to`; none if it is not below `from`.
    pub fn moved(&self, from: &FilePath, to: &FilePath) -> Option<Result<FilePath, Invalid>> {
        if self == from {
            return Some(Ok(to.clone()));
        }
        let rest = self.0.strip_prefix(&from.prefix())?;
        Some(format!("{}{rest}", to.prefix()).parse())
    }
}

impl FromStr for FilePath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let refused = |rule: String| Err(Invalid::parameter("path", rule));
        if text.len() > 4 * Self::BYTES_MAX {
            return refused(format!("has at most {} bytes", Self::BYTES_MAX));
        }
        if text.chars().any(char::is_control) {
            return refused("must not hold control characters".to_owned());
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        let rule = format!("'{text}' leads out of the thread: '..' goes no higher than '/'");
                        return Err(Invalid::new(Code::PathEscapesRoot, "path", rule));
                    }
                }
                name if name.len() > Self::NAME_BYTES_MAX => {
                    return refused(format!("has names of at most {} bytes", Self::NAME_BYTES_MAX));
                }
                name => parts.push(name),
            }
        }
        let path = format!("/{}", parts.join("/"));
        if path.len() > Self::BYTES_MAX {
            return refused(format!("has at most {} bytes", Self::BYTES_MAX));
        }
        Ok(Self(path))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key of a value: 1 to 512 bytes of text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ValueKey(String);

impl ValueKey {
    /// Longest key, in bytes.
    pub const BYTES_MAX: usize = 512;
    /// Begins the names that the engine itself uses among values. No key does.
    pub const RESERVED: char = '\u{1}';

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ValueKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = strip_nulls(text.to_owned());
        if text.is_empty() || text.len() > Self::BYTES_MAX {
            return Err(Invalid::parameter("key", format!("has 1 to {} bytes", Self::BYTES_MAX)));
        }
        if text.starts_with(Self::RESERVED) {
            return Err(Invalid::parameter("key", "does not begin with the character U+0001"));
        }
        Ok(Self(text))
    }
}

impl fmt::Display for ValueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

from_text!(FilePath, ValueKey);

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Result<String, &'static str> {
        text.parse::<FilePath>().map(|path| path.to_string()).map_err(|invalid| invalid.code.as_str())
    }

    #[test]
    fn paths_are_normalised_and_stay_inside() {
        for (text, normal) in [
            ("", "/"),
            ("/", "/"),
            ("a", "/a"),
            ("//a///b/", "/a/b"),
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("a/b/../../c", "/c"),
            ("/a\\b", "/a\\b"),
            ("/ä/ß ", "/ä/ß "),
            ("/...", "/..."),
        ] {
            assert_eq!(path(text), Ok(normal.to_owned()), "{text}");
        }
        for text in ["..", "/..", "/a/../..", "a/../../b"] {
            assert_eq!(path(text), Err("path_escapes_root"), "{text}");
        }
        let (long_name, long) = ("x".repeat(256), "/abc".repeat(257));
        for text in ["/a\0b", "/a\nb", &long_name, &long] {
            assert_eq!(path(text), Err("invalid_parameter"), "{text}");
        }
    }

    #[test]
    fn a_path_knows_what_is_above_and_below_it() {
        let path: FilePath = "/a/b/c.txt".parse().expect("a path");
        assert_eq!(path.ancestors().collect::<Vec<_>>(), ["/a/b", "/a"]);
        assert_eq!((path.name(), path.prefix().as_str()), ("c.txt", "/a/b/c.txt/"));
        let (from, to): (FilePath, FilePath) = ("/a".parse().expect("a path"), "/x/y".parse().expect("a path"));
        assert_eq!(
            path.moved(&from, &to).and_then(Result::ok).map(|path| path.to_string()),
            Some("/x/y/b/c.txt".into())
        );
        assert_eq!(path.moved(&"/a/b/c".parse().expect("a path"), &to), None);
        assert_eq!(FilePath::root().ancestors().count(), 0);
    }
}
