//! The command line does everything the API does: a tour of all commands, after which every route was asked.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::support::{Keep, Running};

/// Routes without a command, and why.
const WITHOUT: [(&str, &str); 29] = [
    ("POST /v1/runs/{run}/force-turn", "`run turn`; the run of the tour has one side"),
    ("POST /v1/threads/{thread}/variables/{request}", "`env set`, which reads each value from stdin"),
    ("POST /v1/import", "import sends files only with --server; here it writes beside the server"),
    ("GET /sign-in", "for browsers"),
    ("POST /sign-out", "for browsers"),
    ("GET /v1/me", "tells a page whose key it has"),
    ("GET /v1/ws", "tells a page what changes; `tail` shows it"),
    ("GET /v1/threads/{thread}/ws", "the same objects as the stream, for browsers"),
    ("POST /v1/tickets", "for browsers, which cannot send a key"),
    ("PUT /v1/projects/{project}", "update does it field by field"),
    ("GET /healthz", "for whoever watches the server"),
    ("GET /readyz", "for whoever watches the server"),
    ("GET /llms.txt", "a map for agents"),
    ("GET /metrics", "for programs that watch the server"),
    ("GET /openapi.json", "for programs that write clients"),
    ("GET /v1/runs/{run}/stream", "for programs that show a run"),
    ("GET /v1/runs/{run}/ws", "the same events as the stream, for browsers"),
    ("POST /v1/runs/{run}/delta", "for executors"),
    ("GET /v1/threads/{thread}/api/{endpoint}", "an endpoint of the user's own"),
    ("POST /v1/threads/{thread}/api/{endpoint}", "an endpoint of the user's own"),
    ("PUT /v1/threads/{thread}/api/{endpoint}", "an endpoint of the user's own"),
    ("PATCH /v1/threads/{thread}/api/{endpoint}", "an endpoint of the user's own"),
    ("DELETE /v1/threads/{thread}/api/{endpoint}", "an endpoint of the user's own"),
    ("GET /v1/definitions", "the tests of `agents` have a folder of definitions"),
    ("GET /v1/definitions/{kind}/{definition}", "the tests of `agents` have a folder of definitions"),
    ("POST /v1/definitions/reload", "the tests of `agents` have a folder of definitions"),
    ("GET /v1/threads/{thread}/tools/queue", "the tests of `tools` have a folder of definitions"),
    ("POST /v1/threads/{thread}/tools/{tool}/invoke", "the tests of `tools` have a folder of definitions"),
    ("POST /v1/threads/{thread}/tools/{tool}/queue", "the tests of `tools` have a folder of definitions"),
];

/// The routes as the server describes them; pages for people aside.
fn routes() -> BTreeSet<String> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../spec/openapi.json");
    let document = std::fs::read_to_string(document).expect("the golden file");
    let document: Value = serde_json::from_str(&document).expect("json");
    let of_path = |(path, methods): (&String, &Value)| {
        let methods = methods.as_object().expect("methods").keys();
        methods.map(|method| format!("{} {path}", method.to_uppercase())).collect::<Vec<_>>()
    };
    let all = document["paths"].as_object().expect("paths").iter().flat_map(of_path);
    all.filter(|route| !route.contains(" /docs")).collect()
}

/// The server's requests, by its log.
fn asked(log: &str, routes: &BTreeSet<String>) -> BTreeSet<String> {
    let fits = |route: &str, method: &str, path: &str| {
        let Some((expected, pattern)) = route.split_once(' ') else { return false };
        let (pattern, path): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
        let same = |(part, given): (&&str, &&str)| part.starts_with('{') || part == given;
        expected == method && pattern.len() == path.len() && pattern.iter().zip(&path).all(same)
    };
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let done = lines.filter(|line| line["status"].as_u64().is_some_and(|status| status < 300));
    done.flat_map(|line| {
        let (method, path) =
            (line["method"].as_str().unwrap_or("").to_owned(), line["path"].as_str().unwrap_or("").to_owned());
        routes.iter().filter(move |route| fits(route, &method, &path)).cloned().collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn every_route_has_a_command() {
    let routes = routes();
    assert!(routes.len() > 60, "{routes:?}");
    let mut keep = Keep::served();
    tour(&keep);
    keep.server().signal("TERM");
    let log: Vec<String> = std::iter::from_fn(|| keep.server().next_error()).collect();
    let asked = asked(&log.join("\n"), &routes);
    let without: BTreeSet<&str> = WITHOUT.iter().map(|(route, _)| *route).collect();
    let missing: Vec<_> = routes.difference(&asked).filter(|route| !without.contains(route.as_str())).collect();
    assert!(missing.is_empty(), "no command asks {missing:?}");
}

fn tour(keep: &Keep) {
    keep.ok(&["projects", "create", "P", "--id", "p"]);
    for args in [&["list"][..], &["show", "p"], &["update", "p", "--name", "Q"]] {
        let args: Vec<&str> = ["projects"].iter().chain(args).copied().collect();
        keep.ok(&args);
    }
    let memory = keep.ok(&["memory", "add", "Likes tea."]);
    for args in [&["list"][..], &["show", &memory], &["search", "tea"], &["edit", &memory, "Likes coffee."]] {
        let args: Vec<&str> = ["memory"].iter().chain(args).copied().collect();
        keep.ok(&args);
    }
    keep.ok(&["memory", "add", "The server is eu-2.", "--project-id", "p"]);
    keep.ok(&["memory", "list", "--project-id", "p"]);
    keep.ok(&["memory", "rm", &memory]);
    let thread = keep.ok(&["create", "Work", "--project-id", "p", "--message", "a"]);
    let message = keep.say(&thread, "b");
    let other = keep.ok(&["handoff", &thread, "Go on"]);
    let commands: [&[&str]; 38] = [
        &["context", &thread],
        &["sign-in"],
        &["backup", "all.db"],
        &["list"],
        &["show", &thread],
        &["show", &thread, "--message", &message],
        &["insert", &thread, "c", "--before", &message],
        &["edit", &thread, &message, "B"],
        &["append-event", &thread, "result", "{}"],
        &["events", &thread],
        &["history", &thread],
        &["update", &thread, "--title", "More work"],
        &["fork", &thread],
        &["mention", &thread, &other],
        &["checkpoint", &thread, "here"],
        &["checkpoints", &thread],
        &["delete-message", &thread, &message],
        &["truncate", &thread, "--from-index", "1"],
        &["rollback", &thread, "--undo"],
        &["redo", &thread],
        &["archive", &other],
        &["unarchive", &other],
        &["assign", &thread, "writer"],
        &["skill", &thread, "pdf"],
        &["model-messages", &thread],
        &["queue", &thread],
        &["tree", &thread],
        &["relationships", &thread],
        &["summary", &thread],
        &["writer", &thread],
        &["emit", &thread, "x"],
        &["keys", "list"],
        &["search", "work"],
        &["index", "backfill"],
        &["index", "status"],
        &["gc"],
        &["doctor"],
        &["export", "-o", "all.jsonl"],
    ];
    for args in commands {
        keep.ok(args);
    }
    keep.ok(&["import", "all.jsonl"]);
    keep.run_with(&["code", "run", "-", "--thread", &thread], b"export default 1").ok();
    keep.ok(&["code", "terminate", &thread, "none"]);
    files(keep, &thread);
    let child = keep.ok(&["subagent", &thread, "critic"]);
    assert_eq!(keep.ok(&["subagents", "variables", &thread, &child]), "");
    keep.ok(&["children", &thread]);
    keep.ok(&["parent", &child]);
    keep.ok(&["notify-parent", &child, "Half of it."]);
    keep.ok(&["status", &child, "running"]);
    keep.ok(&["terminate", &child]);
    let item = keep.ok(&["queue", &thread, "later"]);
    keep.ok(&["edit-queued", &thread, &item, "soon"]);
    keep.ok(&["remove-queued", &thread, &item]);
    let execution = keep.ok(&["begin", &thread]);
    keep.run(&["run", "turn", &thread, "b"]).refused(5, &["one side"]);
    assert!(keep.ok(&["run", "state", &thread]).contains("side a"));
    keep.ok(&["step", &thread, &execution, "hm"]);
    keep.ok(&["end", &thread, &execution]);
    keep.ok(&["begin", &thread]);
    keep.ok(&["end", &thread, "--cancel"]);
    let token = keep.ok(&["writer", &thread, "--take"]);
    keep.ok(&["writer", &thread, "--renew", "--token", &token]);
    keep.ok(&["writer", &thread, "--release", "--token", &token]);
    let key = keep.json(&["keys", "create", "--account", "ann"]);
    keep.ok(&["keys", "revoke", key["id"].as_str().expect("an id")]);
    let given = keep.create("Given");
    keep.ok(&["change-owner", &given, "ann"]);
    let injection = keep.ok(&["inject", &thread, "Only the standard library", "--type", "constraint"]);
    keep.ok(&["injections", &thread]);
    keep.ok(&["ack", &thread, &injection]);
    keep.ok(&["decide", &thread, "Which store?", "SQLite"]);
    keep.ok(&["decisions", &thread]);
    keep.ok(&["spawn", &thread, "Fix the flaky test", "--inherit", "full"]);
    keep.ok(&["lifecycle", &other, "suspend", "--reason", "later"]);
    keep.ok(&["resume", &other]);
    authority(keep, &thread, &other);
    merge(keep, &thread);
    follow(keep, &thread, &other);
    keep.ok(&["rm", &other]);
    keep.ok(&["projects", "delete", "p"]);
}

/// Approvals, delegations, references and observers.
fn authority(keep: &Keep, thread: &str, other: &str) {
    let ask =
        || keep.ok(&["transfer", thread, "--request-approval", "deploy", "--timeout", "10m", "--fallback", "skip"]);
    let asked = [ask(), ask(), ask()];
    assert_eq!(keep.json(&["approvals"]).as_array().expect("a list").len(), 3);
    keep.ok(&["approvals", &asked[0]]);
    for (command, id) in ["approve", "deny", "revoke"].into_iter().zip(&asked) {
        keep.ok(&[command, id, "--reason", "because"]);
    }
    keep.run(&["approve", &asked[1]]).refused(5, &["denied"]);
    let given = keep.ok(&["transfer", thread, "--delegate", "code_edit,tool:web", "--to", "coder", "--timeout", "P1D"]);
    assert!(keep.ok(&["delegations", thread]).contains("to coder"));
    keep.ok(&["revoke", &given]);
    let reference = keep.ok(&["reference", thread, other, "--binding", "live", "--scope", "messages"]);
    assert!(keep.ok(&["references", other]).contains("read by"));
    assert!(keep.ok(&["read-reference", &reference]).contains("Go on"));
    let whole = keep.ok(&["reference", other, thread]);
    keep.run(&["read-reference", &reference, "--files"]).refused(4, &["no files"]);
    keep.ok(&["read-reference", &whole, "--files"]);
    keep.run(&["read-reference", &whole, "--file", "/nowhere"]).refused(3, &["/nowhere"]);
    keep.run_with(&["write-file", thread, "/referred"], b"x").ok();
    keep.ok(&["set-value", thread, "referred", "1"]);
    let whole = keep.ok(&["reference", other, thread]);
    assert_eq!(keep.ok(&["read-reference", &whole, "--file", "/referred"]), "x");
    assert!(keep.ok(&["read-reference", &whole, "--values"]).contains("referred"));
    assert_eq!(keep.ok(&["read-reference", &whole, "--value", "referred"]), "1");
    let observer = keep.ok(&["observe", thread, other, "--events", "done"]);
    keep.ok(&["observers", thread]);
    keep.ok(&["observers", thread, &observer]);
    keep.ok(&["unobserve", thread, &observer]);
}

/// Merges: clean, tried, conflicted, chosen, approved.
fn merge(keep: &Keep, thread: &str) {
    let source = keep.ok(&["fork", thread]);
    let write = |thread: &str, path: &str, text: &str| {
        std::fs::write(keep.at("new.txt"), text).expect("a file");
        keep.ok(&["write-file", thread, path, "new.txt"]);
    };
    write(&source, "/m.txt", "theirs\n");
    keep.ok(&["set-value", &source, "m", "1"]);
    let tried = keep.ok(&["merge", thread, &source, "--dry-run"]);
    assert!(tried.starts_with("clean  1 file, 1 value would change\n  added    /m.txt  from "), "{tried}");
    write(thread, "/m.txt", "ours\n");
    let conflicted = keep.run(&["merge", thread, &source]);
    assert_eq!(conflicted.code, Some(5), "{conflicted:?}");
    for part in
        ["conflicted  ", "  nothing changed\n", "/m.txt  both added it\n", "--choose /m.txt=ours, theirs or union"]
    {
        assert!(conflicted.stdout.contains(part), "{part}: {conflicted:?}");
    }
    let one_file = ["--artifact-scope", "/m.txt"];
    let args = |more: &[&str]| -> Vec<String> {
        ["merge", thread, &source].iter().chain(&one_file).chain(more).map(|&arg| arg.to_owned()).collect()
    };
    let ok = |more: &[&str]| keep.ok(&args(more).iter().map(String::as_str).collect::<Vec<_>>());
    std::fs::write(keep.at("new.txt"), "both\n").expect("a file");
    assert!(ok(&["--dry-run", "--choose-content", "/m.txt=new.txt"]).contains("(resolved: content)"));
    let waits = ok(&["--choose", "/m.txt=theirs", "--requires-approval"]);
    assert!(waits.starts_with("pending_approval  ") && waits.contains("waits for approval"), "{waits}");
    let approval = waits.lines().next().and_then(|line| line.rsplit(' ').next()).expect("an id");
    keep.ok(&["approve", approval]);
    assert_eq!(keep.ok(&["read-file", thread, "/m.txt"]), "theirs");
    let listed = keep.json(&["merges", thread]);
    let states: Vec<&str> =
        listed.as_array().expect("a list").iter().map(|one| one["status"].as_str().expect("one")).collect();
    assert_eq!(states, ["conflicted", "merged"]);
    let id = listed[0]["mergeId"].as_str().expect("an id");
    assert!(keep.ok(&["merges", thread, id]).starts_with(&format!("conflicted  {id}  nothing changed")));
    keep.run(&["merge", thread, &source, "--choose", "/m.txt=mine"]).refused(2, &["PATH=ours"]);
    keep.run(&["merge", thread, &source, "--validation", "test"]).refused(5, &["merge-test"]);
}

fn files(keep: &Keep, thread: &str) {
    let commands: [&[&str]; 15] = [
        &["write-file", thread, "/a.txt"],
        &["read-file", thread, "/a.txt"],
        &["files", thread],
        &["files", thread, "--recursive"],
        &["find", thread, "*"],
        &["grep", thread, "x"],
        &["file-versions", thread, "/a.txt"],
        &["file-diff", thread, "/a.txt", "--from", "0"],
        &["mkdir", thread, "/d"],
        &["move-file", thread, "/a.txt", "/b.txt"],
        &["rmdir", thread, "/d"],
        &["delete-file", thread, "/b.txt"],
        &["set-value", thread, "k", "1"],
        &["get-value", thread, "k"],
        &["values", thread],
    ];
    for args in commands {
        keep.ok(args);
    }
    keep.ok(&["delete-value", thread, "k"]);
    for whose in [&["--thread", thread][..], &[]] {
        let with = |args: &[&'static str]| [args, whose].concat();
        keep.run_with(&with(&["env", "set", "TOUR", "--type", "text"]), b"a value\n").ok();
        assert_eq!(keep.ok(&with(&["env", "get", "TOUR"])), "a value");
        keep.ok(&with(&["env", "list"]));
        keep.ok(&with(&["env", "rm", "TOUR"]));
    }
    keep.ok(&["env", "list", "--instance"]);
    let effect = keep.ok(&["effects", "add", thread, "remind", "--delay", "1h", "--args", r#"{"to":"ann"}"#]);
    assert!(keep.ok(&["effects", "list", thread, "--name", "remind"]).contains(&effect));
    keep.ok(&["effects", "rm", thread, &effect]);
    assert_eq!(keep.ok(&["effects", "list", thread, "--json"]), "[]");
    assert_eq!(keep.ok(&["effects", "adopt"]), "adopted 0 effects");
    keep.ok(&["run", "list"]);
    keep.ok(&["run", "list", thread]);
    keep.ok(&["store", "rotate-key"]);
}

/// One thread, several, and those of a project.
fn follow(keep: &Keep, thread: &str, other: &str) {
    let end = |tail: Running| {
        tail.signal("INT");
        assert_eq!(tail.end().0.code(), Some(0));
    };
    let tail = keep.start(&["tail", thread]);
    tail.next_line().expect("a line");
    end(tail);
    let tail = keep.start(&["tail", thread, other, "--json", "--from-start"]);
    let first = tail.next_json();
    assert_eq!((&first["kind"], &first["threadId"]), (&"thread_created".into(), &thread.into()));
    let second = tail.next_json();
    end(tail);
    // It goes on where another one was.
    let tail = keep.start(&["tail", thread, other, "--json", "--after", first["cursor"].as_str().expect("a cursor")]);
    assert_eq!(tail.next_json(), second);
    end(tail);
    let tail = keep.start(&["tail", "--project-id", "p", "--from-start"]);
    assert!(tail.next_line().expect("a line").ends_with("thread_created"));
    end(tail);
    keep.run(&["tail", thread, other, "--after", "3"]).refused(2, &["cursor"]);
    keep.run(&["tail", thread, other, "--no-follow"]).refused(2, &["one thread"]);
    keep.run(&["tail", thread, "--after", "f1-abcdef"]).refused(2, &["is not a version"]);
}
