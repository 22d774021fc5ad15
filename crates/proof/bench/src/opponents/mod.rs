//! The opponents that Threadkeep is measured beside: the same work, written by hand for one purpose.

mod jsonl;
mod postgres;
mod sqlite;

pub(crate) use jsonl::JsonLines;

use serde::Serialize;

use crate::Result;
use crate::bench::{Bench, Keeper, Place, Room};

/// A keeper written by hand on the same kind of store as ours.
pub(crate) trait ByHand: Keeper {
    /// Appends this many messages to each thread, in turn, and leaves them as they are at rest.
    fn fill(&self, bench: &Bench, messages: usize) -> Result<()>;

    /// The newest messages of a thread.
    fn read_last(&self, thread: usize, messages: usize) -> Result<usize>;

    /// The messages of a thread from the first on.
    fn read_all(&self, thread: usize, messages: usize) -> Result<usize>;

    /// The size of its store.
    fn bytes(&self) -> Result<u64>;
}

/// The opponent written by hand, with this many new threads in a store of this name.
pub(crate) fn by_hand(room: &Room, name: &str, threads: usize) -> Result<Box<dyn ByHand>> {
    Ok(match room.place(name) {
        Place::File(path) => Box::new(sqlite::Sqlite::with_threads(&path, threads)?),
        Place::Schema(server) => Box::new(postgres::Postgres::with_threads(server, threads)?),
    })
}

/// A JSON Lines file for each of this many threads. Beside a server the comparison would say nothing.
pub(crate) fn json_lines(room: &Room, name: &str, threads: usize) -> Result<Option<JsonLines>> {
    match room.place(name) {
        Place::File(path) => JsonLines::with_threads(&path, threads).map(Some),
        Place::Schema(_) => Ok(None),
    }
}

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
