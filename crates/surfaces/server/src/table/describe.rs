//! Descriptions of handlers' arguments: every extractor describes its input and its refusals.
//!
//! Handlers are functions, and axum knows the types of their arguments as one tuple. The tuple describes itself by its
//! parts, so a handler that takes something undescribed does not compile.

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::Method;
use schemars::JsonSchema;
use threadkeep_calls as calls;
use threadkeep_calls::{ErrorCode, Status};

use super::{Honours, Needs, Operation, SchemaOf, Takes};
use crate::access::{Access, Admin, Calling, Reader, Session, Writing};
use crate::app::App;
use crate::conditions::{Conditions, IfMatch, IfNoneMatch, LastEventId, Lease, Retry};
use crate::input::{Body, Content, Lines, Path, Query};
use crate::ranges::Wanted;

/// Something that a handler takes.
pub(crate) trait Describe {
    /// Adds its part to the description of an operation.
    fn describe(operation: &mut Operation);
}

/// The refusals of the edge, the same for every route.
pub(super) fn edge(operation: &mut Operation) {
    for code in [ErrorCode::InvalidParameter, ErrorCode::Forbidden, ErrorCode::NotAcceptable, ErrorCode::Internal] {
        operation.fail(code);
    }
    operation.fail_with(Status::UriTooLong, ErrorCode::TooLarge);
    operation.fail_with(Status::HeadersTooLarge, ErrorCode::TooLarge);
}

impl Describe for ((),) {
    fn describe(_: &mut Operation) {}
}

macro_rules! tuples {
    ($($($part:ident)+;)*) => {$(
        impl<Via, $($part: Describe),+> Describe for (Via, $($part,)+) {
            fn describe(operation: &mut Operation) {
                $($part::describe(operation);)+
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
}

impl Describe for Session {
    fn describe(_: &mut Operation) {}
}

impl Describe for State<App> {
    fn describe(_: &mut Operation) {}
}

/// The errors that every read of the store can have.
fn store(operation: &mut Operation) {
    for code in [ErrorCode::StoreDamaged, ErrorCode::Unavailable, ErrorCode::StorageFailed] {
        operation.fail(code);
    }
}

impl Describe for Access {
    fn describe(operation: &mut Operation) {
        operation.needs = Needs::Read;
        operation.headers.push(Honours::Actor);
        operation.fail(ErrorCode::Unauthorized);
        operation.fail(ErrorCode::RateLimited);
        store(operation);
    }
}

impl Describe for Reader {
    fn describe(operation: &mut Operation) {
        Access::describe(operation);
        operation.needs = Needs::Public;
    }
}

impl Describe for Writing {
    fn describe(operation: &mut Operation) {
        Access::describe(operation);
        operation.needs = Needs::Write;
        operation.fail(ErrorCode::Busy);
        operation.fail(ErrorCode::DiskFull);
    }
}

impl Describe for Calling {
    fn describe(operation: &mut Operation) {
        Writing::describe(operation);
    }
}

impl Describe for Admin {
    fn describe(operation: &mut Operation) {
        Writing::describe(operation);
        operation.needs = Needs::Admin;
    }
}

impl<T> Describe for Path<T> {
    fn describe(operation: &mut Operation) {
        describe_path(operation);
    }
}

/// The scope of the key that a call needs.
pub(crate) fn describe_key(operation: &mut Operation, needs: calls::Needs) {
    match needs {
        calls::Needs::Public => Reader::describe(operation),
        calls::Needs::Read => Access::describe(operation),
        calls::Needs::Write => Writing::describe(operation),
        calls::Needs::Admin => Admin::describe(operation),
    }
}

/// The headers that a call honours beside its parameters.
pub(crate) fn describe_envelope(operation: &mut Operation, honours: calls::Honours) {
    let calls::Honours { expected, lease, key, value_version } = honours;
    if expected {
        IfMatch::describe(operation);
    }
    if value_version {
        operation.headers.push(Honours::IfValueMatch);
        operation.headers.push(Honours::IfNoValue);
        operation.fail(ErrorCode::VersionConflict);
    }
    match lease {
        calls::Lease::No => {}
        calls::Lease::Yes => Lease::describe(operation),
        calls::Lease::Required => {
            operation.headers.push(Honours::WriterToken);
            operation.fail(ErrorCode::WriterLost);
        }
    }
    if key {
        Retry::describe(operation);
    }
}

/// The content of a request's body.
pub(crate) fn describe_body(operation: &mut Operation, takes: Takes) {
    operation.body = Some(takes);
    for code in [
        ErrorCode::InvalidBody,
        ErrorCode::JsonTooDeep,
        ErrorCode::RequestTimeout,
        ErrorCode::TooLarge,
        ErrorCode::UnsupportedMediaType,
    ] {
        operation.fail(code);
    }
}

/// How the parts of a path can be refused.
pub(crate) fn describe_path(operation: &mut Operation) {
    for name in operation.parameters() {
        let codes: &[ErrorCode] = match name {
            "thread" => &[ErrorCode::InvalidThreadId, ErrorCode::ThreadNotFound],
            "message" => &[ErrorCode::InvalidMessageId, ErrorCode::MessageNotFound],
            "item" => &[ErrorCode::InvalidMessageId, ErrorCode::QueuedNotFound],
            "run" => &[ErrorCode::RunNotFound],
            "memory" => &[ErrorCode::MemoryNotFound],
            "project" => &[ErrorCode::ProjectNotFound],
            "approval" => &[ErrorCode::ApprovalNotFound],
            "delegation" => &[ErrorCode::DelegationNotFound],
            "reference" => &[ErrorCode::ReferenceNotFound],
            "observer" => &[ErrorCode::ObserverNotFound],
            "merge" => &[ErrorCode::MergeNotFound],
            "path" => &[ErrorCode::PathEscapesRoot],
            _ => &[],
        };
        codes.iter().for_each(|code| operation.fail(*code));
    }
}

impl<T: JsonSchema> Describe for Query<T> {
    fn describe(operation: &mut Operation) {
        let schema: SchemaOf = T::json_schema;
        operation.query = Some(schema);
    }
}

impl<T: JsonSchema> Describe for Body<T> {
    fn describe(operation: &mut Operation) {
        describe_body(operation, Takes::Json(|generator| generator.subschema_for::<T>()));
    }
}

impl Describe for Lines {
    fn describe(operation: &mut Operation) {
        operation.body = Some(Takes::Lines);
        operation.fail(ErrorCode::InvalidBody);
        operation.fail(ErrorCode::RequestTimeout);
    }
}

impl Describe for Content {
    fn describe(operation: &mut Operation) {
        describe_body(operation, Takes::Content);
        operation.headers.push(Honours::Metadata);
    }
}

impl Describe for Method {
    fn describe(_: &mut Operation) {}
}

impl Describe for Wanted {
    fn describe(operation: &mut Operation) {
        operation.headers.push(Honours::Range);
        operation.fail(ErrorCode::RangeNotSatisfiable);
    }
}

impl Describe for Conditions {
    fn describe(operation: &mut Operation) {
        IfMatch::describe(operation);
        Lease::describe(operation);
        Retry::describe(operation);
    }
}

impl Describe for IfMatch {
    fn describe(operation: &mut Operation) {
        operation.headers.push(Honours::IfMatch);
        operation.fail(ErrorCode::VersionConflict);
    }
}

impl Describe for IfNoneMatch {
    fn describe(operation: &mut Operation) {
        operation.headers.push(Honours::IfNoneMatch);
    }
}

impl Describe for Retry {
    fn describe(operation: &mut Operation) {
        operation.headers.push(Honours::IdempotencyKey);
        operation.fail(ErrorCode::IdempotencyKeyReused);
    }
}

impl Describe for Lease {
    fn describe(operation: &mut Operation) {
        operation.headers.push(Honours::Writer);
        operation.fail(ErrorCode::WriterHeld);
        operation.fail(ErrorCode::WriterLost);
    }
}

impl Describe for LastEventId {
    fn describe(operation: &mut Operation) {
        operation.headers.push(Honours::LastEventId);
        operation.fail(ErrorCode::InvalidCursor);
    }
}

impl Describe for Result<WebSocketUpgrade, WebSocketUpgradeRejection> {
    fn describe(_: &mut Operation) {}
}
