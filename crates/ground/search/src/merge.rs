//! One volume of several.

use std::collections::BTreeMap;

use ::bytes::Bytes;
use threadkeep_model::SegmentId;

use crate::Unreadable;
use crate::build::Encoder;
use crate::postings::Posting;
use crate::row::{Row, Strand};
use crate::volume::{Term, Volume};

/// A document, the volume that it comes from, and where it was there.
type Origin = (Row, usize, u32);
/// A term of a volume: the number of the volume, and the postings there.
type Found = (usize, Term);

/// No document: one that was left out.
const GONE: u32 = u32::MAX;

/// One volume of `volumes`, all of one model, with the documents and the segments that are kept; and how many documents
/// were not. A document that is in several volumes is kept once.
///
/// # Errors
/// If one of them cannot be read.
pub fn merge(
    volumes: &[&Volume],
    keep: impl Fn(&Volume, u32) -> bool,
    keep_strand: impl Fn(&Strand) -> bool,
) -> Result<(Bytes, u64), Unreadable> {
    let mut rows: Vec<Origin> = Vec::new();
    let mut strands: BTreeMap<SegmentId, Strand> = BTreeMap::new();
    let mut left_out = 0;
    for (at, volume) in volumes.iter().enumerate() {
        for strand in volume.strands().iter().filter(|strand| keep_strand(strand)) {
            strands.insert(strand.segment, *strand);
        }
        for doc in 0..volume.len() as u32 {
            if !keep(volume, doc) {
                left_out += 1;
                continue;
            }
            rows.push((volume.row(doc), at, doc));
        }
    }
    // Segments that a kept document names are kept with it.
    for (row, at, _) in &rows {
        for segment in [row.message.segment, row.carrier.segment] {
            if let Some(strand) = volumes[*at].strand_of(segment) {
                strands.entry(segment).or_insert(*strand);
            }
        }
    }
    rows.sort_by_key(|(row, at, doc)| (row.order(), *at, *doc));
    rows.dedup_by_key(|(row, _, _)| row.order());
    let mut new_of: Vec<Vec<u32>> = volumes.iter().map(|volume| vec![GONE; volume.len()]).collect();
    for (new, (_, at, doc)) in rows.iter().enumerate() {
        new_of[*at][*doc as usize] = new as u32;
    }
    let strands: Vec<Strand> = strands.into_values().collect();
    let only_rows: Vec<Row> = rows.iter().map(|(row, _, _)| *row).collect();
    let text_bytes = share_of_text(volumes, &rows);
    let mut encoder = Encoder::new(&strands, &only_rows, text_bytes);
    merge_terms(volumes, &new_of, &mut encoder)?;
    let model = volumes.first().map_or("", |volume| volume.model());
    let dimensions = volumes.first().map_or(0, |volume| volume.dimensions());
    let same = volumes.iter().all(|volume| volume.model() == model && volume.dimensions() == dimensions);
    let (model, dimensions) = if same { (model, dimensions) } else { ("", 0) };
    let mut vectors: Vec<u8> = Vec::with_capacity(rows.len() * dimensions);
    if dimensions > 0 {
        let all = volumes.iter().map(|volume| volume.all_vectors());
        let all: Vec<Bytes> = all.collect::<Result<_, _>>()?;
        for (_, at, doc) in &rows {
            let begin = *doc as usize * dimensions;
            vectors.extend_from_slice(&all[*at][begin..begin + dimensions]);
        }
    }
    Ok((encoder.finish(model, dimensions, &vectors), left_out))
}

/// Each volume's bytes of text, by the share of its words that are left.
fn share_of_text(volumes: &[&Volume], rows: &[Origin]) -> u64 {
    let mut kept = vec![0u64; volumes.len()];
    for (row, at, _) in rows {
        kept[*at] += u64::from(row.length);
    }
    let share = |(volume, kept): (&&Volume, u64)| {
        let all: u64 = volume.columns.length.iter().map(|length| u64::from(*length)).sum();
        if all == 0 { 0 } else { (u128::from(volume.text_bytes()) * u128::from(kept) / u128::from(all)) as u64 }
    };
    volumes.iter().zip(kept).map(share).sum()
}

fn merge_terms(volumes: &[&Volume], new_of: &[Vec<u32>], encoder: &mut Encoder) -> Result<(), Unreadable> {
    // The names first: few beside the postings, which are decoded one term at a time.
    let mut names: BTreeMap<Vec<u8>, Vec<Found>> = BTreeMap::new();
    for (at, volume) in volumes.iter().enumerate() {
        volume.each_term(|name, term| match names.get_mut(name) {
            Some(of_name) => of_name.push((at, term)),
            None => drop(names.insert(name.to_vec(), vec![(at, term)])),
        })?;
    }
    let postings: Vec<Bytes> = volumes.iter().map(|volume| volume.all_postings()).collect::<Result<_, _>>()?;
    let mut merged: Vec<Posting> = Vec::new();
    for (name, found) in names {
        merged.clear();
        for (at, Term { documents, postings: range }) in found {
            let of_term = crate::postings::decode(&postings[at][range], documents, volumes[at].len())?;
            let moved = of_term.into_iter().map(|posting| Posting { doc: new_of[at][posting.doc as usize], ..posting });
            merged.extend(moved.filter(|posting| posting.doc != GONE));
        }
        merged.sort_unstable_by_key(|posting| posting.doc);
        encoder.term(&name, &merged);
    }
    Ok(())
}
