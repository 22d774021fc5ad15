//! Lists: each read that a [`ListRun`] asks for is one statement. The tables behind them are in `terms`.

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use threadkeep_model::{Thread, Timestamp};
use threadkeep_store::lanes::{Answer, Ask, COUNTED_MAX, Column, Drive, Lane, ListRun, Scan};
use threadkeep_store::terms::Bucket;
use threadkeep_store::{ListQuery, ListSort, Result, lifecycle_code, visibility_code};

use crate::codec::{self, THREAD_COLUMNS, key};
use crate::error::from_sqlite;
use crate::read::some_rows;
use crate::terms::moment;

pub(crate) fn list(connection: &Connection, query: ListQuery) -> Result<Vec<Thread>> {
    Ok(run(connection, ListRun::page(query))?.into_page())
}

pub(crate) fn count(connection: &Connection, query: ListQuery) -> Result<u64> {
    Ok(run(connection, ListRun::total(query))?.into_total())
}

fn run(connection: &Connection, mut run: ListRun) -> Result<ListRun> {
    // One snapshot for all statements: a thread that moves between two of them would be missed.
    let mut snapshot = None;
    while let Some(ask) = run.ask() {
        if snapshot.is_none() && !is_one_statement(run.query(), &ask) {
            snapshot = Some(Snapshot::of(connection)?);
        }
        let answer = answer(connection, run.query(), ask)?;
        run.answer(answer);
    }
    Ok(run)
}

/// Whether it is most likely all that is asked.
fn is_one_statement(query: &ListQuery, ask: &Ask) -> bool {
    matches!(ask, Ask::Rows(scans) if scans.len() == 1 && !is_by_moment(query, &scans[0]))
}

/// Whether the index gives the threads of a stretch in order, but for those that changed again in their minute.
fn is_by_moment(query: &ListQuery, scan: &Scan) -> bool {
    scan.lane.drive == Drive::All && query.sort == ListSort::Updated && scan.skip == 0
}

/// One moment of the file for all statements until it is dropped.
pub(crate) struct Snapshot<'a>(&'a Connection);

impl<'a> Snapshot<'a> {
    pub(crate) fn of(connection: &'a Connection) -> Result<Self> {
        connection.prepare_cached("BEGIN").and_then(|mut begin| begin.execute([])).map_err(from_sqlite)?;
        Ok(Self(connection))
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Nothing was written, so there is nothing that could fail but the connection as a whole.
        drop(self.0.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])));
    }
}

fn answer(connection: &Connection, query: &ListQuery, ask: Ask) -> Result<Answer> {
    Ok(match ask {
        Ask::Count(lanes) => {
            Answer::Counts(lanes.iter().map(|lane| fewest(connection, query, lane)).collect::<Result<_>>()?)
        }
        Ask::Total(scans) => {
            Answer::Counts(scans.iter().map(|scan| total(connection, query, scan)).collect::<Result<_>>()?)
        }
        Ask::Span => Answer::Span(span(connection, query)?),
        Ask::Tops(terms, last) => {
            let sql = "SELECT max(bucket) FROM terms WHERE term = ?1 AND bucket <= ?2";
            let mut top = connection.prepare_cached(sql).map_err(from_sqlite)?;
            let tops = terms.iter().map(|term| top.query_row(params![term, last], |row| row.get(0)));
            Answer::Tops(tops.collect::<rusqlite::Result<_>>().map_err(from_sqlite)?)
        }
        Ask::Rows(scans) => {
            Answer::Rows(scans.iter().map(|scan| scanned(connection, query, scan)).collect::<Result<_>>()?)
        }
    })
}

/// A statement as it grows, with its values.
#[derive(Default)]
struct Sql {
    text: String,
    values: Vec<Value>,
}

impl Sql {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds text with a value after it.
    fn bind(&mut self, text: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        self.text.push_str(&format!("{text}?{}", self.values.len()));
    }
}

fn column_name(column: Column) -> &'static str {
    match column {
        Column::Agent => "agent",
        Column::Project => "project",
        Column::Lifecycle => "lifecycle",
        Column::Visibility => "visibility",
        Column::Parent => "parent",
        Column::Main => "main",
    }
}

fn column_value(query: &ListQuery, column: Column) -> Value {
    let filter = &query.filter;
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::from);
    match column {
        Column::Agent => text(&filter.agent),
        Column::Project => text(&filter.project),
        Column::Lifecycle => filter.lifecycle.map(|state| i64::from(lifecycle_code(state))).into(),
        Column::Visibility => filter.visibility.map(|visibility| i64::from(visibility_code(visibility))).into(),
        Column::Parent => filter.parent.map(key).into(),
        Column::Main => filter.main.map(key).into(),
    }
}

/// The index that gives the threads of a lane in order.
fn index(lane: &Lane, sort: ListSort) -> String {
    let by = match lane.drive {
        Drive::Born => return "threads_created".to_owned(),
        Drive::All | Drive::Term { .. } => "threads",
        Drive::Column(column) => match column {
            Column::Agent => "threads_agent",
            Column::Project => "threads_project",
            Column::Lifecycle => "threads_lifecycle",
            Column::Visibility => "threads_visibility",
            Column::Parent => "threads_parent",
            Column::Main => "threads_main",
        },
    };
    match sort {
        ListSort::Created if lane.is_sorted(sort) => format!("{by}_created"),
        ListSort::Updated | ListSort::Created => format!("{by}_recent"),
    }
}

/// How many threads a lane has, counted to [`COUNTED_MAX`].
fn fewest(connection: &Connection, query: &ListQuery, lane: &Lane) -> Result<u64> {
    let mut sql = Sql::default();
    sql.push("SELECT count(*) FROM (SELECT 1 FROM ");
    match lane.drive {
        Drive::Term { term, .. } => sql.bind("terms WHERE term = ", i64::from(term)),
        Drive::All | Drive::Born | Drive::Column(_) => {
            sql.push(&format!("threads t INDEXED BY {}", index(lane, query.sort)));
            whose(&mut sql, query, lane);
            if lane.drive == Drive::Born {
                born(&mut sql, query);
            }
            if let Drive::Column(column) = lane.drive {
                sql.bind(&format!(" AND t.{} = ", column_name(column)), column_value(query, column));
            }
        }
    }
    sql.push(&format!(" LIMIT {COUNTED_MAX})"));
    number(connection, &sql)
}

fn number(connection: &Connection, sql: &Sql) -> Result<u64> {
    let mut statement = connection.prepare_cached(&sql.text).map_err(from_sqlite)?;
    let number = statement.query_row(params_from_iter(&sql.values), |row| row.get::<_, i64>(0));
    Ok(number.map_err(from_sqlite)? as u64)
}

fn total(connection: &Connection, query: &ListQuery, scan: &Scan) -> Result<u64> {
    let mut sql = Sql::default();
    sql.push("SELECT count(*)");
    threads(&mut sql, query, scan);
    number(connection, &sql)
}

fn span(connection: &Connection, query: &ListQuery) -> Result<Option<(Timestamp, Timestamp)>> {
    let sql = "SELECT min(created) FROM threads INDEXED BY threads_created WHERE account = ?1 AND archived = ?2";
    let (mut first, mut last) = (None, None);
    for archived in query.filter.archived.flags() {
        for (sql, end) in [(sql, &mut first), (&sql.replace("min(", "max("), &mut last)] {
            let found: Option<i64> = connection
                .prepare_cached(sql)
                .and_then(|mut statement| {
                    statement.query_row(params![query.account.as_str(), archived], |row| row.get(0))
                })
                .map_err(from_sqlite)?;
            let further = if sql.contains("min(") { i64::min } else { i64::max };
            *end = match (*end, found) {
                (Some(end), Some(found)) => Some(further(end, found)),
                (end, found) => end.or(found),
            };
        }
    }
    Ok(first.zip(last).map(|(first, last)| (Timestamp::from_micros(first), Timestamp::from_micros(last))))
}

fn whose(sql: &mut Sql, query: &ListQuery, lane: &Lane) {
    sql.bind(" WHERE t.account = ", query.account.as_str().to_owned());
    sql.bind(" AND t.archived = ", lane.archived);
}

fn born(sql: &mut Sql, query: &ListQuery) {
    let micros = query.filter.created.micros();
    sql.bind(" AND t.created >= ", micros.0);
    sql.bind(" AND t.created < ", micros.1);
}

/// `FROM` and `WHERE`: the threads of a stretch, as far as the tables can tell.
fn threads(sql: &mut Sql, query: &ListQuery, scan: &Scan) {
    let (filter, sort) = (&query.filter, query.sort);
    match scan.lane.drive {
        Drive::All | Drive::Born | Drive::Column(_) => {
            sql.push(&format!(" FROM threads t INDEXED BY {}", index(&scan.lane, sort)));
            sql.push(" CROSS JOIN heads h ON h.thread = t.id");
            whose(sql, query, &scan.lane);
        }
        Drive::Term { term, bucket } => {
            sql.push(" FROM terms w CROSS JOIN threads t ON t.id = w.thread CROSS JOIN heads h ON h.thread = t.id");
            whose(sql, query, &scan.lane);
            sql.bind(" AND w.term = ", i64::from(term));
            let updated = scan.updated.minutes();
            let bounds = match bucket {
                Bucket::Minute => updated,
                Bucket::Day => (threadkeep_store::terms::day(updated.0), threadkeep_store::terms::day(updated.1)),
                Bucket::Born => filter.created.minutes(),
            };
            let after =
                scan.after.filter(|_| scan.lane.is_sorted(sort)).map_or(i64::MAX, |after| bucket.of(after.time));
            sql.bind(" AND w.bucket BETWEEN ", bounds.0);
            sql.bind(" AND ", bounds.1.min(after));
        }
    }
    for column in Column::asked(filter) {
        sql.bind(&format!(" AND t.{} = ", column_name(column)), column_value(query, column));
    }
    if !scan.updated.is_open() {
        let (minutes, micros) = (scan.updated.minutes(), scan.updated.micros());
        sql.bind(" AND t.minute BETWEEN ", minutes.0);
        sql.bind(" AND ", minutes.1);
        sql.bind(" AND h.updated >= ", micros.0);
        sql.bind(" AND h.updated < ", micros.1);
    }
    if !filter.created.is_open() {
        born(sql, query);
    }
    if let Some(after) = scan.after {
        match sort {
            ListSort::Updated => {
                sql.bind(" AND t.minute <= ", after.time.minute());
                sql.bind(" AND (h.updated, t.id) < (", after.time.as_micros());
            }
            ListSort::Created => {
                sql.bind(" AND t.created <= ", after.time.as_micros());
                sql.bind(" AND (t.created, t.id) < (", after.time.as_micros());
            }
        }
        sql.bind(", ", key(after.thread));
        sql.push(")");
    }
    for need in &scan.needs {
        sql.push(" AND EXISTS (SELECT 1 FROM terms x WHERE x.term IN (");
        for (n, term) in need.any_of.iter().enumerate() {
            sql.bind(if n == 0 { "" } else { ", " }, i64::from(*term));
        }
        sql.push(match need.bucket {
            Bucket::Minute => ") AND x.bucket = t.minute AND x.thread = t.id)",
            Bucket::Day => ") AND x.bucket = max(t.minute, 0) / 1440 AND x.thread = t.id)",
            Bucket::Born => ") AND x.bucket = t.created / 60000000 AND x.thread = t.id)",
        });
    }
}

/// Threads in the order of their last change, without sorting a minute in which many changed.
fn by_moment(connection: &Connection, query: &ListQuery, scan: &Scan) -> Result<Vec<Thread>> {
    let mut sql = Sql::default();
    sql.push(&format!("SELECT {THREAD_COLUMNS}"));
    threads(&mut sql, query, scan);
    if let Some(after) = scan.after {
        // Passes over the moments above the place without a look at their heads.
        sql.bind(" AND (t.minute < ", after.time.minute());
        sql.bind(" OR t.moment IS NULL OR t.moment <= ", moment(after.time));
        sql.push(")");
    }
    let most = i64::try_from(scan.limit).unwrap_or(i64::MAX);
    let mut rest = Sql { text: sql.text.clone(), values: sql.values.clone() };
    sql.push(" ORDER BY t.minute DESC, t.moment DESC, t.id DESC");
    sql.bind(" LIMIT ", most);
    let mut found = read_threads(connection, query, &sql, scan.limit)?;
    if let Some(last) = found.last().filter(|_| found.len() == scan.limit).map(|last| last.head.updated.minute()) {
        // Within the last minute those without a moment come after all others, wherever they belong.
        rest.bind(" AND t.moment IS NULL AND t.minute = ", last);
        rest.push(" ORDER BY h.updated DESC, t.id DESC");
        rest.bind(" LIMIT ", most);
        let from = found.partition_point(|thread| thread.head.updated.minute() > last);
        for thread in read_threads(connection, query, &rest, 0)? {
            if !found[from..].iter().any(|other| other.id == thread.id) {
                found.push(thread);
            }
        }
    }
    let place = |thread: &Thread| std::cmp::Reverse(query.sort.place(thread).order());
    if !found.is_sorted_by_key(place) {
        found.sort_by_key(place);
    }
    found.truncate(scan.limit);
    Ok(found)
}

fn read_threads(connection: &Connection, query: &ListQuery, sql: &Sql, expected: usize) -> Result<Vec<Thread>> {
    let read = |row: &rusqlite::Row<'_>| codec::thread_of(row, query.account.clone());
    some_rows(connection, &sql.text, expected, params_from_iter(&sql.values), read)
}

fn scanned(connection: &Connection, query: &ListQuery, scan: &Scan) -> Result<Vec<Thread>> {
    if is_by_moment(query, scan) {
        return by_moment(connection, query, scan);
    }
    let time = match query.sort {
        ListSort::Updated => "h.updated",
        ListSort::Created => "t.created",
    };
    // The index knows the bucket; within one rows are sorted exactly. Where a bucket may hold many, only ids are
    // sorted.
    let (bucket, only_ids) = match (scan.lane.drive, query.sort) {
        (Drive::All | Drive::Column(_), ListSort::Updated) => ("t.minute DESC, ", false),
        (Drive::All | Drive::Column(_), ListSort::Created) => ("", !scan.lane.is_sorted(ListSort::Created)),
        (Drive::Term { bucket, .. }, _) if scan.lane.is_sorted(query.sort) => {
            ("w.bucket DESC, ", bucket == Bucket::Day)
        }
        (Drive::Term { .. } | Drive::Born, _) => ("", true),
    };
    let mut sql = Sql::default();
    sql.push(&if only_ids { format!("SELECT t.id AS id, {time} AS time") } else { format!("SELECT {THREAD_COLUMNS}") });
    threads(&mut sql, query, scan);
    sql.push(&format!(" ORDER BY {bucket}{time} DESC, t.id DESC"));
    sql.bind(" LIMIT ", i64::try_from(scan.limit).unwrap_or(i64::MAX));
    if scan.skip > 0 {
        sql.bind(" OFFSET ", i64::try_from(scan.skip).unwrap_or(i64::MAX));
    }
    if only_ids {
        sql.text = format!(
            "SELECT {THREAD_COLUMNS} FROM ({}) i CROSS JOIN threads t ON t.id = i.id CROSS JOIN heads h ON h.thread = t.id
             ORDER BY i.time DESC, i.id DESC",
            sql.text
        );
    }
    read_threads(connection, query, &sql, scan.limit)
}
