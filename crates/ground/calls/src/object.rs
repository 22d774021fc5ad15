//! Readers for fields that derived code would read too freely.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use threadkeep_model::{Account, Invalid, ThreadName};

use crate::asked::refuse;

/// Reads a `T` from an object alone. Derived readers would take an array for a struct, field by field.
struct OnlyObject<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyObject<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// A value that must be an object.
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(OnlyObject(PhantomData)).map(Self)
    }
}

/// A field that is an object, or absent.
pub(crate) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Object<T>>::deserialize(from)?.map(|Object(value)| value))
}

/// A list of objects.
pub(crate) fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(Vec::<Object<T>>::deserialize(from)?.into_iter().map(|Object(value)| value).collect())
}

/// The name of a thread, refused with the code of its own.
pub(crate) fn thread<'de, D: Deserializer<'de>>(from: D) -> Result<ThreadName, D::Error> {
    parsed(from)
}

/// The same, where it may be absent.
pub(crate) fn some_thread<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ThreadName>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse().map_err(|invalid| refuse(&invalid))).transpose()
}

/// A list of names of threads.
pub(crate) fn threads<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ThreadName>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    names.iter().map(|name| name.parse().map_err(|invalid| refuse(&invalid))).collect()
}

/// What is read from text, refused with the code and the field of its parser.
pub(crate) fn parsed<'de, D: Deserializer<'de>, T: std::str::FromStr<Err = Invalid>>(from: D) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(|invalid| refuse(&invalid))
}

/// A parameter of a query that need not say more than its name: `?stats`, or `?stats=true`.
pub(crate) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match String::deserialize(from)?.as_str() {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        other => Err(D::Error::custom(format!("'{other}' is neither true nor false"))),
    }
}

/// The name of an account, refused with the rule it breaks.
pub(crate) fn account<'de, D: Deserializer<'de>>(from: D) -> Result<Account, D::Error> {
    Account::new(String::deserialize(from)?).map_err(|invalid| refuse(&invalid))
}
