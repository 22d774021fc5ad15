//! What Threadkeep is measured beside: the same work, written by hand for one purpose.

pub(crate) mod jsonl;
pub(crate) mod sqlite;

use serde::Serialize;

/// A message as the opponents keep it: the same bytes as ours.
#[derive(Serialize)]
struct Body<'a> {
    role: &'static str,
    content: &'a str,
}

fn body(text: &str) -> Vec<u8> {
    serde_json::to_vec(&Body { role: "user", content: text }).expect("a message of text always serialises")
}

fn now_micros() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
