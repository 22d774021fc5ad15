//! Searches: what conversations say, found; the index, brought up to date; and how it stands.

use std::time::Instant;

use axum::extract::State;
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::admin::quiet;
use crate::access::{Access, Writing};
use crate::answer::{Answer, json};
use crate::app::App;
use crate::input::Body;
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Search",
        "Conversations by what they say: by their words, and by what they mean.",
        [
            table::post(
                ("search", "/v1/search"),
                "Finds the account's threads that answer a question, the best first, each opened at its best message.",
                search,
                Gives::json::<api::SearchFound>("What was found; no results if nothing matches."),
            )
            .example(
                r#"{"query":"how do we rotate the \"signing keys\"","agentId":"writer","after":"2026-01-01T00:00:00Z","limit":5,"contextWindow":3}"#,
            )
            .fails([ErrorCode::InvalidThreadId, ErrorCode::ThreadNotFound]),
            table::post(
                ("backfillSearch", "/v1/search/backfill"),
                "Brings everything into the index that is not in it, and drops what no thread shows any more.",
                backfill,
                Gives::json::<api::Backfilled>("What was done, counted for the account."),
            )
            .example(r#"{"agentId":"writer"}"#)
            .fails([ErrorCode::EmbedderFailed]),
            table::get(
                ("getSearchStatus", "/v1/search/status"),
                "Says how far the index follows the log, and how large it is for the account.",
                status,
                Gives::json::<api::SearchStatus>("How it stands."),
            ),
        ],
    )
}

async fn search(access: Access, Body(asked): Body<api::SearchThreads>) -> Answer {
    let begun = Instant::now();
    let thread = match asked.thread()? {
        Some(name) => Some(access.engine.thread(name).await?.id),
        None => None,
    };
    let found = access.engine.search(asked.asked(thread)?).await?;
    Ok(json(&api::SearchFound::new(&found, begun.elapsed())))
}

async fn backfill(Writing(access): Writing, Body(asked): Body<api::RunBackfill>) -> Answer {
    Ok(json(&api::Backfilled::from(access.engine.backfill(asked.agent_id, quiet()).await?)))
}

async fn status(access: Access, State(app): State<App>) -> Answer {
    let status = access.engine.index_status().await?;
    Ok(json(&api::SearchStatus::new(status, app.settings.search_index)))
}
