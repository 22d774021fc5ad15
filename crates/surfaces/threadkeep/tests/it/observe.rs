//! Observing threads in snapshots: shared by all who look, and always the last one.

use std::sync::Arc;

use threadkeep::{Delete, LiveSettings, MessageBody, Observed, Observer, Position, Snapshot, Update};

use crate::live::{open, say, unhurried};
use crate::{Keep, on_every_store};

on_every_store!(
    a_thread_shows_at_once_and_whenever_it_changes,
    all_observers_get_the_same_snapshot_and_always_the_last_one,
    observers_of_many_threads_see_their_own,
    a_deleted_thread_ends_its_observers,
    updates_show_before_they_are_flushed,
    what_other_engines_do_shows_too,
    an_observer_can_go_and_come_back,
);

async fn next(observer: &mut Observer) -> Arc<Snapshot> {
    match observer.next().await.expect("the thread lives") {
        Observed::Snapshot(snapshot) => snapshot,
        other => panic!("{other:?}"),
    }
}

/// The first snapshot at this version or after it.
async fn at(observer: &mut Observer, version: u64) -> Arc<Snapshot> {
    loop {
        let snapshot = next(observer).await;
        if snapshot.version >= Position(version) {
            return snapshot;
        }
    }
}

fn last(snapshot: &Snapshot) -> String {
    snapshot.last.as_ref().map_or(String::new(), |message| message.text().expect("text").to_string())
}

async fn a_thread_shows_at_once_and_whenever_it_changes(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let mut observer = keep.engine.observe(thread).await.expect("an observer");
    let first = next(&mut observer).await;
    assert_eq!((first.version, first.message_count, last(&first)), (Position(2), 2, "b".into()));
    keep.engine.append(thread, MessageBody::user("c").silent()).await.expect("an append");
    assert_eq!(last(&*at(&mut observer, 3).await), "c");
    keep.engine.update(thread, Update::new().title("new")).await.expect("an update");
    let changed = at(&mut observer, 4).await;
    assert_eq!((changed.thread.record.title.as_deref(), last(&changed)), (Some("new"), "c".into()));
    let ids = keep.ids(thread).await;
    let delete = threadkeep::DeleteMessage { message: ids[2].into() };
    keep.engine.delete_message(thread, delete).await.expect("a deletion");
    let changed = at(&mut observer, 5).await;
    assert_eq!((changed.message_count, last(&changed)), (2, "b".into()));
}

async fn all_observers_get_the_same_snapshot_and_always_the_last_one(keep: Keep) {
    const UPDATES: u64 = 100;
    let thread = keep.thread(&[]).await;
    let observers: Vec<_> = (0..50)
        .map(|_| {
            let engine = keep.engine.clone();
            tokio::spawn(async move {
                let mut observer = engine.observe(thread).await.expect("an observer");
                at(&mut observer, UPDATES).await
            })
        })
        .collect();
    for n in 0..UPDATES {
        keep.engine.append(thread, MessageBody::user(&n.to_string())).await.expect("an append");
    }
    let mut shown = Vec::new();
    for observer in observers {
        shown.push(observer.await.expect("an observer that ends"));
    }
    assert_eq!((shown[0].version, shown[0].message_count), (Position(UPDATES), UPDATES));
    // One that came after all others had gone would have had its own.
    let shared = shown.iter().filter(|snapshot| Arc::ptr_eq(snapshot, &shown[0])).count();
    assert!(shared > 1, "only {shared} share a snapshot");
    let (mut one, mut other) =
        (keep.engine.observe(thread).await.expect("one"), keep.engine.observe(thread).await.expect("another"));
    assert!(Arc::ptr_eq(&next(&mut one).await, &next(&mut other).await), "built once, for all");
}

async fn observers_of_many_threads_see_their_own(keep: Keep) {
    let mut observers = Vec::new();
    for _ in 0..10 {
        let thread = keep.thread(&[]).await;
        observers.push(keep.engine.observe(thread).await.expect("an observer"));
    }
    for (n, observer) in observers.iter().enumerate() {
        keep.engine.append(observer.thread(), MessageBody::user(&n.to_string())).await.expect("an append");
    }
    for (n, observer) in observers.iter_mut().enumerate() {
        assert_eq!(last(&*at(observer, 1).await), n.to_string());
    }
}

async fn a_deleted_thread_ends_its_observers(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let mut observer = keep.engine.observe(thread).await.expect("an observer");
    next(&mut observer).await;
    assert!(keep.engine.delete(thread, Delete::default()).await.expect("a deletion"));
    assert!(matches!(observer.next().await, Some(Observed::Deleted)));
    assert!(observer.next().await.is_none());
    assert!(keep.engine.observe(thread).await.is_err_and(|error| error.code() == "thread_not_found"));
}

async fn updates_show_before_they_are_flushed(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let engine = unhurried(&keep);
    let writer = open(&engine, thread).await;
    let mut observer = engine.observe(thread).await.expect("an observer");
    next(&mut observer).await;
    let updated = writer.update(|draft| {
        draft.append(MessageBody::user("b"));
        draft.title("new");
    });
    updated.expect("an update");
    let shown = at(&mut observer, 3).await;
    assert_eq!((shown.thread.head.version, shown.message_count, last(&shown)), (Position(1), 2, "a".into()));
    assert_eq!(shown.thread.record.title.as_deref(), Some("new"));
    assert_eq!(shown.pending.as_ref().expect("a message").content.to_text(), "b");
    writer.flush_version(Position(3)).await.expect("a flush");
    loop {
        let shown = next(&mut observer).await;
        if shown.thread.head.version == Position(3) {
            assert_eq!((last(&shown), &shown.pending), ("b".into(), &None));
            break;
        }
    }
    say(&writer, "c");
    writer.dispose().await.expect("all is flushed");
    loop {
        let shown = next(&mut observer).await;
        if shown.thread.head.version == Position(4) {
            break;
        }
    }
}

async fn what_other_engines_do_shows_too(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let other = keep.engine.with_live(LiveSettings::default());
    let mut observer = other.observe(thread).await.expect("an observer");
    drop(other);
    keep.engine.append(thread, MessageBody::user("a")).await.expect("an append");
    assert_eq!(last(&*at(&mut observer, 1).await), "a");
}

async fn an_observer_can_go_and_come_back(keep: Keep) {
    let thread = keep.thread(&[]).await;
    for n in 1..=5 {
        let mut observer = keep.engine.observe(thread).await.expect("an observer");
        keep.engine.append(thread, MessageBody::user("x")).await.expect("an append");
        assert_eq!(at(&mut observer, n).await.message_count, n);
    }
}
