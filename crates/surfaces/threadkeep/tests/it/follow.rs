//! Subscriptions and the feed: catch up, then live; no gap, no repeat.

use threadkeep::{Delete, FeedCursor, FeedNews, Fork, MessageBody, Position, RollbackTo};

use crate::{Keep, on_every_store};

on_every_store!(
    a_follower_catches_up_and_goes_on_live,
    a_follower_resumes_where_it_stopped,
    a_follower_of_a_fork_sees_what_it_inherited,
    followers_see_every_entry_once_while_many_write,
    a_deleted_thread_ends_its_subscriptions,
    the_feed_follows_all_threads,
);

async fn a_follower_catches_up_and_goes_on_live(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let mut follower = keep.engine.subscribe(thread, Position(1)).await.expect("a subscription");
    let engine = keep.engine.clone();
    let writer = tokio::spawn(async move {
        engine.append(thread, MessageBody::user("c")).await.expect("an append");
        engine.rollback(thread, RollbackTo::Version(Position(1))).await.expect("a rollback");
    });
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let entry = follower.next().await.expect("a read").expect("an entry");
        seen.push((entry.version.0, entry.kind.as_str()));
    }
    assert_eq!(seen, [(2, "message_appended"), (3, "message_appended"), (4, "rolled_back")]);
    writer.await.expect("a writer that ends");
    let future = keep.engine.subscribe(thread, Position(5)).await;
    assert!(future.is_err(), "a version in the future is refused");
}

async fn a_follower_resumes_where_it_stopped(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let mut first = keep.engine.subscribe(thread, Position(0)).await.expect("a subscription");
    first.next().await.expect("a read");
    first.next().await.expect("a read");
    let mut second = keep.engine.subscribe(thread, first.version()).await.expect("a subscription");
    let entry = second.next().await.expect("a read").expect("an entry");
    assert_eq!(entry.version, Position(3));
}

async fn a_follower_of_a_fork_sees_what_it_inherited(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    keep.engine.update(thread, threadkeep::Update::new().title("new")).await.expect("an update");
    let fork = keep.engine.fork(thread, Fork::at_index(1)).await.expect("a fork").id;
    keep.engine.append(fork, MessageBody::user("d")).await.expect("an append");
    let history = keep.engine.history(fork, Position(0), 99).await.expect("history");
    let seen: Vec<_> = history.iter().map(|entry| (entry.version.0, entry.kind.as_str())).collect();
    assert_eq!(seen, [1, 2, 3].map(|version| (version, "message_appended")), "the parent's record is not inherited");
    assert!(history.iter().all(|entry| entry.thread == fork));
    let page = keep.engine.history(fork, Position(1), 1).await.expect("history");
    assert_eq!(page[0].version, Position(2));
}

async fn followers_see_every_entry_once_while_many_write(keep: Keep) {
    const WRITERS: u64 = 8;
    const EACH: u64 = 25;
    let thread = keep.thread(&[]).await;
    let followers: Vec<_> = (0..4)
        .map(|_| {
            let engine = keep.engine.clone();
            tokio::spawn(async move {
                let mut follower = engine.subscribe(thread, Position(0)).await.expect("a subscription");
                let mut versions = Vec::new();
                while versions.len() < (WRITERS * EACH) as usize {
                    versions.push(follower.next().await.expect("a read").expect("an entry").version.0);
                }
                versions
            })
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let engine = keep.engine.clone();
            tokio::spawn(async move {
                for _ in 0..EACH {
                    engine.append(thread, MessageBody::user("x")).await.expect("an append");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer that ends");
    }
    let expected: Vec<u64> = (1..=WRITERS * EACH).collect();
    for follower in followers {
        assert_eq!(follower.await.expect("a follower that ends"), expected);
    }
}

async fn a_deleted_thread_ends_its_subscriptions(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let mut follower = keep.engine.subscribe(thread, Position(1)).await.expect("a subscription");
    let engine = keep.engine.clone();
    let deletion = tokio::spawn(async move { engine.delete(thread, Delete::default()).await });
    assert_eq!(follower.next().await.expect("a read"), None);
    assert!(deletion.await.expect("a task that ends").expect("a deletion"));
}

async fn the_feed_follows_all_threads(keep: Keep) {
    let mut reader = keep.engine.feed(FeedCursor(0)).await.expect("a feed");
    let engine = keep.engine.clone();
    let writer = tokio::spawn(async move {
        let one = engine.create(threadkeep::Create::new()).await.expect("a thread").id;
        let two = engine.fork(one, Fork::default()).await.expect("a fork").id;
        engine.append(two, MessageBody::user("a")).await.expect("an append");
        engine.delete(one, Delete::default()).await.expect("a deletion");
        (one, two)
    });
    let mut seen = Vec::new();
    for _ in 0..5 {
        let item = reader.next().await.expect("a read");
        let news = match item.news {
            FeedNews::Began(_) => "began",
            FeedNews::Entry(entry) => entry.kind.as_str(),
            FeedNews::Deleted => "deleted",
        };
        seen.push((item.thread, news));
    }
    let (one, two) = writer.await.expect("a writer that ends");
    let expected = [(one, "began"), (one, "forked"), (two, "began"), (two, "message_appended"), (one, "deleted")];
    assert_eq!(seen, expected);
    let beyond = FeedCursor(reader.cursor().0 + 1);
    assert!(keep.engine.feed(beyond).await.is_err(), "a cursor in the future is refused");
}
