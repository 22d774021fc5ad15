//! The messages with a term: how often they have it, and how often near their beginning.

use crate::Damaged;
use crate::bytes::{Reader, put};

/// A message that has a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) doc: u32,
    /// How often the term occurs in it; at least once.
    pub(crate) count: u32,
    /// How often among its first characters, which count for its neighbours.
    pub(crate) head: u32,
}

/// Most occurrences that are told apart.
const COUNT_MAX: u32 = 255;

/// Postings in the order of their documents, as bytes. Both counts are one number: few pairs are common, and those are
/// small.
pub(crate) fn encode(postings: &[Posting], into: &mut Vec<u8>) {
    let mut next = 0;
    for posting in postings {
        let count = u64::from(posting.count.clamp(1, COUNT_MAX));
        let head = u64::from(posting.head).min(count);
        put(into, u64::from(posting.doc - next));
        put(into, count * (count + 1) / 2 - 1 + (count - head));
        next = posting.doc + 1;
    }
}

/// Reads what [`encode`] wrote.
pub(crate) fn decode(bytes: &[u8], count: usize, documents: usize) -> Result<Vec<Posting>, Damaged> {
    let mut reader = Reader::new(bytes);
    let mut postings = Vec::with_capacity(count.min(documents));
    let mut next = 0u32;
    for _ in 0..count {
        // Most pairs of numbers are a byte each.
        let (apart, code) = match reader.pair_of_bytes() {
            Some(pair) => pair,
            None => (reader.small()?, reader.small()?),
        };
        let doc = apart.checked_add(next).filter(|doc| (*doc as usize) < documents);
        let doc = doc.ok_or_else(|| Damaged("a term names a message that is not there".to_owned()))?;
        let (count, head) = match USUAL.get(code as usize) {
            Some((count, head)) => (u32::from(*count), u32::from(*head)),
            None => counts(code),
        };
        postings.push(Posting { doc, count, head });
        next = doc + 1;
    }
    Ok(postings)
}

/// The two counts of each number of one byte.
static USUAL: [(u8, u8); 0x80] = {
    let mut usual = [(0, 0); 0x80];
    let mut code = 0;
    while code < usual.len() {
        let (count, head) = counts(code as u32);
        usual[code] = (count as u8, head as u8);
        code += 1;
    }
    usual
};

/// The two counts of one number.
const fn counts(code: u32) -> (u32, u32) {
    let mut count = 1u32;
    while count < COUNT_MAX && (count + 1) * (count + 2) / 2 - 1 <= code {
        count += 1;
    }
    let missing = code - (count * (count + 1) / 2 - 1);
    (count, count.saturating_sub(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut postings = Vec::new();
        for count in 1..=COUNT_MAX {
            for head in 0..=count {
                let doc = postings.len() as u32 * 3;
                postings.push(Posting { doc, count, head });
            }
        }
        let mut bytes = Vec::new();
        encode(&postings, &mut bytes);
        assert_eq!(decode(&bytes, postings.len(), postings.len() * 3), Ok(postings.clone()));
        assert!(decode(&bytes, postings.len(), 100).is_err());
        assert!(decode(&bytes[..bytes.len() - 1], postings.len(), postings.len() * 3).is_err());
    }
}
