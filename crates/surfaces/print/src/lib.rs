//! Prints the calls for programs in other languages: types, one method a call, and the facts that a client needs.
//!
//! The source is `spec/openapi.json`, which is printed from the table of calls, with what only the table knows: whether
//! a call may be repeated. Output is committed, and the tests compare it.

mod calls;
pub mod python;
pub mod typescript;
mod words;

pub(crate) use calls::rooms;
pub use calls::{Call, Parameter, calls};
