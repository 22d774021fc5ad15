//! `tail`: one process follows what others write.

use crate::support::Keep;

#[test]
pub fn a_tail_catches_up_then_follows_another_process_without_gap_or_repeat() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "before");
    let tail = keep.start(&["tail", &thread, "--json"]);
    assert_eq!(tail.next_json()["data"]["content"], "before");
    let mut writer = keep.start(&["say", &thread, "--lines"]);
    for number in 0..300 {
        writer.tell(&number.to_string());
    }
    for number in 0..300u64 {
        let entry = tail.next_json();
        assert_eq!((&entry["version"], &entry["kind"]), (&(number + 2).into(), &"message_appended".into()));
        assert_eq!(entry["data"]["content"], number.to_string());
    }
    assert!(writer.end().0.success());
    keep.ok(&["rollback", &thread, "--to-version", "1"]);
    let entry = tail.next_json();
    assert_eq!((&entry["version"], &entry["kind"]), (&302.into(), &"rolled_back".into()));
    tail.signal("INT");
    assert_eq!(tail.next_line(), None);
    let (status, stderr) = tail.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
pub fn a_tail_begins_after_a_version_or_from_now_on() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    for text in ["a", "b", "c"] {
        keep.say(&thread, text);
    }
    let contents = |args: &[&str]| -> Vec<String> {
        let args: Vec<&str> = ["tail", &thread, "--no-follow", "--json"].iter().chain(args).copied().collect();
        let lines = keep.ok(&args);
        lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["data"]["content"].to_string())
            .collect()
    };
    assert_eq!(contents(&[]), ["\"a\"", "\"b\"", "\"c\""]);
    assert_eq!(contents(&["--after", "2"]), ["\"c\""]);
    assert_eq!(contents(&["--after", "latest"]), Vec::<String>::new());
    keep.run(&["tail", &thread, "--after", "4"]).refused(2, &["version 4 lies in the future"]);
    keep.run(&["tail", &thread, "--after", "soon"]).refused(2, &["is not a version"]);
    let fork = keep.ok(&["fork", &thread, "--message-index", "1"]);
    let inherited = keep.ok(&["tail", &fork, "--no-follow"]);
    assert_eq!(inherited.lines().count(), 2, "{inherited}");
}

#[test]
pub fn a_tail_ends_when_the_thread_is_deleted_elsewhere() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "a");
    let tail = keep.start(&["tail", &thread]);
    assert!(tail.next_line().expect("a line").contains("user: a"));
    keep.ok(&["rm", &thread]);
    assert_eq!(tail.next_line(), None);
    let (status, stderr) = tail.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), "the thread was deleted"));
}

#[test]
pub fn a_tail_without_a_thread_follows_everything() {
    let keep = Keep::new();
    let first = keep.create("First");
    let tail = keep.start(&["tail", "--json", "--from-start"]);
    let next = || {
        let entry = tail.next_json();
        let thread = entry["threadId"].as_str().expect("a thread").to_owned();
        (entry["kind"].as_str().expect("a kind").to_owned(), thread, entry["cursor"].as_u64().expect("a cursor"))
    };
    assert_eq!(next().0, "thread_created");
    keep.say(&first, "a");
    let large = "x".repeat(100_000);
    keep.run_with(&["say", &first, "-"], large.as_bytes()).ok();
    let second = keep.ok(&["fork", &first]);
    keep.ok(&["truncate", &first, "--from-index", "0"]);
    keep.ok(&["rm", &second]);
    let mut seen = Vec::new();
    let mut last = 0;
    loop {
        let (kind, thread, cursor) = next();
        assert!(cursor > last, "cursors rise");
        last = cursor;
        seen.push((kind.clone(), thread));
        if kind == "thread_deleted" {
            break;
        }
    }
    let expected = [
        ("message_appended", &first),
        ("message_appended", &first),
        ("forked", &first),
        ("thread_created", &second),
        ("truncated", &first),
        ("thread_deleted", &second),
    ];
    assert_eq!(seen, expected.map(|(kind, thread)| (kind.to_owned(), thread.clone())));
    tail.signal("INT");
    assert_eq!(tail.end().0.code(), Some(0));
    let rest = keep.ok(&["tail", "--no-follow", "--after", &(last - 1).to_string()]);
    assert_eq!(rest, format!("{}  thread_deleted", &second[26..]));
    assert_eq!(keep.ok(&["tail", "--no-follow", "--after", "latest"]), "");
}

#[test]
pub fn a_tail_whose_reader_is_gone_ends_without_another_entry() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "a");
    let mut child = keep.command(&["tail", &thread]).stdout(std::process::Stdio::piped()).spawn().expect("it starts");
    let mut first = [0; 1];
    std::io::Read::read_exact(&mut child.stdout.take().expect("stdout"), &mut first).expect("a line");
    assert_eq!(crate::support::wait(&mut child).code(), Some(0));
}
