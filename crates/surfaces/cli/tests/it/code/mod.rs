//! Code on threads, by the real binary: what it may do, what it may not, and that it hurts nothing.

mod hostile;
mod scripts;

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serve::Serving;
use crate::support::{Keep, run, threadkeep};

/// A server with a thread.
struct Story {
    serving: Serving,
    folder: TempDir,
    thread: String,
}

impl Story {
    fn new() -> Self {
        Self::with(&[])
    }

    /// A server with these flags.
    fn with(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let serving = Serving::start_with(folder.path(), flags);
        let thread = serving.thread();
        Self { serving, folder, thread }
    }

    fn path(&self, rest: &str) -> String {
        format!("/v1/threads/{}{rest}", self.thread)
    }

    fn post(&self, key: &str, path: &str, body: &Value) -> (u16, Value) {
        self.serving.ask("POST", &self.path(path), key, &body.to_string()).expect("an answer")
    }

    /// The outcome of code.
    #[track_caller]
    fn run(&self, body: &Value) -> Value {
        let (status, outcome) = self.post(self.serving.key(), "/code", body);
        assert_eq!(status, 200, "{outcome}");
        outcome
    }

    /// A key of an account.
    fn key(&self, flags: &[&str]) -> String {
        let mut command = threadkeep();
        command.arg("--data").arg(self.folder.path()).args(["keys", "create", "--json"]).args(flags);
        let made: Value = serde_json::from_str(&run(command, b"").ok()).expect("json");
        made["key"].as_str().expect("a key").to_owned()
    }
}

#[test]
fn a_run_answers_with_its_outcome() {
    let story = Story::new();
    let source = "console.warn('a', { b: 1 }); report(1); report({ two: 2n }); export default (x: number) => ({ x, at: new Date(0), none: undefined })";
    let outcome = story.run(&json!({ "source": source, "execute": { "args": [7] } }));
    assert!(outcome["durationMs"].as_f64().expect("a time") > 0.0);
    assert_eq!(outcome["status"], "success");
    assert_eq!(outcome["result"], json!({ "x": 7, "at": "1970-01-01T00:00:00.000Z" }));
    assert_eq!(outcome["reports"], json!([1, { "two": "2" }]));
    assert_eq!(outcome["logs"], json!([{ "level": "warn", "message": "a { b: 1 }" }]));
    let undefined = story.run(&json!({ "source": "export default undefined" }));
    assert_eq!((undefined.get("result"), undefined.get("error")), (None, None));
    assert_eq!(story.run(&json!({ "source": "export default null" }))["result"], Value::Null);
}

#[test]
fn every_kind_of_end_is_told_with_its_place() {
    let story = Story::new();
    let thrown = "interface A { b: string }\n\nexport default (a: A): void => {\n  throw new TypeError('no');\n}";
    let error = story.run(&json!({ "source": thrown, "filename": "own.ts" }));
    assert_eq!(error["status"], "error");
    let place = json!({ "name": "TypeError", "message": "no", "line": 4, "column": 13, "filename": "own.ts", "stack": "    at default (own.ts:4:13)" });
    assert_eq!(error["error"], place);
    let wrong = story.run(&json!({ "source": "let a: = 1" }));
    assert_eq!(
        (&wrong["status"], &wrong["error"]["line"], &wrong["error"]["column"]),
        (&json!("link_error"), &json!(1), &json!(8))
    );
    let unknown = story.run(&json!({ "source": "export default 1", "sandbox": false }));
    assert_eq!(
        (&unknown["status"], &unknown["error"]["message"]),
        (&json!("link_error"), &json!("there is no option 'sandbox'"))
    );
    let memory =
        story.run(&json!({ "source": "const all = []; for (;;) all.push([all])", "memoryLimitBytes": 8 << 20 }));
    assert_eq!(memory["status"], "memory");
    let late = story.run(&json!({ "source": "for (;;);", "timeoutMs": 200 }));
    assert_eq!((&late["status"], &late["error"]["name"]), (&json!("terminated"), &json!("code_timeout")));
    for (field, value) in [
        ("timeoutMs", json!(0)),
        ("memoryLimitBytes", json!(1)),
        ("language", json!("perl")),
        ("grants", json!(["gc"])),
        ("grants", json!(["nothing"])),
        ("id", json!("")),
    ] {
        let (status, refused) = story.post(story.serving.key(), "/code", &json!({ "source": "1", field: value }));
        assert_eq!((status, &refused["code"]), (400, &json!("invalid_body")), "{field} {refused}");
    }
}

#[test]
fn code_reaches_the_thread_by_its_grants_alone() {
    let story = Story::new();
    let say = "import { append, listMessages } from 'threadkeep';\nexport default async () => { const made = await append({ role: 'assistant', content: 'by code' }); return [made.version, (await listMessages({ limit: 1 })).items.length] }";
    let none = story.run(&json!({ "source": say }));
    assert_eq!(none["status"], "link_error");
    let less = story.run(&json!({ "source": say, "grants": ["messages"] }));
    assert_eq!(less["status"], "link_error", "{less}");
    let enough = story.run(&json!({ "source": say, "grants": ["append", "listMessages"] }));
    assert_eq!(enough["status"], "success", "{enough}");
    assert_eq!(story.serving.messages(&story.thread), ["by code"]);

    let names = |grants: Value| {
        let source = "import * as all from 'threadkeep'; export default Object.keys(all)";
        let names = story.run(&json!({ "source": source, "grants": grants }))["result"].clone();
        names
            .as_array()
            .expect("names")
            .iter()
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    let read = names(json!(["read"]));
    for name in ["get", "getThread", "messages", "listMessages", "modelMessages"] {
        assert!(read.iter().any(|read| read == name), "{name} is not in {read:?}");
    }
    assert!(!read.iter().any(|name| name == "append"), "{read:?}");
    let write = names(json!(["write"]));
    assert!(write.iter().any(|name| name == "append") && write.len() > read.len());
    for never in ["gc", "doctor", "createKey", "listKeys", "create", "list"] {
        assert!(!write.iter().any(|name| name == never), "{never} is granted with write");
    }
}

#[test]
fn granted_calls_keep_their_rules() {
    let story = Story::new();
    let source = "import { append, setValue, getValue } from 'threadkeep';
        const refused = (call) => call.then(() => 'done', (error) => error.name);
        export default async () => [
            await refused(append({ role: 'nobody', content: 'x' })),
            await refused(append({ role: 'user', content: 'x' }, { expectedVersion: 99 })),
            await refused(append({ role: 'user', content: 'x' }, { thread: 'other' })),
            await refused(append('text')),
            await refused(setValue({ valueKey: 'a/b', value: { deep: [1] } })),
            (await getValue({ valueKey: 'a/b' })).value,
            await refused(setValue({ valueKey: 'a/b', value: 2, ifVersion: 9999 })),
            await refused(append({ role: 'user', content: 'once' }, { idempotencyKey: 'k' })),
            await refused(append({ role: 'user', content: 'once' }, { idempotencyKey: 'k' })),
        ]";
    let outcome = story.run(&json!({ "source": source, "grants": ["append", "setValue", "value"] }));
    let expected = json!(["invalid_body", "version_conflict", "invalid_parameter", "invalid_parameter", "done", { "deep": [1] }, "version_conflict", "done", "done"]);
    assert_eq!(outcome["result"], expected, "{outcome}");
    assert_eq!(story.serving.messages(&story.thread), ["once"]);
}

#[test]
fn agents_need_the_authority_and_others_find_no_thread() {
    let story = Story::new();
    let body = json!({ "source": "import { append } from 'threadkeep'; export default async () => (await append({ role: 'assistant', content: 'agent' })).actor ?? 'made'", "grants": ["append"] });
    let agent = story.key(&["--account", "local", "--agent", "--name", "bot"]);
    let (status, refused) = story.post(&agent, "/code", &body);
    assert_eq!((status, &refused["code"]), (403, &json!("approval_required")), "{refused}");
    let approval = refused["approvalId"].as_str().expect("an approval");
    story.serving.ok("POST", &format!("/v1/approvals/{approval}/approve"), &json!({}));
    let (status, outcome) = story.post(&agent, "/code", &body);
    assert_eq!((status, &outcome["status"]), (200, &json!("success")), "{outcome}");
    let message = &story.serving.ok("GET", &story.path("/messages"), &Value::Null)["items"][0];
    assert_eq!(message["actor"], json!({ "type": "agent", "name": "bot" }), "code acts as its caller");

    let other = story.key(&["--account", "ann"]);
    let (status, refused) = story.post(&other, "/code", &body);
    assert_eq!((status, &refused["code"]), (404, &json!("thread_not_found")));
    let reader = story.key(&["--account", "local", "--scope", "read"]);
    assert_eq!(story.post(&reader, "/code", &body).0, 403);
    story.serving.ok("PATCH", &story.path(""), &json!({ "visibility": "public" }));
    assert_eq!(story.post(&other, "/code", &body).0, 404, "a visitor runs nothing");
}

#[test]
fn secrets_stay_out_of_all_that_code_says_and_writes() {
    let story = Story::new();
    let canary = "canary-5f0c3a9e1b7d2468";
    story.serving.ok("PUT", &story.path("/env/TOKEN"), &json!({ "value": canary, "type": "secret" }));
    let source = "import { append, messages } from 'threadkeep';
        console.log('is', secret); report({ [secret]: [secret] });
        export const give = async () => { await append({ role: 'user', content: 'it is ' + secret }); return [secret, { secret }] };
        export const fail = () => { const error = new Error('no ' + secret); error.name = secret; throw error };";
    for function in ["give", "fail"] {
        for stream in [false, true] {
            let body = json!({ "source": source, "globals": { "secret": canary }, "execute": { "fn": function }, "grants": ["append", "messages"], "stream": stream });
            let body = body.to_string();
            let mut socket = story.serving.connect();
            let head = story.serving.head("POST", &story.path("/code"), story.serving.key(), body.len());
            socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body.as_bytes())).expect("it is sent");
            let mut told = String::new();
            socket.read_to_string(&mut told).expect("an answer");
            assert!(told.contains("[secret:TOKEN]") && !told.contains(canary), "{function} {stream}: {told}");
        }
    }
    assert!(story.serving.messages(&story.thread).iter().all(|text| text == "it is [secret:TOKEN]"));
    for grant in ["get-env", "getEnv", "env", "set-env", "account-env"] {
        let (status, refused) = story.post(story.serving.key(), "/code", &json!({ "source": "1", "grants": [grant] }));
        assert_eq!((status, &refused["field"]), (400, &json!("grants")), "{grant}");
    }
    let names =
        "import * as all from 'threadkeep'; export default Object.keys(all).filter((name) => /env/i.test(name))";
    assert_eq!(story.run(&json!({ "source": names, "grants": ["write"] }))["result"], json!([]));
}

#[test]
fn a_stream_tells_of_a_run_as_it_goes_and_a_request_ends_it() {
    let story = Story::new();
    let body = json!({ "id": "long", "stream": true, "source": "console.log('one'); report({ n: 2 }); for (;;);" })
        .to_string();
    let mut socket = story.serving.connect();
    let head = story.serving.head("POST", &story.path("/code"), story.serving.key(), body.len());
    socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body.as_bytes())).expect("it is sent");
    let mut lines = BufReader::new(socket).lines().map(|line| line.expect("a line"));
    let mut next = |wanted: &str| lines.find(|line| line.starts_with(wanted)).expect("it is told");
    assert_eq!(next("event:"), "event: log");
    assert_eq!(next("data:"), r#"data: {"level":"log","message":"one"}"#);
    assert_eq!(next("event:"), "event: report");
    assert_eq!(next("data:"), r#"data: {"n":2}"#);
    let (status, twice) = story.post(story.serving.key(), "/code", &json!({ "id": "long", "source": "1" }));
    assert_eq!((status, &twice["field"]), (400, &json!("id")));
    assert_eq!(story.serving.ok("DELETE", &story.path("/code/other"), &Value::Null)["terminated"], false);
    assert_eq!(story.serving.ok("DELETE", &story.path("/code/long"), &Value::Null)["terminated"], true);
    assert_eq!(next("event:"), "event: outcome");
    let outcome: Value = serde_json::from_str(next("data:").trim_start_matches("data: ")).expect("json");
    assert_eq!((&outcome["status"], &outcome["error"]["name"]), (&json!("terminated"), &json!("terminated")));
    assert_eq!(outcome["reports"], json!([{ "n": 2 }]));
}

#[test]
fn a_weak_kernel_is_refused_and_told() {
    for (flags, ready) in [
        (&["--sandbox-without", "landlock"][..], "the kernel has no Landlock"),
        (&["--sandbox-without", "seccomp"], "the kernel has no seccomp"),
        (&["--sandbox-without", "landlock,seccomp", "--sandbox-level", "seccomp"], "the kernel has no seccomp"),
    ] {
        let story = Story::with(flags);
        let told = story.serving.ok("GET", "/readyz", &Value::Null);
        assert!(told["sandbox"].as_str().expect("a text").starts_with(ready), "{told}");
        let (status, refused) = story.post(story.serving.key(), "/code", &json!({ "source": "1" }));
        assert_eq!((status, &refused["code"]), (503, &json!("sandbox_unavailable")));
    }
    for flags in [
        &[][..],
        &["--sandbox-without", "landlock", "--sandbox-level", "seccomp"],
        &["--sandbox-without", "landlock,seccomp", "--sandbox-level", "rlimits"],
    ] {
        let story = Story::with(flags);
        assert_eq!(story.serving.ok("GET", "/readyz", &Value::Null)["sandbox"], "ready");
        assert_eq!(story.run(&json!({ "source": "export default 1" }))["result"], 1);
    }
}

#[test]
fn the_command_runs_a_file_with_and_without_a_thread() {
    for keep in [Keep::new(), Keep::served()] {
        let file = |name: &str, source: &str| {
            let path = keep.at(name);
            std::fs::write(&path, source).expect("it is written");
            path.display().to_string()
        };
        let sum = file(
            "sum.ts",
            "console.log('adding'); export const add = (a: number, b: number): number => a + b; export default { sum: true }",
        );
        let ran = keep.run(&["code", "run", &sum, "--function", "add", "--arg", "1", "--arg", "2"]);
        assert_eq!(ran.stderr, "adding\n");
        assert_eq!(ran.ok(), "3");
        assert_eq!(keep.json(&["code", "run", &sum])["result"], json!({ "sum": true }));
        let bad = file("bad.ts", "type A = string;\nexport default () => { throw new RangeError('far') }");
        let ran = keep.run(&["code", "run", &bad]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
        assert_eq!(ran.stderr, "error: RangeError: far\n    at default (bad.ts:2:34)\n");
        assert_eq!(keep.run_with(&["code", "run", "-"], b"export default 6 * 7").ok(), "42");

        let thread = keep.create("Code");
        let note = file(
            "note.ts",
            "import { append } from 'threadkeep'; export default async () => { await append({ role: 'user', content: 'hi' }) }",
        );
        keep.run(&["code", "run", &note, "--thread", &thread]).code.filter(|code| *code == 1).expect("no grant");
        assert_eq!(keep.ok(&["code", "run", &note, "--thread", &thread, "--grant", "append"]), "");
        assert_eq!(keep.conversation(&thread), "user: hi");
        keep.run(&["code", "run", &note, "--grant", "append"]).refused(2, &["no thread"]);
        keep.run(&["code", "run", "missing.ts"]).refused(3, &["missing.ts"]);
        assert_eq!(keep.json(&["code", "terminate", &thread, "none"])["terminated"], false);
    }
}

#[test]
fn code_without_a_thread_needs_no_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = threadkeep();
    command.current_dir(folder.path()).args(["code", "run", "-"]);
    assert_eq!(run(command, b"export default 'alone'").ok(), r#""alone""#);
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0, "nothing was made");
}

#[test]
fn a_worker_has_no_environment_no_files_and_no_rights() {
    // A worker that waits is one that was caged; the kernel tells what it has.
    let story = Story::new();
    story.run(&json!({ "source": "export default 1" }));
    let mut socket = story.serving.connect();
    let body = json!({ "source": "report(1); for (;;);", "stream": true }).to_string();
    let head = story.serving.head("POST", &story.path("/code"), story.serving.key(), body.len());
    socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body.as_bytes())).expect("it is sent");
    let mut lines = BufReader::new(socket.try_clone().expect("a socket")).lines().map(|line| line.expect("a line"));
    lines.find(|line| line == "event: report").expect("it runs");
    let workers = hostile::children(story.serving.running.child.id());
    let read = |pid: u32, what: &str| {
        let mut text = String::new();
        let file = std::fs::File::open(format!("/proc/{pid}/{what}"));
        file.and_then(|mut file| file.read_to_string(&mut text)).map(|_| text)
    };
    let busy =
        workers.iter().copied().find(|pid| read(*pid, "status").is_ok_and(|status| status.contains("Seccomp:\t2")));
    let busy = busy.expect("the worker that runs has a seccomp filter");
    assert!(read(busy, "status").expect("status").contains("NoNewPrivs:\t1"));
    let limits = read(busy, "limits").expect("limits");
    let limit = |name: &str| {
        limits
            .lines()
            .find(|line| line.starts_with(name))
            .map(|line| line[name.len()..].trim_start().split(' ').next().unwrap_or_default().to_owned())
    };
    assert_eq!(limit("Max core file size").as_deref(), Some("0"));
    assert_eq!(limit("Max open files").as_deref(), Some("3"));
    assert_eq!(limit("Max processes").as_deref(), Some("0"));
    assert!(limit("Max address space").is_some_and(|most| most != "unlimited"));
    if let Ok(environment) = read(busy, "environ") {
        assert_eq!(environment.trim_end_matches('\0'), "TZ=UTC0");
    }
    if let Ok(open) = std::fs::read_dir(format!("/proc/{busy}/fd")) {
        assert_eq!(open.count(), 3);
    }
}
