//! The envelope: every call that changes a thread honours the version that is expected and the key under which it is
//! repeated.

use std::collections::BTreeSet;

use threadkeep::calls::{ErrorCode, Lease};
use threadkeep::model::ModelCall;
use threadkeep::{
    Acknowledge, ActivateSkill, Append, AppendEvent, Approve, Archive, Archived, Assign, At, CARRIERS, Capability,
    ChangeLifecycle, ChangeOwner, Content, Create, Decide, Delete, DeleteEnv, DeleteMessage, DeleteValue, Deny,
    EditMessage, EditQueued, EndRun, Enter, Error, Event, EventKind, ForceTurn, Fork, Handoff, IdempotencyKey, Inject,
    InjectionType, Json, LifecycleAction, List, Mention, Merge, MessageBody, MessageId, NewFile, NewMessage,
    NotifyParent, Observe, Position, Queue, QueueTool, Redo, Refer, RemoveEffect, RemoveQueued, RevokeApproval,
    RevokeDelegation, Rollback, RollbackTo, RunOutcome, RunSide, ScheduleEffect, SetCheckpoint, SetEnv, SetStatus,
    SetValue, Skill, Spawn, StartRun, StepRun, StopRun, Subagent, SupplyVariables, Terminate, ThreadId, Transfer,
    Truncate, Unarchive, Unobserve, Update, Uuid, Version,
};

use crate::{Keep, on_every_store};

on_every_store!(
    every_change_honours_its_envelope,
    a_value_is_compared_by_its_own_version,
    what_is_repeated_at_once_happens_once,
    what_is_repeated_after_its_thread_closed_is_answered_again,
    the_first_answer_is_given_whatever_became_of_it,
    what_is_not_there_is_deleted_only_at_the_version_that_is_expected,
    a_key_stands_for_the_bytes_of_files_too,
    a_visitor_forks_once_under_a_key,
    mentions_at_once_are_one_relation,
    a_condition_that_a_call_does_not_honour_is_refused,
);

fn key(name: &str) -> IdempotencyKey {
    IdempotencyKey::new(name).expect("a key")
}

fn json(text: &str) -> Json {
    Json::parse("json", text).expect("json")
}

async fn version(keep: &Keep, thread: ThreadId) -> Version {
    keep.engine.thread(thread).await.expect("a thread").head.version
}

/// All threads as they are now, with their versions.
async fn everything(keep: &Keep) -> Vec<String> {
    let list = List { archived: Archived::Any, limit: Some(1_000), ..List::default() };
    let page = keep.engine.list(list).await.expect("a list");
    assert_eq!(page.next, None, "all of them");
    let mut all: Vec<String> = page.items.iter().map(|row| format!("{:?}", row.thread)).collect();
    all.sort();
    all
}

/// The answer of a call, as the wire shows it.
async fn answer<C: Enter>(keep: &Keep, at: &At, call: C) -> Result<String, Error> {
    // The stack of a test is small, and many calls are walked here.
    let made = Box::pin(keep.engine.call(at.clone(), call)).await?;
    let shown = C::told(made, &keep.engine).await.expect("an answer");
    Ok(String::from_utf8(shown.json).expect("text"))
}

async fn refusal<C: Enter>(keep: &Keep, at: &At, call: C) -> ErrorCode {
    answer(keep, at, call).await.expect_err(C::DECLARATION.name).error_code()
}

/// A call on a thread, carried out under every condition that it honours.
struct Walk<'a> {
    keep: &'a Keep,
    seen: BTreeSet<&'static str>,
}

impl Walk<'_> {
    /// `call` at `at`, which is about `thread`; `other` is another request of the same call.
    async fn goes<C: Enter + Clone>(&mut self, at: impl Into<At>, thread: ThreadId, call: C, other: C) {
        let (keep, declared, at) = (self.keep, C::DECLARATION, at.into());
        let name = declared.name;
        assert!(self.seen.insert(name), "{name} has one sample");
        let before = everything(keep).await;
        if declared.honours.expected {
            let current = version(keep, thread).await;
            assert!(current > Position::START, "{name}: a version before this one");
            for wrong in [Position(current.0 - 1), Position(current.0 + 1)] {
                let stale = at.clone().expecting(wrong);
                assert_eq!(refusal(keep, &stale, call.clone()).await, ErrorCode::VersionConflict, "{name} at {wrong}");
                if !declared.honours.key {
                    continue;
                }
                let stale = stale.keyed(key("stale"));
                assert_eq!(refusal(keep, &stale, call.clone()).await, ErrorCode::VersionConflict, "{name} at {wrong}");
            }
            assert_eq!(everything(keep).await, before, "{name}: what is refused changes nothing");
        }
        let right = match declared.honours.expected {
            true => at.clone().expecting(version(keep, thread).await),
            false => at.clone(),
        };
        if !declared.honours.key {
            answer(keep, &right, call).await.unwrap_or_else(|refused| panic!("{name}: {refused}"));
            assert_ne!(everything(keep).await, before, "{name}: something happened");
            return;
        }
        let (keyed, repeated) = (right.keyed(key(name)), at.keyed(key(name)));
        let first = answer(keep, &keyed, call.clone()).await.unwrap_or_else(|refused| panic!("{name}: {refused}"));
        let after = everything(keep).await;
        assert_ne!(after, before, "{name}: something happened");
        assert_ne!(first, r#"{"deleted":false}"#, "{name}: something was deleted");
        for again in [&keyed, &repeated] {
            let again = answer(keep, again, call.clone()).await.unwrap_or_else(|refused| panic!("{name}: {refused}"));
            assert_eq!(again, first, "{name}: the first answer");
        }
        assert_eq!(everything(keep).await, after, "{name}: a repetition changes nothing");
        assert_eq!(refusal(keep, &repeated, other).await, ErrorCode::IdempotencyKeyReused, "{name}");
        let another = SetCheckpoint::named("another call");
        if repeated.thread.is_some() && name != "change-owner" && name != "notify-parent" {
            assert_eq!(refusal(keep, &repeated, another).await, ErrorCode::IdempotencyKeyReused, "{name}");
        }
        assert_eq!(everything(keep).await, after, "{name}: what is refused changes nothing");
    }
}

/// A thread with two messages of the user, at version 2.
async fn talk(keep: &Keep) -> (ThreadId, Vec<MessageId>) {
    let thread = keep.thread(&["a", "b"]).await;
    (thread, keep.ids(thread).await)
}

async fn begun(keep: &Keep) -> (ThreadId, Uuid) {
    let thread = keep.thread(&["a"]).await;
    (thread, keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution").run.id)
}

async fn asked(keep: &Keep) -> (ThreadId, Uuid) {
    let thread = keep.thread(&["a"]).await;
    let made = keep.engine.transfer(thread, Transfer::request_approval([Capability::Deploy])).await;
    (thread, made.expect("a transfer").approval_id.expect("an approval"))
}

async fn child(keep: &Keep) -> ThreadId {
    let parent = keep.thread(&["a"]).await;
    let helper = Subagent { name: "helper".into(), ..Subagent::default() };
    let child = keep.engine.subagent(parent, helper).await.expect("a subagent").thread.id;
    keep.engine.append(child, MessageBody::user("work")).await.expect("an append");
    child
}

fn because(reason: &str) -> Option<String> {
    Some(reason.to_owned())
}

async fn every_change_honours_its_envelope(keep: Keep) {
    let mut walk = Walk { keep: &keep, seen: BTreeSet::new() };
    Box::pin(conversation(&mut walk)).await;
    Box::pin(work(&mut walk)).await;
    Box::pin(authority(&mut walk)).await;
    Box::pin(others(&mut walk)).await;
    let honours = |carrier: &&threadkeep::Carrier| {
        let honours = carrier.declaration.honours;
        honours.expected || honours.key || honours.lease == Lease::Yes
    };
    let all: BTreeSet<&str> = CARRIERS.iter().filter(honours).map(|carrier| carrier.declaration.name).collect();
    assert_eq!(walk.seen, all, "every call that honours something has a sample here");
    let report = keep.engine.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a report");
    assert!(report.is_healthy());
}

async fn conversation(walk: &mut Walk<'_>) {
    let keep = walk.keep;
    let user = |text: &str| MessageBody::user(text);
    walk.goes(At::none(), ThreadId::from_bits(0), Create::titled("x").message(user("y")), Create::titled("z")).await;
    let (thread, ids) = talk(keep).await;
    walk.goes(thread, thread, Update::new().title("x"), Update::new().title("y")).await;
    walk.goes(thread, thread, Append::from(user("c")), Append::from(user("d"))).await;
    let edit = |text: &str| EditMessage::content(ids[0], Content::text(text));
    walk.goes(thread, thread, edit("A"), edit("Ä")).await;
    let delete = |message: MessageId| DeleteMessage { message: message.into() };
    walk.goes(thread, thread, delete(ids[1]), delete(ids[0])).await;
    let event = |data: &str| AppendEvent::from(Event { kind: EventKind::Result, data: json(data) });
    walk.goes(thread, thread, event("{}"), event(r#"{"a":1}"#)).await;
    walk.goes(thread, thread, Truncate::from_index(1), Truncate::from_index(0)).await;
    walk.goes(thread, thread, Fork::default(), Fork::at_index(0)).await;
    walk.goes(thread, thread, Handoff::to("go on"), Handoff::to("go elsewhere")).await;
    let other = keep.thread(&["o"]).await;
    walk.goes(thread, thread, Mention::of(other), Mention { comment: because("x"), ..Mention::of(other) }).await;
    let back = |to: u64| Rollback::from(RollbackTo::Version(Position(to)));
    walk.goes(thread, thread, back(2), back(1)).await;
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    walk.without_parameters(thread, Redo {}).await;
    walk.goes(thread, thread, SetCheckpoint::named("here"), SetCheckpoint::named("there")).await;
    walk.goes(thread, thread, Decide::new("a?", "b"), Decide::new("a?", "c")).await;
    walk.goes(thread, thread, Assign::to("coder"), Assign::to("writer")).await;
    let skill = |name: &str| ActivateSkill { skill: Skill { name: name.into(), arguments: None } };
    walk.goes(thread, thread, skill("pdf"), skill("csv")).await;
    let helper = |name: &str| Subagent { name: name.into(), ..Subagent::default() };
    walk.goes(thread, thread, helper("one"), helper("two")).await;
    walk.goes(thread, thread, Spawn::new("x"), Spawn::new("y")).await;
    walk.goes(thread, thread, Refer::to(other), Refer::to(keep.thread(&[]).await)).await;
    let value = |value: &str| SetValue::new("k", Json::string(value)).expect("a key");
    walk.goes(thread, thread, value("1"), value("2")).await;
    let gone = |key: &str| DeleteValue { key: key.parse().expect("a key"), if_version: None };
    walk.goes(thread, thread, gone("k"), gone("l")).await;
    let variable = |value: &str| SetEnv::new("V", value).expect("a name");
    walk.goes(thread, thread, variable("1"), variable("2")).await;
    let unset = |name: &str| DeleteEnv::new(name).expect("a name");
    walk.goes(thread, thread, unset("V"), unset("W")).await;
    let request = keep.engine.subagent(thread, helper("three")).await.expect("a subagent").thread.id;
    let supply = |value: &str| SupplyVariables { request, env: [("V".to_owned(), value.to_owned())].into() };
    walk.goes(thread, thread, supply("1"), supply("2")).await;
}

async fn work(walk: &mut Walk<'_>) {
    let (keep, engine) = (walk.keep, &walk.keep.engine);
    let user = |text: &str| MessageBody::user(text);
    let (thread, _) = talk(keep).await;
    let first = engine.queue(thread, user("q")).await.expect("queued").id;
    let second = engine.queue(thread, user("r")).await.expect("queued").id;
    walk.goes(thread, thread, Queue::from(user("s")), Queue::from(user("t"))).await;
    let edit = |item, text: &str| EditQueued { item, content: Some(Content::text(text)), metadata: None };
    walk.goes(thread, thread, edit(first, "Q"), edit(first, "P")).await;
    walk.goes(thread, thread, RemoveQueued { item: second }, RemoveQueued { item: first }).await;
    let effect = |name: &str| ScheduleEffect::new(name).expect("a name");
    let scheduled = engine.schedule_effect(thread, effect("a")).await.expect("an effect").id;
    walk.goes(thread, thread, effect("b"), effect("c")).await;
    let unknown = RemoveEffect { effect: Uuid::from_chance(7) };
    walk.goes(thread, thread, RemoveEffect { effect: scheduled }, unknown).await;
    let tool = |name: &str| QueueTool { tool: name.to_owned(), args: None };
    walk.goes(thread, thread, tool("x"), tool("y")).await;
    let inject = |content: &str| Inject::new(InjectionType::Data, Json::string(content));
    let injection = engine.inject(thread, inject("0")).await.expect("injected").id;
    walk.goes(thread, thread, inject("1"), inject("2")).await;
    let unknown = Acknowledge { injection: Uuid::from_chance(7) };
    walk.goes(thread, thread, Acknowledge { injection }, unknown).await;
    walk.goes(thread, thread, StartRun::caller(), StartRun { ttl: Some(5_000), ..StartRun::caller() }).await;
    let (thread, run) = begun(keep).await;
    let said = |text: &str| StepRun::of(run).message(MessageBody::assistant(text));
    walk.goes(thread, thread, said("b"), said("c")).await;
    let ended = |status| EndRun::of(run, status);
    walk.goes(thread, thread, ended(RunOutcome::Completed), ended(RunOutcome::Failed)).await;
    let (thread, run) = begun(keep).await;
    walk.goes(thread, thread, StopRun { run, now: false }, StopRun::now(run)).await;
    let (thread, run) = begun(keep).await;
    // A run of a caller has two sides once a step names one.
    let model = Some(ModelCall { side: Some("a".into()), ..ModelCall::of("m") });
    engine.step_run(thread, StepRun { model, ..StepRun::of(run) }).await.expect("a step");
    walk.goes(thread, thread, ForceTurn::to(run, RunSide::B), ForceTurn::to(run, RunSide::A)).await;
    let (thread, _) = talk(keep).await;
    walk.without_parameters(thread, Archive {}).await;
    walk.without_parameters(thread, Unarchive {}).await;
    walk.without_parameters(thread, Terminate {}).await;
    let (thread, _) = talk(keep).await;
    let moved = |reason: &str| ChangeLifecycle { action: LifecycleAction::Suspend, reason: because(reason) };
    walk.goes(thread, thread, moved("x"), moved("y")).await;
}

async fn authority(walk: &mut Walk<'_>) {
    let keep = walk.keep;
    let (thread, _) = talk(keep).await;
    let asks = |scope| Transfer::request_approval([scope]);
    walk.goes(thread, thread, asks(Capability::Deploy), asks(Capability::CodeEdit)).await;
    let (thread, approval) = asked(keep).await;
    let yes = |reason: &str| Approve { approval, reason: because(reason) };
    walk.goes(At::none(), thread, yes("x"), yes("y")).await;
    let (thread, approval) = asked(keep).await;
    let no = |reason: &str| Deny { approval, reason: because(reason) };
    walk.goes(At::none(), thread, no("x"), no("y")).await;
    let (thread, approval) = asked(keep).await;
    let taken = |reason: &str| RevokeApproval { approval, reason: because(reason) };
    walk.goes(At::none(), thread, taken("x"), taken("y")).await;
    let (thread, _) = talk(keep).await;
    let given = keep.engine.transfer(thread, Transfer::delegate([Capability::Deploy])).await.expect("a transfer");
    let delegation = given.delegation_id.expect("a delegation");
    let revoked = |reason: &str| RevokeDelegation { delegation, reason: because(reason) };
    walk.goes(At::none(), thread, revoked("x"), revoked("y")).await;
}

async fn others(walk: &mut Walk<'_>) {
    let (keep, engine) = (walk.keep, &walk.keep.engine);
    let (thread, _) = talk(keep).await;
    let fork = engine.fork(thread, Fork::default()).await.expect("a fork").id;
    engine.write_file(fork, NewFile::new("/f", "x").expect("a file")).await.expect("a file");
    walk.goes(thread, thread, Merge::from(fork), Merge { requires_approval: true, ..Merge::from(fork) }).await;
    let observer = engine.observe_thread(thread, Observe::of(fork)).await.expect("an observer").id;
    walk.goes(thread, thread, Observe::of(fork), Observe::of(keep.thread(&[]).await)).await;
    walk.goes(thread, thread, Unobserve { observer }, Unobserve { observer: Uuid::from_chance(7) }).await;
    let child = child(keep).await;
    let notify = |content: &str| NotifyParent { content: content.into(), ..NotifyParent::default() };
    walk.goes(child, child, notify("done"), notify("not done")).await;
    let status = |status: &str| SetStatus { status: status.into() };
    walk.goes(child, child, status("reading"), status("writing")).await;

    let (thread, _) = talk(keep).await;
    let to = |account: &str| ChangeOwner { account: threadkeep::Account::new(account).expect("an account") };
    walk.goes(thread, thread, to("bob"), to("eve")).await;
    let (thread, _) = talk(keep).await;
    walk.goes(thread, thread, Delete {}, Delete {}).await;
}

impl Walk<'_> {
    /// A call that has no parameters: another request is another call.
    async fn without_parameters<C: Enter + Clone>(&mut self, thread: ThreadId, call: C) {
        let name = C::DECLARATION.name;
        assert!(self.seen.insert(name), "{name} has one sample");
        let (keep, before) = (self.keep, everything(self.keep).await);
        let current = version(keep, thread).await;
        let at = At::of(thread);
        let stale = at.clone().expecting(Position(current.0 - 1));
        assert_eq!(refusal(keep, &stale, call.clone()).await, ErrorCode::VersionConflict, "{name}");
        assert_eq!(everything(keep).await, before, "{name}: what is refused changes nothing");
        let keyed = at.clone().expecting(current).keyed(key(name));
        let first = answer(keep, &keyed, call.clone()).await.unwrap_or_else(|refused| panic!("{name}: {refused}"));
        let after = everything(keep).await;
        assert_ne!(after, before, "{name}: something happened");
        let again = answer(keep, &keyed, call).await.unwrap_or_else(|refused| panic!("{name}: {refused}"));
        assert_eq!(again, first, "{name}: the first answer");
        let another = SetCheckpoint::named("another call");
        assert_eq!(refusal(keep, &at.keyed(key(name)), another).await, ErrorCode::IdempotencyKeyReused, "{name}");
        assert_eq!(everything(keep).await, after, "{name}: a repetition changes nothing");
    }
}

async fn a_value_is_compared_by_its_own_version(keep: Keep) {
    let (thread, _) = talk(&keep).await;
    let set = |if_version| SetValue { if_version, ..SetValue::new("k", Json::string("v")).expect("a key") };
    let delete = |if_version| DeleteValue { key: "k".parse().expect("a key"), if_version };
    keep.engine.call(thread, set(None)).await.expect("a value");
    let before = everything(&keep).await;
    for stale in [Position(0), Position(2), Position(9)] {
        assert_eq!(refusal(&keep, &thread.into(), set(Some(stale))).await, ErrorCode::VersionConflict);
        assert_eq!(refusal(&keep, &thread.into(), delete(Some(stale))).await, ErrorCode::VersionConflict);
    }
    assert_eq!(everything(&keep).await, before);
    let keyed = At::of(thread).keyed(key("k"));
    let first = answer(&keep, &keyed, set(Some(Position(3)))).await.expect("the right version");
    let again = answer(&keep, &keyed, set(Some(Position(3)))).await.expect("a repetition, although the value moved on");
    assert_eq!(again, first);
    let keyed = At::of(thread).keyed(key("l"));
    let first = answer(&keep, &keyed, delete(Some(Position(4)))).await.expect("the right version");
    let again = answer(&keep, &keyed, delete(Some(Position(4)))).await.expect("a repetition, although it is gone");
    assert_eq!((again.as_str(), first.as_str()), (r#"{"deleted":true}"#, r#"{"deleted":true}"#));
}

async fn what_is_repeated_at_once_happens_once(keep: Keep) {
    for round in 0..10 {
        let (thread, approval) = asked(&keep).await;
        let before = version(&keep, thread).await;
        let at = At::none().keyed(key("k"));
        let tries: Vec<_> = (0..8)
            .map(|_| {
                let (engine, at) = (keep.engine.clone(), at.clone());
                tokio::spawn(async move { engine.approve(at, Approve::of(approval)).await })
            })
            .collect();
        let mut told = Vec::new();
        for tried in tries {
            told.push(tried.await.expect("no panic").unwrap_or_else(|refused| panic!("{round}: {refused}")));
        }
        told.dedup();
        assert_eq!(told.len(), 1, "{round}: {told:?}");
        assert_eq!(version(&keep, thread).await, before.next(), "{round}");
    }
}

async fn what_is_repeated_after_its_thread_closed_is_answered_again(keep: Keep) {
    async fn repeats<C: Enter + Clone>(keep: &Keep, about: Option<ThreadId>, thread: ThreadId, call: C) {
        let name = C::DECLARATION.name;
        let at = At { thread: about.map(Into::into), key: Some(key(name)), ..At::none() };
        answer(keep, &at, call.clone()).await.unwrap_or_else(|refused| panic!("{name}: {refused}"));
        keep.engine.lifecycle(thread, LifecycleAction::Done).await.expect("done");
        let closed = everything(keep).await;
        answer(keep, &at, call).await.unwrap_or_else(|refused| panic!("{name}, repeated: {refused}"));
        assert_eq!(everything(keep).await, closed, "{name}: a repetition changes nothing");
    }
    let user = |text: &str| MessageBody::user(text);
    let fresh = async || talk(&keep).await.0;
    let thread = fresh().await;
    repeats(&keep, Some(thread), thread, Append::from(user("c"))).await;
    let (thread, ids) = talk(&keep).await;
    repeats(&keep, Some(thread), thread, EditMessage::content(ids[0], Content::text("A"))).await;
    let (thread, ids) = talk(&keep).await;
    repeats(&keep, Some(thread), thread, DeleteMessage { message: ids[0].into() }).await;
    let thread = fresh().await;
    repeats(&keep, Some(thread), thread, Truncate::from_index(1)).await;
    let thread = fresh().await;
    repeats(&keep, Some(thread), thread, Rollback::from(RollbackTo::Version(Position(1)))).await;
    let thread = fresh().await;
    repeats(&keep, Some(thread), thread, Queue::from(user("q"))).await;
    let thread = fresh().await;
    repeats(&keep, Some(thread), thread, StartRun::caller()).await;
    let (thread, run) = begun(&keep).await;
    repeats(&keep, Some(thread), thread, StepRun::of(run).message(user("b"))).await;
    let (thread, run) = begun(&keep).await;
    repeats(&keep, Some(thread), thread, EndRun::of(run, RunOutcome::Completed)).await;
    let (thread, run) = begun(&keep).await;
    repeats(&keep, None, thread, StopRun { run, now: false }).await;
    let (thread, run) = begun(&keep).await;
    repeats(&keep, None, thread, StepRun::of(run).message(user("b"))).await;
    let thread = fresh().await;
    repeats(&keep, Some(thread), thread, Assign::to("coder")).await;
    let thread = fresh().await;
    repeats(&keep, Some(thread), thread, SetValue::new("k", json("1")).expect("a key")).await;
    let thread = fresh().await;
    repeats(&keep, Some(thread), thread, Transfer::request_approval([Capability::Deploy])).await;
    let (thread, approval) = asked(&keep).await;
    repeats(&keep, None, thread, Approve::of(approval)).await;
    let thread = fresh().await;
    repeats(&keep, Some(thread), thread, Inject::new(InjectionType::Data, json("1"))).await;
    let thread = fresh().await;
    repeats(&keep, Some(thread), thread, Decide::new("a?", "b")).await;
    let (thread, fork) = (fresh().await, fresh().await);
    keep.engine.write_file(fork, NewFile::new("/f", "x").expect("a file")).await.expect("a file");
    repeats(&keep, Some(thread), thread, Merge::from(fork)).await;
    let (thread, other) = (fresh().await, fresh().await);
    repeats(&keep, Some(thread), thread, Observe::of(other)).await;
    let thread = fresh().await;
    keep.engine.write_file(thread, NewFile::new("/f", "x").expect("a file")).await.expect("a file");
    let helper = Subagent { name: "x".into(), attachments: vec!["/f".parse().expect("a path")], ..Subagent::default() };
    repeats(&keep, Some(thread), thread, helper).await;
    let worker = child(&keep).await;
    keep.engine.write_file(worker, NewFile::new("/f", "x").expect("a file")).await.expect("a file");
    let parent = keep.engine.parent_thread(worker).await.expect("a read").expect("a parent").id;
    let notify = NotifyParent { content: "done".into(), attachments: vec!["/f".parse().expect("a path")] };
    repeats(&keep, Some(worker), parent, notify).await;

    let thread = fresh().await;
    let (at, file) = (At::of(thread).keyed(key("f")), || NewFile::new("/f", "x").expect("a file"));
    let written = keep.engine.write_file(at.clone(), file()).await.expect("a file");
    keep.engine.lifecycle(thread, LifecycleAction::Done).await.expect("done");
    assert_eq!(keep.engine.write_file(at, file()).await.expect("a repetition"), written);
}

async fn the_first_answer_is_given_whatever_became_of_it(keep: Keep) {
    async fn twice<C: Enter + Clone>(keep: &Keep, thread: ThreadId, call: C, between: impl AsyncFnOnce()) {
        let at = At::of(thread).keyed(key("k"));
        let first = answer(keep, &at, call.clone()).await.expect("the first");
        between().await;
        let now = everything(keep).await;
        let again =
            answer(keep, &at, call).await.unwrap_or_else(|refused| panic!("{}: {refused}", C::DECLARATION.name));
        assert_eq!(again, first);
        assert_eq!(everything(keep).await, now, "{}: nothing happens again", C::DECLARATION.name);
    }
    let engine = &keep.engine;
    let path = |text: &str| text.parse::<threadkeep::FilePath>().expect("a path");
    let written = async |thread| {
        engine.write_file(thread, NewFile::new("/f", "x").expect("a file")).await.expect("a file");
    };
    let deleted = async |thread| {
        let delete = threadkeep::DeleteFile { path: path("/f") };
        assert!(engine.delete_file(thread, delete).await.expect("a deletion"));
    };
    let back = async |thread| {
        engine.rollback(thread, RollbackTo::Version(Position(2))).await.expect("a rollback");
    };

    let (thread, other) = (talk(&keep).await.0, talk(&keep).await.0);
    twice(&keep, thread, Mention::of(other), async || back(thread).await).await;
    let (thread, other) = (talk(&keep).await.0, talk(&keep).await.0);
    let gone = async || assert!(engine.delete(other, Delete {}).await.expect("a deletion"));
    twice(&keep, thread, Refer::to(other), gone).await;
    let (thread, fork) = (talk(&keep).await.0, talk(&keep).await.0);
    written(fork).await;
    let gone = async || assert!(engine.delete(fork, Delete {}).await.expect("a deletion"));
    twice(&keep, thread, Merge::from(fork), gone).await;
    let thread = talk(&keep).await.0;
    written(thread).await;
    let helper = Subagent { name: "x".into(), attachments: vec![path("/f"), path("/f")], ..Subagent::default() };
    twice(&keep, thread, helper, async || deleted(thread).await).await;
    let worker = child(&keep).await;
    written(worker).await;
    let notify = NotifyParent { content: "done".into(), attachments: vec![path("/f")] };
    twice(&keep, worker, notify, async || deleted(worker).await).await;
    let thread = talk(&keep).await.0;
    twice(&keep, thread, Decide::new("a?", "b"), async || back(thread).await).await;
    let thread = talk(&keep).await.0;
    twice(&keep, thread, Inject::new(InjectionType::Data, json("1")), async || back(thread).await).await;
    let thread = talk(&keep).await.0;
    let inject = Inject::new(InjectionType::Data, json("1"));
    let injection = engine.inject(thread, inject).await.expect("injected").id;
    twice(&keep, thread, Acknowledge { injection }, async || back(thread).await).await;
    let thread = talk(&keep).await.0;
    twice(&keep, thread, Transfer::delegate([Capability::Deploy]), async || back(thread).await).await;
    let thread = talk(&keep).await.0;
    twice(&keep, thread, SetCheckpoint::named("x"), async || back(thread).await).await;
    let thread = talk(&keep).await.0;
    twice(&keep, thread, Append::from(MessageBody::user("c")), async || back(thread).await).await;
    let (thread, ids) = talk(&keep).await;
    let edit = EditMessage::content(ids[0], Content::text("A"));
    let gone = async || {
        let delete = DeleteMessage { message: ids[0].into() };
        assert!(engine.delete_message(thread, delete).await.expect("a deletion"));
    };
    twice(&keep, thread, edit, gone).await;
    let (thread, ids) = talk(&keep).await;
    let insert = Append::before(MessageBody::user("0"), ids[0]);
    twice(&keep, thread, insert, async || back(thread).await).await;
    let thread = talk(&keep).await.0;
    let item = engine.queue(thread, MessageBody::user("q")).await.expect("queued").id;
    let edit = EditQueued { item, content: Some(Content::text("Q")), metadata: None };
    let begin = async || drop(engine.start_run(thread, StartRun::caller()).await.expect("an execution"));
    twice(&keep, thread, edit, begin).await;
    let thread = talk(&keep).await.0;
    let begin = async || drop(engine.start_run(thread, StartRun::caller()).await.expect("an execution"));
    twice(&keep, thread, Queue::from(MessageBody::user("q")), begin).await;
    let (thread, run) = begun(&keep).await;
    engine.queue(thread, MessageBody::user("q")).await.expect("queued");
    let end = async || drop(engine.end_run(thread, EndRun::of(run, RunOutcome::Failed)).await.expect("an end"));
    twice(&keep, thread, StepRun::of(run).message(MessageBody::assistant("b")), end).await;
    let thread = talk(&keep).await.0;
    let set = SetValue::new("k", json("1")).expect("a key");
    twice(&keep, thread, set, async || back(thread).await).await;
}

async fn what_is_not_there_is_deleted_only_at_the_version_that_is_expected(keep: Keep) {
    let (thread, ids) = talk(&keep).await;
    let item = keep.engine.queue(thread, MessageBody::user("q")).await.expect("queued").id;
    let observer = keep.engine.observe_thread(thread, Observe::of(keep.thread(&[]).await)).await.expect("observed").id;
    let (message, remove) = (DeleteMessage { message: ids[0].into() }, RemoveQueued { item });
    let unobserve = Unobserve { observer };
    for deleted in [true, false] {
        let stale = At::of(thread).expecting(Position(1));
        assert_eq!(refusal(&keep, &stale, message.clone()).await, ErrorCode::VersionConflict, "{deleted}");
        assert_eq!(refusal(&keep, &stale, remove).await, ErrorCode::VersionConflict, "{deleted}");
        assert_eq!(refusal(&keep, &stale, unobserve).await, ErrorCode::VersionConflict, "{deleted}");
        let now = async || At::of(thread).expecting(version(&keep, thread).await);
        let told = format!(r#"{{"deleted":{deleted}}}"#);
        assert_eq!(answer(&keep, &now().await, message.clone()).await.expect("an answer"), told);
        assert_eq!(answer(&keep, &now().await, remove).await.expect("an answer"), told);
        assert_eq!(answer(&keep, &now().await, unobserve).await.expect("an answer"), told);
    }
    assert_eq!(version(&keep, thread).await, Position(7), "what is not there leaves no entry");
}

async fn a_key_stands_for_the_bytes_of_files_too(keep: Keep) {
    let with = |bytes: &[u8]| NewMessage::from(MessageBody::user("see")).attach("f", "text/plain", bytes);
    let thread = talk(&keep).await.0;
    let at = At::of(thread).keyed(key("k"));
    let first = keep.engine.append(at.clone(), with(b"one")).await.expect("an append");
    assert_eq!(keep.engine.append(at.clone(), with(b"one")).await.expect("a repetition"), first);
    let other = keep.engine.append(at.clone(), with(b"two")).await.expect_err("other bytes");
    assert!(matches!(other, Error::IdempotencyKeyReused), "{other}");
    let batch = keep.engine.append(at, Append::batch([with(b"two")])).await.expect_err("other bytes");
    assert!(matches!(batch, Error::IdempotencyKeyReused), "{batch}");
}

async fn a_visitor_forks_once_under_a_key(keep: Keep) {
    let thread = talk(&keep).await.0;
    let public = Update::new().field("visibility", Json::string("public"));
    let parent = keep.engine.update(thread, public).await.expect("published");
    let account = threadkeep::Account::new("bob").expect("an account");
    let bob = keep.engine.acting_as(threadkeep::Caller { account, ..threadkeep::Caller::local() });
    let stale = At::of(thread).expecting(Position(1));
    assert_eq!(bob.fork(stale, Fork::default()).await.expect_err("stale").code(), "version_conflict");
    let at = At::of(thread).expecting(parent.head.version).keyed(key("k"));
    let child = bob.fork(at.clone(), Fork::default()).await.expect("a fork");
    assert_eq!(bob.fork(at.clone(), Fork::default()).await.expect("a repetition"), child);
    let other = bob.fork(at, Fork::at_index(0)).await.expect_err("another request");
    assert!(matches!(other, Error::IdempotencyKeyReused), "{other}");
    assert_eq!(bob.list(List::default()).await.expect("a list").items.len(), 1);
    assert_eq!(keep.engine.thread(thread).await.expect("the parent"), parent, "it is told nothing");
}

async fn mentions_at_once_are_one_relation(keep: Keep) {
    for round in 0..50 {
        let (thread, other) = (keep.thread(&["a"]).await, keep.thread(&["b"]).await);
        let before = version(&keep, thread).await;
        let mentions: Vec<_> = (0..8)
            .map(|_| {
                let engine = keep.engine.clone();
                tokio::spawn(async move { engine.call(thread, Mention::of(other)).await })
            })
            .collect();
        let mut told = Vec::new();
        for mention in mentions {
            told.push(mention.await.expect("no panic").unwrap_or_else(|refused| panic!("{round}: {refused}")));
        }
        told.dedup();
        assert_eq!(told.len(), 1, "{round}: {told:?}");
        assert_eq!(keep.engine.relationships(thread).await.expect("relations"), told, "{round}");
        assert_eq!(version(&keep, thread).await, before.next(), "{round}: one entry");
    }
}

async fn a_condition_that_a_call_does_not_honour_is_refused(keep: Keep) {
    let (thread, _) = talk(&keep).await;
    let read = || threadkeep::GetThread {};
    for at in [
        At::of(thread).expecting(version(&keep, thread).await),
        At::of(thread).keyed(key("k")),
        At::of(thread).under(threadkeep::model::LeaseToken::from_chance(1)),
    ] {
        assert_eq!(refusal(&keep, &at, read()).await, ErrorCode::InvalidParameter, "{at:?}");
    }
    let given = keep.engine.transfer(thread, Transfer::delegate([Capability::Deploy])).await.expect("a transfer");
    let revoke = RevokeDelegation::of(given.delegation_id.expect("a delegation"));
    let refused = refusal(&keep, &At::none().keyed(key("k")), revoke.clone()).await;
    assert_eq!(refused, ErrorCode::InvalidParameter, "a key that could not be found again");
    answer(&keep, &At::none(), revoke).await.expect("a revocation");
}
