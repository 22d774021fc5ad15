//! Exclusive writers: leases by hand, leases of `say --exclusive`, and holders that were paused for too long.
//!
//! The stories take a store, so that every kind of store can show them.

use serde_json::{Value, json};

use crate::support::{Keep, Running, eventually};

/// A story of every kind of store.
pub fn a_lease_keeps_others_out_of_the_conversation(keep: &Keep) {
    let thread = keep.create("Work");
    let message = keep.say(&thread, "a");
    assert_eq!(keep.json(&["writer", &thread]), Value::Null);
    let none = keep.run(&["writer", &thread]);
    assert!(none.stdout.is_empty() && none.stderr.contains("not locked"), "{none:?}");

    let token = keep.ok(&["writer", &thread, "--take", "--ttl", "1h", "--holder", "ann"]);
    let shown = keep.json(&["writer", &thread]);
    assert_eq!((&shown["holder"], shown.get("token")), (&"ann".into(), None), "{shown}");
    let until = shown["expiresAt"].as_str().expect("a time").to_owned();
    assert!(keep.ok(&["writer", &thread]).starts_with("ann  until "));

    let before = keep.everything();
    let changes: [&[&str]; 8] = [
        &["say", &thread, "x"],
        &["append-event", &thread, "result", "{}"],
        &["insert", &thread, "x", "--before", &message],
        &["edit", &thread, &message, "A"],
        &["delete-message", &thread, &message],
        &["rollback", &thread, "--to-version", "1"],
        &["truncate", &thread, "--from-index", "0"],
        &["rm", &thread],
    ];
    let with = |args: &[&str], more: &[&str]| -> Vec<String> {
        args.iter().chain(more).map(|arg| (*arg).to_owned()).collect()
    };
    let run = |args: &[String]| keep.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    for args in changes.into_iter().chain([&["say", thread.as_str(), "x", "--exclusive"][..]]) {
        let error = run(&with(args, &["--json"])).refused(5, &[]);
        let error: Value = serde_json::from_str(&error).expect("one line of JSON");
        let said = (&error["code"], &error["holder"], &error["expiresAt"]);
        assert_eq!(said, (&"writer_held".into(), &"ann".into(), &until.as_str().into()), "{args:?}");
        run(args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>().as_slice())
            .refused(5, &["ann is the exclusive writer of thread", "fork"]);
    }
    keep.run(&["writer", &thread, "--take"]).refused(5, &["ann is the exclusive writer"]);
    keep.run(&["say", &thread, "x", "--writer", "0000000000000999"]).refused(5, &["lease has ended", "ann holds one"]);
    assert_eq!(keep.everything(), before);
    let fork = keep.ok(&["fork", &thread]);
    keep.ok(&["update", &thread, "--title", "Still my title"]);
    keep.say(&fork, "elsewhere");

    let renewed = keep.json(&["writer", &thread, "--renew", "--token", &token, "--ttl", "2h"]);
    assert_eq!((&renewed["token"], &renewed["holder"]), (&token.as_str().into(), &"ann".into()));
    assert!(renewed["expiresAt"].as_str().is_some_and(|renewed| *renewed > *until), "{renewed}");
    // All but the last one, which deletes the thread.
    for args in &changes[..7] {
        run(&with(args, &["--writer", &token])).ok();
    }
    keep.ok(&["rollback", &thread, "--undo", "--writer", &token]);
    let release = || keep.json(&["writer", &thread, "--release", "--token", &token]);
    assert_eq!((release(), release()), (json!({"released": true}), json!({"released": false})));
    for args in changes {
        run(&with(args, &["--writer", &token])).refused(5, &["the writer's lease has ended: nothing was written"]);
    }
    keep.run(&["writer", &thread, "--renew", "--token", &token]).refused(5, &["lease has ended"]);
    keep.say(&thread, "free again");
    let taken = keep.json(&["writer", &thread, "--take"]);
    assert_eq!(taken.as_object().expect("a lease").keys().collect::<Vec<_>>(), ["token", "holder", "expiresAt"]);
    assert_ne!(taken["token"], token.as_str(), "each lease has a token of its own");
    assert!(taken["holder"].as_str().is_some_and(|holder| holder.starts_with("local (process ")), "{taken}");
    let next = taken["token"].as_str().expect("a token").to_owned();
    assert_eq!(keep.json(&["rm", &thread, "--writer", &next])["deleted"], true);
}

/// A story of every kind of store: signs of life while stdin is silent, and the lease is free at the end.
pub fn an_exclusive_say_holds_the_lease_until_it_ends(keep: &Keep) {
    let thread = keep.create("Work");
    let mut writer = keep.start(&["say", &thread, "--lines", "--exclusive", "--ttl", "2s", "--actor", "ann"]);
    writer.tell("a");
    writer.next_json();
    let until = || keep.json(&["writer", &thread])["expiresAt"].as_str().map(str::to_owned);
    let first = until().expect("it is held");
    for _ in 0..3 {
        let before = until().expect("it is held");
        eventually("it is renewed", || until().expect("it is held") > before);
    }
    assert!(until().expect("it is held") > first);
    let held = format!("ann (process {})", writer.child.id());
    keep.run(&["say", &thread, "x"]).refused(5, &[&held, "is the exclusive writer of thread"]);
    keep.run_with(&["say", &thread, "--lines"], b"x\n").refused(5, &["line 1: ", &held, "; 0 lines were kept"]);
    keep.run_with(&["say", &thread, "--lines", "--exclusive"], b"x\n").refused(5, &[&held]);
    writer.tell("b");
    writer.next_json();
    let (status, stderr) = writer.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    assert_eq!(until(), None, "it was released");
    keep.ok(&["say", &thread, "--exclusive", "c"]);
    assert_eq!(until(), None, "it was released");
    keep.run(&["say", &thread, "x", "--exclusive", "--expected-version", "1"]).refused(5, &["at version 3, not 1"]);
    assert_eq!(until(), None, "it was released");
    assert_eq!(keep.conversation(&thread), "user: a | user: b | user: c");
}

/// A story of every kind of store: Ctrl-C and a polite request to end let go of the lease.
pub fn an_exclusive_say_that_is_interrupted_lets_go_of_the_lease(keep: &Keep) {
    let thread = keep.create("Work");
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut writer = keep.start(&["say", &thread, "--lines", "--exclusive", "--ttl", "1h"]);
        writer.tell(signal);
        writer.next_json();
        writer.signal(signal);
        assert_eq!(writer.next_line(), None);
        let (status, stderr) = writer.end();
        assert_eq!((status.code(), stderr.as_str()), (Some(code), ""));
        assert_eq!(keep.json(&["writer", &thread]), Value::Null);
    }
    assert_eq!(keep.conversation(&thread), "user: INT | user: TERM");
}

/// A story of every kind of store: a holder is paused past its lease, another one takes over, and the first wakes up.
pub fn a_holder_that_was_paused_for_too_long_is_refused(keep: &Keep, rounds: usize) {
    let thread = keep.create("Paused");
    let exclusively = |name: &str, ttl: &str| -> Running {
        keep.start(&["say", &thread, "--lines", "--exclusive", "--ttl", ttl, "--actor", name, "--json"])
    };
    let mut expected = Vec::new();
    for round in 0..rounds {
        let mut late = exclusively("late", "500ms");
        late.tell(&format!("{round} before"));
        assert_eq!(late.next_json()["content"], format!("{round} before"));
        late.signal("STOP");
        eventually("the lease ends", || keep.json(&["writer", &thread]).is_null());
        let mut other = exclusively("other", "1h");
        other.tell(&format!("{round} meanwhile"));
        assert_eq!(other.next_json()["content"], format!("{round} meanwhile"));

        late.tell(&format!("{round} late"));
        late.signal("CONT");
        assert_eq!(late.next_line(), None, "nothing more is acknowledged");
        let (status, stderr) = late.end();
        assert_eq!(status.code(), Some(5), "{stderr}");
        let error: Value = serde_json::from_str(&stderr).unwrap_or_else(|_| panic!("not one line of JSON: {stderr}"));
        assert_eq!(error["code"], "writer_lost", "{stderr}");
        assert!(error["holder"].as_str().is_some_and(|holder| holder.starts_with("other (process ")), "{error}");
        let detail = error["detail"].as_str().expect("a sentence");
        assert!(detail.starts_with("line 2: the writer's lease has ended"), "{detail}");
        assert!(detail.ends_with("; 1 line was kept"), "{detail}");

        other.tell(&format!("{round} after"));
        assert_eq!(other.next_json()["content"], format!("{round} after"));
        let (status, stderr) = other.end();
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
        expected.extend(["before", "meanwhile", "after"].map(|when| format!("user: {round} {when}")));
    }
    assert_eq!(keep.conversation(&thread), expected.join(" | "));
}

#[test]
pub fn a_lease_by_hand() {
    a_lease_keeps_others_out_of_the_conversation(&Keep::new());
}

#[test]
pub fn a_lease_for_as_long_as_a_program_runs() {
    an_exclusive_say_holds_the_lease_until_it_ends(&Keep::new());
}

#[test]
pub fn a_program_that_is_interrupted_lets_go_of_its_lease() {
    an_exclusive_say_that_is_interrupted_lets_go_of_the_lease(&Keep::new());
}

#[test]
pub fn a_program_that_was_paused_past_its_lease_is_refused() {
    a_holder_that_was_paused_for_too_long_is_refused(&Keep::new(), 3);
}

#[test]
pub fn a_lease_that_makes_no_sense_is_refused() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    for ttl in ["1ms", "25h", "99ms"] {
        keep.run(&["writer", &thread, "--take", "--ttl", ttl]).refused(2, &["from 100 milliseconds to 24 hours"]);
    }
    for ttl in ["", "soon", "-1s", "1d"] {
        let ttl = format!("--ttl={ttl}");
        keep.run(&["say", &thread, "x", "--exclusive", &ttl]).refused(2, &["is not a length of time"]);
    }
    for args in [
        &["--take", "--renew", "--token", "0000000000000001"][..],
        &["--renew"],
        &["--release"],
        &["--token", "0000000000000001"],
        &["--ttl", "1s"],
        &["--holder", "ann"],
        &["--release", "--token", "0000000000000001", "--ttl", "1s"],
        &["--release", "--token", "x"],
    ] {
        let args: Vec<&str> = ["writer", &thread].iter().chain(args).copied().collect();
        keep.run(&args).refused(2, &[]);
    }
    keep.run(&["say", &thread, "x", "--ttl", "1s"]).refused(2, &["--exclusive"]);
    keep.run(&["say", &thread, "x", "--exclusive", "--writer", "0000000000000001"]).refused(2, &[]);
    keep.run(&["writer", &thread, "--take", "--holder", " "]).refused(2, &["must not be blank"]);
    keep.run(&["writer", "T-00000000-0000-4000-8000-000000000000"]).refused(3, &["there is no thread"]);
    let name = "ä".repeat(127);
    assert!(
        keep.json(&["writer", &thread, "--take", "--actor", &name])["holder"].as_str().expect("a name").len() < 256
    );
}
