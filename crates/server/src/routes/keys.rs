//! Keys, for those who administer; and tickets, for browsers that cannot send one.

use std::time::Instant;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{Account, Actor, ActorKind, Invalid, NewKey, Scope, SystemWorld, World};
use threadkeep_calls as api;

use crate::access::{Access, Admin, is_stream};
use crate::answer::{Answer, created, json};
use crate::app::App;
use crate::input::{Body, Path, Query};
use crate::routes::page_limit;
use crate::table::{self, Gives, Routes};
use crate::tickets::TICKET_TTL;

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Keys",
        "Keys of all accounts, for those who administer; tickets, for browsers that cannot send a key.",
        [
            table::get(
                ("listKeys", "/v1/keys"),
                "Lists the keys, without their secrets.",
                list,
                Gives::json::<api::Page<api::Key>>("A page of keys."),
            ),
            table::post(
                ("createKey", "/v1/keys"),
                "Makes a key; its secret is told this once.",
                create,
                Gives::created::<api::CreatedKey>("The key, with its secret."),
            )
            .example(r#"{"account":"ann","scope":"write","name":"ann's laptop"}"#),
            table::delete(
                ("revokeKey", "/v1/keys/{key}"),
                "Revokes a key; its streams end.",
                revoke,
                Gives::json::<api::Revoked>("Whether there was one that held."),
            ),
            table::post(
                ("createTicket", "/v1/tickets"),
                "Draws a ticket: it opens one stream once, within a minute, in place of a key.",
                ticket,
                Gives::created::<api::Ticket>("The ticket, to be sent as `?ticket=`."),
            )
            .example(r#"{"path":"/v1/threads/T-5928a90d-d53b-488f-a829-4e36442142ee/stream"}"#),
        ],
    )
}

async fn create(Admin(access): Admin, Body(asked): Body<api::NewKey>) -> Answer {
    let account = Account::new(asked.account)?;
    let kind = if asked.agent { ActorKind::Agent } else { ActorKind::Human };
    let actor = Actor::new(kind, asked.name.unwrap_or_else(|| account.as_str().to_owned()))?;
    let scope = asked.scope.unwrap_or(Scope::Write);
    let (key, secret) = access.engine.create_key(NewKey { account, actor, scope, expires: asked.expires_at }).await?;
    Ok(created(&api::CreatedKey { key: secret, about: api::Key::from(&key) }))
}

/// Which part of the list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Which {
    /// How many items at most.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where the page before ended.
    cursor: Option<String>,
}

async fn list(Admin(access): Admin, Query(which): Query<Which>) -> Answer {
    let limit = page_limit(&access.engine, which.limit)?;
    let mut keys = access.engine.keys(which.cursor, limit + 1).await?;
    let more = keys.len() > limit;
    keys.truncate(limit);
    let next_cursor = keys.last().filter(|_| more).map(|last| last.id.clone());
    let items: Vec<_> = keys.iter().map(api::Key::from).collect();
    Ok(json(&api::Page { items, next_cursor, total: None }))
}

async fn revoke(State(app): State<App>, Admin(access): Admin, Path(id): Path<String>) -> Answer {
    let revoked = access.engine.revoke_key(&id).await?;
    app.keys.forget();
    Ok(json(&api::Revoked { revoked }))
}

async fn ticket(State(app): State<App>, access: Access, Body(asked): Body<api::NewTicket>) -> Answer {
    let path = asked.path;
    if !is_stream(&path) || path.contains('?') {
        let rule = "is not the path of a stream, such as /v1/threads/ID/stream, without a query";
        return Err(Invalid::body("path", rule).into());
    }
    let ttl = i64::try_from(TICKET_TTL.as_micros()).unwrap_or(i64::MAX);
    let expires_at = SystemWorld.now().plus_micros(ttl);
    let ticket = app.tickets.draw(path.clone(), access.key, Instant::now());
    Ok(created(&api::Ticket { ticket, path, expires_at }))
}
