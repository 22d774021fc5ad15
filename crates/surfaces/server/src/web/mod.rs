//! The page for people: screens and fragments of them, made by `threadkeep-web` from answers of calls.
//!
//! A screen goes through the same calls as every other caller, with the rights of the reader's session. It changes nothing:
//! actions of the page are calls of the API. These paths are no part of the API, and not in its description.

mod account;
mod beside;
mod compare;
mod runs;
mod thread;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use serde::de::DeserializeOwned;
use threadkeep::calls::{At, Call};
use threadkeep::runtime::Runtime;
use threadkeep::runtime::definitions::{Kind, Name};
use threadkeep::{Engine, Enter, Error, Invalid, Scope, Standing, Thread, ThreadName, Verb};
use threadkeep_calls as api;
use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_web as web;
use threadkeep_web::{Frame, Markup, Place, Theme};

use crate::access::{Reader, theme};
use crate::answer::{Answer, Refused};
use crate::app::App;

/// Approvals that the badge of the inbox counts, and that the inbox shows.
const WAITING_MAX: usize = 100;

/// The routes of the page.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(account::threads))
        .route("/inbox", get(account::inbox))
        .route("/search", get(account::search))
        .route("/memories", get(account::memories))
        .route("/projects", get(account::projects))
        .route("/settings", get(account::settings))
        .route("/import", get(account::import))
        .route("/web/threads", get(account::thread_rows))
        .route("/web/approvals", get(account::approvals))
        .route("/web/{hash}/{file}", get(account::asset))
        .route("/t/{thread}", get(thread::screen))
        .route("/t/{thread}/messages", get(thread::messages))
        .route("/t/{thread}/tail", get(thread::tail))
        .route("/t/{thread}/entries", get(thread::entries))
        .route("/t/{thread}/map", get(thread::map))
        .route("/t/{thread}/files", get(beside::folder))
        .route("/t/{thread}/files/{*path}", get(beside::file))
        .route("/t/{thread}/values", get(beside::values))
        .route("/t/{thread}/merge", get(beside::merge))
        .route("/t/{thread}/observers", get(beside::observers))
        .route("/t/{thread}/compare", get(compare::screen))
        .route("/t/{thread}/context", get(runs::context))
        .route("/t/{thread}/runs", get(runs::list))
        .route("/t/{thread}/runs/{run}", get(runs::one))
}

/// Whether a path is one of the page.
pub(crate) fn is_screen(path: &str) -> bool {
    matches!(
        path,
        "/" | "/inbox" | "/search" | "/memories" | "/projects" | "/settings" | "/import" | "/sign-in" | "/sign-out"
    ) || path.starts_with("/t/")
        || path == "/web/threads"
        || path == "/web/approvals"
}

/// Whether a path is that of an asset, which has a media type of its own.
pub(crate) fn is_asset(path: &str) -> bool {
    path.starts_with("/web/") && !is_screen(path)
}

/// A reader of the page, signed in or not.
pub(crate) struct Visit {
    reader: Reader,
    me: Option<api::Me>,
    theme: Option<Theme>,
    runtime: Runtime,
    /// The path and query that were asked for.
    target: String,
}

impl FromRequestParts<App> for Visit {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let reader = Reader::from_request_parts(parts, app).await?;
        let me = reader.opened.as_ref().map(|opened| api::Me {
            account: opened.key.account.clone(),
            actor: reader.engine.caller().actor.clone(),
            scope: opened.key.scope,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        Ok(Self { reader, me, theme: theme(&parts.headers), runtime: app.runtime.clone(), target })
    }
}

impl Visit {
    fn engine(&self) -> &Engine {
        &self.reader.engine
    }

    fn may_write(&self) -> bool {
        self.me.as_ref().is_some_and(|me| me.scope >= Scope::Write)
    }

    /// Whether this server runs the agent of a thread: then a queued message starts a run.
    fn works_here(&self, thread: &api::Thread) -> bool {
        thread.agent_id.as_deref().is_some_and(|agent| self.runtime.definitions().has_agent(agent))
    }

    /// Asks as the reader.
    async fn ask<C: Enter>(&self, at: impl Into<At>, call: C) -> Result<<C as Call>::Answer, Refused> {
        ask(self.engine(), at, call).await
    }

    /// The thread of the reader's account with this name; none where the reader has to sign in first.
    async fn own(&self, name: &str) -> Result<Option<Thread>, Refused> {
        if self.me.is_none() {
            return Ok(None);
        }
        let name: ThreadName = name.parse()?;
        Ok(Some(self.engine().thread(name).await?))
    }

    /// The thread with this name, as its owner or as a visitor; none for a visitor who may not see it.
    async fn seen(&self, name: &str) -> Result<Option<(Thread, Standing)>, Refused> {
        // A visitor learns nothing from a name: not that it is malformed, and not that it exists.
        let name = match name.parse::<ThreadName>() {
            Ok(name) => name,
            Err(_) if self.me.is_none() => return Ok(None),
            Err(invalid) => return Err(invalid.into()),
        };
        match self.engine().seen(name, Verb::Read).await {
            Ok(seen) => Ok(Some(seen)),
            Err(Error::ThreadNotFound { .. }) if self.me.is_none() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a visitor to the page for signing in, and back afterwards.
    fn to_sign_in(&self) -> Response {
        let next: String = self
            .target
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
                other => format!("%{other:02X}"),
            })
            .collect();
        let to = if self.target == "/" { "/sign-in".to_owned() } else { format!("/sign-in?next={next}") };
        let mut response = StatusCode::SEE_OTHER.into_response();
        if let Ok(to) = HeaderValue::from_str(&to) {
            response.headers_mut().insert(header::LOCATION, to);
        }
        response
    }

    /// A whole page with this content.
    async fn screen(&self, place: Place, title: &str, content: Markup) -> Answer {
        let waiting = match &self.me {
            Some(_) => self.waiting().await?.len() as u64,
            None => 0,
        };
        let definitions = self.runtime.definitions();
        let agents: Vec<String> = match &self.me {
            Some(_) => definitions.names(Kind::Agent).map(Name::text).collect(),
            None => Vec::new(),
        };
        let frame = Frame { me: self.me.as_ref(), theme: self.theme, waiting, place, title, lead: "", agents: &agents };
        Ok(page(StatusCode::OK, web::screen(&frame, &content)))
    }

    /// The approvals that wait for an answer.
    async fn waiting(&self) -> Result<Vec<api::Approval>, Refused> {
        let state = Some(api::ListedState::Pending);
        let pending = api::ListApprovals { state, limit: Some(WAITING_MAX), ..api::ListApprovals::default() };
        Ok(self.ask(At::none(), pending).await?.items)
    }
}

/// Asks a call as `engine`'s caller, and reads the answer as the wire tells it.
async fn ask<C: Enter>(engine: &Engine, at: impl Into<At>, call: C) -> Result<<C as Call>::Answer, Refused> {
    let made = engine.call(at, call).await?;
    let shown = C::told(made, engine).await?;
    serde_json::from_slice(&shown.json).map_err(|error| {
        let detail = format!("the answer of '{}' cannot be read again: {error}", C::DECLARATION.name);
        Problem::new(Status::Internal, ErrorCode::Internal, detail).into()
    })
}

/// A page, which a browser may not keep and which loads nothing from elsewhere.
pub(crate) fn page(status: StatusCode, html: String) -> Response {
    let mut response = (status, Html(html)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(web::CSP));
    // Forms of the page say where they come from, and no other server is told.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A part of a page.
fn part(content: &Markup) -> Response {
    page(StatusCode::OK, content.clone().into_string())
}

/// The page that tells why a request was refused.
pub(crate) fn refusal(problem: &Problem, request_id: &str, theme: Option<Theme>) -> Response {
    let status = StatusCode::from_u16(problem.status.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let frame = Frame {
        me: None,
        theme,
        waiting: 0,
        place: Place::Problem,
        title: web::heading(problem),
        lead: "",
        agents: &[],
    };
    page(status, web::screen(&frame, &web::problem(problem, request_id)))
}

/// The parameters of a screen. Unknown ones are ignored: links to a page may carry marks of others.
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let asked = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        asked.map(|axum::extract::Query(asked)| Self(asked)).map_err(|error| {
            let said = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            Invalid::parameter("query", said).into()
        })
    }
}
