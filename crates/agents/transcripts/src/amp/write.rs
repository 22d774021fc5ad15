//! From a thread to Amp's JSON.

use serde_json::{Map, Value, json};
use threadkeep_calls::{Queued, Relationship, RelationshipRole};
use threadkeep_model::{Damaged, Json, Message, MessageBody, Record, RelationKind, Role, Thread, Timestamp};

use super::{KEPT, MESSAGE_ID, NEXT_MESSAGE_ID};

/// What an export in Amp's JSON is made from.
#[derive(Debug, Clone, Copy)]
pub struct AmpSource<'a> {
    /// The thread whose record is written.
    pub thread: &'a Thread,
    /// All messages it shows, silent ones too, oldest first.
    pub messages: &'a [Message],
    /// Its relations that hold.
    pub relationships: &'a [Relationship],
    /// The messages that wait.
    pub queued: &'a [Queued],
}

/// A thread in Amp's JSON.
///
/// # Errors
/// If a body on disk is damaged.
pub fn to_amp(source: &AmpSource<'_>) -> Result<Value, Damaged> {
    let AmpSource { thread, messages, relationships, queued } = *source;
    let record = &thread.record;
    let (metadata, kept) = taken_apart(record.metadata.as_ref());
    let mut kept = kept.unwrap_or_default();
    let mut amp = Map::new();
    amp.insert("v".into(), thread.head.version.0.into());
    amp.insert("id".into(), thread.id.to_string().into());
    amp.insert("created".into(), millis(thread.created).into());
    let (shown, imported, mut next) = numbered(messages)?;
    let waiting = queued.iter().filter(|item| taken_apart(item.queued_message.metadata.as_ref()).1.is_some()).count();
    let (relations, made) = all_relations(relationships, &kept);
    let told = imported + made + waiting;
    if let Some(version) = kept.remove("v").and_then(|version| version.as_u64()) {
        // It was imported at a version below its count of entries; from there it counted on.
        amp.insert("v".into(), (version + thread.head.version.0.saturating_sub(told as u64)).into());
    }
    amp.insert("messages".into(), Value::Array(shown));
    for (field, value) in own_fields(record) {
        amp.insert(field.into(), value);
    }
    if kept.remove("relationships").is_some() || !relations.is_empty() {
        amp.insert("relationships".into(), Value::Array(relations));
    }
    if !queued.is_empty() {
        let items = queued.iter().map(|item| queued_item(item, &mut next)).collect();
        amp.insert("queuedMessages".into(), Value::Array(items));
    }
    let kept_next = kept.remove(NEXT_MESSAGE_ID);
    // Who did not tell it is not told either, unless there is something new to count.
    if kept_next.is_some() || messages.len() > imported || queued.len() > waiting {
        let kept_next = kept_next.as_ref().and_then(Value::as_u64).unwrap_or_default();
        amp.insert(NEXT_MESSAGE_ID.into(), kept_next.max(next).into());
    }
    for (field, value) in kept {
        amp.entry(field).or_insert(value);
    }
    if !metadata.is_empty() {
        amp.insert("metadata".into(), Value::Object(metadata));
    }
    Ok(Value::Object(amp))
}

/// The fields that both sides have and that are set.
fn own_fields(record: &Record) -> Vec<(&'static str, Value)> {
    let mut fields = Vec::new();
    let mut set = |field, value: Option<Value>| fields.extend(value.map(|value| (field, value)));
    set("title", record.title.clone().map(Value::from));
    set("archived", record.archived.then_some(Value::Bool(true)));
    set("draft", record.draft.clone().map(Value::from));
    set("autoSubmitDraft", record.auto_submit_draft.then_some(Value::Bool(true)));
    set("agentMode", record.agent_mode.clone().map(Value::from));
    set("maxTokens", record.max_tokens.map(Value::from));
    let skills = record.activated_skills.iter().map(|skill| {
        let mut activated = Map::from_iter([("name".to_owned(), Value::from(skill.name.as_str()))]);
        activated.extend(skill.arguments.as_ref().map(|arguments| ("arguments".to_owned(), arguments.to_value())));
        Value::Object(activated)
    });
    let skills: Vec<Value> = skills.collect();
    set("activatedSkills", (!skills.is_empty()).then_some(Value::Array(skills)));
    set("originThreadID", record.origin_thread_id.map(|id| id.to_string().into()));
    set("forkPointIndex", record.fork_point_index.map(Value::from));
    set("mainThreadID", record.main_thread_id.map(|id| id.to_string().into()));
    set("env", record.env.as_ref().map(Json::to_value));
    fields
}

/// The messages with their numbers, how many of them came from Amp, and the number the next one gets. Numbers that Amp
/// gave stay; later ones count on.
fn numbered(messages: &[Message]) -> Result<(Vec<Value>, usize, u64), Damaged> {
    let mut order: Vec<usize> = (0..messages.len()).collect();
    order.sort_by_key(|at| messages[*at].number);
    let mut shown = vec![Value::Null; messages.len()];
    let (mut imported, mut next) = (0, 0);
    for at in order {
        let message = &messages[at];
        let body = message.body()?;
        let is_edited = message.version != message.id.position;
        let (mut fields, came, given) = message_fields(body, is_edited);
        imported += usize::from(came);
        let number = given.unwrap_or(if next == 0 { message.number } else { next });
        if given.is_some() || !came {
            fields.insert(MESSAGE_ID.into(), number.into());
        }
        next = next.max(number + 1);
        shown[at] = Value::Object(fields);
    }
    Ok((shown, imported, next))
}

/// A message in Amp's words, whether it came from Amp, and the number that Amp gave it.
fn message_fields(body: MessageBody, is_edited: bool) -> (Map<String, Value>, bool, Option<u64>) {
    let (metadata, kept) = taken_apart(body.metadata.as_ref());
    let came = kept.is_some();
    let mut kept = kept.unwrap_or_default();
    let number = kept.remove(MESSAGE_ID).and_then(|number| number.as_u64());
    let original = kept.remove("content").filter(|_| !is_edited);
    let mut fields = Map::new();
    // Amp has no role for tools: results are said by the user.
    let role = if body.role == Role::Tool && original.is_none() { Role::User } else { body.role };
    fields.insert("role".into(), role.as_str().into());
    fields.insert("content".into(), original.unwrap_or_else(|| in_amps_words(body.content.as_json().to_value())));
    for (field, value) in kept {
        fields.entry(field).or_insert(value);
    }
    if !metadata.is_empty() {
        fields.insert("metadata".into(), Value::Object(metadata));
    }
    (fields, came, number)
}

/// Content that was not written by Amp, with Amp's names for reasoning and results.
fn in_amps_words(content: Value) -> Value {
    let Value::Array(parts) = content else { return content };
    let word = |part: Value| match part.get("type").and_then(Value::as_str) {
        Some("thinking") => json!({ "type": "thinking", "thinking": part["text"] }),
        Some("tool_result") => {
            let run = match part["isError"] == true {
                true => json!({ "status": "error", "error": part["content"] }),
                false => json!({ "status": "done", "result": part["content"] }),
            };
            json!({ "type": "tool_result", "toolUseID": part["toolUseId"], "run": run })
        }
        _ => part,
    };
    Value::Array(parts.into_iter().map(word).collect())
}

fn queued_item(queued: &Queued, next: &mut u64) -> Value {
    let (mut message, came, given) = message_fields(queued.queued_message.clone(), false);
    let number = given.unwrap_or((*next).max(1));
    *next = (*next).max(number + 1);
    let item = message.remove("queued");
    if given.is_some() || !came {
        message.insert(MESSAGE_ID.into(), number.into());
    }
    let mut fields = match item {
        Some(Value::Object(fields)) => fields,
        _ => Map::from_iter([("id".to_owned(), Value::from(queued.id.to_string()))]),
    };
    fields.insert("queuedMessage".into(), Value::Object(message));
    Value::Object(fields)
}

/// The relations: those that hold here, in Amp's own words where it told of them, and those it told of that are made
/// elsewhere. Beside them, how many entries of the import they account for.
fn all_relations(relationships: &[Relationship], kept: &Map<String, Value>) -> (Vec<Value>, usize) {
    let told: &[Value] = kept.get("relationships").and_then(Value::as_array).map_or(&[], Vec::as_slice);
    let mut all: Vec<Value> = told.to_vec();
    // Amp knows no references.
    for relationship in relationships.iter().filter(|it| it.kind != RelationKind::Reference) {
        let ours = relation(relationship);
        let same = |other: &Value| ["threadID", "type", "role"].iter().all(|field| other.get(field) == ours.get(field));
        if !told.iter().any(same) {
            all.push(ours);
        }
    }
    let entries = told.iter().filter(|told| told.get("role") == Some(&Value::from("parent"))).count();
    (all, entries)
}

fn relation(relationship: &Relationship) -> Value {
    let role = match relationship.role {
        RelationshipRole::Parent => "parent",
        RelationshipRole::Child => "child",
    };
    let mut fields = Map::new();
    fields.insert("threadID".into(), relationship.thread_id.to_string().into());
    fields.insert("type".into(), relationship.kind.as_str().into());
    fields.insert("role".into(), role.into());
    fields.extend(relationship.message_index.map(|index| ("messageIndex".to_owned(), json!(index))));
    fields.insert("createdAt".into(), millis(relationship.created_at).into());
    fields.extend(relationship.comment.clone().map(|comment| ("comment".to_owned(), comment.into())));
    Value::Object(fields)
}

/// Metadata without Amp's fields, and these if it came from there.
fn taken_apart(metadata: Option<&Json>) -> (Map<String, Value>, Option<Map<String, Value>>) {
    let mut metadata = match metadata.map(Json::to_value) {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    match metadata.remove(KEPT) {
        Some(Value::Object(kept)) => (metadata, Some(kept)),
        Some(other) => {
            // Somebody else's word for something else.
            metadata.insert(KEPT.to_owned(), other);
            (metadata, None)
        }
        None => (metadata, None),
    }
}

fn millis(time: Timestamp) -> i64 {
    time.as_micros().div_euclid(1_000)
}
