//! Agents with two sides: two models that talk with each other.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use threadkeep_calls::{At, ForceTurn, GetExecution, GetRun};
use threadkeep_engine::Page;
use threadkeep_model::{Json, MessageBody, Role, RunSide, RunStatus};
use threadkeep_runtime::Builder;
use threadkeep_runtime::tools::{Declared, RustTool, State, ToolResult};
use tokio::sync::Notify;

use crate::agents::{Story, call, echo, folder, run};

/// A folder whose agent `helper` has two sides: `a` plays its own script with the tool `echo`, and so does `b`. `agent`,
/// `side_a` and `side_b` have more lines.
fn dual((a, b): (&Value, &Value), agent: &str, side_a: &str, side_b: &str) -> TempDir {
    let folder = folder(a, "", &["echo"]);
    let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).expect("a file");
    write(
        "agents/helper.toml",
        &format!(
            "type = \"dual_ai\"\n{agent}\n[sideA]\nprompt = \"helper\"\n{side_a}\n[sideB]\nprompt = \"critic\"\n{side_b}\n"
        ),
    );
    write("prompts/critic.toml", "prompt = \"Judge.\"\nmodel = \"critic\"\ntools = [\"echo\"]\n");
    write("models/critic.toml", "provider = \"script\"\nmodel = \"scripts/critic.json\"\n");
    write("scripts/critic.json", &json!({ "answers": b }).to_string());
    folder
}

async fn story(folder: TempDir) -> Story {
    let count = Arc::new(AtomicUsize::new(0));
    Story::new(folder, |it: Builder| it.tool("echo", echo(&count))).await
}

/// Answers that never end.
fn endless(name: &str) -> Value {
    (0..20).map(|at| json!({ "text": format!("{name}{at}") })).collect()
}

#[test]
fn two_sides_talk_until_a_tool_of_one_stops_the_session() {
    run(|| async {
        let a = json!([{ "text": "draft" }, { "calls": [call("echo", "look")] }, { "text": "better, by {{user}}" }]);
        let b = json!([{ "text": "shorten {{user}}" }, { "calls": [call("echo", "fine")] }]);
        let stop = "sessionStop = { name = \"echo\", messageProperty = \"say\" }";
        let story = story(dual((&a, &b), "", "", stop)).await;
        story.say("go").await;
        let ended = story.ended().await;
        let shown = story.shown().await;
        assert_eq!((ended.status, ended.reason.as_deref()), (RunStatus::Completed, Some("session_stop")), "{shown}");
        assert_eq!(
            shown,
            "user go | assistant draft | user shorten draft | assistant calls echo | tool look | assistant better, by \
             shorten draft | user calls echo | tool fine | assistant fine"
        );
        let page = story.engine.messages(story.thread, Page::first()).await.expect("messages").items;
        let sides: Vec<Option<String>> = page
            .iter()
            .map(|message| message.body().expect("a body"))
            .filter(|body| body.role == Role::User)
            .map(|body| body.metadata.and_then(|it| it.to_value()["side"].as_str().map(str::to_owned)))
            .collect();
        assert_eq!(sides, [None, Some("b".to_owned()), Some("b".to_owned())]);
        let told = story.engine.call(At::none(), GetRun { run: ended.id }).await.expect("a run");
        let spoke: Vec<_> = told.steps.iter().filter_map(|step| step.model.as_ref()?.side.clone()).collect();
        assert_eq!(spoke, ["a", "b", "a", "a", "b"]);
        let sides = ended.sides.expect("sides");
        // The last words of the session are a step that no model was asked for.
        assert_eq!((ended.step_count, sides.steps_a, sides.steps_b), (6, 3, 2));
        story.stop().await;
    });
}

#[test]
fn a_session_of_two_sides_ends_after_its_turns_or_the_steps_of_a_side() {
    for (agent, side_b, reason, steps) in [
        ("maxSessionTurns = 3", "", "max_session_turns", 3),
        ("", "maxSteps = 2", "max_steps", 5),
        ("maxSessionTurns = 9", "maxSteps = 1", "max_steps", 3),
    ] {
        run(|| async {
            let story = story(dual((&endless("a"), &endless("b")), agent, "", side_b)).await;
            story.say("go").await;
            let ended = story.ended().await;
            let shown = story.shown().await;
            assert_eq!((ended.reason.as_deref(), ended.step_count), (Some(reason), steps), "{shown}");
            assert!(shown.starts_with("user go | assistant a0 | user b0 | assistant a1"), "{shown}");
            story.stop().await;
        });
    }
}

#[test]
fn a_stop_tool_gives_the_turn_to_the_other_side_with_its_words() {
    for (property, expected) in [
        ("stopToolResponseProperty = \"say\"", "tool over to you | assistant over to you | user heard over to you"),
        ("", "tool over to you | user heard go"),
    ] {
        run(|| async {
            let a = json!([{ "calls": [call("echo", "over to you")] }]);
            let b = json!([{ "text": "heard {{user}}" }]);
            let side = format!("stopTool = \"echo\"\n{property}");
            let story = story(dual((&a, &b), "maxSessionTurns = 2", &side, "")).await;
            story.say("go").await;
            let ended = story.ended().await;
            let shown = story.shown().await;
            assert!(shown.contains(expected), "{shown}");
            assert_eq!(ended.reason.as_deref(), Some("max_session_turns"), "{shown}");
            story.stop().await;
        });
    }
}

#[test]
fn a_message_may_be_addressed_to_the_second_side() {
    run(|| async {
        let story = story(dual((&endless("a"), &endless("b")), "maxSessionTurns = 2", "", "")).await;
        let to_b = Json::parse("metadata", r#"{"turn":"b"}"#).expect("JSON");
        story.engine.queue(story.thread, MessageBody::user("go").metadata(to_b)).await.expect("queued");
        story.ended().await;
        assert_eq!(story.shown().await, "user go | user b0 | assistant a0");
        story.stop().await;
    });
}

/// A tool that waits until it is let go, and says when it began.
fn holds(began: &Arc<Notify>, go: &Arc<Notify>) -> RustTool {
    let (began, go) = (Arc::clone(began), Arc::clone(go));
    RustTool::new(Declared::new("Waits", Map::new()), move |_: State, _: Map<String, Value>| {
        let (began, go) = (Arc::clone(&began), Arc::clone(&go));
        async move {
            began.notify_one();
            go.notified().await;
            ToolResult::success("held")
        }
    })
}

#[test]
fn a_side_that_is_given_the_turn_speaks_next_and_the_run_says_whose_turn_it_is() {
    run(|| async {
        let a = json!([{ "text": "a0" }, { "calls": [call("echo", "")] }, { "text": "a2" }]);
        let folder = dual((&a, &endless("b")), "maxSessionTurns = 4", "", "");
        let (began, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let story = Story::new(folder, |it: Builder| it.tool("echo", holds(&began, &go))).await;
        assert_eq!(story.engine.call(story.thread, GetExecution {}).await.expect("a look"), None, "at rest");
        story.say("go").await;
        began.notified().await;
        let run = story.runs().await.remove(0).id;
        let now = || async { story.engine.call(story.thread, GetExecution {}).await.expect("a look").expect("a run") };
        let shown = now().await;
        assert_eq!((shown.flow_id, shown.current_side, shown.stopped), (run, RunSide::A, false));
        assert_eq!((shown.step_count, shown.side_a_step_count, shown.side_b_step_count), (3, 2, 1));
        assert_eq!((shown.prompt_path, shown.forced_side), (vec!["helper".to_owned()], None));
        let asked = story.engine.call(At::none(), ForceTurn { run, side: RunSide::B }).await.expect("a request");
        assert_eq!(asked.sides.and_then(|sides| sides.asked), Some(RunSide::B));
        assert_eq!(now().await.forced_side, Some(RunSide::B));
        go.notify_one();
        let ended = story.ended().await;
        // Without the request, the side that called the tool would have gone on.
        assert_eq!(
            story.shown().await,
            "user go | assistant a0 | user b0 | assistant calls echo | tool held | user b1 | assistant a2"
        );
        let sides = ended.sides.expect("sides");
        assert_eq!((sides.steps_a, sides.steps_b, sides.asked, sides.forced), (3, 2, None, false));
        let over = story.engine.call(At::none(), ForceTurn { run, side: RunSide::A }).await.expect_err("it is over");
        assert_eq!(over.code(), "run_over");
        story.stop().await;
    });
}

#[test]
fn an_agent_with_one_side_takes_no_turns() {
    run(|| async {
        let (began, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let answers = json!([{ "calls": [call("echo", "")] }, { "text": "done" }]);
        let with = |it: Builder| it.tool("echo", holds(&began, &go));
        let story = Story::new(folder(&answers, "", &["echo"]), with).await;
        story.say("go").await;
        began.notified().await;
        let run = story.runs().await.remove(0).id;
        let refused = story.engine.call(At::none(), ForceTurn { run, side: RunSide::B }).await.expect_err("one side");
        assert_eq!(refused.code(), "run_has_one_side");
        let shown = story.engine.call(story.thread, GetExecution {}).await.expect("a look").expect("a run");
        assert_eq!((shown.current_side, shown.side_a_step_count, shown.side_b_step_count), (RunSide::A, 1, 0));
        go.notify_one();
        story.ended().await;
        story.stop().await;
    });
}

#[test]
fn the_second_side_of_a_subagent_receives_messages() {
    run(|| async {
        let call = json!({ "calls": [{ "name": "panel", "arguments": { "message": "judge this" } }] });
        let folder = dual((&endless("a"), &endless("b")), "maxSessionTurns = 1", "", "");
        let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).expect("a file");
        std::fs::rename(folder.path().join("agents/helper.toml"), folder.path().join("agents/panel.toml"))
            .expect("a move");
        write("agents/helper.toml", "[sideA]\nprompt = \"lead\"\n");
        let used = "{ name = \"panel\", resumable = { receives_messages = \"side_b\" } }";
        write("prompts/lead.toml", &format!("prompt = \"Lead.\"\nmodel = \"lead\"\ntools = [{used}]\n"));
        write("models/lead.toml", "provider = \"script\"\nmodel = \"scripts/lead.json\"\n");
        write("scripts/lead.json", &json!({ "answers": [call, { "text": "end" }] }).to_string());
        let story = story(folder).await;
        story.say("go").await;
        story.ended().await;
        let child = story.engine.children(story.thread).await.expect("children").remove(0).reference;
        let page = story.engine.messages(child, Page::first()).await.expect("messages").items;
        let said: Vec<String> =
            page.iter().map(|it| it.body().expect("a body").content.to_text().into_owned()).collect();
        assert_eq!(said, ["judge this", "b0"]);
        assert!(story.shown().await.contains("tool b0 | assistant end"), "{}", story.shown().await);
        story.stop().await;
    });
}

#[test]
fn what_a_person_says_meanwhile_is_heard_by_the_side_that_speaks_next() {
    run(|| async {
        let a = json!([{ "text": "one two three four", "pauseMs": 150 }, { "text": "a" }]);
        let b = json!([{ "text": "heard {{user}}" }]);
        let story = story(dual((&a, &b), "maxSessionTurns = 2", "", "")).await;
        story.say("go").await;
        story.until("run_started", 1).await;
        story.say("hurry").await;
        story.ended().await;
        let shown = story.shown().await;
        assert!(shown.starts_with("user go | assistant one two three four | user hurry | user heard hurry"), "{shown}");
        story.stop().await;
    });
}
