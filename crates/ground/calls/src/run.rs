//! Runs: one execution of an agent on a thread, by the runtime or by the caller's own executor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{
    Executor, ModelCall, RunEnded, RunOutcome, RunStatus, Sides, ThreadId, Timestamp, Usage, Uuid, Version, Wait,
};

use crate::append::NewMessage;
use crate::call::{Declaration, Honours};
use crate::group::RUNS;
use crate::object::{object, objects, parsed};
use crate::shape::{paged, words};
use crate::{ErrorCode, Injection, Message, ModelMessage};

/// Starts a run: calls that were left open are closed, and queued messages and injections are delivered.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StartRun {
    /// A message to append, after what was queued.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "object")]
    pub message: Option<NewMessage>,
    /// The agent to assign the thread to. Default: its agent; for the runtime, `default` if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub agent_id: Option<String>,
    /// The program that works: the runtime of a server on which the agent is defined, or the caller. Default: runtime. Where
    /// no server defines the agent, such a run stays queued.
    pub executor: Executor,
    /// Longest time between two steps of a caller, in milliseconds. Default: ten minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000, max = 86_400_000))]
    pub ttl: Option<u64>,
    /// Ends a run that is still open, or resumes it before its time is over.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub take_over: bool,
    /// Goes on with the open run as its next attempt. Its open tool calls stay open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resume: bool,
    /// Tokens of the conversation that a caller is given, at most. Default: those of the agent's model where the agent is
    /// defined, otherwise 100,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 256, max = 10_000_000))]
    pub context_tokens: Option<u64>,
}

impl Default for StartRun {
    fn default() -> Self {
        let executor = Executor::Runtime;
        Self {
            message: None,
            agent_id: None,
            executor,
            ttl: None,
            take_over: false,
            resume: false,
            context_tokens: None,
        }
    }
}

impl StartRun {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("start-run", "startRun"), "/v1/threads/{thread}/runs", RUNS)
            .about("Starts a run: an agent works on the thread from now on.")
            .creates("The run, what was delivered, and for a caller the conversation as a model is given it.")
            .versioned()
            .fails(&[
                ErrorCode::RunOpen,
                ErrorCode::NoModel,
                ErrorCode::ThreadClosed,
                ErrorCode::ThreadSuspended,
                ErrorCode::ThreadTerminated,
            ])
            .example(r#"{"executor":"caller","message":{"role":"user","content":"Is it sunny?"}}"#);

    /// A run on which the caller works.
    pub fn caller() -> Self {
        Self { executor: Executor::Caller, ..Self::default() }
    }
}

/// Takes one step: appends messages of the executor, then delivers the queue.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepRun {
    /// The id of the run.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub run: Uuid,
    /// The attempt that steps, as the start told it. A step of an earlier attempt is refused.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u64,
    /// Longest time until the next step, in milliseconds. Default: ten minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000, max = 86_400_000))]
    pub ttl: Option<u64>,
    /// Messages to append first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "objects")]
    #[schemars(length(max = 1_000))]
    pub messages: Vec<NewMessage>,
    /// Whether it goes on with the step before, such as with the result of a call. Such a step is not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// Whether queued messages and injections go on waiting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delivers_nothing: bool,
    /// The model that was asked, what it was given, and what that took.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object")]
    pub model: Option<ModelCall>,
    /// The answers that the run waits for from now on. The answer to each wakes it; then it is resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub waits: Vec<Wait>,
}

impl StepRun {
    pub(crate) const DECLARATION: Declaration = Declaration::post(("step-run", "stepRun"), "/v1/runs/{run}/step", RUNS)
        .about("Takes a step: appends messages, and returns queued messages and injections.")
        .gives("The run, and what was appended.")
        .versioned()
        .fails(&[ErrorCode::RunOver, ErrorCode::ThreadClosed, ErrorCode::ThreadTerminated])
        .example(r#"{"messages":[{"role":"assistant","content":"Sunny."}]}"#);

    /// A step of the first attempt of `run` that says nothing.
    pub fn of(run: Uuid) -> Self {
        Self {
            run,
            attempt: first(),
            ttl: None,
            messages: Vec::new(),
            continues: false,
            delivers_nothing: false,
            model: None,
            waits: Vec::new(),
        }
    }

    /// The same step, of this attempt.
    #[must_use]
    pub fn attempt(self, attempt: u64) -> Self {
        Self { attempt, ..self }
    }

    /// The same step, saying `message`.
    #[must_use]
    pub fn message(mut self, message: impl Into<NewMessage>) -> Self {
        self.messages.push(message.into());
        self
    }
}

/// Sends text of the present step to the readers of a run's stream. It is not logged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendDelta {
    /// The id of the run.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub run: Uuid,
    /// The attempt that speaks, as the start told it.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u64,
    /// Text to add to what the step said so far.
    #[schemars(length(max = 1_048_576))]
    pub text: String,
}

impl SendDelta {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("delta-run", "sendDelta"), "/v1/runs/{run}/delta", RUNS)
            .about("Sends text as it is made to the readers of the run's stream. It is not logged.")
            .gives("How far the stream is, and whether somebody asked to stop the run.")
            .honours(Honours::NOTHING)
            .fails(&[ErrorCode::RunOver])
            .example(r#"{"text":"Sun"}"#);
}

words! {
    ListedRuns in "status": "queued" = Queued, "running" = Running, "waiting" = Waiting, "completed" = Completed,
        "failed" = Failed, "stopped" = Stopped, "open" = Open, "ended" = Ended, "all" = All;
}

/// How a delta was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeltaTold {
    /// Number of chunks that the step has in the stream.
    pub sequence: u64,
    /// Whether somebody asked to stop the run. The executor then ends it.
    pub stop_requested: bool,
}

/// Ends a run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndRun {
    /// The id of the run.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub run: Uuid,
    /// The attempt that ends it, as the start told it.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u64,
    /// The outcome of the run.
    #[serde(default)]
    pub status: RunOutcome,
    /// The code of the reason, such as `stop_tool`: lower-case letters, digits and underscores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,63}$"))]
    pub reason: Option<String>,
    /// Messages to append first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "objects")]
    #[schemars(length(max = 1_000))]
    pub messages: Vec<NewMessage>,
}

impl EndRun {
    pub(crate) const DECLARATION: Declaration = Declaration::post(("end-run", "endRun"), "/v1/runs/{run}/end", RUNS)
        .about("Ends a run.")
        .gives("The run, and what was appended.")
        .versioned()
        .fails(&[ErrorCode::RunOver, ErrorCode::ThreadClosed, ErrorCode::ThreadTerminated])
        .example(r#"{"status":"completed"}"#);

    /// The end of the first attempt of `run`.
    pub fn of(run: Uuid, status: RunOutcome) -> Self {
        Self { run, attempt: first(), status, reason: None, messages: Vec::new() }
    }
}

/// Asks the executor of a run to stop. Nothing of what was said so far is lost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopRun {
    /// The id of the run.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub run: Uuid,
    /// Ends the run at once, without time for its executor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub now: bool,
}

impl StopRun {
    pub(crate) const DECLARATION: Declaration = Declaration::post(("stop-run", "stopRun"), "/v1/runs/{run}/stop", RUNS)
        .about("Asks the executor of a run to stop. After 5 seconds the run ends in any case.")
        .gives("The run. One that ended before is given as it is.")
        .repeats()
        .example("{}");

    /// Ends `run` at once.
    pub fn now(run: Uuid) -> Self {
        Self { run, now: true }
    }
}

/// Shows a run, with its steps.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRun {
    /// The id of the run.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub run: Uuid,
}

impl GetRun {
    pub(crate) const DECLARATION: Declaration = Declaration::get(("run", "getRun"), "/v1/runs/{run}", RUNS)
        .about("Shows a run, and of each step the model, what it was given, tokens, cost and times.")
        .gives("The run with its steps.");
}

paged! {
    /// Lists the runs of a thread.
    ListThreadRuns = Declaration::get(("thread-runs", "listThreadRuns"), "/v1/threads/{thread}/runs", RUNS)
        .about("Lists the runs of a thread, the newest first.")
        .gives("All of them; with `limit`, a page.")
        .fails(&[ErrorCode::InvalidCursor]);
}

/// Lists the runs of all threads.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListRuns {
    /// Runs with this status. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ListedRuns>,
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ListRuns {
    pub(crate) const DECLARATION: Declaration = Declaration::get(("runs", "listRuns"), "/v1/runs", RUNS)
        .about("Lists the runs of all threads: open ones by their start, then ended ones by their end, oldest first.")
        .gives("A page of runs.")
        .fails(&[ErrorCode::InvalidCursor]);
}

/// The runs that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedRuns {
    /// Runs that no process works on yet.
    Queued,
    /// Runs that an executor works on.
    Running,
    /// Runs that wait for an answer.
    Waiting,
    /// Runs whose work is done.
    Completed,
    /// Runs that ended with an error.
    Failed,
    /// Runs that were stopped.
    Stopped,
    /// Queued, running and waiting runs.
    Open,
    /// Completed, failed and stopped runs.
    Ended,
    /// Runs with every status.
    All,
}

impl ListedRuns {
    /// Whether a run with this status is listed.
    pub fn shows(self, status: RunStatus) -> bool {
        match self {
            Self::Queued => status == RunStatus::Queued,
            Self::Running => status == RunStatus::Running,
            Self::Waiting => status == RunStatus::Waiting,
            Self::Completed => status == RunStatus::Completed,
            Self::Failed => status == RunStatus::Failed,
            Self::Stopped => status == RunStatus::Stopped,
            Self::Open => matches!(status, RunStatus::Queued | RunStatus::Running | RunStatus::Waiting),
            Self::Ended => matches!(status, RunStatus::Completed | RunStatus::Failed | RunStatus::Stopped),
            Self::All => true,
        }
    }
}

/// Declares the answers that show a run: its fields, once, and what each adds to them.
macro_rules! shows_run {
    ($($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? { $($(#[$meta:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name $(<$life>)? {
            /// The id of the run.
            pub id: Uuid,
            /// The thread that it works on.
            pub thread_id: ThreadId,
            /// The agent that works.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub agent_id: Option<String>,
            /// The program that works on it.
            pub executor: Executor,
            /// The status of the run.
            pub status: RunStatus,
            /// The code of the reason, of a run that waits or ended.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub reason: Option<String>,
            /// The name of the actor that started it.
            pub by: String,
            /// Which attempt works on it. Steps, deltas and the end name it.
            pub attempt: u64,
            /// Number of steps.
            pub step_count: u64,
            /// When the run started.
            pub started_at: Timestamp,
            /// When another executor may take over from a caller, unless a step renews it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub expires_at: Option<Timestamp>,
            /// When the run ended.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub completed_at: Option<Timestamp>,
            /// When somebody asked to stop it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub stop_requested_at: Option<Timestamp>,
            /// The answers that it waits for.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub waits: Vec<Wait>,
            /// Tokens and cost of all its steps.
            pub usage: Usage,
            /// Whose turn it is, where the agent has two sides.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub sides: Option<Sides>,
            $($(#[$meta])* pub $field: $type,)*
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// The answer that shows `run`.
            pub fn of_run(run: Run, $($field: $type),*) -> Self {
                let Run {
                    id, thread_id, agent_id, executor, status, reason, by, attempt, step_count, started_at, expires_at,
                    completed_at, stop_requested_at, waits, usage, sides,
                } = run;
                Self {
                    id, thread_id, agent_id, executor, status, reason, by, attempt, step_count, started_at, expires_at,
                    completed_at, stop_requested_at, waits, usage, sides, $($field),*
                }
            }
        }
    )*};
}

shows_run! {
    /// A run.
    #[derive(PartialEq)]
    Run {}
    /// A run with its steps.
    RunTold {
        /// The steps, in order.
        steps: Vec<RunStep>,
    }
    /// A run after a start, a step or an end.
    Progressed<'a> {
        /// The version of the thread.
        version: Version,
        /// The messages that were appended to the conversation, in order.
        delivered: Vec<Message<'a>>,
        /// The injections that were delivered, immediate ones first. They are not part of the conversation.
        #[serde(default)]
        injections: Vec<Injection>,
        /// The conversation as a model is given it, for a caller that starts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        messages: Option<Vec<ModelMessage>>,
    }
}

impl Run {
    /// An open run.
    pub fn open(thread_id: ThreadId, run: &threadkeep_model::Run) -> Self {
        let status = run.status();
        let human = run.waits.contains(&Wait::Human).then(|| "awaiting_human".to_owned());
        Self {
            id: run.id,
            thread_id,
            agent_id: run.agent_id.clone(),
            executor: run.executor,
            status,
            reason: human,
            by: run.by.clone(),
            attempt: run.attempt,
            step_count: run.steps,
            started_at: run.began,
            expires_at: Some(run.until).filter(|_| run.executor == Executor::Caller && status == RunStatus::Running),
            completed_at: None,
            stop_requested_at: run.stop.map(|stop| stop.at),
            waits: run.waits.clone(),
            usage: run.usage,
            sides: run.sides,
        }
    }

    /// A run that ended at this time.
    pub fn ended(thread_id: ThreadId, ended: &RunEnded, at: Timestamp) -> Self {
        Self {
            status: ended.status.into(),
            reason: ended.reason.clone(),
            expires_at: None,
            completed_at: Some(at),
            waits: Vec::new(),
            ..Self::open(thread_id, &ended.run)
        }
    }
}

/// A step of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStep {
    /// The number of the step, counted from 1.
    pub number: u64,
    /// The attempt that made it.
    pub attempt: u64,
    /// The version of the thread after it began to be stored.
    pub version: Version,
    /// When it was stored.
    pub at: Timestamp,
    /// Whether it goes on with the step before, such as with the result of a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// The model that was asked, what it was given, and what that took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelCall>,
}

/// The attempt of a run that was never resumed.
fn first() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_first(attempt: &u64) -> bool {
    *attempt == first()
}
