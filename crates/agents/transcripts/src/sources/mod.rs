//! One module for each source, each a pure reader from bytes or rows to the neutral shape.
//!
//! A reader never fails a file for one record: what it cannot read, it skips, counts and names.

pub mod amp;
pub mod chatgpt;
pub mod claude_code;
pub mod cline;
pub mod codex;
pub mod gemini_cli;
pub mod goose;
pub mod langgraph;
pub mod opencode;
pub mod pi;
pub mod zed;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a reader remembers of the lines before. A state that cannot be read is that of a new file: the caller changed
/// it, or another version wrote it.
fn remembered<T: DeserializeOwned + Default>(state: &Value) -> T {
    T::deserialize(state).unwrap_or_default()
}

fn remember(state: &impl Serialize) -> Value {
    serde_json::to_value(state).unwrap_or_default()
}
