//! Reads that a standby takes off the primary: late by no more than is allowed, and from the primary where it is away.

use threadkeep_model::Account;
use threadkeep_postgres::PostgresStore;
use threadkeep_store::{ListQuery, NewVolume, Reshelving, Shelves, Store};
use threadkeep_throwaway::{Cluster, sql};

use crate::keep::{block_on, create, until};

/// A primary, its standby, and stores that read from both.
struct Pair {
    primary: Cluster,
    standby: Cluster,
}

impl Pair {
    fn start() -> Self {
        let primary = Cluster::start().expect("a server");
        let standby = primary.standby().expect("a standby");
        Self { primary, standby }
    }

    fn open(&self, lag_seconds: u32) -> PostgresStore {
        let standby = self.standby.url();
        let (_, place) = standby.rsplit_once('@').expect("a host");
        let (host, _) = place.split_once('/').expect("a database");
        let url = format!("{}?read_from={host}&read_lag={lag_seconds}", self.primary.url());
        PostgresStore::open(url.parse().expect("a url")).expect("a store")
    }

    /// Waits until the standby has all that the primary has.
    async fn follows(&self) {
        let number = |url: &str, ask: &str| -> u64 {
            let rows = sql(url, &format!("SELECT pg_wal_lsn_diff({ask}, '0/0')::bigint"));
            rows[0][0].as_deref().and_then(|number| number.parse().ok()).expect("a number")
        };
        let written = number(&self.primary.url(), "pg_current_wal_lsn()");
        let replayed = async || number(&self.standby.url(), "pg_last_wal_replay_lsn()") >= written;
        until("the standby follows", replayed).await;
    }
}

async fn count(store: &PostgresStore) -> u64 {
    store.count(ListQuery::of(Account::local(), 1)).await.expect("a total").count
}

#[test]
fn totals_of_a_replica_are_late_by_no_more_than_is_allowed() {
    let pair = Pair::start();
    block_on(async {
        let patient = pair.open(3_600);
        create(&patient).await;
        pair.follows().await;
        assert_eq!(count(&patient).await, 1);
        pair.follows().await;
        sql(&pair.standby.url(), "SELECT pg_wal_replay_pause()");
        create(&patient).await;
        assert_eq!(count(&patient).await, 1, "the replica answers, and is late");
        assert_eq!(patient.list(ListQuery::of(Account::local(), 9)).await.expect("a list").len(), 2, "a page is not");
        let hasty = pair.open(1);
        assert_eq!(count(&hasty).await, 2, "a replica that is too late is passed over");
        sql(&pair.standby.url(), "SELECT pg_wal_replay_resume()");
        until("the replica is in time again", async || count(&patient).await == 2).await;
    });
}

#[test]
fn a_replica_that_is_away_or_replaced_costs_no_read() {
    let pair = Pair::start();
    block_on(async {
        let store = pair.open(3_600);
        create(&store).await;
        pair.follows().await;
        assert_eq!(count(&store).await, 1);
        // It goes its own way: what it has is no copy any more.
        pair.standby.promote().expect("it is a standby");
        create(&store).await;
        assert_eq!(count(&store).await, 2, "a server that follows nobody is not asked");
        pair.standby.kill().expect("it runs");
        create(&store).await;
        assert_eq!(count(&store).await, 3);
        // A store opens without it, too.
        assert_eq!(count(&pair.open(1)).await, 3);
    });
}

#[test]
fn contents_that_a_replica_does_not_have_yet_come_from_the_primary() {
    let pair = Pair::start();
    block_on(async {
        let store = pair.open(3_600);
        pair.follows().await;
        sql(&pair.standby.url(), "SELECT pg_wal_replay_pause()");
        let (edition, _) = store.edition().await.expect("an edition");
        let content = bytes::Bytes::from_static(b"a volume of the search index");
        let volume = NewVolume {
            account: Account::local(),
            documents: 1,
            text_bytes: 1,
            model: String::new(),
            content: content.clone(),
        };
        let change = Reshelving { edition, note: String::new(), remove: Vec::new(), add: vec![volume] };
        assert!(store.reshelve(change).await.expect("a change"));
        let volumes = store.volumes(None).await.expect("volumes");
        let read = async || store.volume(volumes[0].id).await.expect("a read");
        assert_eq!(read().await.as_ref(), Some(&content));
        let parts = store.parts(volumes[0].id, vec![2..8, 0..1]).await.expect("a read").expect("a volume");
        assert_eq!(parts, [&b"volume"[..], b"a"]);
        sql(&pair.standby.url(), "SELECT pg_wal_replay_resume()");
        pair.follows().await;
        assert_eq!(read().await, Some(content));
    });
}
