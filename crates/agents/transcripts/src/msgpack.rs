//! MessagePack as LangGraph writes it, decoded to plain JSON. Classes are named, never made.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Deepest nesting, extensions included.
const DEPTH_MAX: u32 = 64;
/// Most values in one blob.
const VALUES_MAX: u32 = 4_000_000;
/// The field that names the class of an object.
pub(crate) const CLASS: &str = "~class";

/// The value that `bytes` hold; none if they are damaged, too deep or too large.
pub(crate) fn decode(bytes: &[u8]) -> Option<Value> {
    let mut left = VALUES_MAX;
    let mut decoder = Decoder { bytes, depth: 0, left: &mut left };
    let value = decoder.value()?;
    decoder.bytes.is_empty().then_some(value)
}

struct Decoder<'a, 'b> {
    bytes: &'a [u8],
    depth: u32,
    left: &'b mut u32,
}

impl<'a> Decoder<'a, '_> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn number(&mut self, size: usize) -> Option<u64> {
        Some(self.take(size)?.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    fn length(&mut self, size: usize) -> Option<usize> {
        usize::try_from(self.number(size)?).ok()
    }

    fn value(&mut self) -> Option<Value> {
        *self.left = self.left.checked_sub(1)?;
        let head = self.take(1)?[0];
        Some(match head {
            0x00..=0x7f => head.into(),
            0x80..=0x8f => return self.map(usize::from(head & 0x0f)),
            0x90..=0x9f => return self.array(usize::from(head & 0x0f)),
            0xa0..=0xbf => return self.text(usize::from(head & 0x1f)),
            0xc0 | 0xc1 => Value::Null,
            0xc2 => false.into(),
            0xc3 => true.into(),
            0xc4..=0xc6 => {
                let length = self.length(1 << (head - 0xc4))?;
                STANDARD.encode(self.take(length)?).into()
            }
            0xc7..=0xc9 => {
                let length = self.length(1 << (head - 0xc7))?;
                return self.extension(length);
            }
            0xca => f64::from(f32::from_bits(self.number(4)? as u32)).into(),
            0xcb => f64::from_bits(self.number(8)?).into(),
            0xcc..=0xcf => self.number(1 << (head - 0xcc))?.into(),
            0xd0 => i64::from(self.number(1)? as i8).into(),
            0xd1 => i64::from(self.number(2)? as i16).into(),
            0xd2 => i64::from(self.number(4)? as i32).into(),
            0xd3 => (self.number(8)? as i64).into(),
            0xd4..=0xd8 => return self.extension(1 << (head - 0xd4)),
            0xd9..=0xdb => {
                let length = self.length(1 << (head - 0xd9))?;
                return self.text(length);
            }
            0xdc | 0xdd => {
                let length = self.length(2 << (head - 0xdc))?;
                return self.array(length);
            }
            0xde | 0xdf => {
                let length = self.length(2 << (head - 0xde))?;
                return self.map(length);
            }
            0xe0..=0xff => i64::from(head as i8).into(),
        })
    }

    fn text(&mut self, length: usize) -> Option<Value> {
        Some(String::from_utf8_lossy(self.take(length)?).into_owned().into())
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn array(&mut self, length: usize) -> Option<Value> {
        // Each value takes a byte, so a length above the rest is damage and reserves nothing.
        if length > self.bytes.len() {
            return None;
        }
        self.deeper(|this| (0..length).map(|_| this.value()).collect::<Option<Vec<_>>>().map(Value::Array))
    }

    fn map(&mut self, length: usize) -> Option<Value> {
        if length > self.bytes.len() {
            return None;
        }
        self.deeper(|this| {
            let mut map = Map::new();
            for _ in 0..length {
                let key = match this.value()? {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                map.insert(key, this.value()?);
            }
            Some(Value::Object(map))
        })
    }

    /// An object of a class: `(module, class, argument, method?)`, itself in MessagePack.
    fn extension(&mut self, length: usize) -> Option<Value> {
        let code = self.take(1)?[0];
        let bytes = self.take(length)?;
        if code > 5 {
            let mut map = Map::new();
            map.insert("~extension".to_owned(), code.into());
            map.insert("~bytes".to_owned(), STANDARD.encode(bytes).into());
            return Some(Value::Object(map));
        }
        self.deeper(|this| {
            let mut inner = Decoder { bytes, depth: this.depth, left: &mut *this.left };
            let Value::Array(items) = inner.value()? else { return None };
            let mut items = items.into_iter();
            let (module, class) = (items.next()?, items.next()?);
            let name = format!("{}.{}", module.as_str()?, class.as_str()?);
            let mut map = Map::new();
            map.insert(CLASS.to_owned(), name.into());
            match items.next() {
                Some(Value::Object(fields)) if code == 2 || code >= 4 => map.extend(fields),
                Some(other) => {
                    map.insert("~argument".to_owned(), other);
                }
                None => {}
            }
            Some(Value::Object(map))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_values_are_decoded() {
        let bytes = b"\x83\xa1a\x93\x01\xff\xcd\x01\x00\xa1b\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00\x05\xc0";
        assert_eq!(decode(bytes), Some(json!({ "a": [1, -1, 256], "b": 1.5, "5": null })));
    }

    #[test]
    fn an_object_of_a_class_is_its_fields_and_its_name() {
        let inner = b"\x94\xa1m\xa1C\x81\xa1x\x01\xa1v";
        let bytes = [&[0xc7, inner.len() as u8, 5][..], inner].concat();
        assert_eq!(decode(&bytes), Some(json!({ "~class": "m.C", "x": 1 })));
    }

    #[test]
    fn nesting_and_lengths_are_bounded() {
        assert_eq!(decode(&[0x91; 100_000]), None);
        assert_eq!(decode(b"\xdd\xff\xff\xff\xff"), None);
        assert_eq!(decode(b"\xdb\xff\xff\xff\xffabc"), None);
    }
}
