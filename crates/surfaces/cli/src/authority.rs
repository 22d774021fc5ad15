//! `approvals`: authority that agents ask for, and that people give, refuse or take back.

use std::time::Duration;

use clap::{ArgGroup, Args};
use threadkeep::{Capability, Fallback, Invalid, Uuid};
use threadkeep_calls as calls;
use threadkeep_calls::{At, ErrorCode, ListedState};

use crate::context::{Conditions, Context};
use crate::duration::duration;
use crate::exclusive::unless_interrupted;
use crate::failure::Failure;
use crate::naming;
use crate::plain::{Face, Line, plain, words};
use crate::text::{brief, moment, visible};

/// Characters of a reason.
const REASON_SHOWN_MAX: usize = 60;

/// Ask for authority on a thread; print the id of the approval
#[derive(Debug, Args)]
#[command(after_help = "\
An agent needs no authority to read, search, analyze and test_run. It needs authority for code_edit, delete_file, \
execute_command, approve_merge, deploy, delete_thread, publish (visibility and owner), set_env and tool:NAME, by whichever \
command it reaches the effect. Without it, the answer is approval_required until a human approves or delegates.

Examples:
  threadkeep approvals request 4e36 delete_file --reason \"it is old\" --timeout 10m --fallback skip --agent
  threadkeep approvals list
  threadkeep approvals approve ID")]
pub(crate) struct Request {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The authority, such as code_edit; several with commas
    #[arg(value_name = "CAPABILITY", value_delimiter = ',', required = true)]
    capabilities: Vec<Capability>,
    #[command(flatten)]
    terms: Terms,
    #[command(flatten)]
    waiting: Waiting,
}

/// Give agents authority on a thread, so that they need not ask; print the id of the delegation
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep approvals delegate 4e36 code_edit,test_run --to coder --timeout P1D
  threadkeep approvals delegations 4e36
  threadkeep approvals revoke ID")]
pub(crate) struct Delegate {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The authority, such as code_edit; several with commas
    #[arg(value_name = "CAPABILITY", value_delimiter = ',', required = true)]
    capabilities: Vec<Capability>,
    /// The agent, by its name [default: every agent]
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    #[command(flatten)]
    terms: Terms,
}

/// The older form of `request` and `delegate`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("direction").required(true).multiple(false))]
pub(crate) struct Transfer {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// Ask for this authority; several with commas
    #[arg(long, value_name = "CAPABILITY", value_delimiter = ',', group = "direction")]
    request_approval: Vec<Capability>,
    /// Give agents this authority; several with commas
    #[arg(long, value_name = "CAPABILITY", value_delimiter = ',', group = "direction")]
    delegate: Vec<Capability>,
    /// For a delegation, the agent, by its name [default: every agent]
    #[arg(long, value_name = "NAME", conflicts_with = "request_approval")]
    to: Option<String>,
    #[command(flatten)]
    terms: Terms,
    #[command(flatten)]
    waiting: Waiting,
}

#[derive(Debug, Args)]
struct Terms {
    /// The reason, for the log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// How long to wait for an answer, or how long a delegation holds: 30s, 10m, 2h, or ISO 8601 such as P1D
    /// [default: without end]
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    timeout: Option<Duration>,
    /// It cannot be revoked later
    #[arg(long)]
    for_good: bool,
    #[command(flatten)]
    conditions: Conditions,
}

#[derive(Debug, Args)]
struct Waiting {
    /// What happens without an answer in time [default: block]
    #[arg(long, value_parser = words::<Fallback>(&[
        ("skip", "It is denied, and work goes on without it"),
        ("block", "It stays pending"),
        ("auto_approve", "It is approved if a delegation covers it"),
    ]))]
    fallback: Option<Fallback>,
}

/// A length of time, as people or ISO 8601 write it.
fn timeout(text: &str) -> Result<Duration, Invalid> {
    if text.starts_with('P') { threadkeep::model::parse_duration("timeout", text) } else { duration(text) }
}

impl Request {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let transfer = calls::Transfer::request_approval(self.capabilities);
        self.terms
            .carry_out(context, &self.thread, calls::Transfer { fallback: self.waiting.fallback, ..transfer })
            .await
    }
}

impl Delegate {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let transfer = calls::Transfer { to: self.to, ..calls::Transfer::delegate(self.capabilities) };
        self.terms.carry_out(context, &self.thread, transfer).await
    }
}

impl Transfer {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { thread, request_approval, delegate, to, terms, waiting } = self;
        if delegate.is_empty() {
            return Request { thread, capabilities: request_approval, terms, waiting }.run(context).await;
        }
        if waiting.fallback.is_some() {
            return Err(Invalid::parameter("fallback", "a delegation waits for no answer").into());
        }
        Delegate { thread, capabilities: delegate, to, terms }.run(context).await
    }
}

impl Terms {
    async fn carry_out(self, context: &mut Context, thread: &str, transfer: calls::Transfer) -> Result<(), Failure> {
        let thread = context.thread(thread).await?.id;
        let Self { reason, timeout, for_good, conditions } = self;
        let transfer = calls::Transfer { reason, timeout, can_revoke: for_good.then_some(false), ..transfer };
        let made = context.client.call(conditions.at(thread), transfer).await?;
        if context.json {
            return context.out.json(&made);
        }
        for id in made.approval_id.iter().chain(&made.delegation_id) {
            context.out.line(id.to_string())?;
        }
        Ok(())
    }
}

/// List approvals of all threads: pending ones, or those that --state names
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep approvals list
  threadkeep approvals list --state all --thread 4e36")]
pub(crate) struct Approvals {
    /// Show this approval only
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Those that stand like this
    #[arg(long, default_value = "pending", conflicts_with = "id", value_parser = words::<ListedState>(&[
        ("pending", "Nobody answered yet"),
        ("approved", "Somebody said yes"),
        ("denied", "It was denied, or not answered in time"),
        ("revoked", "Withdrawn, or taken back"),
        ("all", "In any way"),
    ]))]
    state: ListedState,
    /// Those of this thread
    #[arg(long, value_name = "THREAD", conflicts_with = "id")]
    thread: Option<String>,
    /// Maximum number of approvals
    #[arg(long, value_name = "N", conflicts_with = "id")]
    limit: Option<usize>,
    /// Go on where an earlier page ended
    #[arg(long, conflicts_with = "id")]
    cursor: Option<String>,
}

impl Approvals {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        if let Some(id) = &self.id {
            let approval = naming::approval(&context.client, id).await?;
            return context.client.call(At::none(), calls::GetApproval { approval }).await?.print(context);
        }
        let thread_id = match &self.thread {
            Some(thread) => Some(context.thread(thread).await?.id.into()),
            None => None,
        };
        let Self { limit, cursor, .. } = self;
        let which = calls::ListApprovals { state: Some(self.state), thread_id, limit, cursor };
        let page = context.client.call(At::none(), which).await?;
        page.print(context)?;
        if let Some(cursor) = page.next_cursor.filter(|_| !context.json) {
            context.out.flush()?;
            context.note(format!("\ngo on with: --cursor {cursor}"));
        }
        Ok(())
    }
}

/// Approve a request of an agent
#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    answer: Answer,
}

/// Deny a request of an agent
#[derive(Debug, Args)]
pub(crate) struct Deny {
    #[command(flatten)]
    answer: Answer,
}

/// Withdraw a pending approval, or revoke an approval or a delegation
#[derive(Debug, Args)]
pub(crate) struct Revoke {
    #[command(flatten)]
    answer: Answer,
}

#[derive(Debug, Args)]
struct Answer {
    /// The approval: its id, the beginning of it, or @last
    id: String,
    /// The reason, for the log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Approve {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Answer { id, reason, conditions } = self.answer;
        let approval = naming::approval(&context.client, &id).await?;
        let approve = context.client.call(conditions.at(At::none()), calls::Approve { approval, reason });
        // A merge that waits for it may be checked first.
        unless_interrupted(approve).await?.print(context)
    }
}

impl Deny {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Answer { id, reason, conditions } = self.answer;
        let approval = naming::approval(&context.client, &id).await?;
        context.client.call(conditions.at(At::none()), calls::Deny { approval, reason }).await?.print(context)
    }
}

impl Revoke {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Answer { id, reason, conditions } = self.answer;
        let id: Uuid = naming::approval(&context.client, &id).await?;
        let at = conditions.at(At::none());
        let delegation = calls::RevokeDelegation { delegation: id, reason: reason.clone() };
        match context.client.call(at.clone(), delegation).await {
            Ok(delegation) => delegation.print(context),
            // Then it is an approval, or nothing.
            Err(error) if error.code() == ErrorCode::DelegationNotFound.as_str() => {
                context.client.call(at, calls::RevokeApproval { approval: id, reason }).await?.print(context)
            }
            Err(error) => Err(error.into()),
        }
    }
}

plain! {
    /// List what agents may do on a thread without asking
    Delegations: ListDelegations under Read {
        /// Number of items in a page
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// The cursor of the page before (`nextCursor` with --json)
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    }
}

fn scope(scope: &[Capability]) -> String {
    visible(&scope.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")).into_owned()
}

/// `ID  pending  delete_file  4e36442142ee  by coder 2026-01-31 12:00:00Z  it is old`
impl Line for calls::Approval {
    const NONE: &'static str = "there are none";

    fn line(&self) -> String {
        let state = match (self.state.as_str(), self.timed_out, self.overdue) {
            (state, true, _) => format!("{state} (timed out)"),
            (state, false, true) => format!("{state} (overdue)"),
            (state, false, false) => state.to_owned(),
        };
        let undone = if self.holds { "" } else { "  (rolled back)" };
        let (id, what, thread) = (self.id, scope(&self.scope), self.thread_id.short());
        let asked = format!("by {} {}", visible(&self.asked_by.name), moment(self.asked_at));
        format!("{id}  {state}  {what}  {thread}  {asked}{undone}{}", why(self.reason.as_deref()))
    }
}

/// `ID  code_edit  4e36442142ee  to coder  until 2026-01-31 12:00:00Z  over the weekend`
impl Line for calls::Delegation {
    const NONE: &'static str = "nothing is delegated there";

    fn line(&self) -> String {
        let to = self.to.as_deref().map_or("every agent".into(), visible);
        let until = self.until.map_or("until it is revoked".to_owned(), |until| format!("until {}", moment(until)));
        let until = if self.holds { until } else { "no more".to_owned() };
        let (id, what, thread) = (self.id, scope(&self.scope), self.thread_id.short());
        format!("{id}  {what}  {thread}  to {to}  {until}{}", why(self.reason.as_deref()))
    }
}

fn why(reason: Option<&str>) -> String {
    reason.map(|reason| format!("  {}", brief(reason, REASON_SHOWN_MAX))).unwrap_or_default()
}
