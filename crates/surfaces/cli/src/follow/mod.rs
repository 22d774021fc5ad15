//! Entries, past and new: `history`, `tail`.

mod feed;
mod many;

use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::Args;
use threadkeep::model::{
    CheckpointSet, FileChange, FilesChanged, Forked, Inserted, Kind, MessageEdited, MessagesDeleted, Related,
    RolledBack, ThreadChanged, Truncated, ValuesChanged,
};
use threadkeep::{Entry, Error, Invalid, Limits, Position, RunOutcome, RunSide, Version};
use threadkeep_calls::{ErrorCode, GetHistory, HistoryEntry, Problem, Status, Thread};
use threadkeep_client as client;
use threadkeep_client::{After as From, News, Retry as Again, Stream};
use tokio::sync::oneshot;

use self::feed::Feed;
use self::many::Many;
use crate::context::Context;
use crate::failure::{Failure, note};
use crate::retry::Retry;
use crate::show::in_brief;
use crate::text::{brief, counted, moment, visible};

/// Characters of an entry's text.
const ENTRY_SHOWN_MAX: usize = 100;
/// Changes of files that are shown in one line.
const FILES_SHOWN_MAX: usize = 3;
/// How long printed lines may wait for more to be written with them.
const FLUSH_AFTER: Duration = Duration::from_millis(5);
/// A connection that held for so long is not counted among the failures before it.
const HELD: Duration = Duration::from_secs(5);
/// Entries with which a tail begins, unless the caller says otherwise.
const LAST: u64 = 10;
/// Entries of a history, unless the caller says otherwise.
const HISTORY_LIMIT: usize = 50;

/// Show the log of a thread, oldest first, including abandoned branches
#[derive(Debug, Args)]
pub(crate) struct History {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// Only what came after this version
    #[arg(long, value_name = "VERSION", default_value = "0")]
    after: Version,
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = HISTORY_LIMIT)]
    limit: usize,
}

impl History {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let page_max = Limits::default().page_max;
        if self.limit == 0 || self.limit > page_max {
            return Err(Invalid::parameter("limit", format!("a page has 1 to {page_max} entries")).into());
        }
        let thread = context.thread(&self.thread).await?;
        refuse_future(&thread, self.after)?;
        let page =
            context.client.call(thread.id, GetHistory { after: Some(self.after), limit: Some(self.limit) }).await?;
        let entries = page.items;
        if context.json {
            context.out.json(&entries)?;
        } else {
            context.out.page()?;
            entries.iter().try_for_each(|entry| print(context, entry))?;
        }
        if let Some(last) = page.next_cursor {
            context.out.flush()?;
            crate::failure::note(&format!("there are more: go on with --after {last}"));
        }
        Ok(())
    }
}

fn refuse_future(thread: &Thread, version: Version) -> Result<(), Error> {
    let current = thread.v;
    if version > current { Err(Error::VersionInFuture { version, current }) } else { Ok(()) }
}

/// Follow a thread, several, those of a project, or everything in the store, also what other processes write
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep tail 4e36                      the last 10 entries, then what happens
  threadkeep tail 4e36 -n 50                the last 50
  threadkeep tail 4e36 --from-start         everything
  threadkeep tail 4e36 --after latest       only what happens from now on
  threadkeep tail 4e36 b4c4 --json          two threads; each line has a cursor to go on after
  threadkeep tail --project-id release-2    the threads of a project
  threadkeep tail --json | jq .kind         everything in the store, as JSON lines
Ends on Ctrl-C, and when the thread is deleted.")]
pub(crate) struct Tail {
    /// The thread, or several; without one, everything in the store
    #[arg(value_name = "THREAD")]
    threads: Vec<String>,
    /// The threads of this project
    #[arg(long, value_name = "ID", conflicts_with = "threads")]
    project_id: Option<String>,
    /// Begin with the last so many entries [default: 10]
    #[arg(short = 'n', long, value_name = "N", conflicts_with_all = ["after", "from_start"])]
    last: Option<u64>,
    /// Begin with the first entry
    #[arg(long, conflicts_with = "after")]
    from_start: bool,
    /// Only what came after this version (or this cursor, without one thread), or from now on: latest
    #[arg(long, value_name = "VERSION|latest")]
    after: Option<After>,
    /// Stop at the end instead of waiting for more; for one thread, or everything
    #[arg(long, conflicts_with = "project_id")]
    no_follow: bool,
    #[command(flatten)]
    retry: Retry,
}

#[derive(Debug, Clone)]
pub(crate) enum After {
    Latest,
    /// With the last so many entries.
    Last(u64),
    Number(u64),
    /// As a stream over many threads gave it.
    Cursor(String),
}

impl FromStr for After {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "latest" => Ok(Self::Latest),
            cursor if cursor.starts_with('f') && cursor.contains('-') => Ok(Self::Cursor(cursor.to_owned())),
            number => number.parse().map(|Position(number)| Self::Number(number)),
        }
    }
}

impl Tail {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { threads, project_id, last, from_start, after, no_follow, retry } = self;
        let after = match (after, from_start) {
            (Some(after), _) => after,
            (None, true) => After::Number(0),
            (None, false) => After::Last(last.unwrap_or(LAST)),
        };
        let thread = match &threads[..] {
            [thread] => thread,
            [] if project_id.is_none() => return Feed { after, no_follow, retry }.follow(context).await,
            several => {
                if no_follow {
                    let rule = "is for one thread, or for everything: a stream over many has no end";
                    return Err(Invalid::parameter("no-follow", rule).into());
                }
                let mut threads = Vec::with_capacity(several.len());
                for thread in several {
                    let id = context.thread(thread).await?.id;
                    if !threads.contains(&id) {
                        threads.push(id);
                    }
                }
                return Many { threads, project_id, after, retry }.follow(context).await;
            }
        };
        let thread = context.thread(thread).await?;
        let after = match after {
            After::Latest => thread.v,
            After::Last(count) => Position(thread.v.0.saturating_sub(count)),
            After::Number(version) => Position(version),
            After::Cursor(_) => {
                return Err(Invalid::parameter("after", "is not a version: one thread is followed after one").into());
            }
        };
        refuse_future(&thread, after)?;
        if no_follow {
            so_far(retry, context, &thread, after).await
        } else {
            follow(retry, context, &thread, after).await
        }
    }
}

/// The entries so far, page by page.
async fn so_far(retry: Retry, context: &mut Context, thread: &Thread, mut after: Version) -> Result<(), Failure> {
    let client = context.client.retrying(Again::never());
    let limit = Some(Limits::default().page_max);
    loop {
        let which = GetHistory { after: Some(after), limit };
        let page = retry.until_there(async || client.call(thread.id, which.clone()).await).await?;
        page.items.iter().try_for_each(|entry| print(context, entry))?;
        // The cursor skips entries that a visitor is not shown.
        match page.next_cursor.as_deref().map(str::parse::<Position>) {
            Some(Ok(next)) => after = next,
            Some(Err(_)) | None => return Ok(()),
        }
    }
}

/// The entries so far, and new ones.
async fn follow(retry: Retry, context: &mut Context, thread: &Thread, after: Version) -> Result<(), Failure> {
    let client = context.client.retrying(Again::never());
    let mut stream = client.stream(thread.id, From::Version(after)).await?;
    let mut over = std::pin::pin!(over());
    loop {
        let next = tokio::select! {
            // Entries that are ready go first; only missing ones are waited for.
            biased;
            next = next_news(retry, context, &mut stream) => next?,
            () = &mut over => return Ok(()),
        };
        match next {
            Some(News::Entry(entry)) => print(context, &entry)?,
            // Events that are not logged have no place in a history.
            Some(_) => {}
            None => {
                context.out.flush()?;
                context.note("the thread was deleted");
                return Ok(());
            }
        }
    }
}

/// Waits for the next news; the output printed so far is flushed meanwhile.
pub(crate) async fn next_news(
    retry: Retry,
    context: &mut Context,
    stream: &mut Stream,
) -> Result<Option<News>, Failure> {
    let next = async {
        loop {
            match until_news(retry, stream).await? {
                Next::News(news) => return Ok(news),
                // It was there: the time to give up begins anew.
                Next::Broken => {}
            }
        }
    };
    let mut next = std::pin::pin!(next);
    tokio::select! {
        biased;
        next = &mut next => return next,
        () = tokio::time::sleep(FLUSH_AFTER) => context.out.flush()?,
    }
    next.await
}

/// How waiting for news ended.
enum Next {
    News(Option<News>),
    /// The connection held for a while, and is gone.
    Broken,
}

/// Waits for news, and tries to connect as long as `retry` says; a new connection is told.
async fn until_news(retry: Retry, stream: &mut Stream) -> Result<Next, client::Error> {
    let (mut was_away, mut since) = (false, None);
    let attempt = async || {
        let next = async {
            if stream.open().await? {
                if std::mem::take(&mut was_away) {
                    note("connected again");
                }
                since.get_or_insert_with(Instant::now);
            }
            stream.next().await
        };
        let next = next.await;
        let is_away = next.as_ref().is_err_and(client::Error::is_away);
        if is_away && since.is_some_and(|since| since.elapsed() >= HELD) {
            return Ok(Next::Broken);
        }
        was_away |= is_away;
        next.map(Next::News)
    };
    retry.until_there(attempt).await
}

/// Resolves on Ctrl-C, and when the reader of stdout has gone.
pub(crate) async fn over() {
    let closed = stdout_closed();
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = closed => {}
    }
}

/// Resolves when the reader of stdout has gone, so that `tail | head` ends without waiting for one more entry.
fn stdout_closed() -> oneshot::Receiver<()> {
    let (tell, closed) = oneshot::channel();
    #[cfg(unix)]
    std::thread::spawn(move || {
        use rustix::event::{PollFd, PollFlags, poll};
        let stdout = std::io::stdout();
        // Errors and hang-ups are reported for every mask. If stdout is no pipe there are none, and this waits for
        // ever.
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        while poll(&mut watched, None).is_err_and(|error| error == rustix::io::Errno::INTR) {}
        let _ = tell.send(());
    });
    #[cfg(not(unix))]
    std::mem::forget(tell);
    closed
}

fn print(context: &mut Context, entry: &HistoryEntry<'_>) -> Result<(), Failure> {
    if context.json {
        return context.out.json(entry);
    }
    let line = in_a_line(entry)?;
    context.out.row(line)
}

/// An entry for people, on one line.
pub(crate) fn in_a_line(entry: &HistoryEntry<'_>) -> Result<String, Failure> {
    let HistoryEntry { version, time, actor, kind, data, .. } = entry;
    let fact = Kind::from_text(kind).map(|kind| Entry::decode(kind, Kind::FORMAT, data.get().as_bytes()));
    let what = match fact {
        Some(Ok(fact)) => in_words(fact),
        Some(Err(damaged)) => {
            let detail = format!("entry {version} cannot be read: {damaged}");
            return Err(Problem::new(Status::Internal, ErrorCode::StoreDamaged, detail).into());
        }
        // A server that is newer than this program.
        None => brief(data.get(), ENTRY_SHOWN_MAX),
    };
    let (actor, kind) = (visible(&actor.name), visible(kind));
    Ok(format!("{version:>6}  {}  {actor}  {kind}  {what}", moment(*time)))
}

fn scope(scope: &[threadkeep::Capability]) -> String {
    scope.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn in_words(fact: Entry) -> String {
    match fact {
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
        Entry::RolledBack(RolledBack { to, undo, walk }) => {
            let how = if undo { " (undo)" } else { walk.map_or("", |_| " (redo)") };
            format!("to version {to}{how}")
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
        Entry::ToolQueued(queued) => {
            format!("{} {}", visible(&queued.tool), brief(queued.args.as_str(), ENTRY_SHOWN_MAX))
        }
        Entry::ToolTaken(taken) => taken.item.to_string(),
        Entry::MessageDelivered(delivered) => in_brief(&delivered.message, ENTRY_SHOWN_MAX),
        Entry::ExecutionBegan(began) => began.execution.id.to_string(),
        Entry::ExecutionStepped(stepped) => stepped.id.to_string(),
        Entry::ExecutionEnded(ended) => format!("{} {}", ended.id, RunOutcome::from(ended.status).as_str()),
        Entry::RunStarted(started) => format!("{} attempt {}", started.run.id, started.run.attempt),
        Entry::RunStepped(stepped) => stepped.run.id.to_string(),
        Entry::RunStopAsked(asked) => asked.run.id.to_string(),
        Entry::RunTurnAsked(asked) => {
            let side = asked.run.sides.and_then(|sides| sides.asked).map(RunSide::as_str).unwrap_or_default();
            format!("{} {side}", asked.run.id).trim_end().to_owned()
        }
        Entry::RunWoken(woken) => woken.run.id.to_string(),
        Entry::RunEnded(ended) => {
            let why = ended.reason.as_deref().unwrap_or_default();
            format!("{} {} {why}", ended.run.id, ended.status.as_str()).trim_end().to_owned()
        }
        Entry::SkillActivated(activated) => brief(&activated.name, ENTRY_SHOWN_MAX),
        Entry::AgentAssigned(assigned) => {
            brief(assigned.state.agent_id.as_deref().unwrap_or("nobody"), ENTRY_SHOWN_MAX)
        }
        Entry::ChildChanged(child) => {
            brief(&format!("{} {}: {}", child.reference, child.name, child.status), ENTRY_SHOWN_MAX)
        }
        Entry::ChildRemoved(removed) => removed.reference.to_string(),
        Entry::LifecycleChanged(changed) => {
            let reason = changed.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let (from, to) = (changed.from.as_str(), changed.to.as_str());
            brief(&format!("from {from} to {to}{reason}"), ENTRY_SHOWN_MAX)
        }
        Entry::Injected(injected) => {
            let (kind, urgency) = (injected.kind.as_str(), injected.urgency.as_str());
            brief(&format!("{} {kind}, {urgency}: {}", injected.id, injected.content.as_str()), ENTRY_SHOWN_MAX)
        }
        Entry::InjectionTaken(taken) => taken.id.to_string(),
        Entry::EffectScheduled(scheduled) => {
            let (id, name, args) = (scheduled.id, &scheduled.name, visible(scheduled.args.as_str()));
            brief(&format!("{id} {name} {args}, due {}", moment(scheduled.at)), ENTRY_SHOWN_MAX)
        }
        Entry::EffectClaimed(claimed) => format!("{} attempt {}", claimed.id, claimed.attempt),
        Entry::EffectEnded(ended) => {
            let why = ended.error.map(|error| format!(": {}", visible(&error))).unwrap_or_default();
            brief(&format!("{} {}{why}", ended.id, ended.outcome.as_str()), ENTRY_SHOWN_MAX)
        }
        Entry::ContextSummarized(told) => {
            let covered = counted(told.covers.count, "message", "messages");
            brief(&format!("{covered}: {}", visible(&told.text)), ENTRY_SHOWN_MAX)
        }
        Entry::Decided(decided) => brief(&format!("{} {}", decided.question.trim(), decided.answer), ENTRY_SHOWN_MAX),
        Entry::Merged(merged) => {
            let from: Vec<String> = merged.sources.iter().map(|source| source.thread_id.to_string()).collect();
            brief(&format!("{} {} from {}", merged.id, merged.status.as_str(), from.join(", ")), ENTRY_SHOWN_MAX)
        }
        Entry::Referenced(referenced) => format!("{} {}", referenced.binding.as_str(), referenced.target),
        Entry::ApprovalRequested(asked) => brief(&format!("{} {}", asked.id, scope(&asked.scope)), ENTRY_SHOWN_MAX),
        Entry::ApprovalAnswered(answered) => {
            let timed_out = if answered.timed_out { " (timed out)" } else { "" };
            format!("{} {}{timed_out}", answered.approval.id, answered.state.as_str())
        }
        Entry::Delegated(given) => {
            let to = given.to.as_deref().unwrap_or("every agent");
            brief(&format!("{} {} to {to}", given.id, scope(&given.scope)), ENTRY_SHOWN_MAX)
        }
        Entry::DelegationRevoked(revoked) => revoked.id.to_string(),
        Entry::Observed(added) => format!("{} {}", added.id, added.target),
        Entry::ObserverRemoved(removed) => removed.id.to_string(),
        Entry::OwnerChanged(changed) => {
            brief(&format!("from {} to {}", changed.from.as_str(), changed.to.as_str()), ENTRY_SHOWN_MAX)
        }
        Entry::FilesChanged(FilesChanged { changes, restored, .. }) => {
            let said: Vec<String> = changes.iter().take(FILES_SHOWN_MAX).map(in_short).collect();
            let more = changes.len().saturating_sub(FILES_SHOWN_MAX);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let restored = restored.map(|to| format!(" (as at version {to})")).unwrap_or_default();
            brief(&format!("{}{more}{restored}", said.join(", ")), ENTRY_SHOWN_MAX)
        }
        Entry::EnvChanged(changed) => {
            let said = changed.changes.iter().map(|change| match &change.variable {
                Some(variable) => format!("{} set ({})", change.name, variable.kind.as_str()),
                None => format!("{} removed", change.name),
            });
            brief(&said.collect::<Vec<_>>().join(", "), ENTRY_SHOWN_MAX)
        }
        Entry::ValuesChanged(ValuesChanged { changes }) => {
            let said = changes.iter().map(|change| match &change.value {
                Some(value) => format!("{} = {}", change.key, value.as_str()),
                None => format!("{} taken away", change.key),
            });
            brief(&said.collect::<Vec<_>>().join(", "), ENTRY_SHOWN_MAX)
        }
    }
}

fn in_short(change: &FileChange) -> String {
    match change {
        FileChange::Write { path, file } => format!("wrote {path} ({})", counted(file.size, "byte", "bytes")),
        FileChange::Remove { path } => format!("removed {path}"),
        FileChange::MakeDirectory { path } => format!("made {path}/"),
        FileChange::RemoveDirectory { path } => format!("removed {path}/"),
    }
}
