//! The search index, in a file of its own beside the data: it can be deleted, and is made anew then.
//!
//! A volume lies in rows of a page each, under its own number and the ones after it, which no other volume gets: any part
//! of it is read without the rest. Earlier versions of the file have each volume in one row.
//!
//! It is opened when it is first asked for. A power cut may take its last changes (`synchronous=NORMAL`), note and
//! volumes together; then the log is read again from there.

use std::future::ready;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params};
use threadkeep_model::Account;
use threadkeep_store::{BoxFuture, Reshelving, Result, Shelves, StoreError, VolumeRow};

use crate::error::{cannot_open, from_sqlite};
use crate::{SqliteStore, connect_or_make};

/// The version of the tables. A file of another one is emptied: all of it can be made anew.
const VERSION: i64 = 2;
/// The version before it has the same tables, and is read as it is. Older programs must not read the new one.
const VERSION_WHOLE: i64 = 1;
/// Bytes of a volume in a row: as many as fit into a page of 4,096 bytes with the row's own numbers.
const ROW_BYTES: usize = 4_056;

const TABLES: &str = "
    CREATE TABLE volumes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, documents INTEGER NOT NULL,
        text_bytes INTEGER NOT NULL, bytes INTEGER NOT NULL, model TEXT NOT NULL
    );
    CREATE INDEX volumes_account ON volumes (account);
    CREATE TABLE contents (id INTEGER PRIMARY KEY, content BLOB NOT NULL);
    CREATE TABLE editions (one INTEGER PRIMARY KEY CHECK (one = 1), edition INTEGER NOT NULL, note TEXT NOT NULL);
    INSERT INTO editions VALUES (1, 0, '');";

/// Pages given back to the file system in one transaction.
const VACUUMED_AT_ONCE: usize = 1_024;

/// The connections to the index: one writes, one reads volumes, which takes a while, and one reads the small tables.
#[derive(Debug, Default)]
pub(crate) struct IndexFile {
    reader: Mutex<Option<Connection>>,
    contents: Mutex<Option<Connection>>,
    writer: Mutex<Option<Connection>>,
}

/// Why the index cannot be used.
enum Failure {
    /// The file is damaged, and can be made anew.
    Damaged(StoreError),
    Other(StoreError),
}

impl Failure {
    fn new(error: rusqlite::Error, path: &Path, other: impl FnOnce(rusqlite::Error) -> StoreError) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged(StoreError::CannotOpen {
                path: path.display().to_string(),
                what: format!("the search index is damaged ({error}); it is made anew by: threadkeep index rebuild"),
            }),
            _ => Self::Other(other(error)),
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Damaged(error) | Failure::Other(error) => error,
        }
    }
}

impl IndexFile {
    fn read<T>(store: &SqliteStore, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        Ok(on(&store.shared.index.reader, &store.shared.path, work)?)
    }

    fn read_content<T>(store: &SqliteStore, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        Ok(on(&store.shared.index.contents, &store.shared.path, work)?)
    }

    fn write<T>(
        store: &SqliteStore,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> std::result::Result<T, Failure> {
        on(&store.shared.index.writer, &store.shared.path, work)
    }

    /// Closes all, so that the last one tidies up.
    pub(crate) fn close(&self) {
        for connection in [&self.reader, &self.contents, &self.writer] {
            drop(connection.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take());
        }
    }
}

/// `threads.db` has its index in `threads-search.db`.
pub(crate) fn index_path(data: &Path) -> PathBuf {
    let mut name = data.file_stem().unwrap_or_default().to_owned();
    name.push("-search");
    if let Some(extension) = data.extension() {
        name.push(".");
        name.push(extension);
    }
    data.with_file_name(name)
}

fn on<T>(
    connection: &Mutex<Option<Connection>>,
    data: &Path,
    work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
) -> std::result::Result<T, Failure> {
    let mut held: MutexGuard<'_, _> = connection.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let path = index_path(data);
    let connection = match held.take() {
        Some(connection) => connection,
        None => open(&path)?,
    };
    work(held.insert(connection)).map_err(|error| {
        let failure = Failure::new(error, &path, from_sqlite);
        if matches!(failure, Failure::Damaged(_)) {
            // The next one to come finds the file that is there then.
            held.take();
        }
        failure
    })
}

fn open(path: &Path) -> std::result::Result<Connection, Failure> {
    let shown = path.display().to_string();
    let mut connection = connect_or_make(path).map_err(Failure::Other)?;
    match begin(&mut connection) {
        Ok(true) => Ok(connection),
        Ok(false) => {
            let what = "it is no search index, and the store beside it needs that name for its own; rename one of them";
            Err(Failure::Other(StoreError::CannotOpen { path: shown, what: what.to_owned() }))
        }
        Err(error) => Err(Failure::new(error, path, |error| cannot_open(&error, &shown))),
    }
}

/// Makes a connection ready; false if the file is something else, which is left alone.
fn begin(connection: &mut Connection) -> rusqlite::Result<bool> {
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA mmap_size = 0;")?;
    if is_foreign(connection)? {
        return Ok(false);
    }
    prepare(connection)?;
    Ok(true)
}

/// Puts a file away that cannot be read, so that a new one can be made.
fn put_aside(path: &Path) -> Result<()> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    for suffix in ["-wal", "-shm"] {
        // They need not be there.
        drop(std::fs::remove_file(beside(suffix)));
    }
    std::fs::rename(path, beside(".damaged")).map_err(|error| StoreError::CannotOpen {
        path: path.display().to_string(),
        what: format!("the search index is damaged, and cannot be put aside: {error}"),
    })
}

/// Whether the file is something else: a store may be called like the index of another one.
fn is_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    const OTHERS: &str = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
                          AND name NOT IN ('volumes', 'contents', 'editions'))";
    connection.query_row(OTHERS, [], |row| row.get(0))
}

fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    let version = |connection: &Connection| connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    if found == VERSION_WHOLE {
        transaction.pragma_update(None, "user_version", VERSION)?;
    } else if found != VERSION {
        for table in ["volumes", "contents", "editions"] {
            transaction.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
        }
        transaction.execute_batch(TABLES)?;
        // New volumes must not get numbers of an earlier file: readers remember volumes by number.
        transaction.execute(
            "INSERT INTO sqlite_sequence VALUES ('volumes', CAST(unixepoch('subsec') * 1000000 AS INTEGER))",
            [],
        )?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

/// How many bytes a volume has; none if it is not there.
fn size(connection: &Connection, id: u64) -> rusqlite::Result<Option<usize>> {
    let mut statement = connection.prepare_cached("SELECT bytes FROM volumes WHERE id = ?1")?;
    let size = statement.query_row([id.cast_signed()], |row| row.get::<_, i64>(0)).optional()?;
    Ok(size.map(|size| size.cast_unsigned() as usize))
}

/// The numbers of the rows of a volume: one alone if an earlier version of the file has it.
fn rows_of(connection: &Connection, id: u64, size: usize) -> rusqlite::Result<Range<i64>> {
    let mut statement = connection.prepare_cached("SELECT length(content) FROM contents WHERE id = ?1")?;
    let first: Option<i64> = statement.query_row([id.cast_signed()], |row| row.get(0)).optional()?;
    let rows = match first.is_some_and(|first| first > ROW_BYTES as i64) {
        true => 1,
        false => size.div_ceil(ROW_BYTES).max(1) as i64,
    };
    Ok(id.cast_signed()..id.cast_signed() + rows)
}

/// Parts of a volume, which follow from its size; none if it is not there.
fn read_parts(
    store: &SqliteStore,
    id: u64,
    ranges: impl FnOnce(usize) -> Vec<Range<usize>>,
) -> Result<Option<Vec<Bytes>>> {
    let read = IndexFile::read_content(store, |connection| {
        // The rows and their number are of one moment.
        let transaction = connection.transaction()?;
        let Some(size) = size(&transaction, id)? else { return Ok(Some(None)) };
        Ok(parts(&transaction, id, size, &ranges(size))?.map(Some))
    });
    let early = || StoreError::corrupt(format!("volume {id} of the search index ends early"));
    read.and_then(|found| found.ok_or_else(early))
}

/// Parts of a volume; none if it ends before one of them does.
fn parts(
    connection: &Connection,
    id: u64,
    size: usize,
    ranges: &[Range<usize>],
) -> rusqlite::Result<Option<Vec<Bytes>>> {
    let rows = rows_of(connection, id, size)?;
    let a_row = if rows.end - rows.start == 1 { size.max(1) } else { ROW_BYTES };
    let mut statement =
        connection.prepare_cached("SELECT content FROM contents WHERE id BETWEEN ?1 AND ?2 ORDER BY id")?;
    let mut parts = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut part = Vec::with_capacity(range.len());
        if !range.is_empty() {
            let (first, last) = (range.start / a_row, (range.end - 1) / a_row);
            let last = (rows.start + last as i64).min(rows.end - 1);
            let mut found = statement.query([rows.start + first as i64, last])?;
            // Bytes of the first row that are before the part.
            let mut before = range.start - first * a_row;
            while let Some(row) = found.next()? {
                let content = row.get_ref(0)?.as_blob()?;
                let wanted = range.len() - part.len();
                let content = content.get(before..).unwrap_or_default();
                part.extend_from_slice(&content[..content.len().min(wanted)]);
                before = 0;
            }
        }
        if part.len() != range.len() {
            return Ok(None);
        }
        parts.push(Bytes::from(part));
    }
    Ok(Some(parts))
}

/// Writes the content of a volume, and takes the numbers of its rows.
fn put_rows(connection: &Connection, id: i64, content: &[u8]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("INSERT INTO contents VALUES (?1, ?2)")?;
    let mut last = id;
    statement.execute(params![id, &content[..content.len().min(ROW_BYTES)]])?;
    for row in content.chunks(ROW_BYTES).skip(1) {
        last += 1;
        statement.execute(params![last, row])?;
    }
    connection.prepare_cached("UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'volumes'")?.execute([last])?;
    Ok(())
}

/// Removes a volume, if it is there.
fn remove(connection: &Connection, id: u64) -> rusqlite::Result<()> {
    let Some(size) = size(connection, id)? else { return Ok(()) };
    let rows = rows_of(connection, id, size)?;
    connection.prepare_cached("DELETE FROM volumes WHERE id = ?1")?.execute([rows.start])?;
    let sql = "DELETE FROM contents WHERE id >= ?1 AND id < ?2";
    connection.prepare_cached(sql)?.execute([rows.start, rows.end])?;
    Ok(())
}

impl Shelves for SqliteStore {
    fn volumes(&self, account: Option<Account>) -> BoxFuture<'_, Result<Vec<VolumeRow>>> {
        let found = IndexFile::read(self, |connection| {
            const COLUMNS: &str = "SELECT id, account, documents, text_bytes, bytes, model FROM volumes";
            let row = |row: &rusqlite::Row<'_>| {
                let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
                Ok((row.get::<_, String>(1)?, number(0)?, number(2)?, number(3)?, number(4)?, row.get(5)?))
            };
            match account {
                Some(account) => connection
                    .prepare_cached(&format!("{COLUMNS} WHERE account = ?1 ORDER BY id"))?
                    .query_map([account.as_str()], row)?
                    .collect::<rusqlite::Result<Vec<_>>>(),
                None => connection.prepare_cached(&format!("{COLUMNS} ORDER BY id"))?.query_map([], row)?.collect(),
            }
        });
        let rows = found.and_then(|found| {
            let row = |(account, id, documents, text_bytes, bytes, model)| {
                let account: Account =
                    Account::stored(account).map_err(|error| StoreError::corrupt(error.to_string()))?;
                Ok(VolumeRow { id, account, documents, text_bytes, bytes, model })
            };
            found.into_iter().map(row).collect()
        });
        Box::pin(ready(rows))
    }

    fn volume(&self, id: u64) -> BoxFuture<'_, Result<Option<Bytes>>> {
        let whole = read_parts(self, id, |size| std::iter::once(0..size).collect());
        Box::pin(ready(whole.map(|parts| parts.and_then(|mut parts| parts.pop()))))
    }

    fn parts(&self, id: u64, ranges: Vec<Range<usize>>) -> BoxFuture<'_, Result<Option<Vec<Bytes>>>> {
        Box::pin(ready(read_parts(self, id, |_| ranges)))
    }

    fn edition(&self) -> BoxFuture<'_, Result<(u64, String)>> {
        Box::pin(ready(IndexFile::read(self, |connection| {
            let mut statement = connection.prepare_cached("SELECT edition, note FROM editions")?;
            statement.query_row([], |row| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?)))
        })))
    }

    fn reshelve(&self, change: Reshelving) -> BoxFuture<'_, Result<bool>> {
        Box::pin(ready(IndexFile::write(self, |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let changed = transaction
                .prepare_cached("UPDATE editions SET edition = edition + 1, note = ?1 WHERE edition = ?2")?
                .execute(params![change.note, change.edition.cast_signed()])?;
            if changed == 0 {
                return Ok(false);
            }
            for id in &change.remove {
                remove(&transaction, *id)?;
            }
            for volume in &change.add {
                let (documents, text_bytes) = (volume.documents.cast_signed(), volume.text_bytes.cast_signed());
                let (bytes, content) = (volume.content.len() as i64, &volume.content[..]);
                transaction
                    .prepare_cached(
                        "INSERT INTO volumes (account, documents, text_bytes, bytes, model) VALUES (?1, ?2, ?3, ?4, ?5)",
                    )?
                    .execute(params![volume.account.as_str(), documents, text_bytes, bytes, volume.model])?;
                put_rows(&transaction, transaction.last_insert_rowid(), content)?;
            }
            transaction.commit()?;
            Ok(true)
        })
        .map_err(StoreError::from)))
    }

    fn clear(&self) -> BoxFuture<'_, Result<()>> {
        let emptied = IndexFile::write(self, |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute_batch(
                "DELETE FROM volumes; DELETE FROM contents; UPDATE editions SET edition = edition + 1, note = ''",
            )?;
            transaction.commit()
        });
        let emptied = match emptied {
            Err(Failure::Damaged(_)) => {
                self.shared.index.close();
                put_aside(&index_path(&self.shared.path))
                    .and_then(|()| IndexFile::write(self, |_| Ok(())).map_err(StoreError::from))
            }
            emptied => emptied.map_err(StoreError::from),
        };
        Box::pin(ready(emptied))
    }

    fn sweep(&self) -> BoxFuture<'_, Result<u64>> {
        self.aside(|shared, _| {
            let writer = &shared.index.writer;
            let mut bytes = 0;
            // In steps, each a transaction: others change the index between two of them.
            while let Some(given_back) = on(writer, &shared.path, |connection| vacuum_some(connection))? {
                bytes += given_back;
            }
            on(writer, &shared.path, |connection| {
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            })?;
            Ok(bytes)
        })
    }
}

/// Gives some free pages back to the file system, and says how many bytes; none if there was nothing to give.
fn vacuum_some(connection: &Connection) -> rusqlite::Result<Option<u64>> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let before = pragma("page_count")?;
    // It gives back one page each time it is stepped.
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({VACUUMED_AT_ONCE})"))?;
    let mut steps = vacuum.query([])?;
    while steps.next()?.is_some() {}
    let pages = before - pragma("page_count")?;
    Ok((pages > 0).then_some(pages as u64 * pragma("page_size")? as u64))
}
