//! A trajectory of Harbor's ATIF: steps of the user, the agent and the system. Results are observations of the step
//! that made the calls.

use serde_json::{Map, Value, json};

use super::{Lost, active, result_text};
use crate::shape::{Message, Part, Role, Session, Usage};

const VERSION: &str = "ATIF-v1.7";

pub(super) fn write(session: &Session, lost: &mut Lost) -> String {
    let branch = active(session, lost);
    let model = branch.iter().find_map(|message| message.model.clone());
    let mut steps: Vec<Map<String, Value>> = Vec::new();
    let mut total = Usage::default();
    for message in branch {
        if let Some(usage) = message.usage {
            total.input = total.input.saturating_add(usage.input);
            total.output = total.output.saturating_add(usage.output);
            total.cache_read = total.cache_read.saturating_add(usage.cache_read);
            total.cache_write = total.cache_write.saturating_add(usage.cache_write);
        }
        step(&mut steps, message, lost);
    }
    let agent = json!({ "name": session.source.as_str(), "version": "unknown", "model_name": model });
    let metrics = json!({
        "total_prompt_tokens": total.input.saturating_add(total.cache_read).saturating_add(total.cache_write),
        "total_completion_tokens": total.output, "total_cached_tokens": total.cache_read, "total_steps": steps.len(),
    });
    format!(
        "{}\n",
        json!({ "schema_version": VERSION, "session_id": session.id, "agent": agent, "steps": steps, "final_metrics": metrics })
    )
}

fn step(steps: &mut Vec<Map<String, Value>>, message: &Message, lost: &mut Lost) {
    let (mut texts, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Text(text) => texts.push(text.as_str()),
            Part::Thinking(thinking) => {
                if thinking.is_bound() {
                    lost.add("signatures and sealed reasoning");
                }
                if !thinking.text.is_empty() {
                    thoughts.push(thinking.text.as_str());
                }
            }
            Part::ToolCall { id, name, input } => {
                let arguments = if input.is_object() { input.clone() } else { json!({ "input": input }) };
                calls.push(json!({ "tool_call_id": id, "function_name": name, "arguments": arguments }));
            }
            Part::ToolResult { call, parts, is_error } => {
                if *is_error {
                    lost.add("marks of failed calls");
                }
                observe(steps, call, result_text(parts, lost), lost);
            }
            Part::File(_) => lost.add("files"),
            Part::Raw(_) => lost.add("raw parts"),
        }
    }
    if texts.is_empty() && thoughts.is_empty() && calls.is_empty() {
        return;
    }
    let source = match message.role {
        Role::User | Role::Tool => "user",
        Role::Assistant => "agent",
        Role::System => "system",
    };
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("step_id", (steps.len() + 1).into());
    set("source", source.into());
    set("message", texts.join("\n").into());
    set("timestamp", message.time.map(|time| time.to_string()).into());
    if source == "agent" {
        set("model_name", message.model.clone().into());
        set("reasoning_content", (!thoughts.is_empty()).then(|| thoughts.join("\n")).into());
        set("tool_calls", (!calls.is_empty()).then_some(calls).into());
        let metrics = message.usage.map(|usage| {
            let prompt = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
            json!({ "prompt_tokens": prompt, "completion_tokens": usage.output, "cached_tokens": usage.cache_read })
        });
        set("metrics", metrics.into());
    }
    fields.retain(|_, value| !value.is_null());
    steps.push(fields);
}

/// Adds a result to the step that made its call.
fn observe(steps: &mut [Map<String, Value>], call: &str, content: String, lost: &mut Lost) {
    let made = |step: &&mut Map<String, Value>| {
        let calls = step.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        calls.into_iter().any(|it| it.get("tool_call_id").and_then(Value::as_str) == Some(call))
    };
    let Some(step) = steps.iter_mut().rev().find(made) else { return lost.add("results without a call") };
    let observation = step.entry("observation").or_insert_with(|| json!({ "results": [] }));
    if let Some(results) = observation.get_mut("results").and_then(Value::as_array_mut) {
        results.push(json!({ "source_call_id": call, "content": content }));
    }
}
