//! Brings the conversations of other agents into a store: finds their files, reads them, and writes threads.
//!
//! `places` finds files, `reader` reads them in a thread of its own, `writer` plans their threads, and `carry` makes them.
//! The store says what is there already (`family`); the `ledger` only says which files need not be read again.

mod body;
mod carry;
mod family;
mod keys;
mod ledger;
mod places;
mod private_copy;
mod reader;
mod records;
mod run;
mod server;
mod shown;
mod writer;

pub use ledger::Ledger;
pub use places::{Found, Home, Search, search};
pub use run::{Failed, Options, Received, import};
pub use server::{is_server, server};
pub use shown::session_of;
