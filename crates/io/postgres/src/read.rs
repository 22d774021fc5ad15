//! Reads. Each is one statement, so it sees one moment of the store.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use deadpool_postgres::Object;
use threadkeep_model::{
    Account, BlobId, ChangeOp, Checkpoint, Head, MessageId, Position, QueuedId, Relation, RelationKind, Segment,
    SegmentId, Thread, ThreadId, ThreadName, Timestamp, Visibility,
};
use threadkeep_store::sum::comment_of;
use threadkeep_store::{
    ChangeQuery, ChangeRow, EntryQuery, IdPrefix, LeftOutQuery, MessageFilter, MessageQuery, Order, Related, Result,
    SegmentRow, StoreError, StoredEntry, Tombstone, visibility_of,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::codec::{
    self, Actors, HEAD_COLUMNS, LINK_COLUMNS, SEGMENT_COLUMNS, bound, entry_columns, get, key, limit, position,
    segment_id, segment_key, thread_columns,
};
use crate::error::from_postgres;

/// Runs a query. Statements are prepared once a connection, by their text.
pub(crate) async fn rows(client: &Object, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
    let statement = client.prepare_cached(sql).await.map_err(from_postgres)?;
    client.query(&statement, params).await.map_err(from_postgres)
}

pub(crate) async fn thread(client: &Object, name: ThreadName) -> Result<Option<Thread>> {
    let columns = thread_columns();
    let sql = format!("SELECT {columns} FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id = $1");
    let found = rows(client, &sql, &[&(name.short().bits() as i64)]).await?;
    let found = found.first().map(codec::thread).transpose()?;
    Ok(found.filter(|thread| name.names(thread.id)))
}

pub(crate) async fn threads(client: &Object, threads: &[ThreadId]) -> Result<Vec<Thread>> {
    let columns = thread_columns();
    let sql = format!("SELECT {columns} FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id = ANY($1)");
    let keys: Vec<i64> = threads.iter().map(|thread| key(*thread)).collect();
    let found: Vec<Thread> = rows(client, &sql, &[&keys]).await?.iter().map(codec::thread).collect::<Result<_>>()?;
    // Another thread may have the short id of one that is asked for.
    let asked: HashSet<ThreadId> = threads.iter().copied().collect();
    Ok(found.into_iter().filter(|thread| asked.contains(&thread.id)).collect())
}

pub(crate) async fn owners(client: &Object, threads: &[ThreadId]) -> Result<Vec<(ThreadId, Account, Visibility)>> {
    let sql = "SELECT t.id, t.rest, t.account, t.visibility FROM threads t WHERE t.id = ANY($1)";
    let keys: Vec<i64> = threads.iter().map(|thread| key(*thread)).collect();
    let asked: HashSet<ThreadId> = threads.iter().copied().collect();
    let mut owners = Vec::new();
    for row in rows(client, sql, &[&keys]).await? {
        let id = codec::thread_id(get(&row, 0)?, get(&row, 1)?)?;
        let (account, visibility) = owner(&row, 2)?;
        // Another thread may have the short id of one that is asked for.
        if asked.contains(&id) {
            owners.push((id, account, visibility));
        }
    }
    Ok(owners)
}

/// The owner and the visibility of a thread, from this column on.
fn owner(row: &Row, at: usize) -> Result<(Account, Visibility)> {
    let account = Account::stored(get::<String>(row, at)?).map_err(|error| StoreError::corrupt(error.to_string()))?;
    let visibility = visibility_of(get(row, at + 1)?);
    let visibility = visibility.ok_or_else(|| StoreError::corrupt("a thread has an unknown visibility"))?;
    Ok((account, visibility))
}

pub(crate) async fn head(client: &Object, thread: ThreadId) -> Result<Option<Head>> {
    let sql = format!("SELECT {HEAD_COLUMNS} FROM heads h WHERE h.thread = $1 AND h.rest = $2");
    let found = rows(client, &sql, &[&key(thread), &codec::rest(thread)]).await?;
    found.first().map(|row| codec::head(row, 0)).transpose()
}

pub(crate) async fn chain(client: &Object, segment: SegmentId, most: usize) -> Result<Vec<Segment>> {
    let columns = codec::of_table("s", LINK_COLUMNS);
    // Without a counter to sort by, which takes an eighth of its time.
    let sql = format!(
        "WITH RECURSIVE chain AS (SELECT {columns} FROM segments s WHERE s.id = $1 UNION ALL
             SELECT {columns} FROM chain c JOIN segments s ON s.id = c.parent)
         SELECT {LINK_COLUMNS} FROM chain LIMIT $2"
    );
    let found = rows(client, &sql, &[&segment_key(segment), &limit(most)]).await?;
    let chain = found.iter().map(codec::segment).collect::<Result<Vec<_>>>()?;
    // The server gives a recursion step by step, and each step is a row. No standard says so.
    let follows = |pair: &[Segment]| pair[0].link.is_some_and(|link| link.parent == pair[1].id);
    match chain.windows(2).all(follows) {
        true => Ok(chain),
        false => Err(StoreError::corrupt(format!("the segments below {segment} came in another order"))),
    }
}

pub(crate) async fn chains(client: &Object, segments: &[SegmentId], most: usize) -> Result<Vec<Segment>> {
    let sql = format!(
        "WITH RECURSIVE chain(id) AS (SELECT unnest($1::bigint[]) UNION
             SELECT s.parent FROM chain JOIN segments s USING (id) WHERE s.parent IS NOT NULL)
         SELECT {LINK_COLUMNS} FROM chain JOIN segments USING (id) LIMIT $2"
    );
    let keys: Vec<i64> = segments.iter().map(|id| segment_key(*id)).collect();
    rows(client, &sql, &[&keys, &limit(most)]).await?.iter().map(codec::segment).collect()
}

pub(crate) async fn segments(client: &Object, thread: ThreadId, at: Position, most: usize) -> Result<Vec<Segment>> {
    let sql = format!(
        "SELECT {LINK_COLUMNS} FROM segments WHERE thread = $1 AND first <= $2 AND rest = $4
         ORDER BY first DESC, account IS NOT NULL LIMIT $3"
    );
    let found = rows(client, &sql, &[&key(thread), &bound(at), &limit(most), &codec::rest(thread)]).await?;
    found.iter().map(codec::segment).collect()
}

fn direction(order: Order) -> &'static str {
    match order {
        Order::Ascending => "ASC",
        Order::Descending => "DESC",
    }
}

pub(crate) async fn entries(client: &Object, actors: &Actors, query: &EntryQuery) -> Result<Vec<StoredEntry>> {
    let (columns, direction) = (entry_columns(), direction(query.order));
    let sql = format!(
        "SELECT {columns} FROM entries e WHERE e.segment = $1 AND e.position BETWEEN $2 AND $3
         ORDER BY e.position {direction} LIMIT $4"
    );
    let (first, last) = (bound(*query.positions.start()), bound(*query.positions.end()));
    let found = rows(client, &sql, &[&segment_key(query.segment), &first, &last, &limit(query.limit)]).await?;
    actors.entries(client, &found).await
}

/// The spans of a query as columns, which statements take with [`SPANS`].
struct Spans {
    segments: Vec<i64>,
    first: Vec<i64>,
    last: Vec<i64>,
}

/// The segments of a lineage, each with the numbers to read in it: one statement reads all of them. What joins it is a
/// subquery that the planner cannot turn around (`LATERAL` with `LIMIT` or `OFFSET 0`), so it goes by the index of each.
const SPANS: &str =
    "unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS span(segment, first, last, number)";

impl Spans {
    /// The tally of a message counts the message itself: its ordinal is one less.
    fn of_tallies(spans: &[(SegmentId, Range<u64>)]) -> Self {
        let tally = |ordinal: u64| i64::try_from(ordinal).unwrap_or(i64::MAX);
        Self {
            segments: spans.iter().map(|(segment, _)| segment_key(*segment)).collect(),
            first: spans.iter().map(|(_, ordinals)| tally(ordinals.start.saturating_add(1))).collect(),
            last: spans.iter().map(|(_, ordinals)| tally(ordinals.end)).collect(),
        }
    }

    fn of_positions(spans: &[(SegmentId, RangeInclusive<Position>)]) -> Self {
        Self {
            segments: spans.iter().map(|(segment, _)| segment_key(*segment)).collect(),
            first: spans.iter().map(|(_, positions)| bound(*positions.start())).collect(),
            last: spans.iter().map(|(_, positions)| bound(*positions.end())).collect(),
        }
    }
}

pub(crate) async fn messages(client: &Object, actors: &Actors, query: &MessageQuery) -> Result<Vec<StoredEntry>> {
    let (columns, direction) = (entry_columns(), direction(query.order));
    let role = if query.filter.role.is_some() { "AND e.role = $7" } else { "" };
    let sql = format!(
        "SELECT {columns} FROM {SPANS} CROSS JOIN LATERAL (
             SELECT * FROM entries e
             WHERE e.segment = span.segment AND e.ordinals BETWEEN span.first AND span.last AND e.role IS NOT NULL
               AND e.depth <= $4 AND (NOT e.silent OR $5) {role}
             ORDER BY e.ordinals {direction} LIMIT $6) e
         ORDER BY span.number, e.ordinals {direction} LIMIT $6"
    );
    let Spans { segments, first, last } = Spans::of_tallies(&query.spans);
    let (depth, silent, most) = (i16::from(query.filter.max_depth), query.filter.include_silent, limit(query.limit));
    let wanted = query.filter.role.map(|role| i16::from(role.code()));
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&segments, &first, &last, &depth, &silent, &most];
    if let Some(role) = &wanted {
        params.push(role);
    }
    actors.entries(client, &rows(client, &sql, &params).await?).await
}

/// Without a role this reads the index of messages that lists leave out: the first condition is that index's own.
pub(crate) async fn left_out(client: &Object, query: &LeftOutQuery) -> Result<Vec<u64>> {
    let MessageFilter { role, max_depth, include_silent } = query.filter;
    let left_out = match role {
        None => "(e.silent OR e.depth > 0) AND NOT (e.depth <= $4 AND (NOT e.silent OR $5))",
        Some(_) => "NOT (e.depth <= $4 AND (NOT e.silent OR $5) AND e.role = $6)",
    };
    let sql = format!(
        "SELECT e.ordinals FROM {SPANS} CROSS JOIN LATERAL (
             SELECT e.ordinals FROM entries e
             WHERE e.segment = span.segment AND e.ordinals BETWEEN span.first AND span.last AND e.role IS NOT NULL
               AND {left_out} OFFSET 0) e
         ORDER BY e.ordinals"
    );
    let Spans { segments, first, last } = Spans::of_tallies(&query.spans);
    let (depth, role) = (i16::from(max_depth), role.map(|role| i16::from(role.code())));
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&segments, &first, &last, &depth, &include_silent];
    if let Some(role) = &role {
        params.push(role);
    }
    rows(client, &sql, &params).await?.iter().map(|row| Ok(get::<i64>(row, 0)? as u64 - 1)).collect()
}

pub(crate) async fn changes(client: &Object, query: &ChangeQuery) -> Result<Vec<ChangeRow>> {
    let roots = query.roots.start as i64..i64::try_from(query.roots.end).unwrap_or(i64::MAX);
    // Without bounds on what is changed, the index by position serves.
    let is_whole = roots == (0..i64::MAX);
    let of_roots = if is_whole { "" } else { "AND c.root >= $4 AND c.root < $5" };
    let sql = format!(
        "SELECT c.root, c.position, c.target, c.op, c.segment FROM {SPANS} CROSS JOIN LATERAL (
             SELECT * FROM changes c
             WHERE c.segment = span.segment AND c.position BETWEEN span.first AND span.last {of_roots} OFFSET 0) c
         ORDER BY c.root, c.position, c.target"
    );
    let Spans { segments, first, last } = Spans::of_positions(&query.spans);
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&segments, &first, &last];
    if !is_whole {
        params.extend([&roots.start as &(dyn ToSql + Sync), &roots.end]);
    }
    let read = |row: &Row| -> Result<ChangeRow> {
        let code: i16 = get(row, 3)?;
        let op = u8::try_from(code).ok().and_then(ChangeOp::from_code);
        Ok(ChangeRow {
            segment: segment_id(get(row, 4)?),
            root: get::<i64>(row, 0)? as u64,
            position: position(get(row, 1)?),
            target: position(get(row, 2)?),
            op: op.ok_or_else(|| StoreError::corrupt(format!("a change has the code {code}")))?,
        })
    };
    rows(client, &sql, &params).await?.iter().map(read).collect()
}

/// Columns of a relation `r` that [`relation`] reads, with what completes the ids of both threads.
fn relation_columns(parent_rest: &str, child_rest: &str) -> String {
    format!(
        "r.parent, {parent_rest}, r.child, {child_rest}, r.kind, r.segment, r.position, r.at, r.anchor, r.created, r.comment"
    )
}

pub(crate) async fn relations(client: &Object, threads: &[ThreadId]) -> Result<Vec<Vec<Related>>> {
    let columns = relation_columns(
        "CASE WHEN r.parent = own.id THEN own.rest ELSE other.rest END",
        "CASE WHEN r.parent = own.id THEN other.rest ELSE own.rest END",
    );
    // Only the other thread is looked up for each relation: there may be thousands.
    let sql = format!(
        "SELECT {columns}, other.account, other.visibility, asked.number
         FROM unnest($1::bigint[]) WITH ORDINALITY AS asked(id, number) JOIN threads own ON own.id = asked.id
         CROSS JOIN LATERAL (
             SELECT *, child AS other FROM relations WHERE parent = own.id
             UNION ALL SELECT *, parent FROM relations WHERE child = own.id AND parent <> own.id OFFSET 0) r
         JOIN threads other ON other.id = r.other
         ORDER BY asked.number, r.created, r.segment, r.position"
    );
    let keys: Vec<i64> = threads.iter().map(|id| key(*id)).collect();
    let mut related = vec![Vec::new(); threads.len()];
    for row in rows(client, &sql, &[&keys]).await? {
        let (account, visibility) = owner(&row, 11)?;
        let number = usize::try_from(get::<i64>(&row, 13)? - 1).ok();
        if let Some(of) = number.and_then(|number| related.get_mut(number)) {
            of.push((relation(&row)?, account, visibility));
        }
    }
    Ok(related)
}

pub(crate) async fn parents(client: &Object, threads: &[ThreadId]) -> Result<Vec<(Relation, Head)>> {
    let columns = relation_columns("p.rest", "c.rest");
    let sql = format!(
        "SELECT {columns}, {HEAD_COLUMNS} FROM relations r JOIN threads c ON c.id = r.child
         JOIN threads p ON p.id = r.parent JOIN heads h ON h.thread = r.parent
         WHERE r.child = ANY($1) ORDER BY r.created, r.segment, r.position"
    );
    let keys: Vec<i64> = threads.iter().map(|id| key(*id)).collect();
    let found = rows(client, &sql, &[&keys]).await?;
    found.iter().map(|row| Ok((relation(row)?, codec::head(row, 11)?))).collect()
}

fn relation(row: &Row) -> Result<Relation> {
    let code: i16 = get(row, 4)?;
    let kind = u8::try_from(code).ok().and_then(RelationKind::from_code);
    let made = MessageId { segment: segment_id(get(row, 5)?), position: position(get(row, 6)?) };
    Ok(Relation {
        parent: codec::thread_id(get(row, 0)?, get(row, 1)?)?,
        child: codec::thread_id(get(row, 2)?, get(row, 3)?)?,
        kind: kind.ok_or_else(|| StoreError::corrupt(format!("a relation has the kind {code}")))?,
        made,
        index: get::<Option<i64>>(row, 7)?.map(|index| index as u64),
        anchor: get::<Option<i64>>(row, 8)?.map(position),
        created: Timestamp::from_micros(get(row, 9)?),
        comment: comment_of(get(row, 10)?, made)?,
    })
}

pub(crate) async fn checkpoints(client: &Object, thread: ThreadId) -> Result<Vec<Checkpoint>> {
    let sql = "SELECT name, version, created FROM checkpoints WHERE thread = $1 ORDER BY feed";
    let read = |row: &Row| -> Result<Checkpoint> {
        let created = Timestamp::from_micros(get(row, 2)?);
        Ok(Checkpoint { name: get(row, 0)?, version: position(get(row, 1)?), created })
    };
    rows(client, sql, &[&key(thread)]).await?.iter().map(read).collect()
}

pub(crate) async fn delivered(client: &Object, queued: QueuedId) -> Result<Option<MessageId>> {
    let sql = "SELECT to_segment, to_position FROM aliases WHERE segment = $1 AND position = $2";
    let found = rows(client, sql, &[&segment_key(queued.0.segment), &bound(queued.0.position)]).await?;
    let place = |row: &Row| Ok(MessageId { segment: segment_id(get(row, 0)?), position: position(get(row, 1)?) });
    found.first().map(place).transpose()
}

pub(crate) async fn subagents(client: &Object, main: ThreadId) -> Result<Vec<Thread>> {
    let columns = thread_columns();
    let sql = format!(
        "SELECT {columns} FROM threads t JOIN heads h ON h.thread = t.id WHERE t.main = $1 ORDER BY t.created, t.id"
    );
    let found = rows(client, &sql, &[&key(main)]).await?;
    let threads = found.iter().map(codec::thread).collect::<Result<Vec<_>>>()?;
    Ok(threads.into_iter().filter(|thread| thread.record.main_thread_id == Some(main)).collect())
}

pub(crate) async fn all_threads(client: &Object, after: Option<ThreadId>, most: usize) -> Result<Vec<Thread>> {
    let columns = thread_columns();
    let sql = format!(
        "SELECT {columns} FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id > $1 ORDER BY t.id LIMIT $2"
    );
    rows(client, &sql, &[&after.map_or(-1, key), &limit(most)]).await?.iter().map(codec::thread).collect()
}

pub(crate) async fn all_segments(client: &Object, after: Option<SegmentId>, most: usize) -> Result<Vec<SegmentRow>> {
    let sql = format!("SELECT {SEGMENT_COLUMNS} FROM segments WHERE id > $1 ORDER BY id LIMIT $2");
    let found = rows(client, &sql, &[&after.map_or(-1, segment_key), &limit(most)]).await?;
    found.iter().map(codec::segment_row).collect()
}

pub(crate) async fn segment_rows(client: &Object, segments: &[SegmentId]) -> Result<Vec<SegmentRow>> {
    let sql = format!("SELECT {SEGMENT_COLUMNS} FROM segments WHERE id = ANY($1)");
    let keys: Vec<i64> = segments.iter().map(|id| segment_key(*id)).collect();
    rows(client, &sql, &[&keys]).await?.iter().map(codec::segment_row).collect()
}

pub(crate) async fn all_blobs(client: &Object, after: Option<BlobId>, most: usize) -> Result<Vec<BlobId>> {
    let after = after.map_or(Vec::new(), |blob| blob.as_bytes().to_vec());
    let read = |row: &Row| -> Result<BlobId> {
        let hash: &[u8] = get(row, 0)?;
        Ok(BlobId::from_bytes(hash.try_into().map_err(|_| StoreError::corrupt("a blob has no full hash"))?))
    };
    let sql = "SELECT hash FROM blobs WHERE hash > $1 ORDER BY hash LIMIT $2";
    rows(client, sql, &[&after, &limit(most)]).await?.iter().map(read).collect()
}

pub(crate) async fn all_tombstones(client: &Object, after: Option<ThreadId>, most: usize) -> Result<Vec<Tombstone>> {
    let sql = "SELECT id, rest, time FROM tombstones WHERE id > $1 ORDER BY id LIMIT $2";
    let read = |row: &Row| -> Result<Tombstone> {
        let thread = codec::thread_id(get(row, 0)?, get(row, 1)?)?;
        Ok(Tombstone { thread, time: Timestamp::from_micros(get(row, 2)?) })
    };
    rows(client, sql, &[&after.map_or(-1, key), &limit(most)]).await?.iter().map(read).collect()
}

pub(crate) async fn threads_by_prefix(client: &Object, prefix: &str, most: usize) -> Result<Vec<ThreadId>> {
    let found = match IdPrefix::parse(prefix) {
        None => Vec::new(),
        Some(IdPrefix::Short(range)) => {
            let sql = "SELECT id, rest FROM threads WHERE id BETWEEN $1 AND $2 ORDER BY id LIMIT $3";
            let (first, last) = (*range.start() as i64, *range.end() as i64);
            rows(client, sql, &[&first, &last, &limit(most)]).await?
        }
        Some(IdPrefix::Full { digits }) => {
            let sql = "SELECT id, rest FROM threads
                       WHERE encode(rest, 'hex') || lpad(to_hex(id), 12, '0') LIKE $1 || '%' ORDER BY id LIMIT $2";
            rows(client, sql, &[&digits, &limit(most)]).await?
        }
    };
    found.iter().map(|row| codec::thread_id(get(row, 0)?, get(row, 1)?)).collect()
}
