//! Every reason that the page about agents lists has a story here, which ends a run for it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use serde_json::{Map, Value, json};
use threadkeep_calls::{At, ChangeLifecycle, QueueTool, RollbackTo, StartRun, StopRun, Terminate};
use threadkeep_model::{Executor, LifecycleAction, Position, RunStatus};
use threadkeep_runtime::Builder;
use threadkeep_runtime::tools::{Declared, RustTool, State, ToolResult};

use crate::agents::{Story, echo, folder, run};

const PAGE: &str = include_str!("../../../../../docs/agents.md");
/// Stories of hooks run with the real program, whose workers carry out their code.
const STORIES_OF_HOOKS: &str = include_str!("../../../../surfaces/cli/tests/it/agents_run/hooks.rs");

/// The reasons and statuses that the page lists.
fn listed() -> Vec<(String, String)> {
    let section = PAGE.split("## What ends a run").nth(1).expect("the section").split("\n## ").next().expect("a part");
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let reason = cells.first()?.strip_prefix('`')?.strip_suffix('`')?;
        Some((reason.to_owned(), (*cells.last()?).to_owned()))
    };
    section.lines().filter(|line| line.starts_with("| `")).map(|line| row(line).expect("a row")).collect()
}

/// How a story makes a run end.
enum Ends {
    /// By itself: the answers of the model, lines of the agent and of its side, and the end of the conversation.
    Alone(Value, &'static str, &'static str, &'static str),
    /// By something that happens while the model answers slowly.
    By(Happens),
    /// With tools that were queued on a thread without an agent.
    Tools,
    /// In a story with the real program.
    InStory(&'static str),
}

#[derive(Clone, Copy)]
enum Happens {
    Stop,
    Rollback,
    Suspend,
    Cancel,
    Terminate,
    TakeOver,
}

fn story_of(reason: &str) -> Option<Ends> {
    let calls = |name: &str| json!({ "calls": [{ "name": name, "arguments": { "say": "bye" } }] });
    let endless = |name: &str| (0..20).map(|_| calls(name)).collect::<Value>();
    Some(match reason {
        "session_fail" => {
            let side = "sessionFail = { name = \"echo\", messageProperty = \"say\" }";
            Ends::Alone(json!([calls("echo")]), "", side, "info bye")
        }
        "session_stop" => Ends::Alone(json!([calls("echo")]), "", "sessionStop = { name = \"echo\" }", "tool bye"),
        "stop_tool" => {
            let side = "stopTool = \"echo\"\nstopToolResponseProperty = \"say\"";
            Ends::Alone(json!([calls("echo")]), "", side, "assistant bye")
        }
        "stop_on_response" => Ends::Alone(json!([{ "text": "done" }]), "", "", "assistant done"),
        "max_steps" => Ends::Alone(endless("echo"), "", "maxSteps = 3", "| assistant calls echo | tool bye"),
        "max_session_turns" => {
            let talks: Value = (0..5).map(|at| json!({ "text": format!("turn {at}") })).collect();
            Ends::Alone(talks, "maxSessionTurns = 2", "stopOnResponse = false", "assistant turn 0 | assistant turn 1")
        }
        "repeated_tool_error" => {
            Ends::Alone(endless("failing"), "", "", "8 times in a row with the same error: no luck")
        }
        "step_error" => Ends::Alone(json!([{ "fails": 400 }]), "", "", ""),
        "hook_blocked" => Ends::InStory(STORIES_OF_HOOKS),
        "aborted" => Ends::By(Happens::Stop),
        "rolled_back" => Ends::By(Happens::Rollback),
        "suspended" => Ends::By(Happens::Suspend),
        "thread_closed" => Ends::By(Happens::Cancel),
        "terminated" => Ends::By(Happens::Terminate),
        "taken_over" => Ends::By(Happens::TakeOver),
        "tools_done" => Ends::Tools,
        _ => return None,
    })
}

async fn told(answers: &Value, agent: &str, side: &str) -> Story {
    let folder = folder(answers, side, &["echo", "failing"]);
    let path = folder.path().join("agents/helper.toml");
    let said = std::fs::read_to_string(&path).expect("a file");
    std::fs::write(path, format!("{agent}\n{said}")).expect("a file");
    let count = Arc::new(AtomicUsize::new(0));
    let failing = RustTool::new(Declared::new("Fails", Map::new()), |_: State, _| {
        std::future::ready(ToolResult::failure("no luck"))
    });
    Story::new(folder, |it: Builder| it.tool("echo", echo(&count)).tool("failing", failing)).await
}

async fn happens(story: &Story, what: Happens) {
    let (engine, thread) = (&story.engine, story.thread);
    let change = |action| ChangeLifecycle { action, reason: None };
    match what {
        Happens::Stop => {
            let run = story.runs().await.remove(0).id;
            engine.call(At::none(), StopRun { run, now: false }).await.map(drop)
        }
        Happens::Rollback => engine.rollback(thread, RollbackTo::Version(Position(1))).await.map(drop),
        Happens::Suspend => engine.call(thread, change(LifecycleAction::Suspend)).await.map(drop),
        Happens::Cancel => engine.call(thread, change(LifecycleAction::Cancel)).await.map(drop),
        Happens::Terminate => engine.call(thread, Terminate {}).await.map(drop),
        Happens::TakeOver => {
            let start = StartRun { executor: Executor::Caller, take_over: true, ..StartRun::default() };
            engine.start_run(thread, start).await.map(drop)
        }
    }
    .expect("it happens");
}

#[test]
fn every_reason_that_the_page_lists_ends_a_run() {
    let listed = listed();
    assert!(listed.len() >= 11, "{listed:?}");
    for (reason, status) in listed {
        let ends = story_of(&reason).unwrap_or_else(|| panic!("the reason '{reason}' has no story"));
        run(|| async {
            let slow = json!([{ "text": "one two three four five six seven eight", "pauseMs": 3000 }]);
            let (story, end) = match ends {
                Ends::InStory(stories) => {
                    assert!(stories.contains(&format!("\"{reason}\"")), "{reason} has no story");
                    return;
                }
                Ends::Alone(answers, agent, side, end) => {
                    let story = told(&answers, agent, side).await;
                    story.say("go").await;
                    (story, end)
                }
                Ends::By(what) => {
                    let story = told(&slow, "", "").await;
                    story.say("go").await;
                    story.until("run_started", 1).await;
                    happens(&story, what).await;
                    (story, "")
                }
                Ends::Tools => {
                    let mut story = told(&slow, "", "").await;
                    story.thread =
                        story.engine.create(threadkeep_calls::Create::titled("T")).await.expect("a thread").id;
                    let queue = QueueTool { tool: "echo".into(), args: None };
                    story.engine.call(story.thread, queue).await.expect("queued");
                    (story, "")
                }
            };
            story.until("run_ended", 1).await;
            let runs = story.runs().await;
            let ended = runs.last().expect("a run");
            let (expected, shown) = (status.parse::<RunStatus>().expect("a status"), story.shown().await);
            assert_eq!((ended.reason.as_deref(), ended.status), (Some(reason.as_str()), expected), "{shown}");
            assert!(shown.ends_with(end), "{reason}: {shown}");
            story.stop().await;
        });
    }
}
