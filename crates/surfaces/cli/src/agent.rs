//! The agent of a thread, and its skills: `assign`, `skill`, `archive`, `unarchive`, and the threads of
//! subagents.

use clap::Args;
use threadkeep::model::{Attachment, ParentCommunication};
use threadkeep::{Child, FilePath, Json, MessageBody, Skill as Activated};
use threadkeep_calls as calls;

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::plain::{Face, Line, plain};
use crate::text::{moment, visible};
use crate::thread;

plain! {
    /// Hand a thread to another agent; its history stays
    Assign: Assign under Change {
        /// The id of the agent
        agent_id: String,
    }

    /// Hide a thread from the main list; `thread unarchive` brings it back
    #[command(after_help = "\
It only hides the thread, which can still be read and changed. `threadkeep thread lifecycle 4e36 archive` is another
thing: it ends the life of a completed or cancelled thread for good.

Example:
  threadkeep thread archive 4e36")]
    Archive: Archive under Change {}

    /// Show a thread in the main list again that `thread archive` has hidden
    #[command(after_help = "\
A thread that `thread lifecycle 4e36 archive` has archived for good stays archived.

Example:
  threadkeep thread unarchive 4e36")]
    Unarchive: Unarchive under Change {}

    /// List the threads of a thread's subagents
    Children: ListSubagents under Read {
        /// Number of items in a page
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// The cursor of the page before (`nextCursor` with --json)
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    }

    /// Show the thread that a subagent's thread works for
    Parent: GetParent under Read {}

    /// Set the status of a subagent, in free words; its parent shows it too
    Status: SetStatus under Change {
        /// What it is doing, in its own words
        status: String,
    }
}

/// Show the variables that a subagent waits for
#[derive(Debug, Args)]
#[command(after_help = "\
The answer `subagent_env_required` names the thread of the subagent. It starts once each variable is set.

Examples:
  threadkeep subagents variables 4e36 $CHILD
  threadkeep env set API_KEY --thread $CHILD       asks for the value")]
pub(crate) struct Variables {
    /// The thread that the subagent works for: its id, the beginning of it, its title, or @last
    thread: String,
    /// The thread of the subagent
    subagent: String,
}

impl Variables {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let asked = calls::GetVariables { request: context.thread(&self.subagent).await?.id };
        let told = context.client.call(thread, asked).await?;
        if context.json {
            return context.out.json(&told);
        }
        for variable in &told.required {
            let state = if told.missing.contains(&variable.name) { "missing" } else { "set" };
            let about = variable.description.as_deref().unwrap_or_default();
            context.out.line(format!("{}  {state}  {}", variable.name, visible(about)).trim_end())?;
        }
        Ok(())
    }
}

/// Activate a skill on a thread, once for each name; without a name, list the active ones
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep thread skill 4e36 pdf --arguments '{\"pages\":\"1-3\"}'
  threadkeep thread skill 4e36                          which skills are active")]
pub(crate) struct Skill {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The name of the skill
    name: Option<String>,
    /// What it is activated with, as a JSON object
    #[arg(long, value_name = "JSON", requires = "name", value_parser = |json: &str| thread::object("arguments", json))]
    arguments: Option<Json>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Skill {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let Some(name) = self.name else { return thread.activated_skills.print(context) };
        let skill = Activated { name, arguments: self.arguments };
        context.client.call(self.conditions.at(thread.id), calls::ActivateSkill { skill }).await?.print(context)
    }
}

impl Line for Activated {
    const NONE: &'static str = "no skill is active";

    fn line(&self) -> String {
        let arguments = self.arguments.as_ref().map_or("", Json::as_str);
        format!("{}  {}", visible(&self.name), visible(arguments)).trim_end().to_owned()
    }
}

/// Make a thread for a subagent of this one, and register it there; print its id
#[derive(Debug, Args)]
#[command(after_help = "\
The new thread inherits neither messages nor values, and is deleted with this one. A file that is attached is
/attachments/NAME there, or /attachments/NAME-2 where that name is taken.

Examples:
  CHILD=$(threadkeep subagents start 4e36 reviewer --description \"Reads the change\" --message \"Please review it.\")
  threadkeep subagents start 4e36 reviewer --message \"Please review it.\" --attach /src/main.rs
  threadkeep subagents status $CHILD running
  threadkeep subagents notify $CHILD \"Half of it is fine.\"
  threadkeep subagents list 4e36")]
pub(crate) struct Subagent {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The name of the subagent
    name: String,
    /// What it is for
    #[arg(long, value_name = "TEXT", default_value = "")]
    description: String,
    /// A title for people [default: its name]
    #[arg(long)]
    title: Option<String>,
    /// The agent that works on the new thread
    #[arg(long, value_name = "AGENT")]
    agent_id: Option<String>,
    /// It stays after its work, and can be spoken to again
    #[arg(long)]
    resumable: bool,
    /// Its parent waits for it
    #[arg(long)]
    blocking: bool,
    /// A name for the thread
    #[arg(long, value_name = "NAME")]
    thread_name: Option<String>,
    /// An id shared by the subagents that one message started
    #[arg(long, value_name = "ID")]
    spawn_group_id: Option<String>,
    /// Whether it reports to its parent by itself: implicit or explicit
    #[arg(long, value_name = "HOW")]
    parent_communication: Option<ParentCommunication>,
    /// What it is doing at first [default: created]
    #[arg(long = "first-status", value_name = "TEXT")]
    status: Option<String>,
    /// A first message of the user; may be given several times
    #[arg(long, value_name = "TEXT")]
    message: Vec<String>,
    /// A file of this thread that goes with the last message; may be given several times
    #[arg(long, value_name = "PATH")]
    attach: Vec<FilePath>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Subagent {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let parent = context.thread(&self.thread).await?;
        let subagent = calls::Subagent {
            name: self.name,
            title: self.title,
            description: self.description,
            agent_id: self.agent_id,
            resumable: self.resumable.then_some(true),
            blocking: self.blocking.then_some(true),
            thread_name: self.thread_name,
            spawn_group_id: self.spawn_group_id,
            parent_communication: self.parent_communication,
            status: self.status,
            messages: self.message.iter().map(|text| MessageBody::user(text).into()).collect(),
            attachments: self.attach.clone(),
        };
        let made = context.client.call(self.conditions.at(parent.id), subagent).await?;
        if context.json {
            context.out.json(&made)?;
        } else {
            context.out.line(made.thread.id.to_string())?;
        }
        context.out.flush()?;
        context.note(format!("{} works for {}", thread::named(&made.thread), thread::named(&parent)));
        note_places(context, &self.attach, &made.attachments);
        Ok(())
    }
}

/// `4e36442142ee  reviewer  running  2026-01-31 12:00:00Z  reads the change`
impl Line for Child {
    const NONE: &'static str = "it has no subagents";

    fn line(&self) -> String {
        let (id, name, status) = (self.reference.short(), visible(&self.name), visible(&self.status));
        let line = format!("{id}  {name}  {status}  {}  {}", moment(self.created_at), self.description);
        visible(line.trim_end()).into_owned()
    }
}

/// Queue a silent message for the thread that this one works for
#[derive(Debug, Args)]
#[command(after_help = "\
A file that is attached is /attachments/NAME there, or /attachments/NAME-2 where that name is taken.

Examples:
  threadkeep subagents notify 4e36 \"Half of it is fine.\"
  threadkeep subagents notify 4e36 \"Done.\" --attach /report.md --attach /figures/growth.png")]
pub(crate) struct NotifyParent {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The text of the message
    content: String,
    /// A file of this thread that goes with it; may be given several times
    #[arg(long, value_name = "PATH")]
    attach: Vec<FilePath>,
    #[command(flatten)]
    conditions: Conditions,
}

impl NotifyParent {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let notify = calls::NotifyParent { content: self.content, attachments: self.attach.clone() };
        let notified = context.client.call(self.conditions.at(thread), notify).await?;
        if context.json {
            return context.out.json(&notified);
        }
        match notified.queued {
            Some(queued) => {
                context.out.line(queued.id.to_string())?;
                note_places(context, &self.attach, &queued.queued_message.attachments);
                Ok(())
            }
            None => {
                context.note("it works for no other thread");
                Ok(())
            }
        }
    }
}

/// Says where the receiver finds the attached files.
fn note_places(context: &Context, sent: &[FilePath], received: &[Attachment]) {
    for (sent, received) in sent.iter().zip(received) {
        let place = received.path.as_ref().map_or(received.name.as_str(), FilePath::as_str);
        context.note(format!("{} is {} there", visible(sent.as_str()), visible(place)));
    }
}

impl Face for calls::StatusSet {
    fn print(&self, context: &mut Context) -> Result<(), Failure> {
        if context.json {
            return context.out.json(self);
        }
        if !self.set {
            context.note("it works for no other thread; nothing changed");
        }
        Ok(())
    }
}
