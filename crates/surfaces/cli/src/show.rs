//! `show`: the conversation, for people to read or for programs.

use clap::Args;
use threadkeep::model::{Attachment, BlobId};
use threadkeep::{FilePath, Limits, MessageBody, Part, Role, Version};
use threadkeep_calls as calls;
use threadkeep_calls::{ErrorCode, ListMessages, Message, Order, Problem, Status, Thread};
use threadkeep_client::MessagePage;

use crate::context::Context;
use crate::failure::Failure;
use crate::screen::{Paint, columns, rows, screen};
use crate::text::{brief, counted, moment, quoted, visible};
use crate::thread;
use crate::{markdown, naming};

/// Characters of a tool call, a tool result or a thought.
const SUMMARY_SHOWN_MAX: usize = 160;

/// Rows that are left for the title, the note below and the prompt.
const ROWS_AROUND: usize = 5;
/// Most messages that are read to fill a screen.
const MESSAGES_MAX: usize = 200;

/// Show the conversation: on a terminal the newest messages that fit, else all
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep show 4e36 --newest-first --limit 5
  threadkeep show 4e36 --at-version 12           as it was at version 12
  threadkeep show 4e36 --json --all | jq -r '.messages.items[].content'")]
pub(crate) struct Show {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// Number of messages (maximum 1000)
    #[arg(long, value_name = "N", conflicts_with = "all")]
    limit: Option<usize>,
    /// Every message, on a terminal too
    #[arg(long)]
    all: bool,
    /// The newest message first
    #[arg(long)]
    newest_first: bool,
    /// As the thread was at this version
    #[arg(long = "at-version", alias = "as-of", value_name = "VERSION")]
    as_of: Option<Version>,
    /// Only messages of this role: user, assistant, info, tool or system
    #[arg(long)]
    role: Option<Role>,
    /// Messages down to this depth [default: 0]
    #[arg(long, value_name = "N")]
    max_depth: Option<u8>,
    /// Show silent messages too
    #[arg(long)]
    include_silent: bool,
    /// Go on where an earlier page ended
    #[arg(long, conflicts_with_all = ["newest_first", "as_of"])]
    cursor: Option<String>,
    /// The thread for which it is read; both then show that it mentions this one
    #[arg(long, value_name = "THREAD")]
    from: Option<String>,
    /// Print the bytes of this attachment instead
    #[arg(long, value_name = "ID", requires = "message")]
    attachment: Option<BlobId>,
    /// This message alone, or the one that has the attachment: its id, the beginning of it, or @last
    #[arg(long, value_name = "MESSAGE")]
    message: Option<String>,
}

impl Show {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let reader = match &self.from {
            Some(reader) => Some(context.thread(reader).await?.id),
            None => None,
        };
        let thread = context.thread(&self.thread).await?;
        if let Some(reader) = reader {
            context.client.call(reader, calls::Mention::of(thread.id)).await?;
        }
        let message = match &self.message {
            Some(message) => Some(naming::message(&context.client, thread.id, message).await?),
            None => None,
        };
        if let (Some(attachment), Some(message)) = (self.attachment, message) {
            let engine = context.engine("--attachment")?;
            let message = engine.message_id(message).await?;
            let bytes = engine.attachment(thread.id, message, attachment).await?;
            return context.out.bytes(&bytes);
        }
        if let Some(message) = message {
            let message = context.client.call(thread.id, calls::GetMessage { message }).await?;
            print(context, &message, true)?;
            return if context.json { context.out.line("") } else { Ok(()) };
        }
        if screen().is_terminal && self.takes_all_by_default() && !self.all {
            return self.newest(context, &thread).await;
        }
        let takes_all = self.all || self.limit.is_none();
        if takes_all {
            context.out.page()?;
        }
        let limit = if takes_all { Some(Limits::default().page_max) } else { self.limit };
        let mut which = self.which(limit);
        let MessagePage { mut page, version } = context.client.messages(thread.id, &which).await?;
        let total = page.total.unwrap_or(thread.message_count);
        begin(context, &thread, version.unwrap_or(thread.v), total)?;
        let mut shown = 0;
        loop {
            for message in &page.items {
                print(context, message, shown == 0)?;
                shown += 1;
            }
            match page.next_cursor.take() {
                Some(cursor) if takes_all => {
                    which.cursor = Some(cursor);
                    page = context.client.messages(thread.id, &which).await?.page;
                }
                next => {
                    page.next_cursor = next;
                    break;
                }
            }
        }
        self.end(context, page.next_cursor.as_deref(), total, shown)
    }

    /// Whether nothing says which messages are shown.
    fn takes_all_by_default(&self) -> bool {
        self.limit.is_none() && self.cursor.is_none() && !self.newest_first
    }

    /// The newest messages that fit on the screen; at least one.
    async fn newest(&self, context: &mut Context, thread: &Thread) -> Result<(), Failure> {
        let room = rows().saturating_sub(ROWS_AROUND);
        let which = ListMessages { order: Some(Order::Descending), ..self.which(Some(room.clamp(1, MESSAGES_MAX))) };
        let MessagePage { page, version } = context.client.messages(thread.id, &which).await?;
        let total = page.total.unwrap_or(thread.message_count);
        let (mut shown, mut used) = (Vec::new(), 0);
        for message in &page.items {
            let lines = lines(message)?;
            used += lines.iter().map(|line| line.chars().count().div_ceil(columns()).max(1)).sum::<usize>();
            if used > room && !shown.is_empty() {
                break;
            }
            shown.push(lines);
        }
        if used > room && shown.len() == 1 {
            context.out.page()?;
        }
        begin(context, thread, version.unwrap_or(thread.v), total)?;
        for line in shown.iter().rev().flatten() {
            context.out.line(line)?;
        }
        context.out.finish()?;
        if shown.len() < page.items.len() || page.next_cursor.is_some() {
            let all = context.hints.command(&format!("show {} --all", quoted(&self.thread)));
            let newest = counted(shown.len() as u64, "message", "messages");
            context.note(format!("\nthe newest {newest} of {total}; all of them: {all}"));
        }
        Ok(())
    }

    fn which(&self, limit: Option<usize>) -> ListMessages {
        ListMessages {
            limit,
            cursor: self.cursor.clone(),
            offset: None,
            around: None,
            order: self.newest_first.then_some(Order::Descending),
            role: self.role,
            max_depth: self.max_depth,
            include_silent: self.include_silent,
            as_of: self.as_of,
            from: None,
            total: Some(true),
        }
    }

    fn end(&self, context: &mut Context, next: Option<&str>, total: u64, shown: u64) -> Result<(), Failure> {
        if context.json {
            context.out.bytes(b"],\"nextCursor\":")?;
            context.out.json_part(&next)?;
            context.out.bytes(b",\"total\":")?;
            context.out.json_part(&total)?;
            return context.out.line("}}");
        }
        if let Some(cursor) = next {
            context.out.flush()?;
            let next = context.hints.command(&self.next(cursor));
            context.note(format!("\n{shown} of {}; go on with: {next}", counted(total, "message", "messages")));
        }
        Ok(())
    }

    /// The command that shows the next page.
    fn next(&self, cursor: &str) -> String {
        let mut command = format!("show {} --cursor {cursor}", quoted(&self.thread));
        let flags = [
            self.limit.map(|limit| format!(" --limit {limit}")),
            self.role.map(|role| format!(" --role {role}")),
            self.max_depth.map(|depth| format!(" --max-depth {depth}")),
            self.include_silent.then(|| " --include-silent".to_owned()),
        ];
        command.extend(flags.into_iter().flatten());
        command
    }
}

fn begin(context: &mut Context, thread: &Thread, version: Version, total: u64) -> Result<(), Failure> {
    if context.json {
        context.out.bytes(b"{\"thread\":")?;
        context.out.json_part(thread)?;
        return context.out.bytes(b",\"messages\":{\"items\":[");
    }
    let messages = counted(total, "message", "messages");
    let title = Paint::Bold.on(&visible(thread::title(thread)));
    context.out.line(format!("{title}  ({}, version {version}, {messages})", thread.id.short()))
}

pub(crate) fn print(context: &mut Context, message: &Message<'_>, first: bool) -> Result<(), Failure> {
    if context.json {
        if !first {
            context.out.bytes(b",")?;
        }
        return context.out.json_part(message);
    }
    lines(message)?.iter().try_for_each(|line| context.out.line(line))
}

/// A message for people, an empty line before it.
fn lines(message: &Message<'_>) -> Result<Vec<String>, Failure> {
    let body = body(message)?;
    let about = Paint::Dim.on(&format!("{}  {}", message.id, moment(message.created_at)));
    let mut lines = vec![String::new(), format!("{}  {about}", of_role(body.role).on(&speaker(&body)))];
    for part in body.content.to_parts() {
        let text = summary(&part);
        let text = visible(&text);
        match &part {
            Part::Text { .. } if screen().is_coloured => {
                lines.extend(markdown::rendered(&text).into_iter().map(|line| format!("  {line}")));
            }
            Part::Text { .. } => lines.extend(text.lines().map(|line| format!("  {line}"))),
            Part::Image { .. }
            | Part::File { .. }
            | Part::ToolUse { .. }
            | Part::ToolResult { .. }
            | Part::Thinking { .. } => {
                lines.extend(text.lines().map(|line| format!("  {}", Paint::Dim.on(line))));
            }
        }
    }
    for Attachment { id, name, mime_type, size, path } in &body.attachments {
        // An attachment among the thread's files is shown by its path.
        let name = visible(path.as_ref().map_or(name, FilePath::as_str));
        let attached = format!("[attachment {name}, {}, {size} bytes: {id}]", visible(mime_type));
        lines.push(format!("  {}", Paint::Dim.on(&attached)));
    }
    Ok(lines)
}

/// The colour of a speaker.
pub(crate) fn of_role(role: Role) -> Paint {
    match role {
        Role::User => Paint::Cyan,
        Role::Assistant => Paint::Green,
        Role::Tool => Paint::Yellow,
        Role::System => Paint::Magenta,
        Role::Info => Paint::Blue,
    }
}

/// The body of a message.
pub(crate) fn body(message: &Message<'_>) -> Result<MessageBody, Failure> {
    let odd = |error: serde_json::Error| {
        let detail = format!("message {} cannot be read: {error}", message.id);
        Problem::new(Status::Internal, ErrorCode::NotUnderstood, detail)
    };
    let content = serde_json::from_str(message.content.get()).map_err(odd)?;
    let mut body = MessageBody::with_content(message.role, content).depth(message.depth);
    body.name = message.name.as_deref().map(str::to_owned);
    body.silent = message.silent;
    body.attachments.clone_from(&message.attachments);
    Ok(body)
}

/// The speaker, with notes such as silence or depth.
fn speaker(body: &MessageBody) -> String {
    let mut shown = body.role.to_string();
    if let Some(name) = &body.name {
        shown.push_str(&format!(" {}", visible(name)));
    }
    if body.silent {
        shown.push_str(" (silent)");
    }
    if body.depth > 0 {
        shown.push_str(&format!(" (depth {})", body.depth));
    }
    shown
}

/// A part as people read it: text whole, tool calls and results in brief.
fn summary(part: &Part) -> String {
    match part {
        Part::Text { text } => text.clone(),
        Part::Image { path, mime_type, .. } => format!("[image {path}, {mime_type}]"),
        Part::File { path, mime_type, .. } => format!("[file {path}, {mime_type}]"),
        Part::ToolUse { name, input, .. } => {
            format!("[calls {name} {}]", brief(&input.to_string(), SUMMARY_SHOWN_MAX))
        }
        Part::ToolResult { content, is_error, .. } => {
            let content = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
            let failed = if *is_error { " of a failure" } else { "" };
            format!("[result{failed}: {}]", brief(&content, SUMMARY_SHOWN_MAX))
        }
        Part::Thinking { text, .. } => format!("[thinks: {}]", brief(text, SUMMARY_SHOWN_MAX)),
    }
}

/// A message in a few words.
pub(crate) fn in_brief(body: &MessageBody, most: usize) -> String {
    let text: Vec<String> = body.content.to_parts().iter().map(summary).collect();
    format!("{}: {}", speaker(body), brief(&text.join(" "), most))
}
