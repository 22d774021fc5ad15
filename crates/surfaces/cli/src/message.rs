//! Changes to messages: `messages edit`, `messages rm`.

use clap::Args;
use threadkeep::{Content, Invalid, Json, MessageName, ThreadId};
use threadkeep_calls as calls;

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::input::or_stdin;
use crate::naming;
use crate::say::{print, refuse_empty};
use crate::thread;

/// Give a message new content or metadata; earlier versions stay readable
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep messages edit 4e36 @last \"A better text.\"
  threadkeep messages edit 4e36 @last           in $VISUAL or $EDITOR")]
pub(crate) struct Edit {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The message: its id, the beginning of it, or @last
    message: String,
    #[command(flatten)]
    new: NewContent,
    #[command(flatten)]
    conditions: Conditions,
}

/// What a message is to say.
#[derive(Debug, Args)]
pub(crate) struct NewContent {
    /// The new text; - reads stdin
    #[arg(conflicts_with = "content")]
    text: Option<String>,
    /// Typed parts instead of text, as a JSON array; - reads stdin
    #[arg(long, value_name = "JSON")]
    content: Option<String>,
    /// Fields to merge into its metadata, as a JSON object; null clears one
    #[arg(long, value_name = "JSON", value_parser = |json: &str| thread::object("metadata", json))]
    metadata: Option<Json>,
}

impl NewContent {
    /// Whether nothing is to change.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_none() && self.content.is_none() && self.metadata.is_none()
    }

    /// The content and the metadata, read from stdin where asked.
    pub(crate) fn read(self) -> Result<(Option<Content>, Option<Json>), Failure> {
        let content = match (&self.content, &self.text) {
            (Some(json), _) => Some(Content::from_json(Json::parse("content", &or_stdin(json)?)?)?),
            (None, Some(text)) => Some(Content::text(&or_stdin(text)?)),
            (None, None) => None,
        };
        if let Some(content) = &content {
            refuse_empty(content)?;
        }
        Ok((content, self.metadata))
    }
}

impl Edit {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let message = naming::message(&context.client, thread.id, &self.message).await?;
        let (content, metadata) = match self.new.is_empty() {
            true => (Some(rewritten(context, thread.id, message).await?), None),
            false => self.new.read()?,
        };
        let edit = calls::EditMessage { message, content, metadata };
        let message = context.client.call(thread.id, edit).await?;
        print(context, &message)
    }
}

/// The content that a person makes of the present one. Typed parts are edited as JSON.
async fn rewritten(context: &mut Context, thread: ThreadId, message: MessageName) -> Result<Content, Failure> {
    let message = context.client.call(thread, calls::GetMessage { message }).await?;
    let begin = match serde_json::from_str::<serde_json::Value>(message.content.get()) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(parts) => format!("{parts:#}"),
        Err(_) => message.content.get().to_owned(),
    };
    let is_text = message.content.get().starts_with('"');
    let text = context.written(&begin)?;
    if text == begin {
        return Err(Invalid::body("content", "is the same: nothing was changed").into());
    }
    let content = if is_text { Content::text(&text) } else { Content::from_json(Json::parse("content", &text)?)? };
    refuse_empty(&content)?;
    Ok(content)
}

/// Delete a message; earlier versions still show it
#[derive(Debug, Args)]
pub(crate) struct DeleteMessage {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The message: its id, the beginning of it, or @last
    message: String,
    #[command(flatten)]
    conditions: Conditions,
}

impl DeleteMessage {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let message = naming::message(&context.client, thread, &self.message).await?;
        let delete = calls::DeleteMessage { message };
        let done = context.client.call(self.conditions.at(thread), delete).await?;
        let verb = if done.deleted { "deleted" } else { "the thread shows no message" };
        context.note_or_show(&done, format!("{verb} {message}"))
    }
}
