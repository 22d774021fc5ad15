//! An index is a place in the default list, and totals count what the filters of the same request show.

use threadkeep::{Append, DeleteMessage, Fork, MessageBody, Page, Role, ThreadId, Truncate};

use crate::{Keep, on_every_store};

on_every_store!(
    a_fork_counts_what_the_list_shows,
    a_truncation_counts_what_the_list_shows,
    insertions_and_deletions_shift_an_index,
    totals_and_offsets_count_what_passes_the_filters,
);

fn deep(text: &str) -> MessageBody {
    MessageBody { depth: 1, ..MessageBody::assistant(text) }
}

/// `a, (silent), b, (deep), c`: the list shows a, b and c.
async fn mixed(keep: &Keep) -> ThreadId {
    let thread = keep.thread(&["a"]).await;
    for said in [MessageBody::user("s").silent(), MessageBody::assistant("b"), deep("d"), MessageBody::user("c")] {
        keep.engine.append(thread, said).await.expect("an append");
    }
    thread
}

async fn all(keep: &Keep, thread: ThreadId) -> String {
    keep.shows_page(thread, Page::first().everything().limit(100)).await
}

async fn listed(keep: &Keep, thread: ThreadId) -> String {
    keep.shows_page(thread, Page::first().limit(100)).await
}

async fn a_fork_counts_what_the_list_shows(keep: Keep) {
    let thread = mixed(&keep).await;
    assert_eq!(listed(&keep, thread).await, "a b c");
    for (index, shows) in [(0, "a"), (1, "a s b"), (2, "a s b d c")] {
        let child = keep.engine.fork(thread, Fork::at_index(index)).await.expect("a fork");
        assert_eq!((all(&keep, child.id).await.as_str(), child.record.fork_point_index), (shows, Some(index)));
    }
    let refused = keep.engine.fork(thread, Fork::at_index(3)).await.expect_err("there are three");
    assert_eq!(refused.to_string(), threadkeep::Error::IndexOutOfRange { index: 3, count: 3 }.to_string());
    let ids = keep.engine.messages(thread, Page::first().everything()).await.expect("a page").items;
    for (place, shows, index) in [(1, "a s", Some(0)), (3, "a s b d", Some(1))] {
        let child = keep.engine.fork(thread, Fork::at_message(ids[place].id)).await.expect("a fork");
        assert_eq!((all(&keep, child.id).await.as_str(), child.record.fork_point_index), (shows, index));
    }
    let child = keep.engine.fork(thread, Fork::default()).await.expect("a fork");
    assert_eq!(child.record.fork_point_index, Some(2));
}

async fn a_truncation_counts_what_the_list_shows(keep: Keep) {
    for (index, shows) in [(2, "a s b"), (1, "a"), (0, "")] {
        let thread = mixed(&keep).await;
        keep.engine.truncate(thread, Truncate::from_index(index)).await.expect("a truncation");
        assert_eq!(all(&keep, thread).await, shows, "what precedes a message belongs to it, shown or not");
    }
    let thread = mixed(&keep).await;
    let past = keep.engine.truncate(thread, Truncate::from_index(3)).await.expect_err("there are three");
    assert_eq!(past.code(), "index_out_of_range");
    let ids = keep.engine.messages(thread, Page::first().everything()).await.expect("a page").items;
    keep.engine.truncate(thread, Truncate::from_message(ids[3].id)).await.expect("from a hidden one");
    assert_eq!(all(&keep, thread).await, "a s b");
    let only_hidden = keep.thread(&[]).await;
    let hidden = keep.engine.append(only_hidden, MessageBody::user("s").silent()).await.expect("an append");
    keep.engine.truncate(only_hidden, Truncate::from_message(hidden[0].id)).await.expect("a truncation");
    assert_eq!(all(&keep, only_hidden).await, "");
}

async fn insertions_and_deletions_shift_an_index(keep: Keep) {
    let thread = mixed(&keep).await;
    let ids = keep.engine.messages(thread, Page::first().everything()).await.expect("a page").items;
    for (said, before) in [(MessageBody::user("x"), 2), (MessageBody::user("y").silent(), 2), (deep("z"), 0)] {
        keep.engine.append(thread, Append::before(said, ids[before].id)).await.expect("an insertion");
    }
    for gone in [0, 1] {
        let message = ids[gone].id.into();
        assert!(keep.engine.delete_message(thread, DeleteMessage { message }).await.expect("a deletion"));
    }
    assert_eq!((all(&keep, thread).await.as_str(), listed(&keep, thread).await.as_str()), ("z x y b d c", "x b c"));
    for (index, shows) in [(0, "z x"), (1, "z x y b"), (2, "z x y b d c")] {
        let child = keep.engine.fork(thread, Fork::at_index(index)).await.expect("a fork");
        assert_eq!((all(&keep, child.id).await.as_str(), child.record.fork_point_index), (shows, Some(index)));
    }
    for (offset, shows) in [(0, "x b c"), (1, "b c"), (2, "c"), (3, "")] {
        assert_eq!(keep.shows_page(thread, Page::first().offset(offset)).await, shows, "{offset}");
    }
    assert_eq!(keep.shows_page(thread, Page::first().newest_first().offset(1)).await, "b x");
    assert_eq!(keep.engine.messages(thread, Page::first()).await.expect("a page").total, 3);
    keep.engine.truncate(thread, Truncate::from_index(1)).await.expect("a truncation");
    assert_eq!(all(&keep, thread).await, "z x");
}

async fn totals_and_offsets_count_what_passes_the_filters(keep: Keep) {
    let thread = mixed(&keep).await;
    let user = || Page::first().role(Role::User);
    for (page, shows) in [
        (Page::first(), "a b c"),
        (Page::first().include_silent(), "a s b c"),
        (Page::first().max_depth(1), "a b d c"),
        (Page::first().everything(), "a s b d c"),
        (user(), "a c"),
        (user().include_silent(), "a s c"),
        (Page::first().role(Role::Assistant).max_depth(9), "b d"),
        (Page::first().role(Role::Tool), ""),
    ] {
        let texts: Vec<&str> = shows.split_whitespace().collect();
        for offset in 0..=texts.len() {
            let found =
                keep.engine.messages(thread, page.clone().offset(offset as u64).limit(1)).await.expect("a page");
            assert_eq!(found.total, texts.len() as u64, "{shows}, past {offset}");
            let first = found.items.first().map(|message| message.text().expect("text"));
            assert_eq!(first.as_deref(), texts.get(offset).copied(), "{shows}, past {offset}");
        }
    }
}
