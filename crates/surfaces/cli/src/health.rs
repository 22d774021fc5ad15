//! Is there a server, and a way in: `health`, `sign-in`.

use clap::Args;
use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_client::{Client, Retry};

use crate::context::Context;
use crate::failure::Failure;
use crate::found;

/// Check that the server is ready; the exit code is 0 if it is
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep store health                              the server that runs on the data folder
  threadkeep --server https://keep.example store health")]
pub(crate) struct Health {}

impl Health {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        // It needs no key, and a server that is reached from elsewhere has no local one.
        match found::address(&context.folder()).filter(|_| !context.is_elsewhere()) {
            Some(url) => Client::connect(&url, None)?.retrying(Retry::never()).is_ready().await?,
            None => {
                needs_server(context)?;
                context.client.is_ready().await?;
            }
        }
        context.say_or_show(&serde_json::json!({ "status": "ready" }), "ready")
    }
}

/// Print a link that signs a browser in, once
#[derive(Debug, Args)]
pub(crate) struct SignIn {}

impl SignIn {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        needs_server(context)?;
        let link = context.client.sign_in().await?;
        let url = link.url.clone();
        context.say_or_show(&link, url)
    }
}

pub(crate) fn needs_server(context: &Context) -> Result<(), Failure> {
    if context.is_served() {
        return Ok(());
    }
    let problem = Problem::new(Status::Unavailable, ErrorCode::Unreachable, "no server runs on the data folder");
    Err(problem.hint(context.hints.command("serve")).into())
}
