//! The record of a thread: what describes it beside its conversation. Never rewound.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AgentState, Code, Entry, Execution, Invalid, Json, Kind, Lifecycle, Skill, ThreadId, Version};

/// Who may read a thread beside its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Nobody.
    #[default]
    Private,
    /// Anybody.
    Public,
}

/// What describes a thread. Every field is optional or has a default, and only what is set is stored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Record {
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Hidden from the main list.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// Unsent text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
    /// Whether the draft is sent by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auto_submit_draft: bool,
    /// The mode the agent works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// A cap for output.
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
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// What it is doing, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Free-form JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The workspace it began in: `{"initial":{"trees":[…],"tags":[…]}}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<Json>,
    /// Who may read it beside its account.
    #[serde(skip_serializing_if = "is_default")]
    pub visibility: Visibility,
    /// Where it is in its life.
    #[serde(skip_serializing_if = "is_default")]
    pub lifecycle: Lifecycle,
    /// Whether it was terminated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub terminated: bool,
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
    /// The version with which it was born, if it has a parent: what it was told up to there is what it was given, and what
    /// follows is its own. Not known of threads from before this was written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub born_at: Option<Version>,
    /// The skills that are active, in the order they were activated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub activated_skills: Vec<Skill>,
    /// The execution that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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

    /// The record as JSON.
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

    /// Checks what the types do not already prove, and strips null bytes.
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
            *text = text.take().map(crate::strip_nulls);
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
            // Which of the changes is to blame, if one of them is by itself.
            let alone = |(field, value): (&String, &Json)| {
                let value_alone = json(&BTreeMap::from([(field.clone(), value.clone())]));
                let error = serde_json::from_str::<Self>(&value_alone).err()?;
                // The place within a text that nobody sent helps nobody.
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

    /// The record with another agent and other skills.
    #[must_use]
    pub fn with_state(self, state: AgentState) -> Self {
        Self { agent_id: state.agent_id, activated_skills: state.skills, ..self }
    }

    /// The record after an entry: the one rule by which a record follows from the log.
    ///
    /// # Errors
    /// If the entry sets fields that make no valid record.
    pub fn after(self, entry: &Entry) -> Result<Self, Invalid> {
        Ok(match entry {
            Entry::ThreadChanged(changed) => self.merge(&changed.fields)?,
            Entry::SkillActivated(activated) => self.with_state(activated.state.clone()),
            Entry::AgentAssigned(assigned) => self.with_state(assigned.state.clone()),
            Entry::ExecutionBegan(began) => Self { execution: Some(began.execution.clone()), ..self },
            Entry::ExecutionStepped(stepped) => {
                let execution = self.execution.map(|execution| Execution {
                    until: stepped.until,
                    steps: execution.steps + 1,
                    ..execution
                });
                Self { execution, ..self }
            }
            Entry::ExecutionEnded(_) => Self { execution: None, ..self },
            Entry::LifecycleChanged(changed) => {
                // What is put away for good is out of the main list, too.
                let archived = self.archived || changed.to == Lifecycle::Archived;
                Self { lifecycle: changed.to, archived, ..self }
            }
            Entry::MessageAppended(_)
            | Entry::EventLogged(_)
            | Entry::MessageInserted(_)
            | Entry::MessageEdited(_)
            | Entry::MessagesDeleted(_)
            | Entry::Truncated(_)
            | Entry::RolledBack(_)
            | Entry::CheckpointSet(_)
            | Entry::Forked(_)
            | Entry::Related(_)
            | Entry::MessageQueued(_)
            | Entry::QueuedEdited(_)
            | Entry::QueuedRemoved(_)
            | Entry::MessageDelivered(_)
            | Entry::ChildChanged(_)
            | Entry::ChildRemoved(_)
            | Entry::OwnerChanged(_)
            | Entry::FilesChanged(_)
            | Entry::ValuesChanged(_)
            | Entry::Injected(_)
            | Entry::InjectionTaken(_)
            | Entry::Decided(_)
            | Entry::Referenced(_)
            | Entry::ApprovalRequested(_)
            | Entry::ApprovalAnswered(_)
            | Entry::Delegated(_)
            | Entry::DelegationRevoked(_)
            | Entry::Observed(_)
            | Entry::ObserverRemoved(_)
            | Entry::Merged(_) => self,
        })
    }

    /// The kinds of entries that change a record.
    pub const CHANGED_BY: [Kind; 7] = [
        Kind::ThreadChanged,
        Kind::SkillActivated,
        Kind::AgentAssigned,
        Kind::ExecutionBegan,
        Kind::ExecutionStepped,
        Kind::ExecutionEnded,
        Kind::LifecycleChanged,
    ];

    /// What to change so that this record becomes `after`.
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

/// The title without what [`fork_title`] put before it; none if that put nothing.
pub fn unforked(title: &str) -> Option<&str> {
    forked(title).map(|(_, rest)| rest)
}

/// How often a title was forked, and what it was before.
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
