//! Injections for the executor of a thread, and decisions: `inject`, `injections`, `ack`, `decide`, `decisions`.

use clap::Args;
use threadkeep::{InjectionType, Invalid, Json, Urgency, Uuid, Version};
use threadkeep_calls as calls;

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::input::or_stdin;
use crate::plain::{Line, plain, words};
use crate::text::{brief, moment, visible};

/// Characters of an injection, a question or an answer in a list.
const SHOWN_MAX: usize = 100;

/// Give the run data, a constraint, feedback or a priority; print the id of the injection
#[derive(Debug, Args)]
#[command(after_help = "\
The next start or step of a run gives it to the executor and acknowledges it, once. It never joins the conversation. \
Whoever follows the thread sees it at once. At most 1,000 wait.

Examples:
  threadkeep run inject 4e36 \"Only the standard library\" --type constraint
  threadkeep run inject 4e36 --type data --content '{\"budget\":100}' --urgency immediate
  threadkeep run injections 4e36                     what waits
  threadkeep run ack 4e36 5928a90d-…                 take it up by hand")]
pub(crate) struct Inject {
    /// The thread: its id, the beginning of it, its title, or @last
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
    #[command(flatten)]
    conditions: Conditions,
}

impl Inject {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let content = match (&self.content, &self.text) {
            (Some(json), _) => Json::parse("content", &or_stdin(json)?)?,
            (None, Some(text)) => Json::string(&or_stdin(text)?),
            (None, None) => return Err(Invalid::body("content", "is missing: give a TEXT, or --content").into()),
        };
        let inject = calls::Inject { kind: self.kind, content, urgency: self.urgency };
        let injected = context.client.call(self.conditions.at(thread), inject).await?;
        if context.json { context.out.json(&injected) } else { context.out.line(injected.injection_id.to_string()) }
    }
}

plain! {
    /// List injections; a run receives them at its next step
    Injections: ListInjections under Read {
        /// waiting, taken or all
        #[arg(long, default_value = "waiting", hide_possible_values = true, value_parser = words::<calls::InjectionState>(&[
            ("waiting", "What waits"),
            ("taken", "What was taken up"),
            ("all", "Both"),
        ]))]
        state: calls::InjectionState,
        /// Number of items in a page
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// The cursor of the page before (`nextCursor` with --json)
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    }

    /// Acknowledge an injection by hand; repeating it changes nothing
    Ack: Acknowledge under Change {
        /// The id of the injection
        injection: Uuid,
    }

    /// Record the answer to a question; the newest one counts
    #[command(after_help = "\
White space and case make no difference between two questions. Forks and spawned threads do not inherit decisions.

Examples:
  threadkeep thread decide 4e36 \"Which store?\" \"SQLite\" --reason \"one file\"
  threadkeep thread decisions 4e36")]
    Decide: Decide under Change {
        /// The question to be answered
        question: String,
        /// The answer that counts from now on
        answer: String,
        /// The reason, for the log
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    }

    /// Show the answers that count on a thread
    Decisions: ListDecisions under Read {
        /// As the thread was at this version
        #[arg(long = "at-version", alias = "as-of", value_name = "VERSION")]
        as_of: Option<Version>,
        /// Number of items in a page
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// The cursor of the page before (`nextCursor` with --json)
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    }
}

/// `5928a90d-…  2026-01-31 12:00:00Z  ann  constraint, immediate: "Only the standard library"  (taken by coder)`
impl Line for calls::Injection {
    const NONE: &'static str = "there are none";

    fn line(&self) -> String {
        let Self { id, kind, content, urgency, actor, created_at, taken_by, .. } = self;
        let taken = taken_by.as_ref().map(|by| format!("  (taken by {})", brief(&by.name, SHOWN_MAX)));
        let urgent = if *urgency == Urgency::Immediate { ", immediate" } else { "" };
        let (by, said) = (brief(&visible(&actor.name), SHOWN_MAX), brief(content.as_str(), SHOWN_MAX));
        let what = format!("{}{urgent}: {said}{}", kind.as_str(), taken.unwrap_or_default());
        format!("{id}  {}  {by}  {what}", moment(*created_at))
    }
}

impl Line for calls::Decision {
    const NONE: &'static str = "nothing was decided";

    fn line(&self) -> String {
        let Self { question, answer, reason, version, .. } = self;
        let reason = reason.as_ref().map(|reason| format!("  ({})", brief(reason, SHOWN_MAX))).unwrap_or_default();
        format!("version {version}  {}  {}{reason}", brief(question, SHOWN_MAX), brief(answer, SHOWN_MAX))
    }
}
