//! What a server tells the service manager that started it, over a real socket.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::support::{DEADLINE, Keep, Running, run, threadkeep, wait};

/// A service manager that listens, and the server that it started.
struct Managed {
    socket: UnixDatagram,
    server: Running,
    _keep: Keep,
}

impl Managed {
    fn start(socket: UnixDatagram, name: &str, keep: Keep, more: &[(&str, &str)]) -> Self {
        socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let mut command = threadkeep();
        command.args(["serve", "--json", "--listen", "127.0.0.1:0", "--data"]).arg(keep.at("data"));
        command.env("NOTIFY_SOCKET", name).envs(more.iter().copied());
        Self { socket, server: Running::start(command), _keep: keep }
    }

    /// One on a socket in the file system.
    fn by_path(more: &[(&str, &str)]) -> Self {
        let keep = Keep::new();
        let path = keep.at("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        Self::start(socket, path.to_str().expect("a name"), keep, more)
    }

    fn next(&self) -> String {
        let mut bytes = [0; 4096];
        let length = self.socket.recv(&mut bytes).expect("a message comes in time");
        String::from_utf8(bytes[..length].to_vec()).expect("text")
    }

    /// Stops the server, and gives the messages up to the one that says so.
    fn stop(mut self) -> Vec<String> {
        self.server.signal("TERM");
        let mut told = Vec::new();
        while !told.last().is_some_and(|last: &String| last.starts_with("STOPPING=1\n")) {
            told.push(self.next());
        }
        assert!(wait(&mut self.server.child).success());
        told
    }
}

#[test]
fn the_manager_is_told_when_the_server_answers_and_when_it_stops() {
    let managed = Managed::by_path(&[]);
    let told = managed.next();
    let ready = managed.server.next_json();
    let url = ready["url"].as_str().expect("a url");
    assert_eq!(told, format!("READY=1\nSTATUS=Listening on {url}"));
    let mut health = threadkeep();
    health.args(["--server", url, "--json", "store", "health"]);
    assert_eq!(run(health, b"").ok(), r#"{"status":"ready"}"#);
    assert_eq!(managed.stop().len(), 1, "it says nothing else without a watchdog");
}

#[test]
fn a_manager_with_an_abstract_socket_is_told_too() {
    let keep = Keep::new();
    let name = keep.at("abstract").display().to_string();
    let address = SocketAddr::from_abstract_name(name.as_bytes()).expect("an address");
    let socket = UnixDatagram::bind_addr(&address).expect("a socket");
    let managed = Managed::start(socket, &format!("@{name}"), keep, &[]);
    assert!(managed.next().starts_with("READY=1\n"));
    managed.stop();
}

#[test]
fn a_watchdog_gets_signs_of_life_until_the_end() {
    let managed = Managed::by_path(&[("WATCHDOG_USEC", "20000")]);
    assert!(managed.next().starts_with("READY=1\n"), "it is ready before it is watched");
    for _ in 0..3 {
        assert_eq!(managed.next(), "WATCHDOG=1");
    }
    managed.stop();
}

#[test]
fn a_watchdog_of_another_process_gets_none() {
    let managed = Managed::by_path(&[("WATCHDOG_USEC", "2000"), ("WATCHDOG_PID", "1")]);
    assert!(managed.next().starts_with("READY=1\n"));
    assert_eq!(managed.stop().len(), 1);
}

#[test]
fn a_server_runs_without_a_manager_that_cannot_be_reached() {
    let keep = Keep::new();
    let mut command = threadkeep();
    command.args(["serve", "--json", "--listen", "127.0.0.1:0", "--data"]).arg(keep.at("data"));
    command.env("NOTIFY_SOCKET", keep.at("nowhere")).env("WATCHDOG_USEC", "soon");
    let mut running = Running::start(command);
    assert_eq!(running.next_json()["event"], "ready");
    assert!(running.next_error().expect("a line").starts_with("WATCHDOG_USEC is \"soon\""));
    assert!(running.next_error().expect("a line").starts_with("cannot reach the service manager at "));
    running.signal("TERM");
    assert!(wait(&mut running.child).success());
}
