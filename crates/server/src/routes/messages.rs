//! Messages: add, read, edit, delete; the history.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep::{
    Append, DeleteMessage, EditMessage, Error, Insert, Mention, Message, MessageName, Page, Position, Role, Scope,
    Standing, ThreadName, Truncate, TruncateFrom, Verb, Version,
};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::threads::{appended, named};
use crate::access::{Reader, Writing};
use crate::answer::{Answer, Refused, at, created, json};
use crate::conditions::{IfMatch, Lease, Retry};
use crate::input::{Body, Path, Query};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Messages",
        "What was said in a thread, and everything that happened to it.",
        [
            table::get(
                ("listMessages", "/v1/threads/{thread}/messages"),
                "Lists the messages of a thread, now or as it was at a version.",
                list,
                Gives::json::<api::Page<api::Message<'static>>>("A page of messages.").versioned(),
            )
            .fails([ErrorCode::InvalidCursor, ErrorCode::VersionInFuture, ErrorCode::InvalidBody]),
            table::post(
                ("appendMessages", "/v1/threads/{thread}/messages"),
                "Adds a message, or several as one; a single one may be put before another by `position`.",
                append,
                Gives::created::<Appended>("The message; the messages, if there was a list of them.").versioned(),
            )
            .example(r#"{"role":"user","content":"Hello"}"#)
            .fails([ErrorCode::ThreadClosed, ErrorCode::InvalidMessageId, ErrorCode::MessageNotFound]),
            table::get(
                ("getMessage", "/v1/threads/{thread}/messages/{message}"),
                "Shows a message.",
                show,
                Gives::json::<api::Message<'static>>("The message."),
            ),
            table::patch(
                ("editMessage", "/v1/threads/{thread}/messages/{message}"),
                "Gives a message new content, new metadata, or both.",
                edit,
                Gives::json::<api::Message<'static>>("The message as it is now.").versioned(),
            )
            .example(r#"{"content":"Hello again","metadata":{"edited":true}}"#)
            .fails([ErrorCode::ThreadClosed]),
            table::delete(
                ("deleteMessage", "/v1/threads/{thread}/messages/{message}"),
                "Takes a message out of the conversation; the history keeps it.",
                delete,
                Gives::json::<api::Deleted>("Whether there was one."),
            )
            .never(ErrorCode::MessageNotFound)
            .fails([ErrorCode::ThreadClosed]),
            table::get(
                ("getHistory", "/v1/threads/{thread}/history"),
                "Lists the entries of the log, each a fact that holds for good.",
                history,
                Gives::json::<api::Page<api::HistoryEntry<'static>>>("A page of entries."),
            ),
            table::post(
                ("truncateThread", "/v1/threads/{thread}/truncate"),
                "Drops messages from a place on; a rollback brings them back.",
                truncate,
                Gives::json::<api::Thread>("The thread as it is now.").versioned(),
            )
            .example(r#"{"fromIndex":0}"#)
            .fails([
                ErrorCode::IndexOutOfRange,
                ErrorCode::InvalidMessageId,
                ErrorCode::MessageNotFound,
                ErrorCode::ThreadClosed,
            ]),
            table::get(
                ("getModelMessages", "/v1/threads/{thread}/model-messages"),
                "Shows the conversation as a model is given it: every call of a tool with one result.",
                model_messages,
                Gives::json::<Vec<api::ModelMessage>>("The messages."),
            )
            .fails([ErrorCode::VersionInFuture]),
        ],
    )
}

/// What an append answers with.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "never built: it describes the answer")]
enum Appended {
    /// One message.
    One(api::Message<'static>),
    /// Several.
    Batch(api::AppendedMessages),
}

async fn append(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Retry(retry): Retry,
    Body(asked): Body<api::NewMessages>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let (expected, idempotency_key) = (if_match.version(), retry);
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
            Ok(at(version, created(&Shown { messages: shown })))
        }
    }
}

/// What a batch added, to the letter.
#[derive(Serialize)]
struct Shown<'a> {
    messages: Vec<api::Message<'a>>,
}

/// Which messages to read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Which {
    /// How many items at most.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where the page before ended.
    cursor: Option<String>,
    /// How many to pass over. It cannot stand beside a cursor.
    offset: Option<u64>,
    /// The oldest first, or the newest.
    #[schemars(extend("enum" = ["asc", "desc"]))]
    order: Option<String>,
    /// Those of this role.
    role: Option<Role>,
    /// Those that hang no further below the conversation.
    max_depth: Option<u8>,
    /// Silent ones too.
    include_silent: bool,
    /// As the thread was at this version.
    as_of: Option<Version>,
    /// A thread of the reader that mentions this one by reading it; it needs a key that may write.
    #[schemars(with = "Option<ThreadName>")]
    from: Option<String>,
    /// Whether to tell the total; it is told wherever it is known.
    total: Option<bool>,
}

impl Which {
    /// Whether all messages are counted in the page, and whether that is asked for.
    pub(super) fn counts(&self) -> (bool, bool) {
        (self.role.is_none() && self.max_depth.is_none(), self.total.unwrap_or(true))
    }

    pub(super) fn page(self) -> Result<Page, Refused> {
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
    let (counted, wanted) = which.counts();
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
    Writing(access): Writing,
    Path((name, message)): Path<(String, String)>,
    if_match: IfMatch,
    lease: Lease,
    Body(asked): Body<api::EditMessage>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let message = engine.message_id(message.parse::<MessageName>()?).await?;
    let api::EditMessage { content, metadata } = asked;
    let edit = EditMessage { message, content, metadata, expected: if_match.version() };
    let message = engine.edit_message(thread.id, edit).await?;
    Ok(at(message.version, json(&api::Message::new(&message)?)))
}

async fn delete(
    Writing(access): Writing,
    Path((name, message)): Path<(String, String)>,
    if_match: IfMatch,
    lease: Lease,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let deleted = match engine.message_id(message.parse::<MessageName>()?).await {
        Ok(message) => {
            engine.delete_message(thread.id, DeleteMessage { message, expected: if_match.version() }).await?
        }
        Err(Error::MessageNotFound { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    Ok(json(&api::Deleted { deleted }))
}

/// From where on to read the history.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct After {
    /// The entries after this version.
    after: Option<Version>,
    /// How many items at most.
    #[schemars(range(min = 1, max = 1_000))]
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
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(asked): Body<api::Truncate>,
) -> Answer {
    let name: ThreadName = name.parse()?;
    let thread = access.engine.thread(name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let from = match (asked.from_index, asked.from_message_id) {
        (Some(index), None) => TruncateFrom::Index(index),
        (None, Some(message)) => TruncateFrom::Message(engine.message_id(message).await?),
        _ => return Err(threadkeep::Invalid::body("fromIndex", "name either fromIndex or fromMessageId").into()),
    };
    let thread = engine.truncate(thread.id, Truncate { from, expected: if_match.version() }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

/// As of which version.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct AsOf {
    /// As the thread was at this version.
    as_of: Option<Version>,
}

async fn model_messages(reader: Reader, Path(name): Path<String>, Query(at): Query<AsOf>) -> Answer {
    let (thread, _) = reader.seen(&name, Verb::Read).await?;
    let given = reader.engine.model_messages(thread.id, at.as_of).await?;
    Ok(json(&given.iter().map(api::ModelMessage::from).collect::<Vec<_>>()))
}
