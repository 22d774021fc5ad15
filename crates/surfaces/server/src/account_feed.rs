//! All changes of an account as small notes over one WebSocket: which thread, its version, the kind of the entry. A page
//! that shows many threads reads what it needs of them.

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;
use threadkeep::{Account, Engine, Error, Fed, FeedCursor, FeedNews, FeedReader, ThreadId};
use threadkeep_calls::Change;

use crate::access::Access;
use crate::answer::Answer;
use crate::app::App;
use crate::following::{Following, cursor, one_line, place};
use crate::input::Query;
use crate::stream::{no_cursor, over_socket};
use crate::table::{self, Gives, Routes};
use crate::told::Told;

/// Threads that a stream remembers, so that it can tell when one is deleted.
const MEMBERS_MAX: usize = 100_000;

pub(crate) fn routes() -> Routes {
    let socket = table::get(
        ("openAccountSocket", "/v1/ws"),
        "Follows all threads of the account over a WebSocket. A frame holds a thread, its version, the kind of the change and a cursor.",
        socket,
        Gives::nothing(101, "The socket is open."),
    );
    Routes::new("Streams", "", [socket])
}

/// From where on to follow, and with what ticket.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct After {
    /// A cursor of this stream, or `latest`. Default: `latest`.
    after: Option<String>,
    /// A ticket, in place of a key.
    ticket: Option<String>,
}

async fn socket(
    State(app): State<App>,
    access: Access,
    Query(after): Query<After>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer {
    let after = match after.after.as_deref() {
        None | Some("latest") => access.engine.feed_latest().await?,
        Some(text) => place(text, &app.residence.mark)
            .ok_or_else(|| no_cursor("is not a cursor that this stream gave, or latest"))?,
    };
    let changes = Changes::follow(&access.engine, after, app.residence.mark.clone()).await?;
    over_socket(app, Following::Changes(Box::new(changes)), Some(access.opened), upgrade)
}

/// The changes of an account.
pub(crate) struct Changes {
    engine: Engine,
    pub(crate) feed: FeedReader,
    members: HashSet<ThreadId>,
    /// Stands in its cursors.
    mark: Arc<str>,
}

impl Changes {
    async fn follow(engine: &Engine, after: FeedCursor, mark: Arc<str>) -> Result<Self, Error> {
        Ok(Self { engine: engine.clone(), feed: engine.feed(after).await?, members: HashSet::new(), mark })
    }

    pub(crate) fn account(&self) -> &Account {
        &self.engine.caller().account
    }

    /// Waits for the next change. Cancelling it loses nothing: a change is told at once when it was read.
    pub(crate) async fn next(&mut self) -> Result<Option<Told>, Error> {
        loop {
            let fed = self.feed.next_fed().await?;
            if let Some(change) = self.change(&fed) {
                return Ok(Some(Told::new(Some(&change.cursor), &change.kind, &one_line(&change)?)));
            }
        }
    }

    /// The change, if it is one of the account.
    fn change(&mut self, fed: &Fed) -> Option<Change> {
        let Fed { item, thread } = fed;
        let account = &self.engine.caller().account;
        let own = thread.as_deref().filter(|thread| thread.account == *account);
        let (version, kind) = match (&item.news, own) {
            (FeedNews::Entry(entry), Some(_)) => (Some(entry.position), entry.kind.as_str()),
            (FeedNews::Began(segment), Some(thread)) if thread.created >= segment.created => (None, "thread_created"),
            (FeedNews::Deleted, _) if self.members.remove(&item.thread) => (None, "thread_deleted"),
            // Other branches begin with an entry that says so.
            (FeedNews::Entry(_), None) | (FeedNews::Began(_) | FeedNews::Deleted, _) => return None,
        };
        if own.is_some() && self.members.len() < MEMBERS_MAX {
            self.members.insert(item.thread);
        }
        Some(Change { cursor: cursor(item.cursor, &self.mark), thread_id: item.thread, version, kind: kind.to_owned() })
    }
}
