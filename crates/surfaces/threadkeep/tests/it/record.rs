//! Thread records: create, get, list, update, delete, accounts.

use threadkeep::{Account, Caller, Create, Delete, Error, Json, List, Position, ThreadName, Update};

use crate::{Keep, on_every_store};

on_every_store!(
    a_new_thread_is_at_version_0,
    an_update_is_a_shallow_merge,
    an_invalid_update_changes_nothing,
    lists_page_without_a_gap,
    accounts_do_not_see_each_other,
    every_operation_is_one_verb,
);

fn json(text: &str) -> Json {
    Json::parse("field", text).expect("json")
}

async fn a_new_thread_is_at_version_0(keep: Keep) {
    let create = Create::titled("X").field("agentId", json(r#""coder""#)).field("taskId", json(r#""t-1""#));
    let thread = keep.engine.create(create).await.expect("a thread");
    assert_eq!((thread.head.version, thread.record.agent_id.as_deref()), (Position(0), Some("coder")));
    for name in [ThreadName::Full(thread.id), ThreadName::Short(thread.id.short())] {
        assert_eq!(keep.engine.thread(name).await.expect("the thread"), thread);
    }
    for wrong in ["lifecycle", "originThreadId", "colour"] {
        let refused = keep.engine.create(Create::new().field(wrong, json(r#""x""#))).await;
        assert!(refused.expect_err(wrong).to_string().contains(wrong));
    }
}

async fn an_update_is_a_shallow_merge(keep: Keep) {
    let create = Create::titled("X").field("metadata", json(r#"{"a":{"b":1},"c":[1,2]}"#));
    let thread = keep.engine.create(create).await.expect("a thread").id;
    let update = Update::new().field("metadata", json(r#"{"c":[3]}"#)).field("title", json("null"));
    let after = keep.engine.update(thread, update).await.expect("an update");
    assert_eq!(after.record.title, None);
    assert_eq!(after.record.metadata.as_ref().expect("metadata").as_str(), r#"{"c":[3]}"#);
    assert_eq!(after.head.version, Position(1));
    assert_eq!(keep.engine.thread(thread).await.expect("the thread"), after);
    let same = keep.engine.update(thread, Update::new().field("metadata", json(r#"{"c":[3]}"#))).await;
    assert_eq!(same.expect("the same values").head.version, Position(1), "what is there already changes nothing");
    let stale = threadkeep::At::of(thread).expecting(Position(0));
    assert!(matches!(keep.engine.update(stale, Update::new().title("Y")).await, Err(Error::VersionConflict { .. })));
}

async fn an_invalid_update_changes_nothing(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let before = keep.engine.thread(thread).await.expect("the thread");
    for (field, value) in [("metadata", "3"), ("maxTokens", "-1"), ("archived", r#""yes""#), ("visibility", r#""x""#)] {
        let refused = keep.engine.update(thread, Update::new().title("new").field(field, json(value))).await;
        assert_eq!(refused.expect_err(field).code(), "invalid_body");
    }
    let unknown = threadkeep::ThreadId::from_chance(1);
    let refused = keep.engine.update(unknown, Update::new().title("new")).await;
    assert!(matches!(refused, Err(Error::ThreadNotFound { .. })));
    assert_eq!(keep.engine.thread(thread).await.expect("the thread"), before);
}

async fn lists_page_without_a_gap(keep: Keep) {
    let mut made = Vec::new();
    for _ in 0..7 {
        made.insert(0, keep.thread(&["a"]).await);
    }
    let archived = keep.thread(&[]).await;
    keep.engine.update(archived, Update::new().field("archived", json("true"))).await.expect("archived");
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = keep.engine.list(List { limit: Some(3), cursor, ..List::default() }).await.expect("a page");
        seen.extend(page.items.iter().map(|row| row.thread.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, made);
    let away = keep.engine.list(List { archived: threadkeep::Archived::Yes, ..List::default() }).await.expect("a page");
    assert_eq!(away.items.iter().map(|row| row.thread.id).collect::<Vec<_>>(), [archived]);
    for wrong in ["", "x", "t1", "t-", "tzz-1", "m1-1"] {
        let refused = keep.engine.list(List { cursor: Some(wrong.into()), ..List::default() }).await;
        assert_eq!(refused.expect_err(wrong).code(), "invalid_cursor");
    }
}

async fn accounts_do_not_see_each_other(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let stranger = Caller { account: Account::new("stranger").expect("an account"), ..Caller::local() };
    let stranger = keep.engine.acting_as(stranger);
    let told = |error: Error| error.to_string();
    let unknown = threadkeep::ThreadId::from_chance(9);
    let foreign = told(stranger.thread(thread).await.expect_err("a foreign thread"));
    let missing = told(stranger.thread(unknown).await.expect_err("an unknown thread"));
    assert_eq!(foreign.replace(&thread.to_string(), ""), missing.replace(&unknown.to_string(), ""));
    assert!(!stranger.delete(thread, Delete::default()).await.expect("an answer"));
    assert!(stranger.list(List::default()).await.expect("a list").items.is_empty());
    assert!(stranger.fork(thread, threadkeep::Fork::default()).await.is_err());
    assert!(stranger.subscribe(thread, Position(0)).await.is_err());
    assert!(stranger.history(thread, Position(0), 9).await.is_err());
    assert!(stranger.threads_by_prefix(&thread.to_string(), 9).await.expect("an answer").is_empty());
    assert_eq!(keep.shows(thread).await, "a");
}

async fn every_operation_is_one_verb(keep: Keep) {
    use threadkeep::calls::{Deliver, Honours};
    use threadkeep::{
        ActivateSkill, Append, AppendEvent, Approve, Archive, Assign, Begin, CARRIERS, Cancel, Capability,
        ChangeLifecycle, ChangeOwner, Content, DeleteFile, DeleteMessage, DeleteValue, Deny, EditMessage, EditQueued,
        End, Event, EventKind, ExecutionStatus, Fork, Handoff, MakeDirectory, Mention, MessageBody, MoveFile, NewFile,
        NotifyParent, Observe, Queue, Refer, RemoveDirectory, RemoveQueued, RevokeApproval, RevokeDelegation, Rollback,
        RollbackTo, SetCheckpoint, SetStatus, SetValue, Skill, Step, Subagent, Terminate, Transfer, Truncate,
        TruncateFrom, Unarchive, Unobserve,
    };
    let (thread, other) = (keep.thread(&["a", "b", "c"]).await, keep.thread(&[]).await);
    let ids = keep.ids(thread).await;
    let event = Event { kind: EventKind::Result, data: json("{}") };
    let run = keep.engine.begin(thread, Begin::default()).await.expect("an execution").execution;
    let first = keep.engine.queue(thread, MessageBody::user("q")).await.expect("queued").id;
    let second = keep.engine.queue(thread, MessageBody::user("r")).await.expect("queued").id;
    let inject = threadkeep::Inject::new(threadkeep::InjectionType::Data, json("1"));
    let injection = keep.engine.inject(thread, inject).await.expect("injected").id;
    let skill = Skill { name: "pdf".into(), arguments: None };
    let content = Some(Content::text("Q"));
    let path = |text: &str| text.parse().expect("a path");
    let ask = async || {
        let made = keep.engine.transfer(thread, Transfer::request_approval([Capability::Deploy])).await;
        made.expect("a transfer").approval_id.expect("an approval")
    };
    let delegation = keep.engine.transfer(thread, Transfer::delegate([Capability::Deploy])).await;
    let delegation = delegation.expect("a transfer").delegation_id.expect("a delegation");
    let observe = Observe { target: other.into(), events: Vec::new(), deliver: Deliver::Thread };
    let observed = keep.engine.observe_thread(thread, observe.clone()).await.expect("an observer").id;
    let engine = &keep.engine;
    engine.write_files(thread, NewFile::new("/a/f", "x").expect("a file")).await.expect("a file");
    engine.move_file(thread, MoveFile { from: path("/a/f"), to: path("/a/g") }).await.expect("a move");
    assert!(engine.delete_file(thread, DeleteFile { path: path("/a/g") }).await.expect("a deletion"));
    assert!(engine.make_directory(thread, MakeDirectory { path: path("/d") }).await.expect("a directory"));
    assert!(engine.remove_directory(thread, RemoveDirectory { path: path("/d") }).await.expect("a deletion"));
    let names = [
        carried(&keep, thread, Archive::default()).await,
        carried(&keep, thread, Unarchive::default()).await,
        carried(&keep, other, Terminate::default()).await,
        carried(&keep, thread, Assign::to("coder")).await,
        carried(&keep, thread, ActivateSkill { skill }).await,
        carried(&keep, thread, Queue::from(MessageBody::user("s"))).await,
        carried(&keep, thread, EditQueued { item: first, content, metadata: None }).await,
        carried(&keep, thread, RemoveQueued { item: second }).await,
        carried(&keep, thread, Step::of(run)).await,
        carried(&keep, thread, End::of(run, ExecutionStatus::Completed)).await,
        carried(&keep, thread, Begin::default()).await,
        carried(&keep, thread, Cancel {}).await,
        carried(&keep, thread, Subagent { name: "x".into(), ..Subagent::default() }).await,
        carried(&keep, thread, NotifyParent { content: "x".into(), ..Default::default() }).await,
        carried(&keep, thread, SetStatus { status: "x".into() }).await,
        carried(&keep, thread, SetValue::new("k", json("1")).expect("a key")).await,
        carried(&keep, thread, DeleteValue { key: "k".parse().expect("a key"), if_version: None }).await,
        carried(&keep, thread, threadkeep::Merge::from(other)).await,
        carried(&keep, thread, Create::new()).await,
        carried(&keep, thread, Update::new().title("x")).await,
        carried(&keep, thread, Append::from(MessageBody::user("d"))).await,
        carried(&keep, thread, AppendEvent::from(event)).await,
        carried(&keep, thread, Append::before(MessageBody::user("0"), ids[0])).await,
        carried(&keep, thread, EditMessage::content(ids[0], Content::text("A"))).await,
        carried(&keep, thread, DeleteMessage { message: ids[1].into() }).await,
        carried(&keep, thread, Truncate { from: TruncateFrom::Index(1) }).await,
        carried(&keep, thread, Fork::default()).await,
        carried(&keep, thread, Handoff::to("go on")).await,
        carried(&keep, thread, Mention { target: other.into(), comment: None }).await,
        carried(&keep, thread, Rollback::from(RollbackTo::Undo)).await,
        carried(&keep, thread, SetCheckpoint::named("x")).await,
        carried(&keep, thread, threadkeep::Inject::new(threadkeep::InjectionType::Data, json("1"))).await,
        carried(&keep, thread, threadkeep::Acknowledge { injection }).await,
        carried(&keep, thread, threadkeep::Decide::new("a?", "b")).await,
        carried(&keep, thread, threadkeep::Spawn::new("x")).await,
        carried(&keep, thread, ChangeOwner { account: threadkeep::Account::local() }).await,
        carried(&keep, thread, Transfer::delegate([Capability::CodeEdit])).await,
        carried(&keep, thread, Approve::of(ask().await)).await,
        carried(&keep, thread, Deny::of(ask().await)).await,
        carried(&keep, thread, RevokeApproval::of(ask().await)).await,
        carried(&keep, thread, RevokeDelegation::of(delegation)).await,
        carried(&keep, thread, Refer::to(other)).await,
        carried(&keep, thread, observe.clone()).await,
        carried(&keep, thread, Unobserve { observer: observed }).await,
        carried(&keep, thread, ChangeLifecycle::from(threadkeep::LifecycleAction::Done)).await,
        carried(&keep, thread, Delete::default()).await,
    ];
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    let changes = CARRIERS.iter().map(|carrier| carrier.declaration);
    let changes = changes.filter(|call| ![Honours::NOTHING, Honours::LEASE].contains(&call.honours));
    let mut all: Vec<&str> = changes.map(|call| call.name).collect();
    all.sort_unstable();
    assert_eq!(names, all);
}

/// Carries out a call, which deletes something if it deletes, and gives its name.
async fn carried<C: threadkeep::Carry>(keep: &Keep, thread: threadkeep::ThreadId, call: C) -> &'static str {
    let name = C::DECLARATION.name;
    let made = keep.engine.call(thread, call).await.unwrap_or_else(|refused| panic!("{name}: {refused}"));
    let shown = C::told(made, &keep.engine).await.expect("an answer").json;
    assert_ne!(String::from_utf8(shown).expect("text"), r#"{"deleted":false}"#, "{name}");
    name
}
