//! Texts as pieces of words, by the rules of uncased BERT models.
//!
//! First a text is cleaned and divided into words: letters become small and lose their accents, control characters go,
//! every punctuation mark and every CJK character is a word of its own. Then each word is divided into the longest
//! pieces of the vocabulary, from the left. A word that cannot be, or that is longer than 100 characters, is the
//! unknown piece.
//!
//! The rules for one character are in `characters`; here is the vocabulary and the division.

use std::ops::Range;

use foldhash::{HashMap, HashMapExt as _};

use crate::characters::{Kind, fold, kind};

/// Longer words are unknown as a whole.
const WORD_CHARS_MAX: usize = 100;
/// Pieces of divided words that are remembered, with their words: about a megabyte.
const KNOWN_PIECES_MAX: usize = 32_768;
/// The prefix of pieces that continue a word.
const GOES_ON: &str = "##";
const UNKNOWN: &str = "[UNK]";

/// Where a piece stands in a word. The same letters are another piece in the other place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Start,
    Inside,
}

/// A vocabulary, ready to divide texts.
pub(crate) struct Vocabulary<T> {
    /// One piece a line, with `##` where it goes on with a word.
    lines: T,
    /// Where the pieces are in `lines`, by id.
    pieces: Vec<Range<u32>>,
    /// Open addressing by the pieces' hashes: the high half of the hash, and the id plus one, or nothing.
    slots: Vec<(u32, u32)>,
    /// The bytes of the longest piece.
    longest: usize,
    unknown: u32,
}

impl<T: AsRef<str>> Vocabulary<T> {
    /// The vocabulary with one piece a line, numbered from 0; none without a piece for what is unknown, or above
    /// 2 GiB.
    pub(crate) fn new(lines: T) -> Option<Self> {
        let all = lines.as_ref();
        let bytes_max = u32::MAX / 2;
        if all.len() > bytes_max as usize {
            return None;
        }
        let unknown = all.lines().position(|piece| piece == UNKNOWN)?.try_into().ok()?;
        let mut end = 0;
        let pieces: Vec<Range<u32>> = all
            .split_inclusive('\n')
            .map(|line| {
                let start = end;
                end += line.len() as u32;
                let piece = line.strip_suffix('\n').unwrap_or(line);
                start..start + piece.strip_suffix('\r').unwrap_or(piece).len() as u32
            })
            .collect();
        // Less than half of the slots are taken, so that a search for what is not there ends soon.
        let size = (pieces.len() * 2 + 1).next_power_of_two();
        let mut vocabulary = Self { lines, pieces, slots: vec![(0, 0); size], longest: 0, unknown };
        for id in 0..vocabulary.pieces.len() as u32 {
            vocabulary.insert(id);
        }
        Some(vocabulary)
    }

    /// How many pieces there are.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The id of the piece that is listed as `name`.
    #[cfg(feature = "transformer")]
    pub(crate) fn named(&self, name: &str) -> Option<u32> {
        (0..self.pieces.len() as u32).find(|id| self.piece(*id) == name)
    }

    fn piece(&self, id: u32) -> &str {
        let Range { start, end } = self.pieces[id as usize];
        &self.lines.as_ref()[start as usize..end as usize]
    }

    /// Gives the ids of the pieces of `text` to `each`, in order. `words` remembers how words were divided, for this
    /// vocabulary alone.
    pub(crate) fn divide(&self, text: &str, words: &mut Words, mut each: impl FnMut(u32)) {
        let mut rest = text;
        loop {
            // Most of a text is letters and digits of ASCII.
            let plain = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
            words.push_plain(&rest[..plain]);
            let Some(character) = rest[plain..].chars().next() else { break };
            rest = &rest[plain + character.len_utf8()..];
            match kind(character) {
                // The folded character decides: '≠' becomes '=', which is a word of its own.
                Kind::Letter | Kind::Alone => fold(character, |folded| match kind(folded) {
                    Kind::Alone => {
                        self.divide_word(words, &mut each);
                        words.push(folded);
                        self.divide_word(words, &mut each);
                    }
                    Kind::Letter | Kind::Space | Kind::Nothing => words.push(folded),
                }),
                Kind::Space => self.divide_word(words, &mut each),
                Kind::Nothing => {}
            }
        }
        self.divide_word(words, &mut each);
    }

    /// Gives the pieces of the word that was read to `each`, and empties it.
    fn divide_word(&self, words: &mut Words, each: &mut impl FnMut(u32)) {
        if words.chars == 0 {
            return;
        }
        if words.chars > WORD_CHARS_MAX {
            each(self.unknown);
        } else {
            let key = packed(&words.text);
            let known = key.and_then(|key| words.known.get(&key).cloned());
            let Range { start, end } = known.unwrap_or_else(|| self.divide_new(words, key));
            words.pieces[start as usize..end as usize].iter().copied().for_each(each);
            if key.is_none() {
                words.pieces.truncate(start as usize);
            }
        }
        words.text.clear();
        words.chars = 0;
    }

    /// The pieces of a word that is not known yet, or too long to be remembered.
    fn divide_new(&self, words: &mut Words, key: Option<u128>) -> Range<u32> {
        if words.pieces.len() >= KNOWN_PIECES_MAX {
            words.known.clear();
            words.pieces.clear();
        }
        let begin = words.pieces.len();
        if !self.divide_into_pieces(words) {
            words.pieces.truncate(begin);
            words.pieces.push(self.unknown);
        }
        let pieces = begin as u32..words.pieces.len() as u32;
        if let Some(key) = key {
            words.known.insert(key, pieces.clone());
        }
        pieces
    }

    /// Adds the pieces of the word; false if it has a part that is none.
    fn divide_into_pieces(&self, words: &mut Words) -> bool {
        let mut start = 0;
        while start < words.text.len() {
            let place = if start == 0 { Place::Start } else { Place::Inside };
            let found = self.longest_piece(&words.text[start..], place, &mut words.hashes);
            let Some((id, length)) = found else { return false };
            words.pieces.push(id);
            start += length;
        }
        true
    }

    /// The longest piece that `text` begins with, and its length in bytes.
    fn longest_piece(&self, text: &str, place: Place, hashes: &mut Vec<(usize, u64)>) -> Option<(u32, usize)> {
        // The hashes of all beginnings, in one pass.
        hashes.clear();
        let mut hash = seed(place);
        for (at, byte) in text.bytes().enumerate().take(self.longest) {
            hash = step(hash, byte);
            if text.is_char_boundary(at + 1) {
                hashes.push((at + 1, hash));
            }
        }
        hashes.iter().rev().find_map(|&(length, hash)| Some((self.find(&text[..length], place, hash)?, length)))
    }

    fn find(&self, text: &str, place: Place, hash: u64) -> Option<u32> {
        let (tag, mut slot) = self.home(hash);
        loop {
            let (held, id) = self.slots[slot];
            let id = id.checked_sub(1)?;
            if held == tag && placed(self.piece(id)) == (text, place) {
                return Some(id);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// If a piece is listed twice, its last number holds, as in the reference.
    fn insert(&mut self, id: u32) {
        let (text, place) = placed(self.piece(id));
        let longest = self.longest.max(text.len());
        let hash = text.bytes().fold(seed(place), step);
        let (tag, mut slot) = self.home(hash);
        while self.slots[slot].1 != 0 {
            let (held, other) = self.slots[slot];
            if held == tag && placed(self.piece(other - 1)) == (text, place) {
                break;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.longest = longest;
        self.slots[slot] = (tag, id + 1);
    }

    fn home(&self, hash: u64) -> (u32, usize) {
        // The last step of the hash leaves little of the last byte in its lower bits.
        let mixed = (hash ^ (hash >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed >> 32) as u32, mixed as usize >> 8 & (self.slots.len() - 1))
    }
}

/// FNV-1a: it goes on byte by byte, so one pass over a word gives the hashes of all its beginnings.
fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
}

fn seed(place: Place) -> u64 {
    match place {
        Place::Start => 0xCBF2_9CE4_8422_2325,
        Place::Inside => 0x8422_2325_CBF2_9CE4,
    }
}

/// A word of up to 15 bytes as one number, with its length: it is compared without a look at another place of memory.
fn packed(word: &str) -> Option<u128> {
    let mut bytes = [0; 16];
    bytes[..15].get_mut(..word.len())?.copy_from_slice(word.as_bytes());
    bytes[15] = word.len() as u8;
    Some(u128::from_le_bytes(bytes))
}

/// The letters of a listed piece, and where they stand.
fn placed(piece: &str) -> (&str, Place) {
    match piece.strip_prefix(GOES_ON) {
        Some(rest) if !rest.is_empty() => (rest, Place::Inside),
        Some(_) | None => (piece, Place::Start),
    }
}

/// The word that is being read, and the words that were divided before: most words come again.
pub(crate) struct Words {
    text: String,
    chars: usize,
    hashes: Vec<(usize, u64)>,
    /// Where the pieces of a word are in `pieces`, for words that fit into a number.
    known: HashMap<u128, Range<u32>>,
    pieces: Vec<u32>,
}

impl Default for Words {
    fn default() -> Self {
        let (text, chars, hashes, pieces) = Default::default();
        Self { text, chars, hashes, known: HashMap::new(), pieces }
    }
}

impl Words {
    /// Adds letters and digits of ASCII.
    fn push_plain(&mut self, plain: &str) {
        self.chars += plain.len();
        if self.chars <= WORD_CHARS_MAX {
            let begin = self.text.len();
            self.text.push_str(plain);
            self.text[begin..].make_ascii_lowercase();
        }
    }

    fn push(&mut self, character: char) {
        self.chars += 1;
        // What is too long is only counted.
        if self.chars <= WORD_CHARS_MAX {
            self.text.push(character);
        }
    }
}
