//! The rules by which a store accepts or refuses a commit, and gives positions, ordinals and tallies. They are pure, so
//! that every store keeps the same rules.

use crate::{
    Create, Expect, Head, Lease, NewEntry, Position, Refusal, Segment, Tally, ThreadCommit, ThreadCommitted, ThreadId,
    Timestamp, Version, Write,
};

impl Expect {
    /// The era at which a change was decided, and the version its caller expects.
    pub fn at(era: u64, version: Option<Version>) -> Self {
        Self { era: Some(era), version, lease: None }
    }

    /// Whether `head` is as expected.
    ///
    /// # Errors
    /// [`Refusal::VersionConflict`] if the version moved, else [`Refusal::EraMoved`] if the era did.
    pub fn check(&self, head: &Head) -> Result<(), Refusal> {
        if self.version.is_some_and(|version| version != head.version) {
            return Err(Refusal::VersionConflict { current: head.version });
        }
        if self.era.is_some_and(|era| era != head.era) {
            return Err(Refusal::EraMoved);
        }
        Ok(())
    }
}

impl Write {
    /// Whether a lease keeps others from it: it changes the conversation, starts a run or changes the owner.
    pub fn is_conversation(&self) -> bool {
        self.branch.is_some() || self.entries.iter().any(|entry| entry.kind.is_guarded())
    }
}

impl Lease {
    /// Whether a commit may go ahead on a thread whose last lease is `last`.
    ///
    /// # Errors
    /// [`Refusal::WriterHeld`] if another writer holds the lease and the commit changes the conversation;
    /// [`Refusal::WriterLost`] if the commit was made under a lease that ended.
    pub fn admit(last: Option<&Lease>, commit: &ThreadCommit, now: Timestamp) -> Result<(), Refusal> {
        let (expect, guarded) = match commit {
            ThreadCommit::Create(_) => return Ok(()),
            ThreadCommit::Write(write) => (&write.expect, write.is_conversation()),
            ThreadCommit::Delete { expect, .. } => (expect, true),
        };
        let held = last.filter(|lease| lease.holds(now));
        match (expect.lease, held) {
            (Some(token), Some(lease)) if lease.token == token => Ok(()),
            (Some(_), other) => Err(Refusal::WriterLost { to: other.cloned() }),
            (None, Some(lease)) if guarded => Err(Refusal::WriterHeld { by: lease.clone() }),
            (None, _) => Ok(()),
        }
    }
}

/// Where and when a new entry is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Its position in the segment.
    pub position: Position,
    /// The tally after it.
    pub tally: Tally,
    /// Its time: times never go back within a thread.
    pub time: Timestamp,
}

/// A thread after a commit, with the places of its new entries.
#[derive(Debug, Clone, PartialEq)]
pub struct Advanced {
    /// The head after the commit.
    pub head: Head,
    /// The segment the commit opened.
    pub opened: Option<Segment>,
    /// The place of each new entry, in order.
    pub places: Vec<Place>,
}

impl Advanced {
    /// When the thread was created, if this is its birth.
    pub fn created(&self) -> Timestamp {
        self.opened.as_ref().map_or(self.head.updated, |segment| segment.created)
    }

    /// The result to return for `thread`.
    pub fn committed(&self, thread: ThreadId) -> ThreadCommitted {
        let count = self.places.len() as u64;
        let first = self.places.first().map_or(self.head.version.next(), |place| place.position);
        ThreadCommitted { thread, segment: self.head.segment, first, count, time: self.head.updated, head: self.head }
    }
}

/// A thread at its birth, with its first entries.
pub fn born(create: &Create, time: Timestamp) -> Advanced {
    let version = create.segment.link.map_or(Position::START, |link| link.bounds.highest());
    let created = create.created.unwrap_or(time);
    // Invariant: positions rise along every lineage. A segment begins above every position that its link shows.
    let opened = Segment {
        id: create.segment.id,
        thread: create.thread,
        first: version.next(),
        link: create.segment.link,
        birth: create.segment.birth,
        created,
    };
    let mut head =
        Head { version, segment: opened.id, era: 0, fence: 0, updated: created, tally: create.segment.birth };
    let places = place(&mut head, &create.entries, time);
    Advanced { head, opened: Some(opened), places }
}

/// A thread after `write`.
///
/// # Errors
/// If `head` is not in the state that the write expects.
pub fn advance(head: &Head, write: &Write, time: Timestamp) -> Result<Advanced, Refusal> {
    write.expect.check(head)?;
    let mut head = *head;
    // A write without changes only checks the state of the thread.
    if write.branch.is_some() || write.record.is_some() || !write.entries.is_empty() {
        let first = write.entries.first().and_then(|entry| entry.time);
        head.updated = head.updated.max(first.unwrap_or(time));
    }
    let opened = write.branch.as_ref().map(|branch| Segment {
        id: branch.id,
        thread: write.thread,
        first: head.version.next(),
        link: branch.link,
        birth: branch.birth,
        created: head.updated,
    });
    if let Some(segment) = &opened {
        head.segment = segment.id;
        head.tally = segment.birth;
        head.fence += 1;
    }
    if opened.is_some() || write.record.is_some() || write.entries.iter().any(|entry| entry.kind.moves_era()) {
        head.era += 1;
    }
    let places = place(&mut head, &write.entries, time);
    Ok(Advanced { head, opened, places })
}

fn place(head: &mut Head, entries: &[NewEntry], time: Timestamp) -> Vec<Place> {
    entries
        .iter()
        .map(|entry| {
            head.version = head.version.next();
            head.updated = head.updated.max(entry.time.unwrap_or(time));
            head.tally = head.tally.after(&entry.derived, head.version, head.updated, entry.bytes);
            Place { position: head.version, tally: head.tally, time: head.updated }
        })
        .collect()
}
