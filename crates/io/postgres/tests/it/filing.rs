//! Threads wait until many are filed together, and lists are right all the while.

use std::sync::Arc;

use threadkeep_model::{Account, Expect, Json, Record, ThreadCommit, ThreadId};
use threadkeep_postgres::PostgresStore;
use threadkeep_store::{ListFilter, ListQuery, Store, Upkeep};

use crate::keep::{Keep, block_on, commit, create_with, recorded, until};

fn titled(title: &str) -> Record {
    Record { title: Some(title.to_owned()), ..Record::default() }
}

fn tagged(title: &str, tag: &str) -> Record {
    let metadata = Json::parse("metadata", &format!(r#"{{"tags":["{tag}"]}}"#)).expect("json");
    Record { metadata: Some(metadata), ..titled(title) }
}

impl Keep {
    fn number(&self, sql: &str) -> usize {
        let found = self.sql(sql).into_iter().flatten().flatten().next();
        found.expect("a row").parse().expect("a number")
    }

    fn waiting(&self) -> usize {
        self.number("SELECT count(*) FROM threads WHERE minute <> filed")
    }
}

async fn is_sound(store: &PostgresStore) {
    assert_eq!(store.check_lists(9).await.expect("a check"), Vec::<String>::new());
}

/// Both the page and the total.
async fn lists(store: &PostgresStore, filter: ListFilter, threads: usize) {
    let query = ListQuery { filter, ..ListQuery::of(Account::local(), 1_000) };
    assert_eq!(store.list(query.clone()).await.expect("a list").len(), threads, "{query:?}");
    assert_eq!(store.count(query.clone()).await.expect("a total").count, threads as u64, "{query:?}");
}

fn by_title(title: &str) -> ListFilter {
    ListFilter { title: Some(title.to_owned()), ..ListFilter::default() }
}

async fn delete(store: &PostgresStore, thread: ThreadId) {
    let gone = ThreadCommit::Delete { thread, expect: Expect::default() };
    store.commit(commit(vec![gone])).await.expect("a deletion");
}

#[test]
fn threads_wait_until_many_are_filed_together_and_lists_have_all_of_them() {
    let keep = Keep::new();
    block_on(async {
        let store = keep.open();
        let mut threads = Vec::new();
        for n in 0..600 {
            threads.push(create_with(&store, titled(&format!("Release notes {n}"))).await);
            if n == 99 {
                assert_eq!((keep.waiting(), keep.number("SELECT count(*) FROM terms")), (100, 0));
            }
        }
        // 256 may wait, and those that come between two looks.
        until("threads are filed", async || keep.waiting() < 384).await;
        is_sound(&store).await;
        for (title, found) in
            [("notes", 600), ("notes 599", 1), ("notes 3", 111), ("qz", 0), ("se", 600), ("no such", 0)]
        {
            lists(&store, by_title(title), found).await;
        }

        // One that was filed and gets another title waits again, and its terms are gone. So are those of a deleted one.
        let filed = format!("SELECT count(*) FROM terms WHERE thread = {}", threads[0].short().bits());
        assert_ne!(keep.number(&filed), 0, "the oldest is filed first");
        store.commit(commit(vec![recorded(threads[0], tagged("Draft", "red"))])).await.expect("a change");
        assert_eq!(keep.number(&filed), 1, "that of its tag, in the minute of its birth");
        for gone in [threads[1], threads[599]] {
            delete(&store, gone).await;
        }
        is_sound(&store).await;
        lists(&store, by_title("notes"), 597).await;
        lists(&store, by_title("draft"), 1).await;
        lists(&store, ListFilter { tag: Some("red".into()), ..ListFilter::default() }, 1).await;
    });
}

/// Two processes file while both change and delete the same threads.
#[test]
fn threads_that_change_while_they_are_filed_are_listed_right() {
    let keep = Keep::new();
    block_on(async {
        let stores = [keep.open(), keep.open()];
        let mut changing = Vec::new();
        for part in 0..4 {
            let (maker, changer) = (Arc::clone(&stores[part % 2]), Arc::clone(&stores[(part + 1) % 2]));
            changing.push(tokio::spawn(async move {
                let mut threads = Vec::new();
                for n in 0..300 {
                    threads.push(create_with(&maker, tagged(&format!("Release {part} {n}"), "blue")).await);
                    // One from before, which may be filed at this moment.
                    let earlier = threads[n / 2];
                    match n % 3 {
                        0 if n % 2 == 1 => delete(&changer, earlier).await,
                        1 => drop(changer.commit(commit(vec![recorded(earlier, titled("Draft"))])).await),
                        _ => {}
                    }
                }
            }));
        }
        for change in changing {
            change.await.expect("no panic");
        }
        for store in &stores {
            is_sound(store).await;
        }
        let left = keep.number("SELECT count(*) FROM threads");
        let drafts = keep.number("SELECT count(*) FROM threads WHERE record LIKE '%Draft%'");
        assert!(drafts > 100 && left > drafts, "{drafts} of {left}");
        lists(&stores[0], by_title("draft"), drafts).await;
        lists(&stores[1], by_title("release"), left - drafts).await;
        assert!(keep.number("SELECT count(*) FROM terms WHERE bucket > 0") > 0, "some are filed");
    });
}
