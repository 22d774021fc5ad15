//! How a page of any list is found with few, short reads.
//!
//! A *lane* is one index of a store, read in the order of the list: all threads of an account, those with one value in
//! one column, or those with one term. [`ListRun`] chooses the lanes with the fewest threads, reads them side by side,
//! checks every thread with [`ListFilter::matches`](crate::ListFilter::matches), and reads on until the page is full. It
//! decides and does no I/O: a store answers what it [asks](Ask), so that the rules are the same in every store.

use std::collections::VecDeque;

use threadkeep_model::{Thread, Timestamp};

use crate::list::{ListCursor, ListFilter, ListQuery, ListSort, TimeRange};
use crate::terms::{Bucket, Need, day};

/// Rows that are counted to find the lane with the fewest.
pub const COUNTED_MAX: usize = 500;
/// Rows read from one lane at once.
const READ_MAX: usize = 4_096;
/// Rows read from one lane first, where there are many lanes.
const READ_OF_MANY: usize = 16;
const FEW_LANES: usize = 4;
/// Weeks of birth that are looked at side by side; a longer range is looked for among all threads.
const WEEKS_MAX: usize = 520;
/// Needs that the store checks itself, beside the one that leads to a thread.
const NEEDS_MAX: usize = 3;

/// A column of threads that lists go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The agent of the thread.
    Agent,
    /// The project of the thread.
    Project,
    /// The lifecycle of the thread.
    Lifecycle,
    /// Who may read it.
    Visibility,
    /// The thread it was spawned from.
    Parent,
    /// The main thread of a subagent.
    Main,
}

impl Column {
    /// The columns for which `filter` asks a value.
    pub fn asked(filter: &ListFilter) -> impl Iterator<Item = Self> {
        let asked = [
            (Self::Agent, filter.agent.is_some()),
            (Self::Project, filter.project.is_some()),
            (Self::Lifecycle, filter.lifecycle.is_some()),
            (Self::Visibility, filter.visibility.is_some()),
            (Self::Parent, filter.parent.is_some()),
            (Self::Main, filter.main.is_some()),
        ];
        asked.into_iter().filter(|(_, asked)| *asked).map(|(column, _)| column)
    }
}

/// The index that leads to the threads of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drive {
    /// All threads of the account.
    All,
    /// Those born in the asked range, in the order of their births.
    Born,
    /// Those with the asked value in a column.
    Column(Column),
    /// Those with a term.
    Term {
        /// The number of the term.
        term: i32,
        /// The time bucket of the term.
        bucket: Bucket,
    },
}

/// One index, read in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// Archived threads, or the others.
    pub archived: bool,
    /// The index that leads to its threads.
    pub drive: Drive,
}

impl Lane {
    /// Whether the buckets of its terms come in the order of the list. The rows of others are sorted as a whole.
    pub fn is_sorted(&self, sort: ListSort) -> bool {
        match (self.drive, sort) {
            // Every thread has both: one index for each is enough.
            (Drive::Column(Column::Lifecycle | Column::Visibility), sort) => sort == ListSort::Updated,
            (Drive::All | Drive::Column(_), _) => true,
            (Drive::Born, sort) => sort == ListSort::Created,
            (Drive::Term { bucket: Bucket::Minute | Bucket::Day, .. }, ListSort::Updated) => true,
            (Drive::Term { bucket: Bucket::Born, .. }, ListSort::Created) => true,
            (Drive::Term { .. }, ListSort::Updated | ListSort::Created) => false,
        }
    }
}

/// A stretch of a lane.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The lane to read.
    pub lane: Lane,
    /// Terms that matching threads have; the store may leave out threads without them.
    pub needs: Vec<Need>,
    /// Only those last changed in this range; it lies within the one that is asked.
    pub updated: TimeRange,
    /// Only what comes after this place.
    pub after: Option<ListCursor>,
    /// So many are passed over.
    pub skip: usize,
    /// At most so many.
    pub limit: usize,
}

/// The next question of a run.
#[derive(Debug)]
pub enum Ask {
    /// How many threads each lane has, counted to [`COUNTED_MAX`]: [`Answer::Counts`].
    Count(Vec<Lane>),
    /// How many threads of each stretch pass the filter: [`Answer::Counts`].
    Total(Vec<Scan>),
    /// When the oldest and the newest thread of the account were born: [`Answer::Span`].
    Span,
    /// The last bucket of each lane's term that is not above a bucket: [`Answer::Tops`].
    Tops(Vec<i32>, i64),
    /// Threads that pass the filter as far as the store can tell, in order: [`Answer::Rows`].
    Rows(Vec<Scan>),
}

/// The answer of a store.
#[derive(Debug)]
pub enum Answer {
    /// A number for each lane.
    Counts(Vec<u64>),
    /// The first and the last moment; none if there is no thread.
    Span(Option<(Timestamp, Timestamp)>),
    /// A bucket for each term.
    Tops(Vec<Option<i64>>),
    /// Threads for each stretch.
    Rows(Vec<Vec<Thread>>),
}

/// One list being read.
pub struct ListRun {
    query: ListQuery,
    goal: Goal,
    phase: Phase,
    lanes: Vec<LaneState>,
    skip: usize,
    found: Vec<Thread>,
    counted: u64,
}

#[derive(PartialEq, Eq)]
enum Goal {
    Page,
    Total,
}

enum Phase {
    Begin,
    Counting(Vec<Vec<Lane>>),
    Span,
    Tops,
    Reading(Vec<usize>),
    Totalling,
}

struct LaneState {
    lane: Lane,
    needs: Vec<Need>,
    updated: TimeRange,
    rows: VecDeque<Thread>,
    /// All that is not read yet comes after this…
    after: Option<ListCursor>,
    /// …and is not above this.
    bound: (Timestamp, u64),
    at_once: usize,
    is_done: bool,
}

const TOP: (i64, u64) = (i64::MAX, u64::MAX);

impl ListRun {
    /// A run that reads a page.
    pub fn page(query: ListQuery) -> Self {
        let skip = query.skip;
        let (lanes, found) = (Vec::new(), Vec::new());
        Self { query, goal: Goal::Page, phase: Phase::Begin, lanes, skip, found, counted: 0 }
    }

    /// Counts all that pass the filter, wherever the page is.
    pub fn total(query: ListQuery) -> Self {
        Self { goal: Goal::Total, ..Self::page(ListQuery { after: None, skip: 0, limit: usize::MAX, ..query }) }
    }

    /// The list that is read.
    pub fn query(&self) -> &ListQuery {
        &self.query
    }

    /// The page, once nothing more is asked.
    pub fn into_page(self) -> Vec<Thread> {
        self.found
    }

    /// The total, once nothing more is asked.
    pub fn into_total(self) -> u64 {
        self.counted
    }

    /// The next question; none at the end.
    pub fn ask(&mut self) -> Option<Ask> {
        match &self.phase {
            Phase::Begin => self.begin(),
            Phase::Span => Some(Ask::Span),
            Phase::Tops => {
                let terms = self.lanes.iter().filter_map(|state| match state.lane.drive {
                    Drive::Term { term, .. } => Some(term),
                    Drive::All | Drive::Born | Drive::Column(_) => None,
                });
                let last = self.query.after.map_or(i64::MAX, |after| Bucket::Day.of(after.time));
                Some(Ask::Tops(terms.collect(), last.min(day(self.query.filter.updated.minutes().1))))
            }
            Phase::Counting(_) | Phase::Reading(_) | Phase::Totalling => self.merge(),
        }
    }

    /// Takes in what was asked for.
    pub fn answer(&mut self, answer: Answer) {
        match (std::mem::replace(&mut self.phase, Phase::Reading(Vec::new())), answer) {
            (Phase::Counting(candidates), Answer::Counts(counts)) => self.choose(candidates, &counts),
            (Phase::Totalling, Answer::Counts(counts)) => {
                self.counted = counts.iter().sum();
                self.lanes.clear();
            }
            (Phase::Span, Answer::Span(span)) => self.by_births(span),
            (Phase::Tops, Answer::Tops(tops)) => {
                let by_term = |state: &&mut LaneState| matches!(state.lane.drive, Drive::Term { .. });
                for (state, top) in self.lanes.iter_mut().filter(by_term).zip(tops) {
                    match top.filter(|top| *top >= day(state.updated.minutes().0)) {
                        Some(top) => state.bound = (Bucket::Day.end(top), u64::MAX),
                        None => state.is_done = true,
                    }
                }
            }
            (Phase::Reading(asked), Answer::Rows(rows)) => {
                for (at, rows) in asked.into_iter().zip(rows) {
                    self.take(at, rows);
                }
            }
            // An answer to something that was not asked ends the list; no store gives one.
            _ => self.lanes.clear(),
        }
    }

    fn begin(&mut self) -> Option<Ask> {
        let candidates = self.candidates();
        match &candidates[..] {
            [] => {
                let all = self.all();
                self.read(all, &[]);
                self.merge()
            }
            [only] if only.iter().all(|lane| lane.is_sorted(self.query.sort)) => {
                let only = only.clone();
                self.read(only, &[]);
                self.merge()
            }
            several => {
                let lanes = several.iter().flatten().copied().collect();
                self.phase = Phase::Counting(candidates);
                Some(Ask::Count(lanes))
            }
        }
    }

    fn flags(&self) -> &'static [bool] {
        self.query.filter.archived.flags()
    }

    fn all(&self) -> Vec<Lane> {
        self.flags().iter().map(|archived| Lane { archived: *archived, drive: Drive::All }).collect()
    }

    /// The lanes that contain all the threads that are asked for.
    fn candidates(&self) -> Vec<Vec<Lane>> {
        let ListQuery { account, filter, sort, .. } = &self.query;
        let lanes_of = |archived: &bool, need: &Need| -> Vec<Lane> {
            let lane =
                |term: &i32| Lane { archived: *archived, drive: Drive::Term { term: *term, bucket: need.bucket } };
            need.any_of.iter().map(lane).collect()
        };
        let mut candidates: Vec<Vec<Lane>> = Column::asked(filter)
            .map(|column| {
                let lane = |archived: &bool| Lane { archived: *archived, drive: Drive::Column(column) };
                self.flags().iter().map(lane).collect()
            })
            .collect();
        let bucket = match sort {
            ListSort::Updated => Bucket::Minute,
            ListSort::Created => Bucket::Born,
        };
        let tagged =
            |archived: &bool| filter.tag_need(account, *archived, bucket).map(|need| lanes_of(archived, &need));
        candidates.extend(self.flags().iter().map(tagged).collect::<Option<Vec<_>>>().map(|lanes| lanes.concat()));
        if *sort == ListSort::Updated && !filter.created.is_open() {
            let born = |archived: &bool| Lane { archived: *archived, drive: Drive::Born };
            candidates.push(self.flags().iter().map(born).collect());
        }
        let words: Vec<(bool, Vec<Need>)> =
            self.flags().iter().map(|archived| (*archived, filter.word_needs(account, *archived))).collect();
        let fewest = words.iter().map(|(_, needs)| needs.len()).min().unwrap_or(0);
        for at in 0..fewest {
            candidates.push(words.iter().flat_map(|(archived, needs)| lanes_of(archived, &needs[at])).collect());
        }
        candidates
    }

    /// Takes the candidate with the fewest threads. One that is not sorted has to be small.
    fn choose(&mut self, candidates: Vec<Vec<Lane>>, counts: &[u64]) {
        let sort = self.query.sort;
        let mut counts = counts.iter();
        let counted: Vec<(u64, Vec<Lane>)> =
            candidates.into_iter().map(|lanes| (counts.by_ref().take(lanes.len()).sum(), lanes)).collect();
        let known: Vec<(u64, Lane)> =
            counted.iter().flat_map(|(count, lanes)| lanes.iter().map(|lane| (*count, *lane))).collect();
        let usable = counted
            .into_iter()
            .filter(|(count, lanes)| *count < COUNTED_MAX as u64 || lanes.iter().all(|lane| lane.is_sorted(sort)));
        match usable.min_by_key(|(count, _)| *count) {
            Some((_, lanes)) => self.read(lanes, &known),
            None if self.spans() => self.phase = Phase::Span,
            None => {
                let all = self.all();
                self.read(all, &known);
            }
        }
    }

    /// Whether threads that were born in the asked range may have changed after its end. Among those that changed before
    /// it, most were born in it, too; among those that changed later there may be any number that were not.
    fn spans(&self) -> bool {
        let filter = &self.query.filter;
        let is_counted_at_once = self.goal == Goal::Total && self.is_exact();
        self.query.sort == ListSort::Updated && filter.created.before.is_some() && !is_counted_at_once
    }

    /// Reads all threads that changed before the end of the range of births, and beside them, by their births, those that
    /// changed after it.
    fn by_births(&mut self, span: Option<(Timestamp, Timestamp)>) {
        let ListQuery { account, filter, .. } = &self.query;
        let (Some((oldest, newest)), Some(end)) = (span, filter.created.before) else { return };
        let first = filter.created.after.map_or(oldest, |after| after.max(oldest));
        let last = end.plus_micros(-1).min(newest);
        if first > last {
            return;
        }
        let births = |archived: &bool| {
            let need = filter.birth_need(account, *archived, (first, last), WEEKS_MAX)?;
            let lane = |term| Lane { archived: *archived, drive: Drive::Term { term, bucket: need.bucket } };
            Some(need.any_of.iter().copied().map(lane).collect::<Vec<_>>())
        };
        let births = self.flags().iter().map(births).collect::<Option<Vec<_>>>().map(|lanes| lanes.concat());
        let all = self.all();
        let Some(births) = births else { return self.read(all, &[]) };
        let updated = filter.updated;
        self.read([all, births].concat(), &[]);
        let wanted = self.query.limit.saturating_add(self.skip);
        for state in &mut self.lanes {
            if state.lane.drive == Drive::All {
                state.updated.before = Some(updated.before.map_or(end, |before| before.min(end)));
                state.at_once = wanted.clamp(1, READ_MAX);
            } else {
                state.updated.after = Some(updated.after.map_or(end, |after| after.max(end)));
            }
        }
        self.phase = Phase::Tops;
    }

    /// Reads these lanes from now on. `known` are lanes with how many threads they have at the most.
    fn read(&mut self, lanes: Vec<Lane>, known: &[(u64, Lane)]) {
        let ListQuery { account, filter, .. } = &self.query;
        let count_of = |need: &Need| {
            let leads =
                |(_, lane): &&(u64, Lane)| matches!(lane.drive, Drive::Term { term, .. } if need.any_of[0] == term);
            known.iter().find(leads).map_or(u64::MAX, |(count, _)| *count)
        };
        let needs_of = |archived: bool| {
            let mut needs = filter.word_needs(account, archived);
            needs.extend(filter.tag_need(account, archived, Bucket::Minute));
            needs.sort_by_key(count_of);
            needs
        };
        let needs = [needs_of(false), needs_of(true)];
        let wanted = self.query.limit.saturating_add(self.skip);
        let at_once = if lanes.len() > FEW_LANES { READ_OF_MANY } else { wanted };
        let at_once = at_once.min(wanted).clamp(1, READ_MAX);
        self.lanes = lanes
            .into_iter()
            .map(|lane| {
                let leads = |need: &&Need| {
                    !matches!(lane.drive, Drive::Term { term, bucket } if need.bucket == bucket && need.any_of.contains(&term))
                };
                LaneState {
                    lane,
                    needs: needs[usize::from(lane.archived)].iter().filter(leads).take(NEEDS_MAX).cloned().collect(),
                    updated: filter.updated,
                    rows: VecDeque::new(),
                    after: self.query.after,
                    bound: (Timestamp::from_micros(TOP.0), TOP.1),
                    at_once,
                    is_done: false,
                }
            })
            .collect();
    }

    /// Whether a store can tell by itself which threads pass.
    fn is_exact(&self) -> bool {
        let ListFilter { title, metadata, tag, parent, main, .. } = &self.query.filter;
        title.is_none() && metadata.is_none() && tag.is_none() && parent.is_none() && main.is_none()
    }

    fn scan(&self, at: usize, skip: usize, limit: usize) -> Scan {
        let state = &self.lanes[at];
        let LaneState { lane, updated, after, .. } = *state;
        Scan { lane, needs: state.needs.clone(), updated, after, skip, limit }
    }

    /// Takes threads in order as long as it is known which comes next.
    fn merge(&mut self) -> Option<Ask> {
        if self.goal == Goal::Total && self.is_exact() && !matches!(self.phase, Phase::Totalling) {
            if self.lanes.is_empty() {
                return None;
            }
            self.phase = Phase::Totalling;
            return Some(Ask::Total((0..self.lanes.len()).map(|at| self.scan(at, 0, usize::MAX)).collect()));
        }
        let sort = self.query.sort;
        loop {
            self.lanes.retain(|state| !state.is_done || !state.rows.is_empty());
            if self.found.len() >= self.query.limit || self.lanes.is_empty() {
                return None;
            }
            let place = |state: &LaneState| state.rows.front().map(|row| sort.place(row).order());
            let best = (0..self.lanes.len()).filter_map(|at| Some((place(&self.lanes[at])?, at))).max();
            let waiting = self.lanes.iter().filter(|state| state.rows.is_empty()).map(|state| state.bound).max();
            if let Some(bound) = waiting.filter(|bound| best.is_none_or(|(best, _)| *bound > best)) {
                // Those that may go on at the same place are read together.
                let is_next = |state: &LaneState| state.rows.is_empty() && state.bound == bound;
                let next: Vec<usize> = (0..self.lanes.len()).filter(|at| is_next(&self.lanes[*at])).collect();
                // If the store checks the whole filter itself, it can also skip.
                let skip = if self.lanes.len() == 1 && self.is_exact() { std::mem::take(&mut self.skip) } else { 0 };
                let scans = next.iter().map(|at| self.scan(*at, skip, self.lanes[*at].at_once)).collect();
                self.phase = Phase::Reading(next);
                return Some(Ask::Rows(scans));
            }
            let row = best.and_then(|(_, at)| self.lanes[at].rows.pop_front())?;
            if self.skip > 0 {
                self.skip -= 1;
            } else if self.goal == Goal::Total {
                self.counted += 1;
            } else if self.found.last().is_none_or(|last| last.id != row.id) {
                self.found.push(row);
            }
        }
    }

    /// Takes in the rows of a lane.
    fn take(&mut self, at: usize, mut rows: Vec<Thread>) {
        let is_alone = self.lanes.len() == 1 && self.found.is_empty() && self.skip == 0 && self.goal == Goal::Page;
        let Self { query, lanes, .. } = self;
        let Some(state) = lanes.get_mut(at) else { return };
        state.is_done = rows.len() < state.at_once;
        if let Some(last) = rows.last().map(|row| query.sort.place(row)) {
            state.after = Some(last);
            state.bound = last.order();
        }
        state.at_once = state.at_once.saturating_mul(4).min(READ_MAX);
        rows.retain(|row| query.filter.matches(row));
        if is_alone && rows.len() <= query.limit {
            // There is nothing to merge them with: they are the page, or its beginning.
            self.found = rows;
        } else {
            state.rows.extend(rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use threadkeep_model::{Account, Head, Position, Record, SegmentId, Tally, ThreadId};

    use super::*;
    use crate::terms::Terms;

    /// A thread a day, all of the same agent.
    fn threads() -> Vec<Thread> {
        let made = (0..400).map(|n| {
            let created = Timestamp::from_micros(1_700_000_000_000_000 + n * 86_400_000_000);
            let segment = SegmentId::from_bits(n as u64 + 1);
            let head =
                Head { version: Position(0), segment, era: 0, fence: 0, updated: created, tally: Tally::default() };
            let record =
                Record { title: Some("Release notes".into()), agent_id: Some("a".into()), ..Record::default() };
            Thread { id: ThreadId::from_bits(n as u128 + 1), account: Account::local(), created, head, record }
        });
        made.collect()
    }

    fn has(thread: &Thread, lane: &Lane) -> bool {
        let terms = Terms::of(&thread.account, thread.created, &thread.record);
        match lane.drive {
            Drive::All | Drive::Born | Drive::Column(_) => true,
            Drive::Term { term, bucket: Bucket::Day } => terms.day.contains(&term),
            Drive::Term { term, bucket: Bucket::Minute } => terms.minute.contains(&term),
            Drive::Term { term, bucket: Bucket::Born } => terms.born.contains(&term),
        }
    }

    /// Reads a page as a store would; gives how many statements that takes.
    fn read(query: ListQuery) -> (Vec<ThreadId>, usize) {
        let all = threads();
        let mut run = ListRun::page(query.clone());
        let mut statements = 0;
        while let Some(ask) = run.ask() {
            let rows = |scan: &Scan| -> Vec<Thread> {
                let place = |thread: &&Thread| {
                    scan.after.is_none_or(|after| query.sort.place(thread).order() < after.order())
                        && scan.updated.contains(thread.head.updated)
                };
                let rows = all.iter().rev().filter(|thread| has(thread, &scan.lane) && query.filter.matches(thread));
                rows.filter(place).skip(scan.skip).take(scan.limit).cloned().collect()
            };
            let answer = match &ask {
                Ask::Count(lanes) => {
                    statements += lanes.len();
                    let count = |lane: &Lane| all.iter().filter(|thread| has(thread, lane)).take(COUNTED_MAX).count();
                    Answer::Counts(lanes.iter().map(|lane| count(lane) as u64).collect())
                }
                Ask::Total(_) => panic!("a page needs no total"),
                Ask::Span => {
                    statements += 1;
                    Answer::Span(all.first().zip(all.last()).map(|(first, last)| (first.created, last.created)))
                }
                Ask::Tops(terms, _) => {
                    statements += 1;
                    let top = |term: &i32| {
                        let drive = Drive::Term { term: *term, bucket: Bucket::Day };
                        let last = all.iter().rfind(|thread| has(thread, &Lane { archived: false, drive }));
                        last.map(|last| Bucket::Day.of(last.head.updated))
                    };
                    Answer::Tops(terms.iter().map(top).collect())
                }
                Ask::Rows(scans) => {
                    statements += scans.len();
                    Answer::Rows(scans.iter().map(rows).collect())
                }
            };
            run.answer(answer);
        }
        (run.into_page().iter().map(|thread| thread.id).collect(), statements)
    }

    #[test]
    fn a_page_of_fifty_takes_as_many_statements_as_a_page_of_two() {
        let at = |n: usize| threads().get(n).map(|thread| thread.created);
        let range = |after, before| TimeRange { after, before };
        let all = || ListFilter::default();
        for (filter, most) in [
            (all(), 1),
            (ListFilter { agent: Some("a".into()), ..all() }, 1),
            (ListFilter { title: Some("release".into()), ..all() }, 12),
            (ListFilter { title: Some("notes".into()), agent: Some("a".into()), ..all() }, 9),
            (ListFilter { updated: range(at(10), at(300)), ..all() }, 1),
            (ListFilter { created: range(at(10), at(300)), ..all() }, 2),
        ] {
            let page = |limit| read(ListQuery { filter: filter.clone(), ..ListQuery::of(Account::local(), limit) });
            let ((few, of_two), (many, of_fifty)) = (page(2), page(50));
            assert_eq!((few.len(), many.len(), &many[..2]), (2, 50, &few[..]), "{filter:?}");
            assert_eq!(of_two, of_fifty, "{filter:?}");
            assert!(of_fifty <= most, "{of_fifty} statements for {filter:?}");
        }
    }
}
