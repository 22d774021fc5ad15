//! Reads of files and values, and of the blobs that hold the content of files.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use deadpool_postgres::Object;
use threadkeep_model::{BlobId, Timestamp};
use threadkeep_store::sum::{cell_is, check_blob, check_bytes, chunk_place};
use threadkeep_store::{CHUNK_BYTES, Cell, CellNames, CellPage, CellQuery, Result, StoreError, UploadId};
use tokio_postgres::Row;

use crate::codec::{get, position, segment_id, segment_key};
use crate::read::rows;

/// Of the cells of a name that are seen, the one with the highest position is the newest.
pub(crate) async fn cells(client: &Object, query: &CellQuery) -> Result<CellPage> {
    let space = i16::from(query.space.code());
    let segments: Vec<i64> = query.spans.iter().map(|(segment, _)| segment_key(*segment)).collect();
    let until: Vec<i64> = query.spans.iter().map(|(_, until)| i64::try_from(until.0).unwrap_or(i64::MAX)).collect();
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    const COLUMNS: &str = "c.name, c.position, c.time, c.cell, c.segment";
    // Span by span: where one thread has most of the files, the planner would rather read those of all threads.
    let seen = |of_names: &str| {
        format!(
            "FROM unnest($1::bigint[], $2::bigint[]) AS s(segment, until) CROSS JOIN LATERAL (
                 SELECT * FROM cells c
                 WHERE c.segment = s.segment AND c.space = $3 AND c.position <= s.until AND {of_names} OFFSET 0) c"
        )
    };
    let (found, paged) = match &query.names {
        CellNames::These(names) => {
            let seen = seen("c.name = ANY($4::text[])");
            let sql = format!("SELECT DISTINCT ON (c.name) {COLUMNS} {seen} ORDER BY c.name, c.position DESC");
            (rows(client, &sql, &[&segments, &until, &space, names]).await?, false)
        }
        CellNames::VersionsOf(name) => {
            let sql = format!("SELECT {COLUMNS} {} ORDER BY c.position DESC LIMIT $5", seen("c.name = $4"));
            (rows(client, &sql, &[&segments, &until, &space, name, &limit]).await?, false)
        }
        CellNames::Between(from, to) => {
            let seen = seen("c.name >= $4 AND ($5::text IS NULL OR c.name < $5)");
            let sql = format!("SELECT DISTINCT ON (c.name) {COLUMNS} {seen} ORDER BY c.name, c.position DESC LIMIT $6");
            (rows(client, &sql, &[&segments, &until, &space, from, to, &limit]).await?, true)
        }
    };
    let cells = found.iter().map(cell).collect::<Result<Vec<_>>>()?;
    let more = paged && cells.len() >= query.limit;
    // Names hold no null byte, so nothing lies between a name and this.
    let next = cells.last().filter(|_| more).map(|last| format!("{}\u{1}", last.name));
    Ok(CellPage { cells, next })
}

fn cell(row: &Row) -> Result<Cell> {
    let (name, position, segment): (String, _, _) = (get(row, 0)?, position(get(row, 1)?), segment_id(get(row, 4)?));
    let is = cell_is(get(row, 3)?, segment, position, &name)?;
    Ok(Cell { name, position, time: Timestamp::from_micros(get(row, 2)?), is, segment })
}

/// Several blobs, in the order in which they were asked for.
pub(crate) async fn blobs(client: &Object, ids: &[BlobId]) -> Result<Vec<Option<Bytes>>> {
    let hashes: Vec<&[u8]> = ids.iter().map(|id| &id.as_bytes()[..]).collect();
    let sql = "SELECT b.hash, b.size, c.bytes, b.elsewhere, b.id FROM blobs b LEFT JOIN blob_chunks c ON c.blob = b.id
               WHERE b.hash = ANY($1::bytea[]) ORDER BY b.id, c.n";
    let mut found: HashMap<&[u8], BytesMut> = HashMap::new();
    let chunks = rows(client, sql, &[&hashes]).await?;
    for chunk in &chunks {
        refuse_elsewhere(ids, get(chunk, 0)?, chunk)?;
        let size = usize::try_from(get::<i64>(chunk, 1)?).unwrap_or(0);
        let bytes = found.entry(get(chunk, 0)?).or_insert_with(|| BytesMut::with_capacity(size));
        bytes.extend_from_slice(get::<Option<&[u8]>>(chunk, 2)?.unwrap_or_default());
    }
    let found: HashMap<&[u8], Bytes> = found.into_iter().map(|(hash, bytes)| (hash, bytes.freeze())).collect();
    let checked = |(id, hash)| found.get(hash).cloned().map(|bytes| check_blob(id, bytes)).transpose();
    ids.iter().copied().zip(hashes).map(checked).collect()
}

/// Refuses a blob with this hash whose content is elsewhere. The row has its size, whether that is so, and its number.
fn refuse_elsewhere(ids: &[BlobId], hash: &[u8], row: &Row) -> Result<()> {
    let blob = ids.iter().find(|id| id.as_bytes() == hash);
    match blob {
        Some(blob) if get(row, 3)? => {
            let (object, size) = (UploadId(get(row, 4)?), get::<i64>(row, 1)? as u64);
            Err(StoreError::Elsewhere { blob: *blob, object, size })
        }
        Some(_) | None => Ok(()),
    }
}

/// The whole content of a blob.
pub(crate) async fn blob(client: &Object, id: BlobId) -> Result<Option<Bytes>> {
    Ok(blobs(client, &[id]).await?.pop().flatten())
}

/// Part of a blob.
pub(crate) async fn blob_part(client: &Object, id: BlobId, range: std::ops::Range<u64>) -> Result<Option<Bytes>> {
    let chunk = |at: u64| i32::try_from(at / CHUNK_BYTES as u64).unwrap_or(i32::MAX);
    let sql =
        "SELECT b.size, c.n, c.bytes, b.id, c.sum, b.elsewhere FROM blobs b LEFT JOIN blob_chunks c ON c.blob = b.id AND c.n BETWEEN $2 AND $3
               WHERE b.hash = $1 ORDER BY c.n";
    let chunks =
        rows(client, sql, &[&&id.as_bytes()[..], &chunk(range.start), &chunk(range.end.saturating_sub(1))]).await?;
    let Some(first) = chunks.first() else { return Ok(None) };
    let size = get::<i64>(first, 0)? as u64;
    if get(first, 5)? {
        return Err(StoreError::Elsewhere { blob: id, object: UploadId(get(first, 3)?), size });
    }
    let end = range.end.min(size);
    let mut bytes = BytesMut::new();
    for row in &chunks {
        let (Some(n), Some(chunk)) = (get::<Option<i32>>(row, 1)?, get::<Option<&[u8]>>(row, 2)?) else { continue };
        check_bytes(chunk, chunk_place(get(row, 3)?, n), get(row, 4)?, || format!("blob {id}"))?;
        let at = n as u64 * CHUNK_BYTES as u64;
        let within = |place: u64| (place.max(at) - at).min(chunk.len() as u64) as usize;
        bytes.extend_from_slice(&chunk[within(range.start.min(end))..within(end)]);
    }
    Ok(Some(bytes.freeze()))
}
