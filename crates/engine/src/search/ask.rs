//! Answers questions: candidates from the index. [`super::answers`] looks at each as a thread shows it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use threadkeep_model::{Account, Message, MessageId, Position, Role, SegmentId, ThreadId, Timestamp, Value};
use threadkeep_search::{Matches, Question, Shelf, Wants};
use threadkeep_store::{Archived, BoxFuture, ListFilter, ListQuery, TimeRange};

use super::answers::Asking;
use super::invalid;
use super::parts::unreadable;
use super::text::embedded;
use crate::{Engine, Error, Result};

/// Threads that a search gives: the default, and the maximum.
const HITS: usize = 5;
const HITS_MAX: usize = 100;
/// Messages shown on either side of a hit: the default, and the maximum.
const CONTEXT: usize = 3;
const CONTEXT_MAX: usize = 50;
/// Most bytes of a question.
const QUERY_BYTES_MAX: usize = 256 << 10;
/// Messages that are looked through on the caller's own thread: that takes less than a millisecond. Volumes of more are
/// read in parts, which takes longer.
pub(super) const AT_ONCE_MAX: usize = 16_384;
/// Candidates to begin with.
const CANDIDATES: usize = 1_024;
/// Threads that pass a filter up to which they are listed before the search, and not looked at after it.
const LISTED_MAX: usize = 2_000;
/// Segments that are listed for them.
const SEGMENTS_MAX: usize = 65_536;
/// How often a search begins again because a volume was merged into another one meanwhile.
const TRIES_MAX: usize = 8;

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

/// Threads that are asked for, each with the segment in which it is at present, where that is known.
pub(super) type Among = HashMap<ThreadId, Option<SegmentId>>;

impl Engine {
    /// The threads of this account that answer a question, the best first, one hit a thread.
    ///
    /// # Errors
    /// If the question is too long, or asks for more than there is room for; if the index cannot be read.
    pub fn search(&self, search: Search) -> BoxFuture<'_, Result<Vec<Hit>>> {
        Box::pin(async move {
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
            for _ in 0..TRIES_MAX {
                // A volume may be merged into another one while it is being read: then the search begins again.
                match self.search_once(&search, limit, context).await {
                    Err(Error::Busy) => {}
                    done => return done,
                }
            }
            Err(Error::Busy)
        })
    }

    async fn search_once(&self, search: &Search, limit: usize, context: usize) -> Result<Vec<Hit>> {
        let account = &self.caller.account;
        let shelf = self.shelf(account).await?;
        let question = self.question(&search.query, &shelf).await;
        if shelf.is_empty() || question.is_empty() {
            return Ok(Vec::new());
        }
        let (filter, among) = self.wanted_threads(search, account, &shelf).await?;
        let segments = match &among {
            Some(threads) => self.segments_seen_by(threads, search, &shelf).await?,
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
            let matches = Arc::new(matches.map_err(unreadable)?);
            let mut asking = Asking::new(self, search, filter.clone(), among.clone(), &shelf, &question);
            let found = asking.look_at(&matches, limit).await?;
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
