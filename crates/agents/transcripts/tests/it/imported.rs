//! Stores to import into, and what they hold as text.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use threadkeep_calls::ImportReport;
use threadkeep_engine::{Engine, Limits, List, Page, World};
use threadkeep_model::{Json, ThreadId, Timestamp};
use threadkeep_sqlite::SqliteStore;
use threadkeep_store::{Archived, MemoryStore, Stores};
use threadkeep_transcripts::import::{Found, Ledger, Options, import, search};
use threadkeep_transcripts::shape::Source;

use crate::seeds::Chance;

/// A clock that only counts, and chance by seed.
struct Counting(AtomicU64);

impl World for Counting {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(
            1_900_000_000_000_000 + i64::try_from(self.0.fetch_add(1, Ordering::Relaxed)).unwrap_or(0),
        )
    }

    fn chance(&self) -> u128 {
        let mut chance = Chance::new(self.0.fetch_add(1, Ordering::Relaxed));
        u128::from(chance.next()) << 64 | u128::from(chance.next())
    }
}

pub fn memory() -> Engine {
    Engine::new(Stores::of(MemoryStore::new()), Arc::new(Counting(AtomicU64::new(0))), Limits::default())
}

pub fn sqlite(path: &Path) -> Engine {
    let store = SqliteStore::open(path).expect("a store");
    let seed = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    Engine::new(Stores::of(store), Arc::new(Counting(AtomicU64::new(seed << 20))), Limits::default())
}

pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, bytes).expect("a file");
        path
    }

    /// The files of a source, in a subfolder.
    pub fn found(&self, source: Source) -> Vec<Found> {
        search(source, &[self.path(source.as_str())]).files
    }
}

/// Imports all files of a source with this ledger.
pub async fn bring(engine: &Engine, ledger: &mut Ledger, folder: &Folder, source: Source) -> ImportReport {
    bring_with(engine, ledger, folder, source, &Options::default()).await
}

pub async fn bring_with(
    engine: &Engine,
    ledger: &mut Ledger,
    folder: &Folder,
    source: Source,
    options: &Options,
) -> ImportReport {
    import(engine, ledger, folder.found(source), options, |_, _| {}).await.expect("an import")
}

/// The same without a ledger.
pub async fn bring_anew(engine: &Engine, folder: &Folder, source: Source) -> ImportReport {
    bring(engine, &mut Ledger::in_memory("").expect("a ledger"), folder, source).await
}

/// Every thread, the oldest first, with its messages: `*` marks silent ones.
pub async fn shown(engine: &Engine) -> String {
    let list = List { archived: Archived::Any, limit: Some(1_000), ..List::default() };
    let mut threads = engine.list(list).await.expect("a list").items;
    threads.sort_by_key(|row| (row.thread.created, row.thread.id));
    let name = |id: ThreadId| id.short().to_string();
    let mut text = String::new();
    for row in threads {
        let thread = row.thread;
        let title = thread.record.title.clone().unwrap_or_default();
        let of = match (thread.record.origin_thread_id, thread.record.parent_id) {
            (Some(origin), _) => format!(" fork of {} at {:?}", name(origin), thread.record.fork_point_index),
            (None, Some(parent)) => format!(" subagent of {}", name(parent)),
            (None, None) => String::new(),
        };
        let (version, created, updated) = (thread.head.version, thread.created, thread.head.updated);
        text.push_str(&format!("= {} {title:?} v{version} {created}..{updated}{of}\n", name(thread.id)));
        for (line, ..) in lines(engine, thread.id).await {
            text.push_str(&line);
        }
    }
    text
}

/// The messages of a thread as lines, each with its metadata.
pub async fn lines(engine: &Engine, thread: ThreadId) -> Vec<(String, serde_json::Value)> {
    let mut page = Page::first();
    let mut all = Vec::new();
    loop {
        let found = engine.messages(thread, page.everything()).await.expect("messages");
        for message in found.items {
            let body = message.body().expect("a body");
            let silent = if body.silent { "*" } else { "" };
            let content = body.content.as_json().as_str();
            let metadata = body.metadata.as_ref().map(Json::to_value).unwrap_or_default();
            all.push((format!("{}{silent} {} {content}\n", body.role, message.created), metadata));
        }
        match found.next {
            Some(cursor) => page = Page::after(cursor),
            None => return all,
        }
    }
}

/// The same without ids, versions and times: what a person sees.
pub async fn seen(engine: &Engine) -> Vec<String> {
    let list = List { archived: Archived::Any, limit: Some(1_000), ..List::default() };
    let mut all = Vec::new();
    for row in engine.list(list).await.expect("a list").items {
        let mut text = row.thread.record.title.clone().unwrap_or_default();
        for (line, _) in lines(engine, row.thread.id).await {
            text.push_str(&format!("\n{}", line.trim_end()));
        }
        all.push(text);
    }
    all.sort();
    all
}
