//! How fast requests follow each other, and how long to wait after a failure.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The longest pause after the first failure; each is twice as long as the one before…
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// …up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
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

/// The pauses of one request.
pub(super) struct Pauses {
    give_up_after: Duration,
    began: Option<Instant>,
    next: Duration,
}

impl Pauses {
    pub(super) fn new(give_up_after: Duration) -> Self {
        Self { give_up_after, began: None, next: FIRST_PAUSE }
    }

    /// How long to wait before the next attempt, at least as long as was asked for; none if it is too late.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        let away = self.began.get_or_insert_with(Instant::now).elapsed();
        let left = self.give_up_after.checked_sub(away).filter(|left| !left.is_zero())?;
        // Half of it by chance, so that those who failed together do not come back together.
        let chance = f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX);
        let pause = self.next.mul_f64(0.5 + chance / 2.0);
        self.next = (2 * self.next).min(LONGEST_PAUSE);
        match asked {
            Some(asked) if asked > left => None,
            Some(asked) => Some(pause.max(asked)),
            None => Some(pause.min(left)),
        }
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

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_and_end_and_heed_what_was_asked() {
        let mut pauses = Pauses::new(Duration::from_secs(60));
        let first = pauses.next(None).expect("there is time");
        assert!(first <= FIRST_PAUSE && first >= FIRST_PAUSE / 2);
        assert_eq!(pauses.next(Some(Duration::from_secs(9))), Some(Duration::from_secs(9)));
        assert_eq!(pauses.next(Some(Duration::from_secs(61))), None);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(pauses.next(None), None);
    }
}
