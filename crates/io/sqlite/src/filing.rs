//! How threads are filed for lists: many at a time, after the commits that made or changed them.
//!
//! A thread has a term for every three letters of its title, and each lies on another page. So terms are not written
//! with the commit that makes or changes a thread. They wait on a *shelf*: the threads that are not where they were
//! filed (the index `threads_moved`). Lists look at these one by one; the gists of their terms, which the index has, tell
//! that most of them need no further look. Once an account has too many of them, the oldest are filed together, in the
//! order of their terms: then threads share pages.

use rusqlite::{Connection, params};
use threadkeep_store::Result;
use threadkeep_store::terms::{Filing, Gist, Terms, UNFILED};

use crate::BULK_CACHE_KIB;
use crate::error::from_sqlite;
use crate::read::{self, joined};
use crate::terms::{Change, Pending, listed};

/// How many threads of an account may be on the shelf: a list looks at all of them.
struct Room {
    /// So many, and those that come between two looks.
    most: usize,
    /// Threads that are filed together. The more there are, the more pages they share.
    filed_at_once: usize,
    /// One thread in this many has a look at the shelf when it gets there. Which ones, their random ids say.
    looks_each: i64,
}

/// For new threads. Each of their terms is written, but none removed, and those that were made together share pages.
const NEW: Room = Room { most: 768, filed_at_once: 512, looks_each: 64 };
/// For threads that moved on. Their old terms are all over the table, so to file them costs more. Lists can look them up under
/// their terms.
const MOVED: Room = Room { most: 2_048, filed_at_once: 1_024, looks_each: 128 };
/// Pages of a file from which on threads that are filed together share so few pages that more of them only hold up others.
const LARGE_FILE_PAGES: i64 = 1 << 17;
/// Threads that moved on and are filed together in such a file.
const FILED_AT_ONCE_IN_LARGE: usize = 512;

/// Files the oldest threads on the shelf of an account if there are too many. `thread` just got there, filed before or not,
/// and those are meant of which the same is true. Gives the threads that were filed, each with its minute.
pub(crate) fn tidy_shelf(connection: &Connection, thread: i64, filed: i64) -> Result<Vec<(i64, i64)>> {
    let room = if filed == UNFILED { NEW } else { MOVED };
    if thread % room.looks_each != 0 {
        return Ok(Vec::new());
    }
    let on_shelf = "FROM threads o CROSS JOIN threads t INDEXED BY threads_moved
                    WHERE o.id = ?1 AND t.account = o.account AND t.archived = o.archived AND t.minute <> t.filed
                        AND (t.filed = ?3) = (?4 = ?3)";
    let count = joined(&["SELECT count(*) FROM (SELECT 1 ", on_shelf, " LIMIT ?2)"]);
    let count: i64 = connection
        .prepare_cached(&count)
        .and_then(|mut statement| {
            statement.query_row(params![thread, room.most as i64 + 1, UNFILED, filed], |row| row.get(0))
        })
        .map_err(from_sqlite)?;
    if count <= room.most as i64 {
        return Ok(Vec::new());
    }
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).map_err(from_sqlite)?;
    let at_once = if pages < LARGE_FILE_PAGES { room.filed_at_once } else { FILED_AT_ONCE_IN_LARGE };
    let oldest = joined(&["SELECT t.id, t.minute ", on_shelf, " ORDER BY t.minute, t.moment LIMIT ?2"]);
    let mut oldest = read::rows(connection, &oldest, params![thread, at_once as i64, UNFILED, filed], |row| {
        Ok((row.get::<_, i64>(0).map_err(from_sqlite)?, row.get::<_, i64>(1).map_err(from_sqlite)?))
    })?;
    oldest.sort_unstable();
    with_room(connection, || file(connection, &oldest))?;
    Ok(oldest)
}

/// Gives SQLite memory for all pages that `work` changes. A page that leaves the cache and changes again is written
/// twice, and SQLite sums up anew all that the transaction wrote after it.
fn with_room(connection: &Connection, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let before: i64 = connection.pragma_query_value(None, "cache_size", |row| row.get(0)).map_err(from_sqlite)?;
    connection.pragma_update(None, "cache_size", -BULK_CACHE_KIB).map_err(from_sqlite)?;
    let done = work();
    // What it changed stays in memory until the commit, and no longer.
    connection.pragma_update(None, "cache_size", before).map_err(from_sqlite)?;
    done
}

/// Files threads under these minutes, in the order of their rows.
fn file(connection: &Connection, threads: &[(i64, i64)]) -> Result<()> {
    // Old and new terms together: a rare term has both on the same page.
    let mut refiled = Pending::new(Filing::Now);
    let mut first = connection
        .prepare_cached("UPDATE threads SET filed = ?2, letters = ?3, marks = ?4, was_filed = 1 WHERE id = ?1")
        .map_err(from_sqlite)?;
    let mut again = connection
        .prepare_cached("UPDATE threads SET filed = ?2, letters = ?3, marks = ?4 WHERE id = ?1")
        .map_err(from_sqlite)?;
    // Those that changed more than once in their minute get back their place in it.
    let mut place = connection
        .prepare_cached(
            "UPDATE threads
             SET moment = (SELECT h.updated - threads.minute * 60000000 FROM heads h WHERE h.thread = threads.id)
             WHERE id = ?1 AND moment IS NULL",
        )
        .map_err(from_sqlite)?;
    for (id, minute) in threads {
        let Some((terms, _, created, filed)) = listed(connection, *id)? else { continue };
        let terms = Terms { born: Vec::new(), ..terms };
        refiled.add(Change::Delete, *id, terms.rows(created, filed));
        refiled.add(Change::Insert, *id, terms.rows(created, *minute));
        let Gist { letters, marks } = terms.gist;
        let set = if filed == UNFILED { &mut first } else { &mut again };
        set.execute([*id, *minute, letters, marks]).map_err(from_sqlite)?;
        place.execute([id]).map_err(from_sqlite)?;
    }
    refiled.write(connection)
}
