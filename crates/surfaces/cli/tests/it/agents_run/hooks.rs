//! Hooks, by the real binary: one story for each of the twelve, and what holds for all of them.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::provider::{provider, stream};
use super::{SHOUT, command, files, newest, thread, until};
use crate::serve::Serving;
use crate::support::{DEADLINE, eventually};

/// A hook: the name of its file, its moment, and its function.
pub(super) type Hook<'a> = (&'a str, &'a str, &'a str);

pub(super) fn write(folder: &TempDir, path: &str, text: &str) {
    let path = folder.path().join("definitions").join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// Adds hooks, which the agent `helper` lists.
pub(super) fn hooks(folder: &TempDir, hooks: &[Hook<'_>]) {
    for (name, moment, function) in hooks {
        let text = format!(
            "import {{ defineHook }} from \"threadkeep\";\n\
             export default defineHook({{ hook: \"{moment}\", id: \"{name}\", execute: {function} }});\n"
        );
        write(folder, &format!("hooks/{name}.js"), &text);
    }
    let names: Vec<&str> = hooks.iter().map(|(name, ..)| *name).collect();
    write(folder, "agents/helper.toml", &format!("hooks = {names:?}\n[sideA]\nprompt = \"helper\"\n"));
}

/// A server whose agent has these hooks, and the end of a run that a message began.
pub(super) struct Story {
    pub(super) serving: Serving,
    _folder: TempDir,
    thread: String,
    pub(super) run: Value,
}

impl Story {
    fn new(answers: &Value, tools: &[(&str, &str)], all: &[Hook<'_>]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        files(&folder, answers, tools);
        hooks(&folder, all);
        Self::of(folder)
    }

    pub(super) fn of(folder: TempDir) -> Self {
        let serving = Serving::start(folder.path());
        let thread = thread(&serving);
        let mut story = Self { serving, _folder: folder, thread, run: Value::Null };
        story.say("go");
        story
    }

    fn say(&mut self, text: &str) {
        let before = self.run["id"].clone();
        let path = format!("/v1/threads/{}/queue", self.thread);
        self.serving.ok("POST", &path, &json!({ "role": "user", "content": text }));
        let ended = |run: &Value| run["completedAt"].is_string() && run["id"] != before;
        self.run = until(&self.serving, &self.thread, ended);
    }

    fn get(&self, path: &str) -> Value {
        self.serving.ok("GET", &format!("/v1/threads/{}/{path}", self.thread), &Value::Null)
    }

    /// `user go | assistant calls shout | tool GO`.
    pub(super) fn shown(&self) -> String {
        let messages = self.get("messages?limit=100&includeSilent=true");
        let part = |part: &Value| match part["type"].as_str() {
            Some("tool_use") => format!("calls {}", part["name"].as_str().unwrap_or_default()),
            Some("tool_result") => {
                let failed = if part["isError"] == true { "error " } else { "" };
                format!("{failed}{}", part["content"].as_str().unwrap_or_default())
            }
            _ => part["text"].as_str().unwrap_or_default().to_owned(),
        };
        let line = |said: &Value| {
            let content = match &said["content"] {
                Value::Array(parts) => parts.iter().map(part).collect::<Vec<_>>().join(", "),
                text => text.as_str().unwrap_or_default().to_owned(),
            };
            format!("{} {content}", said["role"].as_str().unwrap_or_default())
        };
        messages["items"].as_array().expect("messages").iter().map(line).collect::<Vec<_>>().join(" | ")
    }

    fn value(&self, key: &str) -> Value {
        self.get(&format!("kv/{key}"))["value"].clone()
    }

    #[track_caller]
    pub(super) fn ended(&self, reason: &str) {
        assert_eq!(self.run["reason"], reason, "{}: {}", self.run, self.shown());
    }
}

fn shouts(text: &str) -> Value {
    json!({ "text": "Wait.", "calls": [{ "name": "shout", "id": "one", "arguments": { "text": text } }] })
}

/// Counts its calls under a key of the thread.
const COUNTS: &str = "async (state, of) => state.setValue(\"count\", ((await state.getValue(\"count\")) ?? 0) + 1)";

#[test]
fn after_thread_created_is_called_before_the_first_run_alone() {
    let mut story =
        Story::new(&json!([{ "text": "a" }, { "text": "b" }]), &[], &[("born", "after_thread_created", COUNTS)]);
    assert_eq!(story.value("count"), 1, "{}", story.run);
    story.say("again");
    assert_eq!(
        (story.value("count"), story.shown()),
        (json!(1), "user go | assistant a | user again | assistant b".into())
    );
}

#[test]
fn after_subagent_created_is_told_of_each_child_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = json!({ "name": "clerk", "arguments": { "message": "file this" } });
    files(&folder, &json!([{ "calls": [call] }, { "text": "{{result}}" }]), &[]);
    let function = "async (state, child) => { const seen = (await state.getValue(\"seen\")) ?? []; \
        await state.setValue(\"seen\", [...seen, child.name, child.reference === state.threadId]); }";
    hooks(&folder, &[("family", "after_subagent_created", function)]);
    write(&folder, "agents/clerk.toml", "[sideA]\nprompt = \"clerk\"\n");
    write(&folder, "prompts/clerk.toml", "prompt = \"File.\"\nmodel = \"clerk\"\n");
    write(&folder, "models/clerk.toml", "provider = \"script\"\nmodel = \"scripts/clerk.json\"\n");
    write(&folder, "scripts/clerk.json", &json!({ "answers": [{ "text": "filed" }] }).to_string());
    let used = "tools = [{ name = \"clerk\", blocking = true }]\n";
    write(&folder, "prompts/helper.toml", &format!("prompt = \"Help.\"\nmodel = \"play\"\n{used}"));
    let story = Story::of(folder);
    story.ended("stop_on_response");
    assert_eq!(story.value("seen"), json!(["clerk", false]), "{}", story.shown());
}

#[test]
fn three_hooks_change_the_request_and_leave_the_thread_as_it_is() {
    let text =
        |text: &str| stream(&[json!({ "choices": [{ "delta": { "content": text }, "finish_reason": "stop" }] })]);
    let (address, asked) = provider(vec![text("first"), text("second")]);
    let folder = tempfile::tempdir().expect("a folder");
    files(&folder, &json!([]), &[]);
    let model = format!("provider = \"openai\"\nmodel = \"m\"\nbaseUrl = \"http://{address}/v1\"\n");
    write(&folder, "models/play.toml", &model);
    hooks(
        &folder,
        &[
            ("clock", "after_system_message", "(state, text) => `${text} It is noon.`"),
            ("short", "filter_messages", "(state, messages) => messages.filter((one) => one.content !== \"go\")"),
            (
                "call",
                "prefilter_llm_history",
                "(state, messages) => [...messages.map((one) => ({ ...one, content: one.content.toUpperCase() })), \
                 { role: \"assistant\", content: null, tool_calls: [{ id: \"c\", type: \"function\", \
                 function: { name: \"now\", arguments: \"{}\" } }] }, { role: \"tool\", tool_call_id: \"c\", content: \"12:00\" }]",
            ),
        ],
    );
    let mut story = Story::of(folder);
    story.say("more");
    let bodies: Vec<Value> = (0..2).map(|_| asked.recv_timeout(DEADLINE).expect("a request").body).collect();
    let sent = bodies[1]["messages"].as_array().expect("messages").clone();
    let said: Vec<String> = sent
        .iter()
        .map(|one| format!("{} {}", one["role"].as_str().unwrap_or_default(), one["content"].as_str().unwrap_or("-")))
        .collect();
    assert_eq!(
        said,
        ["system Help. It is noon.", "assistant FIRST", "user MORE", "assistant -", "tool 12:00"],
        "{sent:?}"
    );
    assert_eq!(story.shown(), "user go | assistant first | user more | assistant second");
}

#[test]
fn before_create_message_changes_what_is_stored() {
    let function = "(state, message) => ({ ...message, content: message.content + \"!\", metadata: { loud: true } })";
    let story = Story::new(&json!([{ "text": "done" }]), &[], &[("loud", "before_create_message", function)]);
    assert_eq!(story.shown(), "user go | assistant done!");
    let messages = story.get("messages");
    assert_eq!(messages["items"][1]["metadata"]["loud"], true, "{messages}");
}

#[test]
fn before_create_message_that_fails_blocks_the_run_and_refuses_an_injection() {
    let function = "(state, message) => { if (message.content?.includes(\"bad\")) throw new Error(\"not that\"); return message; }";
    let guard = ("guard", "before_create_message", function);
    let story = Story::new(&json!([{ "text": "a bad word" }]), &[], &[guard]);
    story.ended("hook_blocked");
    assert_eq!(story.run["status"], "failed");
    assert!(story.shown().starts_with("user go | info The hook guard failed: not that"), "{}", story.shown());
    let inject = "import { defineTool } from \"threadkeep\";\nexport default defineTool({ description: \"Injects\",\n\
        execute: async (state) => { await state.injectMessage({ role: \"assistant\", content: \"good\" });\n\
        return state.injectMessage({ role: \"assistant\", content: \"bad\" }).catch((error) => error.message); } });\n";
    let answers = json!([{ "calls": [{ "name": "inject" }] }, { "text": "end" }]);
    let story = Story::new(&answers, &[("inject.js", inject)], &[guard]);
    story.ended("stop_on_response");
    let shown = story.shown();
    assert!(shown.contains("| assistant good | tool ") && shown.contains("The hook guard failed: not that"), "{shown}");
    assert!(!shown.contains("assistant bad"), "{shown}");
}

#[test]
fn after_create_message_sees_each_answer_and_what_it_queues_is_kept() {
    let function = "async (state, message) => { await state.setValue(message.id, message.content); \
        if (message.content === \"one\") await state.queueMessage({ content: \"and then?\" }); }";
    let answers = json!([{ "text": "one" }, { "text": "two" }]);
    let story = Story::new(&answers, &[], &[("after", "after_create_message", function)]);
    assert_eq!(story.shown(), "user go | assistant one | user and then? | assistant two");
    let messages = story.get("messages");
    let id = messages["items"][1]["id"].as_str().expect("an id");
    assert_eq!(story.value(id), "one");
    let events = story.get("events");
    let notes: Vec<&Value> =
        events["items"].as_array().expect("events").iter().filter(|event| event["data"]["hook"].is_string()).collect();
    assert_eq!(notes.len(), 2, "{events}");
}

#[test]
fn an_update_passes_the_hooks_before_and_after_it() {
    let edit = "import { defineTool } from \"threadkeep\";\nexport default defineTool({ description: \"Edits\",\n\
        execute: async (state) => { const { messages } = await state.getMessages();\n\
        return (await state.updateMessage(messages[0].id, { content: \"went\" })).content; } });\n";
    let answers = json!([{ "calls": [{ "name": "edit" }] }, { "text": "end" }]);
    let before = "(state, id, changes) => ({ ...changes, content: `${changes.content}, ${typeof id}` })";
    let after = "(state, message) => state.setValue(\"now\", message.content)";
    let all = [("before", "before_update_message", before), ("after", "after_update_message", after)];
    let story = Story::new(&answers, &[("edit.js", edit)], &all);
    assert_eq!(story.shown(), "user went, string | assistant calls edit | tool went, string | assistant end");
    assert_eq!(story.value("now"), "went, string");
}

#[test]
fn before_store_tool_result_changes_the_result() {
    let function = "(state, call, result) => ({ ...result, result: `${call.function.name}: ${result.result}` })";
    let answers = json!([shouts("hi"), { "text": "It says {{result}}" }]);
    let story = Story::new(&answers, &[("shout.js", SHOUT)], &[("named", "before_store_tool_result", function)]);
    let whole = "user go | assistant Wait., calls shout | tool shout: HI | assistant It says shout: HI";
    assert_eq!(story.shown(), whole);
}

#[test]
fn after_tool_call_success_changes_the_result_or_drops_the_pair() {
    let function = "(state, call, result) => (result.result === \"SECRET\" ? null : { ...result, result: \"ok\" })";
    let hook = ("quiet", "after_tool_call_success", function);
    let answers = json!([shouts("hi"), { "text": "It says {{result}}" }]);
    let story = Story::new(&answers, &[("shout.js", SHOUT)], &[hook]);
    assert_eq!(story.shown(), "user go | assistant Wait., calls shout | tool ok | assistant It says ok");
    let answers = json!([shouts("secret"), { "text": "Nothing. {{result}}" }]);
    let story = Story::new(&answers, &[("shout.js", SHOUT)], &[hook]);
    story.ended("stop_on_response");
    assert_eq!(story.shown(), "user go | assistant Wait. | assistant Nothing. ");
}

#[test]
fn after_tool_call_failure_recovers() {
    let function = "(state, call, result) => ({ status: \"success\", result: `none: ${result.error}` })";
    let answers = json!([{ "calls": [{ "name": "missing" }] }, { "text": "{{result}}" }]);
    let story = Story::new(&answers, &[("shout.js", SHOUT)], &[("mend", "after_tool_call_failure", function)]);
    let shown = story.shown();
    assert!(shown.contains("| tool none: there is no tool 'missing'"), "{shown}");
}

#[test]
fn what_a_hook_writes_runs_no_hooks_and_what_fails_is_logged() {
    let says = "async (state, message) => { if (message.content === \"a!\") \
        await state.injectMessage({ role: \"user\", content: \"by a hook\", silent: true }); }";
    let all = [
        ("loud", "before_create_message", "(state, message) => ({ ...message, content: message.content + \"!\" })"),
        ("says", "after_create_message", says),
        ("broken", "filter_messages", "() => { throw new Error(\"no filter today\"); }"),
    ];
    let story = Story::new(&json!([{ "text": "a" }, { "text": "b" }]), &[], &all);
    story.ended("stop_on_response");
    let shown = story.shown();
    assert_eq!(shown, "user go | assistant a! | user by a hook | assistant b!");
    let events = story.get("events");
    let failed = |event: &&Value| event["data"]["error"].as_str().is_some_and(|why| why.contains("no filter today"));
    assert!(events["items"].as_array().expect("events").iter().any(|event| failed(&event)), "{events}");
}

#[test]
fn the_hooks_of_a_prompt_take_the_place_of_its_agents() {
    let folder = tempfile::tempdir().expect("a folder");
    files(&folder, &json!([{ "text": "a" }]), &[]);
    let loud = |mark: &str| format!("(state, message) => ({{ ...message, content: message.content + \"{mark}\" }})");
    let (one, two) = (loud("!"), loud("?"));
    hooks(&folder, &[("one", "before_create_message", &one), ("two", "before_create_message", &two)]);
    write(&folder, "prompts/helper.toml", "prompt = \"Help.\"\nmodel = \"play\"\nhooks = [\"two\"]\n");
    assert_eq!(Story::of(folder).shown(), "user go | assistant a?");
}

#[test]
fn a_hook_that_never_ends_is_stopped_with_its_run() {
    let folder = tempfile::tempdir().expect("a folder");
    files(&folder, &json!([{ "text": "a" }]), &[]);
    hooks(
        &folder,
        &[("endless", "filter_messages", "async (state) => { await state.setValue(\"begun\", 1); for (;;); }")],
    );
    let serving = Serving::start(folder.path());
    let thread = thread(&serving);
    serving.ok("POST", &format!("/v1/threads/{thread}/queue"), &json!({ "role": "user", "content": "go" }));
    let values = format!("/v1/threads/{thread}/kv");
    eventually("the hook runs", || serving.ok("GET", &values, &Value::Null).to_string().contains("begun"));
    let run = newest(&serving, &thread);
    serving.ok("POST", &format!("/v1/runs/{}/stop", run["id"].as_str().expect("an id")), &json!({}));
    let ended = until(&serving, &thread, |run| run["completedAt"].is_string());
    assert_eq!((&ended["status"], &ended["reason"]), (&json!("stopped"), &json!("aborted")), "{ended}");
}

#[test]
fn a_hook_that_is_none_is_told_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    files(&folder, &json!([{ "text": "a" }]), &[]);
    hooks(&folder, &[("wrong", "after_creating_message", "() => {}")]);
    let checked = command(&folder, &["agents", "check"], "");
    assert!(
        checked.stdout.contains("hooks/wrong.js:2:") || checked.stderr.contains("hooks/wrong.js:2:"),
        "{checked:?}"
    );
    let told = format!("{}{}", checked.stdout, checked.stderr);
    assert!(told.contains("there is no hook 'after_creating_message'"), "{told}");
    let story = Story::of(folder);
    story.ended("step_error");
}
