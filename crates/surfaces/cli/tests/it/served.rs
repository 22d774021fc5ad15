//! The same stories while a server runs on the data folder, which the commands find and ask; and what happens to
//! commands whose server is killed, started again, out of date or not to be had.
//!
//! Each story checks at its end that the server was asked: see `Keep`.

use serde_json::Value;

use crate::support::{Keep, Running, eventually, run, serve, served, threadkeep};

/// Tells stories of other modules by a server.
macro_rules! by_a_server {
    ($($module:ident: $($story:ident)*;)*) => {$(
        mod $module {
            $(#[test]
            fn $story() {
                super::served(crate::$module::$story);
            })*
        }
    )*};
}

by_a_server! {
    primitives:
        a_thread_rests_goes_on_and_is_done
        what_is_injected_reaches_whoever_works_and_decisions_are_kept
        a_thread_is_spawned_and_goes_back_to_a_step;
    stories:
        the_first_five_minutes
        a_hint_works_when_it_is_pasted
        a_thread_is_forked_rolled_back_truncated_and_undone
        messages_are_inserted_edited_and_deleted
        what_is_said_keeps_its_role_name_metadata_depth_and_files
        a_retry_under_a_key_adds_nothing
        a_write_that_expects_another_version_is_a_conflict
        a_record_is_updated_and_cleared_and_archiving_hides_a_thread
        a_family_is_drawn
        pages_go_on_where_the_last_one_ended
        a_thread_is_named_by_its_id_its_short_id_or_a_prefix_that_names_no_other
        a_prefix_of_several_ids_is_refused_with_the_candidates
        output_that_nobody_reads_ends_the_command_silently
        work_is_handed_on_and_threads_name_each_other
        threads_are_listed_by_any_filter;
    shapes:
        the_json_of_every_command_has_its_shape
        an_error_is_one_line_of_json_on_stderr
        json_lines_stay_one_line_each_whatever_was_stored
        what_was_said_cannot_steer_the_terminal;
    work:
        an_executor_works_while_others_queue
        the_queue_is_bounded_and_its_refusals_say_what_to_do
        agents_skills_and_subagents_have_their_commands
        files_go_along_with_what_subagents_are_told_and_tell
        a_read_for_another_thread_is_a_mention;
    files:
        files_are_written_searched_compared_and_brought_back
        a_large_file_goes_through_whole
        values_are_set_compared_listed_and_taken_away;
    writer:
        a_lease_by_hand
        a_lease_for_as_long_as_a_program_runs
        a_program_that_is_interrupted_lets_go_of_its_lease
        a_program_that_was_paused_past_its_lease_is_refused
        a_lease_that_makes_no_sense_is_refused;
    follow:
        a_tail_catches_up_then_follows_another_process_without_gap_or_repeat
        a_tail_begins_after_a_version_or_from_now_on
        a_tail_ends_when_the_thread_is_deleted_elsewhere
        a_tail_without_a_thread_follows_everything
        a_tail_whose_reader_is_gone_ends_without_another_entry;
    hostile:
        ids_that_are_malformed_or_unknown_are_told_apart
        versions_in_the_future_and_points_out_of_range_are_refused
        json_that_is_too_deep_or_malformed_is_refused
        null_bytes_are_stripped
        a_message_of_50_mb_is_refused_and_the_limit_is_named
        lines_before_one_that_is_refused_are_kept_and_counted
        an_export_with_hostile_bodies_is_refused;
    transfer:
        everything_survives_the_way_to_another_store_to_the_letter
        one_thread_is_exported_with_its_whole_lineage_and_nothing_else
        an_import_can_be_repeated
        an_export_that_is_cut_off_brings_no_thread
        another_version_of_the_format_is_refused_and_both_are_named
        a_file_is_written_whole_or_not_at_all;
    concurrency:
        writers_on_the_same_thread_and_on_different_ones_lose_and_double_nothing
        other_operations_pass_while_somebody_writes_without_pause;
    watch:
        a_thread_is_watched_while_others_write_and_the_last_state_is_always_shown
        a_watch_ends_when_the_thread_is_deleted_elsewhere
        every_change_is_a_patch_in_a_line
        a_watch_stops_after_so_many_lines_and_knows_its_threads;
}

/// A command on the data folder.
fn on(keep: &Keep, args: &[&str]) -> std::process::Command {
    let mut command = threadkeep();
    command.current_dir(keep.folder()).arg("--data").arg(keep.data()).args(args);
    command
}

fn content(line: &str) -> String {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    message["content"].as_str().expect("text").to_owned()
}

#[test]
fn commands_ask_the_server_and_act_as_whoever_is_named() {
    let mut keep = Keep::served();
    let thread = keep.create("Work");
    keep.say(&thread, "a");
    let acting = keep.json(&["say", &thread, "b", "--actor", "Größe 1", "--agent"]);
    assert_eq!(acting["actor"], serde_json::json!({"type": "agent", "name": "Größe 1"}));
    assert_eq!(keep.json(&["say", &thread, "c"])["actor"]["name"], "local");
    // The store itself, beside the server: the same threads, and the server hears nothing of it.
    let store = keep.store().to_str().expect("a path").to_owned();
    let past = |args: &[&str]| {
        let mut command = threadkeep();
        command.args(["--store", &store]).args(args);
        run(command, b"").ok()
    };
    past(&["say", &thread, "past the server"]);
    assert!(past(&["show", &thread]).contains("past the server"));
    assert!(keep.ok(&["show", &thread]).contains("past the server"));
    keep.server().signal("TERM");
    let log: Vec<Value> = std::iter::from_fn(|| keep.server().next_error())
        .map(|line| serde_json::from_str(&line).expect("JSON"))
        .collect();
    let posted = log.iter().filter(|line| line["method"] == "POST" && line["status"] == 201).count();
    assert_eq!(posted, 4, "one thread and three messages: {log:?}");
}

#[test]
fn a_server_that_was_killed_is_not_asked_any_more() {
    let keep = Keep::new();
    let (mut server, ready) = serve(&keep.data(), "127.0.0.1:0");
    let thread = run(on(&keep, &["create", "Work"]), b"").ok();
    server.kill();
    assert!(keep.data().join("server.json").exists(), "it left its file behind");
    run(on(&keep, &["say", &thread, "by the store"]), b"").ok();
    // Another server took the port; it does not know the key, and is not this folder's.
    let address = ready["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect("an address");
    let (_other, _) = serve(&keep.at("other"), address);
    let shown = run(on(&keep, &["show", &thread]), b"").ok();
    assert!(shown.contains("by the store"), "{shown}");
    std::fs::write(keep.data().join("server.json"), "{").expect("a file");
    run(on(&keep, &["show", &thread]), b"").ok();
}

#[test]
fn a_server_that_is_killed_and_started_again_costs_no_line() {
    const KILLS: usize = 3;
    const WINDOW: usize = 4;
    let keep = Keep::new();
    let (mut server, _) = serve(&keep.data(), "127.0.0.1:0");
    let thread = run(on(&keep, &["create", "Work"]), b"").ok();
    let tail = Running::start(on(&keep, &["tail", &thread, "--json", "--from-start"]));
    let mut writer = Running::start(on(&keep, &["say", &thread, "--lines"]));
    let (mut sent, mut told) = (0, Vec::new());
    for _ in 0..WINDOW {
        writer.tell(&sent.to_string());
        sent += 1;
    }
    for kill in 0..=KILLS {
        for _ in 0..20 {
            told.push(content(&writer.next_line().expect("it goes on")));
            writer.tell(&sent.to_string());
            sent += 1;
        }
        if kill < KILLS {
            server.kill();
            // Another port, and another key.
            server = serve(&keep.data(), "127.0.0.1:0").0;
        }
    }
    drop(writer.stdin.take());
    told.extend(writer.rest().iter().map(|line| content(line)));
    let (status, stderr) = writer.end();
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("the server is away: trying again for up to 60s"), "{stderr}");
    let expected: Vec<String> = (0..sent).map(|number| number.to_string()).collect();
    assert_eq!(told, expected, "each line is acknowledged once, in order");
    let followed: Vec<String> =
        expected.iter().map(|_| tail.next_json()["data"]["content"].as_str().expect("text").to_owned()).collect();
    assert_eq!(followed, expected, "and followed once, in order");
    let kept = run(on(&keep, &["tail", &thread, "--no-follow", "--json", "--from-start"]), b"").ok();
    let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(kept.len(), sent, "and there once");
    tail.signal("INT");
    assert_eq!(tail.end().0.code(), Some(0));
}

#[test]
fn a_key_in_the_environment_speaks_for_its_account_and_may_do_no_more_than_it_may() {
    let keep = Keep::served();
    let url = std::fs::read_to_string(keep.data().join("server.json")).expect("a file");
    let url = serde_json::from_str::<Value>(&url).expect("JSON")["url"].as_str().expect("a url").to_owned();
    let made = |scope: &str| {
        keep.json(&["keys", "create", "--account", "ann", "--scope", scope])["key"].as_str().expect("a key").to_owned()
    };
    let (read, write) = (made("read"), made("write"));
    let by = |key: &str, args: &[&str]| {
        let mut named = threadkeep();
        named.current_dir(keep.folder()).env("THREADKEEP_KEY", key).args(["--server", &url]).args(args);
        let mut found = on(&keep, args);
        found.env("THREADKEEP_KEY", key);
        [run(named, b""), run(found, b"")]
    };
    for ran in by(&write, &["create", "Hers"]) {
        ran.ok();
    }
    for ran in by(&read, &["list", "--json"]) {
        let listed: Value = serde_json::from_str(&ran.ok()).expect("JSON");
        assert_eq!(listed.as_array().map(Vec::len), Some(2), "her own threads: {listed}");
    }
    assert_eq!(keep.ok(&["list", "--json"]), "[]", "and nobody else's");
    for ran in by(&read, &["create", "x"]) {
        let told = ran.refused(4, &["this key may not write", "hint: "]);
        assert!(!told.contains(&read), "{told}");
    }
    for ran in by(&write, &["create", "x", "--actor", "bob"]) {
        ran.refused(4, &["may not say who acts", "admin"]);
    }
    for ran in by(&write, &["gc"]) {
        ran.refused(4, &["may not do upkeep"]);
    }
    for ran in by("tk_wrong_key", &["list"]) {
        ran.refused(4, &["missing or invalid API key"]);
    }
}

#[test]
fn what_needs_the_store_says_so_to_whoever_names_a_server() {
    let keep = Keep::served();
    let thread = keep.create("Work");
    std::fs::write(keep.at("a.txt"), "hello").expect("a file");
    let file = std::fs::read_to_string(keep.data().join("server.json")).expect("a file");
    let said: Value = serde_json::from_str(&file).expect("JSON");
    let (url, key) = (said["url"].as_str().expect("a url"), said["apiKey"].as_str().expect("a key"));
    let at = |args: &[&str]| {
        let mut command = threadkeep();
        command.current_dir(keep.folder()).env("THREADKEEP_KEY", key).args(["--server", url]).args(args);
        run(command, b"")
    };
    assert!(at(&["list"]).ok().contains(&thread[26..]));
    at(&["show", "0000"]).refused(3, &["hint: threadkeep --server http://127.0.0.1"]);
    let all: [&[&str]; 8] = [
        &["serve"],
        &["watch", &thread, "--patches"],
        &["tail"],
        &["say", &thread, "x", "--attach", "a.txt"],
        &["export", &thread],
        &["export", "--format", "amp"],
        &["show", &thread, "--message", "M-00000000000000011", "--attachment", &"0".repeat(64)],
        &["--store", "x.db", "list"],
    ];
    for args in all {
        at(args).refused(2, &["--store"]);
    }
    // Found on the folder, the store is at hand, too.
    keep.ok(&["say", &thread, "x", "--attach", "a.txt"]);
    assert!(keep.ok(&["export", &thread]).contains("\"blob\""));
    let mut nowhere = threadkeep();
    nowhere.args(["--server", "http://127.0.0.1:1", "list"]);
    run(nowhere, b"").refused(6, &["http://127.0.0.1:1 cannot be reached", "hint: "]);
    let mut odd = threadkeep();
    odd.args(["--server", "ftp://ann:secret@x", "list"]);
    assert!(!run(odd, b"").refused(2, &["http://"]).contains("secret"));
}

#[test]
fn projects_are_made_shown_changed_and_deleted() {
    for keep in [Keep::new(), Keep::served()] {
        assert_eq!(keep.ok(&["projects", "create", "Release 2", "--id", "r2", "--icon-name", "rocket"]), "r2");
        keep.run(&["projects", "create", "Again", "--id", "r2"]).refused(5, &["already"]);
        assert_eq!(keep.ok(&["projects", "list"]), "r2  Release 2  rocket");
        let config = r#"{"image":"x","n":1.0}"#;
        let args = ["projects", "update", "r2", "--clear", "icon-name", "--sandbox", "box", "--sandbox-config", config];
        let changed = keep.json(&args);
        assert_eq!((changed.get("iconName"), &changed["sandbox"]["externalId"]), (None, &"box".into()));
        assert!(keep.ok(&["projects", "show", "r2", "--json"]).contains(config), "to the letter");
        let thread = keep.ok(&["create", "Notes", "--project-id", "r2"]);
        assert_eq!(keep.json(&["list", "--project-id", "r2"])[0]["id"], thread.as_str());
        keep.run(&["projects", "update", "r2"]).refused(2, &["at least one field"]);
        keep.run(&["projects", "show", "none"]).refused(3, &["no project 'none'"]);
        assert_eq!(keep.json(&["projects", "delete", "r2"])["deleted"], true);
        assert_eq!(keep.ok(&["projects", "list", "--json"]), "[]");
    }
}

#[test]
fn memories_are_added_found_edited_and_forgotten() {
    for keep in [Keep::new(), Keep::served()] {
        assert_eq!(keep.ok(&["memory", "list", "--json"]), "[]");
        let id = keep.ok(&["memory", "add", "The dog is called Rex."]);
        assert_eq!(
            keep.ok(&["memory", "search", "what", "is", "the", "pet's", "name"]),
            format!("{id}  The dog is called Rex.")
        );
        assert_eq!(keep.json(&["memory", "search", "dog"])[0]["memory"]["id"], id.as_str());
        let thread = keep.create("Work");
        let message = keep.say(&thread, "I moved to Oslo.");
        let sourced = keep.ok(&["memory", "add", "Lives in Oslo.", "--source", &message]);
        assert!(keep.ok(&["memory", "show", &sourced]).contains(&format!("from {message} in {thread}")));
        assert_eq!(keep.json(&["memory", "edit", &id, "The dog is called Max."])["edited"], true);
        keep.ok(&["delete-message", &thread, &message]);
        keep.run(&["memory", "show", &sourced]).refused(3, &["no memory"]);
        assert_eq!(keep.ok(&["memory", "list"]), format!("{id}  The dog is called Max."));
        assert_eq!(keep.json(&["memory", "rm", &id])["deleted"], true);
        assert_eq!(keep.ok(&["memory", "list", "--json"]), "[]");
    }
}

#[test]
fn what_is_emitted_is_heard_by_those_who_follow_the_server() {
    let keep = Keep::served();
    let thread = keep.create("Work");
    assert_eq!(keep.json(&["emit", &thread, "progress", r#"{"percent":40}"#])["listeners"], 0);
    keep.say(&thread, "a");
    let tail = keep.start(&["tail", &thread]);
    tail.next_line().expect("a line");
    eventually("somebody listens", || keep.json(&["emit", &thread, "progress"])["listeners"] == 1);
    keep.run(&["emit", &thread, "", "{}"]).refused(2, &[]);
    tail.signal("INT");
    assert_eq!(tail.end().0.code(), Some(0));
}
