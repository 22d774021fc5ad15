//! Answers of tools: JSON of bounded size, and errors that say what to do next.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};
use threadkeep_calls::Problem;

/// Most characters of an answer.
pub(crate) const CHARACTERS_MAX: usize = 20_000;
/// Lengths to which texts are shortened, until an answer fits.
const SHORTENED: [usize; 4] = [16_000, 4_000, 1_000, 200];
/// Items of a list that are shown if shorter texts do not suffice.
const ITEMS_SHOWN: usize = 20;

/// Whether a text is longer than an answer may be.
pub(crate) fn is_too_long(text: &str) -> bool {
    text.len() > CHARACTERS_MAX && text.chars().count() > CHARACTERS_MAX
}

/// An answer: the same JSON for programs and for models. Hosts want an object.
pub(crate) fn told(value: Value) -> CallToolResult {
    let mut value = match value {
        Value::Object(fields) => Value::Object(fields),
        Value::Array(items) => json!({ "items": items }),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => json!({ "result": other }),
    };
    for length in SHORTENED {
        if !is_too_long(&value.to_string()) {
            return CallToolResult::structured(value);
        }
        shorten(&mut value, length);
        if let Value::Object(fields) = &mut value {
            let notice = "Long texts are cut. Read one message with read_messages limit=1, or a file with read_file.";
            fields.insert("notice".to_owned(), notice.into());
        }
    }
    shorten_lists(&mut value);
    let text = value.to_string();
    if !is_too_long(&text) {
        return CallToolResult::structured(value);
    }
    let text: String = text.chars().take(CHARACTERS_MAX).collect();
    CallToolResult::structured(json!({ "notice": "The answer is cut. Ask for less.", "beginning": text }))
}

fn shorten(value: &mut Value, length: usize) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(length) {
                let rest = text[end..].chars().count();
                text.truncate(end);
                text.push_str(&format!("… ({rest} more characters)"));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, length)),
        Value::Object(fields) => fields.values_mut().for_each(|field| shorten(field, length)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn shorten_lists(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.truncate(ITEMS_SHOWN);
            items.iter_mut().for_each(shorten_lists);
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten_lists),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A refusal. Some hosts show a model the text alone, so everything is in it.
pub(crate) fn refused(problem: &Problem) -> CallToolResult {
    let mut text = format!("{}: {}", problem.code, problem.detail);
    if let Some(field) = &problem.field {
        text.push_str(&format!("\nfield: {field}"));
    }
    if let Some(version) = problem.current_version {
        text.push_str(&format!(
            "\ncurrent version: {version}. Read the thread again, then decide whether to call again."
        ));
    }
    if let Some(life) = &problem.life {
        let allowed = serde_json::to_value(&life.allowed).unwrap_or_default();
        text.push_str(&format!("\nallowed lifecycle actions: {allowed}"));
    }
    if let Some(writer) = &problem.writer {
        text.push_str(&format!("\nanother writer has the thread until {}: {}", writer.expires_at, writer.holder));
    }
    match &problem.approval_id {
        Some(approval) => text.push_str(&format!(
            "\napproval: {approval}\nnext: a person has to answer it, on the page /inbox of the server or with \
             `threadkeep approvals approve {approval}`. Tell the user, then see get_approval. Once it is approved, call this tool again with the same arguments."
        )),
        None => {
            if let Some(hint) = &problem.hint {
                text.push_str(&format!("\nnext: {hint}"));
            }
        }
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(serde_json::to_value(problem).unwrap_or_else(|_| Map::new().into()));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_an_object_of_bounded_size() {
        let length = |value: Value| {
            let told = told(value);
            let structured = told.structured_content.expect("structured content");
            assert!(structured.is_object());
            structured.to_string().chars().count()
        };
        assert_eq!(told(json!([1])).structured_content, Some(json!({ "items": [1] })));
        assert_eq!(told(Value::Null).structured_content, Some(json!({ "result": null })));
        let long = "é".repeat(50_000);
        for value in [
            json!({ "content": long }),
            json!({ "items": vec![long.clone(); 20] }),
            json!({ "items": vec!["x"; 50_000] }),
            json!({ long.clone(): 1 }),
        ] {
            assert!(length(value) <= CHARACTERS_MAX + 100);
        }
    }
}
