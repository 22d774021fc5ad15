//! The file of types: a class for each object, an alias for everything else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::schema::{Place, Schema};
use super::{HEAD, docstring, name, quoted, tuple};
use crate::Call;

/// The file with all types that calls give or answer. Bodies are parameters of methods, and no types of their own.
pub fn types(document: &Value, calls: &[Call<'_>]) -> String {
    let mut found = Found { document, given: BTreeSet::new(), named: BTreeSet::new() };
    for call in calls {
        for schema in call.answer.iter().chain(&call.item) {
            found.look(Schema { document, value: schema, within: "" }, false);
        }
        for parameter in &call.query {
            found.look(Schema { document, value: parameter.schema, within: "" }, true);
        }
        let body = call.body.map(|value| Schema { document, value, within: "" });
        for field in body.into_iter().flat_map(super::methods::variants).flatten() {
            found.look(field.schema, true);
        }
    }
    for operation in document["paths"].as_object().into_iter().flatten().flat_map(|(_, verbs)| verbs.as_object()) {
        for schema in operation.values().flat_map(|operation| told(&operation["responses"])) {
            let schema = Schema { document, value: schema, within: "" };
            // A choice of answers is one of the by-hand methods, each of which has its own.
            match schema.resolved().variants() {
                Some(variants) => variants.into_iter().for_each(|variant| found.look(variant, false)),
                None => found.look(schema, false),
            }
        }
        for value in operation.values().flat_map(|operation| events(&operation["responses"])) {
            found.look(Schema { document, value, within: "" }, false);
        }
    }
    found.print()
}

/// The schemas of JSON that responses have.
fn told(responses: &Value) -> Vec<&Value> {
    good(responses)
        .map(|response| &response["content"]["application/json"]["schema"])
        .filter(|schema| !schema.is_null())
        .collect()
}

/// The schemas of the events of streams.
fn events(responses: &Value) -> Vec<&Value> {
    let event =
        good(responses).map(|response| &response["content"]["text/event-stream"]["schema"]["properties"]["data"]);
    event.map(|data| &data["contentSchema"]).filter(|schema| !schema.is_null()).collect()
}

fn good(responses: &Value) -> impl Iterator<Item = &Value> {
    let responses = responses.as_object().into_iter().flatten();
    responses.filter(|(status, _)| status.starts_with('2')).map(|(_, response)| response)
}

struct Found<'a> {
    document: &'a Value,
    /// The names of types that are given, by themselves or within others.
    given: BTreeSet<&'a str>,
    /// The names of all types.
    named: BTreeSet<&'a str>,
}

impl<'a> Found<'a> {
    /// Adds the types that a schema names.
    fn look(&mut self, schema: Schema<'a>, is_given: bool) {
        if let Some(items) = schema.page() {
            return self.look(items, is_given);
        }
        if let Some(name) = schema.reference() {
            let is_new = self.named.insert(name);
            let is_newly_given = is_given && self.given.insert(name);
            if is_new || is_newly_given {
                self.look(Schema::named(self.document, name), is_given);
            }
            return;
        }
        for variant in schema.variants().into_iter().flatten() {
            self.look(variant, is_given);
        }
        for (_, property) in schema.properties() {
            self.look(property, is_given);
        }
        for inner in ["items", "additionalProperties"] {
            if schema.value[inner].is_object() {
                self.look(schema.of(&schema.value[inner]), is_given);
            }
        }
    }

    fn print(&self) -> String {
        let mut out = HEAD.to_owned();
        out.push_str("\"\"\"The types of calls. Fields that this version does not know are in `extra`.\"\"\"\n\n");
        out.push_str("from __future__ import annotations\n\n");
        out.push_str("from typing import TYPE_CHECKING, Any, Dict, List, Literal\n\n");
        out.push_str("from threadkeep.record import Page, Record, Unknown\n\n");
        out.push_str("if TYPE_CHECKING:\n    from typing import Mapping, Sequence\n\n");
        out.push_str("    from typing import TypeAlias\n");
        let mut classes = BTreeMap::new();
        let mut aliases = String::new();
        for &name in &self.named {
            let schema = Schema::named(self.document, name);
            lift(schema, &mut classes, self.given.contains(name));
            if !schema.is_class() {
                alias(&mut aliases, name, schema);
            }
        }
        for (name, (schema, is_given)) in &classes {
            class(&mut out, name, *schema, *is_given);
        }
        out.push_str("\n\n");
        out.push_str(aliases.trim_start());
        let mut public: Vec<String> = classes.keys().map(|name| quoted(name)).collect();
        public.extend(self.named.iter().filter(|name| !classes.contains_key(**name)).map(|name| quoted(name)));
        public.extend(["Page", "Record", "Unknown"].map(quoted));
        public.sort();
        let _ = write!(out, "\n__all__ = [\n    {},\n]\n", public.join(",\n    "));
        out
    }
}

/// Finds the classes in a schema: itself, and variants that have no name of their own.
fn lift<'a>(schema: Schema<'a>, classes: &mut BTreeMap<String, (Schema<'a>, bool)>, is_given: bool) {
    if schema.is_class() {
        let name = schema.class_name();
        if classes.contains_key(&name) {
            return;
        }
        classes.insert(name, (schema, is_given));
    }
    let properties = schema.properties().into_iter().map(|(_, property)| property);
    let items = Some(schema.of(&schema.value["items"])).filter(|items| items.value.is_object());
    for inner in schema.variants().into_iter().flatten().chain(properties).chain(items) {
        lift(inner, classes, is_given);
    }
}

fn alias(out: &mut String, name: &str, schema: Schema<'_>) {
    let annotation = schema.annotation(Place::Made);
    // Names of classes are not looked up while the file is read: that is what keeps it quick to import.
    let is_plain = schema.values().is_some() || schema.kind().is_none() && !annotation.contains('|');
    let annotation = if is_plain { annotation } else { quoted(&annotation) };
    let _ = writeln!(out, "\n{name}: TypeAlias = {annotation}");
    out.push_str(&docstring("", schema.about()));
}

fn class(out: &mut String, class: &str, schema: Schema<'_>, is_given: bool) {
    let properties = schema.properties();
    let _ = write!(out, "\n\nclass {class}(Record):\n");
    out.push_str(&docstring("    ", schema.about()));
    let slots: Vec<String> = properties.iter().map(|(wire, _)| quoted(&name(wire))).collect();
    let _ = write!(out, "\n    __slots__ = {}\n    _fields = {{\n", tuple("    ", &slots));
    for (wire, property) in &properties {
        let kind = property.kind().unwrap_or_else(|| "None".to_owned());
        let _ = writeln!(out, "        {}: ({}, {kind}),", quoted(wire), quoted(&name(wire)));
    }
    out.push_str("    }\n");
    let required = properties.iter().filter(|(wire, _)| schema.requires(wire));
    let required: Vec<String> = required.map(|(wire, _)| quoted(wire)).collect();
    if !required.is_empty() {
        let _ = writeln!(out, "    _required = {}", tuple("    ", &required));
    }
    if let Some((wire, value)) = schema.constant() {
        let _ = writeln!(out, "    _constant = ({}, {})", quoted(wire), quoted(value));
    }
    for (wire, property) in &properties {
        let optional = !schema.requires(wire);
        let _ = writeln!(out, "    {}: {}", name(wire), or_none(property.annotation(Place::Types), optional));
        if !property.about().is_empty() {
            out.push_str(&docstring("    ", property.about()));
        }
    }
    if is_given {
        constructor(out, schema);
    }
}

/// The parameters of a type that callers make, for type checkers alone.
fn constructor(out: &mut String, schema: Schema<'_>) {
    let constant = schema.constant().map(|(wire, _)| wire);
    let mut parameters: Vec<(bool, String)> = Vec::new();
    for (wire, property) in schema.properties().into_iter().filter(|(wire, _)| Some(*wire) != constant) {
        let optional = !schema.requires(wire);
        let annotation = property.annotation(Place::Made);
        let default = if optional { " = None" } else { "" };
        parameters.push((optional, format!("{}: {}{default}", name(wire), or_none(annotation, optional))));
    }
    parameters.sort_by_key(|(optional, _)| *optional);
    if parameters.is_empty() {
        return;
    }
    out.push_str("\n    if TYPE_CHECKING:\n\n        def __init__(\n            self,\n            *,\n");
    for (_, parameter) in parameters {
        let _ = writeln!(out, "            {parameter},");
    }
    out.push_str("        ) -> None: ...\n");
}

fn or_none(annotation: String, optional: bool) -> String {
    let is_told = annotation == "Any" || annotation.ends_with("None");
    if optional && !is_told { format!("{annotation} | None") } else { annotation }
}
