//! Makes messages fit that are too long by themselves: the middle of their longest texts is left out, and pictures where
//! they take more than any text.

use serde_json::Value;
use threadkeep_calls::ModelMessage;
use threadkeep_model::{Content, Part};

use crate::request::{CountTokens, IMAGE_TOKENS, nested, of_content};

/// Texts are not made shorter than this, in characters.
const KEPT_CHARS_MIN: usize = 64;
/// A picture is as long as a text that takes as many tokens.
const PICTURE_CHARS: usize = 4 * IMAGE_TOKENS as usize;

/// Shortens the longest texts of the messages until they take at most `tokens`, or cannot get shorter. The newest
/// messages are shortened last among equals.
pub(super) fn fit(messages: &mut [ModelMessage], counts: &mut [u64], tokens: u64, tokenizer: &dyn CountTokens) {
    while counts.iter().sum::<u64>() > tokens {
        let longest = (0..messages.len()).max_by_key(|at| (longest(&messages[*at].content), usize::MAX - at));
        let Some(at) = longest.filter(|at| self::longest(&messages[*at].content) > KEPT_CHARS_MIN) else { return };
        let Some(content) = shortened(&messages[at].content) else { return };
        messages[at].content = content;
        counts[at] = of_content(&messages[at].content, tokenizer);
    }
}

/// How much of a part can be left out, in characters.
fn length(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.len(),
        Part::ToolResult { content, .. } => result_text(content).len(),
        Part::ToolUse { input, .. } => longest_string(input),
        Part::Image { .. } => PICTURE_CHARS,
        // Providers refuse thinking that was changed.
        Part::File { .. } | Part::Thinking { .. } => 0,
    }
}

fn longest(content: &Content) -> usize {
    content.to_parts().iter().map(length).max().unwrap_or(0)
}

/// The same content with half of its longest text, or without a picture.
fn shortened(content: &Content) -> Option<Content> {
    let mut parts = content.to_parts();
    let longest = parts.iter_mut().rev().max_by_key(|part| length(part))?;
    match longest {
        Part::Text { text } => *text = without_middle(text),
        Part::ToolResult { content, .. } => *content = Value::String(without_middle(&result_text(content))),
        Part::ToolUse { input, .. } => {
            let size = longest_string(input);
            shorten_strings(input, size);
        }
        Part::Image { path, name, .. } => *longest = left_out(path, name.as_deref()),
        Part::File { .. } | Part::Thinking { .. } => return None,
    }
    Content::parts(&parts).ok()
}

/// What is said in place of a picture.
pub(super) fn left_out(path: &str, name: Option<&str>) -> Part {
    Part::Text { text: format!("[picture left out: {}]", name.unwrap_or(path)) }
}

/// The text of a result. Of parts, pictures go with the middle of their texts.
fn result_text(content: &Value) -> String {
    match (content, nested(content)) {
        (Value::String(text), _) => text.clone(),
        (_, Some(parts)) => {
            let text = |part: &Part| match part {
                Part::Text { text } | Part::Thinking { text, .. } => text.clone(),
                Part::Image { path, name, .. } | Part::File { path, name, .. } => {
                    format!("[left out: {}]", name.as_deref().unwrap_or(path))
                }
                Part::ToolUse { .. } | Part::ToolResult { .. } => String::new(),
            };
            parts.iter().map(text).collect::<Vec<_>>().join("\n")
        }
        (other, None) => other.to_string(),
    }
}

fn longest_string(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(longest_string).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(longest_string).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Shortens the strings of this length.
fn shorten_strings(value: &mut Value, size: usize) {
    match value {
        Value::String(text) if text.len() == size => *text = without_middle(text),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::Array(items) => items.iter_mut().for_each(|item| shorten_strings(item, size)),
        Value::Object(fields) => fields.values_mut().for_each(|field| shorten_strings(field, size)),
    }
}

/// The first and the last quarter of a text.
fn without_middle(text: &str) -> String {
    let characters = text.chars().count();
    let kept = (characters / 4).max(KEPT_CHARS_MIN / 4);
    let head: String = text.chars().take(kept).collect();
    let tail: String = text.chars().skip(characters.saturating_sub(kept).max(kept)).collect();
    let gone = characters.saturating_sub(2 * kept);
    // Short enough that every step makes the text shorter.
    format!("{head}[… {gone} left out …]{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Estimate;
    use threadkeep_model::Role;

    #[test]
    fn the_longest_text_gets_shorter_until_all_fit() {
        let said = |text: &str| ModelMessage { id: None, role: Role::User, name: None, content: Content::text(text) };
        let mut messages = vec![said("short"), said(&"many words ".repeat(5_000)), said("the question")];
        let mut counts: Vec<u64> = messages.iter().map(|one| of_content(&one.content, &Estimate::OTHER)).collect();
        fit(&mut messages, &mut counts, 500, &Estimate::OTHER);
        assert!(counts.iter().sum::<u64>() <= 500, "{counts:?}");
        assert_eq!(
            (messages[0].content.to_text(), messages[2].content.to_text()),
            ("short".into(), "the question".into())
        );
        let text = messages[1].content.to_text();
        assert!(text.starts_with("many words") && text.ends_with("words ") && text.contains("left out"), "{text}");
    }

    #[test]
    fn pictures_and_arguments_are_left_out_where_they_are_the_longest() {
        let image = |path: &str| Part::Image { path: path.into(), mime_type: "image/png".into(), name: None };
        let input = serde_json::json!({ "path": "/a", "lines": ["x".repeat(8_000)] });
        let call = Part::ToolUse { id: "c".into(), name: "write".into(), input };
        let said = |parts: &[Part]| ModelMessage {
            id: None,
            role: Role::User,
            name: None,
            content: Content::parts(parts).expect("content"),
        };
        let text = || Part::Text { text: "What is it?".into() };
        let mut messages = vec![said(&[call]), said(&[image("/a.png"), image("/b.png"), text()])];
        let mut counts: Vec<u64> = messages.iter().map(|one| of_content(&one.content, &Estimate::OTHER)).collect();
        fit(&mut messages, &mut counts, 2_800, &Estimate::OTHER);
        assert!(counts.iter().sum::<u64>() <= 2_800, "{counts:?}");
        let Part::ToolUse { input, .. } = &messages[0].content.to_parts()[0] else { panic!("a call") };
        assert_eq!(input["path"], "/a");
        assert!(input["lines"][0].as_str().is_some_and(|line| line.contains("left out")), "{input}");
        let parts = messages[1].content.to_parts();
        let left_out = parts.iter().filter(|part| matches!(part, Part::Text { .. })).count();
        assert_eq!((left_out, parts.len()), (2, 3), "{parts:?}");
    }
}
