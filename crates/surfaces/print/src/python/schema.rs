//! Schemas as annotations, and as the kinds by which answers are read.

use serde_json::Value;

use super::quoted;
use crate::words::pascal;

/// A schema, with what is needed to name it.
#[derive(Clone, Copy)]
pub(super) struct Schema<'a> {
    pub(super) document: &'a Value,
    pub(super) value: &'a Value,
    /// The named schema that holds it: inline objects are named after it.
    pub(super) within: &'a str,
}

/// Where an annotation is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the file of types, as what is answered.
    Types,
    /// In the file of types, as what is given.
    Made,
    /// In the file of methods, as what is given.
    Given,
    /// In the file of methods, as what is answered.
    Answered,
}

impl Place {
    fn prefix(self) -> &'static str {
        match self {
            Self::Types | Self::Made => "",
            Self::Given | Self::Answered => "t.",
        }
    }

    /// Of what is given, any kind of list and mapping will do.
    fn collections(self) -> (&'static str, &'static str) {
        match self {
            Self::Made | Self::Given => ("Sequence", "Mapping"),
            Self::Types | Self::Answered => ("List", "Dict"),
        }
    }
}

impl<'a> Schema<'a> {
    pub(super) fn named(document: &'a Value, name: &'a str) -> Self {
        Self { document, value: &document["components"]["schemas"][name], within: name }
    }

    pub(super) fn of(self, value: &'a Value) -> Self {
        Self { value, ..self }
    }

    /// The name of the schema that it points to.
    pub(super) fn reference(self) -> Option<&'a str> {
        self.value["$ref"].as_str()?.rsplit('/').next()
    }

    /// The schema itself, where it points to another.
    pub(super) fn resolved(self) -> Self {
        self.reference().map_or(self, |name| Self::named(self.document, name).resolved())
    }

    /// The items, if it is a page of a list.
    pub(super) fn page(self) -> Option<Self> {
        let name = self.reference().filter(|name| name.starts_with("PageOf"))?;
        Some(self.of(&Self::named(self.document, name).value["properties"]["items"]["items"]))
    }

    /// Its variants, if it has several.
    pub(super) fn variants(self) -> Option<Vec<Self>> {
        let variants = self.value["anyOf"].as_array().or_else(|| self.value["oneOf"].as_array())?;
        Some(variants.iter().map(|variant| self.of(variant)).collect())
    }

    pub(super) fn properties(self) -> Vec<(&'a str, Self)> {
        let properties = self.value["properties"].as_object().into_iter().flatten();
        properties.map(|(name, property)| (name.as_str(), self.of(property))).collect()
    }

    pub(super) fn requires(self, name: &str) -> bool {
        self.value["required"].as_array().into_iter().flatten().any(|required| required == name)
    }

    pub(super) fn about(self) -> &'a str {
        self.value["description"].as_str().unwrap_or_default()
    }

    /// Whether it is printed as a class.
    pub(super) fn is_class(self) -> bool {
        self.value["type"] == "object" && !self.properties().is_empty()
    }

    /// The field that tells variants apart, with its value.
    pub(super) fn constant(self) -> Option<(&'a str, &'a str)> {
        self.properties().into_iter().find_map(|(name, property)| Some((name, property.value["const"].as_str()?)))
    }

    /// The name of the class that it is printed as.
    pub(super) fn class_name(self) -> String {
        let own = self.constant().map(|(_, value)| pascal(value)).unwrap_or_default();
        let is_whole = std::ptr::eq(self.value, Self::named(self.document, self.within).value);
        if is_whole { self.within.to_owned() } else { format!("{}{own}", self.within) }
    }

    /// Whether null is one of its values.
    pub(super) fn is_nullable(self) -> bool {
        let is_null = |kind: &Value| kind == "null";
        is_null(&self.value["type"])
            || self.value["type"].as_array().is_some_and(|kinds| kinds.iter().any(is_null))
            || self.variants().is_some_and(|variants| variants.iter().any(|variant| variant.is_nullable()))
    }

    /// The annotation.
    pub(super) fn annotation(self, place: Place) -> String {
        let mut parts = self.parts(place);
        parts.dedup();
        if parts.iter().any(|part| part == "Any") {
            return "Any".to_owned();
        }
        let (nulls, mut parts): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part == "None");
        if !nulls.is_empty() {
            parts.push("None".to_owned());
        }
        parts.join(" | ")
    }

    fn parts(self, place: Place) -> Vec<String> {
        let one = |text: &str| vec![text.to_owned()];
        if let Some(items) = self.page() {
            return vec![format!("Page[{}]", items.annotation(place))];
        }
        if let Some(reference) = self.reference() {
            return vec![format!("{}{reference}", place.prefix())];
        }
        if !self.value["const"].is_null() {
            let constant = self.value["const"].as_bool().map_or_else(|| self.value["const"].to_string(), super::truth);
            return vec![format!("Literal[{constant}]")];
        }
        if let Some(values) = self.values() {
            return vec![format!("Literal[{}]", values.join(", "))];
        }
        if let Some(variants) = self.variants() {
            let mut parts: Vec<String> = variants.iter().flat_map(|variant| variant.parts(place)).collect();
            if variants.iter().any(|variant| variant.is_class() && variant.constant().is_some()) {
                parts.push("Unknown".to_owned());
            }
            return parts;
        }
        match &self.value["type"] {
            Value::Array(kinds) => kinds.iter().flat_map(|kind| self.simple(kind, place)).collect(),
            Value::Null => one("Any"),
            kind => self.simple(kind, place),
        }
    }

    fn simple(self, kind: &Value, place: Place) -> Vec<String> {
        let text = match kind.as_str() {
            Some("string") => "str".to_owned(),
            Some("integer") => "int".to_owned(),
            Some("number") => "float".to_owned(),
            Some("boolean") => "bool".to_owned(),
            Some("null") => "None".to_owned(),
            Some("array") => {
                let (many, _) = place.collections();
                format!("{many}[{}]", self.of(&self.value["items"]).annotation(place))
            }
            Some("object") if self.is_class() => format!("{}{}", place.prefix(), self.class_name()),
            Some("object") => {
                let values = &self.value["additionalProperties"];
                let values = if values.is_object() { self.of(values).annotation(place) } else { "Any".to_owned() };
                let (_, map) = place.collections();
                format!("{map}[str, {values}]")
            }
            Some(_) | None => "Any".to_owned(),
        };
        vec![text]
    }

    /// The values of a choice of words.
    pub(super) fn values(self) -> Option<Vec<String>> {
        if let Some(values) = self.value["enum"].as_array() {
            return Some(values.iter().map(ToString::to_string).collect());
        }
        let constants = |variant: &Self| variant.value["const"].as_str().map(quoted);
        self.variants()?.iter().map(constants).collect()
    }

    /// The kind by which a value of it is read, as Python; none if it stays as it came.
    pub(super) fn kind(self) -> Option<String> {
        if let Some(items) = self.page() {
            return Some(format!("(\"page\", {})", items.kind().unwrap_or_else(|| "None".to_owned())));
        }
        if self.reference().is_some() {
            return self.resolved().kind();
        }
        if self.is_class() {
            return Some(quoted(&self.class_name()));
        }
        if let Some(variants) = self.variants() {
            let mut kinds: Vec<String> = variants.iter().filter_map(|variant| variant.kind()).collect();
            return match kinds.as_slice() {
                [] => None,
                [_] => kinds.pop(),
                [..] => Some(format!("(\"|\", {})", kinds.join(", "))),
            };
        }
        if !self.value["items"].is_null() {
            let items = self.of(&self.value["items"]).kind()?;
            return Some(format!("(\"[\", {items})"));
        }
        let values = &self.value["additionalProperties"];
        values.as_object().and_then(|_| self.of(values).kind()).map(|kind| format!("(\"{{\", {kind})"))
    }
}
