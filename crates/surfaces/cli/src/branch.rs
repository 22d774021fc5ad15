//! Other ways through a history: `fork`, `spawn`, `rollback`, `truncate`, `checkpoint`, `checkpoints`.

use clap::{ArgGroup, Args};
use threadkeep::{Invalid, Timestamp, Version};
use threadkeep_calls as calls;
use threadkeep_calls::{ForkPoint, Inherit, RollbackTo, TruncateFrom};

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::naming;
use crate::plain::{Face, Line, plain};
use crate::text::{counted, moment, visible};
use crate::thread;

/// Make a thread that shares the history up to a point; print its id
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("point").multiple(false), after_help = "\
Examples:
  threadkeep fork 4e36                      as it is now
  threadkeep fork 4e36 --message-index 3    after its fourth message
  threadkeep fork 4e36 --version 12         as it was at version 12")]
pub(crate) struct Fork {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// After the message with this index, counted from 0
    #[arg(long, value_name = "N", group = "point")]
    message_index: Option<u64>,
    /// Fork after this message
    #[arg(long, value_name = "MESSAGE", group = "point")]
    message_id: Option<String>,
    /// As the thread was at this version
    #[arg(long = "at-version", alias = "version", value_name = "VERSION", group = "point")]
    version: Option<Version>,
    /// A name for people [default: Forked: and the name of the thread]
    #[arg(long)]
    title: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Fork {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let parent = context.thread_to_change(&self.thread, &self.conditions).await?;
        // At most one of them is given.
        let index = self.message_index.map(ForkPoint::Index);
        let message = match &self.message_id {
            Some(message) => Some(ForkPoint::Message(naming::message(&context.client, parent.id, message).await?)),
            None => None,
        };
        let at = index.or(message).or(self.version.map(ForkPoint::Version)).unwrap_or_default();
        let child = context.client.call(parent.id, calls::Fork { at, title: self.title }).await?;
        thread::print_new(context, &child)?;
        let shared = counted(child.message_count, "message", "messages");
        context.note(format!("{} shares {shared} with {}", thread::named(&child), thread::named(&parent)));
        Ok(())
    }
}

/// Make a thread for a task of its own, which inherits all, some or nothing; print its id
#[derive(Debug, Args)]
#[command(after_help = "\
What it inherits is a snapshot: both threads go their own ways from then on. The scope names messages, messages:last=N (which \
are copied), files:GLOB, kv:PREFIX, env (the workspace it began in) and skills.

Examples:
  threadkeep thread spawn 4e36 \"Fix the flaky test\" --inherit full
  threadkeep thread spawn 4e36 \"Ask the others\" --inherit partial --inherit-scope messages:last=20 --inherit-scope skills
  threadkeep thread spawn 4e36 \"Begin anew\" --inherit none")]
pub(crate) struct Spawn {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// What the new thread is for
    intent: String,
    /// How much it inherits
    #[arg(long, value_name = "HOW", value_parser = ["full", "partial", "none"])]
    inherit: String,
    /// What it inherits in part; may be given several times
    #[arg(long, value_name = "ITEM")]
    inherit_scope: Vec<String>,
    /// Whose thread it is [default: the same agent's]
    #[arg(long, value_name = "AGENT")]
    agent_id: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Spawn {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let parent = context.thread(&self.thread).await?;
        let Self { intent, inherit, inherit_scope: scope, agent_id, .. } = self;
        let inherit = match inherit.as_str() {
            "partial" => Inherit::Partial(scope.iter().map(|item| item.parse()).collect::<Result<_, Invalid>>()?),
            _ if !scope.is_empty() => {
                return Err(Invalid::body("inheritScope", "goes with inherit partial, and with nothing else").into());
            }
            "full" => Inherit::Full,
            _ => Inherit::None,
        };
        let spawn = calls::Spawn { intent, inherit, agent_id };
        let spawned = context.client.call(self.conditions.at(parent.id), spawn).await?;
        if context.json {
            return context.out.json(&spawned);
        }
        context.out.line(spawned.thread_id.to_string())?;
        context.out.flush()?;
        context.note(format!("it was spawned from {}", thread::named(&parent)));
        Ok(())
    }
}

/// Go back to an earlier version; nothing is lost, and it can be undone
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("to").required(true).multiple(false), after_help = "\
Examples:
  threadkeep rollback 4e36 --at-version 12
  threadkeep rollback 4e36 --checkpoint before-the-refactoring
  threadkeep rollback 4e36 --step 3         after the fourth message, which is the assistant's
  threadkeep rollback 4e36 --artifact-version /notes/plan.md@12    one file only
  threadkeep rollback 4e36 --undo           take back the last rollback or truncation, then the one before it
  threadkeep redo 4e36                      take back the undo")]
pub(crate) struct Rollback {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// Go back to this version
    #[arg(long = "at-version", aliases = ["to-version", "version"], value_name = "VERSION", group = "to")]
    to_version: Option<Version>,
    /// To how it was at this time, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", group = "to")]
    timestamp: Option<Timestamp>,
    /// To the version with this name
    #[arg(long, value_name = "NAME", group = "to")]
    checkpoint: Option<String>,
    /// To just after this message of the assistant, with the results of its calls: its id, or its index counted from 0
    #[arg(long, value_name = "MESSAGE", group = "to", value_parser = step)]
    step: Option<calls::StepName>,
    /// One file only, to what it was at a version: everything else stays
    #[arg(long, value_name = "PATH@VERSION", group = "to", value_parser = artifact_version)]
    artifact_version: Option<calls::ArtifactVersion>,
    /// To before the last rollback, truncation or undo; each further undo goes one step further back
    #[arg(long, group = "to")]
    undo: bool,
    #[command(flatten)]
    conditions: Conditions,
}

impl Rollback {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        // Exactly one of them is given; an undo has no value.
        let to = (self.to_version.map(RollbackTo::Version))
            .or(self.timestamp.map(RollbackTo::Timestamp))
            .or(self.checkpoint.map(RollbackTo::Checkpoint))
            .or(self.step.map(RollbackTo::Step))
            .or(self.artifact_version.map(RollbackTo::ArtifactVersion));
        let to = to.unwrap_or(RollbackTo::Undo);
        context.client.call(thread.id, calls::Rollback { to }).await?.print(context)
    }
}

fn step(text: &str) -> Result<calls::StepName, Invalid> {
    if let Ok(index) = text.parse() {
        return Ok(calls::StepName::Index(index));
    }
    text.parse().map(calls::StepName::Message)
}

/// Reads `PATH@VERSION`, as a flag has it.
fn artifact_version(text: &str) -> Result<calls::ArtifactVersion, Invalid> {
    let rule = || Invalid::parameter("artifactVersion", format!("'{text}' is not PATH@VERSION, such as /plan.md@12"));
    let (path, version) = text.rsplit_once('@').ok_or_else(rule)?;
    Ok(calls::ArtifactVersion { path: path.parse()?, version: version.parse().map_err(|_| rule())? })
}

/// Drop all messages from a point on; it can be undone with rollback --undo
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("from").required(true).multiple(false))]
pub(crate) struct Truncate {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// From the message with this index on, counted from 0
    #[arg(long, value_name = "N", group = "from")]
    from_index: Option<u64>,
    /// From this message on
    #[arg(long, value_name = "MESSAGE", group = "from")]
    from_message_id: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Truncate {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let message = match &self.from_message_id {
            Some(message) => Some(TruncateFrom::Message(naming::message(&context.client, thread.id, message).await?)),
            None => None,
        };
        let from = self.from_index.map(TruncateFrom::Index).or(message);
        let from = from.ok_or_else(|| Invalid::body("fromIndex", "name either fromIndex or fromMessageId"))?;
        context.client.call(thread.id, calls::Truncate { from }).await?.print(context)
    }
}

plain! {
    /// Name the present version; setting a name again moves it
    Checkpoint: SetCheckpoint under Change {
        /// The name of the checkpoint
        name: String,
    }

    /// Show the named versions, the oldest first
    Checkpoints: ListCheckpoints under Read {
        /// Number of items in a page
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// The cursor of the page before (`nextCursor` with --json)
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    }
}

impl Line for calls::Checkpoint {
    const NONE: &'static str = "there are no checkpoints";

    fn line(&self) -> String {
        format!("version {}  {}  {}", self.version, moment(self.created_at), visible(&self.name))
    }
}
