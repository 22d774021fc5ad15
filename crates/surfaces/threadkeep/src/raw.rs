//! Observing a thread patch by patch: what the engine says of each step, in the shape of the wire.

use threadkeep_engine::{Engine, Result, ThreadChanges};
use threadkeep_model::{ThreadId, Version};

use crate::patch::{Patch, Patches};

/// Observes a thread patch by patch. See [`observe_raw`].
pub struct RawObserver {
    changes: ThreadChanges,
    patches: Patches,
}

/// Observes a thread patch by patch: the thread after each change, and the JSON Patch (RFC 6902) that leads there.
///
/// A patch is against the thread's JSON with `messages` as an array: all messages, oldest first, silent ones too. The
/// first one is empty and says at which version it begins: read the messages as of that version
/// ([`Page::as_of`](crate::Page::as_of)), or do not, if only what changes is of interest. Only what is durable is seen,
/// each change once and in order, also what other processes do; an observer that is slow catches up from the log, and
/// keeps nobody waiting.
///
/// ```
/// # use threadkeep::{Create, MessageBody};
/// # #[tokio::main]
/// # async fn main() -> threadkeep::Result<()> {
/// let keep = threadkeep::open("memory:")?;
/// let thread = keep.create(Create::titled("Watched")).await?;
/// let mut observer = threadkeep::observe_raw(&keep, thread.id).await?;
/// assert!(observer.next().await?.is_some_and(|first| first.operations.is_empty()));
///
/// keep.append(thread.id, MessageBody::user("Hello!")).await?;
/// let patch = observer.next().await?.expect("the thread lives");
/// assert_eq!(patch.version, threadkeep::Position(1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound).
pub async fn observe_raw(engine: &Engine, thread: ThreadId) -> Result<RawObserver> {
    let mut changes = engine.changes_of(thread).await?;
    let first = changes.next_so_far().await?;
    let mut patches = Patches::of(match &first {
        Some(first) => first.thread.clone(),
        None => engine.thread(thread).await?,
    });
    if let Some(first) = first {
        patches.push(first)?;
    }
    Ok(RawObserver { changes, patches })
}

impl RawObserver {
    /// The next patch, with the thread after it. None once the thread is deleted. Cancelling it loses nothing.
    ///
    /// # Errors
    /// If the store cannot be read; nothing is lost by asking again.
    pub async fn next(&mut self) -> Result<Option<Patch>> {
        loop {
            if let Some(patch) = self.patches.next() {
                return Ok(Some(patch));
            }
            match self.changes.next().await? {
                Some(step) => self.patches.push(step)?,
                None => return Ok(None),
            }
        }
    }

    /// The next patch if it was logged already; none at the end of what there is so far.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound) once the thread is deleted. If the store cannot be read
    /// now, nothing is lost by asking again.
    pub async fn next_so_far(&mut self) -> Result<Option<Patch>> {
        loop {
            if let Some(patch) = self.patches.next() {
                return Ok(Some(patch));
            }
            match self.changes.next_so_far().await? {
                Some(step) => self.patches.push(step)?,
                None => return Ok(None),
            }
        }
    }

    /// Resolves when there may be more. It is a hint: what there is, [`RawObserver::next_so_far`] says.
    pub async fn news(&mut self) {
        self.changes.news().await;
    }

    /// The version of the last patch.
    pub fn version(&self) -> Version {
        self.changes.version()
    }
}
