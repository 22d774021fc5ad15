//! How much of everything a store of a given size holds, and how long it is measured.

use std::time::Duration;

use crate::Result;

/// Messages of the thread that is forked often.
pub(super) const FORKED_MESSAGES: usize = 20;
/// Threads that are no ordinary ones and no forks: the long one, the one that is forked, the one with the files.
const SPECIAL: usize = 3;

/// The content of a store. All threads changed on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// All threads, forks included.
    pub(super) threads: usize,
    /// All messages; those that forks share count once.
    pub(super) messages: usize,
    /// Messages of the longest thread.
    pub(super) long: usize,
    /// Forks of one thread.
    pub(super) forks: usize,
    /// Files of one thread.
    pub(super) files: usize,
}

impl Sizes {
    /// The shares are those of 100,000 threads with 1,270,000 messages, 200,000 of them in one thread, with 5,000 forks
    /// and 10,000 files.
    ///
    /// # Errors
    /// If there are too few messages or threads for that.
    pub(super) fn of(threads: usize, messages: usize) -> Result<Self> {
        let (long, forks, files) = (messages * 20 / 127, threads / 20, threads / 10);
        let sizes = Self { threads, messages, long, forks, files };
        let ordinary = threads.saturating_sub(forks + SPECIAL);
        if ordinary < 20 || messages < long + FORKED_MESSAGES + 1 + 2 * ordinary {
            return Err(format!("{threads} threads and {messages} messages are too few: use 30 threads or more, with at least 3 messages for each").into());
        }
        Ok(sizes)
    }

    /// Threads that are neither forks nor one of the special ones.
    pub(super) fn ordinary(&self) -> usize {
        self.threads - self.forks - SPECIAL
    }

    /// Messages of all ordinary threads together.
    pub(super) fn ordinary_messages(&self) -> usize {
        self.messages - self.long - FORKED_MESSAGES - 1
    }
}

/// How often and how long everything is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// Requests of each kind: at most this many, for at most this long, and never fewer than three.
    pub(super) asks: usize,
    pub(super) asks_for: Duration,
    /// How long expensive reads go on beside cheap calls.
    pub(super) busy_for: Duration,
    /// How long everything goes on at once.
    pub(super) soak_for: Duration,
    /// How long after its last request a server is idle.
    pub(super) idle_after: Duration,
    pub(super) writes: usize,
    /// Writes of a kind one after the other: in SQLite twice as many as are filed together.
    pub(super) filed_writes: usize,
    /// Links of a chain of forks.
    pub(super) chain: usize,
}

impl Effort {
    pub(super) fn of(quick: bool) -> Self {
        let millis = Duration::from_millis;
        match quick {
            true => Self {
                asks: 3,
                asks_for: millis(200),
                busy_for: millis(200),
                soak_for: millis(600),
                idle_after: millis(100),
                writes: 20,
                filed_writes: 20,
                chain: 60,
            },
            false => Self {
                asks: 50,
                asks_for: millis(3_000),
                busy_for: millis(10_000),
                soak_for: millis(360_000),
                idle_after: millis(30_000),
                writes: 400,
                filed_writes: 1_024,
                chain: 1_000,
            },
        }
    }
}
