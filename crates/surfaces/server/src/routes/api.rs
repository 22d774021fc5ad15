//! Thread endpoints: requests that the code of definitions answers.
//!
//! The answer is made harmless as the content of files is: a browser may not guess its type and shows it in a sandbox, and
//! it sets no cookie.

use std::collections::BTreeMap;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, OriginalUri, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use threadkeep::runtime::endpoints::{Answered, Endpoint, EndpointAnswer, EndpointRequest, Found, find};
use threadkeep::runtime::tools::never;
use threadkeep::{Actor, ActorKind, Caller, Engine, Invalid, Scope, ThreadId, ThreadName, Verb};
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::access::{Access, Calling, unauthorized};
use crate::answer::{Answer, OwnAnswer, Refused};
use crate::app::App;
use crate::input::Chunks;
use crate::table::{self, Describe, Gives, Operation, Route, Routes, Takes, describe_path};

/// Most bytes of a request.
const BODY_BYTES_MAX: usize = 8 << 20;
/// The rights of an answer in a browser: none.
const CSP: &str = "default-src 'none'; sandbox";
/// Headers that an endpoint may set.
const SENT: [&str; 9] = [
    "content-type",
    "content-disposition",
    "content-language",
    "cache-control",
    "etag",
    "last-modified",
    "location",
    "retry-after",
    "vary",
];
/// Headers of the request that code does not get: they are credentials.
const KEPT_BACK: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];
/// Where endpoints begin in a path.
const PLACE: &str = "/v1/threads/{thread}/api/{*endpoint}";

pub(crate) fn routes() -> Routes {
    let about = "Asks an endpoint of the folder of definitions. It needs a write key, unless its file declares `access: \"public\"`.";
    let gives = || Gives::content(200, "The answer of the endpoint, with the status that it chose.");
    let fails = |route: Route| {
        route.fails([
            ErrorCode::RouteNotFound,
            ErrorCode::MethodNotAllowed,
            ErrorCode::DefinitionInvalid,
            ErrorCode::EndpointFailed,
            ErrorCode::SandboxUnavailable,
            ErrorCode::SandboxBusy,
        ])
    };
    Routes::new(
        "Endpoints",
        "HTTP requests about a thread that code of the folder of definitions answers.",
        [
            fails(table::get(("getEndpoint", PLACE), about, answer, gives())),
            fails(table::post(("postEndpoint", PLACE), about, answer, gives())),
            fails(table::put(("putEndpoint", PLACE), about, answer, gives())),
            fails(table::patch(("patchEndpoint", PLACE), about, answer, gives())),
            fails(table::delete(("deleteEndpoint", PLACE), about, answer, gives())),
        ],
    )
}

/// A request with its body, not longer than endpoints take.
struct Asked {
    method: Method,
    /// The path behind `/v1/`, and the query, as they came.
    target: String,
    headers: HeaderMap,
    body: Bytes,
}

impl FromRequest<App> for Asked {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        let (Parts { method, uri, headers, extensions, .. }, body) = request.into_parts();
        let uri = extensions.get::<OriginalUri>().map_or(uri, |OriginalUri(uri)| uri.clone());
        let target = uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let (mut chunks, mut bytes) = (Chunks::of(body, &app.settings), Vec::new());
        while let Some(chunk) = chunks.next().await? {
            if bytes.len() + chunk.len() > BODY_BYTES_MAX {
                let detail = format!("a request to an endpoint has at most {BODY_BYTES_MAX} bytes");
                return Err(Problem::new(Status::TooLarge, ErrorCode::TooLarge, detail).into());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Self { method, target, headers, body: bytes.into() })
    }
}

impl Describe for Asked {
    fn describe(operation: &mut Operation) {
        if operation.method != Method::GET {
            operation.body = Some(Takes::Content);
        }
        operation.fail(ErrorCode::RequestTimeout);
        operation.fail(ErrorCode::TooLarge);
        describe_path(operation);
    }
}

async fn answer(State(app): State<App>, calling: Calling, asked: Asked) -> Answer {
    let (thread, path, query) = parts(&asked.target)?;
    let definitions = app.runtime.definitions();
    let found = find(&definitions, asked.method.as_str(), &path);
    let is_public = match &found {
        Found::Endpoint(endpoint) => app.runtime.is_public(&definitions, endpoint).await.unwrap_or(false),
        Found::Methods(_) | Found::Nothing => false,
    };
    let (engine, thread) = acting(&app, calling, &thread, is_public, &found).await?;
    let endpoint = match found {
        Found::Endpoint(endpoint) => endpoint,
        Found::Methods(methods) => {
            let detail = format!("this endpoint takes {}", methods.join(", ").to_ascii_uppercase());
            return Err(Problem::new(Status::MethodNotAllowed, ErrorCode::MethodNotAllowed, detail).into());
        }
        Found::Nothing => {
            let problem = Problem::new(Status::NotFound, ErrorCode::RouteNotFound, "there is no such endpoint");
            return Err(problem.hint("an endpoint is a file in api/ of the folder of definitions").into());
        }
    };
    let head = asked.method == Method::HEAD;
    let request = EndpointRequest {
        method: asked.method.to_string(),
        url: asked.target,
        path,
        query,
        headers: told(&asked.headers),
        body: asked.body,
    };
    match app.runtime.answer((&engine, thread), &endpoint, request, &never()).await? {
        Answered::Answer(answer) => Ok(shown(answer, head)),
        Answered::Failed(why) => {
            // A visitor is not told how the code is made.
            let detail =
                if is_public { "the endpoint failed".to_owned() } else { format!("the endpoint failed: {why}") };
            Err(Problem::new(Status::Internal, ErrorCode::EndpointFailed, detail).into())
        }
    }
}

/// The engine that acts, and the thread. A key that may write acts as itself. Without one, a public endpoint acts as an
/// agent of its own name in the account of the thread, so it has the authority of agents and no more.
async fn acting(
    app: &App,
    calling: Calling,
    thread: &str,
    is_public: bool,
    found: &Found,
) -> Result<(Engine, ThreadId), Refused> {
    let Calling(reader) = calling;
    if let Some(opened) = reader.opened {
        let access = Access { engine: reader.engine, opened };
        match (access.may(Scope::Write), access.thread(thread).await) {
            (Ok(()), Ok(found)) => return Ok((access.engine, found.id)),
            (Err(refused), _) | (_, Err(refused)) if !is_public => return Err(refused),
            _ => {}
        }
    } else if !is_public {
        return Err(unauthorized());
    }
    let Found::Endpoint(endpoint) = found else { return Err(unauthorized()) };
    anonymous(app, thread, endpoint).await
}

async fn anonymous(app: &App, thread: &str, endpoint: &Endpoint) -> Result<(Engine, ThreadId), Refused> {
    let name: ThreadName = thread.parse().map_err(|_| unauthorized())?;
    let found = app.engine.owner_of(name).await?.ok_or_else(unauthorized)?;
    let actor = Actor::new(ActorKind::Agent, format!("api/{}", endpoint.name()))?;
    let engine = app.engine.acting_as(Caller { account: found.1, actor, cause: None });
    engine.standing(found.0, Verb::Change).await?;
    Ok((engine, found.0))
}

/// The thread, the segments of the path, and the query.
type Target = (String, Vec<String>, BTreeMap<String, String>);

fn parts(target: &str) -> Result<Target, Refused> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let wrong = || Refused::from(Invalid::parameter("path", "is not UTF-8 text once its escapes are read"));
    let mut segments = path.split('/').skip(3);
    let thread = decoded(segments.next().unwrap_or_default()).ok_or_else(wrong)?;
    let rest: Option<Vec<String>> = segments.skip(1).filter(|part| !part.is_empty()).map(decoded).collect();
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(&name.replace('+', " "))?, decoded(&value.replace('+', " "))?))
    });
    Ok((thread, rest.ok_or_else(wrong)?, pairs.collect::<Option<_>>().ok_or_else(wrong)?))
}

fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

/// The headers of a request for code.
fn told(headers: &HeaderMap) -> BTreeMap<String, String> {
    let shown = headers.iter().filter(|(name, _)| !KEPT_BACK.contains(&name.as_str()));
    shown.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect()
}

fn shown(answer: EndpointAnswer, head: bool) -> Response {
    let EndpointAnswer { status, headers: set, body } = answer;
    let mut response = Response::new(if head { Body::empty() } else { Body::from(body) });
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    response.extensions_mut().insert(OwnAnswer);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in set {
        let is_own = name.starts_with("x-") && !name.starts_with("x-content-type") && !name.starts_with("x-request-id");
        if !SENT.contains(&name.as_str()) && !is_own {
            continue;
        }
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
            headers.insert(name, value);
        }
    }
    // Last, so that no code takes them back.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CSP));
    response
}
