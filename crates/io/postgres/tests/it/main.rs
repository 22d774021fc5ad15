//! The PostgreSQL store: the suite that every store runs, and what only a shared server can show.

mod encrypted;
mod filing;
mod hung;
mod keep;
mod large;
mod looks;
mod pooler;
mod replicas;
mod roots;
mod server;
mod shared_feed;
mod takeover;
mod wanted;

use threadkeep_postgres::{Clock, PostgresStore};
use threadkeep_store::conformance::Subject;

fn subject() -> Subject {
    let schema = threadkeep_throwaway::schema();
    let url = schema.url().parse().expect("a url");
    let store = PostgresStore::open_with(url, Clock::Caller).expect("a new store");
    Subject::guarded(store, schema)
}

threadkeep_store::conformance_tests!(subject);
threadkeep_store::elsewhere_tests!(subject);
