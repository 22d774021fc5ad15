//! Looks at the candidates of a search as threads show them: one hit a thread, opened at its best message.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use threadkeep_model::{Thread, ThreadId, Timestamp};
use threadkeep_search::{Form, Matches, Place, Question, Scored, Shelf, highlights, holds_phrases, thread_score};
use threadkeep_store::{ListFilter, Order, StoreError};

use super::ask::{Among, Hit, HitMessage, Search};
use super::parts::unreadable;
use super::seen::Seen;
use crate::ground::beside;
use crate::ground::policy::{Verb, standing};
use crate::{Engine, Result};

/// Threads that are looked at beyond those that are asked for, so that the best are among them.
const SPARE: usize = 5;
/// Messages of a thread that are looked at: more than count for it, since the exact scores may differ a little.
const LOOKED_AT: usize = 4;
/// Threads that share a message of which it is said that they do.
const SHARED_MAX: usize = 1_000;

/// A thread while it is being looked at.
struct Answer {
    thread: ThreadId,
    /// Its messages that answer, with the thread's view of them, and whether that is past.
    scored: Vec<(Scored, Arc<Seen>, bool)>,
}

/// One search under way.
pub(super) struct Asking<'a> {
    engine: &'a Engine,
    search: &'a Search,
    filter: Option<ListFilter>,
    /// The threads that are asked for, if they are few.
    among: Option<Among>,
    shelf: &'a Shelf,
    question: &'a Question,
    threads: HashMap<ThreadId, Option<Arc<Seen>>>,
    /// Threads that were read together, because they are likely next; none for those that are gone.
    read: HashMap<ThreadId, Option<Thread>>,
    /// The answers found, by thread.
    answers: BTreeMap<ThreadId, Answer>,
}

impl<'a> Asking<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        search: &'a Search,
        filter: Option<ListFilter>,
        among: Option<Among>,
        shelf: &'a Shelf,
        question: &'a Question,
    ) -> Self {
        let (threads, read, answers) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Self { engine, search, filter, among, shelf, question, threads, read, answers }
    }

    /// Looks at the candidates, thread by thread, the most promising first, until there are enough. Returns how many
    /// threads answer.
    pub(super) async fn look_at(&mut self, matches: &Arc<Matches>, limit: usize) -> Result<usize> {
        let mut groups: HashMap<ThreadId, Vec<Scored>> = HashMap::new();
        for scored in matches.candidates() {
            groups.entry(self.shelf.origin(scored.place).thread).or_default().push(*scored);
        }
        let mut order: Vec<(f32, ThreadId)> =
            groups.iter().map(|(thread, scored)| (thread_score(scored.iter().map(|one| one.score)), *thread)).collect();
        order.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        for (at, &(_, thread)) in order.iter().enumerate() {
            if self.answers.len() >= limit + SPARE {
                break;
            }
            if at.is_multiple_of(limit + SPARE) {
                self.read_next(order[at..].iter().take(limit + SPARE).map(|(_, thread)| *thread)).await?;
            }
            let mut found = 0;
            for scored in groups.remove(&thread).unwrap_or_default() {
                found += usize::from(self.answer(matches, scored.place).await?);
                if found == LOOKED_AT {
                    break;
                }
            }
        }
        Ok(self.answers.len())
    }

    /// Finds the threads that show a document, and how well it answers there. False if no thread does, or it does
    /// not.
    async fn answer(&mut self, matches: &Arc<Matches>, place: Place) -> Result<bool> {
        if self.question.has_phrases() && !self.has_phrases(place).await? {
            return Ok(false);
        }
        for (thread, _) in self.readers(place).into_iter().take(SHARED_MAX) {
            let Some(seen) = self.seen(thread).await? else { continue };
            // Invariant: a candidate counts only if a thread of the caller shows it now.
            if seen.shows(self.shelf, place) {
                return self.count(matches, place, seen, false).await;
            }
        }
        if !self.search.include_superseded {
            return Ok(false);
        }
        let carrier = self.shelf.carrier(place);
        let Some(now) = self.seen(self.shelf.origin(place).thread).await? else { return Ok(false) };
        let then = self.engine.what_showed(now.thread.clone(), carrier.position).await?;
        let showed = then.shows(self.shelf, place);
        Ok(showed && self.count(matches, place, Arc::new(then), true).await?)
    }

    async fn count(&mut self, matches: &Arc<Matches>, place: Place, seen: Arc<Seen>, superseded: bool) -> Result<bool> {
        let (before, after) = seen.around(self.shelf, place);
        let near = before.iter().chain(&after).copied();
        let exact = if matches.has(near.chain([place])) {
            matches.exact(place, &before, &after)
        } else {
            let matches = Arc::clone(matches);
            beside::aside(move || matches.exact(place, &before, &after)).await?
        };
        let Some(scored) = exact.map_err(unreadable)? else { return Ok(false) };
        let thread = seen.thread.id;
        let answer = self.answers.entry(thread).or_insert_with(|| Answer { thread, scored: Vec::new() });
        // The same text may lie in two volumes until they are merged.
        if answer.scored.iter().any(|(known, _, _)| self.shelf.carrier(known.place) == self.shelf.carrier(place)) {
            return Ok(false);
        }
        answer.scored.push((scored, seen, superseded));
        Ok(true)
    }

    async fn has_phrases(&self, place: Place) -> Result<bool> {
        let entry = self.engine.entry_at(self.shelf.carrier(place)).await?;
        Ok(match entry {
            Some(entry) => {
                let said = self.engine.text_in(&entry).await?;
                said.is_some_and(|said| holds_phrases(self.question, &said.text))
            }
            None => false,
        })
    }

    /// The threads that may show a document: the one that wrote it, then the others, the oldest first.
    fn readers(&self, place: Place) -> Vec<(ThreadId, Timestamp)> {
        let carrier = self.shelf.carrier(place);
        let origin = self.shelf.origin(place);
        let is_message = self.shelf.volume(place).form(self.shelf.doc(place)) == Form::Appended;
        let mut others: Vec<(Timestamp, ThreadId)> = Vec::new();
        let mut next = vec![carrier.segment];
        while let Some(segment) = next.pop() {
            for child in self.shelf.children(segment) {
                let last = if is_message { child.messages } else { child.changes };
                if carrier.position <= last {
                    others.push((child.created, child.thread));
                    next.push(child.segment);
                }
            }
        }
        others.sort_unstable();
        let mut known = HashSet::from([origin.thread]);
        let mut readers = vec![(origin.thread, origin.created)];
        readers.extend(others.into_iter().filter(|(_, id)| known.insert(*id)).map(|(created, id)| (id, created)));
        readers
    }

    /// The seen part of a thread; none if it is deleted, of another account, or not asked for.
    async fn seen(&mut self, id: ThreadId) -> Result<Option<Arc<Seen>>> {
        if let Some(known) = self.threads.get(&id) {
            return Ok(known.clone());
        }
        let seen = match self.passing(id).await? {
            Some(thread) => Some(Arc::new(self.engine.what_shows(thread).await?)),
            None => None,
        };
        self.threads.insert(id, seen.clone());
        Ok(seen)
    }

    fn is_among(&self, id: &ThreadId) -> bool {
        self.among.as_ref().is_none_or(|among| among.contains_key(id))
    }

    /// Reads the threads of the next candidates at once: on a server each read is a round trip.
    async fn read_next(&mut self, threads: impl Iterator<Item = ThreadId>) -> Result<()> {
        let next: Vec<ThreadId> = threads.filter(|id| self.is_among(id) && !self.threads.contains_key(id)).collect();
        if !next.is_empty() {
            self.read.extend(next.iter().map(|id| (*id, None)));
            let found = self.engine.shared.stores.store.threads(next).await?;
            self.read.extend(found.into_iter().map(|thread| (thread.id, Some(thread))));
        }
        Ok(())
    }

    async fn passing(&mut self, id: ThreadId) -> Result<Option<Thread>> {
        if !self.is_among(&id) {
            return Ok(None);
        }
        let thread = match self.read.remove(&id) {
            Some(read) => read,
            None => self.engine.shared.stores.store.thread(id.into()).await?,
        };
        let caller = &self.engine.caller.account;
        Ok(thread.filter(|thread| {
            standing(caller, &thread.account, thread.record.visibility, Verb::Search).is_some()
                && self.filter.as_ref().is_none_or(|filter| filter.matches(thread))
        }))
    }

    /// The best answers, opened.
    pub(super) async fn finish(mut self, limit: usize, context: usize) -> Result<Vec<Hit>> {
        let mut answers: Vec<(f32, Answer)> = Vec::new();
        for mut answer in std::mem::take(&mut self.answers).into_values() {
            answer.scored.sort_by(|(one, ..), (other, ..)| {
                let message = |scored: &Scored| self.shelf.message(scored.place);
                other.score.total_cmp(&one.score).then_with(|| message(one).cmp(&message(other)))
            });
            answers.push((thread_score(answer.scored.iter().map(|(scored, ..)| scored.score)), answer));
        }
        let time = |answer: &Answer| {
            let place = answer.scored[0].0.place;
            self.shelf.volume(place).time(self.shelf.doc(place))
        };
        answers.sort_by(|(score, one), (other_score, other)| {
            let newest = || time(other).cmp(&time(one)).then_with(|| one.thread.cmp(&other.thread));
            other_score.total_cmp(score).then_with(newest)
        });
        let mut hits = Vec::new();
        for (score, answer) in answers.into_iter().take(limit) {
            let Some((scored, seen, superseded)) = answer.scored.into_iter().next() else { continue };
            let messages = self.open(&seen, scored.place, context).await?;
            let also_in = if superseded { 0 } else { self.also_in(scored.place, seen.thread.id).await? };
            hits.push(Hit {
                thread: seen.thread.id,
                title: seen.thread.record.title.clone(),
                message: self.shelf.message(scored.place),
                time: self.shelf.volume(scored.place).time(self.shelf.doc(scored.place)),
                score,
                keyword: scored.keyword,
                vector: scored.vector,
                messages,
                also_in,
                superseded,
            });
        }
        Ok(hits)
    }

    /// How many other threads show a document.
    async fn also_in(&mut self, place: Place, under: ThreadId) -> Result<u64> {
        let mut count = 0;
        for (thread, _) in self.readers(place).into_iter().take(SHARED_MAX) {
            if thread != under
                && let Some(seen) = self.seen(thread).await?
            {
                count += u64::from(seen.shows(self.shelf, place));
            }
        }
        Ok(count)
    }

    /// A message and the messages around it.
    async fn open(&self, seen: &Seen, place: Place, context: usize) -> Result<Vec<HitMessage>> {
        let located = self.engine.locate(&seen.view, self.shelf.message(place)).await?;
        let (mut messages, hit, after) = tokio::try_join!(
            self.engine.said_beside(&seen.view, &located, Order::Descending, context),
            self.engine.assemble(&located.base, located.item()),
            self.engine.said_beside(&seen.view, &located, Order::Ascending, context),
        )?;
        messages.reverse();
        let at = messages.len();
        messages.push(hit);
        messages.extend(after);
        let shown = messages.into_iter().enumerate().map(|(index, message)| {
            let body = message.body().map_err(|damaged| StoreError::corrupt(damaged.to_string()))?;
            let text = body.content.to_text().into_owned();
            let is_match = index == at;
            let highlights = if is_match { highlights(self.question, &text) } else { Vec::new() };
            Ok(HitMessage { message, role: body.role, text, is_match, highlights })
        });
        shown.collect()
    }
}
