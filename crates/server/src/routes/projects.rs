//! Projects: what groups threads, with the sandbox they work in. Only their account ever sees them.

use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{Invalid, ProjectDetails};
use threadkeep_calls as api;
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::access::{Access, Writing};
use crate::answer::{Answer, Refused, created, json};
use crate::input::{Body, Path, Query};
use crate::routes::page_limit;
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Projects",
        "What groups threads, with the sandbox they work in. Only their account ever sees them.",
        [
            table::get(
                ("listProjects", "/v1/projects"),
                "Lists the account's projects, in the order of their ids.",
                list,
                Gives::json::<api::Page<api::Project>>("A page of projects."),
            ),
            table::post(
                ("createProject", "/v1/projects"),
                "Makes a project.",
                create,
                Gives::created::<api::Project>("The new project."),
            )
            .example(r#"{"id":"website","name":"Website","iconName":"globe"}"#)
            .fails([ErrorCode::ProjectExists]),
            table::get(
                ("getProject", "/v1/projects/{project}"),
                "Shows a project.",
                show,
                Gives::json::<api::Project>("The project."),
            ),
            table::put(
                ("putProject", "/v1/projects/{project}"),
                "Makes a project of this id, or replaces what it says of itself.",
                put,
                Gives::json::<api::Project>("The project as it is now."),
            )
            .example(r#"{"name":"Website","iconName":"globe"}"#)
            .never(ErrorCode::ProjectNotFound),
            table::patch(
                ("updateProject", "/v1/projects/{project}"),
                "Replaces fields of a project; null clears one.",
                update,
                Gives::json::<api::Project>("The project as it is now."),
            )
            .example(r#"{"iconName":null}"#),
            table::delete(
                ("deleteProject", "/v1/projects/{project}"),
                "Deletes a project; its threads stay.",
                delete,
                Gives::json::<api::Deleted>("Whether there was one."),
            )
            .never(ErrorCode::ProjectNotFound),
        ],
    )
}

fn missing(id: &str) -> Refused {
    Problem::new(Status::NotFound, ErrorCode::ProjectNotFound, format!("there is no project '{id}'")).into()
}

async fn create(Writing(access): Writing, Body(asked): Body<api::PutProject>) -> Answer {
    let api::PutProject { id, name, icon_name, sandbox } = asked;
    if let Some(id) = &id
        && access.engine.project(id).await?.is_some()
    {
        let problem =
            Problem::new(Status::Conflict, ErrorCode::ProjectExists, format!("there is a project '{id}' already"));
        return Err(problem.hint("change it with PATCH, or replace it with PUT").into());
    }
    let project = access.engine.put_project(id, ProjectDetails { name, icon_name, sandbox }).await?;
    Ok(created(&api::Project::from(&project)))
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

async fn put(Writing(access): Writing, Path(id): Path<String>, Body(asked): Body<api::PutProject>) -> Answer {
    if asked.id.as_ref().is_some_and(|given| *given != id) {
        return Err(Invalid::body("id", "is not the one in the path").into());
    }
    let api::PutProject { name, icon_name, sandbox, .. } = asked;
    let project = access.engine.put_project(Some(id), ProjectDetails { name, icon_name, sandbox }).await?;
    Ok(json(&api::Project::from(&project)))
}

async fn update(Writing(access): Writing, Path(id): Path<String>, Body(changes): Body<api::ProjectChanges>) -> Answer {
    let before = access.engine.project(&id).await?.ok_or_else(|| missing(&id))?;
    let project = access.engine.put_project(Some(id), changes.applied_to(before.details)?).await?;
    Ok(json(&api::Project::from(&project)))
}

async fn delete(Writing(access): Writing, Path(id): Path<String>) -> Answer {
    let deleted = access.engine.delete_project(&id).await?;
    Ok(json(&api::Deleted { deleted }))
}
