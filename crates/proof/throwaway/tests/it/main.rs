//! Real servers: they start, crash, come back, and are gone with the process that wanted them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use threadkeep_throwaway::{Cluster, postgres, schema, sql};

const URL_VARIABLE: &str = "THREADKEEP_TEST_POSTGRES_URL";

#[test]
fn a_server_answers_also_from_inside_a_runtime() {
    let cluster = Cluster::start().expect("PostgreSQL starts");
    assert_eq!(sql(&cluster.url(), "select 1, null"), [[Some("1".to_owned()), None]]);

    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    let rows = runtime.block_on(async { sql(&cluster.url(), "select 2; select 3") });
    assert_eq!(rows, [[Some("2".to_owned())], [Some("3".to_owned())]]);
}

#[test]
fn a_committed_row_survives_a_crash() {
    let cluster = Cluster::start().expect("PostgreSQL starts");
    let url = cluster.url();
    sql(&url, "create table kept (text text); insert into kept values ('here')");
    cluster.crash().expect("the server stops");
    assert!(!Traces::answers(&url), "a crashed server is gone");
    cluster.restart().expect("the server starts again");
    assert_eq!(cluster.url(), url);
    assert_eq!(sql(&url, "select text from kept"), [[Some("here".to_owned())]]);
}

#[test]
fn dropping_a_cluster_removes_all_of_it() {
    let cluster = Cluster::start().expect("PostgreSQL starts");
    let traces = Traces::of(&cluster.url());
    assert!(traces.folder.is_dir());
    drop(cluster);
    assert!(traces.are_gone(), "{traces:?}");

    let crashed = Cluster::start().expect("PostgreSQL starts");
    let traces = Traces::of(&crashed.url());
    crashed.crash().expect("the server stops");
    drop(crashed);
    assert!(traces.are_gone(), "{traces:?}");
}

#[test]
fn schemas_of_one_server_are_apart() {
    let (one, other) = (schema(), schema());
    for (schema, text) in [(&one, "one"), (&other, "other")] {
        assert!(schema.url().starts_with(postgres()));
        assert!(schema.name().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
        sql(&schema.url(), &format!("create schema {}", schema.name()));
        sql(&schema.url(), &format!("create table texts (text text); insert into texts values ('{text}')"));
    }
    assert_eq!(sql(&one.url(), "select text from texts"), [[Some("one".to_owned())]]);
    assert_eq!(sql(&other.url(), "select text from texts"), [[Some("other".to_owned())]]);
}

#[test]
#[should_panic(expected = "no_such_table")]
fn a_refused_statement_says_why() {
    let schema = schema();
    sql(&schema.url(), "select * from no_such_table");
}

#[test]
fn nothing_outlives_a_killed_process() {
    let mut process = Process::that("waits", None);
    let traces = Traces::of(&process.url);
    process.child.kill().expect("the child can be killed");
    process.child.wait().expect("the child ends");
    traces.wait_until_gone();
}

#[test]
fn nothing_outlives_a_process_that_exits_without_dropping() {
    let mut process = Process::that("exits", None);
    let traces = Traces::of(&process.url);
    process.go_on();
    traces.wait_until_gone();
}

#[test]
fn nothing_outlives_an_aborted_process() {
    let mut process = Process::that("aborts", None);
    let traces = Traces::of(&process.url);
    process.go_on();
    traces.wait_until_gone();
}

#[test]
fn a_foreign_server_is_used_and_left_as_it_was() {
    const SCHEMAS: &str = "select nspname from pg_namespace where nspname like 'test\\_%'";
    let cluster = Cluster::start().expect("PostgreSQL starts");
    let foreign = format!("{}?application_name=foreign", cluster.url());
    let mut process = Process::that("returns", Some(&foreign));
    assert_eq!(process.url, foreign);
    assert_eq!(sql(&foreign, SCHEMAS).len(), 1);
    process.go_on();
    assert_eq!(sql(&foreign, SCHEMAS).len(), 0);
}

/// What a server leaves behind if nobody clears up.
#[derive(Debug)]
struct Traces {
    url: String,
    folder: PathBuf,
}

impl Traces {
    fn of(url: &str) -> Traces {
        let rows = sql(url, "show data_directory");
        let data = rows[0][0].as_deref().expect("a server has a data folder");
        let folder = Path::new(data).parent().expect("the data folder is in the cluster's").to_owned();
        Traces { url: url.to_owned(), folder }
    }

    fn answers(url: &str) -> bool {
        let address = url.rsplit('@').next().and_then(|rest| rest.split('/').next()).expect("the URL has an address");
        TcpStream::connect(address).is_ok()
    }

    fn are_gone(&self) -> bool {
        !self.folder.exists() && !Traces::answers(&self.url)
    }

    fn wait_until_gone(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.are_gone() {
            assert!(Instant::now() < deadline, "still there after a minute: {self:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

const ENDING: &str = "THROWAWAY_TEST_ENDING";
const URL_MARK: &str = "the server's URL: ";

/// This test binary once more, running [`a_process_with_a_server`].
struct Process {
    child: Child,
    url: String,
}

impl Process {
    /// Starts it and waits until it has a server. It then waits for [`go_on`](Process::go_on), and ends as it was told.
    fn that(ending: &str, foreign: Option<&str>) -> Process {
        let mut command = Command::new(std::env::current_exe().expect("a test knows its own binary"));
        command.args(["a_process_with_a_server", "--exact", "--ignored", "--nocapture"]);
        // What would lead PostgreSQL's programs astray if it reached them.
        command.env("PGDATA", "/nowhere").env("PGPORT", "1").env("PGOPTIONS", "--nonsense").env("PGUSER", "nobody");
        command.env(ENDING, ending).env_remove(URL_VARIABLE).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(url) = foreign {
            command.env(URL_VARIABLE, url);
        }
        let mut child = command.spawn().expect("the test binary starts once more");
        let output = BufReader::new(child.stdout.as_mut().expect("its output is a pipe"));
        let url = output.lines().map_while(Result::ok).find_map(|line| Some(line.split_once(URL_MARK)?.1.to_owned()));
        Process { url: url.expect("the child says its URL"), child }
    }

    fn go_on(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().expect("the child ends");
    }
}

#[test]
#[ignore = "the other process of the tests above"]
fn a_process_with_a_server() {
    let Ok(ending) = std::env::var(ENDING) else { return };
    let schema = schema();
    sql(&schema.url(), &format!("create schema {}", schema.name()));
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{URL_MARK}{}", postgres()).expect("the parent listens");
    std::io::stdin().read_line(&mut String::new()).expect("the parent speaks");
    match ending.as_str() {
        "exits" => std::process::exit(0),
        "aborts" => std::process::abort(),
        _ => {}
    }
}
