//! The tables, and how a file gets from one version of them to the next.
//!
//! The log is `segments` and `entries`, with `blobs` for large values and `tombstones` for what was deleted.
//! `threads` and `heads` say where each thread stands. `messages`, `changes`, `relations`, `checkpoints`, `items`,
//! `aliases` and `cells` are derived from the log and can be rebuilt; `terms` and some columns of `threads`, which
//! serve lists, from the threads. `registry` stands beside all that: keys and projects; and `uploads`, which are to
//! become blobs.
//!
//! A thread's key is its short id: 48 random bits, so neither spelling needs an index of its own. The other 80 bits
//! are in `rest`. `seq` is one counter for all that happens, the cursor of the feed, and never reused.

use rusqlite::Connection;
use threadkeep_store::{Result, StoreError};

use crate::error::{CannotOpen, from_sqlite};
use crate::terms;

/// Marks a file as a Threadkeep store: "THRD" in ASCII.
const APPLICATION_ID: i64 = 0x5448_5244;

/// One step for each version of the schema, in order. Steps are never changed, only added.
const MIGRATIONS: [&str; 20] = [
    FIRST,
    LEASES,
    ITEMS,
    terms::TABLES,
    REGISTRY,
    CELLS,
    TIMERS,
    UPLOADS,
    KEYS,
    terms::MOMENTS,
    SUMS,
    HIDDEN,
    terms::FILED,
    PROCESSES,
    DUE,
    ELSEWHERE,
    terms::SHELF,
    FROZEN,
    terms::SHELVED,
    terms::GISTS,
];

/// The version that made the tables of lists.
const LISTS: usize = 4;
/// The last version that changed the rows that serve lists.
const FILED: usize = 13;

const FIRST: &str = "
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE actors (
    id INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (account, kind, name)
);

CREATE TABLE threads (
    id INTEGER PRIMARY KEY,
    rest BLOB NOT NULL,
    account TEXT NOT NULL,
    archived INTEGER NOT NULL,
    agent TEXT,
    main INTEGER,
    created INTEGER NOT NULL,
    minute INTEGER NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX threads_recent ON threads (account, archived, minute);
CREATE INDEX threads_agent ON threads (account, archived, agent, minute) WHERE agent IS NOT NULL;
CREATE INDEX threads_main ON threads (main) WHERE main IS NOT NULL;

CREATE TABLE heads (
    thread INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    era INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    tally BLOB NOT NULL
);

CREATE TABLE segments (
    id INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    rest BLOB NOT NULL,
    first INTEGER NOT NULL,
    parent INTEGER,
    messages INTEGER,
    changes INTEGER,
    files INTEGER,
    vals INTEGER,
    birth BLOB NOT NULL,
    created INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    account TEXT,
    record TEXT
);
CREATE INDEX segments_thread ON segments (thread, first);
CREATE INDEX segments_seq ON segments (seq);

CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    position INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    format INTEGER NOT NULL,
    time INTEGER NOT NULL,
    actor INTEGER NOT NULL,
    cause TEXT,
    tally BLOB NOT NULL,
    body BLOB,
    large BLOB
);
CREATE UNIQUE INDEX entries_place ON entries (segment, position);

CREATE TABLE messages (
    segment INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    role INTEGER NOT NULL,
    silent INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    PRIMARY KEY (segment, ordinal)
) WITHOUT ROWID;

CREATE TABLE changes (
    segment INTEGER NOT NULL,
    root INTEGER NOT NULL,
    position INTEGER NOT NULL,
    target INTEGER NOT NULL,
    op INTEGER NOT NULL,
    PRIMARY KEY (segment, root, position, target)
) WITHOUT ROWID;
CREATE INDEX changes_position ON changes (segment, position);

CREATE TABLE relations (
    parent INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    position INTEGER NOT NULL,
    child INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    at INTEGER,
    anchor INTEGER,
    created INTEGER NOT NULL,
    comment TEXT,
    PRIMARY KEY (parent, segment, position)
) WITHOUT ROWID;
CREATE INDEX relations_child ON relations (child);

CREATE TABLE checkpoints (
    thread INTEGER NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    created INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (thread, name)
) WITHOUT ROWID;

CREATE TABLE idempotency (
    thread INTEGER NOT NULL,
    account TEXT NOT NULL,
    key TEXT NOT NULL,
    hash BLOB NOT NULL,
    segment INTEGER NOT NULL,
    first INTEGER NOT NULL,
    count INTEGER NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (thread, account, key)
) WITHOUT ROWID;

CREATE TABLE tombstones (
    id INTEGER PRIMARY KEY,
    rest BLOB NOT NULL,
    time INTEGER NOT NULL,
    seq INTEGER NOT NULL
);
CREATE INDEX tombstones_seq ON tombstones (seq);

CREATE TABLE blobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL
);
CREATE TABLE blob_chunks (
    id INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
);
CREATE TABLE blob_refs (
    seq INTEGER NOT NULL,
    blob INTEGER NOT NULL,
    PRIMARY KEY (seq, blob)
) WITHOUT ROWID;
CREATE INDEX blob_refs_blob ON blob_refs (blob);
";

/// The last lease on each thread, held or not: its token must not come back.
const LEASES: &str = "
CREATE TABLE leases (
    thread INTEGER PRIMARY KEY,
    token INTEGER NOT NULL,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL
);
";

/// Items by key with their newest entry, and other names of messages.
const ITEMS: &str = "
CREATE TABLE items (
    thread INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    key TEXT NOT NULL,
    born_segment INTEGER NOT NULL,
    born INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (thread, kind, key)
) WITHOUT ROWID;

CREATE TABLE aliases (
    segment INTEGER NOT NULL,
    position INTEGER NOT NULL,
    to_segment INTEGER NOT NULL,
    to_position INTEGER NOT NULL,
    PRIMARY KEY (segment, position)
) WITHOUT ROWID;
CREATE INDEX aliases_to ON aliases (to_segment, to_position);
";

/// Documents beside threads: keys and projects.
const REGISTRY: &str = "
CREATE TABLE registry (
    kind INTEGER NOT NULL,
    id TEXT NOT NULL,
    account TEXT NOT NULL,
    json TEXT NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE INDEX registry_account ON registry (kind, account, id);
";

/// Files and values: the cell of each name from an entry on. Null is nothing; an empty text is a value in the entry.
const CELLS: &str = "
CREATE TABLE cells (
    segment INTEGER NOT NULL,
    space INTEGER NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    time INTEGER NOT NULL,
    cell TEXT,
    PRIMARY KEY (segment, space, name, position)
) WITHOUT ROWID;
";

/// When items were made and when they are due, and items by their key alone.
const TIMERS: &str = "
ALTER TABLE items ADD COLUMN made INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN due INTEGER;
UPDATE items SET made = coalesce(
    (SELECT e.time FROM entries e WHERE e.segment = items.born_segment AND e.position = items.born), 0);
CREATE INDEX items_key ON items (kind, key);
CREATE INDEX items_made ON items (kind, made, key);
CREATE INDEX items_due ON items (due, key) WHERE due IS NOT NULL;
";

/// Uploads of blobs in pieces, each with its result, which stays until the upload ends.
const UPLOADS: &str = "
CREATE TABLE uploads (
    id INTEGER PRIMARY KEY,
    began INTEGER NOT NULL,
    blob INTEGER
);
CREATE INDEX uploads_blob ON uploads (blob) WHERE blob IS NOT NULL;
";

/// The threads that a commit under an idempotency key created.
const KEYS: &str = "
ALTER TABLE idempotency ADD COLUMN made BLOB;
";

/// Checksums. Rows of earlier versions have none.
const SUMS: &str = "
ALTER TABLE entries ADD COLUMN sum INTEGER;
ALTER TABLE blob_chunks ADD COLUMN sum INTEGER;
";

/// The messages that lists leave out by default: an index counts without them.
const HIDDEN: &str = "
CREATE INDEX messages_hidden ON messages (segment, ordinal) WHERE silent OR depth > 0;
";

/// Leases of processes, by the clock of the machine since it was started as `boot`.
const PROCESSES: &str = "
CREATE TABLE processes (
    id TEXT PRIMARY KEY,
    boot TEXT NOT NULL,
    until INTEGER NOT NULL
) WITHOUT ROWID;
";

/// Items that are due, of each kind by itself: many of one kind do not hide those of another.
const DUE: &str = "
DROP INDEX items_due;
CREATE INDEX items_due ON items (kind, due, key) WHERE due IS NOT NULL;
";

/// Blobs whose content is an object outside the file, under the number of the blob.
const ELSEWHERE: &str = "
ALTER TABLE blobs ADD COLUMN elsewhere INTEGER NOT NULL DEFAULT 0;
";

/// Accounts that must not be written here, each with a note.
const FROZEN: &str = "
CREATE TABLE frozen (
    account TEXT PRIMARY KEY,
    note TEXT NOT NULL
) WITHOUT ROWID;
";

/// Makes a new file a store, or brings an older store to the present version.
pub(crate) fn migrate(connection: &mut Connection, path: &str) -> Result<()> {
    let known = MIGRATIONS.len() as i64;
    let pragma = |connection: &Connection, name: &str| -> Result<i64> {
        connection.pragma_query_value(None, name, |row| row.get(0)).cannot_open(path)
    };
    if pragma(connection, "user_version")? == known && pragma(connection, "application_id")? == APPLICATION_ID {
        return Ok(());
    }
    let is_empty = |connection: &Connection| -> Result<bool> {
        connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0)).cannot_open(path)
    };
    if is_empty(connection)? {
        // These two must be set before anything is written, outside a transaction; another process that does the
        // same at this moment sets the same.
        connection.execute_batch("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;").cannot_open(path)?;
    }
    connection.pragma_update(None, "journal_mode", "wal").cannot_open(path)?;
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).cannot_open(path)?;
    let application = pragma(&transaction, "application_id")?;
    if application != APPLICATION_ID && !(application == 0 && is_empty(&transaction)?) {
        let what = "it is an SQLite database, but not a Threadkeep store".to_owned();
        return Err(StoreError::CannotOpen { path: path.to_owned(), what });
    }
    let found = pragma(&transaction, "user_version")?;
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    for (version, migration) in (1..).zip(MIGRATIONS).skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(migration).cannot_open(path)?;
        if version == LISTS {
            transaction.execute_batch(terms::INDEXES).cannot_open(path)?;
        }
    }
    // Rows that SQL cannot make, once the tables are as this program reads them.
    if found < FILED as i64 {
        terms::fill(&transaction)?;
        terms::set_moments(&transaction)?;
    }
    transaction.pragma_update(None, "user_version", known).cannot_open(path)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).cannot_open(path)?;
    transaction.commit().map_err(from_sqlite)
}

#[cfg(test)]
mod tests {
    use threadkeep_model::{Account, Json, Record, SegmentId, Tally, ThreadId, Timestamp};
    use threadkeep_store::{Blobs, LeaseAsk, Leases, ListFilter, ListQuery, Store, Total, Upkeep};

    use super::*;
    use crate::SqliteStore;
    use crate::codec::{key, rest};

    /// A store as an earlier program left it, with threads whose titles count up.
    fn older(path: &std::path::Path, version: usize, threads: i64) {
        let connection = Connection::open(path).expect("a file");
        connection.execute_batch("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL").expect("settings");
        connection.pragma_update(None, "journal_mode", "wal").expect("a mode");
        for (migration, version) in MIGRATIONS[..version].iter().zip(1..) {
            connection.execute_batch(migration).expect("tables");
            if version == LISTS {
                connection.execute_batch(terms::INDEXES).expect("indexes");
            }
        }
        connection.pragma_update(None, "user_version", version as i64).expect("a version");
        connection.pragma_update(None, "application_id", APPLICATION_ID).expect("a mark");
        let tally = Tally::default().encode();
        connection.execute_batch("BEGIN").expect("a transaction");
        for n in 0..threads {
            let (id, minute) = (ThreadId::from_chance(n as u128 * 0x0123_4567_89ab_cdef), 28_000_000 + 700 * n);
            let record = Record {
                title: Some(format!("Thread number {n}")),
                project_id: Some(format!("p{}", n % 3)),
                metadata: Some(
                    Json::parse("metadata", &format!(r#"{{"tags":["t{}"],"n":{n}}}"#, n % 5)).expect("json"),
                ),
                ..Record::default()
            };
            let segment = SegmentId::from_chance(n as u64 + 1).bits() as i64;
            let (time, json, local) = (minute * 60_000_000, record.encode(), Account::local());
            let insert = "INSERT INTO threads (id, rest, account, archived, created, minute, record) VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6)";
            let row = rusqlite::params![key(id), rest(id), local.as_str(), time, minute, json];
            connection.execute(insert, row).expect("a thread");
            let insert = "INSERT INTO heads VALUES (?1, 0, ?2, 0, 0, ?3, ?4)";
            connection.execute(insert, rusqlite::params![key(id), segment, time, tally]).expect("a head");
            let insert =
                "INSERT INTO segments VALUES (?1, ?2, ?3, 1, NULL, NULL, NULL, NULL, NULL, ?4, ?5, ?6, ?7, ?8)";
            let row = rusqlite::params![segment, key(id), rest(id), tally, time, n + 1, local.as_str(), json];
            connection.execute(insert, row).expect("a segment");
        }
        connection.execute_batch("COMMIT").expect("a commit");
    }

    #[test]
    fn a_store_of_any_earlier_version_is_brought_to_the_present_one_and_lists_by_filters() {
        for version in [1, LISTS - 1, LISTS, FILED - 1] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("threads.db");
            older(&path, version, 1_200);
            let store = SqliteStore::open(&path).expect("a store");
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            runtime.block_on(async {
                let found = async |filter: ListFilter| {
                    let query = ListQuery { filter, ..ListQuery::of(Account::local(), 9) };
                    let (page, total) = (store.list(query.clone()).await, store.count(query).await);
                    (page.expect("a page").remove(0), total.expect("a total"))
                };
                let exact = |count| Total { count, is_exact: true };
                let (newest, total) = found(ListFilter { title: Some("NUMBER 7".into()), ..Default::default() }).await;
                assert_eq!((newest.record.title.as_deref(), total), (Some("Thread number 799"), exact(111)));
                let (_, total) = found(ListFilter { title: Some("R ".into()), ..Default::default() }).await;
                assert_eq!(total, exact(1_200));
                let (_, total) = found(ListFilter { tag: Some("t4".into()), ..Default::default() }).await;
                assert_eq!(total, exact(240));
                let (_, total) = found(ListFilter { project: Some("p2".into()), ..Default::default() }).await;
                assert_eq!(total, exact(400));
                assert_eq!(store.check_lists(9).await.expect("a check"), Vec::<String>::new());
                let now = Timestamp::from_micros(1_800_000_000_000_000);
                let token = threadkeep_model::LeaseToken::from_chance(7);
                let ask = LeaseAsk { token, holder: "ann".into(), ttl_micros: 1_000_000, now };
                assert_eq!(store.take(newest.id, ask).await.expect("a lease").token, token);
            });
        }
    }

    #[test]
    fn a_store_of_any_earlier_version_takes_uploads() {
        for version in 1..MIGRATIONS.len() {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("threads.db");
            older(&path, version, 0);
            let store = SqliteStore::open(&path).expect("a store");
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            runtime.block_on(async {
                let upload = store.begin_upload(Timestamp::from_micros(1)).await.expect("an upload");
                let bytes = bytes::Bytes::from_static(b"abc");
                let id = threadkeep_model::BlobId::of(&bytes);
                store.add_to_upload(upload, 0, bytes.clone()).await.expect("a part");
                store.finish_upload(upload, id, 3).await.expect("a blob");
                assert_eq!(store.blob(id).await.expect("a read"), Some(bytes), "from version {version}");
            });
        }
    }

    #[test]
    fn a_key_that_an_earlier_program_kept_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("threads.db");
        older(&path, 1, 1);
        let (thread, hash) = (ThreadId::from_chance(0), threadkeep_model::BlobId::of(b"a request"));
        let insert = "INSERT INTO idempotency VALUES (?1, 'local', 'k', ?2, 7, 3, 2, 1000)";
        let connection = Connection::open(&path).expect("a file");
        connection.execute(insert, rusqlite::params![key(thread), hash.as_bytes()]).expect("a key");
        drop(connection);
        let store = SqliteStore::open(&path).expect("a store");
        let retry = threadkeep_model::IdempotencyKey::new("k").expect("a key");
        let now = Timestamp::from_micros(2_000);
        let query = threadkeep_store::KeyQuery { account: Account::local(), thread, key: retry, now };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let found = runtime.block_on(store.remembered(query)).expect("a look-up").expect("a result");
        let told = &found.committed.threads[0];
        assert_eq!(
            (found.hash, found.committed.threads.len(), told.thread, told.first.0, told.count),
            (hash, 1, thread, 3, 2)
        );
    }
}
