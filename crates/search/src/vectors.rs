//! Vectors as small numbers: a byte a dimension for the comparison, a bit a dimension to find whom to compare.

/// A vector as signed bytes. Only its direction is kept, which is all that a cosine asks for.
pub fn quantised(vector: &[f32]) -> Vec<i8> {
    let largest = vector.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    if largest <= 0.0 || !largest.is_finite() {
        return vec![0; vector.len()];
    }
    vector.iter().map(|value| (value / largest * 127.0).round() as i8).collect()
}

/// One over the length of a vector; nothing for one without a length, so that it is like nothing else.
pub(crate) fn inverse_length(vector: &[u8]) -> f32 {
    let square: i64 = vector.iter().map(|byte| i64::from(*byte as i8) * i64::from(*byte as i8)).sum();
    if square == 0 { 0.0 } else { 1.0 / (square as f32).sqrt() }
}

/// The signs of a vector, 64 in a number.
pub(crate) fn sketch(vector: &[u8], into: &mut Vec<u64>) {
    for chunk in vector.chunks(64) {
        let bits = chunk.iter().enumerate().fold(0u64, |bits, (at, byte)| bits | (u64::from((*byte as i8) > 0) << at));
        into.push(bits);
    }
}

/// In how many signs two vectors differ.
pub(crate) fn distance(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum()
}
