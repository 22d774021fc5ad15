//! Searches on the wire: what is asked, what is found, and how the index stands.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Json, MessageId, Role, ThreadId, ThreadName, Timestamp};

use crate::ErrorCode;
use crate::call::{Declaration, Honours, Needs};
use crate::group::SEARCH;
use crate::object::some_thread;

/// Searches threads by words and meaning. All given filters must match.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchThreads {
    /// The question, in plain words. Quotation marks ask for words that stand one after the other; nothing else is syntax.
    /// It has at most 256 KiB.
    #[schemars(length(min = 1, max = 262_144), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub query: String,
    /// Only threads of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Only threads of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Only this thread and its forks.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_thread")]
    pub thread_id: Option<ThreadName>,
    /// Only messages from this moment on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Timestamp>,
    /// Only messages before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Timestamp>,
    /// Only messages of this role. Those of users and assistants are indexed, so others find nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Only threads whose metadata contain this object: members by name, every element in some element, scalars equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<threadkeep_model::schema::Object>")]
    pub metadata: Option<Json>,
    /// Only threads with this tag, in `metadata.tags` or `env.initial.tags`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Number of threads (default 5, maximum 100).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<usize>,
    /// So many messages on either side of a hit; 3 if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 50))]
    pub context_window: Option<usize>,
    /// Also messages that were rolled back, edited or deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_superseded: bool,
}

impl SearchThreads {
    pub(crate) const DECLARATION: Declaration = Declaration::post(("search", "search"), "/v1/search", SEARCH)
        .about("Finds the account's threads that match a question, the best first, each opened at its best message.")
        .gives("What was found; no results if nothing matches.")
        .needs(Needs::Read)
        .honours(Honours::NOTHING)
        .repeats()
        .fails(&[ErrorCode::InvalidThreadId, ErrorCode::ThreadNotFound])
        .example(r#"{"query":"where to stay","after":"2026-01-01T00:00:00Z","limit":5,"contextWindow":3}"#);

    /// A question about everything.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), ..Self::default() }
    }
}

/// The results of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchFound {
    /// Threads, the best first, each once; none if nothing matches.
    pub results: Vec<SearchResult>,
    /// How long the search took, in milliseconds.
    pub took_ms: f64,
}

/// A thread that matches, opened at its best message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The thread. A message that several threads share is reported under the one that wrote it, if it is the caller's and
    /// passes the filters, else under the oldest that does.
    pub thread_id: ThreadId,
    /// The title of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_title: Option<String>,
    /// The message that answers best.
    pub message_id: MessageId,
    /// When that was said.
    pub timestamp: Timestamp,
    /// How well the thread matches, compared with the other results: at most 1.
    pub score: f32,
    /// The two parts of the score of the message.
    pub why: SearchWhy,
    /// How many other threads of the caller show the message.
    pub also_in: u64,
    /// Whether the thread does not show it any more.
    pub superseded: bool,
    /// The message, and those around it, in their order.
    pub messages: Vec<SearchMessage>,
}

/// The two parts of the score of a message. Each is 1 for the best candidate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchWhy {
    /// How well the words match.
    pub keyword: f32,
    /// How well the meaning matches.
    pub vector: f32,
}

/// A message of a hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchMessage {
    /// The id of the message.
    pub message_id: MessageId,
    /// The role of the speaker.
    pub role: Role,
    /// The content as plain text.
    pub text: String,
    /// When it was said.
    pub timestamp: Timestamp,
    /// Whether this message is the hit. The others surround it.
    #[serde(rename = "match")]
    pub is_match: bool,
    /// The parts of the text that say what was asked, each from where to where (exclusive), in UTF-16 code units, as
    /// JavaScript counts: `text.slice(start, end)`. Only the message that answers has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub highlights: Vec<[usize; 2]>,
}

impl SearchMessage {
    /// The highlights as ranges of the text's bytes.
    pub fn highlighted(&self) -> Vec<Range<usize>> {
        in_bytes(&self.text, &self.highlights)
    }
}

/// Ranges of bytes in their order as ranges of UTF-16 code units.
///
/// It takes one pass, since texts may be long.
pub fn in_units(text: &str, ranges: &[Range<usize>]) -> Vec<[usize; 2]> {
    let (mut byte, mut unit) = (0, 0);
    let mut unit_at = |at: usize| {
        unit += text.get(byte..at).map_or(0, |between| between.chars().map(char::len_utf16).sum());
        byte = at;
        unit
    };
    ranges.iter().map(|range| [unit_at(range.start), unit_at(range.end)]).collect()
}

/// The reverse. Ranges that begin or end within a character, or beyond the text, are left out.
fn in_bytes(text: &str, ranges: &[[usize; 2]]) -> Vec<Range<usize>> {
    let mut places = text.char_indices().map(|(at, c)| (at, c.len_utf16())).chain([(text.len(), 0)]).peekable();
    let mut unit = 0;
    let mut byte_at = |at: usize| {
        while let Some((byte, length)) = places.peek() {
            if unit >= at {
                return (unit == at).then_some(*byte);
            }
            unit += length;
            places.next();
        }
        None
    };
    ranges.iter().filter_map(|[start, end]| Some(byte_at(*start)?..byte_at(*end)?)).collect()
}

/// Indexes messages that are missing in the search index.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunBackfill {
    /// The agent whose messages are counted in the answer; all of the account if nothing is said. What is indexed is always
    /// everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

impl RunBackfill {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("backfill", "backfillSearch"), "/v1/search/backfill", SEARCH)
            .about("Indexes missing messages, and drops messages that no thread shows any more.")
            .gives("What was done, counted for the account.")
            .honours(Honours::NOTHING)
            .repeats()
            .fails(&[ErrorCode::EmbedderFailed])
            .example(r#"{"agentId":"writer"}"#);
}

/// The result of a backfill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Backfilled {
    /// Messages that were not in the index, and now are.
    pub embedded: u64,
    /// Messages that were dropped from it, because no thread is left that shows them.
    pub cleaned: u64,
}

/// The state of the search index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchStatus {
    /// Whether every entry is indexed.
    pub caught_up: bool,
    /// Entries of the log that are not indexed yet. 1,000 means 1,000 or more.
    pub behind: u64,
    /// Age of the oldest of them in seconds; 0 if there is none.
    pub lag_seconds: u64,
    /// Whether it follows the log by itself; if not, it is brought up to date by a backfill.
    pub following: bool,
    /// Messages of this account in the index.
    pub messages: u64,
    /// Messages among them that have vectors of the present embedder; the others are found by their words.
    pub embedded: u64,
    /// Bytes of the index, for this account.
    pub bytes: u64,
    /// Bytes of the texts that it was made of.
    pub text_bytes: u64,
    /// Number of volumes of the index.
    pub volumes: u64,
    /// The id of the model that makes vectors.
    pub model: String,
    /// How long its vectors are.
    pub dimensions: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highlights_count_as_javascript_does_and_lead_back() {
        let text = "Größe 🦀 und Krebs";
        let (crab, und) = (text.find('🦀').expect("there"), text.find("und").expect("there"));
        let ranges = [0..crab, crab..und, und..text.len()];
        let units = in_units(text, &ranges);
        assert_eq!(units, [[0, 6], [6, 9], [9, 18]]);
        assert_eq!(in_bytes(text, &units), ranges);
        assert!(in_bytes(text, &[[7, 9], [9, 99]]).is_empty(), "within a character, and beyond the text");
    }
}
