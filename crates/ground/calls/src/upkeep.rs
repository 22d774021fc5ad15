//! Upkeep: garbage collection, the doctor, and what copies and imports report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Declaration, Honours, Needs};
use crate::group::UPKEEP;

/// Frees data that no thread reaches any more.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RunGc {
    /// Give the space back to the file system too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub vacuum: bool,
}

impl RunGc {
    pub(crate) const DECLARATION: Declaration = Declaration::post(("gc", "collectGarbage"), "/v1/admin/gc", UPKEEP)
        .about("Frees data that no thread reaches any more.")
        .gives("What was freed.")
        .needs(Needs::Admin)
        .honours(Honours::NOTHING)
        .repeats()
        .example(r#"{"vacuum":false}"#);
}

/// Compares everything with the log.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RunDoctor {
    /// Rebuild from the log what is derived and wrong.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repair: bool,
}

impl RunDoctor {
    pub(crate) const DECLARATION: Declaration = Declaration::post(("doctor", "runDoctor"), "/v1/admin/doctor", UPKEEP)
        .about("Compares all derived data with the log, and rebuilds it if `repair` is set.")
        .gives("What was found.")
        .needs(Needs::Admin)
        .honours(Honours::NOTHING)
        .repeats()
        .example(r#"{"repair":false}"#);
}

/// The report of the doctor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Doctor {
    /// Whether no problem was found, or all were repaired.
    pub healthy: bool,
    /// Whether derived data was rebuilt.
    pub repaired: bool,
    /// Threads that were looked at.
    pub threads: u64,
    /// Entries that were looked at.
    pub entries: u64,
    /// Blobs that were looked at.
    pub blobs: u64,
    /// Threads that were written to or deleted meanwhile. Each was compared at one version of its own.
    #[serde(default)]
    pub changed: u64,
    /// Derived data that differs from the log; a repair rebuilds it.
    pub derived: Vec<String>,
    /// Damage to the log or to blobs, which nothing can rebuild.
    pub damage: Vec<String>,
}

/// The result of a garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gc {
    /// Number of freed segments.
    pub segments: u64,
    /// Number of freed entries.
    pub entries: u64,
    /// Number of freed blobs.
    pub blobs: u64,
    /// Bytes given back to the file system.
    pub bytes: u64,
}

/// The result of an import: `{"threads": …, "known": …}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// Number of threads that are new here.
    pub threads: u64,
    /// Number of threads that were here already, and were left as they are.
    pub known: u64,
}

/// The result of a move of an account to another cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountMoved {
    /// The cell that the account came from; none if it was where it should go.
    pub from_cell: Option<String>,
    /// The cell that it lives in now.
    pub to_cell: String,
    /// Threads that moved.
    pub threads: u64,
    /// Entries that were copied.
    pub entries: u64,
    /// How many of the entries came in the pause.
    pub entries_in_pause: u64,
    /// How long the account was not written to, in milliseconds.
    pub pause_ms: u64,
}

/// The size of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Copied {
    /// Threads, of all accounts.
    pub threads: u64,
    /// Number of copied segments.
    pub segments: u64,
    /// Number of copied entries.
    pub entries: u64,
    /// Number of copied blobs.
    pub blobs: u64,
    /// Deleted threads, whose ids stay refused.
    pub deleted: u64,
    /// How many of the entries the target had already.
    pub already_there: u64,
    /// The BLAKE3 hash of everything, which both stores have: 64 hex digits.
    pub hash: String,
    /// Entries, records and large values of the source that are damaged and could not be copied.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// The first of them, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What an import of another agent's conversations did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// Sessions that were read.
    pub sessions: u64,
    /// Threads that were made for sessions.
    pub threads: u64,
    /// Forks that were made for branches of sessions.
    pub branches: u64,
    /// Messages that were added.
    pub messages: u64,
    /// Messages that changed at the source, and were edited.
    pub edited: u64,
    /// Messages that were here already.
    pub known: u64,
    /// Files that did not change since the last import, and were not read.
    pub unchanged: u64,
    /// Sessions whose thread was deleted here: they stay deleted.
    pub deleted: u64,
    /// Records and files that could not be read.
    pub skipped: u64,
    /// Where the first of them are, and why they were skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}
