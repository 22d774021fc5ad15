//! What whoever operates the server asks: is it alive, is it ready, what does it count.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::get;
use threadkeep_api::{Problem, Status};

use crate::answer::{Answer, json};
use crate::app::App;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready)).route("/metrics", get(metrics))
}

async fn alive() -> Answer {
    Ok(json(&serde_json::json!({ "status": "ok" })))
}

/// Ready is who can read the store and is not about to stop.
async fn ready(State(app): State<App>) -> Answer {
    if *app.stopping.borrow() {
        return Err(Problem::new(Status::Unavailable, "unavailable", "the server is stopping").into());
    }
    app.engine.feed_latest().await?;
    Ok(json(&serde_json::json!({ "status": "ready" })))
}

async fn metrics(State(app): State<App>) -> Answer {
    let mut response = Response::new(Body::from(app.metrics.text(app.log.dropped())));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
