//! `projects`: groups of threads, with the sandbox they work in.

use std::collections::BTreeMap;

use clap::Args;
use threadkeep::{Json, Sandbox};
use threadkeep_calls as calls;
use threadkeep_calls::At;

use crate::context::Context;
use crate::failure::{Failure, nothing_to_change};
use crate::pages::all;
use crate::plain::{Face, Line};
use crate::text::visible;

/// Projects that are read at once.
const PROJECTS_AT_ONCE: usize = 500;

/// Examples for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  threadkeep projects create \"Release 2\" --id release-2
  threadkeep new \"Release notes\" --project-id release-2
  threadkeep ls --project-id release-2
  threadkeep projects update release-2 --clear icon-name";

/// List the projects of the account
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let read = async |cursor| {
            context.client.call(At::none(), calls::ListProjects { limit: Some(PROJECTS_AT_ONCE), cursor }).await
        };
        all(read).await?.print(context)
    }
}

/// Make a project; print its id
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// A name for people
    name: String,
    /// Its id [default: one is made]
    #[arg(long)]
    id: Option<String>,
    /// The name of an icon
    #[arg(long, value_name = "NAME")]
    icon_name: Option<String>,
    #[command(flatten)]
    sandbox: SandboxArgs,
}

/// The sandbox that a project's threads work in.
#[derive(Debug, Args)]
struct SandboxArgs {
    /// The id of the sandbox that its threads work in, wherever that runs
    #[arg(long, value_name = "ID")]
    sandbox: Option<String>,
    /// How the sandbox is reached and set up; only the account sees it
    #[arg(long, value_name = "JSON", requires = "sandbox", value_parser = |json: &str| Json::parse("config", json))]
    sandbox_config: Option<Json>,
}

impl SandboxArgs {
    fn read(self) -> Option<Sandbox> {
        let Self { sandbox, sandbox_config: config } = self;
        sandbox.map(|external_id| Sandbox { external_id, config })
    }
}

impl Create {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { name, id, icon_name, sandbox } = self;
        let create = calls::CreateProject { id, name, icon_name, sandbox: sandbox.read() };
        let project = context.client.call(At::none(), create).await?;
        if context.json { context.out.json(&project) } else { context.out.line(visible(&project.id)) }
    }
}

/// Show a project with its fields
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The id of the project
    id: String,
}

impl Show {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        context.client.call(At::none(), calls::GetProject { project: self.id }).await?.print(context)
    }
}

/// Change fields of a project
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The id of the project
    id: String,
    /// A name for people
    #[arg(long)]
    name: Option<String>,
    /// The name of an icon
    #[arg(long, value_name = "NAME")]
    icon_name: Option<String>,
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// A field to clear: icon-name or sandbox; may be given twice
    #[arg(long, value_name = "FIELD")]
    clear: Vec<Clear>,
}

/// What a project need not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Clear {
    IconName,
    Sandbox,
}

impl Update {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut changes = BTreeMap::new();
        for field in self.clear {
            let field = match field {
                Clear::IconName => "iconName",
                Clear::Sandbox => "sandbox",
            };
            changes.insert(field.to_owned(), Json::parse(field, "null")?);
        }
        for (field, text) in [("name", self.name), ("iconName", self.icon_name)] {
            if let Some(text) = text {
                changes.insert(field.to_owned(), Json::string(&text));
            }
        }
        if let Some(sandbox) = self.sandbox.read() {
            changes.insert("sandbox".to_owned(), Json::from_value("sandbox", &sandbox)?);
        }
        if changes.is_empty() {
            return Err(nothing_to_change("threadkeep projects update ID --name NAME"));
        }
        let update = calls::UpdateProject { project: self.id, fields: changes };
        context.client.call(At::none(), update).await?.print(context)
    }
}

/// Delete a project; its threads stay
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The id of the project
    id: String,
}

impl Delete {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let done = context.client.call(At::none(), calls::DeleteProject { project: self.id.clone() }).await?;
        let id = visible(&self.id);
        let note = if done.deleted { format!("deleted {id}") } else { format!("there is no project {id}") };
        context.note_or_show(&done, note)
    }
}

/// `release-2  Release 2  rocket  sandbox box-1`
impl Line for calls::Project {
    const NONE: &'static str = "there are no projects";

    fn line(&self) -> String {
        let icon = self.icon_name.as_deref().map(|icon| format!("  {icon}")).unwrap_or_default();
        let sandbox = self.sandbox.as_ref().map(|sandbox| format!("  sandbox {}", sandbox.external_id));
        visible(&format!("{}  {}{icon}{}", self.id, self.name, sandbox.unwrap_or_default())).into_owned()
    }
}
