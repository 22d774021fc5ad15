//! Signing in, for people with a browser: a link that works once, a session, and its end.

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep_calls as api;
use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_web::{Frame, Place};

use crate::access::{Access, Session};
use crate::answer::{Answer, created};
use crate::app::App;
use crate::input::{Body, Nothing, Query};
use crate::sessions::LINK_TTL;
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Keys",
        "",
        [
            table::post(
                ("createSignIn", "/v1/sign-in"),
                "Makes a link that signs a browser in with this key, once, within an hour.",
                draw,
                Gives::created::<api::SignIn>("The link."),
            ),
            table::get(
                ("signIn", "/sign-in"),
                "Signs a browser in, with the code of a link; it leads to the page `next`. Without a code, it shows how to sign in.",
                sign_in,
                Gives::nothing(303, "A cookie holds the session, for 12 hours or until the server ends."),
            )
            .gives(Gives::text("text/html", "The page for signing in."))
            .fails([ErrorCode::Unauthorized]),
            table::post(
                ("signOut", "/sign-out"),
                "Ends the session of a browser; it leads to the page for signing in.",
                sign_out,
                Gives::nothing(303, "The cookie is gone."),
            ),
        ],
    )
}

async fn draw(State(app): State<App>, access: Access, Body(Nothing {}): Body<Nothing>) -> Answer {
    let ttl = i64::try_from(LINK_TTL.as_micros()).unwrap_or(i64::MAX);
    let expires_at = app.engine.now().plus_micros(ttl);
    let path = app.sessions.draw_link(access.opened.key, Instant::now());
    let url = format!("{}{path}", app.settings.public_url.as_deref().unwrap_or_default());
    Ok(created(&api::SignIn { url, expires_at }))
}

/// With what to sign in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct With {
    /// The code of the link.
    code: Option<String>,
    /// The page to show afterwards: a path of this server. Default: `/`.
    next: Option<String>,
}

async fn sign_in(State(app): State<App>, session: Session, Query(with): Query<With>) -> Answer {
    let now = Instant::now();
    let next = with.next.as_deref().filter(|next| is_own_path(next)).unwrap_or("/");
    let Some(code) = &with.code else {
        let title = "Sign in";
        let frame =
            Frame { me: None, theme: session.theme, waiting: 0, place: Place::Problem, title, lead: "", agents: &[] };
        return Ok(match session.key {
            Some(_) => to(next, None),
            None => crate::web::page(StatusCode::OK, threadkeep_web::screen(&frame, &threadkeep_web::sign_in())),
        });
    };
    let opened = match app.sessions.redeem(code, now) {
        Some(key) => app.keys.again(&key).await?,
        None => None,
    };
    let opened = opened.ok_or_else(|| {
        let detail =
            "This sign-in link was used already, has expired, was made before the server started, or its key ended.";
        let problem = Problem::new(Status::Unauthorized, ErrorCode::Unauthorized, detail);
        problem.hint("For a new link, run: threadkeep store sign-in")
    })?;
    Ok(to(next, Some(&app.sessions.begin(opened.key, now, app.settings.public_url.as_deref()))))
}

async fn sign_out(State(app): State<App>, session: Session) -> Answer {
    Ok(to("/sign-in", Some(&app.sessions.end(session.secret.as_deref(), Instant::now()))))
}

/// Whether a browser that is sent to `path` stays on this server.
fn is_own_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && path.chars().all(|character| character.is_ascii_graphic() && character != '\\')
}

fn to(path: &str, cookie: Option<&str>) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/")));
    if let Some(Ok(cookie)) = cookie.map(HeaderValue::from_str) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_page_of_this_server_alone() {
        for own in ["/", "/t/4e36442142ee?m=M-1", "/inbox"] {
            assert!(is_own_path(own), "{own}");
        }
        for other in ["", "//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example", "t/1"] {
            assert!(!is_own_path(other), "{other}");
        }
    }
}
