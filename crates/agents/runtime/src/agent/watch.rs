//! What others do to a run while an attempt works on it.

use std::time::Duration;

use threadkeep_engine::{Engine, Error, Owned, Subscription};
use threadkeep_model::{Entry, Kind, ThreadId, Urgency, Uuid, Version};

/// The pause after a read that failed.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Why an attempt does not go on as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// Somebody asked that the run stop.
    Stop,
    /// The run ended, another attempt has it, or the lease of this process ended: nothing more is written.
    Over,
    /// An injection came that does not wait for the next step.
    Injected,
}

/// Follows the log of a thread for what concerns one attempt.
pub(super) struct Watch {
    log: Subscription,
    owned: Owned,
    run: Uuid,
    attempt: u64,
    /// What ends the attempt, once it happened.
    ends: Option<Why>,
}

impl Watch {
    /// Follows `thread` after `version`, at which the attempt began.
    pub(super) async fn new(
        engine: &Engine,
        (thread, version): (ThreadId, Version),
        (run, attempt): (Uuid, u64),
        owned: Owned,
    ) -> Result<Self, Error> {
        Ok(Self { log: engine.subscribe(thread, version).await?, owned, run, attempt, ends: None })
    }

    /// What already happened; none if the attempt goes on. What ends it is told each time, an injection once.
    pub(super) async fn so_far(&mut self) -> Result<Option<Why>, Error> {
        if self.owned.is_lost() {
            self.ends = Some(Why::Over);
        }
        let mut injected = None;
        while self.ends != Some(Why::Over) {
            match self.log.next_so_far().await {
                Ok(Some(entry)) => match self.read(entry.kind, || entry.entry())? {
                    Some(Why::Injected) => injected = Some(Why::Injected),
                    why => self.ends = why.or(self.ends),
                },
                Ok(None) => break,
                Err(Error::ThreadNotFound { .. }) => self.ends = Some(Why::Over),
                Err(error) => return Err(error),
            }
        }
        Ok(self.ends.or(injected))
    }

    /// Resolves once something happens. Cancelling it loses nothing.
    pub(super) async fn next(&mut self) -> Why {
        loop {
            if let Some(ends) = self.ends {
                return ends;
            }
            let owned = self.owned.clone();
            let entry = tokio::select! {
                () = owned.lost() => Ok(None),
                entry = self.log.next() => entry,
            };
            let why = match entry {
                // An entry that cannot be read is told by the next commit.
                Ok(Some(entry)) => self.read(entry.kind, || entry.entry()).unwrap_or(Some(Why::Over)),
                Ok(None) => Some(Why::Over),
                Err(_) => {
                    tokio::time::sleep(AFTER_FAILURE).await;
                    None
                }
            };
            match why {
                Some(Why::Injected) => return Why::Injected,
                ends => self.ends = ends,
            }
        }
    }

    fn read(&self, kind: Kind, entry: impl FnOnce() -> Result<Entry, Error>) -> Result<Option<Why>, Error> {
        match kind {
            Kind::RunStarted | Kind::RunStopAsked | Kind::RunEnded | Kind::Injected => {}
            Kind::RolledBack | Kind::Truncated => return Ok(Some(Why::Over)),
            _ => return Ok(None),
        }
        Ok(match entry()? {
            Entry::RunStarted(started) if started.run.id == self.run && started.run.attempt == self.attempt => None,
            Entry::RunStarted(_) => Some(Why::Over),
            Entry::RunStopAsked(asked) if asked.run.id == self.run => Some(Why::Stop),
            Entry::RunEnded(ended) if ended.run.id == self.run => Some(Why::Over),
            Entry::Injected(injected) if injected.urgency == Urgency::Immediate => Some(Why::Injected),
            _ => None,
        })
    }
}
