//! The tables that lists need beside the threads (`lists.sql`): columns of `threads`, and `terms`.

use deadpool_postgres::Object;
use threadkeep_model::{Account, Record, Thread, Timestamp};
use threadkeep_store::terms::{Terms, UNFILED};
use threadkeep_store::{Result, lifecycle_code, visibility_code};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use crate::codec::{self, get, key, limit, thread_columns};
use crate::read::rows;
use crate::statement::Statement;

/// [`UNFILED`] in SQL, where the plain number would not be a `bigint`.
pub(crate) const UNFILED_SQL: &str = "'-9223372036854775808'::bigint";

/// Threads read at once while all are walked.
const WALKED_AT_ONCE: usize = 1_000;

/// The indexes of lists, once their first rows are there.
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

/// The rows of `thread_terms`: the terms of each thread, as they are in `terms`. Arrays as text, since arrays of arrays
/// cannot differ in length.
#[derive(Default)]
pub(crate) struct OwnTerms {
    thread: Vec<i64>,
    by_change: Vec<String>,
    by_birth: Vec<String>,
}

impl OwnTerms {
    fn push(&mut self, thread: i64, by_change: &[i32], by_birth: &[i32]) {
        let text = |terms: &[i32]| format!("{{{}}}", terms.iter().map(i32::to_string).collect::<Vec<_>>().join(","));
        self.thread.push(thread);
        self.by_change.push(text(by_change));
        self.by_birth.push(text(by_birth));
    }

    fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        vec![&self.thread, &self.by_change, &self.by_birth]
    }

    /// For threads whose records changed, after those: terms that are others now go, and then the threads wait like new
    /// ones.
    pub(crate) fn unfile(&self) -> Vec<Statement<'_>> {
        if self.thread.is_empty() {
            return Vec::new();
        }
        let forget = Statement::new(
            "SELECT forget_terms(array_agg(o.thread))
             FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u(thread, a, b)
             JOIN thread_terms o ON o.thread = u.thread
             WHERE (o.by_change, o.by_birth) IS DISTINCT FROM (u.a::integer[], u.b::integer[])",
            self.params(),
        );
        let wait = Statement::new(
            format!(
                "UPDATE threads t SET filed = {UNFILED_SQL}
                 WHERE t.id = ANY($1) AND t.filed <> {UNFILED_SQL}
                   AND NOT EXISTS (SELECT FROM thread_terms o WHERE o.thread = t.id)"
            ),
            vec![&self.thread],
        );
        vec![forget, wait]
    }
}

/// The columns of `threads` that follow from records, and terms, gathered for many threads.
#[derive(Default)]
pub(crate) struct ListedRows {
    pub(crate) id: Vec<i64>,
    pub(crate) account: Vec<String>,
    pub(crate) project: Vec<Option<String>>,
    pub(crate) lifecycle: Vec<i16>,
    pub(crate) visibility: Vec<i16>,
    pub(crate) parent: Vec<Option<i64>>,
    own: OwnTerms,
    term: Vec<i32>,
    bucket: Vec<i64>,
    thread: Vec<i64>,
}

impl ListedRows {
    /// Adds a thread that is filed under a minute, or [`UNFILED`].
    pub(crate) fn push(&mut self, id: i64, account: &Account, created: Timestamp, filed: i64, record: &Record) {
        self.push_columns(id, account, record);
        self.push_terms(id, &Terms::of(account, created, record), created, filed);
    }

    /// Adds a thread whose record changed, with its terms as they should be. A thread that is not filed has only those of
    /// its birth.
    pub(crate) fn push_changed(
        &mut self,
        id: i64,
        account: &Account,
        created: Timestamp,
        record: &Record,
        changed: &mut OwnTerms,
    ) {
        let terms = Terms::of(account, created, record);
        changed.push(id, &terms.filed, &terms.born);
        self.push_columns(id, account, record);
        self.push_terms(id, &terms, created, UNFILED);
    }

    fn push_columns(&mut self, id: i64, account: &Account, record: &Record) {
        self.id.push(id);
        self.account.push(account.as_str().to_owned());
        self.project.push(record.project_id.clone());
        self.lifecycle.push(lifecycle_code(record.lifecycle));
        self.visibility.push(visibility_code(record.visibility));
        self.parent.push(record.parent_id.map(key));
    }

    /// Adds the terms alone.
    pub(crate) fn push_terms(&mut self, id: i64, terms: &Terms, created: Timestamp, filed: i64) {
        let by_change = if filed == UNFILED { &[] } else { &terms.filed[..] };
        if !(by_change.is_empty() && terms.born.is_empty()) {
            self.own.push(id, by_change, &terms.born);
        }
        for (term, bucket) in terms.rows(created, filed) {
            self.term.push(term);
            self.bucket.push(bucket);
            self.thread.push(id);
        }
    }

    /// Puts them in the order of their table: then rows of a page are written together.
    pub(crate) fn sort_terms(&mut self) {
        let rows = self.term.drain(..).zip(self.bucket.drain(..)).zip(self.thread.drain(..));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable();
        for ((term, bucket), thread) in rows {
            self.term.push(term);
            self.bucket.push(bucket);
            self.thread.push(thread);
        }
    }

    /// The statements that write the terms of threads that have none, or the same. `from` is another table to select from,
    /// whose one row lets them write, with a comma.
    pub(crate) fn terms(&self, from: &str) -> Vec<Statement<'_>> {
        if self.term.is_empty() {
            return Vec::new();
        }
        let own = Statement::new(
            format!(
                "INSERT INTO thread_terms (thread, by_change, by_birth)
                 SELECT u.thread, u.a::integer[], u.b::integer[]
                 FROM {from}unnest($1::bigint[], $2::text[], $3::text[]) AS u(thread, a, b) ON CONFLICT DO NOTHING"
            ),
            self.own.params(),
        );
        let terms = Statement::new(
            format!(
                "INSERT INTO terms SELECT u.*
                 FROM {from}unnest($1::integer[], $2::bigint[], $3::bigint[]) AS u ON CONFLICT DO NOTHING"
            ),
            vec![&self.term, &self.bucket, &self.thread],
        );
        vec![own, terms]
    }

    /// Writes the columns of threads, and their minutes. A moment that is wrong is taken back; none is set, because other
    /// processes may know that there is none ([`Listed`](crate::quick::Listed)).
    async fn set(&self, client: &Client, minutes: &[i64], moments: &[i64]) -> Result<(), tokio_postgres::Error> {
        client
            .execute(
                "UPDATE threads t SET minute = u.minute, filed = u.minute, project = u.project, lifecycle = u.lifecycle,
                     visibility = u.visibility, parent = u.parent,
                     moment = CASE WHEN t.moment = u.moment THEN t.moment ELSE 0 END
                 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::smallint[], $5::smallint[], $6::bigint[],
                         $7::bigint[])
                     AS u(id, minute, project, lifecycle, visibility, parent, moment)
                 WHERE t.id = u.id AND ((t.minute, t.filed, t.lifecycle, t.visibility, t.project, t.parent)
                     IS DISTINCT FROM (u.minute, u.minute, u.lifecycle, u.visibility, u.project, u.parent)
                     OR t.moment >= t.minute * 60000000 AND t.moment <> u.moment)",
                &[&self.id, &minutes, &self.project, &self.lifecycle, &self.visibility, &self.parent, &moments],
            )
            .await?;
        for statement in self.terms("") {
            client.execute(statement.sql(), statement.params()).await?;
        }
        Ok(())
    }
}

/// Makes the rows of all threads anew.
pub(crate) async fn fill(client: &Client) -> Result<(), tokio_postgres::Error> {
    client.batch_execute("DELETE FROM terms; DELETE FROM thread_terms").await?;
    let mut after = -1i64;
    loop {
        let found = client.query(&page(), &[&after, &limit(WALKED_AT_ONCE)]).await?;
        let Some(last) = found.last() else { return Ok(()) };
        after = last.get(0);
        let mut new = ListedRows::default();
        let (mut minutes, mut moments) = (Vec::new(), Vec::new());
        // A record that cannot be read is for the doctor to tell, and must not keep a store from being opened.
        for thread in found.iter().filter_map(|row| codec::thread(row).ok()) {
            let minute = thread.head.updated.minute();
            new.push(key(thread.id), &thread.account, thread.created, minute, &thread.record);
            minutes.push(minute);
            moments.push(thread.head.updated.as_micros());
        }
        new.set(client, &minutes, &moments).await?;
    }
}

fn page() -> String {
    let columns = thread_columns();
    format!(
        "SELECT {columns}, t.minute, t.archived, t.agent, t.main, t.project, t.lifecycle, t.visibility, t.parent, t.filed,
             t.moment
         FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id > $1 ORDER BY t.id LIMIT $2"
    )
}

/// What is wrong with the rows that serve lists.
pub(crate) async fn check(client: &Object, most: usize) -> Result<Vec<String>> {
    let (mut wrong, mut after) = (Vec::new(), -1i64);
    let (mut expected, mut expected_own) = (0, 0);
    loop {
        let found = rows(client, &page(), &[&after, &limit(WALKED_AT_ONCE)]).await?;
        let Some(last) = found.last() else { break };
        after = get(last, 0)?;
        let mut listed = ListedRows::default();
        for row in &found {
            let thread = codec::thread(row)?;
            let filed = get(row, codec::THREAD_WIDTH + 8)?;
            listed.push(key(thread.id), &thread.account, thread.created, filed, &thread.record);
            if !is_right(row, &thread)? {
                wrong.push(format!("thread {}: its row in lists is not what the thread says", thread.id));
            }
        }
        expected += listed.term.len() as i64;
        expected_own += listed.own.thread.len() as i64;
        let sql = "SELECT t.id, t.rest, u.missing FROM (
                       SELECT u.thread, count(*) AS missing
                       FROM unnest($1::integer[], $2::bigint[], $3::bigint[]) AS u(term, bucket, thread)
                       WHERE NOT EXISTS (SELECT 1 FROM terms w
                           WHERE w.term = u.term AND w.bucket = u.bucket AND w.thread = u.thread)
                       GROUP BY u.thread) u JOIN threads t ON t.id = u.thread";
        for row in rows(client, sql, &[&listed.term, &listed.bucket, &listed.thread]).await? {
            let (id, missing) = (codec::thread_id(get(&row, 0)?, get(&row, 1)?)?, get::<i64>(&row, 2)?);
            wrong.push(format!("thread {id}: {missing} of its terms in lists are missing"));
        }
        let sql = "SELECT t.id, t.rest FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u(thread, a, b)
                   JOIN threads t ON t.id = u.thread
                   LEFT JOIN thread_terms o ON o.thread = u.thread AND o.by_change = u.a::integer[]
                       AND o.by_birth = u.b::integer[]
                   WHERE o.thread IS NULL";
        for row in rows(client, sql, &listed.own.params()).await? {
            let id = codec::thread_id(get(&row, 0)?, get(&row, 1)?)?;
            wrong.push(format!("thread {id}: its own terms in lists are not what the thread says"));
        }
        wrong.truncate(most);
    }
    for (table, expected) in [("terms", expected), ("thread_terms", expected_own)] {
        let found: i64 = match rows(client, &format!("SELECT count(*) FROM {table}"), &[]).await?.first() {
            Some(row) => get(row, 0)?,
            None => 0,
        };
        if wrong.is_empty() && found != expected {
            wrong.push(format!("lists have {found} rows in the table {table}, the threads {expected}"));
        }
    }
    Ok(wrong)
}

/// Whether the columns of a row are what the thread says.
fn is_right(row: &Row, thread: &Thread) -> Result<bool> {
    let (record, at) = (&thread.record, codec::THREAD_WIDTH);
    let (updated, moment) = (thread.head.updated, get::<i64>(row, at + 9)?);
    let is_known = moment >= updated.minute() * 60_000_000;
    Ok(get::<i64>(row, at)? == updated.minute()
        && (!is_known || moment == updated.as_micros())
        && get::<bool>(row, at + 1)? == record.archived
        && get::<Option<&str>>(row, at + 2)? == record.agent_id.as_deref()
        && get::<Option<i64>>(row, at + 3)? == record.main_thread_id.map(key)
        && get::<Option<&str>>(row, at + 4)? == record.project_id.as_deref()
        && get::<i16>(row, at + 5)? == lifecycle_code(record.lifecycle)
        && get::<i16>(row, at + 6)? == visibility_code(record.visibility)
        && get::<Option<i64>>(row, at + 7)? == record.parent_id.map(key))
}
