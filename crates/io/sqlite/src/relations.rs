//! Relations of threads: with their relatives, and with the threads they come from.

use rusqlite::Connection;
use threadkeep_model::{Head, MessageId, Relation, RelationKind, SegmentId, ThreadId, Timestamp};
use threadkeep_store::sum::comment_of;
use threadkeep_store::{Related, Result, StoreError};

use crate::codec::{self, key, position};
use crate::error::from_sqlite;
use crate::read::{joined, keys, owner, rows};

/// Columns of a relation that [`relation`] reads.
const RELATION_COLUMNS: &str =
    "r.parent, p.rest, r.child, c.rest, r.kind, r.segment, r.position, r.at, r.anchor, r.created, r.comment";

pub(crate) fn relations(connection: &Connection, threads: &[ThreadId]) -> Result<Vec<Vec<Related>>> {
    // One moment for all of them, and one lock of the file.
    let moment = connection.unchecked_transaction().map_err(from_sqlite)?;
    threads.iter().map(|thread| relations_of(&moment, *thread)).collect()
}

fn relations_of(connection: &Connection, thread: ThreadId) -> Result<Vec<Related>> {
    let sql = "SELECT rest FROM threads WHERE id = ?1";
    let own = rows(connection, sql, [key(thread)], |row| row.get::<_, Vec<u8>>(0).map_err(from_sqlite))?;
    let Some(own) = own.into_iter().next() else { return Ok(Vec::new()) };
    let columns = "SELECT r.parent, r.child, r.kind, r.segment, r.position, r.at, r.anchor, r.created, r.comment
                   FROM relations r WHERE ";
    let mut made = rows(connection, &joined(&[columns, "r.parent = ?1"]), [key(thread)], RelationRow::read)?;
    let of_child = joined(&[columns, "r.child = ?1 AND r.parent <> ?1"]);
    made.extend(rows(connection, &of_child, [key(thread)], RelationRow::read)?);
    // A thread may have thousands of relatives. They are looked up in the order in which their rows lie, so that each
    // page is read once.
    let other = |made: &RelationRow| if made.parent == key(thread) { made.child } else { made.parent };
    made.sort_unstable_by_key(other);
    let sql = "SELECT t.rest, t.account, t.visibility FROM threads t WHERE t.id = ?1";
    let mut lookup = connection.prepare_cached(sql).map_err(from_sqlite)?;
    let mut all = Vec::with_capacity(made.len());
    for made in made {
        let mut found = lookup.query([other(&made)]).map_err(from_sqlite)?;
        let Some(row) = found.next().map_err(from_sqlite)? else { continue };
        let read = || -> rusqlite::Result<_> { Ok((row.get_ref(0)?.as_blob()?, row.get(1)?, row.get(2)?)) };
        let (rest, account, visibility) = read().map_err(from_sqlite)?;
        let (account, visibility) = owner(account, visibility)?;
        let [parent, child] = if made.parent == key(thread) { [&own[..], rest] } else { [rest, &own[..]] };
        all.push((made.relation(parent, child)?, account, visibility));
    }
    all.sort_by_key(|(relation, ..)| (relation.created, relation.made.segment, relation.made.position));
    Ok(all)
}

pub(crate) fn parents(connection: &Connection, threads: &[ThreadId]) -> Result<Vec<(Relation, Head)>> {
    let sql = joined(&[
        "SELECT ",
        RELATION_COLUMNS,
        ", h.version, h.segment, h.era, h.fence, h.updated, h.tally
          FROM json_each(?1) k CROSS JOIN relations r INDEXED BY relations_child ON r.child = k.value
          JOIN threads c ON c.id = r.child JOIN threads p ON p.id = r.parent JOIN heads h ON h.thread = r.parent
          ORDER BY r.created, r.segment, r.position",
    ]);
    let found = rows(connection, &sql, [keys(threads.iter().map(|id| key(*id)))], |row| {
        let (head, bytes) = codec::head_at(row, 11).map_err(from_sqlite)?;
        Ok((relation(row)?, Head { tally: codec::tally(bytes)?, ..head }))
    })?;
    Ok(found)
}

fn relation(row: &rusqlite::Row<'_>) -> Result<Relation> {
    let read = || -> rusqlite::Result<_> { Ok((row.get_ref(1)?.as_blob()?, row.get_ref(3)?.as_blob()?)) };
    let (parent, child) = read().map_err(from_sqlite)?;
    RelationRow::at(row, [0, 2, 4])?.relation(parent, child)
}

/// A relation, whose threads are named by their keys.
struct RelationRow {
    parent: i64,
    child: i64,
    kind: u8,
    made: MessageId,
    index: Option<i64>,
    anchor: Option<i64>,
    created: Timestamp,
    comment: Option<String>,
}

impl RelationRow {
    fn read(row: &rusqlite::Row<'_>) -> Result<Self> {
        Self::at(row, [0, 1, 2])
    }

    /// The columns of parent and child, and the first of the others.
    fn at(row: &rusqlite::Row<'_>, [parent, child, kind]: [usize; 3]) -> Result<Self> {
        let read = || -> rusqlite::Result<_> {
            let segment = SegmentId::from_bits(row.get::<_, i64>(kind + 1)? as u64);
            Ok(Self {
                parent: row.get(parent)?,
                child: row.get(child)?,
                kind: row.get(kind)?,
                made: MessageId { segment, position: position(row.get(kind + 2)?) },
                index: row.get(kind + 3)?,
                anchor: row.get(kind + 4)?,
                created: Timestamp::from_micros(row.get(kind + 5)?),
                comment: row.get(kind + 6)?,
            })
        };
        read().map_err(from_sqlite)
    }

    /// The relation, with the rest of the ids of both threads.
    fn relation(self, parent: &[u8], child: &[u8]) -> Result<Relation> {
        let Self { kind, made, .. } = self;
        Ok(Relation {
            parent: codec::thread_id(self.parent, parent)?,
            child: codec::thread_id(self.child, child)?,
            kind: RelationKind::from_code(kind)
                .ok_or_else(|| StoreError::corrupt(format!("a relation has the kind {kind}")))?,
            made,
            index: self.index.map(|index| index as u64),
            anchor: self.anchor.map(position),
            created: self.created,
            comment: comment_of(self.comment, made)?,
        })
    }
}
