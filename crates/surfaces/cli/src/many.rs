//! `tail` over several threads, or those of a project: one stream, with a cursor of its own.

use serde::Serialize;
use threadkeep::{Invalid, ThreadId, Timestamp};
use threadkeep_calls::HistoryEntry;
use threadkeep_client::{After as From, News, Retry as Again, Stream};

use crate::context::Context;
use crate::failure::Failure;
use crate::follow::{After, in_a_line, next_news, over};
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
            After::Latest => From::Latest,
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
        let mut over = std::pin::pin!(over());
        loop {
            let next = tokio::select! {
                // Entries that are ready go first; only missing ones are waited for.
                biased;
                next = next_news(self.retry, context, &mut stream) => next?,
                () = &mut over => return Ok(()),
            };
            match next {
                Some(news) => print(context, &stream, news)?,
                None => return Ok(()),
            }
        }
    }
}

fn print(context: &mut Context, stream: &Stream, news: News) -> Result<(), Failure> {
    let cursor = stream.cursor();
    let of_thread = match news {
        News::Entry(entry) if context.json => {
            return context.out.json(&Told::<&HistoryEntry<'_>> { cursor, news: &entry });
        }
        News::Entry(entry) => {
            let line = in_a_line(&entry)?;
            return context.out.line(format!("{}  {line}", entry.thread_id.short()));
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
