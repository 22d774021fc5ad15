//! Descriptions of the server: the OpenAPI document, and the pages made of it. They need no key.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use threadkeep::Json;
use threadkeep_calls::{ErrorCode, Problem, Status};

use super::pages;
use crate::access::Session;
use crate::answer::Answer;
use crate::conditions::IfNoneMatch;
use crate::input::Path;
use crate::routes::openapi::{document, tag};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    let unchanged = || Gives::nothing(304, "It is what the client has.");
    Routes::new(
        "Documentation",
        "What describes the server.",
        [
            table::get(("getRoot", "/"), "Leads to the pages.", root, Gives::nothing(307, "`Location` is `/docs`.")),
            table::get(
                ("getOpenApi", "/openapi.json"),
                "Shows this description as an OpenAPI document.",
                openapi,
                Gives::json::<Json>("The document."),
            )
            .gives(unchanged()),
            table::get(
                ("getDocs", "/docs"),
                "Shows this description as a page.",
                reference,
                Gives::text("text/html", "The page."),
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

async fn root() -> Answer {
    Ok((StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/docs")]).into_response())
}

async fn openapi(known: IfNoneMatch) -> Answer {
    let document = document();
    Ok(kept("application/json", &document.text, &document.etag, &known))
}

async fn reference(session: Session, known: IfNoneMatch) -> Answer {
    Ok(match &session.key {
        Some(key) => shown(&pages::reference_for(key), &known),
        None => shown(pages::reference(), &known),
    })
}

async fn error_list(known: IfNoneMatch) -> Answer {
    Ok(shown(&pages::error_list(), &known))
}

async fn error(Path(code): Path<String>, known: IfNoneMatch) -> Answer {
    let code = ErrorCode::named(&code).ok_or_else(|| {
        let problem = Problem::new(Status::NotFound, ErrorCode::RouteNotFound, "there is no such code");
        problem.hint("/docs/errors lists them")
    })?;
    Ok(shown(&pages::error_page(code), &known))
}

/// A page.
fn shown(page: &str, known: &IfNoneMatch) -> Response {
    let mut response = kept("text/html; charset=utf-8", page, &tag(page), known);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(pages::CSP));
    response
}

/// Something that changes with the program only: clients keep it, and ask whether it is still the same.
fn kept(media: &'static str, text: &str, etag: &str, known: &IfNoneMatch) -> Response {
    let mut response = if known.is(etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = Response::new(Body::from(text.to_owned()));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        response
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(etag) = HeaderValue::from_str(etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}
