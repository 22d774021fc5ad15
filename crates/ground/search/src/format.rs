//! A volume as bytes: a header of a fixed size, and the sections one after the other.
//!
//! Sections are in the order in which a program needs them: the columns of the documents, the terms, then the postings,
//! of which a question reads those of its own terms; the model of the vectors, their signs and lengths, then the vectors,
//! of which a question reads those of its candidates.

use std::ops::Range;

use ::bytes::Bytes;

use crate::Damaged;
use crate::bytes::Reader;
use crate::columns::{Columns, read_strands};
use crate::vectors::{byte_sketch, smoothed};

/// The first bytes of every volume: a mark, and the number of the format.
const MAGIC: [u8; 6] = *b"TKvol\x02";
/// Those of the first format, which had no signs and lengths, and could only be read as a whole.
const FIRST: [u8; 6] = *b"TKvol\x01";
/// Numbers in the header, of eight bytes each.
const NUMBERS: usize = 7;
/// Bytes of the header.
pub(crate) const HEADER: usize = MAGIC.len() + NUMBERS * 8;
/// Most dimensions of a vector: products of longer ones may not fit in their numbers.
const DIMENSIONS_MAX: usize = 65_536;

/// Where the sections of a volume lie.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) documents: usize,
    pub(crate) text_bytes: u64,
    pub(crate) dimensions: usize,
    pub(crate) columns: Range<usize>,
    pub(crate) terms: Range<usize>,
    pub(crate) postings: Range<usize>,
    pub(crate) model: Range<usize>,
    /// A bit a dimension for each document.
    pub(crate) signs: Range<usize>,
    /// One over the length of each vector with those of its neighbours added.
    pub(crate) lengths: Range<usize>,
    pub(crate) vectors: Range<usize>,
}

impl Layout {
    /// The layout of a volume of `size` bytes that begins with `header`.
    pub(crate) fn read(header: &[u8], size: usize) -> Result<Self, Damaged> {
        let mut reader = Reader::new(header);
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(Damaged("it is of a format that this program does not know".to_owned()));
        }
        let mut numbers = [0u64; NUMBERS];
        for number in &mut numbers {
            *number = u64::from_le_bytes(*reader.array()?);
        }
        let [documents, text_bytes, columns, terms, postings, model, dimensions] = numbers;
        let wrong = || Damaged("its sections do not fit".to_owned());
        let small = |number: u64| usize::try_from(number).ok().filter(|number| *number <= size).ok_or_else(wrong);
        let documents = small(documents)?;
        let dimensions = usize::try_from(dimensions).ok().filter(|number| *number <= DIMENSIONS_MAX);
        let dimensions = dimensions.ok_or_else(wrong)?;
        let mut at = HEADER;
        let mut section = |length: Option<usize>| {
            let begin = at;
            at = length.and_then(|length| begin.checked_add(length)).filter(|end| *end <= size).ok_or_else(wrong)?;
            Ok::<_, Damaged>(begin..at)
        };
        let layout = Self {
            documents,
            text_bytes,
            dimensions,
            columns: section(Some(small(columns)?))?,
            terms: section(Some(small(terms)?))?,
            postings: section(Some(small(postings)?))?,
            model: section(Some(small(model)?))?,
            signs: section(documents.checked_mul(dimensions.div_ceil(64) * 8))?,
            lengths: section(documents.checked_mul(if dimensions == 0 { 0 } else { 4 }))?,
            vectors: section(documents.checked_mul(dimensions))?,
        };
        if layout.vectors.end == size { Ok(layout) } else { Err(wrong()) }
    }
}

/// The sections of a volume that is to be written; what follows from the vectors is found out.
pub(crate) struct Sections<'a> {
    pub(crate) text_bytes: u64,
    /// The strand of each document.
    pub(crate) strand: &'a [u32],
    pub(crate) columns: &'a [u8],
    /// The section of terms, in pieces.
    pub(crate) terms: [&'a [u8]; 2],
    pub(crate) postings: &'a [u8],
    pub(crate) model: &'a str,
    pub(crate) dimensions: usize,
    pub(crate) vectors: &'a [u8],
}

impl Sections<'_> {
    pub(crate) fn write(&self) -> Bytes {
        let mut signs = Vec::with_capacity(self.vectors.len().div_ceil(64));
        for vector in self.vectors.chunks_exact(self.dimensions.max(1)) {
            byte_sketch(vector, &mut signs);
        }
        let lengths = smoothed(self.vectors, self.dimensions, self.strand);
        let terms = self.terms.iter().map(|piece| piece.len() as u64).sum();
        let [documents, columns, postings, model] =
            [self.strand.len(), self.columns.len(), self.postings.len(), self.model.len()].map(|length| length as u64);
        let numbers = [documents, self.text_bytes, columns, terms, postings, model, self.dimensions as u64];
        let sections = [self.columns, self.terms[0], self.terms[1], self.postings, self.model.as_bytes()];
        let rest = signs.len() * 8 + lengths.len() * 4 + self.vectors.len();
        let size = HEADER + sections.iter().map(|section| section.len()).sum::<usize>() + rest;
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(&MAGIC);
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        sections.iter().for_each(|section| bytes.extend_from_slice(section));
        signs.iter().for_each(|signs| bytes.extend_from_slice(&signs.to_le_bytes()));
        lengths.iter().for_each(|length| bytes.extend_from_slice(&length.to_le_bytes()));
        bytes.extend_from_slice(self.vectors);
        bytes.into()
    }
}

/// Whether a volume that begins with `header` is of the first format. [`modernize`] makes one of the present format.
pub fn is_old(header: &[u8]) -> bool {
    header.starts_with(&FIRST)
}

/// A volume of the first format in the present one.
///
/// # Errors
/// If it is damaged.
pub fn modernize(old: &[u8]) -> Result<Bytes, Damaged> {
    let mut reader = Reader::new(old);
    if !is_old(reader.take(FIRST.len())?) {
        return Err(Damaged("it is not of the first format".to_owned()));
    }
    let documents = reader.small()? as usize;
    let text_bytes = reader.number()?;
    let begin = reader.at();
    let strands = read_strands(&mut reader, old.len())?;
    let strand = Columns::read(&mut reader, documents, &strands, old.len())?.strand;
    let columns = &old[begin..reader.at()];
    let begin = reader.at();
    for _ in 0..reader.small()? {
        reader.small()?;
    }
    let blocks = &old[begin..reader.at()];
    let (terms, postings) = (reader.small()? as usize, reader.small()? as usize);
    let (terms, postings) = (reader.take(terms)?, reader.take(postings)?);
    let model = String::from_utf8_lossy(reader.bytes()?);
    let dimensions = reader.small()? as usize;
    let vectors = documents.checked_mul(dimensions).filter(|_| dimensions <= DIMENSIONS_MAX);
    let vectors = reader.take(vectors.ok_or_else(|| Damaged("its vectors are too long".to_owned()))?)?;
    let terms = [blocks, terms];
    Ok(Sections { text_bytes, strand: &strand, columns, terms, postings, model: &model, dimensions, vectors }.write())
}
