//! ThreadState in Rust: every member, with the edges that its contract names.

use serde_json::{Map, Value, json};
use threadkeep::model::{MessageStatus, ModelCall};
use threadkeep::{
    Create, EndRun, EnvType, Error, Json, Role, RunOutcome, RunSide, StartRun, StepRun, Subagent, ThreadId,
};
use threadkeep_runtime::definitions::{Agent, Model, Prompt};
use threadkeep_runtime::state::{
    GetMessages, Message, MessageInput, MessageUpdates, Order, ThreadState, ToolCall, WriteFileOptions,
};
use threadkeep_runtime::tools::{Declared, RustTool, State, ToolResult};
use threadkeep_runtime::{Runtime, RuntimeError};

use crate::{Keep, on_every_store};

on_every_store!(
    a_state_says_what_its_thread_is,
    messages_are_listed_in_every_order_with_those_that_wait,
    messages_are_injected_queued_updated_and_deleted,
    definitions_are_loaded_by_name_and_listed,
    variables_are_read_through_their_layers_and_set_on_the_thread,
    subagents_and_parents_find_each_other,
    tools_run_at_once_or_are_queued,
    effects_are_scheduled_listed_and_removed,
    events_values_and_context_are_the_threads_own,
    files_are_written_read_searched_and_removed,
    files_come_in_chunks,
    an_execution_is_there_while_a_run_is_open,
    a_side_of_an_execution_with_two_is_given_the_turn,
    a_terminated_thread_takes_nothing_more,
);

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

fn runtime(keep: &Keep) -> Runtime {
    let echo =
        RustTool::new(Declared::new("Says it again", Map::new()), |_: State, args: Map<String, Value>| async move {
            match args.get("say") {
                Some(said) => ToolResult::success(said.clone()),
                None => ToolResult::failure("nothing to say"),
            }
        });
    let read = |value: Value| serde_json::from_value(value);
    let agent: Agent = read(json!({ "sideA": { "prompt": "planner" }, "env": { "CITY": "Rome" } })).expect("an agent");
    let prompt: Prompt = serde_json::from_value(json!({ "prompt": "Plan.", "model": "small" })).expect("a prompt");
    let model: Model = serde_json::from_value(json!({ "provider": "openai", "model": "gpt-5-mini" })).expect("a model");
    Runtime::builder(keep.engine.clone())
        .agent("guide", agent)
        .prompt("planner", prompt)
        .model("small", model)
        .tool("echo", echo)
        .effect("remind", |_| std::future::ready(Ok(())))
        .not_packable_runtime_context(object(json!({ "region": "eu" })))
        .build()
}

async fn opened(keep: &Keep) -> (Runtime, ThreadState) {
    let runtime = runtime(keep);
    let create = Create::titled("T").field("agentId", Json::string("guide")).field("userId", Json::string("ann"));
    let thread = runtime.engine().create(create).await.expect("a thread").id;
    let state = runtime.state(runtime.engine(), thread).await.expect("a state");
    (runtime, state)
}

fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().filter_map(|message| message.content.as_deref()).collect()
}

async fn a_state_says_what_its_thread_is(keep: Keep) {
    let (runtime, state) = opened(&keep).await;
    let thread = keep.engine.thread(state.thread_id()).await.expect("a thread");
    assert_eq!((state.agent_id(), state.user_id()), ("guide", Some("ann")));
    assert_eq!(state.created_at(), thread.created.as_micros());
    assert!(state.children().is_empty() && state.terminated().is_none() && state.execution().is_none());
    assert_eq!(state.not_packable_runtime_context(), Some(&object(json!({ "region": "eu" }))));
    let missing = runtime.state(runtime.engine(), ThreadId::from_chance(7)).await;
    assert!(matches!(missing, Err(RuntimeError::Engine(Error::ThreadNotFound { .. }))));
}

async fn messages_are_listed_in_every_order_with_those_that_wait(keep: Keep) {
    let (_, state) = opened(&keep).await;
    // With a run of a caller open, what is queued waits.
    keep.engine.start_run(state.thread_id(), StartRun::caller()).await.expect("a run");
    for text in ["a", "b", "c"] {
        state.inject_message(MessageInput::user(text)).await.expect("a message");
    }
    state.inject_message(MessageInput { silent: true, ..MessageInput::user("quiet") }).await.expect("a message");
    state.inject_message(MessageInput { depth: 1, ..MessageInput::user("deep") }).await.expect("a message");
    for text in ["x", "y"] {
        state.queue_message(MessageInput::user(text)).await.expect("queued");
    }
    let listed = async |options: GetMessages| state.get_messages(options).await.expect("messages");
    let all = listed(GetMessages::default()).await;
    assert_eq!((texts(&all.messages), all.total, all.has_more), (vec!["a", "b", "c", "x", "y"], 5, false));
    let waits = &all.messages[4];
    assert_eq!((waits.status, waits.id.starts_with("queued-")), (MessageStatus::Pending, true));
    let newest = listed(GetMessages { limit: 3, ..GetMessages::default() }).await;
    assert_eq!((texts(&newest.messages), newest.has_more), (vec!["c", "x", "y"], true));
    let rising = GetMessages { limit: 2, offset: 2, order: Some(Order::Ascending), ..GetMessages::default() };
    assert_eq!(texts(&listed(rising).await.messages), ["c", "x"]);
    let falling = GetMessages { limit: 2, offset: 1, order: Some(Order::Descending), ..GetMessages::default() };
    assert_eq!(texts(&listed(falling).await.messages), ["x", "c"]);
    let everything = GetMessages { include_silent: true, max_depth: 1, ..GetMessages::default() };
    assert_eq!(texts(&listed(everything).await.messages), ["a", "b", "c", "quiet", "deep", "x", "y"]);
    let none = listed(GetMessages { offset: 50, ..GetMessages::default() }).await;
    assert_eq!((none.messages.len(), none.total, none.has_more), (0, 5, false));
}

async fn messages_are_injected_queued_updated_and_deleted(keep: Keep) {
    let (_, state) = opened(&keep).await;
    let call = ToolCall { id: "c1".into(), name: "echo".into(), arguments: r#"{"say":1}"#.into() };
    let step = MessageInput { tool_calls: vec![call.clone()], ..MessageInput::new(Role::Assistant, "I look.") };
    let step = state.inject_message(step).await.expect("a step");
    assert_eq!((step.content.as_deref(), step.tool_calls.as_deref()), (Some("I look."), Some(&[call][..])));
    assert!(keep.engine.thread(state.thread_id()).await.expect("a thread").record.run.is_none(), "it starts no run");
    let result = MessageInput { tool_call_id: Some("c1".into()), ..MessageInput::new(Role::Tool, "1") };
    let result = state.inject_message(result).await.expect("a result");
    assert_eq!((result.tool_call_id.as_deref(), result.content.as_deref()), (Some("c1"), Some("1")));
    let bad = ToolCall { id: "c2".into(), name: "echo".into(), arguments: "{".into() };
    let bad = MessageInput { tool_calls: vec![bad], ..MessageInput::new(Role::Assistant, "") };
    assert!(state.inject_message(bad).await.is_err(), "arguments are JSON");
    let info = state.inject_message(MessageInput::new(Role::Info, "note")).await.expect("a message");
    assert_eq!(info.role, Role::System, "info reads as system");

    let updates = |text: Option<&str>, metadata: Value| MessageUpdates {
        content: text.map(str::to_owned),
        metadata: object(metadata),
    };
    state.update_message(&step.id, updates(None, json!({ "a": 1, "b": 2 }))).await.expect("an update");
    let updated =
        state.update_message(&step.id, updates(Some("I looked."), json!({ "b": 3 }))).await.expect("an update");
    assert_eq!(updated.content.as_deref(), Some("I looked."));
    assert_eq!(updated.metadata, object(json!({ "a": 1, "b": 3 })), "metadata is merged");
    assert!(updated.tool_calls.is_some(), "calls stay");
    let found = state.get_message(&step.id).await.expect("no error").expect("a message");
    assert_eq!(found, updated);
    for unknown in ["M-00000000000000011a", "nonsense"] {
        assert_eq!(state.get_message(unknown).await.expect("no error"), None);
        assert!(!state.delete_message(unknown).await.expect("no error"));
        assert!(state.update_message(unknown, updates(Some("x"), json!({}))).await.is_err());
    }
    assert!(state.delete_message(&step.id).await.expect("deleted"));
    assert!(!state.delete_message(&step.id).await.expect("no error"), "once");
    assert_eq!(state.get_message(&result.id).await.expect("no error"), None, "its result went with it");

    state.write_file("/a.txt", "hello", "text/plain", WriteFileOptions::default()).await.expect("a file");
    let with_file = MessageInput { attachments: vec!["/a.txt".parse().expect("a path")], ..MessageInput::user("look") };
    let attached = state.inject_message(with_file).await.expect("a message");
    assert_eq!((attached.attachments[0].name.as_str(), attached.attachments[0].size), ("a.txt", 5));
    let missing = MessageInput { attachments: vec!["/b.txt".parse().expect("a path")], ..MessageInput::user("look") };
    assert!(matches!(state.inject_message(missing).await, Err(RuntimeError::Engine(Error::FileNotFound { .. }))));

    let run = keep.engine.start_run(state.thread_id(), StartRun::caller()).await.expect("a run").run.id;
    state.queue_message(MessageInput::user("later")).await.expect("queued");
    let waits = state.get_messages(GetMessages::default()).await.expect("messages").messages.pop().expect("one");
    let edited = state.update_message(&waits.id, updates(Some("soon"), json!({}))).await.expect("an update");
    assert_eq!((edited.content.as_deref(), edited.status), (Some("soon"), MessageStatus::Pending));
    state.queue_message(MessageInput::user("never")).await.expect("queued");
    let never = state.get_messages(GetMessages::default()).await.expect("messages").messages.pop().expect("one");
    assert!(state.delete_message(&never.id).await.expect("cancelled"));
    assert!(state.queue_message(MessageInput::new(Role::System, "no")).await.is_err(), "user or assistant");
    keep.engine.step_run(state.thread_id(), threadkeep::StepRun::of(run)).await.expect("a step");
    let delivered = state.get_message(&waits.id).await.expect("no error").expect("it keeps its id");
    assert_eq!((delivered.content.as_deref(), delivered.status), (Some("soon"), MessageStatus::Completed));
}

async fn definitions_are_loaded_by_name_and_listed(keep: Keep) {
    let (_, state) = opened(&keep).await;
    assert_eq!(state.load_model("small").expect("a model").model, "gpt-5-mini");
    assert_eq!(state.load_prompt("planner").expect("a prompt").model, "small");
    assert_eq!(state.load_agent("guide").expect("an agent").side_a.prompt, "planner");
    assert!(matches!(state.load_agent("nobody"), Err(RuntimeError::Definition(_))), "not found is an error");
    assert_eq!(state.get_agent_names(), ["guide"]);
    assert_eq!((state.get_prompt_names(), state.get_model_names()), (vec!["planner".into()], vec!["small".into()]));
}

async fn variables_are_read_through_their_layers_and_set_on_the_thread(keep: Keep) {
    let (_, state) = opened(&keep).await;
    assert_eq!(state.env("CITY").await.expect("a value"), "Rome", "of the agent");
    assert_eq!(state.env_type("CITY").await.expect("a type"), EnvType::Secret, "what is not the thread's is a secret");
    let missing = state.env("NOTHING").await;
    assert!(matches!(missing, Err(RuntimeError::Engine(Error::EnvNotFound { .. }))));
    state.set_env("CITY", "Paris", Some(EnvType::Text)).await.expect("set");
    assert_eq!(state.env("CITY").await.expect("a value"), "Paris", "of the thread");
    state.set_env("CITY", "", None).await.expect("set");
    assert_eq!(state.env("CITY").await.expect("a value"), "", "an empty text is a value");
    assert_eq!(state.env_type("CITY").await.expect("a type"), EnvType::Text, "the type stays");
    state.set_env("TOKEN", "sk-1234567890", None).await.expect("set");
    assert_eq!(state.env_type("TOKEN").await.expect("a type"), EnvType::Secret, "a new one is a secret");
}

async fn subagents_and_parents_find_each_other(keep: Keep) {
    let (runtime, mut state) = opened(&keep).await;
    state.notify_parent("hello").await.expect("nothing happens without a parent");
    state.set_status("busy").await.expect("nothing happens without a parent");
    assert!(state.get_parent_thread().await.expect("no error").is_none());
    let subagent: Subagent =
        serde_json::from_value(json!({ "name": "clerk", "description": "Files." })).expect("a subagent");
    let child = runtime.engine().subagent(state.thread_id(), subagent).await.expect("a subagent").thread.id;
    assert!(state.children().is_empty(), "as it was when it was opened");
    state.refresh().await.expect("refreshed");
    assert_eq!((state.children()[0].name.as_str(), state.children()[0].reference), ("clerk", child));
    assert!(state.get_child_thread("nonsense").await.expect("no error").is_none());
    let other = state.get_child_thread(&child.to_string()).await.expect("no error").expect("a state");
    assert_eq!(other.get_parent_thread().await.expect("no error").expect("a parent").thread_id(), state.thread_id());
    state.set_env("CITY", "Bern", Some(EnvType::Text)).await.expect("set");
    assert_eq!(other.env("CITY").await.expect("a value"), "Bern", "set for descendants too");
    // A run of a caller keeps the message in the queue.
    keep.engine.start_run(state.thread_id(), StartRun::caller()).await.expect("a run");
    other.notify_parent("Filed.").await.expect("told");
    let silent = GetMessages { include_silent: true, ..GetMessages::default() };
    let told = state.get_messages(silent).await.expect("messages").messages;
    assert_eq!((told[0].content.as_deref(), told[0].silent), (Some("Filed."), true));
    other.set_status("done").await.expect("a status");
    state.refresh().await.expect("refreshed");
    assert_eq!(state.children()[0].status, "done");
    assert!(other.notify_parent(" ").await.is_err() && other.set_status("").await.is_err(), "blank is refused");
}

async fn tools_run_at_once_or_are_queued(keep: Keep) {
    let (_, state) = opened(&keep).await;
    let told = state.invoke_tool("echo", object(json!({ "say": "hi" }))).await.expect("a result");
    assert_eq!((told.result, told.error), (Some(json!("hi")), None));
    let failed = state.invoke_tool("echo", Map::new()).await.expect("a failure is a result");
    assert_eq!((failed.result, failed.error.as_deref()), (None, Some("nothing to say")));
    assert!(state.invoke_tool("missing", Map::new()).await.is_err());
    state.queue_tool("echo", object(json!({ "say": "later" }))).await.expect("queued");
    let waiting = keep.engine.call(state.thread_id(), threadkeep::ListQueuedTools::default()).await.expect("a queue");
    assert_eq!(waiting.items.len(), 1);
    assert!(state.queue_tool("missing", Map::new()).await.is_err(), "an unknown tool is refused");
}

async fn effects_are_scheduled_listed_and_removed(keep: Keep) {
    let (runtime, state) = opened(&keep).await;
    let known = runtime.engine().with_effects(std::sync::Arc::new(runtime.clone()));
    let state = runtime.state(&known, state.thread_id()).await.expect("a state");
    let args = || object(json!({ "of": "tea" }));
    let id = state.schedule_effect("remind", args(), 60_000).await.expect("an effect");
    state.schedule_effect("remind", args(), 0).await.expect("an effect");
    assert!(state.schedule_effect("unknown", args(), 0).await.is_err(), "an unknown name is refused");
    let waiting = state.get_scheduled_effects(Some("remind")).await.expect("effects");
    assert_eq!(waiting.len(), 2);
    let later = waiting.iter().find(|effect| effect.id == id).expect("the first");
    assert_eq!((later.name.as_str(), &later.args), ("remind", &json!({ "of": "tea" })));
    assert_eq!(later.scheduled_at - later.created_at, 60_000_000);
    assert!(state.get_scheduled_effects(Some("other")).await.expect("effects").is_empty());
    assert!(state.remove_scheduled_effect(&id).await.expect("removed"));
    assert!(!state.remove_scheduled_effect(&id).await.expect("no error"), "once");
    assert!(!state.remove_scheduled_effect("nonsense").await.expect("no error"));
    assert_eq!(state.get_scheduled_effects(None).await.expect("effects").len(), 1);
}

async fn events_values_and_context_are_the_threads_own(keep: Keep) {
    let (runtime, mut state) = opened(&keep).await;
    state.emit("progress", &json!({ "percent": 50 })).await.expect("told");
    assert!(state.emit("", &Value::Null).await.is_err(), "a name is needed");
    assert_eq!(state.get_value("theme").await.expect("no error"), None);
    state.set_value("theme", json!({ "dark": true })).await.expect("set");
    assert_eq!(state.get_value("theme").await.expect("a value"), Some(json!({ "dark": true })));
    let long = Value::String("x".repeat(2 << 20));
    assert!(state.set_value("theme", long).await.is_err(), "at most 1 MiB");
    assert_eq!(state.get_value("theme").await.expect("a value"), Some(json!({ "dark": true })), "the old one stays");
    state.set_value("theme", Value::Null).await.expect("deleted");
    assert_eq!(state.get_value("theme").await.expect("no error"), None);
    assert!(state.set_value("", json!(1)).await.is_err() && state.set_value(&"k".repeat(513), json!(1)).await.is_err());
    state.context.insert("seen".into(), json!(1));
    let again = runtime.state(runtime.engine(), state.thread_id()).await.expect("a state");
    assert!(again.context.is_empty(), "the scratch pad ends with its state");
}

async fn files_are_written_read_searched_and_removed(keep: Keep) {
    let (_, state) = opened(&keep).await;
    let options = WriteFileOptions {
        metadata: Some(object(json!({ "by": "ann" }))),
        width: Some(2),
        height: Some(3),
        thumbnail: Some("small".into()),
    };
    let file =
        state.write_file("notes//plan.md", "Rome first\nthen Bern", "text/markdown", options).await.expect("a file");
    assert_eq!(file.path.as_str(), "/notes/plan.md", "paths are normalised");
    let first = file.version.expect("a version");
    let again = state.write_file("/notes/plan.md", "Rome", "text/markdown", WriteFileOptions::default()).await;
    assert!(again.expect("a file").version.expect("a version") > first, "a write makes a new version");
    assert_eq!(state.read_file("/notes/plan.md").await.expect("no error").as_deref(), Some(&b"Rome"[..]));
    state.write_file("/empty", "", "text/plain", WriteFileOptions::default()).await.expect("a file");
    assert_eq!(state.read_file("/empty").await.expect("no error").as_deref(), Some(&b""[..]), "empty, not missing");
    assert_eq!(state.read_file("/missing").await.expect("no error"), None);
    assert!(state.stat_file("/missing").await.expect("no error").is_none());
    let escapes = state.read_file("/../secret").await;
    assert!(escapes.is_err(), "no path leaves the thread");
    state.mkdir_file("/deep/er").await.expect("a directory");
    state.mkdir_file("/deep/er").await.expect("once more changes nothing");
    let listed = state.readdir_file("/").await.expect("entries");
    let names: Vec<_> = listed.iter().map(|entry| entry.path.name().to_owned()).collect();
    assert_eq!(names, ["deep", "notes", "empty"], "directories first, then by name");
    assert!(state.readdir_file("/nowhere").await.expect("no error").is_empty());
    let stats = state.get_file_stats().await.expect("stats");
    assert_eq!((stats.file_count, stats.directory_count, stats.total_size), (2, 3, 4));
    let lines = state.grep_files("R.me").await.expect("lines");
    assert_eq!((lines[0].path.as_str(), lines[0].matches[0].line), ("/notes/plan.md", 1));
    assert!(state.grep_files("(").await.is_err(), "a broken pattern");
    assert_eq!(state.find_files("/notes/*.md").await.expect("paths").len(), 1);
    assert_eq!(state.find_files("/*.md").await.expect("paths").len(), 0, "a star stays within a directory");
    assert_eq!(state.find_files("/**/*.md").await.expect("paths").len(), 1);
    let full = state.rmdir_file("/notes").await;
    assert!(matches!(full, Err(RuntimeError::Engine(Error::DirectoryNotEmpty { .. }))));
    state.unlink_file("/notes/plan.md").await.expect("deleted");
    state.unlink_file("/notes/plan.md").await.expect("a missing file is no error");
    state.rmdir_file("/deep/er").await.expect("removed");
    assert_eq!(state.get_file_thumbnail("/empty").await.expect("no error"), None, "no picture");
    assert_eq!(state.get_file_thumbnail("/missing").await.expect("no error"), None);
    let small = WriteFileOptions { thumbnail: Some("small".into()), ..WriteFileOptions::default() };
    state.write_file("/a.png", "png", "image/png", small).await.expect("a file");
    let thumbnail = state.get_file_thumbnail("/a.png").await.expect("no error");
    assert_eq!(thumbnail.as_deref(), Some(&b"small"[..]), "the one that its writer gave");
}

async fn files_come_in_chunks(keep: Keep) {
    let (_, state) = opened(&keep).await;
    let write = async |path: &str, bytes: Vec<u8>| {
        state.write_file(path, bytes, "application/octet-stream", WriteFileOptions::default()).await.expect("a file");
    };
    write("/empty", Vec::new()).await;
    let long: Vec<u8> = (0..(2 << 20) + 5).map(|at: u32| at.to_le_bytes()[0]).collect();
    write("/long", long.clone()).await;
    let mut chunks = state.read_file_stream("/empty").await.expect("no error").expect("a file");
    let only = chunks.next().await.expect("a chunk").expect("one");
    assert_eq!((only.data.len(), only.index, only.total_chunks, only.is_last), (0, 0, 1, true));
    assert!(chunks.next().await.expect("no error").is_none());
    let mut chunks = state.read_file_stream("/long").await.expect("no error").expect("a file");
    let mut read = chunks.next().await.expect("a chunk").expect("the first").data.to_vec();
    write("/long", b"changed".to_vec()).await;
    let mut lasts = Vec::new();
    while let Some(chunk) = chunks.next().await.expect("a chunk") {
        read.extend_from_slice(&chunk.data);
        lasts.push(chunk.is_last);
    }
    assert_eq!((read == long, lasts), (true, vec![false, true]), "all chunks are of one version");
    assert!(state.read_file_stream("/missing").await.expect("no error").is_none());
}

async fn an_execution_is_there_while_a_run_is_open(keep: Keep) {
    let (_, mut state) = opened(&keep).await;
    state.inject_message(MessageInput::user("go")).await.expect("a message");
    let run = keep.engine.start_run(state.thread_id(), StartRun::caller()).await.expect("a run").run.id;
    state.refresh().await.expect("refreshed");
    let execution = state.execution().expect("a run");
    assert_eq!((execution.flow_id(), execution.current_side()), (run.to_string(), RunSide::A));
    assert_eq!((execution.step_count(), execution.stopped()), (0, false));
    assert_eq!(texts(execution.message_history()), ["go"]);
    assert_eq!(execution.prompt_path(), ["planner"]);
    let deadline = std::time::Duration::from_secs(20);
    let aborted = async { tokio::time::timeout(deadline, execution.aborted()).await.expect("in time") };
    let (aborted, stopped) = tokio::join!(aborted, execution.stop());
    aborted.expect("aborted");
    stopped.expect("stopped");
    state.refresh().await.expect("refreshed");
    assert!(state.execution().is_none_or(|execution| execution.stopped()));
    drop(keep.engine.end_run(state.thread_id(), EndRun::of(run, RunOutcome::Stopped)).await);
    state.refresh().await.expect("refreshed");
    assert!(state.execution().is_none(), "none at rest");
}

async fn a_side_of_an_execution_with_two_is_given_the_turn(keep: Keep) {
    let (_, mut state) = opened(&keep).await;
    let run = keep.engine.start_run(state.thread_id(), StartRun::caller()).await.expect("a run").run.id;
    let thread = state.thread_id();
    let step = async |side: RunSide| {
        let model = Some(ModelCall { side: Some(side.as_str().into()), ..ModelCall::of("m") });
        keep.engine.step_run(thread, StepRun { model, ..StepRun::of(run) }).await.expect("a step");
    };
    state.refresh().await.expect("refreshed");
    let refused = state.execution().expect("a run").force_turn(RunSide::B).await.expect_err("one side");
    assert!(matches!(refused, RuntimeError::Engine(Error::RunHasOneSide { .. })), "{refused}");
    step(RunSide::A).await;
    state.refresh().await.expect("refreshed");
    state.execution().expect("a run").force_turn(RunSide::B).await.expect("a request");
    let asked = || async { keep.engine.run(run).await.expect("a run").sides.expect("sides").asked };
    assert_eq!(asked().await, Some(RunSide::B));
    step(RunSide::A).await;
    assert_eq!(asked().await, Some(RunSide::B), "another side spoke");
    step(RunSide::B).await;
    assert_eq!(asked().await, None, "it was taken up");
    state.refresh().await.expect("refreshed");
    let execution = state.execution().expect("a run");
    assert_eq!(execution.current_side(), RunSide::B);
    let counts = (execution.step_count(), execution.side_a_step_count(), execution.side_b_step_count());
    assert_eq!(counts, (3, 2, 1));
}

async fn a_terminated_thread_takes_nothing_more(keep: Keep) {
    let (_, mut state) = opened(&keep).await;
    state.terminate().await.expect("terminated");
    let at = state.terminated().expect("a time");
    state.terminate().await.expect("once more changes nothing");
    assert_eq!(state.terminated(), Some(at));
    let queued = state.queue_message(MessageInput::user("more")).await;
    assert!(matches!(queued, Err(RuntimeError::Engine(Error::ThreadTerminated))));
    assert!(state.queue_tool("echo", Map::new()).await.is_err());
    state.inject_message(MessageInput::user("a note")).await.expect("the lifecycle is not changed");
}
