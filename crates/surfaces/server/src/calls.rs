//! Every call of the list over HTTP, by one handler: the key, the envelope, the parameters in; the answer out.

use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use threadkeep::calls::{Asked, At, Call, Declaration, Honours, Lease, Method, Needs, for_each_call};
use threadkeep::{CARRIERS, Carrier, Engine, Error, Invalid, Scope, Shown, ThreadName};
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::access::{Access, Reader, unauthorized};
use crate::answer::{Answer, Refused, at_version, with_json};
use crate::app::App;
use crate::conditions::{IDEMPOTENCY_KEY, WRITER, idempotency_key, lease_token, refuse_others, version};
use crate::input::text;
use crate::table::{self, Gives, Operation, Route, SchemaOf, Takes};

/// The schemas of a call: its parameters and its answer.
struct Schemas {
    takes: SchemaOf,
    inline: SchemaOf,
    answers: SchemaOf,
}

macro_rules! schemas {
    ($($call:ident => $answer:ty;)*) => {
        /// The schemas of every call, in the order of the list.
        const SCHEMAS: &[Schemas] = &[$(
            Schemas {
                takes: |generator| generator.subschema_for::<threadkeep_calls::$call>(),
                inline: <threadkeep_calls::$call as schemars::JsonSchema>::json_schema,
                answers: |generator| generator.subschema_for::<<threadkeep_calls::$call as Call>::Answer>(),
            },
        )*];
    };
}

for_each_call!(schemas);

/// The routes of all calls, each with the group it is described with.
pub(crate) fn routes() -> Vec<(threadkeep_calls::Group, Route)> {
    let rows = CARRIERS.iter().zip(SCHEMAS);
    rows.map(|(carrier, schemas)| {
        let declaration = carrier.declaration;
        (declaration.group, Route::new(described(declaration, schemas), handler(carrier)))
    })
    .collect()
}

fn handler(carrier: &'static Carrier) -> MethodRouter<App> {
    let filter = match carrier.declaration.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    };
    on(filter, move |State(app): State<App>, request: Request| answer(app, carrier, request))
}

async fn answer(app: App, carrier: &'static Carrier, request: Request) -> Answer {
    let declaration = carrier.declaration;
    let (mut parts, body) = request.into_parts();
    let (engine, is_known) = caller(&mut parts, &app, declaration).await?;
    let (at, mut asked) = envelope(&mut parts, declaration).await?;
    asked.query = parts.uri.query().unwrap_or_default().to_owned();
    if declaration.method.has_body() {
        asked.body = text(Request::from_parts(parts, body), &app.settings).await?;
    }
    let shown = match (carrier.run)(engine, at, asked).await {
        // Without a key, a thread that is not public answers that a key is needed, whether it exists or not.
        Err(Error::ThreadNotFound { .. }) if !is_known => return Err(unauthorized()),
        shown => shown?,
    };
    Ok(render(declaration, shown))
}

/// An engine that acts for the caller, and whether the caller has a key.
async fn caller(parts: &mut Parts, app: &App, declaration: &Declaration) -> Result<(Engine, bool), Refused> {
    let writes = declaration.writes_with.is_some_and(|parameter| has_parameter(parts, parameter));
    let needed = match declaration.needs {
        Needs::Public if !writes => {
            let Reader { engine, opened } = Reader::from_request_parts(parts, app).await?;
            return Ok((engine, opened.is_some()));
        }
        Needs::Public | Needs::Read if writes => Scope::Write,
        Needs::Public | Needs::Read => Scope::Read,
        Needs::Write => Scope::Write,
        Needs::Admin => Scope::Admin,
    };
    let access = Access::from_request_parts(parts, app).await?;
    access.may(needed)?;
    Ok((access.engine, true))
}

fn has_parameter(parts: &Parts, name: &str) -> bool {
    let query = parts.uri.query().unwrap_or_default();
    query.split('&').any(|pair| pair.split('=').next() == Some(name))
}

/// The envelope, from the path and the headers; and the fields that these bring.
async fn envelope(parts: &mut Parts, declaration: &'static Declaration) -> Result<(At, Asked), Refused> {
    let unreadable = || Invalid::parameter("path", "is not UTF-8 text once its escapes are read");
    let path = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| unreadable())?;
    let mut at = At::none();
    let mut asked = Asked::default();
    let names = declaration.parameters();
    for (name, (_, value)) in names.zip(&path) {
        match name {
            "thread" => at.thread = Some(value.parse::<ThreadName>()?),
            field => asked.fields.push((field, value.to_owned())),
        }
    }
    let Honours { expected, lease, key, value_version } = declaration.honours;
    let headers = &parts.headers;
    if value_version {
        asked.fields.extend(value_condition(headers)?.map(|version| ("ifVersion", version)));
    } else if expected {
        at.expected = headers.get(header::IF_MATCH).map(version).transpose()?.flatten();
    }
    if key {
        at.key = headers.get(IDEMPOTENCY_KEY).map(idempotency_key).transpose()?;
    }
    if lease != Lease::No {
        at.lease = headers.get(WRITER).map(lease_token).transpose()?;
    }
    if lease == Lease::Required && at.lease.is_none() {
        let detail = "the token of the lease is missing";
        let problem = Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail);
        return Err(problem.hint("send it as Threadkeep-Writer: TOKEN").into());
    }
    let honoured =
        [(header::IF_MATCH.as_str(), expected || value_version), (IDEMPOTENCY_KEY, key), (WRITER, lease != Lease::No)];
    refuse_others(headers, &honoured)?;
    Ok((at, asked))
}

/// `If-Match` and `If-None-Match: *` about a value: the version it has to be at, 0 if there must be none.
fn value_condition(headers: &HeaderMap) -> Result<Option<String>, Refused> {
    match (headers.get(header::IF_MATCH), headers.get(header::IF_NONE_MATCH)) {
        (None, None) => Ok(None),
        (Some(value), None) => match version(value)? {
            Some(version) => Ok(Some(version.to_string())),
            None => Err(Invalid::parameter("If-Match", "is not a version of the value in quotes").into()),
        },
        (None, Some(value)) if value.as_bytes() == b"*" => Ok(Some("0".to_owned())),
        (None, Some(_)) => Err(Invalid::parameter("If-None-Match", "is not *").into()),
        (Some(_), Some(_)) => Err(Invalid::parameter("If-None-Match", "goes without If-Match").into()),
    }
}

fn render(declaration: &Declaration, shown: Shown) -> Response {
    let Shown { version, also, json } = shown;
    let status = declaration.also.filter(|_| also).map_or(declaration.status, |(status, _)| status);
    let response = with_json(StatusCode::from_u16(status).unwrap_or(StatusCode::OK), json);
    match version.filter(|_| declaration.versioned) {
        Some(version) => at_version(version, response),
        None => response,
    }
}

/// The description of a call in the document.
fn described(declaration: &'static Declaration, schemas: &Schemas) -> Operation {
    let Declaration { id, path, about, status, answers, versioned, also, fails, never, example, honours, .. } =
        *declaration;
    let gives = |status, what, versioned| Gives {
        status,
        media: Some("application/json"),
        what,
        schema: Some(schemas.answers),
        versioned,
    };
    let method = axum::http::Method::from_bytes(declaration.method.as_str().as_bytes()).unwrap_or_default();
    let mut operation = Operation::new(id, method, path, about, gives(status, answers, versioned));
    operation.gives.extend(also.map(|(status, means)| gives(status, means, false)));
    table::describe_key(&mut operation, declaration.needs);
    table::describe_path(&mut operation);
    if declaration.method.has_body() {
        table::describe_body(&mut operation, Takes::Json(schemas.takes));
        operation.example = Some(example);
    } else if declaration.method == Method::Get {
        operation.query = Some(schemas.inline);
    }
    table::describe_envelope(&mut operation, honours);
    fails.iter().for_each(|code| operation.fail(*code));
    if let Some(code) = never {
        operation.never(code);
    }
    operation
}
