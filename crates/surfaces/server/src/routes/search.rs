//! The state of the search index. Searches themselves are calls of the list.

use axum::extract::State;
use threadkeep_calls::SearchStatus;

use crate::access::Access;
use crate::answer::{Answer, json};
use crate::app::App;
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    let status = table::get(
        ("getSearchStatus", "/v1/search/status"),
        "Shows how far the search index follows the log, and its size for the account.",
        status,
        Gives::json::<SearchStatus>("The state."),
    );
    Routes::new("Search", "", [status])
}

async fn status(access: Access, State(app): State<App>) -> Answer {
    Ok(json(&access.engine.index_status().await?.shown(app.settings.search_index)))
}
