//! One stream over many threads.

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::get;
use serde::Deserialize;
use threadkeep::{FeedCursor, Invalid, ThreadName, Verb};

use crate::access::Access;
use crate::answer::Answer;
use crate::app::App;
use crate::following::{Following, Threads, Which, place};
use crate::input::Query;
use crate::stream::{events, ids_of, no_cursor, resumed};

/// Threads that one stream may name.
const NAMED_MAX: usize = 1_000;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/stream", get(stream))
}

/// Which threads to follow, and from where on.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Asked {
    threads: Option<String>,
    project_id: Option<String>,
    after: Option<String>,
    /// Read by whoever lets the request in.
    ticket: Option<String>,
}

async fn stream(State(app): State<App>, access: Access, headers: HeaderMap, Query(asked): Query<Asked>) -> Answer {
    let which = match (&asked.threads, asked.project_id) {
        (Some(names), None) => {
            let mut threads = std::collections::HashSet::new();
            for name in ids_of(names) {
                let (thread, _) = access.engine.seen(name.parse::<ThreadName>()?, Verb::Stream).await?;
                threads.insert(thread.id);
                if threads.len() > NAMED_MAX {
                    let rule = format!("names at most {NAMED_MAX} threads");
                    return Err(Invalid::parameter("threads", rule).into());
                }
            }
            Which::These(threads)
        }
        (None, Some(project)) => Which::Project(project, std::collections::HashSet::new()),
        _ => return Err(Invalid::parameter("threads", "name either threads=ID,ID or projectId=ID").into()),
    };
    let after = match resumed(&headers, asked.after.as_deref()) {
        None => FeedCursor(0),
        Some("latest") => access.engine.feed_latest().await?,
        Some(text) => place(text).ok_or_else(|| no_cursor("is not a cursor that this stream gave, or latest"))?,
    };
    let threads = Threads::follow(&access.engine, which, after).await?;
    Ok(events(&app, Following::Threads(threads), Some(access.key)))
}
