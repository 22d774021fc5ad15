//! Files and values that a reference shows, in the same form as those of a thread, next door in `files` and
//! `values`.

use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::calls::ListMessages;
use threadkeep::{Error, FilePath, Files, Invalid, Page, Standing, Uuid, ValueKey, Values, Verb, cursor, place};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::content::content;
use super::files::directory;
use super::page_limit;
use crate::access::Access;
use crate::answer::{Answer, at_version, json};
use crate::conditions::IfNoneMatch;
use crate::input::{Flag, Path, Query};
use crate::ranges::Wanted;
use crate::table::{self, Gives, Routes};

pub(super) fn routes() -> Routes {
    Routes::new(
        "References and observers",
        "",
        [
            table::get(
                ("listReferredMessages", "/v1/references/{reference}/messages"),
                "Reads the messages that a reference shows.",
                messages,
                Gives::json::<api::Page<api::Message<'static>>>("A page of them.").versioned(),
            )
            .fails([
                ErrorCode::ReferenceGone,
                ErrorCode::InvalidCursor,
                ErrorCode::IndexOutOfRange,
                ErrorCode::VersionInFuture,
            ]),
            table::get(
                ("listReferredFiles", "/v1/references/{reference}/files"),
                "Lists the files that a reference shows.",
                files,
                Gives::json::<api::Page<api::FileRecord>>("A page of them.").versioned(),
            )
            .fails([ErrorCode::ReferenceGone, ErrorCode::InvalidCursor, ErrorCode::PathEscapesRoot]),
            table::get(
                ("readReferredFile", "/v1/references/{reference}/files/{*path}"),
                "Reads a file that a reference shows, whole or in part; or its record (`stat`), or the entries of a directory (`list`).",
                file,
                Gives::content(200, "The content, with the type it was written with and its hash in `ETag`;"),
            )
            .gives(Gives::json::<One>("or what was asked for instead."))
            .gives(Gives::content(206, "The part that was asked for, as `Content-Range` says."))
            .gives(Gives::nothing(304, "The client has it already."))
            .fails([
                ErrorCode::ReferenceGone,
                ErrorCode::FileNotFound,
                ErrorCode::IsADirectory,
                ErrorCode::NotADirectory,
            ]),
            table::get(
                ("listReferredValues", "/v1/references/{reference}/kv"),
                "Lists the values that a reference shows, in the order of their keys.",
                values,
                Gives::json::<api::Page<api::Value>>("A page of values.").versioned(),
            )
            .fails([ErrorCode::ReferenceGone, ErrorCode::InvalidCursor]),
            table::get(
                ("getReferredValue", "/v1/references/{reference}/kv/{valueKey}"),
                "Shows a value through a reference. A missing key has the value null and version 0.",
                value,
                Gives::json::<api::Value>("The value; `ETag` is its own version.").versioned(),
            )
            .fails([ErrorCode::ReferenceGone]),
        ],
    )
}

/// Answers about one path.
#[derive(JsonSchema)]
#[schemars(rename = "ReferredPath")]
#[serde(untagged)]
#[allow(dead_code, reason = "never built: it describes the answer")]
enum One {
    /// With `stat`.
    Record(api::FileRecord),
    /// With `list`.
    Directory(api::Directory),
}

async fn messages(access: Access, Path(id): Path<String>, Query(which): Query<ListMessages>) -> Answer {
    let id: Uuid = id.parse()?;
    let target = access.engine.reference_by_id(id).await?.target;
    let page = access.engine.reference_messages(id, Page::of(&which)).await?;
    let shown = match access.engine.standing(target, Verb::Reference).await? {
        Standing::Owner => api::Message::new,
        Standing::Visitor => api::Message::for_visitors,
    };
    let items = page.items.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
    let total = which.counts().then_some(page.total);
    Ok(at_version(page.version, json(&api::Page::new(items, page.next.clone(), total))))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Which {
    /// Only what is below this directory.
    below: Option<String>,
    /// Maximum number of items.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
}

async fn files(access: Access, Path(id): Path<String>, Query(which): Query<Which>) -> Answer {
    let id: Uuid = id.parse()?;
    let limit = Some(page_limit(&access.engine, which.limit)?);
    let below = which.below.as_deref().map(str::parse::<FilePath>).transpose()?;
    let list = ("referred files", id, below.clone());
    let (as_of, after) = match which.cursor.as_deref() {
        Some(cursor) => place(&list, cursor, None).map(|(version, after)| (Some(version), after))?,
        None => (None, None),
    };
    let page = access.engine.reference_files(id, Files { below, after, limit, as_of }).await?;
    let items: Vec<_> = page.items.iter().map(api::FileRecord::from).collect();
    let next_cursor = page.next.map(|next| cursor(&list, page.version, next.as_str()));
    Ok(at_version(page.version, json(&api::Page::new(items, next_cursor, None))))
}

/// What to read of a path.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Reading {
    /// The record of the file or directory, without its content.
    stat: Flag,
    /// What is directly in the directory.
    list: Flag,
}

async fn file(
    access: Access,
    method: Method,
    Path((id, path)): Path<(String, String)>,
    Query(which): Query<Reading>,
    known: IfNoneMatch,
    wanted: Wanted,
) -> Answer {
    let (id, path): (Uuid, FilePath) = (id.parse()?, path.parse()?);
    if which.stat.0 && which.list.0 {
        return Err(Invalid::parameter("stat", "stands with others: ask one of stat, list").into());
    }
    let engine = &access.engine;
    if which.list.0 {
        return Ok(json(&directory(&engine.reference_readdir(id, &path).await?)));
    }
    let found = engine.reference_stat(id, &path).await?.ok_or(Error::FileNotFound { path })?;
    if which.stat.0 {
        return Ok(json(&api::FileRecord::from(&found)));
    }
    content(engine, &method, &found, &known, &wanted).await
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct WhichValues {
    /// Those whose keys begin with this.
    prefix: String,
    /// Maximum number of items.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
}

async fn values(access: Access, Path(id): Path<String>, Query(which): Query<WhichValues>) -> Answer {
    let id: Uuid = id.parse()?;
    let limit = Some(page_limit(&access.engine, which.limit)?);
    let list = ("referred values", id, which.prefix.clone());
    let (as_of, after) = match which.cursor.as_deref() {
        Some(cursor) => place(&list, cursor, None).map(|(version, after)| (Some(version), after))?,
        None => (None, None),
    };
    let values = Values { prefix: which.prefix, after, limit, as_of };
    let page = access.engine.reference_values(id, values).await?;
    let items = page.items;
    let next_cursor = page.next.map(|next| cursor(&list, page.version, next.as_str()));
    Ok(at_version(page.version, json(&api::Page::new(items, next_cursor, None))))
}

async fn value(access: Access, Path((id, key)): Path<(String, String)>) -> Answer {
    let (id, key): (Uuid, ValueKey) = (id.parse()?, key.parse()?);
    let found = access.engine.reference_value(id, &key).await?;
    let told = found.unwrap_or_else(|| api::Value::missing(key));
    Ok(at_version(told.version, json(&told)))
}
