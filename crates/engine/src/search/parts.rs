//! Volumes of which parts are read from the store when a question asks for them.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use bytes::Bytes;
use threadkeep_search::{Source, Unreadable};
use threadkeep_store::{Shelves, StoreError, VolumeRow};

use crate::Error;

/// Bytes of the parts of one volume that are kept for the next question: more than one question reads of it.
const KEPT_BYTES_MAX: usize = 3 << 20;
/// Bytes of a part that is kept.
const PART_BYTES_MAX: usize = 64 << 10;

/// A volume in the store. Reading it blocks the thread: only for threads that answer no requests.
pub(super) struct Stored {
    shelves: Arc<dyn Shelves>,
    id: u64,
    size: usize,
    kept: Mutex<Kept>,
}

/// The parts that were read last. Questions that follow each other share words, and often all of them.
#[derive(Default)]
struct Kept {
    parts: HashMap<Range<usize>, Bytes>,
    bytes: usize,
}

impl Kept {
    fn keep(&mut self, range: &Range<usize>, part: &Bytes) {
        if part.len() > PART_BYTES_MAX {
            return;
        }
        if self.bytes + part.len() > KEPT_BYTES_MAX {
            *self = Self::default();
        }
        self.bytes += part.len();
        self.parts.insert(range.clone(), part.clone());
    }
}

impl Stored {
    pub(super) fn new(shelves: &Arc<dyn Shelves>, row: &VolumeRow) -> Self {
        Self { shelves: Arc::clone(shelves), id: row.id, size: row.bytes as usize, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stored").field("id", &self.id).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Source for Stored {
    fn size(&self) -> usize {
        self.size
    }

    fn is_in_memory(&self) -> bool {
        false
    }

    fn read(&self, ranges: &[Range<usize>]) -> Result<Vec<Bytes>, Unreadable> {
        let mut parts: Vec<Option<Bytes>> = {
            let kept = self.kept();
            ranges.iter().map(|range| kept.parts.get(range).cloned()).collect()
        };
        let missing = ranges.iter().zip(&parts).filter(|(_, part)| part.is_none());
        let asked: Vec<Range<usize>> = missing.map(|(range, _)| range.clone()).collect();
        if !asked.is_empty() {
            let read = wait_for(self.shelves.parts(self.id, asked.clone()));
            let read = read.map_err(|error| Unreadable::Failed(Box::new(error)))?.ok_or(Unreadable::Gone)?;
            let mut kept = self.kept();
            for (part, (range, read)) in parts.iter_mut().filter(|part| part.is_none()).zip(asked.iter().zip(read)) {
                kept.keep(range, &read);
                *part = Some(read);
            }
        }
        Ok(parts.into_iter().flatten().collect())
    }
}

/// The error of a search whose index cannot be read. A volume that was removed is one of another list by now: the search
/// begins again.
pub(super) fn unreadable(error: Unreadable) -> Error {
    match error {
        Unreadable::Damaged(damaged) => StoreError::corrupt(damaged.to_string()).into(),
        Unreadable::Gone => Error::Busy,
        Unreadable::Failed(error) => match error.downcast::<StoreError>() {
            Ok(error) => (*error).into(),
            Err(error) => StoreError::corrupt(error.to_string()).into(),
        },
    }
}

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks the thread until `work` is done. Stores need no runtime of the thread that asks.
fn wait_for<T>(work: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut context, mut work) = (Context::from_waker(&waker), pin!(work));
    loop {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}
