//! A world whose clock is set by hand: threads that are spread over days in real life are made in seconds here.

use std::sync::atomic::{AtomicI64, Ordering};

use threadkeep::{SystemWorld, Timestamp, World};

/// A clock that moves on by the same step at each reading.
pub(crate) struct SteppingWorld {
    now_micros: AtomicI64,
    step_micros: i64,
}

impl SteppingWorld {
    /// From a whole minute on, by `step_micros` a look.
    pub(crate) fn by(step_micros: i64) -> Self {
        const A_WHOLE_MINUTE: i64 = 1_800_000_000_000_000;
        Self { now_micros: AtomicI64::new(A_WHOLE_MINUTE), step_micros }
    }
}

impl World for SteppingWorld {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.now_micros.fetch_add(self.step_micros, Ordering::Relaxed))
    }

    fn chance(&self) -> u128 {
        SystemWorld.chance()
    }
}
