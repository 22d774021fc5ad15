//! A thread as it is, again and again: `watch`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use threadkeep::{Error, Patch, RawObserver, ThreadId, Version, observe_raw};
use threadkeep_calls::{ListMessages, Order, Problem, Snapshot};
use threadkeep_client as client;
use threadkeep_client::{After, Client, News, Retry as Again, Stream};

use crate::context::Context;
use crate::failure::Failure;
use crate::follow::over;
use crate::retry::Retry;
use crate::show::{body, in_brief};
use crate::text::{brief, counted, moment, visible};

/// Characters of the last message, and of the title.
const LAST_SHOWN_MAX: usize = 80;
const TITLE_SHOWN_MAX: usize = 40;

/// The option that needs the store: patches are made where the thread is.
const PATCHES: &str = "watch --patches";
/// Shortest time between two lines.
const THROTTLE: Duration = Duration::from_millis(100);

/// Show a thread as it is now, and again whenever it has changed, also by other processes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep thread watch 4e36                     at most ten lines a second, and always the last one
  threadkeep thread watch 4e36 --json              the thread with its last message, as JSON lines
  threadkeep thread watch 4e36 --patches           every change, as JSON Patches (RFC 6902) in lines: {\"version\",\"patch\"}
The patches are against the thread's JSON with `messages` as an array. The first one is empty, and says at which version
they begin: `threadkeep show 4e36 --at-version VERSION --all --include-silent --json` is what they change.
Ends on Ctrl-C, and when the thread is deleted.")]
pub(crate) struct Watch {
    /// The thread: its id, the beginning of it, its title, or @last
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
    /// Whether it works on the store itself.
    pub(crate) fn needs_store(&self) -> bool {
        self.patches
    }

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

    /// The thread as it is, and again once something was logged to it, but not more often than the throttle allows.
    async fn snapshots(&self, context: &mut Context, thread: ThreadId) -> Result<(), Failure> {
        let client = context.client.retrying(Again::never());
        let mut stream: Option<Stream> = None;
        for left in (0..self.lines()).rev() {
            let snapshot = match self.retry.until_there(async || read(&client, thread).await).await {
                Ok(snapshot) => snapshot,
                Err(error) if error.is_refused_as("thread_not_found") => return deleted(context),
                Err(error) => return Err(error.into()),
            };
            let (shown, at) = (snapshot.thread.v, tokio::time::Instant::now());
            print(context, &snapshot)?;
            context.out.flush()?;
            if left == 0 {
                break;
            }
            let stream = match &mut stream {
                Some(stream) => stream,
                none => none.insert(client.stream(thread, After::Version(shown)).await?),
            };
            if !self.changed(stream, shown).await? {
                return deleted(context);
            }
            tokio::time::sleep_until(at + THROTTLE).await;
        }
        Ok(())
    }

    /// Waits until something is logged after `shown`; false once the thread is deleted.
    async fn changed(&self, stream: &mut Stream, shown: Version) -> Result<bool, Failure> {
        loop {
            match self.retry.until_there(async || stream.next().await).await {
                Ok(Some(News::Entry(entry))) if entry.version > shown => return Ok(true),
                // Shown already, or not logged.
                Ok(Some(_)) => {}
                Ok(None) => return Ok(false),
                Err(error) if error.is_refused_as("thread_not_found") => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn patches(&self, context: &mut Context, thread: ThreadId) -> Result<(), Failure> {
        let mut observer = observe_raw(&context.engine(PATCHES)?, thread).await?;
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

/// The thread with its last message, both at one version.
async fn read(client: &Client, thread: ThreadId) -> Result<Snapshot<'static>, client::Error> {
    let thread = client.thread(thread).await?;
    let last = ListMessages {
        order: Some(Order::Descending),
        limit: Some(1),
        include_silent: true,
        max_depth: Some(u8::MAX),
        as_of: Some(thread.v),
        ..ListMessages::default()
    };
    let last_message = client.messages(thread.id, &last).await?.page.items.pop();
    Ok(Snapshot { thread, pending_version: None, last_message })
}

fn print(context: &mut Context, snapshot: &Snapshot<'_>) -> Result<(), Failure> {
    if context.json {
        return context.out.json(snapshot);
    }
    let thread = &snapshot.thread;
    let title = thread.title.as_deref().map_or("Untitled".into(), |title| brief(&visible(title), TITLE_SHOWN_MAX));
    let last = match &snapshot.last_message {
        Some(message) => format!("  {}", in_brief(&body(message)?, LAST_SHOWN_MAX)),
        None => String::new(),
    };
    let messages = counted(thread.message_count, "message", "messages");
    context.out.line(format!("{:>6}  {}  {title}  {messages}{last}", thread.v, moment(thread.updated)))
}
