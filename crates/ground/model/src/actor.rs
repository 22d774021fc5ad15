//! Accounts own threads, actors act for them, and callers are both.

use serde::{Deserialize, Serialize};

use crate::{Invalid, identity};

/// The name of an account. Accounts own threads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Account(String);

impl Account {
    /// Longest account or actor name, in bytes.
    pub const NAME_BYTES_MAX: usize = 255;

    /// The account of the library and the bare command line.
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    /// The account of visitors, which owns no thread. No name makes this account.
    pub fn nobody() -> Self {
        Self(String::new())
    }

    /// Whether this is the account of visitors.
    pub fn is_nobody(&self) -> bool {
        self.0.is_empty()
    }

    /// An account by its name.
    ///
    /// # Errors
    /// If the name breaks a rule of an [`identity`].
    pub fn new(name: impl Into<String>) -> Result<Self, Invalid> {
        identity("account", name.into(), Self::NAME_BYTES_MAX).map(Self)
    }

    /// An account as a store kept it. Earlier versions accepted more names.
    ///
    /// # Errors
    /// If the name is empty: visitors own nothing.
    pub fn stored(name: impl Into<String>) -> Result<Self, Invalid> {
        let name = name.into();
        if name.is_empty() { Err(Invalid::parameter("account", "has no name")) } else { Ok(Self(name)) }
    }

    /// The name; empty for visitors.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The types of actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A person, who may do everything.
    Human,
    /// A program that acts for a goal.
    Agent,
    /// Threadkeep itself, for example a timeout.
    System,
}

impl ActorKind {
    /// The code on disk.
    pub fn code(self) -> u8 {
        match self {
            Self::Human => 0,
            Self::Agent => 1,
            Self::System => 2,
        }
    }

    /// The kind by its code on disk.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Human, Self::Agent, Self::System].into_iter().find(|kind| kind.code() == code)
    }
}

/// An actor: a person, an agent or Threadkeep itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Actor {
    /// Human, agent or system.
    #[serde(rename = "type")]
    pub kind: ActorKind,
    /// The actor's name within its account.
    pub name: String,
}

impl Actor {
    /// An actor of `kind` called `name`.
    ///
    /// # Errors
    /// If the name breaks a rule of an [`identity`].
    pub fn new(kind: ActorKind, name: impl Into<String>) -> Result<Self, Invalid> {
        Ok(Self { kind, name: identity("actor", name.into(), Account::NAME_BYTES_MAX)? })
    }

    /// Refuses a name that [`Actor::new`] would refuse.
    ///
    /// # Errors
    /// Names the rule.
    pub fn checked(&self) -> Result<(), Invalid> {
        identity("actor", self.name.as_str(), Account::NAME_BYTES_MAX).map(drop)
    }
}

/// The account and the actor of an operation. Both are written to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The account that answers for it.
    pub account: Account,
    /// The actor that does it.
    pub actor: Actor,
    /// The cause of the operation, such as an effect or a run, if it has one.
    pub cause: Option<String>,
}

impl Caller {
    /// A visitor without an account.
    pub fn nobody() -> Self {
        let actor = Actor { kind: ActorKind::Human, name: "anonymous".to_owned() };
        Self { account: Account::nobody(), actor, cause: None }
    }

    /// The caller of the library and the bare command line: account and actor `local`.
    pub fn local() -> Self {
        let actor = Actor { kind: ActorKind::Human, name: "local".to_owned() };
        Self { account: Account::local(), actor, cause: None }
    }
}
