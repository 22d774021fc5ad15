//! What is put before whoever works on a thread: of what type, and how soon.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// What an injection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InjectionType {
    /// Something to know.
    Data,
    /// Something to keep to.
    Constraint,
    /// What somebody thinks of the work.
    Feedback,
    /// What matters more, or less, from now on.
    Priority,
}

impl InjectionType {
    /// All types.
    pub const ALL: [Self; 4] = [Self::Data, Self::Constraint, Self::Feedback, Self::Priority];

    /// The type as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Constraint => "constraint",
            Self::Feedback => "feedback",
            Self::Priority => "priority",
        }
    }
}

impl FromStr for InjectionType {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            Invalid::parameter("type", format!("'{text}' is not one of {}", Self::ALL.map(Self::as_str).join(", ")))
        })
    }
}

/// How soon an injection shall be taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// Before everything else that waits. Whoever follows the thread hears of it at once.
    Immediate,
    /// With the next step.
    #[default]
    NextStep,
}

impl Urgency {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Immediate, Self::NextStep];

    /// The urgency as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::NextStep => "next_step",
        }
    }
}

impl FromStr for Urgency {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|urgency| urgency.as_str() == text)
            .ok_or_else(|| Invalid::parameter("urgency", format!("'{text}' is not one of immediate, next_step")))
    }
}
