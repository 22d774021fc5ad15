//! Adding to a conversation: `append` (or `say`), `append-event`, `insert`.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use threadkeep::{
    At, Content, Event, EventKind, IdempotencyKey, Invalid, Json, Limits, MessageBody, NewAttachment, NewMessage, Part,
    Role, SystemWorld, ThreadId, World,
};
use threadkeep_calls as calls;
use threadkeep_client as client;

use crate::attached;
use crate::context::{Conditions, Context};
use crate::exclusive::Exclusively;
use crate::failure::{Failure, cannot_read};
use crate::input::{or_stdin, read_at_most, too_large};
use crate::retry::Retry;
use crate::{lines, naming, thread};

/// Add a message, and print its id once it is durable
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep say 4e36 \"What is left to do?\"
  threadkeep say 4e36                      write it in $VISUAL or $EDITOR
  git diff | threadkeep say 4e36 - --attach screenshot.png
  threadkeep say 4e36 --role tool --content '[{\"type\":\"tool_result\",\"toolUseId\":\"1\",\"content\":\"ok\"}]'
  tail -f app.log | threadkeep say 4e36 --lines --role info
  make 2>&1 | threadkeep say 4e36 --lines --exclusive    no other writer in between")]
pub(crate) struct Append {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    #[command(flatten)]
    message: MessageArgs,
    /// Add one message for each line of stdin, and print each as a line of JSON once it is durable
    #[arg(long, conflicts_with_all = ["text", "content", "attach", "expected_version", "idempotency_key"])]
    lines: bool,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    exclusively: Exclusively,
    #[command(flatten)]
    retry: Retry,
}

/// What a message is made of.
#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// The text; several words are joined by spaces. Without it, stdin is read, or an editor opens on a terminal
    #[arg(conflicts_with = "content")]
    text: Vec<String>,
    /// user, assistant, info, tool or system
    #[arg(long, default_value = "user")]
    role: Role,
    /// The name of the speaker or the tool
    #[arg(long)]
    name: Option<String>,
    /// A JSON object of your own
    #[arg(long, value_name = "JSON", value_parser = |json: &str| thread::object("metadata", json))]
    metadata: Option<Json>,
    /// Hide it from lists by default
    #[arg(long)]
    silent: bool,
    /// How far below the conversation it hangs
    #[arg(long, value_name = "N", default_value_t = 0)]
    depth: u8,
    /// Typed parts instead of text, as a JSON array; - reads stdin
    #[arg(long, value_name = "JSON")]
    content: Option<String>,
    /// A file to store with it; may be given several times
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
}

impl MessageArgs {
    /// Whether there is no message at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.content.is_none() && self.attach.is_empty()
    }

    /// The message, read from stdin, an editor and files where asked.
    pub(crate) fn read(self, context: &mut Context) -> Result<NewMessage, Failure> {
        let content = match &self.content {
            Some(json) => Content::from_json(Json::parse("content", &or_stdin(json)?)?)?,
            None if self.is_empty() => Content::text(&context.written("")?),
            None => Content::text(&or_stdin(&self.text.join(" "))?),
        };
        if self.attach.is_empty() {
            refuse_empty(&content)?;
        }
        let files = self.attach.iter().map(|path| attachment(path)).collect::<Result<_, Failure>>()?;
        Ok(NewMessage { body: self.body(content), files })
    }

    /// The message that says `content`.
    pub(crate) fn body(&self, content: Content) -> MessageBody {
        let mut body = MessageBody::with_content(self.role, content).depth(self.depth);
        body.name = self.name.clone();
        body.metadata = self.metadata.clone();
        body.silent = self.silent;
        body
    }
}

/// A message says something.
pub(crate) fn refuse_empty(content: &Content) -> Result<(), Invalid> {
    let parts = content.to_parts();
    let is_blank = |part: &Part| matches!(part, Part::Text { text } if text.trim().is_empty());
    if parts.iter().all(is_blank) {
        return Err(Invalid::body("text", "is empty: give a text, pipe one in, or use --content or --attach"));
    }
    Ok(())
}

impl Append {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { thread, message, lines, conditions, exclusively, retry } = self;
        let thread = context.thread_to_change(&thread, &conditions).await?.id;
        let what = if lines {
            What::Lines(message)
        } else {
            let key = conditions.idempotency_key.clone().map_or_else(|| Keys::new().next(), Ok)?;
            What::One(Box::new(One { message: message.read(context)?, at: conditions.at(thread).keyed(key) }))
        };
        // Stdin is read before the lease is taken, which keeps others out.
        match exclusively.take(context, thread).await? {
            None => what.append(context, thread, retry).await,
            Some(exclusive) => {
                context.write_under(exclusive.token());
                exclusive.during(what.append(context, thread, retry)).await
            }
        }
    }
}

/// The messages to append.
enum What {
    One(Box<One>),
    /// One message like this for each line of stdin.
    Lines(MessageArgs),
}

/// One message, with its thread, conditions and key.
struct One {
    message: NewMessage,
    at: At,
}

impl One {
    async fn append(&self, context: &mut Context) -> Result<calls::Appended, client::Error> {
        let (at, append) = (self.at.clone(), calls::Append::from(self.message.clone()));
        if self.message.files.is_empty() {
            return context.client.retrying(client::Retry::never()).call(at, append).await;
        }
        attached::call(context, at, append).await
    }
}

impl What {
    async fn append(self, context: &mut Context, thread: ThreadId, retry: Retry) -> Result<(), Failure> {
        match self {
            Self::Lines(like) => lines::append(context, thread, &like, retry).await,
            Self::One(one) => {
                let appended = retry.until_there(async || one.append(context).await).await?;
                appended.messages.iter().try_for_each(|message| print(context, message))
            }
        }
    }
}

/// Fresh keys: a call that is retried under the same key takes effect once.
pub(crate) struct Keys {
    run: u128,
    given: u64,
}

impl Keys {
    pub(crate) fn new() -> Self {
        Self { run: SystemWorld.chance(), given: 0 }
    }

    pub(crate) fn next(&mut self) -> Result<IdempotencyKey, Invalid> {
        self.given += 1;
        IdempotencyKey::new(format!("{:032x}-{}", self.run, self.given))
    }
}

/// Log an event that is not a message, and print its version
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  threadkeep messages event 4e36 tool_use '{\"name\":\"ls\",\"input\":{\"path\":\".\"}}'")]
pub(crate) struct AppendEvent {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// tool_use, assistant_text or result
    #[arg(value_name = "TYPE")]
    kind: EventKind,
    /// What it carries: a JSON object, or - for stdin
    #[arg(value_name = "JSON")]
    data: String,
    #[command(flatten)]
    conditions: Conditions,
}

impl AppendEvent {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let data = Json::parse("data", &or_stdin(&self.data)?)?;
        let thread = context.thread(&self.thread).await?;
        let event = calls::AppendEvent::from(Event { kind: self.kind, data });
        let logged = context.client.call(self.conditions.at(thread.id), event).await?;
        if context.json { context.out.json(&logged) } else { context.out.line(logged.version.to_string()) }
    }
}

/// Put a message before another one; nothing is renumbered
#[derive(Debug, Args)]
pub(crate) struct Insert {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The message before which it shall stand: its id, the beginning of it, or @last
    #[arg(long = "before", value_name = "MESSAGE")]
    message_id: String,
    #[command(flatten)]
    message: MessageArgs,
    #[command(flatten)]
    conditions: Conditions,
}

impl Insert {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let (message, at) = (self.message.read(context)?, self.conditions.at(thread.id));
        let has_files = !message.files.is_empty();
        let before = naming::message(&context.client, thread.id, &self.message_id).await?;
        let insert = calls::Append::before(message, before);
        let inserted = if has_files {
            attached::call(context, at, insert).await?
        } else {
            context.client.call(at, insert).await?
        };
        inserted.messages.iter().try_for_each(|message| print(context, message))
    }
}

/// A message: its id alone for people and scripts, whole for programs.
pub(crate) fn print(context: &mut Context, message: &calls::Message<'_>) -> Result<(), Failure> {
    if context.json { context.out.json(message) } else { context.out.line(message.id.to_string()) }
}

fn attachment(path: &Path) -> Result<NewAttachment, Failure> {
    let max = Limits::default().attachment_bytes_max;
    let shown = path.display().to_string();
    let bytes = File::open(path).and_then(|mut file| read_at_most(&mut file, max + 1));
    let bytes = bytes.map_err(|error| cannot_read(&shown, &error))?;
    if bytes.len() > max {
        return Err(too_large("attachments", format!("{shown} is too large: an attachment has at most {max} bytes")));
    }
    let name = path.file_name().map_or(shown.clone(), |name| name.to_string_lossy().into_owned());
    Ok(NewAttachment { mime_type: mime_type(&name).to_owned(), name, bytes })
}

/// The media type by the end of a file's name.
fn mime_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("txt" | "log") => "text/plain",
        Some("md") => "text/markdown",
        Some("html" | "htm") => "text/html",
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        Some("pdf") => "application/pdf",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
