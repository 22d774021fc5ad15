//! Merges over HTTP: their answers, the checks of their results, and the approvals they wait for.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};
use threadkeep_server::{Settings, ValidationSettings};

use crate::support::{Client, Server, connect, settings};

/// A server whose merges are checked by these commands.
fn checking(compile: &str, test: &str, timeout: Duration) -> Server {
    let some = |command: &str| (!command.is_empty()).then(|| command.to_owned());
    let validation = ValidationSettings { compile: some(compile), test: some(test), timeout };
    Server::start_with(Settings { validation, ..settings() })
}

/// A thread with a file, and a fork of it.
fn pair(client: &Client) -> (String, String) {
    let target = client.thread(&["a"]);
    put(client, &target, "f.txt", "1\n2\n3\n");
    let fork = client.post(&format!("/v1/threads/{target}/fork"), json!({})).ok(201);
    (target, fork["id"].as_str().expect("an id").to_owned())
}

#[track_caller]
fn put(client: &Client, thread: &str, path: &str, text: &str) {
    let reply = client.send("PUT", &format!("/v1/threads/{thread}/files/{path}"), "", Some(text));
    assert!(matches!(reply.status, 200 | 201), "{reply:?}");
}

fn holds(client: &Client, thread: &str, path: &str) -> String {
    client.get(&format!("/v1/threads/{thread}/files/{path}")).body
}

/// Merges `source` into `target`, with more in the request.
fn merge(client: &Client, target: &str, source: &str, more: Value) -> crate::support::Reply {
    let mut body = json!({ "sources": [source] });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    client.post(&format!("/v1/threads/{target}/merge"), body)
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_merge_is_tried_made_listed_and_shown() {
    let server = Server::start();
    let ann = server.admin();
    let (target, source) = pair(&ann);
    put(&ann, &source, "f.txt", "1\n2\nthree\n");
    put(&ann, &source, "new.txt", "n\n");
    put(&ann, &target, "f.txt", "one\n2\n3\n");
    let at = format!("/v1/threads/{target}");
    let before = ann.get(&at).header("etag").expect("a version").to_owned();
    let tried = merge(&ann, &target, &source, json!({ "dryRun": true })).ok(200);
    assert_eq!((&tried["status"], tried["files"].as_array().map(Vec::len)), (&json!("clean"), Some(2)));
    assert!(tried.get("mergeId").is_none() && tried.get("version").is_none() && tried.get("createdAt").is_none());
    assert_eq!(ann.get(&at).header("etag"), Some(before.as_str()), "nothing was kept");
    let dry = json!({ "sources": [source], "dryRun": true }).to_string();
    let stale = ann.send("POST", &format!("{at}/merge"), "If-Match: \"1\"\r\n", Some(&dry));
    stale.refused(412, "version_conflict");
    let body = json!({ "sources": [source] }).to_string();
    let stale = ann.send("POST", &format!("{at}/merge"), "If-Match: \"1\"\r\n", Some(&body));
    stale.refused(412, "version_conflict");
    let reply = ann.send("POST", &format!("{at}/merge"), &format!("If-Match: {before}\r\n"), Some(&body));
    let done = reply.ok(201);
    assert_eq!(reply.header("etag"), Some(format!("\"{}\"", done["version"]).as_str()));
    assert_eq!(done["status"], "merged");
    let files: Vec<(&str, &str)> = done["files"].as_array().expect("files").iter().map(action).collect();
    assert_eq!(files, [("/f.txt", "merged"), ("/new.txt", "added")]);
    assert_eq!(done["files"][1]["from"][0]["threadId"], source.as_str());
    assert_eq!((&done["conflicts"], &done["values"], done.get("approvalId")), (&json!([]), &json!([]), None));
    assert_eq!((&done["by"]["type"], &done["sources"][0]["base"]["type"]), (&json!("human"), &json!("history")));
    assert_eq!(holds(&ann, &target, "f.txt"), "one\n2\nthree\n");
    let listed = ann.get(&format!("{at}/merges")).ok(200);
    assert_eq!((&listed["total"], &listed["items"][0]), (&json!(1), &done));
    let id = done["mergeId"].as_str().expect("an id");
    assert_eq!(ann.get(&format!("{at}/merges/{id}")).ok(200), done);
    ann.get(&format!("{at}/merges/00000000-0000-4000-8000-000000000000")).refused(404, "merge_not_found");
    ann.get(&format!("/v1/threads/{source}/merges/{id}")).refused(404, "merge_not_found");
}

fn action(file: &Value) -> (&str, &str) {
    (file["path"].as_str().expect("a path"), file["action"].as_str().expect("an action"))
}

#[test]
fn a_conflict_is_recorded_changes_nothing_and_says_what_to_choose_from() {
    let server = Server::start();
    let ann = server.admin();
    let (target, source) = pair(&ann);
    put(&ann, &target, "f.txt", "1\nours\n3\n");
    put(&ann, &source, "f.txt", "1\ntheirs\n3\n");
    put(&ann, &source, "new.txt", "n\n");
    let refused = merge(&ann, &target, &source, json!({})).ok(201);
    assert_eq!(refused["status"], "conflicted");
    let conflict = &refused["conflicts"][0];
    assert_eq!(
        (&conflict["type"], &conflict["detail"], &conflict["path"], &conflict["source"]),
        (&json!("file"), &json!("both_changed"), &json!("/f.txt"), &json!(source))
    );
    for side in ["base", "ours", "theirs"] {
        assert!(conflict[side].as_str().is_some_and(|hash| hash.len() >= 64), "{conflict}");
    }
    let marked = conflict["merged"].as_str().expect("both, with markers");
    assert!(marked.contains("<<<<<<<") && marked.contains("ours\n") && marked.contains("theirs\n"), "{marked}");
    assert!(conflict.get("resolved").is_none());
    assert_eq!(holds(&ann, &target, "f.txt"), "1\nours\n3\n");
    ann.get(&format!("/v1/threads/{target}/files/new.txt")).refused(404, "file_not_found");
    assert_eq!(ann.get(&format!("/v1/threads/{target}/merges")).ok(200)["total"], 1);
    let choices = json!({ "choices": [{ "path": "/f.txt", "content": "1\nboth\n3\n" }] });
    let done = merge(&ann, &target, &source, choices).ok(201);
    assert_eq!((&done["status"], &done["conflicts"][0]["resolved"]), (&json!("merged"), &json!("content")));
    assert_eq!(holds(&ann, &target, "f.txt"), "1\nboth\n3\n");
    for (wrong, field) in [
        (json!({ "colour": 1 }), "colour"),
        (json!({ "sources": [] }), "sources"),
        (json!({ "sources": [target] }), "sources"),
        (json!({ "validation": "rm -rf /" }), "validation"),
        (json!({ "conflictStrategy": { "file": "guess" } }), "conflictStrategy.file"),
        (json!({ "conflictStrategy": { "files": "ours" } }), "conflictStrategy.files"),
        (json!({ "choices": [{ "path": "/f.txt" }] }), "choices"),
        (json!({ "artifactScope": ["["] }), "artifactScope"),
        (json!({ "artifactScope": vec!["a"; 101] }), "artifactScope"),
    ] {
        let refused = merge(&ann, &target, &source, wrong.clone()).refused(400, "invalid_body");
        assert!(refused["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{wrong} {field} {refused}");
    }
    let unknown = "T-00000000-0000-4000-8000-000000000000";
    merge(&ann, &target, unknown, json!({})).refused(404, "thread_not_found");
    let (bob, _) = server.keyed("bob", "write");
    let own = bob.thread(&["x"]);
    merge(&bob, &own, &source, json!({})).refused(404, "thread_not_found");
}

#[test]
fn a_check_runs_over_the_merged_files_and_what_it_says_is_kept() {
    let server = checking("cat f.txt sub/new.txt; echo to-stderr >&2", "echo no; exit 3", LONG);
    let ann = server.admin();
    let (target, source) = pair(&ann);
    put(&ann, &target, "f.txt", "one\n2\n3\n");
    put(&ann, &source, "f.txt", "1\n2\nthree\n");
    put(&ann, &source, "sub/new.txt", "n\n");
    let failed = merge(&ann, &target, &source, json!({ "validation": "test" })).ok(201);
    assert_eq!((&failed["status"], &failed["conflicts"][0]["type"]), (&json!("failed"), &json!("code_dependency")));
    let said = json!({ "validation": "test", "passed": false, "exitCode": 3, "output": "no\n" });
    assert_eq!(failed["validation"], said);
    assert_eq!(holds(&ann, &target, "f.txt"), "one\n2\n3\n", "nothing changed");
    let tried = merge(&ann, &target, &source, json!({ "validation": "compile", "dryRun": true })).ok(200);
    assert_eq!((&tried["status"], &tried["validation"]["passed"]), (&json!("clean"), &json!(true)));
    let done = merge(&ann, &target, &source, json!({ "validation": "compile" })).ok(201);
    assert_eq!(done["status"], "merged");
    assert_eq!(done["validation"]["output"], "one\n2\nthree\nn\nto-stderr\n");
    let id = failed["mergeId"].as_str().expect("an id");
    assert_eq!(ann.get(&format!("/v1/threads/{target}/merges/{id}")).ok(200)["validation"], said);
}

#[test]
fn a_check_that_nobody_configured_is_refused() {
    let server = checking("", "true", LONG);
    let ann = server.admin();
    let (target, source) = pair(&ann);
    put(&ann, &source, "new.txt", "n\n");
    merge(&ann, &target, &source, json!({ "validation": "compile" })).refused(409, "validation_not_configured");
    assert_eq!(ann.get(&format!("/v1/threads/{target}/merges")).ok(200)["total"], 0);
    assert_eq!(merge(&ann, &target, &source, json!({ "validation": "test" })).ok(201)["status"], "merged");
}

#[test]
fn a_check_that_takes_too_long_is_ended_with_all_it_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let pids = folder.path().join("pids");
    let command = format!("sleep 600 & echo $! $$ > {}; pwd; wait", pids.display());
    let server = checking("", &command, Duration::from_millis(500));
    let ann = server.admin();
    let (target, source) = pair(&ann);
    put(&ann, &source, "new.txt", "n\n");
    let failed = merge(&ann, &target, &source, json!({ "validation": "test" })).ok(201);
    let said = &failed["validation"];
    assert_eq!((&failed["status"], &said["timedOut"], said.get("exitCode")), (&json!("failed"), &json!(true), None));
    let started = std::fs::read_to_string(pids).expect("it ran");
    for pid in started.split_whitespace() {
        assert!(is_gone(pid), "{pid} goes on");
    }
    let at = said["output"].as_str().expect("a folder").trim();
    assert!(at.ends_with("/tree") && !std::path::Path::new(at).exists(), "{at} is gone");
}

#[test]
fn a_check_ends_with_the_request_that_asked_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let pid = folder.path().join("pid");
    let server = checking("", &format!("echo $$ > {0}.new; mv {0}.new {0}; sleep 600", pid.display()), LONG);
    let ann = server.admin();
    let (target, source) = pair(&ann);
    put(&ann, &source, "new.txt", "n\n");
    let body = json!({ "sources": [source], "validation": "test" }).to_string();
    let key = ann.key.as_ref().expect("a key");
    let head = format!("Host: {}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json", server.address());
    let asked =
        format!("POST /v1/threads/{target}/merge HTTP/1.1\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let mut socket = connect(server.address());
    socket.write_all(asked.as_bytes()).expect("it is sent");
    until("it runs", || pid.exists());
    let pid = std::fs::read_to_string(pid).expect("a process");
    drop(socket);
    until("it is ended", || is_gone(pid.trim()));
    assert_eq!(ann.get(&format!("/v1/threads/{target}/merges")).ok(200)["total"], 0);
}

/// Whether no process has this id; one that ended and was not asked how is none.
fn is_gone(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.is_empty() || state.contains(") Z ")
}

#[track_caller]
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG / 2, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_check_that_leaves_a_process_behind_is_not_waited_for_and_its_folder_is_removed() {
    let command = "sleep 600 & mkdir -p locked/in && touch locked/in/x && chmod 555 locked/in locked; pwd";
    let server = checking(command, "", LONG);
    let ann = server.admin();
    let (target, source) = pair(&ann);
    put(&ann, &source, "new.txt", "n\n");
    let begun = std::time::Instant::now();
    let done = merge(&ann, &target, &source, json!({ "validation": "compile" })).ok(201);
    assert_eq!(done["status"], "merged");
    assert!(begun.elapsed() < LONG / 2, "{:?}", begun.elapsed());
    let at = done["validation"]["output"].as_str().expect("a folder").trim().to_owned();
    assert!(!std::path::Path::new(&at).parent().expect("a folder").exists(), "{at} is gone");
}

#[test]
fn of_a_long_output_the_end_is_kept_and_bytes_that_are_no_text_are_shown() {
    let server = checking("yes line | head -c 300000; printf 'a\\377b\\nlast\\n'", "", LONG);
    let ann = server.admin();
    let (target, source) = pair(&ann);
    put(&ann, &source, "new.txt", "n\n");
    let done = merge(&ann, &target, &source, json!({ "validation": "compile" })).ok(201);
    let output = done["validation"]["output"].as_str().expect("an output");
    assert!(output.ends_with("a\u{fffd}b\nlast\n"), "{}", &output[output.len() - 40..]);
    assert!(((64 << 10)..=(64 << 10) + 8).contains(&output.len()), "{}", output.len());
}

#[test]
fn a_check_sees_no_secrets_of_the_server_and_has_no_input() {
    let server = checking("env; echo in: $(cat | wc -c); ls -a; ls -a ..", "", LONG);
    let ann = server.admin();
    let (target, source) = pair(&ann);
    put(&ann, &source, ".hidden", "h\n");
    let done = merge(&ann, &target, &source, json!({ "validation": "compile" })).ok(201);
    let output = done["validation"]["output"].as_str().expect("an output");
    let of_the_shell = ["PWD", "OLDPWD", "SHLVL", "_"];
    let (environment, rest) = output.split_once("in: 0\n").expect("no input");
    for line in environment.lines() {
        let name = line.split('=').next().expect("a name");
        assert!(["PATH", "HOME", "LANG", "TMPDIR"].contains(&name) || of_the_shell.contains(&name), "{line}");
    }
    let home = environment.lines().find_map(|line| line.strip_prefix("HOME=")).expect("a home");
    assert!(home.contains("threadkeep-merge-"), "{home}");
    assert_eq!(
        rest.split_whitespace().collect::<Vec<_>>(),
        [".", "..", ".hidden", "f.txt", ".", "..", "home", "tmp", "tree"]
    );
}

#[test]
fn a_merge_waits_for_an_approval_is_checked_again_and_then_happens() {
    let server = checking("", "! grep -q broken f.txt", LONG);
    let ann = server.admin();
    let (target, source) = pair(&ann);
    put(&ann, &source, "f.txt", "1\n2\nthree\n");
    let asking = json!({ "validation": "test", "requiresApproval": true });
    let waits = merge(&ann, &target, &source, asking.clone()).ok(201);
    assert_eq!((&waits["status"], &waits["validation"]["passed"]), (&json!("pending_approval"), &json!(true)));
    assert_eq!(holds(&ann, &target, "f.txt"), "1\n2\n3\n");
    let text = |value: &Value| value.as_str().expect("an id").to_owned();
    let (id, approval) = (text(&waits["mergeId"]), text(&waits["approvalId"]));
    let listed = ann.get("/v1/approvals").ok(200);
    assert_eq!(
        (&listed["items"][0]["id"], &listed["items"][0]["scope"]),
        (&json!(approval), &json!(["approve_merge"]))
    );
    ann.post(&format!("/v1/approvals/{approval}/approve"), json!({})).ok(200);
    let record = |id: &str| ann.get(&format!("/v1/threads/{target}/merges/{id}")).ok(200);
    assert_eq!(record(&id)["status"], "merged");
    assert_eq!(holds(&ann, &target, "f.txt"), "1\n2\nthree\n");
    // The target changes while the next merge waits, and the combined result does not pass the check.
    put(&ann, &source, "f.txt", "1\n2\nthree\n4\n");
    let waits = merge(&ann, &target, &source, asking).ok(201);
    put(&ann, &target, "f.txt", "broken\n2\nthree\n");
    ann.post(&format!("/v1/approvals/{}/approve", text(&waits["approvalId"])), json!({})).ok(200);
    let failed = record(&text(&waits["mergeId"]));
    assert_eq!((&failed["status"], &failed["validation"]["passed"]), (&json!("failed"), &json!(false)));
    assert_eq!(holds(&ann, &target, "f.txt"), "broken\n2\nthree\n");
}

#[test]
fn an_agent_needs_authority_to_merge_and_more_to_have_a_command_run() {
    let server = checking("true", "", LONG);
    let ann = server.admin();
    let new = json!({ "account": "local", "scope": "write", "agent": true, "name": "coder" });
    let coder = server.with_key(ann.post("/v1/keys", new).ok(201)["key"].as_str().expect("a key"));
    let (target, source) = pair(&ann);
    put(&ann, &source, "new.txt", "n\n");
    merge(&coder, &target, &source, json!({})).refused(403, "approval_required");
    let give = |what: &str| {
        let body = json!({ "direction": "delegate", "scope": [what], "to": "coder" });
        ann.post(&format!("/v1/threads/{target}/transfer"), body).ok(201);
    };
    give("code_edit");
    merge(&coder, &target, &source, json!({ "validation": "compile" })).refused(403, "approval_required");
    give("execute_command");
    let done = merge(&coder, &target, &source, json!({ "validation": "compile" })).ok(201);
    assert_eq!((&done["status"], &done["by"]["name"]), (&json!("merged"), &json!("coder")));
}
