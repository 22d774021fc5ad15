//! Messages with files: they go to the store itself, since the wire names files that are in the store already.

use threadkeep::{
    Append, Error, IdempotencyKey, Insert, MessageName, NewMessage, Progressed, Queue, ThreadId, Version,
};
use threadkeep_calls as api;
use threadkeep_calls::Problem;
use threadkeep_client as client;

use crate::context::Context;
use crate::failure::Failure;

/// What needs the store, in words.
pub(crate) const ATTACH: &str = "--attach";

/// `context`'s store, as calls that may be tried again want it.
fn engine(context: &mut Context) -> Result<threadkeep::Engine, client::Error> {
    context.engine(ATTACH).map_err(|failure| match failure {
        Failure::Problem(problem) => client::Error::Refused(problem),
        Failure::Closed | Failure::Interrupted(_) => refused(Error::Busy),
    })
}

fn refused(error: Error) -> client::Error {
    client::Error::Refused(Box::new(Problem::from(error)))
}

pub(crate) async fn append(
    context: &mut Context,
    thread: ThreadId,
    message: NewMessage,
    expected: Option<Version>,
    key: IdempotencyKey,
) -> Result<api::Message<'static>, client::Error> {
    let append = Append { messages: vec![message], expected, idempotency_key: Some(key) };
    let mut appended = engine(context)?.append(thread, append).await.map_err(refused)?;
    let message = appended.pop().ok_or_else(|| refused(Error::Busy))?;
    owned(&api::Message::new(&message).map_err(|damaged| refused(damaged.into()))?)
}

pub(crate) async fn insert(
    context: &mut Context,
    thread: ThreadId,
    before: MessageName,
    message: NewMessage,
    expected: Option<Version>,
) -> Result<api::Message<'static>, Failure> {
    let engine = engine(context)?;
    let before = engine.message_id(before).await?;
    let message = engine.insert(thread, Insert { before, message, expected }).await?;
    Ok(owned(&api::Message::new(&message)?)?)
}

pub(crate) async fn queue(context: &mut Context, thread: ThreadId, queue: Queue) -> Result<api::Queued, Failure> {
    let queued = engine(context)?.queue(thread, queue).await?;
    Ok(api::Queued::from(&queued))
}

/// What a step or an end did, as the wire shows it.
pub(crate) fn progressed(done: &Progressed) -> Result<api::Progressed<'static>, Failure> {
    Ok(owned(&api::Progressed::new(done, None)?)?)
}

/// The same as it would have come over the wire.
fn owned<T: serde::Serialize, O: serde::de::DeserializeOwned>(told: &T) -> Result<O, client::Error> {
    let read = serde_json::to_vec(told).and_then(|json| serde_json::from_slice(&json));
    read.map_err(|error| client::Error::NotUnderstood { server: "the store".to_owned(), what: error.to_string() })
}
