//! Two servers on one PostgreSQL: one dies or is paused in a turn, the other goes on, and nothing is done twice.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};
use tempfile::TempDir;
use threadkeep_throwaway::{Schema, schema};

use super::killed::{Counting, two_tools, whole_turn};
use super::{thread, until};
use crate::serve::Serving;
use crate::support::{DEADLINE, eventually, wait};

/// More commits than a turn has: after the last ones no server dies.
const COMMITS: usize = 14;
/// The signal by which a fail point ends a server.
const SIGABRT: i32 = 6;
/// Kills that are tried at once, unless `THREADKEEP_KILLS` is `all`. A number there is the seed that chooses them.
const KILLS: usize = 4;

/// The commits after which a server dies.
fn kills() -> Vec<usize> {
    let asked = std::env::var("THREADKEEP_KILLS").unwrap_or_default();
    if asked == "all" {
        return (0..COMMITS).collect();
    }
    let seed: usize = asked.parse().unwrap_or(1);
    // The distance shares no factor with the number of commits: every seed tries others.
    (0..KILLS).map(|number| (seed + 3 * number) % COMMITS).collect()
}

struct Servers {
    schema: Schema,
    folders: [TempDir; 2],
}

impl Servers {
    /// With an agent whose turn calls the tool at this address twice.
    fn new(address: &str, repeatable: bool) -> Self {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        folders.iter().for_each(|folder| two_tools(folder, address, repeatable));
        Self { schema: schema(), folders }
    }

    fn start(&self, number: usize, variables: &[(&str, &str)]) -> Serving {
        // Many servers share the connections of one database.
        let store = format!("{}&max_connections=6", self.schema.url());
        Serving::start_in(self.folders[number].path(), &["--store", &store], variables)
    }
}

pub(super) fn messages(serving: &Serving, thread: &str) -> Vec<Value> {
    let page = serving.ok("GET", &format!("/v1/threads/{thread}/messages?limit=100"), &Value::Null);
    page["items"].as_array().expect("messages").clone()
}

/// The server that gets the message dies after `commit` commits. The other one was paused until then.
///
/// Says whether it died: a turn may have fewer commits.
fn dies_after(commit: usize, repeatable: bool) -> bool {
    let counting = Counting::start();
    let servers = Servers::new(&counting.address, repeatable);
    let other = servers.start(1, &[]);
    let thread = thread(&other);
    other.running.signal("STOP");
    let point = format!("postgres-after-commit={commit}*off->return");
    let mut dying = servers.start(0, &[("FAILPOINTS", &point)]);
    let (say, path) = (json!({ "role": "user", "content": "go" }), format!("/v1/threads/{thread}/queue"));
    if dying.ask("POST", &path, dying.key(), &say.to_string()).is_some() {
        let runs = format!("/v1/threads/{thread}/runs");
        eventually("it dies, or the run ends", || match dying.ask("GET", &runs, dying.key(), "") {
            Some((_, runs)) => runs["items"][0]["completedAt"].is_string(),
            None => true,
        });
    }
    // One that is done is ended here, and not by its fail point.
    drop(dying.running.child.kill());
    let died = wait(&mut dying.running.child).signal() == Some(SIGABRT);
    other.running.signal("CONT");
    // A kill after the first commit loses the answer to the message, and not the message.
    let ended = until(&other, &thread, |run| run["completedAt"].is_string());
    assert_eq!(ended["status"], "completed", "after {commit}: {ended}");
    let when = format!("after {commit}, repeatable {repeatable}");
    whole_turn(&messages(&other, &thread), &counting.counts(), repeatable, &when);
    died
}

#[test]
fn one_of_two_servers_dies_at_a_commit_of_a_turn_and_the_other_one_completes_it() {
    for repeatable in [false, true] {
        let mut died = 0;
        for some in kills().chunks(KILLS) {
            let death = |commit: usize| std::thread::spawn(move || dies_after(commit, repeatable));
            let deaths: Vec<_> = some.iter().copied().map(death).collect();
            died += deaths.into_iter().filter_map(|death| death.join().expect("a whole turn").then_some(())).count();
        }
        assert!(died > 0, "no server died");
    }
}

/// A tool that tells of each request, and answers it when it may.
pub(super) fn slow_tool() -> (String, Receiver<()>, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (tell, asked) = channel();
    let (may, go) = channel::<()>();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let Some(mut socket) = begun(socket) else { continue };
            if tell.send(()).is_err() || go.recv().is_err() {
                return;
            }
            let sent = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nsent";
            drop(socket.write_all(sent.as_bytes()));
        }
    });
    (address, asked, may)
}

/// The connection, once its request has begun.
fn begun(mut socket: TcpStream) -> Option<TcpStream> {
    socket.read(&mut [0; 4096]).ok().filter(|count| *count > 0).map(|_| socket)
}

#[test]
fn a_server_that_was_paused_past_its_lease_does_not_add_to_a_turn_that_another_one_completed() {
    let (address, asked, may) = slow_tool();
    let servers = Servers::new(&address, false);
    let paused = servers.start(0, &[]);
    let thread = thread(&paused);
    let say = json!({ "role": "user", "content": "go" });
    paused.ok("POST", &format!("/v1/threads/{thread}/queue"), &say);
    asked.recv_timeout(DEADLINE).expect("the first call begins");
    paused.running.signal("STOP");
    let other = servers.start(1, &[]);
    // The other server takes the turn over and makes the second call; the first one broke off.
    may.send(()).expect("a tool");
    asked.recv_timeout(DEADLINE).expect("the second call begins");
    may.send(()).expect("a tool");
    let ended = until(&other, &thread, |run| run["completedAt"].is_string());
    assert_eq!((&ended["status"], &ended["attempt"]), (&json!("completed"), &json!(2)), "{ended}");
    let before = messages(&other, &thread);
    whole_turn(&before, &[1, 1], false, "after the other one");
    assert!(json!(before).to_string().contains("broke off"), "{before:?}");
    paused.running.signal("CONT");
    // It has the answer to its first call now, and works on something else after it.
    let second = self::thread(&paused);
    for _ in 0..2 {
        may.send(()).expect("a tool");
    }
    paused.ok("POST", &format!("/v1/threads/{second}/queue"), &say);
    until(&paused, &second, |run| run["completedAt"].is_string());
    assert_eq!(messages(&paused, &thread), before);
    assert_eq!(asked.try_iter().count(), 2, "no call of the first turn is made again");
}
