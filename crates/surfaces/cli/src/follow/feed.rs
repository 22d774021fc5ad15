//! `tail` without a thread: everything in the store, as it happens. It reads the store's own feed, which no route
//! gives.

use threadkeep::{
    Engine, Error, FeedCursor, FeedItem, FeedNews, FeedReader, HistoryEntry, Invalid, MessageId, ThreadId, Timestamp,
};
use threadkeep_calls::{FeedEntry, Problem};
use threadkeep_client as client;

use super::{After, in_a_line, over};
use crate::context::Context;
use crate::failure::Failure;
use crate::retry::Retry;

/// The feed to follow, and how.
pub(crate) struct Feed {
    pub(crate) after: After,
    pub(crate) no_follow: bool,
    pub(crate) retry: Retry,
}

impl Feed {
    pub(crate) async fn follow(&self, context: &mut Context) -> Result<(), Failure> {
        let engine = context.engine("tail without a thread")?;
        let after = match self.after {
            After::Latest => engine.feed_latest().await?,
            After::Number(cursor) => FeedCursor(cursor),
            After::Last(count) => before_latest(&engine, count).await?,
            After::Cursor(_) => {
                let rule = "is not a version: everything is followed after a number, or latest";
                return Err(Invalid::parameter("after", rule).into());
            }
        };
        let mut feed = engine.feed(after).await?;
        let mut over = std::pin::pin!(over());
        loop {
            let next = tokio::select! {
                // Items that are ready go first; only missing ones are waited for.
                biased;
                next = self.next_item(context, &engine, &mut feed) => next?,
                () = &mut over => None,
            };
            match next {
                Some((item, Some(news))) => print_news(context, &item, news)?,
                Some((_, None)) => {}
                None => return Ok(()),
            }
        }
    }

    /// The next item, waited for if that is wanted, with its news.
    async fn next_item(
        &self,
        context: &mut Context,
        engine: &Engine,
        feed: &mut FeedReader,
    ) -> Result<Option<(FeedItem, Option<News>)>, Failure> {
        loop {
            if let Some(item) = self.read(context, async || feed.next_so_far().await).await? {
                let news = self.read(context, async || news(engine, &item).await).await?;
                return Ok(Some((item, news)));
            }
            context.out.flush()?;
            if self.no_follow {
                return Ok(None);
            }
            feed.news().await;
        }
    }

    /// Reads, and goes on when the store is away; the output printed so far is flushed meanwhile.
    async fn read<T>(
        &self,
        context: &mut Context,
        mut attempt: impl AsyncFnMut() -> Result<T, Error>,
    ) -> Result<T, client::Error> {
        let attempt = async || {
            let result = attempt().await;
            if result.is_err() {
                // If it cannot be written, the next attempt to write says so.
                drop(context.out.flush());
            }
            result.map_err(|error| client::Error::Refused(Box::new(Problem::from(error))))
        };
        self.retry.until_there(attempt).await
    }
}

/// The place before the last `count` items.
async fn before_latest(engine: &Engine, count: u64) -> Result<FeedCursor, Error> {
    let FeedCursor(latest) = engine.feed_latest().await?;
    Ok(FeedCursor(latest.saturating_sub(count)))
}

/// The news in an item of the feed.
enum News {
    Entry(HistoryEntry),
    Created(Timestamp),
    Deleted,
}

/// The news in an item of the feed; none if the thread is gone, or another item has the same news.
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
            return context.out.json(&FeedEntry::Entry { cursor, entry: entry.shown()? });
        }
        News::Entry(entry) => {
            let line = in_a_line(&entry.shown()?)?;
            return context.out.row(format!("{}  {line}", thread_id.short()));
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
