//! The operations, one file each: parameters, what is read, and the decision.

pub(crate) mod agent;
pub(crate) mod append;
pub(crate) mod archive;
pub(crate) mod attach;
pub(crate) mod checkpoint;
pub(crate) mod create;
pub(crate) mod cut;
pub(crate) mod decide;
pub(crate) mod delete;
pub(crate) mod edit;
pub(crate) mod execution;
pub(crate) mod files;
pub(crate) mod fork;
pub(crate) mod handoff;
pub(crate) mod inject;
pub(crate) mod lifecycle;
pub(crate) mod list;
pub(crate) mod mention;
pub(crate) mod observe;
pub(crate) mod owner;
pub(crate) mod queue;
pub(crate) mod reference;
pub(crate) mod rollback;
pub(crate) mod spawn;
pub(crate) mod subagent;
pub(crate) mod transfer;
pub(crate) mod truncate;
pub(crate) mod update;
pub(crate) mod upload;
pub(crate) mod values;

use threadkeep_model::{Entry, Expect, NewEntry, NewSegment, Record, Thread, ThreadCommit, Version, Write};

use crate::Result;

/// A write to `thread` that was decided at its present era.
pub(crate) fn write(
    thread: &Thread,
    expected: Option<Version>,
    branch: Option<NewSegment>,
    entries: Vec<NewEntry>,
    record: Option<Record>,
) -> ThreadCommit {
    let expect = Expect::at(thread.head.era, expected);
    ThreadCommit::Write(Write { thread: thread.id, expect, branch, entries, record, owner: None })
}

/// A write of `entries` to `thread`, and the record that follows from them.
fn tell(
    thread: &Thread,
    expected: Option<Version>,
    branch: Option<NewSegment>,
    entries: &[Entry],
) -> Result<(ThreadCommit, Record)> {
    let record = entries.iter().try_fold(thread.record.clone(), Record::after)?;
    let changed = Some(&record).filter(|record| **record != thread.record).cloned();
    let entries = entries.iter().map(NewEntry::new).collect();
    Ok((write(thread, expected, branch, entries, changed), record))
}

/// The same without a branch.
fn tell_one(thread: &Thread, expected: Option<Version>, entries: &[Entry]) -> Result<(ThreadCommit, Record)> {
    tell(thread, expected, None, entries)
}
