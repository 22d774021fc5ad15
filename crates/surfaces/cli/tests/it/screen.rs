//! What a person sees on a terminal, and what goes into a pipe.

use crate::support::{Keep, Ran, Running, Terminal};

/// A command in a terminal, without a pager.
fn seen(keep: &Keep, columns: u16, rows: u16, args: &[&str]) -> Ran {
    let mut command = keep.command(args);
    command.arg("--no-pager").env("TZ", "UTC");
    Terminal::new(columns, rows).run(command, "")
}

fn talk(keep: &Keep, messages: usize) -> String {
    let thread = keep.create("A talk with quite a long title, longer than any narrow terminal has columns");
    let lines: String = (0..messages).map(|number| format!("line {number}\n")).collect();
    keep.run_with(&["say", &thread, "--lines"], lines.as_bytes()).ok();
    thread
}

#[test]
pub fn show_gives_the_newest_that_fit_and_a_pipe_gets_all() {
    let keep = Keep::new();
    let thread = talk(&keep, 100);
    let shown = seen(&keep, 80, 24, &["show", &thread, "--color", "never"]).ok();
    assert!(shown.contains("line 99\n") && !shown.contains("line 90\n"), "{shown}");
    assert!(shown.lines().count() < 24, "{shown}");
    assert!(shown.contains("of 100; all of them: threadkeep") && shown.contains("--all"), "{shown}");
    let first = shown.find("line 98").expect("the one before the last");
    assert!(first < shown.find("line 99").expect("the last"), "the newest comes last: {shown}");
    let all = keep.ok(&["show", &thread]);
    assert_eq!(all.matches("line ").count(), 100);
    assert_eq!(keep.json(&["show", &thread])["messages"]["items"].as_array().map(Vec::len), Some(100));
    let few = keep.ok(&["show", &thread, "--limit", "3"]);
    assert_eq!(few.matches("line ").count(), 3);
    // A message that is longer than the screen is shown whole.
    keep.say(&thread, &"long\n".repeat(60));
    let shown = seen(&keep, 80, 24, &["show", &thread]).ok();
    assert_eq!(shown.matches("  long\n").count(), 60, "{shown}");
}

#[test]
pub fn tail_begins_with_the_last_ten() {
    let keep = Keep::new();
    let thread = talk(&keep, 30);
    let lines = |args: &[&str]| {
        let args: Vec<&str> = ["tail", &thread, "--no-follow"].iter().chain(args).copied().collect();
        keep.ok(&args).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let last = lines(&[]);
    assert_eq!(last.len(), 10);
    assert!(last[0].ends_with("user: line 20") && last[9].ends_with("user: line 29"), "{last:?}");
    assert_eq!((lines(&["-n", "3"]).len(), lines(&["-n", "0"]).len(), lines(&["--from-start"]).len()), (3, 0, 30));
    assert_eq!(keep.ok(&["tail", "--no-follow", "-n", "4"]).lines().count(), 4);
    keep.run(&["tail", &thread, "-n", "3", "--from-start"]).refused(2, &["not both"]);
    let other = talk(&keep, 3);
    let tail = keep.start(&["tail", &thread, &other, "-n", "5"]);
    let begin: Vec<String> = (0..5).map(|_| tail.next_line().expect("a line")).collect();
    assert!(begin[0].ends_with("line 28") && begin[4].ends_with("line 2"), "{begin:?}");
    keep.say(&other, "new");
    assert!(tail.next_line().expect("a line").ends_with("user: new"));
}

#[test]
pub fn markdown_is_rendered_and_colours_can_be_turned_off() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.ok(&["say", &thread, "--role", "assistant", "--", "# Plan\n- **one**\n```rust\nlet x = 1;\n```"]);
    let shown = |args: &[&str], variables: &[(&str, &str)]| {
        let args: Vec<&str> = ["show", &thread].iter().chain(args).copied().collect();
        let mut command = keep.command(&args);
        command.envs(variables.iter().copied());
        Terminal::new(80, 24).run(command, "").ok()
    };
    let coloured = shown(&[], &[]);
    assert!(coloured.contains("\u{1b}[32massistant\u{1b}[0m"), "{coloured:?}");
    assert!(coloured.contains("\u{1b}[1mPlan\u{1b}[0m") && coloured.contains("\u{1b}[1mone\u{1b}[0m"), "{coloured:?}");
    assert!(coloured.contains("\u{1b}[35mlet\u{1b}[0m") && !coloured.contains("```"), "{coloured:?}");
    for plain in [
        shown(&["--color", "never"], &[]),
        shown(&[], &[("NO_COLOR", "1")]),
        shown(&[], &[("TERM", "dumb")]),
        keep.ok(&["show", &thread]),
    ] {
        assert!(!plain.contains('\u{1b}') && plain.contains("# Plan"), "{plain:?}");
    }
    assert!(keep.ok(&["show", &thread, "--color", "always"]).contains("\u{1b}[1mPlan"));
    // Text of others cannot steer the terminal.
    keep.say(&thread, "**\u{1b}[2J**");
    let hostile = shown(&[], &[]);
    assert!(!hostile.contains("\u{1b}[2J") && hostile.contains("\\u{1b}[2J"), "{hostile:?}");
    keep.run(&["--color", "sometimes", "ls"]).refused(2, &["--color", "'sometimes'", "auto, always, never"]);
}

#[test]
pub fn times_are_relative_on_a_terminal_and_exact_in_the_zone_of_the_reader_elsewhere() {
    let keep = Keep::new();
    talk(&keep, 1);
    let listed = seen(&keep, 120, 24, &["ls"]).ok();
    assert!(listed.contains("just now") || listed.contains(" s ago"), "{listed}");
    let exact = seen(&keep, 120, 24, &["--exact-times", "ls"]).ok();
    assert!(exact.trim_end().ends_with('Z') && !exact.contains("ago"), "{exact}");
    let mut elsewhere = keep.command(&["ls"]);
    elsewhere.env("TZ", "Asia/Tokyo");
    let listed = crate::support::run(elsewhere, b"").ok();
    assert!(listed.ends_with("+09:00"), "{listed}");
}

#[test]
pub fn tables_and_lines_fit_the_terminal() {
    let keep = Keep::new();
    let thread = talk(&keep, 3);
    keep.say(&thread, &"word ".repeat(100));
    for columns in [60, 200] {
        for args in [&["ls"][..], &["thread", "history", &thread], &["tail", &thread, "--no-follow"], &["config"]] {
            let shown = seen(&keep, columns, 50, &[args, &["--color", "never"]].concat()).ok();
            let widest = shown.lines().map(|line| line.chars().count()).max().unwrap_or_default();
            assert!(widest <= usize::from(columns), "{args:?} has {widest} columns:\n{shown}");
        }
    }
    let listed = seen(&keep, 60, 24, &["ls"]).ok();
    assert!(listed.contains('…') && listed.contains(&thread[26..]), "{listed}");
}

#[test]
pub fn long_output_goes_through_a_pager() {
    let keep = Keep::new();
    let thread = talk(&keep, 100);
    let paged = |args: &[&str], pager: &str| {
        let mut command = keep.command(args);
        command.env("PAGER", pager);
        Terminal::new(80, 24).run(command, "")
    };
    let pager = "sed s/line/PAGED/";
    assert_eq!(paged(&["show", &thread, "--all"], pager).ok().matches("PAGED").count(), 100);
    assert_eq!(paged(&["--no-pager", "show", &thread, "--all"], pager).ok().matches("PAGED").count(), 0);
    // A reader that goes early is no failure; a pager that is not there is told.
    paged(&["show", &thread, "--all"], "head -1").ok();
    assert!(paged(&["show", &thread, "--all"], "no-such-pager").stdout.contains("--no-pager"));
    let mut command = keep.command(&["show", &thread, "--all"]);
    command.env("PAGER", pager);
    assert!(!crate::support::run(command, b"").ok().contains("PAGED"), "a pipe needs no pager");
}

#[test]
pub fn a_bare_environment_breaks_nothing() {
    let keep = Keep::new();
    let thread = talk(&keep, 3);
    for args in [&["ls"][..], &["show", &thread], &["tree", &thread], &["search", "line"], &["--help"], &["config"]] {
        let mut command = keep.command(args);
        let path = std::env::var_os("PATH").expect("a path");
        command.env_clear().env("PATH", path).env("LANG", "C").env("LC_ALL", "C");
        crate::support::run(command, b"").ok();
    }
}

#[test]
pub fn a_tail_that_is_interrupted_ends_well_and_whole() {
    let keep = Keep::new();
    let thread = talk(&keep, 5);
    let tail: Running = keep.start(&["tail", &thread]);
    for _ in 0..5 {
        tail.next_line().expect("a line");
    }
    tail.signal("INT");
    let (status, errors) = tail.end();
    assert_eq!(status.code(), Some(0), "{errors}");
}
