//! An expensive read whose caller goes is ended on the server.

use std::pin::pin;
use std::task::{Context, Waker};

use threadkeep_model::Account;
use threadkeep_store::{ListQuery, Store};

use crate::keep::{Keep, block_on, until};

#[test]
fn a_read_whose_caller_goes_is_cancelled_on_the_server() {
    let keep = Keep::new();
    block_on(async {
        // Its own limits end it long after this test has given up.
        let store = keep.try_open("&call_timeout=600").expect("a store");
        let holder = keep.session().await;
        holder.batch_execute("BEGIN; LOCK TABLE threads IN ACCESS EXCLUSIVE MODE").await.expect("a lock");
        {
            let mut read = pin!(store.count(ListQuery::of(Account::local(), 1)));
            assert!(read.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            keep.until_one_waits(&holder).await;
        }
        let waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'threads'::regclass";
        until("the read is over", async || holder.query(waits, &[]).await.expect("a look").is_empty()).await;
        holder.batch_execute("ROLLBACK").await.expect("the table is free");
        assert_eq!(store.count(ListQuery::of(Account::local(), 1)).await.expect("a total").count, 0);
    });
}
