//! Who works on a thread, and with what: `assign`, `skill`, `archive`, `unarchive`, and the threads of subagents.

use clap::Args;
use threadkeep::model::{Attachment, ParentCommunication};
use threadkeep::{Child, FilePath, Json, MessageBody, Skill as Activated};
use threadkeep_calls as api;

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::text::{moment, visible};
use crate::thread;

/// Hand a thread to another agent; its history stays
#[derive(Debug, Args)]
pub(crate) struct Assign {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// The agent
    agent_id: String,
    #[command(flatten)]
    conditions: Conditions,
}

impl Assign {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?.id;
        let thread = context.client.assign(thread, &api::Assign { agent_id: self.agent_id }).await?;
        thread::print(context, &thread)
    }
}

/// Activate a skill on a thread, once for each name; without a name, list the active ones
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep skill 4e36 pdf --arguments '{\"pages\":\"1-3\"}'
  threadkeep skill 4e36                          which skills are active")]
pub(crate) struct Skill {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// The skill
    name: Option<String>,
    /// What it is activated with, as a JSON object
    #[arg(long, value_name = "JSON", requires = "name", value_parser = |json: &str| thread::object("arguments", json))]
    arguments: Option<Json>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Skill {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let Some(name) = self.name else { return list_skills(context, &thread.activated_skills) };
        let skill = Activated { name, arguments: self.arguments };
        let thread = context.client.activate_skill(thread.id, &skill).await?;
        thread::print(context, &thread)
    }
}

fn list_skills(context: &mut Context, skills: &[Activated]) -> Result<(), Failure> {
    if context.json {
        return context.out.json(&skills);
    }
    if skills.is_empty() {
        context.note("no skill is active");
    }
    for skill in skills {
        let arguments = skill.arguments.as_ref().map_or("", Json::as_str);
        context.out.line(format!("{}  {}", visible(&skill.name), visible(arguments)).trim_end())?;
    }
    Ok(())
}

/// Hide a thread from the main list; it can be brought back
#[derive(Debug, Args)]
pub(crate) struct Archive {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    #[command(flatten)]
    conditions: Conditions,
}

impl Archive {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?.id;
        let thread = context.client.archive(thread).await?;
        thread::print(context, &thread)
    }
}

/// Bring an archived thread back to the main list
#[derive(Debug, Args)]
pub(crate) struct Unarchive {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    #[command(flatten)]
    conditions: Conditions,
}

impl Unarchive {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?.id;
        let thread = context.client.unarchive(thread).await?;
        thread::print(context, &thread)
    }
}

/// Make a thread for a subagent of this one, and register it there; print its id
#[derive(Debug, Args)]
#[command(after_help = "\
The new thread inherits neither messages nor values, and is deleted with this one. A file that is attached is
/attachments/NAME there, or /attachments/NAME-2 where that name is taken.

Examples:
  CHILD=$(threadkeep subagent 4e36 reviewer --description \"Reads the change\" --message \"Please review it.\")
  threadkeep subagent 4e36 reviewer --message \"Please review it.\" --attach /src/main.rs
  threadkeep status $CHILD running
  threadkeep notify-parent $CHILD \"Half of it is fine.\"
  threadkeep children 4e36")]
pub(crate) struct Subagent {
    /// The thread: its id, its short id, or the beginning of either
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
    /// Shared by the children that one message made
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
}

impl Subagent {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let parent = context.thread(&self.thread).await?;
        let subagent = api::NewSubagent {
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
        let made = context.client.subagent(parent.id, &subagent).await?;
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

/// List the threads of a thread's subagents
#[derive(Debug, Args)]
pub(crate) struct Children {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
}

impl Children {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let children = context.client.children(thread).await?;
        if context.json {
            return context.out.json(&children);
        }
        if children.is_empty() {
            context.note("it has no subagents");
        }
        children.iter().try_for_each(|child| context.out.line(child_line(child)))
    }
}

/// `4e36442142ee  reviewer  running  2026-01-31 12:00:00Z  reads the change`
fn child_line(child: &Child) -> String {
    let (name, status) = (visible(&child.name), visible(&child.status));
    let line =
        format!("{}  {name}  {status}  {}  {}", child.reference.short(), moment(child.created_at), child.description);
    visible(line.trim_end()).into_owned()
}

/// Show the thread that a subagent's thread works for
#[derive(Debug, Args)]
pub(crate) struct Parent {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
}

impl Parent {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        match context.client.parent(thread).await? {
            Some(parent) => thread::print(context, &parent),
            None if context.json => context.out.json(&()),
            None => {
                context.note("it works for no other thread");
                Ok(())
            }
        }
    }
}

/// Queue a silent message for the thread that this one works for
#[derive(Debug, Args)]
#[command(after_help = "\
A file that is attached is /attachments/NAME there, or /attachments/NAME-2 where that name is taken.

Examples:
  threadkeep notify-parent 4e36 \"Half of it is fine.\"
  threadkeep notify-parent 4e36 \"Done.\" --attach /report.md --attach /figures/growth.png")]
pub(crate) struct NotifyParent {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// What to tell
    content: String,
    /// A file of this thread that goes with it; may be given several times
    #[arg(long, value_name = "PATH")]
    attach: Vec<FilePath>,
}

impl NotifyParent {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let notify = api::NotifyParent { content: self.content, attachments: self.attach.clone() };
        let notified = context.client.notify_parent(thread, &notify).await?;
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

/// Says where files that were attached are for whoever got them.
fn note_places(context: &Context, sent: &[FilePath], received: &[Attachment]) {
    for (sent, received) in sent.iter().zip(received) {
        let place = received.path.as_ref().map_or(received.name.as_str(), FilePath::as_str);
        context.note(format!("{} is {} there", visible(sent.as_str()), visible(place)));
    }
}

/// Say what a subagent's thread is doing, in its own record and in its parent's registry
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// What it is doing, in its own words
    status: String,
}

impl Status {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let status = context.client.set_status(thread, &api::SetStatus { status: self.status }).await?;
        if context.json {
            return context.out.json(&status);
        }
        if !status.set {
            context.note("it works for no other thread; nothing changed");
        }
        Ok(())
    }
}
