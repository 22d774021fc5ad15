//! Leases of processes: a process owns work while its lease holds, and what it does later is refused.

use threadkeep::{LiveSettings, MessageBody};

use crate::{Keep, on_every_store};

on_every_store!(
    a_process_has_one_lease_while_it_owns_work,
    another_process_sees_the_lease_until_it_ends,
    what_a_process_writes_after_its_lease_is_refused,
    a_store_keeps_its_id_and_a_copy_has_another,
);

async fn a_process_has_one_lease_while_it_owns_work(keep: Keep) {
    let (one, two) = (keep.engine.own().await.expect("a lease"), keep.engine.own().await.expect("a lease"));
    assert_eq!(one.id(), two.id());
    let id = one.id();
    drop(one);
    assert_eq!(keep.engine.own().await.expect("a lease").id(), id, "it is still used");
    drop(two);
    assert_ne!(keep.engine.own().await.expect("a lease").id(), id, "a lease that was let go does not come back");
}

async fn another_process_sees_the_lease_until_it_ends(keep: Keep) {
    let other = keep.engine.with_live(LiveSettings::default());
    let (own, theirs) = (keep.engine.own().await.expect("a lease"), other.own().await.expect("a lease"));
    assert_ne!(own.id(), theirs.id());
    let living = async || keep.engine.living([own.id(), theirs.id()]).await.expect("a read");
    assert_eq!(living().await, [own.id(), theirs.id()].into());
    other.end_lease().await.expect("an end");
    assert_eq!(living().await, [own.id()].into());
    theirs.lost().await;
    assert!(theirs.is_lost() && !own.is_lost());
    assert_ne!(other.own().await.expect("a lease").id(), theirs.id());
}

async fn what_a_process_writes_after_its_lease_is_refused(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let owned = keep.engine.own().await.expect("a lease");
    let engine = keep.engine.owned(&owned);
    engine.append(thread, MessageBody::user("b")).await.expect("an append");
    keep.engine.end_lease().await.expect("an end");
    let late = engine.append(thread, MessageBody::user("late")).await.expect_err("the lease has ended");
    assert_eq!((late.code(), late.to_string().contains("the lease of this process has ended")), ("unavailable", true));
    let again = keep.engine.own().await.expect("a lease");
    engine.append(thread, MessageBody::user("late")).await.expect_err("it is another lease");
    keep.engine.owned(&again).append(thread, MessageBody::user("c")).await.expect("an append");
    assert_eq!(keep.shows(thread).await, "a b c");
}

async fn a_store_keeps_its_id_and_a_copy_has_another(keep: Keep) {
    keep.thread(&["a"]).await;
    let id = keep.engine.store_id().await.expect("an id");
    let reader = keep.engine.with_live(LiveSettings::default());
    assert_eq!(reader.store_id().await.expect("an id"), id);
    let copy = threadkeep::open("memory:").expect("a store");
    keep.engine.copy_to(&copy, std::sync::Arc::new(|_, _, _| {})).await.expect("a copy");
    assert_ne!(copy.store_id().await.expect("an id"), id);
}
