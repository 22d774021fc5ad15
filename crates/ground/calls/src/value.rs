//! Values: JSON under a key. A missing key reads as null; writing null deletes the key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Invalid, Json, Timestamp, ValueKey, Version};

use crate::ErrorCode;
use crate::call::{Declaration, Honours, Needs};
use crate::group::FILES;
use crate::object::parsed;

const ONE: &str = "/v1/threads/{thread}/kv/{valueKey}";

/// The value under a key. A missing key has the value null and version 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Value {
    /// The key of the value.
    pub key: ValueKey,
    /// The JSON, exactly as it was set.
    pub value: Json,
    /// The version of the thread with which it was set: what `If-Match` compares.
    pub version: Version,
    /// When it was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

impl Value {
    /// The answer for a key without a value.
    pub fn missing(key: ValueKey) -> Self {
        Self { key, value: Json::null(), version: Version::START, updated_at: None }
    }

    /// Whether the key is missing.
    pub fn is_missing(&self) -> bool {
        self.version == Version::START
    }
}

/// Lists values of a thread.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListValues {
    /// Values whose keys begin with this.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// As the thread was at this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Version>,
}

impl ListValues {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("values", "listValues"), "/v1/threads/{thread}/kv", FILES)
            .about("Lists values, in the order of their keys.")
            .gives("A page of values.")
            .versioned()
            .needs(Needs::Public)
            .fails(&[ErrorCode::InvalidCursor, ErrorCode::VersionInFuture]);
}

/// Shows the value under a key.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetValue {
    /// The key of the value.
    #[serde(rename = "valueKey", deserialize_with = "parsed")]
    #[schemars(skip)]
    pub key: ValueKey,
    /// As the thread was at this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Version>,
}

impl GetValue {
    pub(crate) const DECLARATION: Declaration = Declaration::get(("value", "getValue"), ONE, FILES)
        .about("Shows the value under a key. A missing key has the value null and version 0.")
        .gives("The value; `ETag` is its own version.")
        .versioned()
        .needs(Needs::Public)
        .fails(&[ErrorCode::VersionInFuture]);
}

/// Sets the value under a key to any JSON; null deletes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetValue {
    /// The key of the value.
    #[serde(rename = "valueKey", deserialize_with = "parsed")]
    pub key: ValueKey,
    /// The new value; null deletes the key.
    pub value: Json,
    /// The version the value has to be at; 0 if the key has to be missing.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "as_text")]
    pub if_version: Option<Version>,
}

impl SetValue {
    pub(crate) const DECLARATION: Declaration = Declaration::put(("set-value", "setValue"), ONE, FILES)
        .about("Sets the value under a key to any JSON; null deletes it.")
        .gives("The value as it is kept; `ETag` is its own version.")
        .versioned()
        .honours(Honours::VALUE)
        .body_is("value")
        .fails(&[ErrorCode::ThreadClosed])
        .example(r#"{"theme":"dark"}"#);

    /// Sets the key without a condition.
    ///
    /// # Errors
    /// If the key breaks a rule.
    pub fn new(key: &str, value: Json) -> Result<Self, Invalid> {
        Ok(Self { key: key.parse()?, value, if_version: None })
    }
}

impl JsonSchema for SetValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Json::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Json::json_schema(generator)
    }
}

/// Deletes the value under a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeleteValue {
    /// The key of the value.
    #[serde(rename = "valueKey", deserialize_with = "parsed")]
    #[schemars(skip)]
    pub key: ValueKey,
    /// The version the value has to be at.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "as_text")]
    #[schemars(skip)]
    pub if_version: Option<Version>,
}

impl DeleteValue {
    pub(crate) const DECLARATION: Declaration = Declaration::delete(("delete-value", "deleteValue"), ONE, FILES)
        .about("Deletes the value under a key.")
        .gives("Whether there was one.")
        .honours(Honours::VALUE)
        .fails(&[ErrorCode::ThreadClosed]);
}

/// A version that a header brings, so as text.
mod as_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use threadkeep_model::Version;

    pub(super) fn serialize<S: Serializer>(version: &Option<Version>, serializer: S) -> Result<S::Ok, S::Error> {
        version.map(|version| version.to_string()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Version>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(|invalid| crate::asked::refuse(&invalid))).transpose()
    }
}
