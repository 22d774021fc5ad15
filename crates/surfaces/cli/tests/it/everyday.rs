//! Everyday work around threads: settings, backups, a first look, help for the shell, signing in with a browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::serve::Serving;
use crate::support::{Ran, run, threadkeep};

/// Commands in a folder of their own, which is also where they look for their file.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = threadkeep();
        command.args(args).current_dir(self.0.path());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        run(self.command(args), b"")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).expect("a file");
    }
}

fn setting(said: &Value, name: &str) -> (String, String) {
    let all = said.as_array().expect("settings");
    let one = all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no setting '{name}'"));
    let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
    (text("value"), text("source"))
}

#[test]
fn flags_go_before_the_environment_and_that_before_the_file() {
    let desk = Desk::new();
    desk.write(
        "threadkeep.toml",
        "page = 7\npage-max = 200\nheartbeat = \"3s\"\nlisten = \"127.0.0.1:0\"\ndata = \"kept\"\n",
    );
    let mut command = desk.command(&["config", "--json", "--page", "9"]);
    command.env("THREADKEEP_HEARTBEAT", "4s").env("THREADKEEP_PAGE", "8").env("THREADKEEP_JWT_SECRET", "hush hush");
    let shown = run(command, b"").ok();
    assert!(!shown.contains("hush"), "a secret is never shown");
    let said: Value = serde_json::from_str(&shown).expect("json");
    let is = |name: &str, value: &str, source: &str| assert_eq!(setting(&said, name), (value.into(), source.into()));
    is("page", "9", "flag --page");
    is("heartbeat", "4s", "environment THREADKEEP_HEARTBEAT");
    is("page-max", "200", "file threadkeep.toml");
    is("data", "kept", "file threadkeep.toml");
    is("drain", "10s", "default");
    is("jwt-secret", "(secret)", "environment THREADKEEP_JWT_SECRET");
    desk.run(&["create", "Here"]).ok();
    assert!(desk.at("kept/threadkeep.db").exists(), "the file is for every command");
    desk.run(&["list"]).ok();
}

#[test]
fn a_file_that_says_nonsense_is_refused_and_told_where() {
    let desk = Desk::new();
    for (text, said) in [
        ("colour = \"red\"", "no setting 'colour'"),
        ("page = \"many\"", "'many' is not a number"),
        ("page = true", "'true' is not a number"),
        ("page = ", "threadkeep.toml"),
        ("[page]\nx = 1", "'page' is neither"),
        ("page = 5\npage-max = 2", "--page-max"),
    ] {
        desk.write("threadkeep.toml", text);
        desk.run(&["config"]).refused(2, &[said]);
    }
    desk.run(&["--config", "nowhere.toml", "config"]).refused(3, &["nowhere.toml"]);
    desk.write("other.toml", "page = 3");
    let shown = desk.run(&["--config=other.toml", "config", "--json"]).ok();
    assert_eq!(setting(&serde_json::from_str(&shown).expect("json"), "page").1, "file other.toml");
}

#[test]
fn a_store_is_backed_up_while_a_server_writes_and_comes_back() {
    let desk = Desk::new();
    let data = desk.at("kept").display().to_string();
    let thread = desk.run(&["--data", &data, "create", "Kept", "--message", "before"]).ok();
    let serving = Serving::start(&desk.at("kept"));
    let file = desk.at("backup.db");
    let file = file.to_str().expect("a path");
    let taken = desk.run(&["--data", &data, "backup", file, "--json"]).ok();
    assert!(taken.contains("bytes"), "the server gave it: {taken}");
    desk.run(&["--data", &data, "backup", file]).refused(2, &["is there already"]);
    desk.run(&["--data", &data, "say", &thread, "after"]).ok();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o077, 0, "for its owner's eyes alone: {mode:o}");
    }
    // The same over HTTP, from anywhere.
    let mut fetch = desk.command(&["--server", &format!("http://{}", serving.address), "backup", "fetched.db"]);
    fetch.env("THREADKEEP_KEY", serving.key());
    run(fetch, b"").ok();
    for (backup, shows) in [(file, "before"), ("fetched.db", "before after")] {
        let into = format!("restored-{}", Path::new(backup).file_stem().expect("a name").display());
        let restored = desk.run(&["--data", &into, "restore", backup, "--json"]).ok();
        let restored: Value = serde_json::from_str(&restored).expect("json");
        assert_eq!(restored["threads"], 1);
        let said = desk.run(&["--data", &into, "show", &thread, "--json"]).ok();
        let said: Value = serde_json::from_str(&said).expect("json");
        let texts: Vec<&str> = said["messages"]["items"]
            .as_array()
            .expect("messages")
            .iter()
            .filter_map(|one| one["content"].as_str())
            .collect();
        assert_eq!(texts.join(" "), shows);
        desk.run(&["--data", &into, "restore", backup]).refused(2, &["without threads"]);
    }
    desk.write("nonsense.db", "this is no store");
    desk.run(&["--data", "new", "restore", "nonsense.db"]).refused(6, &["nonsense"]);
    desk.run(&["--data", "new", "restore", "nowhere.db"]).refused(6, &["nowhere.db"]);
}

#[test]
fn the_demo_is_a_family_and_what_it_prints_works() {
    let desk = Desk::new();
    let shown = desk.run(&["demo"]).ok();
    for part in ["fork after message 1", "handoff", "subagent botanist, has an answer"] {
        assert!(shown.contains(part), "{shown}");
    }
    let commands: Vec<&str> = shown.lines().skip_while(|line| *line != "Try next:").skip(1).collect();
    assert!(commands.len() >= 6, "{shown}");
    for line in commands {
        let command = line.trim().split("   ").next().expect("a command");
        if ["threadkeep tail", "threadkeep serve"].iter().any(|endless| command.starts_with(endless)) {
            continue;
        }
        let path = PathBuf::from(threadkeep().get_program());
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command.replace("threadkeep ", &format!("{} ", path.display())));
        shell.current_dir(desk.0.path());
        run(shell, b"").ok();
    }
}

#[test]
fn shells_and_manuals_know_every_command() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = desk.run(&["completions", shell]).ok();
        assert!(script.contains("unarchive") && script.contains("page-max"), "{shell}");
    }
    assert!(desk.run(&["man"]).ok().contains(".TH threadkeep 1"));
    desk.run(&["man", "--to", "pages"]).ok();
    for page in ["threadkeep.1", "threadkeep-fork.1", "threadkeep-keys-create.1", "threadkeep-run-start.1"] {
        assert!(desk.at("pages").join(page).exists(), "{page}");
    }
    assert!(!desk.at("threadkeep-data").exists(), "no store is made for that");
}

#[test]
fn health_and_sign_in_ask_the_server_and_say_so_without_one() {
    let desk = Desk::new();
    let data = desk.at("kept").display().to_string();
    desk.run(&["--data", &data, "create", "Kept"]).ok();
    desk.run(&["--data", &data, "health"]).refused(6, &["no server runs", "threadkeep --data"]);
    desk.run(&["--data", &data, "sign-in"]).refused(6, &["no server runs"]);
    let serving = Serving::start(&desk.at("kept"));
    assert_eq!(desk.run(&["--data", &data, "health"]).ok(), "ready");
    let link = desk.run(&["--data", &data, "sign-in"]).ok();
    assert!(link.starts_with(&format!("http://{}/sign-in?code=", serving.address)), "{link}");
    // In a pipe, the page is named and not opened.
    let link = desk.run(&["--data", &data, "open", "Kept"]).ok();
    assert!(
        link.starts_with(&format!("http://{}/sign-in?code=", serving.address)) && link.contains("&next=/t/"),
        "{link}"
    );
}
