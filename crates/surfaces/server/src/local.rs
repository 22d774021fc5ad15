//! The same server within a process: no socket, no folder, one key that no other caller has.

use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Request, Response};
use threadkeep::runtime::LocalModels;
use threadkeep::{Engine, sandbox};
use tokio::sync::watch;
use tower::ServiceExt;

use crate::app::{App, Settings};
use crate::keys::Keys;
use crate::start::{Cells, in_cells};
use crate::validate::ValidationSettings;

/// A server that is called, and does not listen. It serves the holder of its key, who may do everything for
/// account `local`.
#[derive(Clone)]
pub struct Local {
    router: Router,
    key: String,
    /// Kept, since streams end when this sender is dropped.
    _running: watch::Sender<bool>,
}

impl Local {
    /// A server on `engine`, with these checks of merges, this cage for code and this folder of definitions. Only the engine's limits bound its requests: they come from
    /// the same process.
    pub fn new(
        engine: Engine,
        validation: ValidationSettings,
        sandbox: sandbox::Settings,
        definitions: Option<PathBuf>,
        local_models: LocalModels,
    ) -> Self {
        Self::with_cells(engine, None, validation, sandbox, definitions, local_models)
    }

    /// The same with several cells: `engine` is that of the home cell.
    pub fn with_cells(
        engine: Engine,
        cells: Option<Cells>,
        validation: ValidationSettings,
        sandbox: sandbox::Settings,
        definitions: Option<PathBuf>,
        local_models: LocalModels,
    ) -> Self {
        let settings = Settings {
            body_bytes_max: usize::MAX,
            body_idle_max: Duration::MAX,
            body_time_max: Duration::MAX,
            search_index: false,
            log: false,
            validation,
            sandbox,
            definitions,
            local_models,
            ..Settings::default()
        };
        let key = Keys::draw_local();
        let running = watch::Sender::new(false);
        let keys = Keys::new(engine.clone(), Some(&key));
        let app = App::new(engine, keys, settings, running.subscribe());
        let router = match cells {
            None => app.router(),
            Some(cells) => in_cells(app, cells).1,
        };
        Self { router, key, _running: running }
    }

    /// The key that opens it.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Answers a request. Its target is a path with a query, and its `Host` is `localhost`.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        match self.router.clone().oneshot(request.map(Body::new)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}
