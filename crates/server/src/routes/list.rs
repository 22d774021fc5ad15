//! The list of threads.

use axum::Router;
use axum::routing::get;
use serde::Deserialize;
use threadkeep::List;
use threadkeep_api as api;

use crate::access::Access;
use crate::answer::{Answer, json};
use crate::app::App;
use crate::input::Query;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/threads", get(list))
}

/// Which threads to list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Which {
    archived: bool,
    agent_id: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

async fn list(access: Access, Query(which): Query<Which>) -> Answer {
    let Which { archived, agent_id, limit, cursor } = which;
    let page = access.engine.list(List { archived, agent_id, limit, cursor }).await?;
    let items: Vec<_> = page.items.iter().map(api::Thread::from).collect();
    Ok(json(&api::Page { items, next_cursor: page.next, total: None }))
}
