//! JSON from outside, kept exactly as it was accepted: order of keys, spelling of numbers, spacing.
//!
//! Surfaces check it once, and everything behind them relies on it: it is well-formed and at most [`JSON_DEPTH_MAX`]
//! deep, every string is valid Unicode, no object has a key twice, and no string has null bytes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{Code, Invalid};

/// How deep JSON from outside may nest.
pub const JSON_DEPTH_MAX: usize = 128;

/// Checked JSON, as text.
#[derive(Debug, Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Checks `text` and keeps it, less its null bytes.
    ///
    /// # Errors
    /// [`Code::JsonTooDeep`] beyond [`JSON_DEPTH_MAX`], [`Code::InvalidBody`] for anything else that is not
    /// well-formed; both name `field`.
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let text = Self::check(field, text)?;
        let raw = RawValue::from_string(text.into_owned())
            .map_err(|error| Invalid::body(field, format!("is not JSON: {error}")))?;
        Ok(Self(raw))
    }

    /// Checks `text` in one walk, and gives it less its null bytes: types can be read from it at once.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn check<'a>(field: &str, text: &'a str) -> Result<Cow<'a, str>, Invalid> {
        let text = without_escaped_nulls(text);
        check(field, &text)?;
        Ok(text)
    }

    /// Checked JSON from any value that serialises.
    ///
    /// # Errors
    /// As [`Json::parse`]; a value whose map keys are not text is refused too.
    pub fn from_value(field: &str, value: &impl Serialize) -> Result<Self, Invalid> {
        let text =
            serde_json::to_string(value).map_err(|error| Invalid::body(field, format!("is not JSON: {error}")))?;
        Self::parse(field, &text)
    }

    /// A JSON string that holds `text`, less its null bytes.
    pub fn string(text: &str) -> Self {
        let quoted = if text.contains('\0') {
            serde_json::value::to_raw_value(&text.replace('\0', ""))
        } else {
            serde_json::value::to_raw_value(text)
        };
        Self(quoted.expect("a string always serialises"))
    }

    /// The JSON value `null`.
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.as_str().trim() == "null"
    }

    /// The text as raw JSON.
    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// The text, exactly as accepted.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The JSON as a tree. JSON that nests deeper than [`JSON_DEPTH_MAX`], which only a damaged store can hold, is read
    /// as null: a deeper tree could overflow the stack.
    pub fn to_value(&self) -> serde_json::Value {
        if nests_too_deep(self.as_str()) {
            return serde_json::Value::Null;
        }
        let mut deserializer = serde_json::Deserializer::from_str(self.as_str());
        deserializer.disable_recursion_limit();
        serde_json::Value::deserialize(&mut deserializer).unwrap_or_default()
    }

    /// The JSON as a `T`.
    ///
    /// # Errors
    /// If its shape is not that of `T`.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        self.as_str().trim_start().starts_with('{')
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Trusts the text: a store returns only JSON that was checked when it was written. A surface checks the whole text of
/// a request with [`Json::parse`] before it reads types from it.
impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

/// Whether a field can be left out of JSON.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The type whose JSON Schema is any JSON object.
#[cfg(feature = "schema")]
pub type Object = serde_json::Map<String, serde_json::Value>;

/// JSON text without the escape for a null byte, in strings and keys at any depth.
///
/// JSON cannot contain a raw null byte, so the escape is the only spelling, and it only occurs in strings.
fn without_escaped_nulls(text: &str) -> Cow<'_, str> {
    const ESCAPED_NULL: &str = "\\u0000";
    if !text.contains(ESCAPED_NULL) {
        return text.into();
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix(ESCAPED_NULL) {
            rest = after;
            continue;
        }
        let escape = rest.char_indices().nth(2).map_or(rest.len(), |(end, _)| end);
        kept.push_str(&rest[..escape]);
        rest = &rest[escape..];
    }
    kept.push_str(rest);
    kept.into()
}

fn check(field: &str, text: &str) -> Result<(), Invalid> {
    if nests_too_deep(text) {
        let rule = format!("JSON may nest at most {JSON_DEPTH_MAX} deep");
        return Err(Invalid::new(Code::JsonTooDeep, field, rule));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The depth was checked above, by our own limit.
    deserializer.disable_recursion_limit();
    let walked = WellFormed.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    walked.map_err(|error| Invalid::body(field, format!("is not well-formed JSON: {error}")))
}

/// Whether a text nests deeper than [`JSON_DEPTH_MAX`]. Most have too few brackets for that, and counting them is many
/// times faster than following them.
fn nests_too_deep(text: &str) -> bool {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    brackets > JSON_DEPTH_MAX && nesting(text) > JSON_DEPTH_MAX
}

/// How deep brackets nest in `text`, strings left out.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Walks any JSON without keeping it: strings are decoded, so that lone surrogates are found, and no
/// object may hold a key twice.
struct WellFormed;

impl<'de> DeserializeSeed<'de> for WellFormed {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for WellFormed {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(WellFormed)?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom(format!("the key {key:?} appears twice in one object")));
            }
            keys.insert(key);
            map.next_value_seed(WellFormed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_json_is_kept_to_the_letter() {
        for text in [r#"{"b": 1.0, "a":1e2,"n":12345678901234567890123}"#, "\"\\u00e9é\"", " [ ] ", "null"] {
            assert_eq!(Json::parse("x", text).expect(text).as_str().trim(), text.trim());
        }
    }

    #[test]
    fn null_bytes_are_stripped_from_strings_and_keys_at_any_depth() {
        let json = Json::parse("x", r#"{"a\u0000b":["\u0000","\\u0000",{"c":"d\u0000"}]}"#).expect("json");
        assert_eq!(json.as_str(), r#"{"ab":["","\\u0000",{"c":"d"}]}"#);
        assert_eq!(Json::string("a\0b").as_str(), r#""ab""#);
    }

    #[test]
    fn depth_is_limited_and_never_overflows_the_stack() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Json::parse("x", &nested(127)).is_ok());
        let error = Json::parse("x", &nested(10_000)).expect_err("too deep");
        assert_eq!(error.code, Code::JsonTooDeep);
        assert!(error.rule.contains("128"), "{error}");
    }

    #[test]
    fn a_value_exactly_at_the_limit_is_accepted() {
        let nested = "[".repeat(JSON_DEPTH_MAX) + &"]".repeat(JSON_DEPTH_MAX);
        assert!(Json::parse("x", &nested).is_ok());
    }

    #[test]
    fn malformed_json_is_refused_with_its_field() {
        for text in ["", "{", r#""\ud800""#, r#"{"a":"\udc00\ud800"}"#, r#"{"a":1,"a":2}"#, "1 2", "NaN", "\"\u{1}\""] {
            let error = Json::parse("metadata", text).expect_err(text);
            assert_eq!((error.code, error.field.as_str()), (Code::InvalidBody, "metadata"), "{text}");
        }
    }

    #[test]
    fn keys_that_become_equal_without_null_bytes_are_refused() {
        assert!(Json::parse("x", r#"{"a":1,"a\u0000":2}"#).is_err());
    }
}
