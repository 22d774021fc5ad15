//! Variables of a thread: their names and types. The values lie outside the log, sealed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::{as_text, from_words, words};
use crate::{Invalid, Uuid};

/// The name of a variable: a letter or `_`, then letters, digits, `_`, `-` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnvName(String);

impl EnvName {
    /// Longest name, in bytes.
    pub const BYTES_MAX: usize = 128;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EnvName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if !begins || text.len() > Self::BYTES_MAX || !text.bytes().all(fits) {
            let rule = format!(
                "has 1 to {} letters, digits, '_', '-' or '.', and begins with a letter or '_'",
                Self::BYTES_MAX
            );
            return Err(Invalid::parameter("name", rule));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(EnvName);

/// Whether the value of a variable may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EnvType {
    /// It may be shown.
    Text,
    /// It is kept out of texts that leave the program.
    #[default]
    Secret,
}

words!(EnvType: Text "text", Secret "secret");
from_words!(EnvType, "type");

/// A variable of a thread, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Variable {
    /// Whether its value may be shown.
    #[serde(rename = "type")]
    pub kind: EnvType,
    /// Names the sealed value. Each change of the value has a new one.
    pub generation: Uuid,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_environment_variables() {
        for name in ["A", "_", "API_KEY", "db.url", "x-1", &"A".repeat(128)] {
            assert_eq!(name.parse::<EnvName>().expect(name).as_str(), name);
        }
        for name in ["", "1A", "-a", "A B", "A/B", "Ä", "A\0", &"A".repeat(129)] {
            assert_eq!(name.parse::<EnvName>().expect_err(name).field, "name");
        }
    }
}
