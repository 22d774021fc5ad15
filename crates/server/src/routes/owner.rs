//! Whose a thread is.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::routing::put;
use threadkeep::{Account, ChangeOwner, Scope};
use threadkeep_api as api;

use super::threads::{named, writing};
use crate::access::Access;
use crate::answer::{Answer, at, json};
use crate::app::App;
use crate::input::{Path, expected, text};

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/threads/{thread}/owner", put(change))
}

/// Whoever gives a thread away puts it into the account of somebody who did not ask: a thing for those who run the server.
async fn change(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Admin)?;
    let asked: api::ChangeOwner = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let change = ChangeOwner { to: Account::new(asked.account)?, expected: expected(&headers)? };
    let thread = engine.change_owner(thread.id, change).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}
