//! The routes, one file a resource.

mod messages;
mod threads;
mod tree;
mod work;

pub(crate) use threads::named;

use axum::Router;

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
                .merge(messages::routes())
                .merge(tree::routes())
                .merge(work::routes())
                .merge(crate::stream::routes()),
        )
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
}

async fn unknown() -> Answer {
    let problem = Problem::new(Status::NotFound, "route_not_found", "there is no such path");
    Err(Refused::from(problem.hint("the paths are listed at /docs")))
}

async fn wrong_method() -> Answer {
    let problem = Problem::new(Status::MethodNotAllowed, "method_not_allowed", "this path does not take that method");
    Err(problem.into())
}
