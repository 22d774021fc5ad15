//! Threads: create, read, change, list, delete.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use threadkeep_model::{Account, FieldChanges, Json, Lifecycle, ThreadName, Timestamp, Visibility};

use crate::append::NewMessage;
use crate::call::{Declaration, Honours, Needs};
use crate::group::{THREADS, WORK};
use crate::object::{Object, account, flag, objects, some_thread};
use crate::shape::words;
use crate::{ErrorCode, asked};

/// A new thread: fields of its record by their names on the wire, and its first messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Create {
    /// The fields that are set.
    pub fields: FieldChanges,
    /// Its first messages, in the same commit.
    pub messages: Vec<NewMessage>,
}

impl Create {
    pub(crate) const DECLARATION: Declaration = Declaration::post(("create", "createThread"), "/v1/threads", THREADS)
        .about("Makes a thread, with its first messages if there are any.")
        .creates("The new thread.")
        .versioned()
        .honours(Honours::KEY)
        .example(r#"{"title":"Trip to Rome","messages":[{"role":"user","content":"Where do I stay?"}]}"#);

    /// A thread without a title.
    pub fn new() -> Self {
        Self::default()
    }

    /// A thread called `title`.
    pub fn titled(title: &str) -> Self {
        Self::new().field("title", Json::string(title))
    }

    /// Sets a field of the record.
    #[must_use]
    pub fn field(mut self, name: &str, value: Json) -> Self {
        self.fields.0.insert(name.to_owned(), value);
        self
    }

    /// Adds a message that the thread begins with.
    #[must_use]
    pub fn message(mut self, message: impl Into<NewMessage>) -> Self {
        self.messages.push(message.into());
        self
    }
}

impl Serialize for Create {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.fields.0 {
            map.serialize_entry(name, value)?;
        }
        if !self.messages.is_empty() {
            map.serialize_entry("messages", &self.messages)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Create {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Messages(#[serde(deserialize_with = "objects")] Vec<NewMessage>);
        let mut fields = FieldChanges::deserialize(from)?;
        let messages = match fields.0.remove("messages") {
            Some(messages) => asked::parse::<Messages>(messages.as_str()).map_err(|invalid| asked::refuse(&invalid))?.0,
            None => Vec::new(),
        };
        Ok(Self { fields: fields.checked().map_err(|invalid| asked::refuse(&invalid))?, messages })
    }
}

/// A new thread: any of its fields, and its first messages.
#[derive(JsonSchema, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "NewThread")]
#[allow(dead_code, reason = "its fields are the documentation")]
struct NewThread {
    #[serde(flatten)]
    fields: threadkeep_model::schema::ThreadFields,
    /// The messages that the thread begins with.
    #[schemars(length(max = 1_000))]
    messages: Vec<NewMessage>,
}

impl JsonSchema for Create {
    fn schema_name() -> Cow<'static, str> {
        "NewThread".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        NewThread::json_schema(generator)
    }
}

/// Shows a thread, without its messages.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetThread {}

impl GetThread {
    pub(crate) const DECLARATION: Declaration = Declaration::get(("get", "getThread"), "/v1/threads/{thread}", THREADS)
        .about("Shows a thread, without its messages.")
        .gives("The thread; visitors of a public one see less of it.")
        .versioned()
        .needs(Needs::Public);
}

/// New values for fields of the record: arrays and objects are replaced whole, null clears a field.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Update {
    /// The fields, by their names on the wire.
    pub fields: FieldChanges,
}

impl Update {
    pub(crate) const DECLARATION: Declaration =
        Declaration::patch(("update", "updateThread"), "/v1/threads/{thread}", THREADS)
            .about("Replaces fields of a thread; null clears one.")
            .gives("The thread as it is now.")
            .versioned()
            .repeats()
            .fails(&[ErrorCode::ThreadClosed, ErrorCode::InvalidTransition, ErrorCode::ApprovalRequired])
            .example(r#"{"title":"Trip to Naples","draft":null}"#);

    /// An update without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `name` to `value`; null clears it.
    #[must_use]
    pub fn field(mut self, name: &str, value: Json) -> Self {
        self.fields.0.insert(name.to_owned(), value);
        self
    }

    /// Sets the title of the thread.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        self.field("title", Json::string(title))
    }
}

impl<'de> Deserialize<'de> for Update {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Object(fields) = Object::<FieldChanges>::deserialize(from)?;
        Ok(Self { fields: fields.checked().map_err(|invalid| asked::refuse(&invalid))? })
    }
}

impl JsonSchema for Update {
    fn schema_name() -> Cow<'static, str> {
        FieldChanges::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        FieldChanges::json_schema(generator)
    }
}

/// Deletes a thread and the threads of its subagents.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delete {}

impl Delete {
    pub(crate) const DECLARATION: Declaration =
        Declaration::delete(("delete", "deleteThread"), "/v1/threads/{thread}", THREADS)
            .about("Deletes a thread and the threads of its subagents, for good; its id stays refused.")
            .gives("Whether there was one: false for ids that are unknown, or not yours.")
            .honours(Honours::DELETION)
            .fails(&[ErrorCode::ApprovalRequired])
            .never(ErrorCode::ThreadNotFound);
}

/// Gives a thread to another account, with the threads of its subagents.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeOwner {
    /// The account that owns it from now on.
    #[serde(deserialize_with = "account")]
    #[schemars(with = "String", length(max = 255), regex(pattern = threadkeep_model::schema::IDENTITY))]
    pub account: Account,
}

impl ChangeOwner {
    pub(crate) const DECLARATION: Declaration =
        Declaration::put(("change-owner", "changeOwner"), "/v1/threads/{thread}/owner", THREADS)
            .about("Gives a thread to another account, with the threads of its subagents.")
            .gives("The thread as it is now.")
            .versioned()
            // The new owner did not ask for the thread, so only an administrator may hand it over.
            .needs(Needs::Admin)
            .fails(&[ErrorCode::ApprovalRequired, ErrorCode::OtherCell])
            .identities(&["account"])
            .example(r#"{"account":"ann"}"#);
}

/// Lists threads of the account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListThreads {
    /// Threads whose id begins with this, in either spelling. Only `limit` may accompany it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_prefix: Option<String>,
    /// Whether archived threads are listed. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<Archived>,
    /// Threads of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Threads of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Threads in this state of their lifecycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// Private or public threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// Threads whose metadata contain this JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("contentMediaType" = "application/json"))]
    pub metadata: Option<JsonText>,
    /// Threads with this tag, in `metadata.tags` or `env.initial.tags`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Threads spawned from this thread.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_thread")]
    pub parent_id: Option<ThreadName>,
    /// Threads of the subagents of this thread.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_thread")]
    pub main_thread_id: Option<ThreadName>,
    /// Threads created after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_after: Option<Timestamp>,
    /// Threads created before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_before: Option<Timestamp>,
    /// Threads changed after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_after: Option<Timestamp>,
    /// Threads changed before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_before: Option<Timestamp>,
    /// Threads whose title contains this text, without regard to case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The newest first, by their last change or by their creation. Default: updated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort: Option<ListSort>,
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Number of threads to skip; the answer then has a total. It excludes a cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
    /// Whether to count all of them. Counting stops after 10,000 threads that have to be looked at, or 200,000 that an
    /// index counts; `totalIsExact` is false then.
    #[serde(skip_serializing_if = "std::ops::Not::not", deserialize_with = "flag")]
    pub total: bool,
}

impl ListThreads {
    pub(crate) const DECLARATION: Declaration = Declaration::get(("list", "listThreads"), "/v1/threads", THREADS)
        .about("Lists the account's threads, by any filter.")
        .gives("A page of threads.")
        .fails(&[
            ErrorCode::InvalidThreadId,
            ErrorCode::InvalidCursor,
            ErrorCode::InvalidBody,
            ErrorCode::JsonTooDeep,
            ErrorCode::ThreadNotFound,
        ]);
}

/// JSON that a query holds as text.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonText(pub Json);

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Json::parse("metadata", &text).map(Self).map_err(|invalid| asked::refuse(&invalid))
    }
}

impl JsonSchema for JsonText {
    fn schema_name() -> Cow<'static, str> {
        "JsonText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// Whether a list holds archived threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Archived {
    /// Threads that are not archived.
    #[default]
    No,
    /// Only archived threads.
    Yes,
    /// Archived and other threads.
    Any,
}

/// By what a list is sorted, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListSort {
    /// By the last change.
    #[default]
    Updated,
    /// By the creation.
    Created,
}

words! {
    Archived in "archived": "false" = No, "true" = Yes, "any" = Any;
    ListSort in "sort": "updated" = Updated, "created" = Created;
}

/// Hides a thread from the main list.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Archive {}

impl Archive {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("archive", "archiveThread"), "/v1/threads/{thread}/archive", WORK)
            .about("Hides a thread from the main list.")
            .gives("The thread as it is now.")
            .versioned()
            .repeats()
            .fails(&[ErrorCode::InvalidTransition]);
}

/// Shows an archived thread in the main list again.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unarchive {}

impl Unarchive {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("unarchive", "unarchiveThread"), "/v1/threads/{thread}/unarchive", WORK)
            .about("Shows a thread in the main list again.")
            .gives("The thread as it is now.")
            .versioned()
            .repeats()
            .fails(&[ErrorCode::InvalidTransition]);
}
