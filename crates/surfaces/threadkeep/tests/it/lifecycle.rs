//! The life of a thread: the ways between its states, and what each state lets happen.

use threadkeep::{
    ActivateSkill, Append, AppendEvent, Archive, Assign, At, ChangeLifecycle, Content, DeleteMessage, EditMessage,
    EditQueued, Emitted, EndRun, Enter, Error, Event, EventKind, Exclusive, Fork, Handoff, Json, Lifecycle,
    LifecycleAction, List, Mention, MessageBody, NotifyParent, Part, Position, Queue, RemoveQueued, Rollback,
    RollbackTo, RunOutcome, SetCheckpoint, SetStatus, Skill, StartRun, StepRun, Subagent, TakeWriter, ThreadId,
    Truncate, TruncateFrom, Unarchive, Update,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_thread_moves_along_its_life_and_every_other_move_says_what_is_allowed,
    a_suspended_thread_begins_nothing_and_its_version_has_a_name,
    a_closed_thread_keeps_what_it_says_and_goes_on_otherwise,
    what_is_put_away_for_good_is_not_brought_back,
    closing_a_thread_ends_its_run_and_its_calls_in_one_commit,
    a_lease_of_somebody_else_does_not_keep_a_thread_open,
    appends_that_race_with_the_end_come_before_it,
    the_life_of_a_thread_is_heard_and_listed_and_rebuilt,
);

async fn moved(keep: &Keep, thread: ThreadId, action: LifecycleAction) -> Lifecycle {
    keep.engine.lifecycle(thread, action).await.expect("a move").record.lifecycle
}

async fn a_thread_moves_along_its_life_and_every_other_move_says_what_is_allowed(keep: Keep) {
    use LifecycleAction::{Archive, Cancel, Done, Resume, Suspend};
    for (way, end) in [
        (&[][..], Lifecycle::Active),
        (&[Suspend], Lifecycle::Suspended),
        (&[Suspend, Resume], Lifecycle::Active),
        (&[Done], Lifecycle::Completed),
        (&[Cancel], Lifecycle::Cancelled),
        (&[Suspend, Resume, Done, Archive], Lifecycle::Archived),
        (&[Cancel, Archive], Lifecycle::Archived),
    ] {
        let thread = keep.thread(&["a"]).await;
        for action in way {
            moved(&keep, thread, *action).await;
        }
        let before = keep.engine.thread(thread).await.expect("the thread");
        assert_eq!(before.record.lifecycle, end);
        for action in LifecycleAction::ALL.into_iter().filter(|action| !end.allowed().contains(action)) {
            let refused = keep.engine.lifecycle(thread, action).await.expect_err("no such way");
            assert_eq!((refused.code(), refused.lifecycle()), ("invalid_transition", Some(end)));
            let said = refused.to_string();
            assert!(said.contains(end.as_str()) && said.contains(&end.allowed_in_words()), "{said}");
        }
        assert_eq!(keep.engine.thread(thread).await.expect("the thread"), before, "what is refused changes nothing");
    }
    let thread = keep.thread(&[]).await;
    let stale = At::of(thread).expecting(Position(9));
    let refused = keep.engine.lifecycle(stale, Done).await.expect_err("not at that version");
    assert!(matches!(refused, Error::VersionConflict { .. }), "{refused}");
    let blank = ChangeLifecycle { reason: Some(" ".into()), ..Done.into() };
    assert_eq!(keep.engine.lifecycle(thread, blank).await.expect_err("a blank reason").code(), "invalid_body");
}

async fn a_suspended_thread_begins_nothing_and_its_version_has_a_name(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let at = keep.engine.thread(thread).await.expect("the thread").head.version;
    moved(&keep, thread, LifecycleAction::Suspend).await;
    let checkpoints = keep.engine.checkpoints(thread).await.expect("checkpoints");
    let named: Vec<_> = checkpoints.iter().map(|checkpoint| (checkpoint.name.as_str(), checkpoint.version)).collect();
    assert_eq!(named, [("suspended-2", at)]);
    for refused in [
        keep.engine.start_run(thread, StartRun::caller()).await.map(drop),
        keep.engine.rollback(thread, RollbackTo::Version(Position(1))).await.map(drop),
    ] {
        assert_eq!(refused.expect_err("it rests").code(), "thread_suspended");
    }
    keep.engine.queue(thread, MessageBody::user("c")).await.expect("queueing goes on");
    keep.engine.append(thread, MessageBody::user("d")).await.expect("and so does what people say");
    moved(&keep, thread, LifecycleAction::Resume).await;
    keep.engine.start_run(thread, StartRun::caller()).await.expect("it goes on");
    assert_eq!(keep.shows(thread).await, "a b d c");
    let back = keep.engine.rollback(thread, RollbackTo::Checkpoint("suspended-2".into())).await.expect("a rollback");
    assert_eq!((keep.shows(thread).await.as_str(), back.record.lifecycle), ("a b", Lifecycle::Active));
}

/// What came of a call, with its name.
async fn tried<C: Enter>(keep: &Keep, thread: ThreadId, call: C) -> (&'static str, Result<(), Error>) {
    (C::DECLARATION.name, keep.engine.call(thread, call).await.map(drop))
}

async fn a_closed_thread_keeps_what_it_says_and_goes_on_otherwise(keep: Keep) {
    for (way, state) in [
        (&[LifecycleAction::Done][..], Lifecycle::Completed),
        (&[LifecycleAction::Cancel], Lifecycle::Cancelled),
        (&[LifecycleAction::Cancel, LifecycleAction::Archive], Lifecycle::Archived),
    ] {
        let (thread, other) = (keep.thread(&["a", "b"]).await, keep.thread(&[]).await);
        let ids = keep.ids(thread).await;
        let item = keep.engine.queue(thread, MessageBody::user("q")).await.expect("queued").id;
        let child = Subagent { name: "x".into(), ..Subagent::default() };
        let child = keep.engine.subagent(thread, child).await.expect("a subagent").thread.id;
        for action in way {
            moved(&keep, thread, *action).await;
        }
        let content = Some(Content::text("x"));
        let event = Event { kind: EventKind::Result, data: Json::parse("data", "{}").expect("json") };
        let run = keep.engine.start_run(other, StartRun::caller()).await.expect("an execution").run.id;
        for (name, refused) in [
            tried(&keep, thread, Append::from(MessageBody::user("x"))).await,
            tried(&keep, thread, AppendEvent::from(event)).await,
            tried(&keep, thread, Append::before(MessageBody::user("x"), ids[0])).await,
            tried(&keep, thread, EditMessage::content(ids[0], Content::text("x"))).await,
            tried(&keep, thread, DeleteMessage { message: ids[0].into() }).await,
            tried(&keep, thread, Truncate { from: TruncateFrom::Index(0) }).await,
            tried(&keep, thread, Rollback::from(RollbackTo::Version(Position(1)))).await,
            tried(&keep, thread, Queue::from(MessageBody::user("x"))).await,
            tried(&keep, thread, EditQueued { item, content, metadata: None }).await,
            tried(&keep, thread, RemoveQueued { item }).await,
            tried(&keep, thread, StartRun::caller()).await,
            tried(&keep, thread, StepRun::of(run)).await,
            tried(&keep, thread, ActivateSkill { skill: Skill { name: "pdf".into(), arguments: None } }).await,
            tried(&keep, thread, Assign::to("writer")).await,
            tried(&keep, thread, Update::new().field("agentId", Json::string("writer"))).await,
            tried(&keep, thread, Subagent { name: "y".into(), ..Subagent::default() }).await,
        ] {
            let refused = refused.expect_err(name);
            assert!(matches!(refused, Error::ThreadClosed { state: found } if found == state), "{name}: {refused}");
        }
        let told = keep.engine.notify_parent(child, NotifyParent { content: "x".into(), ..Default::default() }).await;
        assert!(matches!(told, Err(Error::ThreadClosed { .. })), "{told:?}");
        assert_eq!(keep.shows(thread).await, "a b");
        for (name, accepted) in [
            tried(&keep, thread, Fork::default()).await,
            tried(&keep, thread, Handoff::to("Go on")).await,
            tried(&keep, thread, Mention { target: other.into(), comment: None }).await,
            tried(&keep, thread, Update::new().title("Over")).await,
            tried(&keep, thread, SetCheckpoint::named("end")).await,
            tried(&keep, thread, Archive::default()).await,
        ] {
            accepted.unwrap_or_else(|refused| panic!("{name}: {refused}"));
        }
        keep.engine.mention(other, Mention { target: thread.into(), comment: None }).await.expect("a back-link");
        keep.engine.set_status(child, SetStatus { status: "late".into() }).await.expect("a status");
        let fork = keep.engine.fork(thread, Fork::default()).await.expect("a fork");
        assert_eq!(fork.record.lifecycle, Lifecycle::Active, "a fork begins a life of its own");
        keep.engine.append(fork.id, MessageBody::user("c")).await.expect("an append");
        assert_eq!(keep.shows(fork.id).await, "a b c");
    }
}

async fn what_is_put_away_for_good_is_not_brought_back(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    keep.engine.archive(thread, Archive::default()).await.expect("hidden");
    keep.engine.unarchive(thread, Unarchive::default()).await.expect("and back");
    moved(&keep, thread, LifecycleAction::Done).await;
    let away = keep.engine.lifecycle(thread, LifecycleAction::Archive).await.expect("put away");
    assert!(away.record.archived);
    let refused = keep.engine.unarchive(thread, Unarchive::default()).await.expect_err("it is final");
    assert_eq!((refused.code(), refused.lifecycle()), ("invalid_transition", Some(Lifecycle::Archived)));
    assert!(keep.engine.list(List::default()).await.expect("a list").items.is_empty());
}

fn call() -> MessageBody {
    let input = serde_json::json!({});
    let part = Part::ToolUse { id: "1".into(), name: "sh".into(), input };
    MessageBody::with_content(threadkeep::Role::Assistant, Content::parts(&[part]).expect("parts"))
}

/// The kinds of the entries after `version`.
async fn told(keep: &Keep, thread: ThreadId, version: Position) -> Vec<&'static str> {
    let history = keep.engine.history(thread, version, 99).await.expect("a history");
    history.iter().map(|entry| entry.kind.as_str()).collect()
}

async fn closing_a_thread_ends_its_run_and_its_calls_in_one_commit(keep: Keep) {
    for (action, status, repair) in [
        (LifecycleAction::Done, RunOutcome::Completed, "end"),
        (LifecycleAction::Cancel, RunOutcome::Stopped, "cancel"),
        (LifecycleAction::Suspend, RunOutcome::Stopped, "suspend"),
    ] {
        let thread = keep.thread(&["a"]).await;
        let run = keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution").run.id;
        let stepped = keep.engine.step_run(thread, StepRun::of(run).message(call())).await.expect("a step");
        let after = keep.engine.lifecycle(thread, action).await.expect("a move");
        assert_eq!(after.record.run, None);
        assert_eq!(keep.engine.thread(thread).await.expect("the thread"), after, "what is answered is what is read");
        let mut kinds = vec!["message_appended", "run_ended"];
        kinds.extend((action == LifecycleAction::Suspend).then_some("checkpoint_set"));
        kinds.push("lifecycle_changed");
        assert_eq!(told(&keep, thread, stepped.version).await, kinds);
        let history = keep.engine.history(thread, stepped.version, 2).await.expect("a history");
        assert!(String::from_utf8_lossy(&history[0].json).contains(&format!(r#""repair":"{repair}""#)));
        assert!(String::from_utf8_lossy(&history[1].json).contains(status.as_str()));
        let late = keep.engine.end_run(thread, EndRun::of(run, RunOutcome::Completed)).await.expect_err("it is over");
        assert!(matches!(late, Error::RunOver { .. }), "{late}");
    }
    // Whoever works without an execution still answers on a thread that only rests.
    let thread = keep.thread(&["a"]).await;
    keep.engine.append(thread, call()).await.expect("a call");
    let before = keep.engine.thread(thread).await.expect("the thread").head.version;
    moved(&keep, thread, LifecycleAction::Suspend).await;
    assert_eq!(told(&keep, thread, before).await, ["checkpoint_set", "lifecycle_changed"]);
}

async fn a_lease_of_somebody_else_does_not_keep_a_thread_open(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    keep.engine.append(thread, call()).await.expect("a call");
    keep.engine.take_writer(thread, TakeWriter::default()).await.expect("a lease");
    assert_eq!(moved(&keep, thread, LifecycleAction::Cancel).await, Lifecycle::Cancelled);
    let given = keep.engine.model_messages(thread, None).await.expect("what a model is given");
    assert_eq!(given.len(), 3, "the call has its result there");
    // The holder hears it when something is flushed.
    let thread = keep.thread(&["a"]).await;
    let writer = keep.engine.exclusive(thread, Exclusive::default()).await.expect("a writer");
    moved(&keep, thread, LifecycleAction::Done).await;
    let version = writer.update(|draft| draft.append(MessageBody::user("late")));
    let refused = match version {
        Ok(version) => writer.flush_version(version).await.map(drop),
        Err(refused) => Err(refused),
    };
    assert!(refused.is_err(), "nothing is said on a thread that is done");
    drop(writer.dispose().await);
    assert_eq!(keep.shows(thread).await, "a");
}

async fn appends_that_race_with_the_end_come_before_it(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let appends = (0..8).map(|_| {
        let engine = keep.engine.clone();
        tokio::spawn(async move {
            let mut kept = 0;
            while engine.append(thread, MessageBody::user("x")).await.is_ok() {
                kept += 1;
            }
            kept
        })
    });
    let appends: Vec<_> = appends.collect();
    while keep.engine.thread(thread).await.expect("the thread").head.version < Position(20) {
        tokio::task::yield_now().await;
    }
    let done = keep.engine.lifecycle(thread, LifecycleAction::Done).await.expect("the end");
    let mut kept = 0;
    for append in appends {
        kept += append.await.expect("a task");
    }
    let after = keep.engine.thread(thread).await.expect("the thread");
    assert_eq!((after.head.version, after.head.tally.messages()), (done.head.version, kept));
}

async fn the_life_of_a_thread_is_heard_and_listed_and_rebuilt(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let mut events = keep.engine.emitted(thread).await.expect("events");
    let reason = Some("the tests pass".to_owned());
    let change = ChangeLifecycle { reason, ..LifecycleAction::Done.into() };
    let done = keep.engine.lifecycle(thread, change).await.expect("the end");
    for name in ["status_changed", "done"] {
        let Emitted::Event(event) = events.next().await else { panic!("nothing was missed") };
        let said = r#"{"from":"active","to":"completed","reason":"the tests pass"}"#;
        assert_eq!(event.event, name);
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).expect("json");
        assert_eq!(value(event.data.as_str()), value(said));
    }
    let completed = List { lifecycle: Some(Lifecycle::Completed), ..List::default() };
    let listed = keep.engine.list(completed).await.expect("a list");
    assert_eq!(listed.items.iter().map(|row| row.thread.id).collect::<Vec<_>>(), [thread]);
    let quiet = || std::sync::Arc::new(|_: &str, _, _| {});
    keep.engine.repair(quiet()).await.expect("a rebuild");
    assert_eq!(keep.engine.thread(thread).await.expect("the thread"), done);
    assert!(keep.engine.doctor(quiet()).await.expect("a report").is_healthy());
}
