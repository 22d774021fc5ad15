//! `agents`: the folder of definitions. `check`, `new` and `pack` work on the folder alone; the others ask the server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use threadkeep::Invalid;
use threadkeep::runtime::definitions::Kind;
use threadkeep::runtime::{NotPacked, Runtime, starter};
use threadkeep::sandbox::{self, Sandbox};
use threadkeep_calls::{DefinitionKind, DefinitionProblem, ErrorCode, Problem, Status};

use crate::context::Context;
use crate::failure::{Failure, cannot_read, note};
use crate::out::Out;
use crate::text::{counted, visible};

/// The exit code of a folder with mistakes.
const WRONG: u8 = 2;

/// Examples for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  threadkeep agents new helper          write the files of a first agent and its tool
  threadkeep agents check               look for mistakes; each with its file, line and column
  threadkeep agents list                what the server has read
  threadkeep agents show helper
  threadkeep agents pack kit            write the definitions as a package, for packages/kit elsewhere

The folder is definitions in the data folder, or the one that --definitions of threadkeep serve names.";

/// List the definitions: agents, prompts, models, tools and the rest
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only this kind: agents, prompts, models, mcp, tools, effects, hooks, api, skills, vendor
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<Kind>,
}

fn kind(text: &str) -> Result<Kind, Invalid> {
    let known = || format!("'{text}' is none of {}", Kind::ALL.map(Kind::folder).join(", "));
    Kind::of_folder(text).ok_or_else(|| Invalid::parameter("kind", known()))
}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
        let mut list = context.client.definitions().await?;
        if let Some(kind) = self.kind {
            list.items.retain(|item| word(item.kind) == kind.folder());
        }
        if context.json {
            context.out.json(&list)?;
        } else {
            for item in &list.items {
                let broken = if item.problems.is_empty() { "" } else { "  (has mistakes)" };
                context.out.row(format!("{:<8} {}{broken}", word(item.kind), visible(&item.name)))?;
            }
            if list.items.is_empty() {
                context.note("there are no definitions; threadkeep agents new NAME writes some");
            }
            list.problems.iter().for_each(|problem| note(&told(problem)));
        }
        Ok(if list.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
    }
}

/// Show what a definition says
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Its name, such as helper or PACKAGE/helper
    name: String,
    /// Its kind: agents, prompts, models, mcp, tools, effects, hooks, api, skills, vendor
    #[arg(long, value_name = "KIND", value_parser = kind, default_value = "agents")]
    kind: Kind,
}

impl Show {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let shown = context.client.definition(self.kind.folder(), &self.name).await?;
        shown.problems.iter().for_each(|problem| note(&told(problem)));
        context.out.json(&shown)
    }
}

/// Look for mistakes in a folder of definitions, each with its file, line and column
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The folder [default: that of the server]
    folder: Option<PathBuf>,
}

impl Check {
    /// Checks `usual`, unless another folder is named.
    pub(crate) fn run_alone(
        &self,
        usual: &Path,
        settings: sandbox::Settings,
        json: bool,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let folder = self.folder.as_deref().unwrap_or(usual);
        let cannot = |error: std::io::Error| cannot_read(&folder.display().to_string(), &error);
        std::fs::metadata(folder).map_err(cannot)?;
        let runtime = on_folder(folder, settings)?;
        let read = runtime.reload().map_err(cannot)?;
        let waits = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let problems = waits.block_on(runtime.problems()).map_err(Problem::from)?;
        let count: usize = Kind::ALL.into_iter().map(|kind| read.names(kind).count()).sum();
        if json {
            let shown = |problem: &threadkeep::runtime::definitions::Problem| json!({ "file": problem.file, "line": problem.line, "column": problem.column, "rule": problem.what });
            let problems: Vec<_> = problems.iter().map(shown).collect();
            out.json(&json!({ "definitions": count, "problems": problems }))?;
        } else {
            for problem in &problems {
                out.line(visible(&problem.to_string()))?;
            }
            let (definitions, mistakes) = (counted(count as u64, "definition", "definitions"), problems.len() as u64);
            note(&format!("{definitions}, {}", counted(mistakes, "mistake", "mistakes")));
        }
        out.flush()?;
        if problems.is_empty() { Ok(()) } else { Err(Failure::Told(WRONG)) }
    }
}

/// Write the files of a new agent: an agent, its prompt, a model, and a tool that works
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The name: small letters, digits, _ and -
    name: String,
    /// The folder [default: that of the server]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl New {
    /// Writes the files to `usual`, unless another folder is named.
    pub(crate) fn run_alone(&self, usual: &Path, json: bool, out: &mut Out) -> Result<(), Failure> {
        let folder = self.folder.as_deref().unwrap_or(usual);
        let written = starter::write(folder, &self.name).map_err(|error| {
            let detail = format!("the agent was not written to {}: {error}", folder.display());
            let (status, code) = match error.kind() {
                std::io::ErrorKind::InvalidInput => (Status::BadRequest, ErrorCode::InvalidParameter),
                _ => (Status::Unavailable, ErrorCode::CannotWrite),
            };
            Problem::new(status, code, detail)
        })?;
        if json {
            out.json(&json!({ "folder": folder.display().to_string(), "files": written }))?;
        } else {
            written.iter().try_for_each(|path| out.line(folder.join(path).display().to_string()))?;
        }
        out.flush()
    }
}

/// Write the definitions as a package: a folder for packages/ of another folder of definitions
#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The id of the package: small letters, digits, _ and -; its names are ID/NAME
    id: String,
    /// The folder of definitions [default: that of the server]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The folder to write, which must not exist [default: the id]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Pack {
    /// Packs `usual`, unless another folder is named.
    pub(crate) fn run_alone(
        &self,
        usual: &Path,
        settings: sandbox::Settings,
        json: bool,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let folder = self.folder.as_deref().unwrap_or(usual);
        let cannot = |error: std::io::Error| cannot_read(&folder.display().to_string(), &error);
        std::fs::metadata(folder).map_err(cannot)?;
        let to = self.to.clone().unwrap_or_else(|| PathBuf::from(&self.id));
        let runtime = on_folder(folder, settings)?;
        runtime.reload().map_err(cannot)?;
        let waits = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let refused = |status, code, why: &NotPacked| {
            let detail = format!("the package was not written to {}: {why}", to.display());
            Failure::from(Problem::new(status, code, detail))
        };
        let written = match waits.block_on(runtime.pack(&self.id, &to)) {
            Ok(written) => written,
            Err(NotPacked::Mistakes(mistakes)) => {
                mistakes.iter().for_each(|problem| note(&visible(&problem.to_string())));
                note(&format!("not packed: {}", counted(mistakes.len() as u64, "mistake", "mistakes")));
                return Err(Failure::Told(WRONG));
            }
            Err(NotPacked::Runtime(error)) => return Err(Problem::from(*error).into()),
            Err(why @ (NotPacked::Name | NotPacked::Empty)) => {
                return Err(refused(Status::BadRequest, ErrorCode::InvalidParameter, &why));
            }
            Err(why @ NotPacked::Io(_)) => return Err(refused(Status::Unavailable, ErrorCode::CannotWrite, &why)),
        };
        if json {
            out.json(&json!({ "folder": to.display().to_string(), "files": written }))?;
        } else {
            written.iter().try_for_each(|path| out.line(to.join(path).display().to_string()))?;
        }
        out.flush()
    }
}

/// A runtime on a folder alone: code is loaded in a worker, which needs no store.
fn on_folder(folder: &Path, settings: sandbox::Settings) -> Result<Runtime, Failure> {
    let runtime = Runtime::builder(threadkeep::open("memory:")?).sandbox(Sandbox::new(settings));
    Ok(runtime.definitions(folder).build())
}

fn told(problem: &DefinitionProblem) -> String {
    let DefinitionProblem { file, line, column, rule } = problem;
    visible(&format!("{file}:{line}:{column}: {rule}")).into_owned()
}

fn word(kind: DefinitionKind) -> &'static str {
    match kind {
        DefinitionKind::Agents => "agents",
        DefinitionKind::Prompts => "prompts",
        DefinitionKind::Models => "models",
        DefinitionKind::Mcp => "mcp",
        DefinitionKind::Tools => "tools",
        DefinitionKind::Effects => "effects",
        DefinitionKind::Hooks => "hooks",
        DefinitionKind::Api => "api",
        DefinitionKind::Skills => "skills",
        DefinitionKind::Vendor => "vendor",
    }
}
