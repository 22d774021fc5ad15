//! Where in a file a value is: from its path to its line and column.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// A step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// The path of a value in a file.
pub(super) type Path = Vec<Step>;

/// A path from keys alone.
pub(super) fn keys(keys: &[&str]) -> Path {
    keys.iter().map(|key| Step::Key((*key).to_owned())).collect()
}

/// Line and column, from 1, of an offset in a text.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    (before.iter().filter(|byte| **byte == b'\n').count() + 1, column)
}

/// Where the value at `path` begins in a TOML text; the deepest one on the way that exists.
pub(super) fn in_toml(text: &str, path: &[Step]) -> usize {
    let Ok(table) = DeTable::parse(text) else { return 0 };
    let mut at = 0;
    let mut table = Some(table.into_inner());
    let mut array = None;
    for step in path {
        let found = match (step, table.take(), array.take()) {
            (Step::Key(key), Some(inside), _) => {
                let inside: DeTable<'_> = inside;
                inside.into_iter().find(|(name, _)| name.get_ref() == key).map(|(name, value)| (name.span(), value))
            }
            (Step::Index(index), _, Some(inside)) => {
                let inside: toml::de::DeArray<'_> = inside;
                inside.into_iter().nth(*index).map(|value| (value.span(), value))
            }
            _ => None,
        };
        let Some((span, value)): Option<(Range<usize>, _)> = found else { return at };
        at = span.start;
        match value.into_inner() {
            DeValue::Table(inside) => table = Some(inside),
            DeValue::Array(inside) => array = Some(inside),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
    }
    at
}

/// The same in a JSON text, which is well-formed.
pub(super) fn in_json(text: &str, path: &[Step]) -> usize {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0 };
    scan.space();
    let mut best = scan.at;
    for step in path {
        let Some(at) = scan.enter(step) else { return best };
        best = at;
    }
    best
}

/// A walk over well-formed JSON.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or_default()
    }

    fn space(&mut self) {
        while self.peek().is_ascii_whitespace() {
            self.at += 1;
        }
    }

    /// Goes to the value inside this one, and gives where it is told: at its key, or at itself.
    fn enter(&mut self, step: &Step) -> Option<usize> {
        let is_object = match (self.peek(), step) {
            (b'{', Step::Key(_)) => true,
            (b'[', Step::Index(_)) => false,
            _ => return None,
        };
        self.at += 1;
        let mut number = 0;
        loop {
            self.space();
            if matches!(self.peek(), b'}' | b']' | 0) {
                return None;
            }
            let told = self.at;
            let is_it = if is_object {
                self.value();
                let key: String = serde_json::from_slice(&self.bytes[told..self.at]).ok()?;
                self.space();
                // The colon.
                self.at += 1;
                self.space();
                matches!(step, Step::Key(wanted) if *wanted == key)
            } else {
                *step == Step::Index(number)
            };
            if is_it {
                return Some(told);
            }
            self.value();
            self.space();
            if self.peek() == b',' {
                self.at += 1;
            }
            number += 1;
        }
    }

    /// Skips one value of JSON.
    fn value(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                0 => return,
                b'"' => {
                    self.at += 1;
                    while !matches!(self.peek(), b'"' | 0) {
                        self.at += if self.peek() == b'\\' { 2 } else { 1 };
                    }
                    self.at += 1;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {
                    self.at += 1;
                    continue;
                }
                _ => {
                    while !matches!(self.peek(), b',' | b':' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t' | 0) {
                        self.at += 1;
                    }
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_path() {
        let toml = "name = \"a\"\n\n[sideA]\nprompt = \"p\"\ntools = [\"x\", { name = \"y\" }]\n";
        let json = "{\n  \"name\": \"a\", \"list\": [1, {\"k\\\"\": [true]}],\n  \"sideA\": {\"prompt\": \"p\", \"tools\": [\"x\", {\"name\": \"y\"}]}\n}";
        let at = |text: &str, offset| line_and_column(text, offset);
        let tool = [Step::Key("sideA".into()), Step::Key("tools".into()), Step::Index(1), Step::Key("name".into())];
        assert_eq!(at(toml, in_toml(toml, &tool)), (5, 17));
        assert_eq!(at(json, in_json(json, &tool)), (3, 44));
        assert_eq!(at(toml, in_toml(toml, &keys(&["sideA", "prompt"]))), (4, 1));
        assert_eq!(at(json, in_json(json, &keys(&["sideA", "prompt"]))), (3, 13));
        assert_eq!(at(json, in_json(json, &keys(&["sideA", "none"]))), (3, 3), "the deepest that exists");
        assert_eq!(at(toml, in_toml(toml, &keys(&["sideA", "none"]))), (3, 2));
        assert_eq!(at("é = 1", 3), (1, 3), "columns are characters");
    }
}
