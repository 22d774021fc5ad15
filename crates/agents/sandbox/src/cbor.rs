//! Values as CBOR (RFC 8949). Tags carry what JSON lacks: dates, maps, sets, bigints and typed arrays.
//!
//! The reader trusts nothing: it counts values and levels, and refuses every other tag and form.

use minicbor::data::{Tag, Type};
use minicbor::{Decoder, Encoder};

use crate::limits::{DEPTH_MAX, VALUES_MAX};
use crate::value::{Elements, Value};

/// The tag of a time: seconds since 1970.
const DATE: u64 = 1;
/// A function of the host, by its number (an identifier).
const FUNCTION: u64 = 39;
const SET: u64 = 258;
const MAP: u64 = 259;
/// Decimal digits. The standard tags hold bytes, and both ends speak decimal.
const BIGINT: u64 = 30_100;
/// Levels that frames put around a value.
const AROUND: usize = 4;

/// Why bytes are not a value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("a frame is not well formed: {0}")]
    Form(#[from] minicbor::decode::Error),
    #[error("a value is nested more than {DEPTH_MAX} levels deep")]
    Deep,
    #[error("a frame holds more than {VALUES_MAX} values")]
    Many,
    #[error("a frame holds a form that is not used: {0}")]
    Unused(&'static str),
}

/// The bytes of `value`.
pub(crate) fn write(value: &Value) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    // Writing into memory does not fail.
    drop(encode(&mut encoder, value));
    encoder.into_writer()
}

type Written = Result<(), minicbor::encode::Error<std::convert::Infallible>>;

fn encode(to: &mut Encoder<Vec<u8>>, value: &Value) -> Written {
    match value {
        Value::Undefined => to.undefined()?,
        Value::Null => to.null()?,
        Value::Bool(value) => to.bool(*value)?,
        Value::Number(value) => encode_number(to, *value)?,
        Value::BigInt(digits) => to.tag(Tag::new(BIGINT))?.str(digits)?,
        Value::String(text) => to.str(text)?,
        Value::Date(ms) => to.tag(Tag::new(DATE))?.f64(ms / 1_000.0)?,
        Value::Array(items) => return items_of(to.array(items.len() as u64)?, items),
        Value::Set(items) => return items_of(to.tag(Tag::new(SET))?.array(items.len() as u64)?, items),
        Value::Object(fields) => {
            to.map(fields.len() as u64)?;
            for (key, value) in fields {
                to.str(key)?;
                encode(to, value)?;
            }
            to
        }
        Value::Map(pairs) => {
            to.tag(Tag::new(MAP))?.map(pairs.len() as u64)?;
            for (key, value) in pairs {
                encode(to, key)?;
                encode(to, value)?;
            }
            to
        }
        Value::Buffer(bytes) => to.bytes(bytes)?,
        Value::Typed(elements, bytes) => to.tag(Tag::new(elements.tag()))?.bytes(bytes)?,
        Value::Function(number) => to.tag(Tag::new(FUNCTION))?.u32(*number)?,
    };
    Ok(())
}

fn items_of(to: &mut Encoder<Vec<u8>>, items: &[Value]) -> Written {
    items.iter().try_for_each(|item| encode(to, item))
}

/// Whole numbers are written short.
fn encode_number(
    to: &mut Encoder<Vec<u8>>,
    value: f64,
) -> Result<&mut Encoder<Vec<u8>>, minicbor::encode::Error<std::convert::Infallible>> {
    #[allow(clippy::cast_possible_truncation, reason = "the range was checked")]
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 && !(value == 0.0 && value.is_sign_negative()) {
        return to.i64(value as i64);
    }
    to.f64(value)
}

/// The value in `bytes`, and how many values it consists of.
pub(crate) fn read(bytes: &[u8]) -> Result<(Value, usize), Unreadable> {
    let mut reader = Reader { from: Decoder::new(bytes), left: VALUES_MAX };
    let value = reader.value(0)?;
    if reader.from.position() != bytes.len() {
        return Err(Unreadable::Unused("bytes after the value"));
    }
    Ok((value, VALUES_MAX - reader.left))
}

struct Reader<'b> {
    from: Decoder<'b>,
    left: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Value, Unreadable> {
        if depth > DEPTH_MAX + AROUND {
            return Err(Unreadable::Deep);
        }
        self.left = self.left.checked_sub(1).ok_or(Unreadable::Many)?;
        Ok(match self.from.datatype()? {
            Type::Undefined => {
                self.from.undefined()?;
                Value::Undefined
            }
            Type::Null => {
                self.from.null()?;
                Value::Null
            }
            Type::Bool => Value::Bool(self.from.bool()?),
            Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::I8 | Type::I16 | Type::I32 | Type::I64 =>
            {
                #[allow(clippy::cast_precision_loss, reason = "both ends write only whole numbers that fit")]
                Value::Number(self.from.i64()? as f64)
            }
            Type::F64 => Value::Number(self.from.f64()?),
            Type::String => Value::String(self.from.str()?.to_owned()),
            Type::Bytes => Value::Buffer(self.from.bytes()?.to_owned()),
            Type::Array => Value::Array(self.items(depth)?),
            Type::Map => {
                let mut fields = Vec::new();
                for _ in 0..self.length()? {
                    let key = self.from.str()?.to_owned();
                    fields.push((key, self.value(depth + 1)?));
                }
                Value::Object(fields)
            }
            Type::Tag => self.tagged(depth)?,
            _ => return Err(Unreadable::Unused("a simple value, a short float or an open length")),
        })
    }

    /// The length of an array or a map. Its items are counted as they come, so a false length costs nothing.
    fn length(&mut self) -> Result<u64, Unreadable> {
        let length = match self.from.datatype()? {
            Type::Map => self.from.map()?,
            _ => self.from.array()?,
        };
        length.ok_or(Unreadable::Unused("an open length"))
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Value>, Unreadable> {
        let mut items = Vec::new();
        for _ in 0..self.length()? {
            items.push(self.value(depth + 1)?);
        }
        Ok(items)
    }

    fn tagged(&mut self, depth: usize) -> Result<Value, Unreadable> {
        let tag = self.from.tag()?.as_u64();
        Ok(match tag {
            DATE => Value::Date((self.from.f64()? * 1_000.0).round()),
            SET => Value::Set(self.items(depth)?),
            MAP => {
                let mut pairs = Vec::new();
                for _ in 0..self.length()? {
                    let key = self.value(depth + 1)?;
                    pairs.push((key, self.value(depth + 1)?));
                }
                Value::Map(pairs)
            }
            BIGINT => {
                let digits = self.from.str()?;
                let plain = digits.strip_prefix('-').unwrap_or(digits);
                if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(Unreadable::Unused("a bigint without digits"));
                }
                Value::BigInt(digits.to_owned())
            }
            FUNCTION => Value::Function(self.from.u32()?),
            other => match Elements::ALL.iter().find(|elements| elements.tag() == other) {
                Some(elements) => {
                    let bytes = self.from.bytes()?.to_owned();
                    if !bytes.len().is_multiple_of(elements.size()) {
                        return Err(Unreadable::Unused("a typed array with half an element"));
                    }
                    Value::Typed(*elements, bytes)
                }
                None => return Err(Unreadable::Unused("an unknown tag")),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_comes_back_as_it_went() {
        let all = Value::Array(vec![
            Value::Undefined,
            Value::Null,
            Value::Bool(true),
            Value::Number(-0.0),
            Value::Number(1.5),
            Value::Number(f64::INFINITY),
            Value::Number(9_007_199_254_740_993.0),
            Value::Number(-7.0),
            Value::BigInt("-123456789012345678901234567890".to_owned()),
            Value::from("grüß\0e"),
            Value::Date(1_700_000_000_123.0),
            Value::Date(-8_640_000_000_000_000.0),
            Value::Object(vec![("__proto__".to_owned(), Value::Null), (String::new(), Value::Bool(false))]),
            Value::Map(vec![(Value::Array(vec![]), Value::Undefined)]),
            Value::Set(vec![Value::Null]),
            Value::Buffer(vec![0, 255]),
            Value::Typed(Elements::Float64, vec![0; 16]),
            Value::Function(7),
        ]);
        let (read, count) = read(&write(&all)).expect("it is well formed");
        assert_eq!(read, all);
        assert_eq!(count, 24);
    }

    #[test]
    fn what_a_hostile_worker_could_send_is_refused() {
        let deep = |levels: usize| [vec![0x81; levels], vec![0xf6]].concat();
        assert!(read(&deep(DEPTH_MAX + AROUND)).is_ok());
        assert!(matches!(read(&deep(DEPTH_MAX + AROUND + 1)), Err(Unreadable::Deep)));
        let many = [vec![0x9a, 0, 0x0f, 0x42, 0x40], vec![0xf6; 1_000_000]].concat();
        assert!(matches!(read(&many), Err(Unreadable::Many)));
        let refused: [&[u8]; 12] = [
            b"",
            b"\x9f\xff",                             // an array without length
            b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", // an array of 2^64 items that do not come
            b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff", // bytes that do not come
            b"\x62\xff\xfe",                         // no UTF-8
            b"\xa1\x01\x02",                         // a key that is no text
            b"\xd9\x75\x94\x61x",                    // a bigint without digits
            b"\xd8\x55\x43\x00\x00\x00",             // three bytes of floats
            b"\xc2\x41\x01",                         // an unused tag
            b"\xf6\xf6",                             // two values
            b"\xfb\x00",                             // half a number
        ];
        for bytes in refused {
            assert!(read(bytes).is_err(), "{bytes:x?}");
        }
    }
}
