//! Messages as people read them: text first, tool calls folded into a line with their results.

use std::collections::HashMap;

use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use threadkeep_calls::Message;
use threadkeep_model::{MessageName, MessageStatus, Role};

use crate::markdown::{MARKDOWN_BYTES_MAX, code_block, markdown, plain};
use crate::text::{actor, brief, counted, size, time};
use crate::threads::percent;

/// Characters of a tool's output that are shown at once.
const OUTPUT_SHOWN_MAX: usize = 4_000;

/// How messages are shown.
#[derive(Debug, Clone, Copy)]
pub struct Shows<'a> {
    /// The short id of the thread that shows them.
    pub thread: &'a str,
    /// The version that they are shown at, if it is not the newest.
    pub as_of: Option<u64>,
    /// As JSON, and not as talk.
    pub json: bool,
    /// The message that the address names.
    pub marked: Option<&'a str>,
    /// Whether that message is shown to its end, however long it is.
    pub whole: bool,
}

/// A long text, cut where a page would become slow, with the address of all of it.
fn cut(text: &str, shown: impl Fn(&str) -> Markup, all: Option<&str>) -> Markup {
    let Some(all) = all.filter(|_| text.len() > MARKDOWN_BYTES_MAX) else { return shown(text) };
    let end = text.floor_char_boundary(MARKDOWN_BYTES_MAX);
    html! {
        (plain(&text[..end]))
        p.small { "This is the beginning: " (size(end as u64)) " of " (size(text.len() as u64)) ". " a href=(all) { "Show all of it" } }
    }
}

/// The parts of a message. Content is checked when it enters the log; parts of a later version show as JSON.
fn parts(message: &Message<'_>) -> Vec<Value> {
    match serde_json::from_str(message.content.get()) {
        Ok(Value::Array(parts)) => parts,
        Ok(Value::String(text)) => vec![serde_json::json!({ "type": "text", "text": text })],
        Ok(other) => vec![other],
        Err(_) => Vec::new(),
    }
}

fn text_of<'a>(part: &'a Value, field: &str) -> &'a str {
    part[field].as_str().unwrap_or_default()
}

/// Messages in their order, the first of which has this index. Results of tools are folded into their calls.
pub fn messages(found: &[Message<'_>], first: u64, shows: Shows<'_>) -> Markup {
    let read: Vec<(&Message<'_>, Vec<Value>)> = found.iter().map(|message| (message, parts(message))).collect();
    let all = || read.iter().flat_map(|(_, parts)| parts);
    let is = |part: &Value, kind: &str| part["type"] == kind;
    let calls: HashMap<&str, ()> =
        all().filter(|part| is(part, "tool_use")).map(|part| (text_of(part, "id"), ())).collect();
    let results: HashMap<&str, &Value> =
        all().filter(|part| is(part, "tool_result")).map(|part| (text_of(part, "toolUseId"), part)).collect();
    html! {
        @for (place, (message, parts)) in read.iter().enumerate() {
            // A message of nothing but results that their calls show has nothing of its own to show.
            @let folded = !shows.json && !parts.is_empty()
                && parts.iter().all(|part| is(part, "tool_result") && calls.contains_key(text_of(part, "toolUseId")));
            (article(message, parts, &results, &calls, first + place as u64, folded, shows))
        }
    }
}

/// One message, which has this index.
pub fn message(message: &Message<'_>, index: u64, shows: Shows<'_>) -> Markup {
    messages(std::slice::from_ref(message), index, shows)
}

fn article(
    message: &Message<'_>,
    parts: &[Value],
    results: &HashMap<&str, &Value>,
    calls: &HashMap<&str, ()>,
    index: u64,
    folded: bool,
    shows: Shows<'_>,
) -> Markup {
    let id = message.id.to_string();
    let marked = shows.marked == Some(id.as_str());
    let link = match shows.as_of {
        Some(version) => format!("/t/{}?m={}&v={version}", shows.thread, percent(&id)),
        None => format!("/t/{}?m={}", shows.thread, percent(&id)),
    };
    let all =
        (!(marked && shows.whole)).then(|| format!("{link}&whole=true{}", if shows.json { "&view=json" } else { "" }));
    let all = all.as_deref();
    let speaker = message.name.as_deref().unwrap_or(&message.actor.name);
    html! {
        article.msg.(message.role.as_str()) .folded[folded] .marked[marked] id=(format!("m-{id}")) data-message=(id)
            data-index=(index) data-version=(message.version) tabindex="-1" aria-label=(format!("{} {}", message.role.as_str(), brief(speaker, 60))) {
            header {
                span.role { (message.role.as_str()) }
                @if !speaker.is_empty() && speaker != message.role.as_str() {
                    @if message.name.is_some() { span.actor { bdi { (brief(speaker, 60)) } } } @else { (actor(&message.actor)) }
                }
                @match message.status {
                    MessageStatus::Completed => {}
                    MessageStatus::Pending => span.tag { "not complete" },
                    MessageStatus::Failed => span.tag { "given up" },
                }
                @if is_edited(message) { span.tag { "edited" } }
                a.when href=(link) { (time(message.created_at)) }
            }
            div.body {
                @if shows.json { (cut(&pretty(message), |text| PreEscaped(code_block("json", text)), all)) }
                @else { @for part in parts { (part_shown(part, results, calls, shows, all)) } }
                @if !message.attachments.is_empty() && !shows.json {
                    p.small { (counted(message.attachments.len() as u64, "attachment")) }
                }
            }
        }
    }
}

/// Whether a message was changed after it entered the log. One from a queue keeps the number it got there.
fn is_edited(message: &Message<'_>) -> bool {
    matches!(message.id, MessageName::Place(_)) && message.version.0 > message.number
}

fn pretty(message: &Message<'_>) -> String {
    serde_json::to_string_pretty(message).unwrap_or_default()
}

fn part_shown(
    part: &Value,
    results: &HashMap<&str, &Value>,
    calls: &HashMap<&str, ()>,
    shows: Shows<'_>,
    all: Option<&str>,
) -> Markup {
    match part["type"].as_str() {
        Some("text") => cut(text_of(part, "text"), markdown, all),
        Some("thinking") => {
            let text = text_of(part, "text");
            let words = text.split_whitespace().count() as u64;
            html! { details.fold.thinking { summary { "thinking, " (counted(words, "word")) } div { (cut(text, markdown, all)) } } }
        }
        Some("tool_use") => {
            let id = text_of(part, "id");
            tool(text_of(part, "name"), id, Some(&part["input"]), results.get(id).copied())
        }
        Some("tool_result") => {
            let call = text_of(part, "toolUseId");
            // Its call shows it.
            if calls.contains_key(call) {
                html! {}
            } else {
                tool("result", call, None, Some(part))
            }
        }
        Some("image") => file(part, shows, true),
        Some("file") => file(part, shows, false),
        _ => PreEscaped(code_block("json", &serde_json::to_string_pretty(part).unwrap_or_default())),
    }
}

/// A call of a tool and its result, in one line that opens.
fn tool(name: &str, id: &str, input: Option<&Value>, result: Option<&Value>) -> Markup {
    let failed = result.is_some_and(|result| result["isError"] == true);
    let (sign, state) = match result {
        None => ("…", "waiting"),
        Some(_) if failed => ("✕", "failed"),
        Some(_) => ("✓", "done"),
    };
    let gist = input.map(gist).unwrap_or_default();
    html! {
        details.fold.tool data-state=(state) data-call-id=[input.map(|_| id)] data-result-of=[input.is_none().then_some(id)] {
            summary {
                span.sign role="img" aria-label=(state) { (sign) }
                " " strong { bdi { (brief(name, 60)) } } " "
                span.gist { bdi { (gist) } }
            }
            div {
                @if let Some(input) = input { (PreEscaped(code_block("json", &serde_json::to_string_pretty(input).unwrap_or_default()))) }
                @if let Some(result) = result { (output(&result["content"])) }
                @else { p.small.pending { "No result yet." } }
            }
        }
    }
}

/// The output of a tool: cut if it is long, with its length.
fn output(content: &Value) -> Markup {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) if parts.iter().all(|part| part["text"].is_string()) => {
            parts.iter().map(|part| text_of(part, "text")).collect::<Vec<_>>().join("\n")
        }
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    match text.char_indices().nth(OUTPUT_SHOWN_MAX) {
        Some((cut, _)) => html! {
            (PreEscaped(code_block("", &text[..cut])))
            details.rest { summary { (size((text.len() - cut) as u64)) " more" } (PreEscaped(code_block("", &text[cut..]))) }
        },
        None => PreEscaped(code_block("", &text)),
    }
}

/// The first text in the arguments of a call: mostly a path, a command or a question.
fn gist(input: &Value) -> String {
    let first = match input {
        Value::Object(fields) => fields.values().find(|value| value.is_string() || value.is_number()),
        other => Some(other),
    };
    match first {
        Some(Value::String(text)) => brief(text, 80),
        Some(Value::Null) | None => String::new(),
        Some(other) => brief(&other.to_string(), 80),
    }
}

/// A picture or a file of the thread.
fn file(part: &Value, shows: Shows<'_>, is_picture: bool) -> Markup {
    let path = text_of(part, "path");
    let name = part["name"].as_str().unwrap_or(path);
    let below: Vec<String> = path.split('/').filter(|name| !name.is_empty()).map(percent).collect();
    let at = shows.as_of.map(|version| format!("&asOf={version}")).unwrap_or_default();
    let address = format!("/v1/threads/{}/files/{}", shows.thread, below.join("/"));
    let page = format!("/t/{}/files/{}", shows.thread, below.join("/"));
    html! {
        figure.file {
            @if is_picture { img src=(format!("{address}?thumbnail=512{at}")) alt=(brief(name, 200)) loading="lazy"; }
            figcaption { a href=(page) { bdi { (brief(name, 120)) } } " " span.small { (text_of(part, "mimeType")) } }
        }
    }
}

/// The text of a message, for previews.
pub(crate) fn plain_text(message: &Message<'_>) -> String {
    parts(message)
        .iter()
        .filter(|part| part["type"] == "text")
        .map(|part| text_of(part, "text"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Whether a person or an assistant said it.
pub(crate) fn is_said(message: &Message<'_>) -> bool {
    matches!(message.role, Role::User | Role::Assistant)
}
