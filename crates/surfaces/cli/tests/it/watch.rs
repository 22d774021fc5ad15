//! `watch`: a thread as it is, again and again.

use crate::support::Keep;

#[test]
pub fn a_thread_is_watched_while_others_write_and_the_last_state_is_always_shown() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "before");
    let watch = keep.start(&["watch", &thread, "--json"]);
    let first = watch.next_json();
    assert_eq!((&first["v"], &first["messageCount"], &first["title"]), (&1.into(), &1.into(), &"Work".into()));
    assert_eq!(first["lastMessage"]["content"], "before");
    let mut writer = keep.start(&["say", &thread, "--lines"]);
    for number in 0..100 {
        writer.tell(&number.to_string());
    }
    assert!(writer.end().0.success());
    let mut version = 1;
    while version < 101 {
        let shown = watch.next_json();
        assert!(shown["v"].as_u64().is_some_and(|shown| shown > version), "{shown}");
        version = shown["v"].as_u64().expect("a version");
    }
    watch.signal("INT");
    assert_eq!(watch.next_line(), None);
    let (status, stderr) = watch.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
pub fn a_watch_ends_when_the_thread_is_deleted_elsewhere() {
    for patches in [&["--patches"][..], &[]] {
        let keep = Keep::new();
        let thread = keep.create("Work");
        let watch = keep.start(&[&["watch", &thread], patches].concat());
        assert!(watch.next_line().is_some());
        keep.ok(&["rm", &thread]);
        assert_eq!(watch.next_line(), None);
        let (status, stderr) = watch.end();
        assert_eq!((status.code(), stderr.as_str()), (Some(0), "the thread was deleted"));
    }
}

#[test]
pub fn every_change_is_a_patch_in_a_line() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "a");
    let watch = keep.start(&["watch", &thread, "--patches"]);
    assert_eq!(watch.next_line().as_deref(), Some(r#"{"version":1,"patch":[]}"#));
    keep.say(&thread, "b");
    let patch = watch.next_json();
    let added = patch["patch"].as_array().and_then(|patch| patch.last()).expect("an operation").clone();
    assert_eq!((&patch["version"], &added["op"], &added["path"]), (&2.into(), &"add".into(), &"/messages/-".into()));
    assert_eq!(added["value"]["content"], "b");
    keep.ok(&["rollback", &thread, "--to-version", "1"]);
    let patch = watch.next_json();
    assert_eq!(patch["patch"].as_array().and_then(|patch| patch.last()).expect("an operation")["path"], "/messages/1");
    watch.signal("INT");
    assert_eq!(watch.next_line(), None);
    let (status, stderr) = watch.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
pub fn a_watch_stops_after_so_many_lines_and_knows_its_threads() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "hello");
    let shown = keep.ok(&["watch", &thread, "--limit", "1"]);
    assert!(shown.contains("Work  1 message  user: hello"), "{shown}");
    assert_eq!(keep.ok(&["watch", &thread, "--patches", "--limit", "1"]), r#"{"version":1,"patch":[]}"#);
    keep.run(&["watch", &thread, "--limit", "0"]).refused(2, &["--limit"]);
    keep.run(&["watch", "0123"]).refused(3, &["0123"]);
}
