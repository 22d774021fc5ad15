//! What is put before whoever works on a thread, and what was decided on it: `inject`, `injections`, `ack`, `decide`,
//! `decisions`.

use clap::Args;
use threadkeep::{InjectionType, Invalid, Json, Urgency, Uuid, Version};
use threadkeep_calls as api;

use crate::context::Context;
use crate::failure::Failure;
use crate::say::or_stdin;
use crate::text::{brief, moment, visible};

/// Characters of an injection, a question or an answer in a list.
const SHOWN_MAX: usize = 100;

/// Put something before whoever works on a thread; print its id
#[derive(Debug, Args)]
#[command(after_help = "\
The next begin or step of an execution gives it to the executor and acknowledges it, once. It never joins the conversation. \
Whoever follows the thread sees it at once. At most 1,000 wait.

Examples:
  threadkeep inject 4e36 \"Only the standard library\" --type constraint
  threadkeep inject 4e36 --type data --content '{\"budget\":100}' --urgency immediate
  threadkeep injections 4e36                     what waits
  threadkeep ack 4e36 5928a90d-…                 take it up by hand")]
pub(crate) struct Inject {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// What it says; - reads stdin
    #[arg(required_unless_present = "content", conflicts_with = "content")]
    text: Option<String>,
    /// Any JSON instead of text; - reads stdin
    #[arg(long, value_name = "JSON")]
    content: Option<String>,
    /// data, constraint, feedback or priority
    #[arg(long = "type", value_name = "TYPE", default_value = "data")]
    kind: InjectionType,
    /// immediate or next_step: what is immediate is given before the rest
    #[arg(long, default_value = "next_step")]
    urgency: Urgency,
    /// Only if the thread is at this version
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<Version>,
}

impl Inject {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let content = match (&self.content, &self.text) {
            (Some(json), _) => Json::parse("content", &or_stdin(json)?)?,
            (None, Some(text)) => Json::string(&or_stdin(text)?),
            (None, None) => return Err(Invalid::body("content", "is missing: give a TEXT, or --content").into()),
        };
        let inject = api::Inject { kind: self.kind, content, urgency: self.urgency };
        let injected = context.client.expecting(self.expected_version).inject(thread, &inject).await?;
        if context.json { context.out.json(&injected) } else { context.out.line(injected.injection_id.to_string()) }
    }
}

/// Show what was injected and waits until an execution takes it up
#[derive(Debug, Args)]
pub(crate) struct Injections {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// waiting, taken or all
    #[arg(long, default_value = "waiting", value_parser = state)]
    state: api::InjectionState,
}

fn state(text: &str) -> Result<api::InjectionState, Invalid> {
    match text {
        "waiting" => Ok(api::InjectionState::Waiting),
        "taken" => Ok(api::InjectionState::Taken),
        "all" => Ok(api::InjectionState::All),
        _ => Err(Invalid::parameter("state", format!("'{text}' is not one of waiting, taken, all"))),
    }
}

impl Injections {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let found = context.client.injections(thread, self.state).await?;
        if context.json {
            return context.out.json(&found);
        }
        if found.is_empty() {
            context.note("there are none");
        }
        found.iter().try_for_each(|injection| context.out.line(in_a_line(injection)))
    }
}

/// Take up an injection by hand; once more changes nothing
#[derive(Debug, Args)]
pub(crate) struct Ack {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// The injection
    injection: Uuid,
}

impl Ack {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let taken = context.client.acknowledge(thread, self.injection).await?;
        if context.json { context.out.json(&taken) } else { context.out.line(in_a_line(&taken)) }
    }
}

/// `5928a90d-…  2026-01-31 12:00:00Z  ann  constraint, immediate: "Only the standard library"  (taken by coder)`
pub(crate) fn in_a_line(injection: &api::Injection) -> String {
    let api::Injection { id, kind, content, urgency, actor, created_at, taken_by, .. } = injection;
    let taken = taken_by.as_ref().map(|by| format!("  (taken by {})", brief(&by.name, SHOWN_MAX))).unwrap_or_default();
    let urgent = if *urgency == Urgency::Immediate { ", immediate" } else { "" };
    let (by, said) = (brief(&visible(&actor.name), SHOWN_MAX), brief(content.as_str(), SHOWN_MAX));
    format!("{id}  {}  {by}  {}{urgent}: {said}{taken}", moment(*created_at), kind.as_str())
}

/// Record the answer to a question; the newest one counts
#[derive(Debug, Args)]
#[command(after_help = "\
White space and case make no difference between two questions. Forks and spawned threads do not inherit decisions.

Examples:
  threadkeep decide 4e36 \"Which store?\" \"SQLite\" --reason \"one file\"
  threadkeep decisions 4e36")]
pub(crate) struct Decide {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// The question
    question: String,
    /// The answer
    answer: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Only if the thread is at this version
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<Version>,
}

impl Decide {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let Self { question, answer, reason, expected_version: expected, .. } = self;
        let decided =
            context.client.expecting(expected).decide(thread, &api::Decide { question, answer, reason }).await?;
        if context.json { context.out.json(&decided) } else { context.out.line(decision_line(&decided)) }
    }
}

/// Show the answers that count on a thread
#[derive(Debug, Args)]
pub(crate) struct Decisions {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// As the thread was at this version
    #[arg(long, value_name = "VERSION")]
    as_of: Option<Version>,
}

impl Decisions {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let found = context.client.decisions(thread, self.as_of).await?;
        if context.json {
            return context.out.json(&found);
        }
        if found.is_empty() {
            context.note("nothing was decided");
        }
        found.iter().try_for_each(|decision| context.out.line(decision_line(decision)))
    }
}

fn decision_line(decision: &api::Decision) -> String {
    let api::Decision { question, answer, reason, version, .. } = decision;
    let reason = reason.as_ref().map(|reason| format!("  ({})", brief(reason, SHOWN_MAX))).unwrap_or_default();
    format!("version {version}  {}  {}{reason}", brief(question, SHOWN_MAX), brief(answer, SHOWN_MAX))
}
