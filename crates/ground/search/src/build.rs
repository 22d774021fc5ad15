//! Making a volume of messages.

use std::collections::BTreeMap;

use ::bytes::Bytes;
use foldhash::{HashMap, HashMapExt as _};
use rust_stemmers::Stemmer;
use threadkeep_model::{MessageId, Role, SegmentId, Timestamp};

use crate::bytes::{put, put_bytes, put_signed};
use crate::format::Sections;
use crate::postings::{Posting, encode};
use crate::row::{Form, Row, Strand, TERMS_A_BLOCK};
use crate::words::{each_word, stem, stemmer};

/// How many characters of a message count for its neighbours.
const HEAD_CHARS: usize = 300;
/// Most bytes of a message that are indexed word by word.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// A message as it is indexed.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// The id of the message.
    pub message: MessageId,
    /// The entry that says what it says: the message's first, or an edit.
    pub carrier: MessageId,
    /// How the text came into the log.
    pub form: Form,
    /// User or assistant; others are not indexed.
    pub role: Role,
    /// When it was written.
    pub time: Timestamp,
    /// The name of the speaker, if it has one.
    pub name: Option<&'a str>,
    /// The text of the message.
    pub text: &'a str,
}

/// Collects messages for a volume.
pub struct Builder {
    strands: BTreeMap<SegmentId, Strand>,
    rows: Vec<Row>,
    /// Words that were seen, and their terms: most words come again, and need no stemming then.
    words: HashMap<String, u32>,
    /// The same for words of up to 15 bytes, each as one number: they are compared without a look at another place.
    short: HashMap<u128, u32>,
    terms: HashMap<String, u32>,
    /// The postings of all terms as they come, each with its term: a list for each term would be read from other places of
    /// memory for every word.
    postings: Vec<(u32, Posting)>,
    /// The last document of each term, and where its posting is in `postings`.
    last: Vec<(u32, u32)>,
    vectors: Vec<Box<[u8]>>,
    text_bytes: u64,
    stemmer: Stemmer,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            strands: BTreeMap::new(),
            rows: Vec::new(),
            words: HashMap::new(),
            short: HashMap::new(),
            terms: HashMap::new(),
            postings: Vec::new(),
            last: Vec::new(),
            vectors: Vec::new(),
            text_bytes: 0,
            stemmer: stemmer(),
        }
    }
}

impl Builder {
    /// Makes a segment known. Every segment that a document names has to be.
    pub fn strand(&mut self, strand: Strand) {
        self.strands.insert(strand.segment, strand);
    }

    /// Bytes of the texts that were added.
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// Adds a message. Its vector, a signed byte a dimension, is empty where there is none; in one volume all have one,
    /// or none has.
    pub fn add(&mut self, document: &Document<'_>, vector: Box<[u8]>) {
        let doc = self.rows.len() as u32;
        let (mut length, mut head_length) = (0, 0);
        let date = date_words(document.time);
        let text = &document.text[..document.text.floor_char_boundary(TEXT_BYTES_MAX)];
        let mut after_head = text.chars();
        after_head.nth(HEAD_CHARS - 1);
        let head_end = text.len() - after_head.as_str().len();
        // Questions name people. A name above a message says more than the same name in it: it counts twice.
        let speaker = document.name.map_or([document.role.as_str(), ""], |name| [name, name]);
        for (text, is_text) in [(speaker[0], false), (speaker[1], false), (date.as_str(), false), (text, true)] {
            each_word(text, |folded, span, _| {
                let known = match packed(folded) {
                    Some(packed) => self.short.get(&packed),
                    None => self.words.get(folded),
                };
                let term = known.copied().unwrap_or_else(|| self.new_word(folded));
                let in_head = u32::from(is_text && span.start < head_end);
                length += 1;
                head_length += in_head;
                let (last, at) = &mut self.last[term as usize];
                if *last == doc {
                    let (_, posting) = &mut self.postings[*at as usize];
                    posting.count += 1;
                    posting.head += in_head;
                } else {
                    (*last, *at) = (doc, self.postings.len() as u32);
                    self.postings.push((term, Posting { doc, count: 1, head: in_head }));
                }
            });
        }
        let form = u8::from(document.role == Role::Assistant) | (u8::from(document.form == Form::Inserted) << 1);
        let (message, carrier, time) = (document.message, document.carrier, document.time.as_micros());
        self.rows.push(Row { message, carrier, form, time, length, head: head_length });
        self.vectors.push(vector);
        self.text_bytes += document.text.len() as u64;
    }

    fn new_word(&mut self, folded: &str) -> u32 {
        let stem = stem(&self.stemmer, folded);
        let term = match self.terms.get(&stem) {
            Some(term) => *term,
            None => {
                let term = self.last.len() as u32;
                self.last.push((u32::MAX, u32::MAX));
                self.terms.insert(stem, term);
                term
            }
        };
        match packed(folded) {
            Some(packed) => self.short.insert(packed, term),
            None => self.words.insert(folded.to_owned(), term),
        };
        term
    }

    /// The volume, with vectors of `model`.
    pub fn finish(self, model: &str) -> Bytes {
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        order.sort_by_key(|at| self.rows[*at as usize].order());
        let mut new_of = vec![0u32; order.len()];
        for (new, old) in order.iter().enumerate() {
            new_of[*old as usize] = new as u32;
        }
        let rows: Vec<Row> = order.iter().map(|at| self.rows[*at as usize]).collect();
        let strands: Vec<Strand> = self.strands.into_values().collect();
        let mut encoder = Encoder::new(&strands, &rows, self.text_bytes);
        let mut terms: Vec<(String, u32)> = self.terms.into_iter().collect();
        terms.sort_unstable();
        let (mut postings, ends) = by_term(&self.postings, self.last.len());
        for posting in &mut postings {
            posting.doc = new_of[posting.doc as usize];
        }
        for (name, term) in terms {
            let begin = term.checked_sub(1).map_or(0, |before| ends[before as usize]);
            let postings = &mut postings[begin..ends[term as usize]];
            postings.sort_unstable_by_key(|posting| posting.doc);
            encoder.term(name.as_bytes(), postings);
        }
        let dimensions = self.vectors.first().map_or(0, |vector| vector.len());
        let mut vectors = Vec::with_capacity(order.len() * dimensions);
        order.iter().for_each(|at| vectors.extend_from_slice(&self.vectors[*at as usize]));
        encoder.finish(if dimensions == 0 { "" } else { model }, dimensions, &vectors)
    }
}

/// A word of up to 15 bytes as one number, with its length.
fn packed(word: &str) -> Option<u128> {
    let mut bytes = [0; 16];
    bytes[..15].get_mut(..word.len())?.copy_from_slice(word.as_bytes());
    bytes[15] = word.len() as u8;
    Some(u128::from_le_bytes(bytes))
}

/// The postings, sorted by their terms, and where those of each term end.
fn by_term(postings: &[(u32, Posting)], terms: usize) -> (Vec<Posting>, Vec<usize>) {
    let mut next = vec![0; terms + 1];
    for (term, _) in postings {
        next[*term as usize + 1] += 1;
    }
    for term in 0..terms {
        next[term + 1] += next[term];
    }
    let mut sorted = vec![Posting { doc: 0, count: 0, head: 0 }; postings.len()];
    for (term, posting) in postings {
        let place = &mut next[*term as usize];
        sorted[*place] = *posting;
        *place += 1;
    }
    // The place after the last posting of each term.
    next.truncate(terms);
    (sorted, next)
}

/// The day of a message in the words in which people ask for it.
fn date_words(time: Timestamp) -> String {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let day = jiff::Timestamp::from_microsecond(time.as_micros()).map(|time| time.to_zoned(jiff::tz::TimeZone::UTC));
    day.map_or_else(
        |_| String::new(),
        |day| format!("{} {} {}", day.day(), MONTHS[day.month() as usize - 1], day.year()),
    )
}

/// Writes a volume: first the documents, then term by term.
pub(crate) struct Encoder {
    columns: Vec<u8>,
    text_bytes: u64,
    /// The strand of each document.
    strand: Vec<u32>,
    blocks: Vec<u32>,
    terms: Vec<u8>,
    postings: Vec<u8>,
    count: usize,
    last: Vec<u8>,
}

impl Encoder {
    /// Rows have to be in their order, strands in that of their segments.
    pub(crate) fn new(strands: &[Strand], rows: &[Row], text_bytes: u64) -> Self {
        let mut columns = Vec::new();
        put(&mut columns, strands.len() as u64);
        for strand in strands {
            put(&mut columns, strand.segment.bits());
            columns.extend_from_slice(&strand.thread.bits().to_be_bytes());
            put_signed(&mut columns, strand.created.as_micros());
            put(&mut columns, strand.parent.map_or(0, SegmentId::bits));
            if strand.parent.is_some() {
                put(&mut columns, strand.messages.0);
                put(&mut columns, strand.changes.0);
            }
        }
        let strand_at = |segment: SegmentId| strands.partition_point(|strand| strand.segment < segment) as u64;
        let mut strand = Vec::with_capacity(rows.len());
        for run in rows.chunk_by(|one, next| one.message.segment == next.message.segment) {
            let at = strand_at(run[0].message.segment);
            put(&mut columns, at);
            put(&mut columns, run.len() as u64);
            strand.extend(std::iter::repeat_n(at as u32, run.len()));
        }
        for run in rows.chunk_by(|one, next| one.message.segment == next.message.segment) {
            let mut before = 0;
            for row in run {
                put(&mut columns, row.message.position.0 - before);
                before = row.message.position.0;
            }
        }
        let carried: Vec<_> = rows.iter().enumerate().filter(|(_, row)| row.carrier != row.message).collect();
        put(&mut columns, carried.len() as u64);
        for (doc, row) in carried {
            put(&mut columns, doc as u64);
            put(&mut columns, strand_at(row.carrier.segment));
            put(&mut columns, row.carrier.position.0);
        }
        columns.extend(rows.iter().map(|row| row.form));
        let mut before = 0;
        for row in rows {
            put_signed(&mut columns, row.time.wrapping_sub(before));
            before = row.time;
        }
        for row in rows {
            put(&mut columns, u64::from(row.length));
            put(&mut columns, u64::from(row.head));
        }
        let (blocks, terms, postings, last) = Default::default();
        Self { columns, text_bytes, strand, blocks, terms, postings, count: 0, last }
    }

    /// Adds a term; terms have to come in their order.
    pub(crate) fn term(&mut self, name: &[u8], postings: &[Posting]) {
        if postings.is_empty() {
            return;
        }
        let begins_block = self.count.is_multiple_of(TERMS_A_BLOCK);
        if begins_block {
            self.blocks.push(self.terms.len() as u32);
            self.last.clear();
        }
        self.count += 1;
        let shared = self.last.iter().zip(name).take_while(|(one, other)| one == other).count();
        let from = self.postings.len();
        encode(postings, &mut self.postings);
        put(&mut self.terms, shared as u64);
        put_bytes(&mut self.terms, &name[shared..]);
        put(&mut self.terms, postings.len() as u64);
        put(&mut self.terms, (self.postings.len() - from) as u64);
        if begins_block {
            put(&mut self.terms, from as u64);
        }
        self.last.clear();
        self.last.extend_from_slice(name);
    }

    /// The volume with these vectors, which lie one after the other.
    pub(crate) fn finish(self, model: &str, dimensions: usize, vectors: &[u8]) -> Bytes {
        let mut blocks = Vec::new();
        put(&mut blocks, self.blocks.len() as u64);
        let mut before = 0;
        for block in self.blocks {
            put(&mut blocks, u64::from(block - before));
            before = block;
        }
        let (text_bytes, strand, columns) = (self.text_bytes, &self.strand[..], &self.columns[..]);
        let (terms, postings) = ([&blocks[..], &self.terms], &self.postings[..]);
        Sections { text_bytes, strand, columns, terms, postings, model, dimensions, vectors }.write()
    }
}
