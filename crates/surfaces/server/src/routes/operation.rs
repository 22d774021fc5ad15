//! Questions of the operator: is the server alive, is it ready, what does it count.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::answer::{Answer, json};
use crate::app::App;
use crate::metrics;
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Operation",
        "What whoever operates the server asks.",
        [
            table::get(
                ("getHealth", "/healthz"),
                "Says that the server is alive.",
                alive,
                Gives::json::<Health>("It is."),
            ),
            table::get(
                ("getReadiness", "/readyz"),
                "Says whether the server can reach its store and is not about to stop.",
                ready,
                Gives::json::<Health>("It can."),
            )
            .fails([ErrorCode::Unavailable, ErrorCode::StorageFailed, ErrorCode::StoreDamaged]),
            table::get(
                ("getMetrics", "/metrics"),
                "Shows what the server counts, as Prometheus reads it.",
                count,
                Gives::text("text/plain", "The counts."),
            ),
        ],
    )
}

/// How the server is.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// `ok` or `ready`.
    status: &'static str,
}

async fn alive() -> Answer {
    Ok(json(&Health { status: "ok" }))
}

/// Ready is who can read the store and is not about to stop.
async fn ready(State(app): State<App>) -> Answer {
    if *app.stopping.borrow() {
        return Err(Problem::new(Status::Unavailable, ErrorCode::Unavailable, "the server is stopping").into());
    }
    app.engine.feed_latest().await?;
    Ok(json(&Health { status: "ready" }))
}

async fn count(State(app): State<App>) -> Answer {
    let mut text = app.metrics.text(app.log.dropped());
    // The other counts are given also while the store is away.
    if let Ok(index) = app.engine.index_status_of_all().await {
        text.push_str(&metrics::index(&index));
    }
    let mut response = Response::new(Body::from(text));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
