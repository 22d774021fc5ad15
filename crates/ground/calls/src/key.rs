//! Keys: who speaks for an account, and what they may do; tickets for browsers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Account, Actor, ActorKind, Invalid, ThreadId, Timestamp, Version};

use crate::call::{Declaration, Honours, Needs};
use crate::group::KEYS;
use crate::object::account;
use crate::shape::paged;

/// The rights of a key. Each scope includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// May read, and change nothing.
    Read,
    /// May read and write.
    Write,
    /// Everything, upkeep and keys too.
    Admin,
}

impl Scope {
    /// The scope as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl std::str::FromStr for Scope {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let all = [Self::Read, Self::Write, Self::Admin];
        let found = all.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| Invalid::parameter("scope", format!("'{text}' is not a scope: read, write or admin")))
    }
}

/// A key: `{id, account, name, type, scope, createdAt, expiresAt?, revokedAt?}`, never its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Its id, which is no secret.
    pub id: String,
    /// The account it speaks for.
    pub account: Account,
    /// The name of the person or program that uses it.
    pub name: String,
    /// Whether a human or an agent does.
    #[serde(rename = "type")]
    pub kind: ActorKind,
    /// The rights of the key.
    pub scope: Scope,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// A key that was just made, with its secret, which is told this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedKey {
    /// The secret, as requests carry it.
    pub key: String,
    /// What is known of it.
    #[serde(flatten)]
    pub about: Key,
}

/// Creates an API key for an account.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewKey")]
pub struct CreateKey {
    /// The account it speaks for.
    #[serde(deserialize_with = "account")]
    #[schemars(with = "String", length(max = 255), regex(pattern = threadkeep_model::schema::IDENTITY))]
    pub account: Account,
    /// The rights of the key. Default: `write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Who uses it. Default: the account's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255), regex(pattern = threadkeep_model::schema::IDENTITY))]
    pub name: Option<String>,
    /// Whether an agent uses it.
    #[serde(default)]
    pub agent: bool,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl CreateKey {
    pub(crate) const DECLARATION: Declaration = Declaration::post(("create-key", "createKey"), "/v1/keys", KEYS)
        .about("Makes a key. Only this answer has its secret.")
        .creates("The key, with its secret.")
        .needs(Needs::Admin)
        .honours(Honours::NOTHING)
        .identities(&["account", "name"])
        .example(r#"{"account":"ann","scope":"write","name":"ann's laptop"}"#);
}

paged! {
    /// Lists the keys, without their secrets.
    ListKeys = Declaration::get(("keys", "listKeys"), "/v1/keys", KEYS)
        .about("Lists the keys, without their secrets.")
        .gives("A page of keys.")
        .needs(Needs::Admin);
}

/// Revokes a key; its streams end.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeKey {
    /// The id of the key.
    #[schemars(skip)]
    pub key: String,
}

impl RevokeKey {
    pub(crate) const DECLARATION: Declaration =
        Declaration::delete(("revoke-key", "revokeKey"), "/v1/keys/{key}", KEYS)
            .about("Revokes a key; its streams end.")
            .gives("Whether there was such a key, and it held.")
            .needs(Needs::Admin)
            .honours(Honours::NOTHING);
}

/// Whether a key was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revoked {
    /// False if there was no such key, or it was revoked already.
    pub revoked: bool,
}

/// The caller, as its key tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Me {
    /// The account that the key belongs to.
    pub account: Account,
    /// The actor that the log names for changes with this key.
    pub actor: Actor,
    /// The rights of the key.
    pub scope: Scope,
    /// The version of the server.
    pub version: String,
}

/// A change of a thread, as the stream over an account tells it. The thread itself tells what changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Where to resume.
    pub cursor: String,
    /// The thread that changed.
    pub thread_id: ThreadId,
    /// Its version with this change; absent where it was created or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The kind of the entry, `thread_created` or `thread_deleted`.
    pub kind: String,
}

/// A link that signs a browser in, once.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignIn {
    /// The address that signs a browser in, once.
    pub url: String,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// A stream to open with a ticket.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTicket {
    /// Its path, without a query.
    #[schemars(regex(pattern = "^/v1/[^?]*/(stream|ws)$|^/v1/stream$"))]
    pub path: String,
}

/// A ticket for one opening of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    /// To be sent as `?ticket=`.
    pub ticket: String,
    /// The path it opens.
    pub path: String,
    /// When it expires.
    pub expires_at: Timestamp,
}
