//! Events, as the Threads contract has them: messages, tool uses, fragments of what the assistant says, results.

use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{Append, AppendEvent, Error, Event, Invalid, Logged, MessageBody, Position, Role, Verb, Version};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::messages::shown;
use super::page_limit;
use super::threads::named;
use crate::access::{Reader, Writing};
use crate::answer::{Answer, at, created, json};
use crate::conditions::{IfMatch, Lease, Retry};
use crate::input::{Body, Path, Query};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Messages",
        "",
        [
            table::get(
                ("listEvents", "/v1/threads/{thread}/events"),
                "Lists messages and other events in the order of the log.",
                list,
                Gives::json::<api::Page<api::LoggedEvent>>("A page of events."),
            ),
            table::post(
                ("appendEvent", "/v1/threads/{thread}/events"),
                "Logs an event: a message, a use of a tool, a fragment of what the assistant says, a result.",
                append,
                Gives::created::<api::Logged>("Where it was logged.").versioned(),
            )
            .example(r#"{"type":"tool_use","data":{"name":"search","input":{"q":"Rome"}}}"#)
            .fails([ErrorCode::ThreadClosed]),
        ],
    )
}

async fn append(
    Writing(access): Writing,
    Path(name): Path<String>,
    if_match: IfMatch,
    lease: Lease,
    Retry(retry): Retry,
    Body(asked): Body<api::NewEvent>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let engine = lease.engine(&access.engine, &thread);
    let expected = if_match.version();
    let version = if asked.kind == "message" {
        let said: api::SaidMessage = api::parse_body(asked.data.as_str())?;
        match said.role {
            Role::User | Role::Assistant => {}
            other @ (Role::Info | Role::Tool | Role::System) => {
                let rule = format!("'{other}' is not a role of messages here: user or assistant");
                return Err(Invalid::body("role", rule).into());
            }
        }
        let messages = vec![MessageBody::with_content(said.role, said.content).into()];
        let append = Append { messages, expected, idempotency_key: retry };
        engine.append(thread.id, append).await?.pop().ok_or(Error::Busy)?.version
    } else {
        let event = Event { kind: asked.kind.parse()?, data: asked.data };
        engine.append_event(thread.id, AppendEvent { event, expected }).await?
    };
    Ok(at(version, created(&api::Logged { version })))
}

/// From where on to read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct After {
    /// The events after this version.
    after: Option<Version>,
    /// How many items at most.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
}

/// Where an event stands: what was inserted later than others, with what it stands before.
fn place(logged: &Logged) -> Position {
    match logged {
        Logged::Message(message) => message.id.position,
        Logged::Event { version, .. } => *version,
    }
}

async fn list(reader: Reader, Path(name): Path<String>, Query(after): Query<After>) -> Answer {
    let limit = page_limit(&reader.engine, after.limit)?;
    let (thread, standing) = reader.seen(&name, Verb::Read).await?;
    let all = reader.engine.events(thread.id).await?;
    let begin = after.after.map_or(0, |after| {
        let last = all.iter().position(|logged| place(logged) == after);
        last.map_or_else(|| all.iter().take_while(|logged| place(logged) <= after).count(), |last| last + 1)
    });
    let page = all.iter().skip(begin).take(limit);
    let mut items = Vec::new();
    for logged in page {
        items.push(match logged {
            Logged::Message(message) => api::LoggedEvent::message(place(logged), &shown(message, standing)?),
            Logged::Event { version, created, event } => api::LoggedEvent::event(*version, *created, event),
        });
    }
    let more = all.len() > begin + items.len();
    let next_cursor = items.last().filter(|_| more).map(|last| last.version.to_string());
    Ok(json(&api::Page { items, next_cursor, total: Some(all.len() as u64) }))
}
