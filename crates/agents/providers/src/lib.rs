//! Model protocols: a [`Request`] becomes [`Piece`]s of an answer, and in the end an [`Answer`].
//!
//! Three protocols: chat completions of OpenAI (also spoken by Ollama, llama.cpp, vLLM and OpenRouter), messages of
//! Anthropic, and `script`, which plays a file. Each is a pair of pure parts: a function from the request to the JSON
//! that is sent, and a reader from the bytes that come back to pieces. [`Models`] sends, waits, tries again and falls
//! back to the next model; it is the one place that does I/O.
//!
//! This crate knows nothing of threads: the caller chooses the messages, stores the answer and runs the calls.

mod answer;
mod anthropic;
mod blocks;
mod failure;
mod local;
mod models;
mod names;
mod openai;
mod request;
mod script;
mod sse;

pub use answer::{Answer, AnswerPart, Piece, Prices, Stop, Usage};
pub use failure::{Failure, Problem};
pub use local::{Local, find_local};
pub use models::{Asking, Model, Models, Patience, Protocol};
pub use request::{Choice, Image, Message, Part, Request, Role, Thought, Tool};
pub use script::{Script, ScriptError};
pub use threadkeep_outgoing::Reach;

use std::fmt;

/// What the user says where a protocol wants a first message and there is none.
const BEGIN: &str = "(The conversation goes on.)";

/// A key of a provider. It never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key with this text.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}
