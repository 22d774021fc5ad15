//! Tool calls without a result. A model is never given a call without its result: a commit that cuts a
//! conversation in the middle of a call also closes the call, with one message of the role `tool` that answers
//! every open call with an error, and carries `{"repair": "fork"}` (or the other cause) in its metadata.

use std::collections::HashSet;
use std::sync::Arc;

use threadkeep_model::{
    Content, Entry, Json, Message, MessageBody, MessageId, Part, Position, Role, ThreadId, Version,
};
use threadkeep_store::BoxFuture;

use crate::ground::cache::End;
use crate::ground::view::{Located, View};
use crate::request::is_of_side_b;
use crate::{Engine, Result};

/// How many messages back a call is looked for. Calls are answered right after they are made, so an older one was
/// closed long ago; the model's view closes it in any case.
const LOOKS_BACK: usize = 64;
/// Messages that are read first: the last step is mostly among them.
const LOOKS_FIRST: usize = 4;

/// Why a call was left without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupted {
    Fork,
    Rollback,
    Truncate,
    /// The run ended before the tool answered.
    End,
    /// The run was stopped.
    Cancel,
    /// The executor went away.
    Crash,
    Suspend,
    Spawn,
}

impl Interrupted {
    fn as_str(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::Rollback => "rollback",
            Self::Truncate => "truncate",
            Self::End => "end",
            Self::Cancel => "cancel",
            Self::Crash => "crash",
            Self::Suspend => "suspend",
            Self::Spawn => "spawn",
        }
    }

    fn said(self) -> &'static str {
        match self {
            Self::Fork => "The thread was forked before this call had a result.",
            Self::Rollback => "The thread was rolled back to before this call had a result.",
            Self::Truncate => "The thread was truncated to before this call had a result.",
            Self::End => "The run ended before this call had a result.",
            Self::Cancel => "The run was stopped before this call had a result.",
            Self::Crash => "The run broke off before this call had a result.",
            Self::Spawn => "The thread was spawned before this call had a result.",
            Self::Suspend => "The thread was suspended before this call had a result.",
        }
    }
}

impl Engine {
    /// The entry that closes the open calls of a view of which `count` messages are left, followed by `later`; none if
    /// no call is open, or what another program wrote is told again.
    pub(crate) async fn close_calls(
        &self,
        view: &View,
        count: u64,
        later: &[MessageBody],
        cut: Interrupted,
    ) -> Result<Option<Entry>> {
        if self.happened.is_some() {
            return Ok(None);
        }
        let mut answered = HashSet::new();
        for body in later.iter().rev() {
            if let Some(open) = open_calls(body, &mut answered) {
                return closing(open, cut);
            }
        }
        // Without an assistant there is no call; the tally may count some that lie after the cut, which only costs a
        // look.
        if view.tally.steps == 0 || count == 0 {
            return Ok(None);
        }
        closing(self.last_step(view, count, answered).await?.open, cut)
    }

    /// The place of the last message of a view, and the entry that closes its open calls.
    pub(crate) async fn end_of(&self, view: &View, cut: Interrupted) -> Result<(Option<MessageId>, Option<Entry>)> {
        // Where nothing was changed, a look at the last messages tells both.
        if self.happened.is_none() && view.tally.last_change == Position::START {
            let end = self.end(view).await?;
            return Ok((end.last, closing(end.open.clone(), cut)?));
        }
        let count = view.tally.messages();
        let (last, closed) = tokio::try_join!(self.locate_last(view), self.close_calls(view, count, &[], cut))?;
        let place = |last: Located| MessageId { segment: last.base.segment, position: last.base.position };
        Ok((last.map(place), closed))
    }

    /// The end of a view in which nothing was changed.
    async fn end(&self, view: &View) -> Result<Arc<End>> {
        let key = (view.lineage.segment.id, view.tally);
        if let Some(end) = self.shared.ends.get(key) {
            return Ok(end);
        }
        let count = view.tally.messages();
        let end = Arc::new(match view.tally.steps {
            0 => {
                let last = self.last_of(view, count, 1).await?.first().map(|message| message.id);
                End { last, open: Vec::new() }
            }
            _ => self.last_step(view, count, HashSet::new()).await?,
        });
        self.shared.ends.put(key, &end);
        Ok(end)
    }

    /// The end of the first `count` messages of a view. `answered` are results that come after it.
    async fn last_step(&self, view: &View, count: u64, answered: HashSet<String>) -> Result<End> {
        let mut looks = LOOKS_FIRST;
        loop {
            let found = self.last_of(view, count, looks).await?;
            let (last, mut answered) = (found.first().map(|message| message.id), answered.clone());
            for message in &found {
                if let Some(open) = open_calls(&read(message)?, &mut answered) {
                    return Ok(End { last, open });
                }
            }
            if found.len() < looks || looks == LOOKS_BACK {
                return Ok(End { last, open: Vec::new() });
            }
            looks = LOOKS_BACK;
        }
    }
}

/// The calls of the last step that have no result yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenCalls {
    /// The version at which the calls were made.
    pub version: Version,
    /// Id, name and arguments of each, in order.
    pub calls: Vec<(String, String, serde_json::Value)>,
}

impl Engine {
    /// The calls of a thread's last step that have no result yet, for an executor that goes on with them.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`].
    pub fn open_calls(&self, thread: ThreadId) -> BoxFuture<'_, Result<OpenCalls>> {
        Box::pin(async move {
            let thread = self.thread(thread).await?;
            let view = self.view(thread.id, &thread.head, None).await?;
            let mut answered = HashSet::new();
            for message in self.last_of(&view, view.tally.messages(), LOOKS_BACK).await? {
                let body = read(&message)?;
                if let Some(open) = open_calls(&body, &mut answered) {
                    let called = body.content.to_parts().into_iter().filter_map(|part| match part {
                        Part::ToolUse { id, name, input } if open.contains(&id) => Some((id, name, input)),
                        _ => None,
                    });
                    return Ok(OpenCalls { version: message.version, calls: called.collect() });
                }
            }
            Ok(OpenCalls::default())
        })
    }
}

fn read(message: &Message) -> Result<MessageBody> {
    Ok(message.body()?)
}

/// The calls of the last step that have no result yet, once that step is found; `answered` gathers results on the way.
fn open_calls(body: &MessageBody, answered: &mut HashSet<String>) -> Option<Vec<String>> {
    if body.depth > 0 {
        return None;
    }
    let is_step = body.role == Role::Assistant;
    if !body.content.as_json().as_str().starts_with('[') {
        return is_step.then(Vec::new);
    }
    let of_side_b = is_of_side_b(body);
    let mut calls = Vec::new();
    for part in body.content.to_parts() {
        match part {
            Part::ToolUse { id, .. } => calls.push(id),
            Part::ToolResult { tool_use_id, .. } => drop(answered.insert(tool_use_id)),
            Part::Text { .. } | Part::Image { .. } | Part::File { .. } | Part::Thinking { .. } => {}
        }
    }
    // The second model of an agent calls too. Its words alone are no step that ends the search.
    let is_step = is_step || (of_side_b && !calls.is_empty());
    is_step.then(|| calls.into_iter().filter(|call| !answered.contains(call)).collect())
}

fn closing(open: Vec<String>, cut: Interrupted) -> Result<Option<Entry>> {
    if open.is_empty() {
        return Ok(None);
    }
    let results: Vec<Part> = open.into_iter().map(|call| no_result(call, cut.said())).collect();
    let body = MessageBody::with_content(Role::Tool, Content::parts(&results)?);
    let body = body.metadata(Json::from_value("metadata", &serde_json::json!({ "repair": cut.as_str() }))?);
    Ok(Some(Entry::MessageAppended(body)))
}

/// An error in place of a result.
pub(crate) fn no_result(call: String, said: &str) -> Part {
    Part::ToolResult { tool_use_id: call, content: serde_json::Value::String(said.to_owned()), is_error: true }
}
