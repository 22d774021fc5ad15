//! The time of the server, by which everything on a shared store is due or expires.
//!
//! A process asks the server for its time now and then, and counts on from the answer with a clock that nobody can set.
//! So the wall clocks of the processes do not matter, and none of them is ahead of the server.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use threadkeep_model::Timestamp;
use tokio_postgres::GenericClient;

/// Whose clock says what is due and what has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The server's, so that it does not matter when the clocks of the machines differ.
    #[default]
    Server,
    /// The caller's, for simulated time.
    Caller,
}

/// The server's time in microseconds, as SQL.
pub(crate) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// The server's time, counted on from its last answer.
pub(crate) struct StoreTime(Mutex<Answer>);

#[derive(Clone, Copy)]
struct Answer {
    micros: i64,
    /// When it arrived. The server gave it before, so what is counted from here is never ahead of the server.
    arrived: Instant,
}

impl Answer {
    fn at(self, instant: Instant) -> i64 {
        let since = instant.saturating_duration_since(self.arrived);
        self.micros.saturating_add(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

impl StoreTime {
    /// Asks for the time.
    pub(crate) async fn ask(client: &(impl GenericClient + Sync)) -> Result<Self, tokio_postgres::Error> {
        let micros = client.query_one(&format!("SELECT {NOW}"), &[]).await?.try_get(0)?;
        Ok(Self(Mutex::new(Answer { micros, arrived: Instant::now() })))
    }

    /// Takes an answer to a question that was asked at `asked`.
    pub(crate) fn told(&self, micros: i64, asked: Instant) {
        let arrived = Instant::now();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = last.at(arrived);
        // A slow answer is old when it arrives. What was counted holds, unless it cannot be true, so that time does not
        // jump to and fro.
        let travelled = i64::try_from((arrived - asked).as_micros()).unwrap_or(i64::MAX);
        if !(micros..=micros.saturating_add(travelled)).contains(&counted) {
            *last = Answer { micros, arrived };
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Timestamp::from_micros(last.at(Instant::now()))
    }
}

/// How often the time is asked for, while nothing else is asked.
pub(crate) const ASKED_EVERY: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_follows_the_server_and_is_never_ahead_of_it() {
        let hour = 3_600_000_000;
        let began = Instant::now();
        let time = StoreTime(Mutex::new(Answer { micros: 10 * hour, arrived: began }));
        // An answer that took long is old: what was counted is within the time that it took.
        time.told(10 * hour - 1_000, began.checked_sub(Duration::from_secs(1)).expect("an instant"));
        assert!(time.now().as_micros() >= 10 * hour);
        for micros in [11 * hour, 9 * hour] {
            time.told(micros, Instant::now());
            let now = time.now().as_micros();
            assert!((micros..micros + hour / 2).contains(&now), "the server was set to {micros}, and we have {now}");
        }
    }
}
