//! Messages, as Anthropic defined them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::blocks::Blocks;
use crate::failure::{Failure, Problem};
use crate::names::Names;
use crate::{Answer, BEGIN, Choice, Image, Part, Piece, Request, Role, Stop, Thought};

/// The name of the protocol.
pub(crate) const NAME: &str = "anthropic";
/// The version of the protocol, which every request names.
pub(crate) const VERSION: &str = "2023-06-01";

/// Tokens of an answer where the caller names no limit: the protocol wants one.
const TOKENS_MAX: u64 = 8_192;
/// The fewest tokens that may be spent on thinking.
const THINKING_MIN: u64 = 1_024;
/// Messages at the end of the conversation that are marked for the cache: the newest, and the one that was the newest
/// when the last request was sent.
const MARKED_MESSAGES: usize = 2;

/// The JSON of a request, and the spelling of its names.
pub(crate) fn body(request: &Request, model: &str) -> (Value, Names) {
    let (mut names, mut ids) = (Names::default(), Names::default());
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({ "name": names.sent(&tool.name), "description": tool.description, "input_schema": tool.schema }))
        .collect();
    let mut system: Vec<Value> = request
        .system
        .iter()
        .filter(|text| !text.trim().is_empty())
        .map(|text| json!({ "type": "text", "text": text }))
        .collect();
    let mut messages = messages(request, &mut names, &mut ids);
    mark(tools.last_mut());
    mark(system.last_mut());
    let users = messages.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in users.take(MARKED_MESSAGES) {
        mark(message["content"].as_array_mut().and_then(|content| content.last_mut()));
    }

    let mut body = Map::new();
    body.insert("model".into(), model.into());
    let thinking = request.reasoning.as_deref().and_then(thinking_tokens);
    // The provider refuses to think where a tool is forced, and in the middle of a step that began without thinking.
    let thinking = thinking.filter(|_| request.choice != Choice::Required && began_with_thinking(&messages));
    let tokens_max = request.tokens_max.unwrap_or_else(|| TOKENS_MAX + thinking.unwrap_or_default());
    body.insert("max_tokens".into(), tokens_max.into());
    if let Some(budget) = thinking.map(|budget| budget.min(tokens_max.saturating_sub(1))).filter(|n| *n >= THINKING_MIN)
    {
        body.insert("thinking".into(), json!({ "type": "enabled", "budget_tokens": budget }));
    }
    if !system.is_empty() {
        body.insert("system".into(), system.into());
    }
    body.insert("messages".into(), messages.into());
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
        body.insert("tool_choice".into(), choice(request));
    }
    body.insert("stream".into(), true.into());
    body.extend(request.options.clone());
    (Value::Object(body), names)
}

fn choice(request: &Request) -> Value {
    let alone = !request.parallel;
    match request.choice {
        Choice::Auto => json!({ "type": "auto", "disable_parallel_tool_use": alone }),
        Choice::Required => json!({ "type": "any", "disable_parallel_tool_use": alone }),
        Choice::None => json!({ "type": "none" }),
    }
}

/// Tokens for thinking: a number, or the words that other providers use.
fn thinking_tokens(reasoning: &str) -> Option<u64> {
    match reasoning {
        "none" | "off" => None,
        "minimal" | "low" => Some(2_048),
        "medium" => Some(8_192),
        "high" => Some(24_576),
        number => number.parse().ok(),
    }
}

/// Marks the end of a prefix that the provider keeps. Thinking cannot be marked.
fn mark(block: Option<&mut Value>) {
    if let Some(block) = block.filter(|block| !is_thinking(block)) {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

/// The conversation: it begins and ends with the user, and the roles alternate.
fn messages(request: &Request, names: &mut Names, ids: &mut Names) -> Vec<Value> {
    let mut messages: Vec<(Role, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let mut blocks: Vec<Value> =
            message.parts.iter().filter_map(|part| block(message.role, part, names, ids)).collect();
        // Results come before all else, or the provider refuses them.
        blocks.sort_by_key(|block| block["type"] != "tool_result");
        // A message may not end with thinking.
        blocks.truncate(blocks.iter().rposition(|block| !is_thinking(block)).map_or(0, |last| last + 1));
        if blocks.is_empty() {
            continue;
        }
        match messages.last_mut() {
            Some((role, content)) if *role == message.role => {
                content.extend(blocks);
                content.sort_by_key(|block| block["type"] != "tool_result");
            }
            _ => messages.push((message.role, blocks)),
        }
    }
    let goes_on = || (Role::User, vec![json!({ "type": "text", "text": BEGIN })]);
    if messages.first().is_none_or(|(role, _)| *role == Role::Assistant) {
        messages.insert(0, goes_on());
    }
    // An answer that the model would have to go on with is refused by newer models.
    if messages.last().is_some_and(|(role, _)| *role == Role::Assistant) {
        messages.push(goes_on());
    }
    let spelled = |(role, content): (Role, Vec<Value>)| match role {
        Role::User => json!({ "role": "user", "content": content }),
        Role::Assistant => json!({ "role": "assistant", "content": content }),
    };
    messages.into_iter().map(spelled).collect()
}

/// Whether a step whose results are sent began with thinking. Without such a step, any answer may.
fn began_with_thinking(messages: &[Value]) -> bool {
    let [.., step, results] = messages else { return true };
    let has = |message: &Value, kind: &str| {
        message["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
    };
    !has(results, "tool_result") || is_thinking(&step["content"][0])
}

fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

fn block(role: Role, part: &Part, names: &mut Names, ids: &mut Names) -> Option<Value> {
    match (role, part) {
        (_, Part::Text(text)) => (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text })),
        (Role::User, Part::Image(image)) => Some(picture(image)),
        (Role::Assistant, Part::Call { id, name, arguments }) => {
            // The input is an object; anything else that a model wrote is kept under a name.
            let input = if arguments.is_object() { arguments.clone() } else { json!({ "arguments": arguments }) };
            Some(json!({ "type": "tool_use", "id": ids.fresh(id), "name": names.sent(name), "input": input }))
        }
        (Role::User, Part::Result { call, text, images, is_error }) => {
            let mut content: Vec<Value> = Vec::new();
            if !text.trim().is_empty() {
                content.push(json!({ "type": "text", "text": text }));
            }
            content.extend(images.iter().map(picture));
            Some(json!({
                "type": "tool_result", "tool_use_id": ids.sent(call), "content": content, "is_error": is_error,
            }))
        }
        (Role::Assistant, Part::Thinking(thought)) => thinking(thought),
        (Role::User, Part::Call { .. } | Part::Thinking(_))
        | (Role::Assistant, Part::Image(_) | Part::Result { .. }) => None,
    }
}

/// Reasoning of this provider, with its signature; other reasoning is refused, so it is left out.
fn thinking(thought: &Thought) -> Option<Value> {
    if thought.provider != NAME {
        return None;
    }
    match (&thought.data, &thought.signature) {
        (Some(data), _) => Some(json!({ "type": "redacted_thinking", "data": data })),
        (None, Some(signature)) => {
            Some(json!({ "type": "thinking", "thinking": thought.text, "signature": signature }))
        }
        (None, None) => None,
    }
}

fn picture(image: &Image) -> Value {
    let data = STANDARD.encode(&image.bytes);
    json!({ "type": "image", "source": { "type": "base64", "media_type": image.mime_type, "data": data } })
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
        let event: Value = serde_json::from_str(data)
            .map_err(|error| Failure::new(Problem::Protocol, format!("an event of the stream is no JSON: {error}")))?;
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "error" => return Err(Failure::of_event(&event["error"])),
            "message_start" => self.usage(&event["message"]["usage"]),
            "content_block_start" => self.begin(index, &event["content_block"], pieces),
            "content_block_delta" => self.delta(index, &event["delta"], pieces),
            "message_delta" => {
                self.usage(&event["usage"]);
                self.stop(&event["delta"]["stop_reason"]);
            }
            "message_stop" => self.is_done = true,
            // `ping`, the end of a block, and what later versions add.
            _ => {}
        }
        Ok(())
    }

    /// An answer that came whole.
    pub(crate) fn whole(&mut self, body: &[u8], pieces: &mut Vec<Piece>) -> Result<(), Failure> {
        let answer: Value = serde_json::from_slice(body)
            .map_err(|error| Failure::new(Problem::Protocol, format!("the answer is no JSON: {error}")))?;
        if answer["type"] == "error" {
            return Err(Failure::of_event(&answer["error"]));
        }
        let Some(content) = answer["content"].as_array() else {
            return Err(Failure::new(Problem::Protocol, "the answer has no content"));
        };
        for (index, block) in content.iter().enumerate() {
            self.begin(index as u64, block, pieces);
        }
        self.usage(&answer["usage"]);
        self.stop(&answer["stop_reason"]);
        self.is_done = true;
        Ok(())
    }

    fn begin(&mut self, index: u64, block: &Value, pieces: &mut Vec<Piece>) {
        let text = |field: &str| block[field].as_str().unwrap_or_default();
        match text("type") {
            "text" => pieces.extend(self.blocks.text(text("text"))),
            "thinking" => {
                let signature = block["signature"].as_str().filter(|signature| !signature.is_empty());
                self.blocks.begin_thought(Thought {
                    text: text("thinking").to_owned(),
                    provider: NAME.to_owned(),
                    signature: signature.map(str::to_owned),
                    data: None,
                });
            }
            "redacted_thinking" => self.blocks.begin_thought(Thought {
                provider: NAME.to_owned(),
                data: Some(text("data").to_owned()),
                ..Thought::default()
            }),
            "tool_use" => {
                // The input of a block that begins is empty; of one that came whole it is not.
                let input = block["input"].as_object().filter(|input| !input.is_empty());
                let arguments = input.map(|_| block["input"].to_string()).unwrap_or_default();
                self.blocks.call(index, text("id"), text("name"), &arguments);
                pieces.push(Piece::Call { name: text("name").to_owned() });
            }
            _ => {}
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, pieces: &mut Vec<Piece>) {
        let text = |field: &str| delta[field].as_str().unwrap_or_default();
        match text("type") {
            "text_delta" => pieces.extend(self.blocks.text(text("text"))),
            "input_json_delta" => {
                self.blocks.call(index, "", "", text("partial_json"));
            }
            "thinking_delta" => {
                self.blocks.thought(NAME).text.push_str(text("thinking"));
                pieces.push(Piece::Thinking(text("thinking").to_owned()));
            }
            "signature_delta" => {
                let thought = self.blocks.thought(NAME);
                thought.signature.get_or_insert_default().push_str(text("signature"));
            }
            _ => {}
        }
    }

    fn stop(&mut self, reason: &Value) {
        self.blocks.stop = match reason.as_str() {
            None => return,
            Some("max_tokens" | "model_context_window_exceeded") => Some(Stop::Length),
            Some("tool_use") => Some(Stop::Calls),
            Some("refusal") => Some(Stop::Refused),
            Some(_) => Some(Stop::Done),
        };
    }

    /// Counts come at the start and again at the end, where those that changed are told anew.
    fn usage(&mut self, told: &Value) {
        if !told.is_object() {
            return;
        }
        let usage = self.blocks.usage.get_or_insert_default();
        let take = |field: &str, count: &mut u64| *count = told[field].as_u64().unwrap_or(*count);
        take("input_tokens", &mut usage.input);
        take("cache_read_input_tokens", &mut usage.cache_read);
        take("cache_creation_input_tokens", &mut usage.cache_write);
        take("output_tokens", &mut usage.output);
    }

    /// The whole answer, once the stream has ended.
    pub(crate) fn end(self, names: &Names, answered: usize) -> Result<Answer, Failure> {
        if !self.is_done && self.blocks.stop.is_none() {
            return Err(Failure::new(Problem::Connection, "the answer broke off"));
        }
        Ok(self.blocks.answer(names, answered))
    }
}
