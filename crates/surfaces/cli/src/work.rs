//! Work on a thread, for any executor: `queue`, and the conversation for a model. `run` is next door.

use clap::Args;
use threadkeep::{Invalid, QueuedId, Version};
use threadkeep_calls as calls;
use threadkeep_calls::Queued;

use crate::attached;
use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::message::NewContent;
use crate::plain::{Face, plain};
use crate::say::MessageArgs;
use crate::show::in_brief;
use crate::text::{brief, counted, moment, visible};

/// Characters of a message in a list.
const MESSAGE_SHOWN_MAX: usize = 100;

/// Queue a message; the next step of a run delivers it
#[derive(Debug, Args)]
#[command(after_help = "\
A thread queues at most 5 messages; silent ones have a limit of their own. A run delivers them in order when it starts or \
takes a step. They keep their id and number.

Examples:
  threadkeep queue add 4e36 \"Use tabs, please.\"
  threadkeep queue list 4e36
  threadkeep queue edit 4e36 queued-… \"Use spaces, please.\"
  threadkeep queue remove 4e36 queued-…")]
pub(crate) struct AddQueued {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    #[command(flatten)]
    message: MessageArgs,
    #[command(flatten)]
    conditions: Conditions,
}

impl AddQueued {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let (message, at) = (self.message.read(context)?, self.conditions.at(thread));
        let queued = if message.files.is_empty() {
            context.client.call(at, calls::Queue { message }).await?
        } else {
            attached::call(context, at, calls::Queue { message }).await?
        };
        print_queued(context, &queued)
    }
}

/// Give a queued message new content or metadata; it keeps its place
#[derive(Debug, Args)]
pub(crate) struct EditQueued {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The message that waits: queued-…
    item: QueuedId,
    #[command(flatten)]
    new: NewContent,
    #[command(flatten)]
    conditions: Conditions,
}

impl EditQueued {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        if self.new.is_empty() {
            return Err(
                Invalid::body("content", "is missing: give a TEXT, - for stdin, --content or --metadata").into()
            );
        }
        let (content, metadata) = self.new.read()?;
        let edit = calls::EditQueued { item: self.item, content, metadata };
        let queued = context.client.call(self.conditions.at(thread), edit).await?;
        print_queued(context, &queued)
    }
}

plain! {
    /// List the queued messages, in the order of their delivery
    ListQueued: ListQueue under Read {
        /// Number of items in a page
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// The cursor of the page before (`nextCursor` with --json)
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    } => (context, _, _, waiting) {
        list(context, &waiting.items)
    }

    /// Withdraw a queued message
    RemoveQueued: RemoveQueued under Change {
        /// The message that waits: queued-…
        item: QueuedId,
    } => (context, _, remove, done) {
        let item = remove.item;
        let note = if done.deleted { format!("removed {item}") } else { format!("no message {item} waits") };
        context.note_or_show(done, note)
    }

    /// End the work on a thread for good: its run ends, its queue is emptied, and no run starts any more
    Terminate: Terminate under Change {}

    /// Redo what the last undo undid; each further redo goes one step further, until something else is written
    Redo: Redo under Change {}

    /// Show the conversation as input for a model: what fits, with a summary of the rest
    ModelMessages: GetModelMessages under Read {
        /// As the thread was at this version
        #[arg(long = "at-version", alias = "as-of", value_name = "VERSION")]
        as_of: Option<Version>,
        /// Tokens of the messages, at most
        #[arg(long = "context-tokens", value_name = "TOKENS")]
        context_tokens: Option<u64>,
    }
}

impl Face for Vec<calls::ModelMessage> {
    fn print(&self, context: &mut Context) -> Result<(), Failure> {
        if context.json {
            return context.out.json(self);
        }
        for message in self {
            let said = threadkeep::MessageBody::with_content(message.role, message.content.clone());
            context.out.line(in_brief(&said, MESSAGE_SHOWN_MAX))?;
        }
        Ok(())
    }
}

fn list(context: &mut Context, waiting: &[Queued]) -> Result<(), Failure> {
    if context.json {
        return context.out.json(&waiting);
    }
    if waiting.is_empty() {
        context.note("nothing waits");
    }
    for queued in waiting {
        let silent = if queued.queued_message.silent { "  (silent)" } else { "" };
        let said = in_brief(&queued.queued_message, MESSAGE_SHOWN_MAX);
        let (id, by) = (queued.id, brief(&visible(&queued.actor.name), MESSAGE_SHOWN_MAX));
        context.out.line(format!("{id}  {}  {by}  {said}{silent}", moment(queued.created_at)))?;
    }
    if !waiting.is_empty() {
        context.note(counted(waiting.len() as u64, "message waits", "messages wait"));
    }
    Ok(())
}

fn print_queued(context: &mut Context, queued: &Queued) -> Result<(), Failure> {
    if context.json { context.out.json(queued) } else { context.out.line(queued.id.to_string()) }
}
