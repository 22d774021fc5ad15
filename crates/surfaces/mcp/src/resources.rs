//! Resources: a thread as Markdown, a message, a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;
use threadkeep_calls::{At, GetMessage, ListMessages, ListThreads, Message, Order, Problem, Thread};
use threadkeep_client::model::{FilePath, Invalid, MessageName, ThreadId, ThreadName};
use threadkeep_client::{Client, FileAt};

use crate::answer::CHARACTERS_MAX;
use crate::files::FILE_BYTES_MAX;
use crate::schema::PAGE_MAX;

const SCHEME: &str = "threadkeep://thread/";
const MARKDOWN: &str = "text/markdown";

/// A resource by its URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) thread: ThreadName,
    pub(crate) part: Part,
}

/// A part of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Message(MessageName),
    File(FilePath),
}

impl std::str::FromStr for Named {
    type Err = Problem;

    fn from_str(uri: &str) -> Result<Self, Problem> {
        let unknown = || {
            let rule = "is none of threadkeep://thread/ID, …/messages/MESSAGE, …/files/PATH";
            Problem::from(Invalid::parameter("uri", rule))
        };
        let rest = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
        let (thread, part) = match rest.split_once('/') {
            None => (rest, Part::Whole),
            Some((thread, part)) => match part.split_once('/') {
                Some(("messages", message)) => (thread, Part::Message(message.parse()?)),
                Some(("files", path)) => (thread, Part::File(unescaped(path).parse()?)),
                _ => return Err(unknown()),
            },
        };
        Ok(Self { thread: thread.parse()?, part })
    }
}

/// The text behind `%XX`; a sign that is no escape stays.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('%') {
        bytes.extend_from_slice(plain.as_bytes());
        let code = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(b'%'));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The URI of a thread.
pub(crate) fn uri(thread: ThreadId) -> String {
    format!("{SCHEME}{thread}")
}

/// A page of threads as resources, and where the next page begins.
pub(crate) async fn list(client: &Client, cursor: Option<String>) -> Result<(Vec<Resource>, Option<String>), Problem> {
    let which = ListThreads { limit: Some(PAGE_MAX as usize), cursor, ..ListThreads::default() };
    let page = client.call(At::none(), which).await?;
    let resource = |thread: threadkeep_calls::ThreadSummary| {
        let title = thread.title.unwrap_or_else(|| "Untitled".to_owned());
        let about = format!("{} messages, changed {}", thread.message_count, thread.updated);
        Resource::new(uri(thread.id), title).with_description(about).with_mime_type(MARKDOWN)
    };
    Ok((page.items.into_iter().map(resource).collect(), page.next_cursor))
}

/// The shapes of URIs.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{SCHEME}{{id}}"), "thread")
            .with_description("A thread: its newest messages as Markdown.")
            .with_mime_type(MARKDOWN),
        ResourceTemplate::new(format!("{SCHEME}{{id}}/messages/{{message}}"), "message")
            .with_description("One message of a thread, whole.")
            .with_mime_type(MARKDOWN),
        ResourceTemplate::new(format!("{SCHEME}{{id}}/files/{{+path}}"), "file")
            .with_description("A file of a thread."),
    ]
}

/// The contents of a resource.
pub(crate) async fn read(client: &Client, uri: &str) -> Result<ResourceContents, Problem> {
    let Named { thread, part } = uri.parse()?;
    match part {
        Part::Whole => Ok(ResourceContents::text(markdown(client, thread).await?, uri).with_mime_type(MARKDOWN)),
        Part::Message(message) => {
            let message = client.call(thread, GetMessage { message }).await?;
            Ok(ResourceContents::text(shown(&message), uri).with_mime_type(MARKDOWN))
        }
        Part::File(path) => {
            let record = client.stat(thread, &path, FileAt::Now).await?;
            let told = serde_json::to_value(&record).unwrap_or_default();
            if told["size"].as_u64().is_some_and(|size| size > FILE_BYTES_MAX) {
                let rule = format!("has more than {FILE_BYTES_MAX} bytes");
                return Err(Problem::from(Invalid::parameter("path", rule)).hint("open it with threadkeep files read"));
            }
            let bytes = client.read_file(thread, &path, FileAt::Now).await?;
            let kind = told["mimeType"].as_str().unwrap_or("application/octet-stream").to_owned();
            Ok(match String::from_utf8(bytes.to_vec()) {
                Ok(text) => ResourceContents::text(text, uri).with_mime_type(kind),
                Err(_) => ResourceContents::blob(STANDARD.encode(&bytes), uri).with_mime_type(kind),
            })
        }
    }
}

/// The newest messages of a thread as Markdown, the oldest of them first.
pub(crate) async fn markdown(client: &Client, name: ThreadName) -> Result<String, Problem> {
    let thread: Thread = client.thread(name).await?;
    let which =
        ListMessages { order: Some(Order::Descending), limit: Some(PAGE_MAX as usize), ..ListMessages::default() };
    let page = client.call(name, which).await?;
    let record = serde_json::to_value(&thread).unwrap_or_default();
    let title = record["title"].as_str().unwrap_or("Untitled").replace('\n', " ");
    let head = format!(
        "# {title}\n\nThread {}, version {}, {} messages, {}.\n",
        record["id"].as_str().unwrap_or_default(),
        record["v"],
        record["messageCount"],
        record["lifecycle"].as_str().unwrap_or_default()
    );
    let mut messages = Vec::new();
    let mut left = CHARACTERS_MAX;
    let total = page.items.len();
    for message in page.items {
        let text = shown(&message);
        let length = text.chars().count();
        if length > left {
            messages.push(format!("{}\n\n(cut)\n", text.chars().take(left).collect::<String>()));
            break;
        }
        left -= length;
        messages.push(text);
    }
    let is_cut = page.next_cursor.is_some() || messages.len() < total;
    let earlier = if is_cut { "\n(Earlier messages are not shown here: use the tool read_messages.)\n" } else { "" };
    messages.reverse();
    Ok(format!("{head}{earlier}{}", messages.concat()))
}

/// A message as Markdown.
fn shown(message: &Message<'_>) -> String {
    let content: Value = serde_json::from_str(message.content.get()).unwrap_or_default();
    let text = match &content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(part).collect::<Vec<_>>().join("\n\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    };
    let role = serde_json::to_value(message.role).unwrap_or_default();
    let role = role.as_str().unwrap_or_default();
    format!("\n## {role} · {} · {}\n\n{text}\n", message.id, message.created_at)
}

fn part(part: &Value) -> String {
    let text = |name: &str| part[name].as_str().unwrap_or_default();
    match text("type") {
        "text" => text("text").to_owned(),
        "thinking" => format!("> {}", text("text").replace('\n', "\n> ")),
        "tool_use" => format!("**calls {}** {}", text("name"), part["input"]),
        "tool_result" => match &part["content"] {
            Value::String(result) => format!("**result** {result}"),
            other => format!("**result** {other}"),
        },
        "image" | "file" => format!("({} {})", text("type"), text("path")),
        _ => part.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_thread_a_message_or_a_file() {
        let thread = "T-5928a90d-d53b-488f-a829-4e36442142ee";
        let part = |rest: &str| format!("threadkeep://thread/{thread}{rest}").parse::<Named>().map(|named| named.part);
        assert_eq!(part("").expect("a thread"), Part::Whole);
        let Ok(Part::File(path)) = part("/files/src/a%20b%zz.rs") else { panic!("no file") };
        assert_eq!(path.as_str().trim_start_matches('/'), "src/a b%zz.rs");
        assert!(matches!(part("/messages/M-5bf81087dea33e672"), Ok(Part::Message(_))));
        for wrong in ["/", "/messages", "/env/x", "/messages/what"] {
            assert!(part(wrong).is_err(), "{wrong}");
        }
        assert!("https://thread/x".parse::<Named>().is_err());
    }
}
