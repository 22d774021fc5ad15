//! Promises about lists: every filter, alone and together, in both orders, in pages, with a total; and that what serves
//! them follows every change.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use threadkeep_model::{
    Account, Bounds, Create, Entry, Expect, Json, Lifecycle, NewEntry, NewSegment, Position, Record, Tally, Thread,
    ThreadChanged, ThreadCommit, ThreadId, Timestamp, Value, Visibility, Write,
};

use super::Hands;
use super::hands::{quiet, said};
use crate::lanes::COUNTED_MAX;
use crate::{Archived, ListFilter, ListQuery, ListSort, TimeRange, Total};

const DAY_MICROS: i64 = 86_400_000_000;

/// Numbers that look drawn, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<'a, T: ?Sized>(&mut self, some: &[&'a T]) -> &'a T {
        some[self.below(some.len() as u64) as usize]
    }

    fn perhaps<T>(&mut self, n: u64, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.one_in(n).then(|| make(self))
    }
}

fn json(text: &str) -> Json {
    Json::parse("json", text).expect(text)
}

const TITLES: [&str; 7] = ["Release notes", "release PLAN", "Notes", "Straße", "ab", "", "100%_done 'x' --"];
const METADATA: [&str; 7] = [
    r#"{"a":1,"tags":["red","blue"]}"#,
    r#"{"a":1.0,"b":{"c":[1,2,{"d":"x"}]}}"#,
    r#"{"a":"1","tags":["red"]}"#,
    r#"{"b":{"c":[]},"k.y":true}"#,
    r#"{"tags":[]}"#,
    "{}",
    r#"{"b":{"c":[2]},"' OR 1=1":null}"#,
];
const PARTS: [&str; 9] = [
    r#"{"a":1}"#,
    r#"{"b":{"c":[2]}}"#,
    r#"{"b":{"c":[{"d":"x"}]}}"#,
    r#"{"tags":["red"]}"#,
    "{}",
    r#"{"b":{}}"#,
    r#"{"k":{"y":true}}"#,
    r#"{"' OR 1=1":null}"#,
    r#"{"a":1,"b":{"c":[1]}}"#,
];

fn record(dice: &mut Dice, known: &[ThreadId]) -> Record {
    let named = |dice: &mut Dice| known.get(dice.below(3) as usize).copied();
    Record {
        title: dice.perhaps(2, |dice| dice.of(&TITLES).to_owned()),
        archived: dice.one_in(4),
        agent_id: dice.perhaps(2, |dice| dice.of(&["coder", "writer"]).to_owned()),
        project_id: dice.perhaps(2, |dice| dice.of(&["p", "q", "' OR ''='"]).to_owned()),
        lifecycle: *dice.of(&[&Lifecycle::Active, &Lifecycle::Suspended, &Lifecycle::Completed, &Lifecycle::Cancelled]),
        visibility: *dice.of(&[&Visibility::Private, &Visibility::Public]),
        metadata: dice.perhaps(2, |dice| json(dice.of(&METADATA))),
        env: dice.perhaps(5, |_| json(r#"{"initial":{"tags":["blue","green"]}}"#)),
        parent_id: dice.perhaps(4, named).flatten(),
        main_thread_id: dice.perhaps(4, named).flatten(),
        ..Record::default()
    }
}

fn range(dice: &mut Dice, around: &[Thread]) -> TimeRange {
    let moment = |dice: &mut Dice| {
        let thread = around.get(dice.below(around.len() as u64) as usize);
        let time = thread.map(|thread| if dice.one_in(2) { thread.created } else { thread.head.updated });
        time.filter(|_| dice.one_in(2))
    };
    TimeRange { after: moment(dice), before: moment(dice) }
}

fn filter(dice: &mut Dice, threads: &[Thread], known: &[ThreadId]) -> ListFilter {
    // Mostly one or two things are asked: who asks for many finds nothing.
    let rarely = [2, 6, 12][dice.below(3) as usize];
    let named = |dice: &mut Dice| known[dice.below(3) as usize];
    ListFilter {
        archived: *dice.of(&[&Archived::No, &Archived::Yes, &Archived::Any, &Archived::Any]),
        agent: dice.perhaps(rarely, |dice| dice.of(&["coder", "writer", "nobody"]).to_owned()),
        project: dice.perhaps(rarely, |dice| dice.of(&["p", "' OR ''='"]).to_owned()),
        lifecycle: dice.perhaps(rarely, |dice| *dice.of(&[&Lifecycle::Active, &Lifecycle::Completed])),
        visibility: dice.perhaps(rarely, |dice| *dice.of(&[&Visibility::Private, &Visibility::Public])),
        parent: dice.perhaps(rarely * 2, named),
        main: dice.perhaps(rarely * 2, named),
        tag: dice.perhaps(rarely, |dice| dice.of(&["red", "blue", "green", "none"]).to_owned()),
        metadata: dice.perhaps(rarely, |dice| Value::of(&json(dice.of(&PARTS)))),
        title: dice
            .perhaps(rarely, |dice| dice.of(&["NOTES", "rel", "%_", "re", "ES", "ß", "e", "", "lease n"]).to_owned()),
        created: dice.perhaps(rarely, |dice| range(dice, threads)).unwrap_or_default(),
        updated: dice.perhaps(rarely, |dice| range(dice, threads)).unwrap_or_default(),
    }
}

async fn change(hands: &Hands, thread: &Thread, record: Record) {
    let fields = thread.record.changes_to(&record);
    let entries = vec![NewEntry::new(&Entry::ThreadChanged(ThreadChanged { fields }))];
    let write = Write {
        thread: thread.id,
        expect: Expect::default(),
        branch: None,
        entries,
        record: Some(record),
        owner: None,
    };
    hands.done(hands.commit(vec![ThreadCommit::Write(write)])).await;
}

async fn all(hands: &Hands) -> Vec<Thread> {
    hands.stores.upkeep.all_threads(None, usize::MAX >> 1).await.expect("a read")
}

/// The expected list, by looking at every thread.
fn expected(threads: &[Thread], query: &ListQuery) -> Vec<ThreadId> {
    let mine = threads.iter().filter(|thread| thread.account == query.account && query.filter.matches(thread));
    let mut mine: Vec<&Thread> = mine.collect();
    mine.sort_by_key(|thread| std::cmp::Reverse(query.sort.place(thread).order()));
    mine.into_iter().map(|thread| thread.id).collect()
}

async fn ids(hands: &Hands, query: &ListQuery) -> Vec<ThreadId> {
    let page = hands.stores.store.list(query.clone()).await.expect("a list");
    page.iter().map(|thread| thread.id).collect()
}

async fn compare(hands: &Hands, threads: &[Thread], query: ListQuery, dice: &mut Dice) {
    let whole = expected(threads, &query);
    let all = ListQuery { limit: 1_000, ..query.clone() };
    assert_eq!(ids(hands, &all).await, whole, "{query:?}");
    let total = hands.stores.store.count(query.clone()).await.expect("a total");
    assert_eq!(total, Total { count: whole.len() as u64, is_exact: true }, "{query:?}");
    let limit = 1 + dice.below(9) as usize;
    let skip = dice.below(12) as usize;
    let page: Vec<ThreadId> = whole.iter().skip(skip).take(limit).copied().collect();
    assert_eq!(ids(hands, &ListQuery { skip, limit, ..query.clone() }).await, page, "{query:?} from {skip}");
    let mut paged: Vec<Thread> = Vec::new();
    loop {
        let after = paged.last().map(|last| query.sort.place(last));
        let page = hands.stores.store.list(ListQuery { after, limit, ..query.clone() }).await.expect("a page");
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    assert_eq!(paged.iter().map(|thread| thread.id).collect::<Vec<_>>(), whole, "{query:?} by {limit}");
}

async fn is_whole(hands: &Hands) {
    let wrong = hands.stores.upkeep.check_lists(9).await.expect("a check");
    assert!(wrong.is_empty(), "{wrong:?}");
}

pub async fn any_filter_gives_what_looking_at_every_thread_gives(hands: Hands) {
    let mut dice = Dice(7);
    let accounts = [Account::local(), Account::new("other").expect("an account")];
    let mut known = Vec::new();
    for n in 0..160 {
        let account = if n % 8 == 7 { &accounts[1] } else { &accounts[0] };
        let record = record(&mut dice, &known);
        known.push(hands.thread_with(account.clone(), record, &["a"]).await);
        // Some within a minute, some within a day, some weeks apart.
        hands.pass([0, 20_000_000, 3_600_000_000, 2 * DAY_MICROS, 20 * DAY_MICROS][dice.below(5) as usize]);
        let at = dice.below(known.len() as u64) as usize;
        let Ok(Some(thread)) = hands.stores.store.thread(known[at].into()).await else { continue };
        match dice.below(6) {
            0 | 1 => drop(hands.say(thread.id, "again").await),
            2 => drop(hands.done(hands.commit(vec![hands.write(thread.id, vec![said("b"), said("c")])])).await),
            3 => change(&hands, &thread, self::record(&mut dice, &known)).await,
            4 => change(&hands, &thread, Record { archived: !thread.record.archived, ..thread.record.clone() }).await,
            _ if n > 9 && at > 3 => hands.delete(thread.id).await,
            _ => {}
        }
    }
    is_whole(&hands).await;
    let threads = all(&hands).await;
    for n in 0..300 {
        let account = if n % 10 == 0 { &accounts[1] } else { &accounts[0] };
        let sort = if dice.one_in(3) { ListSort::Created } else { ListSort::Updated };
        let filter = filter(&mut dice, &threads, &known);
        let query = ListQuery { filter, sort, ..ListQuery::of(account.clone(), 9) };
        compare(&hands, &threads, query, &mut dice).await;
    }
    hands.stores.upkeep.rebuild(quiet()).await.expect("a rebuild");
    hands.gc().await;
    is_whole(&hands).await;
    for _ in 0..20 {
        let query = ListQuery { filter: filter(&mut dice, &threads, &known), ..ListQuery::of(Account::local(), 9) };
        compare(&hands, &threads, query, &mut dice).await;
    }
}

/// More tags, values and letters than are indexed for one thread.
pub async fn a_thread_with_more_than_is_indexed_is_found_all_the_same(hands: Hands) {
    let tags: String = (0..200).map(|n| format!(r#""t{n}","#)).collect();
    let leaves: String = (0..400).map(|n| format!(r#""k{n}":{n},"#)).collect();
    let metadata = json(&format!(r#"{{{leaves}"tags":[{tags}"last"]}}"#));
    let title = format!("{} the needle", (0..600).map(|n| format!("{n} ")).collect::<String>());
    let large = Record { metadata: Some(metadata), title: Some(title), ..Record::default() };
    let thread = hands.thread_with(Account::local(), large.clone(), &[]).await;
    let plain = Record {
        metadata: Some(json(r#"{"k399":399,"tags":["last"]}"#)),
        title: Some("Needle".into()),
        ..Record::default()
    };
    let small = hands.thread_with(Account::local(), plain, &[]).await;
    for _ in 0..3 {
        for sort in [ListSort::Updated, ListSort::Created] {
            for filter in [
                ListFilter { tag: Some("last".into()), ..Default::default() },
                ListFilter { metadata: Some(Value::of(&json(r#"{"k399":399}"#))), ..Default::default() },
                ListFilter { title: Some("NEEDLE".into()), ..Default::default() },
                ListFilter { title: Some("needle".into()), tag: Some("last".into()), ..Default::default() },
            ] {
                let query = ListQuery { filter, sort, ..ListQuery::of(Account::local(), 9) };
                let mut found = ids(&hands, &query).await;
                found.sort_by_key(|id| *id == thread);
                assert_eq!(found, [small, thread], "{query:?}");
            }
            let none = ListFilter { tag: Some("t".into()), ..Default::default() };
            assert!(
                ids(&hands, &ListQuery { filter: none, sort, ..ListQuery::of(Account::local(), 9) }).await.is_empty()
            );
        }
        is_whole(&hands).await;
        hands.pass(DAY_MICROS);
        hands.say(thread, "moves it to another day").await;
    }
    let found = hands.stores.store.thread(thread.into()).await.expect("a read").expect("a thread");
    change(&hands, &found, Record { archived: true, ..large }).await;
    is_whole(&hands).await;
    hands.delete(thread).await;
    is_whole(&hands).await;
}

pub async fn a_page_goes_on_where_it_ended_also_within_one_moment(hands: Hands) {
    let mut made = Vec::new();
    for _ in 0..9 {
        let record = Record { title: Some("same moment".into()), ..Record::default() };
        hands.pass(-1_000_000);
        made.push(hands.thread_with(Account::local(), record, &[]).await);
    }
    made.sort_by_key(|id| std::cmp::Reverse(id.short()));
    for sort in [ListSort::Updated, ListSort::Created] {
        for title in [None, Some("same".to_owned())] {
            let filter = ListFilter { title, ..Default::default() };
            let query = ListQuery { filter, sort, ..ListQuery::of(Account::local(), 2) };
            let mut paged: Vec<Thread> = Vec::new();
            for _ in 0..5 {
                let after = paged.last().map(|last| sort.place(last));
                let page = hands.stores.store.list(ListQuery { after, ..query.clone() }).await;
                paged.extend(page.expect("a page"));
            }
            assert_eq!(paged.iter().map(|thread| thread.id).collect::<Vec<_>>(), made);
        }
    }
}

pub async fn threads_that_change_again_within_a_minute_are_listed_in_order(hands: Hands) {
    let mut dice = Dice(7);
    let mut last: Vec<(Timestamp, ThreadId)> = Vec::new();
    for step in 0..120 {
        // Changes a few milliseconds apart, over three minutes; some threads change once, some again and again. To fork
        // a thread changes it, too.
        hands.pass(-1_000_000 + if step % 40 == 0 { 60_000_000 } else { dice.below(5) as i64 * 1_000 });
        let thread = match last.len() {
            0..3 => None,
            known => (!dice.one_in(3)).then(|| last[dice.below(known as u64) as usize].1),
        };
        let changed = match thread {
            Some(thread) if dice.one_in(4) => vec![thread, hands.fork(thread, Bounds::all(Position(1))).await],
            Some(thread) => {
                hands.say(thread, "again").await;
                vec![thread]
            }
            None => vec![hands.thread(&["first"]).await],
        };
        for thread in changed {
            last.retain(|(_, known)| *known != thread);
            last.push((hands.head(thread).await.updated, thread));
        }
        if step % 10 != 9 {
            continue;
        }
        last.sort_by_key(|(updated, thread)| std::cmp::Reverse((*updated, thread.short().bits())));
        for limit in [1, 2, 3, 7, 50] {
            let mut paged: Vec<Thread> = Vec::new();
            loop {
                let after = paged.last().map(|last| ListSort::Updated.place(last));
                let query = ListQuery { after, ..ListQuery::of(Account::local(), limit) };
                let page = hands.stores.store.list(query).await.expect("a page");
                let is_last = page.len() < limit;
                paged.extend(page);
                if is_last {
                    break;
                }
            }
            let paged: Vec<_> = paged.iter().map(|thread| (thread.head.updated, thread.id)).collect();
            assert_eq!(paged, last, "in pages of {limit} after {step}");
        }
    }
    assert_eq!(hands.stores.upkeep.check_lists(9).await.expect("a check"), Vec::<String>::new());
    hands.stores.upkeep.rebuild(quiet()).await.expect("a rebuild");
    assert_eq!(hands.stores.upkeep.check_lists(9).await.expect("a check"), Vec::<String>::new());
}

/// More threads than a store sorts as a whole, of which some moved on after they were filed.
pub async fn common_filters_and_far_offsets_give_what_looking_at_every_thread_gives(hands: Hands) {
    let mut dice = Dice(3);
    let mut known = Vec::new();
    for n in 0..COUNTED_MAX / 20 + 4 {
        // Minutes apart, in two days.
        hands.pass(if n % 30 == 29 { DAY_MICROS } else { 40_000_000 });
        let creates = (0..20).map(|at| {
            let metadata = json(&format!(r#"{{"of":"all","tags":["all","t{}"],"half":{}}}"#, at % 7, at % 2));
            let record = Record {
                title: Some(format!("Common {n} x{at}")),
                agent_id: Some("a".into()),
                metadata: Some(metadata),
                archived: dice.one_in(9),
                ..Record::default()
            };
            let segment = NewSegment { id: hands.segment_id(), link: None, birth: Tally::default() };
            let (thread, account) = (hands.thread_id(), Account::local());
            known.push(thread);
            ThreadCommit::Create(Create {
                thread,
                account,
                record,
                segment,
                entries: vec![said("first")],
                created: None,
            })
        });
        let creates = creates.collect();
        hands.done(hands.commit(creates)).await;
        for _ in 0..4 {
            let moved = known[dice.below(known.len() as u64) as usize];
            hands.pass([0, 1_000, 70_000_000][dice.below(3) as usize]);
            hands.say(moved, "again").await;
        }
    }
    is_whole(&hands).await;
    let threads = all(&hands).await;
    let (half, early) = (Value::of(&json(r#"{"half":1}"#)), threads[threads.len() / 2].created);
    let filters = [
        ListFilter::default(),
        ListFilter { agent: Some("a".into()), ..Default::default() },
        ListFilter { tag: Some("all".into()), ..Default::default() },
        ListFilter { metadata: Some(half.clone()), ..Default::default() },
        ListFilter { title: Some("OMMO".into()), ..Default::default() },
        ListFilter { title: Some("mo".into()), ..Default::default() },
        ListFilter { title: Some(" x".into()), metadata: Some(half), ..Default::default() },
        ListFilter { title: Some("x7".into()), tag: Some("all".into()), ..Default::default() },
        ListFilter { tag: Some("t3".into()), lifecycle: Some(Lifecycle::Active), ..Default::default() },
        ListFilter { created: TimeRange { after: None, before: Some(early) }, ..Default::default() },
        ListFilter {
            title: Some("common".into()),
            updated: TimeRange { after: Some(early), before: None },
            ..Default::default()
        },
    ];
    for filter in filters {
        for archived in [Archived::No, Archived::Any] {
            for sort in [ListSort::Updated, ListSort::Created] {
                let filter = ListFilter { archived, ..filter.clone() };
                let query = ListQuery { filter, sort, ..ListQuery::of(Account::local(), 300) };
                let whole = expected(&threads, &query);
                let total = hands.stores.store.count(query.clone()).await.expect("a total");
                assert_eq!(total, Total { count: whole.len() as u64, is_exact: true }, "{query:?}");
                for skip in [0, 250, whole.len() * 9 / 10, whole.len()] {
                    let page: Vec<ThreadId> = whole.iter().skip(skip).take(9).copied().collect();
                    let query = ListQuery { skip, limit: 9, ..query.clone() };
                    assert_eq!(ids(&hands, &query).await, page, "{query:?}");
                }
                let mut paged: Vec<Thread> = Vec::new();
                loop {
                    let after = paged.last().map(|last| sort.place(last));
                    let page = hands.stores.store.list(ListQuery { after, ..query.clone() }).await.expect("a page");
                    let is_last = page.len() < query.limit;
                    paged.extend(page);
                    if is_last {
                        break;
                    }
                }
                assert_eq!(paged.iter().map(|thread| thread.id).collect::<Vec<_>>(), whole, "{query:?} in pages");
            }
        }
    }
}

pub async fn parents_are_read_for_many_threads_at_once(hands: Hands) {
    let parent = hands.thread(&["a", "b"]).await;
    let other = hands.thread(&["c"]).await;
    let mut children = Vec::new();
    for _ in 0..3 {
        children.push(hands.fork(parent, Bounds::all(Position(1))).await);
    }
    let grandchild = hands.fork(children[0], Bounds::all(Position(1))).await;
    let asked = [&children[..], &[grandchild, other, hands.thread_id()]].concat();
    let found = hands.stores.store.parents(asked).await.expect("a read");
    let ends: Vec<_> = found.iter().map(|(relation, _)| (relation.parent, relation.child)).collect();
    let expected: Vec<_> = children.iter().map(|child| (parent, *child)).chain([(children[0], grandchild)]).collect();
    assert_eq!(ends, expected);
    for (relation, head) in &found {
        assert_eq!(*head, hands.head(relation.parent).await);
    }
    assert_eq!(found[0].0, hands.stores.store.relations(vec![children[0]]).await.expect("a read")[0][0].0);
    assert!(hands.stores.store.parents(Vec::new()).await.expect("a read").is_empty());
    let mut segments = Vec::new();
    for thread in [grandchild, other] {
        segments.push(hands.head(thread).await.segment);
    }
    let chains = hands.stores.store.chains(segments.clone(), 99).await.expect("a read");
    let mut single = Vec::new();
    for segment in segments {
        single.extend(hands.stores.store.chain(segment, 99).await.expect("a read"));
    }
    let sorted = |mut chain: Vec<threadkeep_model::Segment>| {
        chain.sort_by_key(|segment| segment.id);
        chain
    };
    assert_eq!(sorted(chains), sorted(single));
    hands.delete(children[0]).await;
    let left = hands.stores.store.parents(vec![grandchild, children[1]]).await.expect("a read");
    assert_eq!(left.len(), 1, "the parent of the other is gone");
}

pub async fn times_before_the_epoch_are_listed_too(hands: Hands) {
    hands.pass(-1_700_000_000_000_000 - 40 * DAY_MICROS);
    let mut made = Vec::new();
    for _ in 0..50 {
        let record =
            Record { title: Some("long ago".into()), metadata: Some(json(r#"{"tags":["old"]}"#)), ..Record::default() };
        made.insert(0, hands.thread_with(Account::local(), record, &[]).await);
        hands.pass(2 * DAY_MICROS);
    }
    let half = Some(Timestamp::from_micros(0));
    for filter in [
        ListFilter { title: Some("ago".into()), ..Default::default() },
        ListFilter { tag: Some("old".into()), ..Default::default() },
        ListFilter { created: TimeRange { after: None, before: half }, ..Default::default() },
        ListFilter { updated: TimeRange { after: half, before: None }, ..Default::default() },
    ] {
        for sort in [ListSort::Updated, ListSort::Created] {
            let query = ListQuery { filter: filter.clone(), sort, ..ListQuery::of(Account::local(), 99) };
            compare(&hands, &all(&hands).await, query, &mut Dice(1)).await;
        }
    }
    hands.say(made[30], "again").await;
    is_whole(&hands).await;
}
