//! Stories end to end.

use crate::support::{Keep, run, threadkeep};

#[test]
pub fn the_first_five_minutes() {
    let folder = tempfile::tempdir().expect("a folder");
    let keep = |args: &[&str]| {
        let mut command = threadkeep();
        command.current_dir(folder.path()).args(args);
        run(command, b"")
    };
    let error = keep(&["show", "x"]).refused(3, &["there is no store at ./threadkeep-data/threadkeep.db"]);
    let hint = error.lines().find_map(|line| line.strip_prefix("hint: threadkeep ")).expect("a hint");
    assert_eq!(hint, "new \"My first thread\"");
    assert!(!folder.path().join("threadkeep-data").exists(), "reading makes nothing");

    let thread = keep(&["create", "My first thread"]).ok();
    assert!(thread.starts_with("T-"), "{thread}");
    let short = &thread[26..];
    keep(&["say", short, "Hello!"]).ok();
    keep(&["say", &short[..4], "Hello.", "What", "shall", "we", "build?", "--role", "assistant"]).ok();
    let shown = keep(&["show", &thread]).ok();
    assert!(shown.starts_with(&format!("My first thread  ({short}, version 2, 2 messages)")), "{shown}");
    assert!(shown.contains("\nuser  M-") && shown.contains("\n  Hello!\n"), "{shown}");
    assert!(shown.ends_with("\n  Hello. What shall we build?"), "{shown}");
    let listed = keep(&["ls"]).ok();
    assert!(listed.contains(short) && listed.contains("My first thread"), "{listed}");
    assert!(keep(&["doctor"]).ok().ends_with("healthy"));
}

#[test]
pub fn a_hint_works_when_it_is_pasted() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_threadkeep")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let paste = |command: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.current_dir(folder.path()).env("PATH", &path).args(["-c", command]);
        run(shell, b"")
    };
    let hint = |error: &str| error.lines().find_map(|line| line.strip_prefix("hint: ")).expect("a hint").to_owned();
    let error = paste("threadkeep --data \"it's here\" show x").refused(3, &[]);
    let thread = paste(&hint(&error)).ok();
    let error = paste("threadkeep --data \"it's here\" show 000000000000").refused(3, &[]);
    assert!(paste(&hint(&error)).ok().contains("My first thread"));
    for command in ["fork T --message-index 9", "rollback T --checkpoint x", "rollback T --undo", "show T --as-of 9"] {
        let ran = paste(&format!("threadkeep --data \"it's here\" {}", command.replace('T', &thread)));
        assert!(ran.code != Some(0), "{ran:?}");
        paste(&hint(&ran.stderr)).ok();
    }
}

#[test]
pub fn a_data_folder_or_the_environment_names_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = threadkeep();
    command.current_dir(folder.path()).args(["--data", "here", "create", "A"]);
    let thread = run(command, b"").ok();
    assert!(folder.path().join("here/threadkeep.db").exists());
    for (name, value) in [("THREADKEEP_DATA", "here"), ("THREADKEEP_STORE", "here/threadkeep.db")] {
        let mut command = threadkeep();
        command.current_dir(folder.path()).env(name, value).args(["show", &thread]);
        run(command, b"").ok();
    }
}

#[test]
pub fn a_thread_is_forked_rolled_back_truncated_and_undone() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    for text in ["a", "b", "c"] {
        keep.say(&thread, text);
    }
    let fork = keep.ok(&["fork", &thread, "--message-index", "1"]);
    keep.say(&fork, "d");
    assert_eq!(keep.conversation(&fork), "user: a | user: b | user: d");
    assert_eq!(keep.conversation(&thread), "user: a | user: b | user: c");
    assert_eq!(keep.json(&["show", &fork])["thread"]["title"], "Forked: Work");

    keep.ok(&["checkpoint", &thread, "three"]);
    keep.ok(&["truncate", &thread, "--from-index", "1"]);
    assert_eq!(keep.conversation(&thread), "user: a");
    keep.ok(&["rollback", &thread, "--undo"]);
    assert_eq!(keep.conversation(&thread), "user: a | user: b | user: c");
    keep.ok(&["rollback", &thread, "--to-version", "1"]);
    assert_eq!(keep.conversation(&thread), "user: a");
    let at = keep.version(&thread);
    keep.ok(&["rollback", &thread, "--checkpoint", "three"]);
    assert_eq!(keep.conversation(&thread), "user: a | user: b | user: c");
    assert_eq!(keep.conversation_by(&["show", &thread, "--as-of", &at.to_string()]), "user: a");
    let second = keep.message_ids(&thread)[1].clone();
    keep.ok(&["truncate", &thread, "--from-message-id", &second]);
    assert_eq!(keep.conversation(&thread), "user: a");
    let now = keep.json(&["show", &thread])["thread"]["created"].as_str().expect("a time").to_owned();
    keep.ok(&["rollback", &thread, "--timestamp", &now]);
    assert_eq!(keep.conversation(&thread), "");
    assert_eq!(keep.conversation(&fork), "user: a | user: b | user: d", "a fork is on its own");
    let by_id = keep.ok(&["fork", &fork, "--message-id", &second, "--title", "By id"]);
    assert_eq!(keep.conversation(&by_id), "user: a | user: b");
    let by_version = keep.ok(&["fork", &thread, "--version", "3"]);
    assert_eq!(keep.conversation(&by_version), "user: a | user: b | user: c");
    assert_eq!(keep.json(&["checkpoints", &thread])[0]["name"], "three");
    keep.ok(&["doctor"]);
}

#[test]
pub fn messages_are_inserted_edited_and_deleted() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let [first, second] = ["a", "b"].map(|text| keep.say(&thread, text));
    let between = keep.ok(&["insert", &thread, "--before", &second, "--role", "info", "between"]);
    assert_eq!(keep.conversation(&thread), "user: a | info: between | user: b");
    keep.ok(&["edit", &thread, &first, "A", "--metadata", r#"{"edited":true}"#]);
    keep.ok(&["edit", &thread, &first, "--metadata", r#"{"by":"me","edited":null}"#]);
    keep.ok(&["delete-message", &thread, &between]);
    assert_eq!(keep.conversation(&thread), "user: A | user: b");
    let shown = keep.json(&["show", &thread]);
    assert_eq!(shown["messages"]["items"][0]["metadata"], serde_json::json!({"by":"me"}));
    assert_eq!(keep.json(&["delete-message", &thread, &between])["deleted"], false);
    assert_eq!(keep.json(&["append-event", &thread, "result", r#"{"ok":true}"#])["version"], 7);
    assert_eq!(keep.conversation_by(&["show", &thread, "--as-of", "3"]), "user: a | info: between | user: b");
}

#[test]
pub fn what_is_said_keeps_its_role_name_metadata_depth_and_files() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    std::fs::write(keep.at("notes.txt"), b"\x00\xff bytes").expect("a file");
    let said = keep.json(&[
        "say",
        &thread,
        "done",
        "--role",
        "tool",
        "--name",
        "ls",
        "--metadata",
        r#"{"n":1.0}"#,
        "--silent",
        "--depth",
        "2",
        "--attach",
        "notes.txt",
        "--actor",
        "helper",
        "--agent",
    ]);
    assert_eq!(said["role"], "tool");
    assert_eq!(said["name"], "ls");
    assert_eq!((&said["silent"], &said["depth"]), (&true.into(), &2.into()));
    assert_eq!(said["actor"], serde_json::json!({"type":"agent","name":"helper"}));
    assert_eq!(said["attachments"][0]["name"], "notes.txt");
    assert_eq!(said["attachments"][0]["mimeType"], "text/plain");
    let attachment = said["attachments"][0]["id"].as_str().expect("an id");
    let message = said["id"].as_str().expect("an id");
    let output = keep.command(&["show", &thread, "--attachment", attachment, "--message", message]).output();
    assert_eq!(output.expect("it ran").stdout, b"\x00\xff bytes");
    assert_eq!(keep.conversation_by(&["show", &thread]), "", "silent messages are hidden");
    assert_eq!(keep.conversation(&thread), "tool: done");

    let parts = r#"[{"type":"text","text":"x"},{"type":"tool_use","id":"1","name":"ls","input":{"z":1.0,"a":1e2}}]"#;
    keep.run_with(&["say", &thread, "--content", "-", "--role", "assistant"], parts.as_bytes()).ok();
    let printed = keep.ok(&["show", &thread, "--json"]);
    assert!(printed.contains(parts), "parts are passed through to the letter: {printed}");
    assert!(keep.ok(&["show", &thread]).contains("[calls ls {"));
    keep.run_with(&["say", &thread, "-"], "from\nstdin\n".as_bytes()).ok();
    assert!(keep.conversation(&thread).ends_with("user: from\nstdin"));
}

#[test]
pub fn a_retry_under_a_key_adds_nothing() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let say = |text: &str| keep.run(&["say", &thread, text, "--idempotency-key", "k"]);
    assert_eq!(say("once").ok(), say("once").ok());
    assert_eq!(keep.conversation(&thread), "user: once");
    say("other").refused(2, &["idempotency key"]);
}

#[test]
pub fn a_write_that_expects_another_version_is_a_conflict() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let message = keep.say(&thread, "a");
    let before = keep.everything();
    for args in [
        &["say", &thread, "x"][..],
        &["append-event", &thread, "result", "{}"],
        &["insert", &thread, "x", "--before", &message],
        &["edit", &thread, &message, "x"],
        &["delete-message", &thread, &message],
        &["update", &thread, "--title", "x"],
        &["fork", &thread],
        &["rollback", &thread, "--to-version", "0"],
        &["truncate", &thread, "--from-index", "0"],
        &["checkpoint", &thread, "x"],
        &["delete", &thread],
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["--expected-version", "7", "--json"]).collect();
        let error = keep.run(&args).refused(5, &["version_conflict", "\"currentVersion\":1"]);
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert_eq!(keep.everything(), before);
    keep.ok(&["say", &thread, "b", "--expected-version", "1"]);
}

#[test]
pub fn a_record_is_updated_and_cleared_and_archiving_hides_a_thread() {
    let keep = Keep::new();
    let thread = keep.ok(&["create", "A", "--agent-id", "w", "--task-id", "t", "--project-id", "p"]);
    let updated = keep.json(&[
        "update",
        &thread,
        "--title",
        "B",
        "--metadata",
        r#"{"k":[1]}"#,
        "--set",
        "maxTokens=5",
        "--clear",
        "taskId",
    ]);
    assert_eq!((&updated["title"], &updated["maxTokens"]), (&"B".into(), &5.into()));
    assert_eq!(updated["metadata"], serde_json::json!({"k":[1]}));
    assert_eq!((updated.get("taskId"), &updated["agentId"]), (None, &"w".into()));
    keep.ok(&["update", &thread, "--archived", "true"]);
    assert_eq!(keep.ok(&["list", "--json"]), "[]");
    assert_eq!(keep.json(&["list", "--archived"])[0]["id"], thread.as_str());
    keep.ok(&["update", &thread, "--archived", "false"]);
    assert_eq!(keep.json(&["list", "--agent-id", "w"])[0]["id"], thread.as_str());
    assert_eq!(keep.ok(&["list", "--agent-id", "x", "--json"]), "[]");
    keep.run(&["update", &thread, "--set", "lifecycle=\"archived\""]).refused(2, &["cannot be set directly"]);
    keep.run(&["update", &thread, "--set", "maxTokens"]).refused(2, &["FIELD=JSON"]);
    keep.run(&["update", &thread]).refused(2, &["at least one field"]);
}

#[test]
pub fn a_deleted_thread_is_gone_its_fork_lives_on_and_gc_gives_the_space_back() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.run_with(&["say", &thread, "-"], &vec![b'x'; 2_000_000]).ok();
    let fork = keep.ok(&["fork", &thread, "--version", "0"]);
    keep.say(&fork, "mine");
    let full = std::fs::metadata(keep.store()).expect("a store").len();
    assert_eq!(keep.json(&["rm", &thread])["deleted"], true);
    assert_eq!(keep.json(&["rm", &thread])["deleted"], false);
    keep.run(&["say", &thread, "late"]).refused(3, &["there is no thread", "hint: threadkeep --"]);
    let freed = keep.json(&["gc", "--vacuum"]);
    assert_eq!(freed["blobs"], 1);
    assert!(freed["bytes"].as_u64().expect("bytes") > 1_500_000, "{freed}");
    assert!(std::fs::metadata(keep.store()).expect("a store").len() < full - 1_500_000);
    assert_eq!(keep.conversation(&fork), "user: mine");
    keep.ok(&["doctor"]);
}

#[test]
pub fn a_family_is_drawn() {
    let keep = Keep::new();
    let root = keep.create("Root");
    keep.say(&root, "a");
    let one = keep.ok(&["fork", &root, "--title", "One"]);
    let two = keep.ok(&["fork", &root, "--title", "Two"]);
    let deep = keep.ok(&["fork", &one, "--title", "Deep"]);
    let short = |id: &str| id[26..].to_owned();
    let expected = format!(
        "{}  Root  (1 message)\n├─ fork after message 0: {}  One  (1 message) *\n│  └─ fork after message 0: {}  Deep  \
         (1 message)\n└─ fork after message 0: {}  Two  (1 message)",
        short(&root),
        short(&one),
        short(&deep),
        short(&two)
    );
    assert_eq!(keep.ok(&["tree", &one]), expected);
    let tree = keep.json(&["tree", &deep]);
    assert_eq!(tree["threadId"], deep.as_str());
    assert_eq!(tree["threads"].as_array().map(Vec::len), Some(4));
    assert_eq!(tree["relations"][0]["type"], "fork");
}

#[test]
pub fn pages_go_on_where_the_last_one_ended() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let lines: String = (0..120).map(|number| format!("{number}\n")).collect();
    keep.run_with(&["say", &thread, "--lines"], lines.as_bytes()).ok();
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut args = vec!["show", &thread, "--limit", "50"];
        args.extend(cursor.iter().flat_map(|cursor| ["--cursor", cursor]));
        let page = keep.json(&args);
        assert_eq!(page["messages"]["total"], 120);
        let items = page["messages"]["items"].as_array().expect("messages");
        seen.extend(items.iter().map(|item| item["content"].as_str().expect("text").to_owned()));
        keep.say(&thread, "added meanwhile");
        keep.ok(&["rollback", &thread, "--to-version", "120"]);
        match page["messages"]["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, (0..120).map(|number| number.to_string()).collect::<Vec<_>>());
    let newest = keep.conversation_by(&["show", &thread, "--newest-first", "--limit", "2"]);
    assert_eq!(newest, "user: 119 | user: 118");
    let shown = keep.run(&["show", &thread, "--limit", "2"]);
    assert!(shown.stderr.contains("2 of 120 messages; go on with: threadkeep --"), "{shown:?}");
    for _ in 0..3 {
        keep.create("More");
    }
    let listed = keep.run(&["list", "--limit", "2", "--json"]);
    let cursor = listed.stderr.trim().rsplit_once("--cursor ").expect("a cursor").1;
    assert_eq!(keep.json(&["list", "--limit", "2", "--cursor", cursor]).as_array().map(Vec::len), Some(2));
}

#[test]
pub fn a_thread_is_named_by_its_id_its_short_id_or_a_prefix_that_names_no_other() {
    let keep = Keep::new();
    let thread = keep.create("A");
    let upper = format!("T-{}", thread[2..].to_uppercase());
    for name in [&thread[..], &thread[26..], &thread[26..30], &thread[26..37], &thread[..6], &thread[..20], &upper] {
        assert_eq!(keep.json(&["show", name])["thread"]["id"], thread.as_str(), "{name}");
    }
    keep.run(&["show", &thread[26..29]]).refused(2, &["at least 4 digits"]);
    let unknown = if thread[26..].starts_with("0000") { "ffff" } else { "0000" };
    keep.run(&["show", unknown]).refused(3, &["there is no thread whose id begins with"]);
}

#[test]
pub fn a_prefix_of_several_ids_is_refused_with_the_candidates() {
    let keep = Keep::new();
    let thread = keep.create("First");
    // A second thread whose id differs in its last digits only, by way of an export.
    let export = keep.everything();
    let last = thread.chars().last().expect("a digit");
    let twin = format!("{}{}", &thread[..37], if last == '0' { '1' } else { '0' });
    let segment = &export[export.find("\"id\":\"").expect("a segment") + 6..][..16];
    let other = if segment.starts_with('1') { '2' } else { '1' };
    let export = export.replace(&thread, &twin).replace(segment, &format!("{other}{}", &segment[1..]));
    keep.run_with(&["import", "-"], format!("{export}\n").as_bytes()).ok();
    for prefix in [&thread[26..32], &thread[..12]] {
        keep.run(&["show", prefix]).refused(2, &["several threads", &thread, &twin]);
    }
    assert_eq!(keep.json(&["show", &twin])["thread"]["id"], twin.as_str());
}

#[test]
pub fn output_that_nobody_reads_ends_the_command_silently() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let lines: String = (0..3_000).map(|number| format!("{number} {}\n", "x".repeat(100))).collect();
    keep.run_with(&["say", &thread, "--lines"], lines.as_bytes()).ok();
    for args in
        [&["show", &thread, "--all"][..], &["show", &thread, "--all", "--json"], &["export"], &["tail", &thread]]
    {
        let mut running = keep
            .command(args)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stdout = running.stdout.take().expect("stdout");
        let mut first = [0; 10];
        std::io::Read::read_exact(&mut stdout, &mut first).expect("it prints");
        drop(stdout);
        let ended = crate::support::wait(&mut running);
        let mut stderr = String::new();
        std::io::Read::read_to_string(&mut running.stderr.take().expect("stderr"), &mut stderr).expect("stderr");
        assert_eq!((ended.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
pub fn work_is_handed_on_and_threads_name_each_other() {
    let keep = Keep::new();
    let thread = keep.create("Parser");
    keep.say(&thread, "We decided to write src/parser.rs by hand.");
    let child = keep.json(&["handoff", &thread, "Write the tests", "--comment", "tests"])["id"].clone();
    let child = child.as_str().expect("an id");
    let shown = keep.json(&["show", child]);
    let said = |n: usize| shown["messages"]["items"][n]["content"].as_str().expect("text").to_owned();
    assert!(said(0).contains("src/parser.rs") && said(0).contains("decided"), "{}", said(0));
    assert_eq!((said(1).as_str(), &shown["messages"]["items"][0]["role"]), ("Write the tests", &"info".into()));
    assert_eq!(keep.json(&["summary", &thread])["summary"], said(0));
    let mention = keep.json(&["mention", child, &thread]);
    assert_eq!((&mention["type"], &mention["role"]), (&"mention".into(), &"parent".into()));
    let seen = keep.json(&["relationships", &thread]);
    let kinds: Vec<_> = seen.as_array().expect("a list").iter().map(|seen| (&seen["type"], &seen["role"])).collect();
    let (handoff, named): (serde_json::Value, serde_json::Value) = ("handoff".into(), "mention".into());
    assert_eq!(kinds, [(&handoff, &"parent".into()), (&named, &"child".into())]);
    assert_eq!(seen[0]["comment"], "tests");
    assert!(keep.run(&["tree", &thread]).ok().contains("handoff after message 0"));
    keep.run(&["handoff", &thread, " "]).refused(2, &["GOAL"]);
    keep.run(&["mention", &thread, &thread]).refused(2, &["TARGET"]);
}

#[test]
pub fn threads_are_listed_by_any_filter() {
    let keep = Keep::new();
    let notes = keep.create("Release notes");
    let plan = keep.create("release PLAN");
    keep.ok(&["update", &notes, "--metadata", r#"{"by":{"id":7},"tags":["urgent"]}"#]);
    keep.ok(&["update", &plan, "--set", "projectId=\"p\"", "--set", "visibility=\"public\""]);
    let fork = keep.ok(&["fork", &plan]).trim().to_owned();
    let ids = |args: &[&str]| -> Vec<String> {
        let listed = keep.json(&[&["list"], args].concat());
        let rows = listed.as_array().expect("an array");
        rows.iter().map(|row| row["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(&["--title", "release", "--sort", "created"]), [&*fork, &*plan, &*notes]);
    assert_eq!(ids(&["--metadata", r#"{"by":{"id":7.0}}"#]), [&*notes]);
    assert_eq!(ids(&["--tag", "urgent"]), [&*notes]);
    assert_eq!(ids(&["--visibility", "public", "--project-id", "p"]), [&*plan]);
    assert_eq!(ids(&["--created-after", "2020-01-01", "--updated-before", "2020-01-01"]), [""; 0]);
    assert_eq!(ids(&["--lifecycle", "completed"]), [""; 0]);
    keep.ok(&["update", &notes, "--archived", "true"]);
    assert_eq!(ids(&["--tag", "urgent", "--archived=any"]), [&*notes]);
    assert_eq!(ids(&["--archived", "--tag", "urgent"]), [&*notes]);
    let row = &keep.json(&["list", "--title", "forked"])[0];
    assert_eq!(row["parentRelationships"][0]["threadId"], plan.as_str());
    assert_eq!(row["parentRelationships"][0]["role"], "child");
    assert_eq!(row["diffStats"]["files"], serde_json::json!({"added": 0, "changed": 0, "removed": 0}));
    assert!(row["userLastInteractedAt"].is_string() && row.get("messages").is_none(), "{row}");
    let page = keep.json(&["list", "--offset", "1", "--limit", "1"]);
    assert_eq!((page["items"].as_array().map(Vec::len), &page["total"]), (Some(1), &2.into()));
    assert_eq!(keep.json(&["list", "--offset", "9"])["items"], serde_json::json!([]));
    assert_eq!(keep.json(&["list", "--total", "--limit", "1"])["nextCursor"].as_str().map(str::len), Some(65));
    let people = keep.run(&["list", "--total"]);
    assert!(people.stdout.contains("release PLAN") && people.stderr.contains("2 threads in all"), "{people:?}");
    keep.run(&["list", "--sort", "title"]).refused(2, &["sort", "updated, created"]);
    keep.run(&["list", "--lifecycle", "sleeping"]).refused(2, &["lifecycle", "active, suspended"]);
    keep.run(&["list", "--updated-after", "soon"]).refused(2, &["--updated-after", "2026-01-31"]);
    keep.run(&["list", "--cursor", "t0", "--offset", "1"]).refused(2, &["offset"]);
}
