//! Messages and events together, in the order in which they were logged: the Threads contract calls both events.

use std::collections::VecDeque;

use threadkeep_model::{Entry, Event, Kind, Message, Position, ThreadId, Timestamp, Version};
use threadkeep_store::{BoxFuture, EntryQuery, Order};

use crate::ground::policy::Verb;
use crate::{Engine, Page, Result};

/// Entries read at once.
const READ_AT_ONCE: usize = 500;

/// A message or an event of a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Logged {
    /// A message, as the thread shows it.
    Message(Message),
    /// Something that is not a message.
    Event {
        /// Its version in the log.
        version: Version,
        /// When it was logged.
        created: Timestamp,
        /// The event as it was logged.
        event: Event,
    },
}

impl Engine {
    /// All messages that a thread shows and all events in its lineage, in the order of the log.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`].
    pub fn events(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Logged>>> {
        Box::pin(async move {
            let mut page = Page::first();
            let mut messages = Vec::new();
            let version = loop {
                let found = self.messages(thread, page.everything().limit(self.shared.limits.page_max)).await?;
                messages.extend(found.items);
                match found.next {
                    Some(cursor) => page = Page::after(cursor),
                    None => break found.version,
                }
            };
            let mut events = self.events_at(thread, version).await?;
            // An inserted message precedes one that came earlier, and holds up nothing.
            let mut earliest_after = Position::END;
            let mut appended: Vec<bool> = Vec::with_capacity(messages.len());
            for message in messages.iter().rev() {
                appended.push(message.id.position < earliest_after);
                earliest_after = earliest_after.min(message.id.position);
            }
            let mut logged = Vec::with_capacity(messages.len() + events.len());
            for (message, appended) in messages.into_iter().zip(appended.into_iter().rev()) {
                while appended && let Some(event) = events.pop_front_if(|(at, _)| *at < message.id.position) {
                    logged.push(event.1);
                }
                logged.push(Logged::Message(message));
            }
            logged.extend(events.into_iter().map(|(_, event)| event));
            Ok(logged)
        })
    }

    /// The events in a thread's lineage as of `version`, with their positions.
    async fn events_at(&self, thread: ThreadId, version: Version) -> Result<VecDeque<(Position, Logged)>> {
        let head = self.head(thread, Verb::Read).await?;
        let view = self.view(thread, &head, Some(version)).await?;
        let spans: Vec<_> = view.lineage.spans(view.bounds, &view.tally).collect();
        let mut events = VecDeque::new();
        for span in spans.iter().rev() {
            let mut from = span.segment().first;
            while from <= span.bounds.messages {
                let query = EntryQuery {
                    segment: span.segment().id,
                    positions: from..=span.bounds.messages,
                    order: Order::Ascending,
                    limit: READ_AT_ONCE,
                };
                let entries = self.shared.stores.store.entries(query).await?;
                let Some(last) = entries.last() else { break };
                from = last.position.next();
                for entry in entries.iter().filter(|entry| entry.kind == Kind::EventLogged) {
                    if let Entry::EventLogged(event) = self.decode(entry).await? {
                        let logged = Logged::Event { version: entry.position, created: entry.time, event };
                        events.push_back((entry.position, logged));
                    }
                }
            }
        }
        Ok(events)
    }
}
