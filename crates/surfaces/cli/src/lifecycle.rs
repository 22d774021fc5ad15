//! The life of a thread: `lifecycle`, and `done`, `suspend` and `resume` for short.

use clap::Args;
use threadkeep::LifecycleAction;
use threadkeep_calls as calls;
use threadkeep_calls::Problem;

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::plain::Face;

/// The code of a move that the state of a thread does not allow.
const INVALID_TRANSITION: &str = "invalid_transition";

/// Change the lifecycle of a thread: done, cancel, suspend, resume, or archive for good
#[derive(Debug, Args)]
#[command(after_help = "\
  active ── suspend ──▶ suspended ── resume ──▶ active
  active ── done ─────▶ completed ── archive ─▶ archived
  active ── cancel ───▶ cancelled ── archive ─▶ archived

While a thread is suspended no run starts on it; messages can be queued. Once it is completed, cancelled or archived, \
its content does not change any more; it can be read and forked. `archive` is final here. To hide a thread in a way that \
can be undone, use `threadkeep thread archive`.

Examples:
  threadkeep thread lifecycle 4e36 suspend --reason \"waits for the review\"
  threadkeep thread resume 4e36
  threadkeep thread done 4e36
  threadkeep thread lifecycle 4e36 archive                       for good")]
pub(crate) struct Lifecycle {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// done, cancel, suspend, resume, or archive (final)
    action: LifecycleAction,
    #[command(flatten)]
    how: How,
}

/// Complete a thread: its content does not change any more
#[derive(Debug, Args)]
pub(crate) struct Done {
    #[command(flatten)]
    short: Short,
}

/// Suspend a thread: no run starts on it, and its version gets a name
#[derive(Debug, Args)]
pub(crate) struct Suspend {
    #[command(flatten)]
    short: Short,
}

/// Resume a suspended thread
#[derive(Debug, Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    short: Short,
}

#[derive(Debug, Args)]
struct Short {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
struct How {
    /// The reason, for the log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Lifecycle {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        move_on(context, &self.thread, self.action, self.how).await
    }
}

impl Done {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        move_on(context, &self.short.thread, LifecycleAction::Done, self.short.how).await
    }
}

impl Suspend {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        move_on(context, &self.short.thread, LifecycleAction::Suspend, self.short.how).await
    }
}

impl Resume {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        move_on(context, &self.short.thread, LifecycleAction::Resume, self.short.how).await
    }
}

async fn move_on(context: &mut Context, thread: &str, action: LifecycleAction, how: How) -> Result<(), Failure> {
    let thread = context.thread(thread).await?.id;
    let change = calls::ChangeLifecycle { action, reason: how.reason };
    let thread = match context.client.call(how.conditions.at(thread), change).await {
        Err(error) if action == LifecycleAction::Archive && error.is_refused_as(INVALID_TRANSITION) => {
            let done = context.hints.command(&format!("thread done {}", thread.short()));
            let hide = context.hints.command(&format!("thread archive {}", thread.short()));
            let hint = format!("first {done}; to only hide it, which can be undone: {hide}");
            return Err(Problem::from(error).hint(hint).into());
        }
        answer => answer?,
    };
    thread.print(context)?;
    context.out.flush()?;
    context.note(format!("it is {}", thread.lifecycle.as_str()));
    Ok(())
}
