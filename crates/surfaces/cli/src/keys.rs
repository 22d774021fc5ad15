//! `keys`: the keys of the server, their accounts and their scopes.

use clap::Args;
use threadkeep::{Account, ActorKind, Scope, Timestamp};
use threadkeep_calls as calls;
use threadkeep_calls::{At, ErrorCode, Problem, Status};

use crate::context::Context;
use crate::failure::Failure;
use crate::naming;
use crate::pages::all;
use crate::text::visible;

/// Keys that are read at once.
const KEYS_AT_ONCE: usize = 500;

/// Examples for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  threadkeep keys create --account ann                     a key that reads and writes
  threadkeep keys create --account ann --scope read --agent --name nightly --expires 2027-01-31T12:00:00Z
  threadkeep keys revoke 5d41402abc4b2a76                  by its id; open streams end at once";

/// Make a key; its secret is shown once (with --agent, for an agent)
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The account it speaks for; accounts come into being with their first key
    #[arg(long, value_name = "NAME", value_parser = |account: &str| Account::new(account))]
    account: Account,
    /// What it may do: read, write or admin
    #[arg(long, default_value = "write")]
    scope: Scope,
    /// Who uses it, for the log [default: the account's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// When it ends by itself, such as 2027-01-31T12:00:00Z [default: never]
    #[arg(long, value_name = "TIME")]
    expires: Option<Timestamp>,
}

impl Create {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { account, scope, name, expires: expires_at } = self;
        let agent = context.actor().kind == ActorKind::Agent;
        let new = calls::CreateKey { account, scope: Some(scope), name, agent, expires_at };
        let created = context.client.call(At::none(), new).await?;
        if context.json {
            return context.out.json(&created);
        }
        context.out.line(&created.key)?;
        context.out.flush()?;
        context.note("This is the only time the key is shown.");
        Ok(())
    }
}

/// List keys, including revoked ones
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let read =
            async |cursor| context.client.call(At::none(), calls::ListKeys { limit: Some(KEYS_AT_ONCE), cursor }).await;
        let keys = all(read).await?;
        if context.json {
            return context.out.json(&keys);
        }
        for key in &keys {
            let ends = match (key.revoked_at, key.expires_at) {
                (Some(revoked), _) => format!("revoked {revoked}"),
                (None, Some(expires)) => format!("until {expires}"),
                (None, None) => String::new(),
            };
            let (account, name) = (visible(key.account.as_str()), visible(&key.name));
            let line = format!("{}  {:<5}  {account}  {name}  {ends}", key.id, key.scope.as_str());
            context.out.line(line.trim_end())?;
        }
        Ok(())
    }
}

/// Revoke a key for good
#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// Its id, the beginning of it, or @last
    id: String,
}

impl Revoke {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let key = naming::key(&context.client, &self.id).await?;
        let done = context.client.call(At::none(), calls::RevokeKey { key: key.clone() }).await?;
        if !done.revoked {
            let detail = "there is no such key, or it was revoked already";
            let problem = Problem::new(Status::NotFound, ErrorCode::KeyNotFound, detail);
            return Err(problem.hint(context.hints.command("keys list")).into());
        }
        if context.json {
            return context.out.json(&done);
        }
        context.out.line(format!("revoked {}", visible(&key)))
    }
}
