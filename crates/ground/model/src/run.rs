//! Runs: one execution of an agent on a thread, by our runtime or by the caller's own executor.

use serde::{Deserialize, Serialize};

use crate::json::is_default;
use crate::text::{from_words, words};
use crate::{Code, Invalid, MessageId, ProcessId, ThreadId, Timestamp, Uuid, Version};

/// An open run: an agent works on the thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Run {
    /// The id of the run.
    pub id: Uuid,
    /// The name of the actor that started it.
    pub by: String,
    /// The fence at which it started. A rollback or a truncation raises the fence, and the run is over.
    pub fence: u64,
    /// When the run started.
    pub began: Timestamp,
    /// When others may take over a caller's run, unless it makes another step before.
    pub until: Timestamp,
    /// How many steps it made.
    #[serde(default)]
    pub steps: u64,
    /// Which attempt works on it. Every start and every resume raises it. 0 in logs from before attempts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attempt: u64,
    /// The kind of executor that works on it.
    #[serde(default = "Executor::of_old", skip_serializing_if = "Executor::is_old")]
    pub executor: Executor,
    /// The agent that works, if the thread had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The process that works on a run of the runtime, by its lease. None while the run is queued or waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<ProcessId>,
    /// The answers that it waits for. No process works on it meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// The request to stop, if one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopAsked>,
    /// Tokens and cost of all its steps.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
    /// Whose turn it is, where the agent has two sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<Sides>,
}

impl Run {
    /// The default time between two steps after which others may take over a caller's run.
    pub const TTL_MICROS: i64 = 600 * 1_000_000;
    /// The shortest such time.
    pub const TTL_MICROS_MIN: i64 = 1_000_000;
    /// The longest such time.
    pub const TTL_MICROS_MAX: i64 = 24 * 3_600 * 1_000_000;
    /// The time that an executor has after a request to stop. Then any process ends the run.
    pub const STOP_MICROS: i64 = 5 * 1_000_000;
    /// Most answers that a run waits for.
    pub const WAITS_MAX: usize = 64;

    /// The run after a step that took this, from which on it waits for these answers.
    #[must_use]
    pub fn stepped(&self, until: Timestamp, counts: bool, usage: Usage, waits: Vec<Wait>) -> Self {
        Self {
            until,
            steps: self.steps + u64::from(counts),
            usage: self.usage.plus(usage),
            // No process works on a run that waits.
            owner: self.owner.filter(|_| waits.is_empty()),
            waits,
            ..self.clone()
        }
    }

    /// The run after its model was asked in a step: the step counts for the side that spoke.
    #[must_use]
    pub fn spoken(self, model: &ModelCall) -> Self {
        let Some(side) = model.side.as_deref().and_then(|side| side.parse::<RunSide>().ok()) else { return self };
        let mut sides = self.sides.unwrap_or_default().spoken(side);
        // An executor of the caller says by its step that it took the request up.
        sides.asked = sides.asked.filter(|asked| self.executor == Executor::Runtime || *asked != side);
        Self { sides: Some(sides), ..self }
    }

    /// The run after an answer came for which it waited.
    #[must_use]
    pub fn woken(&self, wait: Wait) -> Self {
        Self { waits: self.waits.iter().copied().filter(|open| *open != wait).collect(), ..self.clone() }
    }

    /// The status of the open run.
    pub fn status(&self) -> RunStatus {
        if !self.waits.is_empty() {
            return RunStatus::Waiting;
        }
        match (self.executor, &self.owner) {
            (Executor::Runtime, None) => RunStatus::Queued,
            (Executor::Runtime, Some(_)) | (Executor::Caller, _) => RunStatus::Running,
        }
    }
}

/// The kind of program that works on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Executor {
    /// The runtime of a server on which the agent is defined.
    Runtime,
    /// The program that started the run: it posts steps, deltas and the end.
    Caller,
}

words!(Executor: Runtime "runtime", Caller "caller");
from_words!(Executor, "executor");

impl Executor {
    /// The executor of runs in logs that do not name one.
    fn of_old() -> Self {
        Self::Caller
    }

    fn is_old(&self) -> bool {
        *self == Self::Caller
    }
}

/// A side of an agent. Only an agent of the type `dual_ai` has a second one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunSide {
    /// The first one. Its messages have the role `assistant`.
    #[default]
    A,
    /// The second one. Its messages have the role `user`, and `side: "b"` in their metadata.
    B,
}

words!(RunSide: A "a", B "b");
from_words!(RunSide, "side");

/// The turns of a run whose agent has two sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sides {
    /// The side whose turn it is.
    pub turn: RunSide,
    /// Number of steps of the first side.
    pub steps_a: u64,
    /// Number of steps of the second side.
    pub steps_b: u64,
    /// The side that somebody asked to speak next. The executor has not taken it up yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<RunSide>,
    /// Whether the turn comes from such a request. The next step uses it up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
}

impl Sides {
    /// Number of steps of a side.
    pub fn steps(self, side: RunSide) -> u64 {
        match side {
            RunSide::A => self.steps_a,
            RunSide::B => self.steps_b,
        }
    }

    /// The turns after `side` spoke in a step.
    fn spoken(self, side: RunSide) -> Self {
        let (a, b) = match side {
            RunSide::A => (1, 0),
            RunSide::B => (0, 1),
        };
        Self { turn: side, steps_a: self.steps_a + a, steps_b: self.steps_b + b, forced: false, ..self }
    }

    /// The turns once it is the turn of `side`. This takes up a request that asked for it.
    #[must_use]
    pub fn turned(self, side: RunSide) -> Self {
        let forced = self.asked == Some(side);
        Self { turn: side, asked: self.asked.filter(|_| !forced), forced: forced || self.forced, ..self }
    }
}

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// No process works on it yet.
    Queued,
    /// An executor works on it.
    Running,
    /// It waits for an approval, a subagent or a human.
    Waiting,
    /// The work is done.
    Completed,
    /// The work ended with an error.
    Failed,
    /// It was stopped before the work was done.
    Stopped,
}

words!(RunStatus: Queued "queued", Running "running", Waiting "waiting", Completed "completed", Failed "failed",
    Stopped "stopped");
from_words!(RunStatus, "status");

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The work is done.
    #[default]
    Completed,
    /// The work ended with an error.
    Failed,
    /// It was stopped before the work was done.
    Stopped,
}

words!(RunOutcome: Completed "completed", Failed "failed", Stopped "stopped");
from_words!(RunOutcome, "status");

impl From<RunOutcome> for RunStatus {
    fn from(outcome: RunOutcome) -> Self {
        match outcome {
            RunOutcome::Completed => Self::Completed,
            RunOutcome::Failed => Self::Failed,
            RunOutcome::Stopped => Self::Stopped,
        }
    }
}

/// An answer that a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "for", rename_all = "snake_case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Wait {
    /// The answer to an approval.
    Approval {
        /// The id of the approval.
        approval_id: Uuid,
    },
    /// The end of a subagent's work.
    Child {
        /// The thread of the subagent.
        thread_id: ThreadId,
    },
    /// A message of a human.
    Human,
}

/// A request to stop a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopAsked {
    /// When it was asked.
    pub at: Timestamp,
    /// When any process ends the run, if its executor did not.
    pub due: Timestamp,
}

/// Tokens and cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Usage {
    /// Tokens that were sent, cached ones included.
    pub input_tokens: u64,
    /// Tokens that were made.
    pub output_tokens: u64,
    /// Tokens that the provider read from its cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_read_tokens: u64,
    /// Tokens that the provider wrote to its cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_write_tokens: u64,
    /// The cost, in millionths of the currency of the prices.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cost_micros: u64,
}

impl Usage {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(more.input_tokens),
            output_tokens: self.output_tokens.saturating_add(more.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(more.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(more.cache_write_tokens),
            cost_micros: self.cost_micros.saturating_add(more.cost_micros),
        }
    }
}

/// What a model was given in a step, and what that took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelCall {
    /// The name of the model.
    #[cfg_attr(feature = "schema", schemars(length(max = ModelCall::NAME_BYTES_MAX)))]
    pub model: String,
    /// The version of the thread that was read for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Version>,
    /// The first message that was sent. All later ones that a model sees were sent too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_message: Option<MessageId>,
    /// Number of messages that were sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub messages: u64,
    /// The prompt that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The side that spoke, of an agent with two: `a` or `b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<String>,
    /// Tokens and cost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
    /// Time until the first piece of the answer, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_response_ms: Option<u64>,
    /// Time until the last piece of the answer, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl ModelCall {
    /// Longest name of a model, a prompt or a side, in bytes.
    pub const NAME_BYTES_MAX: usize = 255;

    /// A question to this model of which nothing else is known.
    pub fn of(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            as_of: None,
            first_message: None,
            messages: 0,
            prompt: None,
            side: None,
            usage: Usage::default(),
            first_response_ms: None,
            duration_ms: None,
        }
    }

    /// Checks the rules that its type does not already prove, and strips null bytes.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn checked(self) -> Result<Self, Invalid> {
        let max = Self::NAME_BYTES_MAX;
        let some = |field, text: Option<String>| text.map(|text| crate::text::named(field, text, max)).transpose();
        Ok(Self {
            model: crate::text::named("model", self.model, max)?,
            prompt: some("prompt", self.prompt)?,
            side: some("side", self.side)?,
            ..self
        })
    }
}

/// Longest code of a reason, in bytes.
const REASON_CODE_BYTES_MAX: usize = 64;

/// Checks the code of a reason why a run ended, such as `stop_tool`: lower-case letters, digits and underscores.
///
/// # Errors
/// If it breaks the rule.
pub fn checked_reason_code(code: String) -> Result<String, Invalid> {
    let fits = code.len() <= REASON_CODE_BYTES_MAX && code.starts_with(|first: char| first.is_ascii_lowercase());
    if fits && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        return Ok(code);
    }
    let rule = format!("is a code of 1 to {REASON_CODE_BYTES_MAX} lower-case letters, digits and underscores");
    Err(Invalid::new(Code::InvalidBody, "reason", rule))
}
