//! Promises about threads: names, records, lists, relations, checkpoints, deletion.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use threadkeep_model::{
    Account, Bounds, CheckpointSet, Create, Entry, Expect, Json, NewEntry, NewSegment, OwnerChanged, Position, Record,
    RelationKind, Tally, Thread, ThreadChanged, ThreadCommit, ThreadId, ThreadName, Timestamp, Visibility, Write,
};

use super::Hands;
use super::hands::{quiet, said};
use crate::{Archived, ListCursor, ListFilter, ListQuery, ListSort, StoreError};

fn create(hands: &Hands, thread: ThreadId) -> ThreadCommit {
    let segment = NewSegment { id: hands.segment_id(), link: None, birth: Tally::default() };
    let (account, record, entries) = (Account::local(), Record::default(), Vec::new());
    ThreadCommit::Create(Create { thread, account, record, segment, entries, created: None })
}

pub async fn a_thread_is_found_by_both_spellings(hands: Hands) {
    let id = hands.thread(&["a"]).await;
    for name in [ThreadName::Full(id), ThreadName::Short(id.short())] {
        let found = hands.stores.store.thread(name).await.expect("a read").expect("a thread");
        assert_eq!((found.id, &found.account), (id, &Account::local()));
        assert_eq!(hands.stores.store.head(id).await.expect("a read"), Some(found.head));
        assert_eq!(found.created, found.head.updated);
    }
}

pub async fn an_unknown_thread_is_none_and_cannot_be_written(hands: Hands) {
    let known = hands.thread(&[]).await;
    // The same short id, but another thread.
    let other = ThreadId::from_bits(known.bits() ^ (1 << 100));
    for unknown in [hands.thread_id(), other] {
        assert_eq!(hands.stores.store.thread(unknown.into()).await.expect("a read"), None);
        assert_eq!(hands.stores.store.head(unknown).await.expect("a read"), None);
        let write = hands.commit(vec![hands.write(unknown, vec![said("a")])]);
        assert!(matches!(hands.try_commit(write).await, Err(StoreError::ThreadNotFound { .. })));
        let delete = hands.commit(vec![ThreadCommit::Delete { thread: unknown, expect: Expect::default() }]);
        assert!(matches!(hands.try_commit(delete).await, Err(StoreError::ThreadNotFound { .. })));
    }
    assert_eq!(hands.head(known).await.version, Position(0));
}

pub async fn a_taken_short_id_is_refused(hands: Hands) {
    let known = hands.thread(&["a"]).await;
    for taken in [known, ThreadId::from_bits(known.bits() ^ (1 << 100))] {
        let refused = hands.try_commit(hands.commit(vec![create(&hands, taken)])).await;
        assert!(matches!(refused, Err(StoreError::ThreadTaken { thread }) if thread == taken));
    }
    assert_eq!(hands.texts(known).await, ["a"]);
}

pub async fn entries_and_threads_keep_the_times_that_they_bring(hands: Hands) {
    let thread = hands.thread_id();
    let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
    let told = |text: &str, seconds| NewEntry { time: Some(at(seconds)), ..said(text) };
    let ThreadCommit::Create(create) = create(&hands, thread) else { unreachable!("it makes a thread") };
    let entries = vec![told("a", 20), told("b", 15), told("c", 30)];
    let create = Create { created: Some(at(10)), entries, ..create };
    let committed = hands.done(hands.commit(vec![ThreadCommit::Create(create)])).await;
    assert_eq!(committed.threads[0].time, at(30));
    hands.done(hands.commit(vec![hands.write(thread, vec![told("d", 40)])])).await;
    hands.done(hands.commit(vec![hands.write(thread, vec![told("e", 35), told("f", 50)])])).await;
    let found = hands.stores.store.thread(thread.into()).await.expect("a read").expect("a thread");
    assert_eq!((found.created, found.head.updated), (at(10), at(50)));
    let mut times = Vec::new();
    for position in 1..=6 {
        let entry = hands.entry(found.head.segment, Position(position)).await.expect("an entry");
        times.push(entry.time.as_micros() / 1_000_000);
    }
    // Times never go back within a thread.
    assert_eq!(times, [20, 20, 30, 40, 40, 50]);
    let now = hands.now();
    hands.say(thread, "g").await;
    assert!(hands.head(thread).await.updated >= now);
}

pub async fn a_record_is_replaced_whole(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let record = Record { title: Some("new".into()), archived: true, ..Record::default() };
    let fields = Record::default().changes_to(&record);
    let entries = vec![NewEntry::new(&Entry::ThreadChanged(ThreadChanged { fields }))];
    let write =
        Write { thread, expect: Expect::default(), branch: None, entries, record: Some(record.clone()), owner: None };
    let era = hands.head(thread).await.era;
    hands.done(hands.commit(vec![ThreadCommit::Write(write)])).await;
    let found = hands.stores.store.thread(thread.into()).await.expect("a read").expect("a thread");
    assert_eq!((found.record, found.head.era, found.head.version), (record, era + 1, Position(2)));
}

pub async fn a_new_owner_lists_the_thread_and_the_former_one_does_not(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let (from, to) = (Account::local(), Account::new("ann").expect("an account"));
    let record = Record { title: Some("tell".into()), ..Record::default() };
    let fields = Record::default().changes_to(&record);
    let changed = Entry::OwnerChanged(OwnerChanged { from: from.clone(), to: to.clone() });
    let entries = [changed, Entry::ThreadChanged(ThreadChanged { fields })].iter().map(NewEntry::new).collect();
    let expect = Expect::default();
    let owner = Some(to.clone());
    let write = Write { thread, expect, branch: None, entries, record: Some(record.clone()), owner };
    let era = hands.head(thread).await.era;
    hands.done(hands.commit(vec![ThreadCommit::Write(write)])).await;
    let check = async |hands: &Hands| {
        let found = hands.stores.store.thread(thread.into()).await.expect("a read").expect("a thread");
        assert_eq!((&found.account, found.head.era), (&to, era + 1));
        // By column, and by term.
        for filter in [ListFilter::default(), ListFilter { title: Some("tel".into()), ..ListFilter::default() }] {
            let listed = |account: &Account| ListQuery { filter: filter.clone(), ..ListQuery::of(account.clone(), 9) };
            assert_eq!(list(hands, listed(&from)).await, []);
            assert_eq!(list(hands, listed(&to)).await, std::slice::from_ref(&found));
        }
    };
    check(&hands).await;
    hands.stores.upkeep.rebuild(quiet()).await.expect("a rebuild");
    check(&hands).await;
}

async fn list(hands: &Hands, query: ListQuery) -> Vec<Thread> {
    hands.stores.store.list(query).await.expect("a read")
}

fn all(limit: usize) -> ListQuery {
    ListQuery::of(Account::local(), limit)
}

fn only(filter: ListFilter) -> ListQuery {
    ListQuery { filter, ..all(9) }
}

fn place(thread: &Thread) -> Option<ListCursor> {
    Some(ListSort::Updated.place(thread))
}

pub async fn a_list_is_newest_first_and_pages_are_stable_under_inserts(hands: Hands) {
    let mut made = Vec::new();
    for n in 0..12 {
        made.push(hands.thread(&[]).await);
        // Some within the same minute, some not.
        if n % 5 == 0 {
            hands.pass(90 * 1_000_000);
        }
    }
    hands.say(made[3], "again").await;
    let touched = made.remove(3);
    made.push(touched);
    made.reverse();
    let whole: Vec<ThreadId> = list(&hands, all(99)).await.iter().map(|thread| thread.id).collect();
    assert_eq!(whole, made);
    let mut paged: Vec<Thread> = Vec::new();
    loop {
        let page = list(&hands, ListQuery { after: paged.last().and_then(place), ..all(5) }).await;
        if page.is_empty() {
            break;
        }
        paged.extend(page);
        hands.thread(&["made while pages are read"]).await;
    }
    assert_eq!(paged.iter().map(|thread| thread.id).collect::<Vec<_>>(), made);
}

pub async fn a_list_keeps_accounts_agents_and_archived_apart(hands: Hands) {
    let other = Account::new("other").expect("an account");
    let record =
        |agent: Option<&str>, archived| Record { agent_id: agent.map(str::to_owned), archived, ..Record::default() };
    let plain = hands.thread_with(Account::local(), record(None, false), &[]).await;
    let coder = hands.thread_with(Account::local(), record(Some("coder"), false), &[]).await;
    let away = hands.thread_with(Account::local(), record(Some("coder"), true), &[]).await;
    let foreign = hands.thread_with(other.clone(), record(Some("coder"), false), &[]).await;
    let ids = async |query| list(&hands, query).await.iter().map(|thread| thread.id).collect::<Vec<_>>();
    assert_eq!(ids(all(9)).await, [coder, plain]);
    assert_eq!(ids(only(ListFilter { agent: Some("coder".into()), ..ListFilter::default() })).await, [coder]);
    assert_eq!(ids(only(ListFilter { archived: Archived::Yes, ..ListFilter::default() })).await, [away]);
    assert_eq!(ids(ListQuery { account: other, ..all(9) }).await, [foreign]);
    assert_eq!(ids(only(ListFilter { agent: Some("' OR 1=1 --".into()), ..ListFilter::default() })).await, []);
}

pub async fn relations_are_seen_from_both_ends(hands: Hands) {
    let parent = hands.thread(&["a", "b"]).await;
    let child = hands.fork(parent, Bounds::all(Position(1))).await;
    let other = hands.thread(&["c"]).await;
    let [seen, none, of_child] = &hands.stores.store.relations(vec![parent, other, child]).await.expect("a read")[..]
    else {
        panic!("the relations of three threads");
    };
    assert_eq!((seen, none), (of_child, &Vec::new()));
    let (relation, owner, visibility) = &seen[0];
    assert_eq!((owner, *visibility), (&Account::local(), Visibility::Private));
    assert_eq!((relation.parent, relation.child, relation.kind), (parent, child, RelationKind::Fork));
    assert_eq!((relation.index, relation.anchor, relation.made.position), (Some(0), Some(Position(1)), Position(3)));
    assert_eq!(seen.len(), 1);
    hands.delete(child).await;
    assert_eq!(hands.stores.store.relations(vec![child, parent]).await.expect("a read"), [vec![], vec![]]);
}

pub async fn a_fork_that_is_refused_makes_no_thread_and_tells_its_parent_nothing(hands: Hands) {
    let parent = hands.thread(&["a", "b"]).await;
    let (living, gone) = (hands.thread(&[]).await, hands.thread(&[]).await);
    hands.delete(gone).await;
    let (before, bounds) = (hands.head(parent).await, Bounds::all(Position(1)));
    let other_version = Expect { version: Some(Position(7)), ..Expect::default() };
    let other_era = Expect { era: Some(before.era + 1), ..Expect::default() };
    let new = hands.thread_id();
    for (child, expect) in
        [(living, Expect::default()), (gone, Expect::default()), (new, other_version), (new, other_era)]
    {
        let refused = hands.try_commit(hands.forking(parent, bounds, child, expect).await).await;
        let is_as_said = match &refused {
            Err(StoreError::ThreadTaken { thread }) => *thread == child,
            Err(StoreError::VersionConflict { .. }) => expect == other_version,
            Err(StoreError::EraMoved { .. }) => expect == other_era,
            _ => false,
        };
        assert!(is_as_said, "{refused:?}");
    }
    assert_eq!(hands.head(parent).await, before);
    assert_eq!(hands.stores.store.relations(vec![parent]).await.expect("a read"), [vec![]]);
    assert_eq!(hands.stores.store.thread(new.into()).await.expect("a read"), None);
    hands.done(hands.forking(parent, bounds, new, Expect::at(before.era, Some(before.version))).await).await;
    assert_eq!(hands.head(parent).await.version, before.version.next());
    let wrong = hands.stores.upkeep.check_lists(9).await.expect("a check");
    assert!(wrong.is_empty(), "{wrong:?}");
}

pub async fn forks_and_appends_of_one_thread_at_once_all_hold(hands: Hands) {
    const EACH: u64 = 12;
    let parent = hands.thread(&["a"]).await;
    let mut commits = Vec::new();
    for n in 0..EACH {
        commits.push(hands.forking(parent, Bounds::all(Position(1)), hands.thread_id(), Expect::default()).await);
        commits.push(hands.commit(vec![hands.write(parent, vec![said(&n.to_string())])]));
    }
    let tasks = tokio::task::LocalSet::new();
    for commit in commits {
        let store = hands.stores.store.clone();
        tasks.spawn_local(async move { drop(store.commit(commit).await.expect("a commit that holds")) });
    }
    tasks.await;
    assert_eq!(hands.head(parent).await.version, Position(1 + 2 * EACH));
    assert_eq!(hands.texts(parent).await.len() as u64, 1 + EACH);
    let relations = &hands.stores.store.relations(vec![parent]).await.expect("a read")[0];
    let mut made: Vec<u64> = relations.iter().map(|(relation, ..)| relation.made.position.0).collect();
    made.sort_unstable();
    made.dedup();
    assert_eq!(made.len() as u64, EACH, "each fork has an entry of its own");
}

pub async fn forks_with_tags_and_without_are_made_in_turn(hands: Hands) {
    let parent = hands.thread(&["a"]).await;
    let mut tagged = Vec::new();
    for n in 0..6 {
        let child = hands.thread_id();
        let mut fork = hands.forking(parent, Bounds::all(Position(1)), child, Expect::default()).await;
        if n % 2 == 1
            && let ThreadCommit::Create(create) = &mut fork.threads[1]
        {
            create.record.metadata = Some(Json::parse("metadata", r#"{"tags":["red"]}"#).expect("json"));
            tagged.push(child);
        }
        hands.done(fork).await;
    }
    for sort in [ListSort::Created, ListSort::Updated] {
        let filter = ListFilter { tag: Some("red".into()), ..ListFilter::default() };
        let found = list(&hands, ListQuery { filter, sort, ..all(9) }).await;
        let mut found: Vec<ThreadId> = found.iter().map(|thread| thread.id).collect();
        found.sort_unstable();
        tagged.sort_unstable();
        assert_eq!(found, tagged, "{sort:?}");
    }
    let wrong = hands.stores.upkeep.check_lists(9).await.expect("a check");
    assert!(wrong.is_empty(), "{wrong:?}");
}

pub async fn checkpoints_are_listed_in_order_and_a_name_moves(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    for (name, version) in [("one", 1), ("two", 2), ("one", 3)] {
        let set = Entry::CheckpointSet(CheckpointSet { name: name.into(), version: Position(version) });
        hands.done(hands.commit(vec![hands.write(thread, vec![NewEntry::new(&set)])])).await;
    }
    let listed = hands.stores.store.checkpoints(thread).await.expect("a read");
    let listed: Vec<_> = listed.iter().map(|checkpoint| (checkpoint.name.as_str(), checkpoint.version.0)).collect();
    assert_eq!(listed, [("two", 2), ("one", 3)]);
}

pub async fn a_deleted_thread_is_gone_and_its_id_stays_refused(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let stale = Expect { version: Some(Position(7)), ..Expect::default() };
    let refused = hands.try_commit(hands.commit(vec![ThreadCommit::Delete { thread, expect: stale }])).await;
    assert!(matches!(refused, Err(StoreError::VersionConflict { .. })));
    hands.delete(thread).await;
    assert_eq!(hands.stores.store.thread(thread.into()).await.expect("a read"), None);
    assert!(list(&hands, all(9)).await.is_empty());
    let late = hands.try_commit(hands.commit(vec![hands.write(thread, vec![said("late")])])).await;
    assert!(matches!(late, Err(StoreError::ThreadNotFound { .. })));
    let again = hands.try_commit(hands.commit(vec![create(&hands, thread)])).await;
    assert!(matches!(again, Err(StoreError::ThreadTaken { .. })));
    hands.gc().await;
    let again = hands.try_commit(hands.commit(vec![create(&hands, thread)])).await;
    assert!(matches!(again, Err(StoreError::ThreadTaken { .. })), "also after garbage was collected");
}

pub async fn threads_are_found_by_prefix(hands: Hands) {
    let one = hands.thread(&[]).await;
    let other = hands.thread(&[]).await;
    let find = async |prefix: &str| hands.stores.upkeep.threads_by_prefix(prefix.to_owned(), 9).await.expect("a read");
    assert_eq!(find(&one.short().to_string()[..11]).await, [one]);
    assert_eq!(find(&other.to_string()[..30]).await, [other]);
    assert_eq!(find(&other.to_string()).await, [other]);
    assert_eq!(find("T-").await.len(), 2);
    for unknown in ["zz", "T-zz", "%", "T-%", "", "T-0000000000000000000000000000000000000000"] {
        let found = find(unknown).await;
        assert!(found.is_empty() || unknown.is_empty(), "{unknown} found {found:?}");
    }
}
