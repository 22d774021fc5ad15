//! Live text and custom events between servers.
//!
//! A [`Relay`] carries notes under keys, such as `agent_run:{id}:stream`. Notes are hints: they may be lost at any time,
//! with the service, a flush or a slow reader. Everything that counts is in the log, so a follower that hears nothing still
//! gets every message. A relay never makes a sender wait.
//!
//! [`Redis`] (feature `redis`) is the relay over Redis Streams.

#[cfg(feature = "redis")]
mod redis_streams;
#[cfg(feature = "redis")]
mod url;

use std::any::Any;
use std::sync::Arc;

use tokio::sync::watch;

#[cfg(feature = "redis")]
pub use redis_streams::Redis;
#[cfg(feature = "redis")]
pub use url::RedisUrl;

/// Told of each note of a key, in their order.
pub type Hear = Arc<dyn Fn(&str) + Send + Sync>;

/// Carries notes to other processes.
pub trait Relay: Send + Sync {
    /// Sends a note to the processes that follow `key`. It returns at once; a note that cannot be sent is dropped.
    fn send(&self, key: String, note: String);

    /// Hears the notes of other processes under `key`, until the result is dropped.
    fn follow(&self, key: String, from: Since, hear: Hear) -> Followed;

    /// Why no notes are carried at this moment; none if they are.
    fn trouble(&self) -> watch::Receiver<Option<String>>;
}

/// The first note that a follower hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The oldest that is kept.
    Start,
    /// The next one.
    Now,
}

/// A key that is followed for as long as this lives.
pub struct Followed(#[expect(dead_code, reason = "it is dropped")] Box<dyn Any + Send + Sync>);

impl Followed {
    /// Followed until `guard` is dropped.
    pub fn until_dropped(guard: impl Any + Send + Sync) -> Self {
        Self(Box::new(guard))
    }
}
