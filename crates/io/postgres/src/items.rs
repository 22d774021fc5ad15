//! Reading what has a key of its own within a thread: by thread, by key, by account, and by the time it is due.

use std::sync::Arc;

use deadpool_postgres::Object;
use threadkeep_model::{ItemKind, MessageId, ThreadId, Timestamp};
use threadkeep_store::{
    BoxFuture, Due, DueQuery, Item, ItemList, ItemQuery, ItemsByKind, Result, StoreError, StoredEntry, Timers,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::codec::{Actors, ENTRY_WIDTH, entry_columns, get, key, limit, position, segment_id, thread_id};
use crate::read::rows;
use crate::{Clock, PostgresStore, reading};

/// The columns of `items` beside the entry.
const ITEM_COLUMNS: &str = "i.key, i.born_segment, i.born, i.made, i.due";
/// How many columns an item has with its entry.
const ITEM_WIDTH: usize = ENTRY_WIDTH + 5;

/// The items of a thread and a kind. Both are compared as one, which only the primary key answers to: where one thread has
/// most of the items, the planner would rather read those of a kind in all threads.
fn of(thread: &str, kind: &str) -> String {
    format!("(i.thread, i.kind) >= ({thread}, {kind}) AND (i.thread, i.kind) <= ({thread}, {kind})")
}

fn item(row: &Row, entry: StoredEntry) -> Result<Item> {
    let born =
        MessageId { segment: segment_id(get(row, ENTRY_WIDTH + 1)?), position: position(get(row, ENTRY_WIDTH + 2)?) };
    let made = Timestamp::from_micros(get(row, ENTRY_WIDTH + 3)?);
    let due = get::<Option<i64>>(row, ENTRY_WIDTH + 4)?.map(Timestamp::from_micros);
    Ok(Item { key: get(row, ENTRY_WIDTH)?, born, made, due, entry })
}

pub(crate) async fn items(client: &Object, actors: &Actors, query: &ItemQuery) -> Result<Vec<Item>> {
    let columns = entry_columns();
    let one = if query.key.is_some() { "AND i.key = $4" } else { "" };
    let sql = format!(
        "SELECT {columns}, {ITEM_COLUMNS} FROM items i
         JOIN entries e ON e.segment = i.segment AND e.position = i.position
         WHERE {} {one} ORDER BY i.born LIMIT $3",
        of("$1", "$2")
    );
    let (thread, kind, most) = (key(query.thread), i16::from(query.kind.code()), limit(query.limit));
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&thread, &kind, &most];
    if let Some(key) = &query.key {
        params.push(key);
    }
    let found = rows(client, &sql, &params).await?;
    let entries = actors.entries(client, &found).await?;
    found.iter().zip(entries).map(|(row, entry)| item(row, entry)).collect()
}

/// The items of these kinds, for one thread after the other, in the order of making.
pub(crate) async fn of_kinds(
    client: &Object,
    actors: &Actors,
    threads: &[ThreadId],
    kinds: &[ItemKind],
) -> Result<Vec<ItemsByKind>> {
    let columns = entry_columns();
    let sql = format!(
        "SELECT {columns}, {ITEM_COLUMNS}, i.kind, asked.number
         FROM unnest($1::bigint[]) WITH ORDINALITY AS asked(thread, number)
         CROSS JOIN unnest($2::smallint[]) AS wanted(kind)
         CROSS JOIN LATERAL (SELECT * FROM items i WHERE {} OFFSET 0) i
         JOIN entries e ON e.segment = i.segment AND e.position = i.position ORDER BY asked.number, i.born",
        of("asked.thread", "wanted.kind")
    );
    let keys: Vec<i64> = threads.iter().map(|thread| key(*thread)).collect();
    let codes: Vec<i16> = kinds.iter().map(|kind| i16::from(kind.code())).collect();
    let found = rows(client, &sql, &[&keys, &codes]).await?;
    let entries = actors.entries(client, &found).await?;
    let mut items = vec![Vec::new(); threads.len()];
    for (row, entry) in found.iter().zip(entries) {
        let code: i16 = get(row, ITEM_WIDTH)?;
        let kind = kinds.iter().find(|kind| i16::from(kind.code()) == code);
        let number = usize::try_from(get::<i64>(row, ITEM_WIDTH + 1)? - 1).ok();
        if let (Some(kind), Some(of)) = (kind, number.and_then(|number| items.get_mut(number))) {
            of.push((*kind, item(row, entry)?));
        }
    }
    Ok(items)
}

pub(crate) async fn count(client: &Object, query: &ItemQuery) -> Result<usize> {
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM items i WHERE {} AND ($4::text IS NULL OR i.key = $4) LIMIT $3) i",
        of("$1", "$2")
    );
    let (thread, kind, most) = (key(query.thread), i16::from(query.kind.code()), limit(query.limit));
    let found = rows(client, &sql, &[&thread, &kind, &most, &query.key]).await?;
    let counted = found.first().map(|row| get::<i64>(row, 0)).transpose()?;
    Ok(usize::try_from(counted.unwrap_or(0)).unwrap_or(usize::MAX))
}

/// Items with their threads, by what stands after `WHERE`.
async fn with_threads(
    client: &Object,
    actors: &Actors,
    which: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<(ThreadId, Item)>> {
    let columns = entry_columns();
    let sql = format!(
        "SELECT {columns}, {ITEM_COLUMNS}, t.id, t.rest FROM items i JOIN threads t ON t.id = i.thread
         JOIN entries e ON e.segment = i.segment AND e.position = i.position WHERE {which}"
    );
    let found = rows(client, &sql, params).await?;
    let entries = actors.entries(client, &found).await?;
    let with_thread = |(row, entry): (&Row, StoredEntry)| -> Result<_> {
        Ok((thread_id(get(row, ITEM_WIDTH)?, get(row, ITEM_WIDTH + 1)?)?, item(row, entry)?))
    };
    found.iter().zip(entries).map(with_thread).collect()
}

pub(crate) async fn one(
    client: &Object,
    actors: &Actors,
    kind: ItemKind,
    key: &str,
) -> Result<Option<(ThreadId, Item)>> {
    let kind = i16::from(kind.code());
    let found = with_threads(client, actors, "i.kind = $1 AND i.key = $2 LIMIT 1", &[&kind, &key]).await?;
    Ok(found.into_iter().next())
}

pub(crate) async fn all(client: &Object, actors: &Actors, list: &ItemList) -> Result<Vec<(ThreadId, Item)>> {
    let kind = i16::from(list.kind.code());
    let (made, after) = match &list.after {
        Some((made, key)) => (made.as_micros(), key.as_str()),
        None => (i64::MIN, ""),
    };
    let (account, most) = (list.account.as_ref().map(|account| account.as_str()), limit(list.limit));
    let which = "i.kind = $1 AND (i.made, i.key) > ($2, $3) AND ($4::text IS NULL OR t.account = $4)
                 ORDER BY i.made, i.key LIMIT $5";
    with_threads(client, actors, which, &[&kind, &made, &after, &account, &most]).await
}

async fn due(client: &Object, query: &DueQuery) -> Result<Vec<Due>> {
    let sql = "SELECT i.due, i.kind, i.key, t.id, t.rest FROM items i JOIN threads t ON t.id = i.thread
               WHERE i.kind = $5 AND i.due <= $1 AND (i.due, i.key) > ($2, $3) ORDER BY i.due, i.key LIMIT $4";
    let (at, after) = match &query.after {
        Some((at, key)) => (at.as_micros(), key.as_str()),
        None => (i64::MIN, ""),
    };
    let read = |row: &Row| -> Result<Due> {
        let code: i16 = get(row, 1)?;
        let kind = u8::try_from(code).ok().and_then(ItemKind::from_code);
        let kind = kind.ok_or_else(|| StoreError::corrupt(format!("an item that is due has the kind {code}")))?;
        let due = Timestamp::from_micros(get(row, 0)?);
        Ok(Due { due, thread: thread_id(get(row, 3)?, get(row, 4)?)?, kind, key: get(row, 2)? })
    };
    let (until, kind, most) = (query.until.as_micros(), i16::from(query.kind.code()), limit(query.limit));
    let params: [&(dyn ToSql + Sync); 5] = [&until, &at, &after, &most, &kind];
    rows(client, sql, &params).await?.iter().map(read).collect()
}

impl Timers for PostgresStore {
    fn now(&self, own: Timestamp) -> Timestamp {
        match self.shared.clock {
            Clock::Server => self.shared.time.now(),
            Clock::Caller => own,
        }
    }

    fn due(&self, query: DueQuery) -> BoxFuture<'_, Result<Vec<Due>>> {
        reading!(self, |client, shared| due(&client, &query))
    }

    fn next_due(&self, kind: ItemKind, after: Timestamp) -> BoxFuture<'_, Result<Option<Timestamp>>> {
        let sql = "SELECT i.due FROM items i JOIN threads t ON t.id = i.thread
                   WHERE i.kind = $2 AND i.due > $1 ORDER BY i.due LIMIT 1";
        reading!(self, |client, shared| async {
            let found = rows(&client, sql, &[&after.as_micros(), &i16::from(kind.code())]).await?;
            found.first().map(|row| get(row, 0).map(Timestamp::from_micros)).transpose()
        })
    }
}
