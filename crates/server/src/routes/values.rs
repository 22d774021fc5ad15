//! Values: JSON under a key. Nothing under a key is null, and no error.

use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{Json, SetValue, ValueKey, Values, Verb, Version};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::file_list::{cursor, place};
use super::page_limit;
use super::threads::named;
use crate::access::{Reader, Writing};
use crate::answer::{Answer, at, json};
use crate::conditions::{Lease, ValueIs};
use crate::input::{Body, Path, Query};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    const ONE: &str = "/v1/threads/{thread}/kv/{valueKey}";
    Routes::new(
        "Files and values",
        "",
        [
            table::get(
                ("listValues", "/v1/threads/{thread}/kv"),
                "Lists values, in the order of their keys.",
                list,
                Gives::json::<api::Page<api::Value>>("A page of values.").versioned(),
            )
            .fails([ErrorCode::InvalidCursor, ErrorCode::VersionInFuture]),
            table::get(
                ("getValue", ONE),
                "Shows the value under a key. Where there is none, it is null, with version 0.",
                show,
                Gives::json::<api::Value>("The value; `ETag` is its own version.").versioned(),
            )
            .fails([ErrorCode::VersionInFuture]),
            table::put(
                ("setValue", ONE),
                "Sets the value under a key to any JSON; null takes it away.",
                set,
                Gives::json::<api::Value>("The value as it is kept; `ETag` is its own version.").versioned(),
            )
            .example(r#"{"theme":"dark"}"#)
            .fails([ErrorCode::ThreadClosed]),
            table::delete(
                ("deleteValue", ONE),
                "Takes the value under a key away.",
                delete,
                Gives::json::<api::Deleted>("Whether there was one."),
            )
            .fails([ErrorCode::ThreadClosed]),
        ],
    )
}

/// Which values.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Which {
    /// Those whose keys begin with this.
    prefix: String,
    /// How many items at most.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where the page before ended.
    cursor: Option<String>,
    /// As the thread was at this version.
    as_of: Option<Version>,
}

async fn list(reader: Reader, Path(name): Path<String>, Query(which): Query<Which>) -> Answer {
    let limit = page_limit(&reader.engine, which.limit)?;
    let (thread, _) = reader.seen(&name, Verb::ReadFile).await?;
    let (version, after) = match which.cursor.as_deref() {
        Some(cursor) => place::<ValueKey>(cursor, which.as_of)?,
        None => (which.as_of.unwrap_or(thread.head.version), None),
    };
    let values = Values { prefix: which.prefix, after, limit: Some(limit), as_of: Some(version) };
    let (found, next) = reader.engine.values(thread.id, values).await?;
    let items: Vec<_> = found.into_iter().map(api::Value::from).collect();
    let next_cursor = next.map(|next| cursor(version, next.as_str()));
    Ok(at(version, json(&api::Page { items, next_cursor, total: None })))
}

/// As of which version.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct AsOf {
    /// As the thread was at this version.
    as_of: Option<Version>,
}

async fn show(reader: Reader, Path((name, key)): Path<(String, String)>, Query(which): Query<AsOf>) -> Answer {
    let key: ValueKey = key.parse()?;
    let (thread, _) = reader.seen(&name, Verb::ReadFile).await?;
    let found = reader.engine.value(thread.id, &key, which.as_of).await?;
    let told = found.map_or_else(|| api::Value::missing(key), api::Value::from);
    Ok(at(told.version, json(&told)))
}

async fn set(
    Writing(access): Writing,
    Path((name, key)): Path<(String, String)>,
    ValueIs(if_version): ValueIs,
    lease: Lease,
    Body(value): Body<Json>,
) -> Answer {
    let key: ValueKey = key.parse()?;
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let set = SetValue { key: key.clone(), value: Some(value), if_version, expected: None };
    let told = engine.set_value(thread.id, set).await?.map_or_else(|| api::Value::missing(key), api::Value::from);
    Ok(at(told.version, json(&told)))
}

async fn delete(
    Writing(access): Writing,
    Path((name, key)): Path<(String, String)>,
    ValueIs(if_version): ValueIs,
    lease: Lease,
) -> Answer {
    let key: ValueKey = key.parse()?;
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let set = SetValue { key, value: None, if_version, expected: None };
    let deleted = engine.delete_value(thread.id, set).await?;
    Ok(json(&api::Deleted { deleted }))
}
