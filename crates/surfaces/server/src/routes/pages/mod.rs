//! Pages for people, made from the OpenAPI document: an index, a page for each area, and one for each error code. A map for
//! agents as text.
//!
//! They need nothing from elsewhere: no script, font, style or picture.

mod errors;
mod examples;
mod html;
mod llms;
mod reference;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use threadkeep_calls::Problem;

pub(crate) use errors::{error_list, error_page};
pub(crate) use html::CSP;

/// The reference, with a placeholder for the address of the server.
struct Reference {
    index: String,
    /// The page of each area, by its name in the path.
    areas: BTreeMap<String, String>,
    llms: String,
}

/// The reference. It is made when it is first asked for.
fn reference() -> &'static Reference {
    static REFERENCE: OnceLock<Reference> = OnceLock::new();
    REFERENCE.get_or_init(|| {
        let document = crate::routes::openapi::build();
        let tags = reference::array(&document["tags"]).iter();
        let areas = tags.map(|tag| (reference::slug(reference::text(&tag["name"])), reference::area(&document, tag)));
        Reference { index: reference::index(&document), areas: areas.collect(), llms: llms::text_of(&document) }
    })
}

/// The same text, with the address of this server.
fn addressed(text: &str, url: &str) -> String {
    text.replace(examples::PLACEHOLDER_URL, &html::escaped(url))
}

/// The first page, with the name of the user who is signed in.
pub(crate) fn index(url: &str, key: Option<&threadkeep::Key>) -> String {
    let page = addressed(&reference().index, url);
    match key {
        Some(key) => page.replacen("<main>\n", &format!("<main>\n{}", greeting(key)), 1),
        None => page,
    }
}

/// The page of an area, if there is one of this name.
pub(crate) fn area(name: &str, url: &str) -> Option<String> {
    reference().areas.get(name).map(|page| addressed(page, url))
}

/// The map for agents.
pub(crate) fn llms(url: &str) -> String {
    addressed(&reference().llms, url)
}

/// A line for a signed-in user: routes that the browser may read open with a click.
fn greeting(key: &threadkeep::Key) -> String {
    let (account, scope) = (html::escaped(key.account.as_str()), key.scope.as_str());
    let mut greeting = format!(
        "<form method=\"post\" action=\"/sign-out\"><p>Signed in for <strong>{account}</strong> ({scope}). Open: "
    );
    let open = ["/v1/threads", "/v1/projects", "/metrics"].into_iter();
    for path in open.chain((key.scope == threadkeep::Scope::Admin).then_some("/v1/keys")) {
        greeting.push_str(&format!("<a href=\"{path}\">{path}</a> "));
    }
    greeting + "<button>Sign out</button></p></form>\n"
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
