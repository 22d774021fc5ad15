//! The parts of a call: a struct of parameters, an answer, and a declaration that every surface prints.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ErrorCode;

/// A call. Its fields are its parameters, on every surface.
///
/// Types get this trait by their row in [`for_each_call!`](crate::for_each_call) and in no other way, so the list is complete.
pub trait Call: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The type of the answer.
    type Answer: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// Its declaration, from which surfaces are made.
    const DECLARATION: Declaration;
}

/// The methods of HTTP that calls use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads. Parameters are in the query.
    Get,
    /// Changes. Parameters are in the body.
    Post,
    /// Replaces. Parameters are in the body.
    Put,
    /// Changes a part. Parameters are in the body.
    Patch,
    /// Deletes. Parameters are in the path.
    Delete,
}

impl Method {
    /// The method as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether the parameters are in a body.
    pub fn has_body(self) -> bool {
        match self {
            Self::Post | Self::Put | Self::Patch => true,
            Self::Get | Self::Delete => false,
        }
    }
}

/// The key that a caller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// A key that may read; for public threads none.
    Public,
    /// A key that may read.
    Read,
    /// A key that may write.
    Write,
    /// A key that may administer.
    Admin,
}

/// The conditions that a call honours beside its parameters. See [`At`](crate::At).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Honours {
    /// The version the thread has to be at.
    pub expected: bool,
    /// The lease under which the caller writes.
    pub lease: Lease,
    /// A key under which the call may be repeated.
    pub key: bool,
    /// The version a value has to be at, in the field `ifVersion`.
    pub value_version: bool,
}

/// Whether a call honours a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// The call refuses a lease.
    No,
    /// It may be given.
    Yes,
    /// It must be given: the call is about the lease itself.
    Required,
}

impl Honours {
    /// Nothing: reads, and calls that log nothing.
    pub const NOTHING: Self = Self { expected: false, lease: Lease::No, key: false, value_version: false };
    /// A key alone: calls that create something in an account.
    pub const KEY: Self = Self { key: true, ..Self::NOTHING };
    /// Everything: a change of a thread.
    pub const CHANGE: Self = Self { expected: true, lease: Lease::Yes, key: true, value_version: false };
    /// A change that takes away what leads to its thread, so that no key is found again.
    pub const DELETION: Self = Self { key: false, ..Self::CHANGE };
    /// A change of a secret: nothing that follows from the value is kept, not even a hash.
    pub const SECRET: Self = Self { key: false, ..Self::CHANGE };
    /// A change of one value, whose version is the one that is expected.
    pub const VALUE: Self = Self { expected: false, value_version: true, ..Self::CHANGE };
    /// A lease, by its token.
    pub const LEASE: Self = Self { lease: Lease::Required, ..Self::NOTHING };
}

/// Where the fields of a body come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyIs {
    /// Each field is a field of the body.
    Fields,
    /// The whole body is this one field.
    Field(&'static str),
}

/// Whether a call may be sent again when it is not known whether it was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Twice is the same as once.
    Freely,
    /// Only under a key, or if it surely was not carried out.
    Keyed,
}

/// A group of calls in the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The heading in the documentation.
    pub name: &'static str,
    /// The purpose of its calls, in a sentence.
    pub about: &'static str,
}

/// The declaration of a call: everything that surfaces need to print it.
#[derive(Debug, Clone, Copy)]
pub struct Declaration {
    /// Its name on the command line, in logs and in idempotency keys, such as `decide`.
    pub name: &'static str,
    /// Its operation id in OpenAPI.
    pub id: &'static str,
    /// How it is called over HTTP.
    pub method: Method,
    /// Its path. `{thread}` is the thread; any other part is a field of the call.
    pub path: &'static str,
    /// Its effect, in a sentence.
    pub about: &'static str,
    /// The calls it is described with.
    pub group: Group,
    /// The key that a caller needs.
    pub needs: Needs,
    /// The conditions that it honours beside its parameters.
    pub honours: Honours,
    /// Where its body's fields come from.
    pub body: BodyIs,
    /// Whether it may be sent again.
    pub repeat: Repeat,
    /// The HTTP status of its answer.
    pub status: u16,
    /// Its answer, in a sentence.
    pub answers: &'static str,
    /// Another status it answers with, and what that means.
    pub also: Option<(u16, &'static str)>,
    /// Whether the answer carries the version of the thread.
    pub versioned: bool,
    /// How it can fail, beside the ways in which every call of its kind can.
    pub fails: &'static [ErrorCode],
    /// A way in which calls of its kind can fail, and this one never does.
    pub never: Option<ErrorCode>,
    /// A body it accepts, as JSON.
    pub example: &'static str,
    /// A parameter of the query with which a read also writes.
    pub writes_with: Option<&'static str>,
    /// Fields of the body that name an identity: null bytes in them are refused, not stripped.
    pub identities: &'static [&'static str],
}

impl Declaration {
    const fn new(method: Method, (name, id): (&'static str, &'static str), path: &'static str, group: Group) -> Self {
        let reads = matches!(method, Method::Get);
        Self {
            name,
            id,
            method,
            path,
            about: "",
            group,
            needs: if reads { Needs::Read } else { Needs::Write },
            honours: if reads { Honours::NOTHING } else { Honours::CHANGE },
            body: BodyIs::Fields,
            repeat: match method {
                Method::Get | Method::Put | Method::Delete => Repeat::Freely,
                Method::Post | Method::Patch => Repeat::Keyed,
            },
            status: 200,
            answers: "",
            also: None,
            versioned: false,
            fails: &[],
            never: None,
            example: "{}",
            writes_with: None,
            identities: &[],
        }
    }

    /// A call that reads.
    pub(crate) const fn get(names: (&'static str, &'static str), path: &'static str, group: Group) -> Self {
        Self::new(Method::Get, names, path, group)
    }

    /// A call that changes something.
    pub(crate) const fn post(names: (&'static str, &'static str), path: &'static str, group: Group) -> Self {
        Self::new(Method::Post, names, path, group)
    }

    /// A call that replaces something.
    pub(crate) const fn put(names: (&'static str, &'static str), path: &'static str, group: Group) -> Self {
        Self::new(Method::Put, names, path, group)
    }

    /// A call that changes a part of something.
    pub(crate) const fn patch(names: (&'static str, &'static str), path: &'static str, group: Group) -> Self {
        Self::new(Method::Patch, names, path, group)
    }

    /// A call that deletes something.
    pub(crate) const fn delete(names: (&'static str, &'static str), path: &'static str, group: Group) -> Self {
        Self::new(Method::Delete, names, path, group)
    }

    pub(crate) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// It answers with 200 and this.
    pub(crate) const fn gives(self, answers: &'static str) -> Self {
        Self { answers, ..self }
    }

    /// It answers with 201 and this, which is new.
    pub(crate) const fn creates(self, answers: &'static str) -> Self {
        Self { status: 201, answers, ..self }
    }

    /// It can also answer with this status.
    pub(crate) const fn also(self, status: u16, means: &'static str) -> Self {
        Self { also: Some((status, means)), ..self }
    }

    pub(crate) const fn versioned(self) -> Self {
        Self { versioned: true, ..self }
    }

    pub(crate) const fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    pub(crate) const fn honours(self, honours: Honours) -> Self {
        Self { honours, ..self }
    }

    pub(crate) const fn body_is(self, field: &'static str) -> Self {
        Self { body: BodyIs::Field(field), ..self }
    }

    pub(crate) const fn repeats(self) -> Self {
        Self { repeat: Repeat::Freely, ..self }
    }

    pub(crate) const fn fails(self, fails: &'static [ErrorCode]) -> Self {
        Self { fails, ..self }
    }

    pub(crate) const fn never(self, code: ErrorCode) -> Self {
        Self { never: Some(code), ..self }
    }

    pub(crate) const fn example(self, json: &'static str) -> Self {
        Self { example: json, ..self }
    }

    pub(crate) const fn writes_with(self, parameter: &'static str) -> Self {
        Self { writes_with: Some(parameter), ..self }
    }

    pub(crate) const fn identities(self, fields: &'static [&'static str]) -> Self {
        Self { identities: fields, ..self }
    }

    /// The parts of the path that stand for something, without their braces.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// The parts of the path that are fields of the call.
    pub fn path_fields(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.parameters().filter(|name| *name != "thread")
    }

    /// Whether the path names a thread.
    pub fn names_thread(&self) -> bool {
        self.parameters().any(|name| name == "thread")
    }
}
