//! Lists: each read that a [`ListRun`] asks for is one statement. The tables behind them are in `terms`.

use std::collections::HashSet;

use deadpool_postgres::Object;
use threadkeep_model::{Thread, Timestamp};
use threadkeep_store::lanes::{Answer, Ask, COUNTED_MAX, Column, Drive, Lane, ListRun, SPELLED_MAX, Scan};
use threadkeep_store::terms::Bucket;
use threadkeep_store::{ListQuery, ListSort, Result, StoreError, Total, lifecycle_code, visibility_code};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::codec::{self, get, key, limit, thread_columns};
use crate::read::rows;
use crate::statement::in_order;
use crate::terms::UNFILED_SQL;

pub(crate) async fn list(client: &Object, query: ListQuery) -> Result<Vec<Thread>> {
    Ok(run(client, ListRun::page(query)).await?.into_page())
}

pub(crate) async fn count(client: &Object, query: ListQuery) -> Result<Total> {
    Ok(run(client, ListRun::total(query)).await?.into_total())
}

async fn run(client: &Object, mut run: ListRun) -> Result<ListRun> {
    while let Some(ask) = run.ask() {
        let answer = answer(client, run.query(), ask).await?;
        run.answer(answer);
    }
    Ok(run)
}

async fn answer(client: &Object, query: &ListQuery, ask: Ask) -> Result<Answer> {
    Ok(match ask {
        Ask::Count(lanes) => {
            let found = all(client, lanes.iter().map(|lane| fewest(query, lane)).collect()).await?;
            Answer::Counts(found.iter().map(|rows| number(rows)).collect::<Result<_>>()?)
        }
        Ask::Total { scans, most, looks: false } => {
            let found = all(client, scans.iter().map(|scan| total(query, scan, most)).collect()).await?;
            Answer::Total(found.iter().map(|rows| number(rows)).sum::<Result<u64>>()?)
        }
        Ask::Total { scans, most, looks: true } => Answer::Total(looked(client, query, &scans, most).await?),
        Ask::Rank(lanes, skip) => Answer::Rank(rank(client, query, &lanes, skip).await?),
        Ask::Spelled(ranges) => {
            let found = all(client, ranges.iter().map(|range| spelled(*range)).collect()).await?;
            let terms = |rows: &Vec<Row>| rows.iter().map(|row| get(row, 0)).collect::<Result<Vec<i32>>>();
            Answer::Spelled(found.iter().map(terms).collect::<Result<_>>()?)
        }
        Ask::Span => Answer::Span(span(client, query).await?),
        Ask::Tops(terms, last) => {
            let sql = "SELECT (SELECT w.bucket FROM terms w WHERE w.term = u.term AND w.bucket <= $2
                               ORDER BY w.bucket DESC LIMIT 1)
                       FROM unnest($1::integer[]) WITH ORDINALITY AS u(term, n) ORDER BY u.n";
            let found = rows(client, sql, &[&terms, &last]).await?;
            Answer::Tops(found.iter().map(|row| get(row, 0)).collect::<Result<_>>()?)
        }
        Ask::Rows(scans) => {
            let found = all(client, scans.iter().map(|scan| scanned(query, scan)).collect()).await?;
            let threads = |rows: Vec<Row>| rows.iter().map(codec::thread).collect::<Result<Vec<_>>>();
            Answer::Rows(found.into_iter().map(threads).collect::<Result<_>>()?)
        }
    })
}

/// Runs statements one after the other without waiting in between.
async fn all(client: &Object, statements: Vec<Sql>) -> Result<Vec<Vec<Row>>> {
    let running = statements.iter().map(|sql| async {
        let params: Vec<&(dyn ToSql + Sync)> = sql.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
        rows(client, &sql.text, &params).await
    });
    in_order(running).await.into_iter().collect()
}

async fn one(client: &Object, statement: Sql) -> Result<Vec<Row>> {
    Ok(all(client, vec![statement]).await?.pop().unwrap_or_default())
}

/// A statement as it grows, with its values.
#[derive(Default)]
struct Sql {
    text: String,
    values: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Sql {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds text with a value after it.
    fn bind(&mut self, text: &str, value: impl ToSql + Sync + Send + 'static) {
        self.values.push(Box::new(value));
        self.text.push_str(&format!("{text}${}", self.values.len()));
    }

    /// Adds the value that is asked of a column. Where the column does not lead to the threads, it is written so that
    /// no index answers to it: the planner must not choose, since it does not know which lane is short.
    fn bind_column(&mut self, query: &ListQuery, column: Column, leads: bool) {
        let filter = &query.filter;
        let (text, number) = if leads { ("", "") } else { (" || ''", " + 0::smallint") };
        match column {
            Column::Agent => self.bind(&format!(" AND t.agent{text} = "), filter.agent.clone()),
            Column::Project => self.bind(&format!(" AND t.project{text} = "), filter.project.clone()),
            Column::Lifecycle => {
                self.bind(&format!(" AND t.lifecycle{number} = "), filter.lifecycle.map(lifecycle_code));
            }
            Column::Visibility => {
                self.bind(&format!(" AND t.visibility{number} = "), filter.visibility.map(visibility_code));
            }
            Column::Parent => self.bind(&format!(" AND t.parent{number} = "), filter.parent.map(key)),
            Column::Main => self.bind(&format!(" AND t.main{number} = "), filter.main.map(key)),
        }
    }
}

fn number(rows: &[Row]) -> Result<u64> {
    rows.first().map_or(Ok(0), |row| Ok(get::<i64>(row, 0)? as u64))
}

/// How many threads a lane has, counted to [`COUNTED_MAX`].
fn fewest(query: &ListQuery, lane: &Lane) -> Sql {
    let mut sql = Sql::default();
    sql.push("SELECT count(*) FROM (SELECT 1 FROM ");
    match lane.drive {
        Drive::Term { term, .. } | Drive::Settled { term } => sql.bind("terms WHERE term = ", term),
        Drive::All | Drive::Born | Drive::Column(_) | Drive::Moved | Drive::Unfiled => {
            sql.push("threads t");
            indexed(&mut sql, query, lane);
            if lane.drive == Drive::Born {
                let (first, end) = query.filter.created.micros();
                sql.bind(" AND t.created >= ", first);
                sql.bind(" AND t.created < ", end);
            }
        }
    }
    sql.push(&format!(" LIMIT {COUNTED_MAX}) l"));
    sql
}

/// The threads of a lane, as far as its index has them.
fn indexed(sql: &mut Sql, query: &ListQuery, lane: &Lane) {
    whose(sql, query, lane);
    if let Drive::Column(column) = lane.drive {
        sql.bind_column(query, column, true);
    }
}

/// Counts by columns alone, to `most`.
fn total(query: &ListQuery, scan: &Scan, most: usize) -> Sql {
    let mut sql = Sql::default();
    sql.push("SELECT count(*) FROM (SELECT 1");
    threads(&mut sql, query, scan, None, !scan.updated.is_open());
    sql.bind(" LIMIT ", limit(most));
    sql.push(") l");
    sql
}

/// Counts by looking at records, to `most`. A thread may be in several stretches.
async fn looked(client: &Object, query: &ListQuery, scans: &[Scan], most: usize) -> Result<u64> {
    let mut seen = HashSet::new();
    for scan in scans {
        let mut last: Option<(i64, i64)> = None;
        while seen.len() < most {
            let found = one(client, records(query, scan, last, most)).await?;
            for row in &found {
                let (place, json, bucket): (i64, &str, i64) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
                last = Some((bucket, place));
                let damaged = || StoreError::damaged_copy(&format!("the record of thread {place:012x}"));
                if query.filter.matches_record(&codec::record(json, place, damaged)?) {
                    seen.insert(place);
                }
            }
            if found.len() < most {
                break;
            }
        }
    }
    Ok(seen.len().min(most) as u64)
}

/// Records of a stretch after a place, in an order that an index has.
fn records(query: &ListQuery, scan: &Scan, last: Option<(i64, i64)>, most: usize) -> Sql {
    let bucket = if scan.lane.term().is_some() { "w.bucket" } else { "0::bigint" };
    let mut sql = Sql::default();
    sql.push(&format!("SELECT t.id, t.record, {bucket}"));
    threads(&mut sql, query, scan, None, !scan.updated.is_open());
    match (last, scan.lane.term()) {
        (Some((bucket, place)), Some(_)) => {
            sql.bind(" AND (w.bucket, w.thread) < (", bucket);
            sql.bind(", ", place);
            sql.push(")");
        }
        (Some((_, place)), None) => sql.bind(" AND t.id < ", place),
        (None, _) => {}
    }
    sql.push(match scan.lane.term() {
        Some(_) => " ORDER BY w.bucket DESC, w.thread DESC",
        None => " ORDER BY t.id DESC",
    });
    sql.bind(" LIMIT ", limit(most));
    sql
}

/// The time of the thread that comes after `skip` others, as the index has it, and how many have a later one.
async fn rank(client: &Object, query: &ListQuery, lanes: &[Lane], skip: usize) -> Result<Option<(Timestamp, usize)>> {
    let time = match query.sort {
        ListSort::Updated => "t.minute",
        ListSort::Created => "t.created",
    };
    let mut sql = Sql::default();
    for (n, lane) in lanes.iter().enumerate() {
        sql.push(&format!("{}SELECT {time} AS time FROM threads t", if n == 0 { "" } else { " UNION ALL " }));
        indexed(&mut sql, query, lane);
    }
    sql.push(" ORDER BY time DESC");
    sql.bind(" LIMIT 1 OFFSET ", limit(skip));
    let found = one(client, sql).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let found: i64 = get(row, 0)?;
    let later = |lane: &Lane| {
        let mut sql = Sql::default();
        sql.push("SELECT count(*) FROM threads t");
        indexed(&mut sql, query, lane);
        sql.bind(&format!(" AND {time} > "), found);
        sql
    };
    let counts = all(client, lanes.iter().map(later).collect()).await?;
    let later = counts.iter().map(|rows| number(rows)).sum::<Result<u64>>()?;
    let last = match query.sort {
        ListSort::Updated => Bucket::end(found),
        ListSort::Created => Timestamp::from_micros(found),
    };
    Ok(Some((last, later as usize)))
}

/// The terms from one number to another, one more than [`SPELLED_MAX`] at the most.
fn spelled((first, last): (i32, i32)) -> Sql {
    let mut sql = Sql::default();
    sql.bind("WITH RECURSIVE s(term) AS ((SELECT term FROM terms WHERE term >= ", first);
    sql.bind(" AND term <= ", last);
    sql.push(
        " ORDER BY term LIMIT 1) UNION ALL
         SELECT (SELECT w.term FROM terms w WHERE w.term > s.term AND w.term <= $2 ORDER BY w.term LIMIT 1)
         FROM s WHERE s.term IS NOT NULL)
         SELECT term FROM s WHERE term IS NOT NULL",
    );
    sql.push(&format!(" LIMIT {}", SPELLED_MAX + 1));
    sql
}

async fn span(client: &Object, query: &ListQuery) -> Result<Option<(Timestamp, Timestamp)>> {
    let flags: Vec<bool> = query.filter.archived.flags().to_vec();
    let sql = "SELECT min(f.first), max(f.last) FROM (SELECT
                   (SELECT created FROM threads WHERE account = $1 AND archived = a ORDER BY created LIMIT 1) AS first,
                   (SELECT created FROM threads WHERE account = $1 AND archived = a ORDER BY created DESC LIMIT 1) AS last
               FROM unnest($2::boolean[]) a) f";
    let found = rows(client, sql, &[&query.account.as_str(), &flags]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let ends = get::<Option<i64>>(row, 0)?.zip(get::<Option<i64>>(row, 1)?);
    Ok(ends.map(|(first, last)| (Timestamp::from_micros(first), Timestamp::from_micros(last))))
}

fn whose(sql: &mut Sql, query: &ListQuery, lane: &Lane) {
    sql.bind(" WHERE t.account = ", query.account.as_str().to_owned());
    sql.bind(" AND t.archived = ", lane.archived);
}

/// `FROM` and `WHERE`: the threads of a stretch, as far as the tables can tell, with their heads where those are asked;
/// of one bucket only, if that is said.
fn threads(sql: &mut Sql, query: &ListQuery, scan: &Scan, only: Option<&str>, heads: bool) {
    let (filter, sort, after) = (&query.filter, query.sort, scan.after);
    let joined = if heads { " JOIN heads h ON h.thread = t.id" } else { "" };
    let minutes = scan.updated.minutes();
    let by_term = |term: i32, sql: &mut Sql| {
        // Thread by thread: the planner does not know that a term is rare, and would rather read all threads.
        sql.push(" FROM terms w CROSS JOIN LATERAL (SELECT * FROM threads t WHERE t.id = w.thread OFFSET 0) t");
        if heads {
            sql.push(" CROSS JOIN LATERAL (SELECT * FROM heads h WHERE h.thread = w.thread OFFSET 0) h");
        }
        whose(sql, query, &scan.lane);
        sql.bind(" AND w.term = ", term);
    };
    match scan.lane.drive {
        Drive::All | Drive::Born | Drive::Column(_) | Drive::Moved | Drive::Unfiled => {
            sql.push(&format!(" FROM threads t{joined}"));
            whose(sql, query, &scan.lane);
            if matches!(scan.lane.drive, Drive::Moved | Drive::Unfiled) {
                sql.push(" AND t.minute <> t.filed");
            }
            if scan.lane.drive == Drive::Unfiled {
                sql.push(&format!(" AND t.filed = {UNFILED_SQL}"));
            }
        }
        Drive::Term { term, bucket } => {
            by_term(term, sql);
            if bucket == Bucket::Born {
                let born = filter.created.minutes();
                let last = after.filter(|_| scan.lane.is_sorted(sort)).map_or(i64::MAX, |after| after.time.minute());
                sql.bind(" AND w.bucket BETWEEN ", born.0);
                sql.bind(" AND ", born.1.min(last));
            }
        }
        Drive::Settled { term } => {
            by_term(term, sql);
            sql.push(" AND t.minute = w.bucket");
            if let Some(only) = only {
                sql.push(&format!(" AND w.bucket = {only}"));
            }
        }
    }
    for column in Column::asked(filter) {
        sql.bind_column(query, column, scan.lane.drive == Drive::Column(column));
    }
    // Always there for the index that gives the order, and never for another one.
    let created = filter.created.micros();
    match sort {
        ListSort::Updated => {
            let last = after.map_or(i64::MAX, |after| after.time.minute());
            let is_born = scan.lane.drive == Drive::Born;
            if !is_born && scan.lane.term().is_none() {
                sql.bind(" AND t.minute >= ", minutes.0);
                sql.bind(" AND t.minute <= ", minutes.1.min(last));
            }
            if !filter.created.is_open() {
                let hidden = if is_born { "" } else { " + 0" };
                sql.bind(&format!(" AND t.created{hidden} >= "), created.0);
                sql.bind(&format!(" AND t.created{hidden} < "), created.1);
            }
        }
        ListSort::Created => {
            let last = after.map_or(i64::MAX, |after| after.time.as_micros());
            let hidden = if scan.lane.term().is_some() { " + 0" } else { "" };
            sql.bind(&format!(" AND t.created{hidden} >= "), created.0);
            sql.bind(&format!(" AND t.created{hidden} <= "), created.1.saturating_sub(1).min(last));
        }
    }
    if !scan.updated.is_open() {
        let micros = scan.updated.micros();
        sql.bind(" AND h.updated >= ", micros.0);
        sql.bind(" AND h.updated < ", micros.1);
    }
    if let Some(after) = after {
        let time = if sort == ListSort::Updated { "h.updated" } else { "t.created" };
        sql.bind(&format!(" AND ({time}, t.id) < ("), after.time.as_micros());
        sql.bind(", ", key(after.thread));
        sql.push(")");
    }
    for need in &scan.needs {
        let (waits, bucket) = match need.bucket {
            Bucket::Filed => (format!("t.filed = {UNFILED_SQL} OR "), "t.filed"),
            Bucket::Born => (String::new(), "floor(t.created / 60000000.0)::bigint"),
        };
        // Not EXISTS, which the planner may turn around, and begin with all that has the term.
        sql.bind(&format!(" AND ({waits}(SELECT true FROM terms x WHERE x.term = ANY("), need.any_of.clone());
        sql.push(&format!(") AND x.bucket = {bucket} AND x.thread = t.id LIMIT 1))"));
    }
}

fn scanned(query: &ListQuery, scan: &Scan) -> Sql {
    let time = match query.sort {
        ListSort::Updated => "h.updated",
        ListSort::Created => "t.created",
    };
    if let Drive::Settled { term } = scan.lane.drive {
        return by_minutes(query, scan, term);
    }
    if is_by_moment(query, scan) {
        return by_moment(query, scan);
    }
    // The index knows the bucket; within one rows are sorted exactly.
    let bucket = match (scan.lane.drive, query.sort) {
        (Drive::All | Drive::Column(_) | Drive::Moved | Drive::Unfiled, ListSort::Updated) => "t.minute DESC, ",
        (Drive::All | Drive::Column(_), ListSort::Created) => "",
        (Drive::Term { .. }, sort) if scan.lane.is_sorted(sort) => "w.bucket DESC, ",
        (Drive::Term { .. } | Drive::Settled { .. } | Drive::Born | Drive::Moved | Drive::Unfiled, _) => "",
    };
    let mut sql = Sql::default();
    sql.push(&format!("SELECT {}", thread_columns()));
    threads(&mut sql, query, scan, None, true);
    sql.push(&format!(" ORDER BY {bucket}{time} DESC, t.id DESC"));
    sql.bind(" LIMIT ", limit(scan.limit));
    sql.bind(" OFFSET ", limit(scan.skip));
    sql
}

/// Minute by minute, the last one first, and sorted within each: as many minutes as it takes. Written so that there is no
/// other way to do it: the planner would rather sort all minutes than believe that a few hold enough.
fn by_minutes(query: &ListQuery, scan: &Scan, term: i32) -> Sql {
    let mut sql = Sql::default();
    let minutes = scan.updated.minutes();
    let last = scan.after.map_or(i64::MAX, |after| after.time.minute());
    sql.bind("WITH RECURSIVE d(bucket) AS ((SELECT bucket FROM terms WHERE term = ", term);
    sql.bind(" AND bucket >= ", minutes.0);
    sql.bind(" AND bucket <= ", minutes.1.min(last));
    sql.push(
        " ORDER BY bucket DESC LIMIT 1) UNION ALL
         SELECT (SELECT w.bucket FROM terms w WHERE w.term = $1 AND w.bucket < d.bucket AND w.bucket >= $2
                 ORDER BY w.bucket DESC LIMIT 1) FROM d WHERE d.bucket IS NOT NULL)
         SELECT x.* FROM d CROSS JOIN LATERAL (",
    );
    sql.push(&format!("SELECT {}", thread_columns()));
    threads(&mut sql, query, scan, Some("d.bucket"), true);
    sql.push(" ORDER BY h.updated DESC, t.id DESC) x");
    sql.bind(" LIMIT ", limit(scan.limit));
    sql.bind(" OFFSET ", limit(scan.skip));
    sql
}

/// Whether the index gives the threads of a stretch in order, but for those that changed again in their minute.
fn is_by_moment(query: &ListQuery, scan: &Scan) -> bool {
    matches!(scan.lane.drive, Drive::All | Drive::Moved | Drive::Unfiled)
        && query.sort == ListSort::Updated
        && scan.skip == 0
}

/// Threads in the order of their last change, without sorting a minute in which many changed.
fn by_moment(query: &ListQuery, scan: &Scan) -> Sql {
    let most = limit(scan.limit);
    let mut sql = Sql::default();
    sql.push("WITH known AS MATERIALIZED (SELECT t.id, t.minute, t.moment, h.updated");
    threads(&mut sql, query, scan, None, true);
    if let Some(after) = scan.after {
        // Passes over the moments above the place without a look at their heads.
        sql.bind(" AND (t.minute, t.moment) <= (", after.time.minute());
        sql.bind(", ", after.time.as_micros());
        sql.push(")");
    }
    sql.push(" ORDER BY t.minute DESC, t.moment DESC, t.id DESC");
    sql.bind(" LIMIT ", most);
    // Within the last minute those without a moment come after all others, wherever they belong.
    sql.bind("), edge AS MATERIALIZED (SELECT CASE WHEN count(*) = ", most);
    sql.push(
        " THEN min(minute) END AS minute FROM known
         ), found AS (
             SELECT k.id, k.updated FROM known k, edge e
             WHERE (k.minute = e.minute AND k.moment < e.minute * 60000000) IS NOT TRUE
             UNION ALL
             SELECT r.id, r.updated FROM edge e CROSS JOIN LATERAL (SELECT t.id, h.updated",
    );
    threads(&mut sql, query, scan, None, true);
    sql.push(" AND t.minute = e.minute AND t.moment < e.minute * 60000000 OFFSET 0) r");
    sql.bind(") SELECT x.* FROM (SELECT id, updated FROM found ORDER BY updated DESC, id DESC LIMIT ", most);
    sql.push(&format!(
        ") f CROSS JOIN LATERAL (SELECT {} FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id = f.id OFFSET 0) x
         ORDER BY f.updated DESC, f.id DESC",
        thread_columns()
    ));
    sql
}
