//! `list`: the threads of an account, newest change first.

use threadkeep_model::{Code, Invalid, Thread, ThreadId, Timestamp};
use threadkeep_store::{ListCursor, ListQuery};

use crate::{Engine, Result};

/// Which threads to list.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// Archived ones instead of the others.
    pub archived: bool,
    /// Only of this agent.
    pub agent_id: Option<String>,
    /// At most so many.
    pub limit: Option<usize>,
    /// Goes on where an earlier page ended.
    pub cursor: Option<String>,
}

/// Some threads, and how to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadPage {
    /// The threads.
    pub items: Vec<Thread>,
    /// Goes on where this page ends; none at the end.
    pub next: Option<String>,
}

impl Engine {
    /// The threads of this account, newest change first. Threads that are created while pages are read do not
    /// disturb the pages after the first.
    ///
    /// # Errors
    /// A malformed cursor, or a limit out of range.
    pub async fn list(&self, list: List) -> Result<ThreadPage> {
        let limits = &self.shared.limits;
        let limit = list.limit.unwrap_or(limits.page);
        if limit == 0 || limit > limits.page_max {
            let rule = format!("a page has 1 to {} threads", limits.page_max);
            return Err(Invalid::parameter("limit", rule).into());
        }
        let query = ListQuery {
            account: self.caller.account.clone(),
            archived: list.archived,
            agent: list.agent_id,
            after: list.cursor.as_deref().map(decode).transpose()?,
            limit: limit + 1,
        };
        let mut items = self.shared.stores.store.list(query).await?;
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(encode);
        Ok(ThreadPage { items, next })
    }
}

fn encode(last: &Thread) -> String {
    format!("t{:x}-{:032x}", last.head.updated.as_micros(), last.id.bits())
}

fn decode(text: &str) -> Result<ListCursor> {
    let malformed = || {
        Invalid::new(Code::InvalidCursor, "cursor", "is not a cursor that a list of threads gave; begin without one")
    };
    let parts = text.strip_prefix('t').and_then(|rest| rest.split_once('-')).ok_or_else(malformed)?;
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    if !hex(parts.0) || !hex(parts.1) {
        return Err(malformed().into());
    }
    let updated = i64::from_str_radix(parts.0, 16).map_err(|_| malformed())?;
    let thread = u128::from_str_radix(parts.1, 16).map_err(|_| malformed())?;
    Ok(ListCursor { updated: Timestamp::from_micros(updated), thread: ThreadId::from_bits(thread) })
}
