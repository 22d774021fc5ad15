//! ChatGPT: the zip archive of an account, or its `conversations.json`. Each conversation is a tree of nodes.
//!
//! The archive is read one conversation at a time. Its entries are never written to disk, so their paths mean nothing.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek, SeekFrom};

use serde_json::{Map, Value};
use zip::ZipArchive;

use crate::elements::{ELEMENT_BYTES_MAX, Element, Elements};
use crate::fields::{Fields, Unit, as_text};
use crate::lines::value;
use crate::reading::{Reading, Refused, Skipped};
use crate::shape::{File, FileData, Message, Part, Role, Session, Source, Thinking};
use crate::unpack::allowance;

/// Most entries of an archive.
pub const ARCHIVE_ENTRIES_MAX: usize = 200_000;
/// Most bytes of one attachment; a larger one stays a link.
pub const ATTACHMENT_BYTES_MAX: u64 = 32 << 20;
/// Most bytes of the attachments of one conversation.
pub const ATTACHMENTS_BYTES_MAX: u64 = 96 << 20;
/// Most bytes of conversations in one archive.
pub const CONVERSATIONS_BYTES_MAX: u64 = 8 << 30;

/// Reads an archive or a JSON file, and hands each conversation to `each`. `open` opens the same file anew: the
/// conversations and their attachments are read side by side.
///
/// # Errors
/// If the file cannot be read, or holds no conversations.
pub fn read<R: Read + Seek>(
    open: impl Fn() -> std::io::Result<R>,
    mut each: impl FnMut(Reading),
) -> Result<(), Refused> {
    let failed = |error: std::io::Error| Refused::new(format_args!("the file cannot be read: {error}"));
    let mut file = open().map_err(failed)?;
    let mut magic = [0; 4];
    let is_zip = file.read_exact(&mut magic).is_ok() && magic == *b"PK\x03\x04";
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    if !is_zip {
        let file = file.take(CONVERSATIONS_BYTES_MAX);
        return conversations("conversations.json", file, None::<&mut Media<R>>, &mut each);
    }
    let broken = |_| Refused::new("the zip archive is damaged");
    let mut archive = ZipArchive::new(file).map_err(broken)?;
    if archive.len() > ARCHIVE_ENTRIES_MAX {
        return Err(Refused::new(format_args!("the archive has more than {ARCHIVE_ENTRIES_MAX} entries")));
    }
    let mut skipped = Skipped::default();
    let (mut shards, mut media) = (Vec::new(), BTreeMap::new());
    for at in 0..archive.len() {
        let entry = match archive.by_index_raw(at) {
            Ok(entry) if entry.is_dir() => continue,
            Ok(entry) if entry.is_file() && !entry.encrypted() && !entry.is_symlink() => entry,
            Ok(_) => {
                skipped.add(format_args!("entry {at}"), "a link or an encrypted file");
                continue;
            }
            Err(_) => {
                skipped.add(format_args!("entry {at}"), "damaged");
                continue;
            }
        };
        let Ok(path) = entry.name() else {
            skipped.add(format_args!("entry {at}"), "a name that cannot be read");
            continue;
        };
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        if name.starts_with("conversations") && name.ends_with(".json") {
            shards.push((name, at));
        } else {
            media.insert(name, at);
        }
    }
    if shards.is_empty() {
        return Err(Refused::new("the archive holds no conversations.json"));
    }
    shards.sort();
    if skipped.count > 0 {
        each(Reading { skipped, ..Reading::default() });
    }
    let mut media = Media { archive: ZipArchive::new(open().map_err(failed)?).map_err(broken)?, names: media };
    for (name, at) in shards {
        let entry = archive.by_index(at).map_err(broken)?;
        // A bomb ends here: what comes out is bounded by what went in.
        let most = entry.compressed_size().saturating_mul(crate::unpack::UNPACKED_RATIO_MAX);
        let most = most.clamp(crate::unpack::UNPACKED_RATIO_FREE_BYTES, CONVERSATIONS_BYTES_MAX);
        if entry.size() > most {
            return Err(Refused::new(format_args!("{name} would unpack to more than {most} bytes")));
        }
        conversations(&name, entry.take(most), Some(&mut media), &mut each)?;
    }
    Ok(())
}

fn conversations<R: Read + Seek>(
    name: &str,
    from: impl Read,
    mut media: Option<&mut Media<R>>,
    each: &mut impl FnMut(Reading),
) -> Result<(), Refused> {
    let mut elements = Elements::new(from);
    let mut count = 0_u64;
    loop {
        let mut reading = Reading::default();
        count += 1;
        let place = format!("{name} conversation {count}");
        match elements.next() {
            Ok(None) if count == 1 => return Err(Refused::new(format_args!("{name} holds no conversation"))),
            Ok(None) => return Ok(()),
            Ok(Some(Element::TooLong)) => {
                reading.skipped.add(place, format_args!("longer than {ELEMENT_BYTES_MAX} bytes"));
            }
            Ok(Some(Element::Bytes(bytes))) => match value(&bytes).and_then(Fields::of) {
                Some(fields) if fields.0.get("mapping").is_some_and(Value::is_object) => {
                    let mut session = conversation(&place, fields, &mut reading.skipped);
                    if let Some(media) = media.as_deref_mut() {
                        media.attach(&mut session, &mut reading.skipped);
                    }
                    reading.sessions.push(session);
                }
                Some(_) => reading.skipped.add(place, "an object without a mapping"),
                None => reading.skipped.add(place, "not JSON, or cut off"),
            },
            Err(_) => {
                reading.skipped.add(place, "the archive is damaged here");
                each(reading);
                return Ok(());
            }
        }
        each(reading);
    }
}

/// The attachments of an archive, by the beginnings of their names.
struct Media<R> {
    archive: ZipArchive<R>,
    names: BTreeMap<String, usize>,
}

impl<R: Read + Seek> Media<R> {
    /// Replaces links by the bytes of the archive.
    fn attach(&mut self, session: &mut Session, skipped: &mut Skipped) {
        let mut room = ATTACHMENTS_BYTES_MAX;
        let mut files = Vec::new();
        for message in &mut session.messages {
            files_of(&mut message.parts, &mut files);
        }
        for file in files {
            let FileData::Link(link) = &file.data else { continue };
            let id = link.rsplit('/').next().unwrap_or_default().split(['#', '?']).next().unwrap_or_default();
            if id.len() < 5 {
                continue;
            }
            let found = self.names.range(id.to_owned()..).next().filter(|(name, _)| name.starts_with(id));
            let Some((name, at)) = found.map(|(name, at)| (name.clone(), *at)) else { continue };
            let Ok(entry) = self.archive.by_index(at) else { continue };
            let most = allowance(entry.compressed_size()).min(ATTACHMENT_BYTES_MAX).min(room);
            let mut bytes = Vec::new();
            match entry.take(most + 1).read_to_end(&mut bytes) {
                Ok(_) if bytes.len() as u64 <= most => {
                    room -= bytes.len() as u64;
                    file.mime = file.mime.take().or_else(|| mime(&name).map(str::to_owned));
                    file.name.get_or_insert(name);
                    file.data = FileData::Bytes(bytes);
                }
                Ok(_) => skipped.add("an attachment", format_args!("larger than {most} bytes, left as a link")),
                Err(_) => skipped.add("an attachment", "damaged, left as a link"),
            }
        }
    }
}

/// The files of a message, those in results too.
fn files_of<'a>(parts: &'a mut [Part], to: &mut Vec<&'a mut File>) {
    for part in parts {
        match part {
            Part::File(file) => to.push(file),
            Part::ToolResult { parts, .. } => files_of(parts, to),
            Part::Text(_) | Part::Thinking(_) | Part::ToolCall { .. } | Part::Raw(_) => {}
        }
    }
}

fn mime(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "wav" => "audio/wav",
        "pdf" => "application/pdf",
        _ => return None,
    })
}

fn conversation(place: &str, mut fields: Fields, skipped: &mut Skipped) -> Session {
    let id = fields.text("conversation_id").or_else(|| fields.text("id")).unwrap_or_else(|| place.to_owned());
    fields.forget(&["id"]);
    let mut session = Session::new(Source::ChatGpt, id);
    session.title = fields.text("title").filter(|title| !title.is_empty());
    session.created = fields.time("create_time", Unit::Seconds);
    session.updated = fields.time("update_time", Unit::Seconds);
    for (flag, tag) in [("is_archived", "archived"), ("is_starred", "starred")] {
        if fields.flag(flag) {
            session.tags.push(tag.to_owned());
        }
    }
    let current = fields.text("current_node");
    let mapping = fields.object("mapping").unwrap_or_default();
    let mut parents: HashMap<String, Option<String>> = HashMap::new();
    let mut nodes = Vec::new();
    for (name, node) in mapping.0 {
        let Some(mut node) = Fields::of(node) else {
            skipped.add(place, "a node that is not an object");
            continue;
        };
        // A trimmed node may lack its parent; the children of the others name it then.
        for child in node.list("children").unwrap_or_default() {
            if let Value::String(child) = child {
                parents.entry(child).or_insert_with(|| Some(name.clone()));
            }
        }
        if let Some(parent) = node.text("parent") {
            parents.insert(name.clone(), Some(parent));
        }
        nodes.push((name, node));
    }
    // Nodes without a message, or with an empty one, are only links between others.
    let mut shown: HashMap<String, bool> = HashMap::new();
    for (name, mut node) in nodes {
        let message = node.object("message").and_then(|message| message_of(&name, message));
        shown.insert(name.clone(), message.is_some());
        if let Some(message) = message {
            session.spans(message.time);
            session.messages.push(message);
        }
    }
    let climb = |from: Option<String>| -> Option<String> {
        let mut at = from?;
        for _ in 0..=shown.len() {
            if shown.get(&at) == Some(&true) {
                return Some(at);
            }
            at = parents.get(&at)?.clone()?;
        }
        None
    };
    for message in &mut session.messages {
        message.parent = climb(parents.get(&message.id).cloned().flatten());
        // The id of a call is that of its message, and its result is the child.
        if let (Role::Tool, Some(parent), Some(Part::ToolResult { call, .. })) =
            (message.role, &message.parent, message.parts.first_mut())
        {
            call.clone_from(parent);
        }
    }
    session.messages.sort_by_key(|message| message.time);
    let active = climb(current);
    session.settle();
    session.active = active.or(session.active.take());
    fields.forget(&["safe_urls", "moderation_results", "plugin_ids"]);
    session.raw = fields.left();
    session
}

fn message_of(node: &str, mut fields: Fields) -> Option<Message> {
    let mut author = fields.object("author").unwrap_or_default();
    let name = author.text("name");
    let role = match author.text("role").as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        _ => Role::System,
    };
    let mut message = Message::new(node, role);
    message.time = fields.time("create_time", Unit::Seconds);
    let mut metadata = fields.object("metadata").unwrap_or_default();
    message.model = metadata.text("model_slug").filter(|_| role == Role::Assistant);
    message.provider = (role == Role::Assistant).then(|| "openai".to_owned());
    message.scaffolding = metadata.flag("is_visually_hidden_from_conversation")
        || metadata.flag("is_user_system_message")
        || role == Role::System;
    let content = fields.object("content").unwrap_or_default();
    message.parts = content_of(content);
    for attachment in metadata.list("attachments").unwrap_or_default() {
        attached(&mut message, attachment);
    }
    let recipient = fields.text("recipient").filter(|recipient| recipient != "all");
    match (role, recipient) {
        (Role::Assistant, Some(tool)) => {
            let text = crate::blocks::text_of(&message.parts);
            message.parts.retain(|part| !matches!(part, Part::Text(_)));
            let input = value(text.as_bytes()).filter(Value::is_object).unwrap_or(Value::String(text));
            message.parts.push(Part::ToolCall { id: node.to_owned(), name: tool, input });
        }
        (Role::Tool, recipient) => {
            let parts = std::mem::take(&mut message.parts);
            let is_error = fields.peek("status") == Some("failed");
            message.parts = vec![Part::ToolResult { call: String::new(), parts, is_error }];
            fields.0.extend(name.map(|name| ("tool".to_owned(), name.into())));
            fields.0.extend(recipient.map(|recipient| ("recipient".to_owned(), recipient.into())));
        }
        (Role::User | Role::Assistant | Role::System, recipient) => {
            fields.0.extend(name.map(|name| ("name".to_owned(), name.into())));
            fields.0.extend(recipient.map(|recipient| ("recipient".to_owned(), recipient.into())));
        }
    }
    if message.parts.is_empty() {
        return None;
    }
    author.forget(&["metadata"]);
    fields.put_back("author", author);
    fields.put_back("metadata", metadata);
    fields.forget(&["weight", "status", "end_turn", "update_time", "channel"]);
    let id = fields.text("id").filter(|id| id != node);
    message.raw = fields.left();
    message.raw.extend(id.map(|id| ("id".to_owned(), id.into())));
    Some(message)
}

/// An attachment that the parts do not show yet.
fn attached(message: &mut Message, attachment: Value) {
    let text = |name: &str| attachment.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(id) = text("id") else { return message.parts.push(Part::Raw(attachment)) };
    let (name, mime) = (text("name"), text("mime_type").or_else(|| text("mimeType")));
    for part in &mut message.parts {
        if let Part::File(file) = part
            && matches!(&file.data, FileData::Link(link) if link.ends_with(&id))
        {
            (file.name, file.mime) = (name.or(file.name.take()), mime.or(file.mime.take()));
            return;
        }
    }
    message.parts.push(Part::File(File { name, mime, data: FileData::Link(id) }));
}

fn content_of(mut content: Fields) -> Vec<Part> {
    let kind = content.text("content_type").unwrap_or_default();
    let text = |content: &mut Fields, name: &str| content.text(name).filter(|text| !text.is_empty());
    let mut parts = Vec::new();
    match kind.as_str() {
        "text" | "multimodal_text" => {
            for part in content.list("parts").unwrap_or_default() {
                parts.extend(part_of(part));
            }
            parts.extend(text(&mut content, "text").map(Part::Text));
        }
        "code" | "execution_output" | "system_error" => parts.extend(text(&mut content, "text").map(Part::Text)),
        "tether_browsing_display" => parts.extend(text(&mut content, "result").map(Part::Text)),
        "tether_quote" => {
            parts.extend(text(&mut content, "title").map(Part::Text));
            parts.extend(text(&mut content, "text").map(Part::Text));
        }
        "thoughts" => {
            for thought in content.list("thoughts").unwrap_or_default() {
                let said = |name: &str| thought.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
                let said: Vec<&str> = [said("summary"), said("content")].into_iter().flatten().collect();
                parts.push(Part::Thinking(Thinking { text: said.join(": "), ..Thinking::default() }));
            }
        }
        "reasoning_recap" => {
            let text = content.value("content").map(as_text);
            parts.extend(text.map(|text| Part::Thinking(Thinking { text, ..Thinking::default() })));
        }
        _ => {}
    }
    // An empty text is a node that only links others; everything else that is left is kept.
    content.forget(&["language", "response_format_name"]);
    let rest: Map<String, Value> =
        content.left().into_iter().filter(|(_, value)| *value != Value::String(String::new())).collect();
    if !rest.is_empty() {
        let kind = std::iter::once(("content_type".to_owned(), Value::String(kind)));
        parts.push(Part::Raw(Value::Object(kind.chain(rest).collect())));
    }
    parts
}

fn part_of(part: Value) -> Option<Part> {
    match part {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(Part::Text(text)),
        Value::Null => None,
        other => {
            let kind = other.get("content_type").and_then(Value::as_str).unwrap_or_default();
            let text = |name: &str| other.get(name).and_then(Value::as_str).map(str::to_owned);
            Some(match (kind, text("asset_pointer"), text("text")) {
                ("image_asset_pointer" | "audio_asset_pointer" | "video_container_asset_pointer", Some(link), _) => {
                    Part::File(File { name: None, mime: None, data: FileData::Link(link) })
                }
                ("audio_transcription", _, Some(text)) => Part::Text(text),
                _ => Part::Raw(other),
            })
        }
    }
}
