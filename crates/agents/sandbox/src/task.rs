//! What crosses the socket as values: the code on its way to a worker, and the outcome on its way back.

use std::collections::BTreeMap;

use crate::cbor;
use crate::code::{Code, Execute, Failure, Given, HostFunction, Language, Origin, Status};
use crate::frame::{Kind, frame};
use crate::value::Value;

/// Code as a worker gets it. Functions of the host are numbers.
pub(crate) struct Task {
    pub(crate) source: String,
    pub(crate) language: Language,
    pub(crate) filename: String,
    pub(crate) execute: Option<Execute>,
    pub(crate) modules: BTreeMap<String, String>,
    pub(crate) library: BTreeMap<String, String>,
    pub(crate) globals: Vec<(String, Value)>,
    pub(crate) imports: Vec<(String, Vec<(String, Value)>)>,
    /// The name whose uses are asked for; then nothing runs.
    pub(crate) find: Option<String>,
    /// Whether it may import the modules that the worker compiled before.
    pub(crate) is_definition: bool,
}

/// The frame with the modules that a worker compiles before it gets code.
pub(crate) fn library(library: BTreeMap<String, String>, exports: BTreeMap<String, Vec<String>>) -> Vec<u8> {
    let names = |names: Vec<String>| Value::Array(names.into_iter().map(Value::String).collect());
    let exports = exports.into_iter().map(|(module, exports)| (module, names(exports))).collect();
    frame(Kind::Library, 0, &cbor::write(&Value::Array(vec![sources(library), Value::Object(exports)])))
}

/// What a worker compiles before it gets code: sources by bare names, and what the host's modules export.
pub(crate) type Library = (BTreeMap<String, String>, BTreeMap<String, Vec<String>>);

/// Reads what [`library`] wrote; none if it is something else.
pub(crate) fn read_library(value: Value) -> Option<Library> {
    let Value::Array(parts) = value else { return None };
    let [library, exports] = <[Value; 2]>::try_from(parts).ok()?;
    let library = fields(library)?.into_iter().map(|(name, source)| Some((name, text(source)?)));
    let exports = fields(exports)?.into_iter().map(|(module, exports)| match exports {
        Value::Array(names) => Some((module, names.into_iter().map(text).collect::<Option<Vec<_>>>()?)),
        _ => None,
    });
    Some((library.collect::<Option<_>>()?, exports.collect::<Option<_>>()?))
}

/// `code` as a value, and its functions by their numbers.
pub(crate) fn write(code: Code) -> (Value, Vec<HostFunction>) {
    let mut functions = Vec::new();
    let mut given = |all: BTreeMap<String, Given>| {
        let one = |(name, given)| match given {
            Given::Value(value) => (name, value),
            Given::Function(function) => {
                functions.push(function);
                (name, Value::Function(u32::try_from(functions.len() - 1).unwrap_or(u32::MAX)))
            }
        };
        Value::Object(all.into_iter().map(one).collect())
    };
    let globals = given(code.globals);
    let imports = code.imports.into_iter().map(|(name, exports)| (name, given(exports))).collect();
    let javascript = code.language == Language::JavaScript;
    let filename = code.filename.unwrap_or_else(|| if javascript { "main.js" } else { "main.ts" }.to_owned());
    let execute = code
        .execute
        .map_or(Value::Undefined, |execute| Value::Array(vec![execute.function.into(), Value::Array(execute.args)]));
    let task = Value::Array(vec![
        code.source.into(),
        javascript.into(),
        filename.into(),
        execute,
        sources(code.modules),
        sources(code.library),
        globals,
        Value::Object(imports),
        code.find.map_or(Value::Undefined, Value::String),
        (code.origin == Origin::Definition).into(),
    ]);
    (task, functions)
}

fn sources(sources: BTreeMap<String, String>) -> Value {
    Value::Object(sources.into_iter().map(|(name, source)| (name, source.into())).collect())
}

impl Task {
    /// Reads what [`write`] wrote; none if it is something else.
    pub(crate) fn read(value: Value) -> Option<Self> {
        let Value::Array(parts) = value else { return None };
        let parts = <[Value; 10]>::try_from(parts).ok()?;
        let [source, javascript, filename, execute, modules, library, globals, imports, find, is_definition] = parts;
        let language = if javascript == Value::Bool(true) { Language::JavaScript } else { Language::TypeScript };
        let execute = match execute {
            Value::Array(parts) => match <[Value; 2]>::try_from(parts).ok()? {
                [Value::String(function), Value::Array(args)] => Some(Execute { function, args }),
                _ => return None,
            },
            _ => None,
        };
        let texts = |sources: Value| -> Option<BTreeMap<String, String>> {
            fields(sources)?.into_iter().map(|(name, source)| Some((name, text(source)?))).collect()
        };
        let imports = fields(imports)?.into_iter().map(|(name, exports)| Some((name, fields(exports)?)));
        Some(Self {
            source: text(source)?,
            language,
            filename: text(filename)?,
            execute,
            modules: texts(modules)?,
            library: texts(library)?,
            globals: fields(globals)?,
            imports: imports.collect::<Option<_>>()?,
            find: text(find),
            is_definition: is_definition == Value::Bool(true),
        })
    }
}

/// The end of a run as a worker tells it.
pub(crate) struct Done {
    pub(crate) status: Status,
    pub(crate) result: Value,
    pub(crate) error: Option<Failure>,
}

impl Done {
    pub(crate) fn failed(status: Status, error: Failure) -> Self {
        Self { status, result: Value::Undefined, error: Some(error) }
    }

    pub(crate) fn write(self) -> Value {
        let Self { status, result, error } = self;
        let optional = |text: Option<String>| text.map_or(Value::Undefined, Value::String);
        let number = |number: Option<u32>| number.map_or(Value::Undefined, |number| Value::Number(number.into()));
        let error = error.map_or(Value::Undefined, |error| {
            let Failure { name, message, stack, line, column, filename } = error;
            let (stack, filename) = (optional(stack), optional(filename));
            Value::Array(vec![name.into(), message.into(), stack, number(line), number(column), filename])
        });
        Value::Array(vec![status.as_str().into(), result, error])
    }

    /// Reads what [`Done::write`] wrote; none if it is something else.
    pub(crate) fn read(value: Value) -> Option<Self> {
        let Value::Array(parts) = value else { return None };
        let [status, result, error] = <[Value; 3]>::try_from(parts).ok()?;
        let all = [Status::Success, Status::Error, Status::LinkError, Status::Memory, Status::Terminated];
        let status = all.into_iter().find(|one| status.as_str() == Some(one.as_str()))?;
        let error = match error {
            Value::Array(parts) => {
                let [name, message, stack, line, column, filename] = <[Value; 6]>::try_from(parts).ok()?;
                let (line, column) = (number(&line), number(&column));
                let (stack, filename) = (text(stack), text(filename));
                Some(Failure { name: text(name)?, message: text(message)?, stack, line, column, filename })
            }
            _ => None,
        };
        Some(Self { status, result, error })
    }
}

fn fields(value: Value) -> Option<Vec<(String, Value)>> {
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "out of range saturates")]
fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => Some(*number as u32),
        _ => None,
    }
}
