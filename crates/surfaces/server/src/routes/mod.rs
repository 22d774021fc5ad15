//! The routes: all calls of the list, and one file for each thing that has a handler of its own.

mod admin;
mod api;
mod backup;
pub(crate) mod code;
mod content;
mod definitions;
pub(crate) mod docs;
mod file_list;
mod files;
mod imports;
mod many;
pub(crate) mod mcp;
mod me;
pub(crate) mod openapi;
mod operation;
pub(crate) mod pages;
mod referred;
pub(crate) mod run_stream;
mod search;
mod sign_in;
mod tickets;
mod tools;

use axum::Router;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use threadkeep::{Engine, Invalid};

use crate::answer::{Answer, Refused};
use crate::app::App;
use crate::calls;
use crate::table::{Routes, router};
use threadkeep_calls::{ErrorCode, Problem, Status};

/// Every route, by kind: the calls of the list, and routes with a handler of their own.
pub(crate) fn table() -> Vec<Routes> {
    let mut all: Vec<Routes> = Vec::new();
    for (group, route) in calls::routes() {
        match all.iter_mut().find(|routes| routes.tag == group.name) {
            Some(routes) => routes.push(route),
            None => {
                let mut routes = Routes::of(group);
                routes.push(route);
                all.push(routes);
            }
        }
    }
    let by_hand = [
        files::routes(),
        referred::routes(),
        crate::stream::routes(),
        many::routes(),
        code::routes(),
        run_stream::routes(),
        definitions::routes(),
        tools::routes(),
        api::routes(),
        search::routes(),
        tickets::routes(),
        sign_in::routes(),
        me::routes(),
        crate::account_feed::routes(),
        admin::routes(),
        imports::routes(),
        backup::routes(),
        operation::routes(),
        docs::routes(),
    ];
    for routes in by_hand {
        match all.iter_mut().find(|known| known.tag == routes.tag) {
            Some(known) => known.and(routes),
            None => all.push(routes),
        }
    }
    all
}

/// Every route, ready to be served.
pub(crate) fn all() -> Router<App> {
    router(table()).merge(crate::web::routes()).fallback(unknown).method_not_allowed_fallback(wrong_method)
}

async fn unknown() -> Answer {
    let problem = Problem::new(Status::NotFound, ErrorCode::RouteNotFound, "there is no such path");
    Err(problem.hint("/docs lists the paths").into())
}

async fn wrong_method(method: Method) -> Answer {
    // The methods of the path are in `Allow`, which is added on the way out.
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
