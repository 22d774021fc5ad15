//! What a session has beside its messages: the metadata of its thread, and values for records without a message.

use serde_json::{Map, Value, json};
use threadkeep_model::{Invalid, Json, ValueKey};

use super::body::{KEPT, shallow};
use super::family::{RECORDS, ThreadMark, sum_of};
use crate::shape::Session;

/// Most bytes of the session's own fields in the metadata of its thread; more are kept with the records.
pub(crate) const RECORD_RAW_BYTES_MAX: usize = 128 << 10;
/// Bytes of records in one value.
const VALUE_BYTES: usize = 256 << 10;
/// A record with more bytes is kept in pieces.
const RECORD_BYTES_MAX: usize = 512 << 10;
/// How deep a record may nest.
const DEPTH_MAX: usize = 100;

/// The metadata of a session's thread, and its workspace.
pub(crate) fn metadata_of(session: &Session, is_main: bool) -> Result<(Json, Option<Json>), Invalid> {
    let raw = Value::Object(session.raw.clone());
    let is_small = raw.to_string().len() <= RECORD_RAW_BYTES_MAX;
    let raw = match shallow(&raw, DEPTH_MAX) {
        Value::Object(raw) if is_main && is_small => raw,
        Value::String(text) if is_main && is_small => Map::from_iter([("text".to_owned(), Value::String(text))]),
        _ => Map::new(),
    };
    let mark = ThreadMark {
        source: session.source,
        session: session.id.clone(),
        main: is_main,
        title: session.title.clone().filter(|_| is_main),
        folder: session.folder.clone(),
        git_branch: session.git_branch.clone(),
        usage: session.usage.filter(|_| is_main),
        raw,
    };
    let tags: Vec<&str> = std::iter::once(session.source.as_str())
        .chain(session.tags.iter().map(String::as_str).filter(|tag| *tag != "archived"))
        .collect();
    let metadata = Json::from_value("metadata", &json!({ KEPT: mark, "tags": tags }))?;
    let env = session.folder.as_ref().map(|folder| {
        let name = folder.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
        let mut tree = json!({ "displayName": name, "uri": format!("file://{folder}") });
        if let Some(branch) = &session.git_branch {
            tree["repository"] = json!({ "type": "git", "ref": format!("refs/heads/{branch}") });
        }
        Json::from_value("env", &json!({ "initial": { "trees": [tree] } }))
    });
    Ok((metadata, env.transpose()?))
}

/// Records as values: lists of them, each under a hash of it. One that is too large becomes pieces of text.
pub(crate) fn values_of(records: &[Value]) -> Result<Vec<(ValueKey, Json)>, Invalid> {
    let mut values = Vec::new();
    let (mut list, mut bytes) = (Vec::new(), 0);
    let key = |name: &str| format!("{RECORDS}{name}").parse::<ValueKey>();
    let put = |list: &mut Vec<Value>, values: &mut Vec<(ValueKey, Json)>| -> Result<(), Invalid> {
        if list.is_empty() {
            return Ok(());
        }
        let value = Json::from_value("records", list)?;
        values.push((key(&sum_of(&Value::Array(std::mem::take(list)))[..])?, value));
        Ok(())
    };
    for record in records {
        let record = shallow(record, DEPTH_MAX);
        let text = record.to_string();
        if text.len() > RECORD_BYTES_MAX {
            let sum = sum_of(&record);
            let chars: Vec<char> = text.chars().collect();
            let pieces: Vec<String> = chars.chunks(VALUE_BYTES / 2).map(|some| some.iter().collect()).collect();
            for (number, piece) in pieces.iter().enumerate() {
                let value = json!({ "sum": sum, "piece": number, "of": pieces.len(), "text": piece });
                values.push((key(&format!("{sum}.{number}"))?, Json::from_value("records", &value)?));
            }
            continue;
        }
        bytes += text.len();
        list.push(record);
        if bytes >= VALUE_BYTES {
            put(&mut list, &mut values)?;
            bytes = 0;
        }
    }
    put(&mut list, &mut values)?;
    Ok(values)
}
