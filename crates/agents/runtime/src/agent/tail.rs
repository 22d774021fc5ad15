//! The end of a conversation, as far as it decides what an agent does next.

use std::collections::HashMap;

use serde_json::{Map, Value};
use threadkeep_engine::{Engine, Error, Page};
use threadkeep_model::{
    Invalid, Json, Message, MessageBody, MessageId, Part, Role, RunSide, ThreadId, Timestamp, Version,
};

/// Messages that are looked at: more than one step can have, with its calls and what was queued meanwhile.
const LOOKS_BACK: usize = 200;
/// The field in the metadata of a result whose tool asked that the run stop.
const STOP: &str = "stop";

/// The field in the metadata of a step whose call a hook dropped.
const DROPPED: &str = "callDropped";

/// The field in the metadata of a message that says which side wrote it.
const SIDE: &str = "side";
/// The field in the metadata of a message after which it is the turn of a side.
const TURN: &str = "turn";
/// Pages of messages that are read at most.
const PAGES_MAX: usize = 50;

/// Whether the second side of an agent wrote a message.
pub(super) fn is_of_side_b(body: &MessageBody) -> bool {
    let says = |metadata: &Json| metadata.to_value()[SIDE] == RunSide::B.as_str();
    body.role == Role::User && body.metadata.as_ref().is_some_and(says)
}

/// The side that does not speak now.
pub(super) fn other(side: RunSide) -> RunSide {
    match side {
        RunSide::A => RunSide::B,
        RunSide::B => RunSide::A,
    }
}

/// What is said of a message beside its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Whether a tool asked that the run stop.
    pub(super) stops: bool,
    /// The side whose turn it is next.
    pub(super) turn: Option<RunSide>,
}

impl Marks {
    /// Adds the marks to the metadata of a message.
    ///
    /// # Errors
    /// If the metadata are no JSON.
    pub(super) fn put(self, body: &mut MessageBody) -> Result<(), Invalid> {
        let mut fields = Map::new();
        if self.stops {
            fields.insert(STOP.to_owned(), true.into());
        }
        if let Some(turn) = self.turn {
            fields.insert(TURN.to_owned(), turn.as_str().into());
        }
        add_metadata(body, fields)
    }
}

/// A message as the words of a side: those of the second one have the role of the user, and say whose they are.
///
/// # Errors
/// If the metadata are no JSON.
pub(super) fn spoken_by(side: RunSide, mut body: MessageBody) -> Result<MessageBody, Invalid> {
    match side {
        RunSide::A => body.role = Role::Assistant,
        RunSide::B => {
            body.role = Role::User;
            add_metadata(&mut body, Map::from_iter([(SIDE.to_owned(), side.as_str().into())]))?;
        }
    }
    Ok(body)
}

fn add_metadata(body: &mut MessageBody, fields: Map<String, Value>) -> Result<(), Invalid> {
    if fields.is_empty() {
        return Ok(());
    }
    let mut all = match body.metadata.as_ref().map(Json::to_value) {
        Some(Value::Object(all)) => all,
        Some(_) | None => Map::new(),
    };
    all.extend(fields);
    body.metadata = Some(Json::from_value("metadata", &Value::Object(all))?);
    Ok(())
}

/// A message, with the place that it has in time.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) id: MessageId,
    pub(super) body: MessageBody,
    pub(super) version: Version,
    pub(super) created: Timestamp,
    /// Whether it waited in the queue, so that no step said it.
    pub(super) queued: bool,
}

impl Said {
    /// The side that said it as a step; none if no model did.
    fn side(&self, dual: bool) -> Option<RunSide> {
        match self.body.role {
            Role::Assistant if !self.queued => Some(RunSide::A),
            Role::User if dual && !self.queued && is_of_side_b(&self.body) => Some(RunSide::B),
            Role::Assistant | Role::User | Role::Tool | Role::System | Role::Info => None,
        }
    }

    fn turn(&self) -> Option<RunSide> {
        self.body.metadata.as_ref()?.to_value()[TURN].as_str()?.parse().ok()
    }

    fn is_answer(&self) -> bool {
        let calls = |part: &Part| matches!(part, Part::ToolUse { .. });
        let dropped = self.body.metadata.as_ref().is_some_and(|metadata| metadata.to_value()[DROPPED] == true);
        !dropped && !self.body.content.to_parts().iter().any(calls)
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Called {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answered {
    pub(super) text: String,
    pub(super) is_error: bool,
    /// Whether the tool asked that the run stop.
    pub(super) stops: bool,
}

/// The last step of a conversation, and what followed it.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail {
    /// The newest messages, oldest first.
    said: Vec<Said>,
    /// Where the last step is in them.
    step: Option<usize>,
    /// Whether the second side of an agent speaks, too.
    dual: bool,
    calls: Vec<Called>,
    results: HashMap<String, Answered>,
}

impl Tail {
    /// Reads the tail of a thread, for an agent with one side or two, and at least from `since` on.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub(super) async fn read(
        engine: &Engine,
        thread: ThreadId,
        dual: bool,
        since: Option<Timestamp>,
    ) -> Result<Self, Error> {
        let (mut items, mut page) = (Vec::new(), Page::first().newest_first());
        for _ in 0..PAGES_MAX {
            let asked = page.include_silent().max_depth(0).limit(LOOKS_BACK);
            let found = engine.messages(thread, asked).await?;
            let is_enough = since.is_none_or(|since| found.items.last().is_none_or(|last| last.created < since));
            items.extend(found.items);
            match found.next.filter(|_| !is_enough) {
                Some(cursor) => page = Page::after(cursor),
                None => break,
            }
        }
        items.reverse();
        let said = |message: &Message| -> Result<Said, Error> {
            let (body, queued) = (message.body()?, message.queued.is_some());
            Ok(Said { id: message.id, body, version: message.version, created: message.created, queued })
        };
        Ok(Self::of(items.iter().map(said).collect::<Result<_, _>>()?, dual))
    }

    fn of(said: Vec<Said>, dual: bool) -> Self {
        let step = said.iter().rposition(|said| said.side(dual).is_some());
        let (mut calls, mut results) = (Vec::new(), HashMap::new());
        if let Some(at) = step {
            for part in said[at].body.content.to_parts() {
                if let Part::ToolUse { id, name, input } = part {
                    calls.push(Called { id, name, input });
                }
            }
            for said in &said[at + 1..] {
                results.extend(answers(&said.body));
            }
        }
        Self { said, step, dual, calls, results }
    }

    /// The version at which the last step was stored.
    pub(super) fn version(&self) -> Option<Version> {
        self.step.map(|at| self.said[at].version)
    }

    /// The message of the last step, and when it was said.
    pub(super) fn message(&self) -> Option<(MessageId, Timestamp)> {
        self.step.map(|at| (self.said[at].id, self.said[at].created))
    }

    /// The calls of the last step.
    pub(super) fn calls(&self) -> &[Called] {
        &self.calls
    }

    /// The calls of the last step that have no result, in order.
    pub(super) fn open(&self) -> Vec<Called> {
        self.calls.iter().filter(|call| !self.results.contains_key(&call.id)).cloned().collect()
    }

    /// The result of a call, which is stored next.
    pub(super) fn answer(&mut self, call: &str, answered: Answered) {
        self.results.insert(call.to_owned(), answered);
    }

    pub(super) fn result(&self, call: &str) -> Option<&Answered> {
        self.results.get(call)
    }

    /// The side that made the last step.
    pub(super) fn side(&self) -> RunSide {
        self.step.and_then(|at| self.said[at].side(self.dual)).unwrap_or_default()
    }

    /// The side whose turn it is, if the last step or one of its results says so.
    pub(super) fn turn(&self) -> Option<RunSide> {
        self.said[self.step?..].iter().rev().find_map(|said| said.turn())
    }

    /// The side that a message after the last step is addressed to; the first one, unless it says so.
    pub(super) fn addressed(&self) -> RunSide {
        let after = &self.said[self.step.map_or(0, |at| at + 1)..];
        let to = after.iter().rev().filter(|said| said.body.role == Role::User).find_map(Said::turn);
        to.filter(|_| self.dual).unwrap_or_default()
    }

    /// Whether a tool of the last step asked that the run stop.
    pub(super) fn stops(&self) -> bool {
        self.results.values().any(|result| result.stops)
    }

    /// The text of the last step.
    pub(super) fn text(&self) -> String {
        self.step.map(|at| self.said[at].body.content.to_text().into_owned()).unwrap_or_default()
    }

    /// Whether somebody spoke after the last step.
    pub(super) fn is_spoken_to(&self) -> bool {
        let after = &self.said[self.step.map_or(0, |at| at + 1)..];
        after.iter().any(|said| match said.body.role {
            Role::User | Role::Assistant | Role::System => true,
            Role::Tool | Role::Info => false,
        })
    }

    /// Whether the last step is an answer: it calls nothing, and called nothing that is gone.
    pub(super) fn is_answer(&self) -> bool {
        self.step.is_some_and(|at| self.said[at].is_answer())
    }

    /// Turns that ended since `began`: answers without calls, and calls that gave the turn away.
    pub(super) fn turns(&self, began: Timestamp) -> usize {
        let is_turn = |said: &&Said| {
            let speaks = said.side(self.dual).is_some() && said.is_answer();
            speaks || (said.body.role == Role::Tool && said.turn().is_some())
        };
        self.said.iter().filter(|said| said.created >= began).filter(is_turn).count()
    }

    /// How many of the last results since `began` are the same error, and that error.
    pub(super) fn same_errors(&self, began: Timestamp) -> (usize, String) {
        let since = self.said.iter().rev().take_while(|said| said.created >= began);
        let mut results = since.flat_map(|said| answers(&said.body).rev().collect::<Vec<_>>()).map(|it| it.1);
        let Some(last) = results.next().filter(|last| last.is_error) else { return (0, String::new()) };
        let same = results.take_while(|result| result.is_error && result.text == last.text).count();
        (same + 1, last.text)
    }
}

/// The results in a message.
fn answers(body: &MessageBody) -> std::vec::IntoIter<(String, Answered)> {
    let stops = body.metadata.as_ref().is_some_and(|metadata| metadata.to_value()[STOP] == true);
    let result = |part| match part {
        Part::ToolResult { tool_use_id, content, is_error } => {
            let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
            Some((tool_use_id, Answered { text, is_error, stops }))
        }
        Part::Text { .. } | Part::Image { .. } | Part::File { .. } | Part::ToolUse { .. } | Part::Thinking { .. } => {
            None
        }
    };
    let is_tool = body.role == Role::Tool;
    let parts = if is_tool { body.content.to_parts() } else { Vec::new() };
    parts.into_iter().filter_map(result).collect::<Vec<_>>().into_iter()
}
