//! Answers questions: candidates from the index, each looked at as a thread shows it, one hit a thread.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use threadkeep_model::{Account, Message, MessageId, Position, Role, SegmentId, Thread, ThreadId, Timestamp, Value};
use threadkeep_search::{
    Form, Matches, Place, Question, Scored, Shelf, Wants, highlights, holds_phrases, thread_score,
};
use threadkeep_store::{Archived, ListFilter, ListQuery, Order, StoreError, TimeRange};

use super::invalid;
use super::seen::Seen;
use super::text::embedded;
use crate::ground::policy::{Verb, standing};
use crate::{Engine, Result};

/// Threads that a search gives: the default, and the maximum.
const HITS: usize = 5;
const HITS_MAX: usize = 100;
/// Messages shown on either side of a hit: the default, and the maximum.
const CONTEXT: usize = 3;
const CONTEXT_MAX: usize = 50;
/// Most bytes of a question.
const QUERY_BYTES_MAX: usize = 256 << 10;
/// Messages that are looked through on the caller's own thread: that takes less than a millisecond.
const AT_ONCE_MAX: usize = 16_384;
/// Candidates to begin with.
const CANDIDATES: usize = 1_024;
/// Threads that pass a filter up to which they are listed before the search, and not looked at after it.
const LISTED_MAX: usize = 2_000;
/// Segments that are listed for them.
const SEGMENTS_MAX: usize = 65_536;
/// Threads that are looked at beyond those that are asked for, so that the best are among them.
const SPARE: usize = 5;
/// Messages of a thread that are looked at: more than count for it, since the exact scores may differ a little.
const LOOKED_AT: usize = 4;
/// Threads that share a message of which it is said that they do.
const SHARED_MAX: usize = 1_000;

/// A search: the question and its filters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Search {
    /// The question, in plain words. Quotation marks ask for words in sequence.
    pub query: String,
    /// Only threads of this agent.
    pub agent: Option<String>,
    /// Only threads of this project.
    pub project: Option<String>,
    /// Only this thread and its forks.
    pub thread: Option<ThreadId>,
    /// Only messages from this moment on, and before that one.
    pub time: TimeRange,
    /// Only messages of this role.
    pub role: Option<Role>,
    /// Only threads with metadata that contain this.
    pub metadata: Option<Value>,
    /// Only threads with this tag.
    pub tag: Option<String>,
    /// Most threads to return.
    pub limit: Option<usize>,
    /// Messages to show on either side of a hit.
    pub context: Option<usize>,
    /// Also messages that threads do not show any more: rolled back, edited away, deleted.
    pub include_superseded: bool,
}

impl Search {
    /// A question about everything.
    pub fn new(query: &str) -> Self {
        Self { query: query.to_owned(), ..Self::default() }
    }

    /// Whether any thread passes.
    fn filter(&self) -> Option<ListFilter> {
        let Self { agent, project, metadata, tag, .. } = self;
        if agent.is_none() && project.is_none() && metadata.is_none() && tag.is_none() {
            return None;
        }
        Some(ListFilter {
            archived: Archived::Any,
            agent: agent.clone(),
            project: project.clone(),
            metadata: metadata.clone(),
            tag: tag.clone(),
            ..ListFilter::default()
        })
    }
}

/// A thread that matches, opened at its best message.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The id of the thread.
    pub thread: ThreadId,
    /// The title of the thread.
    pub title: Option<String>,
    /// The message that answers best.
    pub message: MessageId,
    /// When that was said.
    pub time: Timestamp,
    /// How well the thread answers: at most 1.
    pub score: f32,
    /// How well the words of the message answer: 1 is the best of all.
    pub keyword: f32,
    /// How well its meaning answers: 1 is the best of all.
    pub vector: f32,
    /// The message, and those around it, in their order.
    pub messages: Vec<HitMessage>,
    /// How many other threads show the message.
    pub also_in: u64,
    /// Whether the thread does not show it any more.
    pub superseded: bool,
}

/// A message of a hit.
#[derive(Debug, Clone, PartialEq)]
pub struct HitMessage {
    /// The message as the thread shows it.
    pub message: Message,
    /// The role of the speaker.
    pub role: Role,
    /// The text of the message.
    pub text: String,
    /// Whether it is the one that answers.
    pub is_match: bool,
    /// The byte ranges of the text that match the question.
    pub highlights: Vec<Range<usize>>,
}

/// A thread while it is being looked at.
struct Answer {
    thread: ThreadId,
    /// Its messages that answer, with the thread's view of them, and whether that is past.
    scored: Vec<(Scored, Arc<Seen>, bool)>,
}

/// Threads that are asked for, each with the segment in which it is at present, where that is known.
type Among = HashMap<ThreadId, Option<SegmentId>>;

/// One search under way.
struct Asking<'a> {
    engine: &'a Engine,
    search: &'a Search,
    filter: Option<ListFilter>,
    /// The threads that are asked for, if they are few.
    among: Option<Among>,
    shelf: &'a Shelf,
    question: &'a Question,
    threads: HashMap<ThreadId, Option<Arc<Seen>>>,
    /// The answers found, by thread.
    answers: BTreeMap<ThreadId, Answer>,
}

impl Engine {
    /// The threads of this account that answer a question, the best first, one hit a thread.
    ///
    /// # Errors
    /// If the question is too long, or asks for more than there is room for; if the index cannot be read.
    pub async fn search(&self, search: Search) -> Result<Vec<Hit>> {
        let limit = search.limit.unwrap_or(HITS);
        if limit == 0 || limit > HITS_MAX {
            return Err(invalid("limit", format!("a search gives 1 to {HITS_MAX} threads")));
        }
        let context = search.context.unwrap_or(CONTEXT);
        if context > CONTEXT_MAX {
            return Err(invalid("contextWindow", format!("shows 0 to {CONTEXT_MAX} messages on either side")));
        }
        if search.query.len() > QUERY_BYTES_MAX {
            return Err(invalid("query", format!("is longer than {QUERY_BYTES_MAX} bytes; ask for less")));
        }
        if search.query.trim().is_empty() {
            return Err(invalid("query", "is empty; say what to look for"));
        }
        let account = &self.caller.account;
        if account.is_nobody() {
            return Ok(Vec::new());
        }
        if let Some(thread) = search.thread {
            self.thread(thread).await?;
        }
        let shelf = self.shelf(account).await?;
        let question = self.question(&search.query, &shelf).await;
        if shelf.is_empty() || question.is_empty() {
            return Ok(Vec::new());
        }
        let (filter, among) = self.wanted_threads(&search, account, &shelf).await?;
        let segments = match &among {
            Some(threads) => self.segments_seen_by(threads, &search, &shelf).await?,
            None => None,
        };
        let mut wants = Wants {
            role: search.role,
            after: search.time.after,
            before: search.time.before,
            segments,
            candidates: CANDIDATES,
        };
        let question = Arc::new(question);
        loop {
            let (on, asked, wanted) = (Arc::clone(&shelf), Arc::clone(&question), wants.clone());
            let find = move || Matches::find(on, asked, &wanted);
            let matches = if shelf.len() <= AT_ONCE_MAX {
                find()
            } else {
                self.shared.library().ranking.turn().await.work(find).await?
            };
            let matches = matches.map_err(|damaged| StoreError::corrupt(damaged.to_string()))?;
            let mut asking = Asking {
                engine: self,
                search: &search,
                filter: filter.clone(),
                among: among.clone(),
                shelf: &shelf,
                question: &question,
                threads: HashMap::new(),
                answers: BTreeMap::new(),
            };
            asking.look_at(&matches, limit).await?;
            let found = asking.answers.len();
            if found < limit && !matches.is_complete() && found < threads_at_most(&shelf, among.as_ref()) {
                wants.candidates *= 16;
                continue;
            }
            return asking.finish(limit, context).await;
        }
    }

    /// A question with its vector, if there is one to compare it with.
    async fn question(&self, query: &str, shelf: &Shelf) -> Question {
        let (question, embedder) = (Question::new(query), self.embedder());
        let model = embedder.model().id.clone();
        if question.has_phrases() || !shelf.volumes().iter().any(|volume| volume.model() == model) {
            return question;
        }
        match self.vector_soon(embedded(query)).await {
            Some(vector) if !vector.is_zero() => {
                let mut direction = vec![0.0; vector.dimensions()];
                vector.add_to(&mut direction, 1.0);
                question.pointing(&model, &direction)
            }
            Some(_) | None => question,
        }
    }

    /// The threads that pass the filters, as a filter and, if they are few, one by one.
    async fn wanted_threads(
        &self,
        search: &Search,
        account: &Account,
        shelf: &Shelf,
    ) -> Result<(Option<ListFilter>, Option<Among>)> {
        let filter = search.filter();
        if let Some(thread) = search.thread {
            return Ok((filter, Some(family(shelf, thread).into_iter().map(|thread| (thread, None)).collect())));
        }
        let Some(asked) = filter.clone() else { return Ok((None, None)) };
        let query = ListQuery { filter: asked, ..ListQuery::of(account.clone(), LISTED_MAX + 1) };
        let found = self.shared.stores.store.list(query).await?;
        let few = found.len() <= LISTED_MAX;
        Ok((filter, few.then(|| found.into_iter().map(|thread| (thread.id, Some(thread.head.segment))).collect())))
    }

    /// The segments in which some threads may have their texts; none if they are too many to be listed.
    async fn segments_seen_by(
        &self,
        threads: &Among,
        search: &Search,
        shelf: &Shelf,
    ) -> Result<Option<HashSet<SegmentId>>> {
        let store = &self.shared.stores.store;
        let (mut seen, mut unknown) = (HashSet::new(), Vec::new());
        for (thread, head) in threads {
            let near = if search.include_superseded {
                let own = store.segments(*thread, Position::END, SEGMENTS_MAX).await?;
                own.into_iter().map(|segment| segment.id).collect()
            } else if let Some(head) = head {
                vec![*head]
            } else {
                store.head(*thread).await?.into_iter().map(|head| head.segment).collect()
            };
            for segment in near {
                match shelf.chain(segment) {
                    Some(chain) => seen.extend(chain),
                    None => unknown.push(segment),
                }
            }
        }
        if !unknown.is_empty() {
            seen.extend(store.chains(unknown, SEGMENTS_MAX).await?.into_iter().map(|segment| segment.id));
        }
        Ok((seen.len() < SEGMENTS_MAX).then_some(seen))
    }
}

/// How many threads could be found at all.
fn threads_at_most(shelf: &Shelf, among: Option<&Among>) -> usize {
    let strands = shelf.volumes().iter().flat_map(|volume| volume.strands());
    let threads: HashSet<ThreadId> = strands.map(|strand| strand.thread).collect();
    among.map_or(threads.len(), |among| among.len().min(threads.len()))
}

/// A thread and all that grew from it.
fn family(shelf: &Shelf, thread: ThreadId) -> HashSet<ThreadId> {
    let mut family = HashSet::from([thread]);
    let strands = shelf.volumes().iter().flat_map(|volume| volume.strands());
    let mut next: Vec<SegmentId> =
        strands.filter(|strand| strand.thread == thread).map(|strand| strand.segment).collect();
    let mut known: HashSet<SegmentId> = next.iter().copied().collect();
    while let Some(segment) = next.pop() {
        for child in shelf.children(segment) {
            if known.insert(child.segment) {
                family.insert(child.thread);
                next.push(child.segment);
            }
        }
    }
    family
}

impl Asking<'_> {
    /// Looks at the candidates, thread by thread, the most promising first, until there are enough.
    async fn look_at(&mut self, matches: &Matches, limit: usize) -> Result<()> {
        let mut groups: HashMap<ThreadId, Vec<Scored>> = HashMap::new();
        for scored in matches.candidates() {
            let writer = self.shelf.strand(self.shelf.carrier(scored.place).segment).map(|strand| strand.thread);
            if let Some(writer) = writer {
                groups.entry(writer).or_default().push(*scored);
            }
        }
        let mut order: Vec<(f32, ThreadId)> =
            groups.iter().map(|(thread, scored)| (thread_score(scored.iter().map(|one| one.score)), *thread)).collect();
        order.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        for (_, thread) in order {
            if self.answers.len() >= limit + SPARE {
                break;
            }
            let mut found = 0;
            for scored in groups.remove(&thread).unwrap_or_default() {
                found += usize::from(self.answer(matches, scored.place).await?);
                if found == LOOKED_AT {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Finds the threads that show a document, and how well it answers there. False if no thread does, or it does
    /// not.
    async fn answer(&mut self, matches: &Matches, place: Place) -> Result<bool> {
        if self.question.has_phrases() && !self.has_phrases(place).await? {
            return Ok(false);
        }
        for (thread, _) in self.readers(place).into_iter().take(SHARED_MAX) {
            let Some(seen) = self.seen(thread).await? else { continue };
            // Invariant: a candidate counts only if a thread of the caller shows it now.
            if seen.shows(self.shelf, place) {
                return Ok(self.count(matches, place, seen, false));
            }
        }
        if !self.search.include_superseded {
            return Ok(false);
        }
        let carrier = self.shelf.carrier(place);
        let writer = self.shelf.strand(carrier.segment).map(|strand| strand.thread);
        let Some(writer) = writer else { return Ok(false) };
        let Some(now) = self.seen(writer).await? else { return Ok(false) };
        let then = self.engine.what_showed(now.thread.clone(), carrier.position).await?;
        let showed = then.shows(self.shelf, place);
        Ok(showed && self.count(matches, place, Arc::new(then), true))
    }

    fn count(&mut self, matches: &Matches, place: Place, seen: Arc<Seen>, superseded: bool) -> bool {
        let (before, after) = seen.around(self.shelf, place);
        let Some(scored) = matches.exact(place, &before, &after) else { return false };
        let thread = seen.thread.id;
        let answer = self.answers.entry(thread).or_insert_with(|| Answer { thread, scored: Vec::new() });
        // The same text may lie in two volumes until they are merged.
        if answer.scored.iter().any(|(known, _, _)| self.shelf.carrier(known.place) == self.shelf.carrier(place)) {
            return false;
        }
        answer.scored.push((scored, seen, superseded));
        true
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
        let Some(origin) = self.shelf.strand(carrier.segment) else { return Vec::new() };
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

    async fn passing(&self, id: ThreadId) -> Result<Option<Thread>> {
        if self.among.as_ref().is_some_and(|among| !among.contains_key(&id)) {
            return Ok(None);
        }
        let thread = self.engine.shared.stores.store.thread(id.into()).await?;
        let caller = &self.engine.caller.account;
        Ok(thread.filter(|thread| {
            standing(caller, &thread.account, thread.record.visibility, Verb::Search).is_some()
                && self.filter.as_ref().is_none_or(|filter| filter.matches(thread))
        }))
    }

    /// The best answers, opened.
    async fn finish(mut self, limit: usize, context: usize) -> Result<Vec<Hit>> {
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
        let hit = self.engine.assemble(&located.base, located.item()).await?;
        let mut messages = self.engine.said_beside(&seen.view, &located, Order::Descending, context).await?;
        messages.reverse();
        let at = messages.len();
        messages.push(hit);
        messages.extend(self.engine.said_beside(&seen.view, &located, Order::Ascending, context).await?);
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
