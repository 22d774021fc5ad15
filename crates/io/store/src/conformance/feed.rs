//! Promises of the feed and its signals.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use threadkeep_model::{Bounds, Position, ThreadId};

use super::Hands;
use super::hands::{said, text};
use crate::{FeedCursor, FeedItem, FeedNews, Signal};

fn told(item: &FeedItem) -> (ThreadId, String) {
    let news = match &item.news {
        FeedNews::Began(_) => "began".to_owned(),
        FeedNews::Entry(entry) => text(entry).unwrap_or_else(|| entry.kind.as_str().to_owned()),
        FeedNews::Deleted => "deleted".to_owned(),
    };
    (item.thread, news)
}

pub async fn the_feed_tells_births_entries_and_deletions_in_order(hands: Hands) {
    let one = hands.thread(&["a"]).await;
    let other = hands.thread(&[]).await;
    hands.done(hands.commit(vec![hands.write(other, vec![said("b")]), hands.write(one, vec![said("c")])])).await;
    let fork = hands.fork(one, Bounds::all(Position(1))).await;
    hands.delete(other).await;
    let all = hands.feed(FeedCursor(0), 100).await;
    let expected = [
        (one, "began"),
        (one, "a"),
        (other, "began"),
        (other, "b"),
        (one, "c"),
        (one, "forked"),
        (fork, "began"),
        (other, "deleted"),
    ];
    assert_eq!(all.iter().map(told).collect::<Vec<_>>(), expected.map(|(thread, news)| (thread, news.to_owned())));
    assert_eq!(hands.stores.feed.latest().await.expect("a read"), all[7].cursor);
    assert!(all.is_sorted_by(|earlier, later| earlier.cursor < later.cursor));
}

pub async fn the_feed_goes_on_from_any_cursor_without_gap_or_repeat(hands: Hands) {
    let threads = [hands.thread(&["a"]).await, hands.thread(&["b"]).await];
    for n in 0..20 {
        hands.say(threads[n % 2], &n.to_string()).await;
    }
    let all = hands.feed(FeedCursor(0), 1_000).await;
    for limit in [1, 3, 7] {
        assert_eq!(hands.feed(FeedCursor(0), limit).await, all);
    }
    for (at, item) in all.iter().enumerate() {
        assert_eq!(hands.feed(item.cursor, 4).await, all[at + 1..]);
    }
}

/// Whether a signal is there already.
async fn is_told(signal: &mut Signal) -> bool {
    let mut waiting = std::pin::pin!(signal.wait());
    std::future::poll_fn(|context| std::task::Poll::Ready(waiting.as_mut().poll(context).is_ready())).await
}

pub async fn a_signal_is_there_by_the_time_the_commit_returns(hands: Hands) {
    let (one, other) = (hands.thread(&[]).await, hands.thread(&[]).await);
    let signals = hands.stores.feed.signals();
    let (mut of_one, mut of_other) = (signals.of(one), signals.of(other));
    let mut of_any = signals.any();
    assert!(signals.is_watched());
    hands.say(one, "a").await;
    assert!(is_told(&mut of_one).await && is_told(&mut of_any).await);
    hands.delete(other).await;
    assert!(is_told(&mut of_other).await, "a deletion is news");
}

pub async fn feed_cursors_are_never_reused_after_gc(hands: Hands) {
    let kept = hands.thread(&["a"]).await;
    let gone = hands.thread(&["b", "c"]).await;
    hands.delete(gone).await;
    let before = hands.stores.feed.latest().await.expect("a read");
    hands.gc().await;
    assert_eq!(hands.stores.feed.latest().await.expect("a read"), before);
    hands.say(kept, "d").await;
    let news = hands.feed(before, 9).await;
    assert_eq!(news.iter().map(told).collect::<Vec<_>>(), [(kept, "d".to_owned())]);
    assert!(news[0].cursor > before);
}
