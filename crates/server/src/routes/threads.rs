//! Threads: create, read, change, delete.

use threadkeep::model::FieldChanges;
use threadkeep::{Create, Delete, Error, MessageBody, NewMessage, Standing, Thread, ThreadName, Update, Verb};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use crate::access::{Access, Reader, Writing};
use crate::answer::{Answer, Refused, at, created, json};
use crate::conditions::{IfMatch, Lease};
use crate::input::{Body, Path};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Threads",
        "Make threads, read, change, list and delete them.",
        [
            table::post(
                ("createThread", "/v1/threads"),
                "Makes a thread, with its first messages if there are any.",
                create,
                Gives::created::<api::Thread>("The new thread.").versioned(),
            )
            .example(r#"{"title":"Trip to Rome","messages":[{"role":"user","content":"Where do I stay?"}]}"#),
            table::get(
                ("getThread", "/v1/threads/{thread}"),
                "Shows a thread, without its messages.",
                show,
                Gives::json::<api::Thread>("The thread; visitors of a public one see less of it.").versioned(),
            ),
            table::patch(
                ("updateThread", "/v1/threads/{thread}"),
                "Replaces fields of a thread; null clears one.",
                update,
                Gives::json::<api::Thread>("The thread as it is now.").versioned(),
            )
            .example(r#"{"title":"Trip to Naples","draft":null}"#)
            .fails([ErrorCode::ThreadClosed, ErrorCode::InvalidTransition]),
            table::delete(
                ("deleteThread", "/v1/threads/{thread}"),
                "Deletes a thread and the threads of its subagents, for good; its id stays refused.",
                delete,
                Gives::json::<api::Deleted>("Whether there was one: false for ids that are unknown, or not yours."),
            )
            .never(ErrorCode::ThreadNotFound),
        ],
    )
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

async fn create(Writing(access): Writing, Body(asked): Body<api::CreateThread>) -> Answer {
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
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(fields): Body<FieldChanges>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let thread = engine.update(thread.id, Update { fields, expected: if_match.version() }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn delete(Writing(access): Writing, Path(name): Path<String>, if_match: IfMatch, lease: Lease) -> Answer {
    let name: ThreadName = name.parse()?;
    let deleted = match access.engine.thread(name).await {
        Ok(thread) => {
            let engine = lease.engine(&access.engine, &thread);
            engine.delete(thread.id, Delete { expected: if_match.version() }).await?
        }
        Err(Error::ThreadNotFound { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    Ok(json(&api::Deleted { deleted }))
}
