//! Pages for people: the reference, made from the OpenAPI document, and a page for each code of a problem.
//!
//! They need nothing from elsewhere: no script, font, style or picture.

mod errors;
mod html;
mod reference;

use std::sync::OnceLock;

pub(crate) use errors::{error_list, error_page};
pub(crate) use html::CSP;

/// The page of all routes. It is made when it is first asked for.
pub(crate) fn reference() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| reference::page(&crate::routes::openapi::build()))
}

/// A page that says why a browser was refused.
pub(crate) fn refused(title: &str, problem: &threadkeep_calls::Problem) -> String {
    let hint = problem.hint.as_deref().map(|hint| format!("<p>{}</p>\n", html::escaped(hint))).unwrap_or_default();
    let (code, detail) = (html::escaped(&problem.code), html::escaped(&problem.detail));
    let more = format!("<p><a href=\"/docs/errors/{code}\">{code}</a></p>\n");
    html::page(title, "", &format!("<h1>{}</h1>\n<p>{detail}</p>\n{hint}{more}", html::escaped(title)))
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
