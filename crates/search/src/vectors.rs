//! Vectors as small numbers: a byte a dimension for the comparison, a bit a dimension to find whom to compare.

/// One over the length of a vector; nothing for one without a length, so that it is like nothing else.
pub(crate) fn inverse_length(vector: &[u8]) -> f32 {
    let square: i64 = vector.iter().map(|byte| i64::from(*byte as i8) * i64::from(*byte as i8)).sum();
    if square == 0 { 0.0 } else { 1.0 / (square as f32).sqrt() }
}

/// The signs of a vector, 64 in a number.
pub(crate) fn sketch(signs: impl Iterator<Item = bool>, into: &mut Vec<u64>) {
    let (mut bits, mut count) = (0u64, 0);
    for sign in signs {
        bits |= u64::from(sign) << (count % 64);
        count += 1;
        if count % 64 == 0 {
            into.push(std::mem::take(&mut bits));
        }
    }
    if count % 64 != 0 {
        into.push(bits);
    }
}

/// In how many signs two vectors differ.
pub(crate) fn distance(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum()
}
