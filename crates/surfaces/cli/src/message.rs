//! Changes to messages: `messages edit`, `messages rm`.

use clap::Args;
use threadkeep::{Content, Json};
use threadkeep_calls as calls;

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::naming;
use crate::say::{or_stdin, print};
use crate::thread;

/// Give a message new content or metadata; earlier versions still show what was
#[derive(Debug, Args)]
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
    #[arg(required_unless_present_any = ["content", "metadata"], conflicts_with = "content")]
    text: Option<String>,
    /// Typed parts instead of text, as a JSON array; - reads stdin
    #[arg(long, value_name = "JSON")]
    content: Option<String>,
    /// Fields to merge into its metadata, as a JSON object; null clears one
    #[arg(long, value_name = "JSON", value_parser = |json: &str| thread::object("metadata", json))]
    metadata: Option<Json>,
}

impl NewContent {
    /// The content and the metadata, read from stdin where asked.
    pub(crate) fn read(self) -> Result<(Option<Content>, Option<Json>), Failure> {
        let content = match (&self.content, &self.text) {
            (Some(json), _) => Some(Content::from_json(Json::parse("content", &or_stdin(json)?)?)?),
            (None, Some(text)) => Some(Content::text(&or_stdin(text)?)),
            (None, None) => None,
        };
        Ok((content, self.metadata))
    }
}

impl Edit {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let (content, metadata) = self.new.read()?;
        let message = naming::message(&context.client, thread.id, &self.message).await?;
        let edit = calls::EditMessage { message, content, metadata };
        let message = context.client.call(thread.id, edit).await?;
        print(context, &message)
    }
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
