//! What hooks make of a request: its system prompt and its messages. The thread stays as it is.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use threadkeep_calls::ModelMessage;
use threadkeep_model::{Content, Invalid, Part, Role};

use crate::attempt::{Attempt, never};
use crate::hooks::Moment;
use crate::{Runtime, RuntimeError};

/// The result of a call whose result a hook took away.
const NO_RESULT: &str = "This call has no result.";

/// A request as hooks left it.
pub(super) struct Filtered {
    pub(super) system: String,
    pub(super) messages: Vec<ModelMessage>,
    /// The scratch of the run as hooks left it; none if no hook ran.
    pub(super) context: Option<Map<String, Value>>,
}

/// Has the hooks see a request: first its system prompt, then its messages as they are stored, then as the model is given
/// them.
///
/// # Errors
/// If a hook is broken, or gives messages that are none.
pub(super) async fn filtered(
    runtime: &Runtime,
    on: &Attempt,
    system: String,
    messages: Vec<ModelMessage>,
) -> Result<Filtered, RuntimeError> {
    let mut all = Filtered { system, messages, context: None };
    let mut on = on.clone();
    for moment in [Moment::AfterSystemMessage, Moment::FilterMessages, Moment::PrefilterLlmHistory] {
        if !runtime.has_hooks(&on, moment).await? {
            continue;
        }
        let about = if moment == Moment::AfterSystemMessage { json!(all.system) } else { json!(all.messages) };
        let hooked = runtime.hook(&on, moment, vec![about], &never()).await?;
        if let Some(context) = &hooked.context {
            on.context = context.clone();
            all.context = Some(context.clone());
        }
        // What is asked of the engine at a request has no commit of its own.
        if hooked.held.count() > 0 {
            on.who.for_code().log_tool(on.thread, None, hooked.held.clone()).await?;
        }
        match hooked.changed(moment) {
            Some(Value::String(text)) => all.system = text,
            Some(list) => {
                let read: Vec<ModelMessage> = serde_json::from_value(list).map_err(|error| {
                    threadkeep_engine::Error::from(Invalid::body(moment.as_str(), error.to_string()))
                })?;
                all.messages = whole(read)?;
            }
            None => {}
        }
    }
    Ok(all)
}

/// The messages so that every call has its result right after it, and every result its call: no provider takes others.
fn whole(messages: Vec<ModelMessage>) -> Result<Vec<ModelMessage>, RuntimeError> {
    let mut all = Vec::with_capacity(messages.len());
    let mut open: Vec<String> = Vec::new();
    let close = |open: &mut Vec<String>, all: &mut Vec<ModelMessage>| -> Result<(), RuntimeError> {
        let result = |call: String| Part::ToolResult { tool_use_id: call, content: NO_RESULT.into(), is_error: true };
        let parts: Vec<Part> = open.drain(..).map(result).collect();
        if !parts.is_empty() {
            let content = Content::parts(&parts)?;
            all.push(ModelMessage { id: None, role: Role::Tool, name: None, content });
        }
        Ok(())
    };
    for message in messages {
        let mut parts = message.content.to_parts();
        let before = parts.len();
        let (mut answered, mut called) = (HashSet::new(), Vec::new());
        parts.retain(|part| match part {
            Part::ToolResult { tool_use_id, .. } => open.contains(tool_use_id) && answered.insert(tool_use_id.clone()),
            Part::ToolUse { id, .. } => {
                called.push(id.clone());
                message.role == Role::Assistant
            }
            Part::Text { .. } | Part::Image { .. } | Part::File { .. } | Part::Thinking { .. } => true,
        });
        open.retain(|call| !answered.contains(call));
        if parts.is_empty() && before > 0 {
            continue;
        }
        if answered.is_empty() {
            close(&mut open, &mut all)?;
        }
        if message.role == Role::Assistant {
            open = called;
        }
        let content = if parts.len() < before { Content::parts(&parts)? } else { message.content.clone() };
        all.push(ModelMessage { content, ..message });
    }
    close(&mut open, &mut all)?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `user a | assistant call x | tool x`, as it is sent.
    fn sent(said: &str) -> String {
        let messages = said.split(" | ").map(|line| {
            let (role, rest) = line.split_once(' ').expect("a role and what it says");
            let part = match (role, rest.strip_prefix("call ")) {
                (_, Some(id)) => Part::ToolUse { id: id.into(), name: "t".into(), input: json!({}) },
                ("tool", None) => Part::ToolResult { tool_use_id: rest.into(), content: "ok".into(), is_error: false },
                (_, None) => Part::Text { text: rest.into() },
            };
            let content = Content::parts(&[part]).expect("content");
            ModelMessage { id: None, role: role.parse().expect("a role"), name: None, content }
        });
        let shown = whole(messages.collect()).expect("messages").into_iter().map(|message| {
            let part = match message.content.to_parts().remove(0) {
                Part::Text { text } => text,
                Part::ToolUse { id, .. } => format!("call {id}"),
                Part::ToolResult { tool_use_id, is_error: false, .. } => tool_use_id,
                Part::ToolResult { tool_use_id, .. } => format!("none {tool_use_id}"),
                Part::Image { .. } | Part::File { .. } | Part::Thinking { .. } => "other".to_owned(),
            };
            format!("{} {part}", message.role)
        });
        shown.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn what_a_hook_tore_apart_is_whole_again() {
        for (said, expected) in [
            ("user a | assistant call x | tool x | assistant b", "user a | assistant call x | tool x | assistant b"),
            ("user a | assistant call x | assistant b", "user a | assistant call x | tool none x | assistant b"),
            ("user a | assistant call x", "user a | assistant call x | tool none x"),
            ("tool x | user a", "user a"),
            ("user call x | user a", "user a"),
            ("assistant call x | tool x | tool x | user a", "assistant call x | tool x | user a"),
        ] {
            assert_eq!(sent(said), expected, "{said}");
        }
    }
}
