//! The client against servers that behave, and servers that do not.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use threadkeep_mcp_client::{Definition, Failed, Part, Place, Reach, Servers};
use tokio::sync::mpsc;

const FIXTURE: &str = env!("CARGO_BIN_EXE_threadkeep-mcp-fixture");

fn never() -> impl Future<Output = ()> + Send {
    std::future::pending()
}

async fn said(servers: &Servers, tool: &str, text: &str) -> Result<String, Failed> {
    let answer = servers.call(&format!("f/{tool}"), json!({ "text": text }), never()).await?;
    match &answer.parts[..] {
        [Part::Text(text)] => Ok(text.clone()),
        other => panic!("{other:?}"),
    }
}

async fn on_stdio(more: &[&str]) -> Servers {
    let servers = Servers::default();
    let command = std::iter::once(FIXTURE).chain(more.iter().copied());
    servers.connect(Definition::program("f", command)).await.expect("a connection");
    servers
}

/// The fixture over HTTP, which ends with the test.
struct Http {
    child: Child,
    url: String,
}

impl Http {
    fn start(more: &[&str]) -> Self {
        let mut child = Command::new(FIXTURE).arg("http").args(more).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut url).expect("its address");
        Self { child, url: url.trim().to_owned() }
    }

    fn definition(&self, reach: Reach) -> Definition {
        let mut definition = Definition::url("f", &self.url);
        if let Place::Url { reach: allowed, .. } = &mut definition.place {
            *allowed = reach;
        }
        definition
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Whether a process is alive, and no zombie.
fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_and_called_in_both_revisions_and_on_both_ways() {
    for revision in [&[][..], &["old"]] {
        let http = Http::start(revision);
        let over_http = Servers::default();
        over_http.connect(http.definition(Reach::Anywhere)).await.expect("a connection");
        for servers in [on_stdio(revision).await, over_http] {
            let names: Vec<String> = servers.tools().into_iter().map(|tool| tool.name).collect();
            assert_eq!(names, ["f/echo", "f/fail", "f/environment", "f/wait", "f/large", "f/child", "f/die"]);
            assert_eq!(servers.tools()[0].input["type"], "object");
            assert_eq!(said(&servers, "echo", "grüße").await.expect("an answer"), "grüße");
            let failed = servers.call("f/fail", Value::Null, never()).await.expect("an answer");
            assert!(failed.is_error);
            assert_eq!(failed.parts, [Part::Text("it failed".to_owned())]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_tools_that_the_definition_allows_are_there() {
    let servers = Servers::default();
    let mut definition = Definition::program("f", [FIXTURE]);
    definition.tools = Some(vec!["echo".to_owned()]);
    servers.connect(definition).await.expect("a connection");
    assert_eq!(servers.tools().len(), 1);
    for name in ["f/fail", "f/none", "g/echo", "echo"] {
        let failed = servers.call(name, json!({}), never()).await;
        assert_eq!(failed, Err(Failed::Unknown(name.to_owned())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_gets_a_cleared_environment_and_its_stderr_is_told() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let servers = Servers::default();
    let mut definition = Definition::program("f", [FIXTURE]);
    if let Place::Program { env, .. } = &mut definition.place {
        env.insert("GIVEN".to_owned(), "1".to_owned());
    }
    definition.stderr = Some(Arc::new(move |line| drop(tell.send(line))));
    servers.connect(definition).await.expect("a connection");
    let names = said(&servers, "environment", "").await.expect("an answer");
    for name in names.split(',') {
        assert!(["GIVEN", "PATH", "LANG"].contains(&name), "{names}");
    }
    assert!(names.contains("GIVEN"), "{names}");
    assert_eq!(told.recv().await.as_deref(), Some("the fixture started"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_or_takes_too_long_is_told_to_the_server() {
    let folder = std::env::temp_dir();
    for way in ["cancel", "timeout"] {
        let file = folder.join(format!("threadkeep-mcp-{way}-{}", std::process::id()));
        let servers = Servers::default();
        let mut definition = Definition::program("f", [FIXTURE]);
        if way == "timeout" {
            definition.timeout = Duration::from_millis(200);
        }
        let timeout = definition.timeout;
        servers.connect(definition).await.expect("a connection");
        let arguments = json!({ "text": file });
        let begun = file.with_extension("begun");
        let failed = if way == "cancel" {
            let begins = async {
                while !begun.exists() {
                    tokio::task::yield_now().await;
                }
            };
            servers.call("f/wait", arguments, begins).await
        } else {
            servers.call("f/wait", arguments, never()).await
        };
        let expected =
            if way == "cancel" { Failed::Cancelled } else { Failed::TimedOut { server: "f".to_owned(), timeout } };
        assert_eq!(failed, Err(expected));
        // The server wrote it down, and still answers.
        while !file.exists() {
            assert_eq!(said(&servers, "echo", "x").await.expect("an answer"), "x");
        }
        for file in [&file, &begun] {
            std::fs::remove_file(file).expect("it is removed");
        }
        let unsent = servers.call("f/die", Value::Null, std::future::ready(())).await;
        assert_eq!(unsent, Err(Failed::Cancelled), "it was cancelled before it was sent");
        assert_eq!(said(&servers, "echo", "x").await.expect("an answer"), "x");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn everything_that_a_program_started_ends_with_the_connection() {
    let servers = on_stdio(&[]).await;
    let child = said(&servers, "child", "").await.expect("an answer");
    assert!(is_alive(&child));
    servers.disconnect("f");
    while is_alive(&child) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_told_and_started_again() {
    let servers = on_stdio(&[]).await;
    assert_eq!(said(&servers, "die", "").await, Err(Failed::Broken { server: "f".to_owned() }));
    assert_eq!(said(&servers, "echo", "again").await.expect("an answer"), "again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_ends_the_call() {
    let http = Http::start(&[]);
    let over_http = Servers::default();
    over_http.connect(http.definition(Reach::Anywhere)).await.expect("a connection");
    for servers in [on_stdio(&[]).await, over_http] {
        let failed = said(&servers, "large", "").await.expect_err("too large");
        assert!(matches!(failed, Failed::Broken { .. } | Failed::Refused { .. }), "{failed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_server_is_told_before_anything_is_called() {
    let http = Http::start(&[]);
    for (definition, why) in [
        (http.definition(Reach::Public), "private network"),
        (Definition::program("f", ["/no/such/program"]), "No such file"),
        (Definition::program::<String>("f", []), "the command is empty"),
        (Definition::program("f", ["true"]), ""),
        (Definition::url("f", "ftp://tools.example/"), "http://"),
    ] {
        let servers = Servers::default();
        let failed = servers.connect(definition).await.expect_err("no server");
        let Failed::Unreachable { why: told, .. } = &failed else { panic!("{failed:?}") };
        assert!(told.contains(why), "{told}");
        assert_eq!(servers.tools(), []);
    }
}
