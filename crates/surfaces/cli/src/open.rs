//! `open`: the page of the server in a browser, signed in.

use std::io::IsTerminal;
use std::process::{Command, Stdio};

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::health::needs_server;

/// Open the web page of the server, or of a thread on it, in a browser
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep open             the list of threads
  threadkeep open 4e36        a thread
  threadkeep open | cat       only print the link, which signs in once

BROWSER names the program to open it with.")]
pub(crate) struct Open {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: Option<String>,
}

impl Open {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        needs_server(context)?;
        let next = match &self.thread {
            Some(thread) => format!("&next=/t/{}", context.thread(thread).await?.short_id),
            None => String::new(),
        };
        let mut link = context.client.sign_in().await?;
        link.url.push_str(&next);
        if !context.json && std::io::stdout().is_terminal() && browse(&link.url) {
            return context.out.line("opened in your browser");
        }
        let url = link.url.clone();
        context.say_or_show(&link, url)
    }
}

/// Opens a link in a browser; false if no program for it was found.
fn browse(url: &str) -> bool {
    let named = std::env::var("BROWSER").ok();
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let program = named.as_deref().filter(|named| !named.is_empty()).unwrap_or(usual);
    let started =
        Command::new(program).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.is_ok()
}
