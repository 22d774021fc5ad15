//! An engine in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use threadkeep_engine::{Engine, Limits, World};
use threadkeep_model::Timestamp;
use threadkeep_store::{MemoryStore, Stores};

/// Chance and time that count up.
struct Counted(AtomicU64);

impl World for Counted {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000 + self.0.fetch_add(1, Ordering::Relaxed) as i64)
    }

    fn chance(&self) -> u128 {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        u128::from(number) << 64 | u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

pub(crate) fn engine() -> Engine {
    Engine::new(Stores::of(MemoryStore::new()), Arc::new(Counted(AtomicU64::new(1))), Limits::default())
}
