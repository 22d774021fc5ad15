//! Threads as such: `create`, `update`, `delete`.

use std::process::ExitCode;

use clap::Args;
use threadkeep::model::FieldChanges;
use threadkeep::{Invalid, Json, MessageBody, ThreadId, ThreadName};
use threadkeep_calls as calls;
use threadkeep_calls::{Archived, At, ErrorCode, Problem, Status, Thread, ThreadSummary};

use crate::context::{Conditions, Context};
use crate::editor;
use crate::failure::{Failure, cannot_read, nothing_to_change};
use crate::pages::all;
use crate::plain::{Face, Line};
use crate::text::{TITLE_SHOWN_MAX, brief, counted, or_untitled, visible};

/// Threads of subagents that are named before they are deleted.
const SUBAGENTS_SHOWN_MAX: usize = 5;

/// Make a thread, and a store if there is none; print its id
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep new \"My first thread\"
  T=$(threadkeep new \"Release notes\" --agent-id writer --message \"Collect what changed.\")")]
pub(crate) struct Create {
    /// A name for people
    title: Option<String>,
    /// The agent it belongs to
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
    /// The task it belongs to
    #[arg(long, value_name = "ID")]
    task_id: Option<String>,
    /// The project it belongs to
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// A JSON object of your own
    #[arg(long, value_name = "JSON", value_parser = metadata)]
    metadata: Option<Json>,
    /// A first message of the user; may be given several times
    #[arg(long = "message", value_name = "TEXT")]
    messages: Vec<String>,
}

impl Create {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut create = calls::Create::new();
        let texts = [
            ("title", self.title),
            ("agentId", self.agent_id),
            ("taskId", self.task_id),
            ("projectId", self.project_id),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                create = create.field(name, Json::string(&value));
            }
        }
        if let Some(metadata) = self.metadata {
            create = create.field("metadata", metadata);
        }
        create.messages = self.messages.iter().map(|text| MessageBody::user(text).into()).collect();
        let thread = context.client.call(At::none(), create).await?;
        print_new(context, &thread)?;
        let next = context.hints.command(&format!("say {} \"Hello!\"", thread.id.short()));
        context.note(format!("created {}; say something: {next}", named(&thread)));
        Ok(())
    }
}

/// Change fields of a thread's record
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep thread update 4e36 --title \"A better title\"
  threadkeep thread update 4e36 --archived true
  threadkeep thread update 4e36 --set maxTokens=2000 --clear draft")]
pub(crate) struct Update {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// A name for people
    #[arg(long)]
    title: Option<String>,
    /// A JSON object of your own; replaces the one that is there
    #[arg(long, value_name = "JSON", value_parser = metadata)]
    metadata: Option<Json>,
    /// Whether the main list hides it
    #[arg(long, value_name = "true|false")]
    archived: Option<bool>,
    /// Any other field, by its name on the wire; may be given several times
    #[arg(long, value_name = "FIELD=JSON", value_parser = assignment)]
    set: Vec<(String, Json)>,
    /// A field to clear; may be given several times
    #[arg(long, value_name = "FIELD")]
    clear: Vec<String>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Update {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut fields = FieldChanges::default();
        for field in &self.clear {
            fields.0.insert(field.clone(), Json::parse(field, "null")?);
        }
        fields.0.extend(self.set);
        if let Some(title) = &self.title {
            fields.0.insert("title".into(), Json::string(title));
        }
        if let Some(metadata) = self.metadata {
            fields.0.insert("metadata".into(), metadata);
        }
        if let Some(archived) = self.archived {
            fields.0.insert("archived".into(), Json::from_value("archived", &archived)?);
        }
        if fields.0.is_empty() {
            return Err(nothing_to_change("threadkeep thread update THREAD --title TITLE"));
        }
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        context.client.call(thread.id, calls::Update { fields }).await?.print(context)
    }
}

/// Delete a thread for good, with the threads of its subagents
#[derive(Debug, Args)]
#[command(after_help = "\
It cannot be undone. Forks keep what they share with it. `threadkeep thread archive` only hides a thread, and
`threadkeep thread unarchive` brings it back.

Examples:
  threadkeep thread rm 4e36            says what goes, and asks
  threadkeep thread rm 4e36 --yes      for scripts")]
pub(crate) struct Delete {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    conditions: Conditions,
}

impl Delete {
    pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
        // One whose id is well-formed, and which is not there, is no error: deleting twice is none.
        let name = match self.thread.parse::<ThreadName>() {
            Ok(name) => name,
            Err(_) => context.thread(&self.thread).await?.id.into(),
        };
        let there = match context.client.thread(name).await {
            Ok(thread) => Some(thread),
            Err(error) if error.is_refused_as(ErrorCode::ThreadNotFound.as_str()) => None,
            Err(error) => return Err(error.into()),
        };
        let subagents = match &there {
            Some(thread) => subagents(context, thread.id).await?,
            None => Vec::new(),
        };
        if let Some(thread) = &there
            && !self.yes
            && !agreed(context, thread, &subagents)?
        {
            context.note("nothing was deleted");
            return Ok(ExitCode::FAILURE);
        }
        let done = context.client.call(self.conditions.at(name), calls::Delete {}).await?;
        let thread = visible(&self.thread);
        let note = match done.deleted {
            true => format!("deleted {thread}{}", along(&subagents)),
            false => format!("there is no thread {thread}"),
        };
        context.note_or_show(&done, note)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The threads that go along with `main`: those of its subagents, and of theirs.
async fn subagents(context: &Context, main: ThreadId) -> Result<Vec<ThreadSummary>, Failure> {
    let (mut found, mut next) = (Vec::<ThreadSummary>::new(), vec![main]);
    while let Some(main) = next.pop() {
        let read = async |cursor| {
            let (main_thread_id, archived) = (Some(main.into()), Some(Archived::Any));
            let which = calls::ListThreads { main_thread_id, archived, cursor, ..Default::default() };
            context.client.call(At::none(), which).await
        };
        for thread in all(read).await? {
            if thread.id != main && !found.iter().any(|known| known.id == thread.id) {
                next.push(thread.id);
                found.push(thread);
            }
        }
    }
    Ok(found)
}

/// `, and 2 threads of subagents: …`
fn along(subagents: &[ThreadSummary]) -> String {
    if subagents.is_empty() {
        return String::new();
    }
    let count = counted(subagents.len() as u64, "thread of a subagent", "threads of subagents");
    let named = |thread: &ThreadSummary| {
        format!("{} \"{}\"", thread.short_id, brief(or_untitled(thread.title.as_deref()), TITLE_SHOWN_MAX))
    };
    let more = if subagents.len() > SUBAGENTS_SHOWN_MAX { ", …" } else { "" };
    let named: Vec<String> = subagents.iter().take(SUBAGENTS_SHOWN_MAX).map(named).collect();
    format!(", and {count}: {}{more}", named.join(", "))
}

/// Whether a person agrees to the deletion. Where there is none to ask, it is refused.
fn agreed(context: &Context, thread: &Thread, subagents: &[ThreadSummary]) -> Result<bool, Failure> {
    let (short, messages) = (thread.id.short(), counted(thread.message_count, "message", "messages"));
    let what = format!("{} ({short}, {messages}){}", named(thread), along(subagents));
    let archive = context.hints.command(&format!("thread archive {short}"));
    if context.json || !editor::is_attended() {
        let detail = format!("deleting cannot be undone, and needs --yes outside a terminal: {what}");
        let problem = Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail);
        let delete = context.hints.command(&format!("thread rm {short} --yes"));
        return Err(problem.hint(format!("{delete}; or hide it, which can be undone: {archive}")).into());
    }
    context.note(format!("This deletes {what}. It cannot be undone; to hide it instead: {archive}"));
    eprint!("Delete? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|error| cannot_read("stdin", &error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The title, or `Untitled`.
pub(crate) fn title(thread: &Thread) -> &str {
    or_untitled(thread.title.as_deref())
}

/// A thread in a sentence.
pub(crate) fn named(thread: &Thread) -> String {
    format!("\"{}\"", brief(title(thread), TITLE_SHOWN_MAX))
}

/// A new thread: its id, alone, so that a script can take it.
pub(crate) fn print_new(context: &mut Context, thread: &Thread) -> Result<(), Failure> {
    if context.json {
        context.out.json(thread)?;
    } else {
        context.out.line(thread.id.to_string())?;
    }
    context.out.flush()
}

/// `4e36442142ee  version 12  3 messages  "Release notes"`
impl Line for Thread {
    const NONE: &'static str = "there are no threads";

    fn line(&self) -> String {
        let messages = counted(self.message_count, "message", "messages");
        format!("{}  version {}  {messages}  {}", self.id.short(), self.v, named(self))
    }
}

/// Checked JSON for `--metadata`, where null clears it.
pub(crate) fn metadata(text: &str) -> Result<Json, Invalid> {
    Json::parse("metadata", text)
}

/// A JSON object for `field`. On the wire null would be nothing at all.
pub(crate) fn object(field: &str, text: &str) -> Result<Json, Invalid> {
    let json = Json::parse(field, text)?;
    if json.is_object() { Ok(json) } else { Err(Invalid::body(field, "must be a JSON object")) }
}

fn assignment(text: &str) -> Result<(String, Json), Invalid> {
    let Some((field, value)) = text.split_once('=') else {
        return Err(Invalid::parameter("set", format!("'{text}' is not FIELD=JSON, such as maxTokens=2000")));
    };
    Ok((field.to_owned(), Json::parse(field, value)?))
}
