//! The table of routes: each is declared once, and the declaration makes both the route and its description.
//!
//! A handler's arguments give most of it: the rights needed, the query, the body, the headers ([`Describe`]). The
//! rest, its purpose, its answers and its errors, is declared beside the handler. `openapi` makes the document of
//! it.

mod describe;

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use threadkeep_calls::{ErrorCode, Group, Status};

pub(crate) use describe::{Describe, describe_body, describe_envelope, describe_key, describe_path};

use crate::app::App;
use crate::conditions::refuse_others;

/// Makes the schema of a type, with the schemas it needs.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Every media type.
pub(crate) const ANY_MEDIA: &str = "*/*";

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Every caller; keys are not looked at.
    Nothing,
    /// A key that may read, or none for public threads.
    Public,
    /// A key that may read.
    Read,
    /// A key that may write.
    Write,
    /// A key that may do upkeep.
    Admin,
}

impl Needs {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Public => "public",
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

/// A header that a route honours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Honours {
    Actor,
    IfMatch,
    IfNoneMatch,
    IdempotencyKey,
    Writer,
    /// `Threadkeep-Writer`, which must be there.
    WriterToken,
    LastEventId,
    Range,
    Metadata,
    /// `If-Match`, about a value.
    IfValueMatch,
    /// `If-None-Match: *`, about a value.
    IfNoValue,
}

/// A body that a route takes.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// JSON of this schema.
    Json(SchemaOf),
    /// The lines of an export.
    Lines,
    /// The content of a file, of any type.
    Content,
}

/// An answer of a route that is no problem.
#[derive(Clone, Copy)]
pub(crate) struct Gives {
    pub(crate) status: u16,
    pub(crate) media: Option<&'static str>,
    pub(crate) what: &'static str,
    pub(crate) schema: Option<SchemaOf>,
    pub(crate) versioned: bool,
}

impl Gives {
    fn of<T: JsonSchema>(status: u16, what: &'static str) -> Self {
        let schema: SchemaOf = |generator| generator.subschema_for::<T>();
        Self { status, media: Some("application/json"), what, schema: Some(schema), versioned: false }
    }

    /// JSON, with 200.
    pub(crate) fn json<T: JsonSchema>(what: &'static str) -> Self {
        Self::of::<T>(200, what)
    }

    pub(crate) fn created<T: JsonSchema>(what: &'static str) -> Self {
        Self::of::<T>(201, what)
    }

    /// Text of another media type, with 200.
    pub(crate) fn text(media: &'static str, what: &'static str) -> Self {
        let schema: SchemaOf = |generator| generator.subschema_for::<String>();
        Self { status: 200, media: Some(media), what, schema: Some(schema), versioned: false }
    }

    /// The content of a file, of any type.
    pub(crate) fn content(status: u16, what: &'static str) -> Self {
        let schema: SchemaOf = |_| schemars::json_schema!({ "type": "string", "format": "binary" });
        Self { status, media: Some(ANY_MEDIA), what, schema: Some(schema), versioned: false }
    }

    /// Server-sent events, with 200.
    pub(crate) fn events(what: &'static str) -> Self {
        let schema: SchemaOf = |generator| generator.subschema_for::<ServerEvent>();
        Self { status: 200, media: Some("text/event-stream"), what, schema: Some(schema), versioned: false }
    }

    /// Server-sent events whose data are of one type, with 200.
    pub(crate) fn events_of<T: JsonSchema>(what: &'static str) -> Self {
        let schema: SchemaOf = |generator| {
            let data = generator.subschema_for::<T>();
            schemars::json_schema!({
                "type": "object",
                "properties": {
                    "id": { "type": "string", "description": "Where to resume, as `Last-Event-ID`." },
                    "event": { "type": "string", "description": "The type of the event." },
                    "data": { "type": "string", "contentMediaType": "application/json", "contentSchema": data },
                },
                "required": ["event", "data"],
            })
        };
        Self { status: 200, media: Some("text/event-stream"), what, schema: Some(schema), versioned: false }
    }

    /// An answer without a body.
    pub(crate) fn nothing(status: u16, what: &'static str) -> Self {
        Self { status, media: None, what, schema: None, versioned: false }
    }

    /// The same, with the version of the thread in `ETag`.
    pub(crate) fn versioned(self) -> Self {
        Self { versioned: true, ..self }
    }
}

/// An event of a stream. Lines that begin with a colon only say that the stream is still there.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "never built: its fields are the documentation")]
struct ServerEvent {
    /// Where to resume, as `Last-Event-ID`; absent for what is not logged.
    id: Option<String>,
    /// What kind of news, such as `message_appended`.
    event: String,
    /// The entry, as JSON in one line.
    data: String,
}

/// The description of a route.
pub(crate) struct Operation {
    pub(crate) id: &'static str,
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) needs: Needs,
    pub(crate) query: Option<SchemaOf>,
    pub(crate) body: Option<Takes>,
    /// A body that it takes, as JSON.
    pub(crate) example: Option<&'static str>,
    pub(crate) headers: Vec<Honours>,
    pub(crate) gives: Vec<Gives>,
    /// The problems that it can answer with.
    pub(crate) fails: BTreeMap<u16, BTreeSet<ErrorCode>>,
}

impl Operation {
    /// An operation of which nothing else is said yet.
    pub(crate) fn new(
        id: &'static str,
        method: Method,
        path: &'static str,
        summary: &'static str,
        gives: Gives,
    ) -> Self {
        let mut operation = Self {
            id,
            method,
            path,
            summary,
            needs: Needs::Nothing,
            query: None,
            body: None,
            example: None,
            headers: Vec::new(),
            gives: vec![gives],
            fails: BTreeMap::new(),
        };
        describe::edge(&mut operation);
        operation
    }

    /// It never answers with this problem, although others of its kind do.
    pub(crate) fn never(&mut self, code: ErrorCode) {
        for codes in self.fails.values_mut() {
            codes.remove(&code);
        }
        self.fails.retain(|_, codes| !codes.is_empty());
    }

    /// It can answer with this problem, in its usual status.
    pub(crate) fn fail(&mut self, code: ErrorCode) {
        self.fail_with(code.status(), code);
    }

    /// It can answer with this problem, in this status.
    pub(crate) fn fail_with(&mut self, status: Status, code: ErrorCode) {
        self.fails.entry(status.http()).or_default().insert(code);
    }

    /// The names of the parameters in its path.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'static str> + use<> {
        let path: &'static str = self.path;
        let parts = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        parts.map(|name| name.trim_start_matches('*'))
    }

    /// Its path as it is described: a parameter for the rest of the path looks like any other.
    pub(crate) fn described_path(&self) -> String {
        self.path.replace("{*", "{")
    }
}

/// A route with its description.
pub(crate) struct Route {
    operation: Operation,
    handler: MethodRouter<App>,
}

impl Route {
    /// A route that is described already.
    pub(crate) fn new(operation: Operation, handler: MethodRouter<App>) -> Self {
        Self { operation, handler }
    }

    /// The same route, which gives this too.
    pub(crate) fn gives(mut self, gives: Gives) -> Self {
        self.operation.gives.push(gives);
        self
    }

    /// The same route, with a body that it takes.
    pub(crate) fn example(mut self, json: &'static str) -> Self {
        self.operation.example = Some(json);
        self
    }

    /// The same route, with these errors beside those of its arguments.
    pub(crate) fn fails<const N: usize>(mut self, codes: [ErrorCode; N]) -> Self {
        codes.into_iter().for_each(|code| self.operation.fail(code));
        self
    }
}

/// A route: its name, its path, its purpose, the handler, and its answer.
fn route<H: Handler<T, App>, T: Describe + 'static>(
    method: Method,
    filter: MethodFilter,
    (id, path): (&'static str, &'static str),
    summary: &'static str,
    handler: H,
    gives: Gives,
) -> Route {
    let mut operation = Operation::new(id, method, path, summary, gives);
    T::describe(&mut operation);
    let honours = |header: Honours| operation.headers.contains(&header);
    let honoured = [
        ("if-match", honours(Honours::IfMatch)),
        (crate::conditions::IDEMPOTENCY_KEY, honours(Honours::IdempotencyKey)),
        (crate::conditions::WRITER, honours(Honours::Writer)),
    ];
    let refuse = move |request: axum::extract::Request, next: axum::middleware::Next| async move {
        refuse_others(request.headers(), &honoured)?;
        Ok::<_, crate::answer::Refused>(next.run(request).await)
    };
    let handler = on(filter, handler).layer(axum::middleware::from_fn(refuse));
    Route { operation, handler }
}

macro_rules! methods {
    ($($name:ident $method:ident;)*) => {$(
        /// A route of this method.
        pub(crate) fn $name<H: Handler<T, App>, T: Describe + 'static>(
            name: (&'static str, &'static str),
            summary: &'static str,
            handler: H,
            gives: Gives,
        ) -> Route {
            route(Method::$method, MethodFilter::$method, name, summary, handler, gives)
        }
    )*};
}

methods! {
    get GET;
    post POST;
    put PUT;
    patch PATCH;
    delete DELETE;
}

/// Routes of one kind.
pub(crate) struct Routes {
    /// The group of these routes in the document.
    pub(crate) tag: &'static str,
    /// That in a sentence.
    pub(crate) about: &'static str,
    routes: Vec<Route>,
}

impl Routes {
    /// Routes that have this in common.
    pub(crate) fn new<const N: usize>(tag: &'static str, about: &'static str, routes: [Route; N]) -> Self {
        Self { tag, about, routes: routes.into() }
    }

    /// Routes of this group.
    pub(crate) fn of(group: Group) -> Self {
        Self { tag: group.name, about: group.about, routes: Vec::new() }
    }

    /// Adds one more route.
    pub(crate) fn push(&mut self, route: Route) {
        self.routes.push(route);
    }

    /// These routes, and those.
    pub(crate) fn and(&mut self, other: Self) {
        self.routes.extend(other.routes);
    }

    /// The descriptions of the routes.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.routes.iter().map(|route| &route.operation)
    }
}

/// The routes of all kinds, ready to be served.
pub(crate) fn router(all: Vec<Routes>) -> Router<App> {
    let routes = all.into_iter().flat_map(|routes| routes.routes);
    routes.fold(Router::new(), |router, route| router.route(route.operation.path, route.handler))
}
