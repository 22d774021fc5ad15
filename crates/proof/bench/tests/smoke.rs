//! Every measurement runs. Nothing is timed here: a full run does that.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadkeep-bench"));
    command.args(args).env("THREADKEEP_BENCH_DIR", folder.path());
    let output = command.output().expect("the program runs");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder is there").collect();
    assert!(left.is_empty(), "files were left behind: {left:?}");
    output
}

/// The output of a successful run, line by line.
fn objects(output: Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object")).collect()
}

/// Runs everything quickly; gives how many lines each row has. `by_hand_on` is the store that is used by hand beside
/// ours.
fn quick_run(by_hand_on: &str, args: &[&str]) -> BTreeMap<String, usize> {
    let output = run(&[&["engine", "--quick", "--json"], args].concat());
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for line in objects(output) {
        *lines.entry(line["row"].as_str().expect("a row has a name").to_owned()).or_default() += 1;
        assert!(line["ours"].as_f64().is_some_and(f64::is_finite), "{line}");
        for other in [by_hand_on, "jsonl", "ratio"] {
            assert!(line[other].is_null() || line[other].as_f64().is_some_and(f64::is_finite), "{line}");
        }
        assert_eq!(line[by_hand_on].is_null(), line["ratio"].is_null(), "{line}");
        assert_eq!(line["aim"].is_null(), line["met"].is_null(), "{line}");
        assert_eq!(line["quick"], true, "{line}");
    }
    lines
}

#[test]
fn a_quick_run_gives_every_row_with_finite_numbers() {
    let expected = [
        ("append-1", 3),
        ("append-64", 7),
        ("append-env", 4),
        ("append-history", 10),
        ("at-rest", 1),
        ("chain", 4),
        ("context", 4),
        ("fork", 24),
        ("list", 2),
        ("memory", 2),
        ("read", 4),
    ];
    assert_eq!(quick_run("sqlite", &["--rounds", "2"]), expected.map(|(row, lines)| (row.to_owned(), lines)).into());
}

/// One bench at a time on the server: leftovers of one must not be mistaken for the data of another.
static ON_THE_SERVER: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn a_quick_run_on_a_server_gives_every_row_and_leaves_nothing_there() {
    let _alone = ON_THE_SERVER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let url = threadkeep_throwaway::postgres();
    let expected = [
        ("append-1", 2),
        ("append-32", 5),
        ("append-8", 5),
        ("append-env", 4),
        ("append-history", 10),
        ("at-rest", 1),
        ("chain", 4),
        ("context", 4),
        ("feed", 8),
        ("fork", 18),
        ("list", 2),
        ("memory", 2),
        ("read", 4),
    ];
    let lines = quick_run("postgres", &["--rounds", "1", "--store", url]);
    assert_eq!(lines, expected.map(|(row, lines)| (row.to_owned(), lines)).into());
    nothing_is_left(url);
}

fn nothing_is_left(url: &str) {
    let left =
        threadkeep_throwaway::sql(url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'threadkeep_bench_%'");
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_schema_that_is_there_already_is_left_alone_and_no_password_is_shown() {
    let schema = threadkeep_throwaway::schema();
    let (url, name) = (schema.url(), schema.name());
    let password = url.split(['@', ':']).nth(2).filter(|password| !password.is_empty()).expect("a password");
    threadkeep_throwaway::sql(&url, &format!("CREATE SCHEMA {name}; CREATE TABLE mine (id int)"));
    let refused = run(&["engine", "--quick", "--rows", "at-rest", "--store", &url]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is there already"), "{refused:?}");
    threadkeep_throwaway::sql(&url, &format!("DROP TABLE mine; DROP SCHEMA {name}"));
    let table = run(&["engine", "--quick", "--rounds", "1", "--rows", "at-rest", "--store", &url]);
    let shown = String::from_utf8_lossy(&table.stdout);
    assert!(table.status.success() && shown.contains(name) && shown.contains("fsync"), "{table:?}");
    let nobody = url.replace("threadkeep:", "nobody:");
    let stranger = run(&["engine", "--quick", "--store", &nobody]);
    assert!(!stranger.status.success());
    for output in [refused, table, stranger] {
        assert!(!format!("{output:?}").contains(password), "a password is shown");
    }
}

#[test]
fn every_filter_of_a_list_is_measured_on_both_stores() {
    let _alone = ON_THE_SERVER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for store in [None, Some(threadkeep_throwaway::postgres())] {
        let args: Vec<&str> = ["list", "--quick", "--json", "--rounds", "1", "--threads", "2000"]
            .into_iter()
            .chain(store.into_iter().flat_map(|url| ["--store", url]))
            .collect();
        let output = run(&args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines: Vec<Value> = String::from_utf8(output.stdout)
            .expect("text")
            .lines()
            .map(|line| serde_json::from_str(line).expect("a JSON object"))
            .collect();
        assert_eq!(lines.len(), 70);
        assert!(
            lines.iter().all(|line| line["ratio"].as_f64().is_some_and(f64::is_finite) && line["met"].is_boolean())
        );
    }
}

#[test]
fn a_single_row_can_be_asked_for_as_a_table() {
    let output = run(&["engine", "--quick", "--rounds", "1", "--rows", "at-rest"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("--quick") && text.contains("bytes a message"), "{text}");
    assert!(!text.contains("append-64"), "{text}");
}

#[test]
fn observers_see_what_they_should_and_no_more() {
    let schema = threadkeep_throwaway::schema();
    for place in [&[][..], &["--behind"], &["--store", &schema.url()]] {
        let output = run(&[&["observe", "--quick", "--json"], place].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let line: Value = serde_json::from_slice(&output.stdout).expect("a JSON object");
        assert_eq!((&line["allGotLast"], &line["observers"]), (&true.into(), &200.into()), "{line}");
        assert!(line["residentPeakBytes"].as_u64().is_some_and(|bytes| bytes > 0), "{line}");
    }
}

/// The server that is measured lies beside this package's own program. The workspace's tests have built it; alone, this
/// package has to ask for it.
fn build_server() {
    let server = std::path::Path::new(env!("CARGO_BIN_EXE_threadkeep-bench")).with_file_name("threadkeep");
    if !server.is_file() {
        let built = Command::new(env!("CARGO")).args(["build", "-p", "threadkeep-cli"]).status();
        assert!(built.is_ok_and(|status| status.success()) && server.is_file(), "{} is missing", server.display());
    }
}

#[test]
fn the_server_is_measured_on_both_stores_and_no_subscriber_misses_anything() {
    let _alone = ON_THE_SERVER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    build_server();
    for store in [None, Some(threadkeep_throwaway::postgres())] {
        let args: Vec<&str> = ["http", "--quick", "--json", "--rounds", "1", "--subscribers", "10"]
            .into_iter()
            .chain(store.into_iter().flat_map(|url| ["--store", url]))
            .collect();
        let output = run(&args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut rows: BTreeMap<String, usize> = BTreeMap::new();
        for line in String::from_utf8(output.stdout).expect("text").lines() {
            let line: Value = serde_json::from_str(line).expect("a JSON object");
            *rows.entry(line["row"].as_str().expect("a row has a name").to_owned()).or_default() += 1;
            assert!(line["ours"].as_f64().is_some_and(f64::is_finite), "{line}");
            if line["row"] == "http-streams" && !line["aim"].is_null() {
                assert_eq!(line["met"], true, "{line}");
            }
        }
        let expected = [("http-append", 8), ("http-read", 8), ("http-start", 6), ("http-streams", 5)];
        assert_eq!(rows, expected.map(|(row, lines)| (row.to_owned(), lines)).into());
    }
}

#[test]
fn without_a_server_to_measure_it_says_what_to_do() {
    let output = run(&["http", "--threadkeep", "/nowhere/threadkeep"]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cargo build --release") && said.contains("--threadkeep PATH"), "{said}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    for (args, reason) in [
        (["engine", "--store", "elsewhere://here"], "use sqlite:FOLDER or postgres://"),
        (["engine", "--store", "postgres://me:secret@127.0.0.1:1/here"], "postgres://me@127.0.0.1:1/here"),
        (["engine", "--rows", "unknown"], "there is no row 'unknown'"),
        (["http", "--rows", "unknown"], "there is no row 'unknown'"),
        (["scale", "--rows", "unknown"], "there is no row 'unknown'"),
    ] {
        let output = run(&args);
        assert!(!output.status.success() && !format!("{output:?}").contains("secret"), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{args:?}");
    }
}

#[test]
fn a_quick_run_over_files_gives_every_row_and_copies_nothing() {
    let output = run(&["files", "--quick", "--json", "--rounds", "1"]);
    let lines = objects(output);
    let rows: Vec<&str> = lines.iter().map(|line| line["row"].as_str().expect("a row has a name")).collect();
    assert_eq!(rows, ["fork", "spawn", "rollback", "forks", "forks", "grep", "grep", "grep", "find"]);
    assert!(lines.iter().all(|line| line["ours"].as_f64().is_some_and(f64::is_finite)), "{lines:?}");
    assert_eq!(lines[4]["ours"], 0.0, "contents were copied");
}

#[test]
fn a_quick_run_of_searches_gives_every_row() {
    let output = run(&["search", "--quick", "--json"]);
    let lines = objects(output);
    let rows: Vec<&str> = lines.iter().map(|line| line["row"].as_str().expect("a row has a name")).collect();
    let asked = ["ask"; 12];
    assert_eq!(rows, [&["index", "index", "size"][..], &asked, &["index", "forks", "follow", "follow"]].concat());
    assert!(lines.iter().all(|line| line["ours"].as_f64().is_some_and(f64::is_finite)), "{lines:?}");
}

#[test]
fn questions_over_conversations_are_answered_for_a_scorer() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let message = |n: usize, role: &str, text: &str| serde_json::json!({"message_id": format!("m{n}"), "role": role, "speaker": "Ann", "ts": "2024-05-07T10:00:00Z", "text": text});
    let thread = |id: &str, agent: &str, messages: Vec<Value>| {
        let created = "2024-05-07T09:00:00Z";
        serde_json::json!({"thread_id": id, "agent_id": agent, "title": "", "created_at": created, "messages": messages})
    };
    let threads = [
        thread("t1", "a", vec![message(1, "user", "the boiler leaks"), message(2, "assistant", "call a plumber")]),
        thread("t2", "b", vec![message(3, "user", "the boiler is new"), message(4, "assistant", "good")]),
    ];
    std::fs::write(file("threads"), threads.map(|thread| format!("{thread}\n")).concat()).expect("written");
    let query = serde_json::json!({"query_id": "q", "agent_id": "b", "text": "boiler leaks"});
    std::fs::write(file("queries"), format!("{query}\n")).expect("written");
    let answered = |more: &[&str]| {
        let (threads, queries, out) = (file("threads"), file("queries"), file("out"));
        let args = ["search-eval", "--threads", &threads, "--queries", &queries, "--out", &out];
        let output = run(&[&args[..], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let line: Value =
            serde_json::from_str(&std::fs::read_to_string(&out).expect("answers")).expect("a JSON object");
        assert_eq!(line["query_id"], "q");
        let results = line["results"].as_array().expect("results").clone();
        results.iter().map(|found| format!("{} {}", found["thread_id"], found["message_id"])).collect::<Vec<_>>()
    };
    assert_eq!(answered(&[]), [r#""t1" "m1""#, r#""t2" "m3""#]);
    assert_eq!(answered(&["--scoped"]), [r#""t2" "m3""#]);
}

#[test]
fn a_quick_run_of_scale_gives_every_row_for_both_sizes_on_both_stores() {
    let _alone = ON_THE_SERVER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    build_server();
    // A server has no pages of its own to count, and is neither copied nor imported into.
    for (store, upkeep, write) in [(None, 10, 34), (Some(threadkeep_throwaway::postgres()), 6, 29)] {
        let store = store.into_iter().flat_map(|url| ["--store", url]);
        let args: Vec<&str> = ["scale", "--quick", "--json"].into_iter().chain(store).collect();
        let mut rows: BTreeMap<String, usize> = BTreeMap::new();
        for line in objects(run(&args)) {
            *rows.entry(line["row"].as_str().expect("a row has a name").to_owned()).or_default() += 1;
            assert!(line["small"].as_f64().is_some_and(f64::is_finite), "{line}");
            assert!(line["large"].as_f64().is_some_and(f64::is_finite), "{line}");
            assert_eq!(line["aim"].is_null(), line["met"].is_null(), "{line}");
            if line["measure"] == "threads in the answer" {
                assert_eq!((&line["small"], &line["large"]), (&4.0.into(), &31.0.into()), "{line}");
            }
        }
        let expected = [
            ("busy", 20),
            ("busy-upkeep", 13),
            ("chain", 2),
            ("gc", 5),
            ("list", 24),
            ("list-after", 24),
            ("search-first", 12),
            ("search-warm", 6),
            ("soak", 24),
            ("tree", 4),
            ("upkeep", upkeep),
            ("write", write),
            ("writers", 3),
        ];
        assert_eq!(rows, expected.map(|(row, lines)| (row.to_owned(), lines)).into());
    }
    nothing_is_left(threadkeep_throwaway::postgres());
}

#[test]
fn a_kept_store_is_measured_again_and_stays_as_it_is() {
    build_server();
    let folder = tempfile::tempdir().expect("a folder");
    let keep = folder.path().display().to_string();
    // The row that changes most.
    let args = ["scale", "--quick", "--json", "--keep", &keep, "--rows", "gc"];
    let kept = || -> BTreeMap<std::path::PathBuf, Vec<u8>> {
        let stores = std::fs::read_dir(folder.path()).expect("stores").map(|store| store.expect("a store").path());
        let files = stores.flat_map(|store| std::fs::read_dir(store).expect("files"));
        files
            .map(|file| file.expect("a file").path())
            .map(|file| (file.clone(), std::fs::read(file).expect("read")))
            .collect()
    };
    assert_eq!(objects(run(&args)).len(), 5);
    let before = kept();
    assert!(before.keys().filter(|file| file.ends_with("threadkeep.db")).count() == 2, "{:?}", before.keys());
    assert_eq!(objects(run(&args)).len(), 5);
    assert!(kept() == before, "a kept store has changed");
}

#[test]
fn code_is_measured() {
    let lines = objects(run(&["code", "--quick", "--rounds", "1", "--json"]));
    assert!(lines.len() >= 6, "{lines:?}");
    for line in lines {
        assert!(line["ours"].as_f64().is_some_and(|number| number.is_finite() && number > 0.0), "{line}");
    }
}

#[test]
fn effects_are_measured() {
    let lines = objects(run(&["effects", "--quick", "--rounds", "1", "--json"]));
    assert_eq!(lines.len(), 8, "{lines:?}");
    for line in lines {
        assert!(line["ours"].as_f64().is_some_and(|number| number.is_finite() && number > 0.0), "{line}");
    }
}

#[test]
fn agents_are_measured() {
    build_server();
    let lines = objects(run(&["agents", "--quick", "--json"]));
    assert_eq!(lines.len(), 4, "{lines:?}");
    for line in lines {
        assert!(line["ours"].as_f64().is_some_and(|number| number.is_finite() && number > 0.0), "{line}");
    }
}
