//! Quick forks: the new thread, and the entry about it in its parent, are one statement and one round trip, on a line that is
//! kept for appends.
//!
//! The parent's side is `fork.sql`, which counts as `advance` of the model does for an entry that is no message. The
//! child's side is what the model says of any new thread, and its rows are written as for any other.

use std::sync::{Arc, LazyLock};

use threadkeep_model::{
    Body, Commit, Committed, Create, Derived, Kind, NewEntry, Position, RelationKind, ThreadCommit, Write, born,
    strip_nulls,
};
use threadkeep_store::terms::Filing;
use threadkeep_store::{Result, SegmentRow};

use crate::Shared;
use crate::call::{appended_sum, inline};
use crate::codec::{HEAD_COLUMNS, key, rest};
use crate::connect::thread_lock;
use crate::error::from_commit;
use crate::quick::{Line, written_at};
use crate::statement::Statement;
use crate::tables::Rows;

/// A commit that is no more than an entry about a relation to a new thread, and that thread without entries of its own.
pub(crate) struct Fork<'a> {
    commit: &'a Commit,
    write: &'a Write,
    entry: &'a NewEntry,
    create: &'a Create,
    kind: RelationKind,
    index: Option<u64>,
    anchor: Option<Position>,
}

static PARENT: LazyLock<String> =
    LazyLock::new(|| include_str!("fork.sql").replace("{format}", &Kind::FORMAT.to_string()));
static LAST: LazyLock<String> = LazyLock::new(|| format!("SELECT {HEAD_COLUMNS} FROM h"));

impl<'a> Fork<'a> {
    /// The fork that a commit is, if one statement does it.
    pub(crate) fn of(commit: &'a Commit) -> Option<Self> {
        let [ThreadCommit::Write(write), ThreadCommit::Create(create)] = &commit.threads[..] else { return None };
        let [entry] = &write.entries[..] else { return None };
        let Derived::Relation { child, kind, index, anchor, comment: None } = &entry.derived else { return None };
        let is_plain = commit.blobs.is_empty() && commit.owner.is_none() && commit.idempotency.is_none();
        let writes_entry = write.branch.is_none() && write.record.is_none() && write.owner.is_none();
        let entry_is_plain = matches!(entry.body, Body::Inline(_)) && entry.blobs.is_empty() && entry.time.is_none();
        // The lease of the parent need not be looked at.
        let is_free = write.expect.lease.is_none() && !entry.kind.is_guarded() && !entry.kind.moves_era();
        let child_is_new = *child == create.thread && create.entries.is_empty();
        (is_plain && writes_entry && entry_is_plain && is_free && child_is_new).then_some(Self {
            commit,
            write,
            entry,
            create,
            kind: *kind,
            index: *index,
            anchor: *anchor,
        })
    }

    /// Writes it. None if a check fails, or if another commit holds one of the threads: then nothing was written.
    async fn write(&self, line: &mut Line, shared: &Shared, actor: i64) -> Result<Option<Committed>> {
        let child = born(self.create, self.commit.time);
        // The first number in the feed is that of the parent's entry.
        let mut rows = Rows::after(1);
        let Create { thread, account, record, .. } = self.create;
        rows.thread(*thread, account, child.created(), &child.head, record, Filing::Later);
        if let Some(segment) = &child.opened {
            rows.segment(&SegmentRow { segment: segment.clone(), origin: Some((account.clone(), record.clone())) });
        }
        let (parent, others) = (key(self.write.thread), rest(self.write.thread));
        let era = self.write.expect.era.map(|era| era as i64);
        let version = self.write.expect.version.map(|version| version.0 as i64);
        let time = self.commit.time.as_micros();
        let kind = i16::from(self.entry.kind.code());
        let cause = self.commit.caller.cause.clone().map(strip_nulls);
        let (body, sum) = (inline(&self.entry.body), appended_sum(self.commit, self.entry));
        let (related, relation) = (key(*thread), i16::from(self.kind.code()));
        let (index, anchor) = (self.index.map(|index| index as i64), self.anchor.map(|anchor| anchor.0 as i64));
        let (lock, other_lock) = (thread_lock(parent), thread_lock(related));
        let statement = Statement::new(
            PARENT.as_str(),
            vec![
                &parent,
                &others,
                &era,
                &version,
                &time,
                &actor,
                &kind,
                &cause,
                &body,
                &sum,
                &related,
                &relation,
                &index,
                &anchor,
                &shared.upkeep_lock,
                &lock,
                &other_lock,
            ],
        )
        .with(rows.births(), &LAST);
        match line.fork(&statement).await {
            Ok(Some(row)) => {
                let mut committed = written_at(&row, self.write)?;
                committed.threads.push(child.committed(*thread));
                Ok(Some(committed))
            }
            Ok(None) => Ok(None),
            // An id that is taken: the longer way says which.
            Err(error) if error.as_db_error().is_some_and(|error| error.constraint().is_some()) => Ok(None),
            Err(error) => Err(from_commit(error)),
        }
    }
}

impl Shared {
    /// Commits a fork on a line. None if it has to go the longer way.
    pub(crate) async fn quick_fork(self: &Arc<Self>, commit: &Commit) -> Result<Option<Committed>> {
        let Some(fork) = Fork::of(commit) else { return Ok(None) };
        let Some(_underway) = self.begin_fork(key(fork.write.thread)) else { return Ok(None) };
        let mut line = self.line().await?;
        let actor = self.actor(&commit.caller).await?;
        // After an error the line is dropped, and the server takes back what it holds of it.
        let written = fork.write(&mut line, self, actor).await?;
        self.lines.put(line);
        Ok(written)
    }
}
