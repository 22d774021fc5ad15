//! What is known of each document beside its words: its place, its time, its length.

use std::collections::HashMap;

use threadkeep_model::{Position, SegmentId, ThreadId, Timestamp};

use crate::Damaged;
use crate::bytes::Reader;
use crate::row::{REACH, Strand};

/// The columns of the documents.
#[derive(Debug)]
pub(crate) struct Columns {
    /// The strand of each document's message. Documents are in the order of strands.
    pub(crate) strand: Vec<u32>,
    pub(crate) position: Vec<u64>,
    /// Where the text is, if not in the message's first entry.
    pub(crate) carriers: HashMap<u32, (u32, u64)>,
    pub(crate) form: Vec<u8>,
    pub(crate) time: Vec<i64>,
    /// How many words each document has.
    pub(crate) length: Vec<u32>,
    /// How many of them are near its beginning.
    pub(crate) head: Vec<u32>,
    /// The length of each document with the heads of its neighbours here.
    pub(crate) around: Vec<u32>,
    /// Words of all documents, each counted for its neighbours too.
    pub(crate) words: u64,
}

impl Columns {
    /// Reads the columns of `count` documents from a section of `bytes` bytes.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        count: usize,
        strands: &[Strand],
        bytes: usize,
    ) -> Result<Self, Damaged> {
        // Every document has more than one byte: a wrong number asks for no memory.
        if count > bytes {
            return Err(Damaged("it has fewer messages than it says".to_owned()));
        }
        let beyond = || Damaged("a message names a segment that is not there".to_owned());
        let mut strand = Vec::with_capacity(count);
        while strand.len() < count {
            let (at, run) = (reader.small()?, reader.small()? as usize);
            if at as usize >= strands.len() || run == 0 || run > count - strand.len() {
                return Err(beyond());
            }
            strand.extend(std::iter::repeat_n(at, run));
        }
        let mut position = Vec::with_capacity(count);
        let mut before = 0u64;
        for at in 0..count {
            if at > 0 && strand[at] != strand[at - 1] {
                before = 0;
            }
            before = before.wrapping_add(reader.number()?);
            position.push(before);
        }
        let mut carriers = HashMap::new();
        for _ in 0..reader.small()? {
            let (doc, at, position) = (reader.small()?, reader.small()?, reader.number()?);
            if at as usize >= strands.len() || doc as usize >= count {
                return Err(beyond());
            }
            carriers.insert(doc, (at, position));
        }
        let form = reader.take(count)?.to_vec();
        let mut time = Vec::with_capacity(count);
        let mut before = 0i64;
        for _ in 0..count {
            before = before.wrapping_add(reader.signed()?);
            time.push(before);
        }
        let (mut length, mut head) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut words = 0u64;
        for _ in 0..count {
            let (all, near) = (reader.small()?, reader.small()?);
            words = words.wrapping_add(u64::from(all) + 2 * REACH as u64 * u64::from(near));
            length.push(all);
            head.push(near);
        }
        let around = windows(&strand, &length, &head);
        Ok(Self { strand, position, carriers, form, time, length, head, around, words })
    }
}

/// The length of each document with the heads of its neighbours in the same segment.
fn windows(strand: &[u32], length: &[u32], head: &[u32]) -> Vec<u32> {
    (0..strand.len())
        .map(|at| {
            let (begin, end) = (at.saturating_sub(REACH), (at + REACH + 1).min(strand.len()));
            let around = (begin..end).filter(|near| *near != at && strand[*near] == strand[at]);
            around.fold(length[at], |sum, near| sum.wrapping_add(head[near]))
        })
        .collect()
}

pub(crate) fn read_strands(reader: &mut Reader<'_>, bytes: usize) -> Result<Vec<Strand>, Damaged> {
    let count = reader.small()? as usize;
    if count > bytes {
        return Err(Damaged("it has fewer segments than it says".to_owned()));
    }
    let mut strands = Vec::with_capacity(count);
    for _ in 0..count {
        let segment = SegmentId::from_bits(reader.number()?);
        let thread = ThreadId::from_bits(u128::from_be_bytes(*reader.array()?));
        let created = Timestamp::from_micros(reader.signed()?);
        let parent = reader.number()?;
        let (mut messages, mut changes) = (Position::START, Position::START);
        if parent != 0 {
            messages = Position(reader.number()?);
            changes = Position(reader.number()?);
        }
        let parent = (parent != 0).then(|| SegmentId::from_bits(parent));
        strands.push(Strand { segment, thread, created, parent, messages, changes });
    }
    Ok(strands)
}
