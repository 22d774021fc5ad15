//! How a database gets from one version of the tables to the next, and what is refused.
//!
//! The version is in the table `meta`, under `schema_version`. Migrations run under a lock, so any number of processes
//! may start together.

use threadkeep_model::Role;
use threadkeep_store::{Result, StoreError};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::error::cannot_open;
use crate::terms;
use crate::url::PostgresUrl;

/// The oldest server we work with.
const SERVER_MIN: u32 = 15;

/// One step for each version of the schema, in order. Steps are never changed, only added.
const MIGRATIONS: [&str; 18] = [
    include_str!("schema.sql"),
    include_str!("items.sql"),
    include_str!("lists.sql"),
    include_str!("registry.sql"),
    include_str!("cells.sql"),
    include_str!("timers.sql"),
    include_str!("uploads.sql"),
    include_str!("shelves.sql"),
    include_str!("keys.sql"),
    include_str!("sums.sql"),
    include_str!("hidden.sql"),
    include_str!("filed.sql"),
    include_str!("processes.sql"),
    include_str!("due.sql"),
    include_str!("elsewhere.sql"),
    include_str!("frozen.sql"),
    include_str!("unfiled.sql"),
    include_str!("moments.sql"),
];

/// The version that made the tables of lists.
const LISTS: usize = 3;
/// The last version that changed the rows that serve lists.
const FILED: usize = 12;

/// The functions, which replace those of an older version after the last step.
fn functions() -> String {
    let append = include_str!("append.sql")
        .replace("{user}", &Role::User.code().to_string())
        .replace("{assistant}", &Role::Assistant.code().to_string());
    format!("{}\n{append}", include_str!("bury.sql"))
}

/// Refuses a server that is too old, by the version it reports, such as `15.6 (Debian …)` or `9.6.24`.
pub(crate) fn check_server(version: Option<&str>, url: &PostgresUrl) -> Result<()> {
    let version = version.unwrap_or("unknown");
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    match digits.parse::<u32>() {
        Ok(major) if major >= SERVER_MIN => Ok(()),
        _ => Err(StoreError::CannotOpen {
            path: url.to_string(),
            what: format!("the server is PostgreSQL {version}; version {SERVER_MIN} or later is needed"),
        }),
    }
}

/// Makes an empty schema a store, or brings an older store to the present version.
pub(crate) async fn migrate(client: &mut Client, url: &PostgresUrl, lock: i64) -> Result<()> {
    let failed = |error: tokio_postgres::Error| cannot_open(&error, url);
    let known = MIGRATIONS.len() as i64;
    if version(client, url).await? == Some(known) {
        return Ok(());
    }
    let transaction = client.transaction().await.map_err(failed)?;
    // A large store takes its time.
    transaction.batch_execute("SET LOCAL statement_timeout = 0").await.map_err(failed)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&lock]).await.map_err(failed)?;
    let is_there =
        transaction.query_opt("SELECT 1 FROM pg_namespace WHERE nspname = $1", &[&url.schema]).await.map_err(failed)?;
    if is_there.is_none() {
        let encoding: String = transaction.query_one("SHOW server_encoding", &[]).await.map_err(failed)?.get(0);
        if encoding != "UTF8" {
            let what = format!("database '{}' has encoding {encoding}; one with UTF8 is needed", url.database());
            return Err(StoreError::CannotOpen { path: url.to_string(), what });
        }
        transaction
            .batch_execute(&format!("CREATE SCHEMA {}", url.schema))
            .await
            .map_err(|error| no_rights(&error, url))?;
    }
    let found = version(&transaction, url).await?.unwrap_or(0);
    if found > known {
        return Err(StoreError::Newer { path: url.to_string(), found, known });
    }
    if found == 0 {
        refuse_foreign(&transaction, url).await?;
    }
    let done = usize::try_from(found).unwrap_or(0);
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.batch_execute(migration).await.map_err(|error| no_rights(&error, url))?;
    }
    // Rows that SQL cannot make, once the tables are as this program reads them.
    if done < FILED {
        terms::fill(transaction.client()).await.map_err(failed)?;
    }
    if done < LISTS {
        transaction.batch_execute(terms::INDEXES).await.map_err(failed)?;
    }
    transaction.batch_execute(&functions()).await.map_err(|error| no_rights(&error, url))?;
    let set = "INSERT INTO meta VALUES ('schema_version', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    transaction.execute(set, &[&known]).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// The version of the tables; none if there are none.
async fn version(client: &(impl tokio_postgres::GenericClient + Sync), url: &PostgresUrl) -> Result<Option<i64>> {
    let table = format!("{}.meta", url.schema);
    let is_there = client
        .query_one("SELECT to_regclass($1) IS NOT NULL", &[&table])
        .await
        .map_err(|error| cannot_open(&error, url))?;
    if !is_there.get::<_, bool>(0) {
        return Ok(None);
    }
    let found = client
        .query_opt("SELECT value FROM meta WHERE key = 'schema_version'", &[])
        .await
        .map_err(|error| no_rights(&error, url))?;
    Ok(found.map(|row| row.get(0)))
}

/// Refuses a schema that holds something else.
async fn refuse_foreign(client: &(impl tokio_postgres::GenericClient + Sync), url: &PostgresUrl) -> Result<()> {
    let tables = client
        .query_opt("SELECT tablename::text FROM pg_tables WHERE schemaname = $1 LIMIT 1", &[&url.schema])
        .await
        .map_err(|error| cannot_open(&error, url))?;
    match tables {
        None => Ok(()),
        Some(row) => {
            let table: String = row.get(0);
            let what = format!(
                "schema '{}' holds the table '{table}', but no Threadkeep store; name another one: ?schema=NAME",
                url.schema
            );
            Err(StoreError::CannotOpen { path: url.to_string(), what })
        }
    }
}

/// Says what the owner of the database has to do where the user may not make tables.
fn no_rights(error: &tokio_postgres::Error, url: &PostgresUrl) -> StoreError {
    if error.code() != Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return cannot_open(error, url);
    }
    let (schema, user) = (&url.schema, url.user());
    let message = error.as_db_error().map_or("", |said| said.message());
    let what = format!(
        "user '{user}' may not make or use its tables ({message}); have the owner of the database run: \
         CREATE SCHEMA {schema} AUTHORIZATION {user}"
    );
    StoreError::Forbidden { path: url.to_string(), what }
}

/// Where a store was moved to a server whose transactions count from below, its feed goes on above what it has.
pub(crate) async fn keep_feed_rising(client: &mut Client, url: &PostgresUrl, lock: i64) -> Result<()> {
    let failed = |error: tokio_postgres::Error| cannot_open(&error, url);
    const BEHIND: &str = "
        SELECT greatest((SELECT max(feed) FROM entries), (SELECT max(feed) FROM segments),
                        (SELECT max(feed) FROM tombstones), (SELECT value FROM meta WHERE key = 'last_feed')) >> 20 AS last,
               pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next, value AS base
        FROM meta WHERE key = 'feed_base'";
    let is_behind = format!("SELECT 1 FROM ({BEHIND}) b WHERE last >= next + base");
    if client.query_opt(&is_behind, &[]).await.map_err(failed)?.is_none() {
        return Ok(());
    }
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&lock]).await.map_err(failed)?;
    let raise = format!(
        "UPDATE meta SET value = b.last + 1 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint
         FROM ({BEHIND}) b WHERE key = 'feed_base' AND b.last >= b.next + b.base"
    );
    transaction.execute(&raise, &[]).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_before_version_15_are_refused() {
        let url: PostgresUrl = "postgres://a:secret@h/d".parse().expect("a url");
        for version in ["15.6 (Debian 15.6-0+deb12u1)", "15beta1", "18.1"] {
            assert!(check_server(Some(version), &url).is_ok(), "{version}");
        }
        for version in [Some("14.11"), Some("9.6.24"), Some(""), Some("x"), None] {
            let refused = check_server(version, &url).expect_err("an old server").to_string();
            assert!(refused.contains("version 15 or later"), "{refused}");
        }
    }

    #[test]
    fn a_store_of_any_earlier_version_is_brought_to_the_present_one_and_lists_by_filters() {
        use threadkeep_model::{Account, Json, Record, ThreadId};
        use threadkeep_store::{ListFilter, ListQuery, Store, Total, Upkeep};
        for version in [1, LISTS - 1, LISTS, FILED - 1, MIGRATIONS.len() - 1] {
            let schema = threadkeep_throwaway::schema();
            let mut sql = format!("CREATE SCHEMA {};", schema.name());
            for (migration, version) in MIGRATIONS[..version].iter().zip(1..) {
                sql.push_str(migration);
                if version == LISTS {
                    sql.push_str(terms::INDEXES);
                }
            }
            sql.push_str(&format!("INSERT INTO meta VALUES ('schema_version', {version});"));
            for n in 0..1_200_i64 {
                let (id, minute) = (ThreadId::from_chance(n as u128 * 0x0123_4567_89ab_cdef), 28_000_000 + 700 * n);
                let metadata = Json::parse("metadata", &format!(r#"{{"tags":["t{}"]}}"#, n % 5)).expect("json");
                let title = Some(format!("Thread number {n}"));
                let record = Record { title, metadata: Some(metadata), ..Record::default() };
                let rest: String = id.rest().iter().map(|byte| format!("{byte:02x}")).collect();
                let (key, time, json) = (id.short().bits(), minute * 60_000_000, record.encode());
                sql.push_str(&format!(
                    "INSERT INTO threads VALUES ({key}, '\\x{rest}', 'local', false, NULL, NULL, {time}, {minute}, '{json}');
                     INSERT INTO heads VALUES ({key}, '\\x{rest}', 0, {n}, 0, 0, {time}, 0, 0, 0, 0, 0, 0, NULL);"
                ));
            }
            threadkeep_throwaway::sql(&schema.url(), &sql);
            let store = crate::PostgresStore::open(schema.url().parse().expect("a url")).expect("a store");
            let ordered = "SELECT count(*) FROM threads t JOIN heads h ON h.thread = t.id WHERE t.moment = h.updated";
            assert_eq!(threadkeep_throwaway::sql(&schema.url(), ordered), [[Some("1200".to_owned())]], "{version}");
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            runtime.block_on(async {
                if version >= FILED {
                    // Such a store has terms, which the rows above have not.
                    store.rebuild(std::sync::Arc::new(|_, _, _| {})).await.expect("a rebuild");
                }
                for (filter, total) in [
                    (ListFilter { title: Some("NUMBER 7".into()), ..ListFilter::default() }, 111),
                    (ListFilter { tag: Some("t4".into()), ..ListFilter::default() }, 240),
                    (ListFilter { title: Some("R ".into()), ..ListFilter::default() }, 1_200),
                ] {
                    let query = ListQuery { filter, ..ListQuery::of(Account::local(), 9) };
                    assert_eq!(store.list(query.clone()).await.expect("a page").len(), 9);
                    let exact = Total { count: total, is_exact: true };
                    assert_eq!(store.count(query).await.expect("a total"), exact);
                }
                assert_eq!(store.check_lists(9).await.expect("a check"), Vec::<String>::new());
            });
        }
    }
}
