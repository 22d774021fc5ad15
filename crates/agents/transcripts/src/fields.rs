//! Taking a JSON object apart. A field is taken only if it has the expected type; the others stay, and become the raw
//! JSON of what was read.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};
use threadkeep_model::Timestamp;

use crate::shape::{File, FileData, Part, Usage};

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The unit of times that are numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Seconds,
    Millis,
}

/// The fields of an object that were not yet taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(pub(crate) Map<String, Value>);

impl Fields {
    pub(crate) fn of(value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self(map)),
            _ => None,
        }
    }

    fn take_if<T>(&mut self, name: &str, take: impl FnOnce(Value) -> Result<T, Value>) -> Option<T> {
        match take(self.0.shift_remove(name)?) {
            Ok(taken) => Some(taken),
            // Null says nothing, so it need not be kept.
            Err(Value::Null) => None,
            Err(other) => {
                self.0.insert(name.to_owned(), other);
                None
            }
        }
    }

    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.take_if(name, |value| match value {
            Value::String(text) => Ok(text),
            other => Err(other),
        })
    }

    /// An id: a string, or a whole number as text.
    pub(crate) fn id(&mut self, name: &str) -> Option<String> {
        self.take_if(name, |value| match value {
            Value::String(text) if !text.is_empty() => Ok(text),
            Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
            other => Err(other),
        })
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let taken = self.take_if(name, |value| match value {
            Value::Bool(flag) => Ok(flag),
            other => Err(other),
        });
        taken == Some(true)
    }

    pub(crate) fn count(&mut self, name: &str) -> Option<u64> {
        self.take_if(name, |value| match value.as_u64() {
            Some(count) => Ok(count),
            None => Err(value),
        })
    }

    pub(crate) fn list(&mut self, name: &str) -> Option<Vec<Value>> {
        self.take_if(name, |value| match value {
            Value::Array(list) => Ok(list),
            other => Err(other),
        })
    }

    pub(crate) fn object(&mut self, name: &str) -> Option<Self> {
        self.take_if(name, |value| match value {
            Value::Object(map) => Ok(Self(map)),
            other => Err(other),
        })
    }

    /// A time: RFC 3339, or a number of `unit`.
    pub(crate) fn time(&mut self, name: &str, unit: Unit) -> Option<Timestamp> {
        self.take_if(name, |value| time(&value, unit).ok_or(value))
    }

    pub(crate) fn peek(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Bool(true))
    }

    /// Removes fields that say nothing that is not said elsewhere.
    pub(crate) fn forget(&mut self, names: &[&str]) {
        for name in names {
            self.0.shift_remove(*name);
        }
    }

    /// Puts back what is left of an object that was taken.
    pub(crate) fn put_back(&mut self, name: &str, rest: Self) {
        let rest = rest.left();
        if !rest.is_empty() {
            self.0.insert(name.to_owned(), Value::Object(rest));
        }
    }

    /// What is left: every field that was not taken and is not null.
    pub(crate) fn left(mut self) -> Map<String, Value> {
        self.0.retain(|_, value| !value.is_null());
        self.0
    }
}

pub(crate) fn time(value: &Value, unit: Unit) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.parse().ok().or_else(|| sql_time(text)),
        Value::Number(number) => {
            let scale = match unit {
                Unit::Seconds => 1_000_000,
                Unit::Millis => 1_000,
            };
            match number.as_i64() {
                Some(whole) => Some(Timestamp::from_micros(whole.saturating_mul(scale))),
                // Out of range saturates, which the timestamp clamps.
                None => number.as_f64().map(|number| Timestamp::from_micros((number * scale as f64) as i64)),
            }
        }
        _ => None,
    }
}

/// `2026-01-31 12:00:00`, as SQLite writes it: UTC.
fn sql_time(text: &str) -> Option<Timestamp> {
    let (date, time) = text.trim_end_matches(" UTC").split_once([' ', 'T'])?;
    format!("{date}T{time}Z").parse().ok()
}

pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    if text.contains(['\n', '\r']) {
        let text: String = text.chars().filter(|it| !it.is_ascii_whitespace()).collect();
        return BASE64.decode(text).ok();
    }
    BASE64.decode(text).ok()
}

/// The file at an address: the bytes of a `data:` address, else the address.
pub(crate) fn file_at(url: String, mime: Option<String>, name: Option<String>) -> Part {
    let decoded = url.strip_prefix("data:").and_then(|rest| {
        let (head, data) = rest.split_once(',')?;
        let bytes = base64(data).filter(|_| head.ends_with(";base64"))?;
        let said = head.split(';').next().filter(|mime| mime.contains('/')).map(str::to_owned);
        Some((said, bytes))
    });
    match decoded {
        Some((said, bytes)) => Part::File(File { name, mime: mime.or(said), data: FileData::Bytes(bytes) }),
        None => Part::File(File { name, mime, data: FileData::Link(url) }),
    }
}

/// A file in base64. Data that is not base64 stays as it is.
pub(crate) fn file_of(data: String, mime: Option<String>, name: Option<String>) -> Part {
    match base64(&data) {
        Some(bytes) => Part::File(File { name, mime, data: FileData::Bytes(bytes) }),
        None => Part::File(File { name, mime, data: FileData::Link(data) }),
    }
}

/// JSON as text: a string without its quotes.
pub(crate) fn as_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Counts of tokens under the four names; what is left stays.
pub(crate) fn usage(fields: &mut Fields, names: [&str; 4]) -> Option<Usage> {
    let [input, output, cache_read, cache_write] = names.map(|name| fields.count(name).unwrap_or_default());
    Usage { input, output, cache_read, cache_write }.if_any()
}
