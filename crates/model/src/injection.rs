//! Injections: information for the agent that works on a thread, by type and urgency.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// The type of an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InjectionType {
    /// Information to consider.
    Data,
    /// A rule that the work has to follow.
    Constraint,
    /// An opinion on the work.
    Feedback,
    /// A new order of importance.
    Priority,
}

impl InjectionType {
    /// All types, in the order of their documentation.
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
    /// Before all other injections. Followers of the thread are told at once.
    Immediate,
    /// At the next step.
    #[default]
    NextStep,
}

impl Urgency {
    /// All urgencies, the most urgent first.
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
