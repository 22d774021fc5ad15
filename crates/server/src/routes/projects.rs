//! Projects: what groups threads, with the sandbox they work in. Only their account ever sees them.

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::get;
use serde::Deserialize;
use threadkeep::{Invalid, ProjectDetails, Scope};
use threadkeep_api as api;
use threadkeep_api::{Problem, Status};

use crate::access::Access;
use crate::answer::{Answer, Refused, created, json};
use crate::app::App;
use crate::input::{Path, Query, text};
use crate::routes::page_limit;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/projects", get(list).post(create))
        .route("/projects/{project}", get(show).put(put).patch(update).delete(delete))
}

fn missing(id: &str) -> Refused {
    Problem::new(Status::NotFound, "project_not_found", format!("there is no project '{id}'")).into()
}

async fn create(State(app): State<App>, access: Access, request: Request) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::PutProject = api::parse_body(&text(request, &app.settings).await?)?;
    let api::PutProject { id, name, icon_name, sandbox } = asked;
    if let Some(id) = &id
        && access.engine.project(id).await?.is_some()
    {
        let problem = Problem::new(Status::Conflict, "project_exists", format!("there is a project '{id}' already"));
        return Err(problem.hint("change it with PATCH, or replace it with PUT").into());
    }
    let project = access.engine.put_project(id, ProjectDetails { name, icon_name, sandbox }).await?;
    Ok(created(&api::Project::from(&project)))
}

/// Which part of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Which {
    limit: Option<usize>,
    cursor: Option<String>,
}

async fn list(access: Access, Query(which): Query<Which>) -> Answer {
    let limit = page_limit(&access.engine, which.limit)?;
    let mut projects = access.engine.projects(which.cursor.as_deref(), limit + 1).await?;
    let more = projects.len() > limit;
    projects.truncate(limit);
    let next_cursor = projects.last().filter(|_| more).map(|last| last.id.clone());
    let items: Vec<_> = projects.iter().map(api::Project::from).collect();
    Ok(json(&api::Page { items, next_cursor, total: None }))
}

async fn show(access: Access, Path(id): Path<String>) -> Answer {
    let project = access.engine.project(&id).await?.ok_or_else(|| missing(&id))?;
    Ok(json(&api::Project::from(&project)))
}

async fn put(State(app): State<App>, access: Access, Path(id): Path<String>, request: Request) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::PutProject = api::parse_body(&text(request, &app.settings).await?)?;
    if asked.id.as_ref().is_some_and(|given| *given != id) {
        return Err(Invalid::body("id", "is not the one in the path").into());
    }
    let api::PutProject { name, icon_name, sandbox, .. } = asked;
    let project = access.engine.put_project(Some(id), ProjectDetails { name, icon_name, sandbox }).await?;
    Ok(json(&api::Project::from(&project)))
}

async fn update(State(app): State<App>, access: Access, Path(id): Path<String>, request: Request) -> Answer {
    access.may(Scope::Write)?;
    let changes = api::ProjectChanges::parse(&text(request, &app.settings).await?)?;
    let before = access.engine.project(&id).await?.ok_or_else(|| missing(&id))?;
    let project = access.engine.put_project(Some(id), changes.applied_to(before.details)?).await?;
    Ok(json(&api::Project::from(&project)))
}

async fn delete(access: Access, Path(id): Path<String>) -> Answer {
    access.may(Scope::Write)?;
    let deleted = access.engine.delete_project(&id).await?;
    Ok(json(&api::Deleted { deleted }))
}
