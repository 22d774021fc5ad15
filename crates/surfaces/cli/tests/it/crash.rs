//! A writer that is killed: acknowledged messages are there, once and in order, and the file opens.

use std::time::Duration;

use crate::support::{Chance, Keep};

const ROUNDS: u64 = 50;
const SEED: u64 = 20_261_115;
/// Longest time between the first acknowledgement and the end, in microseconds.
const DELAY_MICROS_MAX: u64 = 40_000;

/// The messages appended to `thread` after `version`, by content, and the version now.
fn appended_after(keep: &Keep, thread: &str, version: u64) -> (Vec<String>, u64) {
    let printed = keep.ok(&["tail", thread, "--no-follow", "--json", "--after", &version.to_string()]);
    let (mut contents, mut last) = (Vec::new(), version);
    for line in printed.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(entry["version"], last + 1, "versions have no gaps");
        last += 1;
        contents.push(entry["data"]["content"].as_str().expect("text").to_owned());
    }
    (contents, last)
}

#[test]
fn a_writer_killed_at_any_moment_loses_and_doubles_nothing_it_acknowledged() {
    let keep = Keep::new();
    let thread = keep.create("Crash");
    let mut chance = Chance(SEED);
    let mut version = 0;
    let mut acknowledged_in_all = 0;
    for round in 0..ROUNDS {
        let delay = chance.below(DELAY_MICROS_MAX);
        let context = format!("seed {SEED}, round {round}, killed after {delay} µs");
        let mut writer = keep.start(&["say", &thread, "--lines"]);
        let mut stdin = writer.stdin.take().expect("stdin");
        let feeder = std::thread::spawn(move || {
            let mut sent = 0u64;
            while std::io::Write::write_all(&mut stdin, format!("{round}-{sent}\n").as_bytes()).is_ok() {
                sent += 1;
            }
            sent
        });
        let first = writer.next_line().expect("a first acknowledgement");
        // The moment of death is the one thing here that is left to time.
        std::thread::sleep(Duration::from_micros(delay));
        writer.kill();
        let sent = feeder.join().expect("it was fed");
        let acknowledged: Vec<String> = std::iter::once(first).chain(writer.rest()).collect();
        let (kept, now) = appended_after(&keep, &thread, version);
        // Numbered without gaps: each at most once, in order, and nothing that was not sent.
        let expected: Vec<String> = (0..kept.len()).map(|number| format!("{round}-{number}")).collect();
        assert_eq!(kept, expected, "{context}");
        assert!(kept.len() as u64 <= sent, "{context}");
        assert!(acknowledged.len() <= kept.len(), "{context}: {} of {}", kept.len(), acknowledged.len());
        for (at, line) in acknowledged.iter().enumerate() {
            let message: serde_json::Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(message["content"], kept[at], "{context}");
            assert_eq!(message["version"], version + 1 + at as u64, "{context}");
        }
        acknowledged_in_all += acknowledged.len();
        version = now;
    }
    assert!(acknowledged_in_all as u64 >= ROUNDS);
    assert_eq!(keep.version(&thread), version);
    keep.ok(&["doctor"]);
    keep.say(&thread, "alive");
}

/// Dies at `point` in the fourth commit; says what was acknowledged and what is there afterwards.
#[cfg(feature = "failpoints")]
fn dies_at(point: &str) -> (Vec<String>, Vec<String>) {
    use std::os::unix::process::ExitStatusExt;

    let keep = Keep::new();
    let thread = keep.create("Crash");
    let mut command = keep.command(&["say", &thread, "--lines"]);
    command.env("FAILPOINTS", format!("{point}=3*off->return"));
    let mut writer = crate::support::Running::start(command);
    let mut acknowledged = Vec::new();
    for number in 0.. {
        writer.tell(&number.to_string());
        match writer.next_line() {
            Some(line) => {
                let message: serde_json::Value = serde_json::from_str(&line).expect("JSON");
                acknowledged.push(message["content"].as_str().expect("text").to_owned());
            }
            None => break,
        }
    }
    const SIGABRT: i32 = 6;
    assert_eq!(writer.end().0.signal(), Some(SIGABRT), "it died at {point}");
    let (kept, version) = appended_after(&keep, &thread, 0);
    keep.ok(&["doctor"]);
    // The store goes on where it was.
    keep.say(&thread, "after");
    assert_eq!(keep.version(&thread), version + 1);
    keep.ok(&["doctor"]);
    (acknowledged, kept)
}

#[cfg(feature = "failpoints")]
#[test]
fn a_death_before_the_sync_leaves_no_trace_of_the_commit() {
    for point in ["sqlite-after-entries", "sqlite-before-sync"] {
        let (acknowledged, kept) = dies_at(point);
        assert_eq!(acknowledged, ["0", "1", "2"], "{point}");
        assert_eq!(kept, acknowledged, "{point}");
    }
}

#[cfg(feature = "failpoints")]
#[test]
fn a_death_after_the_sync_keeps_the_commit_although_nobody_heard_of_it() {
    let (acknowledged, kept) = dies_at("sqlite-after-sync");
    assert_eq!(acknowledged, ["0", "1", "2"]);
    assert_eq!(kept, ["0", "1", "2", "3"]);
}
