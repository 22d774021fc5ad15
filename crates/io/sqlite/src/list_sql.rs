//! The parts of statements that read lists: which index leads to the threads of a lane, and what they must meet.

use rusqlite::types::Value;
use threadkeep_store::lanes::{Column, Drive, Lane, Scan};
use threadkeep_store::terms::{Bucket, Gist, UNFILED};
use threadkeep_store::{ListQuery, ListSort, lifecycle_code, visibility_code};

use crate::codec::{THREAD_COLUMNS, key};

/// A statement as it grows, with its values.
#[derive(Default)]
pub(crate) struct Sql {
    pub(crate) text: String,
    pub(crate) values: Vec<Value>,
}

impl Sql {
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds text with a value after it.
    pub(crate) fn bind(&mut self, text: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        self.text.push_str(&format!("{text}?{}", self.values.len()));
    }

    /// Makes a statement that selects `id` and `time` one that selects threads, in this order.
    pub(crate) fn of_ids(&mut self) {
        self.text = format!(
            "SELECT {THREAD_COLUMNS} FROM ({}) i CROSS JOIN threads t ON t.id = i.id CROSS JOIN heads h ON h.thread = t.id
             ORDER BY i.time DESC, i.id DESC",
            self.text
        );
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

/// The threads of a lane that are in its index, or on the shelf.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of them: the index has those on the shelf as well.
    Whole,
    /// Those that are where they were filed.
    Settled,
    /// Those on the shelf.
    Shelf,
    /// Those that were filed once: they stay in indexes by birth.
    Filed,
    /// Those on the shelf that were never filed.
    Unfiled,
}

/// The parts of a lane. Each of its threads is in one of them.
pub(crate) fn parts(lane: &Lane, sort: ListSort) -> &'static [Part] {
    let by_birth = sort == ListSort::Created && lane.is_sorted(sort);
    match lane.drive {
        Drive::Born => &[Part::Filed, Part::Unfiled],
        Drive::All | Drive::Column(_) if by_birth => &[Part::Filed, Part::Unfiled],
        Drive::Column(_) => &[Part::Settled, Part::Shelf],
        Drive::All | Drive::Term { .. } | Drive::Settled { .. } => &[Part::Whole],
        Drive::Moved => &[Part::Shelf],
        Drive::Unfiled => &[Part::Unfiled],
    }
}

impl Part {
    /// The condition of a part, as the indexes have it.
    fn push(self, sql: &mut Sql) {
        match self {
            Self::Whole => {}
            Self::Settled => sql.push(" AND t.minute = t.filed"),
            Self::Shelf => sql.push(" AND t.minute <> t.filed"),
            Self::Filed => sql.push(" AND t.was_filed"),
            Self::Unfiled => {
                sql.push(" AND t.minute <> t.filed");
                sql.bind(" AND t.filed = ", UNFILED);
            }
        }
    }
}

/// The index that gives the threads of a part in order.
fn index(lane: &Lane, sort: ListSort, part: Part) -> String {
    if matches!(part, Part::Shelf | Part::Unfiled) {
        return "threads_moved".to_owned();
    }
    let by = match lane.drive {
        Drive::Born => return "threads_created".to_owned(),
        Drive::Moved | Drive::Unfiled => return "threads_moved".to_owned(),
        Drive::All | Drive::Term { .. } | Drive::Settled { .. } => "threads",
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

/// The index of a part, and what it asks of it.
pub(crate) fn indexed(sql: &mut Sql, query: &ListQuery, lane: &Lane, part: Part) {
    sql.push(&format!(" INDEXED BY {}", index(lane, query.sort, part)));
    whose(sql, query, lane);
    part.push(sql);
    if let Drive::Column(column) = lane.drive {
        sql.bind(&format!(" AND t.{} = ", column_name(column)), column_value(query, column));
    }
}

fn whose(sql: &mut Sql, query: &ListQuery, lane: &Lane) {
    sql.bind(" WHERE t.account = ", query.account.as_str().to_owned());
    sql.bind(" AND t.archived = ", lane.archived);
}

pub(crate) fn born(sql: &mut Sql, query: &ListQuery) {
    let micros = query.filter.created.micros();
    sql.bind(" AND t.created >= ", micros.0);
    sql.bind(" AND t.created < ", micros.1);
}

/// `FROM` and `WHERE`: the threads of a part of a stretch, as far as the tables can tell, with their heads where those are
/// asked.
pub(crate) fn threads(sql: &mut Sql, query: &ListQuery, scan: &Scan, part: Part, heads: bool) {
    let (filter, sort) = (&query.filter, query.sort);
    let heads = if heads { " CROSS JOIN heads h ON h.thread = t.id" } else { "" };
    let after = scan.after.filter(|_| scan.lane.is_sorted(sort)).map_or(i64::MAX, |after| after.time.minute());
    match scan.lane.drive {
        Drive::All | Drive::Born | Drive::Column(_) | Drive::Moved | Drive::Unfiled => {
            sql.push(&format!(" FROM threads t INDEXED BY {}{heads}", index(&scan.lane, sort, part)));
            whose(sql, query, &scan.lane);
            part.push(sql);
        }
        Drive::Term { term, bucket } => {
            sql.push(&format!(" FROM terms w CROSS JOIN threads t ON t.id = w.thread{heads}"));
            whose(sql, query, &scan.lane);
            sql.bind(" AND w.term = ", i64::from(term));
            if bucket == Bucket::Born {
                let born = filter.created.minutes();
                sql.bind(" AND w.bucket BETWEEN ", born.0);
                sql.bind(" AND ", born.1.min(after));
            }
        }
        Drive::Settled { term } => {
            sql.push(&format!(" FROM terms w CROSS JOIN threads t ON t.id = w.thread{heads}"));
            whose(sql, query, &scan.lane);
            sql.bind(" AND w.term = ", i64::from(term));
            let updated = scan.updated.minutes();
            sql.bind(" AND w.bucket BETWEEN ", updated.0);
            sql.bind(" AND ", updated.1.min(after));
            sql.push(" AND t.minute = w.bucket");
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
    glance(sql, &scan.gists);
    let tell_enough = tell_enough(&scan.gists);
    for need in &scan.needs {
        sql.push(" AND (");
        if tell_enough {
            // A look at the record of the few threads that are left takes less time than one for each of the terms.
            sql.push(if need.gist.letters == 0 { "t.marks <> -1 OR " } else { "t.letters <> -1 OR " });
        }
        if need.bucket == Bucket::Filed {
            sql.bind("t.filed = ", UNFILED);
            sql.push(" OR ");
        }
        sql.push("EXISTS (SELECT 1 FROM terms x WHERE x.term IN (");
        for (n, term) in need.any_of.iter().enumerate() {
            sql.bind(if n == 0 { "" } else { ", " }, i64::from(*term));
        }
        sql.push(match need.bucket {
            Bucket::Filed => ") AND x.bucket = t.filed AND x.thread = t.id))",
            Bucket::Born => ") AND x.bucket = t.created / 60000000 AND x.thread = t.id))",
        });
    }
}

/// Whether few threads have these gists and not the terms. A third of all threads have the bit of any three letters.
fn tell_enough(gists: &[Gist]) -> bool {
    gists.len() > 1 || gists.iter().any(|gist| gist.marks != 0)
}

/// Passes over threads whose gists lack what is asked. The index of those on the shelf has the gists.
fn glance(sql: &mut Sql, gists: &[Gist]) {
    for gist in gists {
        sql.push(" AND (");
        let sides = [("t.letters & ", gist.letters), ("t.marks & ", gist.marks)];
        for (n, (column, bits)) in sides.into_iter().filter(|(_, bits)| *bits != 0).enumerate() {
            sql.push(if n == 0 { "(" } else { " OR (" });
            sql.bind(column, bits);
            sql.push(") <> 0");
        }
        sql.push(")");
    }
}
