//! `change-owner`: a thread goes to another account.

use clap::Args;
use threadkeep::Account;
use threadkeep_calls as calls;

use crate::context::{Conditions, Context};
use crate::failure::Failure;
use crate::text::visible;

/// Give a thread to another account, with the threads of its subagents
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  threadkeep change-owner 4e36 ann      from now on it is ann's; it leaves its project, and its forks stay whose they are")]
pub(crate) struct ChangeOwner {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// The account that owns it from now on
    #[arg(value_parser = |account: &str| Account::new(account))]
    account: Account,
    #[command(flatten)]
    conditions: Conditions,
}

impl ChangeOwner {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?.id;
        let change = calls::ChangeOwner { account: self.account };
        let given = context.client.call(thread, change.clone()).await?;
        if context.json {
            return context.out.json(&given);
        }
        context.out.line(format!("{} belongs to {}", given.id, visible(change.account.as_str())))
    }
}
