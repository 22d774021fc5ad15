//! Accounts own threads, actors act for them, and callers are both.

use serde::{Deserialize, Serialize};

use crate::{Invalid, strip_nulls};

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
    /// If the name is blank or longer than [`Account::NAME_BYTES_MAX`].
    pub fn new(name: impl Into<String>) -> Result<Self, Invalid> {
        named("account", name.into()).map(Self)
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
    /// A person.
    Human,
    /// A program that acts for a goal.
    Agent,
    /// Threadkeep itself.
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
    /// If the name is blank or longer than [`Account::NAME_BYTES_MAX`].
    pub fn new(kind: ActorKind, name: impl Into<String>) -> Result<Self, Invalid> {
        Ok(Self { kind, name: named("actor", name.into())? })
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

fn named(field: &str, name: String) -> Result<String, Invalid> {
    let name = strip_nulls(name);
    if name.trim().is_empty() {
        return Err(Invalid::parameter(field, "a name must not be blank"));
    }
    if name.len() > Account::NAME_BYTES_MAX {
        let rule = format!("a name has at most {} bytes", Account::NAME_BYTES_MAX);
        return Err(Invalid::parameter(field, rule));
    }
    Ok(name)
}
