//! One list being read: which lanes, in which order, and how their threads become a page or a total.

use std::collections::VecDeque;

use threadkeep_model::{Thread, ThreadId, Timestamp};

use crate::lanes::{Answer, Ask, COUNTED_MAX, Column, Drive, Lane, SPELLED_MAX, Scan};
use crate::list::{ListCursor, ListQuery, ListSort, TimeRange, Total};
use crate::terms::{Bucket, Gist, Need};

/// Threads that are passed over one by one. To pass over more, their number is read from an index.
const PASSED_MAX: usize = 200;
/// Rows read from one lane at once.
const READ_MAX: usize = 4_096;
/// Rows read from one lane first, where there are many lanes.
const READ_OF_MANY: usize = 16;
const FEW_LANES: usize = 4;
/// Weeks of birth that are looked at side by side; a longer range is looked for among all threads.
const WEEKS_MAX: usize = 520;
/// Needs that the store checks itself, beside the one that leads to a thread.
const NEEDS_MAX: usize = 3;
/// Terms of one such need.
const NEED_TERMS_MAX: usize = 8;

/// One list being read.
pub struct ListRun {
    query: ListQuery,
    goal: Goal,
    phase: Phase,
    lanes: Vec<LaneState>,
    skip: usize,
    is_ranked: bool,
    /// For each value of `archived`, the terms that begin with the two letters of the asked title.
    spelled: Vec<(bool, Need)>,
    found: Vec<Thread>,
    /// The place of the thread that was taken last: it may be in another lane as well.
    last: Option<(Timestamp, u64)>,
    counted: u64,
}

#[derive(PartialEq, Eq)]
enum Goal {
    Page,
    Total,
}

enum Phase {
    Begin,
    Spelling,
    Chosen,
    Counting(Vec<Vec<Lane>>),
    Ranking,
    Span,
    Tops,
    Reading(Vec<usize>),
    Totalling,
}

struct LaneState {
    lane: Lane,
    needs: Vec<Need>,
    gists: Vec<Gist>,
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
        let (skip, goal, phase) = (query.skip, Goal::Page, Phase::Begin);
        let (lanes, spelled, found) = (Vec::new(), Vec::new(), Vec::new());
        Self { query, goal, phase, lanes, skip, is_ranked: false, spelled, found, last: None, counted: 0 }
    }

    /// Counts all that pass the filter, wherever the page is, as far as [`ListQuery::total_max`].
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
    pub fn into_total(self) -> Total {
        Total::of(self.counted, &self.query)
    }

    /// The next question; none at the end.
    pub fn ask(&mut self) -> Option<Ask> {
        match &self.phase {
            Phase::Begin => self.begin(),
            Phase::Spelling => Some(Ask::Spelled(self.letters())),
            Phase::Chosen => self.start(),
            Phase::Span => Some(Ask::Span),
            Phase::Tops => {
                let terms = self.lanes.iter().filter_map(|state| state.lane.term()).collect();
                let last = self.query.after.map_or(i64::MAX, |after| after.time.minute());
                Some(Ask::Tops(terms, last.min(self.query.filter.updated.minutes().1)))
            }
            Phase::Ranking => Some(Ask::Rank(self.lanes.iter().map(|state| state.lane).collect(), self.query.skip)),
            Phase::Counting(_) | Phase::Reading(_) | Phase::Totalling => self.merge(),
        }
    }

    /// Takes in what was asked for.
    pub fn answer(&mut self, answer: Answer) {
        match (std::mem::replace(&mut self.phase, Phase::Reading(Vec::new())), answer) {
            (Phase::Spelling, Answer::Spelled(terms)) => self.spell(terms),
            (Phase::Counting(candidates), Answer::Counts(counts)) => self.choose(candidates, &counts),
            (Phase::Totalling, Answer::Total(total)) => {
                self.counted = total;
                self.lanes.clear();
            }
            (Phase::Ranking, Answer::Rank(None)) => self.lanes.clear(),
            (Phase::Ranking, Answer::Rank(Some((time, passed)))) => {
                self.skip = self.skip.saturating_sub(passed);
                // Below all ids of the next moment.
                let after = ListCursor { time: time.plus_micros(1), thread: ThreadId::from_bits(0) };
                let wanted = self.skip.saturating_add(self.query.limit);
                for state in &mut self.lanes {
                    (state.after, state.at_once) = (Some(after), wanted.clamp(1, READ_MAX));
                }
            }
            (Phase::Span, Answer::Span(span)) => self.by_births(span),
            (Phase::Tops, Answer::Tops(tops)) => {
                let by_term = |state: &&mut LaneState| state.lane.term().is_some();
                for (state, top) in self.lanes.iter_mut().filter(by_term).zip(tops) {
                    match top.filter(|top| *top >= state.updated.minutes().0) {
                        Some(top) => state.bound = (Bucket::end(top), u64::MAX),
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
        if self.letters().is_empty() {
            return self.start();
        }
        self.phase = Phase::Spelling;
        self.ask()
    }

    /// The numbers between which the terms of the asked title are, if it has two letters.
    fn letters(&self) -> Vec<(i32, i32)> {
        let ListQuery { account, filter, .. } = &self.query;
        self.flags().iter().filter_map(|archived| filter.letters(account, *archived)).collect()
    }

    /// Takes in the terms of two letters. Too many say nothing, and the list goes without them.
    fn spell(&mut self, terms: Vec<Vec<i32>>) {
        self.phase = Phase::Chosen;
        if terms.iter().all(|terms| terms.len() <= SPELLED_MAX) {
            let ListQuery { account, filter, .. } = &self.query;
            let need =
                |(archived, terms): (&bool, Vec<i32>)| (*archived, filter.letters_need(account, *archived, terms));
            self.spelled = self.flags().iter().zip(terms).map(need).collect();
        }
    }

    fn start(&mut self) -> Option<Ask> {
        let candidates = self.candidates();
        match &candidates[..] {
            [] => {
                let all = self.all();
                self.read(all, &[]);
            }
            [only] if self.goal == Goal::Total || only.iter().all(|lane| lane.is_sorted(self.query.sort)) => {
                let only = only.clone();
                self.read(only, &[]);
            }
            several => {
                let lanes = several.iter().flatten().copied().collect();
                self.phase = Phase::Counting(candidates);
                return Some(Ask::Count(lanes));
            }
        }
        self.phase = Phase::Reading(Vec::new());
        self.merge()
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
            ListSort::Updated => Bucket::Filed,
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
            self.flags().iter().map(|archived| (*archived, self.word_needs(*archived))).collect();
        let fewest = words.iter().map(|(_, needs)| needs.len()).min().unwrap_or(0);
        for at in 0..fewest {
            candidates.push(words.iter().flat_map(|(archived, needs)| lanes_of(archived, &needs[at])).collect());
        }
        candidates
    }

    /// The terms for the asked metadata and title, those of two letters included.
    fn word_needs(&self, archived: bool) -> Vec<Need> {
        let mut needs = self.query.filter.word_needs(&self.query.account, archived);
        needs.extend(self.spelled.iter().filter(|(flag, _)| *flag == archived).map(|(_, need)| need.clone()));
        needs
    }

    /// Takes the candidate with the fewest threads. One that is not sorted has to be small.
    fn choose(&mut self, candidates: Vec<Vec<Lane>>, counts: &[u64]) {
        let (sort, is_total) = (self.query.sort, self.goal == Goal::Total);
        let mut counts = counts.iter();
        let counted: Vec<(u64, Vec<Lane>)> =
            candidates.into_iter().map(|lanes| (counts.by_ref().take(lanes.len()).sum(), lanes)).collect();
        let known: Vec<(u64, Lane)> =
            counted.iter().flat_map(|(count, lanes)| lanes.iter().map(|lane| (*count, *lane))).collect();
        let usable = counted.into_iter().filter_map(|(count, lanes)| {
            let serves = is_total || count < COUNTED_MAX as u64 || lanes.iter().all(|lane| lane.is_sorted(sort));
            let lanes = if serves { Some(lanes) } else { self.settled(lanes) };
            lanes.map(|lanes| (count, lanes))
        });
        match usable.min_by_key(|(count, _)| *count) {
            Some((_, lanes)) => self.read(lanes, &known),
            None if self.spans() => self.phase = Phase::Span,
            None => {
                let all = self.all();
                self.read(all, &known);
            }
        }
    }

    /// The same threads in order: those that are where they were filed, and beside them those that moved on.
    fn settled(&self, lanes: Vec<Lane>) -> Option<Vec<Lane>> {
        let settle = |lane: Lane| match lane.drive {
            Drive::Term { term, bucket: Bucket::Filed } => Some(Lane { drive: Drive::Settled { term }, ..lane }),
            Drive::All
            | Drive::Born
            | Drive::Column(_)
            | Drive::Term { .. }
            | Drive::Settled { .. }
            | Drive::Moved
            | Drive::Unfiled => None,
        };
        if self.query.sort == ListSort::Created {
            return None;
        }
        let mut settled = lanes.into_iter().map(settle).collect::<Option<Vec<_>>>()?;
        settled.extend(self.moved());
        Some(settled)
    }

    fn moved(&self) -> impl Iterator<Item = Lane> {
        self.flags().iter().map(|archived| Lane { archived: *archived, drive: Drive::Moved })
    }

    /// The threads that `lanes` miss because they are not filed yet.
    fn unfiled(&self, lanes: &[Lane]) -> Vec<Lane> {
        let is_by_filed = |lane: &Lane| matches!(lane.drive, Drive::Term { bucket: Bucket::Filed, .. });
        let is_missed = lanes.iter().any(is_by_filed);
        let flags = self.flags().iter().filter(|_| is_missed);
        flags.map(|archived| Lane { archived: *archived, drive: Drive::Unfiled }).collect()
    }

    /// Whether threads that were born in the asked range may have changed after its end. Among those that changed before
    /// it, most were born in it, too; among those that changed later there may be any number that were not.
    fn spans(&self) -> bool {
        let filter = &self.query.filter;
        self.query.sort == ListSort::Updated && filter.created.before.is_some() && self.goal == Goal::Page
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
            let lane = |term| Lane { archived: *archived, drive: Drive::Settled { term } };
            Some(need.any_of.iter().copied().map(lane).collect::<Vec<_>>())
        };
        let births = self.flags().iter().map(births).collect::<Option<Vec<_>>>().map(|lanes| lanes.concat());
        let all = self.all();
        let Some(births) = births else { return self.read(all, &[]) };
        let updated = filter.updated;
        let moved = self.moved().collect();
        self.read([all, births, moved].concat(), &[]);
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
    fn read(&mut self, mut lanes: Vec<Lane>, known: &[(u64, Lane)]) {
        lanes.extend(self.unfiled(&lanes));
        let ListQuery { account, filter, .. } = &self.query;
        let count_of = |need: &Need| {
            let leads = |(_, lane): &&(u64, Lane)| lane.term().is_some_and(|term| need.any_of[0] == term);
            known.iter().find(leads).map_or(u64::MAX, |(count, _)| *count)
        };
        let needs_of = |archived: bool| {
            let mut needs = self.word_needs(archived);
            needs.extend(filter.tag_need(account, archived, Bucket::Filed));
            let gists = needs.iter().map(|need| need.gist).filter(|gist| *gist != Gist::default()).collect();
            // To look for each of many terms takes longer than to look at the title.
            needs.retain(|need| need.any_of.len() <= NEED_TERMS_MAX);
            needs.sort_by_key(count_of);
            (needs, gists)
        };
        let needs: [(Vec<Need>, Vec<Gist>); 2] = [needs_of(false), needs_of(true)];
        let wanted = self.query.limit.saturating_add(self.skip);
        let at_once = if lanes.len() > FEW_LANES { READ_OF_MANY } else { wanted };
        let at_once = at_once.min(wanted).clamp(1, READ_MAX);
        self.lanes = lanes
            .into_iter()
            .map(|lane| {
                let is_met = |need: &&Need| {
                    lane.bucket() == Some(need.bucket) && lane.term().is_some_and(|term| need.any_of.contains(&term))
                };
                LaneState {
                    lane,
                    needs: needs[usize::from(lane.archived)]
                        .0
                        .iter()
                        .filter(|need| !is_met(need))
                        .take(NEEDS_MAX)
                        .cloned()
                        .collect(),
                    gists: needs[usize::from(lane.archived)].1.clone(),
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

    fn scan(&self, at: usize, skip: usize, limit: usize) -> Scan {
        let state = &self.lanes[at];
        let LaneState { lane, updated, after, .. } = *state;
        Scan { lane, needs: state.needs.clone(), gists: state.gists.clone(), updated, after, skip, limit }
    }

    /// Takes threads in order as long as it is known which comes next.
    fn merge(&mut self) -> Option<Ask> {
        let is_exact = self.query.filter.is_exact();
        if self.goal == Goal::Total {
            if self.lanes.is_empty() {
                return None;
            }
            self.phase = Phase::Totalling;
            let mut scans: Vec<Scan> = (0..self.lanes.len()).map(|at| self.scan(at, 0, usize::MAX)).collect();
            if !is_exact {
                // Each record is looked at anyway. To look for other terms first, all of them common, takes longer.
                scans.iter_mut().for_each(|scan| scan.needs.clear());
            }
            // One more, to know whether there are more.
            return Some(Ask::Total { scans, most: self.query.total_max().saturating_add(1), looks: !is_exact });
        }
        let sort = self.query.sort;
        let in_order =
            |state: &LaneState| matches!(state.lane.drive, Drive::All | Drive::Column(_)) && state.lane.is_sorted(sort);
        if self.skip > PASSED_MAX && !self.is_ranked && self.query.is_of_one_index() && self.lanes.iter().all(in_order)
        {
            (self.phase, self.is_ranked) = (Phase::Ranking, true);
            return self.ask();
        }
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
                let mut skip = 0;
                if let ([state], true) = (&mut self.lanes[..], is_exact && self.skip > 0) {
                    skip = std::mem::take(&mut self.skip);
                    state.at_once = self.query.limit.clamp(1, READ_MAX);
                }
                let scans = next.iter().map(|at| self.scan(*at, skip, self.lanes[*at].at_once)).collect();
                self.phase = Phase::Reading(next);
                return Some(Ask::Rows(scans));
            }
            let (place, at) = best?;
            let row = self.lanes[at].rows.pop_front()?;
            if self.last.replace(place) == Some(place) {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
            } else {
                self.found.push(row);
            }
        }
    }

    /// Takes in the rows of a lane.
    fn take(&mut self, at: usize, mut rows: Vec<Thread>) {
        let is_alone = self.lanes.len() == 1 && self.found.is_empty() && self.skip == 0;
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
    use crate::ListFilter;
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
            Drive::Moved | Drive::Unfiled => false,
            Drive::Term { term, bucket: Bucket::Filed } | Drive::Settled { term } => terms.filed.contains(&term),
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
                Ask::Total { .. } | Ask::Rank(..) => panic!("a first page needs no total and no rank"),
                Ask::Spelled(ranges) => {
                    statements += ranges.len();
                    let spelled = |range: &(i32, i32)| {
                        let terms = all.iter().flat_map(|thread| {
                            Terms::of(&thread.account, thread.created, &thread.record).filed.into_iter()
                        });
                        let mut terms: Vec<i32> = terms.filter(|term| (range.0..=range.1).contains(term)).collect();
                        terms.sort_unstable();
                        terms.dedup();
                        terms
                    };
                    Answer::Spelled(ranges.iter().map(spelled).collect())
                }
                Ask::Span => {
                    statements += 1;
                    Answer::Span(all.first().zip(all.last()).map(|(first, last)| (first.created, last.created)))
                }
                Ask::Tops(terms, _) => {
                    statements += 1;
                    let top = |term: &i32| {
                        let drive = Drive::Settled { term: *term };
                        let last = all.iter().rfind(|thread| has(thread, &Lane { archived: false, drive }));
                        last.map(|last| last.head.updated.minute())
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
            (ListFilter { title: Some("release".into()), ..all() }, 13),
            (ListFilter { title: Some("ea".into()), ..all() }, 7),
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
