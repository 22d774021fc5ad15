//! Simulated worlds: whole histories by seed, checked against a small model.
//!
//! [`Chance`] and [`SimWorld`] make time and chance repeatable. [`Model`] is the expected state of a thread, as
//! simple as possible. [`Faulty`] is a store that fails on demand. [`simulate`] runs a random history on a real
//! store and compares after every step.

mod chance;
mod compare;
mod faulty;
mod holdings;
mod lists;
mod merging;
mod model;
mod operations;
mod run;

pub use chance::{Chance, SimWorld};
pub use faulty::{Faults, Faulty};
pub use model::{Item, Model, ModelMerge, ModelThread};
pub use run::{Plan, Where, simulate};
