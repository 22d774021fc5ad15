//! Whether one JSON value is contained in another, as PostgreSQL's `@>` means it: objects by their keys, arrays if
//! every asked element is contained in some element, scalars if they are equal. Numbers are equal by value, however
//! they are written: `1`, `1.0` and `1e0` are the same.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::Json;

/// JSON to be compared by value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Null, true, false, a number or a string, in the one spelling that equal values share.
    Scalar(String),
    /// The elements of an array, in order.
    Array(Vec<Value>),
    /// The members of an object, by their names.
    Object(BTreeMap<String, Value>),
}

impl Value {
    /// Reads checked JSON. Unreadable JSON, which only a damaged store can hold, is read as null.
    pub fn of(json: &Json) -> Self {
        Self::read(json.as_str()).unwrap_or_else(|| Self::Scalar("null".into()))
    }

    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        Some(match text.bytes().next()? {
            b'{' => {
                let members: BTreeMap<Name<'_>, &RawValue> = serde_json::from_str(text).ok()?;
                let member =
                    |(name, value): (Name<'_>, &RawValue)| Some((name.0.into_owned(), Self::read(value.get())?));
                Self::Object(members.into_iter().map(member).collect::<Option<_>>()?)
            }
            b'[' => {
                let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                Self::Array(elements.into_iter().map(|element| Self::read(element.get())).collect::<Option<_>>()?)
            }
            b'"' => Self::Scalar(format!("\"{}", serde_json::from_str::<Name<'_>>(text).ok()?.0)),
            b't' | b'f' | b'n' => Self::Scalar(text.to_owned()),
            _ => Self::Scalar(number(text)),
        })
    }

    /// Whether `part` is contained in this value.
    pub fn contains(&self, part: &Self) -> bool {
        match (self, part) {
            (Self::Scalar(whole), Self::Scalar(part)) => whole == part,
            (Self::Array(whole), Self::Array(parts)) => {
                parts.iter().all(|part| whole.iter().any(|element| element.contains(part)))
            }
            (Self::Object(whole), Self::Object(parts)) => {
                parts.iter().all(|(name, part)| whole.get(name).is_some_and(|member| member.contains(part)))
            }
            (Self::Scalar(_) | Self::Array(_) | Self::Object(_), _) => false,
        }
    }

    /// Calls `leaf` for every scalar, with its path and value in an unambiguous encoding. If one value contains
    /// another, it has all leaves of the other.
    pub fn leaves(&self, leaf: &mut impl FnMut(&[u8])) {
        self.walk(&mut Vec::new(), leaf);
    }

    fn walk(&self, way: &mut Vec<u8>, leaf: &mut impl FnMut(&[u8])) {
        let before = way.len();
        match self {
            Self::Scalar(value) => {
                way.push(b'=');
                way.extend_from_slice(value.as_bytes());
                leaf(way);
            }
            Self::Array(elements) => {
                way.push(b'[');
                for element in elements {
                    element.walk(way, leaf);
                }
            }
            Self::Object(members) => {
                for (name, member) in members {
                    way.push(b'.');
                    way.extend_from_slice(&(name.len() as u64).to_le_bytes());
                    way.extend_from_slice(name.as_bytes());
                    member.walk(way, leaf);
                    way.truncate(before);
                }
            }
        }
        way.truncate(before);
    }

    /// The member of an object by its name.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.get(name),
            Self::Scalar(_) | Self::Array(_) => None,
        }
    }

    /// The strings among the elements of an array.
    pub fn strings(&self) -> impl Iterator<Item = &str> {
        let elements = match self {
            Self::Array(elements) => elements.as_slice(),
            Self::Scalar(_) | Self::Object(_) => &[],
        };
        elements.iter().filter_map(|element| match element {
            Self::Scalar(value) => value.strip_prefix('"'),
            Self::Array(_) | Self::Object(_) => None,
        })
    }
}

/// A string that is borrowed where it holds no escapes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> serde::de::Visitor<'de> for Read {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Read)
    }
}

/// A number in the one spelling that equal numbers share: its digits without zeros at either end, and the power of ten
/// of the last one.
fn number(text: &str) -> String {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return "0".into();
    }
    // An exponent that does not fit into 64 bits stays as it is written.
    let Ok(exponent) = exponent.parse::<i64>() else { return text.to_owned() };
    let shifted = exponent.saturating_sub(fraction.len() as i64).saturating_add((digits.len() - kept.len()) as i64);
    format!("{sign}{kept}e{shifted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        Value::of(&Json::parse("value", text).expect(text))
    }

    #[test]
    fn containment_is_that_of_postgresql() {
        let whole = value(r#"{"a":1,"b":{"c":[1,2,{"d":"x"}],"e":null},"t":["p","q"],"k.y":{"0":true},"n":1e2}"#);
        for part in [
            "{}",
            r#"{"a":1.0}"#,
            r#"{"n":100}"#,
            r#"{"b":{}}"#,
            r#"{"b":{"c":[]}}"#,
            r#"{"b":{"c":[2,1,1]}}"#,
            r#"{"b":{"c":[{"d":"x"}]}}"#,
            r#"{"b":{"c":[{}]}}"#,
            r#"{"b":{"e":null},"t":["q"]}"#,
            r#"{"k.y":{"0":true}}"#,
        ] {
            assert!(whole.contains(&value(part)), "{part}");
        }
        for part in [
            r#"{"a":"1"}"#,
            r#"{"a":[1]}"#,
            r#"{"b":[]}"#,
            r#"{"t":"p"}"#,
            r#"{"b":{"c":[3]}}"#,
            r#"{"b":{"c":[[1]]}}"#,
            r#"{"b":{"e":false}}"#,
            r#"{"k":{"y":{"0":true}}}"#,
            r#"{"z":null}"#,
            "[]",
        ] {
            assert!(!whole.contains(&value(part)), "{part}");
        }
    }

    #[test]
    fn equal_numbers_are_equal_however_they_are_written_and_others_are_not() {
        for (one, other) in [("1", "1.0"), ("100", "1e2"), ("-0", "0.00"), ("1200", "0.12E+4"), ("0.5", "5e-1")] {
            assert_eq!(value(one), value(other), "{one} and {other}");
        }
        for (one, other) in [("1", "-1"), ("12345678901234567890123", "12345678901234567890124"), ("0.1", "0.01")] {
            assert_ne!(value(one), value(other), "{one} and {other}");
        }
    }

    #[test]
    fn what_contains_a_value_has_all_its_leaves() {
        let leaves = |text: &str| {
            let mut found = Vec::new();
            value(text).leaves(&mut |leaf| found.push(leaf.to_vec()));
            found
        };
        let whole = leaves(r#"{"a":{"b":[1,{"c":"x"}]},"d":"="}"#);
        assert_eq!(whole.len(), 3);
        for part in [r#"{"a":{"b":[{"c":"x"}]}}"#, r#"{"a":{"b":[1.0]}}"#, r#"{"d":"="}"#] {
            assert!(leaves(part).iter().all(|leaf| whole.contains(leaf)), "{part}");
        }
        assert!(leaves(r#"{"a":{},"b":[]}"#).is_empty());
    }
}
