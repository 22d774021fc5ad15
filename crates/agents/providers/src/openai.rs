//! Chat completions, as OpenAI defined them. Ollama, llama.cpp, vLLM and OpenRouter speak them too, each in its own way;
//! the reader accepts what they are known to send.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::blocks::Blocks;
use crate::failure::{Failure, Problem};
use crate::names::Names;
use crate::{Answer, BEGIN, Choice, Image, Part, Piece, Request, Role, Stop, Usage};

/// The name of the protocol.
pub(crate) const NAME: &str = "openai";

/// What the last event of a stream says.
const DONE: &str = "[DONE]";

/// The JSON of a request, and the spelling of its names. `tokens_field` is the server's name of the limit of tokens.
pub(crate) fn body(request: &Request, model: &str, tokens_field: &str) -> (Value, Names) {
    let (mut names, mut ids) = (Names::default(), Names::default());
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({ "role": "system", "content": request.system.join("\n\n") }));
    }
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            let function =
                json!({ "name": names.sent(&tool.name), "description": tool.description, "parameters": tool.schema });
            json!({ "type": "function", "function": function })
        })
        .collect();
    for message in &request.messages {
        match message.role {
            Role::Assistant => messages.extend(assistant(&message.parts, &mut names, &mut ids)),
            Role::User => user(&message.parts, &mut ids, &mut messages),
        }
    }
    if messages.is_empty() {
        messages.push(json!({ "role": "user", "content": BEGIN }));
    }
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("messages".into(), messages.into());
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({ "include_usage": true }));
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
        let choice = match request.choice {
            Choice::Auto => "auto",
            Choice::None => "none",
            Choice::Required => "required",
        };
        body.insert("tool_choice".into(), choice.into());
        if !request.parallel {
            body.insert("parallel_tool_calls".into(), false.into());
        }
    }
    if let Some(tokens) = request.tokens_max {
        body.insert(tokens_field.into(), tokens.into());
    }
    if let Some(effort) = request.reasoning.as_deref().and_then(effort) {
        body.insert("reasoning_effort".into(), effort.into());
    }
    body.extend(request.options.clone());
    (Value::Object(body), names)
}

/// How much the model thinks: a word, also for a number of tokens.
fn effort(reasoning: &str) -> Option<&str> {
    match (reasoning, reasoning.parse::<u64>()) {
        ("off", _) => None,
        (_, Ok(0..=4_096)) => Some("low"),
        (_, Ok(4_097..=16_384)) => Some("medium"),
        (_, Ok(_)) => Some("high"),
        (word, Err(_)) => Some(word),
    }
}

/// A message of the model; none if nothing of it can be sent.
fn assistant(parts: &[Part], names: &mut Names, ids: &mut Names) -> Option<Value> {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(more) => text.push_str(more),
            Part::Call { id, name, arguments } => {
                let function = json!({ "name": names.sent(name), "arguments": arguments.to_string() });
                calls.push(json!({ "id": ids.fresh(id), "type": "function", "function": function }));
            }
            // No reasoning is accepted here, and the model sends neither pictures nor results.
            Part::Thinking(_) | Part::Image(_) | Part::Result { .. } => {}
        }
    }
    match (text.is_empty(), calls.is_empty()) {
        (true, true) => None,
        (_, true) => Some(json!({ "role": "assistant", "content": text })),
        (true, false) => Some(json!({ "role": "assistant", "content": null, "tool_calls": calls })),
        (false, false) => Some(json!({ "role": "assistant", "content": text, "tool_calls": calls })),
    }
}

/// Messages of the other side: first the results, then all else. Pictures of results follow as a message of the user,
/// because a result holds text alone.
fn user(parts: &[Part], ids: &mut Names, messages: &mut Vec<Value>) {
    let mut content = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => content.push(json!({ "type": "text", "text": text })),
            Part::Image(image) => content.push(picture(image)),
            Part::Result { call, text, images, is_error } => {
                let text = if *is_error { format!("Error: {text}") } else { text.clone() };
                messages.push(json!({ "role": "tool", "tool_call_id": ids.sent(call), "content": text }));
                content.extend(images.iter().map(picture));
            }
            Part::Call { .. } | Part::Thinking(_) => {}
        }
    }
    match content.as_slice() {
        [] => {}
        [only] if only["type"] == "text" => messages.push(json!({ "role": "user", "content": only["text"] })),
        _ => messages.push(json!({ "role": "user", "content": content })),
    }
}

fn picture(image: &Image) -> Value {
    let url = format!("data:{};base64,{}", image.mime_type, STANDARD.encode(&image.bytes));
    json!({ "type": "image_url", "image_url": { "url": url } })
}

/// Reads the events of an answer.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    blocks: Blocks,
    is_done: bool,
}

impl Reader {
    /// Reads one event of the stream.
    pub(crate) fn event(&mut self, data: &str, pieces: &mut Vec<Piece>) -> Result<(), Failure> {
        if data.trim() == DONE {
            self.is_done = true;
            return Ok(());
        }
        let event: Value = serde_json::from_str(data)
            .map_err(|error| Failure::new(Problem::Protocol, format!("an event of the stream is no JSON: {error}")))?;
        if !event["error"].is_null() {
            return Err(Failure::of_event(&event["error"]));
        }
        self.usage(&event["usage"]);
        let choice = &event["choices"][0];
        self.delta(&choice["delta"], pieces);
        self.stop(&choice["finish_reason"]);
        Ok(())
    }

    /// An answer that came whole, from a server that does not stream.
    pub(crate) fn whole(&mut self, body: &[u8], pieces: &mut Vec<Piece>) -> Result<(), Failure> {
        let answer: Value = serde_json::from_slice(body)
            .map_err(|error| Failure::new(Problem::Protocol, format!("the answer is no JSON: {error}")))?;
        if !answer["error"].is_null() {
            return Err(Failure::of_event(&answer["error"]));
        }
        let choice = &answer["choices"][0];
        if choice["message"].is_null() {
            return Err(Failure::new(Problem::Protocol, "the answer has no message"));
        }
        self.usage(&answer["usage"]);
        self.delta(&choice["message"], pieces);
        self.stop(&choice["finish_reason"]);
        self.is_done = true;
        Ok(())
    }

    fn delta(&mut self, delta: &Value, pieces: &mut Vec<Piece>) {
        // Reasoning has two names among servers.
        let thinking = delta["reasoning_content"].as_str().or(delta["reasoning"].as_str()).unwrap_or_default();
        if !thinking.is_empty() {
            self.blocks.thought(NAME).text.push_str(thinking);
            pieces.push(Piece::Thinking(thinking.to_owned()));
        }
        let text = delta["content"].as_str().or(delta["refusal"].as_str()).unwrap_or_default();
        pieces.extend(self.blocks.text(text));
        if delta["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
            self.blocks.stop = Some(Stop::Refused);
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let name = function["name"].as_str().unwrap_or_default();
            // Some servers send the arguments as JSON instead of text.
            let arguments = match &function["arguments"] {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                json => json.to_string(),
            };
            let index = call["index"].as_u64().unwrap_or_else(|| self.blocks.next_call());
            if self.blocks.call(index, call["id"].as_str().unwrap_or_default(), name, &arguments) {
                pieces.push(Piece::Call { name: name.to_owned() });
            }
        }
    }

    fn stop(&mut self, reason: &Value) {
        let stop = match reason.as_str() {
            None => return,
            Some("length") => Stop::Length,
            Some("tool_calls" | "function_call") => Stop::Calls,
            Some("content_filter") => Stop::Refused,
            Some(_) => Stop::Done,
        };
        if self.blocks.stop != Some(Stop::Refused) {
            self.blocks.stop = Some(stop);
        }
    }

    fn usage(&mut self, usage: &Value) {
        let (Some(input), Some(output)) = (usage["prompt_tokens"].as_u64(), usage["completion_tokens"].as_u64()) else {
            return;
        };
        let cache_read = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or_default().min(input);
        self.blocks.usage = Some(Usage { input: input - cache_read, cache_read, cache_write: 0, output });
    }

    /// The whole answer, once the stream has ended.
    pub(crate) fn end(self, names: &Names, answered: usize) -> Result<Answer, Failure> {
        // Some servers end without the last event, but none without the reason.
        if self.blocks.stop.is_none() && (!self.is_done || self.blocks.is_empty()) {
            return Err(Failure::new(Problem::Connection, "the answer broke off"));
        }
        Ok(self.blocks.answer(names, answered))
    }
}
