//! JSON Lines as agents leave them: growing, cut off, welded together, with broken escapes.
//!
//! A broken line is skipped and named; the lines around it are read. The last line of a file is settled only once it is
//! whole, because its writer may be in the middle of it.

use std::borrow::Cow;

use memchr::{memchr, memmem};
use serde_json::{Map, Value};

use crate::reading::{Resume, Skipped, Window};

/// Most bytes of a line; a longer one is skipped.
pub const LINE_BYTES_MAX: usize = 64 << 20;
/// Most objects that are looked for in one damaged line.
const WELDED_MAX: usize = 256;

/// One object of the file.
pub(crate) struct Record {
    /// The number of its line from 1, and for further objects in that line, a dot and their number from 2.
    pub(crate) key: String,
    /// Bytes of the file before its line.
    pub(crate) offset: u64,
    /// Lines of the file before its line.
    pub(crate) line: u64,
    /// The object.
    pub(crate) fields: Map<String, Value>,
}

/// Reads the lines of `window`, which begins where `from` ended, and hands each object to `each`. The result is where
/// the last whole line ended; its state is empty.
pub(crate) fn records(
    window: &Window<'_>,
    from: &Resume,
    skipped: &mut Skipped,
    mut each: impl FnMut(Record),
) -> Resume {
    let mut bytes = window.bytes;
    let mut at = Resume { state: Value::Null, ..*from };
    while !bytes.is_empty() {
        let end = memchr(b'\n', bytes);
        let length = end.map_or(bytes.len(), |end| end + 1);
        let number = at.line + 1;
        if at.in_long_line || length > LINE_BYTES_MAX {
            if !at.in_long_line {
                skipped.add(format_args!("line {number}"), format_args!("longer than {LINE_BYTES_MAX} bytes"));
            }
            at.in_long_line = end.is_none();
        } else {
            if end.is_none() && !window.is_last {
                break;
            }
            let found = objects(&bytes[..length], number == 1, end.is_some());
            let is_whole = end.is_some() || (found.broken.is_none() && !found.objects.is_empty());
            if let Some(reason) = found.broken {
                let reason = if end.is_none() { "cut off, or still being written" } else { reason };
                skipped.add(format_args!("line {number}"), reason);
            }
            for (count, fields) in found.objects.into_iter().enumerate() {
                let key = if count == 0 { number.to_string() } else { format!("{number}.{}", count + 1) };
                each(Record { key, offset: at.offset, line: at.line, fields });
            }
            if !is_whole {
                break;
            }
        }
        bytes = &bytes[length..];
        at.offset += length as u64;
        at.line += u64::from(!at.in_long_line);
    }
    at
}

/// The objects of one line, and what is wrong with the rest of it.
struct Found {
    objects: Vec<Map<String, Value>>,
    broken: Option<&'static str>,
}

fn objects(line: &[u8], is_first: bool, is_ended: bool) -> Found {
    let mark = if is_first { "\u{feff}".as_bytes() } else { b"" };
    let line = line.strip_prefix(mark).unwrap_or(line).trim_ascii();
    let mut found = Found { objects: Vec::new(), broken: None };
    if line.is_empty() {
        return found;
    }
    if let Ok(value) = serde_json::from_slice(line) {
        found.take(value);
        return found;
    }
    let text = String::from_utf8_lossy(line);
    let text = without_lone_surrogates(&text);
    let mut rest: &str = &text;
    for _ in 0..WELDED_MAX {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let mut read = 0;
        let mut broken = false;
        while let Some(value) = values.next() {
            match value {
                Ok(value) => {
                    read = values.byte_offset();
                    found.take(value);
                }
                Err(_) => {
                    broken = true;
                    break;
                }
            }
        }
        if !broken {
            return found;
        }
        found.broken = Some("not JSON");
        if !is_ended {
            // The rest may still be written: an object within it is not yet one of its own.
            return found;
        }
        // The next object may begin within the broken one: that is how two writers weld lines.
        let Some(next) = memmem::find(rest.as_bytes().get(read + 1..).unwrap_or_default(), b"{\"type\":") else {
            return found;
        };
        let Some(after) = rest.get(read + 1 + next..) else { return found };
        rest = after;
    }
    found
}

impl Found {
    fn take(&mut self, value: Value) {
        match value {
            Value::Object(fields) => self.objects.push(fields),
            Value::Array(list) => list.into_iter().for_each(|value| self.take(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.broken = Some("not a JSON object");
            }
        }
    }
}

/// Replaces escapes of half a character, which JSON allows and Unicode does not, by the replacement character.
pub(crate) fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u") {
        return text.into();
    }
    let unit = |at: usize| -> Option<u16> {
        let escape = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(escape, 16).ok()
    };
    let mut mended = String::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(slash) = memchr(b'\\', &text.as_bytes()[at..]).map(|found| at + found) {
        let (length, lone) = match (unit(slash), unit(slash + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, false),
            (Some(0xd800..=0xdfff), _) => (6, true),
            (Some(_), _) => (6, false),
            (None, _) => (2, false),
        };
        if lone {
            mended.push_str(&text[kept..slash]);
            mended.push_str("\\ufffd");
            kept = slash + length;
        }
        at = slash + length;
        if at >= text.len() {
            break;
        }
    }
    if kept == 0 {
        return text.into();
    }
    mended.push_str(&text[kept..]);
    mended.into()
}

/// One JSON value from bytes, mended like a line.
pub(crate) fn value(bytes: &[u8]) -> Option<Value> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    serde_json::from_slice(bytes).ok().or_else(|| {
        let text = String::from_utf8_lossy(bytes);
        serde_json::from_str(&without_lone_surrogates(&text)).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], is_last: bool) -> (Vec<String>, u64, Vec<String>) {
        let mut skipped = Skipped::default();
        let mut found = Vec::new();
        let window = Window { name: "a.jsonl", bytes: text, is_last };
        let end = records(&window, &Resume::default(), &mut skipped, |record| {
            found.push(format!("{} {}", record.key, Value::Object(record.fields)));
        });
        let skipped = skipped.named.into_iter().map(|it| format!("{}: {}", it.place, it.reason)).collect();
        (found, end.offset, skipped)
    }

    #[test]
    fn a_last_line_without_its_newline_is_read_once_it_is_whole() {
        assert_eq!(read(b"{\"a\":1}\n{\"b\":2}", true), (vec!["1 {\"a\":1}".into(), "2 {\"b\":2}".into()], 15, vec![]));
        let cut = vec!["line 2: cut off, or still being written".to_owned()];
        let within = b"{\"a\":1}\n{\"b\":{\"type\":2}";
        assert_eq!(read(within, true), (vec!["1 {\"a\":1}".into()], 8, cut.clone()));
        assert_eq!(read(b"{\"a\":1}\n{\"b\":", true), (vec!["1 {\"a\":1}".into()], 8, cut));
        assert_eq!(read(b"{\"a\":1}\n{\"b\":2}", false), (vec!["1 {\"a\":1}".into()], 8, vec![]));
    }

    #[test]
    fn welded_lines_are_split_and_broken_ones_are_named() {
        let welded = b"{\"type\":1}{\"type\":2}\nnot json\n{\"type\":3,\"x\":{\"y\"{\"type\":4}\r\n\n{\"type\":5}\n";
        let (found, end, skipped) = read(welded, true);
        assert_eq!(found, ["1 {\"type\":1}", "1.2 {\"type\":2}", "3 {\"type\":4}", "5 {\"type\":5}"]);
        assert_eq!((end, skipped), (welded.len() as u64, vec!["line 2: not JSON".into(), "line 3: not JSON".into()]));
    }

    #[test]
    fn half_characters_and_bytes_that_are_not_utf8_are_replaced() {
        let (found, _, skipped) =
            read(b"{\"a\":\"\\ud83d\"}\n{\"a\":\"\\ud83d\\ude00 \\\\ud83d\"}\n{\"a\":\"\xff\"}\n", true);
        assert_eq!(found, ["1 {\"a\":\"\u{fffd}\"}", "2 {\"a\":\"😀 \\\\ud83d\"}", "3 {\"a\":\"\u{fffd}\"}"]);
        assert!(skipped.is_empty());
    }
}
