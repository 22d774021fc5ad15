//! Shapes that many calls share: calls without parameters, pages, words of a query, schemas of what derives cannot show.

use threadkeep_model::Invalid;

/// Words of a query, as an enum.
macro_rules! words {
    ($($type:ident in $field:literal: $($word:literal = $variant:ident),+;)*) => {$(
        impl $type {
            /// The word on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = threadkeep_model::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    other => {
                        let known = [$($word),+].join(", ");
                        Err(threadkeep_model::Invalid::parameter($field, format!("'{other}' is none of: {known}")))
                    }
                }
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::object::parsed(from)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($word),+] })
            }
        }
    )*};
}
pub(crate) use words;

/// Schemas of types that are read by hand, told by a shape that is never built.
macro_rules! shaped {
    ($($type:ty as $shape:ty, $name:literal;)*) => {$(
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$shape>::json_schema(generator)
            }
        }
    )*};
}
pub(crate) use shaped;

macro_rules! reads {
    ($($(#[$doc:meta])* $name:ident = $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {}

        impl $name {
            pub(crate) const DECLARATION: $crate::call::Declaration = $declaration;
        }
    )*};
}
pub(crate) use reads;

/// Calls that list page by page. Short lists are given whole without a limit.
macro_rules! paged {
    ($($(#[$doc:meta])* $name:ident = $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        pub struct $name {
            /// Number of items in a page.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(range(min = 1, max = 1_000))]
            pub limit: Option<usize>,
            /// The cursor of the page before.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub cursor: Option<String>,
        }

        impl $name {
            pub(crate) const DECLARATION: $crate::call::Declaration = $declaration;
        }
    )*};
}
pub(crate) use paged;

/// A refusal on its way through serde, which keeps nothing but its text.
pub(crate) struct Carried(Invalid);

impl From<Invalid> for Carried {
    fn from(invalid: Invalid) -> Self {
        Self(invalid)
    }
}

impl std::fmt::Display for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let marked: serde_json::Error = crate::asked::refuse(&self.0);
        write!(f, "{marked}")
    }
}
