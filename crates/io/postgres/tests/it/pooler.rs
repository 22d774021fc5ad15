//! A connection pooler in front of the server is refused, with the reason.

use threadkeep_postgres::PostgresStore;
use threadkeep_store::StoreError;
use threadkeep_throwaway::Pooler;

#[test]
fn a_pooler_in_transaction_mode_is_refused_with_the_reason_and_what_to_do() {
    let schema = threadkeep_throwaway::schema();
    // It refuses the settings of a connection, or ignores them.
    for settings in ["", "ignore_startup_parameters = options"] {
        let pooler = Pooler::start(&schema.url(), settings).expect("PgBouncer");
        match PostgresStore::open(pooler.url().parse().expect("a url")).map(drop) {
            Err(StoreError::CannotOpen { what, path }) => {
                assert!(what.contains("PgBouncer") && what.contains("Name the PostgreSQL server itself"), "{what}");
                assert!(path.starts_with("postgres://threadkeep@127.0.0.1:"), "{path}");
            }
            other => panic!("with '{settings}': {other:?}"),
        }
    }
}
