//! Retries while a server or a store is away, such as during a restart, for commands that can go on by
//! themselves.

use std::time::{Duration, Instant};

use clap::Args;
use threadkeep_client::Error;

use crate::duration::duration;
use crate::failure::note;

/// The pause after the first attempt; each one is twice as long as the one before…
const PAUSE_MS: u64 = 50;
const PAUSE_MS_MAX: u64 = 1_000;

/// How long to go on when the server or the store is away.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Retry {
    /// How long to go on trying when the store is away, such as 500ms, 30s or 5m; with 0 it ends at once
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    retry_for: Duration,
}

impl Retry {
    /// Attempts until the store is there, or has been away for too long. That it is away is said once.
    ///
    /// An attempt that failed may have been carried out all the same: `attempt` has to be safe to repeat.
    pub(crate) async fn until_there<T>(self, mut attempt: impl AsyncFnMut() -> Result<T, Error>) -> Result<T, Error> {
        let mut away_since = None;
        let mut pause = Duration::from_millis(PAUSE_MS);
        loop {
            let result = attempt().await;
            let who = match &result {
                Err(Error::Refused(_)) => "store",
                _ => "server",
            };
            if !result.as_ref().is_err_and(Error::is_away) {
                return result;
            }
            let is_first = away_since.is_none();
            let away = away_since.get_or_insert_with(Instant::now).elapsed();
            if away >= self.retry_for {
                return result;
            }
            if is_first {
                note(&format!("the {who} is away: trying again for up to {:?}", self.retry_for));
            }
            tokio::time::sleep(pause.min(self.retry_for - away)).await;
            pause = (2 * pause).min(Duration::from_millis(PAUSE_MS_MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away() -> Error {
        Error::Unreachable { server: "here".into(), what: "gone".into() }
    }

    /// The result after this many failing attempts, and how many there were.
    fn attempts(failing: usize, retry_for: Duration) -> (Result<(), Error>, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let mut made = 0;
        let attempt = async || {
            made += 1;
            if made <= failing { Err(away()) } else { Ok(()) }
        };
        let result = runtime.block_on(Retry { retry_for }.until_there(attempt));
        (result, made)
    }

    #[test]
    fn it_goes_on_until_the_store_is_there() {
        let (result, made) = attempts(2, Duration::from_secs(60));
        assert!(result.is_ok());
        assert_eq!(made, 3);
    }

    #[test]
    fn it_gives_up_in_the_end_and_at_once_if_it_shall_not_wait() {
        let (result, made) = attempts(usize::MAX, Duration::ZERO);
        assert!(result.is_err());
        assert_eq!(made, 1);
        let (result, made) = attempts(usize::MAX, Duration::from_millis(60));
        assert!(result.is_err());
        assert!(made > 1);
    }
}
