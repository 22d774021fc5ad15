//! `events`: messages and other events in the order of the log, as the Threads contract has them.

use clap::Args;
use threadkeep::Version;
use threadkeep_calls::{ListEvents, LoggedEvent};

use crate::context::Context;
use crate::failure::{Failure, note};
use crate::text::{brief, moment, visible};

/// Characters of an event.
const EVENT_SHOWN_MAX: usize = 100;

/// Show messages and other events in the order they were logged, as the thread shows them now
#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// Only what came after this version
    #[arg(long, value_name = "VERSION", default_value = "0")]
    after: Version,
    /// Maximum number of events [default: 50]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Events {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let page = context.client.call(thread, ListEvents { after: Some(self.after), limit: self.limit }).await?;
        if context.json {
            context.out.json(&page.items)?;
        } else {
            page.items.iter().try_for_each(|event| context.out.line(line(event)))?;
        }
        if let Some(last) = page.next_cursor {
            context.out.flush()?;
            note(&format!("there are more: go on with --after {last}"));
        }
        Ok(())
    }
}

fn line(event: &LoggedEvent) -> String {
    let LoggedEvent { kind, version, created_at, data } = event;
    format!("{version:>6}  {}  {}  {}", moment(*created_at), visible(kind), brief(data.get(), EVENT_SHOWN_MAX))
}
