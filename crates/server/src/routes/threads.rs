//! Threads: create, read, change, delete.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use threadkeep::{
    Create, Delete, Engine, Error, MessageBody, NewMessage, Scope, Standing, Thread, ThreadName, Update, Verb,
};
use threadkeep_api as api;

use crate::access::{Access, Reader};
use crate::answer::{Answer, Refused, at, created, json};
use crate::app::App;
use crate::input::{Path, expected, text, writer};

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/threads", post(create)).route("/threads/{thread}", get(show).patch(update).delete(delete))
}

/// The engine, writing to `thread` as the request's headers say.
pub(crate) fn writing(engine: &Engine, thread: &Thread, headers: &HeaderMap) -> Result<Engine, Refused> {
    Ok(match writer(headers)? {
        Some(token) => engine.writing_under(thread.id, token),
        None => engine.clone(),
    })
}

/// The thread that a path names.
pub(crate) async fn named(access: &Access, name: &str) -> Result<Thread, Refused> {
    let name: ThreadName = name.parse()?;
    Ok(access.engine.thread(name).await?)
}

/// Messages of a request that are appended.
pub(crate) fn appended(messages: Vec<api::NewMessage>) -> Result<Vec<NewMessage>, Refused> {
    let body = |message: api::NewMessage| -> Result<NewMessage, Refused> {
        let (body, position): (MessageBody, _) = message.into_parts();
        if position.is_some() {
            let rule = "stands for one message alone, posted to /messages";
            return Err(threadkeep::Invalid::body("position", rule).into());
        }
        Ok(body.into())
    };
    messages.into_iter().map(body).collect()
}

async fn create(State(app): State<App>, access: Access, request: Request) -> Answer {
    access.may(Scope::Write)?;
    let asked = api::CreateThread::parse(&text(request, &app.settings).await?)?;
    let create = Create { fields: asked.fields, messages: appended(asked.messages)? };
    let thread = access.engine.create(create).await?;
    Ok(at(thread.head.version, created(&api::Thread::from(&thread))))
}

async fn show(reader: Reader, Path(name): Path<String>) -> Answer {
    let (thread, standing) = reader.seen(&name, Verb::Read).await?;
    let shown = match standing {
        Standing::Owner => api::Thread::from(&thread),
        Standing::Visitor => api::Thread::for_visitors(&thread),
    };
    Ok(at(thread.head.version, json(&shown)))
}

async fn update(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let fields = api::parse_update(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let thread = engine.update(thread.id, Update { fields, expected: expected(&headers)? }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn delete(access: Access, Path(name): Path<String>, headers: HeaderMap) -> Answer {
    access.may(Scope::Write)?;
    let name: ThreadName = name.parse()?;
    let deleted = match access.engine.thread(name).await {
        Ok(thread) => {
            let engine = writing(&access.engine, &thread, &headers)?;
            engine.delete(thread.id, Delete { expected: expected(&headers)? }).await?
        }
        Err(Error::ThreadNotFound { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    Ok(json(&api::Deleted { deleted }))
}
