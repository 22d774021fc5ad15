//! A volume: some messages of one account, ready to be searched. It never changes; volumes are merged into larger ones.
//!
//! Documents are in the order of their messages' places, so that neighbours in a conversation are neighbours here. The
//! columns of the documents, the terms and the signs of the vectors are in memory. Postings and vectors are most of a
//! volume, and a question needs few of them: they are read when they are asked for.

use std::ops::Range;
use std::sync::Arc;

use ::bytes::Bytes;
use threadkeep_model::{MessageId, Position, Role, SegmentId, Timestamp};

use crate::Damaged;
use crate::bytes::Reader;
use crate::columns::{Columns, read_strands};
use crate::format::{HEADER, Layout, Sections, is_old, modernize};
use crate::postings::{Posting, decode};
use crate::row::{Form, Row, Strand};
use crate::source::{Source, Unreadable};

/// Some messages, ready to be searched.
#[derive(Debug)]
pub struct Volume {
    source: Arc<dyn Source>,
    layout: Layout,
    pub(crate) strands: Vec<Strand>,
    pub(crate) columns: Columns,
    /// Where each block of terms begins in `terms`.
    blocks: Vec<u32>,
    terms: Bytes,
    model: String,
    signs: Bytes,
    lengths: Bytes,
}

/// A term in a volume, and where its postings are in their section.
pub(crate) struct Term {
    pub(crate) documents: usize,
    pub(crate) postings: Range<usize>,
}

impl Volume {
    /// Reads a volume that is in memory.
    ///
    /// # Errors
    /// If the bytes are not one.
    pub fn read(bytes: Bytes) -> Result<Self, Unreadable> {
        Self::open(Arc::new(bytes))
    }

    /// Reads the part of a volume that every question needs. The rest is read from the source when it is asked for; of
    /// a volume of the first format all is read now.
    ///
    /// # Errors
    /// If the source fails, or its bytes are not a volume.
    pub fn open(source: Arc<dyn Source>) -> Result<Self, Unreadable> {
        let size = source.size();
        let header = one(&*source, 0..HEADER.min(size))?;
        if is_old(&header) {
            return Self::open(Arc::new(modernize(&one(&*source, 0..size)?)?));
        }
        let layout = Layout::read(&header, size)?;
        let Layout { columns, terms, model, signs, lengths, .. } = layout.clone();
        let [columns, terms, model, signs, lengths] = several(&*source, [columns, terms, model, signs, lengths])?;
        let mut reader = Reader::new(&columns);
        let strands = read_strands(&mut reader, columns.len())?;
        let columns = Columns::read(&mut reader, layout.documents, &strands, columns.len())?;
        let mut reader = Reader::new(&terms);
        let blocks = read_blocks(&mut reader, terms.len())?;
        let terms = terms.slice(reader.at()..);
        let model = String::from_utf8_lossy(&model).into_owned();
        Ok(Self { source, layout, strands, columns, blocks, terms, model, signs, lengths })
    }

    /// How many documents it has.
    pub fn len(&self) -> usize {
        self.columns.strand.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.columns.strand.is_empty()
    }

    /// Bytes of the texts that it was made of.
    pub fn text_bytes(&self) -> u64 {
        self.layout.text_bytes
    }

    /// About how much memory it takes.
    pub fn memory(&self) -> usize {
        let kept = if self.source.is_in_memory() { self.source.size() } else { 0 };
        let read = self.terms.len() + self.signs.len() + self.lengths.len() + self.blocks.len() * 4;
        kept + read + self.len() * 33 + self.strands.len() * size_of::<Strand>()
    }

    /// Whether all of it is in memory, so that no question blocks its thread.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.source.is_in_memory()
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
        let segment = self.strands[self.columns.strand[doc as usize] as usize].segment;
        MessageId { segment, position: Position(self.columns.position[doc as usize]) }
    }

    /// The entry that says what the document says.
    pub fn carrier(&self, doc: u32) -> MessageId {
        match self.columns.carriers.get(&doc) {
            Some((strand, position)) => {
                MessageId { segment: self.strands[*strand as usize].segment, position: Position(*position) }
            }
            None => self.message(doc),
        }
    }

    /// The segment that holds the text of a document.
    pub fn origin(&self, doc: u32) -> &Strand {
        let carrier = self.columns.carriers.get(&doc).map(|(strand, _)| *strand);
        &self.strands[carrier.unwrap_or(self.columns.strand[doc as usize]) as usize]
    }

    /// How the text came into the log.
    pub fn form(&self, doc: u32) -> Form {
        match (self.columns.carriers.contains_key(&doc), self.columns.form[doc as usize] & 2 != 0) {
            (true, _) => Form::Edited,
            (false, true) => Form::Inserted,
            (false, false) => Form::Appended,
        }
    }

    /// The role of the speaker.
    pub fn role(&self, doc: u32) -> Role {
        if self.columns.form[doc as usize] & 1 == 0 { Role::User } else { Role::Assistant }
    }

    /// When the message was written.
    pub fn time(&self, doc: u32) -> Timestamp {
        Timestamp::from_micros(self.columns.time[doc as usize])
    }

    /// How long its vectors are; 0 without vectors.
    pub(crate) fn dimensions(&self) -> usize {
        self.layout.dimensions
    }

    /// The signs of the vectors of all documents.
    pub(crate) fn signs(&self) -> &[u8] {
        &self.signs
    }

    /// One over the length of a document's vector with those of its neighbours here added.
    pub(crate) fn smoothed(&self, doc: u32) -> f32 {
        self.lengths.as_chunks::<4>().0.get(doc as usize).map_or(0.0, |bytes| f32::from_le_bytes(*bytes))
    }

    /// The vectors of some runs of documents.
    pub(crate) fn vectors(&self, runs: &[Range<u32>]) -> Result<Vec<Bytes>, Unreadable> {
        let Layout { dimensions, vectors, .. } = &self.layout;
        let place = |doc: u32| vectors.start + doc as usize * dimensions;
        let ranges: Vec<Range<usize>> = runs.iter().map(|run| place(run.start)..place(run.end)).collect();
        if ranges.is_empty() { Ok(Vec::new()) } else { self.source.read(&ranges) }
    }

    /// The documents of a segment, by position.
    pub(crate) fn of_segment(&self, segment: SegmentId) -> Range<u32> {
        let Ok(strand) = self.strands.binary_search_by_key(&segment, |strand| strand.segment) else { return 0..0 };
        let begin = self.columns.strand.partition_point(|at| (*at as usize) < strand);
        let end = self.columns.strand.partition_point(|at| (*at as usize) <= strand);
        begin as u32..end as u32
    }

    pub(crate) fn strand_of(&self, segment: SegmentId) -> Option<&Strand> {
        let at = self.strands.binary_search_by_key(&segment, |strand| strand.segment).ok()?;
        Some(&self.strands[at])
    }

    /// A term by its stem.
    pub(crate) fn term(&self, stem: &str) -> Result<Option<Term>, Damaged> {
        let first_of = |block: &u32| {
            let mut reader = Reader::new(self.terms.get(*block as usize..).unwrap_or_default());
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

    /// Calls `each` with every term, in the order of terms.
    pub(crate) fn each_term(&self, mut each: impl FnMut(&[u8], Term)) -> Result<(), Damaged> {
        (0..self.blocks.len()).try_for_each(|block| self.read_block(block, &mut each))
    }

    fn read_block(&self, block: usize, mut each: impl FnMut(&[u8], Term)) -> Result<(), Damaged> {
        let begin = self.blocks[block] as usize;
        let end = self.blocks.get(block + 1).map_or(self.terms.len(), |end| *end as usize);
        let block = self.terms.get(begin..end).ok_or_else(|| Damaged("its terms are cut".to_owned()))?;
        let mut reader = Reader::new(block);
        let (mut name, mut offset): (Vec<u8>, Option<usize>) = (Vec::new(), None);
        while reader.at() < block.len() {
            let shared = reader.number()? as usize;
            name.truncate(shared);
            name.extend_from_slice(reader.bytes()?);
            let documents = reader.small()? as usize;
            let length = reader.small()? as usize;
            let from = match offset {
                Some(offset) => offset,
                None => reader.number()? as usize,
            };
            let end = from.checked_add(length).filter(|end| *end <= self.layout.postings.len());
            let end = end.ok_or_else(|| Damaged("a term has no postings".to_owned()))?;
            offset = Some(end);
            each(&name, Term { documents, postings: from..end });
        }
        Ok(())
    }

    /// The documents with each of some terms.
    pub(crate) fn postings(&self, terms: &[&Term]) -> Result<Vec<Vec<Posting>>, Unreadable> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let begin = self.layout.postings.start;
        let place = |term: &&Term| begin + term.postings.start..begin + term.postings.end;
        let ranges: Vec<Range<usize>> = terms.iter().map(place).collect();
        let found = self.source.read(&ranges)?;
        let decoded = found.iter().zip(terms).map(|(bytes, term)| decode(bytes, term.documents, self.len()));
        Ok(decoded.collect::<Result<_, _>>()?)
    }

    /// The section of postings: those of all terms.
    pub(crate) fn all_postings(&self) -> Result<Bytes, Unreadable> {
        one(&*self.source, self.layout.postings.clone())
    }

    /// The vectors of all documents.
    pub(crate) fn all_vectors(&self) -> Result<Bytes, Unreadable> {
        one(&*self.source, self.layout.vectors.clone())
    }

    /// A document as it was written.
    pub(crate) fn row(&self, doc: u32) -> Row {
        let (at, columns) = (doc as usize, &self.columns);
        let (form, time, length, head) = (columns.form[at], columns.time[at], columns.length[at], columns.head[at]);
        Row { message: self.message(doc), carrier: self.carrier(doc), form, time, length, head }
    }

    /// The same volume with the vectors of another model, one a document.
    ///
    /// # Errors
    /// If it has another number of documents, the vectors are not all of one length, or it cannot be read.
    pub fn with_vectors(&self, model: &str, vectors: &[Box<[u8]>]) -> Result<Bytes, Unreadable> {
        let dimensions = vectors.first().map_or(0, |vector| vector.len());
        if vectors.len() != self.len() || vectors.iter().any(|vector| vector.len() != dimensions) {
            return Err(Damaged("the new vectors do not fit".to_owned()).into());
        }
        let Layout { text_bytes, columns, terms, postings, .. } = self.layout.clone();
        let [columns, terms, postings] = several(&*self.source, [columns, terms, postings])?;
        let (strand, vectors) = (&self.columns.strand, vectors.concat());
        let (columns, terms, postings, vectors) = (&columns[..], [&terms[..], &[]], &postings[..], &vectors[..]);
        Ok(Sections { text_bytes, strand, columns, terms, postings, model, dimensions, vectors }.write())
    }
}

/// A part of a source.
fn one(source: &dyn Source, range: Range<usize>) -> Result<Bytes, Unreadable> {
    let [part] = several(source, [range])?;
    Ok(part)
}

/// Some parts of a source.
fn several<const N: usize>(source: &dyn Source, ranges: [Range<usize>; N]) -> Result<[Bytes; N], Unreadable> {
    let parts = source.read(&ranges)?;
    parts.try_into().map_err(|_| Damaged("it gave other parts than it was asked for".to_owned()).into())
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
