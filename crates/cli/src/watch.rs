//! A thread as it is, again and again: `watch`.

use std::num::NonZeroU64;

use clap::Args;
use threadkeep::{Error, Observed, Patch, RawObserver, Snapshot, ThreadId, observe_raw};
use threadkeep_api as api;
use threadkeep_api::Problem;
use threadkeep_client as client;

use crate::context::Context;
use crate::failure::Failure;
use crate::follow::over;
use crate::retry::Retry;
use crate::show::in_brief;
use crate::text::{brief, counted, moment, visible};

/// Characters of the last message, and of the title.
const LAST_SHOWN_MAX: usize = 80;
const TITLE_SHOWN_MAX: usize = 40;

/// What needs the store, in words: snapshots and patches are made where the thread is.
const WATCH: &str = "watch";

/// Show a thread as it is now, and again whenever it has changed, also by other processes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep watch 4e36                     at most ten lines a second, and always the last one
  threadkeep watch 4e36 --json              the thread with its last message, as JSON lines
  threadkeep watch 4e36 --patches           every change, as JSON Patches (RFC 6902) in lines: {\"version\",\"patch\"}
The patches are against the thread's JSON with `messages` as an array. The first one is empty, and says at which version
they begin: `threadkeep show 4e36 --as-of VERSION --all --include-silent --json` is what they change.
Ends on Ctrl-C, and when the thread is deleted.")]
pub(crate) struct Watch {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// Every change as a JSON Patch, instead of the thread as it is now and then
    #[arg(long)]
    patches: bool,
    /// Stop after so many lines
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroU64>,
    #[command(flatten)]
    retry: Retry,
}

impl Watch {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let mut over = std::pin::pin!(over());
        let watching = async {
            if self.patches { self.patches(context, thread).await } else { self.snapshots(context, thread).await }
        };
        tokio::select! {
            biased;
            done = watching => done,
            () = &mut over => Ok(()),
        }
    }

    fn lines(&self) -> u64 {
        self.limit.map_or(u64::MAX, NonZeroU64::get)
    }

    async fn snapshots(&self, context: &mut Context, thread: ThreadId) -> Result<(), Failure> {
        let mut observer = context.engine(WATCH)?.observe(thread).await?;
        for _ in 0..self.lines() {
            match observer.next().await {
                Some(Observed::Snapshot(snapshot)) => print(context, &snapshot)?,
                Some(Observed::Unreadable(error)) => return Err(Problem::from(&*error).into()),
                Some(Observed::Deleted) | None => return deleted(context),
            }
            context.out.flush()?;
        }
        Ok(())
    }

    async fn patches(&self, context: &mut Context, thread: ThreadId) -> Result<(), Failure> {
        let mut observer = observe_raw(&context.engine(WATCH)?, thread).await?;
        for _ in 0..self.lines() {
            match self.next_patch(context, &mut observer).await? {
                Some(patch) => context.out.json(&patch)?,
                None => return deleted(context),
            }
        }
        Ok(())
    }

    /// The next patch, waited for; none once the thread is deleted.
    async fn next_patch(&self, context: &mut Context, observer: &mut RawObserver) -> Result<Option<Patch>, Failure> {
        loop {
            let told = |error: Error| client::Error::Refused(Box::new(Problem::from(error)));
            match self.retry.until_there(async || observer.next_so_far().await.map_err(told)).await {
                Ok(Some(patch)) => return Ok(Some(patch)),
                Ok(None) => context.out.flush()?,
                Err(error) if error.is_refused_as("thread_not_found") => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            observer.news().await;
        }
    }
}

fn deleted(context: &mut Context) -> Result<(), Failure> {
    context.out.flush()?;
    context.note("the thread was deleted");
    Ok(())
}

fn print(context: &mut Context, snapshot: &Snapshot) -> Result<(), Failure> {
    if context.json {
        return context.out.json(&api::Snapshot::new(snapshot)?);
    }
    let record = &snapshot.thread.record;
    let title = record.title.as_deref().map_or("Untitled".into(), |title| brief(&visible(title), TITLE_SHOWN_MAX));
    let last = match &snapshot.last {
        Some(message) => format!("  {}", in_brief(&message.body().map_err(Error::from)?, LAST_SHOWN_MAX)),
        None => String::new(),
    };
    let messages = counted(snapshot.message_count, "message", "messages");
    let updated = moment(snapshot.thread.head.updated);
    context.out.line(format!("{:>6}  {updated}  {title}  {messages}{last}", snapshot.version))
}
