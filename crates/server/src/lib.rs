//! Threads over HTTP: routes, streams, and who may do what.
//!
//! A handler parses a request, asks [`Access`](access::Access) for an engine that acts for whoever asks, carries out one
//! operation, and prints what came of it. It decides nothing: rules are in the engine, JSON shapes in `api`.

mod access;
mod answer;
mod app;
mod input;
mod routes;
mod serve;
mod stream;

pub use access::{Key, Keys, Scope};
pub use app::{App, Settings};
pub use serve::{Connections, Peer, serve};
