//! A volume: some messages of one account, ready to be searched. It never changes; volumes are merged into larger ones.
//!
//! Documents are in the order of their messages' places, so that neighbours in a conversation are neighbours here. As
//! bytes a volume is a header, the strands, the columns of the documents, the terms in their order with their postings,
//! and the vectors.

use std::collections::HashMap;
use std::ops::Range;

use ::bytes::Bytes;
use threadkeep_model::{MessageId, Position, Role, SegmentId, ThreadId, Timestamp};

use crate::build::Row;
use crate::bytes::{Reader, put, put_bytes};
use crate::postings::{Posting, decode};
use crate::vectors::{byte_sketch, product};
use crate::{Damaged, Form};

/// The first bytes of every volume: a mark, and the number of the format.
pub(crate) const MAGIC: &[u8] = b"TKvol\x01";
/// Terms that share the space of their common beginnings.
pub(crate) const TERMS_A_BLOCK: usize = 32;
/// How far a message counts for those around it.
pub(crate) const REACH: usize = 2;
/// Most dimensions of a vector: products of longer ones may not fit in their numbers.
const DIMENSIONS_MAX: usize = 65_536;

/// A segment as the index knows it: the thread that wrote it, and its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strand {
    /// The id of the segment.
    pub segment: SegmentId,
    /// The thread that wrote it.
    pub thread: ThreadId,
    /// When it was made.
    pub created: Timestamp,
    /// The segment that it grew from.
    pub parent: Option<SegmentId>,
    /// Up to where it sees the messages of what it grew from.
    pub messages: Position,
    /// Up to where it sees the changes to messages of what it grew from.
    pub changes: Position,
}

/// Some messages, ready to be searched.
#[derive(Debug)]
pub struct Volume {
    bytes: Bytes,
    pub(crate) strands: Vec<Strand>,
    /// The strand of each document's message.
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
    /// Bytes of the text of all documents.
    pub(crate) text_bytes: u64,
    /// Where each block of terms begins.
    blocks: Vec<u32>,
    terms: Range<usize>,
    postings: Range<usize>,
    pub(crate) model: String,
    pub(crate) dimensions: usize,
    vectors: Range<usize>,
    pub(crate) inverse: Vec<f32>,
    pub(crate) sketches: Vec<u64>,
    /// One over the length of each vector with those of its neighbours here added.
    pub(crate) smoothed: Vec<f32>,
    /// Words of all documents, each counted for its neighbours too.
    pub(crate) words: u64,
}

/// A term in a volume.
pub(crate) struct Term<'a> {
    pub(crate) documents: usize,
    pub(crate) postings: &'a [u8],
}

impl Volume {
    /// Reads a volume.
    ///
    /// # Errors
    /// If the bytes are not one.
    pub fn read(bytes: Bytes) -> Result<Self, Damaged> {
        let mut reader = Reader::new(&bytes);
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(Damaged("it is of a format that this program does not know".to_owned()));
        }
        let count = reader.small()? as usize;
        // Every document has more than one byte: a wrong number asks for no memory.
        if count > bytes.len() {
            return Err(Damaged("it has fewer messages than it says".to_owned()));
        }
        let text_bytes = reader.number()?;
        let strands = read_strands(&mut reader, bytes.len())?;
        let mut columns = Columns::read(&mut reader, count, strands.len())?;
        let blocks = read_blocks(&mut reader, bytes.len())?;
        let terms = reader.small()? as usize;
        let postings = reader.small()? as usize;
        let terms = section(&mut reader, terms)?;
        let postings = section(&mut reader, postings)?;
        let model = String::from_utf8_lossy(reader.bytes()?).into_owned();
        let dimensions = reader.small()? as usize;
        let too_long = || Damaged("its vectors are too long".to_owned());
        let vectors = count.checked_mul(dimensions).filter(|_| dimensions <= DIMENSIONS_MAX).ok_or_else(too_long)?;
        let vectors = section(&mut reader, vectors)?;
        let mut sketches = Vec::with_capacity(vectors.len().div_ceil(64));
        for vector in bytes[vectors.clone()].chunks_exact(dimensions.max(1)) {
            byte_sketch(vector, &mut sketches);
        }
        let (inverse, smoothed) = lengths(&bytes[vectors.clone()], dimensions, &columns.strand);
        let both = columns.length.iter().zip(&columns.head);
        let words = both.map(|(length, head)| u64::from(*length) + 2 * REACH as u64 * u64::from(*head)).sum();
        let around = windows(&columns.strand, &columns.length, &columns.head);
        Ok(Self {
            strands,
            strand: std::mem::take(&mut columns.strand),
            position: columns.position,
            carriers: columns.carriers,
            form: columns.form,
            time: columns.time,
            length: columns.length,
            head: columns.head,
            around,
            text_bytes,
            blocks,
            terms,
            postings,
            model,
            dimensions,
            vectors,
            inverse,
            sketches,
            smoothed,
            words,
            bytes,
        })
    }

    /// How many documents it has.
    pub fn len(&self) -> usize {
        self.strand.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.strand.is_empty()
    }

    /// Bytes of the texts that it was made of.
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// About how much memory it takes.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.len() * 52 + self.sketches.len() * 8 + self.strands.len() * size_of::<Strand>()
    }

    /// The id of the model that made its vectors; empty without vectors.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// What is known of the segments here, in the order of their ids.
    pub fn strands(&self) -> &[Strand] {
        &self.strands
    }

    /// The message that a document is about.
    pub fn message(&self, doc: u32) -> MessageId {
        let segment = self.strands[self.strand[doc as usize] as usize].segment;
        MessageId { segment, position: Position(self.position[doc as usize]) }
    }

    /// The entry that says what the document says.
    pub fn carrier(&self, doc: u32) -> MessageId {
        match self.carriers.get(&doc) {
            Some((strand, position)) => {
                MessageId { segment: self.strands[*strand as usize].segment, position: Position(*position) }
            }
            None => self.message(doc),
        }
    }

    /// How the text came into the log.
    pub fn form(&self, doc: u32) -> Form {
        match (self.carriers.contains_key(&doc), self.form[doc as usize] & 2 != 0) {
            (true, _) => Form::Edited,
            (false, true) => Form::Inserted,
            (false, false) => Form::Appended,
        }
    }

    /// The role of the speaker.
    pub fn role(&self, doc: u32) -> Role {
        if self.form[doc as usize] & 1 == 0 { Role::User } else { Role::Assistant }
    }

    /// When the message was written.
    pub fn time(&self, doc: u32) -> Timestamp {
        Timestamp::from_micros(self.time[doc as usize])
    }

    /// The vector of a document; empty where there is none.
    pub(crate) fn vector(&self, doc: u32) -> &[u8] {
        let begin = self.vectors.start + doc as usize * self.dimensions;
        self.bytes.get(begin..begin + self.dimensions).unwrap_or_default()
    }

    /// The documents of a segment, by position.
    pub(crate) fn of_segment(&self, segment: SegmentId) -> Range<u32> {
        let Ok(strand) = self.strands.binary_search_by_key(&segment, |strand| strand.segment) else { return 0..0 };
        let begin = self.strand.partition_point(|at| (*at as usize) < strand);
        let end = self.strand.partition_point(|at| (*at as usize) <= strand);
        begin as u32..end as u32
    }

    pub(crate) fn strand_of(&self, segment: SegmentId) -> Option<&Strand> {
        let at = self.strands.binary_search_by_key(&segment, |strand| strand.segment).ok()?;
        Some(&self.strands[at])
    }

    /// A term by its stem.
    pub(crate) fn term(&self, stem: &str) -> Result<Option<Term<'_>>, Damaged> {
        let terms = &self.bytes[self.terms.clone()];
        let first_of = |block: &u32| {
            let mut reader = Reader::new(terms.get(*block as usize..).unwrap_or_default());
            reader.number().and_then(|_| reader.bytes()).unwrap_or_default()
        };
        let block = self.blocks.partition_point(|block| first_of(block) <= stem.as_bytes());
        let Some(block) = block.checked_sub(1) else { return Ok(None) };
        let mut found = None;
        self.read_block(block, |name, term| {
            if name == stem.as_bytes() {
                found = Some(term);
            }
        })?;
        Ok(found)
    }

    /// Calls `each` with every term and its postings, in the order of terms.
    pub(crate) fn each_term<'a>(&'a self, mut each: impl FnMut(&[u8], Term<'a>)) -> Result<(), Damaged> {
        (0..self.blocks.len()).try_for_each(|block| self.read_block(block, &mut each))
    }

    fn read_block<'a>(&'a self, block: usize, mut each: impl FnMut(&[u8], Term<'a>)) -> Result<(), Damaged> {
        let terms = &self.bytes[self.terms.clone()];
        let postings = &self.bytes[self.postings.clone()];
        let begin = self.blocks[block] as usize;
        let end = self.blocks.get(block + 1).map_or(terms.len(), |end| *end as usize);
        let mut reader = Reader::new(terms.get(begin..end).ok_or_else(|| Damaged("its terms are cut".to_owned()))?);
        let (mut name, mut offset): (Vec<u8>, Option<usize>) = (Vec::new(), None);
        while reader.at() < end - begin {
            let shared = reader.number()? as usize;
            name.truncate(shared);
            name.extend_from_slice(reader.bytes()?);
            let documents = reader.small()? as usize;
            let length = reader.small()? as usize;
            let from = match offset {
                Some(offset) => offset,
                None => reader.number()? as usize,
            };
            let end = from.saturating_add(length);
            let postings = postings.get(from..end).ok_or_else(|| Damaged("a term has no postings".to_owned()))?;
            offset = Some(end);
            each(&name, Term { documents, postings });
        }
        Ok(())
    }

    /// A document as it was written.
    pub(crate) fn row(&self, doc: u32) -> Row {
        let at = doc as usize;
        let (message, carrier) = (self.message(doc), self.carrier(doc));
        Row { message, carrier, form: self.form[at], time: self.time[at], length: self.length[at], head: self.head[at] }
    }

    /// The same volume with the vectors of another model, one a document.
    ///
    /// # Errors
    /// If it has another number of documents, or the vectors are not all of one length.
    pub fn with_vectors(&self, model: &str, vectors: &[Box<[u8]>]) -> Result<Bytes, Damaged> {
        let dimensions = vectors.first().map_or(0, |vector| vector.len());
        if vectors.len() != self.len() || vectors.iter().any(|vector| vector.len() != dimensions) {
            return Err(Damaged("the new vectors do not fit".to_owned()));
        }
        let mut bytes = self.bytes[..self.postings.end].to_vec();
        put_bytes(&mut bytes, model.as_bytes());
        put(&mut bytes, dimensions as u64);
        vectors.iter().for_each(|vector| bytes.extend_from_slice(vector));
        Ok(bytes.into())
    }

    /// The documents with a term.
    pub(crate) fn postings(&self, term: &Term<'_>) -> Result<Vec<Posting>, Damaged> {
        decode(term.postings, term.documents, self.len())
    }
}

/// The columns of the documents.
struct Columns {
    strand: Vec<u32>,
    position: Vec<u64>,
    carriers: HashMap<u32, (u32, u64)>,
    form: Vec<u8>,
    time: Vec<i64>,
    length: Vec<u32>,
    head: Vec<u32>,
}

impl Columns {
    fn read(reader: &mut Reader<'_>, count: usize, strands: usize) -> Result<Self, Damaged> {
        let beyond = || Damaged("a message names a segment that is not there".to_owned());
        let mut strand = Vec::with_capacity(count);
        while strand.len() < count {
            let (at, run) = (reader.small()?, reader.small()? as usize);
            if at as usize >= strands || run == 0 || run > count - strand.len() {
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
            if at as usize >= strands || doc as usize >= count {
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
        for _ in 0..count {
            length.push(reader.small()?);
            head.push(reader.small()?);
        }
        Ok(Self { strand, position, carriers, form, time, length, head })
    }
}

fn read_strands(reader: &mut Reader<'_>, bytes: usize) -> Result<Vec<Strand>, Damaged> {
    let count = reader.small()? as usize;
    if count > bytes {
        return Err(Damaged("it has fewer segments than it says".to_owned()));
    }
    let mut strands = Vec::with_capacity(count);
    for _ in 0..count {
        let segment = SegmentId::from_bits(reader.number()?);
        let thread: [u8; 16] = reader.take(16)?.try_into().map_err(|_| Damaged("a thread is cut".to_owned()))?;
        let created = Timestamp::from_micros(reader.signed()?);
        let parent = reader.number()?;
        let (mut messages, mut changes) = (Position::START, Position::START);
        if parent != 0 {
            messages = Position(reader.number()?);
            changes = Position(reader.number()?);
        }
        let parent = (parent != 0).then(|| SegmentId::from_bits(parent));
        let thread = ThreadId::from_bits(u128::from_be_bytes(thread));
        strands.push(Strand { segment, thread, created, parent, messages, changes });
    }
    Ok(strands)
}

fn read_blocks(reader: &mut Reader<'_>, bytes: usize) -> Result<Vec<u32>, Damaged> {
    let count = reader.small()? as usize;
    if count > bytes {
        return Err(Damaged("it has fewer terms than it says".to_owned()));
    }
    let (mut blocks, mut at) = (Vec::with_capacity(count), 0u32);
    for _ in 0..count {
        at = at.checked_add(reader.small()?).ok_or_else(|| Damaged("its terms are too many".to_owned()))?;
        blocks.push(at);
    }
    Ok(blocks)
}

fn section(reader: &mut Reader<'_>, length: usize) -> Result<Range<usize>, Damaged> {
    let begin = reader.at();
    reader.take(length)?;
    Ok(begin..begin + length)
}

/// One over the length of each vector, and of each with its neighbours in the same segment added; nothing for one
/// without a length, so that it is like nothing else.
fn lengths(vectors: &[u8], dimensions: usize, strand: &[u32]) -> (Vec<f32>, Vec<f32>) {
    /// Neighbours of one document are so far from each other.
    const APART: usize = 2 * REACH;
    if dimensions == 0 {
        return (Vec::new(), Vec::new());
    }
    let (vectors, count) = (|at: usize| &vectors[at * dimensions..(at + 1) * dimensions], strand.len());
    // The length of a sum is known by the products of its parts, which are integers and shared by several sums.
    let mut wide = vec![0i16; dimensions];
    let mut products = vec![[0f32; APART + 1]; count];
    for at in 0..count {
        wide.iter_mut().zip(vectors(at)).for_each(|(wide, byte)| *wide = i16::from(*byte as i8));
        for (apart, into) in products[at].iter_mut().enumerate() {
            if strand.get(at + apart) == Some(&strand[at]) {
                *into = product(&wide, vectors(at + apart)) as f32;
            }
        }
    }
    let over = |square: f32| if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
    let inverse: Vec<f32> = products.iter().map(|products| over(products[0])).collect();
    let smoothed = (0..count).map(|at| {
        let near = at.saturating_sub(REACH)..(at + REACH + 1).min(count);
        let weight = |near: usize| near_weight(near.abs_diff(at)) * inverse[near];
        let mut square = 0.0;
        for one in near.clone().filter(|one| strand[*one] == strand[at]) {
            square += weight(one) * weight(one) * products[one][0];
            for other in (one + 1..near.end).filter(|other| strand[*other] == strand[at]) {
                square += 2.0 * weight(one) * weight(other) * products[one][other - one];
            }
        }
        over(square)
    });
    let smoothed = smoothed.collect();
    (inverse, smoothed)
}

/// How much of the direction of a document so far away is added.
pub(crate) fn near_weight(distance: usize) -> f32 {
    match distance {
        0 => 1.0,
        1 => 0.5,
        _ => 0.25,
    }
}

/// The length of each document with the heads of its neighbours in the same segment.
fn windows(strand: &[u32], length: &[u32], head: &[u32]) -> Vec<u32> {
    (0..strand.len())
        .map(|at| {
            let (begin, end) = (at.saturating_sub(REACH), (at + REACH + 1).min(strand.len()));
            let around = (begin..end).filter(|near| *near != at && strand[*near] == strand[at]);
            length[at] + around.map(|near| head[near]).sum::<u32>()
        })
        .collect()
}
