//! Counts tokens exactly, with a published table of byte pairs.
//!
//! The tables are files that the user puts into the folder of definitions: `o200k_base.tiktoken` or
//! `cl100k_base.tiktoken`. A line has a token in base64 and its rank. A text is split into pieces by the pattern of the
//! table; within a piece, the pair with the lowest rank is joined until no pair is in the table.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use threadkeep_engine::{CountTokens, Tokenizer};

/// Bytes of a table.
const TABLE_BYTES_MAX: u64 = 64 << 20;

/// Without the white space at the end, which is split by hand: the patterns look ahead there.
const CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+";
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s+",
);

/// The tables that are known, by the names of their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    /// Of `gpt-4o` and later models.
    O200k,
    /// Of `gpt-4` and `gpt-3.5`.
    Cl100k,
}

impl Table {
    fn of(file: &Path) -> Option<Self> {
        match file.file_name()?.to_str()? {
            "o200k_base.tiktoken" => Some(Self::O200k),
            "cl100k_base.tiktoken" => Some(Self::Cl100k),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }

    fn pattern(self) -> &'static str {
        match self {
            Self::O200k => O200K,
            Self::Cl100k => CL100K,
        }
    }
}

/// A tokenizer with its table.
struct BytePairs {
    table: Table,
    pieces: Regex,
    ranks: HashMap<Box<[u8]>, u32>,
}

/// A table that was read, and when its file was changed.
type Kept = (Option<SystemTime>, Tokenizer);

/// The tokenizer with the table in a file. A table is read once for as long as its file does not change.
///
/// # Errors
/// What is wrong with the file.
pub fn load(file: &Path) -> Result<Tokenizer, String> {
    static TABLES: OnceLock<Mutex<HashMap<PathBuf, Kept>>> = OnceLock::new();
    let Some(table) = Table::of(file) else {
        return Err("a tokenizer is a file o200k_base.tiktoken or cl100k_base.tiktoken".to_owned());
    };
    let is = fs::metadata(file).map_err(|error| format!("the tokenizer cannot be read: {error}"))?;
    if is.len() > TABLE_BYTES_MAX {
        return Err(format!("a tokenizer has at most {TABLE_BYTES_MAX} bytes"));
    }
    let mut tables = TABLES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let changed = is.modified().ok();
    if let Some((_, kept)) = tables.get(file).filter(|(read, _)| read.is_some() && *read == changed) {
        return Ok(Arc::clone(kept));
    }
    let text = fs::read_to_string(file).map_err(|error| format!("the tokenizer cannot be read: {error}"))?;
    let read: Tokenizer = Arc::new(BytePairs::read(table, &text)?);
    tables.insert(file.to_owned(), (changed, Arc::clone(&read)));
    Ok(read)
}

impl BytePairs {
    fn read(table: Table, text: &str) -> Result<Self, String> {
        let mut ranks = HashMap::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let read = line.split_once(' ').and_then(|(token, rank)| {
                let token = STANDARD.decode(token).ok()?;
                Some((token.into_boxed_slice(), rank.parse::<u32>().ok()?))
            });
            let Some((token, rank)) = read else {
                return Err(format!("line {} of the tokenizer is no token in base64 and its rank", at + 1));
            };
            ranks.insert(token, rank);
        }
        if (0..=u8::MAX).any(|byte| !ranks.contains_key([byte].as_slice())) {
            return Err("the tokenizer lacks single bytes: it is not the whole file".to_owned());
        }
        let pieces = Regex::new(table.pattern()).map_err(|error| error.to_string())?;
        Ok(Self { table, pieces, ranks })
    }

    /// Where the piece ends that begins a text.
    fn end(&self, text: &str) -> usize {
        let found = self.pieces.find(text).filter(|found| found.start() == 0);
        let Some(piece) = found.map(|found| found.as_str()) else { return text.len() };
        if !piece.chars().all(char::is_whitespace) {
            return piece.len();
        }
        if self.table == Table::Cl100k && piece.len() == text.len() {
            return piece.len();
        }
        // Up to the last end of a line; else all but the space that belongs to the word after it.
        if let Some(line) = piece.rfind(['\r', '\n']) {
            return line + 1;
        }
        match piece.char_indices().next_back() {
            Some((last, _)) if last > 0 && piece.len() < text.len() => last,
            _ => piece.len(),
        }
    }

    fn rank(&self, bytes: &[u8]) -> Option<u32> {
        self.ranks.get(bytes).copied()
    }

    /// Tokens of a piece: neighbours are joined, those with the lowest rank first.
    fn tokens(&self, piece: &[u8]) -> u64 {
        if self.ranks.contains_key(piece) {
            return 1;
        }
        let length = piece.len();
        // The end of the part that begins at each byte, and the beginning of the part before it; 0 once it was joined.
        let mut ends: Vec<usize> = (1..=length).collect();
        let mut before: Vec<usize> = (0..length).map(|at| at.saturating_sub(1)).collect();
        let mut pairs = BinaryHeap::new();
        let pair = |from: usize, to: usize| self.rank(&piece[from..to]).map(|rank| Reverse((rank, from, to)));
        pairs.extend((0..length.saturating_sub(1)).filter_map(|at| pair(at, at + 2)));
        let mut count = length as u64;
        while let Some(Reverse((_, from, to))) = pairs.pop() {
            let middle = ends[from];
            // A pair whose parts were joined with others meanwhile.
            if middle == 0 || middle >= to || ends[middle] != to {
                continue;
            }
            (ends[from], ends[middle]) = (to, 0);
            count -= 1;
            if to < length {
                before[to] = from;
                pairs.extend(pair(from, ends[to]));
            }
            if from > 0 {
                pairs.extend(pair(before[from], to));
            }
        }
        count
    }
}

impl CountTokens for BytePairs {
    fn count(&self, text: &str) -> u64 {
        let (mut rest, mut count) = (text, 0);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(self.end(rest));
            count += self.tokens(piece.as_bytes());
            rest = after;
        }
        count
    }

    fn name(&self) -> &str {
        self.table.name()
    }

    fn is_estimate(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_table_is_refused_with_its_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let refused = |name: &str| load(&at(name)).expect_err("refused");
        assert!(refused("gpt2.tiktoken").contains("o200k_base.tiktoken or cl100k_base.tiktoken"));
        assert!(refused("o200k_base.tiktoken").contains("cannot be read"));
        fs::write(at("o200k_base.tiktoken"), "YQ== 0\n!! x\n").expect("a file");
        assert!(refused("o200k_base.tiktoken").contains("line 2"));
        fs::write(at("cl100k_base.tiktoken"), "YQ== 0\n").expect("a file");
        assert!(refused("cl100k_base.tiktoken").contains("not the whole file"));
    }

    #[test]
    fn neighbours_of_the_lowest_rank_are_joined_first() {
        let single = (0..=u8::MAX).map(|byte| format!("{} {byte}\n", STANDARD.encode([byte])));
        let pairs = ["ab", "bc", "cd", "abc"].iter().zip([900, 300, 400, 500]);
        let pairs = pairs.map(|(pair, rank)| format!("{} {rank}\n", STANDARD.encode(pair)));
        let table: String = single.chain(pairs).collect();
        let read = BytePairs::read(Table::O200k, &table).expect("a table");
        // b and c are joined first, then a with them; so c and d are not.
        assert_eq!(read.count("abcd"), 2);
        assert_eq!(read.count("abc"), 1);
        assert_eq!(read.count("zz"), 2);
        assert_eq!(read.count(&"x".repeat(50_000)), 50_000, "long pieces take no long time");
    }
}
