//! From Amp's JSON to the items of an import.

use serde_json::{Map, Value};
use threadkeep_engine::ExportItem;
use threadkeep_model::{
    Account, Actor, ActorKind, BlobId, Body, Caller, Content, Entry, Forked, Invalid, Json, Kind, MessageBody,
    MessageQueued, NewEntry, Part, Position, Record, Related, RelationKind, Role, Segment, SegmentId, Skill, Tally,
    ThreadId, Timestamp,
};
use threadkeep_store::SegmentRow;

use super::KEPT;

/// Bodies above this size become blobs, as in an append.
const INLINE_BYTES_MAX: usize = 16 << 10;
/// Fields of a thread that are its record's, under the same name on both sides.
const SAME: [&str; 7] = ["title", "archived", "draft", "autoSubmitDraft", "agentMode", "maxTokens", "forkPointIndex"];

/// The items that bring the thread in `json` to a store, for `caller`. The same thread gives the same items, so that it
/// can be imported again.
///
/// # Errors
/// Names the field that breaks a rule.
pub fn from_amp(json: &Json, caller: &Caller) -> Result<Vec<ExportItem>, Invalid> {
    let Value::Object(mut fields) = json.to_value() else {
        return Err(Invalid::body("thread", "must be a JSON object"));
    };
    let id = text(&mut fields, "id")?.ok_or_else(|| Invalid::body("id", "is missing"))?;
    let id: ThreadId = id.parse()?;
    let created = time(&mut fields, "created")?.ok_or_else(|| Invalid::body("created", "is missing"))?;
    let version = number(&mut fields, "v")?.unwrap_or(0);
    let messages = list(&mut fields, "messages")?;
    let queued = list(&mut fields, "queuedMessages")?;
    let mut told: Vec<(Timestamp, Entry)> = Vec::new();
    for (at, message) in messages.into_iter().enumerate() {
        let field = format!("messages[{at}]");
        let (sent, body) = message_body(&field, message)?;
        told.push((sent.unwrap_or(created), Entry::MessageAppended(body)));
    }
    let shown = told.len() as u64;
    // Relationships stay among Amp's own fields too: those that were made elsewhere have no entry here.
    if let Some(relationships) = fields.get("relationships") {
        for (at, relationship) in as_list("relationships", relationships)?.iter().enumerate() {
            let made = relation(&format!("relationships[{at}]"), relationship, shown)?;
            told.extend(made.map(|(time, entry)| (time.unwrap_or(created), entry)));
        }
    }
    for (at, item) in queued.into_iter().enumerate() {
        let message = queued_message(&format!("queuedMessages[{at}]"), item)?;
        told.push((created, Entry::MessageQueued(MessageQueued { message })));
    }
    // Anchors are positions, which are known only once it is known where the thread begins.
    let count = told.len() as u64;
    let kept_version = (version < count).then_some(version);
    let first = Position(version.saturating_sub(count) + 1);
    for (_, entry) in &mut told {
        match entry {
            Entry::Forked(Forked { anchor: Some(anchor), .. })
            | Entry::Related(Related { anchor: Some(anchor), .. }) => {
                *anchor = Position(first.0 + anchor.0);
            }
            _ => {}
        }
    }
    let record = record(fields, kept_version)?;
    Ok(items(id, created, first, record, told, caller, json))
}

/// The record: what both sides have, and Amp's other fields under `metadata.amp`.
fn record(mut fields: Map<String, Value>, kept_version: Option<u64>) -> Result<Record, Invalid> {
    let mut record = Map::new();
    // What says nothing here stays among Amp's fields, so that it goes back as it came: false, null, a draft of parts.
    let says = |field: &str, value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        other => field != "draft" || other.is_string(),
    };
    let names = SAME.map(|field| (field, field)).into_iter();
    for (amp, ours) in
        names.chain([("originThreadID", "originThreadId"), ("mainThreadID", "mainThreadId"), ("env", "env")])
    {
        if fields.get(amp).is_some_and(|value| says(amp, value))
            && let Some(value) = fields.remove(amp)
        {
            record.insert(ours.to_owned(), value);
        }
    }
    if let Some(main) = record.get("mainThreadId").cloned() {
        record.insert("parentId".to_owned(), main);
    }
    let skills = list(&mut fields, "activatedSkills")?;
    let mut metadata = match fields.remove("metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        Some(_) => return Err(Invalid::body("metadata", "must be a JSON object")),
    };
    if let Some(version) = kept_version {
        fields.insert("v".to_owned(), version.into());
    }
    metadata.insert(KEPT.to_owned(), Value::Object(fields));
    record.insert("metadata".to_owned(), Value::Object(metadata));
    let json = Json::from_value("thread", &record)?;
    let mut record = Record::decode(json.as_str())?;
    for (at, skill) in skills.into_iter().enumerate() {
        let field = format!("activatedSkills[{at}]");
        let skill: Skill =
            Json::from_value(&field, &skill)?.read().map_err(|error| Invalid::body(field, error.to_string()))?;
        let skill = skill.checked()?;
        if !record.activated_skills.iter().any(|active| active.name == skill.name) {
            record.activated_skills.push(skill);
        }
    }
    record.checked()
}

/// A message, and when it was sent if that is known.
fn message_body(field: &str, message: Value) -> Result<(Option<Timestamp>, MessageBody), Invalid> {
    let Value::Object(mut fields) = message else { return Err(Invalid::body(field, "must be a JSON object")) };
    let within = |invalid: Invalid| Invalid { field: format!("{field}.{}", invalid.field), ..invalid };
    let role = text(&mut fields, "role").map_err(within)?;
    let role = role.ok_or_else(|| Invalid::body(format!("{field}.role"), "is missing"))?;
    let role: Role = role.parse().map_err(within)?;
    let metadata = match fields.remove("metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        Some(_) => return Err(Invalid::body(format!("{field}.metadata"), "must be a JSON object")),
    };
    let content = fields.remove("content").unwrap_or(Value::String(String::new()));
    let sent = fields.get("meta").and_then(|meta| meta.get("sentAt")).and_then(Value::as_i64).map(millis);
    let (said, original) = content_of(field, content)?;
    let mut body = MessageBody::with_content(role, said);
    fields.extend(original.map(|original| ("content".to_owned(), original)));
    body.metadata = metadata_with(metadata, fields)?;
    Ok((sent, body.checked().map_err(within)?))
}

/// Metadata with Amp's other fields in their place, which is there even if they are none: it says where the message
/// came from.
fn metadata_with(mut metadata: Map<String, Value>, kept: Map<String, Value>) -> Result<Option<Json>, Invalid> {
    metadata.insert(KEPT.to_owned(), Value::Object(kept));
    Json::from_value("metadata", &metadata).map(Some)
}

/// Content as it is if it can stay so; else what of it can be said here, and the original.
fn content_of(field: &str, content: Value) -> Result<(Content, Option<Value>), Invalid> {
    let field = format!("{field}.content");
    if let Ok(same) = Content::from_json(Json::from_value(&field, &content)?) {
        return Ok((same, None));
    }
    let Value::Array(parts) = &content else {
        return Err(Invalid::body(field, "must be a string or an array of parts"));
    };
    let parts: Vec<Part> = parts.iter().filter_map(part).collect();
    Ok((Content::parts(&parts)?, Some(content)))
}

/// The part in our words; none if there are none for it.
fn part(part: &Value) -> Option<Part> {
    let text = |names: &[&str]| names.iter().find_map(|name| part.get(name)?.as_str()).map(str::to_owned);
    match part.get("type")?.as_str()? {
        "text" => Some(Part::Text { text: text(&["text"])? }),
        "thinking" => Some(Part::thinking(text(&["thinking", "text"])?)),
        "tool_use" => Some(Part::ToolUse {
            id: text(&["id"])?,
            name: text(&["name"])?,
            input: part.get("input").cloned().unwrap_or_else(|| Value::Object(Map::new())),
        }),
        "tool_result" => {
            let run = part.get("run");
            let status = run.and_then(|run| run.get("status")).and_then(Value::as_str);
            let said = run.and_then(|run| run.get("result").or_else(|| run.get("error")));
            let said = said.or_else(|| part.get("content")).or_else(|| part.get("result"));
            let content = match said {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(said)) => said.clone(),
                Some(other) => other.to_string(),
            };
            let flagged = ["isError", "is_error"].iter().any(|name| part.get(name) == Some(&Value::Bool(true)));
            Some(Part::ToolResult {
                tool_use_id: text(&["toolUseId", "toolUseID", "tool_use_id"])?,
                content: Value::String(content),
                is_error: flagged || status.is_some_and(|status| !["done", "in-progress", "queued"].contains(&status)),
            })
        }
        _ => None,
    }
}

/// A message that waits: its id and its number stay among Amp's own fields.
fn queued_message(field: &str, item: Value) -> Result<MessageBody, Invalid> {
    let Value::Object(mut fields) = item else { return Err(Invalid::body(field, "must be a JSON object")) };
    let message = fields.remove("queuedMessage");
    let message = message.ok_or_else(|| Invalid::body(format!("{field}.queuedMessage"), "is missing"))?;
    let (_, mut body) = message_body(&format!("{field}.queuedMessage"), message)?;
    let mut metadata = match body.metadata.as_ref().map(Json::to_value) {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    let mut kept = match metadata.remove(KEPT) {
        Some(Value::Object(kept)) => kept,
        _ => Map::new(),
    };
    kept.insert("queued".to_owned(), Value::Object(fields));
    body.metadata = metadata_with(metadata, kept)?;
    Ok(body)
}

/// The entry of a relationship that was made on this thread; its anchor counts messages from the first.
fn relation(field: &str, value: &Value, shown: u64) -> Result<Option<(Option<Timestamp>, Entry)>, Invalid> {
    let Value::Object(mut fields) = value.clone() else { return Err(Invalid::body(field, "must be a JSON object")) };
    let within = |invalid: Invalid| Invalid { field: format!("{field}.{}", invalid.field), ..invalid };
    let missing = |name: &str| Invalid::body(format!("{field}.{name}"), "is missing");
    let other = text(&mut fields, "threadID").map_err(within)?.ok_or_else(|| missing("threadID"))?;
    let child: ThreadId = other.parse().map_err(within)?;
    let kind = text(&mut fields, "type").map_err(within)?.ok_or_else(|| missing("type"))?;
    let role = text(&mut fields, "role").map_err(within)?.ok_or_else(|| missing("role"))?;
    let index = number(&mut fields, "messageIndex").map_err(within)?;
    let created = time(&mut fields, "createdAt").map_err(within)?;
    let comment = text(&mut fields, "comment").map_err(within)?;
    let kind = match kind.as_str() {
        "fork" => RelationKind::Fork,
        "handoff" => RelationKind::Handoff,
        "mention" => RelationKind::Mention,
        other => {
            return Err(Invalid::body(format!("{field}.type"), format!("'{other}' is not fork, handoff or mention")));
        }
    };
    match role.as_str() {
        "parent" => {}
        "child" => return Ok(None),
        other => return Err(Invalid::body(format!("{field}.role"), format!("'{other}' is neither parent nor child"))),
    }
    let index = index.filter(|index| *index < shown);
    let anchor = index.map(Position);
    let entry = match kind {
        RelationKind::Fork => Entry::Forked(Forked { child, index, anchor }),
        RelationKind::Handoff | RelationKind::Mention | RelationKind::Spawn | RelationKind::Reference => {
            Entry::Related(Related { child, kind, index, anchor, comment })
        }
    };
    Ok(Some((created, entry)))
}

fn items(
    id: ThreadId,
    created: Timestamp,
    first: Position,
    record: Record,
    told: Vec<(Timestamp, Entry)>,
    caller: &Caller,
    json: &Json,
) -> Vec<ExportItem> {
    let account = caller.account.clone();
    // From what is imported, so that the same thread is the same segment, and another state of it is another one.
    let hash = BlobId::of(format!("{id}\n{account:?}\n{}", json.as_str()).as_bytes());
    let mut bits = [0; 8];
    bits.copy_from_slice(&hash.as_bytes()[..8]);
    let segment = SegmentId::from_chance(u64::from_le_bytes(bits));
    let (link, birth) = (None, Tally::default());
    let row = Segment { id: segment, thread: id, first, link, birth, created };
    let origin = Some((account.clone(), record.clone()));
    let mut items = vec![ExportItem::Segment(SegmentRow { segment: row, origin })];
    let (mut time, mut tally, mut position) = (created, birth, first);
    for (at, entry) in told {
        // Times never go back within a thread.
        time = time.max(at);
        let mut new = NewEntry::new(&entry);
        tally = tally.after(&new.derived, position, time, new.bytes);
        if let Some((blob, bytes)) = new.spill(INLINE_BYTES_MAX) {
            items.push(ExportItem::Blob(blob, bytes));
        }
        items.push(entry_item(segment, position, time, &account, author(&entry, caller), tally, new.kind, new.body));
        position = position.next();
    }
    let version = position.previous();
    items.push(ExportItem::Thread { id, account, version, segment, era: 0, fence: 0, record });
    items
}

#[expect(clippy::too_many_arguments, reason = "they are the columns of an entry")]
fn entry_item(
    segment: SegmentId,
    position: Position,
    time: Timestamp,
    account: &Account,
    actor: Actor,
    tally: Tally,
    kind: Kind,
    body: Body,
) -> ExportItem {
    let (format, account) = (Kind::FORMAT, account.clone());
    ExportItem::Entry { segment, position, kind, format, time, account, actor, cause: None, tally, body }
}

/// What the assistant said, an agent said.
fn author(entry: &Entry, caller: &Caller) -> Actor {
    match entry {
        Entry::MessageAppended(body) if body.role == Role::Assistant => {
            Actor { kind: ActorKind::Agent, name: "amp".to_owned() }
        }
        _ => caller.actor.clone(),
    }
}

fn text(fields: &mut Map<String, Value>, field: &str) -> Result<Option<String>, Invalid> {
    match fields.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Invalid::body(field, "must be a string")),
    }
}

fn number(fields: &mut Map<String, Value>, field: &str) -> Result<Option<u64>, Invalid> {
    match fields.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) if number < 1 << 48 => Ok(Some(number)),
            _ => Err(Invalid::body(field, "must be a whole number from 0")),
        },
    }
}

/// Milliseconds since the epoch.
fn time(fields: &mut Map<String, Value>, field: &str) -> Result<Option<Timestamp>, Invalid> {
    match fields.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_i64().or_else(|| value.as_f64().map(|number| number as i64)) {
            Some(number) => Ok(Some(millis(number))),
            None => Err(Invalid::body(field, "must be a number of milliseconds since 1970")),
        },
    }
}

fn millis(number: i64) -> Timestamp {
    Timestamp::from_micros(number.saturating_mul(1_000))
}

/// A list; one that is empty stays where it is.
fn list(fields: &mut Map<String, Value>, field: &str) -> Result<Vec<Value>, Invalid> {
    let Some(value) = fields.get(field) else { return Ok(Vec::new()) };
    let items = as_list(field, value)?.to_vec();
    if !items.is_empty() {
        fields.remove(field);
    }
    Ok(items)
}

fn as_list<'a>(field: &str, value: &'a Value) -> Result<&'a [Value], Invalid> {
    match value {
        Value::Array(list) => Ok(list),
        Value::Null => Ok(&[]),
        _ => Err(Invalid::body(field, "must be an array")),
    }
}
