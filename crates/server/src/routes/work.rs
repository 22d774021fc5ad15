//! Work on a thread: the queue, executions, skills, agents, subagents.

use threadkeep::model::Child;
use threadkeep::{
    ActivateSkill, Archive, Assign, Begin, EditQueued, End, NotifyParent, Queue, QueuedId, RemoveQueued, SetStatus,
    Skill, Step, Subagent, Unarchive, Uuid,
};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::threads::{appended, named};
use crate::access::{Access, Writing};
use crate::answer::{Answer, at, created, json};
use crate::conditions::{IfMatch, Lease, Retry};
use crate::input::{Body, Path};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Work",
        "Who works on a thread and with what: the queue, executions, agents, skills, subagents.",
        [
            table::get(
                ("listQueue", "/v1/threads/{thread}/queue"),
                "Lists the messages that wait.",
                queued,
                Gives::json::<api::Page<api::Queued>>("All of them, in order."),
            ),
            table::post(
                ("queueMessage", "/v1/threads/{thread}/queue"),
                "Puts a message in the queue; the next begin or step of an execution takes it up.",
                queue,
                Gives::created::<api::Queued>("The message that waits."),
            )
            .example(r#"{"role":"user","content":"And the weather?"}"#)
            .fails([ErrorCode::QueueFull, ErrorCode::ThreadClosed, ErrorCode::ThreadTerminated]),
            table::patch(
                ("editQueued", "/v1/threads/{thread}/queue/{item}"),
                "Changes a message that waits.",
                edit_queued,
                Gives::json::<api::Queued>("The message as it is now."),
            )
            .example(r#"{"content":"And the weather in May?"}"#)
            .fails([ErrorCode::ThreadClosed]),
            table::delete(
                ("removeQueued", "/v1/threads/{thread}/queue/{item}"),
                "Takes a message out of the queue.",
                remove_queued,
                Gives::json::<api::Deleted>("Whether there was one."),
            )
            .fails([ErrorCode::ThreadClosed])
            .never(ErrorCode::QueuedNotFound),
            table::post(
                ("beginExecution", "/v1/threads/{thread}/executions"),
                "Begins an execution: somebody works on the thread from now on.",
                begin,
                Gives::created::<api::Progressed<'static>>(
                    "The execution, and the conversation as a model is given it.",
                )
                .versioned(),
            )
            .example(r#"{"ttl":600000}"#)
            .fails([
                ErrorCode::ExecutionOpen,
                ErrorCode::ThreadClosed,
                ErrorCode::ThreadSuspended,
                ErrorCode::ThreadTerminated,
            ]),
            table::post(
                ("stepExecution", "/v1/threads/{thread}/executions/{execution}/step"),
                "Goes a step further, and takes up what waits.",
                step,
                Gives::json::<api::Progressed<'static>>("What was appended.").versioned(),
            )
            .example(r#"{"messages":[{"role":"assistant","content":"Sunny."}]}"#)
            .fails([ErrorCode::ExecutionOver, ErrorCode::ThreadClosed, ErrorCode::ThreadTerminated]),
            table::post(
                ("endExecution", "/v1/threads/{thread}/executions/{execution}/end"),
                "Ends an execution.",
                end,
                Gives::json::<api::Progressed<'static>>("What was appended.").versioned(),
            )
            .example(r#"{"status":"completed"}"#)
            .fails([ErrorCode::ExecutionOver, ErrorCode::ThreadClosed, ErrorCode::ThreadTerminated]),
            table::post(
                ("cancelExecution", "/v1/threads/{thread}/cancel"),
                "Cancels whatever execution is open.",
                cancel,
                Gives::json::<api::Progressed<'static>>("What was appended.").versioned(),
            )
            .example(r#"{}"#)
            .fails([ErrorCode::NothingToCancel, ErrorCode::ExecutionOver, ErrorCode::ThreadClosed]),
            table::post(
                ("archiveThread", "/v1/threads/{thread}/archive"),
                "Hides a thread from the main list.",
                archive,
                Gives::json::<api::Thread>("The thread as it is now.").versioned(),
            )
            .example(r#"{}"#)
            .fails([ErrorCode::InvalidTransition]),
            table::post(
                ("unarchiveThread", "/v1/threads/{thread}/unarchive"),
                "Shows a thread in the main list again.",
                unarchive,
                Gives::json::<api::Thread>("The thread as it is now.").versioned(),
            )
            .example(r#"{}"#)
            .fails([ErrorCode::InvalidTransition]),
            table::post(
                ("assignThread", "/v1/threads/{thread}/assign"),
                "Hands a thread to another agent.",
                assign,
                Gives::json::<api::Thread>("The thread as it is now.").versioned(),
            )
            .example(r#"{"agentId":"writer"}"#)
            .fails([ErrorCode::ThreadClosed]),
            table::post(
                ("activateSkill", "/v1/threads/{thread}/skills"),
                "Activates a skill.",
                skill,
                Gives::json::<api::Thread>("The thread as it is now.").versioned(),
            )
            .example(r#"{"name":"pdf","arguments":{"pages":3}}"#)
            .fails([ErrorCode::ThreadClosed]),
            table::post(
                ("emitEvent", "/v1/threads/{thread}/emit"),
                "Tells whoever listens of an event that is not logged.",
                emit,
                Gives::json::<api::EmitTold>("How many heard it."),
            )
            .example(r#"{"event":"progress","data":{"percent":40}}"#),
            table::get(
                ("listSubagents", "/v1/threads/{thread}/children"),
                "Lists the subagents of a thread.",
                children,
                Gives::json::<api::Page<Child>>("All of them."),
            ),
            table::post(
                ("createSubagent", "/v1/threads/{thread}/children"),
                "Makes a thread for a subagent.",
                subagent,
                Gives::created::<api::SubagentThread>("The new thread, and where the files are that it was given.")
                    .versioned(),
            )
            .example(r#"{"name":"critic","description":"Finds what is missing"}"#)
            .fails([
                ErrorCode::ThreadClosed,
                ErrorCode::ThreadTerminated,
                ErrorCode::FileNotFound,
                ErrorCode::IsADirectory,
                ErrorCode::QuotaExceeded,
            ]),
            table::get(
                ("getParent", "/v1/threads/{thread}/parent"),
                "Shows the thread that a subagent works for.",
                parent,
                Gives::json::<Option<api::Thread>>("The parent; null if there is none."),
            ),
            table::post(
                ("notifyParent", "/v1/threads/{thread}/notify-parent"),
                "Puts a message in the queue of the thread that a subagent works for.",
                notify_parent,
                Gives::json::<api::Notified>("Whether there was a parent, and the message that waits there."),
            )
            .example(r#"{"content":"The draft is ready."}"#)
            .fails([
                ErrorCode::QueueFull,
                ErrorCode::ThreadClosed,
                ErrorCode::ThreadTerminated,
                ErrorCode::FileNotFound,
                ErrorCode::IsADirectory,
                ErrorCode::NotADirectory,
                ErrorCode::QuotaExceeded,
                ErrorCode::ApprovalRequired,
                ErrorCode::WriterHeld,
            ]),
            table::post(
                ("setStatus", "/v1/threads/{thread}/status"),
                "Says what a subagent is doing, in its own words.",
                set_status,
                Gives::json::<api::StatusSet>("Whether there was a parent to tell."),
            )
            .example(r#"{"status":"reading the draft"}"#)
            .fails([ErrorCode::ThreadClosed]),
        ],
    )
}

async fn queued(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let items = access.engine.queued(thread.id).await?;
    let items: Vec<_> = items.iter().map(api::Queued::from).collect();
    let total = Some(items.len() as u64);
    Ok(json(&api::Page { items, next_cursor: None, total }))
}

async fn queue(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    Retry(retry): Retry,
    Body(asked): Body<api::NewMessage>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let mut messages = appended(vec![asked])?;
    let message = messages.pop().ok_or(threadkeep::Error::Busy)?;
    let queue = Queue { message, expected: if_match.version(), idempotency_key: retry };
    let queued = access.engine.queue(thread.id, queue).await?;
    Ok(created(&api::Queued::from(&queued)))
}

async fn edit_queued(
    Writing(access): Writing,
    Path((name, item)): Path<(String, String)>,
    if_match: IfMatch,
    Body(asked): Body<api::EditMessage>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let api::EditMessage { content, metadata } = asked;
    let item: QueuedId = item.parse()?;
    let edit = EditQueued { item, content, metadata, expected: if_match.version() };
    let queued = access.engine.edit_queued(thread.id, edit).await?;
    Ok(json(&api::Queued::from(&queued)))
}

async fn remove_queued(
    Writing(access): Writing,
    Path((name, item)): Path<(String, String)>,
    if_match: IfMatch,
) -> Answer {
    let thread = named(&access, &name).await?;
    let remove = RemoveQueued { item: item.parse()?, expected: if_match.version() };
    let deleted = access.engine.remove_queued(thread.id, remove).await?;
    Ok(json(&api::Deleted { deleted }))
}

/// Milliseconds on the wire, microseconds inside.
fn micros(millis: Option<u64>) -> Option<i64> {
    millis.map(|millis| i64::try_from(millis.saturating_mul(1_000)).unwrap_or(i64::MAX))
}

async fn begin(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(asked): Body<api::Begin>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let begin = Begin { ttl_micros: micros(asked.ttl), take_over: asked.take_over, expected: if_match.version() };
    let begun = engine.begin(thread.id, begin).await?;
    let given = engine.model_messages(thread.id, Some(begun.version)).await?;
    Ok(at(begun.version, created(&api::Progressed::new(&begun, Some(&given))?)))
}

async fn step(
    Writing(access): Writing,
    Path((name, execution)): Path<(String, String)>,
    lease: Lease,
    Body(asked): Body<api::Step>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let execution: Uuid = execution.parse()?;
    let step = Step { execution, messages: appended(asked.messages)?, ttl_micros: micros(asked.ttl) };
    let stepped = engine.step(thread.id, step).await?;
    Ok(at(stepped.version, json(&api::Progressed::new(&stepped, None)?)))
}

async fn end(
    Writing(access): Writing,
    Path((name, execution)): Path<(String, String)>,
    lease: Lease,
    Body(asked): Body<api::End>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let end = End { execution: Some(execution.parse()?), status: asked.status, messages: appended(asked.messages)? };
    let ended = engine.end(thread.id, end).await?;
    Ok(at(ended.version, json(&api::Progressed::new(&ended, None)?)))
}

async fn cancel(
    Writing(access): Writing,
    Path(name): Path<String>,
    lease: Lease,
    Body(api::Nothing {}): Body<api::Nothing>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let ended = engine.end(thread.id, End::cancel()).await?;
    Ok(at(ended.version, json(&api::Progressed::new(&ended, None)?)))
}

async fn archive(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(api::Nothing {}): Body<api::Nothing>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let thread = engine.archive(thread.id, Archive { expected: if_match.version() }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn unarchive(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(api::Nothing {}): Body<api::Nothing>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let thread = engine.unarchive(thread.id, Unarchive { expected: if_match.version() }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn assign(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(asked): Body<api::Assign>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let assign = Assign { agent_id: asked.agent_id, expected: if_match.version() };
    let thread = engine.assign(thread.id, assign).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn skill(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Body(skill): Body<Skill>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let thread = engine.activate_skill(thread.id, ActivateSkill { skill, expected: if_match.version() }).await?;
    Ok(at(thread.head.version, json(&api::Thread::from(&thread))))
}

async fn emit(Writing(access): Writing, Path(name): Path<String>, Body(asked): Body<api::Emit>) -> Answer {
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

async fn subagent(Writing(access): Writing, Path(name): Path<String>, Body(asked): Body<api::NewSubagent>) -> Answer {
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
        attachments: asked.attachments,
    };
    let child = access.engine.subagent(thread.id, subagent).await?;
    Ok(at(child.thread.head.version, created(&api::SubagentThread::from(&child))))
}

async fn parent(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let parent = access.engine.parent_thread(thread.id).await?;
    Ok(json(&parent.as_ref().map(api::Thread::from)))
}

async fn notify_parent(
    Writing(access): Writing,
    Path(name): Path<String>,
    Body(asked): Body<api::NotifyParent>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let notify = NotifyParent { content: asked.content, attachments: asked.attachments };
    let queued = access.engine.notify_parent(thread.id, notify).await?;
    let queued = queued.as_ref().map(api::Queued::from);
    Ok(json(&api::Notified { notified: queued.is_some(), queued }))
}

async fn set_status(Writing(access): Writing, Path(name): Path<String>, Body(asked): Body<api::SetStatus>) -> Answer {
    let thread = named(&access, &name).await?;
    let set = access.engine.set_status(thread.id, SetStatus { status: asked.status }).await?;
    Ok(json(&api::StatusSet { set }))
}
