//! `emit`: an event for present subscribers, which is not logged.

use clap::Args;
use threadkeep::Json;
use threadkeep_calls as calls;

use crate::context::Context;
use crate::failure::Failure;
use crate::input::or_stdin;
use crate::text::counted;

/// Send an event to the present followers of a thread; it is not logged
#[derive(Debug, Args)]
#[command(after_help = "\
Streams of a server hear it; without a server nobody listens.

Example:
  threadkeep thread emit 4e36 progress '{\"percent\":40}'")]
pub(crate) struct Emit {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The name of the event, such as build_finished
    event: String,
    /// What it carries: JSON, or - for stdin
    #[arg(value_name = "JSON", default_value = "{}")]
    data: String,
}

impl Emit {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let data = Json::parse("data", &or_stdin(&self.data)?)?;
        let thread = context.thread(&self.thread).await?.id;
        let told = context.client.call(thread, calls::Emit { event: self.event, data }).await?;
        let heard = counted(told.listeners as u64, "listener", "listeners");
        context.note_or_show(&told, format!("{heard} heard it"))
    }
}
