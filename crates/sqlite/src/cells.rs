//! Reads of files and values, and of the blobs that hold the content of files.

use bytes::{Bytes, BytesMut};
use rusqlite::{Connection, OptionalExtension, Row, params};
use threadkeep_model::{BlobId, Position, SegmentId, Timestamp};
use threadkeep_store::{Cell, CellPage, CellQuery, Result};

use crate::codec::{self, BLOB_CHUNK_BYTES, cell_is, position, segment_key};
use crate::error::from_sqlite;
use crate::read::rows;

pub(crate) fn cells(connection: &Connection, query: &CellQuery) -> Result<CellPage> {
    let space = query.space.code();
    let bound = |position: Position| i64::try_from(position.0).unwrap_or(i64::MAX);
    let limited = |limit: usize| i64::try_from(limit).unwrap_or(i64::MAX);
    query.answer(
        |segment, until, from, to, limit| {
            // The other columns are those of the row with the highest position.
            let sql = "SELECT name, max(position), time, cell FROM cells
                       WHERE segment = ?1 AND space = ?2 AND name >= ?3 AND (?4 IS NULL OR name < ?4) AND position <= ?5
                       GROUP BY name ORDER BY name LIMIT ?6";
            let params = params![segment_key(segment), space, from, to, bound(until), limited(limit)];
            rows(connection, sql, params, |row| cell(row, segment))
        },
        |segment, until, name, limit| {
            let sql = "SELECT name, position, time, cell FROM cells
                       WHERE segment = ?1 AND space = ?2 AND name = ?3 AND position <= ?4 ORDER BY position DESC LIMIT ?5";
            let params = params![segment_key(segment), space, name, bound(until), limited(limit)];
            rows(connection, sql, params, |row| cell(row, segment))
        },
    )
}

fn cell(row: &Row<'_>, segment: SegmentId) -> Result<Cell> {
    let read = || {
        Ok(Cell {
            segment,
            name: row.get(0)?,
            position: position(row.get(1)?),
            time: Timestamp::from_micros(row.get(2)?),
            is: cell_is(row.get(3)?),
        })
    };
    read().map_err(from_sqlite)
}

/// The row and the size of a blob, if it is here.
fn found(connection: &Connection, blob: &BlobId) -> Result<Option<(i64, u64)>> {
    connection
        .prepare_cached("SELECT id, size FROM blobs WHERE hash = ?1")
        .and_then(|mut statement| {
            statement
                .query_row(params![blob.as_bytes()], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))
                .optional()
        })
        .map_err(from_sqlite)
}

/// A blob, whole.
pub(crate) fn blob(connection: &Connection, id: BlobId) -> Result<Option<Bytes>> {
    blob_part(connection, id, 0..u64::MAX)
}

/// Part of a blob.
pub(crate) fn blob_part(connection: &Connection, id: BlobId, range: std::ops::Range<u64>) -> Result<Option<Bytes>> {
    let Some((blob, size)) = found(connection, &id)? else { return Ok(None) };
    let end = range.end.min(size);
    if range.start >= end {
        return Ok(Some(Bytes::new()));
    }
    let chunk = |at: u64| codec::chunk_key(blob, (at / BLOB_CHUNK_BYTES as u64) as usize);
    let mut bytes = BytesMut::with_capacity((end - range.start) as usize);
    let mut at = range.start / BLOB_CHUNK_BYTES as u64 * BLOB_CHUNK_BYTES as u64;
    let sql = "SELECT bytes FROM blob_chunks WHERE id BETWEEN ?1 AND ?2 ORDER BY id";
    rows(connection, sql, [chunk(range.start), chunk(end - 1)], |row| {
        let chunk = row.get_ref(0).and_then(|value| Ok(value.as_blob()?)).map_err(from_sqlite)?;
        let within = |place: u64| (place.max(at) - at).min(chunk.len() as u64) as usize;
        bytes.extend_from_slice(&chunk[within(range.start)..within(end)]);
        at += chunk.len() as u64;
        Ok(())
    })?;
    Ok(Some(bytes.freeze()))
}
