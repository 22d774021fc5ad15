//! Keys, projects and tickets on the wire.

use serde::{Deserialize, Serialize};
use threadkeep_engine::{ProjectDetails, Scope};
use threadkeep_model::{Account, ActorKind, Invalid, Timestamp};

/// A key: `{id, account, name, type, scope, createdAt, expiresAt?, revokedAt?}`, never its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Its id, which is no secret.
    pub id: String,
    /// The account it speaks for.
    pub account: Account,
    /// Who uses it.
    pub name: String,
    /// Whether a human or an agent does.
    #[serde(rename = "type")]
    pub kind: ActorKind,
    /// What it may do.
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

impl From<&threadkeep_engine::Key> for Key {
    fn from(key: &threadkeep_engine::Key) -> Self {
        let threadkeep_engine::Key { id, account, actor, scope, created, expires, revoked } = key.clone();
        Self {
            id,
            account,
            name: actor.name,
            kind: actor.kind,
            scope,
            created_at: created,
            expires_at: expires,
            revoked_at: revoked,
        }
    }
}

/// A key that was just made, with its secret, which nobody can read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CreatedKey {
    /// The secret, as requests carry it.
    pub key: String,
    /// What is known of it.
    #[serde(flatten)]
    pub about: Key,
}

/// A key to make.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewKey {
    /// The account it speaks for.
    #[cfg_attr(feature = "schema", schemars(length(max = 255), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub account: String,
    /// What it may do; `write` if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Who uses it; the account's name if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 255), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub name: Option<String>,
    /// Whether an agent does.
    #[serde(default)]
    pub agent: bool,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Whether a key was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Revoked {
    /// False if there was none that held.
    pub revoked: bool,
}

/// A project, as its owner sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Its id within the account.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The name of an icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon_name: Option<String>,
    /// The sandbox that its threads work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<threadkeep_engine::Sandbox>,
    /// When it came into being.
    pub created_at: Timestamp,
}

impl From<&threadkeep_engine::Project> for Project {
    fn from(project: &threadkeep_engine::Project) -> Self {
        let threadkeep_engine::Project { id, details, created } = project.clone();
        let ProjectDetails { name, icon_name, sandbox } = details;
        Self { id, name, icon_name, sandbox, created_at: created }
    }
}

/// A stream to open with a ticket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTicket {
    /// Its path, without a query.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^/v1/[^?]*/(stream|ws)$|^/v1/stream$")))]
    pub path: String,
}

/// A ticket for one opening of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    /// To be sent as `?ticket=`.
    pub ticket: String,
    /// The path it opens.
    pub path: String,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

/// Fields of a project to replace; null clears one.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ProjectChanges(pub std::collections::BTreeMap<String, threadkeep_model::Json>);

impl ProjectChanges {
    /// Reads them from a body.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        crate::parse_body(text).map(Self)
    }

    /// The project with these changes.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn applied_to(self, mut details: ProjectDetails) -> Result<ProjectDetails, Invalid> {
        for (field, json) in self.0 {
            let wrong = |error: serde_json::Error| Invalid::body(field.as_str(), error.to_string());
            match field.as_str() {
                "name" => details.name = json.read().map_err(wrong)?,
                "iconName" => details.icon_name = json.read().map_err(wrong)?,
                "sandbox" => {
                    let mut from = serde_json::Deserializer::from_str(json.as_str());
                    details.sandbox = crate::parse::object(&mut from).map_err(wrong)?;
                }
                _ => return Err(Invalid::body(field.as_str(), "is not a field of a project that can be changed")),
            }
        }
        Ok(details)
    }
}
