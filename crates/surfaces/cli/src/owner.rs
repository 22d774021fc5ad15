//! `change-owner`: a thread goes to another account.

use threadkeep::Account;

use crate::plain::plain;
use crate::text::visible;

plain! {
    /// Give a thread to another account, with the threads of its subagents
    #[command(after_help = "\
Example:
  threadkeep thread owner 4e36 ann      from now on it is ann's; it leaves its project, and its forks stay whose they are")]
    ChangeOwner: ChangeOwner under Change {
        /// The account that owns it from now on
        #[arg(value_parser = |account: &str| Account::new(account))]
        account: Account,
    } => (context, _, change, given) {
        context.say_or_show(given, format!("{} belongs to {}", given.id, visible(change.account.as_str())))
    }
}
