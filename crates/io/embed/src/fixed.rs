//! The built-in embedder: a fixed vector for each piece of a word.
//!
//! A text's vector is the sum of the vectors of its pieces. The table with them, and with the vocabulary, is part of
//! the program: `table/static.bin`, made by `table/make.py` from a model that reads whole sentences. Pieces that stand
//! in every text are quiet in it, so that a sum says what its text is about.

use std::sync::LazyLock;

use crate::wordpiece::{Vocabulary, Words};
use crate::{BoxFuture, EmbedError, Embedder, Model, Vector};

/// What is read of a text. More makes vectors of long texts alike.
const TEXT_CHARS_MAX: usize = 600;
const DIMENSIONS: usize = 256;
/// Dimensions that are summed at once: as many as fit into a processor's registers.
const STRETCH: usize = 64;
const FILE: &[u8] = include_bytes!("../table/static.bin");
const MAGIC: &[u8] = b"TKSTATIC";

/// The built-in embedder. Copies are handles to one table, which is read when it is first needed: a few milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Static(());

/// Tells its vectors from those of any other model; a table that gives others has a new number.
static MODEL: LazyLock<Model> =
    LazyLock::new(|| Model { id: "threadkeep-static-1".to_owned(), dimensions: DIMENSIONS });

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(FILE).expect("the table is part of the program"));

impl Static {
    /// The embedder with the built-in table.
    pub fn new() -> Self {
        Self(())
    }

    /// The vector of `text`, of which the first 600 characters count.
    pub fn vector(&self, text: &str) -> Vector {
        self.batch().vector(text)
    }

    /// Makes vectors of many texts in less time.
    pub fn batch(&self) -> Batch {
        Batch::default()
    }
}

/// Makes vectors of many texts: words that come again are divided into pieces only once. The vectors are those of
/// [`Static::vector`].
#[derive(Default)]
pub struct Batch {
    words: Words,
    ids: Vec<u32>,
}

impl Batch {
    /// The vector of `text`, of which the first 600 characters count.
    pub fn vector(&mut self, text: &str) -> Vector {
        let mut rest = text.chars();
        rest.nth(TEXT_CHARS_MAX - 1);
        let text = &text[..text.len() - rest.as_str().len()];
        self.ids.clear();
        TABLE.vocabulary.divide(text, &mut self.words, |id| self.ids.push(id));
        Vector::quantise(&TABLE.sum(&self.ids))
    }
}

impl Embedder for Static {
    fn model(&self) -> &Model {
        &MODEL
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        let mut batch = self.batch();
        Box::pin(async move { Ok(texts.iter().map(|text| batch.vector(text)).collect()) })
    }
}

/// The table, as its file has it: magic, count and dimensions; a scale a row; the rows of signed bytes; the vocabulary.
struct Table {
    vocabulary: Vocabulary<&'static str>,
    scales: &'static [[u8; 4]],
    rows: &'static [[u8; DIMENSIONS]],
}

impl Table {
    fn read(file: &'static [u8]) -> Option<Self> {
        let (count, rest) = file.strip_prefix(MAGIC)?.split_first_chunk()?;
        let (dimensions, rest) = rest.split_first_chunk()?;
        if u32::from_le_bytes(*dimensions) as usize != DIMENSIONS {
            return None;
        }
        let count = u32::from_le_bytes(*count) as usize;
        let (scales, rest) = rest.split_at_checked(count.checked_mul(4)?)?;
        let (rows, words) = rest.split_at_checked(count.checked_mul(DIMENSIONS)?)?;
        let vocabulary = Vocabulary::new(std::str::from_utf8(words).ok()?)?;
        let table = Self { vocabulary, scales: scales.as_chunks().0, rows: rows.as_chunks().0 };
        (table.vocabulary.len() == count).then_some(table)
    }

    /// The sum of the vectors of these pieces.
    fn sum(&self, ids: &[u32]) -> [f32; DIMENSIONS] {
        #[cfg(target_arch = "x86_64")]
        if processor::is_modern() {
            return processor::sum(self, ids);
        }
        self.summed(ids)
    }

    #[inline(always)]
    fn summed(&self, ids: &[u32]) -> [f32; DIMENSIONS] {
        let mut all = [0.0; DIMENSIONS];
        for (at, part) in all.as_chunks_mut::<STRETCH>().0.iter_mut().enumerate() {
            let mut sum = [0.0_f32; STRETCH];
            for id in ids {
                let scale = f32::from_le_bytes(self.scales[*id as usize]);
                let row = &self.rows[*id as usize].as_chunks::<STRETCH>().0[at];
                for (sum, byte) in sum.iter_mut().zip(row) {
                    *sum += scale * f32::from(byte.cast_signed());
                }
            }
            *part = sum;
        }
        all
    }
}

/// The same with wider registers, which processors of the last ten years have. The numbers are the same to the bit.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the function is called after the processor was asked whether it can")]
mod processor {
    use super::{DIMENSIONS, Table};

    pub(super) fn is_modern() -> bool {
        std::arch::is_x86_feature_detected!("avx2")
    }

    pub(super) fn sum(table: &Table, ids: &[u32]) -> [f32; DIMENSIONS] {
        #[target_feature(enable = "avx2")]
        fn summed(table: &Table, ids: &[u32]) -> [f32; DIMENSIONS] {
            table.summed(ids)
        }
        // SAFETY: the instructions are there, as the caller found out.
        unsafe { summed(table, ids) }
    }
}

#[cfg(test)]
mod tests;
