//! Questions of the operator: is the server alive, is it ready, what does it count.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use threadkeep::Error;
use threadkeep::sandbox::Origin;
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::answer::{Answer, Refused, json};
use crate::app::App;
use crate::metrics;
use crate::table::{self, Gives, Routes};

/// How long the store may take for a question of the operator.
const ANSWERED_WITHIN: Duration = Duration::from_millis(800);

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Operation",
        "Health and metrics of the server.",
        [
            table::get(
                ("getHealth", "/healthz"),
                "Says that the server is alive.",
                alive,
                Gives::json::<Health>("It is."),
            ),
            table::get(
                ("getReadiness", "/readyz"),
                "Says whether the server can reach its store and is not about to stop, and whether it runs code.",
                ready,
                Gives::json::<Ready>("It can."),
            )
            .fails([ErrorCode::Unavailable, ErrorCode::StorageFailed, ErrorCode::StoreDamaged]),
            table::get(
                ("getMetrics", "/metrics"),
                "Shows the metrics of the server, for Prometheus.",
                count,
                Gives::text("text/plain", "The counts."),
            ),
        ],
    )
}

/// The state of the server.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// `ok` if it lives, `ready` if it can serve.
    status: &'static str,
}

/// Whether the server is ready, and for what.
#[derive(Serialize, JsonSchema)]
struct Ready {
    /// The word `ready`, if it is.
    status: &'static str,
    /// `ready` if code of requests runs, else why it does not.
    sandbox: String,
}

async fn alive() -> Answer {
    Ok(json(&Health { status: "ok" }))
}

/// Ready is who can read the store and is not about to stop.
async fn ready(State(app): State<App>) -> Answer {
    if *app.stopping.borrow() {
        return Err(Problem::new(Status::Unavailable, ErrorCode::Unavailable, "the server is stopping").into());
    }
    within(app.engine.feed_latest()).await?;
    let sandbox =
        app.sandbox.check(Origin::Request).map_or_else(|refused| refused.to_string(), |()| "ready".to_owned());
    Ok(json(&Ready { status: "ready", sandbox }))
}

/// What the store answers, if it answers soon: the operator wants to know whether it does.
async fn within<T>(asked: impl Future<Output = Result<T, Error>>) -> Result<T, Refused> {
    match tokio::time::timeout(ANSWERED_WITHIN, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => {
            let detail = format!("the store did not answer within {} ms", ANSWERED_WITHIN.as_millis());
            Err(Problem::new(Status::Unavailable, ErrorCode::Unavailable, detail).into())
        }
    }
}

async fn count(State(app): State<App>) -> Answer {
    let mut text = app.metrics.text(app.log.dropped());
    // The other counts are given also while the store is away.
    let (index, observers) =
        tokio::join!(within(app.engine.index_status_of_all()), within(app.engine.observers_behind()));
    text.extend(index.ok().map(|index| metrics::index(&index)));
    text.extend(observers.ok().map(metrics::observers));
    let mut response = Response::new(Body::from(text));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
