//! Time and chance, handed in, so that any run can be replayed by its seed.

use threadkeep_model::Timestamp;

/// Where time and chance come from.
pub trait World: Send + Sync {
    /// The time of this machine. What is due or expires goes by [`Engine::now`](crate::Engine::now).
    fn now(&self) -> Timestamp;

    /// Gives 128 random bits.
    fn chance(&self) -> u128;
}
