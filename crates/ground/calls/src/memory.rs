//! Memories: short texts that an account keeps across its threads, for people and for models. Only their account sees
//! them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::schema::NOT_BLANK;
use threadkeep_model::{MessageName, ThreadId, ThreadName, Timestamp, Uuid};

use crate::ErrorCode;
use crate::call::{Declaration, Honours, Needs};
use crate::group::MEMORIES;
use crate::object::some_thread;
use crate::shape::{paged, words};

const ALL: &str = "/v1/memories";
const ONE: &str = "/v1/memories/{memory}";
const OF_PROJECT: &str = "/v1/projects/{project}/memories";

/// Longest text of a memory, in bytes.
pub const MEMORY_BYTES_MAX: usize = 8 << 10;
/// Most source messages of a memory.
pub const MEMORY_SOURCES_MAX: usize = 64;

/// Where a memory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryScope {
    /// In every thread of the account.
    Account,
    /// In the threads of one project.
    Project,
}

words! {
    MemoryScope in "scope": "account" = Account, "project" = Project;
}

/// A text that is remembered across threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Its id.
    pub id: Uuid,
    /// What is remembered.
    pub text: String,
    /// Where it holds.
    pub scope: MemoryScope,
    /// The project in whose threads it holds, if that is its scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The messages that it was taken from. It is forgotten when the last of them is deleted, unless a person edited it.
    pub sources: Vec<MessageName>,
    /// The thread that shows the sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its text or its sources changed last.
    pub updated_at: Timestamp,
    /// Whether a person edited the text. Then it outlives its sources.
    pub edited: bool,
}

macro_rules! adding {
    ($($(#[$doc:meta])* $type:ident { $($(#[$of:meta])* $project:ident: $project_type:ty)? } = $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        #[schemars(rename = "AddMemory")]
        pub struct $type {
            $($(#[$of])* pub $project: $project_type,)?
            /// What to remember: at most 8 KiB. A text that is there already gets the new sources.
            #[schemars(length(min = 1, max = MEMORY_BYTES_MAX), regex(pattern = NOT_BLANK))]
            pub text: String,
            /// The messages that it was taken from, at most 64, all shown by one thread of the account.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(length(max = MEMORY_SOURCES_MAX))]
            pub sources: Vec<MessageName>,
            /// The thread that shows the sources [default: the thread that wrote the first of them].
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_thread")]
            pub thread_id: Option<ThreadName>,
        }

        impl $type {
            pub(crate) const DECLARATION: Declaration = $declaration;
        }
    )*};
}

const ADDING_FAILS: &[ErrorCode] = &[
    ErrorCode::MemoriesFull,
    ErrorCode::InvalidThreadId,
    ErrorCode::ThreadNotFound,
    ErrorCode::InvalidMessageId,
    ErrorCode::MessageNotFound,
];

adding! {
    /// Remembers a text in the account.
    AddMemory {} = Declaration::post(("add-memory", "createMemory"), ALL, MEMORIES)
        .about("Remembers a text in all threads of the account. The same text is remembered once.")
        .creates("The memory.")
        .honours(Honours::NOTHING)
        .repeats()
        .fails(ADDING_FAILS)
        .example(r#"{"text":"Answers in German, with metric units."}"#);
    /// Remembers a text in a project.
    AddProjectMemory {
        /// The id of the project.
        #[schemars(skip)]
        project: String
    } = Declaration::post(("add-project-memory", "createProjectMemory"), OF_PROJECT, MEMORIES)
        .about("Remembers a text in the threads of a project. The same text is remembered once.")
        .creates("The memory.")
        .honours(Honours::NOTHING)
        .repeats()
        .fails(ADDING_FAILS)
        .example(r#"{"text":"The staging server is eu-2."}"#);
}

impl AddMemory {
    /// This text, without sources.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), sources: Vec::new(), thread_id: None }
    }
}

paged! {
    /// Lists the account's memories, those of its projects too.
    ListMemories = Declaration::get(("memories", "listMemories"), ALL, MEMORIES)
        .about("Lists the memories of the account, the oldest first, those of its projects too.")
        .gives("A page of memories.");
}

/// Lists the memories of a project.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListProjectMemories {
    /// The id of the project.
    #[schemars(skip)]
    pub project: String,
    /// Number of items in a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ListProjectMemories {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("project-memories", "listProjectMemories"), OF_PROJECT, MEMORIES)
            .about("Lists the memories of a project, the oldest first.")
            .gives("A page of memories.");
}

macro_rules! by_memory {
    ($($(#[$doc:meta])* $name:ident = $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// The id of the memory.
            #[schemars(skip)]
            pub memory: Uuid,
        }

        impl $name {
            pub(crate) const DECLARATION: Declaration = $declaration;
        }
    )*};
}

by_memory! {
    /// Shows one memory by its id.
    GetMemory = Declaration::get(("memory", "getMemory"), ONE, MEMORIES)
        .about("Shows a memory.")
        .gives("The memory.");
    /// Forgets a memory.
    DeleteMemory = Declaration::delete(("delete-memory", "deleteMemory"), ONE, MEMORIES)
        .about("Forgets a memory.")
        .gives("Whether there was one.")
        .honours(Honours::NOTHING)
        .never(ErrorCode::MemoryNotFound);
}

/// Replaces the text of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditMemory {
    /// The id of the memory.
    #[schemars(skip)]
    pub memory: Uuid,
    /// The new text: at most 8 KiB.
    #[schemars(length(min = 1, max = MEMORY_BYTES_MAX), regex(pattern = NOT_BLANK))]
    pub text: String,
}

impl EditMemory {
    pub(crate) const DECLARATION: Declaration = Declaration::patch(("edit-memory", "updateMemory"), ONE, MEMORIES)
        .about("Replaces the text of a memory. One that a person edited outlives its sources.")
        .gives("The memory as it is now.")
        .honours(Honours::NOTHING)
        .repeats()
        .example(r#"{"text":"Answers in German or French."}"#);
}

/// Searches memories by words and meaning.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchMemories {
    /// The question, in plain words. Quotation marks ask for words that follow each other.
    #[schemars(length(min = 1, max = 262_144), regex(pattern = NOT_BLANK))]
    pub query: String,
    /// Those that hold in this project: the account's and its own. Without it, all memories are searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Number of memories (default 5, maximum 100).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<usize>,
}

impl SearchMemories {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("search-memories", "searchMemories"), "/v1/memories/search", MEMORIES)
            .about("Finds the account's memories that match a question, the best first.")
            .gives("What was found; no results if nothing matches.")
            .needs(Needs::Read)
            .honours(Honours::NOTHING)
            .repeats()
            .example(r#"{"query":"which language to answer in","limit":5}"#);

    /// A question about all memories.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), ..Self::default() }
    }
}

/// The results of a search among memories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoriesFound {
    /// Memories, the best first; none if nothing matches.
    pub results: Vec<FoundMemory>,
}

/// A memory that matches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundMemory {
    /// The memory.
    pub memory: Memory,
    /// How well it matches, compared with the other results: at most 1.
    pub score: f32,
}
