//! The tables that lists need beside the threads: columns of `threads`, and `terms`. All of them follow from the head
//! and the record of a thread.
//!
//! A commit that makes or changes a thread does not write its terms: `filing` does that later, for many threads at once.

use rusqlite::{Connection, OptionalExtension, params};
use threadkeep_model::{Account, Record, Thread, ThreadId, Timestamp};
use threadkeep_store::terms::{Filing, Gist, Terms, UNFILED};
use threadkeep_store::{Result, StoreError, lifecycle_code, visibility_code};

use crate::codec::{self, key, rest};
use crate::error::from_sqlite;
use crate::lists::Snapshot;
use crate::read;

/// Threads read at once while all are walked.
const WALKED_AT_ONCE: usize = 1_000;

/// The tables of lists, from the third version of the schema. Tables first, then rows, then indexes.
pub(crate) const TABLES: &str = "
ALTER TABLE threads ADD COLUMN project TEXT;
ALTER TABLE threads ADD COLUMN lifecycle INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN visibility INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN parent INTEGER;
ALTER TABLE threads ADD COLUMN tagged INTEGER NOT NULL DEFAULT 0;

CREATE TABLE terms (
    term INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    PRIMARY KEY (term, bucket, thread)
) WITHOUT ROWID;
";

/// The indexes of lists, from the same version of the schema on.
pub(crate) const INDEXES: &str = "
DROP INDEX threads_agent;
CREATE INDEX threads_agent_recent ON threads (account, archived, agent, minute) WHERE agent IS NOT NULL;
CREATE INDEX threads_project_recent ON threads (account, archived, project, minute) WHERE project IS NOT NULL;
CREATE INDEX threads_lifecycle_recent ON threads (account, archived, lifecycle, minute);
CREATE INDEX threads_visibility_recent ON threads (account, archived, visibility, minute);
CREATE INDEX threads_parent_recent ON threads (account, archived, parent, minute) WHERE parent IS NOT NULL;
CREATE INDEX threads_main_recent ON threads (account, archived, main, minute) WHERE main IS NOT NULL;
CREATE INDEX threads_created ON threads (account, archived, created);
CREATE INDEX threads_agent_created ON threads (account, archived, agent, created) WHERE agent IS NOT NULL;
CREATE INDEX threads_project_created ON threads (account, archived, project, created) WHERE project IS NOT NULL;
CREATE INDEX threads_parent_created ON threads (account, archived, parent, created) WHERE parent IS NOT NULL;
CREATE INDEX threads_main_created ON threads (account, archived, main, created) WHERE main IS NOT NULL;
";

/// The moment of the last change within its minute, as the schema's tenth version adds it. It is null for a thread that
/// changed again in the minute, so that it is written twice a minute at the most, however often a thread changes. Lists
/// read the others in order, without sorting a minute in which many threads changed.
pub(crate) const MOMENTS: &str = "
ALTER TABLE threads ADD COLUMN moment INTEGER;
UPDATE threads SET moment = (SELECT h.updated - threads.minute * 60000000 FROM heads h WHERE h.thread = threads.id);
DROP INDEX threads_recent;
CREATE INDEX threads_recent ON threads (account, archived, minute, moment);
";

/// The minute under which the terms of a thread lie, as the schema's version [`FILED_SINCE`] adds it. The terms are made
/// anew after it. The index has the threads that changed since they were filed.
pub(crate) const FILED: &str = "
ALTER TABLE threads DROP COLUMN tagged;
ALTER TABLE threads ADD COLUMN filed INTEGER NOT NULL DEFAULT 0;
UPDATE threads SET filed = minute;
CREATE INDEX threads_moved ON threads (account, archived, minute, moment, filed) WHERE minute <> filed;
";

/// From this version on, new threads have no terms until they are filed. Older programs would not list them.
pub(crate) const SHELF: &str = "";

/// Threads on the shelf are in no index of one column: lists look for them in `threads_moved`, which has the columns.
/// A thread gets into these indexes, and back into them, when it is filed; into those by birth it gets once.
///
/// `was_filed` is a column of its own because SQLite writes an index entry anew, wherever it lies, with every column that
/// the condition of the index names.
pub(crate) const SHELVED: &str = "
ALTER TABLE threads ADD COLUMN was_filed INTEGER NOT NULL DEFAULT 1;
UPDATE threads SET was_filed = 0 WHERE filed = -9223372036854775808;
DROP INDEX threads_moved;
DROP INDEX threads_agent_recent;
DROP INDEX threads_project_recent;
DROP INDEX threads_lifecycle_recent;
DROP INDEX threads_visibility_recent;
DROP INDEX threads_parent_recent;
DROP INDEX threads_main_recent;
DROP INDEX threads_created;
DROP INDEX threads_agent_created;
DROP INDEX threads_project_created;
DROP INDEX threads_parent_created;
DROP INDEX threads_main_created;
CREATE INDEX threads_moved ON threads (account, archived, minute, moment, filed, created, lifecycle, visibility, agent,
    project, parent, main) WHERE minute <> filed;
CREATE INDEX threads_agent_recent ON threads (account, archived, agent, minute)
    WHERE agent IS NOT NULL AND minute = filed;
CREATE INDEX threads_project_recent ON threads (account, archived, project, minute)
    WHERE project IS NOT NULL AND minute = filed;
CREATE INDEX threads_lifecycle_recent ON threads (account, archived, lifecycle, minute) WHERE minute = filed;
CREATE INDEX threads_visibility_recent ON threads (account, archived, visibility, minute) WHERE minute = filed;
CREATE INDEX threads_parent_recent ON threads (account, archived, parent, minute)
    WHERE parent IS NOT NULL AND minute = filed;
CREATE INDEX threads_main_recent ON threads (account, archived, main, minute)
    WHERE main IS NOT NULL AND minute = filed;
CREATE INDEX threads_created ON threads (account, archived, created) WHERE was_filed;
CREATE INDEX threads_agent_created ON threads (account, archived, agent, created)
    WHERE agent IS NOT NULL AND was_filed;
CREATE INDEX threads_project_created ON threads (account, archived, project, created)
    WHERE project IS NOT NULL AND was_filed;
CREATE INDEX threads_parent_created ON threads (account, archived, parent, created)
    WHERE parent IS NOT NULL AND was_filed;
CREATE INDEX threads_main_created ON threads (account, archived, main, created)
    WHERE main IS NOT NULL AND was_filed;
";

/// The gist of the terms of a thread, for which lists look before they look at terms. That of a thread from before is not
/// known until it is filed again.
pub(crate) const GISTS: &str = "
ALTER TABLE threads ADD COLUMN letters INTEGER NOT NULL DEFAULT -1;
ALTER TABLE threads ADD COLUMN marks INTEGER NOT NULL DEFAULT -1;
DROP INDEX threads_moved;
CREATE INDEX threads_moved ON threads (account, archived, minute, moment, filed, created, lifecycle, visibility, agent,
    project, parent, main, letters, marks) WHERE minute <> filed;
";

/// The moment within its minute, in microseconds.
pub(crate) fn moment(time: Timestamp) -> i64 {
    time.as_micros() - time.minute() * 60_000_000
}

/// Makes the rows of all threads anew.
pub(crate) fn fill(connection: &Connection) -> Result<()> {
    connection.execute("DELETE FROM terms", []).map_err(from_sqlite)?;
    let mut set = connection
        .prepare("UPDATE threads SET minute = ?2, filed = ?2, was_filed = 1, letters = ?3, marks = ?4 WHERE id = ?1")
        .map_err(from_sqlite)?;
    walk(connection, |row, thread| {
        // One that cannot be read is for the doctor to tell, and must not keep a store from being opened.
        let Ok(thread) = thread else { return Ok(()) };
        let terms = Terms::of(&thread.account, thread.created, &thread.record);
        let minute = thread.head.updated.minute();
        if (row.minute, row.filed, row.gist) != (minute, minute, terms.gist) || !row.was_filed {
            let Gist { letters, marks } = terms.gist;
            set.execute(params![key(thread.id), minute, letters, marks]).map_err(from_sqlite)?;
        }
        if row.columns != columns(&thread.record) {
            set_columns(connection, thread.id, &thread.record, terms.gist)?;
        }
        insert(connection, key(thread.id), terms.rows(thread.created, minute))
    })
}

/// Sets the moments of all threads, whose minutes are right, anew.
pub(crate) fn set_moments(connection: &Connection) -> Result<()> {
    let set = "UPDATE threads SET moment =
                   (SELECT h.updated - threads.minute * 60000000 FROM heads h WHERE h.thread = threads.id)";
    connection.execute(set, []).map_err(from_sqlite)?;
    Ok(())
}

/// The columns of a thread's row beside the thread itself.
struct ListedRow {
    minute: i64,
    filed: i64,
    was_filed: bool,
    gist: Gist,
    columns: Columns,
}

/// The columns of `threads` that follow from the record, as they are read back.
type Columns = (bool, Option<String>, Option<i64>, Option<String>, i16, i16, Option<i64>);

fn columns(record: &Record) -> Columns {
    (
        record.archived,
        record.agent_id.clone(),
        record.main_thread_id.map(key),
        record.project_id.clone(),
        lifecycle_code(record.lifecycle),
        visibility_code(record.visibility),
        record.parent_id.map(key),
    )
}

/// Shows all threads with their rows, also those that cannot be read.
fn walk(connection: &Connection, mut each: impl FnMut(&ListedRow, Result<Thread>) -> Result<()>) -> Result<()> {
    let sql = format!(
        "SELECT {}, t.minute, t.archived, t.agent, t.main, t.project, t.lifecycle, t.visibility, t.parent, t.filed,
             t.was_filed, t.letters, t.marks
         FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id > ?1 ORDER BY t.id LIMIT ?2",
        codec::THREAD_COLUMNS
    );
    let mut after: i64 = -1;
    loop {
        let found = read::rows(connection, &sql, params![after, WALKED_AT_ONCE as i64], |row| {
            let read = || -> rusqlite::Result<_> {
                let columns =
                    (row.get(12)?, row.get(13)?, row.get(14)?, row.get(15)?, row.get(16)?, row.get(17)?, row.get(18)?);
                let gist = Gist { letters: row.get(21)?, marks: row.get(22)? };
                let (minute, filed, was_filed) = (row.get(11)?, row.get(19)?, row.get(20)?);
                Ok((row.get(0)?, ListedRow { minute, filed, was_filed, gist, columns }))
            };
            Ok((read().map_err(from_sqlite)?, codec::thread(row)))
        })?;
        let Some(((last, _), _)) = found.last() else { return Ok(()) };
        after = *last;
        for ((_, row), thread) in found {
            each(&row, thread)?;
        }
    }
}

fn insert(connection: &Connection, thread: i64, rows: impl Iterator<Item = (i32, i64)>) -> Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT OR IGNORE INTO terms VALUES (?1, ?2, ?3)").map_err(from_sqlite)?;
    for (term, bucket) in rows {
        insert.execute(params![term, bucket, thread]).map_err(from_sqlite)?;
    }
    Ok(())
}

fn delete(connection: &Connection, thread: i64, rows: impl Iterator<Item = (i32, i64)>) -> Result<()> {
    let mut delete = connection
        .prepare_cached("DELETE FROM terms WHERE term = ?1 AND bucket = ?2 AND thread = ?3")
        .map_err(from_sqlite)?;
    for (term, bucket) in rows {
        delete.execute(params![term, bucket, thread]).map_err(from_sqlite)?;
    }
    Ok(())
}

fn set_columns(connection: &Connection, thread: ThreadId, record: &Record, gist: Gist) -> Result<()> {
    let (archived, agent, main, project, lifecycle, visibility, parent) = columns(record);
    connection
        .prepare_cached(
            "UPDATE threads SET archived = ?2, agent = ?3, main = ?4, project = ?5, lifecycle = ?6, visibility = ?7,
                 parent = ?8, letters = ?9, marks = ?10
             WHERE id = ?1",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                key(thread),
                archived,
                agent,
                main,
                project,
                lifecycle,
                visibility,
                parent,
                gist.letters,
                gist.marks
            ])
        })
        .map_err(from_sqlite)?;
    Ok(())
}

/// The columns of a thread's row from which its terms follow.
pub(crate) fn listed(connection: &Connection, thread: i64) -> Result<Option<(Terms, Account, Timestamp, i64)>> {
    let found = connection
        .prepare_cached("SELECT account, created, filed, record FROM threads WHERE id = ?1")
        .and_then(|mut statement| {
            statement
                .query_row([thread], |row| {
                    Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?))
                })
                .optional()
        })
        .map_err(from_sqlite)?;
    let Some((account, created, filed, json)) = found else { return Ok(None) };
    let account = Account::stored(account).map_err(|error| StoreError::corrupt(error.to_string()))?;
    let created = Timestamp::from_micros(created);
    let damaged = || StoreError::damaged_copy(&format!("the record of thread {thread:012x}"));
    let record = codec::record(&json, thread, damaged)?;
    Ok(Some((Terms::of(&account, created, &record), account, created, filed)))
}

/// Terms of many threads, to be written together: in order, each page of the table is found once.
pub(crate) struct Pending {
    rows: Vec<(i32, i64, i64, Change)>,
    filing: Filing,
}

/// Whether a row comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Insert,
    Delete,
}

impl Pending {
    pub(crate) fn new(filing: Filing) -> Self {
        Self { rows: Vec::new(), filing }
    }

    /// Adds rows of a thread.
    pub(crate) fn add(&mut self, change: Change, thread: i64, rows: impl Iterator<Item = (i32, i64)>) {
        self.rows.extend(rows.map(|(term, bucket)| (term, bucket, thread, change)));
    }

    /// Writes them.
    pub(crate) fn write(&mut self, connection: &Connection) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.rows.sort_unstable();
        let mut insert =
            connection.prepare_cached("INSERT OR IGNORE INTO terms VALUES (?1, ?2, ?3)").map_err(from_sqlite)?;
        let mut delete = connection
            .prepare_cached("DELETE FROM terms WHERE term = ?1 AND bucket = ?2 AND thread = ?3")
            .map_err(from_sqlite)?;
        for (term, bucket, thread, change) in self.rows.drain(..) {
            let statement = match change {
                Change::Insert => &mut insert,
                Change::Delete => &mut delete,
            };
            statement.execute(params![term, bucket, thread]).map_err(from_sqlite)?;
        }
        Ok(())
    }
}

/// Writes the row of a thread that was not there. Its terms become `pending`, as far as they are written now.
pub(crate) fn insert_thread(
    connection: &Connection,
    id: ThreadId,
    account: &Account,
    created: Timestamp,
    updated: Timestamp,
    record: &Record,
    pending: &mut Pending,
) -> Result<()> {
    let terms = Terms::of(account, created, record);
    let filed = pending.filing.under(updated.minute());
    let (archived, agent, main, project, lifecycle, visibility, parent) = columns(record);
    connection
        .prepare_cached(
            "INSERT INTO threads (id, rest, account, archived, agent, main, created, minute, record, project, lifecycle,
                 visibility, parent, moment, filed, was_filed, letters, marks)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                key(id),
                rest(id),
                account.as_str(),
                archived,
                agent,
                main,
                created.as_micros(),
                updated.minute(),
                codec::sealed_record(record, key(id)),
                project,
                lifecycle,
                visibility,
                parent,
                moment(updated),
                filed,
                filed != UNFILED,
                terms.gist.letters,
                terms.gist.marks,
            ])
        })
        .map_err(from_sqlite)?;
    pending.add(Change::Insert, key(id), terms.rows(created, filed));
    Ok(())
}

/// Replaces the terms and columns of a thread whose record is about to become `record`, owned by `owner` from now on.
pub(crate) fn update_record(
    connection: &Connection,
    id: ThreadId,
    record: &Record,
    owner: Option<&Account>,
) -> Result<()> {
    let Some((before, account, created, filed)) = listed(connection, key(id))? else { return Ok(()) };
    if let Some(owner) = owner {
        connection
            .prepare_cached("UPDATE threads SET account = ?2 WHERE id = ?1")
            .and_then(|mut statement| statement.execute(params![key(id), owner.as_str()]))
            .map_err(from_sqlite)?;
    }
    let after = Terms::of(owner.unwrap_or(&account), created, record);
    if before != after {
        delete(connection, key(id), before.rows(created, filed))?;
        insert(connection, key(id), after.rows(created, filed))?;
    }
    set_columns(connection, id, record, after.gist)
}

/// Takes the moment out of the row of a thread that changed again in its minute.
pub(crate) fn forget_moment(connection: &Connection, thread: i64) -> Result<()> {
    connection
        .prepare_cached("UPDATE threads SET moment = NULL WHERE id = ?1")
        .and_then(|mut statement| statement.execute([thread]))
        .map_err(from_sqlite)?;
    Ok(())
}

/// Moves a thread to another minute in lists. Its terms stay where it was filed.
pub(crate) fn move_thread(connection: &Connection, thread: i64, updated: Timestamp) -> Result<()> {
    connection
        .prepare_cached("UPDATE threads SET minute = ?2, moment = ?3 WHERE id = ?1")
        .and_then(|mut statement| statement.execute(params![thread, updated.minute(), moment(updated)]))
        .map_err(from_sqlite)?;
    Ok(())
}

/// Removes the terms of a thread whose row is about to go.
pub(crate) fn delete_thread(connection: &Connection, id: ThreadId) -> Result<()> {
    let Some((terms, _, created, filed)) = listed(connection, key(id))? else { return Ok(()) };
    delete(connection, key(id), terms.rows(created, filed))
}

/// What is wrong with the rows that serve lists.
pub(crate) fn check(connection: &Connection, limit: usize) -> Result<Vec<String>> {
    // One moment for all statements: others write meanwhile.
    let _snapshot = Snapshot::of(connection)?;
    let mut wrong = Vec::new();
    let mut expected = 0;
    let mut find = connection
        .prepare_cached("SELECT 1 FROM terms WHERE term = ?1 AND bucket = ?2 AND thread = ?3")
        .map_err(from_sqlite)?;
    walk(connection, |row, thread| {
        let thread = thread?;
        let id = thread.id;
        let terms = Terms::of(&thread.account, thread.created, &thread.record);
        let mut missing = 0;
        for (term, bucket) in terms.rows(thread.created, row.filed) {
            let is_there = find.exists(params![term, bucket, key(id)]).map_err(from_sqlite)?;
            missing += usize::from(!is_there);
            expected += 1;
        }
        let minute = thread.head.updated.minute();
        if row.columns != columns(&thread.record) || row.minute != minute || !row.gist.covers(terms.gist) {
            wrong.push(format!("thread {id}: its row in lists is not what the thread says"));
        }
        if missing > 0 {
            wrong.push(format!("thread {id}: {missing} of its terms in lists are missing"));
        }
        wrong.truncate(limit);
        Ok(())
    })?;
    let moments: i64 = connection
        .query_row(
            "SELECT count(*) FROM threads t JOIN heads h ON h.thread = t.id
             WHERE t.moment <> h.updated - t.minute * 60000000",
            [],
            |row| row.get(0),
        )
        .map_err(from_sqlite)?;
    if wrong.is_empty() && moments > 0 {
        wrong.push(format!("lists show {moments} threads at another moment than that of their last change"));
    }
    let sql = "SELECT count(*) FROM threads WHERE was_filed <> (filed <> ?1)";
    let astray: i64 = connection.query_row(sql, [UNFILED], |row| row.get(0)).map_err(from_sqlite)?;
    if wrong.is_empty() && astray > 0 {
        wrong.push(format!("lists by birth look for {astray} threads in the wrong place"));
    }
    let found: i64 = connection.query_row("SELECT count(*) FROM terms", [], |row| row.get(0)).map_err(from_sqlite)?;
    if wrong.is_empty() && found != expected {
        wrong.push(format!("lists have {found} terms, the threads {expected}"));
    }
    Ok(wrong)
}
