//! Custom events: they reach those who listen, and the log knows nothing of them.

use threadkeep::{Account, Caller, Emitted, Json, LiveSettings, Position, ThreadEvent};

use crate::{Keep, on_every_store};

on_every_store!(
    events_reach_those_who_listen_and_are_not_logged,
    the_six_events_come_by_name,
    events_are_checked,
    who_misses_some_is_told,
);

fn json(text: &str) -> Json {
    Json::parse("data", text).expect("json")
}

fn event(emitted: &Emitted) -> (&str, &str) {
    match emitted {
        Emitted::Event(event) => (&event.event, event.data.as_str()),
        Emitted::Missed(missed) => panic!("missed {missed}"),
    }
}

async fn events_reach_those_who_listen_and_are_not_logged(keep: Keep) {
    let (thread, other) = (keep.thread(&["a"]).await, keep.thread(&[]).await);
    assert_eq!(keep.engine.emit(thread, "nobody_listens", json("1")).await.expect("an event"), 0);
    let mut one = keep.engine.emitted(thread).await.expect("events");
    let mut two = keep.engine.clone().emitted(thread).await.expect("events");
    keep.engine.emit(other, "elsewhere", json("null")).await.expect("an event");
    assert_eq!(keep.engine.emit(thread, "progress", json(r#"{"done": 0.50}"#)).await.expect("an event"), 2);
    assert_eq!(keep.engine.emit(thread, "ok", json("[]")).await.expect("an event"), 2);
    for listener in [&mut one, &mut two] {
        assert_eq!(event(&listener.next().await), ("progress", r#"{"done": 0.50}"#));
        assert_eq!(event(&listener.next().await), ("ok", "[]"));
    }
    assert_eq!(keep.engine.thread(thread).await.expect("a thread").head.version, Position(1));
    drop((one, two));
    assert_eq!(keep.engine.emit(thread, "ok", json("[]")).await.expect("an event"), 0);
}

async fn the_six_events_come_by_name(keep: Keep) {
    use threadkeep::{Capability, EndRun, LifecycleAction, NewFile, RunOutcome, Transfer};
    let thread = keep.thread(&["a"]).await;
    let mut events = keep.engine.emitted(thread).await.expect("events");
    for content in ["one", "two"] {
        let file = NewFile::new("f", content).expect("a file");
        keep.engine.write_file(thread, file).await.expect("a file");
    }
    let asked = Transfer::request_approval([Capability::Deploy]);
    keep.engine.transfer(thread, asked).await.expect("asked");
    let run = keep.engine.start_run(thread, threadkeep::StartRun::caller()).await.expect("a run").run.id;
    keep.engine.end_run(thread, EndRun::of(run, RunOutcome::Failed)).await.expect("the end");
    keep.engine.lifecycle(thread, LifecycleAction::Done).await.expect("done");
    let mut names = Vec::new();
    for _ in 0..6 {
        names.push(event(&events.next().await).0.to_owned());
    }
    let expected =
        ["artifact_created", "artifact_updated", "approval_requested", "error_occurred", "status_changed", "done"];
    assert_eq!(names, expected);
}

async fn events_are_checked(keep: Keep) {
    let thread = keep.thread(&[]).await;
    for name in ["", " ", &"x".repeat(101)] {
        let refused = keep.engine.emit(thread, name, json("1")).await.expect_err("a name");
        assert_eq!(refused.code(), "invalid_parameter", "{name}");
    }
    keep.engine.emit(thread, &"x".repeat(100), json("1")).await.expect("a long name");
    let account = Account::new("stranger").expect("an account");
    let stranger = keep.engine.acting_as(Caller { account, ..Caller::local() });
    assert_eq!(stranger.emit(thread, "x", json("1")).await.expect_err("not theirs").code(), "thread_not_found");
    assert!(stranger.emitted(thread).await.is_err_and(|error| error.code() == "thread_not_found"));
    assert!(stranger.observe(thread).await.is_err_and(|error| error.code() == "thread_not_found"));
    for event in ThreadEvent::ALL {
        assert_eq!(event.as_str().parse::<ThreadEvent>().expect("an event"), event);
    }
}

async fn who_misses_some_is_told(keep: Keep) {
    let engine = keep.engine.with_live(LiveSettings { emitted_kept_max: 2, ..LiveSettings::default() });
    let thread = keep.thread(&[]).await;
    let mut slow = engine.emitted(thread).await.expect("events");
    for n in 0..5 {
        engine.emit(thread, "tick", json(&n.to_string())).await.expect("an event");
    }
    assert_eq!(slow.next().await, Emitted::Missed(3));
    assert_eq!(event(&slow.next().await), ("tick", "3"));
}
