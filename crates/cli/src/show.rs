//! `show`: the conversation, for people to read or for programs.

use clap::Args;
use threadkeep::model::{Attachment, BlobId};
use threadkeep::{Message, MessageBody, MessageName, MessagePage, Page, Part, Role, Thread, Version};
use threadkeep_api as api;

use crate::context::Context;
use crate::failure::Failure;
use crate::text::{brief, counted, moment, quoted, visible};
use crate::thread;

/// Characters of a tool call, a tool result or a thought.
const SUMMARY_SHOWN_MAX: usize = 160;

/// Show the conversation
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep show 4e36 --newest-first --limit 5
  threadkeep show 4e36 --as-of 12           as it was at version 12
  threadkeep show 4e36 --json --all | jq -r '.messages.items[].content'")]
pub(crate) struct Show {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// At most so many messages [default: 50]
    #[arg(long, value_name = "N", conflicts_with = "all")]
    limit: Option<usize>,
    /// Every message
    #[arg(long)]
    all: bool,
    /// The newest message first
    #[arg(long)]
    newest_first: bool,
    /// As the thread was at this version
    #[arg(long, value_name = "VERSION")]
    as_of: Option<Version>,
    /// Only messages of this role: user, assistant, info, tool or system
    #[arg(long)]
    role: Option<Role>,
    /// Only messages down to this depth
    #[arg(long, value_name = "N")]
    max_depth: Option<u8>,
    /// Silent messages too
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
    /// The message that has the attachment
    #[arg(long, requires = "attachment")]
    message: Option<MessageName>,
}

impl Show {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let reader = match &self.from {
            Some(reader) => Some(context.thread(reader).await?.id),
            None => None,
        };
        let thread = context.thread(&self.thread).await?;
        if let Some(reader) = reader {
            let mention = threadkeep::Mention { target: thread.id.into(), comment: None };
            context.engine.mention(reader, mention).await?;
        }
        if let (Some(attachment), Some(message)) = (self.attachment, self.message) {
            let message = context.engine.message_id(message).await?;
            let bytes = context.engine.attachment(thread.id, message, attachment).await?;
            return context.out.bytes(&bytes);
        }
        let page_max = context.engine.limits().page_max;
        let limit = if self.all { Some(page_max) } else { self.limit };
        let mut page = context.engine.messages(thread.id, self.page(self.cursor.clone(), limit)).await?;
        begin(context, &thread, &page)?;
        let mut shown = 0;
        loop {
            for message in &page.items {
                print(context, message, shown == 0)?;
                shown += 1;
            }
            match page.next.take() {
                Some(cursor) if self.all => {
                    page = context.engine.messages(thread.id, self.page(Some(cursor), limit)).await?;
                }
                next => {
                    page.next = next;
                    break;
                }
            }
        }
        self.end(context, &page, shown)
    }

    fn page(&self, cursor: Option<String>, limit: Option<usize>) -> Page {
        let mut page = cursor.map_or_else(Page::first, Page::after);
        if let Some(limit) = limit {
            page = page.limit(limit);
        }
        if self.newest_first {
            page = page.newest_first();
        }
        if let Some(version) = self.as_of {
            page = page.as_of(version);
        }
        if let Some(role) = self.role {
            page = page.role(role);
        }
        if let Some(depth) = self.max_depth {
            page = page.max_depth(depth);
        }
        if self.include_silent { page.include_silent() } else { page }
    }

    fn end(&self, context: &mut Context, page: &MessagePage, shown: u64) -> Result<(), Failure> {
        if context.json {
            context.out.bytes(b"],\"nextCursor\":")?;
            context.out.json_part(&page.next)?;
            if self.role.is_none() && self.max_depth.is_none() {
                context.out.bytes(b",\"total\":")?;
                context.out.json_part(&page.total)?;
            }
            return context.out.line("}}");
        }
        if let Some(cursor) = &page.next {
            context.out.flush()?;
            let next = context.hints.command(&self.next(cursor));
            context.note(format!("\n{shown} of {}; go on with: {next}", counted(page.total, "message", "messages")));
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

fn begin(context: &mut Context, thread: &Thread, page: &MessagePage) -> Result<(), Failure> {
    if context.json {
        context.out.bytes(b"{\"thread\":")?;
        context.out.json_part(&api::Thread::from(thread))?;
        return context.out.bytes(b",\"messages\":{\"items\":[");
    }
    let messages = counted(page.total, "message", "messages");
    let title = visible(thread::title(thread));
    context.out.line(format!("{title}  ({}, version {}, {messages})", thread.id.short(), page.version))
}

fn print(context: &mut Context, message: &Message, first: bool) -> Result<(), Failure> {
    if context.json {
        if !first {
            context.out.bytes(b",")?;
        }
        return context.out.json_part(&api::Message::new(message)?);
    }
    let body = message.body()?;
    context.out.line(format!("\n{}  {}  {}", speaker(&body), message.name(), moment(message.created)))?;
    for part in body.content.to_parts() {
        for line in visible(&summary(&part)).lines() {
            context.out.line(format!("  {line}"))?;
        }
    }
    for Attachment { id, name, mime_type, size } in &body.attachments {
        let (name, mime_type) = (visible(name), visible(mime_type));
        context.out.line(format!("  [attachment {name}, {mime_type}, {size} bytes: {id}]"))?;
    }
    Ok(())
}

/// Who speaks, and what is special about it.
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

/// A part as people read it: text whole, what tools say in brief.
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
        Part::Thinking { text } => format!("[thinks: {}]", brief(text, SUMMARY_SHOWN_MAX)),
    }
}

/// A message in a few words.
pub(crate) fn in_brief(body: &MessageBody, most: usize) -> String {
    let text: Vec<String> = body.content.to_parts().iter().map(summary).collect();
    format!("{}: {}", speaker(body), brief(&text.join(" "), most))
}
