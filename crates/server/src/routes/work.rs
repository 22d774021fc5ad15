//! Work on a thread: the queue, executions, skills, agents, subagents.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::routing::{get, patch, post};
use threadkeep::{
    ActivateSkill, Archive, Assign, Begin, EditQueued, End, NotifyParent, Queue, QueuedId, RemoveQueued, Scope,
    SetStatus, Skill, Step, Subagent, Unarchive, Uuid,
};
use threadkeep_api as api;

use super::threads::{appended, named, writing};
use crate::access::Access;
use crate::answer::{Answer, at, created, json};
use crate::app::App;
use crate::input::{Path, expected, idempotency_key, text};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/threads/{thread}/queue", get(queued).post(queue))
        .route("/threads/{thread}/queue/{item}", patch(edit_queued).delete(remove_queued))
        .route("/threads/{thread}/executions", post(begin))
        .route("/threads/{thread}/executions/{execution}/step", post(step))
        .route("/threads/{thread}/executions/{execution}/end", post(end))
        .route("/threads/{thread}/cancel", post(cancel))
        .route("/threads/{thread}/archive", post(archive))
        .route("/threads/{thread}/unarchive", post(unarchive))
        .route("/threads/{thread}/assign", post(assign))
        .route("/threads/{thread}/skills", post(skill))
        .route("/threads/{thread}/emit", post(emit))
        .route("/threads/{thread}/children", get(children).post(subagent))
        .route("/threads/{thread}/parent", get(parent))
        .route("/threads/{thread}/notify-parent", post(notify_parent))
        .route("/threads/{thread}/status", post(set_status))
}

async fn queued(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let items = access.engine.queued(thread.id).await?;
    let items: Vec<_> = items.iter().map(api::Queued::from).collect();
    let total = Some(items.len() as u64);
    Ok(json(&api::Page { items, next_cursor: None, total }))
}

async fn queue(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::NewMessage = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let mut messages = appended(vec![asked])?;
    let message = messages.pop().ok_or(threadkeep::Error::Busy)?;
    let queue = Queue { message, expected: expected(&headers)?, idempotency_key: idempotency_key(&headers)? };
    let queued = access.engine.queue(thread.id, queue).await?;
    Ok(created(&api::Queued::from(&queued)))
}

async fn edit_queued(
    State(app): State<App>,
    access: Access,
    Path((name, item)): Path<(String, String)>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::EditMessage = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let api::EditMessage { content, metadata } = asked;
    let item: QueuedId = item.parse()?;
    let edit = EditQueued { item, content, metadata, expected: expected(&headers)? };
    let queued = access.engine.edit_queued(thread.id, edit).await?;
    Ok(json(&api::Queued::from(&queued)))
}

async fn remove_queued(access: Access, Path((name, item)): Path<(String, String)>, headers: HeaderMap) -> Answer {
    access.may(Scope::Write)?;
    let thread = named(&access, &name).await?;
    let remove = RemoveQueued { item: item.parse()?, expected: expected(&headers)? };
    let deleted = access.engine.remove_queued(thread.id, remove).await?;
    Ok(json(&api::Deleted { deleted }))
}

/// Milliseconds on the wire, microseconds inside.
fn micros(millis: Option<u64>) -> Option<i64> {
    millis.map(|millis| i64::try_from(millis.saturating_mul(1_000)).unwrap_or(i64::MAX))
}

async fn begin(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::Begin = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let begin = Begin { ttl_micros: micros(asked.ttl), take_over: asked.take_over, expected: expected(&headers)? };
    let begun = engine.begin(thread.id, begin).await?;
    let given = engine.model_messages(thread.id, Some(begun.version)).await?;
    Ok(at(begun.version, created(&api::Progressed::new(&begun, Some(&given))?)))
}

async fn step(
    State(app): State<App>,
    access: Access,
    Path((name, execution)): Path<(String, String)>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::Step = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let execution: Uuid = execution.parse()?;
    let step = Step { execution, messages: appended(asked.messages)?, ttl_micros: micros(asked.ttl) };
    let stepped = engine.step(thread.id, step).await?;
    Ok(at(stepped.version, json(&api::Progressed::new(&stepped, None)?)))
}

async fn end(
    State(app): State<App>,
    access: Access,
    Path((name, execution)): Path<(String, String)>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::End = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let end = End { execution: Some(execution.parse()?), status: asked.status, messages: appended(asked.messages)? };
    let ended = engine.end(thread.id, end).await?;
    Ok(at(ended.version, json(&api::Progressed::new(&ended, None)?)))
}

async fn cancel(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let api::Nothing {} = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let ended = engine.end(thread.id, End::cancel()).await?;
    Ok(at(ended.version, json(&api::Progressed::new(&ended, None)?)))
}

async fn archive(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let api::Nothing {} = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let thread = engine.archive(thread.id, Archive { expected: expected(&headers)? }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn unarchive(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let api::Nothing {} = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let thread = engine.unarchive(thread.id, Unarchive { expected: expected(&headers)? }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn assign(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::Assign = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let assign = Assign { agent_id: asked.agent_id, expected: expected(&headers)? };
    let thread = engine.assign(thread.id, assign).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn skill(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let skill: Skill = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let thread = engine.activate_skill(thread.id, ActivateSkill { skill, expected: expected(&headers)? }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn emit(State(app): State<App>, access: Access, Path(name): Path<String>, request: Request) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::Emit = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let listeners = access.engine.emit(thread.id, &asked.event, asked.data).await?;
    Ok(json(&api::EmitTold { listeners }))
}

async fn children(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let items = access.engine.children(thread.id).await?;
    let total = Some(items.len() as u64);
    Ok(json(&api::Page { items, next_cursor: None, total }))
}

async fn subagent(State(app): State<App>, access: Access, Path(name): Path<String>, request: Request) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::NewSubagent = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let subagent = Subagent {
        name: asked.name,
        title: asked.title,
        description: asked.description,
        agent_id: asked.agent_id,
        resumable: asked.resumable,
        blocking: asked.blocking,
        thread_name: asked.thread_name,
        spawn_group_id: asked.spawn_group_id,
        parent_communication: asked.parent_communication,
        status: asked.status,
        messages: appended(asked.messages)?,
    };
    let child = access.engine.subagent(thread.id, subagent).await?;
    Ok(at(child.head.version, created(&api::Thread::from(&child))))
}

async fn parent(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let parent = access.engine.parent_thread(thread.id).await?;
    Ok(json(&parent.as_ref().map(api::Thread::from)))
}

async fn notify_parent(State(app): State<App>, access: Access, Path(name): Path<String>, request: Request) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::NotifyParent = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let queued = access.engine.notify_parent(thread.id, NotifyParent { content: asked.content }).await?;
    let queued = queued.as_ref().map(api::Queued::from);
    Ok(json(&api::Notified { notified: queued.is_some(), queued }))
}

async fn set_status(State(app): State<App>, access: Access, Path(name): Path<String>, request: Request) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::SetStatus = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let set = access.engine.set_status(thread.id, SetStatus { status: asked.status }).await?;
    Ok(json(&api::StatusSet { set }))
}
