//! The record of a thread: its description beside the conversation. A rollback does not rewind it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json::is_default;
use crate::{
    AgentState, Code, EnvName, Invalid, Json, Lifecycle, Run, Skill, ThreadId, Timestamp, Variable, Version,
    strip_nulls,
};

/// Who may read a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Only the account that owns it.
    #[default]
    Private,
    /// Everyone, also without an account.
    Public,
}

/// The description of a thread. Every field is optional or has a default, and only fields that differ from it are stored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Record {
    /// A title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether the main list hides it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// The text of a message that is not sent yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
    /// Whether the draft is sent by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auto_submit_draft: bool,
    /// The mode the agent works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// The limit of output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The agent it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The task it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The project it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The user it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The purpose of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Its activity, in the words of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// A free-form JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The workspace it began in: `{"initial":{"trees":[…],"tags":[…]}}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<Json>,
    /// Who may read it: its account alone, or everyone.
    #[serde(skip_serializing_if = "is_default")]
    pub visibility: Visibility,
    /// The state of its lifecycle.
    #[serde(skip_serializing_if = "is_default")]
    pub lifecycle: Lifecycle,
    /// When the thread was terminated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminated: Option<Timestamp>,
    /// The thread it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_thread_id: Option<ThreadId>,
    /// The index of the last message it shared at the fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_point_index: Option<u64>,
    /// The main thread, for a subagent's thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main_thread_id: Option<ThreadId>,
    /// The thread it was spawned from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<ThreadId>,
    /// The version at its creation, if it has a parent: entries up to there were given to it, and later ones are its own.
    /// Threads from before this field was added do not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub born_at: Option<Version>,
    /// The skills that are active, in the order they were activated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub activated_skills: Vec<Skill>,
    /// The run that is open. Its name on disk is older than the word.
    #[serde(rename = "execution", skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// The variables that are set on it, without their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<EnvName, Variable>,
}

/// Fields of a record by their names on the wire, with their new values; null clears one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldChanges(pub BTreeMap<String, Json>);

impl Record {
    /// Most bytes a record may have, as JSON.
    pub const BYTES_MAX: usize = 1 << 20;

    /// The fields a caller may set or clear directly; all others follow from operations of their own.
    pub const UPDATABLE: [&'static str; 14] = [
        "title",
        "archived",
        "draft",
        "autoSubmitDraft",
        "agentMode",
        "maxTokens",
        "agentId",
        "taskId",
        "projectId",
        "userId",
        "intent",
        "metadata",
        "env",
        "visibility",
    ];

    /// The record as JSON text.
    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("a record has text keys and plain values")
    }

    /// Reads a record from JSON and checks it whole.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn decode(json: &str) -> Result<Self, Invalid> {
        if json.len() > Self::BYTES_MAX {
            let rule = format!("a record has at most {} bytes of JSON", Self::BYTES_MAX);
            return Err(Invalid::new(Code::TooLarge, "thread", rule));
        }
        let record: Self = serde_json::from_str(json).map_err(|error| Invalid::body("thread", error.to_string()))?;
        record.checked()
    }

    /// Checks the rules that the types do not already prove, and strips null bytes.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn checked(mut self) -> Result<Self, Invalid> {
        for (field, json) in [("metadata", &self.metadata), ("env", &self.env)] {
            if json.as_ref().is_some_and(|json| !json.is_object()) {
                return Err(Invalid::body(field, "must be a JSON object"));
            }
        }
        for text in [
            &mut self.title,
            &mut self.draft,
            &mut self.agent_mode,
            &mut self.agent_id,
            &mut self.task_id,
            &mut self.project_id,
            &mut self.user_id,
            &mut self.intent,
            &mut self.status,
        ] {
            *text = text.take().map(strip_nulls);
        }
        Ok(self)
    }

    /// The record after `changes`: a shallow merge, arrays and objects replaced whole, null clears.
    ///
    /// # Errors
    /// If the result is not a valid record; nothing has changed then.
    pub fn merge(&self, changes: &FieldChanges) -> Result<Self, Invalid> {
        let mut fields: BTreeMap<String, Json> =
            serde_json::from_str(&self.encode()).expect("a record is a JSON object");
        for (field, value) in &changes.0 {
            if value.as_str() == "null" {
                fields.remove(field);
            } else {
                fields.insert(field.clone(), value.clone());
            }
        }
        let json = |fields: &BTreeMap<String, Json>| serde_json::to_string(fields).expect("a map of JSON values");
        Self::decode(&json(&fields)).map_err(|whole| {
            // The error names the change that is wrong by itself, if there is one.
            let alone = |(field, value): (&String, &Json)| {
                let value_alone = json(&BTreeMap::from([(field.clone(), value.clone())]));
                let error = serde_json::from_str::<Self>(&value_alone).err()?;
                // The text is not one that the caller sent, so its line and column would mislead.
                let said = error.to_string();
                let said = said.split(" at line ").next().unwrap_or_default().to_owned();
                Some(Invalid::body(field.clone(), said))
            };
            changes.0.iter().filter(|(_, value)| value.as_str() != "null").find_map(alone).unwrap_or(whole)
        })
    }

    /// The agent it is assigned to, and the skills that are active.
    pub fn state(&self) -> AgentState {
        AgentState { agent_id: self.agent_id.clone(), skills: self.activated_skills.clone() }
    }

    /// The record with the agent and the skills of `state`.
    #[must_use]
    pub fn with_state(self, state: AgentState) -> Self {
        Self { agent_id: state.agent_id, activated_skills: state.skills, ..self }
    }

    /// The changes that turn this record into `after`.
    pub fn changes_to(&self, after: &Self) -> FieldChanges {
        let fields = |record: &Self| -> BTreeMap<String, Json> {
            serde_json::from_str(&record.encode()).expect("a record is a JSON object")
        };
        let (before, after) = (fields(self), fields(after));
        let null = || Json::parse("field", "null").expect("null is JSON");
        let cleared = before.keys().filter(|field| !after.contains_key(*field)).map(|field| (field.clone(), null()));
        let set = after.iter().filter(|(field, value)| before.get(*field) != Some(value));
        FieldChanges(cleared.chain(set.map(|(field, value)| (field.clone(), value.clone()))).collect())
    }
}

impl FieldChanges {
    /// Refuses fields that a caller may not set directly.
    ///
    /// # Errors
    /// Names the first such field.
    pub fn checked(self) -> Result<Self, Invalid> {
        match self.0.keys().find(|field| !Record::UPDATABLE.contains(&field.as_str())) {
            None => Ok(self),
            Some(field) => {
                let rule = format!("cannot be set directly; these can: {}", Record::UPDATABLE.join(", "));
                Err(Invalid::body(field.clone(), rule))
            }
        }
    }
}

/// The title of a fork: `Forked: X`, then `Forked(2): X`, and so on.
pub fn fork_title(original: Option<&str>) -> String {
    let title = original.filter(|title| !title.is_empty()).unwrap_or("Untitled");
    match forked(title) {
        Some((count, rest)) => format!("Forked({}): {rest}", count.saturating_add(1)),
        None => format!("Forked: {title}"),
    }
}

/// The title without the prefix of [`fork_title`]; none if it has no such prefix.
pub fn unforked(title: &str) -> Option<&str> {
    forked(title).map(|(_, rest)| rest)
}

/// How often a title was forked, and the original title.
fn forked(title: &str) -> Option<(u64, &str)> {
    let rest = title.strip_prefix("Forked")?;
    let (count, rest) = match rest.strip_prefix('(') {
        Some(rest) => {
            let (digits, rest) = rest.split_once(')')?;
            let plain = digits.bytes().all(|b| b.is_ascii_digit());
            (digits.parse::<u64>().ok().filter(|_| plain)?, rest)
        }
        None => (1, rest),
    };
    rest.strip_prefix(": ").filter(|rest| !rest.is_empty()).map(|rest| (count, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(json: &str) -> FieldChanges {
        serde_json::from_str(json).expect("changes")
    }

    #[test]
    fn fork_titles_count_up() {
        for (original, title) in [
            (None, "Forked: Untitled"),
            (Some(""), "Forked: Untitled"),
            (Some("X"), "Forked: X"),
            (Some("Forked: X"), "Forked(2): X"),
            (Some("Forked(2): X"), "Forked(3): X"),
            (Some("Forked(x): X"), "Forked: Forked(x): X"),
            (Some("Forked(+2): X"), "Forked: Forked(+2): X"),
            (Some("Forked: "), "Forked: Forked: "),
        ] {
            assert_eq!(fork_title(original), title);
        }
    }

    #[test]
    fn a_merge_is_shallow_and_null_clears() {
        let record = Record { title: Some("a".into()), draft: Some("d".into()), ..Record::default() };
        let merged = record.merge(&changes(r#"{"title":"b","draft":null,"metadata":{"k":[1]}}"#)).expect("merged");
        assert_eq!(merged.title.as_deref(), Some("b"));
        assert_eq!(merged.draft, None);
        let again = merged.merge(&changes(r#"{"metadata":{"l":2}}"#)).expect("merged");
        assert_eq!(again.metadata.expect("metadata").as_str(), r#"{"l":2}"#);
    }

    #[test]
    fn an_invalid_merge_names_the_field() {
        let record = Record::default();
        for json in [r#"{"metadata":3}"#, r#"{"maxTokens":-1}"#, r#"{"archived":"yes"}"#, r#"{"colour":"red"}"#] {
            record.merge(&changes(json)).expect_err(json);
        }
        let error = changes(r#"{"lifecycle":"archived"}"#).checked().expect_err("not updatable");
        assert_eq!(error.field, "lifecycle");
    }

    #[test]
    fn changes_lead_from_one_record_to_the_other() {
        let before = Record { title: Some("a".into()), archived: true, ..Record::default() };
        let after = Record { draft: Some("d".into()), ..Record::default() };
        assert_eq!(before.merge(&before.changes_to(&after)).expect("merged"), after);
        assert_eq!(before.changes_to(&before), FieldChanges::default());
    }
}
