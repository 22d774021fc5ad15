//! Writing messages: from a pipe, in an editor, and never an empty one.

use crate::support::{Keep, Terminal};

/// An editor that adds a line to the file it is given.
fn editor(keep: &Keep, does: &str) -> String {
    let path = keep.at("editor.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{does}\n")).expect("a file");
    format!("sh {}", path.display())
}

#[test]
pub fn a_message_comes_from_a_pipe_without_a_dash() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.run_with(&["say", &thread], b"from a pipe\n").ok();
    keep.run_with(&["messages", "edit", &thread, "@last"], b"edited by a pipe\n").ok();
    assert_eq!(keep.conversation(&thread), "user: edited by a pipe");
}

#[test]
pub fn an_empty_message_is_refused() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "a");
    let before = keep.everything();
    for args in [
        &["say", &thread][..],
        &["say", &thread, ""],
        &["say", &thread, " "],
        &["say", &thread, "-"],
        &["say", &thread, "--content", "[]"],
        &["queue", "add", &thread, ""],
        &["messages", "edit", &thread, "@last", ""],
        &["messages", "edit", &thread, "@last"],
    ] {
        keep.run(args).refused(2, &["TEXT: is empty"]);
    }
    assert_eq!(keep.everything(), before);
}

#[test]
pub fn on_a_terminal_the_message_is_written_in_an_editor() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let terminal = Terminal::new(80, 24);
    let on = |args: &[&str], editor: &str| {
        let mut command = keep.command(args);
        command.env("EDITOR", editor).env_remove("VISUAL").env("TMPDIR", keep.folder());
        terminal.run(command, "")
    };
    let said = on(&["say", &thread], &editor(&keep, "printf 'two\\nlines\\n' >> \"$1\""));
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert_eq!(keep.conversation(&thread), "user: two\nlines");
    let edited = on(&["messages", "edit", &thread, "@last"], &editor(&keep, "sed -i s/two/three/ \"$1\""));
    assert_eq!(edited.code, Some(0), "{}", edited.stdout);
    assert_eq!(keep.conversation(&thread), "user: three\nlines");
    let same = on(&["messages", "edit", &thread, "@last"], "true");
    assert!(same.code == Some(2) && same.stdout.contains("nothing was changed"), "{}", same.stdout);
    let none = on(&["say", &thread], "true");
    assert!(none.code == Some(2) && none.stdout.contains("TEXT: is empty"), "{}", none.stdout);
    let failed = on(&["say", &thread], "false");
    assert!(failed.code == Some(6) && failed.stdout.contains("EDITOR"), "{}", failed.stdout);
    // A text that could not be stored is kept.
    let late = on(&["say", &thread, "--expected-version", "1"], &editor(&keep, "echo precious >> \"$1\""));
    assert!(late.code == Some(5) && late.stdout.contains("your text is in "), "{}", late.stdout);
    let path = late.stdout.split("your text is in ").nth(1).and_then(|rest| rest.split_whitespace().next());
    assert_eq!(std::fs::read_to_string(path.expect("a path")).expect("a file"), "precious\n");
    assert_eq!(keep.conversation(&thread), "user: three\nlines");
}
