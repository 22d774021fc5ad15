//! Threads over HTTP: routes, streams, and who may do what.
//!
//! A handler parses a request, asks [`Access`](access::Access) for an engine that acts for whoever asks, carries out one
//! operation, and prints what came of it. It decides nothing: rules are in the engine, JSON shapes in `api`.

mod access;
mod answer;
mod app;
mod conditions;
mod docs;
mod edge;
mod folder;
mod following;
mod guard;
mod input;
mod jwt;
mod keys;
mod leftover;
mod local;
mod log;
mod metrics;
mod openapi;
mod patient;
mod ranges;
mod routes;
mod serve;
mod sessions;
mod start;
mod stream;
mod table;
mod tickets;
mod validate;
mod webhooks;

pub use app::{App, Settings};
pub use jwt::JwtSettings;
pub use keys::Keys;
pub use local::Local;
pub use serve::Connections;
pub use start::{Start, Started};
pub use validate::ValidationSettings;
pub use webhooks::WebhookSettings;
