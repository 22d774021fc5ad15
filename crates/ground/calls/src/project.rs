//! Projects: groups of threads of one account, with the sandbox they work in. Only their account sees them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::schema::{IDENTITY, NOT_BLANK};
use threadkeep_model::{Invalid, Json, Timestamp};

use crate::call::{Declaration, Honours};
use crate::group::PROJECTS;
use crate::object::object;
use crate::shape::{paged, shaped};
use crate::{ErrorCode, asked};

/// Longest name of a project or its icon, in bytes.
const NAME_BYTES_MAX: usize = 1_024;

/// A project, as its owner sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub sandbox: Option<Sandbox>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A sandbox, as its operator knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sandbox {
    /// The id of the sandbox at its operator.
    #[schemars(length(max = NAME_BYTES_MAX))]
    pub external_id: String,
    /// How it is reached and set up. It may hold passwords: only the owner of the project sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Json>,
}

macro_rules! details {
    ($($(#[$doc:meta])* $type:ident { $($(#[$id_doc:meta])* $id:ident: $id_type:ty)? } = $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        #[schemars(rename = "PutProject")]
        pub struct $type {
            $($(#[$id_doc])* pub $id: $id_type,)?
            /// Its id; a new one by default.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(length(min = 1, max = 255), regex(pattern = IDENTITY))]
            pub id: Option<String>,
            /// A name for people.
            #[schemars(length(max = NAME_BYTES_MAX), regex(pattern = NOT_BLANK))]
            pub name: String,
            /// The name of an icon.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(length(max = NAME_BYTES_MAX))]
            pub icon_name: Option<String>,
            /// The sandbox that its threads work in.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object")]
            pub sandbox: Option<Sandbox>,
        }

        impl $type {
            pub(crate) const DECLARATION: Declaration = $declaration;
        }
    )*};
}

details! {
    /// Creates a project in the account.
    CreateProject {} = Declaration::post(("create-project", "createProject"), "/v1/projects", PROJECTS)
        .about("Makes a project.")
        .creates("The new project.")
        .honours(Honours::NOTHING)
        .fails(&[ErrorCode::ProjectExists])
        .identities(&["id"])
        .example(r#"{"name":"Website","iconName":"globe"}"#);
    /// Makes a project of this id, or replaces what it says of itself.
    PutProject {
        /// The id, as the path names it.
        #[schemars(skip)]
        project: String
    } = Declaration::put(("put-project", "putProject"), "/v1/projects/{project}", PROJECTS)
        .about("Makes a project with this id, or replaces its fields.")
        .gives("The project as it is now.")
        .honours(Honours::NOTHING)
        .never(ErrorCode::ProjectNotFound)
        .identities(&["id"])
        .example(r#"{"name":"Website","iconName":"globe"}"#);
}

/// Replaces fields of a project; null clears one.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateProject {
    /// The id of the project.
    pub project: String,
    /// The fields, by their names on the wire.
    pub fields: BTreeMap<String, Json>,
}

impl UpdateProject {
    pub(crate) const DECLARATION: Declaration =
        Declaration::patch(("update-project", "updateProject"), "/v1/projects/{project}", PROJECTS)
            .about("Replaces fields of a project; null clears one.")
            .gives("The project as it is now.")
            .honours(Honours::NOTHING)
            .repeats()
            .example(r#"{"iconName":null}"#);

    /// The project with these changes.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn applied_to(self, mut project: Project) -> Result<Project, Invalid> {
        for (field, json) in self.fields {
            let wrong = |error: serde_json::Error| Invalid::body(field.as_str(), error.to_string());
            match field.as_str() {
                "name" => project.name = json.read().map_err(wrong)?,
                "iconName" => project.icon_name = json.read().map_err(wrong)?,
                "sandbox" => {
                    let mut from = serde_json::Deserializer::from_str(json.as_str());
                    project.sandbox = object(&mut from).map_err(wrong)?;
                }
                _ => return Err(Invalid::body(field.as_str(), "is not a field of a project that can be changed")),
            }
        }
        Ok(project)
    }
}

impl Serialize for UpdateProject {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("project", &self.project)?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for UpdateProject {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut fields = BTreeMap::<String, Json>::deserialize(from)?;
        let project = fields.remove("project").and_then(|project| project.read().ok());
        let missing = || asked::refuse(&Invalid::parameter("project", "names no project"));
        Ok(Self { project: project.ok_or_else(missing)?, fields })
    }
}

/// The fields of a project; null clears a field.
#[derive(JsonSchema, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "ProjectFields")]
#[allow(dead_code, reason = "its fields are the documentation")]
struct ProjectFields {
    /// A name for people.
    #[schemars(length(max = NAME_BYTES_MAX), regex(pattern = NOT_BLANK))]
    name: String,
    /// The name of an icon.
    #[schemars(length(max = NAME_BYTES_MAX))]
    icon_name: Option<String>,
    /// The sandbox that its threads work in.
    sandbox: Option<Sandbox>,
}

shaped! {
    UpdateProject as ProjectFields, "ProjectChanges";
}

macro_rules! by_project {
    ($($(#[$doc:meta])* $name:ident = $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// The id of the project.
            #[schemars(skip)]
            pub project: String,
        }

        impl $name {
            pub(crate) const DECLARATION: Declaration = $declaration;
        }
    )*};
}

by_project! {
    /// Shows one project by its id.
    GetProject = Declaration::get(("project", "getProject"), "/v1/projects/{project}", PROJECTS)
        .about("Shows a project.")
        .gives("The project.");
    /// Deletes a project; its threads stay.
    DeleteProject = Declaration::delete(("delete-project", "deleteProject"), "/v1/projects/{project}", PROJECTS)
        .about("Deletes a project; its threads stay.")
        .gives("Whether there was one.")
        .honours(Honours::NOTHING)
        .never(ErrorCode::ProjectNotFound);
}

paged! {
    /// Lists the account's projects.
    ListProjects = Declaration::get(("projects", "listProjects"), "/v1/projects", PROJECTS)
        .about("Lists the account's projects, in the order of their ids.")
        .gives("A page of projects.");
}
