//! The routes, one file a resource.

mod admin;
mod approvals;
mod backup;
mod content;
mod docs;
mod events;
mod file_list;
mod files;
mod keys;
mod list;
mod many;
mod merge;
mod messages;
mod operation;
mod owner;
mod primitives;
mod projects;
mod references;
mod referred;
mod search;
mod sign_in;
mod threads;
mod tree;
mod values;
mod work;

use axum::Router;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use threadkeep::{Engine, Invalid};

use crate::answer::{Answer, Refused};
use crate::app::App;
use crate::table::{Routes, router};
use threadkeep_calls::{ErrorCode, Problem, Status};

/// Every route, by kind.
pub(crate) fn table() -> Vec<Routes> {
    vec![
        threads::routes().and(list::routes()).and(owner::routes()),
        messages::routes().and(events::routes()),
        tree::routes(),
        approvals::routes(),
        merge::routes(),
        references::routes().and(referred::routes()),
        work::routes(),
        primitives::routes(),
        files::routes().and(values::routes()),
        crate::stream::routes().and(many::routes()),
        search::routes(),
        projects::routes(),
        keys::routes().and(sign_in::routes()),
        admin::routes().and(backup::routes()),
        operation::routes(),
        docs::routes(),
    ]
}

/// Every route, ready to be served.
pub(crate) fn all() -> Router<App> {
    router(table()).fallback(unknown).method_not_allowed_fallback(wrong_method)
}

async fn unknown() -> Answer {
    let problem = Problem::new(Status::NotFound, ErrorCode::RouteNotFound, "there is no such path");
    Err(problem.hint("/docs lists the paths").into())
}

async fn wrong_method(method: Method) -> Answer {
    // What the path takes stands in `Allow`, which is added on the way out.
    if method == Method::OPTIONS {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let problem =
        Problem::new(Status::MethodNotAllowed, ErrorCode::MethodNotAllowed, "this path does not take that method");
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
