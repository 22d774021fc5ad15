//! Promises of the log: positions, order, conflicts, retries, branches.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use threadkeep_model::{
    Account, Actor, ActorKind, Bounds, Caller, ChangeOp, Commit, Entry, Event, EventKind, Expect, Inserted, Json, Kind,
    Link, MessageBody, MessageId, NewEntry, NewSegment, Position, Role, RolledBack, SegmentId, Tally, ThreadCommit,
    ThreadName, Timestamp, Write,
};

use super::Hands;
use super::hands::{deleted, edited, said, said_by, text};
use crate::{ChangeQuery, EntryQuery, LeftOutQuery, MessageFilter, MessageQuery, Order, StoreError};

pub async fn appended_entries_get_positions_ordinals_and_tallies(hands: Hands) {
    let thread = hands.thread(&[]).await;
    assert_eq!(hands.head(thread).await.version, Position(0));
    let event = Event { kind: EventKind::Result, data: Json::parse("data", "{}").expect("json") };
    let entries = vec![said("a"), NewEntry::new(&Entry::EventLogged(event)), said_by(Role::Assistant, "b")];
    let committed = hands.done(hands.commit(vec![hands.write(thread, entries)])).await;
    let told = &committed.threads[0];
    assert_eq!((told.first, told.count, committed.replayed), (Position(1), 3, false));
    let head = hands.head(thread).await;
    assert_eq!(head, told.head);
    assert_eq!(head.version, Position(3));
    let stored = hands.entries(head.segment, 0, 9).await;
    let positions: Vec<u64> = stored.iter().map(|entry| entry.position.0).collect();
    assert_eq!(positions, [1, 2, 3]);
    let counts: Vec<(u64, u64)> = stored.iter().map(|entry| (entry.tally.ordinals, entry.tally.steps)).collect();
    assert_eq!(counts, [(1, 0), (1, 0), (2, 1)]);
    assert_eq!(stored[2].tally, head.tally);
    assert_eq!(head.tally.messages(), 2);
    assert_eq!(head.tally.last_user, Some(stored[0].time));
}

pub async fn an_expected_version_that_moved_is_a_conflict_with_the_current_one(hands: Hands) {
    let thread = hands.thread(&["a", "b"]).await;
    let expect = |version: u64| Expect { version: Some(Position(version)), ..Expect::default() };
    let stale = hands.commit(vec![hands.write_expecting(thread, expect(1), vec![said("c")])]);
    match hands.try_commit(stale).await {
        Err(StoreError::VersionConflict { expected, current, .. }) => {
            assert_eq!((expected, current), (Position(1), Position(2)));
        }
        other => panic!("expected a version conflict, got {other:?}"),
    }
    assert_eq!(hands.texts(thread).await, ["a", "b"]);
    hands.done(hands.commit(vec![hands.write_expecting(thread, expect(2), vec![said("c")])])).await;
    assert_eq!(hands.texts(thread).await, ["a", "b", "c"]);
}

pub async fn a_moved_era_is_told_and_appends_do_not_move_it(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let before = hands.head(thread).await;
    hands.say(thread, "b").await;
    assert_eq!(hands.head(thread).await.era, before.era, "appends leave the era");
    hands.done(hands.commit(vec![hands.write(thread, vec![deleted(before.segment, 1, 0)])])).await;
    assert!(hands.head(thread).await.era > before.era, "a deletion moves the era");
    let expect = Expect::at(before.era, None);
    let stale = hands.commit(vec![hands.write_expecting(thread, expect, vec![said("c")])]);
    assert!(matches!(hands.try_commit(stale).await, Err(StoreError::EraMoved { .. })));
    assert_eq!(hands.texts(thread).await, ["a", "b"]);
}

pub async fn plain_appends_never_conflict_and_lose_nothing(hands: Hands) {
    const WRITERS: usize = 16;
    const EACH: usize = 20;
    let thread = hands.thread(&[]).await;
    let era = Some(hands.head(thread).await.era);
    let waiting: Vec<_> = (0..WRITERS * EACH)
        .map(|n| {
            let expect = Expect { era, ..Expect::default() };
            let entries = vec![said(&format!("{n}")), said(&format!("{n} too"))];
            let commit = hands.commit(vec![hands.write_expecting(thread, expect, entries)]);
            let store = hands.stores.store.clone();
            async move { store.commit(commit).await.expect("a plain append") }
        })
        .collect();
    let runtime = tokio::task::LocalSet::new();
    let results = runtime
        .run_until(async {
            let tasks: Vec<_> = waiting.into_iter().map(tokio::task::spawn_local).collect();
            let mut results = Vec::new();
            for task in tasks {
                results.push(task.await.expect("a task that ends"));
            }
            results
        })
        .await;
    let texts = hands.texts(thread).await;
    assert_eq!(texts.len(), 2 * WRITERS * EACH);
    for pair in texts.chunks(2) {
        assert_eq!(format!("{} too", pair[0]), pair[1], "a batch is never torn apart");
    }
    let mut firsts: Vec<u64> = results.iter().map(|committed| committed.threads[0].first.0).collect();
    firsts.sort_unstable();
    let expected: Vec<u64> = (0..(WRITERS * EACH) as u64).map(|n| 1 + 2 * n).collect();
    assert_eq!(firsts, expected, "every acknowledged append has a place of its own");
}

pub async fn a_commit_over_two_threads_is_whole_or_nothing(hands: Hands) {
    let (one, other) = (hands.thread(&["a"]).await, hands.thread(&["b"]).await);
    let stale = Expect { version: Some(Position(9)), ..Expect::default() };
    let commit = hands
        .commit(vec![hands.write(one, vec![said("lost")]), hands.write_expecting(other, stale, vec![said("lost")])]);
    assert!(hands.try_commit(commit).await.is_err());
    assert_eq!(hands.texts(one).await, ["a"]);
    assert_eq!(hands.head(one).await.version, Position(1));
    let both = hands.commit(vec![hands.write(one, vec![said("c")]), hands.write(other, vec![said("d")])]);
    let committed = hands.done(both).await;
    let told: Vec<_> = committed.threads.iter().map(|told| told.thread).collect();
    assert_eq!(told, [one, other], "threads are told in the order of the commit");
    assert_eq!(
        (hands.texts(one).await, hands.texts(other).await),
        (vec!["a".into(), "c".into()], vec!["b".into(), "d".into()])
    );
}

pub async fn a_retry_under_a_key_returns_the_first_result(hands: Hands) {
    let thread = hands.thread(&[]).await;
    let first = hands.done(hands.keyed(thread, "once", "k")).await;
    hands.say(thread, "later").await;
    let again = hands.done(hands.keyed(thread, "once", "k")).await;
    assert!(again.replayed && !first.replayed);
    let place = |committed: &threadkeep_model::Committed| {
        let told = &committed.threads[0];
        (told.segment, told.first, told.count, told.time)
    };
    assert_eq!(place(&again), place(&first));
    assert_eq!(hands.texts(thread).await, ["once", "later"]);
    let mut stale = hands.keyed(thread, "once", "k");
    if let ThreadCommit::Write(write) = &mut stale.threads[0] {
        write.expect = Expect::at(99, Some(Position(0)));
    }
    assert!(hands.done(stale).await.replayed, "a retry is answered before anything is expected");
}

pub async fn a_key_with_another_request_is_refused(hands: Hands) {
    let thread = hands.thread(&[]).await;
    hands.done(hands.keyed(thread, "once", "k")).await;
    let reused = hands.try_commit(hands.keyed(thread, "other", "k")).await;
    assert!(matches!(reused, Err(StoreError::IdempotencyKeyReused)));
    let elsewhere = hands.thread(&[]).await;
    hands.done(hands.keyed(elsewhere, "other", "k")).await;
    assert_eq!(hands.texts(thread).await, ["once"]);
}

pub async fn a_key_is_forgotten_after_a_day_and_belongs_to_its_account(hands: Hands) {
    let thread = hands.thread(&[]).await;
    hands.done(hands.keyed(thread, "once", "k")).await;
    let mut foreign = hands.keyed(thread, "other", "k");
    foreign.caller.account = Account::new("somebody").expect("an account");
    assert!(!hands.done(foreign).await.replayed);
    hands.pass(25 * 3_600 * 1_000_000);
    assert!(!hands.done(hands.keyed(thread, "other", "k")).await.replayed);
    assert_eq!(hands.texts(thread).await, ["once", "other", "other"]);
}

pub async fn times_never_go_back_within_a_thread(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let before = hands.head(thread).await.updated;
    let past = Commit { time: Timestamp::from_micros(5), ..hands.commit(vec![hands.write(thread, vec![said("b")])]) };
    let committed = hands.done(past).await;
    assert_eq!(committed.threads[0].time, before);
    let head = hands.head(thread).await;
    assert_eq!(head.updated, before);
    assert!(hands.entries(head.segment, 1, 2).await.iter().all(|entry| entry.time == before));
}

pub async fn entries_are_read_in_ranges_in_both_directions(hands: Hands) {
    let thread = hands.thread(&["a", "b", "c", "d"]).await;
    let segment = hands.head(thread).await.segment;
    let read = async |first, last, order, limit| {
        let query = EntryQuery { segment, positions: Position(first)..=Position(last), order, limit };
        let entries = hands.stores.store.entries(query).await.expect("a read");
        entries.iter().filter_map(text).collect::<Vec<_>>().concat()
    };
    assert_eq!(read(2, 3, Order::Ascending, 9).await, "bc");
    assert_eq!(read(0, 9, Order::Descending, 2).await, "dc");
    assert_eq!(read(0, 9, Order::Ascending, 2).await, "ab");
    assert_eq!(read(5, 9, Order::Ascending, 2).await, "");
    assert_eq!(read(3, 2, Order::Ascending, 2).await, "");
}

pub async fn messages_are_read_by_ordinal_and_filtered(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let event = Event { kind: EventKind::ToolUse, data: Json::parse("data", "{}").expect("json") };
    let silent = NewEntry::new(&Entry::MessageAppended(MessageBody::assistant("c").silent()));
    let deep = NewEntry::new(&Entry::MessageAppended(MessageBody::new(Role::Tool, "d").depth(2)));
    let entries =
        vec![NewEntry::new(&Entry::EventLogged(event)), said_by(Role::Assistant, "b"), silent, deep, said("e")];
    hands.done(hands.commit(vec![hands.write(thread, entries)])).await;
    let segment = hands.head(thread).await.segment;
    let read = async |ordinals: std::ops::Range<u64>, filter, order, limit| {
        let query = MessageQuery { spans: vec![(segment, ordinals)], filter, order, limit };
        let entries = hands.stores.store.messages(query).await.expect("a read");
        entries.iter().filter_map(text).collect::<Vec<_>>().concat()
    };
    let all = MessageFilter::ALL;
    assert_eq!(read(0..9, all, Order::Ascending, 9).await, "abcde");
    assert_eq!(read(1..3, all, Order::Ascending, 9).await, "bc");
    assert_eq!(read(0..9, all, Order::Descending, 2).await, "ed");
    assert_eq!(read(0..9, MessageFilter { include_silent: false, ..all }, Order::Ascending, 9).await, "abde");
    assert_eq!(read(0..9, MessageFilter { max_depth: 1, ..all }, Order::Ascending, 9).await, "abce");
    assert_eq!(read(0..9, MessageFilter { role: Some(Role::Assistant), ..all }, Order::Descending, 9).await, "cb");
    assert_eq!(read(7..9, all, Order::Ascending, 9).await, "");
    assert_eq!(read(2..2, all, Order::Ascending, 9).await, "");
    let left_out = async |ordinals: std::ops::Range<u64>, filter| {
        hands.stores.store.left_out(LeftOutQuery { spans: vec![(segment, ordinals)], filter }).await.expect("a read")
    };
    assert_eq!(left_out(0..9, all).await, [0u64; 0]);
    assert_eq!(left_out(0..9, MessageFilter::SHOWN).await, [2, 3]);
    assert_eq!(left_out(3..9, MessageFilter::SHOWN).await, [3]);
    assert_eq!(left_out(0..9, MessageFilter { max_depth: 1, ..all }).await, [3]);
    assert_eq!(left_out(0..9, MessageFilter { role: Some(Role::User), ..all }).await, [1, 2, 3]);
    assert_eq!(left_out(2..2, MessageFilter::SHOWN).await, [0u64; 0]);
}

pub async fn changes_are_read_by_what_they_change_and_by_position(hands: Hands) {
    let thread = hands.thread(&["a", "b", "c"]).await;
    let segment = hands.head(thread).await.segment;
    let before = MessageId { segment, position: Position(2) };
    let message = MessageBody::new(Role::Info, "x");
    let inserted = NewEntry::new(&Entry::MessageInserted(Inserted { before, root: 1, message }));
    let entries = vec![edited(segment, 3, 2, "C"), inserted, deleted(segment, 1, 0), deleted(segment, 5, 1)];
    hands.done(hands.commit(vec![hands.write(thread, entries)])).await;
    let read = async |roots: std::ops::Range<u64>, first, last| {
        let query = ChangeQuery { spans: vec![(segment, Position(first)..=Position(last))], roots };
        let rows = hands.stores.store.changes(query).await.expect("a read");
        rows.iter().map(|row| (row.root, row.position.0, row.target.0, row.op)).collect::<Vec<_>>()
    };
    let edit = ChangeOp::Edit { content: true, metadata: false };
    let insert = ChangeOp::Insert { role: Role::Info };
    let all = [(0, 6, 1, ChangeOp::Delete), (1, 5, 2, insert), (1, 7, 5, ChangeOp::Delete), (2, 4, 3, edit)];
    assert_eq!(read(0..9, 0, 99).await, all);
    assert_eq!(read(0..u64::MAX, 0, Position::END.0).await, all);
    assert_eq!(read(1..2, 0, 99).await, all[1..3]);
    assert_eq!(read(0..u64::MAX, 6, 7).await, [all[0], all[2]]);
    assert_eq!(read(0..0, 0, 99).await, []);
    let tally = hands.head(thread).await.tally;
    assert_eq!((tally.messages(), tally.inserted, tally.deleted, tally.last_change), (2, 1, 2, Position(7)));
}

pub async fn a_branch_opens_a_segment_and_raises_era_and_fence(hands: Hands) {
    let thread = hands.thread(&["a", "b", "c"]).await;
    let before = hands.head(thread).await;
    let kept = hands.entry(before.segment, Position(1)).await.expect("an entry");
    let link = Some(Link { parent: before.segment, bounds: Bounds::all(Position(1)) });
    let branch = NewSegment { id: hands.segment_id(), link, birth: kept.tally };
    let said_so = NewEntry::new(&Entry::RolledBack(RolledBack { to: Position(1), undo: false, walk: None }));
    let write = Write {
        thread,
        expect: Expect::default(),
        branch: Some(branch.clone()),
        entries: vec![said_so, said("d")],
        record: None,
        owner: None,
    };
    hands.done(hands.commit(vec![ThreadCommit::Write(write)])).await;
    let after = hands.head(thread).await;
    assert_eq!((after.segment, after.version), (branch.id, Position(5)));
    assert_eq!((after.era, after.fence), (before.era + 1, before.fence + 1));
    assert_eq!((after.tally.ordinals, after.tally.messages()), (2, 2));
    let own = hands.stores.store.segments(thread, Position::END, 9).await.expect("a read");
    let firsts: Vec<_> = own.iter().map(|segment| (segment.id, segment.first.0)).collect();
    assert_eq!(firsts, [(branch.id, 4), (before.segment, 1)]);
    let then = hands.stores.store.segments(thread, Position(3), 1).await.expect("a read");
    assert_eq!(then[0].id, before.segment, "version 3 lies on the abandoned branch");
    let query =
        MessageQuery { spans: vec![(branch.id, 0..9)], filter: MessageFilter::ALL, order: Order::Ascending, limit: 9 };
    let messages = hands.stores.store.messages(query).await.expect("a read");
    assert_eq!((messages.len(), messages[0].tally.ordinals), (1, 2), "ordinals go on without a gap");
}

pub async fn a_chain_follows_the_links_to_the_root(hands: Hands) {
    let root = hands.thread(&["a"]).await;
    let child = hands.fork(root, Bounds::all(Position(1))).await;
    hands.say(child, "b").await;
    let grandchild = hands.fork(child, Bounds::all(Position(2))).await;
    let ids = [hands.head(grandchild).await.segment, hands.head(child).await.segment, hands.head(root).await.segment];
    let chain = hands.stores.store.chain(ids[0], 99).await.expect("a read");
    assert_eq!(chain.iter().map(|segment| segment.id).collect::<Vec<_>>(), ids);
    assert_eq!(chain.iter().map(|segment| segment.thread).collect::<Vec<_>>(), [grandchild, child, root]);
    assert_eq!(chain[0].link, Some(Link { parent: ids[1], bounds: Bounds::all(Position(2)) }));
    assert_eq!((chain[0].first, chain[2].first, chain[2].link), (Position(3), Position(1), None));
    assert_eq!(chain[0].birth.ordinals, 2);
    assert_eq!(hands.stores.store.chain(ids[0], 2).await.expect("a read").len(), 2);
    assert!(hands.stores.store.chain(hands.segment_id(), 9).await.expect("a read").is_empty());
    assert_eq!(hands.head(grandchild).await.version, Position(2), "a fork goes on counting from its fork point");
}

pub async fn what_is_told_of_a_thread_stays_right_as_it_goes_on(hands: Hands) {
    let silent = || NewEntry::new(&Entry::MessageAppended(MessageBody::assistant("c").silent()));
    let told = async |thread| {
        let read = hands.stores.store.thread(ThreadName::Full(thread)).await.expect("a read").expect("the thread");
        let chain = hands.stores.store.chain(read.head.segment, 9).await.expect("a read");
        let span = (read.head.segment, 0..9);
        let query = LeftOutQuery { spans: vec![span], filter: MessageFilter::SHOWN };
        let left_out = hands.stores.store.left_out(query).await.expect("a read");
        (chain.iter().map(|segment| segment.id).collect::<Vec<_>>(), left_out)
    };
    let thread = hands.thread(&["a", "b"]).await;
    let root = hands.head(thread).await.segment;
    assert_eq!(told(thread).await, (vec![root], vec![]));
    hands.done(hands.commit(vec![hands.write(thread, vec![silent(), said("d")])])).await;
    assert_eq!(told(thread).await, (vec![root], vec![2]));

    let child = hands.fork(thread, Bounds::all(Position(4))).await;
    let own = hands.head(child).await.segment;
    assert_eq!(told(child).await, (vec![own, root], vec![]));
    hands.done(hands.commit(vec![hands.branch(thread, root, Position(2))])).await;
    let branch = hands.head(thread).await.segment;
    assert_eq!(told(thread).await, (vec![branch, root], vec![]));

    let other = hands.thread(&["a"]).await;
    hands.done(hands.commit(vec![hands.write(other, vec![silent(), silent()])])).await;
    assert_eq!(told(other).await, (vec![hands.head(other).await.segment], vec![1, 2]));
}

pub async fn one_read_takes_the_segments_of_a_lineage_in_order(hands: Hands) {
    let root = hands.thread(&["a", "b", "c"]).await;
    let child = hands.fork(root, Bounds::all(Position(2))).await;
    let silent = NewEntry::new(&Entry::MessageAppended(MessageBody::assistant("e").silent()));
    let (far, near) = (hands.head(root).await.segment, hands.head(child).await.segment);
    let entries = vec![said("d"), silent, said("f"), edited(far, 1, 0, "A"), deleted(near, 3, 2)];
    hands.done(hands.commit(vec![hands.write(child, entries)])).await;
    hands.done(hands.commit(vec![hands.write(root, vec![deleted(far, 2, 1)])])).await;

    let read = async |spans: &[(SegmentId, std::ops::Range<u64>)], filter, order, limit| {
        let query = MessageQuery { spans: spans.to_vec(), filter, order, limit };
        let entries = hands.stores.store.messages(query).await.expect("a read");
        entries.iter().filter_map(text).collect::<Vec<_>>().concat()
    };
    let (rising, falling) = ([(far, 0..2), (near, 2..5)], [(near, 2..5), (far, 0..2)]);
    let (all, shown) = (MessageFilter::ALL, MessageFilter::SHOWN);
    assert_eq!(read(&rising, all, Order::Ascending, 9).await, "abdef");
    assert_eq!(read(&rising, all, Order::Ascending, 3).await, "abd");
    assert_eq!(read(&falling, all, Order::Descending, 9).await, "fedba");
    assert_eq!(read(&falling, all, Order::Descending, 4).await, "fedb");
    assert_eq!(read(&falling, shown, Order::Descending, 3).await, "fdb");
    assert_eq!(read(&[(near, 2..2), (far, 0..3), (hands.segment_id(), 0..9)], all, Order::Ascending, 9).await, "abc");
    assert_eq!(read(&[], all, Order::Ascending, 9).await, "");

    let users = MessageFilter { role: Some(Role::User), ..all };
    for (filter, expected) in [(all, vec![]), (shown, vec![3]), (users, vec![3])] {
        let query = LeftOutQuery { spans: falling.to_vec(), filter };
        assert_eq!(hands.stores.store.left_out(query).await.expect("a read"), expected);
    }
    let changes = async |near_until, far_until, roots: std::ops::Range<u64>| {
        let spans = [(near, near_until), (far, far_until)];
        let spans = spans.map(|(segment, until)| (segment, Position::START..=Position(until))).to_vec();
        let rows = hands.stores.store.changes(ChangeQuery { spans, roots }).await.expect("a read");
        rows.iter().map(|row| (row.segment, row.root, row.position.0)).collect::<Vec<_>>()
    };
    for roots in [0..9, 0..u64::MAX] {
        assert_eq!(changes(9, 9, roots.clone()).await, [(near, 0, 6), (far, 1, 5), (near, 2, 7)]);
        assert_eq!(changes(6, 3, roots).await, [(near, 0, 6)]);
    }
    assert_eq!(changes(9, 9, 1..2).await, [(far, 1, 5)]);
}

pub async fn bodies_are_kept_to_the_byte(hands: Hands) {
    let thread = hands.thread(&[]).await;
    let contents = [
        r#"[{"type":"tool_use","id":"1","name":"x","input":{"z":1.0,"a":1e2,"big":12345678901234567890123,"e":-0.0}}]"#,
        r#""snowman ☃, astral 🧵, quote \" and \u00e9 and \\u0000""#,
        r#""""#,
    ];
    let entries = contents.map(|content| {
        let content = threadkeep_model::Content::from_json(Json::parse("content", content).expect("json"));
        NewEntry::new(&Entry::MessageAppended(MessageBody::with_content(Role::User, content.expect("content"))))
    });
    let sent: Vec<_> = entries.iter().map(|entry| entry.body.clone()).collect();
    hands.done(hands.commit(vec![hands.write(thread, entries.into())])).await;
    let stored = hands.entries(hands.head(thread).await.segment, 1, 9).await;
    assert_eq!(stored.iter().map(|entry| entry.body.clone()).collect::<Vec<_>>(), sent);
    for (entry, content) in stored.iter().zip(contents) {
        let body = std::str::from_utf8(entry.inline().expect("a small body")).expect("text");
        assert!(body.contains(content), "{body} holds {content}");
    }
}

pub async fn actors_accounts_and_causes_are_kept(hands: Hands) {
    let thread = hands.thread(&[]).await;
    let agent = Caller {
        account: Account::new("acme").expect("an account"),
        actor: Actor::new(ActorKind::Agent, "reviewer").expect("an actor"),
        cause: Some("run:7".into()),
    };
    let commit = Commit { caller: agent.clone(), ..hands.commit(vec![hands.write(thread, vec![said("a")])]) };
    hands.done(commit).await;
    hands.say(thread, "b").await;
    let stored = hands.entries(hands.head(thread).await.segment, 1, 2).await;
    let who = |entry: &crate::StoredEntry| Caller {
        account: (*entry.account).clone(),
        actor: (*entry.actor).clone(),
        cause: entry.cause.clone(),
    };
    assert_eq!((who(&stored[0]), who(&stored[1])), (agent, Caller::local()));
    assert!(stored.iter().all(|entry| entry.kind == Kind::MessageAppended && entry.format == Kind::FORMAT));
}

pub async fn a_segment_id_that_is_taken_is_refused(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let head = hands.head(thread).await;
    let branch = NewSegment { id: head.segment, link: None, birth: Tally::default() };
    let write = Write {
        thread,
        expect: Expect::default(),
        branch: Some(branch),
        entries: vec![said("b")],
        record: None,
        owner: None,
    };
    let refused = hands.try_commit(hands.commit(vec![ThreadCommit::Write(write)])).await;
    assert!(matches!(refused, Err(StoreError::SegmentTaken)));
    assert_eq!(hands.head(thread).await, head);
}
