//! `lock`: one holder alone changes a thread's conversation.

use std::time::Duration;

use clap::Args;
use threadkeep::model::LeaseToken;
use threadkeep_calls as calls;
use threadkeep_calls::At;

use crate::context::Context;
use crate::duration::{duration, milliseconds};
use crate::exclusive::{default_holder, token_of};
use crate::failure::Failure;
use crate::plain::plain;
use crate::text::{moment, visible};

/// Examples for the help.
pub(crate) const EXAMPLES: &str = "\
While a lock is held, only its holder changes the conversation. Forks and changes of the record pass. When the lock ends, \
late writes of its holder are refused.

Examples:
  threadkeep lock show 4e36                           the holder, and until when
  TOKEN=$(threadkeep lock take 4e36 --ttl 5m)
  threadkeep say 4e36 --writer $TOKEN \"Only I write here.\"
  threadkeep lock renew 4e36 --token $TOKEN --ttl 5m
  threadkeep lock release 4e36 --token $TOKEN
  threadkeep say 4e36 --lines --exclusive             take it, renew it while the program runs, release it";

plain! {
    /// Show the holder of a thread's lock, and when it ends
    Show: GetWriter under Read {} => (context, _, _, lease) {
        if context.json {
            return context.out.json(lease);
        }
        match lease {
            Some(lease) => print(context, lease),
            None => {
                context.note("the thread is not locked");
                Ok(())
            }
        }
    }
}

/// Take the lock, and print its token for --writer
#[derive(Debug, Args)]
pub(crate) struct Take {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// How long the lock lasts unless it is renewed, such as 500ms, 30s, 5m or 1h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    ttl: Option<Duration>,
    /// The holder's name, for others [default: the actor and the process id]
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
}

impl Take {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
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
        context.note(format!("locked until {}; write with its token: {next}", moment(lease.expires_at)));
        Ok(())
    }
}

/// Renew the lock: --ttl from now on
#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The token that take printed
    #[arg(long)]
    token: LeaseToken,
    /// How long the lock lasts from now on, such as 500ms, 30s, 5m or 1h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    ttl: Option<Duration>,
}

impl Renew {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let renew = calls::RenewWriter { ttl: self.ttl.map(milliseconds), holder: None };
        let lease = context.client.call(At::of(thread).under(self.token), renew).await?;
        if context.json { context.out.json(&lease) } else { print(context, &lease) }
    }
}

/// Release the lock of a thread
#[derive(Debug, Args)]
pub(crate) struct Release {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The token that take printed
    #[arg(long)]
    token: LeaseToken,
}

impl Release {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let done = context.client.call(At::of(thread).under(self.token), calls::ReleaseWriter {}).await?;
        context.note_or_show(&done, if done.released { "released" } else { "the lock had ended already" })
    }
}

fn print(context: &mut Context, lease: &calls::Writer) -> Result<(), Failure> {
    context.out.line(format!("{}  until {}", visible(&lease.holder), moment(lease.expires_at)))
}
