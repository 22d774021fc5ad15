//! Subagents: how they begin, what they are given, and what their callers hear when something happens to them.

use serde_json::json;
use tempfile::TempDir;
use threadkeep_calls::{
    At, ChangeLifecycle, Delete, GetVariables, ListThreadRuns, RollbackTo, SetAccountEnv, SetEnv, SupplyVariables,
    Terminate, Truncate, TruncateFrom,
};
use threadkeep_engine::{NewFile, Page};
use threadkeep_model::{EnvType, LifecycleAction, Part, Position, RunStatus, ThreadId};

use crate::agents::{Story, ask_clerk, folder, run, with_clerk};

/// The thread of the only subagent, once its caller waits for it and it works.
async fn working_clerk(story: &Story) -> ThreadId {
    story.until("run_stepped", 2).await;
    let clerk = story.engine.children(story.thread).await.expect("children").remove(0).reference;
    until(story, clerk, "run_started").await;
    clerk
}

/// Waits until a thread has an entry of this kind.
async fn until(story: &Story, thread: ThreadId, kind: &str) {
    let mut log = story.engine.subscribe(thread, Position(0)).await.expect("a subscription");
    while log.next().await.expect("an entry").expect("a thread").kind.as_str() != kind {}
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Interruption {
    Delete,
    Rollback,
    Truncate,
    Suspend,
    Cancel,
    Terminate,
}

#[test]
fn a_caller_that_waits_hears_of_everything_that_interrupts_its_subagent() {
    use Interruption::{Cancel, Delete, Rollback, Suspend, Terminate, Truncate};
    for (interruption, expected) in [
        (Delete, "error the subagent was deleted"),
        (Rollback, "error the subagent did not complete (rolled_back)"),
        (Truncate, "error the subagent did not complete (rolled_back)"),
        (Suspend, "error the subagent did not complete (suspended)"),
        (Cancel, "error the subagent did not complete (thread_closed)"),
        (Terminate, "error the subagent did not complete (terminated)"),
    ] {
        run(|| async {
            let folder = folder(&json!([ask_clerk(), { "text": "heard" }]), "", &[]);
            let slow = json!([{ "text": "one two three four five six seven eight", "pauseMs": 5000 }]);
            with_clerk(&folder, &slow, "{ name = \"clerk\", blocking = true }");
            let story = Story::new(folder, |it| it).await;
            story.say("go").await;
            let clerk = working_clerk(&story).await;
            let before = story.engine.thread(story.thread).await.expect("a thread").head.version;
            interrupt(&story, clerk, interruption).await;
            // The commit that interrupts the subagent also wakes its caller.
            let told = story.engine.history(story.thread, before, 10).await.expect("history");
            assert!(told.iter().any(|entry| entry.kind.as_str() == "run_woken"), "{interruption:?}");
            let ended = story.ended().await;
            let shown = story.shown().await;
            assert_eq!((ended.status, ended.attempt), (RunStatus::Completed, 2), "{interruption:?}: {shown}");
            assert!(shown.contains(expected), "{interruption:?}: {shown}");
            assert!(shown.ends_with("assistant heard"), "{interruption:?}: {shown}");
            story.stop().await;
        });
    }
}

async fn interrupt(story: &Story, clerk: ThreadId, how: Interruption) {
    let engine = &story.engine;
    let change = |action| ChangeLifecycle { action, reason: None };
    match how {
        Interruption::Delete => drop(engine.call(clerk, Delete {}).await.expect("deleted")),
        Interruption::Rollback => drop(engine.rollback(clerk, RollbackTo::Version(Position(1))).await.expect("back")),
        Interruption::Truncate => {
            drop(engine.call(clerk, Truncate { from: TruncateFrom::Index(0) }).await.expect("truncated"));
        }
        Interruption::Suspend => drop(engine.call(clerk, change(LifecycleAction::Suspend)).await.expect("suspended")),
        Interruption::Cancel => drop(engine.call(clerk, change(LifecycleAction::Cancel)).await.expect("cancelled")),
        Interruption::Terminate => drop(engine.call(clerk, Terminate {}).await.expect("terminated")),
    }
}

/// The files that the first message of a thread names.
async fn files_told(story: &Story, thread: ThreadId) -> Vec<String> {
    let page = story.engine.messages(thread, Page::first()).await.expect("messages");
    let parts = page.items[0].body().expect("a body").content.to_parts();
    let path = |part| match part {
        Part::File { path, .. } | Part::Image { path, .. } => Some(path),
        Part::Text { .. } | Part::ToolUse { .. } | Part::ToolResult { .. } | Part::Thinking { .. } => None,
    };
    parts.into_iter().filter_map(path).collect()
}

#[test]
fn a_subagent_gets_the_files_that_its_caller_names() {
    let direct = json!({ "name": "clerk", "arguments": { "message": "file this", "papers": ["/notes.txt"] } });
    let created = json!({ "name": "subagent_create", "arguments": {
        "agent": "clerk", "message": "file this", "name": "Filing", "attachments": ["/notes.txt"],
    } });
    for (call, name) in [(direct, "clerk"), (created, "Filing")] {
        run(|| async {
            let folder = folder(&json!([{ "calls": [call] }, { "text": "It says {{result}}." }]), "", &[]);
            let used = "{ name = \"clerk\", initAttachmentsProperty = \"papers\" }, \"subagent_create\"";
            with_clerk(&folder, &json!([{ "text": "filed: {{user}}" }]), used);
            let story = Story::new(folder, |it| it).await;
            story
                .engine
                .write_file(story.thread, NewFile::new("/notes.txt", "buy milk").expect("a path"))
                .await
                .expect("kept");
            story.say("go").await;
            story.ended().await;
            let shown = story.shown().await;
            // The model of the subagent is told of the file, after the message.
            assert!(shown.contains("It says filed: [file notes.txt]"), "{shown}");
            let child = story.engine.children(story.thread).await.expect("children").remove(0);
            assert_eq!(child.name, name);
            assert_eq!(files_told(&story, child.reference).await, ["/attachments/notes.txt"]);
            let path = "/attachments/notes.txt".parse().expect("a path");
            let content = story.engine.read_file(child.reference, &path, None).await.expect("read").expect("a file");
            assert_eq!(&content[..], b"buy milk");
            story.stop().await;
        });
    }
}

#[test]
fn a_message_to_a_subagent_that_stayed_carries_files() {
    run(|| async {
        let folder = folder(&json!([ask_clerk(), { "text": "first {{result}}" }]), "", &[]);
        let script = folder.path().join("scripts/play.json");
        let clerk = json!([{ "text": "filed" }, { "text": "now {{user}}" }]);
        with_clerk(&folder, &clerk, "{ name = \"clerk\", resumable = true }");
        let story = Story::new(folder, |it| it).await;
        let write = async |path: &str, text: &'static str| {
            let file = NewFile::new(path, text).expect("a path");
            story.engine.write_file(story.thread, file).await.expect("kept");
        };
        write("/notes.txt", "buy milk").await;
        story.say("go").await;
        story.ended().await;
        let child = story.engine.children(story.thread).await.expect("children").remove(0).reference;
        let call = |path: &str| {
            let arguments = json!({ "referenceId": child, "message": "once more", "attachments": [path] });
            json!({ "calls": [{ "name": "subagent_message", "arguments": arguments }] })
        };
        let more = [json!({}), json!({}), call("/missing"), call("/notes.txt"), json!({ "text": "then {{result}}" })];
        std::fs::write(script, json!({ "answers": more }).to_string()).expect("a file");
        story.say("again").await;
        story.until("run_ended", 2).await;
        let shown = story.shown().await;
        assert!(shown.contains("tool error") && shown.contains("/missing"), "{shown}");
        // The model of the subagent is given the file, after the message.
        assert!(shown.contains("tool now [file notes.txt]\nbuy milk"), "{shown}");
        let page = story.engine.messages(child, Page::first()).await.expect("messages");
        let attached: Vec<_> = page.items.iter().flat_map(|it| it.body().expect("a body").attachments).collect();
        let paths: Vec<String> = attached.iter().filter_map(|it| it.path.as_ref()).map(ToString::to_string).collect();
        assert_eq!(paths, ["/attachments/notes.txt"], "{shown}");
        // It is the receiver's own: what becomes of the original does not matter.
        write("/notes.txt", "buy tea").await;
        let path = paths[0].parse().expect("a path");
        let content = story.engine.read_file(child, &path, None).await.expect("read").expect("a file");
        assert_eq!(&content[..], b"buy milk");
        story.stop().await;
    });
}

#[test]
fn subagent_create_refuses_agents_and_files_that_are_not_there() {
    for (arguments, expected) in [
        (json!({ "agent": "cook", "message": "x" }), "error there is no subagent 'cook'; the subagents: clerk"),
        (json!({ "agent": "clerk" }), "error the arguments are wrong: args.message: is missing"),
        (json!({ "agent": "clerk", "message": "x", "attachments": "/a" }), "args.attachments: is no list of paths"),
        (json!({ "agent": "clerk", "message": "x", "attachments": ["/missing"] }), "/missing"),
    ] {
        run(|| async {
            let call = json!({ "name": "subagent_create", "arguments": arguments });
            let folder = folder(&json!([{ "calls": [call] }, { "text": "end" }]), "", &[]);
            with_clerk(&folder, &json!([{ "text": "filed" }]), "{ name = \"clerk\" }, \"subagent_create\"");
            let story = Story::new(folder, |it| it).await;
            story.say("go").await;
            story.ended().await;
            let shown = story.shown().await;
            assert!(shown.contains("tool error") && shown.contains(expected), "{shown}");
            assert!(story.engine.children(story.thread).await.expect("children").is_empty(), "{shown}");
            story.stop().await;
        });
    }
}

#[test]
fn an_immediate_subagent_begins_with_the_first_run_of_its_caller_and_reports() {
    run(|| async {
        let answers = json!([{ "text": "started" }, { "text": "heard" }, { "text": "and again" }]);
        let folder = folder(&answers, "", &[]);
        with_clerk(
            &folder,
            &json!([{ "text": "filed: {{user}}", "pauseMs": 200 }]),
            "{ name = \"clerk\", immediate = true }",
        );
        let story = Story::new(folder, |it| it).await;
        story.say("the year").await;
        // The report starts a run, or joins the first one.
        story.until("message_delivered", 2).await;
        story.until_shown("assistant heard").await;
        let shown = story.shown().await;
        assert!(shown.contains("user filed: the year"), "{shown}");
        story.say("more").await;
        story.until_shown("assistant and again").await;
        let children = story.engine.children(story.thread).await.expect("children");
        assert_eq!(children.len(), 1, "only the first run starts it");
        story.stop().await;
    });
}

#[test]
fn immediate_subagents_that_begin_each_other_end_at_the_deepest_level() {
    run(|| async {
        let folder = folder(&json!([{ "text": "here" }]), "", &[]);
        let text = "prompt = \"Help.\"\nmodel = \"play\"\ntools = [{ name = \"helper\", immediate = true }]\n";
        std::fs::write(folder.path().join("prompts/helper.toml"), text).expect("a file");
        let story = Story::new(folder, |it| it).await;
        story.say("go").await;
        let mut deepest = story.thread;
        for _ in 0..8 {
            until(&story, deepest, "child_changed").await;
            deepest = story.engine.children(deepest).await.expect("children").remove(0).reference;
        }
        until(&story, deepest, "run_ended").await;
        let ended = story.engine.call(deepest, ListThreadRuns::default()).await.expect("runs").items.remove(0);
        assert_eq!(ended.reason.as_deref(), Some("step_error"));
        assert!(story.engine.children(deepest).await.expect("children").is_empty());
        story.stop().await;
    });
}

/// Has the prompt of the clerk require a variable of its own.
fn require_token(folder: &TempDir) {
    let text = "prompt = \"File.\"\nmodel = \"clerk\"\n[[variables]]\nname = \"TOKEN\"\nrequired = true\n\
                scoped = true\ndescription = \"Opens the archive\"\n";
    std::fs::write(folder.path().join("prompts/clerk.toml"), text).expect("a file");
}

fn token() -> SetEnv {
    SetEnv { name: "TOKEN".parse().expect("a name"), value: "open sesame".into(), kind: Some(EnvType::Text) }
}

#[test]
fn a_subagent_that_lacks_a_variable_starts_once_it_is_set() {
    run(|| async {
        let folder = folder(&json!([ask_clerk(), { "text": "later" }, { "text": "heard" }]), "", &[]);
        with_clerk(&folder, &json!([{ "text": "filed" }]), "{ name = \"clerk\", blocking = true }");
        require_token(&folder);
        let story = Story::new(folder, |it| it).await;
        // A scoped variable is not taken from the caller.
        story.engine.call(story.thread, token()).await.expect("set");
        story.say("go").await;
        story.ended().await;
        let shown = story.shown().await;
        let child = story.engine.children(story.thread).await.expect("children").remove(0);
        assert!(shown.contains("error {\"code\":\"subagent_env_required\""), "{shown}");
        assert!(shown.contains(&format!("\"requestId\":\"{}\"", child.reference)), "{shown}");
        assert!(shown.contains("\"name\":\"TOKEN\"") && shown.contains("Opens the archive"), "{shown}");
        assert_eq!(child.status, "subagent_env_required");
        let runs = story.engine.call(child.reference, ListThreadRuns::default()).await.expect("runs").items;
        assert!(runs.is_empty(), "{runs:?}");
        story.engine.call(child.reference, token()).await.expect("set");
        story.until_shown("assistant heard").await;
        let shown = story.shown().await;
        assert!(shown.contains("user filed"), "{shown}");
        story.stop().await;
    });
}

#[test]
fn a_subagent_starts_once_its_variables_are_supplied() {
    run(|| async {
        let folder = folder(&json!([ask_clerk(), { "text": "later" }, { "text": "heard" }]), "", &[]);
        with_clerk(&folder, &json!([{ "text": "filed" }]), "{ name = \"clerk\", blocking = true }");
        require_token(&folder);
        let story = Story::new(folder, |it| it).await;
        story.say("go").await;
        story.ended().await;
        let request = story.engine.children(story.thread).await.expect("children").remove(0).reference;
        let lacks = story.engine.call(story.thread, GetVariables { request }).await.expect("variables");
        let required: Vec<(&str, Option<&str>)> =
            lacks.required.iter().map(|one| (one.name.as_str(), one.description.as_deref())).collect();
        assert_eq!(required, [("TOKEN", Some("Opens the archive"))]);
        assert_eq!(lacks.missing.len(), 1);
        let supply =
            |name: &str| SupplyVariables { request, env: [(name.to_owned(), "open sesame".to_owned())].into() };
        let refused = story.engine.call(story.thread, supply("TOKN")).await.expect_err("a typo");
        assert!(refused.to_string().contains("required: TOKEN"), "{refused}");
        let lacks = story.engine.call(story.thread, supply("TOKEN")).await.expect("supplied");
        assert_eq!((lacks.required.len(), lacks.missing.len()), (1, 0));
        story.until_shown("assistant heard").await;
        let shown = story.shown().await;
        assert!(shown.contains("user filed"), "{shown}");
        assert!(!format!("{:?}", supply("TOKEN")).contains("sesame"), "values are not printed");
        let foreign = GetVariables { request: story.thread };
        let refused = story.engine.call(story.thread, foreign).await.expect_err("no subagent");
        assert_eq!(refused.code(), "thread_not_found");
        story.stop().await;
    });
}

#[test]
fn a_subagent_whose_variable_the_account_has_starts_at_once() {
    run(|| async {
        let folder = folder(&json!([ask_clerk(), { "text": "It says {{result}}." }]), "", &[]);
        with_clerk(&folder, &json!([{ "text": "filed" }]), "{ name = \"clerk\", blocking = true }");
        require_token(&folder);
        let story = Story::new(folder, |it| it).await;
        let SetEnv { name, value, kind } = token();
        story.engine.call(At::none(), SetAccountEnv { name, value, kind }).await.expect("set");
        story.say("go").await;
        story.ended().await;
        let shown = story.shown().await;
        assert!(shown.ends_with("assistant It says filed."), "{shown}");
        story.stop().await;
    });
}
