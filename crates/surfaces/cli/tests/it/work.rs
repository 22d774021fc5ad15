//! An executor at work, told with the real binary: queue, runs, skills, subagents.

use serde_json::{Value, json};

use crate::support::{Chance, Keep};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
pub fn an_executor_works_while_others_queue() {
    let keep = Keep::new();
    let thread = keep.ok(&["create", "Work", "--message", "Build it"]);
    keep.ok(&["queue", &thread, "With tests"]);
    let begun = keep.json(&["begin", &thread]);
    assert_eq!((&begun["status"], &begun["attempt"]), (&json!("running"), &json!(1)));
    let given: Vec<&str> =
        begun["messages"].as_array().expect("messages").iter().filter_map(|m| m["content"].as_str()).collect();
    assert_eq!(given, ["Build it", "With tests"]);
    let run = begun["id"].as_str().expect("an id").to_owned();
    keep.run(&["begin", &thread]).refused(5, &["is open since", "taken over"]);

    let queued = keep.json(&["queue", &thread, "Use tabs"]);
    assert_eq!(keys(&queued), ["id", "number", "queuedMessage", "actor", "createdAt"]);
    let item = queued["id"].as_str().expect("an id");
    assert!(item.starts_with("queued-"), "{item}");
    keep.ok(&["edit-queued", &thread, item, "Use spaces"]);
    let withdrawn = keep.ok(&["queue", &thread, "Never mind"]);
    assert_eq!(keep.json(&["queue", &thread]).as_array().map(Vec::len), Some(2));
    assert_eq!(keep.json(&["remove-queued", &thread, &withdrawn]), json!({"deleted": true}));
    assert_eq!(keep.json(&["remove-queued", &thread, &withdrawn]), json!({"deleted": false}));

    let call = r#"[{"type":"tool_use","id":"1","name":"sh","input":{}}]"#;
    let step = keep.json(&["step", &thread, &run, "--role", "assistant", "--content", call]);
    assert_eq!((&step["id"], &step["stepCount"]), (&begun["id"], &json!(1)));
    let delivered = &step["delivered"][1];
    assert_eq!((&delivered["id"], &delivered["number"]), (&queued["id"], &queued["number"]));
    // By the name it had in the queue it is edited, and forked at.
    keep.ok(&["edit", &thread, item, "Use spaces, please"]);
    let fork = keep.ok(&["fork", &thread, "--message-id", item]);
    assert_eq!(keep.message_ids(&fork)[3], item);

    keep.ok(&["end", &thread, "--cancel"]);
    keep.run(&["end", &thread, "--cancel"]).refused(5, &["nothing to cancel"]);
    keep.run(&["step", &thread, &run, "late"]).refused(5, &["is over"]);
    let runs = keep.json(&["run", "list", &thread]);
    assert_eq!(
        (&runs[0]["id"], &runs[0]["status"], &runs[0]["reason"]),
        (&begun["id"], &"stopped".into(), &"aborted".into())
    );
    let told = keep.json(&["run", "show", &thread, &run[..8]]);
    assert_eq!((&told["id"], told["steps"].as_array().map(Vec::len)), (&begun["id"], Some(1)));
    assert!(keep.ok(&["run", "show", &thread]).contains("stopped (aborted)"));
    assert_eq!(keep.json(&["run", "list", "--status", "open"]), json!([]));
    keep.run(&["run", "stop", &thread]).refused(5, &["nothing to stop"]);
    let last = keep.json(&["show", &thread, "--newest-first", "--limit", "1"])["messages"]["items"][0].clone();
    assert_eq!((&last["role"], &last["metadata"]["repair"]), (&"tool".into(), &"cancel".into()));
    assert_eq!(keep.json(&["model-messages", &thread]).as_array().map(Vec::len), Some(5));
    assert_eq!(keep.json(&["doctor"])["healthy"], true);
}

#[test]
pub fn the_queue_is_bounded_and_its_refusals_say_what_to_do() {
    let keep = Keep::new();
    let thread = keep.create("Q");
    for text in ["1", "2", "3", "4", "5"] {
        keep.ok(&["queue", &thread, text]);
    }
    let error = keep.run(&["queue", &thread, "6", "--json"]).refused(5, &["remove one"]);
    assert!(error.contains(r#""code":"queue_full""#), "{error}");
    keep.ok(&["queue", &thread, "psst", "--silent"]);
    assert_eq!(keep.ok(&["queue", &thread]).lines().count(), 6);
    let unknown = "queued-00000000-0000-8000-8000-000000000001";
    keep.run(&["edit-queued", &thread, unknown, "x"]).refused(3, &["waits on this thread"]);
    keep.run(&["edit-queued", &thread, "queued-1", "x"]).refused(2, &["queued- and a uuid"]);
    keep.run(&["edit", &thread, unknown, "x"]).refused(3, &[unknown]);
    keep.run(&["step", &thread, "x"]).refused(2, &["is not the id of a run"]);
    keep.run(&["end", &thread]).refused(2, &[]);
    keep.run(&["begin", &thread, "--ttl", "1ms"]).refused(2, &["1 s to 24 h"]);
    keep.run(&["skill", &thread, ""]).refused(2, &["must not be blank"]);
    keep.run(&["skill", &thread, "x", "--arguments", "[1]"]).refused(2, &["JSON object"]);
}

#[test]
pub fn agents_skills_and_subagents_have_their_commands() {
    let keep = Keep::new();
    let thread = keep.ok(&["create", "Main", "--message", "a"]);
    assert_eq!(keep.json(&["assign", &thread, "coder"])["agentId"], "coder");
    keep.ok(&["skill", &thread, "pdf", "--arguments", r#"{"pages":2}"#]);
    assert_eq!(keep.json(&["skill", &thread]), json!([{"name": "pdf", "arguments": {"pages": 2}}]));
    assert_eq!(keep.json(&["archive", &thread])["archived"], true);
    assert_eq!(keep.ok(&["list", "--json"]), "[]");
    assert_eq!(keep.json(&["unarchive", &thread])["archived"], false);

    let child = keep.ok(&["subagent", &thread, "critic", "--description", "reads", "--message", "please"]);
    assert_eq!(keep.json(&["status", &child, "running"]), json!({"set": true}));
    assert_eq!(keep.json(&["notify-parent", &child, "half"])["notified"], true);
    let children = keep.json(&["children", &thread]);
    assert_eq!((&children[0]["reference"], &children[0]["status"]), (&child.as_str().into(), &"running".into()));
    assert_eq!(keep.json(&["parent", &child])["id"], thread.as_str());
    assert_eq!(keep.json(&["parent", &thread]), Value::Null);
    assert_eq!(keep.json(&["status", &thread, "x"]), json!({"set": false}));
    let drawn = keep.ok(&["tree", &child]);
    assert!(drawn.contains("└─ subagent critic, running: ") && drawn.ends_with('*'), "{drawn}");
    assert_eq!(keep.json(&["tree", &thread])["subagents"][0]["parentId"], thread.as_str());
    assert_eq!(keep.json(&["delete", &thread]), json!({"deleted": true}));
    keep.run(&["show", &child]).refused(3, &[]);
}

#[test]
pub fn files_go_along_with_what_subagents_are_told_and_tell() {
    let keep = Keep::new();
    let thread = keep.create("Main");
    keep.run_with(&["write-file", &thread, "/src/a.md", "-"], b"one\n").ok();
    let made = keep.json(&["subagent", &thread, "critic", "--message", "please", "--attach", "src/a.md"]);
    assert_eq!(made["attachments"][0]["path"], "/attachments/a.md");
    let child = made["id"].as_str().expect("an id");
    assert_eq!(keep.ok(&["read-file", child, "/attachments/a.md"]), "one");
    let mut ids = Vec::new();
    for text in ["two\n", "three\n"] {
        keep.run_with(&["write-file", child, "/a.md", "-"], text.as_bytes()).ok();
        ids.push(keep.ok(&["notify-parent", child, "look", "--attach", "/a.md"]));
    }
    let waiting = keep.json(&["queue", &thread]);
    assert_eq!(waiting[1]["id"], ids[1].as_str());
    assert_eq!(waiting[1]["queuedMessage"]["attachments"][0]["path"], "/attachments/a-2.md");
    assert_eq!(keep.ok(&["read-file", &thread, "/attachments/a-2.md"]), "three");
    keep.run(&["notify-parent", child, "look", "--attach", "/none"]).refused(3, &["/none"]);
    keep.run(&["notify-parent", child, "look", "--attach", "../x"]).refused(2, &["leads out of the thread"]);
}

#[test]
pub fn a_read_for_another_thread_is_a_mention() {
    let keep = Keep::new();
    let (reader, read) = (keep.create("Reader"), keep.ok(&["create", "Read", "--message", "a"]));
    keep.ok(&["show", &read, "--from", &reader]);
    keep.ok(&["show", &read, "--from", &reader]);
    let related = keep.json(&["relationships", &read]);
    assert_eq!(related.as_array().map(Vec::len), Some(1), "once");
    assert_eq!((&related[0]["type"], &related[0]["role"]), (&"mention".into(), &"child".into()));
}

const ROUNDS: u64 = 40;
const SEED: u64 = 20_261_116;

#[test]
pub fn whoever_is_killed_while_relating_threads_leaves_both_ends_or_neither() {
    let keep = Keep::new();
    let mut chance = Chance(SEED);
    let (mut there, mut not) = (0, 0);
    // How long a command takes here, so that some are killed before they are done and some after.
    let (one, two) = (keep.create("1"), keep.create("2"));
    let begun = std::time::Instant::now();
    keep.ok(&["mention", &one, &two]);
    let delay_max = 2 * begun.elapsed().as_micros() as u64;
    for round in 0..ROUNDS {
        let thread = keep.ok(&["create", "P", "--message", "a", "--message", "b"]);
        let gone = if round % 4 == 3 { Some(keep.ok(&["fork", &thread])) } else { None };
        let other = keep.create("O");
        let command: Vec<&str> = match round % 4 {
            0 => vec!["fork", &thread, "--message-index", "0"],
            1 => vec!["handoff", &thread, "go on"],
            2 => vec!["mention", &thread, &other],
            _ => vec!["delete", gone.as_deref().expect("a fork")],
        };
        let mut running = keep.start(&command);
        // The moment of death is the one thing here that is left to time.
        std::thread::sleep(std::time::Duration::from_micros(chance.below(delay_max)));
        running.kill();
        let context = format!("seed {SEED}, round {round}");
        let related = keep.json(&["relationships", &thread]);
        let related = related.as_array().expect("relations");
        match &gone {
            Some(gone) => {
                let lives = keep.run(&["show", gone]).code == Some(0);
                assert_eq!(related.len(), usize::from(lives), "{context}");
                not += usize::from(lives);
                there += usize::from(!lives);
            }
            None => {
                assert!(related.len() <= 1, "{context}");
                for relation in related {
                    let child = relation["threadId"].as_str().expect("an id");
                    let seen = keep.json(&["relationships", child]);
                    assert_eq!(
                        (&seen[0]["threadId"], &seen[0]["role"]),
                        (&thread.as_str().into(), &"child".into()),
                        "{context}"
                    );
                }
                there += related.len();
                not += 1 - related.len();
            }
        }
    }
    // Threads without a relation are those that were made here, not halves of something.
    let made = keep.json(&["list", "--limit", "1000"]).as_array().map(Vec::len).expect("threads") as u64;
    assert!(made >= ROUNDS * 2, "{made}");
    assert!(there > 0 && not > 0, "{there} were done, {not} were not: both must have been seen");
    assert_eq!(keep.json(&["doctor"])["healthy"], true);
}
