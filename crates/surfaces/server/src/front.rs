//! The front of a server with several cells: it finds the account of a request, looks up its cell, and hands the request to
//! the application of that cell. Nothing behind it knows of cells.
//!
//! Keys are in the home cell. A thread that the cell of the caller does not have is looked for in the others, so that public
//! threads stay readable by all; the policy of that cell decides.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use threadkeep::{Account, Caller, Engine, Error, ThreadName, Verb};
use threadkeep_calls::{ErrorCode, Problem, Status};
use tower::ServiceExt;

use crate::access;
use crate::answer::Refused;
use crate::app::App;
use crate::residence::Lines;

/// The applications of all cells.
pub(crate) struct Front {
    /// The home cell is the first one.
    cells: Vec<Cell>,
    lines: Arc<Lines>,
}

/// The place of the home cell among them.
const HOME: usize = 0;

struct Cell {
    name: String,
    app: App,
    router: Router,
}

/// Calls about a whole store, by their paths.
const WHOLE_STORE: [&str; 3] = ["/v1/admin/gc", "/v1/admin/doctor", "/v1/admin/backup"];

impl Front {
    /// A front of these applications by the names of their cells, of which the first is the home cell.
    pub(crate) fn new(apps: &[(String, App)], lines: Arc<Lines>) -> Self {
        let cell =
            |(name, app): &(String, App)| Cell { name: name.clone(), app: app.clone(), router: app.clone().router() };
        Self { cells: apps.iter().map(cell).collect(), lines }
    }

    /// The front as a router, ready to be served.
    pub(crate) fn router(self) -> Router {
        let front = Arc::new(self);
        Router::new().fallback_service(tower::service_fn(move |request: Request| {
            let front = Arc::clone(&front);
            async move { Ok::<_, Infallible>(front.answer(request).await) }
        }))
    }

    async fn answer(&self, request: Request) -> Response {
        if request.uri().path() == "/readyz" {
            return self.ready(request).await;
        }
        let (mut parts, body) = request.into_parts();
        // A wrong key is refused by the home cell, which counts it.
        let opened = access::known(&mut parts, &self.cells[HOME].app).await.ok().flatten();
        let account = opened.map(|opened| opened.key.account);
        let cell = match self.cell_for(&parts.method, parts.uri.path(), account.as_ref()).await {
            Ok(cell) => cell,
            Err(refused) => return refused.render(&access::drawn_id()).into_response(),
        };
        let response = pass(&self.cells[cell], Request::from_parts(parts, body)).await;
        // The account may have moved.
        if let (StatusCode::SERVICE_UNAVAILABLE, Some(account)) = (response.status(), &account) {
            self.lines.forget(account);
        }
        response
    }

    /// The cell that answers a request.
    async fn cell_for(&self, method: &Method, path: &str, account: Option<&Account>) -> Result<usize, Refused> {
        let named = thread_of(path);
        let Some(account) = account else {
            let found = match named {
                Some(name) => self.holder(HOME, name).await?,
                None => None,
            };
            return Ok(found.unwrap_or(HOME));
        };
        if path == "/v1/keys" || path.starts_with("/v1/keys/") {
            return Ok(HOME);
        }
        if WHOLE_STORE.contains(&path) {
            let detail = "this call is about a whole store, and this server has several cells";
            let hint = "run it on each cell by itself: threadkeep --store URL store gc (or doctor, or backup)";
            return Err(Problem::new(Status::Conflict, ErrorCode::OtherCell, detail).hint(hint).into());
        }
        let cell = self.lines.cell_of(account).await?;
        let own = self.cells.iter().position(|known| known.name == cell).unwrap_or(HOME);
        let Some(name) = named else { return Ok(own) };
        let reads = matches!(*method, Method::GET | Method::HEAD);
        let forks = *method == Method::POST && path.ends_with("/fork");
        if !reads && !forks {
            return Ok(own);
        }
        match self.holder(own, name).await? {
            Some(holder) if holder == own || reads => Ok(holder),
            Some(holder) => {
                let caller = Caller { account: account.clone(), ..Caller::nobody() };
                let there = self.cells[holder].app.engine.acting_as(caller);
                match there.seen(name, Verb::Fork).await {
                    Ok(_) => Err(Error::OtherCell { what: format!("thread {name} lives in another cell") }.into()),
                    // It is private there, and answers here like an unknown id.
                    Err(_) => Ok(own),
                }
            }
            None => Ok(own),
        }
    }

    /// The cell that has a thread, `first` before the others.
    async fn holder(&self, first: usize, name: ThreadName) -> Result<Option<usize>, Error> {
        let others = (0..self.cells.len()).filter(|cell| *cell != first);
        for cell in std::iter::once(first).chain(others) {
            if has(&self.cells[cell].app.engine, name).await? {
                return Ok(Some(cell));
            }
        }
        Ok(None)
    }

    /// Ready if all cells are.
    async fn ready(&self, request: Request) -> Response {
        let (parts, _) = request.into_parts();
        let mut response = StatusCode::OK.into_response();
        for cell in &self.cells {
            response = pass(cell, Request::from_parts(parts.clone(), Body::empty())).await;
            if !response.status().is_success() {
                break;
            }
        }
        response
    }
}

async fn has(engine: &Engine, name: ThreadName) -> Result<bool, Error> {
    match name {
        ThreadName::Full(id) => engine.lives(id).await,
        ThreadName::Short(_) => Ok(engine.owner_of(name).await?.is_some()),
    }
}

async fn pass(cell: &Cell, request: Request) -> Response {
    match cell.router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// The thread that a path names.
fn thread_of(path: &str) -> Option<ThreadName> {
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next()) {
        (Some("v1"), Some("threads"), Some(name)) | (Some("t"), Some(name), _) => name.parse().ok(),
        _ => None,
    }
}
