//! Pages for people: the reference, made from the OpenAPI document, and a page for each code of a problem.
//!
//! They need nothing from elsewhere: no script, font, style or picture.

mod errors;
mod html;
mod reference;

use std::sync::OnceLock;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use threadkeep_calls::Problem;

pub(crate) use errors::{error_list, error_page};
pub(crate) use html::CSP;

/// The page of all routes. It is made when it is first asked for.
pub(crate) fn reference() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| reference::page(&crate::routes::openapi::build()))
}

/// The same for a signed-in user: routes that the browser may read open with a click.
pub(crate) fn reference_for(key: &threadkeep::Key) -> String {
    let (account, scope) = (html::escaped(key.account.as_str()), key.scope.as_str());
    let mut greeting = format!(
        "<main>\n<form method=\"post\" action=\"/sign-out\"><p>Signed in for <strong>{account}</strong> ({scope}). \
         Open: "
    );
    let open = ["/v1/threads", "/v1/projects", "/metrics"].into_iter();
    for path in open.chain((key.scope == threadkeep::Scope::Admin).then_some("/v1/keys")) {
        greeting.push_str(&format!("<a href=\"{path}\">{path}</a> "));
    }
    greeting.push_str("<button>Sign out</button></p></form>\n");
    reference().replacen("<main>\n", &greeting, 1)
}

/// The answer that tells a browser why it was refused.
pub(crate) fn refusal(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let title = html::escaped(status.canonical_reason().unwrap_or("Error"));
    let hint = problem.hint.as_deref().map(|hint| format!("<p>{}</p>\n", html::escaped(hint))).unwrap_or_default();
    let (code, detail) = (html::escaped(&problem.code), html::escaped(&problem.detail));
    let more = format!("<p><a href=\"/docs/errors/{code}\">{code}</a></p>\n");
    let page = html::page(&title, "", &format!("<h1>{title}</h1>\n<p>{detail}</p>\n{hint}{more}"));
    let kind = (header::CONTENT_TYPE, "text/html; charset=utf-8");
    (status, [kind, (header::CONTENT_SECURITY_POLICY, CSP)], page).into_response()
}
