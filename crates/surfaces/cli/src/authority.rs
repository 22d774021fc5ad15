//! Authority: `transfer`, `approvals`, `approve`, `deny`, `revoke`, `delegations`.

use std::time::Duration;

use clap::{ArgGroup, Args};
use threadkeep::{Capability, Fallback, Uuid};
use threadkeep_calls as calls;
use threadkeep_calls::{At, ErrorCode, ListedState};

use crate::context::{Conditions, Context};
use crate::duration::duration;
use crate::exclusive::unless_interrupted;
use crate::failure::Failure;
use crate::plain::{Face, Line, plain, words};
use crate::text::{brief, moment, visible};

/// Characters of a reason.
const REASON_SHOWN_MAX: usize = 60;

/// Ask to be allowed something, or let agents do something without asking; print the id of the approval or the delegation
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("direction").required(true).multiple(false), after_help = "\
What agents may do: read, search, analyze and test_run need no authority; code_edit, delete_file, execute_command, \
approve_merge, deploy and tool:NAME do. An agent that needs authority is refused with approval_required until a human \
approves, or unless a human delegated it.

Examples:
  threadkeep transfer 4e36 --request-approval delete_file --reason \"it is old\" --timeout 10m --fallback skip --agent
  threadkeep transfer 4e36 --delegate code_edit,test_run --to coder --timeout P1D
  threadkeep approvals && threadkeep approve ID")]
pub(crate) struct Transfer {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// Ask for this; several with commas
    #[arg(long, value_name = "CAPABILITY", value_delimiter = ',', group = "direction")]
    request_approval: Vec<Capability>,
    /// Let agents do this; several with commas
    #[arg(long, value_name = "CAPABILITY", value_delimiter = ',', group = "direction")]
    delegate: Vec<Capability>,
    /// For a delegation, the agent, by its name [default: every agent]
    #[arg(long, value_name = "NAME", conflicts_with = "request_approval")]
    to: Option<String>,
    /// What for
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// How long to wait for an answer, or how long a delegation holds: 30s, 10m, 2h, or ISO 8601 such as P1D
    /// [default: without end]
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    timeout: Option<Duration>,
    /// What happens when nobody answers in time [default: block]
    #[arg(long, conflicts_with = "delegate", value_parser = words::<Fallback>(&[
        ("skip", "It is denied, and work goes on without it"),
        ("block", "It stays pending"),
        ("auto_approve", "It is approved if a delegation covers it"),
    ]))]
    fallback: Option<Fallback>,
    /// It cannot be revoked later
    #[arg(long)]
    for_good: bool,
    #[command(flatten)]
    conditions: Conditions,
}

/// A length of time, as people or ISO 8601 write it.
fn timeout(text: &str) -> Result<Duration, threadkeep::Invalid> {
    if text.starts_with('P') { threadkeep::model::parse_duration("timeout", text) } else { duration(text) }
}

impl Transfer {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let transfer = if self.delegate.is_empty() {
            calls::Transfer::request_approval(self.request_approval)
        } else {
            calls::Transfer::delegate(self.delegate)
        };
        let can_revoke = self.for_good.then_some(false);
        let Self { to, reason, timeout, fallback, .. } = self;
        let transfer = calls::Transfer { to, reason, timeout, fallback, can_revoke, ..transfer };
        let made = context.client.call(self.conditions.at(thread), transfer).await?;
        if context.json {
            return context.out.json(&made);
        }
        for id in made.approval_id.iter().chain(&made.delegation_id) {
            context.out.line(id.to_string())?;
        }
        Ok(())
    }
}

/// List approvals of all threads: those that wait, unless --state says otherwise
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep approvals
  threadkeep approvals --state all --thread 4e36")]
pub(crate) struct Approvals {
    /// This one alone
    #[arg(value_name = "ID")]
    id: Option<Uuid>,
    /// Those that stand like this
    #[arg(long, default_value = "pending", conflicts_with = "id", value_parser = words::<ListedState>(&[
        ("pending", "Nobody answered yet"),
        ("approved", "Somebody said yes"),
        ("denied", "Somebody said no, or nobody said anything in time"),
        ("revoked", "Withdrawn, or taken back"),
        ("all", "In any way"),
    ]))]
    state: ListedState,
    /// Those of this thread
    #[arg(long, value_name = "THREAD", conflicts_with = "id")]
    thread: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", conflicts_with = "id")]
    limit: Option<usize>,
    /// Go on where an earlier page ended
    #[arg(long, conflicts_with = "id")]
    cursor: Option<String>,
}

impl Approvals {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        if let Some(id) = self.id {
            return context.client.call(At::none(), calls::GetApproval { approval: id }).await?.print(context);
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

/// Say yes to an approval
#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    answer: Answer,
}

/// Say no to an approval
#[derive(Debug, Args)]
pub(crate) struct Deny {
    #[command(flatten)]
    answer: Answer,
}

/// Withdraw an approval that waits, or take back what was approved or delegated
#[derive(Debug, Args)]
pub(crate) struct Revoke {
    #[command(flatten)]
    answer: Answer,
}

#[derive(Debug, Args)]
struct Answer {
    /// The approval, by its id
    id: Uuid,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Approve {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Answer { id: approval, reason, conditions } = self.answer;
        let approve = context.client.call(conditions.at(At::none()), calls::Approve { approval, reason });
        // A merge that waits for it may be checked first.
        unless_interrupted(approve).await?.print(context)
    }
}

impl Deny {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Answer { id: approval, reason, conditions } = self.answer;
        context.client.call(conditions.at(At::none()), calls::Deny { approval, reason }).await?.print(context)
    }
}

impl Revoke {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Answer { id, reason, conditions } = self.answer;
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
