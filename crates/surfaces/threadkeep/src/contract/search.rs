//! The contract's episodic memory: what was said in past conversations of an agent, found by a question.

use std::sync::Arc;

use threadkeep_engine::{Hit, Result, Search};
use threadkeep_model::{Role, Timestamp};

use super::{Threads, agent};

/// How much a search gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchOptions {
    /// Most results; 5 if nothing is said.
    pub limit: Option<usize>,
    /// So many messages on either side of a match; 3 if nothing is said.
    pub context_window: Option<usize>,
}

/// A thread that matches, with what was said around the match.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The thread: 12 lower-case hex digits.
    pub thread_id: String,
    /// What it is called; empty if it has no title.
    pub thread_title: String,
    /// When the message that matches was said.
    pub timestamp: Timestamp,
    /// How well it answers; the higher, the better.
    pub score: f32,
    /// The message that matches, and those around it, in their order.
    pub messages: Vec<SearchResultMessage>,
}

/// A message of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResultMessage {
    /// The role of the speaker.
    pub role: Role,
    /// The text of the message.
    pub text: String,
    /// When the message was appended.
    pub timestamp: Timestamp,
    /// Whether it is the one that matches.
    pub is_match: bool,
}

/// What a backfill did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackfillResult {
    /// Messages of the agent that were indexed.
    pub embedded: u64,
    /// Messages that were dropped from the index, because no thread shows them any more.
    pub cleaned: u64,
}

impl Threads {
    /// Past conversations of an agent that answer a question in plain words: the best first, each thread once, with what was
    /// said around the match. Empty if nothing matches.
    ///
    /// What users and assistants said is found, and no other event. What was appended since the last
    /// [`backfill`](Threads::backfill) may not be found yet, unless a server follows the log.
    ///
    /// # Errors
    /// A blank agent, a blank query; a limit or a window out of range.
    pub async fn search(&self, agent_id: &str, query: &str, opts: SearchOptions) -> Result<Vec<SearchResult>> {
        let SearchOptions { limit, context_window: context } = opts;
        let search = Search { agent: Some(agent(agent_id)?.to_owned()), limit, context, ..Search::new(query) };
        Ok(self.engine.search(search).await?.into_iter().map(SearchResult::from).collect())
    }

    /// Indexes what is missing, and drops what belongs to threads that are no more. It can be broken off and repeated: only
    /// what is missing is done. Other agents' messages are indexed too, and not counted.
    ///
    /// # Errors
    /// A blank agent; a store that cannot be read, or an index that cannot be written.
    pub async fn backfill(&self, agent_id: &str) -> Result<BackfillResult> {
        let agent = agent(agent_id)?.to_owned();
        let done = self.engine.backfill(Some(agent), Arc::new(|_, _, _| {})).await?;
        Ok(BackfillResult { embedded: done.embedded, cleaned: done.cleaned })
    }
}

impl From<Hit> for SearchResult {
    fn from(hit: Hit) -> Self {
        let messages = hit.messages.into_iter().map(|message| SearchResultMessage {
            role: message.role,
            text: message.text,
            timestamp: message.message.created,
            is_match: message.is_match,
        });
        Self {
            thread_id: hit.thread.short().to_string(),
            thread_title: hit.title.unwrap_or_default(),
            timestamp: hit.time,
            score: hit.score,
            messages: messages.collect(),
        }
    }
}
