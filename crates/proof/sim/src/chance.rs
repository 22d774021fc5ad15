//! Time and chance that repeat by their seed.

use std::sync::Mutex;

use threadkeep::{Timestamp, World};

/// A stream of numbers that looks random and repeats by its seed (splitmix64).
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Gives the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.bits() % end }
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `choices`, if there are any.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let at = self.below(choices.len() as u64) as usize;
        choices.get(at)
    }
}

/// A world with its own clock, which moves a little with every look, and its own chance.
#[derive(Debug)]
pub struct SimWorld(Mutex<(i64, Chance)>);

impl SimWorld {
    /// The world of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new((1_700_000_000_000_000, Chance::new(seed ^ 0x5eed))))
    }

    fn with<T>(&self, look: impl FnOnce(&mut (i64, Chance)) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

impl World for SimWorld {
    fn now(&self) -> Timestamp {
        self.with(|(time, chance)| {
            // Mostly a little, sometimes not at all, sometimes a step back as clocks do, sometimes a long while.
            *time += match chance.below(20) {
                0 => 0,
                1 => -3_000_000,
                2 => 90_000_000,
                _ => 1_000,
            };
            Timestamp::from_micros(*time)
        })
    }

    fn chance(&self) -> u128 {
        self.with(|(_, chance)| u128::from(chance.bits()) << 64 | u128::from(chance.bits()))
    }
}
