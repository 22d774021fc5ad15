//! The SQLite store: the suite that every store runs, and what only a file can show.

mod file;
mod pages;
mod sync;

use threadkeep_sqlite::SqliteStore;
use threadkeep_store::conformance::Subject;

fn subject() -> Subject {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqliteStore::open(folder.path().join("threads.db")).expect("a new store");
    Subject::guarded(store, folder)
}

threadkeep_store::conformance_tests!(subject);
threadkeep_store::elsewhere_tests!(subject);
