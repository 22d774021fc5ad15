//! Definitions: what the folder holds, and reading it again.

use axum::extract::State;
use threadkeep::runtime::RuntimeError;
use threadkeep::runtime::definitions::{Definitions, Kind, Name, Problem as Mistake, Problems};
use threadkeep_calls::{Definition, DefinitionKind, DefinitionList, DefinitionProblem, ErrorCode, Problem, Status};

use crate::access::{Access, Admin};
use crate::answer::{Answer, Refused, json};
use crate::app::App;
use crate::input::Path;
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    let list = table::get(
        ("listDefinitions", "/v1/definitions"),
        "Lists all definitions of the server, and the mistakes in their files.",
        list,
        Gives::json::<DefinitionList>("The definitions."),
    );
    let show = table::get(
        ("getDefinition", "/v1/definitions/{kind}/{*definition}"),
        "Shows a definition: what its file says, without code and without the values of variables.",
        show,
        Gives::json::<Definition>("The definition."),
    )
    .fails([ErrorCode::DefinitionNotFound]);
    let reload = table::post(
        ("reloadDefinitions", "/v1/definitions/reload"),
        "Reads the folder of definitions again. A server also does so by itself, within a second of a change.",
        reload,
        Gives::json::<DefinitionList>("The definitions."),
    )
    .fails([ErrorCode::CannotRead]);
    Routes::new(
        "Definitions",
        "Agents, prompts, models, tools and the rest of the folder of definitions.",
        [list, show, reload],
    )
}

async fn list(_: Access, State(app): State<App>) -> Answer {
    // The agent `default` is listed where it can work.
    app.runtime.has_default_agent().await;
    Ok(json(&listed(&app.runtime.definitions())))
}

async fn show(_: Access, State(app): State<App>, Path((kind, name)): Path<(String, String)>) -> Answer {
    let definitions = app.runtime.definitions();
    let kind = Kind::of_folder(&kind).ok_or_else(|| {
        let detail = format!("there is no kind '{kind}'; the kinds are {}", Kind::ALL.map(Kind::folder).join(", "));
        Problem::new(Status::NotFound, ErrorCode::DefinitionNotFound, detail)
    })?;
    let Some(found) = definitions.names(kind).find(|found| found.text() == name) else {
        let problems = match definitions.get(kind, &name, None) {
            Err(problems) => problems,
            Ok(_) => Problems::NotFound { kind: kind.word(), name, near: None },
        };
        let detail = problems.to_string();
        return Err(Problem::new(Status::NotFound, ErrorCode::DefinitionNotFound, detail).into());
    };
    let definition = definitions.shown(found);
    Ok(json(&Definition { definition, ..told(&definitions, found) }))
}

async fn reload(_: Admin, State(app): State<App>) -> Answer {
    let runtime = app.runtime.clone();
    let cannot = |why: String| -> Refused {
        let detail = format!("the folder of definitions cannot be read: {why}");
        Problem::new(Status::Unavailable, ErrorCode::CannotRead, detail).into()
    };
    let read =
        tokio::task::spawn_blocking(move || runtime.reload()).await.map_err(|error| cannot(error.to_string()))?;
    let definitions = read.map_err(|error| cannot(error.to_string()))?;
    Ok(json(&listed(&definitions)))
}

impl From<RuntimeError> for Refused {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Engine(error) => error.into(),
            error @ (RuntimeError::Definition(_) | RuntimeError::Sandbox(_) | RuntimeError::Problem(_)) => {
                Problem::from(error).into()
            }
        }
    }
}

fn listed(definitions: &Definitions) -> DefinitionList {
    let names = Kind::ALL.into_iter().flat_map(|kind| definitions.names(kind));
    DefinitionList {
        hash: definitions.hash().to_owned(),
        items: names.map(|name| told(definitions, name)).collect(),
        problems: definitions.problems().map(mistake).collect(),
    }
}

fn told(definitions: &Definitions, name: &Name) -> Definition {
    Definition {
        kind: kind(name.kind),
        name: name.text(),
        file: definitions.source(name).map(|source| source.file.clone()).unwrap_or_default(),
        definition: None,
        problems: definitions.problems_of(name).iter().map(mistake).collect(),
    }
}

fn mistake(problem: &Mistake) -> DefinitionProblem {
    let Mistake { file, line, column, what } = problem;
    DefinitionProblem { file: file.clone(), line: *line, column: *column, rule: what.clone() }
}

fn kind(kind: Kind) -> DefinitionKind {
    match kind {
        Kind::Agent => DefinitionKind::Agents,
        Kind::Prompt => DefinitionKind::Prompts,
        Kind::Model => DefinitionKind::Models,
        Kind::Mcp => DefinitionKind::Mcp,
        Kind::Tool => DefinitionKind::Tools,
        Kind::Effect => DefinitionKind::Effects,
        Kind::Hook => DefinitionKind::Hooks,
        Kind::Endpoint => DefinitionKind::Api,
        Kind::Skill => DefinitionKind::Skills,
        Kind::Vendor => DefinitionKind::Vendor,
    }
}
