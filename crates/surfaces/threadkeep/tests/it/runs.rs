//! Runs: attempts, requests to stop, waits, lists, and what of them can be read afterwards.

use threadkeep::model::ModelCall;
use threadkeep::{
    Approve, At, Delete, EndRun, Error, Executor, GetRun, Json, LifecycleAction, ListRuns, ListThreadRuns, MessageBody,
    Page, RollbackTo, RunOutcome, RunStatus, StartRun, StepRun, StopRun, Subagent, Taking, Terminate, ThreadId,
    Transfer, Truncate, Usage, Wait,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_run_is_read_by_its_id_from_its_start_to_its_end,
    a_resume_raises_the_attempt_and_refuses_the_one_before,
    a_resumed_run_keeps_its_calls_open_and_gets_what_waits_after_their_results,
    a_request_to_stop_is_logged_and_the_executor_ends_the_run,
    an_executor_that_does_not_stop_in_time_is_ended_by_any_process,
    a_run_that_nothing_works_on_is_stopped_at_once,
    whatever_ends_a_run_says_why,
    an_approval_wakes_the_run_that_waits_for_it,
    whatever_interrupts_a_subagent_wakes_the_run_that_waits_for_it,
    a_message_wakes_a_run_that_waits_for_a_human,
    the_runtime_takes_queued_runs_and_threads_with_something_queued,
    runs_are_listed_by_status_page_by_page,
    each_step_tells_what_the_model_was_given_and_what_it_took,
    a_start_assigns_the_agent_and_says_the_message,
);

async fn start(keep: &Keep, thread: ThreadId) -> threadkeep::Run {
    keep.engine.start_run(thread, StartRun::caller()).await.expect("a run").run
}

fn call(id: &str) -> MessageBody {
    let json = format!(r#"[{{"type":"tool_use","id":"{id}","name":"t","input":{{}}}}]"#);
    let content = threadkeep::Content::from_json(Json::parse("content", &json).expect("JSON")).expect("content");
    MessageBody::with_content(threadkeep::Role::Assistant, content)
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.expect_err("a refusal").code()
}

async fn a_run_is_read_by_its_id_from_its_start_to_its_end(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = start(&keep, thread).await;
    assert_eq!(
        (run.status, run.attempt, run.executor, run.thread_id),
        (RunStatus::Running, 1, Executor::Caller, thread)
    );
    assert_eq!(keep.engine.run(run.id).await.expect("a run"), run);
    let step = keep.engine.step_run(At::none(), StepRun::of(run.id)).await.expect("a step, by the run alone");
    assert_eq!((step.run.step_count, step.run.status), (1, RunStatus::Running));
    let end = EndRun { reason: Some("stop_tool".into()), ..EndRun::of(run.id, RunOutcome::Completed) };
    let ended = keep.engine.end_run(At::none(), end).await.expect("an end").run;
    assert_eq!((ended.status, ended.reason.as_deref()), (RunStatus::Completed, Some("stop_tool")));
    assert!(ended.completed_at.is_some() && ended.expires_at.is_none());
    assert_eq!(keep.engine.run(run.id).await.expect("a run"), ended);
    assert_eq!(code(keep.engine.step_run(At::none(), StepRun::of(run.id)).await), "run_over");
    let wrong = EndRun { reason: Some("No!".into()), ..EndRun::of(run.id, RunOutcome::Completed) };
    assert_eq!(code(keep.engine.end_run(At::none(), wrong).await), "invalid_body");
    let unknown = threadkeep::Uuid::from_chance(9);
    assert_eq!(code(keep.engine.step_run(At::none(), StepRun::of(unknown)).await), "run_not_found");
    let other = keep.engine.acting_as(threadkeep::Caller {
        account: threadkeep::Account::new("other").expect("an account"),
        ..keep.engine.caller().clone()
    });
    assert_eq!(code(other.run(run.id).await), "run_not_found", "another account's run answers like an unknown one");
}

async fn a_resume_raises_the_attempt_and_refuses_the_one_before(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let none = StartRun { resume: true, ..StartRun::caller() };
    assert_eq!(code(keep.engine.start_run(thread, none.clone()).await), "invalid_body", "nothing is open");
    let first = start(&keep, thread).await;
    assert_eq!(code(keep.engine.start_run(thread, none).await), "run_open", "its time is not over");
    let resume = StartRun { resume: true, take_over: true, ..StartRun::caller() };
    let second = keep.engine.start_run(thread, resume).await.expect("a resume").run;
    assert_eq!((second.id, second.attempt), (first.id, 2));
    for _ in 0..3 {
        let late = StepRun::of(first.id).message(MessageBody::assistant("late"));
        let refused = keep.engine.step_run(thread, late).await.expect_err("a late step");
        assert!(refused.to_string().contains("attempt 2"), "{refused}");
        assert_eq!(refused.code(), "run_over");
    }
    assert_eq!(code(keep.engine.end_run(thread, EndRun::of(first.id, RunOutcome::Failed)).await), "run_over");
    let step = StepRun::of(first.id).attempt(2).message(MessageBody::assistant("b"));
    keep.engine.step_run(thread, step).await.expect("the second attempt goes on");
    assert_eq!(keep.shows(thread).await, "a b");
}

async fn a_resumed_run_keeps_its_calls_open_and_gets_what_waits_after_their_results(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = start(&keep, thread).await.id;
    keep.engine.step_run(thread, StepRun::of(run).message(call("x"))).await.expect("a step");
    keep.engine.queue(thread, MessageBody::user("b")).await.expect("queued");
    let resume = StartRun { resume: true, take_over: true, ..StartRun::caller() };
    let resumed = keep.engine.start_run(thread, resume).await.expect("a resume");
    assert_eq!(resumed.messages.len(), 0, "the call is not closed, and nothing comes between it and its result");
    let result = r#"[{"type":"tool_result","toolUseId":"x","content":"ok"}]"#;
    let result = threadkeep::Content::from_json(Json::parse("content", result).expect("JSON")).expect("content");
    let result = MessageBody::with_content(threadkeep::Role::Tool, result);
    let silent = StepRun { delivers_nothing: true, ..StepRun::of(run).attempt(2) };
    assert_eq!(keep.engine.step_run(thread, silent).await.expect("a step").messages.len(), 0);
    let step = StepRun { continues: true, ..StepRun::of(run).attempt(2).message(result) };
    let step = keep.engine.step_run(thread, step).await.expect("a step");
    assert_eq!((step.messages.len(), step.run.step_count), (2, 2), "the result, then what was queued");
}

async fn a_request_to_stop_is_logged_and_the_executor_ends_the_run(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = start(&keep, thread).await.id;
    let asked = keep.engine.stop_run(thread, StopRun { run, now: false }).await.expect("a request");
    assert_eq!((asked.status, asked.stop_requested_at.is_some()), (RunStatus::Running, true));
    let version = keep.engine.thread(thread).await.expect("a thread").head.version;
    let again = keep.engine.stop_run(thread, StopRun { run, now: false }).await.expect("once more");
    assert_eq!(again, asked);
    assert_eq!(keep.engine.thread(thread).await.expect("a thread").head.version, version, "nothing is logged twice");
    let step = keep.engine.step_run(thread, StepRun::of(run).message(MessageBody::assistant("b"))).await;
    assert!(step.expect("what was shown is kept").run.stop_requested_at.is_some());
    let end = EndRun { reason: Some("aborted".into()), ..EndRun::of(run, RunOutcome::Stopped) };
    assert_eq!(keep.engine.end_run(thread, end).await.expect("the end").run.status, RunStatus::Stopped);
}

async fn an_executor_that_does_not_stop_in_time_is_ended_by_any_process(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = start(&keep, thread).await.id;
    keep.engine.step_run(thread, StepRun::of(run).message(call("x"))).await.expect("a step");
    keep.engine.stop_run(thread, StopRun { run, now: false }).await.expect("a request");
    let due =
        keep.engine.thread(thread).await.expect("a thread").record.run.and_then(|run| run.stop).expect("a stop").due;
    let before = keep.engine.call(At::none(), GetRun { run }).await.expect("a run");
    assert_eq!(before.status, RunStatus::Running);
    // It waits for the clock of the store, not for a length of time.
    while keep.engine.now() < due {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let after = keep.engine.call(At::none(), GetRun { run }).await.expect("a run");
    assert_eq!((after.status, after.reason.as_deref()), (RunStatus::Stopped, Some("aborted")));
    let messages = keep.engine.messages(thread, Page::first()).await.expect("messages").items;
    let last = messages.last().expect("a message").body().expect("a body");
    assert_eq!(last.role, threadkeep::Role::Tool, "the open call is closed");
    assert_eq!(code(keep.engine.step_run(thread, StepRun::of(run)).await), "run_over");
}

async fn a_run_that_nothing_works_on_is_stopped_at_once(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = keep.engine.start_run(thread, StartRun::default()).await.expect("a run").run;
    assert_eq!((run.status, run.agent_id.as_deref()), (RunStatus::Queued, Some("default")));
    let stopped = keep.engine.stop_run(At::none(), StopRun { run: run.id, now: false }).await.expect("a stop");
    assert_eq!(stopped.status, RunStatus::Stopped);
    let run = start(&keep, thread).await.id;
    let waits = StepRun { waits: vec![Wait::Human], ..StepRun::of(run) };
    assert_eq!(keep.engine.step_run(thread, waits).await.expect("it waits").run.status, RunStatus::Waiting);
    let stopped = keep.engine.stop_run(At::none(), StopRun { run, now: false }).await.expect("a stop");
    assert_eq!(stopped.status, RunStatus::Stopped);
}

async fn whatever_ends_a_run_says_why(keep: Keep) {
    for (what, status, reason) in [
        ("rollback", RunStatus::Stopped, "rolled_back"),
        ("truncate", RunStatus::Stopped, "rolled_back"),
        ("terminate", RunStatus::Stopped, "terminated"),
        ("suspend", RunStatus::Stopped, "suspended"),
        ("done", RunStatus::Completed, "thread_closed"),
        ("cancel", RunStatus::Stopped, "thread_closed"),
        ("take over", RunStatus::Failed, "taken_over"),
    ] {
        let thread = keep.thread(&["a", "b"]).await;
        let run = start(&keep, thread).await.id;
        let engine = &keep.engine;
        match what {
            "rollback" => {
                drop(engine.rollback(thread, RollbackTo::Version(threadkeep::Position(1))).await.expect(what))
            }
            "truncate" => drop(engine.truncate(thread, Truncate::from_index(1)).await.expect(what)),
            "terminate" => drop(engine.call(thread, Terminate {}).await.expect(what)),
            "suspend" => drop(engine.lifecycle(thread, LifecycleAction::Suspend).await.expect(what)),
            "done" => drop(engine.lifecycle(thread, LifecycleAction::Done).await.expect(what)),
            "cancel" => drop(engine.lifecycle(thread, LifecycleAction::Cancel).await.expect(what)),
            _ => {
                let take_over = StartRun { take_over: true, ..StartRun::caller() };
                engine.start_run(thread, take_over).await.expect(what);
            }
        }
        let ended = keep.engine.run(run).await.expect("a run");
        assert_eq!((ended.status, ended.reason.as_deref()), (status, Some(reason)), "{what}");
        let late = if reason == "thread_closed" { "thread_closed" } else { "run_over" };
        assert_eq!(code(keep.engine.step_run(At::none(), StepRun::of(run)).await), late, "{what}");
        if what == "rollback" {
            keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
            assert_eq!(keep.engine.run(run).await.expect("a run"), ended, "an undo revives no run");
        }
    }
}

async fn an_approval_wakes_the_run_that_waits_for_it(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = start(&keep, thread).await.id;
    let asked = Transfer::request_approval([threadkeep::Capability::Deploy]);
    let approval = keep.engine.transfer(thread, asked).await.expect("a request").approval_id.expect("an approval");
    let other = Wait::Child { thread_id: thread };
    let waits = StepRun { waits: vec![Wait::Approval { approval_id: approval }, other], ..StepRun::of(run) };
    keep.engine.step_run(thread, waits).await.expect("it waits");
    keep.engine.approve(At::none(), Approve::of(approval)).await.expect("an answer");
    assert_eq!(keep.engine.run(run).await.expect("a run").waits, [other], "the other answer is still missing");
    let resume = StartRun { resume: true, ..StartRun::caller() };
    let resumed = keep.engine.start_run(thread, resume).await.expect("a waiting run may be resumed").run;
    assert_eq!((resumed.status, resumed.attempt, resumed.waits.len()), (RunStatus::Running, 2, 0));
}

async fn whatever_interrupts_a_subagent_wakes_the_run_that_waits_for_it(keep: Keep) {
    for what in ["delete", "rollback", "truncate", "terminate", "suspend", "done", "cancel"] {
        let (thread, engine) = (keep.thread(&["a"]).await, &keep.engine);
        let subagent = Subagent {
            name: "clerk".into(),
            messages: vec![MessageBody::user("b").into(), MessageBody::user("c").into()],
            ..Subagent::default()
        };
        let child = engine.call(thread, subagent).await.expect("a subagent").thread.id;
        let run = start(&keep, thread).await.id;
        let waits = StepRun { waits: vec![Wait::Child { thread_id: child }], ..StepRun::of(run) };
        assert_eq!(engine.step_run(thread, waits).await.expect("it waits").run.status, RunStatus::Waiting);
        match what {
            "delete" => drop(engine.call(child, Delete {}).await.expect(what)),
            "rollback" => {
                drop(engine.rollback(child, RollbackTo::Version(threadkeep::Position(1))).await.expect(what));
            }
            "truncate" => drop(engine.truncate(child, Truncate::from_index(1)).await.expect(what)),
            "terminate" => drop(engine.call(child, Terminate {}).await.expect(what)),
            "suspend" => drop(engine.lifecycle(child, LifecycleAction::Suspend).await.expect(what)),
            "done" => drop(engine.lifecycle(child, LifecycleAction::Done).await.expect(what)),
            _ => drop(engine.lifecycle(child, LifecycleAction::Cancel).await.expect(what)),
        }
        let woken = engine.run(run).await.expect("a run");
        assert_eq!((woken.status, woken.waits.len()), (RunStatus::Running, 0), "{what}");
    }
}

async fn a_message_wakes_a_run_that_waits_for_a_human(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = start(&keep, thread).await.id;
    let waits = StepRun { waits: vec![Wait::Human], ..StepRun::of(run) };
    let waiting = keep.engine.step_run(thread, waits).await.expect("it waits").run;
    assert_eq!((waiting.status, waiting.reason.as_deref()), (RunStatus::Waiting, Some("awaiting_human")));
    keep.engine.queue(thread, MessageBody::assistant("not a human")).await.expect("queued");
    assert_eq!(keep.engine.run(run).await.expect("a run").status, RunStatus::Waiting);
    let queued = keep.engine.queue(thread, MessageBody::user("b")).await.expect("queued");
    assert_eq!(queued.queued_message.content.to_text(), "b");
    assert_eq!(keep.engine.run(run).await.expect("a run").status, RunStatus::Running);
}

async fn the_runtime_takes_queued_runs_and_threads_with_something_queued(keep: Keep) {
    let owned = keep.engine.own().await.expect("a lease");
    let taking = Taking { owner: owned.id(), definitions: Some("d1".into()), again: false, dual: false };
    let thread = keep.thread(&["a"]).await;
    assert!(keep.engine.take_run(thread, &taking).await.expect("a look").is_none(), "nothing waits");
    keep.engine.queue(thread, MessageBody::user("b")).await.expect("queued");
    assert!(keep.engine.take_run(thread, &taking).await.expect("a look").is_none(), "no agent");
    keep.engine.assign(thread, threadkeep::Assign::to("coder")).await.expect("an agent");
    let taken = keep.engine.take_run(thread, &taking).await.expect("a look").expect("a run");
    assert_eq!((taken.run.status, taken.run.attempt, taken.messages.len()), (RunStatus::Running, 1, 1));
    assert!(keep.engine.take_run(thread, &taking).await.expect("a look").is_none(), "it is owned");
    let waits = StepRun { waits: vec![Wait::Human], ..StepRun::of(taken.run.id) };
    keep.engine.step_run(thread, waits).await.expect("it waits");
    assert!(keep.engine.take_run(thread, &taking).await.expect("a look").is_none(), "it waits");
    keep.engine.queue(thread, MessageBody::user("c")).await.expect("queued");
    let again = keep.engine.take_run(thread, &taking).await.expect("a look").expect("the same run");
    assert_eq!((again.run.id, again.run.attempt, again.messages.len()), (taken.run.id, 2, 1));
    assert_eq!(keep.shows(thread).await, "a b c");
}

async fn runs_are_listed_by_status_page_by_page(keep: Keep) {
    let mut ids = Vec::new();
    for outcome in [RunOutcome::Completed, RunOutcome::Failed, RunOutcome::Stopped] {
        let thread = keep.thread(&["a"]).await;
        let run = start(&keep, thread).await.id;
        keep.engine.end_run(thread, EndRun::of(run, outcome)).await.expect("an end");
        ids.push(run);
    }
    let thread = keep.thread(&["a"]).await;
    let ended = start(&keep, thread).await.id;
    keep.engine.end_run(thread, EndRun::of(ended, RunOutcome::Completed)).await.expect("an end");
    let open = start(&keep, thread).await.id;
    let own = keep.engine.call(thread, ListThreadRuns::default()).await.expect("a list").items;
    assert_eq!(own.iter().map(|run| run.id).collect::<Vec<_>>(), [open, ended], "the newest first");
    let expected = [open, ids[0], ids[1], ids[2], ended];
    for limit in 1..=6 {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let list = ListRuns { limit: Some(limit), cursor, ..ListRuns::default() };
            let page = keep.engine.call(At::none(), list).await.expect("a page");
            seen.extend(page.items.iter().map(|run| run.id));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected, "in pages of {limit}");
    }
    for (status, expected) in [
        ("open", vec![open]),
        ("running", vec![open]),
        ("queued", vec![]),
        ("failed", vec![ids[1]]),
        ("stopped", vec![ids[2]]),
        ("ended", vec![ids[0], ids[1], ids[2], ended]),
    ] {
        let list = ListRuns { status: Some(status.parse().expect("a status")), ..ListRuns::default() };
        let page = keep.engine.call(At::none(), list).await.expect("a page");
        assert_eq!(page.items.iter().map(|run| run.id).collect::<Vec<_>>(), expected, "{status}");
    }
}

async fn each_step_tells_what_the_model_was_given_and_what_it_took(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let first = keep.ids(thread).await[0];
    let run = start(&keep, thread).await.id;
    let usage = Usage { input_tokens: 100, output_tokens: 7, cost_micros: 12, ..Usage::default() };
    let model = ModelCall {
        model: "gpt".into(),
        as_of: Some(threadkeep::Position(2)),
        first_message: Some(first),
        messages: 1,
        prompt: None,
        side: None,
        usage,
        first_response_ms: Some(3),
        duration_ms: Some(9),
    };
    for _ in 0..2 {
        let step = StepRun { model: Some(model.clone()), ..StepRun::of(run).message(MessageBody::assistant("b")) };
        keep.engine.step_run(thread, step).await.expect("a step");
        keep.engine.step_run(thread, StepRun { continues: true, ..StepRun::of(run) }).await.expect("a result");
        keep.engine.append(thread, MessageBody::user("aside")).await.expect("an append");
    }
    let ended = keep.engine.end_run(thread, EndRun::of(run, RunOutcome::Completed)).await.expect("an end").run;
    assert_eq!((ended.usage, ended.step_count), (usage.plus(usage), 2));
    let told = keep.engine.call(At::none(), GetRun { run }).await.expect("a run");
    let steps: Vec<_> = told.steps.iter().map(|step| (step.number, step.continues, step.model.is_some())).collect();
    assert_eq!(steps, [(1, false, true), (1, true, false), (2, false, true), (2, true, false)]);
    assert_eq!(told.steps[0].model.as_ref(), Some(&model));
}

async fn a_start_assigns_the_agent_and_says_the_message(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    keep.engine.queue(thread, MessageBody::user("b")).await.expect("queued");
    let start =
        StartRun { agent_id: Some("coder".into()), message: Some(MessageBody::user("c").into()), ..StartRun::caller() };
    let run = keep.engine.start_run(thread, start).await.expect("a run").run;
    assert_eq!((run.agent_id.as_deref(), keep.shows(thread).await.as_str()), (Some("coder"), "a b c"));
    let record = keep.engine.thread(thread).await.expect("a thread").record;
    assert_eq!(record.agent_id.as_deref(), Some("coder"));
}
