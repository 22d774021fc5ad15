//! Threads that have to do with each other: `handoff`, `mention`, `relationships`, and the `summary` a handoff begins with.

use clap::Args;
use threadkeep_calls as api;
use threadkeep_calls::{Relationship, RelationshipRole};

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::text::{moment, visible};
use crate::thread;

/// Make a thread that goes on from a summary of this one; print its id
#[derive(Debug, Args)]
#[command(after_help = "\
The new thread begins with the summary (as info) and the goal (as user). Without --summary it is the one that \
`threadkeep summary` shows.

Examples:
  threadkeep handoff 4e36 \"Write the tests\"
  threadkeep handoff 4e36 \"Review it\" --agent-id reviewer --summary \"The parser is done; see src/parser.rs.\"")]
pub(crate) struct Handoff {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// What the new thread is for
    goal: String,
    /// What it should know [default: what was wanted, decided and left open, picked from the conversation]
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// A description of the relation [default: the goal]
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// Whose thread it is [default: the same agent's]
    #[arg(long, value_name = "AGENT")]
    agent_id: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Handoff {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let parent = context.thread_to_change(&self.thread, &self.conditions).await?;
        let Self { goal, summary, comment, agent_id, .. } = self;
        let handoff = api::Handoff { goal, summary, comment, agent_id };
        let child = context.client.handoff(parent.id, &handoff).await?;
        thread::print_new(context, &child)?;
        context.note(format!("{} goes on from {}", thread::named(&child), thread::named(&parent)));
        Ok(())
    }
}

/// Record that a thread names another one; both show it
#[derive(Debug, Args)]
pub(crate) struct Mention {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// The thread that is named, in the same spellings
    target: String,
    /// A description of the relation
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
}

impl Mention {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let target = context.thread(&self.target).await?.id.to_string();
        let thread = context.thread(&self.thread).await?.id;
        let made = context.client.mention(thread, &api::Mention { target, comment: self.comment }).await?;
        if context.json { context.out.json(&made) } else { context.out.line(line(&made)) }
    }
}

/// List what a thread has to do with others: forks, handoffs and mentions, from its own side
#[derive(Debug, Args)]
pub(crate) struct Relationships {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
}

impl Relationships {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let all = context.client.relationships(thread).await?;
        if context.json {
            return context.out.json(&all);
        }
        if all.is_empty() {
            context.note("it has nothing to do with other threads");
        }
        for relationship in &all {
            context.out.line(line(relationship))?;
        }
        Ok(())
    }
}

/// `parent  handoff  4e36442142ee  at message 3  2026-01-31 12:00:00Z  the rest of it`
fn line(relationship: &Relationship) -> String {
    let role = match relationship.role {
        RelationshipRole::Parent => "parent",
        RelationshipRole::Child => "child",
    };
    let at = relationship.message_index.map(|index| format!("  at message {index}")).unwrap_or_default();
    let comment = relationship.comment.as_deref().map(|comment| format!("  {}", visible(comment))).unwrap_or_default();
    let (kind, other) = (relationship.kind.as_str(), relationship.thread_id.short());
    format!("{role}  {kind}  {other}{at}  {}{comment}", moment(relationship.created_at))
}

/// Show the built-in summary of a thread: its goal, decisions, files and open questions
#[derive(Debug, Args)]
pub(crate) struct Summary {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
}

impl Summary {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let summary = context.client.summary(thread).await?;
        if context.json {
            return context.out.json(&summary);
        }
        summary.summary.lines().try_for_each(|line| context.out.line(visible(line)))
    }
}
