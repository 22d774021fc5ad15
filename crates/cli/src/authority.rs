//! Who may do what: `transfer`, `approvals`, `approve`, `deny`, `revoke`, `delegations`.

use clap::{ArgGroup, Args, ValueEnum};
use threadkeep::{Capability, Fallback, Uuid};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;
use threadkeep_client::ListApprovals;

use crate::context::Context;
use crate::duration::duration;
use crate::exclusive::unless_interrupted;
use crate::failure::Failure;
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
    timeout: Option<String>,
    /// What happens when nobody answers in time [default: block]
    #[arg(long, conflicts_with = "delegate")]
    fallback: Option<Then>,
    /// It cannot be revoked later
    #[arg(long)]
    for_good: bool,
}

/// What happens when nobody answers in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Then {
    /// It is denied, and work goes on without it
    Skip,
    /// It stays pending
    Block,
    /// It is approved if a delegation covers it
    AutoApprove,
}

/// A length of time, as the wire writes it.
fn timeout(text: &str) -> Result<String, threadkeep::Invalid> {
    if text.starts_with('P') {
        threadkeep::model::parse_duration("timeout", text)?;
        return Ok(text.to_owned());
    }
    Ok(format!("PT{}S", duration(text)?.as_secs_f64()))
}

impl Transfer {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let (direction, scope) = if self.delegate.is_empty() {
            (api::Direction::RequestApproval, self.request_approval)
        } else {
            (api::Direction::Delegate, self.delegate)
        };
        let fallback = self.fallback.map(|then| match then {
            Then::Skip => Fallback::Skip,
            Then::Block => Fallback::Block,
            Then::AutoApprove => Fallback::AutoApprove,
        });
        let can_revoke = self.for_good.then_some(false);
        let Self { to, reason, timeout, .. } = self;
        let transfer = api::Transfer { direction, scope, to, reason, timeout, fallback, can_revoke };
        let made = context.client.transfer(thread, &transfer).await?;
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
    #[arg(long, default_value = "pending", conflicts_with = "id")]
    state: State,
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

/// How approvals stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// Nobody answered yet
    Pending,
    /// Somebody said yes
    Approved,
    /// Somebody said no, or nobody said anything in time
    Denied,
    /// Withdrawn, or taken back
    Revoked,
    /// In any way
    All,
}

impl Approvals {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        if let Some(id) = self.id {
            let approval = context.client.approval(id).await?;
            return print(context, &approval);
        }
        let thread = match &self.thread {
            Some(thread) => Some(context.thread(thread).await?.id.into()),
            None => None,
        };
        let state = self.state.to_possible_value().map(|state| state.get_name().to_owned());
        let which = ListApprovals { state, thread, limit: self.limit, cursor: self.cursor };
        let page = context.client.approvals(&which).await?;
        if context.json {
            return context.out.json(&page.items);
        }
        if page.items.is_empty() {
            context.note("there are none");
        }
        for approval in &page.items {
            print(context, approval)?;
        }
        if let Some(cursor) = page.next_cursor {
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
}

impl Answer {
    fn body(&self) -> api::Answer {
        api::Answer { reason: self.reason.clone() }
    }
}

impl Approve {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let body = self.answer.body();
        // A merge that waits for it may be checked first.
        let approval = unless_interrupted(context.client.approve(self.answer.id, &body)).await?;
        print(context, &approval)
    }
}

impl Deny {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let approval = context.client.deny(self.answer.id, &self.answer.body()).await?;
        print(context, &approval)
    }
}

impl Revoke {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        match context.client.revoke_delegation(self.answer.id, &self.answer.body()).await {
            Ok(delegation) => print_delegation(context, &delegation),
            // Then it is an approval, or nothing.
            Err(error) if error.code() == ErrorCode::DelegationNotFound.as_str() => {
                let approval = context.client.revoke_approval(self.answer.id, &self.answer.body()).await?;
                print(context, &approval)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// List what agents may do on a thread without asking
#[derive(Debug, Args)]
pub(crate) struct Delegations {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
}

impl Delegations {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let all = context.client.delegations(thread).await?;
        if context.json {
            return context.out.json(&all);
        }
        if all.is_empty() {
            context.note("nothing is delegated there");
        }
        all.iter().try_for_each(|delegation| print_delegation(context, delegation))
    }
}

fn scope(scope: &[Capability]) -> String {
    visible(&scope.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")).into_owned()
}

/// `ID  pending  delete_file  4e36442142ee  by coder 2026-01-31 12:00:00Z  it is old`
fn print(context: &mut Context, approval: &api::Approval) -> Result<(), Failure> {
    if context.json {
        return context.out.json(approval);
    }
    let state = match (approval.state.as_str(), approval.timed_out, approval.overdue) {
        (state, true, _) => format!("{state} (timed out)"),
        (state, false, true) => format!("{state} (overdue)"),
        (state, false, false) => state.to_owned(),
    };
    let undone = if approval.holds { "" } else { "  (rolled back)" };
    let reason = approval.reason.as_deref().map(|reason| format!("  {}", brief(reason, REASON_SHOWN_MAX)));
    context.out.line(format!(
        "{}  {state}  {}  {}  by {} {}{undone}{}",
        approval.id,
        scope(&approval.scope),
        approval.thread_id.short(),
        visible(&approval.asked_by.name),
        moment(approval.asked_at),
        reason.unwrap_or_default()
    ))
}

/// `ID  code_edit  4e36442142ee  to coder  until 2026-01-31 12:00:00Z  over the weekend`
fn print_delegation(context: &mut Context, delegation: &api::Delegation) -> Result<(), Failure> {
    if context.json {
        return context.out.json(delegation);
    }
    let to = delegation.to.as_deref().map_or("every agent".into(), visible);
    let until = delegation.until.map_or("until it is revoked".to_owned(), |until| format!("until {}", moment(until)));
    let until = if delegation.holds { until } else { "no more".to_owned() };
    let reason = delegation.reason.as_deref().map(|reason| format!("  {}", brief(reason, REASON_SHOWN_MAX)));
    let (id, thread) = (delegation.id, delegation.thread_id.short());
    let what = scope(&delegation.scope);
    context.out.line(format!("{id}  {what}  {thread}  to {to}  {until}{}", reason.unwrap_or_default()))
}
