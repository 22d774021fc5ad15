//! `writer`: who alone may change a thread's conversation, and until when.

use std::time::Duration;

use clap::{ArgGroup, Args};
use threadkeep::ThreadId;
use threadkeep::model::LeaseToken;
use threadkeep_calls as calls;
use threadkeep_calls::At;

use crate::context::Context;
use crate::duration::{duration, milliseconds};
use crate::exclusive::{default_holder, token_of};
use crate::failure::Failure;
use crate::text::{moment, visible};

/// Show a thread's exclusive writer; take, renew or release that lease
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("action").multiple(false), after_help = "\
While somebody holds the lease, nobody else changes the conversation; forks and changes of the record pass. When it ends, \
what its holder still writes is refused.

Examples:
  threadkeep writer 4e36                              who holds it, and until when
  TOKEN=$(threadkeep writer 4e36 --take --ttl 5m)
  threadkeep say 4e36 --writer $TOKEN \"Only I write here.\"
  threadkeep writer 4e36 --renew --token $TOKEN --ttl 5m
  threadkeep writer 4e36 --release --token $TOKEN
  threadkeep say 4e36 --lines --exclusive             take it, renew it while it runs, release it")]
pub(crate) struct Writer {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// Become the exclusive writer, and print the token for --writer
    #[arg(long, group = "action")]
    take: bool,
    /// Let the lease last for --ttl from now on
    #[arg(long, group = "action", requires = "token")]
    renew: bool,
    /// End the lease
    #[arg(long, group = "action", requires = "token")]
    release: bool,
    /// The token that --take printed
    #[arg(long, value_name = "TOKEN", requires = "action", conflicts_with = "take")]
    token: Option<LeaseToken>,
    /// How long the lease lasts unless it is renewed, such as 500ms, 30s, 5m or 1h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "action", conflicts_with = "release")]
    ttl: Option<Duration>,
    /// Who holds it, in words for others [default: who acts, and the process id]
    #[arg(long, value_name = "NAME", requires = "take")]
    holder: Option<String>,
}

impl Writer {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        match self.token {
            None if self.take => self.take(context, thread).await,
            Some(token) if self.renew => {
                let renew = calls::RenewWriter { ttl: self.ttl.map(milliseconds), holder: None };
                let lease = context.client.call(At::of(thread).under(token), renew).await?;
                if context.json { context.out.json(&lease) } else { print(context, &lease) }
            }
            Some(token) => release(context, thread, token).await,
            None => show(context, thread).await,
        }
    }

    async fn take(self, context: &mut Context, thread: ThreadId) -> Result<(), Failure> {
        let holder = self.holder.unwrap_or_else(|| default_holder(context));
        let take = calls::TakeWriter { ttl: self.ttl.map(milliseconds), holder: Some(holder) };
        let lease = context.client.call(thread, take).await?;
        if context.json {
            return context.out.json(&lease);
        }
        let token = token_of(&lease)?;
        context.out.line(token.to_string())?;
        context.out.flush()?;
        let next = context.hints.command(&format!("say {} --writer {token} \"Hello!\"", thread.short()));
        context.note(format!("the lease ends at {}; write under it: {next}", moment(lease.expires_at)));
        Ok(())
    }
}

async fn release(context: &mut Context, thread: ThreadId, token: LeaseToken) -> Result<(), Failure> {
    let done = context.client.call(At::of(thread).under(token), calls::ReleaseWriter {}).await?;
    context.note_or_show(&done, if done.released { "released" } else { "the lease had ended already" })
}

async fn show(context: &mut Context, thread: ThreadId) -> Result<(), Failure> {
    let lease = context.client.call(thread, calls::GetWriter {}).await?;
    if context.json {
        return context.out.json(&lease);
    }
    match lease {
        Some(lease) => print(context, &lease),
        None => {
            context.note("the thread has no exclusive writer");
            Ok(())
        }
    }
}

fn print(context: &mut Context, lease: &calls::Writer) -> Result<(), Failure> {
    context.out.line(format!("{}  until {}", visible(&lease.holder), moment(lease.expires_at)))
}
