//! The application: what all handlers share, and the list of routes.

use std::time::Duration;

use axum::Router;
use threadkeep::Engine;

use crate::access::Keys;
use crate::routes;

/// What all handlers share.
#[derive(Clone)]
pub struct App {
    /// The threads.
    pub engine: Engine,
    /// Who may ask.
    pub keys: Keys,
    /// Sizes and times.
    pub settings: Settings,
}

/// Sizes and times, with their defaults.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Most bytes of a body: 32 MiB.
    pub body_bytes_max: usize,
    /// How often a stream says that it is still there: 15 s.
    pub heartbeat: Duration,
    /// How long a stream's socket may take nothing: 30 s.
    pub stalled_max: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { body_bytes_max: 32 << 20, heartbeat: Duration::from_secs(15), stalled_max: Duration::from_secs(30) }
    }
}

impl App {
    /// The routes, ready to be served.
    pub fn router(self) -> Router {
        routes::all().with_state(self)
    }
}
