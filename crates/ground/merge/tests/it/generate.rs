//! Texts to merge, made by seed: words, code, few distinct lines, blank lines, CRLF, no last line end, nothing at all.

use std::fmt::Write;

/// A stream of numbers that a seed decides (SplitMix64).
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// What lines look like.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Nearly every line is different.
    Words,
    /// Lines from an alphabet of a few letters.
    Few(usize),
    /// Functions, braces, blank lines.
    Code,
    /// Letters of many scripts, and blank lines.
    Unicode,
}

const WORDS: [&str; 12] =
    ["apple", "brook", "cloud", "drift", "ember", "fjord", "grove", "haven", "inlet", "juniper", "knoll", "larch"];
const CODE: [&str; 14] = [
    "}",
    "    }",
    "",
    "",
    "{",
    "    return 0;",
    "    if (x) {",
    "    } else {",
    "        break;",
    "#include <stdio.h>",
    "    for (i = 0; i < n; i++) {",
    "/* */",
    "        continue;",
    "});",
];
const LETTERS: [&str; 10] = ["ä", "日本", "Ω", "ж", "🙂", "é", "e\u{301}", "ß", "ا", "한"];

/// One line without its end.
fn line(chance: &mut Chance, shape: Shape) -> String {
    match shape {
        Shape::Words => {
            let words = (0..3).map(|_| WORDS[chance.below(WORDS.len())]).collect::<Vec<_>>();
            words.join(" ")
        }
        Shape::Few(letters) => match chance.below(letters) {
            0 => String::new(),
            letter => format!("{letter}"),
        },
        Shape::Code => match chance.below(3) {
            0 | 1 => CODE[chance.below(CODE.len())].to_owned(),
            _ => format!("    let {} = {}({});", WORDS[chance.below(12)], WORDS[chance.below(12)], chance.below(9)),
        },
        Shape::Unicode => (0..chance.below(3)).map(|_| LETTERS[chance.below(LETTERS.len())]).collect(),
    }
}

fn lines(chance: &mut Chance, shape: Shape, count: usize) -> Vec<String> {
    (0..count).map(|_| line(chance, shape)).collect()
}

/// Changes some of `text`: inserts, deletes, replaces, moves, doubles, and edits within lines.
fn edited(chance: &mut Chance, shape: Shape, text: &[String], edits: usize) -> Vec<String> {
    let mut text = text.to_vec();
    for _ in 0..edits {
        let at = chance.below(text.len() + 1);
        let end = (at + 1 + chance.below(4)).min(text.len());
        match chance.below(8) {
            0 | 1 => {
                let count = 1 + chance.below(4);
                let new = lines(chance, shape, count);
                text.splice(at..at, new);
            }
            2 => drop(text.drain(at..end)),
            3 | 4 => {
                let count = 1 + chance.below(4);
                let new = lines(chance, shape, count);
                text.splice(at..end, new);
            }
            5 => {
                let moved = text.drain(at..end).collect::<Vec<_>>();
                let to = chance.below(text.len() + 1);
                text.splice(to..to, moved);
            }
            6 => {
                let doubled = text[at..end].to_vec();
                text.splice(end..end, doubled);
            }
            _ => {
                if let Some(line) = text.get_mut(at) {
                    write!(line, "{}", chance.below(3)).expect("strings take text");
                }
            }
        }
    }
    text
}

fn bytes(chance: &mut Chance, lines: &[String], end: &str) -> Vec<u8> {
    let mut text = lines.join(end);
    // One in eight has no last line end, and now and then a line is ended the other way.
    if !lines.is_empty() && !chance.one_in(8) {
        text.push_str(end);
    }
    if end == "\r\n" && chance.one_in(6) {
        let at = chance.below(text.len() + 1);
        if let Some(found) = text.get(at..).and_then(|rest| rest.find("\r\n")) {
            text.remove(at + found);
        }
    }
    text.into_bytes()
}

/// Base, ours and theirs for a seed. `size` is how many lines the base has at most.
pub fn triple(seed: u64, size: usize) -> [Vec<u8>; 3] {
    let mut chance = Chance(seed);
    let shape = match chance.below(8) {
        0 | 1 => Shape::Words,
        2 => Shape::Few(2 + chance.below(3)),
        3 => Shape::Few(3 + chance.below(12)),
        4..=6 => Shape::Code,
        _ => Shape::Unicode,
    };
    let end = if chance.one_in(5) { "\r\n" } else { "\n" };
    let count = if chance.one_in(20) { 0 } else { chance.below(size + 1) };
    let base = lines(&mut chance, shape, count);
    let most = 1 + if chance.one_in(3) { count } else { count / 10 + 3 };
    let edits = chance.below(most);
    let mut ours = edited(&mut chance, shape, &base, edits);
    let edits = chance.below(most);
    let mut theirs = match chance.one_in(4) {
        // They went on from where we were for a while, so that some changes are the same on both sides.
        true => {
            let shared = edited(&mut chance, shape, &base, edits);
            ours = edited(&mut chance, shape, &shared, edits / 2 + 1);
            edited(&mut chance, shape, &shared, edits / 2 + 1)
        }
        false => edited(&mut chance, shape, &base, edits),
    };
    match chance.below(40) {
        0 => ours.clear(),
        1 => theirs.clear(),
        _ => {}
    }
    let their_end = if chance.one_in(25) { "\n" } else { end };
    [bytes(&mut chance, &base, end), bytes(&mut chance, &ours, end), bytes(&mut chance, &theirs, their_end)]
}

/// A text of `count` lines and two others that kept runs of it; what stands between the runs is made of the same lines,
/// so that it could be matched to many places.
pub fn runs(seed: u64, count: usize) -> [Vec<u8>; 3] {
    let mut chance = Chance(seed);
    let kinds = 50 + chance.below(400);
    let base = (0..count).map(|_| chance.below(kinds)).collect::<Vec<_>>();
    let mut side = |kept: usize, new: usize| {
        let mut text = Vec::new();
        let mut at = 0;
        while at < count {
            let end = (at + 5 + chance.below(kept)).min(count);
            text.extend_from_slice(&base[at..end]);
            text.extend((0..chance.below(new)).map(|_| chance.below(kinds)));
            at = end + chance.below(new);
        }
        text
    };
    let (ours, theirs) = (side(50, 10), side(90, 30));
    [base, ours, theirs].map(|text| text.iter().map(|line| format!("line {line}\n")).collect::<String>().into_bytes())
}

/// A text of `count` lines, mostly different, with a few very common ones among them, and two others where long
/// stretches were written anew, with the common lines among the new ones.
pub fn rewritten(seed: u64, count: usize) -> [Vec<u8>; 3] {
    let mut chance = Chance(seed);
    let rare = 3 + chance.below(12);
    let line = |chance: &mut Chance, author: &str| match chance.below(rare) {
        0 => CODE[chance.below(4)].to_owned(),
        _ => format!("{author} {}", chance.next()),
    };
    let base = (0..count).map(|_| line(&mut chance, "base")).collect::<Vec<_>>();
    let mut side = |author: &str| {
        let mut text = base.clone();
        for _ in 0..1 + chance.below(6) {
            let at = chance.below(text.len());
            let end = (at + chance.below(400)).min(text.len());
            let new = (0..chance.below(400)).map(|_| line(&mut chance, author)).collect::<Vec<_>>();
            text.splice(at..end, new);
        }
        text
    };
    let (ours, theirs) = (side("ours"), side("theirs"));
    [base, ours, theirs].map(|text| (text.join("\n") + "\n").into_bytes())
}
