//! Volumes: what goes in comes out, whole or in parts, and damage is noticed.

use std::sync::Arc;

use threadkeep_model::{MessageId, Position, Role, SegmentId, ThreadId, Timestamp};
use threadkeep_search::{Builder, Document, Form, Matches, Question, Shelf, Strand, Volume, Wants, merge};

const WORDS: [&str; 12] = [
    "amber",
    "birch",
    "cedar",
    "dune",
    "ember",
    "fjord",
    "grove",
    "heath",
    "the",
    "parseConfig",
    "max_retry",
    "日本語",
];

fn strand(segment: SegmentId) -> Strand {
    let thread = ThreadId::from_bits(u128::from(segment.bits()));
    let (created, start) = (Timestamp::from_micros(7), Position(0));
    Strand { segment, thread, created, parent: None, messages: start, changes: start }
}

/// A volume of the messages with these numbers; ten are a thread.
fn volume(numbers: impl IntoIterator<Item = u64>) -> Volume {
    let mut builder = Builder::default();
    for n in numbers {
        let segment = SegmentId::from_bits(n / 10 + 1);
        builder.strand(strand(segment));
        let message = MessageId { segment, position: Position(n % 10 + 1) };
        let text: Vec<&str> = (0..n % 7 + 1).map(|at| WORDS[((n * 31 + at * 17) % 12) as usize]).collect();
        let vector: Box<[u8]> = (0..64).map(|at| (n * 37 + at * at) as u8).collect();
        let role = if n % 2 == 0 { Role::User } else { Role::Assistant };
        let time = Timestamp::from_micros(n as i64 * 1_000_000);
        let (form, text) = (Form::Appended, text.join(" "));
        builder.add(&Document { message, carrier: message, form, role, time, name: Some("Ann"), text: &text }, vector);
    }
    Volume::read(builder.finish("m")).expect("a volume")
}

fn answers(volumes: Vec<Volume>, question: Question) -> Vec<(MessageId, u32)> {
    let shelf = Arc::new(Shelf::new(volumes.into_iter().map(Arc::new).collect()));
    let wants = Wants { candidates: 10_000, ..Wants::default() };
    let found = Matches::find(Arc::clone(&shelf), Arc::new(question), &wants).expect("an answer");
    let scored = found.candidates().iter().map(|one| (shelf.message(one.place), one.score.to_bits()));
    scored.collect()
}

#[test]
fn parts_that_are_merged_answer_as_the_whole() {
    let whole = volume(0..500);
    let parts: Vec<Volume> = (0..5).map(|part| volume((0..500).filter(move |n| n % 5 == part))).collect();
    let (merged, left_out) = merge(&parts.iter().collect::<Vec<_>>(), |_, _| true, |_| true).expect("a volume");
    let merged = Volume::read(merged).expect("a volume");
    assert_eq!((merged.len(), left_out, merged.strands()), (500, 0, whole.strands()));
    for (doc, role) in [(0, Role::User), (1, Role::Assistant), (499, Role::Assistant)] {
        assert_eq!(
            (merged.message(doc), merged.time(doc), merged.role(doc)),
            (whole.message(doc), whole.time(doc), role)
        );
    }
    let direction: Vec<f32> = (0..64).map(|at| (at as f32 - 30.0) / 9.0).collect();
    for text in ["amber", "cedar dune", "config", "日本", "ann", "the", "\"amber heath\""] {
        let question = || Question::new(text).pointing("m", &direction);
        let (of_whole, of_merged) =
            (answers(vec![volume(0..500)], question()), answers(vec![volume_of(&parts)], question()));
        assert!(!of_whole.is_empty(), "{text}");
        assert_eq!(of_whole, of_merged, "{text}");
    }
}

fn volume_of(parts: &[Volume]) -> Volume {
    let (merged, _) = merge(&parts.iter().collect::<Vec<_>>(), |_, _| true, |_| true).expect("a volume");
    Volume::read(merged).expect("a volume")
}

#[test]
fn a_merge_leaves_out_what_is_not_kept_and_keeps_twins_once() {
    let (one, twin) = (volume(0..50), volume(25..60));
    let keep = |volume: &Volume, doc: u32| volume.message(doc).segment != SegmentId::from_bits(1);
    let keep_strand = |strand: &Strand| strand.segment != SegmentId::from_bits(1);
    let (merged, left_out) = merge(&[&one, &twin], keep, keep_strand).expect("a volume");
    let merged = Volume::read(merged).expect("a volume");
    assert_eq!((merged.len(), left_out, merged.strands().len()), (50, 10, 5));
}

#[test]
fn damage_is_an_error_and_never_more() {
    let whole = volume(0..40).with_vectors("m", &vec![vec![1u8; 16].into(); 40]).expect("a volume");
    for end in 0..whole.len() {
        assert!(Volume::read(whole.slice(..end)).is_err(), "cut at {end}");
    }
    let question = Arc::new(Question::new("amber cedar the ann config"));
    for at in 0..whole.len() {
        for change in [1u8, 0x80, 0xff] {
            let mut bytes = whole.to_vec();
            bytes[at] ^= change;
            // It may still be a volume; whatever it is, it can be asked.
            if let Ok(volume) = Volume::read(bytes.into()) {
                let shelf = Arc::new(Shelf::new(vec![Arc::new(volume)]));
                drop(Matches::find(shelf, Arc::clone(&question), &Wants { candidates: 9, ..Wants::default() }));
            }
        }
    }
}
