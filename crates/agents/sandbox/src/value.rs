//! Values that cross between code and host, and their form as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A value that crosses between code and host.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// `undefined`, which is not `null`.
    #[default]
    Undefined,
    /// The value `null` of JavaScript.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number of JavaScript.
    Number(f64),
    /// A bigint, by its decimal digits.
    BigInt(String),
    /// A string. Lone surrogates became U+FFFD.
    String(String),
    /// A `Date`, in milliseconds since 1970; NaN for an invalid one.
    Date(f64),
    /// An array. Its holes became `undefined`.
    Array(Vec<Value>),
    /// An object, with its keys in order.
    Object(Vec<(String, Value)>),
    /// A `Map` with its entries in order.
    Map(Vec<(Value, Value)>),
    /// A `Set`.
    Set(Vec<Value>),
    /// The bytes of an `ArrayBuffer`.
    Buffer(Vec<u8>),
    /// A typed array: its elements, little-endian.
    Typed(Elements, Vec<u8>),
    /// A function of the host, by its number. It crosses to code only.
    Function(u32),
}

macro_rules! elements {
    ($($name:ident = $tag:literal, $size:literal;)*) => {
        /// The elements of a typed array.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "they are the names of the constructors without `Array`")]
        pub enum Elements {
            $($name,)*
        }

        impl Elements {
            /// All of them, in the order of QuickJS.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name of the constructor.
            pub fn constructor(self) -> &'static str {
                match self {
                    $(Self::$name => concat!(stringify!($name), "Array"),)*
                }
            }

            /// The tag of RFC 8746.
            pub(crate) fn tag(self) -> u64 {
                match self {
                    $(Self::$name => $tag,)*
                }
            }

            /// Bytes of an element.
            pub(crate) fn size(self) -> usize {
                match self {
                    $(Self::$name => $size,)*
                }
            }
        }
    };
}

elements! {
    Uint8Clamped = 68, 1;
    Int8 = 72, 1;
    Uint8 = 64, 1;
    Int16 = 77, 2;
    Uint16 = 69, 2;
    Int32 = 78, 4;
    Uint32 = 70, 4;
    BigInt64 = 79, 8;
    BigUint64 = 71, 8;
    Float16 = 84, 2;
    Float32 = 85, 4;
    Float64 = 86, 8;
}

impl Value {
    /// The value as JSON, in the way of `JSON.stringify`: `undefined` in an object is left out, elsewhere it is null, and so
    /// are NaN and infinities. A bigint is its digits as text, a `Date` its ISO time, a `Map` an array of pairs, a `Set` an
    /// array, and bytes are base64.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Undefined | Self::Null | Self::Function(_) => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(value) => number(*value),
            Self::BigInt(text) | Self::String(text) => Json::String(text.clone()),
            Self::Date(ms) => date(*ms).map_or(Json::Null, Json::String),
            Self::Array(items) | Self::Set(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Self::Object(fields) => {
                let told = fields.iter().filter(|(_, value)| *value != Self::Undefined);
                Json::Object(told.map(|(key, value)| (key.clone(), value.to_json())).collect())
            }
            Self::Map(pairs) => {
                let pair = |(key, value): &(Self, Self)| Json::Array(vec![key.to_json(), value.to_json()]);
                Json::Array(pairs.iter().map(pair).collect())
            }
            Self::Buffer(bytes) | Self::Typed(_, bytes) => Json::String(STANDARD.encode(bytes)),
        }
    }

    /// JSON as a value.
    pub fn from_json(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Self::String(text.clone()),
            Json::Array(items) => Self::Array(items.iter().map(Self::from_json).collect()),
            Json::Object(fields) => {
                Self::Object(fields.iter().map(|(key, value)| (key.clone(), Self::from_json(value))).collect())
            }
        }
    }

    /// How many values it consists of, and how many levels they have.
    pub(crate) fn measure(&self) -> (usize, usize) {
        let below = |inner: &mut dyn Iterator<Item = &Self>| {
            let (mut values, mut depth) = (1, 0);
            for value in inner {
                let (more, levels) = value.measure();
                (values, depth) = (values + more, depth.max(levels + 1));
            }
            (values, depth)
        };
        match self {
            Self::Array(items) | Self::Set(items) => below(&mut items.iter()),
            Self::Object(fields) => below(&mut fields.iter().map(|(_, value)| value)),
            Self::Map(pairs) => below(&mut pairs.iter().flat_map(|(key, value)| [key, value])),
            Self::Undefined
            | Self::Null
            | Self::Bool(_)
            | Self::Number(_)
            | Self::BigInt(_)
            | Self::String(_)
            | Self::Date(_)
            | Self::Buffer(_)
            | Self::Typed(..)
            | Self::Function(_) => (1, 0),
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

/// Integers are written without a fraction, as JavaScript writes them.
fn number(value: f64) -> serde_json::Value {
    #[allow(clippy::cast_possible_truncation, reason = "the range was checked")]
    if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 {
        return (value as i64).into();
    }
    serde_json::Number::from_f64(value).map_or(serde_json::Value::Null, serde_json::Value::Number)
}

/// A time as `toISOString` writes it; none outside the years 0 to 9999, or if there is no such time.
fn date(ms: f64) -> Option<String> {
    #[allow(clippy::cast_possible_truncation, reason = "out of range saturates, and is refused below")]
    let time = ms.is_finite().then(|| jiff::Timestamp::from_millisecond(ms as i64).ok())??;
    Some(format!("{time:.3}"))
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
