//! What a model is given: no call without its result, whatever cut the conversation.

use threadkeep::{
    Content, DeleteMessage, EndRun, Fork, Inherit, Json, MessageBody, Page, Part, Role, RollbackTo, RunOutcome, Spawn,
    StartRun, StepRun, StopRun, ThreadId, Truncate, TruncateFrom,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_fork_in_the_middle_of_a_call_closes_it_in_the_same_commit,
    forks_of_a_thread_that_goes_on_close_what_is_open_then,
    a_rollback_in_the_middle_of_a_call_closes_it_and_undo_brings_the_result_back,
    a_truncation_in_the_middle_of_a_call_closes_what_is_open,
    cancelling_and_ending_close_what_is_open,
    the_next_begin_closes_what_a_crash_left_open,
    nothing_is_added_where_no_call_is_open,
    the_model_is_given_results_right_after_their_calls,
    deleting_a_call_deletes_its_results,
    an_update_that_deletes_a_call_deletes_its_results,
);

fn call(ids: &[&str]) -> MessageBody {
    let part = |id: &&str| Part::ToolUse {
        id: (*id).into(),
        name: "t".into(),
        input: Json::parse("input", "{}").expect("JSON").to_value(),
    };
    let parts: Vec<Part> = ids.iter().map(part).collect();
    MessageBody::with_content(Role::Assistant, Content::parts(&parts).expect("content"))
}

fn result(id: &str) -> MessageBody {
    let part = Part::ToolResult { tool_use_id: id.into(), content: "ok".into(), is_error: false };
    MessageBody::with_content(Role::Tool, Content::parts(&[part]).expect("content"))
}

async fn deleting_a_call_deletes_its_results(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let mixed = [
        Part::ToolResult { tool_use_id: "two".into(), content: "ok".into(), is_error: false },
        Part::Text { text: "and more".into() },
    ];
    let mixed = MessageBody::with_content(Role::Tool, Content::parts(&mixed).expect("content"));
    let mut ids = Vec::new();
    for said in [call(&["one", "two"]), result("one"), mixed, call(&["three"]), result("three")] {
        ids.push(keep.engine.append(thread, said).await.expect("an append")[0].id);
    }
    let delete = |message: threadkeep::MessageId| DeleteMessage { message: message.into() };
    let before = keep.engine.thread(thread).await.expect("a thread").head.version;
    assert!(keep.engine.delete_message(thread, delete(ids[0])).await.expect("a deletion"));
    let left = keep.engine.messages(thread, Page::first()).await.expect("a page").items;
    let left: Vec<_> = left.iter().map(|message| message.id).collect();
    assert_eq!(left[1..], ids[2..], "the call and its result are gone, and other calls stay");
    let rest = keep.engine.message(thread, ids[2], None).await.expect("a message").text().expect("text");
    assert_eq!(rest, "and more");
    assert!(keep.engine.delete_message(thread, delete(ids[4])).await.expect("a deletion"), "a result goes alone");
    let back = keep.engine.rollback(thread, RollbackTo::Version(before)).await;
    back.expect("a rollback");
    assert_eq!(keep.engine.messages(thread, Page::first()).await.expect("a page").total, 6);
}

async fn an_update_that_deletes_a_call_deletes_its_results(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let mut ids = Vec::new();
    for said in [call(&["one", "two"]), result("one"), result("two"), call(&["three"]), result("three")] {
        ids.push(keep.engine.append(thread, said).await.expect("an append")[0].id);
    }
    let writer = crate::live::open(&crate::live::unhurried(&keep), thread).await;
    let deletes = |draft: &mut threadkeep::Draft| {
        draft.delete(ids[1]);
        draft.delete(ids[0]);
    };
    let version = writer.update(deletes).expect("an update");
    writer.flush_version(version).await.expect("a flush");
    assert_eq!(shows(&keep, thread).await, "a call:three result:three");
    crate::live::say(&writer, "b");
    writer.dispose().await.expect("all is flushed");
    assert_eq!(shows(&keep, thread).await, "a call:three result:three b");
}

fn part(part: Part) -> String {
    match part {
        Part::Text { text } => text,
        Part::ToolUse { id, .. } => format!("call:{id}"),
        Part::ToolResult { tool_use_id, is_error, .. } => {
            format!("{}:{tool_use_id}", if is_error { "none" } else { "result" })
        }
        Part::Image { .. } | Part::File { .. } | Part::Thinking { .. } => "other".into(),
    }
}

/// The parts of what a thread shows, and why something was repaired.
async fn shows(keep: &Keep, thread: ThreadId) -> String {
    let page = keep.engine.messages(thread, Page::first().limit(1_000)).await.expect("a page");
    let shown = page.items.iter().map(|message| {
        let body = message.body().expect("a body");
        let parts: Vec<String> = body.content.to_parts().into_iter().map(part).collect();
        let repair =
            body.metadata.as_ref().map(Json::to_value).and_then(|m| Some(format!("({})", m["repair"].as_str()?)));
        format!("{}{}", parts.join("+"), repair.unwrap_or_default())
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The parts of what a model is given.
async fn given(keep: &Keep, thread: ThreadId) -> String {
    let given = keep.engine.model_messages(thread, None).await.expect("messages");
    let parts =
        given.into_iter().map(|message| message.content.to_parts().into_iter().map(part).collect::<Vec<_>>().join("+"));
    parts.collect::<Vec<_>>().join(" ")
}

async fn in_a_call(keep: &Keep) -> ThreadId {
    let thread = keep.thread(&["go"]).await;
    for body in [call(&["x", "y"]), result("x"), result("y"), MessageBody::assistant("done")] {
        keep.engine.append(thread, body).await.expect("an append");
    }
    thread
}

async fn a_fork_in_the_middle_of_a_call_closes_it_in_the_same_commit(keep: Keep) {
    let thread = in_a_call(&keep).await;
    for (index, expected) in [
        (0, "go"),
        (1, "go call:x+call:y none:x+none:y(fork)"),
        (2, "go call:x+call:y result:x none:y(fork)"),
        (3, "go call:x+call:y result:x result:y"),
        (4, "go call:x+call:y result:x result:y done"),
    ] {
        let child = keep.engine.fork(thread, Fork::at_index(index)).await.expect("a fork");
        assert_eq!(shows(&keep, child.id).await, expected);
        assert_eq!(child.record.fork_point_index, Some(index));
        let own = keep.engine.history(child.id, threadkeep::Position(index + 1), 10).await.expect("a history");
        assert_eq!(own.len(), usize::from(expected.contains("fork")), "one entry, with the birth");
        assert!(!given(&keep, child.id).await.is_empty());
    }
    assert_eq!(shows(&keep, thread).await, "go call:x+call:y result:x result:y done", "the parent is as it was");
}

async fn forks_of_a_thread_that_goes_on_close_what_is_open_then(keep: Keep) {
    let thread = keep.thread(&["go"]).await;
    let forked = async |expected: &str| {
        for again in [1, 2] {
            let child = keep.engine.fork(thread, Fork::default()).await.expect("a fork");
            assert_eq!(shows(&keep, child.id).await, expected, "fork {again}");
            let shown = keep.engine.messages(thread, Page::first()).await.expect("a page").total;
            assert_eq!(child.record.fork_point_index, shown.checked_sub(1), "fork {again}");
        }
    };
    forked("go").await;
    keep.engine.append(thread, call(&["x", "y"])).await.expect("an append");
    forked("go call:x+call:y none:x+none:y(fork)").await;
    let spawn = Spawn::new("Help").inherit(Inherit::Full);
    let spawned = keep.engine.spawn(thread, spawn).await.expect("a thread");
    assert_eq!(shows(&keep, spawned.id).await, "go call:x+call:y none:x+none:y(spawn)");
    keep.engine.append(thread, result("x")).await.expect("an append");
    forked("go call:x+call:y result:x none:y(fork)").await;
    let open = keep.engine.thread(thread).await.expect("a thread").head.version;
    let last = keep.engine.append(thread, result("y")).await.expect("an append")[0].id;
    forked("go call:x+call:y result:x result:y").await;
    keep.engine.append(thread, MessageBody::user("so?").silent()).await.expect("an append");
    forked("go call:x+call:y result:x result:y").await;
    let delete = DeleteMessage { message: last.into() };
    assert!(keep.engine.delete_message(thread, delete).await.expect("a deletion"));
    forked("go call:x+call:y result:x none:y(fork)").await;
    keep.engine.rollback(thread, RollbackTo::Version(open)).await.expect("a rollback");
    forked("go call:x+call:y result:x none:y(rollback)").await;
}

async fn a_rollback_in_the_middle_of_a_call_closes_it_and_undo_brings_the_result_back(keep: Keep) {
    let thread = in_a_call(&keep).await;
    keep.engine.rollback(thread, RollbackTo::Version(threadkeep::Position(3))).await.expect("a rollback");
    assert_eq!(shows(&keep, thread).await, "go call:x+call:y result:x none:y(rollback)");
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    assert_eq!(shows(&keep, thread).await, "go call:x+call:y result:x result:y done");
}

async fn a_truncation_in_the_middle_of_a_call_closes_what_is_open(keep: Keep) {
    let thread = in_a_call(&keep).await;
    let truncate = |index| Truncate { from: TruncateFrom::Index(index) };
    keep.engine.truncate(thread, truncate(3)).await.expect("a truncation");
    assert_eq!(shows(&keep, thread).await, "go call:x+call:y result:x none:y(truncate)");
    keep.engine.truncate(thread, truncate(1)).await.expect("a truncation");
    assert_eq!(shows(&keep, thread).await, "go");
}

async fn cancelling_and_ending_close_what_is_open(keep: Keep) {
    for by_its_executor in [false, true] {
        let thread = keep.thread(&["go"]).await;
        let run = keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution").run.id;
        keep.engine.step_run(thread, StepRun::of(run).message(call(&["x"]))).await.expect("a step");
        if by_its_executor {
            keep.engine.end_run(thread, EndRun::of(run, RunOutcome::Stopped)).await.expect("an end");
        } else {
            keep.engine.stop_run(thread, StopRun::now(run)).await.expect("an end");
        }
        assert_eq!(shows(&keep, thread).await, "go call:x none:x(cancel)");
    }
    let thread = keep.thread(&["go"]).await;
    let run = keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution").run.id;
    let messages = vec![call(&["x", "y"]).into(), result("y").into()];
    keep.engine
        .end_run(thread, EndRun { run, attempt: 1, reason: None, status: RunOutcome::Failed, messages })
        .await
        .expect("an end");
    assert_eq!(shows(&keep, thread).await, "go call:x+call:y result:y none:x(end)");
}

async fn the_next_begin_closes_what_a_crash_left_open(keep: Keep) {
    let thread = keep.thread(&["go"]).await;
    let run = keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution").run.id;
    keep.engine.step_run(thread, StepRun::of(run).message(call(&["x"]))).await.expect("a step");
    keep.engine.queue(thread, MessageBody::user("still there?")).await.expect("queued");
    let begun =
        keep.engine.start_run(thread, StartRun { take_over: true, ..StartRun::caller() }).await.expect("taken over");
    assert_eq!(begun.messages.len(), 2);
    assert_eq!(shows(&keep, thread).await, "go call:x none:x(crash) still there?");
    assert_eq!(given(&keep, thread).await, "go call:x none:x still there?");
    let again =
        keep.engine.start_run(thread, StartRun { take_over: true, ..StartRun::caller() }).await.expect("taken over");
    assert!(again.messages.is_empty(), "once is enough");
}

async fn nothing_is_added_where_no_call_is_open(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    keep.engine.append(thread, MessageBody::assistant("c")).await.expect("an append");
    let child = keep.engine.fork(thread, Fork::default()).await.expect("a fork");
    assert_eq!(child.head.version, keep.engine.thread(child.id).await.expect("a thread").head.version);
    assert_eq!(keep.shows(child.id).await, "a b c");
    let run = keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution");
    assert!(run.messages.is_empty());
    let deep = call(&["x"]).depth(1);
    keep.engine.append(thread, deep).await.expect("an append");
    let ended = keep.engine.end_run(thread, EndRun::of(run.run.id, RunOutcome::Completed)).await.expect("an end");
    assert!(ended.messages.is_empty(), "what a subagent calls is not the model's");
}

async fn the_model_is_given_results_right_after_their_calls(keep: Keep) {
    let thread = keep.thread(&["go"]).await;
    for body in [
        call(&["x"]),
        MessageBody::user("hurry"),
        result("x"),
        call(&["y"]).depth(1),
        MessageBody::user("psst").silent(),
        call(&["z"]),
        MessageBody::assistant("gave up"),
        result("z"),
    ] {
        keep.engine.append(thread, body).await.expect("an append");
    }
    assert_eq!(given(&keep, thread).await, "go call:x result:x hurry psst call:z none:z gave up");
    let then = keep.engine.model_messages(thread, Some(threadkeep::Position(2))).await.expect("messages");
    assert_eq!(then.len(), 3, "as of a version, closed all the same");
}
