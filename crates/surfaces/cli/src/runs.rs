//! Runs: `run start`, `step` and `end` for executors, `list`, `show` and `stop` for everyone.

use std::time::Duration;

use clap::Args;
use threadkeep::model::Code;
use threadkeep::{At, Executor, Invalid, NewMessage, RunOutcome, RunSide, Uuid};
use threadkeep_calls as calls;
use threadkeep_calls::{ErrorCode, ListedRuns, Problem, Progressed};

use crate::attached;
use crate::context::{Conditions, Context};
use crate::duration::{duration, milliseconds};
use crate::failure::Failure;
use crate::naming;
use crate::plain::{Face, Line, words};
use crate::say::MessageArgs;
use crate::show::{body, in_brief};
use crate::text::{counted, moment, visible};

/// Characters of a message in a list.
const MESSAGE_SHOWN_MAX: usize = 100;

/// Start a run: print its id, and take what is queued
#[derive(Debug, Args)]
#[command(after_help = "\
While a run is open, others queue their messages (threadkeep queue add), and each step takes them. Tool calls that were \
left without a result are closed. With --json it prints the run, with what was delivered; messages is the conversation as \
a model gets it, and injections is what others told the run.

With --executor runtime, a server on which the agent is defined does the work.

Examples:
  RUN=$(threadkeep run start 4e36)
  threadkeep run step 4e36 $RUN \"I am looking into it.\" --role assistant
  threadkeep run end 4e36 $RUN
  threadkeep run start 4e36 --executor runtime --message \"Is it sunny?\"")]
pub(crate) struct Start {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The program that works on the run
    #[arg(long, default_value = "caller", value_parser = words::<Executor>(&[
        ("caller", "This program: it takes the steps"),
        ("runtime", "A server on which the agent is defined"),
    ]))]
    executor: Executor,
    /// Assign the thread to this agent
    #[arg(long, value_name = "AGENT")]
    assign: Option<String>,
    /// A message of the user to add
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Longest pause between two steps before others may take over, such as 30s, 5m or 1h [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    ttl: Option<Duration>,
    /// Take over from a run that is still open
    #[arg(long)]
    take_over: bool,
    /// Go on with the open run as its next attempt
    #[arg(long)]
    resume: bool,
    /// Tokens of the conversation that a caller is given, at most
    #[arg(long, value_name = "TOKENS")]
    context_tokens: Option<u64>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Start {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let start = calls::StartRun {
            message: self.message.map(|text| threadkeep::MessageBody::user(&text).into()),
            agent_id: self.assign,
            executor: self.executor,
            ttl: self.ttl.map(milliseconds),
            take_over: self.take_over,
            resume: self.resume,
            context_tokens: self.context_tokens,
        };
        let started = context.client.call(self.conditions.at(thread), start).await?;
        if context.json {
            return context.out.json(&started);
        }
        context.out.line(started.id.to_string())?;
        context.out.flush()?;
        tell(context, &started)
    }
}

/// Take a step in a run: add a message, then take what is queued
#[derive(Debug, Args)]
pub(crate) struct Step {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The run: its id as start printed it, the beginning of it, or @last
    run: String,
    #[command(flatten)]
    message: MessageArgs,
    /// The attempt that steps, as start told it
    #[arg(long, value_name = "N", default_value_t = 1)]
    attempt: u64,
    /// Longest pause until the next step, such as 30s, 5m or 1h [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    ttl: Option<Duration>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Step {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        refuse_expected(&self.conditions)?;
        let thread = context.thread(&self.thread).await?;
        let (run, messages) = (naming::run(&thread, &self.run)?, read_some(context, self.message)?);
        let (has_files, at) = (has_files(&messages), self.conditions.at(thread.id));
        let (attempt, ttl) = (self.attempt, self.ttl.map(milliseconds));
        let step = calls::StepRun { ttl, messages, ..calls::StepRun::of(run).attempt(attempt) };
        let stepped =
            if has_files { attached::call(context, at, step).await? } else { context.client.call(at, step).await? };
        print(context, &stepped)
    }
}

/// End a run, or cancel the open one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep run end 4e36 $RUN \"Done: the tests pass.\" --role assistant
  threadkeep run end 4e36 $RUN --status failed --reason step_error
  threadkeep run end 4e36 --cancel                 end the open run at once")]
pub(crate) struct End {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The run: its id as start printed it, the beginning of it, or @last
    #[arg(required_unless_present = "cancel")]
    run: Option<String>,
    #[command(flatten)]
    message: MessageArgs,
    /// completed, failed or stopped
    #[arg(long, default_value = "completed", conflicts_with = "cancel", value_parser = outcome)]
    status: RunOutcome,
    /// The code of the reason, such as stop_tool
    #[arg(long, value_name = "CODE")]
    reason: Option<String>,
    /// The attempt that ends it, as start told it
    #[arg(long, value_name = "N", default_value_t = 1)]
    attempt: u64,
    /// Cancel; without a run, the open one
    #[arg(long)]
    cancel: bool,
    #[command(flatten)]
    conditions: Conditions,
}

impl End {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        refuse_expected(&self.conditions)?;
        let thread = context.thread(&self.thread).await?;
        let messages = read_some(context, self.message)?;
        let at = self.conditions.at(thread.id);
        let (run, attempt) = match (&self.run, &thread.run) {
            (Some(run), _) => (naming::run(&thread, run)?, self.attempt),
            (None, Some(open)) => (open.id, open.attempt),
            (None, None) => return Err(none_open("there is nothing to cancel: no run is open on the thread")),
        };
        if self.cancel && messages.is_empty() {
            context.client.call(at, calls::StopRun::now(run)).await?;
            return context.note_or_show(&context.client.call(At::none(), calls::GetRun { run }).await?, "cancelled");
        }
        let status = if self.cancel { RunOutcome::Stopped } else { self.status };
        let (has_files, reason) = (has_files(&messages), self.reason);
        let end = calls::EndRun { run, attempt, status, reason, messages };
        let ended =
            if has_files { attached::call(context, at, end).await? } else { context.client.call(at, end).await? };
        print(context, &ended)
    }
}

/// List the runs of a thread, or of all threads
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep run list 4e36
  threadkeep run list --status running")]
pub(crate) struct List {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: Option<String>,
    /// Runs with this status, of all threads
    #[arg(long, conflicts_with = "thread", value_parser = words::<ListedRuns>(&[
        ("queued", "No process works on it yet"),
        ("running", "An executor works on it"),
        ("waiting", "It waits for an answer"),
        ("completed", "The work is done"),
        ("failed", "The work ended with an error"),
        ("stopped", "It was stopped"),
        ("open", "Queued, running or waiting"),
        ("ended", "Completed, failed or stopped"),
        ("all", "In any way"),
    ]))]
    status: Option<ListedRuns>,
    /// Maximum number of runs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Go on where an earlier page ended
    #[arg(long)]
    cursor: Option<String>,
}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { limit, cursor, status, .. } = self;
        let page = match &self.thread {
            Some(thread) => {
                let thread = context.thread(thread).await?.id;
                context.client.call(thread, calls::ListThreadRuns { limit, cursor }).await?
            }
            None => context.client.call(At::none(), calls::ListRuns { status, limit, cursor }).await?,
        };
        page.print(context)?;
        if let Some(cursor) = page.next_cursor.filter(|_| !context.json) {
            context.out.flush()?;
            context.note(format!("\ngo on with: --cursor {cursor}"));
        }
        Ok(())
    }
}

/// Show a run with its steps: models, tokens, cost and times
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The run: its id, or the beginning of it [default: the newest]
    run: Option<String>,
}

impl Show {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let run = some_run(context, &self.thread, self.run.as_deref()).await?;
        let told = context.client.call(At::none(), calls::GetRun { run }).await?;
        told.print(context)
    }
}

/// Ask the executor of a run to stop; after 5 seconds the run ends in any case
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep run stop 4e36                         stop the open run
  threadkeep run stop 4e36 --now                   end it at once, without time for its executor")]
pub(crate) struct Stop {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The run: its id, or the beginning of it [default: the open one]
    run: Option<String>,
    /// End it at once
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    conditions: Conditions,
}

impl Stop {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let run = match (&self.run, &thread.run) {
            (Some(run), _) => naming::run(&thread, run)?,
            (None, Some(open)) => open.id,
            (None, None) => return Err(none_open("there is nothing to stop: no run is open on the thread")),
        };
        let stop = calls::StopRun { run, now: self.now };
        context.client.call(self.conditions.at(thread.id), stop).await?.print(context)
    }
}

/// Show the open run of a thread: its side, the steps of each side, and its prompt
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  threadkeep run state 4e36")]
pub(crate) struct State {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
}

impl State {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let told = context.client.call(thread.id, calls::GetExecution {}).await?;
        if context.json {
            return context.out.json(&told);
        }
        let Some(state) = told else {
            context.note("no run is open");
            return Ok(());
        };
        let calls::ExecutionState { flow_id, current_side, step_count, side_a_step_count, side_b_step_count, .. } =
            &state;
        let steps = counted(*step_count, "step", "steps");
        let side = current_side.as_str();
        let sides = format!("side {side}, {steps} ({side_a_step_count} of a, {side_b_step_count} of b)");
        let prompts = state.prompt_path.iter().map(|prompt| visible(prompt)).collect::<Vec<_>>().join(" > ");
        context.out.line(format!("{flow_id}  {sides}  {prompts}").trim_end())
    }
}

/// Give the next turn of a run of two models to one of them
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  threadkeep run turn 4e36 b                       side b speaks next")]
pub(crate) struct Turn {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The side that speaks next
    #[arg(value_parser = words::<RunSide>(&[("a", "The first model"), ("b", "The second model")]))]
    side: RunSide,
    #[command(flatten)]
    conditions: Conditions,
}

impl Turn {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let Some(open) = &thread.run else { return Err(none_open("no run is open on the thread")) };
        let turn = calls::ForceTurn::to(open.id, self.side);
        let run = context.client.call(self.conditions.at(thread.id), turn).await?;
        context.note_or_show(&run, format!("side {} speaks next", self.side.as_str()))
    }
}

/// The run of a thread that `text` names; the newest without one.
async fn some_run(context: &mut Context, thread: &str, text: Option<&str>) -> Result<Uuid, Failure> {
    let thread = context.thread(thread).await?;
    if let Some(id) = text.and_then(|text| text.parse().ok()) {
        return Ok(id);
    }
    let runs = context.client.call(thread.id, calls::ListThreadRuns::default()).await?.items;
    naming::among_runs(&runs, text)
}

impl Line for calls::Run {
    const NONE: &'static str = "no runs";

    fn line(&self) -> String {
        let (agent, why) = (self.agent_id.as_deref().unwrap_or("-"), self.reason.as_deref().unwrap_or(""));
        let steps = counted(self.step_count, "step", "steps");
        let (id, status, started) = (self.id, self.status.as_str(), moment(self.started_at));
        format!("{id}  {started}  {status:9} {}  {steps}  {why}", visible(agent)).trim_end().to_owned()
    }
}

impl Face for calls::RunTold {
    fn print(&self, context: &mut Context) -> Result<(), Failure> {
        if context.json {
            return context.out.json(self);
        }
        let why = self.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        context.out.line(format!("{}  {}{why}", self.id, self.status.as_str()))?;
        let usage = self.usage;
        context.out.line(format!(
            "started {}, {}, {} tokens in, {} out, cost {}",
            moment(self.started_at),
            counted(self.step_count, "step", "steps"),
            usage.input_tokens,
            usage.output_tokens,
            usage.cost_micros as f64 / 1e6,
        ))?;
        for step in self.steps.iter().filter(|step| !step.continues) {
            let model = match &step.model {
                Some(model) => format!(
                    "{}  {} messages  {} in  {} out  {} ms",
                    visible(&model.model),
                    model.messages,
                    model.usage.input_tokens,
                    model.usage.output_tokens,
                    model.duration_ms.unwrap_or(0),
                ),
                None => String::new(),
            };
            context.out.line(format!("  {}  v{}  {}  {model}", step.number, step.version, moment(step.at)))?;
        }
        Ok(())
    }
}

/// Prints the appended messages: each message's id alone for people and scripts, everything for programs.
fn print(context: &mut Context, progressed: &Progressed<'_>) -> Result<(), Failure> {
    if context.json {
        return context.out.json(progressed);
    }
    for message in &progressed.delivered {
        context.out.line(message.id.to_string())?;
    }
    context.out.flush()?;
    tell(context, progressed)
}

fn tell(context: &Context, progressed: &Progressed<'_>) -> Result<(), Failure> {
    for message in &progressed.delivered {
        context.note(in_brief(&body(message)?, MESSAGE_SHOWN_MAX));
    }
    for injection in &progressed.injections {
        context.note(injection.line());
    }
    Ok(())
}

/// The outcome that a word means; `cancelled` is the older word for `stopped`.
fn outcome(text: &str) -> Result<RunOutcome, Invalid> {
    if text == "cancelled" { Ok(RunOutcome::Stopped) } else { text.parse() }
}

fn none_open(detail: &str) -> Failure {
    Problem::new(ErrorCode::RunOver.status(), ErrorCode::RunOver, detail).into()
}

/// The message, if one was given.
fn read_some(context: &mut Context, message: MessageArgs) -> Result<Vec<NewMessage>, Failure> {
    if message.is_empty() { Ok(Vec::new()) } else { Ok(vec![message.read(context)?]) }
}

fn has_files(messages: &[NewMessage]) -> bool {
    messages.iter().any(|message| !message.files.is_empty())
}

/// A step belongs to its run, which keeps others out; it needs no expected version.
fn refuse_expected(conditions: &Conditions) -> Result<(), Failure> {
    if conditions.expected_version.is_none() {
        return Ok(());
    }
    let rule = "a run needs none: its steps are refused once it is over";
    Err(Invalid::new(Code::InvalidParameter, "expectedVersion", rule).into())
}
