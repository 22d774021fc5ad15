//! A standby without synchronous replication takes over, and lacks the last writes of its primary.

use threadkeep_model::{Actor, ActorKind, Caller, Commit, Expect, Position, ThreadId};
use threadkeep_postgres::PostgresStore;
use threadkeep_store::{EntryQuery, Feed, Order, Result, Store};
use threadkeep_throwaway::{Cluster, sql};

use crate::keep::{block_on, commit, create, said, until};

async fn say_as(store: &PostgresStore, name: &str, thread: ThreadId) -> Result<()> {
    let actor = Actor { kind: ActorKind::Human, name: name.to_owned() };
    let caller = Caller { actor, ..Caller::local() };
    let said = commit(vec![said(thread, &format!("said by {name}"), Expect::default())]);
    store.commit(Commit { caller, ..said }).await.map(drop)
}

#[test]
fn after_a_takeover_that_lost_writes_nobody_is_taken_for_another_and_the_feed_goes_on() {
    let primary = Cluster::start().expect("a server");
    let standby = primary.standby().expect("a standby");
    let open = || PostgresStore::open(primary.url_with(&standby).parse().expect("a url")).expect("a store");
    block_on(async {
        let (one, two) = (open(), open());
        let thread = create(&one).await;
        let threads = || sql(&standby.url(), "SELECT 1 FROM pg_tables WHERE tablename = 'heads'");
        until("the standby has the tables", async || !threads().is_empty()).await;
        let born = || sql(&standby.url(), "SELECT 1 FROM threadkeep.heads");
        until("the standby has the thread", async || !born().is_empty()).await;
        // The standby hears no more.
        sql(&standby.url(), "ALTER SYSTEM SET primary_conninfo = ''");
        sql(&standby.url(), "SELECT pg_reload_conf()");
        let follows = || sql(&primary.url(), "SELECT 1 FROM pg_stat_replication");
        until("the standby is cut off", async || follows().is_empty()).await;
        // The row that says who Ann is goes with the primary, and so does what she said.
        for _ in 0..20 {
            say_as(&one, "ann", thread).await.expect("an append");
        }
        let seen = one.latest().await.expect("a place in the feed");
        primary.kill().expect("it runs");
        standby.promote().expect("it is a standby");
        until("Bob writes", async || say_as(&two, "bob", thread).await.is_ok()).await;
        until("Ann writes", async || say_as(&one, "ann", thread).await.is_ok()).await;
        // One who saw what is lost goes on from there, and misses nothing of what comes now.
        let news = two.feed(seen, 99).await.expect("a read");
        assert_eq!(news.len() as u64, two.head(thread).await.expect("a read").expect("a thread").version.0);
        for store in [&one, &two, &open()] {
            let segment = store.head(thread).await.expect("a read").expect("a thread").segment;
            let positions = Position(0)..=Position(99);
            let query = EntryQuery { segment, positions, order: Order::Ascending, limit: 99 };
            let entries = store.entries(query).await.expect("entries");
            let names: Vec<&str> = entries.iter().map(|entry| entry.actor.name.as_str()).collect();
            assert_eq!(names.first(), Some(&"bob"));
            assert_eq!(names.last(), Some(&"ann"));
        }
    });
}
