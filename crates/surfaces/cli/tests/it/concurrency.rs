//! Several processes on one file: nothing is lost, nothing doubled, each writer's order kept.

use crate::support::{Keep, Running};

const LINES: usize = 400;

/// A writer that says `name 0`, `name 1`, … and checks that all of it is acknowledged.
fn writer(keep: &Keep, thread: &str, name: &str) -> (Running, std::thread::JoinHandle<()>) {
    let mut running = keep.start(&["say", thread, "--lines"]);
    let mut stdin = running.stdin.take().expect("stdin");
    let name = name.to_owned();
    let feeder = std::thread::spawn(move || {
        for number in 0..LINES {
            std::io::Write::write_all(&mut stdin, format!("{name} {number}\n").as_bytes()).expect("it reads");
        }
    });
    (running, feeder)
}

fn contents(lines: &[String]) -> Vec<String> {
    let content = |line: &String| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["content"].clone();
    lines.iter().map(|line| content(line).as_str().expect("text").to_owned()).collect()
}

fn all_of(name: &str) -> Vec<String> {
    (0..LINES).map(|number| format!("{name} {number}")).collect()
}

#[test]
pub fn writers_on_the_same_thread_and_on_different_ones_lose_and_double_nothing() {
    let keep = Keep::new();
    let [shared, own] = ["Shared", "Own"].map(|title| keep.create(title));
    let names = [("a", &shared), ("b", &shared), ("c", &shared), ("d", &own)];
    let writers = names.map(|(name, thread)| (name, writer(&keep, thread, name)));
    for (name, (running, feeder)) in writers {
        feeder.join().expect("it was fed");
        assert_eq!(contents(&running.rest()), all_of(name), "acknowledged in order");
        let (status, stderr) = running.end();
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    }
    let shown = keep.json(&["show", &shared, "--all"]);
    let said: Vec<String> = shown["messages"]["items"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|item| item["content"].as_str().expect("text").to_owned())
        .collect();
    assert_eq!(said.len(), 3 * LINES);
    for name in ["a", "b", "c"] {
        let of_one: Vec<_> = said.iter().filter(|text| text.starts_with(name)).cloned().collect();
        assert_eq!(of_one, all_of(name));
    }
    assert_eq!(keep.version(&shared), 3 * LINES as u64);
    assert_eq!(keep.version(&own), LINES as u64);
    keep.ok(&["doctor"]);
}

#[test]
pub fn a_store_that_many_begin_at_once_is_one_store() {
    let keep = Keep::new();
    let titles: Vec<String> = (0..8).map(|number| format!("t{number}")).collect();
    let started: Vec<Running> = titles.iter().map(|title| keep.start(&["create", title])).collect();
    for running in started {
        assert!(running.next_line().expect("an id").starts_with("T-"));
        let (status, stderr) = running.end();
        assert!(status.success(), "{stderr}");
    }
    let listed = keep.json(&["list"]);
    let mut found: Vec<&str> =
        listed.as_array().expect("threads").iter().map(|t| t["title"].as_str().expect("title")).collect();
    found.sort_unstable();
    assert_eq!(found, titles);
    keep.ok(&["doctor"]);
}

#[test]
pub fn other_operations_pass_while_somebody_writes_without_pause() {
    let keep = Keep::new();
    let thread = keep.create("Busy");
    let (running, feeder) = writer(&keep, &thread, "w");
    let mut forks = 0;
    loop {
        let fork = keep.ok(&["fork", &thread]);
        keep.ok(&["checkpoint", &thread, "c"]);
        keep.ok(&["update", &thread, "--title", &format!("Busy {forks}")]);
        keep.ok(&["say", &fork, "mine"]);
        forks += 1;
        if feeder.is_finished() && forks >= 3 {
            break;
        }
    }
    feeder.join().expect("it was fed");
    assert_eq!(contents(&running.rest()), all_of("w"));
    assert!(running.end().0.success());
    let shown = keep.conversation(&thread);
    assert_eq!(shown.split(" | ").count(), LINES);
    keep.ok(&["doctor"]);
}
