//! The world as it is: the system's clock and the system's chance.

use std::time::{SystemTime, UNIX_EPOCH};

use threadkeep_engine::World;
use threadkeep_model::Timestamp;

/// The system's clock and the system's chance.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemWorld;

impl World for SystemWorld {
    fn now(&self) -> Timestamp {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        };
        Timestamp::from_micros(micros)
    }

    fn chance(&self) -> u128 {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).expect("the system has a source of chance");
        u128::from_le_bytes(bits)
    }
}
