//! What happened, and what happens: `history`, `tail`.

use std::str::FromStr;

use clap::Args;
use threadkeep::model::{
    CheckpointSet, Forked, Inserted, MessageEdited, MessagesDeleted, Related, RolledBack, ThreadChanged, Truncated,
};
use threadkeep::{
    Engine, Entry, Error, FeedCursor, FeedItem, FeedNews, FeedReader, HistoryEntry, Invalid, MessageId, Position,
    Subscription, Thread, ThreadId, Timestamp, Version,
};
use threadkeep_api as api;
use threadkeep_api::FeedEntry;
use tokio::sync::oneshot;

use crate::context::Context;
use crate::failure::Failure;
use crate::retry::Retry;
use crate::show::in_brief;
use crate::text::{brief, counted, moment, visible};

/// Characters of an entry's text.
const ENTRY_SHOWN_MAX: usize = 100;
/// Entries of a history, unless the caller says otherwise.
const HISTORY_LIMIT: usize = 50;

/// Show what was logged to a thread, the oldest first, abandoned branches included
#[derive(Debug, Args)]
pub(crate) struct History {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// Only what came after this version
    #[arg(long, value_name = "VERSION", default_value = "0")]
    after: Version,
    /// At most so many entries
    #[arg(long, value_name = "N", default_value_t = HISTORY_LIMIT)]
    limit: usize,
}

impl History {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let page_max = context.engine.limits().page_max;
        if self.limit == 0 || self.limit > page_max {
            return Err(Invalid::parameter("limit", format!("a page has 1 to {page_max} entries")).into());
        }
        let thread = context.thread(&self.thread).await?;
        refuse_future(&thread, self.after)?;
        let entries = context.engine.history(thread.id, self.after, self.limit).await?;
        if context.json {
            let shown = entries.iter().map(api::HistoryEntry::new).collect::<Result<Vec<_>, _>>()?;
            context.out.json(&shown)?;
        } else {
            entries.iter().try_for_each(|entry| print(context, entry))?;
        }
        if let Some(last) = entries.last().filter(|last| last.version < thread.head.version) {
            context.out.flush()?;
            crate::failure::note(&format!("there are more: go on with --after {}", last.version));
        }
        Ok(())
    }
}

fn refuse_future(thread: &Thread, version: Version) -> Result<(), Error> {
    let current = thread.head.version;
    if version > current { Err(Error::VersionInFuture { version, current }) } else { Ok(()) }
}

/// Follow a thread, or everything in the store, also what other processes write
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep tail 4e36 --after latest       only what happens from now on
  threadkeep tail --json | jq .kind         everything in the store, as JSON lines
Ends on Ctrl-C, and when the thread is deleted.")]
pub(crate) struct Tail {
    /// The thread; without one, everything in the store
    thread: Option<String>,
    /// Only what came after this version (or this cursor, without a thread), or from now on: latest
    #[arg(long, value_name = "VERSION|latest", default_value = "0")]
    after: After,
    /// Stop at the end instead of waiting for more
    #[arg(long)]
    no_follow: bool,
    #[command(flatten)]
    retry: Retry,
}

/// Where to begin.
#[derive(Debug, Clone, Copy)]
enum After {
    Latest,
    Number(u64),
}

impl FromStr for After {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text == "latest" { Ok(Self::Latest) } else { text.parse().map(|Position(number)| Self::Number(number)) }
    }
}

impl Tail {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        match &self.thread {
            Some(thread) => {
                let thread = context.thread(thread).await?;
                self.follow_thread(context, thread).await
            }
            None => self.follow_all(context).await,
        }
    }

    async fn follow_thread(&self, context: &mut Context, thread: Thread) -> Result<(), Failure> {
        let after = match self.after {
            After::Latest => thread.head.version,
            After::Number(version) => Position(version),
        };
        let mut subscription = context.engine.subscribe(thread.id, after).await?;
        let mut over = std::pin::pin!(over());
        loop {
            let next = tokio::select! {
                // What is there goes first; only what is not there has to be waited for.
                biased;
                next = self.next_entry(context, &mut subscription) => next?,
                () = &mut over => None,
            };
            match next {
                Some(entry) => print(context, &entry)?,
                None => return Ok(()),
            }
        }
    }

    /// The next entry, waited for if that is wanted; none when nothing more comes.
    async fn next_entry(
        &self,
        context: &mut Context,
        subscription: &mut Subscription,
    ) -> Result<Option<HistoryEntry>, Failure> {
        loop {
            match self.read(context, async || subscription.next_so_far().await).await {
                Ok(Some(entry)) => return Ok(Some(entry)),
                Ok(None) => context.out.flush()?,
                Err(Error::ThreadNotFound { .. }) => {
                    context.out.flush()?;
                    context.note("the thread was deleted");
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
            if self.no_follow {
                return Ok(None);
            }
            subscription.news().await;
        }
    }

    async fn follow_all(&self, context: &mut Context) -> Result<(), Failure> {
        let after = match self.after {
            After::Latest => context.engine.feed_latest().await?,
            After::Number(cursor) => FeedCursor(cursor),
        };
        let mut feed = context.engine.feed(after).await?;
        let mut over = std::pin::pin!(over());
        loop {
            let next = tokio::select! {
                biased;
                next = self.next_item(context, &mut feed) => next?,
                () = &mut over => None,
            };
            match next {
                Some((item, Some(news))) => print_news(context, &item, news)?,
                Some((_, None)) => {}
                None => return Ok(()),
            }
        }
    }

    /// What happened next, waited for if that is wanted, with what there is to tell of it.
    async fn next_item(
        &self,
        context: &mut Context,
        feed: &mut FeedReader,
    ) -> Result<Option<(FeedItem, Option<News>)>, Failure> {
        loop {
            if let Some(item) = self.read(context, async || feed.next_so_far().await).await? {
                let engine = context.engine.clone();
                let news = self.read(context, async || news(&engine, &item).await).await?;
                return Ok(Some((item, news)));
            }
            context.out.flush()?;
            if self.no_follow {
                return Ok(None);
            }
            feed.news().await;
        }
    }

    /// Reads, and goes on when the store is away; what was printed so far is seen meanwhile.
    async fn read<T>(
        &self,
        context: &mut Context,
        mut attempt: impl AsyncFnMut() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let attempt = async || {
            let result = attempt().await;
            if result.is_err() {
                // If it cannot be written, the next attempt to write says so.
                drop(context.out.flush());
            }
            result
        };
        self.retry.until_there(attempt).await
    }
}

/// Resolves on Ctrl-C, and when nobody reads any more.
pub(crate) async fn over() {
    let closed = stdout_closed();
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = closed => {}
    }
}

/// Resolves when nobody reads stdout any more, so that `tail | head` ends without waiting for one more entry.
fn stdout_closed() -> oneshot::Receiver<()> {
    let (tell, closed) = oneshot::channel();
    #[cfg(unix)]
    std::thread::spawn(move || {
        use rustix::event::{PollFd, PollFlags, poll};
        let stdout = std::io::stdout();
        // Errors and hang-ups are told whatever is asked for. What is no pipe never has one, and this waits for ever.
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        while poll(&mut watched, None).is_err_and(|error| error == rustix::io::Errno::INTR) {}
        let _ = tell.send(());
    });
    #[cfg(not(unix))]
    std::mem::forget(tell);
    closed
}

fn print(context: &mut Context, entry: &HistoryEntry) -> Result<(), Failure> {
    if context.json {
        return context.out.json(&api::HistoryEntry::new(entry)?);
    }
    let line = in_a_line(entry)?;
    context.out.line(line)
}

/// What there is to tell of an item of the feed.
enum News {
    Entry(HistoryEntry),
    Created(Timestamp),
    Deleted,
}

/// What an item of the feed tells; none if the thread is gone, or something else tells it.
async fn news(engine: &Engine, item: &FeedItem) -> Result<Option<News>, Error> {
    match &item.news {
        FeedNews::Entry(entry) => {
            let place = MessageId { segment: entry.segment, position: entry.position };
            // The feed may name a large body by its hash; the history has it whole.
            Ok(entry_of(engine, item.thread, place).await?.map(News::Entry))
        }
        FeedNews::Began(segment) => match engine.thread(item.thread).await {
            // A branch begins with an entry that says so.
            Ok(thread) if thread.created < segment.created => Ok(None),
            Ok(_) | Err(Error::ThreadNotFound { .. }) => Ok(Some(News::Created(segment.created))),
            Err(error) => Err(error),
        },
        FeedNews::Deleted => Ok(Some(News::Deleted)),
    }
}

fn print_news(context: &mut Context, item: &FeedItem, news: News) -> Result<(), Failure> {
    let FeedItem { cursor: FeedCursor(cursor), thread: thread_id, .. } = *item;
    let (kind, time) = match news {
        News::Entry(entry) if context.json => {
            let entry = api::HistoryEntry::new(&entry)?;
            return context.out.json(&FeedEntry::Entry { cursor, entry });
        }
        News::Entry(entry) => {
            let line = in_a_line(&entry)?;
            return context.out.line(format!("{}  {line}", thread_id.short()));
        }
        News::Created(time) => ("thread_created", Some(time)),
        News::Deleted => ("thread_deleted", None),
    };
    if context.json {
        return context.out.json(&FeedEntry::Thread { cursor, thread_id, kind, time });
    }
    context.out.line(format!("{}  {kind}", thread_id.short()))
}

/// An entry of the feed as its thread's history has it; none if the thread is gone.
async fn entry_of(engine: &Engine, thread: ThreadId, place: MessageId) -> Result<Option<HistoryEntry>, Error> {
    match engine.history(thread, place.position.previous(), 1).await {
        Ok(entries) => Ok(entries.into_iter().find(|entry| entry.place == place)),
        Err(Error::ThreadNotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An entry for people, on one line.
fn in_a_line(entry: &HistoryEntry) -> Result<String, Failure> {
    let what = match entry.entry()? {
        Entry::MessageAppended(body) => in_brief(&body, ENTRY_SHOWN_MAX),
        Entry::EventLogged(event) => brief(event.data.as_str(), ENTRY_SHOWN_MAX),
        Entry::MessageInserted(Inserted { before, message, .. }) => {
            format!("before {before}: {}", in_brief(&message, ENTRY_SHOWN_MAX))
        }
        Entry::MessageEdited(MessageEdited { target, content, .. }) => match content {
            Some(content) => format!("{target}: {}", brief(&content.to_text(), ENTRY_SHOWN_MAX)),
            None => format!("{target}: its metadata"),
        },
        Entry::MessagesDeleted(MessagesDeleted { targets, .. }) => match &targets[..] {
            [target] => target.to_string(),
            targets => counted(targets.len() as u64, "message", "messages"),
        },
        Entry::Truncated(Truncated { from_index }) => format!("from index {from_index} on"),
        Entry::RolledBack(RolledBack { to, undo }) => {
            format!("to version {to}{}", if undo { " (undo)" } else { "" })
        }
        Entry::ThreadChanged(ThreadChanged { fields }) => {
            fields.0.keys().map(|field| visible(field)).collect::<Vec<_>>().join(", ")
        }
        Entry::CheckpointSet(CheckpointSet { name, version }) => format!("version {version} is {}", visible(&name)),
        Entry::Forked(Forked { child, .. }) => child.to_string(),
        Entry::Related(Related { child, kind, .. }) => format!("{} {child}", kind.as_str()),
        Entry::MessageQueued(queued) => in_brief(&queued.message, ENTRY_SHOWN_MAX),
        Entry::QueuedEdited(edited) => format!("{}: {}", edited.item, in_brief(&edited.message, ENTRY_SHOWN_MAX)),
        Entry::QueuedRemoved(removed) => removed.item.to_string(),
        Entry::MessageDelivered(delivered) => in_brief(&delivered.message, ENTRY_SHOWN_MAX),
        Entry::ExecutionBegan(began) => began.execution.id.to_string(),
        Entry::ExecutionStepped(stepped) => stepped.id.to_string(),
        Entry::ExecutionEnded(ended) => format!("{} {}", ended.id, ended.status.as_str()),
        Entry::SkillActivated(activated) => brief(&activated.name, ENTRY_SHOWN_MAX),
        Entry::AgentAssigned(assigned) => {
            brief(assigned.state.agent_id.as_deref().unwrap_or("nobody"), ENTRY_SHOWN_MAX)
        }
        Entry::ChildChanged(child) => {
            brief(&format!("{} {}: {}", child.reference, child.name, child.status), ENTRY_SHOWN_MAX)
        }
        Entry::ChildRemoved(removed) => removed.reference.to_string(),
        Entry::OwnerChanged(changed) => {
            brief(&format!("from {} to {}", changed.from.as_str(), changed.to.as_str()), ENTRY_SHOWN_MAX)
        }
    };
    let HistoryEntry { version, time, actor, kind, .. } = entry;
    let actor = visible(&actor.name);
    Ok(format!("{version:>6}  {}  {actor}  {}  {what}", moment(*time), kind.as_str()))
}
