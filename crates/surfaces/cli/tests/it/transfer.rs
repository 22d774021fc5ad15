//! Export and import: exact, with sharing kept, and nothing by halves.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::Keep;

/// A store with a bit of everything: forks, edits, deletions, branches, large values, a deleted origin.
pub fn varied() -> (Keep, String, String) {
    let keep = Keep::new();
    let thread = keep.ok(&["create", "Work", "--metadata", "{\n \"z\": 1.0, \"a\": 1e2\n}", "--message", "Größe 🦀"]);
    let second = keep.say(&thread, "second");
    keep.run_with(&["say", &thread, "-", "--role", "assistant"], "large ".repeat(10_000).as_bytes()).ok();
    std::fs::write(keep.at("file.bin"), (0..=255).collect::<Vec<u8>>()).expect("a file");
    keep.ok(&["say", &thread, "see file", "--attach", "file.bin"]);
    keep.ok(&["insert", &thread, "--before", &second, "between", "--agent", "--actor", "helper"]);
    keep.ok(&["edit", &thread, &second, "SECOND"]);
    keep.ok(&["append-event", &thread, "tool_use", r#"{"name":"ls"}"#]);
    keep.ok(&["checkpoint", &thread, "here"]);
    let fork = keep.ok(&["fork", &thread, "--message-index", "2"]);
    keep.say(&fork, "in the fork");
    let grandchild = keep.ok(&["fork", &fork]);
    keep.say(&grandchild, "in the fork's fork");
    keep.ok(&["truncate", &thread, "--from-index", "3"]);
    keep.say(&thread, "after the cut");
    keep.ok(&["rollback", &thread, "--checkpoint", "here"]);
    keep.ok(&["delete-message", &thread, &second]);
    keep.ok(&["update", &thread, "--title", "Worked", "--clear", "metadata"]);
    keep.ok(&["rm", &fork]);
    (keep, thread, grandchild)
}

fn import(keep: &Keep, export: &str) -> String {
    keep.run_with(&["import", "-"], format!("{export}\n").as_bytes()).ok()
}

#[test]
pub fn everything_survives_the_way_to_another_store_to_the_letter() {
    let (keep, thread, grandchild) = varied();
    let export = keep.everything();
    let other = Keep::new();
    assert_eq!(import(&other, &export), "imported 2 threads");
    assert_eq!(other.everything(), export);
    for id in [&thread, &grandchild] {
        assert_eq!(other.conversation(id), keep.conversation(id));
        assert_eq!(other.json(&["show", id])["thread"], keep.json(&["show", id])["thread"]);
        assert_eq!(other.json(&["history", id]), keep.json(&["history", id]));
        assert_eq!(other.json(&["checkpoints", id]), keep.json(&["checkpoints", id]));
        for version in 0..keep.version(id) {
            let as_of = ["show", id, "--as-of", &version.to_string()];
            assert_eq!(other.conversation_by(&as_of), keep.conversation_by(&as_of), "as of {version}");
        }
    }
    other.ok(&["doctor"]);
    // An imported thread goes on like one that was written here.
    other.say(&thread, "more");
    other.ok(&["rollback", &thread, "--undo"]);
    other.ok(&["doctor"]);
    other.ok(&["rm", &thread]);
    other.ok(&["gc"]);
    assert_eq!(other.conversation(&grandchild), keep.conversation(&grandchild));
    other.ok(&["doctor"]);
}

#[test]
pub fn shared_history_is_exported_once_however_many_forks_share_it() {
    let keep = Keep::new();
    let thread = keep.create("Root");
    for text in ["one", "two", "three"] {
        keep.say(&thread, text);
    }
    for _ in 0..5 {
        keep.ok(&["fork", &thread]);
    }
    let export = keep.everything();
    assert_eq!(export.matches("\"content\":\"two\"").count(), 1);
    assert_eq!(export.matches("{\"segment\":{").count(), 6);
    let other = Keep::new();
    import(&other, &export);
    assert_eq!(other.everything(), export);
}

#[test]
pub fn one_thread_is_exported_with_its_whole_lineage_and_nothing_else() {
    let keep = Keep::new();
    let root = keep.create("Root");
    keep.say(&root, "one");
    let fork = keep.ok(&["fork", &root]);
    keep.say(&fork, "two");
    keep.say(&root, "not for the fork");
    let unrelated = keep.create("Unrelated");
    let export = keep.ok(&["export", &fork]);
    assert!(!export.contains("not for the fork") && !export.contains(&unrelated), "{export}");
    let other = Keep::new();
    assert_eq!(import(&other, &export), "imported 1 thread");
    assert_eq!(other.conversation(&fork), "user: one | user: two");
    assert_eq!(other.everything(), export);
    other.run(&["show", &root]).refused(3, &["there is no thread"]);
    other.ok(&["gc"]);
    other.ok(&["doctor"]);
    assert_eq!(other.everything(), export);
    // The rest can follow later.
    assert_eq!(import(&other, &keep.everything()), "imported 2 threads; 1 was here already");
    assert_eq!(other.everything(), keep.everything());
    other.ok(&["doctor"]);
}

#[test]
pub fn an_import_can_be_repeated() {
    let (keep, ..) = varied();
    let export = keep.everything();
    import(&keep, &export);
    assert_eq!(keep.everything(), export);
    let other = Keep::new();
    for _ in 0..2 {
        import(&other, &export);
        assert_eq!(other.everything(), export);
    }
    other.ok(&["doctor"]);
}

#[test]
pub fn a_thread_that_went_on_elsewhere_is_refused_and_what_is_here_stays_whole() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "one");
    let earlier = keep.everything();
    keep.say(&thread, "two");
    let later = keep.everything();
    keep.ok(&["rollback", &thread, "--to-version", "1"]);
    let branched = keep.everything();

    let other = Keep::new();
    import(&other, &earlier);
    for export in [&later, &branched] {
        let ran = other.run_with(&["import", "-"], format!("{export}\n").as_bytes());
        ran.refused(5, &["is here already, and differs"]);
        assert_eq!(other.everything(), earlier);
    }
    let ran = keep.run_with(&["import", "-"], format!("{earlier}\n").as_bytes());
    ran.refused(5, &["is here already, and differs"]);
    assert_eq!(keep.everything(), branched);
    other.say(&thread, "its own way");
    assert_eq!(other.conversation(&thread), "user: one | user: its own way");
    other.ok(&["doctor"]);
}

#[test]
pub fn what_was_deleted_here_is_not_brought_back() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "one");
    let export = keep.everything();
    keep.ok(&["rm", &thread]);
    keep.run_with(&["import", "-"], format!("{export}\n").as_bytes()).refused(5, &["was deleted here"]);
    assert_eq!(keep.ok(&["list", "--json"]), "[]");
}

#[test]
pub fn an_export_that_is_cut_off_brings_no_thread() {
    let (keep, ..) = varied();
    let export = keep.everything();
    let lines: Vec<&str> = export.lines().collect();
    for cut in [0, 1, 2, lines.len() / 2, lines.len() - 2, lines.len() - 1] {
        let other = Keep::new();
        let part: String = lines[..cut].iter().flat_map(|line| [line, "\n"]).collect();
        other.run_with(&["import", "-"], part.as_bytes()).refused(2, &["error: the export is"]);
        assert_eq!(other.ok(&["list", "--json"]), "[]");
        other.ok(&["doctor"]);
    }
}

#[test]
pub fn another_version_of_the_format_is_refused_and_both_are_named() {
    let keep = Keep::new();
    keep.create("Work");
    let export = keep.everything().replacen("\"version\":1", "\"version\":2", 1);
    keep.run_with(&["import", "-"], export.as_bytes()).refused(2, &["version 2", "version 1", "hint: "]);
    keep.run_with(&["import", "-"], b"hello\n").refused(2, &["not a Threadkeep export"]);
    keep.run(&["import", keep.store().to_str().expect("a path")]).refused(2, &[]);
    keep.run(&["import", keep.folder().to_str().expect("a path")]).refused(2, &["it is a folder"]);
    keep.run(&["import", "missing.jsonl"]).refused(3, &["cannot read missing.jsonl"]);
}

#[test]
pub fn a_file_is_written_whole_or_not_at_all() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.ok(&["export", &thread, "-o", "out.jsonl"]);
    let written = std::fs::read_to_string(keep.at("out.jsonl")).expect("a file");
    assert_eq!(written.trim_end(), keep.ok(&["export", &thread]));
    assert!(!keep.at("out.jsonl.part").exists());
    let other = Keep::new();
    other.ok(&["import", keep.at("out.jsonl").to_str().expect("a path")]);
    keep.run(&["export", "-o", "missing/out.jsonl"]).refused(2, &["cannot write missing/out.jsonl"]);
    keep.run(&["export", "-o", "/dev/full"]).refused(6, &["cannot write /dev/full: the disk is full"]);
}

#[test]
pub fn an_export_taken_while_others_write_can_be_imported() {
    let keep = Keep::new();
    let thread = keep.create("Busy");
    keep.say(&thread, "first");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // One writes without pause, each line once the last one is acknowledged; another forks and branches.
        scope.spawn(|| {
            let mut writer = keep.start(&["say", &thread, "--lines"]);
            while !done.load(Ordering::Relaxed) {
                writer.tell("more");
                writer.next_line().expect("an acknowledgement");
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let fork = keep.ok(&["fork", &thread]);
                keep.say(&fork, "mine");
                keep.ok(&["rollback", &thread, "--to-version", "1"]);
            }
        });
        for _ in 0..8 {
            let export = keep.everything();
            let other = Keep::new();
            import(&other, &export);
            assert_eq!(other.everything(), export);
            other.ok(&["doctor"]);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
pub fn exports_of_version_1_are_read_for_ever() {
    let golden = include_str!("../golden/export-v1.jsonl");
    let keep = Keep::new();
    assert_eq!(import(&keep, golden.trim_end()), "imported 2 threads");
    assert_eq!(keep.everything(), golden.trim_end());
    keep.ok(&["doctor"]);
}
