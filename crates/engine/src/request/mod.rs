//! How a model is asked: which part of a conversation it wants, and how its tokens are counted.

mod estimate;
mod tokens;

use threadkeep_model::{MessageBody, MessageId, Role, RunSide};

pub use estimate::Estimate;
pub use tokens::{CountTokens, Tokenizer};
pub(crate) use tokens::{Counts, IMAGE_TOKENS, nested, nesting, of_content};

/// Tokens for the conversation where no model says how much fits.
pub const CONVERSATION_TOKENS: u64 = 100_000;
/// Tokens for memories where no model says how much fits.
pub(crate) const MEMORY_TOKENS: u64 = 2_000;

/// What a model is to be given.
#[derive(Clone)]
pub struct Wanted {
    /// Tokens for the conversation, its summary included.
    pub tokens: u64,
    /// Counts tokens as the model does.
    pub tokenizer: Tokenizer,
    /// At most so many of the newest messages.
    pub recent_messages: Option<usize>,
    /// How many of the newest pictures are given.
    pub images: usize,
    /// Whether calls of earlier turns are given.
    pub past_tools: bool,
    /// The model of an agent with two.
    pub side: RunSide,
    /// The first message that was given, where that is known: then nothing is decided again.
    pub from: Option<MessageId>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            tokens: CONVERSATION_TOKENS,
            tokenizer: std::sync::Arc::new(Estimate::OTHER),
            recent_messages: None,
            images: 10,
            past_tools: true,
            side: RunSide::A,
            from: None,
        }
    }
}

impl Wanted {
    /// The beginning of a text that takes at most `tokens`.
    pub fn fitted(&self, text: &str, tokens: u64) -> String {
        tokens::fit_text(text, tokens, &*self.tokenizer)
    }
}

/// How a model is asked: what it is given of the conversation, and the tokens of everything else.
#[derive(Clone)]
pub struct Request {
    /// The name of the model.
    pub model: Option<String>,
    /// The conversation.
    pub wanted: Wanted,
    /// Tokens of the system prompt.
    pub system: u64,
    /// Tokens of the tools.
    pub tools: u64,
    /// Tokens of the active skills.
    pub skills: u64,
    /// Tokens for memories, at most.
    pub memory: u64,
}

impl Default for Request {
    /// A request where nothing is known of the model.
    fn default() -> Self {
        let wanted = Wanted::default();
        Self { model: None, wanted, system: 0, tools: 0, skills: 0, memory: MEMORY_TOKENS }
    }
}

/// Whether the model of this side wrote a message.
pub(crate) fn wrote(side: RunSide, body: &MessageBody) -> bool {
    match side {
        RunSide::A => body.role == Role::Assistant,
        RunSide::B => is_of_side_b(body),
    }
}

/// Whether the second model of an agent wrote a message.
pub(crate) fn is_of_side_b(body: &MessageBody) -> bool {
    let side =
        || body.metadata.as_ref()?.read::<serde_json::Value>().ok()?.get("side")?.as_str().map(|side| side == "b");
    body.role == Role::User && side().unwrap_or(false)
}
