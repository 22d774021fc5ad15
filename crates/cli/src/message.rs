//! Changes to messages: `edit`, `delete-message`.

use clap::Args;
use threadkeep::{Content, Error, Json, MessageName};
use threadkeep_api as api;

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::say::{or_stdin, print};
use crate::thread;

/// Give a message new content or metadata; earlier versions still show what was
#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// The id of the message
    message: MessageName,
    /// The new text; - reads stdin
    #[arg(required_unless_present_any = ["content", "metadata"], conflicts_with = "content")]
    text: Option<String>,
    /// Typed parts instead of text, as a JSON array; - reads stdin
    #[arg(long, value_name = "JSON")]
    content: Option<String>,
    /// Fields to merge into its metadata, as a JSON object; null clears one
    #[arg(long, value_name = "JSON", value_parser = thread::metadata)]
    metadata: Option<Json>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Edit {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let content = match (&self.content, &self.text) {
            (Some(json), _) => Some(Content::from_json(Json::parse("content", &or_stdin(&context.engine, json)?)?)?),
            (None, Some(text)) => Some(Content::text(&or_stdin(&context.engine, text)?)),
            (None, None) => None,
        };
        let Self { message, metadata, conditions: Conditions { expected_version: expected, .. }, .. } = self;
        let message = context.engine.message_id(message).await?;
        let edit = threadkeep::EditMessage { message, content, metadata, expected };
        let message = context.engine.edit_message(thread.id, edit).await?;
        print(context, &message)
    }
}

/// Delete a message; earlier versions still show it
#[derive(Debug, Args)]
pub(crate) struct DeleteMessage {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// The id of the message
    message: MessageName,
    #[command(flatten)]
    conditions: Conditions,
}

impl DeleteMessage {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let deleted = match context.engine.message_id(self.message).await {
            Ok(message) => {
                let delete = threadkeep::DeleteMessage { message, expected: self.conditions.expected_version };
                context.engine.delete_message(thread.id, delete).await?
            }
            Err(Error::MessageNotFound { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        if context.json {
            return context.out.json(&api::Deleted { deleted });
        }
        let message = self.message;
        context.note(if deleted {
            format!("deleted {message}")
        } else {
            format!("the thread shows no message {message}")
        });
        Ok(())
    }
}
