//! Every call of the list, over HTTP, through the typed client and by the command: a stale version is refused, a
//! repetition under a key gives the first answer, and another account reaches nothing.
//!
//! A call without a sample fails the walk, so the list cannot grow past it.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};
use threadkeep_calls::{At, BodyIs, DECLARATIONS, Declaration, Lease, for_each_call};
use threadkeep_client::{Client, Key};

use crate::serve::{Serving, answer};
use crate::support::{Keep, run, threadkeep};

#[test]
fn every_call_keeps_its_promises_over_http() {
    walk(Surface::Http);
}

#[test]
fn every_call_keeps_its_promises_through_the_client() {
    walk(Surface::Client);
}

#[test]
fn every_call_keeps_its_promises_by_the_command() {
    walk(Surface::Command);
}

#[derive(Debug, Clone, Copy)]
enum Surface {
    Http,
    Client,
    Command,
}

/// The conditions of a request, as text.
#[derive(Debug, Clone, Default)]
struct Given {
    expected: Option<u64>,
    lease: Option<String>,
    key: Option<String>,
}

/// A server with two accounts on it.
struct House {
    serving: Serving,
    runtime: tokio::runtime::Runtime,
    ada: String,
    bob: String,
}

/// One request of a call.
struct Sample {
    name: &'static str,
    /// The thread that the call names.
    thread: Option<String>,
    /// The thread that changes, if a thread does.
    about: Option<String>,
    fields: Value,
    /// Other fields of the same call.
    other: Value,
    lease: Option<String>,
}

impl Sample {
    /// The same change of another thread than the one that is named.
    fn about(self, thread: &str) -> Self {
        Self { about: Some(thread.to_owned()), ..self }
    }

    fn under(self, lease: &Value) -> Self {
        Self { lease: lease.as_str().map(str::to_owned), ..self }
    }
}

/// A call on a thread.
fn on(name: &'static str, thread: &str, fields: Value, other: Value) -> Sample {
    let thread = Some(thread.to_owned());
    Sample { name, about: thread.clone(), thread, fields, other, lease: None }
}

/// A call that names no thread.
fn plain(name: &'static str, fields: Value, other: Value) -> Sample {
    Sample { name, thread: None, about: None, fields, other, lease: None }
}

/// A call on a thread that has no fields, or only reads.
fn read(name: &'static str, thread: &str, fields: Value) -> Sample {
    on(name, thread, fields.clone(), fields)
}

fn declared(name: &str) -> &'static Declaration {
    DECLARATIONS.iter().find(|call| call.name == name).unwrap_or_else(|| panic!("{name} is no call"))
}

/// A request through the typed client: the call is read into its type, and its answer out of its type.
async fn typed(client: &Client, name: &str, at: At, fields: Value) -> Result<Value, String> {
    macro_rules! by_name {
        ($($call:ident => $answer:ty;)*) => {
            match name {
                $(name if name == <threadkeep_calls::$call as threadkeep_calls::Call>::DECLARATION.name => {
                    let call: threadkeep_calls::$call = serde_json::from_value(fields).map_err(|error| format!("{error}"))?;
                    let answer = client.call(at, call).await.map_err(|refused| refused.code().to_owned())?;
                    Ok(serde_json::to_value(answer).expect("JSON"))
                })*
                _ => panic!("{name} is no call"),
            }
        };
    }
    for_each_call!(by_name)
}

impl House {
    fn new(keep: &Keep) -> Self {
        let folder = keep.at("data");
        let serving = Serving::start(&folder);
        let key = |account: &str, scope: &str| {
            let mut command = threadkeep();
            command.args(["keys", "create", "--account", account, "--scope", scope, "--data"]).arg(&folder);
            run(command, b"").ok()
        };
        let (ada, bob) = (key("ada", "admin"), key("bob", "write"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { serving, runtime, ada, bob }
    }

    fn url(&self) -> String {
        format!("http://{}", self.serving.address)
    }

    /// The answer to a call, or the code of its refusal.
    fn ask(
        &self,
        surface: Surface,
        key: &str,
        sample: &Sample,
        fields: &Value,
        given: &Given,
    ) -> Result<Value, String> {
        let declaration = declared(sample.name);
        match surface {
            Surface::Http => self.over_http(key, declaration, sample.thread.as_deref(), fields, given),
            Surface::Client => {
                let client = Client::connect(&self.url(), Key::new(key)).expect("a client");
                let mut at = At::none();
                at.thread = sample.thread.as_ref().map(|thread| thread.parse().expect("an id"));
                at.expected = given.expected.map(threadkeep::Position);
                at.lease = given.lease.as_ref().map(|token| token.parse().expect("a token"));
                at.key = given.key.as_ref().map(|key| threadkeep::IdempotencyKey::new(key).expect("a key"));
                self.runtime.block_on(Box::pin(typed(&client, sample.name, at, fields.clone())))
            }
            Surface::Command => {
                let mut command = threadkeep();
                command.env("THREADKEEP_KEY", key).args(["--server", &self.url(), "call", sample.name]);
                // Secrets are no arguments.
                let by_stdin = ["set-env", "set-account-env", "supply-variables"].contains(&sample.name);
                let text = fields.to_string();
                command.args(&sample.thread).arg(if by_stdin { "-" } else { &text }).arg("--json");
                command.args(given.expected.map(|version| format!("--expected-version={version}")));
                command.args(given.lease.as_ref().map(|token| format!("--writer={token}")));
                command.args(given.key.as_ref().map(|key| format!("--idempotency-key={key}")));
                let ran = run(command, if by_stdin { text.as_bytes() } else { b"" });
                let said = |text: &str| -> Value {
                    serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {error}: {ran:?}", sample.name))
                };
                match ran.code {
                    Some(0) => Ok(said(&ran.stdout)),
                    _ => Err(said(&ran.stderr)["code"].as_str().expect("a code").to_owned()),
                }
            }
        }
    }

    /// The request as a stranger would write it by hand, from the documentation.
    fn over_http(
        &self,
        key: &str,
        declaration: &Declaration,
        thread: Option<&str>,
        fields: &Value,
        given: &Given,
    ) -> Result<Value, String> {
        let mut fields = fields.as_object().expect("an object").clone();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut path = declaration.path.replace("{thread}", thread.unwrap_or("{thread}"));
        for field in declaration.path_fields() {
            let value = fields.remove(field).unwrap_or_else(|| panic!("{}: {field}", declaration.name));
            path = path.replace(&format!("{{{field}}}"), &text(&value));
        }
        let mut body = String::new();
        match declaration.body {
            _ if !declaration.method.has_body() => {
                for (index, (name, value)) in fields.iter().enumerate() {
                    path.push_str(&format!("{}{name}={}", if index == 0 { "?" } else { "&" }, text(value)));
                }
            }
            BodyIs::Fields => body = Value::Object(fields).to_string(),
            BodyIs::Field(name) => body = fields[name].to_string(),
        }
        let mut head = format!(
            "{} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n",
            declaration.method.as_str(),
            self.serving.address,
            body.len()
        );
        for (name, value) in [
            ("If-Match", given.expected.map(|version| format!("\"{version}\""))),
            ("Threadkeep-Writer", given.lease.clone()),
            ("Idempotency-Key", given.key.clone()),
        ] {
            head.extend(value.map(|value| format!("{name}: {value}\r\n")));
        }
        let mut socket = TcpStream::connect(&self.serving.address).expect("a connection");
        socket.write_all(format!("{head}\r\n{body}").as_bytes()).expect("it is sent");
        let (status, said) = answer(socket).unwrap_or_else(|| panic!("{}: no answer", declaration.name));
        if status < 300 { Ok(said) } else { Err(said["code"].as_str().expect("a code").to_owned()) }
    }

    /// Ada's request, which is granted.
    fn ada(&self, name: &'static str, thread: Option<&str>, fields: Value) -> Value {
        let granted = self.over_http(&self.ada, declared(name), thread, &fields, &Given::default());
        granted.unwrap_or_else(|code| panic!("{name}: {code}"))
    }

    fn version(&self, thread: &str) -> Option<u64> {
        let read = self.over_http(&self.ada, declared("get"), Some(thread), &json!({}), &Given::default());
        read.ok().map(|thread| thread["v"].as_u64().expect("a version"))
    }

    /// A thread of Ada's with two messages.
    fn talk(&self) -> String {
        let said = |text: &str| json!({"role": "user", "content": text});
        let fields = json!({"title": SECRET, "messages": [said("one"), said("two")]});
        id(&self.ada("create", None, fields))
    }

    fn message(&self, thread: &str, index: usize) -> String {
        id(&self.ada("messages", Some(thread), json!({}))["items"][index])
    }
}

/// A title that no other account may see.
const SECRET: &str = "known-to-ada-alone";

fn id(of: &Value) -> String {
    of["id"].as_str().unwrap_or_else(|| panic!("{of} has an id")).to_owned()
}

fn walk(surface: Surface) {
    let keep = Keep::new();
    let house = House::new(&keep);
    let mut seen = BTreeSet::new();
    for samples in [conversation, tree, work, authority, others, accounts] {
        for sample in samples(&house) {
            assert!(seen.insert(sample.name), "{} has one sample", sample.name);
            Walk { house: &house, surface, sample: &sample }.goes();
        }
    }
    let all: BTreeSet<&str> = DECLARATIONS.iter().map(|call| call.name).collect();
    assert_eq!(seen, all, "every call has a sample here");
}

/// One call, through one surface.
struct Walk<'a> {
    house: &'a House,
    surface: Surface,
    sample: &'a Sample,
}

impl Walk<'_> {
    fn goes(&self) {
        let (sample, honours) = (self.sample, declared(self.sample.name).honours);
        let name = sample.name;
        let before = self.version();
        self.another_account();
        self.what_is_not_honoured();
        if honours.expected {
            let current = before.unwrap_or_else(|| panic!("{name} is about a thread"));
            let stale = Given { expected: Some(current - 1), ..Given::default() };
            assert_eq!(self.asks(&sample.fields, &stale), Err("version_conflict".to_owned()), "{name}");
        }
        assert_eq!(self.version(), before, "{name}: a refused call changes nothing");
        let key = honours.key.then(|| format!("once-{name}"));
        let given = Given { expected: before.filter(|_| honours.expected), lease: sample.lease.clone(), key };
        let first = self.asks(&sample.fields, &given).unwrap_or_else(|code| panic!("{name}: {code}"));
        if honours.key {
            let after = self.version();
            assert_eq!(self.asks(&sample.fields, &given), Ok(first), "{name}: a repetition gives the first answer");
            if sample.other != sample.fields {
                let repeated = Given { key: given.key.clone(), ..Given::default() };
                let refused = Err("idempotency_key_reused".to_owned());
                assert_eq!(self.asks(&sample.other, &repeated), refused, "{name}: another request");
            }
            assert_eq!(self.version(), after, "{name}: a repetition changes nothing");
        }
    }

    fn asks(&self, fields: &Value, given: &Given) -> Result<Value, String> {
        self.house.ask(self.surface, &self.house.ada, self.sample, fields, given)
    }

    fn version(&self) -> Option<u64> {
        self.house.version(self.sample.about.as_ref()?)
    }

    /// Another account is told that nothing is there, or gets an answer that shows nothing.
    fn another_account(&self) {
        let (house, sample) = (self.house, self.sample);
        let given = Given { lease: sample.lease.clone(), ..Given::default() };
        let name = sample.name;
        match house.ask(self.surface, &house.bob, sample, &sample.fields, &given) {
            Err(code) => assert!(code.ends_with("_not_found") || code == "forbidden", "{name}: {code}"),
            Ok(told) if sample.thread.is_some() => assert_eq!(told, json!({"deleted": false}), "{name}"),
            Ok(told) => {
                let told = told.to_string();
                assert!(!told.contains(SECRET), "{name}: {told}");
                assert!(sample.about.as_ref().is_none_or(|thread| !told.contains(thread)), "{name}: {told}");
            }
        }
    }

    /// A condition that the call does not honour is refused, never passed over.
    fn what_is_not_honoured(&self) {
        let honours = declared(self.sample.name).honours;
        let given = Given { lease: self.sample.lease.clone(), ..Given::default() };
        let expected =
            (!honours.expected && !honours.value_version).then(|| Given { expected: Some(1), ..given.clone() });
        let lease =
            (honours.lease == Lease::No).then(|| Given { lease: Some("0000000000000001".to_owned()), ..given.clone() });
        let key = (!honours.key).then(|| Given { key: Some("once".to_owned()), ..given.clone() });
        for given in [expected, lease, key].into_iter().flatten() {
            let told = self.asks(&self.sample.fields, &given);
            assert_eq!(told, Err("invalid_parameter".to_owned()), "{} under {given:?}", self.sample.name);
        }
    }
}

fn conversation(house: &House) -> Vec<Sample> {
    let thread = house.talk();
    let (message, second) = (house.message(&thread, 0), house.message(&thread, 1));
    let said = |text: &str| json!({"role": "user", "content": text});
    let create = |text: &str| json!({"messages": [said(text)]});
    let edit = |text: &str| json!({"message": message, "content": text});
    let variable = |value: &str| json!({"name": "V", "value": value});
    let event = |data: u8| json!({"type": "result", "data": {"n": data}});
    let subagent = id(&house.ada("subagent", Some(&thread), json!({"name": "critic"})));
    let supply = |value: &str| json!({"request": subagent, "env": {"V": value}});
    vec![
        plain("create", create("a"), create("b")),
        read("get", &thread, json!({})),
        on("update", &thread, json!({"draft": "x"}), json!({"draft": "y"})),
        plain("list", json!({"limit": 5}), json!({})),
        read("messages", &thread, json!({"limit": 5})),
        on("append", &thread, said("c"), said("d")),
        read("message", &thread, json!({"message": message})),
        on("edit", &thread, edit("A"), edit("B")),
        read("history", &thread, json!({})),
        read("model-messages", &thread, json!({})),
        on("append-event", &thread, event(1), event(2)),
        read("events", &thread, json!({})),
        on("delete-message", &thread, json!({"message": message}), json!({"message": second})),
        on("truncate", &thread, json!({"fromIndex": 1}), json!({"fromIndex": 0})),
        on("set-value", &thread, json!({"valueKey": "k", "value": 1}), json!({"valueKey": "k", "value": 2})),
        read("values", &thread, json!({})),
        read("value", &thread, json!({"valueKey": "k"})),
        on("delete-value", &thread, json!({"valueKey": "k"}), json!({"valueKey": "l"})),
        on("set-env", &thread, variable("VALUE-1"), variable("VALUE-2")),
        read("env", &thread, json!({})),
        read("get-env", &thread, json!({"name": "V"})),
        on("delete-env", &thread, json!({"name": "V"}), json!({"name": "W"})),
        read("variables", &thread, json!({"request": subagent})),
        on("supply-variables", &thread, supply("VALUE-1"), supply("VALUE-2")),
        plain("search", json!({"query": SECRET}), json!({})),
        plain("backfill", json!({}), json!({})),
    ]
}

fn tree(house: &House) -> Vec<Sample> {
    let (thread, other) = (house.talk(), house.talk());
    let lease = house.ada("take-writer", Some(&other), json!({"ttl": 60_000}));
    let (held, again) = (house.talk(), house.talk());
    let renewed = house.ada("take-writer", Some(&held), json!({"ttl": 60_000}));
    vec![
        on("fork", &thread, json!({"title": "x"}), json!({"title": "y"})),
        on("handoff", &thread, json!({"goal": "x"}), json!({"goal": "y"})),
        on("mention", &thread, json!({"target": other}), json!({"target": other, "comment": "x"})),
        on("checkpoint", &thread, json!({"name": "x"}), json!({"name": "y"})),
        read("checkpoints", &thread, json!({})),
        on("rollback", &thread, json!({"version": 1}), json!({"version": 2})),
        read("tree", &thread, json!({})),
        read("relationships", &thread, json!({})),
        read("summary", &thread, json!({})),
        read("writer", &thread, json!({})),
        read("take-writer", &again, json!({"ttl": 60_000})),
        read("renew-writer", &held, json!({"ttl": 60_000})).under(&renewed["token"]),
        read("release-writer", &other, json!({})).under(&lease["token"]),
    ]
}

fn work(house: &House) -> Vec<Sample> {
    let (thread, begins, runs, ends, cancels) = (house.talk(), house.talk(), house.talk(), house.talk(), house.talk());
    let said = |text: &str| json!({"role": "user", "content": text});
    // No server here works for this agent: what is queued waits.
    house.ada("assign", Some(&thread), json!({"agentId": "elsewhere"}));
    let queued = || id(&house.ada("queue", Some(&thread), said("q")));
    let (first, second) = (queued(), queued());
    let begun = |thread: &str| house.ada("start-run", Some(thread), json!({"executor": "caller"}))["id"].clone();
    let (run, end, stop) = (begun(&runs), begun(&ends), begun(&cancels));
    // A run of a caller has two sides once a step names one.
    let turns = house.talk();
    let dual = begun(&turns);
    house.ada("step-run", None, json!({"run": dual, "model": {"model": "m", "side": "a"}}));
    let inject = |text: &str| json!({"type": "data", "content": text});
    let injected = house.ada("inject", Some(&thread), inject("x"))["injectionId"].clone();
    let effect = id(&house.ada("schedule-effect", Some(&thread), json!({"name": "x", "delay": 60_000})));
    let edit = |text: &str| json!({"item": first, "content": text});
    let tool = |name: &str| json!({"tool": "skill", "args": {"name": name}});
    let step = |text: &str| json!({"run": run, "messages": [{"role": "assistant", "content": text}]});
    let worker = id(&house.ada("subagent", Some(&thread), json!({"name": "worker"})));
    house.ada("append", Some(&worker), said("work"));
    let gone = house.talk();
    let undone = house.talk();
    house.ada("truncate", Some(&undone), json!({"fromIndex": 0}));
    house.ada("rollback", Some(&undone), json!({"undo": true}));
    vec![
        read("queued", &thread, json!({})),
        on("queue", &thread, said("x"), said("y")),
        on("edit-queued", &thread, edit("x"), edit("y")),
        on("queue-tool", &thread, tool("x"), tool("y")),
        read("queued-tools", &thread, json!({})),
        on("remove-queued", &thread, json!({"item": second}), json!({"item": first})),
        on("start-run", &begins, json!({"executor": "caller"}), json!({"executor": "caller", "ttl": 60_000})),
        read("thread-runs", &runs, json!({})),
        plain("step-run", step("x"), step("y")).about(&runs),
        plain("end-run", json!({"run": end, "status": "completed"}), json!({"run": end, "status": "failed"}))
            .about(&ends),
        plain("stop-run", json!({"run": stop}), json!({"run": stop, "now": true})).about(&cancels),
        read("execution", &runs, json!({})),
        plain("force-turn", json!({"run": dual, "side": "b"}), json!({"run": dual, "side": "a"})).about(&turns),
        plain("runs", json!({}), json!({})).about(&runs),
        plain("run", json!({"run": run}), json!({})).about(&runs),
        plain("delta-run", json!({"run": run, "text": "x"}), json!({"run": run, "text": "y"})).about(&runs),
        on("schedule-effect", &thread, json!({"name": "x", "delay": 60_000}), json!({"name": "y", "delay": 60_000})),
        read("effects", &thread, json!({})),
        on("remove-effect", &thread, json!({"effect": effect}), json!({"effect": run})),
        on("assign", &thread, json!({"agentId": "x"}), json!({"agentId": "y"})),
        on("skill", &thread, json!({"name": "x"}), json!({"name": "y"})),
        read("context", &thread, json!({})),
        read("emit", &thread, json!({"event": "progress", "data": 1})),
        on("subagent", &thread, json!({"name": "x"}), json!({"name": "y"})),
        read("children", &thread, json!({})),
        read("parent", &worker, json!({})),
        on("notify-parent", &worker, json!({"content": "x"}), json!({"content": "y"})),
        on("status", &worker, json!({"status": "x"}), json!({"status": "y"})),
        on("spawn", &thread, json!({"intent": "x", "inherit": "none"}), json!({"intent": "y", "inherit": "none"})),
        on("inject", &thread, inject("y"), inject("z")),
        read("injections", &thread, json!({})),
        on("ack", &thread, json!({"injection": injected}), json!({"injection": run})),
        on("decide", &thread, json!({"question": "a", "answer": "b"}), json!({"question": "a", "answer": "c"})),
        read("decisions", &thread, json!({})),
        on("lifecycle", &thread, json!({"action": "suspend"}), json!({"action": "done"})),
        read("archive", &thread, json!({})),
        read("unarchive", &thread, json!({})),
        read("terminate", &gone, json!({})),
        read("redo", &undone, json!({})),
    ]
}

fn authority(house: &House) -> Vec<Sample> {
    let transfer = |direction: &str| json!({"direction": direction, "scope": ["deploy"]});
    let asked = || {
        let thread = house.talk();
        let asked = house.ada("transfer", Some(&thread), transfer("request_approval"));
        (thread, asked["approvalId"].clone())
    };
    let with = |approval: &Value, reason: &str| json!({"approval": approval, "reason": reason});
    let answers = |name, (thread, approval): (String, Value)| {
        plain(name, with(&approval, "x"), with(&approval, "y")).about(&thread)
    };
    let thread = house.talk();
    let delegation = house.ada("transfer", Some(&thread), transfer("delegate"))["delegationId"].clone();
    let revoke = json!({"delegation": delegation});
    let (seen, approval) = asked();
    vec![
        on("transfer", &house.talk(), transfer("request_approval"), transfer("delegate")),
        plain("approvals", json!({}), json!({})).about(&seen),
        plain("approval", json!({"approval": approval}), json!({})).about(&seen),
        answers("approve", asked()),
        answers("deny", asked()),
        answers("revoke", asked()),
        read("delegations", &thread, json!({})),
        plain("revoke-delegation", revoke.clone(), revoke).about(&thread),
    ]
}

fn others(house: &House) -> Vec<Sample> {
    let thread = house.talk();
    let fork = id(&house.ada("fork", Some(&thread), json!({})));
    house.ada("append", Some(&fork), json!({"role": "user", "content": "more"}));
    let merged = house.talk();
    let part = id(&house.ada("fork", Some(&merged), json!({})));
    house.ada("append", Some(&part), json!({"role": "user", "content": "more"}));
    let record = house.ada("merge", Some(&merged), json!({"sources": [part]}))["mergeId"].clone();
    let reference = house.ada("reference", Some(&thread), json!({"target": fork}))["refId"].clone();
    let observer = id(&house.ada("observe", Some(&thread), json!({"target": fork})));
    let merge = |asks: bool| json!({"sources": [fork], "requiresApproval": asks});
    let target = |thread: &str| json!({"target": thread});
    vec![
        on("merge", &thread, merge(false), merge(true)),
        read("merges", &thread, json!({})),
        read("merge-record", &merged, json!({"merge": record})),
        on("reference", &thread, target(&fork), target(&merged)),
        read("references", &thread, json!({})),
        plain("get-reference", json!({"reference": reference}), json!({})).about(&thread),
        on("observe", &thread, target(&fork), target(&merged)),
        read("observers", &thread, json!({})),
        read("observer", &thread, json!({"observer": observer})),
        on("unobserve", &thread, json!({"observer": observer}), json!({"observer": reference})),
        on("change-owner", &house.talk(), json!({"account": "eve"}), json!({"account": "bob"})),
        read("delete", &house.talk(), json!({})),
    ]
}

fn accounts(house: &House) -> Vec<Sample> {
    let project = |project: &str| json!({"project": project});
    house.ada("create-project", None, json!({"id": "known", "name": SECRET}));
    let key = id(&house.ada("create-key", None, json!({"account": "eve"})));
    let memory = id(&house.ada("add-memory", None, json!({"text": SECRET})));
    let memory = |text: Option<&str>| match text {
        Some(text) => json!({"memory": memory, "text": text}),
        None => json!({"memory": memory}),
    };
    vec![
        plain("add-memory", json!({"text": "x"}), json!({})),
        plain("memories", json!({}), json!({})),
        plain("add-project-memory", json!({"project": "known", "text": "x"}), json!({})),
        plain("project-memories", project("known"), json!({})),
        plain("search-memories", json!({"query": "x"}), json!({})),
        plain("memory", memory(None), json!({})),
        plain("edit-memory", memory(Some("y")), json!({})),
        plain("delete-memory", memory(None), json!({})),
        plain("create-project", json!({"id": "p", "name": "x"}), json!({})),
        plain("projects", json!({}), json!({})),
        plain("project", project("known"), json!({})),
        plain("put-project", json!({"project": "q", "name": "x"}), json!({})),
        plain("update-project", json!({"project": "known", "name": "y"}), json!({})),
        plain("delete-project", project("known"), json!({})),
        plain("create-key", json!({"account": "eve"}), json!({})),
        plain("keys", json!({}), json!({})),
        plain("revoke-key", json!({"key": key}), json!({})),
        plain("set-account-env", json!({"name": "V", "value": "VALUE-1"}), json!({})),
        plain("account-env", json!({}), json!({})),
        plain("get-account-env", json!({"name": "V"}), json!({})),
        plain("delete-account-env", json!({"name": "V"}), json!({})),
        plain("instance-env", json!({}), json!({})),
        plain("gc", json!({}), json!({})),
        plain("doctor", json!({}), json!({})),
        plain("adopt-effects", json!({}), json!({})),
    ]
}
