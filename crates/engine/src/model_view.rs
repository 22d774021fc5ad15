//! The conversation as a model gets it: every call has a result, and every result a call.

use std::collections::HashMap;

use threadkeep_calls::ModelMessage;
use threadkeep_model::{Content, Invalid, MessageBody, MessageId, Part, Role, RunSide};

use crate::open_calls::no_result;
use crate::request::wrote;

/// The result given for a call that never had one.
pub(crate) const NO_RESULT: &str = "This call has no result.";

/// A step that waits for the results of its calls, and the messages sent meanwhile.
#[derive(Default)]
struct Waiting {
    calls: Vec<String>,
    results: HashMap<String, Part>,
    held: Vec<ModelMessage>,
}

/// The messages as the model of `side` is given them: its own as the assistant's, those of the other side as the user's.
pub(crate) fn for_model(said: Vec<(MessageId, MessageBody)>, side: RunSide) -> Result<Vec<ModelMessage>, Invalid> {
    let mut given = Vec::with_capacity(said.len());
    let mut waiting = Waiting::default();
    for (id, body) in said {
        let is_own = wrote(side, &body);
        let MessageBody { role, name, content, .. } = body;
        let role = match role {
            Role::User | Role::Assistant if is_own => Role::Assistant,
            Role::User | Role::Assistant => Role::User,
            Role::Info | Role::System | Role::Tool => role,
        };
        if is_own {
            waiting.close(&mut given)?;
        }
        if !content.as_json().as_str().starts_with('[') {
            waiting.say(ModelMessage { id: Some(id), role, name, content }, &mut given);
            continue;
        }
        let (mut others, mut results, mut dropped) = (Vec::new(), false, false);
        let mut calls = Vec::new();
        for part in content.to_parts() {
            match part {
                Part::ToolResult { ref tool_use_id, .. } => {
                    results = true;
                    if waiting.calls.contains(tool_use_id) {
                        waiting.results.entry(tool_use_id.clone()).or_insert(part);
                    }
                }
                Part::ToolUse { ref id, .. } if is_own && !calls.contains(id) => {
                    calls.push(id.clone());
                    others.push(part);
                }
                // Only a step calls, and each call once.
                Part::ToolUse { .. } => dropped = true,
                Part::Text { .. } | Part::Image { .. } | Part::File { .. } | Part::Thinking { .. } => others.push(part),
            }
        }
        let content = if results || dropped { Content::parts(&others)? } else { content };
        if !others.is_empty() {
            waiting.say(ModelMessage { id: Some(id), role, name, content }, &mut given);
        }
        if is_own {
            waiting.calls = calls;
        }
        if waiting.calls.iter().all(|call| waiting.results.contains_key(call)) {
            waiting.close(&mut given)?;
        }
    }
    waiting.close(&mut given)?;
    Ok(given)
}

impl Waiting {
    /// Something is said: at once, or after the results that are waited for.
    fn say(&mut self, message: ModelMessage, given: &mut Vec<ModelMessage>) {
        if self.calls.is_empty() { given.push(message) } else { self.held.push(message) }
    }

    /// Gives the results, one for each call, then the messages sent meanwhile.
    fn close(&mut self, given: &mut Vec<ModelMessage>) -> Result<(), Invalid> {
        let Self { calls, mut results, held } = std::mem::take(self);
        if !calls.is_empty() {
            let parts: Vec<Part> = calls
                .into_iter()
                .map(|call| results.remove(&call).unwrap_or_else(|| no_result(call, NO_RESULT)))
                .collect();
            let content = Content::parts(&parts)?;
            given.push(ModelMessage { id: None, role: Role::Tool, name: None, content });
        }
        given.extend(held);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_model::{Json, Position, SegmentId};

    /// `user hi | assistant call a b | tool result a` and so on, as the model is given it.
    fn given(said: &str) -> String {
        let messages = said.split(" | ").enumerate().map(|(at, line)| {
            let (role, rest) = line.split_once(' ').expect("a role and what it says");
            let json = match rest.split_once(' ') {
                Some(("call", ids)) => ids
                    .split(' ')
                    .map(|id| format!(r#"{{"type":"tool_use","id":"{id}","name":"t","input":{{}}}}"#))
                    .collect::<Vec<_>>(),
                Some(("result", ids)) => ids
                    .split(' ')
                    .map(|id| format!(r#"{{"type":"tool_result","toolUseId":"{id}","content":"ok"}}"#))
                    .collect(),
                _ => vec![format!(r#"{{"type":"text","text":"{rest}"}}"#)],
            };
            let content = Json::parse("content", &format!("[{}]", json.join(","))).expect("JSON");
            let body =
                MessageBody::with_content(role.parse().expect("a role"), Content::from_json(content).expect("content"));
            (MessageId { segment: SegmentId::from_bits(1), position: Position(at as u64 + 1) }, body)
        });
        let given = for_model(messages.collect(), RunSide::A).expect("messages");
        let shown = given.iter().map(|message| {
            let parts = message.content.to_parts().into_iter().map(|part| match part {
                Part::Text { text } => text,
                Part::ToolUse { id, .. } => format!("call {id}"),
                Part::ToolResult { tool_use_id, is_error: false, .. } => format!("result {tool_use_id}"),
                Part::ToolResult { tool_use_id, .. } => format!("none {tool_use_id}"),
                Part::Image { .. } | Part::File { .. } | Part::Thinking { .. } => "other".to_owned(),
            });
            format!("{} {}", message.role, parts.collect::<Vec<_>>().join(" "))
        });
        shown.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn every_call_has_one_result_right_after_it() {
        for (said, expected) in [
            ("user a | assistant b | user c", "user a | assistant b | user c"),
            ("assistant call x | tool result x | assistant b", "assistant call x | tool result x | assistant b"),
            ("assistant call x", "assistant call x | tool none x"),
            ("assistant call x y | tool result y", "assistant call x call y | tool none x result y"),
            ("assistant call x | tool result x | tool result x", "assistant call x | tool result x"),
            ("assistant call x | user wait | tool result x", "assistant call x | tool result x | user wait"),
            ("assistant call x | user wait | assistant b", "assistant call x | tool none x | user wait | assistant b"),
            ("assistant call x | assistant b | tool result x", "assistant call x | tool none x | assistant b"),
            ("user a | tool result z", "user a"),
            ("assistant call x x | tool result x", "assistant call x | tool result x"),
            ("user call x | assistant b", "assistant b"),
        ] {
            assert_eq!(given(said), expected, "{said}");
        }
    }
}
