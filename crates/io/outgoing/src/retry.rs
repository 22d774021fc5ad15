//! How long to repeat a request, and how long to wait between two attempts.

use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use tokio::time::Instant;

/// When to try again. A request that cannot be repeated safely is sent once in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How long to go on after the first failure: 15 s. Zero means that every request is sent once.
    pub give_up_after: Duration,
    /// The longest pause after the first attempt: 50 ms. Each pause is twice as long as the one before.
    pub first_pause: Duration,
    /// The longest pause after any attempt: 2 s.
    pub longest_pause: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            give_up_after: Duration::from_secs(15),
            first_pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(2),
        }
    }
}

impl Retry {
    /// Every request is sent once.
    pub fn never() -> Self {
        Self { give_up_after: Duration::ZERO, ..Self::default() }
    }
}

/// The pauses between the attempts of one request. They grow, and differ by chance.
#[derive(Debug, Clone)]
pub struct Pauses {
    retry: Retry,
    began: Option<Instant>,
    next: Duration,
}

impl Pauses {
    /// The pauses of a request that has not failed yet.
    pub fn new(retry: Retry) -> Self {
        Self { retry, began: None, next: retry.first_pause }
    }

    /// How long to wait before the next attempt, at least as long as the server asked for; none if there is no time left.
    pub fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        let away = self.began.get_or_insert_with(Instant::now).elapsed();
        let left = self.retry.give_up_after.checked_sub(away).filter(|left| !left.is_zero())?;
        // Half of it by chance, so that clients that failed together do not come back together.
        let chance = f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX);
        let pause = self.next.mul_f64(0.5 + chance / 2.0);
        self.next = (2 * self.next).min(self.retry.longest_pause);
        match asked {
            Some(asked) if asked > left => None,
            Some(asked) => Some(pause.max(asked)),
            None => Some(pause.min(left)),
        }
    }
}

/// The time that an answer asks the client to wait (`Retry-After` in seconds).
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound_and_end_in_time() {
        let mut pauses = Pauses::new(Retry::default());
        let told: Vec<Duration> = (0..10).map(|_| pauses.next(None).expect("there is time")).collect();
        for (at, pause) in told.iter().enumerate() {
            let most = Duration::from_millis(50 << at).min(Duration::from_secs(2));
            assert!(*pause <= most && *pause >= most / 2, "{told:?}");
        }
        assert_eq!(Pauses::new(Retry::never()).next(None), None);
    }

    #[test]
    fn a_server_that_asks_for_time_gets_it_unless_that_is_too_long() {
        let mut pauses = Pauses::new(Retry::default());
        assert_eq!(pauses.next(Some(Duration::from_secs(3))), Some(Duration::from_secs(3)));
        assert_eq!(pauses.next(Some(Duration::from_secs(3_600))), None);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_end_when_the_time_is_over() {
        let mut pauses = Pauses::new(Retry::default());
        assert!(pauses.next(None).is_some());
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(pauses.next(None), None);
    }

    #[test]
    fn retry_after_is_a_number_of_seconds() {
        let asked = |value: &str| retry_after(&[(RETRY_AFTER, value.parse().expect("a value"))].into_iter().collect());
        assert_eq!(asked(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!([asked("soon"), asked("-1"), retry_after(&HeaderMap::new())], [None, None, None]);
    }
}
