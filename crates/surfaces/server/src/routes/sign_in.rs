//! Signing in, for people with a browser: a link that works once, a session, and its end.

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep_calls as api;
use threadkeep_calls::{ErrorCode, Problem, Status};

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
                "Signs a browser in, with the code of a link; it leads to `/docs`.",
                sign_in,
                Gives::nothing(303, "A cookie holds the session, for 12 hours or until the server ends."),
            )
            .fails([ErrorCode::Unauthorized]),
            table::post(
                ("signOut", "/sign-out"),
                "Ends the session of a browser; it leads to `/docs`.",
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
    code: String,
}

async fn sign_in(State(app): State<App>, Query(with): Query<With>) -> Answer {
    let now = Instant::now();
    let opened = match app.sessions.redeem(&with.code, now) {
        Some(key) => app.keys.again(&key).await?,
        None => None,
    };
    let opened = opened.ok_or_else(|| {
        let detail =
            "This sign-in link was used already, has expired, was made before the server started, or its key ended.";
        let problem = Problem::new(Status::Unauthorized, ErrorCode::Unauthorized, detail);
        problem.hint("For a new link, run: threadkeep store sign-in")
    })?;
    Ok(to_docs(&app.sessions.begin(opened.key, now)))
}

async fn sign_out(State(app): State<App>, session: Session) -> Answer {
    Ok(to_docs(&app.sessions.end(session.secret.as_deref(), Instant::now())))
}

fn to_docs(cookie: &str) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, "/docs")]).into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
