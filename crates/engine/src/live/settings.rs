//! The numbers behind live threads, with their defaults.

use std::time::Duration;

/// How live threads are written behind, renewed and shown. Plain data: see
/// [`Engine::with_live`](crate::Engine::with_live).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSettings {
    /// How long after its first unflushed update a thread is flushed: 100 ms. Updates that come meanwhile are flushed
    /// with it.
    pub flush_debounce: Duration,
    /// Most threads that are flushed at the same time, the rest wait their turn: 3.
    pub flush_batch_max: usize,
    /// How long [`flush_version`](crate::ReadWriter::flush_version) waits: 5 s.
    pub flush_timeout: Duration,
    /// How often a waiting flush reads the store, besides being notified: 10 ms.
    pub flush_poll: Duration,
    /// How soon a flush or a sign of life is tried again when the store is away; doubled each time: 50 ms.
    pub retry: Duration,
    /// Longest pause between two tries: 1 s.
    pub retry_max: Duration,
    /// How long the lease of a read-writer lasts unless it is renewed: 30 s.
    pub lease_ttl: Duration,
    /// How often it is renewed; none: three times while it lasts.
    pub lease_heartbeat: Option<Duration>,
    /// Most updates of one thread that are not flushed: 10,000. One more is refused.
    pub pending_updates_max: usize,
    /// Most bytes of messages and attachments in them: 64 MiB. Updates beyond it are refused.
    pub pending_bytes_max: usize,
    /// Shortest time between two snapshots of a thread: 100 ms.
    pub observe_throttle: Duration,
    /// Custom events kept for a slow subscriber: 256. It learns how many it missed.
    pub emitted_kept_max: usize,
}

impl Default for LiveSettings {
    fn default() -> Self {
        Self {
            flush_debounce: Duration::from_millis(100),
            flush_batch_max: 3,
            flush_timeout: Duration::from_secs(5),
            flush_poll: Duration::from_millis(10),
            retry: Duration::from_millis(50),
            retry_max: Duration::from_secs(1),
            lease_ttl: Duration::from_secs(30),
            lease_heartbeat: None,
            pending_updates_max: 10_000,
            pending_bytes_max: 64 << 20,
            observe_throttle: Duration::from_millis(100),
            emitted_kept_max: 256,
        }
    }
}
