//! `mcp`: threads for agents that speak the Model Context Protocol, on stdin and stdout.

mod install;

use clap::{Args, Subcommand};
use threadkeep::Invalid;
use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_client::Key;
use threadkeep_mcp::{Chosen, Dispatcher};

use crate::context::Context;
use crate::failure::Failure;
use crate::out::Out;
use crate::place::Place;

/// Serve threads to an agent on stdin and stdout, by the Model Context Protocol
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep mcp install --client claude-code      show the entry, ask, and write it
  claude mcp add threadkeep -- threadkeep mcp      the same by hand
  threadkeep mcp --tools core,files

It asks the server that runs on the data folder, or opens the store. The agent acts as an agent: risky actions wait for
an approval, which only people give. A server offers the same at /mcp, with a key as bearer token.")]
pub(crate) struct Mcp {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Groups or names of tools, with commas: core, work, files, admin [default: core]
    #[arg(long, value_name = "TOOLS", value_parser = chosen)]
    tools: Option<Chosen>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Install(install::Install),
}

fn chosen(text: &str) -> Result<Chosen, Invalid> {
    text.parse().map_err(|unknown: threadkeep_mcp::UnknownTools| Invalid::parameter("tools", unknown.to_string()))
}

impl Mcp {
    /// Installs it, if that is what the command is for. That needs no store.
    pub(crate) fn install(
        &self,
        place: impl FnOnce() -> Result<Place, Failure>,
        out: &mut Out,
    ) -> Option<Result<(), Failure>> {
        let Verb::Install(install) = self.verb.as_ref()?;
        Some(place().and_then(|place| install.run(&place, out)))
    }

    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        // Without a server, the index is filled here.
        if let Some(engine) = context.own_engine() {
            tokio::spawn(engine.run_index(|_| {}));
        }
        // A key that was given has a name of its own, and may not take another.
        let names_agent = Key::from_environment().is_none();
        let dispatcher = Dispatcher::stdio(&context.client, self.tools.unwrap_or_default(), names_agent);
        let served = dispatcher.serve_stdio().await;
        served.map_err(|error| {
            let problem = Problem::new(Status::Internal, ErrorCode::NotUnderstood, error.to_string());
            problem.hint("start it from an agent: threadkeep mcp install --client NAME").into()
        })
    }
}
