//! How many tokens a text takes.
//!
//! A tokenizer counts exactly. Where there is none for a model, an [estimate](super::estimate) is made.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use threadkeep_model::{Content, MessageBody, MessageId, Part, Version};

/// Tokens that a provider adds to each message.
const MESSAGE_TOKENS: u64 = 4;
/// Tokens of a picture. Providers count 85 to 1,600, by its size.
pub(crate) const IMAGE_TOKENS: u64 = 1_600;
/// Counts that are kept.
const KEPT_MAX: usize = 200_000;

/// Counts the tokens of texts, as one family of models does.
pub trait CountTokens: Send + Sync {
    /// Tokens of a text.
    fn count(&self, text: &str) -> u64;

    /// The name of the tokenizer, which tells counts apart.
    fn name(&self) -> &str;

    /// Whether counts are estimates.
    fn is_estimate(&self) -> bool;
}

impl fmt::Debug for dyn CountTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Tokens of each message that was counted, by tokenizer: a message is counted once for as long as it says the same.
#[derive(Default)]
pub(crate) struct Counts(Mutex<HashMap<(MessageId, Version, String), u64>>);

impl Counts {
    /// Tokens of a message as `tokenizer` counts them.
    pub(crate) fn of(&self, id: MessageId, version: Version, body: &MessageBody, tokenizer: &dyn CountTokens) -> u64 {
        let key = (id, version, tokenizer.name().to_owned());
        let kept = |counts: &Self| counts.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        if let Some(known) = kept(self) {
            return known;
        }
        let count = of_content(&body.content, tokenizer);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= KEPT_MAX {
            counts.clear();
        }
        counts.insert(key, count);
        count
    }
}

/// Tokens of a message with this content.
pub(crate) fn of_content(content: &Content, tokenizer: &dyn CountTokens) -> u64 {
    if !content.as_json().as_str().starts_with('[') {
        return MESSAGE_TOKENS + tokenizer.count(&content.to_text());
    }
    MESSAGE_TOKENS + content.to_parts().iter().map(|part| of_part(part, tokenizer)).sum::<u64>()
}

fn of_part(part: &Part, tokenizer: &dyn CountTokens) -> u64 {
    match part {
        Part::Text { text } | Part::Thinking { text, .. } => tokenizer.count(text),
        Part::Image { .. } => IMAGE_TOKENS,
        Part::File { path, name, .. } => tokenizer.count(name.as_deref().unwrap_or(path)) + MESSAGE_TOKENS,
        Part::ToolUse { id, name, input } => {
            tokenizer.count(name) + tokenizer.count(id) + tokenizer.count(&input.to_string()) + MESSAGE_TOKENS
        }
        Part::ToolResult { tool_use_id, content, .. } => {
            let text = match (content, nested(content)) {
                (serde_json::Value::String(text), _) => tokenizer.count(text),
                (_, Some(parts)) => parts.iter().map(|part| of_part(part, tokenizer)).sum(),
                (other, None) => tokenizer.count(&other.to_string()),
            };
            tokenizer.count(tool_use_id) + text + MESSAGE_TOKENS
        }
    }
}

/// The parts of a result that has some.
pub(crate) fn nested(content: &serde_json::Value) -> Option<Vec<Part>> {
    content.is_array().then(|| serde::Deserialize::deserialize(content).ok()).flatten()
}

/// The content of a result with these parts.
pub(crate) fn nesting(parts: &[Part]) -> serde_json::Value {
    serde_json::to_value(parts).unwrap_or_default()
}

/// The beginning of a text that takes at most `tokens`.
pub(crate) fn fit_text(text: &str, tokens: u64, tokenizer: &dyn CountTokens) -> String {
    let mut end = text.len();
    loop {
        let part = &text[..text.floor_char_boundary(end)];
        let count = tokenizer.count(part);
        if count <= tokens || end == 0 {
            return part.trim_end().to_owned();
        }
        // In proportion, and a little less each time.
        end = (end as u64 * tokens / count.max(1)).min(end as u64 - 1) as usize;
    }
}

/// A shared tokenizer.
pub type Tokenizer = Arc<dyn CountTokens>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Estimate;

    #[test]
    fn a_text_is_cut_to_fit() {
        let text = "Größe und Länge. ".repeat(100);
        let cut = fit_text(&text, 50, &Estimate::OTHER);
        assert!(text.starts_with(&cut) && Estimate::OTHER.count(&cut) <= 50 && cut.len() > 50, "{cut}");
        assert_eq!(fit_text("short", 50, &Estimate::OTHER), "short");
    }
}
