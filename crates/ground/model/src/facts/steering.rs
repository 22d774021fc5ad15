//! Facts that steer an agent at work: injections and decisions.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::json::is_default;
use crate::{Derived, InjectionType, ItemIs, ItemKind, Json, MessageId, Urgency, Uuid};

/// Information was injected for the agent that works on the thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Injected {
    /// The id of the injection.
    pub id: Uuid,
    /// The type of the information.
    #[serde(rename = "type")]
    pub kind: InjectionType,
    /// The information itself, as any JSON.
    pub content: Json,
    /// How soon the agent shall take it up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub urgency: Urgency,
}

impl Fact for Injected {
    fn derived(&self) -> Derived {
        Derived::there(ItemKind::Injection, &self.id)
    }
}

/// An injection was taken up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InjectionTaken {
    /// The id of the injection.
    pub id: Uuid,
    /// The place of the [`Injected`] entry, which says the rest.
    pub injected: MessageId,
    /// The run that took it up; none if it was acknowledged by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Uuid>,
}

impl Fact for InjectionTaken {
    fn derived(&self) -> Derived {
        let (kind, key) = (ItemKind::InjectionTaken, Some(self.id.to_string()));
        Derived::Item { kind, key, is: ItemIs::InsteadOf(ItemKind::Injection), due: None }
    }
}

/// A question was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decided {
    /// The question as it was asked.
    pub question: String,
    /// The answer that counts from here on.
    pub answer: String,
    /// The reason, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Fact for Decided {
    fn derived(&self) -> Derived {
        // The key is the place of the entry, not the question: where an answer is undone, the one before it counts
        // again.
        Derived::Item { kind: ItemKind::Decision, key: None, is: ItemIs::There, due: None }
    }
}
