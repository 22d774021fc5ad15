//! What upkeep and small operations report.

use serde::{Deserialize, Serialize};
use threadkeep_model::Version;

/// What the doctor found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Doctor {
    /// Whether nothing is wrong, or nothing is wrong any more.
    pub healthy: bool,
    /// Whether what is derived was built anew.
    pub repaired: bool,
    /// Threads that were looked at.
    pub threads: u64,
    /// Entries that were looked at.
    pub entries: u64,
    /// Blobs that were looked at.
    pub blobs: u64,
    /// What is derived and not what the log says; a repair rebuilds it.
    pub derived: Vec<String>,
    /// Damage to the log or to blobs, which nothing can rebuild.
    pub damage: Vec<String>,
}

impl Doctor {
    /// What was found, and whether it was repaired since.
    pub fn new(report: threadkeep_engine::DoctorReport, repaired: bool) -> Self {
        Self {
            healthy: report.damage.is_empty() && (repaired || report.derived.is_empty()),
            repaired,
            threads: report.threads,
            entries: report.entries,
            blobs: report.blobs,
            derived: report.derived,
            damage: report.damage,
        }
    }
}

/// How many heard an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmitTold {
    /// Those who listened at that moment.
    pub listeners: usize,
}

/// What a garbage collection freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Gc {
    /// Segments.
    pub segments: u64,
    /// Entries.
    pub entries: u64,
    /// Blobs.
    pub blobs: u64,
    /// Bytes given back to the file system.
    pub bytes: u64,
}

impl From<threadkeep_store::GcReport> for Gc {
    fn from(report: threadkeep_store::GcReport) -> Self {
        let threadkeep_store::GcReport { segments, entries, blobs, bytes } = report;
        Self { segments, entries, blobs, bytes }
    }
}

/// `{"deleted": …}`: whether there was something to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deleted {
    /// Whether there was.
    pub deleted: bool,
}

/// `{"released": …}`: whether a lease was still held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Released {
    /// Whether it was.
    pub released: bool,
}

/// `{"version": …}`: where something was logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Logged {
    /// The thread's version at which it stands.
    pub version: Version,
}

/// `{"threads": …}`: what an import brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
    /// How many threads.
    pub threads: u64,
}

/// What a copy consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Copied {
    /// Threads, of all accounts.
    pub threads: u64,
    /// Segments.
    pub segments: u64,
    /// Entries.
    pub entries: u64,
    /// Blobs.
    pub blobs: u64,
    /// Deleted threads, whose ids stay refused.
    pub deleted: u64,
    /// How many of the entries the target had already.
    pub already_there: u64,
    /// The BLAKE3 hash of everything, which both stores have: 64 hex digits.
    pub hash: String,
}

impl From<threadkeep_engine::CopyReport> for Copied {
    fn from(report: threadkeep_engine::CopyReport) -> Self {
        let threadkeep_engine::CopyReport {
            threads,
            segments,
            entries,
            blobs,
            deleted,
            already_there,
            was_finished: _,
            hash,
        } = report;
        Self { threads, segments, entries, blobs, deleted, already_there, hash: hash.to_string() }
    }
}

/// The built-in summary of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The text.
    pub summary: String,
}

/// What came of a message to the parent: it waits there, or there is no parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Notified {
    /// Whether there was a parent to tell.
    pub notified: bool,
    /// The message that waits there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<crate::Queued>,
}

/// What came of a new status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StatusSet {
    /// Whether there was a parent to tell; nothing changed if not.
    pub set: bool,
}
