//! Subscriptions: a resource that changed is told, from the log of its thread.

use serde_json::Value;
use threadkeep_calls::Problem;
use threadkeep_client::{After, Client, News};

use crate::resources::{Named, Part};

/// Resources that one subscription may watch.
pub(crate) const WATCHED_MAX: usize = 100;

/// Whether `uri` names a resource that can be watched.
pub(crate) fn is_watchable(uri: &str) -> bool {
    uri.parse::<Named>().is_ok()
}

/// Waits for changes of one resource.
pub(crate) struct Watch {
    stream: threadkeep_client::Stream,
    part: Part,
}

impl Watch {
    /// Watches from now on. The connection is open when this returns.
    pub(crate) async fn open(client: &Client, uri: &str) -> Result<Self, Problem> {
        let Named { thread, part } = uri.parse()?;
        let mut stream = client.stream(thread, After::Latest).await?;
        stream.open().await?;
        Ok(Self { stream, part })
    }

    /// Waits for the next change; false once the thread is gone.
    pub(crate) async fn changed(&mut self) -> Result<bool, Problem> {
        loop {
            let entry = match self.stream.next().await? {
                None => return Ok(false),
                Some(News::Entry(entry)) => entry,
                Some(
                    News::Emitted(_)
                    | News::Missed(_)
                    | News::Created { .. }
                    | News::Deleted { .. }
                    | News::Other { .. },
                ) => {
                    continue;
                }
            };
            let is_it = match serde_json::to_value(&entry) {
                Ok(entry) => touches(&self.part, &entry),
                Err(_) => true,
            };
            if is_it {
                return Ok(true);
            }
        }
    }
}

/// Whether an entry of the log can change a part of its thread.
fn touches(part: &Part, entry: &Value) -> bool {
    let kind = entry["kind"].as_str().unwrap_or_default();
    // These name no messages and no files, and change many.
    let is_of_all = matches!(kind, "rolled_back" | "truncated");
    match part {
        Part::Whole => true,
        Part::Message(message) => is_of_all || names(entry, &message.to_string()),
        Part::File(path) => is_of_all || (kind == "files_changed" && names(&entry["data"], path.as_str())),
    }
}

/// Whether a text is anywhere in a value, as a whole.
fn names(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found == text,
        Value::Array(items) => items.iter().any(|item| names(item, text)),
        Value::Object(fields) => fields.values().any(|field| names(field, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_part_changes_with_its_own_entries_and_with_those_about_all() {
        let file = Part::File("/a".parse().expect("a path"));
        let message = Part::Message("M-5bf81087dea33e672".parse().expect("an id"));
        let written =
            |path: &str| json!({ "kind": "files_changed", "data": { "changes": [{ "written": { "path": path } }] } });
        let said = |id: &str| json!({ "kind": "message_appended", "messageId": id, "data": { "content": "/a" } });
        assert!(touches(&file, &written("/a")));
        assert!(!touches(&file, &written("/ab")) && !touches(&file, &said("M-5bf81087dea33e672")));
        assert!(touches(&message, &said("M-5bf81087dea33e672")));
        assert!(!touches(&message, &said("M-5bf81087dea33e6723")) && !touches(&message, &written("/a")));
        for part in [file, message, Part::Whole] {
            assert!(touches(&part, &json!({ "kind": "rolled_back", "data": { "to": 1 } })));
        }
    }
}
