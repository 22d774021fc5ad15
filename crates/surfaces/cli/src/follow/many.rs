//! `tail` over several threads, or those of a project: one stream, with a cursor of its own.

use std::collections::HashMap;

use serde::Serialize;
use threadkeep::{Invalid, Limits, Position, ThreadId, Timestamp, Version};
use threadkeep_calls::{At, GetHistory, HistoryEntry, ListThreads};
use threadkeep_client::{After as From, News, Retry as Again};

use super::{After, in_a_line, next_news, over};
use crate::context::Context;
use crate::failure::Failure;
use crate::pages::all;
use crate::retry::Retry;

/// Which threads, and how they are followed.
pub(crate) struct Many {
    pub(crate) threads: Vec<ThreadId>,
    /// Those of this project instead.
    pub(crate) project_id: Option<String>,
    pub(crate) after: After,
    pub(crate) retry: Retry,
}

/// An entry, with its place.
#[derive(Serialize)]
struct Told<'a, T> {
    cursor: Option<&'a str>,
    #[serde(flatten)]
    news: T,
}

/// A thread that came into being, or was deleted.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfThread {
    thread_id: ThreadId,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Timestamp>,
}

impl Many {
    pub(crate) async fn follow(self, context: &mut Context) -> Result<(), Failure> {
        let after = match &self.after {
            After::Number(0) => From::Start,
            After::Latest | After::Last(_) => From::Latest,
            After::Cursor(cursor) => From::Cursor(cursor.clone()),
            After::Number(_) => {
                let rule = "is a version, which one thread has; many are followed after a cursor, or latest";
                return Err(Invalid::parameter("after", rule).into());
            }
        };
        let client = context.client.retrying(Again::never());
        let mut stream = match &self.project_id {
            Some(project) => client.stream_of_project(project, after),
            None => client.stream_of_threads(&self.threads, after),
        };
        let mut seen = HashMap::new();
        if let After::Last(count) = self.after {
            // What comes while the past is read is not missed: the stream is open by then.
            self.retry.until_there(async || stream.open().await).await?;
            seen = self.past(context, count).await?;
        }
        let mut over = std::pin::pin!(over());
        loop {
            let next = tokio::select! {
                // Entries that are ready go first; only missing ones are waited for.
                biased;
                next = next_news(self.retry, context, &mut stream) => next?,
                () = &mut over => return Ok(()),
            };
            match next {
                Some(News::Entry(entry)) if seen.get(&entry.thread_id).is_some_and(|seen| entry.version <= *seen) => {}
                Some(news) => print(context, stream.cursor(), news)?,
                None => return Ok(()),
            }
        }
    }
}

impl Many {
    /// Prints the last `count` entries of all the threads together, and gives the version of each.
    async fn past(&self, context: &mut Context, count: u64) -> Result<HashMap<ThreadId, Version>, Failure> {
        let mut threads = self.threads.clone();
        if let Some(project) = &self.project_id {
            let client = &context.client;
            let read = async |cursor| {
                let which = ListThreads { project_id: Some(project.clone()), cursor, ..Default::default() };
                client.call(At::none(), which).await
            };
            threads.extend(all(read).await?.iter().map(|thread| thread.id));
        }
        let (mut seen, mut entries) = (HashMap::new(), Vec::new());
        let limit = usize::try_from(count).unwrap_or(usize::MAX).clamp(1, Limits::default().page_max);
        for thread in threads {
            let head = context.client.thread(thread).await?.v;
            let after = Position(head.0.saturating_sub(limit as u64));
            let page = context.client.call(thread, GetHistory { after: Some(after), limit: Some(limit) }).await?;
            seen.insert(thread, page.items.iter().map(|entry| entry.version).max().unwrap_or(head).max(head));
            entries.extend(page.items);
        }
        entries.sort_by_key(|entry| entry.time);
        let passed = entries.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
        for entry in entries.into_iter().skip(passed) {
            print(context, None, News::Entry(Box::new(entry)))?;
        }
        Ok(seen)
    }
}

fn print(context: &mut Context, cursor: Option<&str>, news: News) -> Result<(), Failure> {
    let of_thread = match news {
        News::Entry(entry) if context.json => {
            return context.out.json(&Told::<&HistoryEntry<'_>> { cursor, news: &entry });
        }
        News::Entry(entry) => {
            let line = in_a_line(&entry)?;
            return context.out.row(format!("{}  {line}", entry.thread_id.short()));
        }
        News::Created { thread_id, time } => OfThread { thread_id, kind: "thread_created", time: Some(time) },
        News::Deleted { thread_id } => OfThread { thread_id, kind: "thread_deleted", time: None },
        // Events that are not logged have no place in a history.
        News::Emitted(_) | News::Missed(_) | News::Other { .. } => return Ok(()),
    };
    if context.json {
        return context.out.json(&Told { cursor, news: of_thread });
    }
    context.out.line(format!("{}  {}", of_thread.thread_id.short(), of_thread.kind))
}
