//! Time and chance, handed in, so that any run can be replayed by its seed.

use threadkeep_model::Timestamp;

/// Where time and chance come from.
pub trait World: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// 128 random bits.
    fn chance(&self) -> u128;
}
