//! A piece of code with its options, and its outcome.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::cbor;
use crate::limits::{MEMORY_BYTES, TIMEOUT};
use crate::value::Value;

/// Code to run: one ES module, and all that it gets.
#[derive(Debug, Clone)]
pub struct Code {
    /// The source of the module.
    pub source: String,
    /// Its language, and that of modules whose names do not say it.
    pub language: Language,
    /// Its name in errors; `main.ts` or `main.js` unless set.
    pub filename: Option<String>,
    /// The exported function to call; without it the default export is called, or is the result if it is no function.
    pub execute: Option<Execute>,
    /// Sources of other modules, by their relative specifiers.
    pub modules: BTreeMap<String, String>,
    /// Sources in JavaScript of modules that are imported by bare names. `SCOPE/*` is every name that begins so.
    pub library: BTreeMap<String, String>,
    /// Global variables of the module, by name.
    pub globals: BTreeMap<String, Given>,
    /// Modules of the host: bare specifiers, each with its exports.
    pub imports: BTreeMap<String, BTreeMap<String, Given>>,
    /// Memory of the heap: 64 MiB unless set.
    pub memory_bytes: usize,
    /// Time until the run is killed: 30 s unless set.
    pub timeout: Duration,
    /// Where the code comes from, which decides how strong the cage must be.
    pub origin: Origin,
    /// Whether a function of a run that is open waits for it. It uses the place of that run.
    pub nested: bool,
    /// Runs nothing, and gives all uses of this name in `modules`: a list of module, line and column.
    pub find: Option<String>,
}

impl Code {
    /// TypeScript (or JavaScript, which is a part of it) from a request, without any import.
    pub fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            language: Language::TypeScript,
            filename: None,
            execute: None,
            modules: BTreeMap::new(),
            library: BTreeMap::new(),
            globals: BTreeMap::new(),
            imports: BTreeMap::new(),
            memory_bytes: MEMORY_BYTES,
            timeout: TIMEOUT,
            origin: Origin::Request,
            nested: false,
            find: None,
        }
    }

    /// The same code with this function of the host, for `import { name } from "module"`.
    #[must_use]
    pub fn function(mut self, module: &str, name: &str, function: HostFunction) -> Self {
        self.imports.entry(module.to_owned()).or_default().insert(name.to_owned(), Given::Function(function));
        self
    }
}

/// The language of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Types are removed, not checked.
    TypeScript,
    /// Runs as it is.
    JavaScript,
}

/// Where code comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A request: nobody who operates the host has seen the code.
    Request,
    /// A file that the operator installed.
    Definition,
}

/// A call of an exported function.
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    /// The name of the export.
    pub function: String,
    /// Its arguments.
    pub args: Vec<Value>,
}

/// Something that the host gives to code.
#[derive(Clone)]
pub enum Given {
    /// A value, which is copied.
    Value(Value),
    /// A function. Code gets an async function that calls it.
    Function(HostFunction),
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Function(_) => f.write_str("function"),
        }
    }
}

/// The future of a host call.
pub type Answering = Pin<Box<dyn Future<Output = Result<Value, HostError>> + Send>>;

/// A function of the host: arguments in, a value or an error out.
pub type HostFunction = Arc<dyn Fn(Vec<Value>) -> Answering + Send + Sync>;

/// A host function from an async closure.
pub fn host_function<F, A>(function: F) -> HostFunction
where
    F: Fn(Vec<Value>) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Value, HostError>> + Send + 'static,
{
    Arc::new(move |args| Box::pin(function(args)))
}

/// The error with which a host call rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    /// Its `name` in code.
    pub name: String,
    /// Its message.
    pub message: String,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It gave a result.
    Success,
    /// It threw, or its promise was rejected.
    Error,
    /// It did not begin: a syntax error, an unknown import, export or option.
    LinkError,
    /// It needed more memory than its limit.
    Memory,
    /// It was killed: by `terminate`, by its time limit, or because it broke a limit of the bridge.
    Terminated,
}

impl Status {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::LinkError => "link_error",
            Self::Memory => "memory",
            Self::Terminated => "terminated",
        }
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How the run ended.
    pub status: Status,
    /// The result; `undefined` unless it succeeded.
    pub result: Value,
    /// The values that the code reported, in order.
    pub reports: Reports,
    /// The console, in order, up to 1 MiB.
    pub logs: Vec<Log>,
    /// Time from the start of the code to its end.
    pub duration: Duration,
    /// What went wrong, unless it succeeded.
    pub error: Option<Failure>,
}

impl Outcome {
    /// The outcome of code that did not begin.
    pub fn link_error(name: &str, message: impl Into<String>) -> Self {
        Self::failed(Status::LinkError, Failure::new(name, message))
    }

    pub(crate) fn failed(status: Status, error: Failure) -> Self {
        Self {
            status,
            result: Value::Undefined,
            reports: Reports::default(),
            logs: Vec::new(),
            duration: Duration::ZERO,
            error: Some(error),
        }
    }
}

/// The values that a run reported. They are kept as they came: read, they take many times the memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reports {
    bytes: Vec<u8>,
    /// The offset at which each value ends.
    ends: Vec<usize>,
}

impl Reports {
    /// Keeps a value that was read once, so it can be read again.
    pub(crate) fn push(&mut self, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
        self.ends.push(self.bytes.len());
    }

    /// The values, in order.
    pub fn iter(&self) -> impl Iterator<Item = Value> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let payloads = begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end]);
        payloads.filter_map(|payload| Some(cbor::read(payload).ok()?.0))
    }
}

/// A line of the console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Log {
    /// The method of `console`, such as `log` or `warn`.
    pub level: String,
    /// Its arguments as text.
    pub message: String,
}

/// The error of a run. Positions are those of the source as it was given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Failure {
    /// The name of the error, such as `TypeError`; `code_timeout` if the time limit was reached.
    pub name: String,
    /// Its message.
    pub message: String,
    /// The calls that led to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The module in which it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

impl Failure {
    pub(crate) fn new(name: &str, message: impl Into<String>) -> Self {
        Self { name: name.to_owned(), message: message.into(), ..Self::default() }
    }
}

/// Something that happens during a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A line of the console.
    Log(Log),
    /// A reported value.
    Report(Value),
}
