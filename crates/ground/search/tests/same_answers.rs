//! Answers do not depend on how they are found: they are those of a plain look at every message, whether volumes are in
//! memory, read in parts, or of the first format.

mod corpus;
mod plain;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use corpus::{Said, direction, said, volume};
use threadkeep_model::{MessageId, Position, Role};
use threadkeep_search::{Matches, Place, Question, Shelf, Source, Unreadable, Volume, Wants, is_old, merge, modernize};

/// A volume that is read in parts, and counts their bytes.
#[derive(Debug)]
struct InParts {
    bytes: Bytes,
    read: AtomicUsize,
}

impl InParts {
    fn new(bytes: Bytes) -> Arc<Self> {
        Arc::new(Self { bytes, read: AtomicUsize::new(0) })
    }

    /// The bytes that were read since this was asked last.
    fn read(&self) -> usize {
        self.read.swap(0, Ordering::SeqCst)
    }
}

impl Source for InParts {
    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn is_in_memory(&self) -> bool {
        false
    }

    fn read(&self, ranges: &[Range<usize>]) -> Result<Vec<Bytes>, Unreadable> {
        self.read.fetch_add(ranges.iter().map(ExactSizeIterator::len).sum(), Ordering::SeqCst);
        Source::read(&self.bytes, ranges)
    }
}

type Found = Vec<(MessageId, u32, u32)>;

/// The candidates of a question, each with its score and its exact score along its own segment.
fn found(shelf: &Arc<Shelf>, question: &Question, wants: &Wants) -> (Found, bool) {
    let matches = Matches::find(Arc::clone(shelf), Arc::new(question.clone()), wants).expect("an answer");
    let exact = |place: Place| {
        let path = [(shelf.message(place).segment, Position::END)];
        let (before, after) = shelf.around(place, &path, |_| true);
        let exact = matches.exact(place, &before, &after).expect("a score");
        exact.map_or(0, |exact| exact.score.to_bits())
    };
    let candidates = matches.candidates().iter();
    let found = candidates.map(|one| (shelf.message(one.place), one.score.to_bits(), exact(one.place)));
    (found.collect(), matches.is_complete())
}

fn shelf(volumes: impl IntoIterator<Item = Volume>) -> Arc<Shelf> {
    Arc::new(Shelf::new(volumes.into_iter().map(Arc::new).collect()))
}

#[test]
fn answers_are_those_of_a_plain_look_at_every_message() {
    for (seed, counts) in [(0, vec![400]), (1_000, vec![150, 3, 90]), (5_000, vec![1, 2, 5]), (9_000, vec![4])] {
        let mut next = seed;
        let mut piles: Vec<Vec<Said>> = Vec::new();
        for count in counts {
            piles.push((next..next + count).map(said).collect());
            next += count;
        }
        let contents: Vec<Bytes> = piles.iter().map(|pile| volume(pile)).collect();
        let in_memory = shelf(contents.iter().map(|bytes| Volume::read(bytes.clone()).expect("a volume")));
        let in_parts = shelf(contents.iter().map(|bytes| Volume::open(InParts::new(bytes.clone())).expect("a volume")));
        let some = piles[0].iter().step_by(2).map(|said| said.message.segment).collect::<HashSet<_>>();
        let middle = piles[0][piles[0].len() / 2].time;
        let all = |candidates| Wants { candidates, ..Wants::default() };
        let wanted = [
            all(1),
            all(7),
            all(1_000),
            Wants { role: Some(Role::Assistant), ..all(20) },
            Wants { after: Some(middle), ..all(20) },
            Wants { before: Some(middle), segments: Some(some), ..all(20) },
        ];
        for (n, text) in
            ["w1x", "w1x w2x w7x", "w250x", "w40x w41x w3x w5x", "ann october", "nothing", "W2X w2x"].iter().enumerate()
        {
            let words = Question::new(text);
            let both = Question::new(text).pointing("m", &direction(n as u64 + seed));
            for (question, direction) in [(&words, None), (&both, Some(direction(n as u64 + seed)))] {
                for wants in &wanted {
                    let expected = plain::candidates(&piles, text, direction.as_deref(), wants);
                    let (answers, complete) = found(&in_memory, question, wants);
                    let scores: Vec<(MessageId, u32)> = answers.iter().map(|(id, score, _)| (*id, *score)).collect();
                    assert_eq!((scores, complete), expected, "{text} of {seed}, {wants:?}");
                    assert_eq!(found(&in_parts, question, wants), (answers, complete), "{text}, in parts");
                }
            }
        }
    }
}

#[test]
fn a_volume_of_the_first_format_answers_as_it_did() {
    let old = Bytes::from_static(include_bytes!("goldens/first_format.volume"));
    let expected = include_str!("goldens/first_format.answers");
    let new: Vec<Said> = (0..300).map(said).collect();
    let read = |bytes: Bytes| Volume::read(bytes).expect("a volume");
    let modern = modernize(&old).expect("a volume");
    assert!(is_old(&old) && !is_old(&modern));
    assert_eq!(modern, volume(&new), "a volume of the same messages is the same");
    let (merged, _) = merge(&[&read(old.clone())], |_, _| true, |_| true).expect("a volume");
    assert_eq!(merged.len(), modern.len());
    for volume in [read(old.clone()), Volume::open(InParts::new(old.clone())).expect("a volume"), read(merged)] {
        let shelf = shelf([volume]);
        let mut told = String::new();
        for (n, text) in
            ["w1x", "w1x w2x w7x", "w250x", "w40x w41x w3x", "ann october", "\"w1x w1x\"", "nothing"].iter().enumerate()
        {
            let question = Question::new(text).pointing("m", &direction(n as u64));
            let (answers, complete) = found(&shelf, &question, &Wants { candidates: 40, ..Wants::default() });
            writeln!(told, "{text} {complete}").expect("text");
            for (MessageId { segment, position }, score, exact) in answers {
                writeln!(told, "{}/{} {score:08x} {exact:08x}", segment.bits(), position.0).expect("text");
            }
        }
        assert_eq!(told, expected);
    }
    for end in 0..old.len() {
        assert!(modernize(&old[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn a_question_reads_as_much_of_a_large_volume_as_of_a_small_one() {
    let read = [2_000, 20_000].map(|count| {
        let mut messages: Vec<Said> = (0..count).map(said).collect();
        messages.iter_mut().step_by(count as usize / 20).for_each(|said| said.text.push_str(" zzrare"));
        let source = InParts::new(volume(&messages));
        let shelf = shelf([Volume::open(Arc::clone(&source) as Arc<dyn Source>).expect("a volume")]);
        let opened = source.read();
        // Postings and vectors are most of it.
        assert!(opened * 2 < source.size(), "{opened} of {} bytes", source.size());
        let question = Question::new("zzrare").pointing("m", &direction(3));
        let (answers, complete) = found(&shelf, &question, &Wants { candidates: 50, ..Wants::default() });
        assert!(answers.len() >= 20 && complete);
        (source.read(), source.size())
    });
    let [(of_small, small), (of_large, large)] = read;
    assert!(of_large < of_small * 3 / 2 && large > small * 9, "{of_large} of {large}, {of_small} of {small} bytes");
}

#[test]
fn a_volume_that_is_gone_is_told_apart_from_a_damaged_one() {
    /// A volume that was removed after it was opened.
    #[derive(Debug)]
    struct Removed(Bytes, AtomicUsize);

    impl Source for Removed {
        fn size(&self) -> usize {
            self.0.len()
        }

        fn is_in_memory(&self) -> bool {
            false
        }

        fn read(&self, ranges: &[Range<usize>]) -> Result<Vec<Bytes>, Unreadable> {
            match self.1.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => Source::read(&self.0, ranges),
                _ => Err(Unreadable::Gone),
            }
        }
    }

    let bytes = volume(&(0..50).map(said).collect::<Vec<_>>());
    let volume = Volume::open(Arc::new(Removed(bytes, AtomicUsize::new(0)))).expect("a volume");
    let asked = Matches::find(shelf([volume]), Arc::new(Question::new("w1x")), &Wants::default());
    assert!(matches!(asked, Err(Unreadable::Gone)));
}
