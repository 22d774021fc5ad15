//! Files and values, told with the real binary.

use serde_json::{Value, json};

use crate::support::Keep;

#[test]
fn a_large_file_comes_and_goes_in_parts() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let content: Vec<u8> = (0..3 << 20).map(|number: u32| (number % 251) as u8).collect();
    std::fs::write(keep.at("large.bin"), &content).expect("a file");
    let told = keep.ok(&["write-file", &thread, "/file.bin", "large.bin"]);
    assert_eq!(told, "/file.bin  version 1  3145728 bytes  application/octet-stream");
    let told = keep.run_with(&["write-file", &thread, "/stdin.bin"], &content).ok();
    assert_eq!(told, "/stdin.bin  version 2  3145728 bytes  application/octet-stream");
    for path in ["/file.bin", "/stdin.bin"] {
        keep.ok(&["read-file", &thread, path, "-o", "back.bin"]);
        assert!(std::fs::read(keep.at("back.bin")).expect("a file") == content, "{path}");
    }
    keep.run(&["write-file", &thread, "/file.bin/below", "large.bin"]).refused(5, &["/file.bin"]);
}

#[test]
pub fn files_are_written_searched_compared_and_brought_back() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let told = keep.run_with(&["write-file", &thread, "notes/plan.md"], b"# Plan\n\nTODO: think\n").ok();
    assert_eq!(told, "/notes/plan.md  version 1  20 bytes  text/markdown");
    std::fs::write(keep.at("here.txt"), "from here\n").expect("a file");
    let record = keep.json(&["write-file", &thread, "/a.txt", "here.txt", "--metadata", r#"{"by":"Zoë"}"#]);
    assert_eq!((&record["version"], &record["metadata"]["by"]), (&json!(2), &json!("Zoë")));
    keep.run(&["write-file", &thread, "/b.txt", "nowhere.txt"]).refused(3, &["cannot read nowhere.txt"]);
    keep.run(&["write-file", &thread, "/../b.txt", "here.txt"]).refused(2, &["leads out of the thread"]);

    assert_eq!(keep.ok(&["read-file", &thread, "notes/plan.md"]), "# Plan\n\nTODO: think");
    keep.ok(&["read-file", &thread, "/a.txt", "-o", "there.txt"]);
    assert_eq!(std::fs::read_to_string(keep.at("there.txt")).expect("a file"), "from here\n");
    assert_eq!(keep.json(&["read-file", &thread, "/a.txt"])["text"], "from here\n");
    let error = keep.run(&["read-file", &thread, "/nowhere"]).refused(3, &["there is no file /nowhere", "hint:"]);
    let hint = error.lines().find_map(|line| line.split("threadkeep ").nth(1)).expect("a hint that works");
    assert!(hint.contains("files "), "{hint}");
    keep.run_with(&["write-file", &thread, "notes/plan.md", "-"], b"# Plan\n\nDone.\n").ok();
    assert_eq!(keep.ok(&["read-file", &thread, "notes/plan.md", "--version", "1"]), "# Plan\n\nTODO: think");
    assert_eq!(keep.ok(&["read-file", &thread, "notes/plan.md", "--as-of", "2"]), "# Plan\n\nTODO: think");
    keep.run(&["read-file", &thread, "notes/plan.md", "--version", "2"]).refused(3, &["there is no file"]);

    let listed = keep.ok(&["files", &thread]);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(names, ["notes/", "a.txt"]);
    let all = keep.json(&["files", &thread, "--recursive"]);
    let paths: Vec<&str> = all.as_array().expect("files").iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(paths, ["/a.txt", "/notes/plan.md"]);
    assert_eq!(keep.json(&["files", &thread, "--as-of", "0"]), json!([]));
    assert_eq!(keep.ok(&["find", &thread, "**/*.md"]), "/notes/plan.md");
    assert_eq!(keep.json(&["find", &thread, "*.nothing"]), json!([]));
    assert_eq!(keep.ok(&["grep", &thread, "todo", "-i", "--as-of", "1"]), "/notes/plan.md:3:1: TODO: think");
    assert_eq!(keep.ok(&["grep", &thread, "^f.o", "--regex", "--glob", "*.txt"]), "/a.txt:1:1: from here");
    assert_eq!(keep.json(&["grep", &thread, "nothing"]), json!([]));
    keep.run(&["grep", &thread, "(", "--regex"]).refused(2, &[]);

    let versions = keep.ok(&["file-versions", &thread, "/notes/plan.md"]);
    assert!(versions.starts_with("version 3  ") && versions.lines().count() == 2, "{versions}");
    let diff = keep.ok(&["file-diff", &thread, "/notes/plan.md", "--from", "1"]);
    assert!(diff.contains("-TODO: think\n+Done."), "{diff}");
    assert_eq!(keep.json(&["ls"])[0]["diffStats"]["files"], json!({ "added": 2, "changed": 1, "removed": 0 }));
    keep.ok(&["rollback", &thread, "--artifact-version", "/notes/plan.md@1"]);
    assert_eq!(keep.ok(&["read-file", &thread, "notes/plan.md"]), "# Plan\n\nTODO: think");
    keep.run(&["rollback", &thread, "--artifact-version", "/notes/plan.md"]).refused(2, &["PATH@VERSION"]);
    let history = keep.ok(&["history", &thread]);
    assert!(history.ends_with("files_changed  wrote /notes/plan.md (20 bytes) (as at version 1)"), "{history}");

    keep.ok(&["mkdir", &thread, "/empty"]);
    keep.ok(&["move-file", &thread, "/notes", "/old"]);
    assert_eq!(keep.json(&["move-file", &thread, "/old", "/older"]), json!({ "path": "/older", "files": 1 }));
    keep.run(&["rmdir", &thread, "/older"]).refused(5, &["hint:"]);
    assert_eq!(keep.json(&["rmdir", &thread, "/empty"]), json!({ "deleted": true }));
    assert_eq!(keep.json(&["delete-file", &thread, "/a.txt"]), json!({ "deleted": true }));
    assert_eq!(keep.json(&["delete-file", &thread, "/a.txt"]), json!({ "deleted": false }));
    let version = keep.version(&thread).to_string();
    keep.run_with(&["write-file", &thread, "/x", "--expected-version", "1"], b"x").refused(5, &["is at version"]);
    keep.run_with(&["write-file", &thread, "/x", "--expected-version", &version], b"").ok();
    assert_eq!(keep.json(&["read-file", &thread, "/x"])["file"]["size"], 0, "an empty file is a file");
    keep.run(&["thumbnail", &thread, "/x", "-o", "x.png"]).refused(3, &["no thumbnail"]);
    std::fs::write(keep.at("small.png"), "small").expect("a file");
    keep.run_with(&["write-file", &thread, "/x", "--thumbnail", "small.png"], b"film").ok();
    keep.ok(&["thumbnail", &thread, "/x", "-o", "x.png"]);
    assert_eq!(std::fs::read(keep.at("x.png")).expect("a picture"), b"small");
    keep.run_with(&["write-file", &thread, "/x", "--thumbnail", "none.png"], b"film").refused(3, &["none.png"]);

    // A fork has what there was at its point, and goes its own way.
    let fork = keep.ok(&["fork", &thread]);
    keep.run_with(&["write-file", &fork, "/older/plan.md"], b"Mine.\n").ok();
    assert_eq!(keep.ok(&["read-file", &thread, "/older/plan.md"]), "# Plan\n\nTODO: think");
    assert_eq!(keep.json(&["doctor"])["healthy"], true);
    let (export, elsewhere) = (keep.at("all.jsonl").display().to_string(), Keep::new());
    keep.ok(&["export", "-o", &export]);
    elsewhere.ok(&["import", &export]);
    assert_eq!(elsewhere.ok(&["read-file", &fork, "/older/plan.md"]), "Mine.");
    assert_eq!(elsewhere.json(&["read-file", &thread, "/a.txt", "--as-of", "2"])["file"]["metadata"]["by"], "Zoë");
}

#[test]
pub fn a_large_file_goes_through_whole() {
    let keep = Keep::new();
    let thread = keep.create("Large");
    let content: Vec<u8> = (0..5_000_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    std::fs::write(keep.at("large.bin"), &content).expect("a file");
    let record = keep.json(&["write-file", &thread, "/large.bin", "large.bin"]);
    assert_eq!((&record["size"], &record["mimeType"]), (&json!(20_000_000), &json!("application/octet-stream")));
    keep.ok(&["read-file", &thread, "/large.bin", "-o", "back.bin"]);
    assert!(std::fs::read(keep.at("back.bin")).expect("a file") == content);
    assert!(!keep.at("back.bin.part").exists());
}

#[test]
pub fn values_are_set_compared_listed_and_taken_away() {
    let keep = Keep::new();
    let thread = keep.create("Values");
    assert_eq!(keep.ok(&["get-value", &thread, "user/name"]), "null");
    assert_eq!(keep.ok(&["set-value", &thread, "user/name", r#""Ann""#, "--if-version", "0"]), "user/name  version 1");
    keep.run(&["set-value", &thread, "user/name", "1", "--if-version", "0"]).refused(5, &[]);
    keep.run_with(&["set-value", &thread, "settings", "-"], br#"{"theme": "dark"}"#).ok();
    assert_eq!(keep.ok(&["get-value", &thread, "settings"]), r#"{"theme": "dark"}"#);
    assert_eq!(keep.json(&["get-value", &thread, "user/name"])["version"], 1);
    keep.ok(&["set-value", &thread, "number", "-1.50"]);
    assert_eq!(keep.ok(&["get-value", &thread, "number"]), "-1.50");
    keep.run(&["set-value", &thread, "odd", "{"]).refused(2, &["well-formed JSON"]);
    keep.run(&["set-value", &thread, "", "1"]).refused(2, &["1 to 512 bytes"]);
    let keys = |args: &[&str]| -> Vec<String> {
        let listed = keep.json(args);
        listed
            .as_array()
            .expect("values")
            .iter()
            .map(|value| value["key"].as_str().expect("a key").to_owned())
            .collect()
    };
    assert_eq!(keys(&["values", &thread]), ["number", "settings", "user/name"]);
    assert_eq!(keys(&["values", &thread, "--prefix", "user/"]), ["user/name"]);
    assert!(keep.ok(&["values", &thread]).starts_with("number     version 3  -1.50\n"));
    keep.run(&["delete-value", &thread, "user/name", "--if-version", "9"]).refused(5, &[]);
    assert_eq!(keep.json(&["delete-value", &thread, "user/name"]), json!({ "deleted": true }));
    assert_eq!(keep.json(&["delete-value", &thread, "user/name"]), json!({ "deleted": false }));
    assert_eq!(keep.json(&["set-value", &thread, "settings", "null"])["value"], Value::Null);
    assert_eq!(keep.ok(&["get-value", &thread, "settings", "--as-of", "2"]), r#"{"theme": "dark"}"#);
    assert_eq!(keep.ok(&["values", &thread]).lines().count(), 1);
}
