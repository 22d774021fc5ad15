//! Held against what the reference tokenizer and plain arithmetic say (`table/goldens.py`).

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Golden {
    text: String,
    ids: Vec<u32>,
    /// Empty for the vector of zeros.
    vector: Vec<i8>,
}

fn goldens() -> Vec<Golden> {
    let lines = include_str!("../../table/goldens.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("a golden")).collect()
}

fn ids(text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    TABLE.vocabulary.divide(text, &mut Words::default(), |id| ids.push(id));
    ids
}

#[test]
fn texts_are_divided_as_the_reference_divides_them() {
    let goldens = goldens();
    assert!(goldens.len() > 20);
    for golden in goldens {
        assert_eq!(ids(&golden.text), golden.ids, "{:?}", golden.text);
    }
}

#[test]
fn vectors_are_those_of_plain_arithmetic() {
    for golden in goldens() {
        let vector = Static::new().vector(&golden.text);
        assert_eq!(vector.dimensions(), DIMENSIONS);
        assert_eq!(vector.is_zero(), golden.vector.is_empty(), "{:?}", golden.text);
        for (ours, theirs) in vector.as_bytes().iter().zip(&golden.vector) {
            assert!(ours.cast_signed().abs_diff(*theirs) <= 1, "{:?}", golden.text);
        }
    }
}

#[test]
fn vectors_made_together_are_those_made_alone() {
    let mut batch = Static::new().batch();
    let long = "x".repeat(101);
    let others = [&long[..100], &long, &long[..100], "unbelievably unbelievably", "≠≠ believably"].map(str::to_owned);
    for text in goldens().into_iter().map(|golden| golden.text).chain(others) {
        for _ in 0..2 {
            assert_eq!(batch.vector(&text), Static::new().vector(&text), "{text:?}");
        }
    }
}

#[test]
fn many_words_are_not_all_remembered() {
    let mut batch = Static::new().batch();
    for n in 0..500 {
        let text: Vec<String> = (0..60).map(|m| format!("w{}x", n * 60 + m)).collect();
        let text = text.join(" ");
        assert_eq!(batch.vector(&text), Static::new().vector(&text), "{text:?}");
    }
}

#[test]
fn sums_do_not_depend_on_the_processor() {
    let ids: Vec<u32> = (0..300).map(|n| n * 97 % TABLE.vocabulary.len() as u32).collect();
    assert_eq!(TABLE.sum(&ids), TABLE.summed(&ids));
}

#[test]
fn any_text_has_a_vector() {
    // xorshift: characters from all planes, and runs of the odd ones.
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let odd = ['\0', 'İ', 'ẞ', '\u{301}', '\u{344}', '漢', '가', '#', '[', '\u{FFFD}', '\u{10FFFF}', ' ', 'a'];
    for _ in 0..1_000 {
        let length = next() % 900;
        let text: String = (0..length)
            .map(|_| match next() % 3 {
                0 => odd[next() as usize % odd.len()],
                1 => char::from(next() as u8),
                _ => char::from_u32(next() as u32 % 0x11_0000).unwrap_or('x'),
            })
            .collect();
        let vector = Static::new().vector(&text);
        assert_eq!(vector.dimensions(), DIMENSIONS);
        assert!((vector.cosine(&vector) - 1.0).abs() < 1e-5 || vector.is_zero(), "{text:?}");
        assert!(ids(&text).iter().all(|id| (*id as usize) < TABLE.vocabulary.len()));
    }
}

#[test]
fn only_the_beginning_of_a_text_counts() {
    let long = "word ".repeat(TEXT_CHARS_MAX);
    assert_eq!(Static::new().vector(&long), Static::new().vector(&format!("{long} bananas")));
    let wide = "字".repeat(TEXT_CHARS_MAX);
    assert_eq!(Static::new().vector(&wide), Static::new().vector(&format!("{wide}bananas")));
}

#[test]
fn a_damaged_table_is_told() {
    for length in [0, 7, 8, 15, 16, 1_000, FILE.len() - 20] {
        assert!(Table::read(&FILE[..length]).is_none(), "{length}");
    }
}
