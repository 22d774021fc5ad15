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
    let stale = Update { expected: Some(Position(0)), ..Update::new().title("Y") };
    assert!(matches!(keep.engine.update(thread, stale).await, Err(Error::VersionConflict { .. })));
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
    use threadkeep::{
        ActivateSkill, Answer, Append, AppendEvent, Archive, Assign, Begin, Capability, ChangeOwner, Content,
        DeleteFile, DeleteMessage, Deliver, EditMessage, EditQueued, End, Event, EventKind, ExecutionStatus, Fork,
        Handoff, Insert, MakeDirectory, Mention, MessageBody, MoveFile, NewFile, NotifyParent, Observe, Operation,
        Outcome, Reference, RemoveDirectory, RemoveQueued, Rollback, RollbackTo, SetCheckpoint, SetStatus, SetValue,
        Skill, Step, Subagent, Transfer, Transferred, Truncate, TruncateFrom, Unarchive, Unobserve,
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
    let ask = async || match keep.engine.transfer(thread, Transfer::request_approval([Capability::Deploy])).await {
        Ok(Transferred::Approval(approval)) => approval.asked.id,
        other => panic!("{other:?}"),
    };
    let answer = |id| Answer { id, reason: None };
    let observe = Observe { target: other.into(), events: Vec::new(), deliver: Deliver::Thread };
    let observed = keep.engine.observe_thread(thread, observe.clone()).await.expect("an observer").added.id;
    let operations = [
        Operation::Archive(Archive::default()),
        Operation::Unarchive(Unarchive::default()),
        Operation::Assign(Assign::to("coder")),
        Operation::ActivateSkill(ActivateSkill { skill, expected: None }),
        Operation::Queue(MessageBody::user("s").into()),
        Operation::EditQueued(EditQueued { item: first, content, metadata: None, expected: None }),
        Operation::RemoveQueued(RemoveQueued { item: second, expected: None }),
        Operation::Step(Step::of(run)),
        Operation::End(End::of(run, ExecutionStatus::Completed)),
        Operation::Begin(Begin::default()),
        Operation::Subagent(Subagent { name: "x".into(), ..Subagent::default() }),
        Operation::NotifyParent(NotifyParent { content: "x".into(), ..Default::default() }),
        Operation::SetStatus(SetStatus { status: "x".into() }),
        Operation::WriteFiles(NewFile::new("/a/f", "x").expect("a file").into()),
        Operation::MoveFile(MoveFile { from: path("/a/f"), to: path("/a/g"), expected: None }),
        Operation::DeleteFile(DeleteFile { path: path("/a/g"), expected: None }),
        Operation::MakeDirectory(MakeDirectory { path: path("/d"), expected: None }),
        Operation::RemoveDirectory(RemoveDirectory { path: path("/d"), expected: None }),
        Operation::SetValue(SetValue::new("k", json("1")).expect("a key")),
        Operation::Merge(Box::new(threadkeep::Merge::from(other))),
        Operation::Create(Create::new()),
        Operation::Update(Update::new().title("x")),
        Operation::Append(Append::from(MessageBody::user("d"))),
        Operation::AppendEvent(AppendEvent { event, expected: None }),
        Operation::Insert(Insert { before: ids[0], message: MessageBody::user("0").into(), expected: None }),
        Operation::EditMessage(EditMessage::content(ids[0], Content::text("A"))),
        Operation::DeleteMessage(DeleteMessage { message: ids[1], expected: None }),
        Operation::Truncate(Truncate { from: TruncateFrom::Index(1), expected: None }),
        Operation::Fork(Fork::default()),
        Operation::Handoff(Handoff::to("go on")),
        Operation::Mention(Mention { target: other.into(), comment: None }),
        Operation::Rollback(Rollback::from(RollbackTo::Undo)),
        Operation::SetCheckpoint(SetCheckpoint::named("x")),
        Operation::Inject(threadkeep::Inject::new(threadkeep::InjectionType::Data, json("1"))),
        Operation::Acknowledge(threadkeep::Acknowledge { injection }),
        Operation::Decide(threadkeep::Decide::new("a?", "b")),
        Operation::Spawn(threadkeep::Spawn::new("x")),
        Operation::ChangeOwner(ChangeOwner { to: threadkeep::Account::local(), expected: None }),
        Operation::Transfer(Transfer::delegate([Capability::CodeEdit])),
        Operation::Approve(answer(ask().await)),
        Operation::Deny(answer(ask().await)),
        Operation::Revoke(answer(ask().await)),
        Operation::Reference(Reference::to(other)),
        Operation::Observe(observe.clone()),
        Operation::Unobserve(Unobserve { id: observed }),
        Operation::Lifecycle(threadkeep::LifecycleAction::Done.into()),
        Operation::Delete(Delete::default()),
    ];
    let mut names: Vec<&str> = Vec::new();
    for operation in operations {
        names.push(operation.name());
        let outcome = keep.engine.execute(thread, operation).await.expect("an operation");
        assert!(!matches!(outcome, Outcome::Deleted(false)));
    }
    names.sort_unstable();
    let mut all = Operation::NAMES.to_vec();
    all.sort_unstable();
    assert_eq!(names, all);
}
