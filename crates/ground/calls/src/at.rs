//! The envelope of a call: the thread it is about, and the conditions under which it is carried out.

use threadkeep_model::{IdempotencyKey, LeaseToken, ThreadId, ThreadName, Version};

/// The conditions that a change of a thread may carry. A surface fills them; the engine honours them in one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct At {
    /// The thread; none for calls that name none, or that find it by something it holds.
    pub thread: Option<ThreadName>,
    /// The version the thread has to be at.
    pub expected: Option<Version>,
    /// The token of the lease under which the caller writes.
    pub lease: Option<LeaseToken>,
    /// A key under which the call may be repeated: the repetition gives the first answer and changes nothing.
    pub key: Option<IdempotencyKey>,
}

impl At {
    /// For a call that names no thread.
    pub fn none() -> Self {
        Self::default()
    }

    /// For a call about `thread`, without conditions.
    pub fn of(thread: impl Into<ThreadName>) -> Self {
        Self { thread: Some(thread.into()), ..Self::default() }
    }

    /// Only if the thread is at this version.
    #[must_use]
    pub fn expecting(self, version: Version) -> Self {
        Self { expected: Some(version), ..self }
    }

    /// Under the lease with this token.
    #[must_use]
    pub fn under(self, lease: LeaseToken) -> Self {
        Self { lease: Some(lease), ..self }
    }

    /// Under a key for repetitions.
    #[must_use]
    pub fn keyed(self, key: IdempotencyKey) -> Self {
        Self { key: Some(key), ..self }
    }
}

impl From<ThreadId> for At {
    fn from(thread: ThreadId) -> Self {
        Self::of(thread)
    }
}

impl From<ThreadName> for At {
    fn from(thread: ThreadName) -> Self {
        Self::of(thread)
    }
}
