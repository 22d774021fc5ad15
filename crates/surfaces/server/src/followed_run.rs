//! A run as the source of a stream.

use threadkeep::{Account, Engine, Error, RunStream, ThreadId};

use crate::told::Told;

/// A run that a stream follows.
pub(crate) struct Run {
    engine: Engine,
    thread: ThreadId,
    epoch: u64,
    stream: RunStream,
    reads: u64,
}

impl Run {
    /// Follows `stream`, whose ids begin with `epoch`.
    pub(crate) fn new(engine: Engine, epoch: u64, stream: RunStream) -> Self {
        Self { engine, thread: stream.thread(), epoch, stream, reads: 0 }
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Told>, Error> {
        let Some(news) = self.stream.next().await? else { return Ok(None) };
        self.reads += 1;
        let id = news.sequence.map(|sequence| format!("{:x}.{sequence}", self.epoch));
        let data = serde_json::to_string(&news.event).unwrap_or_else(|_| "{}".to_owned());
        Ok(Some(Told::new(id.as_deref(), news.event.name(), &data)))
    }

    pub(crate) fn account(&self) -> &Account {
        &self.engine.caller().account
    }

    pub(crate) fn reads(&self) -> u64 {
        self.reads
    }

    /// Whether the reader may still follow: it owns the thread.
    pub(crate) async fn may_go_on(&self) -> bool {
        !matches!(self.engine.thread(self.thread).await, Err(Error::ThreadNotFound { .. }))
    }
}
