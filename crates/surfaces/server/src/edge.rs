//! The edge: every request passes it on its way in, and every answer on its way out.
//!
//! In: an id, sizes, the claimed origin and host, the accepted types. Out: the id, problems written down, a
//! count, and a line in the log. Neither the log nor the metrics hold queries, keys or message text. Secrets are
//! taken out of problems and of the log.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use threadkeep::{
    Caller, Engine, Error, Invalid, MessageName, Redactor, SystemWorld, ThreadName, Timestamp, Uuid, WayOut, World,
};
use threadkeep_calls::{ErrorCode, Problem, Status};
use tracing::Instrument;

use crate::access::{Pass, is_stream, theme, unauthorized};
use crate::answer::{OwnAnswer, Refused};
use crate::app::App;
use crate::leftover::lend;
use crate::routes::pages;
use crate::serve::Peer;
use crate::{for_models, surface};

/// The header with the id of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Headers of every answer: a browser does not guess types, a search engine keeps no thread that was public once, and
/// a page that a thread links to does not learn the address it was read at.
const ALWAYS: [(HeaderName, &str); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("x-robots-tag"), "noindex"),
    (header::REFERRER_POLICY, "no-referrer"),
];
/// Longest id that a client may give its request, in bytes.
const REQUEST_ID_BYTES_MAX: usize = 128;
/// Longest path and query, in bytes.
const URI_BYTES_MAX: usize = 8 << 10;
/// Most bytes of all headers together.
const HEADER_BYTES_MAX: usize = 32 << 10;
const HEADERS_MAX: usize = 100;
/// Longest path in the log, in bytes.
const PATH_BYTES_LOGGED: usize = 256;

/// A line of the log.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    time: Timestamp,
    event: &'static str,
    request_id: &'a str,
    method: &'a str,
    path: &'a str,
    status: u16,
    ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<std::net::IpAddr>,
}

pub(crate) async fn edge(State(app): State<App>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let (id, is_given) = request_id(request.headers());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let wants_page = is_page(&path) && wants_page(request.headers());
    let theme = theme(request.headers());
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str).to_owned();
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
    let is_mcp = surface::is_mcp(request.headers());
    let (mut request, leftover) = lend(request);
    let pass = Pass::default();
    request.extensions_mut().insert(pass.clone());
    let response = match admit(&app, &request) {
        Ok(()) => {
            // A trace holds nothing that a client wrote.
            let traced = if is_given { "" } else { id.as_str() };
            let span = tracing::debug_span!("request", id = traced, method = known(&method), route = %route);
            tokio::select! {
                biased;
                // Invariant: once a revocation is answered, no request of that key is.
                () = pass.revoked() => unauthorized().into_response(),
                response = contained(next.run(request)).instrument(span) => while_open(response, &pass),
            }
        }
        Err(refused) => {
            drop(request);
            refused.into_response()
        }
    };
    let asked = Asked { app: &app, pass: &pass, path: &path, theme };
    let response = if is_mcp { for_models::redacted(response, &asked).await } else { response };
    let mut response = told(response, &id, wants_page, &asked).await;
    if let Some(leftover) = leftover
        && !leftover.read_away().await
    {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    for (name, value) in ALWAYS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let (status, took) = (response.status().as_u16(), start.elapsed());
    app.metrics.answered(known(&method), &route, status, took);
    if app.log.is_on() {
        // A path that no route has may hold anything.
        let mut path = plain_path(&route, &path).unwrap_or_else(|| "…".to_owned());
        // Without a key, nothing tells whose secrets an id may hold.
        let is_known = is_given && pass.opened().is_some();
        let redactor = if is_known { asked.redactor(WayOut::Log, status).await } else { None };
        let id = match &redactor {
            Some(redactor) => redactor.text(&id).into_owned(),
            None if is_given => "…".to_owned(),
            None => id,
        };
        let end = (0..=PATH_BYTES_LOGGED.min(path.len())).rev().find(|end| path.is_char_boundary(*end));
        path.truncate(end.unwrap_or(0));
        let ms = (took.as_secs_f64() * 1e6).round() / 1e3;
        let (request_id, method) = (id.as_str(), known(&method));
        let line =
            Line { time: SystemWorld.now(), event: "request", request_id, method, path: &path, status, ms, peer };
        app.log.line(&line);
    }
    response
}

/// A request, as far as its secrets depend on it.
pub(crate) struct Asked<'a> {
    app: &'a App,
    pass: &'a Pass,
    path: &'a str,
    /// The colours that the reader chose.
    theme: Option<threadkeep_web::Theme>,
}

impl Asked<'_> {
    /// The engine, acting for the key of the request.
    pub(crate) fn engine(&self) -> Engine {
        let caller = self.pass.opened().map_or_else(Caller::nobody, |opened| opened.key.caller());
        self.app.engine.acting_as(caller)
    }

    /// The redactor for the answer, or for its line in the log; none if the secrets cannot be read.
    pub(crate) async fn redactor(&self, way: WayOut, status: u16) -> Option<Redactor> {
        let engine = self.engine();
        // These were told without a look at anything of the caller's, or the store is away.
        if matches!(status, 401 | 429 | 503 | 507) {
            return (way != WayOut::Log).then(|| engine.instance_redactor());
        }
        let mut parts = self.path.split('/').skip(1);
        let named = match (parts.next(), parts.next(), parts.next()) {
            (Some("v1"), Some("threads"), Some(name)) | (Some("t"), Some(name), _) => name.parse::<ThreadName>().ok(),
            _ => None,
        };
        let thread = match engine.resolve(named).await {
            Ok(thread) => thread,
            Err(Error::ThreadNotFound { .. }) => None,
            // Nothing tells whose secrets the answer may hold.
            Err(_) => return None,
        };
        engine.redactor(way, thread).await.ok()
    }
}

/// A path of a route, with the parts that a caller chose freely left out: names of files, values and projects. An id stays.
/// None if no route has it.
fn plain_path(route: &str, path: &str) -> Option<String> {
    let is_id = |part: &str| {
        part.parse::<ThreadName>().is_ok() || part.parse::<Uuid>().is_ok() || part.parse::<MessageName>().is_ok()
    };
    let mut shown = String::new();
    let mut parts = path.split('/').skip(1);
    for known in route.strip_prefix('/')?.split('/') {
        let part = parts.next()?;
        let is_shown = known == part || (known.starts_with('{') && is_id(part));
        shown.push('/');
        shown.push_str(if is_shown { part } else { "…" });
        if known.starts_with("{*") {
            break;
        }
    }
    Some(shown)
}

/// The same answer, whose body ends with the key of the request. A body that is there already is whole.
fn while_open(response: Response, pass: &Pass) -> Response {
    match pass.opened() {
        Some(opened) if response.body().size_hint().exact().is_none() => {
            let over = opened.clone();
            let over = Box::pin(async move { over.over().await });
            response.map(|body| Body::from_stream(WhileOpen { body: body.into_data_stream(), over }))
        }
        _ => response,
    }
}

/// A body that ends with the key that opened it.
struct WhileOpen {
    body: BodyDataStream,
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl futures_core::Stream for WhileOpen {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.over.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => Pin::new(&mut self.body).poll_next(context),
        }
    }
}

/// A panic is a broken invariant of ours: it ends one request, and nothing else.
async fn contained(answer: impl Future<Output = Response>) -> Response {
    let mut answer = pin!(answer);
    let polled = poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context))) {
        Ok(Poll::Ready(response)) => Poll::Ready(Some(response)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(_) => Poll::Ready(None),
    });
    polled.await.unwrap_or_else(|| unexplained(StatusCode::INTERNAL_SERVER_ERROR).into_response())
}

/// Methods that have a name of their own in counts and logs; a client can make up any number of others.
fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "OTHER",
    }
}

/// The id that the client gave, if it is short and plain, or a new one; and whether the client gave it.
fn request_id(headers: &HeaderMap) -> (String, bool) {
    let plain = |id: &&str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        !id.is_empty() && id.len() <= REQUEST_ID_BYTES_MAX && id.bytes().all(fits)
    };
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(plain);
    match given {
        Some(given) => (given.to_owned(), true),
        None => (format!("{:032x}", SystemWorld.chance()), false),
    }
}

/// A problem that is still to be written down, or an error answer without an explanation.
async fn told(response: Response, id: &str, wants_page: bool, asked: &Asked<'_>) -> Response {
    let (mut parts, body) = response.into_parts();
    let refused = match parts.extensions.remove::<Refused>() {
        Some(refused) => refused,
        None if parts.extensions.get::<OwnAnswer>().is_some() => return Response::from_parts(parts, body),
        None if parts.status.is_client_error() || parts.status.is_server_error() => {
            let is_told = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| {
                let kind = kind.as_bytes();
                kind.ends_with(b"json")
            });
            if is_told {
                return Response::from_parts(parts, body);
            }
            unexplained(parts.status)
        }
        None => return Response::from_parts(parts, body),
    };
    let redactor = asked.redactor(WayOut::Problem, refused.problem().status.http()).await;
    let refused = refused.redacted(redactor.as_ref());
    let mut response = match wants_page {
        true if crate::web::is_screen(asked.path) => crate::web::refusal(refused.problem(), id, asked.theme),
        true => pages::refusal(refused.problem()),
        false => refused.render(id),
    };
    for name in [header::ALLOW, header::CONTENT_RANGE, header::SEC_WEBSOCKET_VERSION] {
        if let Some(value) = parts.headers.get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

fn unexplained(status: StatusCode) -> Refused {
    let problem = match status {
        StatusCode::NOT_FOUND => Problem::new(Status::NotFound, ErrorCode::RouteNotFound, "there is no such path"),
        StatusCode::METHOD_NOT_ALLOWED => {
            Problem::new(Status::MethodNotAllowed, ErrorCode::MethodNotAllowed, "this path does not take that method")
        }
        status if status.is_client_error() => {
            Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, "the request is malformed")
        }
        _ => Problem::new(Status::Internal, ErrorCode::Internal, "internal error"),
    };
    problem.into()
}

/// Refuses a request that is too large, has another origin or host, or accepts no type of the answer.
fn admit(app: &App, request: &Request) -> Result<(), Refused> {
    let headers = request.headers();
    let uri = request.uri();
    let uri_bytes = uri.path_and_query().map_or(0, |target| target.as_str().len());
    if uri_bytes > URI_BYTES_MAX {
        let detail = format!("path and query have at most {URI_BYTES_MAX} bytes together");
        return Err(Problem::new(Status::UriTooLong, ErrorCode::TooLarge, detail).into());
    }
    let header_bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if header_bytes > HEADER_BYTES_MAX || headers.len() > HEADERS_MAX {
        let detail = format!("at most {HEADERS_MAX} headers and {HEADER_BYTES_MAX} bytes of them are accepted");
        return Err(Problem::new(Status::HeadersTooLarge, ErrorCode::TooLarge, detail).into());
    }
    for name in [header::HOST, header::AUTHORIZATION, header::CONTENT_TYPE, header::IF_MATCH] {
        if headers.get_all(&name).iter().nth(1).is_some() {
            return Err(Invalid::parameter(name.as_str(), "appears twice in the headers").into());
        }
    }
    surface::admit(headers)?;
    admit_origin(app, headers, uri.host())?;
    admit_accept(headers, uri.path())
}

/// A request has to name this host, and to come from no page of another one.
fn admit_origin(app: &App, headers: &HeaderMap, target: Option<&str>) -> Result<(), Refused> {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
    let named = target.or(text(header::HOST));
    let Some(named) = named else {
        return Err(Invalid::parameter("Host", "is missing").into());
    };
    let elsewhere = |what: &str| -> Refused {
        let problem = Problem::new(Status::Forbidden, ErrorCode::Forbidden, format!("{what} is not this server"));
        problem.hint("use the address that the server printed when it started").into()
    };
    if app.settings.loopback && !is_loopback(named) {
        return Err(elsewhere("the host that the request names"));
    }
    let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
    let from = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
    let is_own = from.is_some_and(|from| if app.settings.loopback { is_loopback(from) } else { from == named });
    if is_own { Ok(()) } else { Err(elsewhere("the page that the request comes from")) }
}

/// Whether an authority names this machine to itself.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) if port.is_empty() || is_port(port) => host,
            _ => return false,
        },
        None => match authority.split_once(':') {
            Some((host, port)) if is_port(&format!(":{port}")) => host,
            Some(_) => return false,
            None => authority,
        },
    };
    host.eq_ignore_ascii_case("localhost")
        || host.to_ascii_lowercase().ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

/// Whether browsers show what this path answers.
fn is_page(path: &str) -> bool {
    crate::web::is_screen(path) || path == "/docs" || path.starts_with("/docs/")
}

/// Whether a browser asks.
fn wants_page(headers: &HeaderMap) -> bool {
    let mut asked = headers.get_all(header::ACCEPT).iter();
    asked.any(|value| value.to_str().is_ok_and(|value| value.contains("text/html")))
}

/// A request has to accept the media type of the path's answers.
fn admit_accept(headers: &HeaderMap, path: &str) -> Result<(), Refused> {
    let offered = if is_stream(path) {
        "text/event-stream"
    } else if is_file(path) || crate::web::is_asset(path) || path == "/mcp" {
        // A file has the type it was written with, an asset of the page its own, and the protocol at /mcp its rules.
        return Ok(());
    } else if matches!(path, "/metrics" | "/llms.txt") {
        "text/plain"
    } else if path.ends_with("/admin/export") {
        "application/x-ndjson"
    } else if path.ends_with("/admin/backup") {
        "application/vnd.sqlite3"
    } else if is_page(path) {
        "text/html"
    } else {
        "application/json"
    };
    let family = offered.split_once('/').map_or("", |(family, _)| family);
    let mut asked = headers.get_all(header::ACCEPT).iter().peekable();
    if asked.peek().is_none() {
        return Ok(());
    }
    let fits = |range: &str| {
        let range = range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        range == "*/*" || range == offered || range.strip_suffix("/*") == Some(family)
    };
    let accepted = asked.any(|value| value.to_str().is_ok_and(|value| value.split(',').any(fits)));
    if accepted {
        return Ok(());
    }
    let detail = format!("this path answers with {offered}, which the request does not accept");
    Err(Problem::new(Status::NotAcceptable, ErrorCode::NotAcceptable, detail).into())
}

/// Whether this is the path of a file.
fn is_file(path: &str) -> bool {
    matches!(path.split('/').collect::<Vec<_>>()[..], ["", "v1", "threads" | "references", _, "files", _, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_made_to_point_here_is_not_this_machine() {
        for host in
            ["localhost", "localhost:8473", "127.0.0.1:1", "[::1]:80", "[::1]", "app.localhost:3000", "127.9.9.9"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:x",
            "[::1",
            "10.0.0.1",
            "localhost:1:2",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn a_path_in_the_log_holds_ids_and_nothing_that_a_caller_named() {
        let thread = "T-5928a90d-d53b-488f-a829-4e36442142ee";
        for (route, path, shown) in [
            ("/v1/threads/{thread}", format!("/v1/threads/{thread}"), Some(format!("/v1/threads/{thread}"))),
            (
                "/v1/threads/{thread}/kv/{valueKey}",
                format!("/v1/threads/{thread}/kv/k"),
                Some(format!("/v1/threads/{thread}/kv/…")),
            ),
            (
                "/v1/threads/{thread}/files/{*path}",
                format!("/v1/threads/{thread}/files/a/b"),
                Some(format!("/v1/threads/{thread}/files/…")),
            ),
            ("/v1/projects/{project}", "/v1/projects/p".to_owned(), Some("/v1/projects/…".to_owned())),
            ("unmatched", "/sk-1234".to_owned(), None),
        ] {
            assert_eq!(plain_path(route, &path), shown, "{path}");
        }
    }

    #[test]
    fn an_id_is_taken_if_it_is_short_and_plain() {
        let id = |given: &str| {
            let value = HeaderValue::from_str(given).expect("a value");
            request_id(&HeaderMap::from_iter([(REQUEST_ID, value)])).0
        };
        assert_eq!(id("req-1.a:b_c"), "req-1.a:b_c");
        for odd in ["", "a b", "<script>", &"x".repeat(129)] {
            assert_eq!(id(odd).len(), 32, "{odd}");
        }
    }
}
