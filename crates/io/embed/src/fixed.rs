//! The built-in embedder: a fixed vector for each piece of a word.
//!
//! A text's vector is the sum of the vectors of its pieces. The table with them, and with the vocabulary, is part of
//! the program: `table/static.bin`, made by `table/make.py` from a model that reads whole sentences. Pieces that stand
//! in every text are quiet in it, so that a sum says what its text is about.

use std::sync::LazyLock;

use crate::wordpiece::Vocabulary;
use crate::{BoxFuture, EmbedError, Embedder, Model, Vector};

/// What is read of a text. More makes vectors of long texts alike.
const TEXT_CHARS_MAX: usize = 600;
const DIMENSIONS: usize = 256;
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
        let end = text.char_indices().nth(TEXT_CHARS_MAX).map_or(text.len(), |(at, _)| at);
        let mut sum = [0.0_f32; DIMENSIONS];
        let table: &Table = &TABLE;
        table.vocabulary.divide(&text[..end], |id| table.add(id, &mut sum));
        Vector::quantise(&sum)
    }
}

impl Embedder for Static {
    fn model(&self) -> &Model {
        &MODEL
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move { Ok(texts.iter().map(|text| self.vector(text)).collect()) })
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

    /// Adds the vector of the piece `id` to `sum`.
    fn add(&self, id: u32, sum: &mut [f32; DIMENSIONS]) {
        let scale = f32::from_le_bytes(self.scales[id as usize]);
        for (sum, byte) in sum.iter_mut().zip(&self.rows[id as usize]) {
            *sum += scale * f32::from(byte.cast_signed());
        }
    }
}

#[cfg(test)]
mod tests;
