//! Text from outside: its limits, and the types whose JSON is a string.

use crate::{Code, Invalid};

/// `text` without null bytes.
pub fn strip_nulls(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "") } else { text }
}

/// `text` without null bytes, if it has at most `max` bytes.
pub(crate) fn bounded(field: &str, text: String, max: usize) -> Result<String, Invalid> {
    let text = strip_nulls(text);
    if text.len() > max {
        return Err(Invalid::new(Code::TooLarge, field, format!("has at most {max} bytes")));
    }
    Ok(text)
}

/// The same for a text that must not be blank.
pub(crate) fn named(field: &str, text: String, max: usize) -> Result<String, Invalid> {
    let text = bounded(field, text, max)?;
    if text.trim().is_empty() { Err(Invalid::body(field, "must not be blank")) } else { Ok(text) }
}

/// The JSON Schema pattern of a text that must not be blank: it has a character that is neither white space (as
/// `str::trim` has it) nor a null byte, which is stripped.
#[cfg(feature = "schema")]
pub const NOT_BLANK: &str = r"[^\x00\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

/// Reads types from JSON strings by their `FromStr`.
macro_rules! from_text {
    ($($name:ty),*) => {$(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

/// Writes types as JSON strings by their `Display`, and reads them back.
macro_rules! as_text {
    ($($name:ty),*) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        $crate::text::from_text!($name);
    )*};
}

/// Gives the variants of an enum their words, and lists them.
macro_rules! words {
    ($name:ident: $($variant:ident $word:literal),*) => {
        impl $name {
            /// All variants, in the order of their declaration.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word for it, as in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

/// Reads an enum from its words. `field` is the name of the parameter on the wire.
macro_rules! from_words {
    ($name:ident, $field:literal) => {
        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                Self::ALL.into_iter().find(|known| known.as_str() == text).ok_or_else(|| {
                    let known = Self::ALL.map(Self::as_str).join(", ");
                    $crate::Invalid::parameter($field, format!("'{text}' is not one of {known}"))
                })
            }
        }
    };
}

pub(crate) use {as_text, from_text, from_words, words};
