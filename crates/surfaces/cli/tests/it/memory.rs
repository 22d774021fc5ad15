//! The memory of a server goes back to the system after the work that needed it.

use serde_json::json;

use crate::serve::Serving;
use crate::support::{Keep, eventually};

const MESSAGES: usize = 24;
const MESSAGE_BYTES: usize = 4 << 20;
/// How much more the server may hold afterwards: what its caches take, and the pages of code that ran meanwhile.
const BYTES_MORE: u64 = 12 << 20;

/// The memory of a process that lies in no file.
fn own_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1_024
}

#[test]
fn the_memory_of_large_messages_goes_back() {
    let keep = Keep::new();
    let serving = Serving::start(&keep.at("data"));
    let server = serving.running.child.id();
    let path = format!("/v1/threads/{}/messages", serving.thread());
    let before = own_memory(server);
    for _ in 0..MESSAGES {
        serving.ok("POST", &path, &json!({ "role": "user", "content": "x".repeat(MESSAGE_BYTES) }));
    }
    eventually("the memory of the server is back", || own_memory(server) < before + BYTES_MORE);
}
