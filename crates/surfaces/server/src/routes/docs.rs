//! Descriptions of the server: the OpenAPI document, and the pages made of it. They need no key, and are compressed for
//! clients that accept gzip.

use std::io::Write;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use threadkeep::Json;
use threadkeep_calls::{ErrorCode, Problem, Status};

use super::pages;
use crate::access::Session;
use crate::answer::{Answer, Refused};
use crate::app::App;
use crate::conditions::IfNoneMatch;
use crate::input::{Path, accepts_gzip};
use crate::routes::openapi::{document, tag};
use crate::table::{self, Describe, Gives, Operation, Routes};

pub(crate) fn routes() -> Routes {
    let unchanged = || Gives::nothing(304, "The client has this version already.");
    Routes::new(
        "Documentation",
        "The documentation of this server.",
        [
            table::get(
                ("getOpenApi", "/openapi.json"),
                "Shows this description as an OpenAPI document.",
                openapi,
                Gives::json::<Json>("The document."),
            )
            .gives(unchanged()),
            table::get(
                ("getDocs", "/docs"),
                "Shows the first page of this documentation.",
                index,
                Gives::text("text/html", "The page."),
            )
            .gives(unchanged()),
            table::get(
                ("getDocsArea", "/docs/{area}"),
                "Shows the calls of an area, with examples.",
                area,
                Gives::text("text/html", "The page."),
            )
            .gives(unchanged())
            .fails([ErrorCode::RouteNotFound]),
            table::get(
                ("getLlmsTxt", "/llms.txt"),
                "Shows a map of the server for agents.",
                llms,
                Gives::text("text/plain", "The map, as Markdown."),
            )
            .gives(unchanged()),
            table::get(
                ("listErrors", "/docs/errors"),
                "Shows all codes of problems.",
                error_list,
                Gives::text("text/html", "The page."),
            )
            .gives(unchanged()),
            table::get(
                ("getError", "/docs/errors/{code}"),
                "Explains a code: what it means, when it comes, what to do.",
                error,
                Gives::text("text/html", "The page."),
            )
            .gives(unchanged())
            .fails([ErrorCode::RouteNotFound]),
        ],
    )
}

async fn openapi(visitor: Visitor) -> Answer {
    let document = document();
    let gzip = || document.gzip.get_or_init(|| compressed(&document.text)).clone();
    Ok(visitor.kept("application/json", &document.text, gzip))
}

async fn index(session: Session, visitor: Visitor) -> Answer {
    Ok(visitor.shown(&pages::index(&visitor.url, session.key.as_ref())))
}

async fn area(Path(area): Path<String>, visitor: Visitor) -> Answer {
    let page = pages::area(&area, &visitor.url).ok_or_else(|| {
        let problem = Problem::new(Status::NotFound, ErrorCode::RouteNotFound, "there is no such page");
        problem.hint("/docs lists the pages")
    })?;
    Ok(visitor.shown(&page))
}

async fn llms(visitor: Visitor) -> Answer {
    let map = pages::llms(&visitor.url);
    Ok(visitor.kept("text/plain; charset=utf-8", &map, || compressed(&map)))
}

async fn error_list(visitor: Visitor) -> Answer {
    Ok(visitor.shown(&pages::error_list()))
}

async fn error(Path(code): Path<String>, visitor: Visitor) -> Answer {
    let code = ErrorCode::named(&code).ok_or_else(|| {
        let problem = Problem::new(Status::NotFound, ErrorCode::RouteNotFound, "there is no such code");
        problem.hint("/docs/errors lists them")
    })?;
    Ok(visitor.shown(&pages::error_page(code)))
}

/// A reader of the documentation: the version it has already, whether it takes gzip, and the address of this server.
struct Visitor {
    known: IfNoneMatch,
    gzip: bool,
    url: String,
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let known = IfNoneMatch::from_request_parts(parts, app).await?;
        let mut accepted = parts.headers.get_all(header::ACCEPT_ENCODING).iter();
        let gzip = accepted.any(|value| value.to_str().is_ok_and(accepts_gzip));
        Ok(Self { known, gzip, url: app.settings.public_url.clone().unwrap_or_default() })
    }
}

impl Describe for Visitor {
    fn describe(operation: &mut Operation) {
        IfNoneMatch::describe(operation);
    }
}

fn compressed(text: &str) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes everything");
    encoder.finish().expect("memory takes everything").into()
}

impl Visitor {
    fn shown(&self, page: &str) -> Response {
        let mut response = self.kept("text/html; charset=utf-8", page, || compressed(page));
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(pages::CSP));
        // The form that signs out says where it comes from, and no other server is told.
        response.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        response
    }

    /// Something that changes with the program only: clients keep it, and ask whether it is still the same.
    fn kept(&self, media: &'static str, text: &str, gzip: impl FnOnce() -> Bytes) -> Response {
        let etag = tag(text);
        let mut response = if self.known.is(&etag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let body = if self.gzip { Body::from(gzip()) } else { Body::from(text.to_owned()) };
            let mut response = Response::new(body);
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
            if self.gzip {
                response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            response
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        // A weak tag: the text is the same, compressed or not.
        if let Ok(etag) = HeaderValue::from_str(&format!("W/{etag}")) {
            headers.insert(header::ETAG, etag);
        }
        response
    }
}
