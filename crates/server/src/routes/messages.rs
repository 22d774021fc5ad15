//! Messages: add, read, edit, delete; the history.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use serde::Deserialize;
use threadkeep::{
    Append, DeleteMessage, EditMessage, Error, Insert, Mention, Message, MessageName, Page, Position, Role, Scope,
    Standing, ThreadName, Truncate, TruncateFrom, Verb, Version,
};
use threadkeep_api as api;

use super::threads::{appended, named, writing};
use crate::access::{Access, Reader};
use crate::answer::{Answer, Refused, at, created, json};
use crate::app::App;
use crate::input::{Path, Query, expected, idempotency_key, text};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/threads/{thread}/messages", get(list).post(append))
        .route("/threads/{thread}/messages/{message}", get(show).patch(edit).delete(delete))
        .route("/threads/{thread}/history", get(history))
        .route("/threads/{thread}/truncate", post(truncate))
        .route("/threads/{thread}/model-messages", get(model_messages))
}

async fn append(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked = api::NewMessages::parse(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let (expected, idempotency_key) = (expected(&headers)?, idempotency_key(&headers)?);
    match asked {
        api::NewMessages::One(message) => {
            let (body, position) = message.into_parts();
            let message = match position {
                Some(place) => {
                    let before = engine.message_id(place.before).await?;
                    engine.insert(thread.id, Insert { before, message: body.into(), expected }).await?
                }
                None => {
                    let append = Append { messages: vec![body.into()], expected, idempotency_key };
                    engine.append(thread.id, append).await?.pop().ok_or(Error::Busy)?
                }
            };
            Ok(at(message.version, created(&api::Message::new(&message)?)))
        }
        api::NewMessages::Batch(messages) => {
            let append = Append { messages: appended(messages)?, expected, idempotency_key };
            let messages = engine.append(thread.id, append).await?;
            let shown = messages.iter().map(api::Message::new).collect::<Result<Vec<_>, _>>()?;
            let version = messages.last().map_or(thread.head.version, |message| message.version);
            Ok(at(version, created(&serde_json::json!({ "messages": shown }))))
        }
    }
}

/// Which messages to read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Which {
    limit: Option<usize>,
    cursor: Option<String>,
    offset: Option<u64>,
    order: Option<String>,
    role: Option<Role>,
    max_depth: Option<u8>,
    include_silent: bool,
    as_of: Option<Version>,
    from: Option<String>,
    /// The total is told wherever it is known.
    total: Option<bool>,
}

impl Which {
    fn page(self) -> Result<Page, Refused> {
        let mut page = self.cursor.map_or_else(Page::first, Page::after);
        match self.order.as_deref() {
            None | Some("asc") => {}
            Some("desc") => page = page.newest_first(),
            Some(other) => {
                let rule = format!("'{other}' is neither asc nor desc");
                return Err(threadkeep::Invalid::parameter("order", rule).into());
            }
        }
        page = self.limit.into_iter().fold(page, Page::limit);
        page = self.offset.into_iter().fold(page, Page::offset);
        page = self.role.into_iter().fold(page, Page::role);
        page = self.max_depth.into_iter().fold(page, Page::max_depth);
        page = self.as_of.into_iter().fold(page, Page::as_of);
        Ok(if self.include_silent { page.include_silent() } else { page })
    }
}

/// A message as somebody of this standing sees it.
pub(super) fn shown(message: &Message, standing: Standing) -> Result<api::Message<'_>, Refused> {
    Ok(match standing {
        Standing::Owner => api::Message::new(message)?,
        Standing::Visitor => api::Message::for_visitors(message)?,
    })
}

async fn list(reader: Reader, Path(name): Path<String>, Query(mut which): Query<Which>) -> Answer {
    let (thread, standing) = reader.seen(&name, Verb::Read).await?;
    if let Some(from) = which.from.take() {
        let access = reader.with_key()?;
        access.may(Scope::Write)?;
        let from = named(&access, &from).await?;
        access.engine.mention(from.id, Mention { target: thread.id.into(), comment: None }).await?;
    }
    let counted = which.role.is_none() && which.max_depth.is_none();
    let wanted = which.total.unwrap_or(true);
    let page = reader.engine.messages(thread.id, which.page()?).await?;
    let items = page.items.iter().map(|message| shown(message, standing)).collect::<Result<Vec<_>, _>>()?;
    let total = counted.then_some(page.total).filter(|_| wanted);
    Ok(at(page.version, json(&api::Page { items, next_cursor: page.next.clone(), total })))
}

async fn show(reader: Reader, Path((name, message)): Path<(String, String)>) -> Answer {
    let (thread, standing) = reader.seen(&name, Verb::Read).await?;
    let message = reader.engine.message_id(message.parse::<MessageName>()?).await?;
    let message = reader.engine.message(thread.id, message, None).await?;
    Ok(json(&shown(&message, standing)?))
}

async fn edit(
    State(app): State<App>,
    access: Access,
    Path((name, message)): Path<(String, String)>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::EditMessage = api::parse_body(&text(request, &app.settings).await?)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let message = engine.message_id(message.parse::<MessageName>()?).await?;
    let api::EditMessage { content, metadata } = asked;
    let edit = EditMessage { message, content, metadata, expected: expected(&headers)? };
    let message = engine.edit_message(thread.id, edit).await?;
    Ok(at(message.version, json(&api::Message::new(&message)?)))
}

async fn delete(access: Access, Path((name, message)): Path<(String, String)>, headers: HeaderMap) -> Answer {
    access.may(Scope::Write)?;
    let thread = named(&access, &name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let deleted = match engine.message_id(message.parse::<MessageName>()?).await {
        Ok(message) => {
            engine.delete_message(thread.id, DeleteMessage { message, expected: expected(&headers)? }).await?
        }
        Err(Error::MessageNotFound { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    Ok(json(&api::Deleted { deleted }))
}

/// From where on to read the history.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct After {
    after: Option<Version>,
    limit: Option<usize>,
}

async fn history(reader: Reader, Path(name): Path<String>, Query(after): Query<After>) -> Answer {
    let limits = *reader.engine.limits();
    let limit = after.limit.unwrap_or(limits.page);
    if limit == 0 || limit > limits.page_max {
        let rule = format!("a page has 1 to {} entries", limits.page_max);
        return Err(threadkeep::Invalid::parameter("limit", rule).into());
    }
    let (thread, standing) = reader.seen(&name, Verb::Read).await?;
    let entries = reader.engine.history_page(thread.id, after.after.unwrap_or(Position::START), limit).await?;
    let mut items = Vec::with_capacity(entries.len());
    for entry in &entries {
        items.extend(crate::following::shown(entry, standing, &reader.engine)?);
    }
    let next = entries.last().filter(|last| last.version < thread.head.version).map(|last| last.version.to_string());
    Ok(json(&api::Page { items, next_cursor: next, total: None }))
}

async fn truncate(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    access.may(Scope::Write)?;
    let asked: api::Truncate = api::parse_body(&text(request, &app.settings).await?)?;
    let name: ThreadName = name.parse()?;
    let thread = access.engine.thread(name).await?;
    let engine = writing(&access.engine, &thread, &headers)?;
    let from = match (asked.from_index, asked.from_message_id) {
        (Some(index), None) => TruncateFrom::Index(index),
        (None, Some(message)) => TruncateFrom::Message(engine.message_id(message).await?),
        _ => return Err(threadkeep::Invalid::body("fromIndex", "name either fromIndex or fromMessageId").into()),
    };
    let thread = engine.truncate(thread.id, Truncate { from, expected: expected(&headers)? }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

/// As of which version.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct AsOf {
    as_of: Option<Version>,
}

async fn model_messages(reader: Reader, Path(name): Path<String>, Query(at): Query<AsOf>) -> Answer {
    let (thread, _) = reader.seen(&name, Verb::Read).await?;
    let given = reader.engine.model_messages(thread.id, at.as_of).await?;
    Ok(json(&given.iter().map(api::ModelMessage::from).collect::<Vec<_>>()))
}
