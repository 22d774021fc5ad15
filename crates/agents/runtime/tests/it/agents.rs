//! Agents at work: a model that plays a script, tools of the program, and everything that can come in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use threadkeep_calls::{
    Approve, At, Create, Deny, Inject, ListApprovals, ListThreadRuns, QueueTool, Run, StartRun, StopRun,
};
use threadkeep_engine::{Engine, NewFile, Page};
use threadkeep_model::{Json, MessageBody, Part, Position, RunStatus, ThreadId, Wait};
use threadkeep_runtime::tools::{Declared, RustTool, State, ToolResult};
use threadkeep_runtime::{Background, Builder, Runtime};

use crate::support::engine;

const DEADLINE: Duration = Duration::from_secs(40);

/// Runs a case on a thread with the stack of a server's.
pub(crate) fn run<F: Future<Output = ()>>(case: impl FnOnce() -> F + Send) {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async { tokio::time::timeout(DEADLINE, Box::pin(case())).await.expect("in time") });
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(8 << 20).spawn_scoped(scope, work).expect("a thread");
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// A folder with the agent `helper`, whose model plays `answers`. `side` has more lines for its side, `tools` its tools.
pub(crate) fn folder(answers: &Value, side: &str, tools: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("agents/helper.toml", &format!("[sideA]\nprompt = \"helper\"\n{side}\n"));
    write(
        "prompts/helper.toml",
        &format!("prompt = \"Help.\"\nmodel = \"play\"\nparallelToolCalls = true\ntools = {tools:?}\n"),
    );
    write(
        "models/play.toml",
        "provider = \"script\"\nmodel = \"scripts/play.json\"\n[prices]\ninput = 1.0\noutput = 2.0\n",
    );
    write("scripts/play.json", &json!({ "answers": answers }).to_string());
    folder
}

/// A tool that counts its calls, and gives its argument back.
pub(crate) fn echo(count: &Arc<AtomicUsize>) -> RustTool {
    let count = Arc::clone(count);
    RustTool::new(Declared::new("Says it again", Map::new()), move |_: State, args: Map<String, Value>| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(ToolResult::success(args.get("say").cloned().unwrap_or_default()))
    })
}

pub(crate) struct Story {
    pub(crate) engine: Engine,
    pub(crate) thread: ThreadId,
    _folder: TempDir,
    background: Option<Background>,
}

impl Story {
    pub(crate) async fn new(folder: TempDir, with: impl FnOnce(Builder) -> Builder) -> Self {
        Self::on(folder, Create::titled("T"), with).await
    }

    /// One on a thread that is made in another way.
    pub(crate) async fn on(folder: TempDir, create: Create, with: impl FnOnce(Builder) -> Builder) -> Self {
        let built = with(Runtime::builder(engine()).definitions(folder.path())).build();
        let engine = built.engine().clone();
        let create = create.field("agentId", Json::string("helper"));
        let thread = engine.create(create).await.expect("a thread").id;
        Self { engine, thread, _folder: folder, background: Some(built.start()) }
    }

    pub(crate) async fn say(&self, text: &str) {
        self.engine.queue(self.thread, MessageBody::user(text)).await.expect("queued");
    }

    pub(crate) async fn runs(&self) -> Vec<Run> {
        self.engine.call(self.thread, ListThreadRuns::default()).await.expect("runs").items
    }

    /// Waits until the thread has so many entries of this kind.
    pub(crate) async fn until(&self, kind: &str, count: usize) {
        let mut log = self.engine.subscribe(self.thread, Position(0)).await.expect("a subscription");
        let mut left = count;
        while left > 0 {
            let entry = log.next().await.expect("an entry").expect("a thread");
            left -= usize::from(entry.kind.as_str() == kind);
        }
    }

    /// Waits until the conversation has this message.
    pub(crate) async fn until_shown(&self, message: &str) {
        let mut log = self.engine.subscribe(self.thread, Position(0)).await.expect("a subscription");
        while !self.shown().await.contains(message) {
            log.next().await.expect("an entry").expect("a thread");
        }
    }

    pub(crate) async fn ended(&self) -> Run {
        self.until("run_ended", 1).await;
        self.runs().await.remove(0)
    }

    /// The conversation: `user a | assistant b`.
    pub(crate) async fn shown(&self) -> String {
        let page = self.engine.messages(self.thread, Page::first().include_silent()).await.expect("messages");
        let shown = page.items.iter().map(|message| {
            let body = message.body().expect("a body");
            let parts = body.content.to_parts().into_iter().map(|part| match part {
                Part::Text { text } => text,
                Part::ToolUse { name, .. } => format!("calls {name}"),
                Part::ToolResult { content, is_error, .. } => {
                    format!("{}{}", if is_error { "error " } else { "" }, content.as_str().unwrap_or_default())
                }
                Part::Thinking { .. } | Part::Image { .. } | Part::File { .. } => "other".to_owned(),
            });
            format!("{} {}", body.role, parts.collect::<Vec<_>>().join(", "))
        });
        shown.collect::<Vec<_>>().join(" | ")
    }

    pub(crate) async fn stop(mut self) {
        if let Some(background) = self.background.take() {
            background.stop().await;
        }
    }
}

pub(crate) fn call(name: &str, say: &str) -> Value {
    json!({ "name": name, "arguments": { "say": say } })
}

#[test]
fn a_turn_with_two_tools_ends_with_the_answer() {
    run(|| async {
        let answers = json!([
            { "calls": [call("echo", "one"), call("echo", "two")], "usage": { "input": 10, "output": 5 } },
            { "text": "It said {{result}}.", "usage": { "input": 20, "output": 5 } },
        ]);
        let count = Arc::new(AtomicUsize::new(0));
        let story = Story::new(folder(&answers, "", &["echo"]), |it| it.tool("echo", echo(&count))).await;
        story.say("go").await;
        let run = story.ended().await;
        assert_eq!((run.status, run.reason.as_deref()), (RunStatus::Completed, Some("stop_on_response")));
        let shown = "user go | assistant calls echo, calls echo | tool one | tool two | assistant It said two.";
        assert_eq!(story.shown().await, shown);
        assert_eq!((run.step_count, count.load(Ordering::SeqCst)), (2, 2));
        assert_eq!((run.usage.input_tokens, run.usage.output_tokens, run.usage.cost_micros), (30, 10, 50));
        story.stop().await;
    });
}

#[test]
fn an_append_starts_nothing_and_a_message_queued_meanwhile_joins_the_run() {
    run(|| async {
        let answers = json!([
            { "text": "first", "pauseMs": 300 },
            { "text": "second" },
        ]);
        let story = Story::new(folder(&answers, "", &[]), |it| it).await;
        story.engine.append(story.thread, MessageBody::user("only said")).await.expect("appended");
        story.say("go").await;
        story.until("run_started", 1).await;
        assert_eq!(story.runs().await.len(), 1);
        story.say("and more").await;
        let run = story.ended().await;
        assert_eq!((run.step_count, run.status), (2, RunStatus::Completed));
        let shown = "user only said | user go | assistant first | user and more | assistant second";
        assert_eq!(story.shown().await, shown);
        story.stop().await;
    });
}

#[test]
fn a_stop_keeps_the_text_that_was_shown() {
    run(|| async {
        let answers = json!([{ "text": "one two three four five six seven eight nine ten", "pauseMs": 400 }]);
        let story = Story::new(folder(&answers, "", &[]), |it| it).await;
        story.say("go").await;
        story.until("run_started", 1).await;
        let run = story.runs().await.remove(0).id;
        let mut stream = story.engine.run_stream(run, None).await.expect("a stream");
        loop {
            let news = stream.next().await.expect("news").expect("an event");
            if let threadkeep_calls::RunEvent::Assistant { .. } = news.event {
                break;
            }
        }
        story.engine.call(At::none(), StopRun { run, now: false }).await.expect("asked");
        let ended = story.ended().await;
        assert_eq!((ended.status, ended.reason.as_deref()), (RunStatus::Stopped, Some("aborted")));
        let shown = story.shown().await;
        assert!(shown.starts_with("user go | assistant one") && !shown.contains("ten"), "{shown}");
        story.stop().await;
    });
}

#[test]
fn the_tool_that_stops_a_session_may_bring_files() {
    run(|| async {
        let arguments = json!({ "say": "here", "files": ["/plan.txt", { "path": "/none.txt" }] });
        let answers = json!([{ "calls": [{ "name": "echo", "arguments": arguments }] }]);
        let stop = "{ name = \"echo\", messageProperty = \"say\", attachmentsProperty = \"files\" }";
        let count = Arc::new(AtomicUsize::new(0));
        let folder = folder(&answers, &format!("sessionStop = {stop}"), &["echo"]);
        let story = Story::new(folder, |it| it.tool("echo", echo(&count))).await;
        let file = NewFile::new("/plan.txt", &b"go north"[..]).expect("a path");
        story.engine.write_file(story.thread, file).await.expect("a file");
        story.say("go").await;
        assert_eq!(story.ended().await.reason.as_deref(), Some("session_stop"));
        let page = story.engine.messages(story.thread, Page::first().newest_first()).await.expect("messages");
        let last = page.items[0].body().expect("a body");
        assert_eq!((last.content.to_text().as_ref(), last.attachments.len()), ("here", 1));
        assert_eq!(last.attachments[0].name, "plan.txt");
        story.stop().await;
    });
}

#[test]
fn a_call_that_needs_approval_parks_the_run_until_the_answer() {
    for approve in [true, false] {
        run(|| async {
            let answers = json!([{ "calls": [call("send", "hello")] }, { "text": "{{result}}" }]);
            let count = Arc::new(AtomicUsize::new(0));
            let mut send = echo(&count);
            send.declared.needs = vec!["deploy".parse().expect("a capability")];
            let story = Story::new(folder(&answers, "", &["send"]), |it| it.tool("send", send)).await;
            story.say("go").await;
            story.until("run_stepped", 2).await;
            let waiting = story.runs().await.remove(0);
            assert_eq!((waiting.status, count.load(Ordering::SeqCst)), (RunStatus::Waiting, 0));
            assert!(matches!(waiting.waits[..], [Wait::Approval { .. }]), "{:?}", waiting.waits);
            let asked =
                story.engine.call(At::none(), ListApprovals::default()).await.expect("approvals").items.remove(0);
            assert_eq!(asked.call.expect("a call").args.as_str(), r#"{"say":"hello"}"#);
            if approve {
                story.engine.call(At::none(), Approve { approval: asked.id, reason: None }).await.expect("approved");
            } else {
                let reason = Some("not today".into());
                story.engine.call(At::none(), Deny { approval: asked.id, reason }).await.expect("denied");
            }
            let ended = story.ended().await;
            assert_eq!(ended.status, RunStatus::Completed);
            assert_eq!(count.load(Ordering::SeqCst), usize::from(approve));
            let shown = story.shown().await;
            let expected = if approve { "tool hello | assistant hello" } else { "denied it: not today" };
            assert!(shown.contains(expected), "{shown}");
            story.stop().await;
        });
    }
}

#[test]
fn what_is_injected_reaches_the_model_and_a_queued_tool_runs_before_it_is_asked() {
    run(|| async {
        let answers = json!([{ "text": "seen {{result}}" }]);
        let count = Arc::new(AtomicUsize::new(0));
        let story = Story::new(folder(&answers, "", &["echo"]), |it| it.tool("echo", echo(&count))).await;
        let queue =
            QueueTool { tool: "echo".into(), args: Some(Json::parse("args", r#"{"say":"queued"}"#).expect("JSON")) };
        story.engine.call(story.thread, queue).await.expect("queued");
        let ended = story.ended().await;
        assert_eq!(ended.status, RunStatus::Completed);
        assert_eq!(story.shown().await, "assistant calls echo | tool queued | assistant seen queued");
        story.stop().await;
    });
}

#[test]
fn a_run_is_started_by_a_call_and_an_unknown_tool_is_an_error_for_the_model() {
    run(|| async {
        let answers = json!([{ "calls": [call("missing", "x")] }, { "text": "{{result}}" }]);
        let story = Story::new(folder(&answers, "", &[]), |it| it).await;
        let start = StartRun { message: Some(MessageBody::user("go").into()), ..StartRun::default() };
        let started = story.engine.start_run(story.thread, start).await.expect("a run").run;
        assert_eq!(started.status, RunStatus::Queued);
        let ended = story.ended().await;
        assert_eq!((ended.id, ended.status), (started.id, RunStatus::Completed));
        assert!(story.shown().await.contains("error there is no tool 'missing'"), "{}", story.shown().await);
        story.stop().await;
    });
}

#[test]
fn an_agent_that_is_not_defined_here_is_left_to_its_executor() {
    run(|| async {
        let story = Story::new(folder(&json!([{ "text": "a" }]), "", &[]), |it| it).await;
        let create = Create::titled("T").field("agentId", Json::string("elsewhere"));
        let other = story.engine.create(create).await.expect("a thread").id;
        story.engine.queue(other, MessageBody::user("go")).await.expect("queued");
        story.say("go").await;
        story.ended().await;
        assert_eq!(story.engine.queued(other).await.expect("a queue").len(), 1);
        story.stop().await;
    });
}

#[test]
fn another_process_goes_on_where_the_first_one_died() {
    run(|| async {
        // The first call of the first process never ends, as if it was killed in it.
        let answers = json!([
            { "calls": [call("quick", "one"), call("slow", "two")] },
            { "text": "after {{result}}" },
        ]);
        let folder = folder(&answers, "", &["quick", "slow"]);
        let count = Arc::new(AtomicUsize::new(0));
        let slow = RustTool::new(Declared::new("Never ends", Map::new()), |_: State, _| std::future::pending());
        let first = Runtime::builder(engine()).definitions(folder.path());
        let first = first.tool("quick", echo(&count)).tool("slow", slow.clone()).build();
        let engine = first.engine().clone();
        let create = Create::titled("T").field("agentId", Json::string("helper"));
        let thread = engine.create(create).await.expect("a thread").id;
        let second = Runtime::builder(engine.with_live(threadkeep_engine::LiveSettings::default()));
        let second = second.definitions(folder.path()).tool("quick", echo(&count)).tool("slow", slow).build();
        let dying = first.start();
        let mut story = Story { engine, thread, _folder: folder, background: None };
        story.say("go").await;
        // A call that began is an event.
        story.until("event_logged", 2).await;
        drop(dying);
        story.background = Some(second.start());
        let ended = story.ended().await;
        assert_eq!((ended.status, ended.attempt), (RunStatus::Completed, 2));
        assert_eq!(count.load(Ordering::SeqCst), 1, "what was answered is not asked again");
        let shown = story.shown().await;
        assert!(shown.contains("tool one | tool error The call broke off"), "{shown}");
        assert!(shown.ends_with("was not made again."), "{shown}");
        story.stop().await;
    });
}

#[test]
fn a_rollback_during_a_run_ends_it() {
    run(|| async {
        let answers = json!([{ "text": "one two three four five six", "pauseMs": 500 }]);
        let story = Story::new(folder(&answers, "", &[]), |it| it).await;
        story.engine.append(story.thread, MessageBody::user("before")).await.expect("appended");
        let version = story.engine.thread(story.thread).await.expect("a thread").head.version;
        story.say("go").await;
        story.until("run_started", 1).await;
        story.engine.rollback(story.thread, threadkeep_calls::RollbackTo::Version(version)).await.expect("rolled back");
        let ended = story.runs().await.remove(0);
        assert_eq!((ended.status, ended.reason.as_deref()), (RunStatus::Stopped, Some("rolled_back")));
        assert_eq!(story.shown().await, "user before");
        story.stop().await;
    });
}

#[test]
fn an_injection_that_is_immediate_has_the_model_asked_again() {
    run(|| async {
        let answers = json!([{ "text": "a b c d e f g h i j k l m n o p q r s t u v w x y z", "pauseMs": 60 }]);
        let story = Story::new(folder(&answers, "", &[]), |it| it).await;
        story.say("go").await;
        story.until("run_started", 1).await;
        let inject: Inject = serde_json::from_value(json!({
            "type": "constraint", "content": "Be brief.", "urgency": "immediate",
        }))
        .expect("an injection");
        story.engine.call(story.thread, inject).await.expect("injected");
        story.until("injection_taken", 1).await;
        let ended = story.ended().await;
        assert_eq!((ended.status, ended.step_count), (RunStatus::Completed, 1));
        story.stop().await;
    });
}

/// Adds the agent `clerk`, whose model plays `answers`, and lists it among the tools of `helper` as `used`.
pub(crate) fn with_clerk(folder: &TempDir, answers: &Value, used: &str) {
    let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).expect("a file");
    write("agents/clerk.toml", "toolDescription = \"Files things\"\n[sideA]\nprompt = \"clerk\"\n");
    write("prompts/clerk.toml", "prompt = \"File.\"\nmodel = \"clerk\"\n");
    write("models/clerk.toml", "provider = \"script\"\nmodel = \"scripts/clerk.json\"\n");
    write("scripts/clerk.json", &json!({ "answers": answers }).to_string());
    write("prompts/helper.toml", &format!("prompt = \"Help.\"\nmodel = \"play\"\ntools = [{used}]\n"));
}

pub(crate) fn ask_clerk() -> Value {
    json!({ "calls": [{ "name": "clerk", "arguments": { "message": "file this" } }] })
}

#[test]
fn a_subagent_that_blocks_parks_its_caller_until_its_answer() {
    for (answers, expected) in [
        (json!([{ "text": "filed: {{user}}" }]), "assistant It says filed: file this."),
        (json!([{ "fails": 400 }]), "tool error the subagent did not complete (step_error)"),
    ] {
        run(|| async {
            let folder = folder(&json!([ask_clerk(), { "text": "It says {{result}}." }]), "", &[]);
            with_clerk(&folder, &answers, "{ name = \"clerk\", blocking = true }");
            let story = Story::new(folder, |it| it).await;
            story.say("go").await;
            let ended = story.ended().await;
            assert_eq!((ended.status, ended.attempt), (RunStatus::Completed, 2), "it was parked once");
            let shown = story.shown().await;
            assert!(shown.contains(expected), "{shown}");
            let children = story.engine.children(story.thread).await.expect("children");
            assert_eq!((children.len(), children[0].status.as_str()), (1, "terminated"), "it does not stay");
            story.stop().await;
        });
    }
}

#[test]
fn a_subagent_that_does_not_block_reports_when_it_is_done() {
    run(|| async {
        let answers = json!([ask_clerk(), { "text": "started" }, { "text": "heard" }]);
        let folder = folder(&answers, "", &[]);
        with_clerk(&folder, &json!([{ "text": "filed", "pauseMs": 400 }]), "{ name = \"clerk\", blocking = false }");
        let story = Story::new(folder, |it| it).await;
        story.say("go").await;
        story.until("message_delivered", 2).await;
        story.until("run_ended", 1).await;
        let shown = async {
            loop {
                let shown = story.shown().await;
                if shown.ends_with("assistant heard") {
                    break shown;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let shown = shown.await;
        assert!(shown.contains("\"status\":\"running\""), "{shown}");
        assert!(shown.contains("user filed | assistant heard"), "{shown}");
        story.stop().await;
    });
}

#[test]
fn a_subagent_that_stays_takes_messages() {
    run(|| async {
        let answers = json!([
            ask_clerk(),
            { "text": "first {{result}}" },
        ]);
        let folder = folder(&answers, "", &[]);
        let used = "{ name = \"clerk\", resumable = true }";
        with_clerk(&folder, &json!([{ "text": "filed" }, { "text": "filed again" }]), used);
        let story = Story::new(folder, |it| it).await;
        story.say("go").await;
        story.ended().await;
        let child = story.engine.children(story.thread).await.expect("children").remove(0);
        assert_ne!(child.status, "terminated");
        let path = story._folder.path().join("scripts/play.json");
        let call = json!({ "name": "subagent_message",
            "arguments": { "referenceId": child.reference, "message": "once more" } });
        let more = json!({ "answers": [{}, {}, { "calls": [call] }, { "text": "then {{result}}" }] });
        std::fs::write(path, more.to_string()).expect("a file");
        story.say("again").await;
        story.until("run_ended", 2).await;
        let shown = story.shown().await;
        assert!(shown.ends_with("tool filed again | assistant then filed again"), "{shown}");
        story.stop().await;
    });
}

#[test]
fn a_tool_of_a_subagent_tells_the_status_of_its_session() {
    run(|| async {
        let folder = folder(&json!([ask_clerk(), { "text": "done" }]), "", &[]);
        let answers = json!([{ "calls": [call("echo", "half way")] }, { "text": "filed" }]);
        with_clerk(&folder, &answers, "{ name = \"clerk\", resumable = true }");
        let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).expect("a file");
        let status = "sessionStatus = { name = \"echo\", messageProperty = \"say\" }\n";
        write("agents/clerk.toml", &format!("[sideA]\nprompt = \"clerk\"\n{status}"));
        write("prompts/clerk.toml", "prompt = \"File.\"\nmodel = \"clerk\"\ntools = [\"echo\"]\n");
        let count = Arc::new(AtomicUsize::new(0));
        let story = Story::new(folder, |it| it.tool("echo", echo(&count))).await;
        story.say("go").await;
        story.ended().await;
        let children = story.engine.children(story.thread).await.expect("children");
        assert_eq!(children[0].status, "half way", "{}", story.shown().await);
        story.stop().await;
    });
}

#[test]
fn an_agent_that_is_called_by_its_name_gets_the_thread() {
    run(|| async {
        let folder = folder(&json!([ask_clerk()]), "", &[]);
        // The script of the clerk goes on at the place of the conversation.
        with_clerk(&folder, &json!([{}, { "text": "I am the clerk." }]), "\"clerk\"");
        let story = Story::new(folder, |it| it).await;
        story.say("go").await;
        let ended = story.ended().await;
        assert_eq!(ended.status, RunStatus::Completed);
        let shown = story.shown().await;
        assert!(shown.ends_with("tool The agent clerk goes on. | assistant I am the clerk."), "{shown}");
        let record = story.engine.thread(story.thread).await.expect("a thread").record;
        assert_eq!(record.agent_id.as_deref(), Some("clerk"));
        story.stop().await;
    });
}
