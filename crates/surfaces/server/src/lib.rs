//! Threads over HTTP: routes, streams, and access.
//!
//! One handler serves every call of the list ([`calls`]): it reads the key, the envelope and the parameters, has the
//! engine carry the call out, and writes the answer down. Streams, file contents, exports and sign-in have handlers of
//! their own. None of them decides anything: rules are in the engine, JSON shapes in the calls.

mod access;
mod account_feed;
mod answer;
mod app;
mod background;
mod calls;
mod conditions;
mod edge;
mod folder;
mod followed_run;
mod following;
mod for_models;
mod front;
mod guard;
mod input;
mod jwt;
mod keys;
mod leftover;
mod local;
mod log;
mod metrics;
mod patient;
mod ranges;
mod residence;
mod router;
mod routes;
mod runs;
mod serve;
mod sessions;
mod start;
mod stream;
mod surface;
mod table;
mod tickets;
mod told;
mod validate;
mod web;
mod webhooks;

pub use app::{App, Settings};
pub use jwt::JwtSettings;
pub use keys::Keys;
pub use local::Local;
pub use serve::Connections;
pub use start::{Cells, Start, Started};
pub use validate::ValidationSettings;
pub use webhooks::WebhookSettings;
