//! Effects: work that runs later, by the name of its handler.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::text::{as_text, words};

/// The name of an effect, such as `send_reminder`, or `{packageId}/send_reminder` for one of a package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectName(String);

impl EffectName {
    /// Longest name, in bytes.
    pub const BYTES_MAX: usize = 255;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EffectName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fits = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte))
        };
        if text.len() > Self::BYTES_MAX || !text.split('/').all(fits) {
            let max = Self::BYTES_MAX;
            let rule = format!("has 1 to {max} letters, digits, '_', '-', '.' or '@', in parts separated by '/'");
            return Err(Invalid::body("name", rule));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for EffectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(EffectName);

/// How an effect ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectOutcome {
    /// Its handler succeeded.
    Completed,
    /// Its handler failed each time, or every process that ran it broke off.
    Failed,
    /// It was removed before it ran, or its thread took no more work.
    Cancelled,
}

words!(EffectOutcome: Completed "completed", Failed "failed", Cancelled "cancelled");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_name_a_package() {
        for name in ["a", "send_reminder", "pack/send-reminder", "@scope/pack/x.y", &"a".repeat(255)] {
            assert_eq!(name.parse::<EffectName>().expect(name).as_str(), name);
        }
        for name in ["", "/", "a/", "/a", "a//b", "a b", "ä", "a\0", "a\n", &"a".repeat(256)] {
            assert_eq!(name.parse::<EffectName>().expect_err(name).field, "name");
        }
    }
}
