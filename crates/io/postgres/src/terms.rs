//! The tables that lists need beside the threads (`lists.sql`): columns of `threads`, and `terms`.

use deadpool_postgres::Object;
use threadkeep_model::{Account, Record, Thread, Timestamp};
use threadkeep_store::terms::{Terms, filed};
use threadkeep_store::{Result, lifecycle_code, visibility_code};
use tokio_postgres::{Client, Row};

use crate::codec::{self, get, key, limit, thread_columns};
use crate::read::rows;
use crate::statement::Statement;

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

/// The columns of `threads` that follow from records, and terms, gathered for many threads.
#[derive(Default)]
pub(crate) struct ListedRows {
    pub(crate) id: Vec<i64>,
    pub(crate) account: Vec<String>,
    pub(crate) project: Vec<Option<String>>,
    pub(crate) lifecycle: Vec<i16>,
    pub(crate) visibility: Vec<i16>,
    pub(crate) parent: Vec<Option<i64>>,
    /// Arrays as text, since arrays of arrays cannot differ in length.
    own: [Vec<String>; 2],
    term: Vec<i32>,
    /// None is the minute under which the thread is filed.
    bucket: Vec<Option<i64>>,
    thread: Vec<i64>,
}

impl ListedRows {
    /// Adds a thread. If it is not said under which minute it is filed, its row says it.
    pub(crate) fn push(&mut self, id: i64, account: &Account, created: Timestamp, filed: Option<i64>, record: &Record) {
        let terms = Terms::of(account, created, record);
        self.id.push(id);
        self.account.push(account.as_str().to_owned());
        self.project.push(record.project_id.clone());
        self.lifecycle.push(lifecycle_code(record.lifecycle));
        self.visibility.push(visibility_code(record.visibility));
        self.parent.push(record.parent_id.map(key));
        for (column, terms) in self.own.iter_mut().zip([&terms.filed, &terms.born]) {
            column.push(format!("{{{}}}", terms.iter().map(i32::to_string).collect::<Vec<_>>().join(",")));
        }
        for (terms, bucket) in [(terms.filed, filed), (terms.born, Some(created.minute()))] {
            self.bucket.extend(terms.iter().map(|_| bucket));
            self.thread.extend(terms.iter().map(|_| id));
            self.term.extend(terms);
        }
    }

    /// The statements that write the terms, after the rows of the threads. `from` is another table to select from, whose
    /// one row lets them write, with a comma.
    pub(crate) fn terms(&self, from: &str) -> Vec<Statement<'_>> {
        if self.id.is_empty() {
            return Vec::new();
        }
        let [by_change, by_birth] = &self.own;
        let own = Statement::new(
            format!(
                "INSERT INTO thread_terms AS o (thread, by_change, by_birth)
                 SELECT u.thread, u.a::integer[], u.b::integer[]
                 FROM {from}unnest($1::bigint[], $2::text[], $3::text[]) AS u(thread, a, b)
                 ON CONFLICT (thread) DO UPDATE SET by_change = excluded.by_change, by_birth = excluded.by_birth
                 WHERE (o.by_change, o.by_birth) IS DISTINCT FROM (excluded.by_change, excluded.by_birth)"
            ),
            vec![&self.id, by_change, by_birth],
        );
        let terms = Statement::new(
            format!(
                "INSERT INTO terms
                 SELECT u.term, coalesce(u.bucket, (SELECT t.filed FROM threads t WHERE t.id = u.thread)), u.thread
                 FROM {from}unnest($1::integer[], $2::bigint[], $3::bigint[]) AS u(term, bucket, thread)
                 ON CONFLICT DO NOTHING"
            ),
            vec![&self.term, &self.bucket, &self.thread],
        );
        vec![own, terms]
    }

    /// The same for threads that may have had others before: those go first.
    pub(crate) fn new_terms(&self) -> Vec<Statement<'_>> {
        let mut statements = self.terms("");
        if !statements.is_empty() {
            let [by_change, by_birth] = &self.own;
            let forget = Statement::new(
                "SELECT forget_terms(array_agg(o.thread))
                 FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u(thread, a, b)
                 JOIN thread_terms o ON o.thread = u.thread
                 WHERE (o.by_change, o.by_birth) IS DISTINCT FROM (u.a::integer[], u.b::integer[])",
                vec![&self.id, by_change, by_birth],
            );
            statements.insert(0, forget);
        }
        statements
    }

    /// Writes the columns of threads, and their minutes.
    async fn set(&self, client: &Client, minutes: &[i64]) -> Result<(), tokio_postgres::Error> {
        client
            .execute(
                "UPDATE threads t SET minute = u.minute, filed = u.minute, project = u.project, lifecycle = u.lifecycle,
                     visibility = u.visibility, parent = u.parent
                 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::smallint[], $5::smallint[], $6::bigint[])
                     AS u(id, minute, project, lifecycle, visibility, parent)
                 WHERE t.id = u.id AND (t.minute, t.filed, t.lifecycle, t.visibility, t.project, t.parent)
                     IS DISTINCT FROM (u.minute, u.minute, u.lifecycle, u.visibility, u.project, u.parent)",
                &[&self.id, &minutes, &self.project, &self.lifecycle, &self.visibility, &self.parent],
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
        let mut minutes = Vec::new();
        // A record that cannot be read is for the doctor to tell, and must not keep a store from being opened.
        for thread in found.iter().filter_map(|row| codec::thread(row).ok()) {
            let minute = thread.head.updated.minute();
            new.push(key(thread.id), &thread.account, thread.created, Some(minute), &thread.record);
            minutes.push(minute);
        }
        new.set(client, &minutes).await?;
    }
}

fn page() -> String {
    let columns = thread_columns();
    format!(
        "SELECT {columns}, t.minute, t.archived, t.agent, t.main, t.project, t.lifecycle, t.visibility, t.parent, t.filed
         FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id > $1 ORDER BY t.id LIMIT $2"
    )
}

/// What is wrong with the rows that serve lists.
pub(crate) async fn check(client: &Object, most: usize) -> Result<Vec<String>> {
    let (mut wrong, mut expected, mut after) = (Vec::new(), 0, -1i64);
    loop {
        let found = rows(client, &page(), &[&after, &limit(WALKED_AT_ONCE)]).await?;
        let Some(last) = found.last() else { break };
        after = get(last, 0)?;
        let mut listed = ListedRows::default();
        for row in &found {
            let thread = codec::thread(row)?;
            let filed = get(row, 5 + codec::HEAD_WIDTH + 8)?;
            listed.push(key(thread.id), &thread.account, thread.created, Some(filed), &thread.record);
            if !is_right(row, &thread, filed)? {
                wrong.push(format!("thread {}: its row in lists is not what the thread says", thread.id));
            }
        }
        expected += listed.term.len() as i64;
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
        let [by_change, by_birth] = &listed.own;
        for row in rows(client, sql, &[&listed.id, by_change, by_birth]).await? {
            let id = codec::thread_id(get(&row, 0)?, get(&row, 1)?)?;
            wrong.push(format!("thread {id}: its own terms in lists are not what the thread says"));
        }
        wrong.truncate(most);
    }
    let found: i64 = match rows(client, "SELECT count(*) FROM terms", &[]).await?.first() {
        Some(row) => get(row, 0)?,
        None => 0,
    };
    if wrong.is_empty() && found != expected {
        wrong.push(format!("lists have {found} terms, the threads {expected}"));
    }
    Ok(wrong)
}

/// Whether the columns of a row, which is filed under a minute, are what the thread says.
fn is_right(row: &Row, thread: &Thread, under: i64) -> Result<bool> {
    let (record, at) = (&thread.record, 5 + codec::HEAD_WIDTH);
    let minute = thread.head.updated.minute();
    Ok(get::<i64>(row, at)? == minute
        && under == filed(under, minute)
        && get::<bool>(row, at + 1)? == record.archived
        && get::<Option<&str>>(row, at + 2)? == record.agent_id.as_deref()
        && get::<Option<i64>>(row, at + 3)? == record.main_thread_id.map(key)
        && get::<Option<&str>>(row, at + 4)? == record.project_id.as_deref()
        && get::<i16>(row, at + 5)? == lifecycle_code(record.lifecycle)
        && get::<i16>(row, at + 6)? == visibility_code(record.visibility)
        && get::<Option<i64>>(row, at + 7)? == record.parent_id.map(key))
}
