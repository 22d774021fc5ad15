//! Idempotency keys: under which thread a key lies, and the result that a repeated request gets.

use threadkeep_model::{
    Account, BlobId, Commit, Committed, Head, IdempotencyKey, Position, SegmentId, ThreadCommit, ThreadCommitted,
    ThreadId, Timestamp,
};

use crate::{Result, StoreError};

/// Asks what an idempotency key stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyQuery {
    /// The account of the caller who sent the key.
    pub account: Account,
    /// The thread under which the key lies ([`KeyQuery::NEW`] for a request that creates one).
    pub thread: ThreadId,
    /// The key that the caller sent.
    pub key: IdempotencyKey,
    /// The time now: keys older than [`IdempotencyKey::KEPT_MICROS`] are not found.
    pub now: Timestamp,
}

impl KeyQuery {
    /// The thread under which the keys of requests lie that create a thread: the nil id, which no thread has.
    pub const NEW: ThreadId = ThreadId::from_bits(0);

    /// The query for the key of `commit`, if it carries one. The key lies under the first thread; a commit that begins with
    /// a deletion keeps none, since the keys of a thread go with it.
    pub fn of(commit: &Commit) -> Option<Self> {
        let thread = match commit.threads.first()? {
            ThreadCommit::Write(write) => write.thread,
            ThreadCommit::Create(_) => Self::NEW,
            ThreadCommit::Delete { .. } => return None,
        };
        let key = commit.idempotency.as_ref()?.key.clone();
        Some(Self { account: commit.caller.account.clone(), thread, key, now: commit.time })
    }

    /// The time of the oldest key that is found.
    pub fn since(&self) -> Timestamp {
        self.now.plus_micros(-IdempotencyKey::KEPT_MICROS)
    }
}

/// The result that an idempotency key stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    /// The hash of the first request.
    pub hash: BlobId,
    /// The result of the first request, with `replayed` set: the first thread, then every thread that was created.
    pub committed: Committed,
}

impl Remembered {
    /// The result, for a request with this hash.
    ///
    /// # Errors
    /// [`StoreError::IdempotencyKeyReused`] if the first request was another one.
    pub fn answer(self, hash: &BlobId) -> Result<Committed> {
        if self.hash == *hash { Ok(self.committed) } else { Err(StoreError::IdempotencyKeyReused) }
    }
}

/// Where a commit wrote to one thread. Heads move on, so they are read when the key is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPlace {
    /// The thread that was written.
    pub thread: ThreadId,
    /// The segment that holds the entries.
    pub segment: SegmentId,
    /// The position of the first entry.
    pub first: Position,
    /// The number of entries.
    pub count: u64,
    /// The time they carry.
    pub time: Timestamp,
}

impl From<&ThreadCommitted> for KeyPlace {
    fn from(told: &ThreadCommitted) -> Self {
        let ThreadCommitted { thread, segment, first, count, time, .. } = *told;
        Self { thread, segment, first, count, time }
    }
}

/// The row that a store keeps under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// The hash of the request.
    pub hash: BlobId,
    /// The first thread of the commit. Its time is the age of the key.
    pub first: KeyPlace,
    /// The threads that the commit created.
    pub made: Vec<KeyPlace>,
}

/// A key with its row, as it moves to another store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptKey {
    /// The thread under which it lies ([`KeyQuery::NEW`] for a request that created one).
    pub thread: ThreadId,
    /// The account of the caller who sent it.
    pub account: Account,
    /// The key that the caller sent.
    pub key: IdempotencyKey,
    /// The result that it stands for.
    pub row: KeyRow,
}

impl KeyRow {
    /// Bytes of one thread in [`KeyRow::encode_made`].
    const PLACE_BYTES: usize = 48;

    /// The row of a commit that came to `threads`, if it carries a key.
    pub fn of(commit: &Commit, threads: &[ThreadCommitted]) -> Option<Self> {
        let is_made = |told: &&ThreadCommitted| {
            let mut created = commit.threads.iter().filter_map(|thread| match thread {
                ThreadCommit::Create(create) => Some(create.thread),
                ThreadCommit::Write(_) | ThreadCommit::Delete { .. } => None,
            });
            created.any(|thread| thread == told.thread)
        };
        Some(Self {
            hash: commit.idempotency.as_ref()?.hash,
            first: threads.first()?.into(),
            made: threads.iter().filter(is_made).map(KeyPlace::from).collect(),
        })
    }

    /// The row that a store found: its columns, and the bytes of [`KeyRow::encode_made`].
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the bytes cannot be read, or name no thread where one was created.
    pub fn stored(hash: BlobId, first: KeyPlace, made: Option<&[u8]>) -> Result<Self> {
        let damaged = || StoreError::corrupt("the row of an idempotency key cannot be read");
        let made = Self::decode_made(made.unwrap_or_default()).ok_or_else(damaged)?;
        let first = match first.thread == KeyQuery::NEW {
            true => *made.first().ok_or_else(damaged)?,
            false => first,
        };
        Ok(Self { hash, first, made })
    }

    /// The threads of the result, in the order of the commit.
    pub fn places(&self) -> impl Iterator<Item = &KeyPlace> {
        let first = Some(&self.first).filter(|first| self.made.first() != Some(first));
        first.into_iter().chain(&self.made)
    }

    /// The result, with the heads that `head` finds.
    ///
    /// # Errors
    /// Those of `head`, which says [`StoreError::ThreadNotFound`] for a thread that was deleted since.
    pub fn remembered(&self, mut head: impl FnMut(ThreadId) -> Result<Head>) -> Result<Remembered> {
        let told = self.places().map(|place| {
            let KeyPlace { thread, segment, first, count, time } = *place;
            Ok(ThreadCommitted { thread, segment, first, count, time, head: head(thread)? })
        });
        let threads = told.collect::<Result<_>>()?;
        Ok(Remembered { hash: self.hash, committed: Committed { threads, replayed: true } })
    }

    /// The threads that were created, as bytes for a column; none if there are none.
    pub fn encode_made(&self) -> Option<Vec<u8>> {
        let encode = |place: &KeyPlace| {
            let KeyPlace { thread, segment, first, count, time } = *place;
            let numbers = [segment.bits(), first.0, count, time.as_micros() as u64].map(u64::to_be_bytes);
            [&thread.bits().to_be_bytes()[..], numbers.as_flattened()].concat()
        };
        (!self.made.is_empty()).then(|| self.made.iter().flat_map(encode).collect())
    }

    fn decode_made(bytes: &[u8]) -> Option<Vec<KeyPlace>> {
        let (places, rest) = bytes.as_chunks::<{ Self::PLACE_BYTES }>();
        let decode = |bytes: &[u8; Self::PLACE_BYTES]| {
            let number = |at: usize| bytes[at..at + 8].iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
            KeyPlace {
                thread: ThreadId::from_bits(u128::from(number(0)) << 64 | u128::from(number(8))),
                segment: SegmentId::from_bits(number(16)),
                first: Position(number(24)),
                count: number(32),
                time: Timestamp::from_micros(number(40) as i64),
            }
        };
        rest.is_empty().then(|| places.iter().map(decode).collect())
    }
}
