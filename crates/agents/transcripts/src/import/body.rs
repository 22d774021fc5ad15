//! Messages of the neutral shape as messages of a thread, and back.
//!
//! What a message of a thread has no place for is in its metadata, under `import`: the id at the source, model and usage,
//! marks, parts of unknown kinds, and every field that no reader understood.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use threadkeep_calls::NewMessage;
use threadkeep_model::{BlobHasher, Content, Invalid, Json, MessageBody, Part as Shown, Role as ShownRole, Timestamp};

use crate::shape::{Compaction, File, FileData, Message, Part, Role, Subagent, Thinking, Usage};

/// The field of metadata that an import fills.
pub(crate) const KEPT: &str = "import";
/// A message with more bytes is kept whole as an attachment, and shows its beginning.
const MESSAGE_BYTES_MAX: usize = 6 << 20;
/// Bytes that it then shows.
const SHOWN_BYTES_MAX: usize = 64 << 10;
/// JSON that nests deeper is kept as text, so that all of it stays below the limit of a store.
const DEPTH_MAX: usize = 100;

/// A message, ready for a thread.
pub(crate) struct Told {
    pub(crate) message: NewMessage,
    /// A hash of what it says, by which a later reading finds whether it changed.
    pub(crate) sum: String,
}

/// The mark of an imported message.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Mark {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) sum: String,
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    scaffolding: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    out_of_context: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    compaction: Option<Compaction>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagents: Vec<Subagent>,
    /// Parts, or fields of parts, without a place in the content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Beside>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    raw: Map<String, Value>,
    /// The whole message is the attachment `message.json`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
}

/// A part without a place in the content, or fields of one that has a place.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Beside {
    /// Its place among the parts, and within a result its place among those of the result.
    at: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<Link>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Bound>,
}

/// A file whose bytes are elsewhere.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Link {
    to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
}

/// Values of reasoning that are bound to their provider: no other one understands them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Bound {
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
}

/// The message as a thread keeps it.
///
/// # Errors
/// If it breaks a rule that this conversion does not mend.
pub(crate) fn told(message: &Message) -> Result<Told, Invalid> {
    let mut mark = Mark {
        sum: String::new(),
        id: message.id.clone(),
        time: message.time,
        model: message.model.clone(),
        provider: message.provider.clone(),
        usage: message.usage,
        scaffolding: message.scaffolding,
        out_of_context: message.out_of_context,
        compaction: message.compaction.clone(),
        subagents: message.subagents.clone(),
        parts: Vec::new(),
        raw: Map::new(),
        is_cut: false,
    };
    let mut files = Vec::new();
    let content = match &message.parts[..] {
        [] => Content::text(""),
        [Part::Text(text)] => Content::text(text),
        parts => Content::parts(&shown(parts, &[], &mut mark.parts, &mut files))?,
    };
    let role = match message.role {
        Role::User => ShownRole::User,
        Role::Assistant => ShownRole::Assistant,
        Role::System => ShownRole::System,
        Role::Tool => ShownRole::Tool,
    };
    let kept = kept_json(&mark, &message.raw).map_err(|error| Invalid::body("metadata", error.to_string()))?;
    let shown = content.as_json().as_str();
    let mut hasher = BlobHasher::default();
    hasher.update(kept.as_bytes());
    hasher.update(shown.as_bytes());
    let hash = hasher.id().to_string();
    let sum = hash[hash.len() - 16..].to_owned();
    let is_large = kept.len() + shown.len() > MESSAGE_BYTES_MAX;
    let mut body = MessageBody::with_content(role, content);
    body.metadata = Some(if is_large {
        let whole = format!(r#"{{"content":{},"{KEPT}":{kept}}}"#, body.content.as_json().as_str());
        files.push(("message.json".to_owned(), "application/json".to_owned(), whole.into_bytes()));
        let text = body.content.to_text();
        let end = (0..=SHOWN_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        body.content = Content::text(&text[..end]);
        mark = Mark { id: mark.id, time: mark.time, scaffolding: mark.scaffolding, is_cut: true, ..Mark::default() };
        mark.sum.clone_from(&sum);
        Json::from_value("metadata", &HashMap::from([(KEPT, &mark)]))?
    } else {
        // The hash comes first, and the rest is there already: its own brace closes it.
        own_json(&format!(r#"{{"{KEPT}":{{"sum":"{sum}",{}}}"#, &kept[1..]))?
    });
    // Lists and search leave silent messages out.
    body.silent = message.scaffolding;
    let mut message = NewMessage::from(body);
    for (name, mime, bytes) in files {
        message = message.attach(&name, &mime, bytes);
    }
    Ok(Told { message, sum })
}

/// The mark as JSON, with the fields that no reader understood. They may be large, so they are not copied into it.
fn kept_json(mark: &Mark, raw: &Map<String, Value>) -> serde_json::Result<String> {
    let mut kept = serde_json::to_string(mark)?;
    if raw.is_empty() {
        return Ok(kept);
    }
    kept.pop();
    kept.push_str(r#","raw":"#);
    if raw.values().any(|value| nests(value, DEPTH_MAX)) {
        let raw: Map<String, Value> =
            raw.iter().map(|(name, value)| (name.clone(), shallow(value, DEPTH_MAX))).collect();
        kept.push_str(&serde_json::to_string(&raw)?);
    } else {
        kept.push_str(&serde_json::to_string(raw)?);
    }
    kept.push('}');
    Ok(kept)
}

/// JSON that was made here, from values: it is well-formed, no object has a key twice, and what nests deep is text. So
/// it is read once, to find its end, and checked like JSON from outside only if a null byte has to go.
fn own_json(text: &str) -> Result<Json, Invalid> {
    if text.contains("\\u0000") {
        return Json::parse("metadata", text);
    }
    serde_json::from_str(text).map_err(|error| Invalid::body("metadata", error.to_string()))
}

type NewFile = (String, String, Vec<u8>);

/// The parts that have a place in content; the others go to `beside`.
fn shown(parts: &[Part], within: &[usize], beside: &mut Vec<Beside>, files: &mut Vec<NewFile>) -> Vec<Shown> {
    let mut all = Vec::with_capacity(parts.len());
    for (number, part) in parts.iter().enumerate() {
        let at = || within.iter().copied().chain([number]).collect::<Vec<usize>>();
        match part {
            Part::Text(text) => all.push(Shown::Text { text: text.clone() }),
            Part::Thinking(thinking) => {
                all.push(Shown::thinking(thinking.text.clone()));
                if thinking.is_bound() {
                    let Thinking { signature, sealed, provider, .. } = thinking.clone();
                    let bound = Bound { bound_to: provider, signature, sealed };
                    beside.push(Beside { at: at(), thinking: Some(bound), ..Beside::default() });
                }
            }
            Part::ToolCall { id, name, input } => {
                all.push(Shown::ToolUse { id: id.clone(), name: name.clone(), input: shallow(input, DEPTH_MAX) })
            }
            // A result within a result has no place, and neither has a call.
            Part::ToolResult { call, parts, is_error } if within.is_empty() => {
                let content = match &parts[..] {
                    [] => Value::String(String::new()),
                    [Part::Text(text)] => Value::String(text.clone()),
                    parts => serde_json::to_value(shown(parts, &at(), beside, files)).unwrap_or_default(),
                };
                all.push(Shown::ToolResult { tool_use_id: call.clone(), content, is_error: *is_error });
            }
            Part::ToolResult { call, parts, .. } => {
                let text = crate::blocks::text_of(parts);
                let raw = serde_json::json!({ "type": "tool_result", "tool_use_id": call, "content": text });
                beside.push(Beside { at: at(), raw: Some(raw), ..Beside::default() });
            }
            Part::File(File { name, mime, data: FileData::Bytes(bytes) }) => {
                let mime_type = mime.clone().unwrap_or_else(|| "application/octet-stream".to_owned());
                // The name at the source may be a path: it is shown, and never used as one.
                let path = format!("attachment-{}.{}", files.len() + 1, extension(&mime_type));
                files.push((path.clone(), mime_type.clone(), bytes.clone()));
                let name = name.clone();
                all.push(match mime_type.starts_with("image/") {
                    true => Shown::Image { path, mime_type, name },
                    false => Shown::File { path, mime_type, name },
                });
            }
            Part::File(File { name, mime, data: FileData::Link(to) }) => {
                let link = Link { to: to.clone(), name: name.clone(), mime: mime.clone() };
                beside.push(Beside { at: at(), link: Some(link), ..Beside::default() });
            }
            Part::Raw(raw) => {
                let raw = Some(shallow(raw, DEPTH_MAX));
                beside.push(Beside { at: at(), raw, ..Beside::default() });
            }
        }
    }
    all
}

/// A file name extension of letters and digits.
fn extension(mime: &str) -> &str {
    let end = mime.rsplit('/').next().unwrap_or_default().split([';', '+']).next().unwrap_or_default();
    let is_plain = !end.is_empty() && end.len() <= 10 && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain { end } else { "bin" }
}

fn nests(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(list) => depth == 0 || list.iter().any(|item| nests(item, depth - 1)),
        Value::Object(map) => depth == 0 || map.values().any(|item| nests(item, depth - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The value, or its text where it nests too deep.
pub(crate) fn shallow(value: &Value, depth: usize) -> Value {
    if nests(value, depth) { Value::String(value.to_string()) } else { value.clone() }
}

/// A message of a thread in the neutral shape. `files` are the bytes of its attachments, by their names. A message that
/// was written here has `id` as its id.
pub(crate) fn shaped(id: String, body: &MessageBody, time: Timestamp, files: &HashMap<String, Vec<u8>>) -> Message {
    let mut metadata = body.metadata.as_ref().map(Json::to_value).unwrap_or_default();
    let kept = metadata.get_mut(KEPT).map(Value::take);
    let whole = files.get("message.json").and_then(|json| serde_json::from_slice::<Whole>(json).ok());
    let mark = kept.and_then(|kept| serde_json::from_value::<Mark>(kept).ok());
    let (mark, content) = match (mark, whole) {
        (Some(Mark { is_cut: true, .. }), Some(whole)) => (Some(whole.import), whole.content),
        (mark, _) => (mark, body.content.clone()),
    };
    let role = match body.role {
        ShownRole::User => Role::User,
        ShownRole::Assistant => Role::Assistant,
        ShownRole::Tool => Role::Tool,
        ShownRole::System | ShownRole::Info => Role::System,
    };
    let mut message = Message::new(id, role);
    message.time = Some(time);
    message.scaffolding = body.silent;
    let mut beside = Vec::new();
    if let Some(mark) = mark {
        message.id = mark.id;
        message.time = mark.time.or(message.time);
        (message.model, message.provider, message.usage) = (mark.model, mark.provider, mark.usage);
        (message.scaffolding, message.out_of_context) = (mark.scaffolding, mark.out_of_context);
        (message.compaction, message.subagents, message.raw) = (mark.compaction, mark.subagents, mark.raw);
        beside = mark.parts;
    }
    message.parts = unshown(content.to_parts(), &[], &mut beside, files);
    if let [Part::Text(text)] = &message.parts[..]
        && text.is_empty()
    {
        message.parts.clear();
    }
    message
}

/// A message that is an attachment, because it is too large.
#[derive(Deserialize)]
struct Whole {
    content: Content,
    import: Mark,
}

fn unshown(
    parts: Vec<Shown>,
    within: &[usize],
    beside: &mut Vec<Beside>,
    files: &HashMap<String, Vec<u8>>,
) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::with_capacity(parts.len());
    let mut parts = parts.into_iter();
    loop {
        let at: Vec<usize> = within.iter().copied().chain([all.len()]).collect();
        let found = beside.iter().position(|it| it.at == at);
        let mut kept = found.map(|found| beside.swap_remove(found)).unwrap_or_default();
        if let Some(raw) = kept.raw.take() {
            all.push(Part::Raw(raw));
            continue;
        }
        if let Some(Link { to, name, mime }) = kept.link.take() {
            all.push(Part::File(File { name, mime, data: FileData::Link(to) }));
            continue;
        }
        let Some(part) = parts.next() else { return all };
        all.push(match part {
            Shown::Text { text } => Part::Text(text),
            Shown::Thinking { text, .. } => {
                let Bound { bound_to, signature, sealed } = kept.thinking.take().unwrap_or_default();
                Part::Thinking(Thinking { text, signature, sealed, provider: bound_to })
            }
            Shown::ToolUse { id, name, input } => Part::ToolCall { id, name, input },
            Shown::ToolResult { tool_use_id, content, is_error } => {
                let inner = match content {
                    Value::String(text) if text.is_empty() => Vec::new(),
                    Value::String(text) => vec![Shown::Text { text }],
                    other => serde_json::from_value(other).unwrap_or_default(),
                };
                Part::ToolResult { call: tool_use_id, parts: unshown(inner, &at, beside, files), is_error }
            }
            Shown::Image { path, mime_type, name } | Shown::File { path, mime_type, name } => {
                let data = match files.get(&path) {
                    Some(bytes) => FileData::Bytes(bytes.clone()),
                    None => FileData::Link(path),
                };
                Part::File(File { name, mime: Some(mime_type), data })
            }
        });
    }
}
