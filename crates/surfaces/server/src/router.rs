//! The application with its routes, ready to be served.

use axum::Router;

use crate::app::App;
use crate::{edge, routes};

impl App {
    /// The routes, ready to be served.
    pub fn router(self) -> Router {
        let edge = axum::middleware::from_fn_with_state(self.clone(), edge::edge);
        let api = routes::all().layer(edge.clone()).with_state(self.clone());
        let mcp = routes::mcp::route(self, api.clone()).layer(edge);
        api.merge(mcp)
    }
}
