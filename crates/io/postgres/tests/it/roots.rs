//! What comes with a thread needs no query of its own.

use threadkeep_model::{SegmentId, ThreadId, ThreadName};
use threadkeep_postgres::PostgresStore;
use threadkeep_store::{LeftOutQuery, MessageFilter, Result, Store};

use crate::keep::{Keep, block_on, create, say};

async fn segment(store: &PostgresStore, thread: ThreadId) -> SegmentId {
    let found = store.thread(ThreadName::Full(thread)).await.expect("a read");
    found.expect("the thread").head.segment
}

async fn left_out(store: &PostgresStore, segment: SegmentId, messages: u64) -> Result<Vec<u64>> {
    store.left_out(LeftOutQuery { spans: vec![(segment, 0..messages)], filter: MessageFilter::SHOWN }).await
}

#[test]
fn one_query_tells_a_thread_its_lineage_and_that_nothing_is_hidden() {
    let keep = Keep::new();
    block_on(async {
        let (store, other) = (keep.open(), keep.open());
        let thread = create(&store).await;
        for text in ["a", "b"] {
            say(&store, thread, text).await.expect("a message");
        }
        let root = segment(&store, thread).await;
        // Without their tables, a query would fail.
        for table in ["segments", "entries"] {
            keep.sql(&format!("ALTER TABLE {table} RENAME TO {table}_away"));
        }
        assert_eq!(store.chain(root, 9).await.expect("it is known").len(), 1);
        assert_eq!(left_out(&store, root, 2).await.expect("it is known"), [0u64; 0]);
        // What comes later is asked for, and so is what this process did not read.
        left_out(&store, root, 3).await.expect_err("there is no table");
        other.chain(root, 9).await.expect_err("there is no table");
        left_out(&other, root, 2).await.expect_err("there is no table");
        for table in ["segments", "entries"] {
            keep.sql(&format!("ALTER TABLE {table}_away RENAME TO {table}"));
        }
        assert_eq!(left_out(&store, root, 3).await.expect("a read"), [0u64; 0]);
    });
}
