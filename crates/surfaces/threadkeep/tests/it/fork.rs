//! Forks share history; relations are seen from both ends.

use std::sync::Arc;

use threadkeep::model::Relation;
use threadkeep::{
    Append, At, Content, Delete, DeleteMessage, EditMessage, Error, Family, FamilyPage, Fork, MessageBody, Page,
    Position, RelationshipRole, ThreadId, Truncate, TruncateFrom,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_fork_keeps_the_history_up_to_its_point,
    a_fork_shows_earlier_messages_as_they_are_now,
    a_fork_counts_on_from_its_fork_point,
    a_fork_point_out_of_view_is_refused,
    a_fork_at_an_inserted_message_ends_there,
    titles_count_up_and_metadata_goes_along,
    relations_hold_while_what_made_them_is_in_view,
    a_fork_survives_its_origin,
    a_deep_chain_of_forks_reads_and_forks_on,
    forks_of_one_thread_never_conflict,
    the_whole_family_is_one_read,
    a_large_family_comes_in_pages,
    depth_and_breadth_limit_a_family,
);

async fn a_fork_keeps_the_history_up_to_its_point(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let ids = keep.ids(thread).await;
    let by_index = keep.engine.fork(thread, Fork::at_index(1)).await.expect("a fork");
    let by_id = keep.engine.fork(thread, Fork::at_message(ids[1])).await.expect("a fork");
    let by_version = keep.engine.fork(thread, Fork::at_version(Position(2))).await.expect("a fork");
    for fork in [&by_index, &by_id, &by_version] {
        assert_eq!(keep.shows(fork.id).await, "a b");
        assert_eq!(keep.ids(fork.id).await, ids[..2], "message ids are the same in every fork");
        assert_eq!((fork.record.origin_thread_id, fork.record.fork_point_index), (Some(thread), Some(1)));
    }
    keep.engine.append(by_index.id, MessageBody::user("d")).await.expect("an append");
    keep.engine.append(thread, MessageBody::user("e")).await.expect("an append");
    assert_eq!(keep.shows(by_index.id).await, "a b d");
    assert_eq!(keep.shows(thread).await, "a b c e");
    let whole = keep.engine.fork(thread, Fork::default()).await.expect("a fork of now");
    assert_eq!(keep.shows(whole.id).await, "a b c e");
}

async fn a_fork_shows_earlier_messages_as_they_are_now(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c", "d"]).await;
    let ids = keep.ids(thread).await;
    keep.engine.edit_message(thread, EditMessage::content(ids[0], Content::text("A"))).await.expect("an edit");
    let delete = DeleteMessage { message: ids[1].into() };
    keep.engine.delete_message(thread, delete).await.expect("a deletion");
    let message = MessageBody::user("x");
    keep.engine.append(thread, Append::before(message, ids[2])).await.expect("an insertion");
    let fork = keep.engine.fork(thread, Fork::at_message(ids[2])).await.expect("a fork");
    assert_eq!(keep.shows(fork.id).await, "A x c");
    assert_eq!(fork.record.fork_point_index, Some(2), "an index counts visible messages");
    keep.engine.edit_message(thread, EditMessage::content(ids[2], Content::text("C"))).await.expect("a later edit");
    assert_eq!(keep.shows(fork.id).await, "A x c", "later changes stay with the parent");
    let then = keep.engine.fork(thread, Fork::at_version(Position(4))).await.expect("a fork of then");
    assert_eq!(keep.shows(then.id).await, "a b c d");
    let deleted = keep.engine.fork(thread, Fork::at_message(ids[1])).await;
    assert!(matches!(deleted, Err(Error::MessageNotFound { .. })));
}

async fn a_fork_counts_on_from_its_fork_point(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let fork = keep.engine.fork(thread, Fork::at_index(1)).await.expect("a fork");
    assert_eq!(fork.head.version, Position(2));
    let appended = keep.engine.append(fork.id, MessageBody::user("d")).await.expect("an append");
    assert_eq!((appended[0].version, appended[0].number), (Position(3), 3));
    assert_eq!(keep.engine.thread(thread).await.expect("the parent").head.version, Position(4), "it was told");
}

async fn a_fork_point_out_of_view_is_refused(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let elsewhere = keep.thread(&["b"]).await;
    let foreign = keep.ids(elsewhere).await[0];
    let refused = async |fork| keep.engine.fork(thread, fork).await.expect_err("a refusal").code();
    assert_eq!(refused(Fork::at_index(1)).await, "index_out_of_range");
    assert_eq!(refused(Fork::at_message(foreign)).await, "message_not_found");
    assert_eq!(refused(Fork::at_version(Position(2))).await, "version_in_future");
    let stale = keep.engine.fork(At::of(thread).expecting(Position(0)), Fork::default()).await;
    assert_eq!(stale.expect_err("a refusal").code(), "version_conflict");
    assert_eq!(keep.engine.thread(thread).await.expect("the thread").head.version, Position(1));
    let empty = keep.thread(&[]).await;
    let fork = keep.engine.fork(empty, Fork::default()).await.expect("a fork of nothing");
    assert_eq!((fork.head.version, fork.record.fork_point_index), (Position(0), None));
    keep.engine.append(fork.id, MessageBody::user("c")).await.expect("an append");
    assert_eq!((keep.shows(fork.id).await, keep.shows(empty).await), ("c".into(), String::new()));
}

async fn a_fork_at_an_inserted_message_ends_there(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let ids = keep.ids(thread).await;
    for text in ["x", "y"] {
        let insert = Append::before(MessageBody::user(text), ids[1]);
        keep.engine.append(thread, insert).await.expect("an insertion");
    }
    let x = keep.ids(thread).await[1];
    let fork = keep.engine.fork(thread, Fork::at_message(x)).await.expect("a fork");
    assert_eq!((keep.shows(fork.id).await.as_str(), fork.record.fork_point_index), ("a x", Some(1)));
    keep.engine.append(fork.id, MessageBody::user("z")).await.expect("an append");
    assert_eq!(keep.shows(fork.id).await, "a x z");
    let fork = keep.engine.fork(thread, Fork::at_index(0)).await.expect("a fork before the insertions");
    keep.engine.append(fork.id, MessageBody::user("z")).await.expect("an append");
    assert_eq!(keep.shows(fork.id).await, "a z");
}

async fn titles_count_up_and_metadata_goes_along(keep: Keep) {
    let create = threadkeep::Create::titled("X")
        .field("metadata", threadkeep::Json::parse("metadata", r#"{"k":1.0}"#).expect("json"))
        .field("draft", threadkeep::Json::string("unsent"));
    let thread = keep.engine.create(create).await.expect("a thread").id;
    let first = keep.engine.fork(thread, Fork::default()).await.expect("a fork");
    let second = keep.engine.fork(first.id, Fork::default()).await.expect("a fork");
    let named = keep.engine.fork(thread, Fork::default().titled("Mine")).await.expect("a fork");
    let titles = [&first, &second, &named].map(|fork| fork.record.title.as_deref().unwrap_or_default());
    assert_eq!(titles, ["Forked: X", "Forked(2): X", "Mine"]);
    assert_eq!(second.record.metadata.as_ref().expect("metadata").as_str(), r#"{"k":1.0}"#);
    assert_eq!(first.record.draft, None, "a draft belongs to its thread");
}

async fn relations_hold_while_what_made_them_is_in_view(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let fork = keep.engine.fork(thread, Fork::at_index(1)).await.expect("a fork").id;
    let seen = async || {
        let parent = keep.engine.relationships(thread).await.expect("a read");
        let child = keep.engine.relationships(fork).await.expect("a read");
        assert_eq!(parent.len(), child.len(), "both ends see the same");
        parent.first().map(|relation| {
            assert_eq!(
                (relation.thread_id, relation.role, relation.message_index),
                (fork, RelationshipRole::Parent, Some(1))
            );
            assert_eq!((child[0].thread_id, child[0].role), (thread, RelationshipRole::Child));
        })
    };
    assert!(seen().await.is_some());
    let truncate = |from| Truncate { from: TruncateFrom::Index(from) };
    keep.engine.truncate(thread, truncate(2)).await.expect("a truncation after it");
    assert!(seen().await.is_some());
    keep.engine.truncate(thread, truncate(1)).await.expect("a truncation before it");
    assert!(seen().await.is_none());
    keep.engine.rollback(thread, threadkeep::RollbackTo::Undo).await.expect("undo");
    assert!(seen().await.is_some(), "what is undone revives what it had undone");
    keep.engine.rollback(thread, threadkeep::RollbackTo::Version(Position(3))).await.expect("before the fork");
    assert!(seen().await.is_none());
    keep.engine.rollback(thread, threadkeep::RollbackTo::Undo).await.expect("undo");
    assert!(seen().await.is_some());
    keep.engine.delete(fork, Delete::default()).await.expect("a deletion");
    assert!(keep.engine.relationships(thread).await.expect("a read").is_empty());
}

async fn a_fork_survives_its_origin(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let fork = keep.engine.fork(thread, Fork::at_index(1)).await.expect("a fork").id;
    let quiet = || -> threadkeep::Progress { Arc::new(|_, _, _| {}) };
    assert!(keep.engine.delete(thread, Delete::default()).await.expect("a deletion"));
    assert!(!keep.engine.delete(thread, Delete::default()).await.expect("a second deletion"));
    keep.engine.gc(true, quiet()).await.expect("gc");
    assert_eq!(keep.shows(fork).await, "a b");
    keep.engine.append(fork, MessageBody::user("d")).await.expect("an append");
    assert_eq!(keep.shows(fork).await, "a b d");
    assert!(keep.engine.doctor(quiet()).await.expect("a look").is_healthy());
    let late = keep.engine.append(thread, MessageBody::user("late")).await;
    assert!(matches!(late, Err(Error::ThreadNotFound { .. })));
}

async fn a_deep_chain_of_forks_reads_and_forks_on(keep: Keep) {
    const DEPTH: usize = 300;
    let mut thread = keep.thread(&["0"]).await;
    for n in 1..DEPTH {
        thread = keep.engine.fork(thread, Fork::default()).await.expect("a fork").id;
        keep.engine.append(thread, MessageBody::user(&n.to_string())).await.expect("an append");
    }
    let all: Vec<String> = (0..DEPTH).map(|n| n.to_string()).collect();
    assert_eq!(keep.shows(thread).await, all.join(" "));
    assert_eq!(keep.shows_page(thread, Page::first().newest_first().limit(2)).await, "299 298");
    let middle = keep.engine.fork(thread, Fork::at_index(150)).await.expect("a fork in the middle");
    assert_eq!(keep.shows(middle.id).await, all[..=150].join(" "));
    let history = keep.engine.history(thread, Position(0), 10_000).await.expect("history");
    assert_eq!(history.len(), DEPTH + 1, "all messages, and the note of the last fork");
}

async fn forks_of_one_thread_never_conflict(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let forks: Vec<_> = (0..40)
        .map(|_| {
            let engine = keep.engine.clone();
            tokio::spawn(async move { engine.fork(thread, Fork::at_index(0)).await.expect("a fork").id })
        })
        .collect();
    for fork in forks {
        assert_eq!(keep.shows(fork.await.expect("a task that ends")).await, "a");
    }
    assert_eq!(keep.engine.relationships(thread).await.expect("a read").len(), 40);
}

/// A thread with nine forks, of which the first has two forks and a subagent.
async fn large_family(keep: &Keep) -> (ThreadId, Vec<ThreadId>, Vec<ThreadId>) {
    let root = keep.thread(&["a"]).await;
    let (mut forks, mut below) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        forks.push(keep.engine.fork(root, Fork::default()).await.expect("a fork").id);
    }
    for _ in 0..2 {
        below.push(keep.engine.fork(forks[0], Fork::default()).await.expect("a fork").id);
    }
    (root, forks, below)
}

async fn a_large_family_comes_in_pages(keep: Keep) {
    let (root, forks, below) = large_family(&keep).await;
    let order = [&[root][..], &forks, &below].concat();
    let ids = |family: &Family| family.threads.iter().map(|thread| thread.id).collect::<Vec<_>>();
    let whole = keep.engine.family(root).await.expect("a family");
    assert_eq!((ids(&whole), whole.next.clone(), whole.more.len()), (order.clone(), None, 0));
    for limit in [1, 4, 5, 12, 50] {
        let (mut found, mut relations, mut cursor) = (Vec::new(), Vec::new(), None);
        loop {
            let page = FamilyPage { limit: Some(limit), cursor, ..FamilyPage::default() };
            let page = keep.engine.family_page(root, page).await.expect("a page");
            found.extend(ids(&page));
            for (thread, count) in &page.more {
                let shown = if *thread == root { forks.len() } else { below.len() + 1 };
                let so_far = found
                    .iter()
                    .filter(|id| if *thread == root { forks.contains(id) } else { below.contains(id) || **id == root });
                assert_eq!(*count as usize, shown - so_far.count(), "{thread} in pages of {limit}");
            }
            relations.extend(page.relations);
            assert_eq!(page.cut_off, page.next.is_some());
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, order, "in pages of {limit}");
        let edges = |relations: &[Relation]| {
            let mut edges: Vec<_> = relations.iter().map(|made| (made.parent, made.child)).collect();
            edges.sort();
            edges
        };
        assert_eq!(edges(&relations), edges(&whole.relations), "in pages of {limit}");
    }
    let first = FamilyPage { limit: Some(4), ..FamilyPage::default() };
    let cursor = keep.engine.family_page(root, first.clone()).await.expect("a page").next;
    // A fork that is made meanwhile comes last, and a thread that goes takes no other with it.
    let late = keep.engine.fork(root, Fork::default()).await.expect("a fork").id;
    keep.engine.delete(forks[2], Delete::default()).await.expect("a deletion");
    let rest = FamilyPage { limit: Some(50), cursor: cursor.clone(), ..FamilyPage::default() };
    let rest = keep.engine.family_page(root, rest).await.expect("the rest");
    assert_eq!(ids(&rest)[ids(&rest).len() - 3..], [late, below[0], below[1]]);
    for wrong in [
        FamilyPage { cursor: cursor.clone(), depth: Some(1), ..first.clone() },
        FamilyPage { cursor: Some("x".into()), ..first },
    ] {
        let refused = keep.engine.family_page(root, wrong).await.expect_err("another list");
        assert_eq!(refused.code(), "invalid_cursor");
    }
}

async fn depth_and_breadth_limit_a_family(keep: Keep) {
    let (root, forks, below) = large_family(&keep).await;
    let limited = async |depth, breadth| {
        let page = FamilyPage { depth, breadth, ..FamilyPage::default() };
        let family = keep.engine.family_page(root, page).await.expect("a family");
        let ids: Vec<ThreadId> = family.threads.iter().map(|thread| thread.id).collect();
        (ids, family.more, family.next, family.relations.len(), family.cut_off)
    };
    assert_eq!(limited(Some(0), None).await, (vec![root], vec![(root, 9)], None, 0, true));
    let (ids, more, next, relations, _) = limited(Some(1), None).await;
    assert_eq!((ids, more, next, relations), ([&[root][..], &forks].concat(), vec![(forks[0], 2)], None, 9));
    let (ids, more, ..) = limited(None, Some(1)).await;
    assert_eq!((ids, more), (vec![root, forks[0], below[0]], vec![(root, 8), (forks[0], 1)]));
    let (ids, _, _, _, cut_off) = limited(Some(2), Some(9)).await;
    assert_eq!((ids.len(), cut_off), (12, false));
}

async fn the_whole_family_is_one_read(keep: Keep) {
    let root = keep.thread(&["a"]).await;
    let child = keep.engine.fork(root, Fork::default()).await.expect("a fork").id;
    let sibling = keep.engine.fork(root, Fork::default()).await.expect("a fork").id;
    let grandchild = keep.engine.fork(child, Fork::default()).await.expect("a fork").id;
    keep.thread(&["a stranger"]).await;
    for start in [root, child, sibling, grandchild] {
        let family = keep.engine.family(start).await.expect("a family");
        assert_eq!((family.threads[0].id, family.cut_off), (start, false));
        let mut ids: Vec<_> = family.threads.iter().map(|thread| thread.id).collect();
        let mut expected = vec![root, child, sibling, grandchild];
        ids.sort();
        expected.sort();
        assert_eq!(ids, expected);
        let mut edges: Vec<_> = family.relations.iter().map(|relation| (relation.parent, relation.child)).collect();
        let mut expected = vec![(root, child), (root, sibling), (child, grandchild)];
        edges.sort();
        expected.sort();
        assert_eq!(edges, expected);
    }
}
