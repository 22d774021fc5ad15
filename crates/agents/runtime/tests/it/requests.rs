//! What is sent to models of random conversations: requests that both protocols accept, within the budget, with nothing
//! of another branch.
//!
//! The requests go over HTTP to a server of the test, which answers at random. Some are written to
//! `target/tmp/requests-PROTOCOL.jsonl`, where `crates/agents/providers/check` reads them.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use threadkeep_calls::{
    At, Create, DeleteMessage, EditMessage, Fork, GetContext, Handoff, Inject, ListMemories, NewMessage, Rollback,
    RollbackTo, StartRun,
};
use threadkeep_engine::{CountTokens, Engine, Estimate, Page};
use threadkeep_model::{Content, InjectionType, Json, MessageBody, MessageId, Part, Position, Role, ThreadId, Urgency};
use threadkeep_runtime::Runtime;
use threadkeep_runtime::definitions::{Agent, Model, Prompt};
use threadkeep_runtime::tools::{Declared, RustTool, State, ToolResult};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::engine;

/// How many random conversations are tried. `THREADKEEP_CONVERSATIONS` asks for more.
const CONVERSATIONS: u64 = 40;
/// Requests that are written for the check against the official SDKs, for each protocol.
const WRITTEN_MAX: usize = 200;
/// The longest time that one conversation may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// Tokens of the answer.
const ANSWER: u64 = 200;

/// A PNG of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Numbers that look random and repeat by their seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// A server that answers in both protocols, and remembers what it was asked.
#[derive(Clone)]
struct Models {
    url: String,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Models {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let models = Self { url, asked };
        let serving = models.clone();
        tokio::spawn(async move {
            let mut chance = Chance(7);
            while let Ok((mut socket, _)) = listener.accept().await {
                let (path, body) = request(&mut socket).await;
                let answer = answer(&path, &body, &mut chance).to_string();
                serving.asked.lock().expect("the requests").push((path, body));
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
                let reply = format!("{head}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
                socket.write_all(reply.as_bytes()).await.expect("an answer");
            }
        });
        models
    }

    fn taken(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.asked.lock().expect("the requests"))
    }
}

/// Reads one request: its path, and its JSON.
pub(crate) async fn request(socket: &mut TcpStream) -> (String, Value) {
    let (mut bytes, mut some) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let count = socket.read(&mut some).await.expect("a request");
        assert_ne!(count, 0, "the request broke off");
        bytes.extend_from_slice(&some[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        let length: usize = length.trim().parse().expect("a number");
        if bytes.len() >= end + 4 + length {
            let path = head.split(' ').nth(1).expect("a path").to_owned();
            return (path, serde_json::from_slice(&bytes[end + 4..]).expect("JSON"));
        }
    }
}

/// A text, or calls of the tool; after many results always a text, so that runs end.
fn answer(path: &str, body: &Value, chance: &mut Chance) -> Value {
    let said = body["messages"].as_array().expect("messages").len();
    let calls = if chance.below(3) == 0 { 1 + chance.below(3) } else { 0 };
    let thinks = body["thinking"].is_object() && chance.below(2) == 0;
    // Ids that repeat in a conversation, as some local servers make them.
    let id = |number: u64| if said.is_multiple_of(2) { format!("call_{number}") } else { format!("c-{said}-{number}") };
    let text = format!("answer {said}. {}", "I looked at it. ".repeat(chance.below(20) as usize));
    if body.to_string().contains("record of a conversation that ended") {
        let message = json!({ "role": "assistant", "content": "- Likes trains.\n- Lives in Bern." });
        return json!({ "choices": [{ "message": message, "finish_reason": "stop" }] });
    }
    if path.ends_with("/chat/completions") {
        let call = |number| {
            let function = json!({ "name": "look", "arguments": "{\"at\":\"the sky\"}" });
            json!({ "id": id(number), "type": "function", "function": function })
        };
        let calls: Vec<Value> = (0..calls).map(call).collect();
        let message = json!({ "role": "assistant", "content": text, "tool_calls": calls });
        return json!({ "choices": [{ "message": message, "finish_reason": "stop" }] });
    }
    let mut content = Vec::new();
    if thinks {
        content.push(json!({ "type": "thinking", "thinking": "Where is it?", "signature": "c2ln" }));
    }
    content.push(json!({ "type": "text", "text": text }));
    for number in 0..calls {
        content.push(json!({ "type": "tool_use", "id": id(number), "name": "look", "input": { "at": "the sky" } }));
    }
    let stop = if calls > 0 { "tool_use" } else { "end_turn" };
    json!({ "type": "message", "role": "assistant", "content": content, "stop_reason": stop })
}

/// A runtime with two agents for each protocol: one with room, and one with little of it. `open_keeps` remembers sessions.
fn runtime(url: &str) -> (Runtime, Vec<(&'static str, u64)>) {
    let look = RustTool::new(
        Declared::new("Looks at something", Map::new()),
        |state: State, args: Map<String, Value>| async move {
            let text = format!("It is there: {args:?}. {}", "Blue and wide. ".repeat(state.call.len()));
            let mut result = ToolResult::success(text);
            if state.call.ends_with('1') {
                let bytes = STANDARD.decode(PNG).expect("a picture");
                let (name, mime_type) = ("sky.png".to_owned(), "image/png".to_owned());
                result.attachments.push(threadkeep_calls::NewAttachment { name, mime_type, bytes });
            }
            result
        },
    );
    let agents = [("open_wide", 9_000), ("open_small", 2_500), ("anthropic_wide", 9_000), ("anthropic_small", 2_500)];
    let mut builder = Runtime::builder(engine()).tool("look", look);
    for (name, tokens) in agents.into_iter().chain([("open_keeps", 9_000)]) {
        let is_open = name.starts_with("open");
        let model = json!({
            "provider": if is_open { "openai" } else { "anthropic" },
            "model": if is_open { "gpt-5-mini" } else { "claude-sonnet-4-5" },
            "baseUrl": if is_open { format!("{url}/v1") } else { url.to_owned() },
            "contextTokens": tokens,
            "maxTokens": ANSWER,
        });
        let mut prompt = json!({
            "prompt": "You look at things.", "model": name, "tools": ["look"], "parallelToolCalls": true,
            "recentImageThreshold": 3,
        });
        if name == "anthropic_wide" {
            prompt["reasoning"] = "low".into();
        }
        let keeps = name == "open_keeps";
        let agent = json!({ "sideA": { "prompt": name, "maxSteps": 4 }, "rememberSessions": keeps });
        builder = builder
            .model(name, serde_json::from_value::<Model>(model).expect("a model"))
            .prompt(name, serde_json::from_value::<Prompt>(prompt).expect("a prompt"))
            .agent(name, serde_json::from_value::<Agent>(agent).expect("an agent"));
    }
    (builder.build(), agents.to_vec())
}

/// Runs a case on a thread with the stack of a server's.
fn on_a_thread<F: Future<Output = ()>>(case: impl FnOnce() -> F + Send + 'static) {
    let work = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(Box::pin(case()));
    };
    let thread = std::thread::Builder::new().stack_size(8 << 20).spawn(work).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn what_is_sent_of_random_conversations_is_valid_in_budget_and_of_its_branch() {
    let count = std::env::var("THREADKEEP_CONVERSATIONS").ok().and_then(|count| count.parse().ok());
    on_a_thread(move || conversations(count.unwrap_or(CONVERSATIONS)));
}

#[test]
fn the_model_of_the_prompt_summarizes_what_is_cut_and_what_is_handed_off() {
    on_a_thread(|| async { tokio::time::timeout(DEADLINE, Box::pin(summaries())).await.expect("in time") });
}

async fn summaries() {
    let models = Models::start().await;
    let (runtime, _) = runtime(&models.url);
    let (background, engine) = (runtime.start(), runtime.engine());
    let create = Create::titled("T").field("agentId", Json::string("open_small"));
    let thread = engine.create(create).await.expect("a thread").id;
    for number in 0..120 {
        let text = format!("Message {number} says a few words about the trip to Rome and its hotels.");
        engine.append(thread, MessageBody::user(&text)).await.expect("an append");
    }
    engine.start_run(thread, StartRun::default()).await.expect("a run");
    ended(engine, thread).await;
    let system = |body: &Value| body["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
    let asked = models.taken();
    let (_, first) = &asked[0];
    assert!(system(first).starts_with("The user sends the record of the older part"), "{first}");
    assert!(first["messages"][1]["content"].as_str().is_some_and(|told| told.contains("user: Message 0 says")));
    let told = engine.call(thread, GetContext::default()).await.expect("a context");
    let summary = told.summary.expect("a summary");
    assert_eq!((summary.model.as_deref(), summary.text.starts_with("answer")), (Some("open_small"), true));
    let sent = asked[1].1.to_string();
    assert!(sent.contains("[Summary of the earlier conversation]\\nanswer"), "{sent}");
    let child = engine.handoff(thread, Handoff::to("Book the hotel.")).await.expect("a thread").id;
    let first = engine.messages(child, Page::first()).await.expect("messages").items.remove(0).body().expect("a body");
    assert!(first.content.to_text().starts_with("answer"), "{first:?}");
    assert_eq!(first.metadata.map(|metadata| metadata.to_value()), Some(json!({ "model": "open_small" })));
    let handed = models.taken().pop().expect("a request").1;
    assert!(system(&handed).contains("Another agent goes on with the work"), "{handed}");
    background.stop().await;
}

#[test]
fn a_session_is_remembered_where_its_agent_asks_for_it() {
    on_a_thread(|| async { tokio::time::timeout(DEADLINE, Box::pin(sessions())).await.expect("in time") });
}

async fn sessions() {
    let models = Models::start().await;
    let (runtime, _) = runtime(&models.url);
    let (background, engine) = (runtime.start(), runtime.engine());
    for agent in ["open_wide", "open_keeps"] {
        let create = Create::titled("T").field("agentId", Json::string(agent));
        let thread = engine.create(create).await.expect("a thread").id;
        let message = Some(MessageBody::user("I take the train home to Bern.").into());
        engine.start_run(thread, StartRun { message, ..StartRun::default() }).await.expect("a run");
        ended(engine, thread).await;
    }
    let kept = loop {
        let kept = engine.call(At::none(), ListMemories::default()).await.expect("memories").items;
        if kept.len() >= 2 {
            break kept;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let texts: Vec<&str> = kept.iter().map(|memory| memory.text.as_str()).collect();
    assert_eq!(texts, ["Likes trains.", "Lives in Bern."], "once, by the agent that asks for it");
    assert_eq!(kept[0].sources.len(), 1, "its source is what the user said last");
    background.stop().await;
}

async fn conversations(count: u64) {
    let models = Models::start().await;
    let (mut sent, mut written) = (0, [(0, String::new()), (0, String::new())]);
    for seeds in (0..count).collect::<Vec<_>>().chunks(100) {
        // A store of its own for some of them: it is in memory.
        let (runtime, agents) = runtime(&models.url);
        let background = runtime.start();
        for seed in seeds {
            let (agent, tokens) = agents[*seed as usize % agents.len()];
            let one = conversation(runtime.engine(), &models, agent, tokens, *seed);
            let bodies = tokio::time::timeout(DEADLINE, Box::pin(one)).await.expect("in time");
            sent += bodies.len();
            let (lines, text) = &mut written[usize::from(!agent.starts_with("open"))];
            for body in bodies.iter().take(WRITTEN_MAX.saturating_sub(*lines)) {
                *lines += 1;
                writeln!(text, "{body}").expect("a line");
            }
        }
        background.stop().await;
    }
    assert!(sent as u64 > count, "only {sent} requests of {count} conversations");
    for (protocol, (_, text)) in ["openai", "anthropic"].into_iter().zip(&written) {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("requests-{protocol}.jsonl"));
        std::fs::write(path, text).expect("the requests");
    }
}

/// A conversation that is changed in every way, with a run now and then. Gives what was sent.
async fn conversation(engine: &Engine, models: &Models, agent: &str, tokens: u64, seed: u64) -> Vec<Value> {
    let mut chance = Chance(seed);
    let create = Create::titled("T").field("agentId", Json::string(agent));
    let mut threads = vec![engine.create(create).await.expect("a thread").id];
    let (mut open, mut sent): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
    for step in 0..30 + chance.below(40) {
        let thread = threads[chance.below(threads.len() as u64) as usize];
        let marked = format!("mark{seed}x{step}y ");
        let long = format!("{marked}{}", "some words of a text. ".repeat(1 + chance.below(25) as usize));
        let text = |text: &str| Part::Text { text: text.into() };
        let said = |role, parts: &[Part]| MessageBody::with_content(role, Content::parts(parts).expect("content"));
        let message: NewMessage = match chance.below(22) {
            0..=2 => MessageBody::user(&long).into(),
            3 => MessageBody::assistant(&long).into(),
            4 => MessageBody::new(Role::System, &long).into(),
            5 => MessageBody::new(Role::Info, &long).into(),
            6..=8 => {
                open = (0..1 + chance.below(3)).map(|number| format!("call_{number}")).collect();
                let mut parts = vec![
                    Part::Thinking {
                        text: long.clone(),
                        provider: Some("anthropic".into()),
                        signature: (chance.below(2) == 0).then(|| "c2ln".to_owned()),
                        data: None,
                    },
                    text(&marked),
                ];
                parts.retain(|_| chance.below(2) == 0);
                let input = if chance.below(3) == 0 { json!([1]) } else { json!({ "at": long }) };
                let call = |id: &String| Part::ToolUse { id: id.clone(), name: "look/up".into(), input: input.clone() };
                parts.extend(open.iter().map(call));
                said(Role::Assistant, &parts).into()
            }
            9..=12 => match open.pop() {
                Some(id) => {
                    let image = json!({ "type": "image", "path": "a.png", "mimeType": "image/png" });
                    let content = match chance.below(3) {
                        0 => Value::String(long.clone()),
                        1 => Value::String(String::new()),
                        _ => json!([{ "type": "text", "text": long }, image]),
                    };
                    let is_error = chance.below(4) == 0;
                    said(Role::Tool, &[Part::ToolResult { tool_use_id: id, content, is_error }]).into()
                }
                None => MessageBody { silent: true, ..MessageBody::user(&long) }.into(),
            },
            13..=14 => NewMessage::from(said(Role::User, &[text(&marked)]))
                .attach("a.png", "image/png", STANDARD.decode(PNG).expect("a picture"))
                .attach("b.txt", "text/plain", long.as_bytes())
                .attach("c.png", "image/png", "no picture"),
            15 => said(
                Role::Assistant,
                &[Part::Thinking {
                    text: long.clone(),
                    provider: Some("anthropic".into()),
                    signature: Some("c2ln".into()),
                    data: None,
                }],
            )
            .into(),
            16 => MessageBody::user(" ").into(),
            17 => {
                let Some(at) = one_of(engine, thread, &mut chance).await else { continue };
                threads.push(engine.fork(thread, Fork::at_message(at)).await.expect("a fork").id);
                continue;
            }
            18 => {
                let version = engine.thread(thread).await.expect("a thread").head.version;
                let to = RollbackTo::Version(Position(1 + chance.below(version.0.max(1))));
                // A fork has no versions before its birth.
                drop(engine.rollback(thread, Rollback { to }).await);
                continue;
            }
            19 => {
                let Some(at) = one_of(engine, thread, &mut chance).await else { continue };
                if chance.below(2) == 0 {
                    drop(engine.delete_message(thread, DeleteMessage { message: at.into() }).await);
                } else {
                    let edit = EditMessage { message: at.into(), content: Some(Content::text(&long)), metadata: None };
                    drop(engine.call(thread, edit).await);
                }
                continue;
            }
            20 => {
                let content = Json::string(&format!("{marked}told aside"));
                let inject = Inject { kind: InjectionType::Constraint, content, urgency: Urgency::NextStep };
                engine.call(thread, inject).await.expect("an injection");
                continue;
            }
            _ => {
                models.taken();
                let message = (chance.below(4) > 0).then(|| MessageBody::user(&long).into());
                engine.start_run(thread, StartRun { message, ..StartRun::default() }).await.expect("a run");
                ended(engine, thread).await;
                let shown = shown(engine, thread).await;
                for (path, body) in models.taken() {
                    let why = format!("seed {seed}, step {step}, {agent}");
                    check(&path, &body, tokens, &shown, &why);
                    sent.push(body);
                }
                continue;
            }
        };
        engine.append(thread, message).await.expect("an append");
    }
    sent
}

async fn one_of(engine: &Engine, thread: ThreadId, chance: &mut Chance) -> Option<MessageId> {
    let page = engine.messages(thread, Page::first().everything().limit(1_000)).await.expect("a page");
    let all: Vec<MessageId> = page.items.iter().map(|message| message.id).collect();
    (!all.is_empty()).then(|| all[chance.below(all.len() as u64) as usize])
}

/// Waits until no run is open on a thread.
async fn ended(engine: &Engine, thread: ThreadId) {
    let mut log = engine.subscribe(thread, Position(0)).await.expect("a subscription");
    while engine.thread(thread).await.expect("a thread").record.run.is_some() {
        log.next().await.expect("an entry").expect("a thread");
    }
}

/// The marks in what a thread shows, its injections and its files included.
async fn shown(engine: &Engine, thread: ThreadId) -> HashSet<String> {
    let page = engine.messages(thread, Page::first().everything().limit(1_000)).await.expect("a page");
    let mut shown = HashSet::new();
    for message in &page.items {
        let body = message.body().expect("a body");
        shown.extend(marks(body.content.as_json().as_str()));
        for file in &body.attachments {
            let bytes = engine.attachment(thread, message.id, file.id).await.expect("a file");
            shown.extend(marks(&String::from_utf8_lossy(&bytes)));
        }
    }
    let told = engine.injections(thread, threadkeep_calls::InjectionState::All).await.expect("injections");
    shown.extend(told.iter().flat_map(|told| marks(told.content.as_str())));
    shown
}

/// The marks in a text: `mark3x14y`.
fn marks(text: &str) -> HashSet<String> {
    let ends = |rest: &str| rest.find('y').map(|end| rest[..end].to_owned());
    let is_mark = |mark: &String| mark.chars().all(|c| c.is_ascii_digit() || c == 'x');
    text.split("mark").skip(1).filter_map(ends).filter(is_mark).collect()
}

/// Checks a request: the rules of its protocol, its budget, and that it shows its thread alone.
#[track_caller]
fn check(path: &str, body: &Value, tokens: u64, shown: &HashSet<String>, why: &str) {
    let text = body.to_string();
    let foreign: Vec<String> = marks(&text).into_iter().filter(|mark| !shown.contains(mark)).collect();
    assert!(foreign.is_empty(), "{why}: {foreign:?} is not of this branch: {text}");
    let counted = if path.ends_with("/chat/completions") {
        openai(body, why);
        Estimate::O200K
    } else {
        anthropic(body, why);
        Estimate::OTHER
    };
    let (mut texts, mut images) = (Vec::new(), 0);
    strings(&body["messages"], &mut texts, &mut images);
    strings(&body["system"], &mut texts, &mut images);
    let conversation: u64 = texts.iter().map(|text| counted.count(text)).sum();
    let tools: u64 = counted.count(&body["tools"].to_string());
    let total = conversation + tools + images * 1_600;
    assert!(total <= tokens - ANSWER, "{why}: {total} tokens of {tokens}, {images} pictures: {text}");
    assert!(images <= 3, "{why}: {images} pictures");
}

/// The texts of a request that a model reads.
fn strings<'a>(value: &'a Value, texts: &mut Vec<&'a str>, images: &mut u64) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, texts, images)),
        Value::Object(fields) if fields.contains_key("image_url") || fields.contains_key("source") => *images += 1,
        Value::Object(fields) => {
            let is_read = |name: &str| !matches!(name, "role" | "type" | "cache_control" | "signature");
            fields.iter().filter(|(name, _)| is_read(name)).for_each(|(_, field)| strings(field, texts, images));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn ids<'a>(items: impl Iterator<Item = &'a Value>) -> Vec<&'a str> {
    items.map(|id| id.as_str().expect("an id")).collect()
}

fn is_name(name: &Value) -> bool {
    let accepted = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    name.as_str().is_some_and(|name| (1..=64).contains(&name.len()) && name.bytes().all(accepted))
}

/// The rules of chat completions.
#[track_caller]
fn openai(body: &Value, why: &str) {
    let messages = body["messages"].as_array().expect("messages");
    assert!(!messages.is_empty(), "{why}");
    let (mut at, mut all) = (0, HashSet::new());
    while let Some(message) = messages.get(at) {
        let why = format!("{why}, message {at}: {body}");
        at += 1;
        match message["role"].as_str().expect("a role") {
            "system" => assert_eq!(at, 1, "{why}"),
            "user" => match &message["content"] {
                Value::String(text) => assert!(!text.is_empty(), "{why}"),
                Value::Array(parts) => {
                    assert!(!parts.is_empty(), "{why}");
                    for url in parts.iter().filter_map(|part| part["image_url"]["url"].as_str()) {
                        is_picture(url.strip_prefix("data:image/png;base64,").expect("a picture"));
                    }
                }
                other => panic!("{why}: {other}"),
            },
            "assistant" => {
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                assert!(message["content"].is_string() || !calls.is_empty(), "{why}");
                assert!(message.get("tool_calls").is_none() || !calls.is_empty(), "{why}");
                assert!(calls.iter().all(|call| is_name(&call["function"]["name"])), "{why}");
                assert!(calls.iter().all(|call| call["function"]["arguments"].is_string()), "{why}");
                let called = ids(calls.iter().map(|call| &call["id"]));
                assert!(called.iter().all(|id| all.insert((*id).to_owned())), "an id is repeated: {why}");
                let results = &messages[at..(at + called.len()).min(messages.len())];
                assert!(results.iter().all(|result| result["role"] == "tool"), "a call has no result: {why}");
                let answered = ids(results.iter().map(|result| &result["tool_call_id"]));
                assert_eq!(called, answered, "{why}");
                assert!(results.iter().all(|result| result["content"].is_string()), "{why}");
                at += called.len();
            }
            other => panic!("{other} in the wrong place: {why}"),
        }
    }
}

/// The rules of messages.
#[track_caller]
fn anthropic(body: &Value, why: &str) {
    let messages = body["messages"].as_array().expect("messages");
    let why = format!("{why}: {body}");
    assert_eq!(messages.len() % 2, 1, "it begins and ends with the user: {why}");
    let (mut open, mut all): (Vec<String>, HashSet<String>) = (Vec::new(), HashSet::new());
    for (at, message) in messages.iter().enumerate() {
        assert_eq!(message["role"], if at % 2 == 0 { "user" } else { "assistant" }, "{why}");
        let blocks = message["content"].as_array().expect("blocks");
        assert!(!blocks.is_empty(), "{why}");
        let kind = |block: &Value| block["type"].as_str().expect("a type").to_owned();
        let results = blocks.iter().take_while(|block| block["type"] == "tool_result");
        let answered = ids(results.map(|block| &block["tool_use_id"]));
        assert_eq!(open, answered, "{why}");
        let mut calls = Vec::new();
        for (place, block) in blocks.iter().enumerate() {
            match (kind(block).as_str(), at % 2) {
                ("text", _) => assert!(block["text"].as_str().is_some_and(|text| !text.trim().is_empty()), "{why}"),
                ("tool_result", 0) => assert!(place < answered.len(), "results come first: {why}"),
                ("image", 0) => is_picture(block["source"]["data"].as_str().expect("a picture")),
                ("thinking", 1) => {
                    assert!(block["signature"].is_string() && place + 1 < blocks.len(), "{why}");
                }
                ("tool_use", 1) => {
                    assert!(is_name(&block["name"]) && is_name(&block["id"]) && block["input"].is_object(), "{why}");
                    let id = block["id"].as_str().expect("an id").to_owned();
                    assert!(all.insert(id.clone()), "an id is repeated: {why}");
                    calls.push(id);
                }
                (other, _) => panic!("{other} in the wrong place: {why}"),
            }
        }
        open = calls;
    }
    assert!(open.is_empty(), "{why}");
    if body["thinking"].is_object() && messages[messages.len() - 1]["content"][0]["type"] == "tool_result" {
        assert_eq!(messages[messages.len() - 2]["content"][0]["type"], "thinking", "{why}");
    }
    assert!(body.to_string().matches("cache_control").count() <= 4, "{why}");
}

fn is_picture(data: &str) {
    assert!(STANDARD.decode(data).expect("base64").starts_with(b"\x89PNG"));
}
