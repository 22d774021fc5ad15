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

/// In how many signs each of `others`, which lie one after the other, differs from `one`.
pub(crate) fn distances(one: &[u64], others: &[u64]) -> Vec<u32> {
    // The plain instructions count bits by hand, five times slower, and this looks at every document there is.
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        #[expect(unsafe_code, reason = "the processor was just asked whether it can")]
        // SAFETY: the function needs nothing but the instruction, which is there.
        return unsafe { counted_by_processor(one, others) };
    }
    counted(one, others)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn counted_by_processor(one: &[u64], others: &[u64]) -> Vec<u32> {
    counted(one, others)
}

#[inline]
fn counted(one: &[u64], others: &[u64]) -> Vec<u32> {
    let differing = |other: &[u64]| one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum();
    others.chunks_exact(one.len().max(1)).map(differing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_compared_bit_by_bit() {
        let signs = |text: &str| {
            let mut bits = Vec::new();
            sketch(text.bytes().cycle().take(100).map(|byte| byte == b'+'), &mut bits);
            bits
        };
        let (one, other) = (signs("+-"), signs("++"));
        assert_eq!(one.len(), 2);
        assert_eq!(distances(&one, &[one.clone(), other.clone()].concat()), [0, 50]);
        assert_eq!(counted(&other, &one), [50]);
    }
}
