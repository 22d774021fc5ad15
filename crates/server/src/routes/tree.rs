//! Other ways through a history, and the family of a thread: fork, handoff, mention, rollback, checkpoint, the writer.

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use threadkeep::{
    Fork, ForkPoint, Handoff, Invalid, Mention, Rollback, RollbackTo, Scope, SetCheckpoint, TakeWriter, ThreadName,
    Verb,
};
use threadkeep_api as api;
use threadkeep_api::{Problem, Status};

use super::threads::{named, writing};
use crate::access::Access;
use crate::answer::{Answer, Refused, at, created, json};
use crate::app::App;
use crate::input::{Path, expected, text, writer};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/threads/{thread}/fork", post(fork))
        .route("/threads/{thread}/handoff", post(handoff))
        .route("/threads/{thread}/mention", post(mention))
        .route("/threads/{thread}/rollback", post(rollback))
        .route("/threads/{thread}/checkpoint", post(checkpoint))
        .route("/threads/{thread}/checkpoints", get(checkpoints))
        .route("/threads/{thread}/tree", get(tree))
        .route("/threads/{thread}/relationships", get(relationships))
        .route("/threads/{thread}/summary", get(summary))
        .route("/threads/{thread}/writer", get(held).post(take).put(renew).delete(release))
}

async fn fork(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::Fork = api::parse_body(&text(request, &app.settings).await?)?;
    let (thread, _) = access.engine.seen(name.parse::<ThreadName>()?, Verb::Fork).await?;
    let point = match (asked.message_index, asked.message_id, asked.version) {
        (None, None, None) => ForkPoint::Now,
        (Some(index), None, None) => ForkPoint::Index(index),
        (None, Some(message), None) => ForkPoint::Message(access.engine.message_id(message).await?),
        (None, None, Some(version)) => ForkPoint::Version(version),
        _ => return Err(Invalid::body("messageIndex", "name one of messageIndex, messageId and version").into()),
    };
    let fork = Fork { at: point, title: asked.title, expected: expected(&headers)? };
    let child = access.engine.fork(thread.id, fork).await?;
    Ok(at(child.head.version, created(&api::Thread::from(&child))))
}

async fn handoff(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::Handoff = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let api::Handoff { goal, summary, comment, agent_id } = asked;
    let handoff = Handoff { goal, summary, comment, agent_id, expected: expected(&headers)? };
    let child = access.engine.handoff(thread.id, handoff).await?;
    Ok(at(child.head.version, created(&api::Thread::from(&child))))
}

async fn mention(State(app): State<App>, access: Access, Path(name): Path<String>, request: Request) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::Mention = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let target: ThreadName = asked.target.parse()?;
    let made = access.engine.mention(thread.id, Mention { target, comment: asked.comment }).await?;
    Ok(created(&api::Relationship::from(&made)))
}

async fn rollback(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::Rollback = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let to = match (asked.checkpoint, asked.timestamp, asked.version, asked.undo) {
        (Some(name), None, None, false) => RollbackTo::Checkpoint(name),
        (None, Some(time), None, false) => RollbackTo::Timestamp(time),
        (None, None, Some(version), false) => RollbackTo::Version(version),
        (None, None, None, true) => RollbackTo::Undo,
        _ => return Err(Invalid::body("version", "name one of checkpoint, timestamp, version and undo").into()),
    };
    let thread = engine.rollback(thread.id, Rollback { to, expected: expected(&headers)? }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn checkpoint(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::SetCheckpoint = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let set = SetCheckpoint { name: asked.name, expected: expected(&headers)? };
    let checkpoint = access.engine.checkpoint(thread.id, set).await?;
    Ok(created(&api::Checkpoint::from(&checkpoint)))
}

async fn checkpoints(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let found = access.engine.checkpoints(thread.id).await?;
    let items: Vec<_> = found.iter().map(api::Checkpoint::from).collect();
    let total = Some(items.len() as u64);
    Ok(json(&api::Page { items, next_cursor: None, total }))
}

async fn tree(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let family = access.engine.family(thread.id).await?;
    Ok(json(&api::Family::of(thread.id, &family)))
}

async fn relationships(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let found = access.engine.relationships(thread.id).await?;
    let items: Vec<_> = found.iter().map(api::Relationship::from).collect();
    let total = Some(items.len() as u64);
    Ok(json(&api::Page { items, next_cursor: None, total }))
}

async fn summary(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let summary = access.engine.summary(thread.id).await?;
    Ok(json(&api::Summary { summary }))
}

async fn held(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let lease = access.engine.writer(thread.id).await?;
    Ok(json(&lease.as_ref().map(api::Writer::seen)))
}

async fn take(State(app): State<App>, access: Access, Path(name): Path<String>, request: Request) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::TakeWriter = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let take = TakeWriter { ttl: asked.ttl.map(Duration::from_millis), holder: asked.holder };
    let lease = access.engine.take_writer(thread.id, take).await?;
    Ok(created(&api::Writer::held(&lease)))
}

async fn renew(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let token = token(&headers)?;
    let asked: api::TakeWriter = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let lease = access.engine.renew_writer(thread.id, token, asked.ttl.map(Duration::from_millis)).await?;
    Ok(json(&api::Writer::held(&lease)))
}

async fn release(access: Access, Path(name): Path<String>, headers: HeaderMap) -> Answer {
    access.may(Scope::Write)?;
    let token = token(&headers)?;
    let thread = named(&access, &name).await?;
    let released = access.engine.release_writer(thread.id, token).await?;
    Ok(json(&api::Released { released }))
}

/// The token that a change of a lease needs.
fn token(headers: &HeaderMap) -> Result<u64, Refused> {
    writer(headers)?.ok_or_else(|| {
        let problem = Problem::new(Status::BadRequest, "invalid_parameter", "the token of the lease is missing");
        problem.hint("send it as Threadkeep-Writer: TOKEN").into()
    })
}
