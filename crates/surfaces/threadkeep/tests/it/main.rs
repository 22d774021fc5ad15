//! What users of the crate can rely on, on every store.

mod agent;
mod approvals;
mod attach;
mod calls;
mod clocks;
mod context;
mod contract;
mod copy;
mod damage;
mod doctor;
mod effects;
mod effects_kills;
mod emit;
mod env;
mod envelope;
mod files;
mod follow;
mod fork;
mod index;
mod inject;
mod kv;
mod lifecycle;
mod list;
mod live;
mod log;
mod memory;
mod merge;
mod observe;
mod observers;
mod patches;
mod policy;
mod processes;
mod queue;
mod reads;
mod recall;
mod record;
mod references;
mod relate;
mod resume;
mod rewind;
mod run_streams;
mod runs;
mod search;
mod search_load;
mod spawn;
mod state;
mod timers;
mod transfer;
mod turns;
mod unflushed;
mod upkeep;
mod values;
mod writer;

use threadkeep::{Create, Engine, KeyFileAt, MessageBody, Page, ThreadId};

/// A store of each kind, fresh. The folder goes when the keep does.
pub(crate) struct Keep {
    pub(crate) engine: Engine,
    _folder: Option<tempfile::TempDir>,
    _schema: Option<threadkeep_throwaway::Schema>,
}

impl Keep {
    pub(crate) fn memory() -> Self {
        Self { engine: threadkeep::open("memory:").expect("a store in memory"), _folder: None, _schema: None }
    }

    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}", folder.path().join("threads.db").display());
        Self { engine: threadkeep::open(&url).expect("a store in a file"), _folder: Some(folder), _schema: None }
    }

    pub(crate) fn postgres() -> Self {
        let schema = threadkeep_throwaway::schema();
        let engine = threadkeep::open(&schema.url()).expect("a store on a server");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keys = KeyFileAt::new(folder.path().join("secrets.key"));
        let engine = engine.with_key_keeper(std::sync::Arc::new(keys));
        Self { engine, _folder: Some(folder), _schema: Some(schema) }
    }

    /// A thread with these messages of the user.
    pub(crate) async fn thread(&self, texts: &[&str]) -> ThreadId {
        let create = texts.iter().fold(Create::titled("T"), |create, text| create.message(MessageBody::user(text)));
        self.engine.create(create).await.expect("a thread").id
    }

    /// What a thread shows, oldest first, joined by spaces.
    pub(crate) async fn shows(&self, thread: ThreadId) -> String {
        self.shows_page(thread, Page::first().everything().limit(1_000)).await
    }

    pub(crate) async fn shows_page(&self, thread: ThreadId, page: Page) -> String {
        let page = self.engine.messages(thread, page).await.expect("a page");
        page.items.iter().map(|message| message.text().expect("text")).collect::<Vec<_>>().join(" ")
    }

    /// The ids of what a thread shows, oldest first.
    pub(crate) async fn ids(&self, thread: ThreadId) -> Vec<threadkeep::MessageId> {
        let page = self.engine.messages(thread, Page::first().everything().limit(1_000)).await.expect("a page");
        page.items.iter().map(|message| message.id).collect()
    }
}

/// Makes a test of each case on each store.
macro_rules! on_every_store {
    ($($case:ident),+ $(,)?) => {
        mod on_memory {
            $(#[test] fn $case() { crate::run(super::$case(crate::Keep::memory())); })+
        }
        mod on_sqlite {
            $(#[test] fn $case() { crate::run(super::$case(crate::Keep::sqlite())); })+
        }
        mod on_postgres {
            $(#[test] fn $case() { crate::run(super::$case(crate::Keep::postgres())); })+
        }
    };
}
pub(crate) use on_every_store;

pub(crate) fn run(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("a runtime").block_on(case);
}
