//! Messages that wait, and the executions that take them up.

use threadkeep::{
    At, Create, Delete, EditMessage, EditQueued, EndRun, Error, Fork, IdempotencyKey, Json, MessageBody, MessageName,
    Page, Progressed, Queued, RemoveQueued, Role, RollbackTo, RunOutcome, RunStatus, StartRun, StepRun, StopRun,
    TakeWriter, ThreadId, Update,
};

use crate::{Keep, on_every_store};

on_every_store!(
    only_users_and_assistants_are_queued,
    what_waits_is_listed_edited_removed_and_delivered_in_order,
    a_message_keeps_its_name_and_number_when_it_is_delivered,
    a_sixth_message_is_refused_and_silent_ones_have_their_own_bound,
    a_retry_under_a_key_adds_nothing_even_when_the_queue_is_full_by_then,
    begin_takes_up_what_waits_and_step_what_came_meanwhile,
    a_second_execution_is_refused_until_the_first_ends_or_is_taken_over,
    an_execution_that_rested_too_long_may_be_taken_over,
    a_rollback_ends_what_an_execution_may_write,
    a_step_says_something_before_it_takes_up_what_waits,
    a_draft_that_submits_itself_is_appended_once_and_cleared,
    the_queue_is_never_moved_back_and_not_inherited,
    queueing_and_cancelling_pass_while_somebody_is_the_exclusive_writer,
    sixteen_at_once_never_exceed_the_bound,
    the_queue_goes_with_its_thread_and_a_closed_or_unknown_one_takes_nothing,
    what_is_derived_of_the_queue_can_be_rebuilt,
);

fn user(text: &str) -> MessageBody {
    MessageBody::user(text)
}

async fn queue(keep: &Keep, thread: ThreadId, text: &str) -> Queued {
    keep.engine.queue(thread, user(text)).await.expect("a queued message")
}

async fn waits(keep: &Keep, thread: ThreadId) -> String {
    let waiting = keep.engine.queued(thread).await.expect("a queue");
    waiting.iter().map(|queued| queued.queued_message.content.to_text().into_owned()).collect::<Vec<_>>().join(" ")
}

async fn begin(keep: &Keep, thread: ThreadId) -> Progressed {
    keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution")
}

fn said(progressed: &Progressed) -> String {
    progressed.messages.iter().map(|message| message.text().expect("text")).collect::<Vec<_>>().join(" ")
}

async fn only_users_and_assistants_are_queued(keep: Keep) {
    use threadkeep::{Content, Role};
    let thread = keep.thread(&[]).await;
    for (role, passes) in
        [(Role::User, true), (Role::Assistant, true), (Role::Info, false), (Role::Tool, false), (Role::System, false)]
    {
        let queued = keep.engine.queue(thread, MessageBody::with_content(role, Content::text("x"))).await;
        assert_eq!(queued.map(drop).map_err(|error| error.code()), if passes { Ok(()) } else { Err("invalid_body") });
    }
}

async fn what_waits_is_listed_edited_removed_and_delivered_in_order(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = begin(&keep, thread).await.run.id;
    let [b, c, d] = [queue(&keep, thread, "b").await, queue(&keep, thread, "c").await, queue(&keep, thread, "d").await];
    assert_eq!(waits(&keep, thread).await, "b c d");
    let edit = EditQueued {
        item: b.id,
        content: Some(threadkeep::Content::text("B")),
        metadata: Some(Json::parse("metadata", r#"{"k":1}"#).expect("JSON")),
    };
    let edited = keep.engine.edit_queued(thread, edit).await.expect("an edit");
    assert_eq!((edited.id, edited.number, edited.queued_message.content.to_text().as_ref()), (b.id, b.number, "B"));
    let remove = RemoveQueued { item: c.id };
    assert!(keep.engine.remove_queued(thread, remove).await.expect("a removal"));
    assert!(!keep.engine.remove_queued(thread, remove).await.expect("nothing to remove"));
    assert_eq!(waits(&keep, thread).await, "B d");
    assert_eq!(keep.shows(thread).await, "a", "what waits is not said yet");
    let step = keep.engine.step_run(thread, StepRun::of(run)).await.expect("a step");
    assert_eq!(said(&step), "B d");
    assert_eq!((waits(&keep, thread).await.as_str(), keep.shows(thread).await.as_str()), ("", "a B d"));
    let late = EditQueued { item: d.id, content: Some(threadkeep::Content::text("x")), metadata: None };
    let refused = keep.engine.edit_queued(thread, late).await.expect_err("it was delivered");
    assert!(matches!(refused, Error::QueuedNotFound { .. }), "{refused}");
}

async fn a_message_keeps_its_name_and_number_when_it_is_delivered(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let queued = queue(&keep, thread, "b").await;
    keep.engine.append(thread, user("c")).await.expect("an append");
    let begun = begin(&keep, thread).await;
    let page = keep.engine.messages(thread, Page::first()).await.expect("a page").items;
    assert_eq!(page[2], begun.messages[0], "what was answered is what is read");
    let delivered = &page[2];
    assert_eq!((delivered.name(), delivered.number), (MessageName::Queued(queued.id), queued.number));
    assert_eq!(delivered.name().to_string(), queued.id.to_string());
    let id = keep.engine.message_id(queued.id).await.expect("its place");
    assert_eq!(id, delivered.id);
    // By that name it is read, edited, forked at, and seen in forks.
    let edit = EditMessage { message: id.into(), content: Some(threadkeep::Content::text("B")), metadata: None };
    let edited = keep.engine.edit_message(thread, edit).await.expect("an edit");
    assert_eq!((edited.name(), edited.number), (delivered.name(), delivered.number));
    let fork = keep.engine.fork(thread, Fork::at_message(id)).await.expect("a fork").id;
    keep.engine.delete(thread, Delete::default()).await.expect("a deletion");
    keep.engine.gc(false, std::sync::Arc::new(|_, _, _| {})).await.expect("gc");
    let id = keep.engine.message_id(queued.id).await.expect("its place");
    let seen = keep.engine.message(fork, id, None).await.expect("the message");
    assert_eq!((seen.name(), seen.number, seen.text().expect("text").as_str()), (queued.id.into(), queued.number, "B"));
    let missing = keep.engine.message_id(threadkeep::QueuedId(fork_id())).await.expect_err("nobody queued it");
    assert!(matches!(missing, Error::MessageNotFound { .. }), "{missing}");
}

fn fork_id() -> threadkeep::MessageId {
    "M-00000000000000011".parse().expect("an id")
}

async fn a_sixth_message_is_refused_and_silent_ones_have_their_own_bound(keep: Keep) {
    let thread = keep.thread(&[]).await;
    for text in ["1", "2", "3", "4", "5"] {
        queue(&keep, thread, text).await;
    }
    let refused = keep.engine.queue(thread, MessageBody::assistant("6")).await.expect_err("the queue is full");
    assert!(matches!(refused, Error::QueueFull { max: 5, silent: false }), "{refused}");
    assert_eq!(refused.code(), "queue_full");
    keep.engine.queue(thread, user("psst").silent()).await.expect("silent ones have a bound of their own");
    assert_eq!(waits(&keep, thread).await, "1 2 3 4 5 psst");
    begin(&keep, thread).await;
    assert_eq!(keep.shows(thread).await, "1 2 3 4 5 psst");
    queue(&keep, thread, "6").await;
}

async fn a_retry_under_a_key_adds_nothing_even_when_the_queue_is_full_by_then(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let key = || IdempotencyKey::new("k").expect("a key");
    let keyed = || At::of(thread).keyed(key());
    let first = keep.engine.queue(keyed(), user("1")).await.expect("queued");
    for text in ["2", "3", "4", "5"] {
        queue(&keep, thread, text).await;
    }
    let again = keep.engine.queue(keyed(), user("1")).await.expect("the first result");
    assert_eq!((again.id, again.number), (first.id, first.number));
    let other = keep.engine.queue(keyed(), user("x")).await.expect_err("the key was used");
    assert!(matches!(other, Error::IdempotencyKeyReused), "{other}");
    let fresh = At::of(thread).keyed(IdempotencyKey::new("l").expect("a key"));
    let full = keep.engine.queue(fresh, user("6")).await.expect_err("the queue is full");
    assert!(matches!(full, Error::QueueFull { .. }), "{full}");
    assert_eq!(waits(&keep, thread).await, "1 2 3 4 5");
}

async fn begin_takes_up_what_waits_and_step_what_came_meanwhile(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    queue(&keep, thread, "b").await;
    let begun = begin(&keep, thread).await;
    assert_eq!(said(&begun), "b");
    let open = keep.engine.thread(thread).await.expect("a thread").record.run.expect("an execution");
    assert_eq!((open.id, open.steps), (begun.run.id, 0));
    queue(&keep, thread, "c").await;
    let stepped = keep.engine.step_run(thread, StepRun::of(begun.run.id)).await.expect("a step");
    assert_eq!(said(&stepped), "c");
    let nothing = keep.engine.step_run(thread, StepRun::of(begun.run.id)).await.expect("a step");
    assert_eq!(said(&nothing), "");
    let open = keep.engine.thread(thread).await.expect("a thread").record.run.expect("an execution");
    assert_eq!(open.steps, 2);
    let ended = keep.engine.end_run(thread, EndRun::of(begun.run.id, RunOutcome::Completed)).await.expect("an end");
    assert_eq!(ended.run.id, begun.run.id);
    assert_eq!(keep.engine.thread(thread).await.expect("a thread").record.run, None);
    let over = keep.engine.step_run(thread, StepRun::of(begun.run.id)).await.expect_err("it is over");
    assert!(matches!(over, Error::RunOver { by: None, .. }), "{over}");
}

async fn a_second_execution_is_refused_until_the_first_ends_or_is_taken_over(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let first = begin(&keep, thread).await.run.id;
    let refused = keep.engine.start_run(thread, StartRun::caller()).await.expect_err("somebody works on it");
    assert!(matches!(&refused, Error::RunOpen { open } if open.id == first), "{refused}");
    let take_over = StartRun { take_over: true, ..StartRun::caller() };
    let second = keep.engine.start_run(thread, take_over).await.expect("taken over").run.id;
    let late =
        keep.engine.step_run(thread, StepRun::of(first).message(user("late"))).await.expect_err("it was taken over");
    assert!(matches!(&late, Error::RunOver { by: Some(by), .. } if by.id == second), "{late}");
    assert_eq!(keep.shows(thread).await, "a", "nothing was written late");
    keep.engine.end_run(thread, EndRun::of(second, RunOutcome::Failed)).await.expect("an end");
    begin(&keep, thread).await;
}

async fn an_execution_that_rested_too_long_may_be_taken_over(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let short = StartRun { ttl: Some(1_000), ..StartRun::caller() };
    let first = keep.engine.start_run(thread, short).await.expect("an execution");
    let until = keep.engine.thread(thread).await.expect("a thread").record.run.expect("open").until;
    // It waits for the clock, not for a length of time.
    while threadkeep::World::now(&threadkeep::SystemWorld) < until {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    keep.engine.step_run(thread, StepRun::of(first.run.id)).await.expect("nobody took over, so it goes on");
    let refused = keep.engine.start_run(thread, StartRun::caller()).await.expect_err("the step renewed it");
    assert!(matches!(refused, Error::RunOpen { .. }), "{refused}");
    for ttl in [0, 999, u64::MAX] {
        let wrong = StartRun { ttl: Some(ttl), ..StartRun::caller() };
        keep.engine.start_run(thread, wrong).await.expect_err("no such time");
    }
}

async fn a_rollback_ends_what_an_execution_may_write(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let run = begin(&keep, thread).await.run.id;
    let version = threadkeep::Position(1);
    keep.engine.rollback(thread, RollbackTo::Version(version)).await.expect("a rollback");
    let late =
        keep.engine.step_run(thread, StepRun::of(run).message(user("late"))).await.expect_err("it was rolled back");
    assert!(matches!(late, Error::RunOver { by: None, .. }), "{late}");
    keep.engine.end_run(thread, EndRun::of(run, RunOutcome::Completed)).await.expect_err("it is over");
    assert_eq!(keep.shows(thread).await, "a");
    begin(&keep, thread).await;
}

async fn a_step_says_something_before_it_takes_up_what_waits(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = begin(&keep, thread).await.run.id;
    queue(&keep, thread, "c").await;
    let step = StepRun::of(run).message(MessageBody::assistant("b"));
    assert_eq!(said(&keep.engine.step_run(thread, step).await.expect("a step")), "b c");
    let end = EndRun { messages: vec![MessageBody::assistant("d").into()], ..EndRun::of(run, RunOutcome::Completed) };
    assert_eq!(said(&keep.engine.end_run(thread, end).await.expect("an end")), "d");
    assert_eq!(keep.shows(thread).await, "a b c d");
    let roles = keep.engine.messages(thread, Page::first().role(Role::Assistant)).await.expect("a page").items;
    assert_eq!(roles.len(), 2);
}

async fn a_draft_that_submits_itself_is_appended_once_and_cleared(keep: Keep) {
    let json = |text: &str| Json::parse("field", text).expect("JSON");
    let create = Create::titled("T").field("draft", Json::string("later")).field("autoSubmitDraft", json("true"));
    let thread = keep.engine.create(create).await.expect("a thread").id;
    let begun = begin(&keep, thread).await;
    assert_eq!((said(&begun).as_str(), keep.shows(thread).await.as_str()), ("later", "later"));
    let record = keep.engine.thread(thread).await.expect("a thread").record;
    assert_eq!((record.draft, record.auto_submit_draft), (None, false));
    let draft = Update::new().field("draft", Json::string("more")).field("autoSubmitDraft", json("true"));
    keep.engine.update(thread, draft).await.expect("an update");
    assert_eq!(
        said(&keep.engine.step_run(thread, StepRun::of(begun.run.id)).await.expect("a step")),
        "",
        "not in a step"
    );
    let end = EndRun::of(begun.run.id, RunOutcome::Completed);
    assert_eq!(said(&keep.engine.end_run(thread, end).await.expect("an end")), "more");
    let roles = keep.engine.messages(thread, Page::first().role(Role::User)).await.expect("a page").items;
    assert_eq!(roles.len(), 2);
    keep.engine.update(thread, Update::new().field("draft", Json::string("kept"))).await.expect("an update");
    begin(&keep, thread).await;
    let record = keep.engine.thread(thread).await.expect("a thread").record;
    assert_eq!(record.draft.as_deref(), Some("kept"), "only a draft that submits itself is submitted");
}

async fn the_queue_is_never_moved_back_and_not_inherited(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    queue(&keep, thread, "waits").await;
    keep.engine.rollback(thread, RollbackTo::Version(threadkeep::Position(1))).await.expect("a rollback");
    assert_eq!(waits(&keep, thread).await, "waits");
    let fork = keep.engine.fork(thread, Fork::default()).await.expect("a fork").id;
    assert_eq!(waits(&keep, fork).await, "");
    begin(&keep, thread).await;
    assert_eq!(keep.shows(thread).await, "a waits");
    assert_eq!(keep.shows(fork).await, "a");
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    assert_eq!((keep.shows(thread).await.as_str(), waits(&keep, thread).await.as_str()), ("a b", ""));
}

async fn queueing_and_cancelling_pass_while_somebody_is_the_exclusive_writer(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let lease =
        keep.engine.take_writer(thread, TakeWriter { ttl: None, holder: Some("me".into()) }).await.expect("held");
    let holder = keep.engine.writing_under(thread, lease.token);
    let refused = keep.engine.start_run(thread, StartRun::caller()).await.expect_err("somebody else writes");
    assert!(matches!(refused, Error::WriterHeld { .. }), "{refused}");
    let run = holder.start_run(thread, StartRun::caller()).await.expect("the holder begins");
    let call = r#"[{"type":"tool_use","id":"x","name":"t","input":{}}]"#;
    let call = threadkeep::Content::from_json(Json::parse("content", call).expect("JSON")).expect("content");
    let step = StepRun::of(run.run.id).message(MessageBody::with_content(Role::Assistant, call));
    holder.step_run(thread, step).await.expect("a step");
    queue(&keep, thread, "b").await;
    let refused = keep.engine.step_run(thread, StepRun::of(run.run.id)).await.expect_err("it would deliver");
    assert!(matches!(refused, Error::WriterHeld { .. }), "{refused}");
    let stopped = keep.engine.stop_run(thread, StopRun::now(run.run.id)).await.expect("anybody may stop it");
    assert_eq!((stopped.status, stopped.reason.as_deref()), (RunStatus::Stopped, Some("aborted")));
    let again = keep.engine.stop_run(thread, StopRun::now(run.run.id)).await.expect("it is over");
    assert_eq!(again, stopped);
    let next = holder.start_run(thread, StartRun::caller()).await.expect("the next one");
    let roles: Vec<Role> = next.messages.iter().map(|message| message.body().expect("a body").role).collect();
    assert_eq!(roles, [Role::Tool, Role::User], "the call is closed when the next execution begins");
}

async fn sixteen_at_once_never_exceed_the_bound(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let mut running = Vec::new();
    for n in 0..16 {
        let engine = keep.engine.clone();
        running.push(tokio::spawn(async move { engine.queue(thread, user(&n.to_string())).await }));
    }
    let mut accepted = 0;
    for queued in running {
        match queued.await.expect("no panic") {
            Ok(_) => accepted += 1,
            Err(error) => assert!(matches!(error, Error::QueueFull { .. } | Error::Busy), "{error}"),
        }
    }
    assert_eq!(keep.engine.queued(thread).await.expect("a queue").len(), accepted);
    assert!(accepted <= 5, "{accepted}");
}

async fn the_queue_goes_with_its_thread_and_a_closed_or_unknown_one_takes_nothing(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let queued = queue(&keep, thread, "a").await;
    keep.engine.delete(thread, Delete::default()).await.expect("a deletion");
    for refused in [
        keep.engine.queue(thread, user("b")).await.map(drop),
        keep.engine.queued(thread).await.map(drop),
        keep.engine.start_run(thread, StartRun::caller()).await.map(drop),
        keep.engine.remove_queued(thread, RemoveQueued { item: queued.id }).await.map(drop),
    ] {
        assert!(matches!(refused, Err(Error::ThreadNotFound { .. })), "{refused:?}");
    }
}

async fn what_is_derived_of_the_queue_can_be_rebuilt(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let delivered = queue(&keep, thread, "b").await;
    let run = begin(&keep, thread).await.run.id;
    queue(&keep, thread, "c").await;
    let removed = queue(&keep, thread, "d").await.id;
    keep.engine.remove_queued(thread, RemoveQueued { item: removed }).await.expect("a removal");
    let before =
        (keep.engine.thread(thread).await.expect("a thread"), keep.engine.queued(thread).await.expect("a queue"));
    let quiet = || std::sync::Arc::new(|_: &str, _, _| {});
    let healthy = keep.engine.doctor(quiet()).await.expect("a report");
    assert!(healthy.is_healthy(), "{healthy:?}");
    keep.engine.repair(quiet()).await.expect("a rebuild");
    let after =
        (keep.engine.thread(thread).await.expect("a thread"), keep.engine.queued(thread).await.expect("a queue"));
    assert_eq!(before, after);
    assert_eq!(keep.engine.message_id(delivered.id).await.expect("a place"), keep.ids(thread).await[1]);
    keep.engine.step_run(thread, StepRun::of(run)).await.expect("it goes on");
    assert_eq!(keep.shows(thread).await, "a b c");
}
