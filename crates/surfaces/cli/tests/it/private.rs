//! Data at rest belongs to its owner: no file or folder that is made can be read by other users, whatever the umask.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Keep, Running, run, threadkeep};

/// The binary under a umask that takes nothing away.
fn open_handed(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let program = threadkeep().get_program().to_owned();
    command.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(program).args(args).current_dir(folder);
    command
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

/// Everything below `folder` that other users can use, with its mode.
fn exposed(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for item in std::fs::read_dir(folder).expect("a folder") {
        let path = item.expect("an item").path();
        if mode(&path) & 0o077 != 0 {
            found.push((path.clone(), format!("{:04o}", mode(&path))));
        }
        if path.is_dir() {
            found.extend(exposed(&path));
        }
    }
    found
}

#[test]
fn whatever_is_made_on_disk_is_for_its_owner_alone() {
    let keep = Keep::new();
    let here = keep.folder();
    let ok = |args: &[&str]| run(open_handed(here, args), b"").ok();
    // A folder whose parent is missing, a store, its index, a file, and everything that writes one.
    let data = "made/data";
    let thread = ok(&["--data", data, "new", "Mine", "--message", "private words"]);
    ok(&["--data", data, "index", "backfill"]);
    run(open_handed(here, &["--data", data, "write-file", &thread, "/a.txt", "-"]), b"hello").ok();
    // What an interrupted program of earlier days left behind is no way around it.
    for left in ["all.jsonl.part", "out.txt.part"] {
        std::fs::write(keep.at(left), "").expect("a file");
        std::fs::set_permissions(keep.at(left), PermissionsExt::from_mode(0o666)).expect("a mode");
    }
    ok(&["--data", data, "export", "--output", "all.jsonl"]);
    ok(&["--data", data, "export", &thread, "--format", "amp", "--output", "amp.json"]);
    ok(&["--data", data, "read-file", &thread, "/a.txt", "--output", "out.txt"]);
    ok(&["--data", data, "backup", "backup.db"]);
    ok(&["--data", "restored", "restore", "backup.db"]);
    ok(&["--store", "sqlite:other/one.db", "new", "Elsewhere"]);
    // While a server runs, with its log and its shared memory beside the store.
    let running = Running::start(open_handed(here, &["serve", "--json", "--listen", "127.0.0.1:0", "--data", data]));
    let ready = running.next_json();
    assert_eq!(ready.get("warning"), None, "{ready}");
    ok(&["--data", data, "say", &thread, "over the server"]);
    ok(&["--data", data, "search", "private words"]);
    ok(&["--data", data, "backup", "served.db"]);
    let files = ["threadkeep.db", "threadkeep.db-wal", "threadkeep.db-shm", "threadkeep-search.db", "server.lock"];
    for file in files {
        assert_eq!(mode(&keep.at(data).join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&keep.at(data)), 0o700);
    assert_eq!(exposed(here), []);
    running.signal("TERM");
    assert!(running.end().0.success());
    assert_eq!(exposed(here), []);
}

#[test]
fn a_data_folder_that_others_can_open_is_told_at_start() {
    let keep = Keep::new();
    let data = keep.at("it's wide");
    std::fs::create_dir(&data).expect("a folder");
    std::fs::set_permissions(&data, PermissionsExt::from_mode(0o755)).expect("a mode");
    let serve = |json: &[&str]| {
        let args = ["serve", "--listen", "127.0.0.1:0", "--data", "it's wide"];
        Running::start(open_handed(keep.folder(), &[&args, json].concat()))
    };
    let told = serve(&["--json"]).next_json();
    let warning = told["warning"].as_str().expect("a warning").to_owned();
    assert!(warning.contains("mode 0755") && warning.contains("run: chmod 700 "), "{warning}");
    let plain = serve(&[]);
    let lines: Vec<String> =
        std::iter::from_fn(|| plain.next_line()).take_while(|line| !line.contains("Ctrl-C")).collect();
    let said: Vec<&String> = lines.iter().filter(|line| line.contains(&warning)).collect();
    assert_eq!(said.len(), 1, "{lines:?}");
    drop(plain);
    // The command it names works when it is pasted.
    let command = warning.split_once("run: ").expect("a command").1;
    assert!(Command::new("sh").args(["-c", command]).status().expect("sh runs").success());
    assert_eq!(mode(&data), 0o700);
    assert_eq!(serve(&["--json"]).next_json().get("warning"), None);
}

#[test]
fn settings_are_not_looked_for_in_a_folder_that_cannot_be_read() {
    let keep = Keep::new();
    let here = keep.at("here");
    std::fs::create_dir(&here).expect("a folder");
    // Root reads everything, unless it gives up the capability.
    let drop =
        "drop=; [ $(id -u) != 0 ] || drop='setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-all'";
    let config = |before: &str| {
        let mut shell = Command::new("sh");
        let script = format!("{drop}; {before}; $drop \"$0\" config; code=$?; chmod 700 .; exit $code");
        shell.args(["-c", &script]).arg(threadkeep().get_program()).current_dir(&here);
        shell.env_remove("THREADKEEP_CONFIG");
        run(shell, b"")
    };
    assert!(config("chmod 000 .").ok().contains("heartbeat"));
    config("touch threadkeep.toml; chmod 000 threadkeep.toml").refused(6, &["cannot read threadkeep.toml"]);
}
