//! What a model is asked, in no provider's words.

use bytes::Bytes;
use serde_json::{Map, Value};

/// A request to a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The system prompt, in blocks; providers that cache keep each block as a prefix.
    pub system: Vec<String>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// Whether the model may, must or must not call a tool.
    pub choice: Choice,
    /// Whether the model may call several tools at once.
    pub parallel: bool,
    /// The most tokens of the answer, thinking included.
    pub tokens_max: Option<u64>,
    /// How much the model thinks, in the provider's words (`low`, `high`) or as a number of tokens.
    pub reasoning: Option<String>,
    /// Fields that are added to the JSON that is sent, as the provider names them. They win over ours.
    pub options: Map<String, Value>,
    /// How many answers the model has given in this conversation, seen or cut: the place of a script.
    pub answered: usize,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The author of the message.
    pub role: Role,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message of text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Part::Text(text.into())] }
    }
}

/// The author of a message, as a model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The other side: a person, another agent, or the results of tools.
    User,
    /// The model itself.
    Assistant,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// A text, as it is.
    Text(String),
    /// A picture.
    Image(Image),
    /// A call of a tool, by the model.
    Call {
        /// The id, which the result repeats.
        id: String,
        /// The name of the tool, in our spelling.
        name: String,
        /// The arguments; an object, unless the model broke the rules.
        arguments: Value,
    },
    /// The result of a call, by the other side.
    Result {
        /// The id of the call.
        call: String,
        /// The result as text.
        text: String,
        /// Pictures that belong to it.
        images: Vec<Image>,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// Reasoning that came with an earlier answer.
    Thinking(Thought),
}

/// A picture that is sent along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its media type, such as `image/png`.
    pub mime_type: String,
    /// The file.
    pub bytes: Bytes,
}

/// Reasoning of a model. A provider accepts only its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thought {
    /// The reasoning as text; empty where the provider hides it.
    pub text: String,
    /// The provider that made it, as [`crate::Protocol::name`] says it.
    pub provider: String,
    /// The provider's signature of the text.
    pub signature: Option<String>,
    /// Hidden reasoning, encrypted by the provider.
    pub data: Option<String>,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name, in our spelling.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments: an object.
    pub schema: Value,
}

/// Whether the model calls tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    /// The model decides whether to call.
    #[default]
    Auto,
    /// Not in this answer.
    None,
    /// At least one.
    Required,
}
