//! The door for JSON from outside.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use threadkeep_model::{Invalid, Json};

/// Reads a `T` from JSON that came from outside.
///
/// The whole text is checked first: how deep it nests, lone surrogates, keys that stand twice; null bytes are
/// stripped. Behind this door the types are the proof. `T` refuses unknown fields itself.
///
/// # Errors
/// [`json_too_deep`](threadkeep_model::Code::JsonTooDeep), or [`invalid_body`](threadkeep_model::Code::InvalidBody)
/// with what is wrong and where.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Invalid> {
    let json = Json::parse("body", text)?;
    json.read().map_err(|error| wrong("body", &error))
}

/// A field that must be an object. Derived readers would take an array for a struct, field by field, which no schema says.
pub(crate) fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    let raw = Option::<Box<RawValue>>::deserialize(from)?;
    raw.map(|raw| of_object(&raw).map_err(D::Error::custom)).transpose()
}

/// A list of objects, as [`object`] reads one.
pub(crate) fn objects<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    let raw = Vec::<Box<RawValue>>::deserialize(from)?;
    raw.iter().map(|raw| of_object(raw).map_err(D::Error::custom)).collect()
}

fn of_object<T: DeserializeOwned>(raw: &RawValue) -> Result<T, serde_json::Error> {
    if raw.get().trim_start().starts_with('{') {
        return serde_json::from_str(raw.get());
    }
    Err(serde_json::Error::custom("is not a JSON object"))
}

/// What is wrong with a body, and with which field, as far as that is said.
pub(crate) fn wrong(within: &str, error: &serde_json::Error) -> Invalid {
    let said = error.to_string();
    let named = ["unknown field `", "missing field `", "duplicate field `"].iter().find_map(|kind| {
        let rest = said.strip_prefix(kind)?;
        rest.split_once('`').map(|(field, _)| field.to_owned())
    });
    Invalid::body(named.as_deref().unwrap_or(within), said)
}

#[cfg(test)]
mod tests {
    use threadkeep_model::{Code, MessageBody};

    use super::*;

    #[test]
    fn what_is_accepted_keeps_its_numbers_and_the_order_of_its_keys() {
        let text = r#"{"role":"user","content":"hi","metadata":{"z":1.0,"a":12345678901234567890123}}"#;
        let body: MessageBody = parse(text).expect("a message");
        assert_eq!(serde_json::to_string(&body).expect("json"), text);
    }

    #[test]
    fn hostile_json_is_refused_before_any_type_sees_it() {
        let deep = format!(r#"{{"role":"user","content":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        for (text, code) in [
            (deep.as_str(), Code::JsonTooDeep),
            (r#"{"role":"user","content":"\ud800"}"#, Code::InvalidBody),
            (r#"{"role":"user","content":"a","content":"b"}"#, Code::InvalidBody),
            (r#"{"role":"user","content":"a","colour":"red"}"#, Code::InvalidBody),
            (r#"{"role":"user""#, Code::InvalidBody),
        ] {
            assert_eq!(parse::<MessageBody>(text).expect_err("refused").code, code);
        }
    }

    #[test]
    fn a_field_that_is_unknown_or_missing_is_named() {
        let field = |text: &str| parse::<MessageBody>(text).expect_err("refused").field;
        assert_eq!(field(r#"{"role":"user","content":"a","colour":"red"}"#), "colour");
        assert_eq!(field(r#"{"role":"user"}"#), "content");
    }

    #[test]
    fn null_bytes_are_stripped() {
        let body: MessageBody = parse(r#"{"role":"user","content":"a\u0000b"}"#).expect("a message");
        assert_eq!(body.content.to_text(), "ab");
    }
}
