//! Threads that have to do with each other: `handoff`, `mention`, `relationships`, and the `summary` a handoff begins
//! with.

use clap::Args;
use threadkeep_calls as calls;
use threadkeep_calls::{Relationship, RelationshipRole};

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::plain::{Face, Line, plain};
use crate::text::{moment, visible};
use crate::thread;

plain! {
    /// Make a thread that goes on from a summary of this one; print its id
    #[command(after_help = "\
The new thread begins with the summary (as info) and the goal (as user). Without --summary it is the one that \
`threadkeep thread summary` shows.

Examples:
  threadkeep thread handoff 4e36 \"Write the tests\"
  threadkeep thread handoff 4e36 \"Review it\" --agent-id reviewer --summary \"The parser is done; see src/parser.rs.\"")]
    Handoff: Handoff under Change {
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
    } => (context, parent, _, child) {
        thread::print_new(context, child)?;
        context.note(format!("{} goes on from {}", thread::named(child), thread::named(parent)));
        Ok(())
    }
}

/// Record that a thread names another one; both show it
#[derive(Debug, Args)]
pub(crate) struct Mention {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The thread that is named, in the same spellings
    target: String,
    /// A description of the relation
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Mention {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let target = context.thread(&self.target).await?.id.into();
        let thread = context.thread(&self.thread).await?.id;
        let mention = calls::Mention { target, comment: self.comment };
        context.client.call(self.conditions.at(thread), mention).await?.print(context)
    }
}

plain! {
    /// List the relations of a thread: forks, handoffs and mentions
    Relationships: ListRelationships under Read {
        /// Number of items in a page
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// The cursor of the page before (`nextCursor` with --json)
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    }

    /// Show the built-in summary of a thread: its goal, decisions, files and open questions
    Summary: GetSummary under Read {}
}

/// `parent  handoff  4e36442142ee  at message 3  2026-01-31 12:00:00Z  the rest of it`
impl Line for Relationship {
    const NONE: &'static str = "it has nothing to do with other threads";

    fn line(&self) -> String {
        let role = match self.role {
            RelationshipRole::Parent => "parent",
            RelationshipRole::Child => "child",
        };
        let at = self.message_index.map(|index| format!("  at message {index}")).unwrap_or_default();
        let comment = self.comment.as_deref().map(|comment| format!("  {}", visible(comment))).unwrap_or_default();
        let (kind, other) = (self.kind.as_str(), self.thread_id.short());
        format!("{role}  {kind}  {other}{at}  {}{comment}", moment(self.created_at))
    }
}

impl Face for calls::Summary {
    fn print(&self, context: &mut Context) -> Result<(), Failure> {
        if context.json {
            return context.out.json(self);
        }
        self.summary.lines().try_for_each(|line| context.out.line(visible(line)))
    }
}
