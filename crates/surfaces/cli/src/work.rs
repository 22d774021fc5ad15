//! Work on a thread, for any executor: `run`, `queue`, and the conversation for a model.

use std::time::Duration;

use clap::Args;
use threadkeep::model::Code;
use threadkeep::{ExecutionStatus, Invalid, NewMessage, QueuedId, Version};
use threadkeep_calls as calls;
use threadkeep_calls::{Progressed, Queued};

use crate::attached;
use crate::context::{Conditions, Context};
use crate::duration::{duration, milliseconds};
use crate::failure::Failure;
use crate::message::NewContent;
use crate::naming;
use crate::plain::{Face, Line, plain};
use crate::say::MessageArgs;
use crate::show::{body, in_brief};
use crate::text::{brief, counted, moment, visible};

/// Characters of a message in a list.
const MESSAGE_SHOWN_MAX: usize = 100;

plain! {
    /// Start a run: print its id, and take what is queued
    #[command(after_help = "\
While a run is open, others queue their messages (threadkeep queue add), and each step takes them. Tool calls that were \
left without a result are closed. With --json it prints {executionId, version, delivered, injections, messages}: messages is \
the conversation as a model gets it, and injections is what others told the run.

Examples:
  RUN=$(threadkeep run start 4e36)
  threadkeep run step 4e36 $RUN \"I am looking into it.\" --role assistant
  threadkeep run end 4e36 $RUN")]
    Begin: Begin under Change {
        /// Longest pause between two steps before others may take over, such as 30s, 5m or 1h [default: 10m]
        #[arg(long, value_name = "TIME", value_parser = |text: &str| duration(text).map(milliseconds))]
        ttl: Option<u64>,
        /// Take over from a run that is still open
        #[arg(long)]
        take_over: bool,
    } => (context, _, _, begun) {
        if context.json {
            return context.out.json(begun);
        }
        context.out.line(begun.execution_id.to_string())?;
        context.out.flush()?;
        tell(context, begun)
    }
}

/// Take a step in a run: add a message, then take what is queued
#[derive(Debug, Args)]
pub(crate) struct Step {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The run: its id as start printed it, the beginning of it, or @last
    run: String,
    #[command(flatten)]
    message: MessageArgs,
    /// Longest pause until the next step, such as 30s, 5m or 1h [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    ttl: Option<Duration>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Step {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        refuse_expected(&self.conditions)?;
        let thread = context.thread(&self.thread).await?;
        let (execution, messages) = (naming::run(&thread, &self.run)?, read_some(context, self.message)?);
        let (has_files, at) = (has_files(&messages), self.conditions.at(thread.id));
        let step = calls::Step { execution, ttl: self.ttl.map(milliseconds), messages };
        let stepped =
            if has_files { attached::call(context, at, step).await? } else { context.client.call(at, step).await? };
        print(context, &stepped)
    }
}

/// End a run, or cancel the open one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep run end 4e36 $RUN \"Done: the tests pass.\" --role assistant
  threadkeep run end 4e36 $RUN --status failed
  threadkeep run end 4e36 --cancel                 stop the open run")]
pub(crate) struct End {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The run: its id as start printed it, the beginning of it, or @last
    #[arg(required_unless_present = "cancel")]
    run: Option<String>,
    #[command(flatten)]
    message: MessageArgs,
    /// completed, failed or cancelled
    #[arg(long, default_value = "completed", conflicts_with = "cancel")]
    status: ExecutionStatus,
    /// Cancel; without a run, the open one
    #[arg(long)]
    cancel: bool,
    #[command(flatten)]
    conditions: Conditions,
}

impl End {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        refuse_expected(&self.conditions)?;
        let thread = context.thread(&self.thread).await?;
        let messages = read_some(context, self.message)?;
        let status = if self.cancel { ExecutionStatus::Cancelled } else { self.status };
        let open = thread.execution.as_ref().map(|open| open.execution_id);
        let (has_files, at) = (has_files(&messages), self.conditions.at(thread.id));
        let named = self.run.map(|run| naming::run(&thread, &run)).transpose()?;
        let ended = match named.or(open.filter(|_| !messages.is_empty())) {
            Some(execution) if has_files => {
                attached::call(context, at, calls::End { execution, status, messages }).await?
            }
            Some(execution) => context.client.call(at, calls::End { execution, status, messages }).await?,
            None => context.client.call(at, calls::Cancel {}).await?,
        };
        print(context, &ended)
    }
}

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

    /// Show the conversation as input for a model: every tool call has a result
    ModelMessages: GetModelMessages under Read {
        /// As the thread was at this version
        #[arg(long = "at-version", alias = "as-of", value_name = "VERSION")]
        as_of: Option<Version>,
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

/// Prints the appended messages: each message's id alone for people and scripts, everything for programs.
fn print(context: &mut Context, progressed: &Progressed<'_>) -> Result<(), Failure> {
    if context.json {
        return context.out.json(progressed);
    }
    for message in &progressed.delivered {
        context.out.line(message.id.to_string())?;
    }
    context.out.flush()?;
    tell(context, progressed)
}

fn tell(context: &Context, progressed: &Progressed<'_>) -> Result<(), Failure> {
    for message in &progressed.delivered {
        context.note(in_brief(&body(message)?, MESSAGE_SHOWN_MAX));
    }
    for injection in &progressed.injections {
        context.note(injection.line());
    }
    Ok(())
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

/// The message, if one was given.
fn read_some(context: &mut Context, message: MessageArgs) -> Result<Vec<NewMessage>, Failure> {
    if message.is_empty() { Ok(Vec::new()) } else { Ok(vec![message.read(context)?]) }
}

fn has_files(messages: &[NewMessage]) -> bool {
    messages.iter().any(|message| !message.files.is_empty())
}

/// A step belongs to its run, which keeps others out; it needs no expected version.
fn refuse_expected(conditions: &Conditions) -> Result<(), Failure> {
    if conditions.expected_version.is_none() {
        return Ok(());
    }
    let rule = "a run needs none: its steps are refused once it is over";
    Err(Invalid::new(Code::InvalidParameter, "expectedVersion", rule).into())
}
