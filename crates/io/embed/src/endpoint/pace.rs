//! How fast requests follow each other.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The part of a minute's requests that may go out at once.
const BURST_SHARE: u32 = 10;

/// Lets so many requests pass in a minute.
#[derive(Debug)]
pub(super) struct Pace {
    apart: Duration,
    burst: Duration,
    /// When the next one would be due if all came evenly.
    due: Mutex<Option<Instant>>,
}

impl Pace {
    pub(super) fn new(per_minute: u32) -> Self {
        let apart = Duration::from_secs(60) / per_minute.max(1);
        Self { apart, burst: apart * (per_minute / BURST_SHARE), due: Mutex::new(None) }
    }

    /// Waits for the next place.
    pub(super) async fn wait(&self) {
        let at = {
            let now = Instant::now();
            let mut next = self.due.lock().unwrap_or_else(PoisonError::into_inner);
            let due = next.map_or(now, |due| due.max(now));
            *next = Some(due + self.apart);
            due.checked_sub(self.burst).unwrap_or(now)
        };
        tokio::time::sleep_until(at).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minute_has_so_many_requests_after_a_burst() {
        let (pace, began) = (Pace::new(60), Instant::now());
        for _ in 0..7 {
            pace.wait().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        for _ in 0..60 {
            pace.wait().await;
        }
        assert_eq!(began.elapsed().as_secs(), 60);
    }
}
