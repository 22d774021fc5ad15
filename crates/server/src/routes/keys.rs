//! Keys, for those who administer; and tickets, for browsers that cannot send one.

use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{delete, get, post};
use serde::Deserialize;
use threadkeep::{Account, Actor, ActorKind, Invalid, NewKey, Scope, SystemWorld, World};
use threadkeep_api as api;

use crate::access::Access;
use crate::answer::{Answer, created, json};
use crate::app::App;
use crate::input::{Path, Query, text};
use crate::routes::page_limit;
use crate::tickets::TICKET_TTL;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/keys", get(list).post(create))
        .route("/keys/{key}", delete(revoke))
        .route("/tickets", post(ticket))
}

async fn create(State(app): State<App>, access: Access, request: Request) -> Answer {
    access.may(Scope::Admin)?;
    let asked: api::NewKey = api::parse_body(&text(request, &app.settings).await?)?;
    let account = Account::new(asked.account)?;
    let kind = if asked.agent { ActorKind::Agent } else { ActorKind::Human };
    let actor = Actor::new(kind, asked.name.unwrap_or_else(|| account.as_str().to_owned()))?;
    let scope = asked.scope.unwrap_or(Scope::Write);
    let (key, secret) = access.engine.create_key(NewKey { account, actor, scope, expires: asked.expires_at }).await?;
    Ok(created(&api::CreatedKey { key: secret, about: api::Key::from(&key) }))
}

/// Which part of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Which {
    limit: Option<usize>,
    cursor: Option<String>,
}

async fn list(access: Access, Query(which): Query<Which>) -> Answer {
    access.may(Scope::Admin)?;
    let limit = page_limit(&access.engine, which.limit)?;
    let mut keys = access.engine.keys(which.cursor, limit + 1).await?;
    let more = keys.len() > limit;
    keys.truncate(limit);
    let next_cursor = keys.last().filter(|_| more).map(|last| last.id.clone());
    let items: Vec<_> = keys.iter().map(api::Key::from).collect();
    Ok(json(&api::Page { items, next_cursor, total: None }))
}

async fn revoke(State(app): State<App>, access: Access, Path(id): Path<String>) -> Answer {
    access.may(Scope::Admin)?;
    let revoked = access.engine.revoke_key(&id).await?;
    app.keys.forget();
    Ok(json(&api::Revoked { revoked }))
}

async fn ticket(State(app): State<App>, access: Access, request: Request) -> Answer {
    let asked: api::NewTicket = api::parse_body(&text(request, &app.settings).await?)?;
    let path = asked.path;
    let is_stream = path.starts_with("/v1/") && (path.ends_with("/stream") || path.ends_with("/ws"));
    if !is_stream || path.contains('?') {
        let rule = "is not the path of a stream, such as /v1/threads/ID/stream, without a query";
        return Err(Invalid::body("path", rule).into());
    }
    let ttl = i64::try_from(TICKET_TTL.as_micros()).unwrap_or(i64::MAX);
    let expires_at = SystemWorld.now().plus_micros(ttl);
    let ticket = app.tickets.draw(path.clone(), access.key, Instant::now());
    Ok(created(&api::Ticket { ticket, path, expires_at }))
}
