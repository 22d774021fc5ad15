//! Which messages fit: pure functions over the newest messages of a thread, oldest first.

use std::collections::HashSet;

use threadkeep_model::{MessageBody, MessageId, Part, Role, RunSide};

use crate::request::wrote;

/// A message of the thread as it was read, with its tokens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub(crate) id: MessageId,
    pub(crate) body: MessageBody,
    pub(crate) tokens: u64,
}

/// Where a window may begin: `true` for each message that has no open call before it, so that no call is parted from its
/// result.
pub(crate) fn beginnings(said: &[Said], side: RunSide) -> Vec<bool> {
    let mut open: HashSet<String> = HashSet::new();
    said.iter()
        .map(|Said { body, .. }| {
            let is_step = wrote(side, body);
            let parts = parts(body);
            let results: Vec<&str> = parts.iter().filter_map(result_of).collect();
            let begins = is_step || (open.is_empty() && (results.is_empty() || results.len() < parts.len()));
            if is_step {
                open = parts.iter().filter_map(|part| call_of(part).map(str::to_owned)).collect();
            }
            for result in results {
                open.remove(result);
            }
            begins
        })
        .collect()
}

/// The calls that have no result, by the message that makes them: a model is given an error for each.
pub(crate) fn unanswered(said: &[Said], side: RunSide) -> Vec<(usize, Vec<String>)> {
    let (mut found, mut step) = (Vec::new(), None);
    for (at, Said { body, .. }) in said.iter().enumerate() {
        let parts = parts(body);
        if wrote(side, body) {
            found.extend(step.take());
            let calls: Vec<String> = parts.iter().filter_map(|part| call_of(part).map(str::to_owned)).collect();
            step = Some((at, calls));
        }
        if let Some((_, open)) = &mut step {
            let results: Vec<&str> = parts.iter().filter_map(result_of).collect();
            open.retain(|call| !results.contains(&call.as_str()));
        }
    }
    found.extend(step);
    found.retain(|(_, open)| !open.is_empty());
    found
}

/// Where the window begins that has at most `tokens`: the earliest beginning that fits. The newest beginning is taken if
/// none fits, because a request needs something to answer.
pub(crate) fn begin_within(said: &[Said], beginnings: &[bool], tokens: u64) -> usize {
    let (mut sum, mut found, mut newest) = (0, None, None);
    for at in (0..said.len()).rev() {
        sum += said[at].tokens;
        if beginnings[at] {
            newest.get_or_insert(at);
            if sum > tokens {
                break;
            }
            found = Some(at);
        }
    }
    // A step that is too long by itself comes with the question that it answers; then its texts are shortened.
    let with_question = |at: usize| match at.checked_sub(1) {
        Some(before) if beginnings[before] && said[before].body.role == Role::User => before,
        _ => at,
    };
    let begin = found.or(newest.map(with_question)).unwrap_or(0);
    // A conversation that begins with a question is easier to follow, if that costs little of it.
    let mut passed = 0;
    for at in begin..said.len() {
        if beginnings[at] && said[at].body.role == Role::User {
            return at;
        }
        passed += said[at].tokens;
        if passed > tokens / 4 {
            break;
        }
    }
    begin
}

/// Where the window begins that has at most `count` messages.
pub(crate) fn begin_with(said: &[Said], beginnings: &[bool], count: usize) -> usize {
    let from = said.len().saturating_sub(count);
    (from..said.len()).find(|at| beginnings[*at]).or_else(|| (0..from).rev().find(|at| beginnings[*at])).unwrap_or(0)
}

/// Where the present turn begins: the last message of the other side.
pub(crate) fn turn_begins(said: &[Said], side: RunSide) -> usize {
    let is_other = |one: &Said| {
        !wrote(side, &one.body) && matches!(one.body.role, Role::User | Role::Assistant) && !is_results(&one.body)
    };
    said.iter().rposition(is_other).unwrap_or(0)
}

/// Takes the calls of earlier turns out, with their results. Messages that say nothing else go.
pub(crate) fn without_past_tools(said: Vec<Said>, side: RunSide) -> Vec<Said> {
    let turn = turn_begins(&said, side);
    let strip = |mut one: Said| {
        let all = parts(&one.body);
        let rest: Vec<Part> = all
            .iter()
            .filter(|part| call_of(part).is_none() && result_of(part).is_none())
            .filter(|part| !matches!(part, Part::Thinking { .. }) || all.iter().all(|part| call_of(part).is_none()))
            .cloned()
            .collect();
        if rest.len() < all.len() {
            one.body.content = threadkeep_model::Content::parts(&rest).ok().filter(|_| !rest.is_empty())?;
        }
        Some(one)
    };
    let mut kept = Vec::with_capacity(said.len());
    for (at, one) in said.into_iter().enumerate() {
        kept.extend(if at < turn { strip(one) } else { Some(one) });
    }
    kept
}

/// Whether everything from a message on can be given without what is before it, as far as reading backwards has shown.
#[derive(Debug, Default)]
pub(crate) struct Backwards {
    /// Results whose call was not read yet.
    unmatched: HashSet<String>,
    pub(crate) begins: bool,
}

impl Backwards {
    /// Reads the message before those that were read.
    pub(crate) fn read(&mut self, body: &MessageBody, side: RunSide) {
        let parts = parts(body);
        self.unmatched.extend(parts.iter().filter_map(|part| result_of(part).map(str::to_owned)));
        for call in parts.iter().filter_map(call_of).filter(|_| wrote(side, body)) {
            self.unmatched.remove(call);
        }
        self.begins |= self.unmatched.is_empty() && !is_results(body);
    }
}

fn parts(body: &MessageBody) -> Vec<Part> {
    if body.content.as_json().as_str().starts_with('[') { body.content.to_parts() } else { Vec::new() }
}

fn is_results(body: &MessageBody) -> bool {
    let parts = parts(body);
    body.role == Role::Tool || (!parts.is_empty() && parts.iter().all(|part| result_of(part).is_some()))
}

fn call_of(part: &Part) -> Option<&str> {
    match part {
        Part::ToolUse { id, .. } => Some(id),
        Part::Text { .. }
        | Part::Image { .. }
        | Part::File { .. }
        | Part::ToolResult { .. }
        | Part::Thinking { .. } => None,
    }
}

fn result_of(part: &Part) -> Option<&str> {
    match part {
        Part::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        Part::Text { .. } | Part::Image { .. } | Part::File { .. } | Part::ToolUse { .. } | Part::Thinking { .. } => {
            None
        }
    }
}
