//! Lists by every filter, beside the unfiltered list, in one run.
//!
//! Two accounts have the threads: in one half of them each differ in every field that can be filtered, in the
//! other a few. Rare values lie among the newest or among the oldest. Where a filter has only two values, threads
//! of the second account are changed in between.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use serde_json::json;
use threadkeep::model::{
    Commit, Entry, Expect, Head, Lifecycle, NewEntry, Segment, SegmentId, Tally, ThreadChanged, ThreadCommit,
    Visibility, Write as WriteTo,
};
use threadkeep::{
    Account, Archived, Caller, Json, List, Position, Record, SystemWorld, Thread, ThreadId, Timestamp, World,
};
use threadkeep_store::{ImportBatch, SegmentRow};

use crate::Result;
use crate::bench::Bench;
use crate::meter::{median, typical_micros};
use crate::ours::{Ours, expect_count};
use crate::report::Unit;

/// Threads on a page.
const PAGE: usize = 50;
/// Threads in one step of the import.
const BATCH: usize = 2_000;
/// Threads changed in one commit.
const CHANGED_AT_ONCE: usize = 500;
/// Over which time the threads are spread: about two years.
const SPAN_MICROS: i64 = 730 * 86_400_000_000;
const BEGIN_MICROS: i64 = 1_700_000_000_000_000;
/// The time allowed for a list: a multiple of the unfiltered one, or a fixed time; by title and metadata a fixed
/// time.
const TIMES_MAX: f64 = 5.0;
const MICROS_MAX: f64 = 500.0;
const TEXT_MICROS_MAX: f64 = 5_000.0;

/// Threads that a filter matches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    Half,
    Percent,
    HalfPermille,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    Newest,
    Oldest,
}

impl Share {
    fn name(self) -> &'static str {
        match self {
            Self::Half => "50 %",
            Self::Percent => "1 %",
            Self::HalfPermille => "0.05 %",
        }
    }

    fn of(self, threads: usize) -> usize {
        match self {
            Self::Half => threads / 2,
            Self::Percent => threads / 100,
            Self::HalfPermille => (threads / 2_000).max(1),
        }
    }
}

/// A set of threads: how many, and where they are. The rare ones do not overlap, so that each can have values of its
/// own.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Set {
    share: Share,
    among: Among,
}

impl Set {
    const ALL: [Set; 6] = [
        Set { share: Share::Half, among: Among::Newest },
        Set { share: Share::Half, among: Among::Oldest },
        Set { share: Share::Percent, among: Among::Newest },
        Set { share: Share::Percent, among: Among::Oldest },
        Set { share: Share::HalfPermille, among: Among::Newest },
        Set { share: Share::HalfPermille, among: Among::Oldest },
    ];

    fn number(self) -> usize {
        Self::ALL.iter().position(|set| *set == self).unwrap_or_default()
    }

    /// The threads by age, the newest being 0.
    fn ranks(self, threads: usize) -> Range<usize> {
        let count = self.share.of(threads);
        let from = if self.share == Share::HalfPermille { Share::Percent.of(threads) } else { 0 };
        match self.among {
            Among::Newest => from..from + count,
            Among::Oldest => threads - from - count..threads - from,
        }
    }

    fn account(self) -> Account {
        let name = if self.share == Share::Half { "halves" } else { "rare" };
        Account::new(name).expect("a name that is allowed")
    }

    fn word(self) -> &'static str {
        ["morning", "evening", "walrus", "comet", "quartz", "zephyr"][self.number()]
    }

    fn named(self) -> ThreadId {
        ThreadId::from_bits((self.number() as u128 + 1) << 3 | 0x7 << 100)
    }

    fn lifecycle(self) -> Lifecycle {
        match (self.share, self.among) {
            (Share::Half, Among::Newest) => Lifecycle::Active,
            (Share::Half, Among::Oldest) => Lifecycle::Completed,
            (Share::Percent, Among::Newest) => Lifecycle::Completed,
            (Share::Percent, Among::Oldest) => Lifecycle::Suspended,
            (Share::HalfPermille, Among::Newest) => Lifecycle::Cancelled,
            (Share::HalfPermille, Among::Oldest) => Lifecycle::Archived,
        }
    }
}

/// A filter of the list, with its name.
type Filter = (&'static str, fn(Set, &Times) -> List);

/// When the threads of a set were born and changed: ranges that hold just them.
struct Times {
    created: (Option<Timestamp>, Option<Timestamp>),
    updated: (Option<Timestamp>, Option<Timestamp>),
}

const FILTERS: [Filter; 12] = [
    ("agent", |set, _| List { agent_id: Some(set.word().into()), ..List::default() }),
    ("project", |set, _| List { project_id: Some(set.word().into()), ..List::default() }),
    ("archived", |_, _| List { archived: Archived::Yes, ..List::default() }),
    ("lifecycle", |set, _| List { lifecycle: Some(set.lifecycle()), ..List::default() }),
    ("visibility", |set, _| {
        let is_public = set.share != Share::Half || set.among == Among::Newest;
        let visibility = if is_public { Visibility::Public } else { Visibility::Private };
        List { visibility: Some(visibility), ..List::default() }
    }),
    ("metadata", |set, _| List { metadata: Json::parse("metadata", &metadata(set)).ok(), ..List::default() }),
    ("tag", |set, _| List { tag: Some(set.word().into()), ..List::default() }),
    ("parent", |set, _| List { parent_id: Some(set.named()), ..List::default() }),
    ("main thread", |set, _| List { main_thread_id: Some(set.named()), ..List::default() }),
    ("created range", |_, times| {
        let (created_after, created_before) = times.created;
        List { created_after, created_before, ..List::default() }
    }),
    ("updated range", |_, times| {
        let (updated_after, updated_before) = times.updated;
        List { updated_after, updated_before, ..List::default() }
    }),
    ("title", |set, _| List { title: Some(set.word().to_uppercase()), ..List::default() }),
];

fn metadata(set: Set) -> String {
    format!(r#"{{"part":{{"of":"{}"}}}}"#, set.word())
}

/// Measures all of it, and prints a line each.
pub(crate) fn measure(bench: &Bench, threads: usize, json_lines: bool) -> Result<()> {
    let room = bench.room()?;
    let ours = Ours::open(&room.place("ours.db"))?;
    let mut out = std::io::stdout().lock();
    if !json_lines {
        writeln!(out, "{PAGE} of {threads} threads, spread over two years; {}", bench.about()?)?;
    }
    let halves = build(bench, &ours, &Set::ALL[..2], threads)?;
    let mut rare = build(bench, &ours, &Set::ALL[2..], threads)?;
    room.settle()?;
    if !json_lines {
        writeln!(
            out,
            "{:<14} {:>7} {:<7} {:>10} {:>11} {:>7}  bar",
            "FILTER", "SHARE", "AMONG", "LIST", "UNFILTERED", "RATIO"
        )?;
    }
    for (name, filter) in FILTERS {
        for set in Set::ALL {
            let is_half = set.share == Share::Half;
            if !is_half && (name == "visibility" || name == "archived") {
                change(bench, &ours, &mut rare, set.ranks(threads), name, true)?;
            }
            let own = if is_half { &halves } else { &rare };
            let list = filter(set, &times(own, set.ranks(threads)));
            // Half of the threads are archived only while that is measured.
            let expected = if is_half && name == "archived" { 0 } else { set.share.of(threads).min(PAGE) };
            if expected > 0 {
                let row = compare(bench, &ours, set, &list, expected)?;
                print(&mut out, json_lines, name, set, row)?;
            }
            if !is_half && (name == "visibility" || name == "archived") {
                change(bench, &ours, &mut rare, set.ranks(threads), name, false)?;
                room.settle()?;
            }
        }
    }
    Ok(())
}

/// Microseconds of the list, and of the unfiltered list beside it.
fn compare(bench: &Bench, ours: &Ours, set: Set, list: &List, expected: usize) -> Result<(f64, f64)> {
    let engine = ours.engine.acting_as(Caller { account: set.account(), ..Caller::local() });
    let time = |list: &List, expected: usize| {
        let read = || expect_count(bench.runtime.block_on(engine.list(list.clone()))?.items.len(), expected);
        read()?;
        typical_micros(bench.sizes.reads, read)
    };
    let (mut filtered, mut unfiltered) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds {
        unfiltered.push(time(&List { limit: Some(PAGE), ..List::default() }, PAGE)?);
        filtered.push(time(&List { limit: Some(PAGE), ..list.clone() }, expected)?);
    }
    Ok((median(&filtered), median(&unfiltered)))
}

fn print(out: &mut impl Write, json_lines: bool, name: &str, set: Set, (list, unfiltered): (f64, f64)) -> Result<()> {
    let ratio = list / unfiltered;
    let is_text = name == "title" || name == "metadata";
    let met = if is_text { list <= TEXT_MICROS_MAX } else { ratio <= TIMES_MAX || list <= MICROS_MAX };
    let bar = if is_text { "≤ 5 ms".to_owned() } else { "≤ 5 × or ≤ 500 µs".to_owned() };
    let among = match set.among {
        Among::Newest => "newest",
        Among::Oldest => "oldest",
    };
    if json_lines {
        let line = json!({
            "row": "list", "filter": name, "share": set.share.name(), "among": among, "micros": list,
            "unfilteredMicros": unfiltered, "ratio": ratio, "bar": bar, "met": met,
        });
        return Ok(writeln!(out, "{line}")?);
    }
    let (list, unfiltered) = (Unit::Micros.show(list), Unit::Micros.show(unfiltered));
    let met = if met { "met" } else { "MISSED" };
    let share = set.share.name();
    Ok(writeln!(out, "{name:<14} {share:>7} {among:<7} {list:>10} {unfiltered:>11} {ratio:>5.2} ×  {bar}: {met}")?)
}

/// Threads of one account, the newest first, of which each set has values of its own.
fn build(bench: &Bench, ours: &Ours, sets: &[Set], threads: usize) -> Result<Vec<Thread>> {
    let account = sets[0].account();
    let world = SystemWorld;
    let step = SPAN_MICROS / threads as i64;
    let mut made = Vec::with_capacity(threads);
    for rank in 0..threads {
        let set = sets.iter().copied().find(|set| set.ranks(threads).contains(&rank));
        let created = Timestamp::from_micros(BEGIN_MICROS + SPAN_MICROS - step * rank as i64);
        // Every other thread changed once more before the next was born, so that both orders are the same.
        let updated = created.plus_micros(if rank % 2 == 0 { step / 2 } else { 0 });
        let record = Record {
            title: Some(format!("Thread {rank} in the {}", set.map_or("usual way", Set::word))),
            agent_id: Some(set.map_or("usual", Set::word).to_owned()),
            project_id: Some(set.map_or("usual", Set::word).to_owned()),
            lifecycle: set.map_or(Lifecycle::Active, Set::lifecycle),
            visibility: if set.is_some_and(|set| set == Set::ALL[0]) {
                Visibility::Public
            } else {
                Visibility::Private
            },
            metadata: Json::parse("metadata", &with_tags(set, rank)).ok(),
            parent_id: set.map(Set::named),
            main_thread_id: set.map(Set::named),
            ..Record::default()
        };
        let segment = SegmentId::from_chance(world.chance() as u64);
        let head = Head { version: Position(0), segment, era: 0, fence: 0, updated, tally: Tally::default() };
        made.push(Thread {
            id: ThreadId::from_chance(world.chance()),
            account: account.clone(),
            created,
            head,
            record,
        });
    }
    for batch in made.chunks(BATCH) {
        let segment = |thread: &Thread| SegmentRow {
            segment: Segment {
                id: thread.head.segment,
                thread: thread.id,
                first: Position(1),
                link: None,
                birth: Tally::default(),
                created: thread.head.updated,
            },
            origin: Some((thread.account.clone(), thread.record.clone())),
        };
        let import = ImportBatch {
            segments: batch.iter().map(segment).collect(),
            threads: batch.to_vec(),
            finished: true,
            now: world.now(),
            ..ImportBatch::default()
        };
        bench.runtime.block_on(ours.stores().upkeep.import(import))?;
    }
    Ok(made)
}

fn with_tags(set: Option<Set>, rank: usize) -> String {
    let word = set.map_or("usual", Set::word);
    format!(r#"{{"part":{{"of":"{word}"}},"n":{rank},"tags":["{word}"]}}"#)
}

/// Sets or clears fields with only two values, without moving the threads in lists.
fn change(bench: &Bench, ours: &Ours, own: &mut [Thread], ranks: Range<usize>, name: &str, on: bool) -> Result<()> {
    for some in own[ranks].chunks_mut(CHANGED_AT_ONCE) {
        let writes = some.iter_mut().map(|thread| {
            let before = thread.record.clone();
            match name {
                "archived" => thread.record.archived = on,
                _ => thread.record.visibility = if on { Visibility::Public } else { Visibility::Private },
            }
            let fields = before.changes_to(&thread.record);
            let entries = vec![NewEntry::new(&Entry::ThreadChanged(ThreadChanged { fields }))];
            let record = Some(thread.record.clone());
            ThreadCommit::Write(WriteTo {
                thread: thread.id,
                expect: Expect::default(),
                branch: None,
                entries,
                record,
                owner: None,
            })
        });
        let threads = writes.collect();
        // A time before all of them: a thread's own never goes back.
        let time = Timestamp::from_micros(BEGIN_MICROS);
        let commit =
            Commit { caller: Caller::local(), time, threads, blobs: Vec::new(), idempotency: None, owner: None };
        bench.runtime.block_on(Arc::clone(&ours.stores().store).commit(commit))?;
    }
    Ok(())
}

/// Ranges of time that hold just these threads.
fn times(own: &[Thread], ranks: Range<usize>) -> Times {
    let next = |time: Option<Timestamp>| time.map(|time| time.plus_micros(1));
    let range = |time: fn(&Thread) -> Timestamp| {
        let mut all: Vec<Timestamp> = own.iter().map(time).collect();
        all.sort_unstable_by_key(|time| std::cmp::Reverse(*time));
        let first = all.get(ranks.end - 1).copied().filter(|_| ranks.end < all.len());
        let last = all.get(ranks.start).copied().filter(|_| ranks.start > 0);
        (first, next(last))
    };
    Times { created: range(|thread| thread.created), updated: range(|thread| thread.head.updated) }
}
