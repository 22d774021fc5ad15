//! Projects: groups of threads of an account, with the sandbox they work in.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use threadkeep_calls::{Project, Sandbox};
use threadkeep_model::{Account, Invalid, Timestamp, identity, strip_nulls};
use threadkeep_store::{BoxFuture, Registered, RegistryKind, RegistryQuery, StoreError};

use crate::{Engine, Result};

/// Longest id of a project, in bytes.
const ID_BYTES_MAX: usize = 255;
/// Longest name of a project or its icon, in bytes.
const NAME_BYTES_MAX: usize = 1_024;
/// Largest configuration of a sandbox, in bytes.
const CONFIG_BYTES_MAX: usize = 64 << 10;

/// The fields of a project, as the registry keeps them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Details {
    /// A name for people.
    name: String,
    /// The name of an icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    icon_name: Option<String>,
    /// The sandbox that its threads work in. It may hold passwords: only the owner ever sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<Sandbox>,
}

impl Details {
    fn of(self, id: String, created_at: Timestamp) -> Project {
        let Self { name, icon_name, sandbox } = self;
        Project { id, name, icon_name, sandbox, created_at }
    }

    fn checked(mut self) -> Result<Self, Invalid> {
        self.name = strip_nulls(self.name);
        if self.name.trim().is_empty() {
            return Err(Invalid::body("name", "must not be blank"));
        }
        let texts = [("name", Some(&self.name)), ("iconName", self.icon_name.as_ref())];
        let sandbox = self.sandbox.as_ref();
        let texts = texts.into_iter().chain([("sandbox.externalId", sandbox.map(|sandbox| &sandbox.external_id))]);
        for (field, text) in texts {
            if text.is_some_and(|text| text.len() > NAME_BYTES_MAX) {
                return Err(Invalid::body(field, format!("has at most {NAME_BYTES_MAX} bytes")));
            }
        }
        let config = sandbox.and_then(|sandbox| sandbox.config.as_ref());
        if config.is_some_and(|config| config.as_str().len() > CONFIG_BYTES_MAX) {
            return Err(Invalid::body("sandbox.config", format!("has at most {CONFIG_BYTES_MAX} bytes of JSON")));
        }
        Ok(self)
    }
}

/// Ids are an account's own: two accounts may have a project of the same id.
pub(crate) fn place(account: &Account, id: &str) -> String {
    format!("{}:{}:{id}", account.as_str().len(), account.as_str())
}

impl Engine {
    fn read_project(&self, document: &Registered) -> Result<Project> {
        let damaged = |what: String| StoreError::corrupt(format!("project {}: {what}", document.id));
        let details: Details = serde_json::from_str(&document.json).map_err(|error| damaged(error.to_string()))?;
        let id = document.id.strip_prefix(&place(&self.caller.account, ""));
        let id = id.ok_or_else(|| damaged("belongs to another account".into()))?.to_owned();
        Ok(details.of(id, document.created))
    }

    /// Makes a project of the account, or replaces its fields. Without an id it gets one.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn put_project(
        &self,
        id: Option<String>,
        name: String,
        icon_name: Option<String>,
        sandbox: Option<Sandbox>,
    ) -> BoxFuture<'_, Result<Project>> {
        Box::pin(async move {
            let details = Details { name, icon_name, sandbox }.checked()?;
            let id = id.unwrap_or_else(|| format!("{:032x}", self.shared.world.chance()));
            let id = identity("id", id, ID_BYTES_MAX).map_err(|invalid| Invalid::body("id", invalid.rule))?;
            if id.contains('/') {
                return Err(Invalid::body("id", "has no slash").into());
            }
            let account = self.caller.account.clone();
            let json = serde_json::to_string(&details).map_err(|error| StoreError::corrupt(error.to_string()))?;
            let kind = RegistryKind::Project;
            let document = Registered { kind, id: place(&account, &id), account, json, created: self.shared.now() };
            let created = document.created;
            self.shared.stores.registry.register(document).await?;
            Ok(self.project(&id).await?.unwrap_or_else(|| details.of(id, created)))
        })
    }

    /// A project of the account.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn project<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Project>>> {
        Box::pin(async move {
            if id.len() > ID_BYTES_MAX {
                return Ok(None);
            }
            let wanted = vec![place(&self.caller.account, id)];
            let found = self.shared.stores.registry.registered(RegistryKind::Project, wanted).await?;
            found.first().map(|document| self.read_project(document)).transpose()
        })
    }

    /// The projects of the account with these ids, in one read; those that are not there are left out.
    pub(crate) async fn projects_with(&self, ids: BTreeSet<&str>) -> Result<HashMap<String, Arc<Project>>> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let wanted = ids.into_iter().map(|id| place(&self.caller.account, id)).collect();
        let found = self.shared.stores.registry.registered(RegistryKind::Project, wanted).await?;
        let named = |document| self.read_project(document).map(|project| (project.id.clone(), Arc::new(project)));
        found.iter().map(named).collect()
    }

    /// Up to `limit` projects of the account after this id, in the order of their ids.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn projects<'a>(&'a self, after: Option<&'a str>, limit: usize) -> BoxFuture<'a, Result<Vec<Project>>> {
        Box::pin(async move {
            let account = self.caller.account.clone();
            let after = Some(place(&account, after.unwrap_or_default()));
            let query = RegistryQuery { kind: RegistryKind::Project, account: Some(account), after, limit };
            let found = self.shared.stores.registry.registry(query).await?;
            found.iter().map(|document| self.read_project(document)).collect()
        })
    }

    /// Deletes a project of the account with its memories; its threads stay. False if there is none.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn delete_project<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let place = place(&self.caller.account, id);
            let deleted = self.shared.stores.registry.unregister(RegistryKind::Project, place).await?;
            if deleted {
                self.forget_project(id).await?;
            }
            Ok(deleted)
        })
    }
}

#[cfg(test)]
mod tests {
    use threadkeep_model::Json;

    use super::*;

    #[test]
    fn a_project_on_disk_looks_like_this_and_odd_ones_are_refused() {
        let config = Some(Json::parse("config", r#"{"z":1.0,"a":2}"#).expect("json"));
        let sandbox = Some(Sandbox { external_id: "s-1".into(), config });
        let details = Details { name: "P".into(), icon_name: Some("leaf".into()), sandbox };
        let json = r#"{"name":"P","iconName":"leaf","sandbox":{"externalId":"s-1","config":{"z":1.0,"a":2}}}"#;
        assert_eq!(serde_json::to_string(&details).expect("json"), json);
        assert_eq!(serde_json::from_str::<Details>(json).expect("a project"), details);
        let named = |name: &str| Details { name: name.to_owned(), ..details.clone() }.checked();
        assert_eq!(named("a\0b").expect("a name").name, "ab");
        for odd in ["", " ", "\0", &"x".repeat(NAME_BYTES_MAX + 1)] {
            assert_eq!(named(odd).expect_err("refused").field, "name");
        }
    }

    #[test]
    fn two_accounts_never_share_the_place_of_a_project() {
        let account = |name: &str| Account::new(name).expect("an account");
        assert_ne!(place(&account("a"), "b:c"), place(&account("a:b"), "c"));
    }
}
