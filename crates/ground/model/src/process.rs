//! The process that owns work: a lease with an end, whose id fences off earlier owners.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Uuid;

/// The lease of a process: while it holds, the process owns the work that names it, such as claims of effects.
///
/// It is drawn anew for each lease, and a lease that ended never comes back. So it is the fencing token as well: a store
/// refuses a commit whose [`owner`](crate::Commit::owner) has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcessId(pub Uuid);

impl ProcessId {
    /// How long the lease of a process lasts after each sign of life.
    pub const TTL_MICROS: i64 = 6 * 1_000_000;
    /// The longest lease of a process. One that ends later was written by another clock, and does not hold.
    pub const TTL_MICROS_MAX: i64 = 60 * 1_000_000;
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
