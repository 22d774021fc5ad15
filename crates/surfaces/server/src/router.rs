//! The application with its routes, ready to be served.

use axum::Router;

use crate::app::App;
use crate::{edge, routes};

impl App {
    /// The routes, ready to be served.
    pub fn router(self) -> Router {
        let edge = axum::middleware::from_fn_with_state(self.clone(), edge::edge);
        routes::all().layer(edge).with_state(self)
    }
}
