//! The stream of a run, over server-sent events and WebSockets.

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::Uuid;
use threadkeep_calls::{Call, ErrorCode, RunEvent, StartRun};

use crate::access::Access;
use crate::answer::{Answer, Refused};
use crate::app::App;
use crate::conditions::LastEventId;
use crate::followed_run::Run;
use crate::following::Following;
use crate::input::{Path, Query};
use crate::stream::{events, no_cursor, over_socket};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    let stream = table::get(
        ("streamRun", "/v1/runs/{run}/stream"),
        "Follows a run as server-sent events, from its start; it ends with the run. Closing it stops nothing.",
        stream,
        Gives::events_of::<RunEvent>(
            "`timing`, `assistant`, `tool_call` and `status`. A complete text replaces the chunks of its step.",
        ),
    )
    .fails([ErrorCode::RunNotFound, ErrorCode::InvalidCursor]);
    let socket = table::get(
        ("openRunSocket", "/v1/runs/{run}/ws"),
        "Follows a run over a WebSocket: an event of its stream a frame. Closing it stops nothing.",
        socket,
        Gives::nothing(101, "The socket is open."),
    )
    .fails([ErrorCode::RunNotFound, ErrorCode::InvalidCursor]);
    let mut routes = Routes::of(<StartRun as Call>::DECLARATION.group);
    routes.push(stream);
    routes.push(socket);
    routes
}

/// From where on to follow, and with what ticket.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct After {
    /// The id of the last event that the reader has; from the start if nothing is said.
    #[schemars(regex(pattern = "^[0-9a-f]{1,16}\\.[0-9]{1,20}$"))]
    after: Option<String>,
    /// A ticket, in place of a key.
    ticket: Option<String>,
}

async fn stream(
    State(app): State<App>,
    access: Access,
    Path(run): Path<String>,
    LastEventId(came): LastEventId,
    Query(after): Query<After>,
) -> Answer {
    let (following, began) = follow(&app, &access, &run, came.or(after.after)).await?;
    Ok(events(&app, following, &began, Some(access.opened)))
}

async fn socket(
    State(app): State<App>,
    access: Access,
    Path(run): Path<String>,
    Query(after): Query<After>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer {
    let (following, _) = follow(&app, &access, &run, after.after).await?;
    over_socket(app, following, Some(access.opened), upgrade)
}

/// The stream of a run, and the id after which it begins; none at its start.
async fn follow(app: &App, access: &Access, run: &str, after: Option<String>) -> Result<(Following, String), Refused> {
    let run: Uuid = run.parse()?;
    let place = after.as_deref().map(|after| place(app, after)).transpose()?.flatten();
    let engine = access.engine.clone();
    let stream = engine.run_stream(run, place).await?;
    let following = Run::new(engine, app.engine.stream_epoch(), stream);
    Ok((Following::Run(Box::new(following)), after.filter(|_| place.is_some()).unwrap_or_default()))
}

/// The place that an id names. Ids of another server, or from before a restart, name none: the stream begins anew.
fn place(app: &App, id: &str) -> Result<Option<u64>, Refused> {
    let parts = id
        .split_once('.')
        .and_then(|(epoch, sequence)| Some((u64::from_str_radix(epoch, 16).ok()?, sequence.parse::<u64>().ok()?)));
    let (epoch, sequence) = parts.ok_or_else(|| no_cursor("is not the id of an event in the stream of a run"))?;
    Ok(Some(sequence).filter(|_| epoch == app.engine.stream_epoch()))
}
