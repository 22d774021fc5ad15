//! Reads of files and values, and of the blobs that hold the content of files.

use bytes::{Bytes, BytesMut};
use rusqlite::{Connection, OptionalExtension, Row, params};
use threadkeep_model::{BlobId, Position, SegmentId, Timestamp};
use threadkeep_store::sum::{cell_is, check_blob, check_bytes};
use threadkeep_store::{CHUNK_BYTES, Cell, CellPage, CellQuery, Result, StoreError, UploadId};

use crate::codec::{self, position, segment_key};
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
    let read = || -> rusqlite::Result<_> { Ok((row.get(0)?, position(row.get(1)?), row.get(2)?, row.get(3)?)) };
    let (name, position, time, text): (String, _, _, _) = read().map_err(from_sqlite)?;
    let is = cell_is(text, segment, position, &name)?;
    Ok(Cell { segment, name, position, time: Timestamp::from_micros(time), is })
}

/// The row and the size of a blob, if there is one; an error if its content is elsewhere.
fn found(connection: &Connection, blob: &BlobId) -> Result<Option<(i64, u64)>> {
    let row = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, row.get(2)?));
    let found: Option<(i64, u64, bool)> = connection
        .prepare_cached("SELECT id, size, elsewhere FROM blobs WHERE hash = ?1")
        .and_then(|mut statement| statement.query_row(params![blob.as_bytes()], row).optional())
        .map_err(from_sqlite)?;
    match found {
        Some((id, size, true)) => Err(StoreError::Elsewhere { blob: *blob, object: UploadId(id), size }),
        Some((id, size, false)) => Ok(Some((id, size))),
        None => Ok(None),
    }
}

/// The whole content of a blob.
pub(crate) fn blob(connection: &Connection, id: BlobId) -> Result<Option<Bytes>> {
    blob_part(connection, id, 0..u64::MAX)?.map(|bytes| check_blob(id, bytes)).transpose()
}

/// Several blobs, in the order in which they were asked for.
///
/// They are found in the order of their hashes and read in the order in which they lie, so that neighbours share pages;
/// in one transaction, which costs less than one for each; into one buffer.
pub(crate) fn blobs(connection: &Connection, ids: &[BlobId]) -> Result<Vec<Option<Bytes>>> {
    let snapshot = connection.unchecked_transaction().map_err(from_sqlite)?;
    let mut by_hash: Vec<usize> = (0..ids.len()).collect();
    by_hash.sort_unstable_by_key(|n| ids[*n]);
    let mut places = Vec::with_capacity(ids.len());
    for n in by_hash {
        places.extend(found(&snapshot, &ids[n])?.map(|(blob, size)| (blob, size, n)));
    }
    places.sort_unstable();
    let mut bytes = BytesMut::with_capacity(places.iter().map(|(_, size, _)| *size as usize).sum());
    let mut all = vec![None; ids.len()];
    for (blob, size, n) in places {
        read_chunks(&snapshot, (ids[n], blob), 0..size, &mut bytes)?;
        all[n] = Some(check_blob(ids[n], bytes.split().freeze())?);
    }
    Ok(all)
}

/// Part of a blob.
pub(crate) fn blob_part(connection: &Connection, id: BlobId, range: std::ops::Range<u64>) -> Result<Option<Bytes>> {
    let Some((blob, size)) = found(connection, &id)? else { return Ok(None) };
    let end = range.end.min(size);
    if range.start >= end {
        return Ok(Some(Bytes::new()));
    }
    let mut bytes = BytesMut::with_capacity((end - range.start) as usize);
    read_chunks(connection, (id, blob), range.start..end, &mut bytes)?;
    Ok(Some(bytes.freeze()))
}

/// Adds a part of a blob, by its row, to `bytes`.
fn read_chunks(
    connection: &Connection,
    (id, blob): (BlobId, i64),
    range: std::ops::Range<u64>,
    bytes: &mut BytesMut,
) -> Result<()> {
    let Some(last) = range.end.checked_sub(1) else { return Ok(()) };
    let chunk = |at: u64| codec::chunk_key(blob, (at / CHUNK_BYTES as u64) as usize);
    let mut at = range.start / CHUNK_BYTES as u64 * CHUNK_BYTES as u64;
    let sql = "SELECT bytes, id, sum FROM blob_chunks WHERE id BETWEEN ?1 AND ?2 ORDER BY id";
    rows(connection, sql, [chunk(range.start), chunk(last)], |row| {
        let read = || -> rusqlite::Result<_> { Ok((row.get_ref(0)?.as_blob()?, row.get(1)?, row.get(2)?)) };
        let (chunk, place, sum) = read().map_err(from_sqlite)?;
        check_bytes(chunk, place, sum, || format!("blob {id}"))?;
        let within = |place: u64| (place.max(at) - at).min(chunk.len() as u64) as usize;
        bytes.extend_from_slice(&chunk[within(range.start)..within(range.end)]);
        at += chunk.len() as u64;
        Ok(())
    })
    .map(drop)
}
