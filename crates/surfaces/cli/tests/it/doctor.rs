//! `doctor`: what is derived is compared with the log and rebuilt from it; damage to the log is told.

use crate::support::Keep;

/// A store with a bit of everything that is derived.
fn varied() -> (Keep, String) {
    let keep = Keep::new();
    let thread = keep.create("Work");
    for text in ["a", "b", "c"] {
        keep.say(&thread, text);
    }
    let second = keep.message_ids(&thread)[1].clone();
    keep.ok(&["insert", &thread, "between", "--before", &second]);
    keep.ok(&["delete-message", &thread, &second]);
    keep.ok(&["checkpoint", &thread, "here"]);
    keep.ok(&["fork", &thread]);
    let metadata = format!("{{\"large\":\"{}\"}}", "x".repeat(50_000));
    keep.ok(&["update", &thread, "--title", "Worked", "--metadata", &metadata]);
    keep.run_with(&["say", &thread, "-"], "large ".repeat(10_000).as_bytes()).ok();
    (keep, thread)
}

fn damage(keep: &Keep, sql: &str) {
    let connection = rusqlite::Connection::open(keep.store()).expect("a store");
    connection.execute_batch(sql).expect("damaged");
}

#[test]
pub fn what_is_derived_is_found_wrong_and_rebuilt_from_the_log() {
    for sql in [
        "DELETE FROM messages WHERE ordinal = 1",
        "DELETE FROM changes",
        "UPDATE changes SET target = target - 1",
        "DELETE FROM checkpoints",
        "DELETE FROM relations",
        "UPDATE heads SET version = version - 1",
        "UPDATE heads SET tally = x'01'",
        "UPDATE threads SET record = '{}'",
    ] {
        let (keep, thread) = varied();
        let (before, tree) = (keep.everything(), keep.json(&["tree", &thread]));
        damage(&keep, sql);
        let found = keep.run(&["doctor"]);
        assert_eq!(found.code, Some(1), "{sql}: {found:?}");
        assert!(
            found.stdout.contains("derived, can be rebuilt: ") && found.stdout.ends_with("not healthy\n"),
            "{found:?}"
        );
        assert!(found.stderr.contains("doctor --repair"), "{found:?}");
        let repaired = keep.run(&["doctor", "--repair"]).ok();
        assert!(repaired.contains("repaired: ") && repaired.ends_with("\nhealthy"), "{sql}: {repaired}");
        assert!(keep.ok(&["doctor"]).ends_with("healthy"));
        assert_eq!(keep.everything(), before, "{sql}");
        assert_eq!(keep.json(&["tree", &thread]), tree, "{sql}");
        assert_eq!(keep.json(&["checkpoints", &thread])[0]["name"], "here", "{sql}");
    }
}

#[test]
pub fn damage_to_the_log_or_to_a_blob_is_told_and_stays() {
    for sql in [
        "UPDATE blob_chunks SET bytes = x'00'",
        "DELETE FROM blob_chunks",
        "UPDATE entries SET body = x'7b' WHERE position = 2",
        "DELETE FROM entries WHERE position = 2",
        "UPDATE entries SET format = 9 WHERE position = 2",
    ] {
        let (keep, _) = varied();
        damage(&keep, sql);
        for args in [&["doctor"][..], &["doctor", "--repair"]] {
            let found = keep.run(args);
            assert_eq!(found.code, Some(1), "{sql}: {found:?}");
            assert!(found.stdout.contains("damaged: ") && found.stdout.ends_with("not healthy\n"), "{sql}: {found:?}");
        }
        let found = keep.run(&["doctor", "--json"]);
        let report: serde_json::Value = serde_json::from_str(&found.stdout).expect("JSON");
        assert_eq!((found.code, &report["healthy"]), (Some(1), &false.into()));
        assert!(report["damage"].as_array().is_some_and(|damage| !damage.is_empty()), "{report}");
    }
}

#[test]
pub fn a_flipped_bit_in_a_message_is_told_with_its_place_and_everything_else_is_shown() {
    let (keep, fine) = varied();
    let thread = keep.create("Damaged");
    for text in ["first", "precious", "last"] {
        keep.say(&thread, text);
    }
    let ids = keep.message_ids(&thread);
    // One bit of its first letter.
    damage(&keep, "UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), 'precious', 'qrecious') AS BLOB)");
    let place = format!("entry 2 of thread {thread} is not what was written");
    for args in [&["show", &thread, "--all"][..], &["show", &thread, "--message", &ids[1]], &["export", &thread]] {
        let told = keep.run(args);
        assert_eq!(told.code, Some(1), "{told:?}");
        assert!(told.stderr.contains(&place) && told.stderr.contains("restore FILE"), "{told:?}");
        assert!(!told.stdout.contains("qrecious") && !told.stderr.contains("qrecious"), "{told:?}");
    }
    let found = keep.run(&["doctor"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.contains(&place) && found.stdout.ends_with("not healthy\n"), "{found:?}");
    for (id, text) in [(&ids[0], "first"), (&ids[2], "last")] {
        assert!(keep.ok(&["show", &thread, "--message", id]).contains(text));
    }
    keep.say(&thread, "and on");
    assert_eq!(keep.message_ids(&fine).len(), 4);
    keep.ok(&["export", &fine]);
    assert!(keep.ok(&["list"]).contains("Damaged"));
}

#[test]
pub fn a_backup_and_an_export_of_a_damaged_store_have_the_rest_and_exit_with_1() {
    let (keep, fine) = varied();
    let thread = keep.create("Damaged");
    for text in ["first", "precious", "last"] {
        keep.say(&thread, text);
    }
    damage(&keep, "UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), 'precious', 'qrecious') AS BLOB)");
    let place = format!("entry 2 of thread {thread} is not what was written");
    let [backup, export] = ["backup.db", "all.jsonl"].map(|name| keep.at(name).display().to_string());
    for args in [&["backup", &backup][..], &["export", "-o", &export]] {
        let told = keep.run(args);
        assert_eq!(told.code, Some(1), "{told:?}");
        assert!(told.stderr.contains(&format!("damaged: the store is damaged: {place}")), "{told:?}");
        assert!(told.stderr.contains("1 damaged part of the store is not in it; everything else is"), "{told:?}");
    }
    for (n, args) in [["restore", &backup], ["import", &export]].into_iter().enumerate() {
        let other = Keep::new();
        // An import of an export has nothing to add to what the export said.
        assert_eq!(other.run(&args).code, Some(1 - n as i32));
        assert_eq!(other.message_ids(&fine).len(), 4);
        let shown = other.run(&["show", &thread, "--all"]);
        assert!(shown.stdout.contains("first") && shown.stderr.contains("entry 2"), "{shown:?}");
        other.say(&thread, "and on");
    }
}
