//! The file of methods, and that of facts.

use std::fmt::Write as _;

use serde_json::Value;

use super::schema::{Place, Schema};
use super::{HEAD, WIDTH, docstring_of, enclosed, name, quoted, truth, tuple};
use crate::words::{capital, snake, wrapped};
use crate::{Call, rooms};

/// The depth of a method's body.
const INDENT: &str = "        ";

/// A parameter of a method that goes into the body or the query.
#[derive(Clone)]
pub(super) struct Field<'a> {
    /// Its name on the wire; none if it is the whole body.
    wire: Option<&'a str>,
    about: &'a str,
    pub(super) schema: Schema<'a>,
    required: bool,
}

impl Field<'_> {
    fn name(&self) -> String {
        self.wire.map_or_else(
            || match self.schema.resolved().within {
                "Json" => "value".to_owned(),
                whole => snake(whole.strip_prefix("New").unwrap_or(whole)),
            },
            name,
        )
    }

    /// Whether null is sent where it is given: it says something else than nothing.
    fn takes_null(&self, call: &Call<'_>) -> bool {
        self.required || call.verb == "PATCH" && self.schema.is_nullable()
    }

    fn parameter(&self, call: &Call<'_>) -> String {
        let (name, annotation) = (self.name(), self.schema.annotation(Place::Given));
        let or_none = if annotation == "Any" || annotation.ends_with("None") { "" } else { " | None" };
        match (self.required, self.takes_null(call)) {
            (true, _) => format!("{name}: {annotation}"),
            (false, true) => format!("{name}: {annotation} | Omit = OMIT"),
            (false, false) => format!("{name}: {annotation}{or_none} = None"),
        }
    }
}

/// The shapes of a body, each by its fields.
pub(super) fn variants(body: Schema<'_>) -> Vec<Vec<Field<'_>>> {
    let whole = Field { wire: None, about: body.about(), schema: body, required: true };
    let resolved = body.resolved();
    let shapes = resolved.variants().unwrap_or_else(|| vec![resolved]);
    let shapes: Vec<Schema<'_>> = shapes.into_iter().map(Schema::resolved).collect();
    let is_flat = |shape: &Schema<'_>| shape.value["type"] == "object" && shape.constant().is_none();
    if !shapes.iter().all(is_flat) {
        return vec![vec![whole]];
    }
    shapes.into_iter().map(fields).collect()
}

fn fields(shape: Schema<'_>) -> Vec<Field<'_>> {
    let properties = shape.properties().into_iter();
    let fields = properties.map(|(wire, schema)| Field {
        wire: Some(wire),
        about: schema.about(),
        schema,
        required: shape.requires(wire),
    });
    fields.collect()
}

/// What a call is given beside its path, in each of its shapes.
fn shapes<'a>(document: &'a Value, call: &Call<'a>) -> Vec<Vec<Field<'a>>> {
    if let Some(value) = call.body {
        return variants(Schema { document, value, within: "" });
    }
    let query = call.query.iter().map(|parameter| Field {
        wire: Some(parameter.name),
        about: parameter.about,
        schema: Schema { document, value: parameter.schema, within: "" },
        required: parameter.required,
    });
    vec![query.collect()]
}

/// All fields of all shapes. A field is required if every shape requires it.
fn merged<'a>(shapes: &[Vec<Field<'a>>]) -> Vec<Field<'a>> {
    let mut all: Vec<Field<'a>> = Vec::new();
    for field in shapes.iter().flatten() {
        let in_all = |other: &Field<'_>| other.wire == field.wire && other.required;
        let required = shapes.iter().all(|shape| shape.iter().any(in_all));
        if !all.iter().any(|other| other.wire == field.wire) {
            all.push(Field { required, ..field.clone() });
        }
    }
    all
}

/// The file of facts.
pub fn facts(document: &Value, calls: &[Call<'_>]) -> String {
    let mut out = format!("{HEAD}\"\"\"What a client has to know of each call.\"\"\"\n\n");
    out.push_str("from typing import Tuple\n\nfrom threadkeep.ask import Facts\n\n");
    for call in calls {
        let all = merged(&shapes(document, call));
        let is_whole = all.iter().any(|field| field.wire.is_none());
        let body = match call.body {
            Some(_) if is_whole => "whole",
            Some(_) => "fields",
            None => "none",
        };
        let nulls = all.iter().filter(|field| field.takes_null(call));
        let nulls: Vec<String> = nulls.filter_map(|field| field.wire).map(quoted).collect();
        let honours: Vec<String> = call.honours.iter().map(|name| quoted(&snake(name))).collect();
        let codes: Vec<String> = call.codes.iter().map(|code| quoted(code)).collect();
        let answer = call.item.or(call.answer).map(|value| Schema { document, value, within: "" });
        let answer = answer.and_then(Schema::kind).unwrap_or_else(|| "None".to_owned());
        let _ = writeln!(out, "{} = Facts(\n    {},", constant(call), quoted(call.id));
        let _ = writeln!(out, "    {},\n    {},", quoted(&call.verb), quoted(call.path));
        let _ = writeln!(out, "    body={},\n    nulls={},", quoted(body), tuple("    ", &nulls));
        let (repeats, unhurried) = (truth(call.repeats), truth(call.unhurried));
        let _ = writeln!(
            out,
            "    repeats={repeats},\n    unhurried={unhurried},\n    honours={},",
            tuple("    ", &honours)
        );
        let _ = writeln!(out, "    answer={answer},\n    codes={},\n)", tuple("    ", &codes));
    }
    let all: Vec<String> = calls.iter().map(constant).collect();
    let _ = writeln!(out, "\nALL: Tuple[Facts, ...] = (\n    {},\n)", all.join(",\n    "));
    out
}

fn constant(call: &Call<'_>) -> String {
    snake(call.id).to_uppercase()
}

/// The file of methods, for `async`.
pub fn methods(document: &Value, calls: &[Call<'_>]) -> String {
    let mut out = format!("{HEAD}\"\"\"The methods of calls, by room.\"\"\"\n\n");
    out.push_str("from __future__ import annotations\n\n");
    out.push_str("from typing import TYPE_CHECKING, overload\n\n");
    out.push_str("from threadkeep.printed import facts\nfrom threadkeep.record import OMIT\n\n");
    out.push_str("if TYPE_CHECKING:\n    from typing import Any, List, Literal, Mapping, Sequence\n\n");
    out.push_str("    from threadkeep.aio.way import AsyncPaged, AsyncWay\n");
    out.push_str("    from threadkeep.printed import types as t\n    from threadkeep.record import Omit, Page\n");
    for room in rooms(calls) {
        let _ = write!(out, "\n\nclass Async{}Calls:\n    \"\"\"The calls of `{room}`.\"\"\"\n", capital(room));
        out.push_str("\n    __slots__ = (\"_way\",)\n");
        out.push_str("\n    def __init__(self, way: AsyncWay) -> None:\n        self._way = way\n");
        for call in calls.iter().filter(|call| call.room == room) {
            method(&mut out, document, call);
        }
    }
    out
}

fn method(out: &mut String, document: &Value, call: &Call<'_>) {
    let shapes = shapes(document, call);
    let all = merged(&shapes);
    let answers = answers(document, call, shapes.len());
    if shapes.len() > 1 {
        for (at, shape) in shapes.iter().enumerate() {
            let answer = answers.get(at).or(answers.first()).map_or("None", String::as_str);
            let _ = writeln!(out, "\n    @overload\n    {}: ...", signature(call, shape, answer));
        }
    }
    let mut parts = answers.clone();
    parts.dedup();
    let answer = parts.join(" | ");
    let _ = writeln!(out, "\n    {}:", signature(call, &all, &answer));
    documented(out, call, &all);
    let path = call.path_parameters.iter().map(|parameter| pair(parameter.name, &name(parameter.name)));
    let path = format!("{{{}}}", path.collect::<Vec<_>>().join(", "));
    let given = match all.as_slice() {
        [whole] if whole.wire.is_none() => whole.name(),
        fields => {
            let pairs = fields.iter().map(|field| pair(field.wire.unwrap_or_default(), &field.name()));
            enclosed("            ", "{", &pairs.collect::<Vec<_>>(), "}")
        }
    };
    let mut sent = vec![format!("facts.{}", constant(call)), path, given];
    sent.extend(options(call).into_iter().map(|(name, _)| format!("{name}={name}")));
    let sent = enclosed(INDENT, "(", &sent, ")");
    let _ = if call.item.is_some() {
        writeln!(out, "        return self._way.pages{sent}")
    } else if answer == "None" {
        writeln!(out, "        await self._way.call{sent}")
    } else {
        writeln!(out, "        answered: {answer} = await self._way.call{sent}\n        return answered")
    };
}

/// The annotations of the answers, one for each shape if they differ.
fn answers(document: &Value, call: &Call<'_>, shapes: usize) -> Vec<String> {
    let schema = |value| Schema { document, value, within: "" };
    if let Some(item) = call.item {
        return vec![format!("AsyncPaged[{}]", schema(item).annotation(Place::Answered))];
    }
    let Some(answer) = call.answer.map(schema) else { return vec!["None".to_owned()] };
    match answer.resolved().variants() {
        Some(variants) if shapes > 1 && variants.len() == shapes => {
            variants.into_iter().map(|variant| variant.annotation(Place::Answered)).collect()
        }
        Some(_) | None => vec![answer.annotation(Place::Answered)],
    }
}

fn signature(call: &Call<'_>, fields: &[Field<'_>], answer: &str) -> String {
    let mut parameters = vec!["self".to_owned()];
    parameters.extend(call.path_parameters.iter().map(|parameter| format!("{}: str", name(parameter.name))));
    parameters.extend(fields.iter().filter(|field| field.wire.is_none()).map(|whole| whole.parameter(call)));
    parameters.push("*".to_owned());
    let mut named: Vec<&Field<'_>> = fields.iter().filter(|field| field.wire.is_some()).collect();
    named.sort_by_key(|field| !field.required);
    parameters.extend(named.into_iter().map(|field| field.parameter(call)));
    parameters.extend(options(call).into_iter().map(|(name, declared)| format!("{name}: {declared}")));
    let def = if call.item.is_some() { "def" } else { "async def" };
    let mut out = format!("{def} {}(", snake(&call.method_name));
    for parameter in parameters {
        let _ = write!(out, "\n        {parameter},");
    }
    format!("{out}\n    ) -> {answer}")
}

/// The conditions that a call honours, and how it is sent.
fn options(call: &Call<'_>) -> Vec<(&'static str, &'static str)> {
    let conditions = call.honours.iter().filter_map(|condition| match *condition {
        "expectedVersion" => Some(("expected_version", "int | None = None")),
        "ifAbsent" => Some(("if_absent", "bool = False")),
        "writer" => Some(("writer", "str | None = None")),
        "idempotencyKey" => Some(("idempotency_key", "str | None = None")),
        _ => None,
    });
    conditions.chain([("actor", "str | None = None")]).collect()
}

fn pair(wire: &str, name: &str) -> String {
    format!("{}: {name}", quoted(wire))
}

fn documented(out: &mut String, call: &Call<'_>, fields: &[Field<'_>]) {
    let mut lines = wrapped(call.about, WIDTH - INDENT.len());
    let told: Vec<&Field<'_>> = fields.iter().filter(|field| !field.about.is_empty()).collect();
    if !told.is_empty() {
        lines.extend([String::new(), "Args:".to_owned()]);
    }
    for field in told {
        let about = field.about.split_whitespace().collect::<Vec<_>>().join(" ");
        for (at, line) in wrapped(&format!("{}: {about}", field.name()), WIDTH - 2 * INDENT.len()).iter().enumerate() {
            lines.push(format!("    {}{line}", if at == 0 { "" } else { "    " }));
        }
    }
    out.push_str(&docstring_of(INDENT, &lines));
}
