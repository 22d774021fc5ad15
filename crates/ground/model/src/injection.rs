//! Injections: information for the agent that works on a thread, by type and urgency.

use serde::{Deserialize, Serialize};

use crate::text::{from_words, words};

/// The type of an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InjectionType {
    /// Information for the executor to consider.
    Data,
    /// A rule that the work has to follow.
    Constraint,
    /// An opinion on the work.
    Feedback,
    /// A new order of importance.
    Priority,
}

words!(InjectionType: Data "data", Constraint "constraint", Feedback "feedback", Priority "priority");
from_words!(InjectionType, "type");

/// How soon an injection is delivered.
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

words!(Urgency: Immediate "immediate", NextStep "next_step");
from_words!(Urgency, "urgency");
