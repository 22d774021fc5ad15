//! Lists: each read that a [`ListRun`] asks for is one statement. The tables behind them are in `terms`.

use std::collections::HashSet;

use rusqlite::{Connection, params, params_from_iter};
use threadkeep_model::{Thread, Timestamp};
use threadkeep_store::lanes::{Answer, Ask, COUNTED_MAX, Drive, Lane, ListRun, SPELLED_MAX, Scan};
use threadkeep_store::terms::Bucket;
use threadkeep_store::{ListQuery, ListSort, Result, StoreError, Total};

use crate::codec::{self, THREAD_COLUMNS};
use crate::error::from_sqlite;
use crate::list_sql::{Part, Sql, born, indexed, parts, threads};
use crate::read::some_rows;
use crate::terms::moment;

pub(crate) fn list(connection: &Connection, query: ListQuery) -> Result<Vec<Thread>> {
    Ok(run(connection, ListRun::page(query))?.into_page())
}

pub(crate) fn count(connection: &Connection, query: ListQuery) -> Result<Total> {
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
    matches!(scan.lane.drive, Drive::All | Drive::Moved | Drive::Unfiled)
        && query.sort == ListSort::Updated
        && scan.skip == 0
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
        Ask::Total { scans, most, looks: false } => Answer::Total(total(connection, query, &scans, most)?),
        Ask::Total { scans, most, looks: true } => Answer::Total(looked(connection, query, &scans, most)?),
        Ask::Rank(lanes, skip) => Answer::Rank(rank(connection, query, &lanes, skip)?),
        Ask::Spelled(ranges) => {
            Answer::Spelled(ranges.iter().map(|range| spelled(connection, *range)).collect::<Result<_>>()?)
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

/// How many threads a lane has; each part is counted to [`COUNTED_MAX`].
fn fewest(connection: &Connection, query: &ListQuery, lane: &Lane) -> Result<u64> {
    let mut counted = 0;
    for part in parts(lane, query.sort) {
        let mut sql = Sql::default();
        sql.push("SELECT count(*) FROM (SELECT 1 FROM ");
        match lane.drive {
            Drive::Term { term, .. } | Drive::Settled { term } => sql.bind("terms WHERE term = ", i64::from(term)),
            Drive::All | Drive::Born | Drive::Column(_) | Drive::Moved | Drive::Unfiled => {
                sql.push("threads t");
                indexed(&mut sql, query, lane, *part);
                if lane.drive == Drive::Born {
                    born(&mut sql, query);
                }
            }
        }
        sql.push(&format!(" LIMIT {COUNTED_MAX})"));
        counted += number(connection, &sql)?;
    }
    Ok(counted)
}

fn number(connection: &Connection, sql: &Sql) -> Result<u64> {
    let mut statement = connection.prepare_cached(&sql.text).map_err(from_sqlite)?;
    let number = statement.query_row(params_from_iter(&sql.values), |row| row.get::<_, i64>(0));
    Ok(number.map_err(from_sqlite)? as u64)
}

fn all_parts<'a>(query: &ListQuery, scans: &'a [Scan]) -> impl Iterator<Item = (&'a Scan, Part)> {
    let sort = query.sort;
    scans.iter().flat_map(move |scan| parts(&scan.lane, sort).iter().map(move |part| (scan, *part)))
}

/// Counts by columns alone, to `most`.
fn total(connection: &Connection, query: &ListQuery, scans: &[Scan], most: usize) -> Result<u64> {
    let mut counted = 0;
    for (scan, part) in all_parts(query, scans) {
        let mut sql = Sql::default();
        sql.push("SELECT count(*) FROM (SELECT 1");
        threads(&mut sql, query, scan, part, !scan.updated.is_open());
        sql.bind(" LIMIT ", (most as u64 - counted) as i64);
        sql.push(")");
        counted += number(connection, &sql)?;
    }
    Ok(counted)
}

/// Counts by looking at records, to `most`. A thread may be in several stretches.
fn looked(connection: &Connection, query: &ListQuery, scans: &[Scan], most: usize) -> Result<u64> {
    let mut seen = HashSet::new();
    let mut counted = 0;
    for (scan, part) in all_parts(query, scans) {
        let mut sql = Sql::default();
        sql.push("SELECT t.id, t.record");
        threads(&mut sql, query, scan, part, !scan.updated.is_open());
        let mut statement = connection.prepare_cached(&sql.text).map_err(from_sqlite)?;
        let mut rows = statement.query(params_from_iter(&sql.values)).map_err(from_sqlite)?;
        while counted < most as u64
            && let Some(row) = rows.next().map_err(from_sqlite)?
        {
            let place: i64 = row.get(0).map_err(from_sqlite)?;
            let json = row.get_ref(1).and_then(|json| Ok(json.as_str()?)).map_err(from_sqlite)?;
            let damaged = || StoreError::damaged_copy(&format!("the record of thread {place:012x}"));
            if query.filter.matches_record(&codec::record(json, place, damaged)?)
                && (scans.len() == 1 || seen.insert(place))
            {
                counted += 1;
            }
        }
    }
    Ok(counted)
}

/// The time of the thread that comes after `skip` others, as the index has it, and how many have a later one.
fn rank(connection: &Connection, query: &ListQuery, lanes: &[Lane], skip: usize) -> Result<Option<(Timestamp, usize)>> {
    let time = match query.sort {
        ListSort::Updated => "t.minute",
        ListSort::Created => "t.created",
    };
    let parts = || lanes.iter().flat_map(|lane| parts(lane, query.sort).iter().map(move |part| (lane, *part)));
    let mut sql = Sql::default();
    for (n, (lane, part)) in parts().enumerate() {
        sql.push(&format!("{}SELECT {time} AS time FROM threads t", if n == 0 { "" } else { " UNION ALL " }));
        indexed(&mut sql, query, lane, part);
    }
    sql.push(" ORDER BY time DESC");
    sql.bind(" LIMIT 1 OFFSET ", i64::try_from(skip).unwrap_or(i64::MAX));
    let mut statement = connection.prepare_cached(&sql.text).map_err(from_sqlite)?;
    let mut rows = statement.query(params_from_iter(&sql.values)).map_err(from_sqlite)?;
    let Some(found) = rows.next().map_err(from_sqlite)? else { return Ok(None) };
    let found: i64 = found.get(0).map_err(from_sqlite)?;
    let mut later = 0;
    for (lane, part) in parts() {
        let mut sql = Sql::default();
        sql.push("SELECT count(*) FROM threads t");
        indexed(&mut sql, query, lane, part);
        sql.bind(&format!(" AND {time} > "), found);
        later += number(connection, &sql)? as usize;
    }
    let last = match query.sort {
        ListSort::Updated => Bucket::end(found),
        ListSort::Created => Timestamp::from_micros(found),
    };
    Ok(Some((last, later)))
}

/// The terms from one number to another, one more than [`SPELLED_MAX`] at the most.
fn spelled(connection: &Connection, (first, last): (i32, i32)) -> Result<Vec<i32>> {
    let sql = "SELECT min(term) FROM terms WHERE term BETWEEN ?1 AND ?2";
    let mut next = connection.prepare_cached(sql).map_err(from_sqlite)?;
    let (mut terms, mut from) = (Vec::new(), i64::from(first));
    while terms.len() <= SPELLED_MAX
        && let Some(term) =
            next.query_row(params![from, last], |row| row.get::<_, Option<i32>>(0)).map_err(from_sqlite)?
    {
        terms.push(term);
        from = i64::from(term) + 1;
    }
    Ok(terms)
}

fn span(connection: &Connection, query: &ListQuery) -> Result<Option<(Timestamp, Timestamp)>> {
    let filed = "SELECT min(created) FROM threads INDEXED BY threads_created
                 WHERE account = ?1 AND archived = ?2 AND was_filed";
    let shelf = "SELECT min(created) FROM threads INDEXED BY threads_moved
                 WHERE account = ?1 AND archived = ?2 AND minute <> filed";
    let (mut first, mut last) = (None, None);
    for (archived, sql) in query.filter.archived.flags().iter().flat_map(|flag| [(flag, filed), (flag, shelf)]) {
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

/// Threads in the order of their last change, without sorting a minute in which many changed.
fn by_moment(connection: &Connection, query: &ListQuery, scan: &Scan) -> Result<Vec<Thread>> {
    let part = match scan.lane.drive {
        Drive::Moved => Part::Shelf,
        Drive::Unfiled => Part::Unfiled,
        Drive::All | Drive::Born | Drive::Column(_) | Drive::Term { .. } | Drive::Settled { .. } => Part::Whole,
    };
    let most = i64::try_from(scan.limit).unwrap_or(i64::MAX);
    let select = |columns: &str| {
        let mut sql = Sql::default();
        sql.push(&format!("SELECT {columns}"));
        threads(&mut sql, query, scan, part, true);
        if let Some(after) = scan.after {
            // Passes over the moments above the place without a look at their heads.
            sql.bind(" AND (t.minute < ", after.time.minute());
            sql.bind(" OR t.moment IS NULL OR t.moment <= ", moment(after.time));
            sql.push(")");
        }
        sql
    };
    let mut sql = select(THREAD_COLUMNS);
    sql.push(" ORDER BY t.minute DESC, t.moment DESC, t.id DESC");
    sql.bind(" LIMIT ", most);
    let mut found = read_threads(connection, query, &sql, scan.limit)?;
    if let Some(last) = found.last().filter(|_| found.len() == scan.limit).map(|last| last.head.updated.minute()) {
        // Within the last minute those without a moment come after all others, wherever they belong. There may be many:
        // only their ids are sorted.
        let mut rest = select("t.id AS id, h.updated AS time");
        rest.bind(" AND t.moment IS NULL AND t.minute = ", last);
        rest.push(" ORDER BY time DESC, id DESC");
        rest.bind(" LIMIT ", most);
        rest.of_ids();
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
    let parts = parts(&scan.lane, query.sort);
    // The index knows the bucket; within one rows are sorted exactly. Where a bucket may hold many, or parts are merged,
    // only ids are sorted.
    let (bucket, only_ids) = match (scan.lane.drive, query.sort) {
        (Drive::All | Drive::Column(_) | Drive::Moved | Drive::Unfiled, ListSort::Updated) => {
            ("t.minute", scan.skip > 0)
        }
        (Drive::All | Drive::Column(_), ListSort::Created) => {
            ("", scan.skip > 0 || !scan.lane.is_sorted(ListSort::Created))
        }
        (Drive::Term { .. } | Drive::Settled { .. }, sort) if scan.lane.is_sorted(sort) => {
            ("w.bucket", sort == ListSort::Updated)
        }
        (Drive::Term { .. } | Drive::Settled { .. } | Drive::Born | Drive::Moved | Drive::Unfiled, _) => ("", true),
    };
    let only_ids = only_ids || parts.len() > 1;
    let heads = !only_ids || query.sort == ListSort::Updated || !scan.updated.is_open();
    let bucket_of = if bucket.is_empty() { String::new() } else { format!(", {bucket} AS bucket") };
    let mut sql = Sql::default();
    for (n, part) in parts.iter().enumerate() {
        sql.push(if n == 0 { "" } else { " UNION ALL " });
        let ids = format!("SELECT t.id AS id, {time} AS time{bucket_of}");
        sql.push(&if only_ids { ids } else { format!("SELECT {THREAD_COLUMNS}") });
        threads(&mut sql, query, scan, *part, heads);
    }
    sql.push(&match (only_ids, bucket) {
        (true, "") => " ORDER BY time DESC, id DESC".to_owned(),
        (true, _) => " ORDER BY bucket DESC, time DESC, id DESC".to_owned(),
        (false, "") => format!(" ORDER BY {time} DESC, t.id DESC"),
        (false, bucket) => format!(" ORDER BY {bucket} DESC, {time} DESC, t.id DESC"),
    });
    sql.bind(" LIMIT ", i64::try_from(scan.limit).unwrap_or(i64::MAX));
    if scan.skip > 0 {
        sql.bind(" OFFSET ", i64::try_from(scan.skip).unwrap_or(i64::MAX));
    }
    if only_ids {
        sql.of_ids();
    }
    read_threads(connection, query, &sql, scan.limit)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use threadkeep_model::{Account, Json, Record, Tally, ThreadId, Value};
    use threadkeep_store::{Archived, ListFilter, TOTAL_MAX};

    use super::*;
    use crate::codec::key;
    use crate::terms;

    /// A file with so many threads that changed on one day, each in its own second.
    fn filled(threads: usize) -> Connection {
        filled_with(threads, |n| {
            let metadata = Json::parse("metadata", &format!(r#"{{"tags":["all"],"third":{}}}"#, n % 3)).expect("json");
            let rare = if n == 77 { " uqz" } else { "" };
            Record {
                title: Some(format!("Weekly report {n}{rare}")),
                agent_id: Some(format!("a{}", n % 2)),
                metadata: Some(metadata),
                ..Record::default()
            }
        })
    }

    /// The id of thread `n`.
    fn nth(n: usize) -> ThreadId {
        ThreadId::from_chance((n as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    }

    fn filled_with(threads: usize, record: impl Fn(usize) -> Record) -> Connection {
        let mut connection = Connection::open_in_memory().expect("a file");
        crate::schema::migrate(&mut connection, "memory").expect("tables");
        let transaction = connection.transaction().expect("a transaction");
        for n in 0..threads {
            let (id, record) = (nth(n), record(n));
            let time = Timestamp::from_micros(1_760_054_400_000_000 + n as i64 * 1_000_000);
            let mut pending = terms::Pending::new(threadkeep_store::terms::Filing::Now);
            let account = Account::local();
            terms::insert_thread(&transaction, id, &account, time, time, &record, &mut pending).expect("a thread");
            pending.write(&transaction).expect("terms");
            transaction
                .execute(
                    "INSERT INTO heads VALUES (?1, 0, 1, 0, 0, ?2, ?3)",
                    params![key(id), time.as_micros(), Tally::default().encode()],
                )
                .expect("a head");
        }
        transaction.commit().expect("a commit");
        connection
    }

    /// The steps of SQLite's machine: they count the rows that are looked at.
    fn steps<T>(connection: &mut Connection, read: impl FnOnce(&Connection) -> Result<T>) -> (u64, T) {
        const EVERY: u64 = 10;
        let counted = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&counted);
        let count = move || {
            counter.fetch_add(EVERY, Ordering::Relaxed);
            false
        };
        connection.progress_handler(EVERY as i32, Some(count)).expect("a handler");
        let read = read(connection).expect("a read");
        connection.progress_handler(0, None::<fn() -> bool>).expect("no handler");
        (counted.load(Ordering::Relaxed), read)
    }

    #[test]
    fn pages_and_totals_look_at_as_much_whatever_the_number_of_threads() {
        let sizes = [TOTAL_MAX + 2_000, 2 * TOTAL_MAX + 4_000];
        let mut files = sizes.map(filled);
        let all = || ListFilter { archived: Archived::No, ..ListFilter::default() };
        let third = Value::of(&Json::parse("metadata", r#"{"third":0}"#).expect("json"));
        let query = |filter| ListQuery { filter, ..ListQuery::of(Account::local(), 51) };
        for filter in [
            all(),
            ListFilter { agent: Some("a1".into()), ..all() },
            ListFilter { tag: Some("all".into()), ..all() },
            ListFilter { metadata: Some(third), ..all() },
            ListFilter { title: Some("report".into()), ..all() },
            ListFilter { title: Some("ep".into()), ..all() },
            ListFilter { title: Some("QZ".into()), ..all() },
            ListFilter { title: Some("report".into()), tag: Some("all".into()), agent: Some("a0".into()), ..all() },
        ] {
            let query = query(filter);
            let [(few, small), (many, large)] =
                files.each_mut().map(|file| steps(file, |file| list(file, query.clone())));
            assert_eq!(small.len(), large.len(), "{query:?}");
            assert!(many <= few + few / 10, "{few} steps, then {many} for {query:?}");
            assert!(many < 100_000, "{many} steps for {query:?}");
        }
        for filter in [
            ListFilter { tag: Some("all".into()), ..all() },
            ListFilter { title: Some("report".into()), ..all() },
            ListFilter { title: Some("ep".into()), ..all() },
            ListFilter { agent: Some("a1".into()), updated: range(1), ..all() },
        ] {
            let query = query(filter);
            let [few, many] = files.each_mut().map(|file| {
                let (steps, total) = steps(file, |file| count(file, query.clone()));
                (steps, total.count.min(6_000), total.is_exact)
            });
            assert_eq!(few.1, 6_000, "{query:?}");
            let most = if few.2 == many.2 { few.0 + few.0 / 10 } else { few.0 * 2 };
            assert!(many.0 <= most, "{few:?}, then {many:?} for {query:?}");
        }
        // What an offset passes over is read from an index alone.
        for skip in sizes.map(|size| size * 9 / 10) {
            let (steps, page) = steps(&mut files[1], |file| list(file, ListQuery { skip, ..query(all()) }));
            assert_eq!(page.len(), 51);
            assert!(steps < 10 * skip as u64 + 20_000, "{steps} steps past {skip}");
            let number = page[0].record.title.as_deref().and_then(|title| title.rsplit(' ').next());
            assert_eq!(number, Some(&*(sizes[1] - 1 - skip).to_string()));
        }
    }

    #[test]
    fn of_threads_that_moved_on_a_list_looks_at_those_alone_whose_gist_has_what_is_asked() {
        let record = |n: usize| {
            let (tag, word) = if n.is_multiple_of(3) { ("other", "agenda") } else { ("all", "report") };
            let metadata = Json::parse("metadata", &format!(r#"{{"tags":["{tag}"]}}"#)).expect("json");
            Record { title: Some(format!("Weekly {word} {n}")), metadata: Some(metadata), ..Record::default() }
        };
        let mut file = filled_with(3_000, record);
        let filters = [
            ListFilter { tag: Some("all".into()), archived: Archived::No, ..ListFilter::default() },
            ListFilter { title: Some("report".into()), archived: Archived::No, ..ListFilter::default() },
        ];
        let read = |file: &Connection, filter: &ListFilter| {
            list(file, ListQuery { filter: filter.clone(), ..ListQuery::of(Account::local(), 51) })
        };
        let before = filters.each_ref().map(|filter| steps(&mut file, |file| read(file, filter)));
        // Those that have neither move on: lists pass over all of them.
        let later = Timestamp::from_micros(1_760_054_400_000_000 + 86_400_000_000);
        for id in (0..3_000).step_by(3).map(|n| key(nth(n))) {
            terms::move_thread(&file, id, later).expect("a move");
            let set = "UPDATE heads SET updated = ?2 WHERE thread = ?1";
            file.execute(set, params![id, later.as_micros()]).expect("a head");
        }
        for (filter, (few, page)) in filters.iter().zip(before) {
            let (many, again) = steps(&mut file, |file| read(file, filter));
            let ids = |page: &[Thread]| page.iter().map(|thread| thread.id).collect::<Vec<_>>();
            assert_eq!((again.len(), ids(&again)), (51, ids(&page)), "{filter:?}");
            assert!(many < few + 20 * 1_000, "{few} steps, then {many} for {filter:?}");
        }
    }

    fn range(micros: i64) -> threadkeep_store::TimeRange {
        threadkeep_store::TimeRange { after: Some(Timestamp::from_micros(micros)), before: None }
    }
}
