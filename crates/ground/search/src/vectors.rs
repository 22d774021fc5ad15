//! Vectors as small numbers: a byte a dimension for the comparison, a bit a dimension to find whom to compare.

use crate::dense::Dense;
use crate::row::REACH;

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

/// The signs of a vector of signed bytes, eight at a time: a volume has many of them.
pub(crate) fn byte_sketch(vector: &[u8], into: &mut Vec<u64>) {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (whole, rest) = vector.as_chunks::<64>();
    for bytes in whole {
        let (eights, _) = bytes.as_chunks::<8>();
        let mut bits = 0;
        for (at, eight) in eights.iter().enumerate() {
            let eight = u64::from_le_bytes(*eight);
            // The highest bit of each byte: set if it is not zero, and not negative.
            let positive = ((eight & LOW) + LOW) & !eight & !LOW;
            bits |= ((positive >> 7).wrapping_mul(GATHER) >> 56) << (8 * at);
        }
        into.push(bits);
    }
    sketch(rest.iter().map(|byte| (*byte as i8) > 0), into);
}

/// In how many signs each of `others`, which lie one after the other as bytes, differs from `one`.
pub(crate) fn distances(one: &[u64], others: &[u8], into: &mut Vec<u32>) {
    into.clear();
    #[cfg(target_arch = "x86_64")]
    if processor::is_modern() {
        return processor::distances(one, others, into);
    }
    counted(one, others, into);
}

/// The product of two vectors of signed bytes, of which one has been made wider: processors multiply 16 bits and add the
/// products in one step.
pub(crate) fn product(one: &[i16], other: &[u8]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if processor::is_modern() {
        return processor::product(one, other);
    }
    multiplied(one, other)
}

/// Adds the scores of a term to `into`, several at a time.
pub(crate) fn with_wide_registers(dense: Dense<'_>, into: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if processor::is_modern() {
        return processor::add_scores(dense, into);
    }
    dense.add_to_middle(into);
}

#[inline(always)]
fn counted(one: &[u64], others: &[u8], into: &mut Vec<u32>) {
    let differing = |one: &[u64], other: &[[u8; 8]]| {
        one.iter().zip(other).map(|(a, b)| (a ^ u64::from_le_bytes(*b)).count_ones()).sum::<u32>()
    };
    let others = others.as_chunks::<8>().0;
    // As many as the built-in table has: the inner loop goes where its length is known.
    if let Ok(one) = <&[u64; 4]>::try_from(one) {
        return into.extend(others.as_chunks::<4>().0.iter().map(|other| differing(one, other)));
    }
    into.extend(others.chunks_exact(one.len().max(1)).map(|other| differing(one, other)));
}

/// One over the length of a vector; nothing for one without a length, so that it is like nothing else.
pub(crate) fn inverse(vector: &[u8]) -> f32 {
    over(vector.iter().map(|byte| i32::from(*byte as i8).pow(2)).sum::<i32>() as f32)
}

fn over(square: f32) -> f32 {
    if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 }
}

/// How much of the direction of a document so far away is added.
pub(crate) fn near_weight(distance: usize) -> f32 {
    match distance {
        0 => 1.0,
        1 => 0.5,
        _ => 0.25,
    }
}

/// One over the length of each vector with those of its neighbours in the same strand added.
pub(crate) fn smoothed(vectors: &[u8], dimensions: usize, strand: &[u32]) -> Vec<f32> {
    /// Neighbours of one document are so far from each other.
    const APART: usize = 2 * REACH;
    if dimensions == 0 {
        return Vec::new();
    }
    let (vectors, count) = (|at: usize| &vectors[at * dimensions..(at + 1) * dimensions], strand.len());
    // The length of a sum is known by the products of its parts, which are integers and shared by several sums.
    let mut wide = vec![0i16; dimensions];
    let mut products = vec![[0f32; APART + 1]; count];
    for at in 0..count {
        wide.iter_mut().zip(vectors(at)).for_each(|(wide, byte)| *wide = i16::from(*byte as i8));
        for (apart, into) in products[at].iter_mut().enumerate() {
            if strand.get(at + apart) == Some(&strand[at]) {
                *into = product(&wide, vectors(at + apart)) as f32;
            }
        }
    }
    let inverse: Vec<f32> = products.iter().map(|products| over(products[0])).collect();
    let smoothed = (0..count).map(|at| {
        let near = at.saturating_sub(REACH)..(at + REACH + 1).min(count);
        let weight = |near: usize| near_weight(near.abs_diff(at)) * inverse[near];
        let mut square = 0.0;
        for one in near.clone().filter(|one| strand[*one] == strand[at]) {
            square += weight(one) * weight(one) * products[one][0];
            for other in (one + 1..near.end).filter(|other| strand[*other] == strand[at]) {
                square += 2.0 * weight(one) * weight(other) * products[one][other - one];
            }
        }
        over(square)
    });
    smoothed.collect()
}

#[inline(always)]
fn multiplied(one: &[i16], other: &[u8]) -> i32 {
    one.iter().zip(other).map(|(one, other)| i32::from(*one) * i32::from(*other as i8)).sum()
}

/// The same with what processors of the last ten years can do; programs are built for older ones too, where it takes
/// three to five times as long, and a question looks at every document there is.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "each function is called after the processor was asked whether it can")]
mod processor {
    pub(super) fn is_modern() -> bool {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt")
    }

    pub(super) fn distances(one: &[u64], others: &[u8], into: &mut Vec<u32>) {
        #[target_feature(enable = "popcnt")]
        fn counted(one: &[u64], others: &[u8], into: &mut Vec<u32>) {
            super::counted(one, others, into);
        }
        #[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,popcnt")]
        fn counted_at_once(one: &[u64], others: &[u8], into: &mut Vec<u32>) {
            super::counted(one, others, into);
        }
        if std::arch::is_x86_feature_detected!("avx512vpopcntdq") && std::arch::is_x86_feature_detected!("avx512vl") {
            // SAFETY: the instructions are there.
            return unsafe { counted_at_once(one, others, into) };
        }
        // SAFETY: the instruction is there, as the caller found out.
        unsafe { counted(one, others, into) }
    }

    pub(super) fn add_scores(dense: super::Dense<'_>, into: &mut [f32]) {
        #[target_feature(enable = "avx2")]
        fn added(dense: super::Dense<'_>, into: &mut [f32]) {
            dense.add_to_middle(into);
        }
        // SAFETY: the instructions are there, as the caller found out.
        unsafe { added(dense, into) }
    }

    pub(super) fn product(one: &[i16], other: &[u8]) -> i32 {
        #[target_feature(enable = "avx2")]
        fn multiplied(one: &[i16], other: &[u8]) -> i32 {
            super::multiplied(one, other)
        }
        // SAFETY: the instructions are there, as the caller found out.
        unsafe { multiplied(one, other) }
    }
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
        let apart = |one: &[u64], others: &[u64]| {
            let others: Vec<u8> = others.iter().flat_map(|signs| signs.to_le_bytes()).collect();
            let (mut quick, mut plain) = (vec![7], Vec::new());
            distances(one, &others, &mut quick);
            counted(one, &others, &mut plain);
            assert_eq!(quick, plain);
            quick
        };
        assert_eq!(apart(&one, &[one.clone(), other.clone()].concat()), [0, 50]);
        assert_eq!(apart(&other, &one), [50]);
        let long = |text: &str| [signs(text), signs(text)].concat();
        assert_eq!(apart(&long("+-"), &[long("+-"), long("++")].concat()), [0, 100]);
    }

    #[test]
    fn signs_of_bytes_are_those_of_their_numbers() {
        let bytes: Vec<u8> = (0..=255).rev().chain([0, 1, 127, 128, 255, 0, 0, 1]).collect();
        for length in [0, 1, 63, 64, 65, 128, 256, bytes.len()] {
            let (mut quick, mut plain) = (Vec::new(), Vec::new());
            byte_sketch(&bytes[..length], &mut quick);
            sketch(bytes[..length].iter().map(|byte| (*byte as i8) > 0), &mut plain);
            assert_eq!(quick, plain, "of {length} bytes");
        }
    }

    #[test]
    fn products_do_not_depend_on_the_processor() {
        let one: Vec<i16> = (0..256).map(|n| n * 37 % 255 - 127).collect();
        let other: Vec<u8> = (0..256).map(|n| (n * 91 % 256) as u8).collect();
        let by_hand: i32 = one.iter().zip(&other).map(|(one, other)| i32::from(*one) * i32::from(*other as i8)).sum();
        assert_eq!(product(&one, &other), by_hand);
        assert_eq!(multiplied(&one, &other), by_hand);
        assert_eq!(product(&[i16::from(i8::MIN); 4_096], &[0x80; 4_096]), 128 * 128 * 4_096);
        assert_eq!(product(&[], &[]), 0);
        let wide: Vec<i16> = other.iter().map(|byte| i16::from(*byte as i8)).collect();
        assert_eq!(inverse(&other), 1.0 / (product(&wide, &other) as f32).sqrt());
    }
}
