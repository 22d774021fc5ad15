//! The routes, one file a resource.

mod admin;
mod events;
mod keys;
mod list;
mod many;
mod messages;
mod operation;
mod owner;
mod projects;
mod threads;
mod tree;
mod work;

use axum::Router;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use threadkeep::{Engine, Invalid};

use crate::answer::{Answer, Refused};
use crate::app::App;
use threadkeep_api::{Problem, Status};

/// Every route.
pub(crate) fn all() -> Router<App> {
    Router::new()
        .nest(
            "/v1",
            Router::new()
                .merge(threads::routes())
                .merge(list::routes())
                .merge(many::routes())
                .merge(keys::routes())
                .merge(projects::routes())
                .merge(admin::routes())
                .merge(messages::routes())
                .merge(events::routes())
                .merge(tree::routes())
                .merge(work::routes())
                .merge(owner::routes())
                .merge(crate::stream::routes()),
        )
        .merge(operation::routes())
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
}

async fn unknown() -> Answer {
    let problem = Problem::new(Status::NotFound, "route_not_found", "there is no such path");
    Err(problem.into())
}

async fn wrong_method(method: Method) -> Answer {
    // What the path takes stands in `Allow`, which is added on the way out.
    if method == Method::OPTIONS {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let problem = Problem::new(Status::MethodNotAllowed, "method_not_allowed", "this path does not take that method");
    Err(problem.into())
}

/// How many items a page has.
fn page_limit(engine: &Engine, asked: Option<usize>) -> Result<usize, Refused> {
    let limits = engine.limits();
    let limit = asked.unwrap_or(limits.page);
    if limit == 0 || limit > limits.page_max {
        let rule = format!("a page has 1 to {} items", limits.page_max);
        return Err(Invalid::parameter("limit", rule).into());
    }
    Ok(limit)
}
