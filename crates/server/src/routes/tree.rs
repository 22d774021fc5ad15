//! Other ways through a history, and the family of a thread: fork, handoff, mention, rollback, checkpoint, the writer.

use std::time::Duration;

use threadkeep::{
    Fork, ForkPoint, Handoff, Invalid, Mention, Rollback, RollbackTo, SetCheckpoint, StepName, TakeWriter, ThreadName,
    Verb,
};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::threads::named;
use crate::access::{Access, Writing};
use crate::answer::{Answer, at, created, json};
use crate::conditions::{IfMatch, Lease, Token};
use crate::input::{Body, Path};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "History and family",
        "Other ways through a history, and what threads have to do with each other.",
        [
            table::post(
                ("forkThread", "/v1/threads/{thread}/fork"),
                "Forks a thread: the new one shares its history up to a point.",
                fork,
                Gives::created::<api::Thread>("The new thread.").versioned(),
            )
            .example(r#"{"messageIndex":0,"title":"Another way"}"#)
            .fails([
                ErrorCode::IndexOutOfRange,
                ErrorCode::VersionInFuture,
                ErrorCode::InvalidMessageId,
                ErrorCode::MessageNotFound,
            ]),
            table::post(
                ("handOff", "/v1/threads/{thread}/handoff"),
                "Goes on in a new thread, from a summary of this one.",
                handoff,
                Gives::created::<api::Thread>("The new thread.").versioned(),
            )
            .example(r#"{"goal":"Write the tests"}"#),
            table::post(
                ("mentionThread", "/v1/threads/{thread}/mention"),
                "Records that a thread mentions another one.",
                mention,
                Gives::created::<api::Relationship>("The relation that it made."),
            )
            .example(r#"{"target":"T-5928a90d-d53b-488f-a829-4e36442142ee"}"#),
            table::post(
                ("rollBack", "/v1/threads/{thread}/rollback"),
                "Goes back to a checkpoint, a step, a time or a version, with all or one file only; or undoes the last time.",
                rollback,
                Gives::json::<api::Thread>("The thread as it is now.").versioned(),
            )
            .example(r#"{"version":1}"#)
            .fails([
                ErrorCode::BeforeBirth,
                ErrorCode::VersionInFuture,
                ErrorCode::CheckpointNotFound,
                ErrorCode::IndexOutOfRange,
                ErrorCode::InvalidMessageId,
                ErrorCode::MessageNotFound,
                ErrorCode::NothingToUndo,
                ErrorCode::FileNotFound,
                ErrorCode::IsADirectory,
                ErrorCode::NotADirectory,
                ErrorCode::ThreadClosed,
                ErrorCode::ThreadSuspended,
                ErrorCode::ApprovalRequired,
            ]),
            table::post(
                ("setCheckpoint", "/v1/threads/{thread}/checkpoint"),
                "Gives the present version a name.",
                checkpoint,
                Gives::created::<api::Checkpoint>("The checkpoint."),
            )
            .example(r#"{"name":"before the change"}"#),
            table::get(
                ("listCheckpoints", "/v1/threads/{thread}/checkpoints"),
                "Lists the checkpoints of a thread.",
                checkpoints,
                Gives::json::<api::Page<api::Checkpoint>>("All of them."),
            ),
            table::get(
                ("getFamily", "/v1/threads/{thread}/tree"),
                "Shows a thread with all it is related to, directly or not.",
                tree,
                Gives::json::<api::Family>("The family."),
            ),
            table::get(
                ("listRelationships", "/v1/threads/{thread}/relationships"),
                "Lists the relations of a thread.",
                relationships,
                Gives::json::<api::Page<api::Relationship>>("All of them."),
            ),
            table::get(
                ("getSummary", "/v1/threads/{thread}/summary"),
                "Shows the built-in summary of a thread.",
                summary,
                Gives::json::<api::Summary>("The summary."),
            ),
            table::get(
                ("getWriter", "/v1/threads/{thread}/writer"),
                "Shows who is the exclusive writer of a thread.",
                held,
                Gives::json::<Option<api::Writer>>("The lease, without its token; null if nobody holds one."),
            ),
            table::post(
                ("takeWriter", "/v1/threads/{thread}/writer"),
                "Makes the caller the exclusive writer of a thread, for a time.",
                take,
                Gives::created::<api::Writer>("The lease, with its token."),
            )
            .example(r#"{"ttl":30000,"holder":"build 12"}"#)
            .fails([ErrorCode::WriterHeld]),
            table::put(
                ("renewWriter", "/v1/threads/{thread}/writer"),
                "Keeps a lease for longer.",
                renew,
                Gives::json::<api::Writer>("The lease as it is now."),
            )
            .example(r#"{"ttl":30000}"#),
            table::delete(
                ("releaseWriter", "/v1/threads/{thread}/writer"),
                "Gives a lease back.",
                release,
                Gives::json::<api::Released>("Whether it was still held."),
            )
            .never(ErrorCode::WriterLost),
        ],
    )
}

async fn fork(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    Body(asked): Body<api::Fork>,
) -> Answer {
    let (thread, _) = access.engine.seen(name.parse::<ThreadName>()?, Verb::Fork).await?;
    let point = match (asked.message_index, asked.message_id, asked.version) {
        (None, None, None) => ForkPoint::Now,
        (Some(index), None, None) => ForkPoint::Index(index),
        (None, Some(message), None) => ForkPoint::Message(access.engine.message_id(message).await?),
        (None, None, Some(version)) => ForkPoint::Version(version),
        _ => return Err(Invalid::body("messageIndex", "name one of messageIndex, messageId and version").into()),
    };
    let fork = Fork { at: point, title: asked.title, expected: if_match.version() };
    let child = access.engine.fork(thread.id, fork).await?;
    Ok(at(child.head.version, created(&api::Thread::from(&child))))
}

async fn handoff(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    Body(asked): Body<api::Handoff>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let api::Handoff { goal, summary, comment, agent_id } = asked;
    let handoff = Handoff { goal, summary, comment, agent_id, expected: if_match.version() };
    let child = access.engine.handoff(thread.id, handoff).await?;
    Ok(at(child.head.version, created(&api::Thread::from(&child))))
}

async fn mention(Writing(access): Writing, Path(name): Path<String>, Body(asked): Body<api::Mention>) -> Answer {
    let thread = named(&access, &name).await?;
    let target: ThreadName = asked.target.parse()?;
    let made = access.engine.mention(thread.id, Mention { target, comment: asked.comment }).await?;
    Ok(created(&api::Relationship::from(&made)))
}

async fn rollback(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(asked): Body<api::Rollback>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let to = match (asked.checkpoint, asked.step, asked.timestamp, asked.version, asked.artifact_version, asked.undo) {
        (Some(name), None, None, None, None, false) => RollbackTo::Checkpoint(name),
        (None, Some(api::StepName::Index(index)), None, None, None, false) => RollbackTo::Step(StepName::Index(index)),
        (None, Some(api::StepName::Message(message)), None, None, None, false) => {
            RollbackTo::Step(StepName::Message(engine.message_id(message).await?))
        }
        (None, None, Some(time), None, None, false) => RollbackTo::Timestamp(time),
        (None, None, None, Some(version), None, false) => RollbackTo::Version(version),
        (None, None, None, None, Some(api::ArtifactVersion { path, version }), false) => {
            RollbackTo::ArtifactVersion { path, version }
        }
        (None, None, None, None, None, true) => RollbackTo::Undo,
        _ => {
            let rule = "name one of checkpoint, step, timestamp, version, artifactVersion and undo";
            return Err(Invalid::body("version", rule).into());
        }
    };
    let thread = engine.rollback(thread.id, Rollback { to, expected: if_match.version() }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn checkpoint(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    Body(asked): Body<api::SetCheckpoint>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let set = SetCheckpoint { name: asked.name, expected: if_match.version() };
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

async fn take(Writing(access): Writing, Path(name): Path<String>, Body(asked): Body<api::TakeWriter>) -> Answer {
    let thread = named(&access, &name).await?;
    let take = TakeWriter { ttl: asked.ttl.map(Duration::from_millis), holder: asked.holder };
    let lease = access.engine.take_writer(thread.id, take).await?;
    Ok(created(&api::Writer::held(&lease)))
}

async fn renew(
    Writing(access): Writing,
    Path(name): Path<String>,
    Token(token): Token,
    Body(asked): Body<api::RenewWriter>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let lease = access.engine.renew_writer(thread.id, token, asked.ttl.map(Duration::from_millis)).await?;
    Ok(json(&api::Writer::held(&lease)))
}

async fn release(Writing(access): Writing, Path(name): Path<String>, Token(token): Token) -> Answer {
    let thread = named(&access, &name).await?;
    let released = access.engine.release_writer(thread.id, token).await?;
    Ok(json(&api::Released { released }))
}
