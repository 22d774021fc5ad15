//! Calls that read a thread: itself, its messages, its history, its family; and custom events, which leave no trace.

use threadkeep_calls as calls;
use threadkeep_calls::{
    Archived, Emit, EmitTold, GetFamily, GetHistory, GetMessage, GetModelMessages, GetThread, ListEvents, ListMessages,
    ListRelationships, ListSort, ListThreads, LoggedEvent, Mention, ModelMessage, Order, Relationship,
};
use threadkeep_model::{Head, Invalid, Message, Position, Thread, ThreadId, Version};
use threadkeep_store as store;

use crate::events::Logged;
use crate::ground::carry::Carry;
use crate::ground::policy::Verb;
use crate::ops::list::{List, ThreadPage};
use crate::shown::{Seen, ShownHistory, ShownMessages, message};
use crate::{Engine, Error, FamilyPage, Page, Result};

impl Carry for GetThread {
    type Made = Seen<Thread>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Seen<Thread>> {
        let (read, standing) = engine.seen(thread, Verb::Read).await?;
        Ok(Seen { read, standing })
    }
}

impl Carry for ListThreads {
    type Made = ThreadPage;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<ThreadPage> {
        if let Some(prefix) = &self.id_prefix {
            if (Self { id_prefix: None, limit: None, ..self.clone() }) != Self::default() {
                return Err(Invalid::parameter(
                    "idPrefix",
                    "cannot be combined with other filters; only limit may accompany it",
                )
                .into());
            }
            let items = engine.threads_by_prefix(prefix, engine.page_limit(self.limit)?).await?;
            return Ok(ThreadPage { items, next: None, total: None });
        }
        let list = List {
            archived: match self.archived.unwrap_or_default() {
                Archived::No => store::Archived::No,
                Archived::Yes => store::Archived::Yes,
                Archived::Any => store::Archived::Any,
            },
            agent_id: self.agent_id,
            project_id: self.project_id,
            lifecycle: self.lifecycle,
            visibility: self.visibility,
            metadata: self.metadata.map(|metadata| metadata.0),
            tag: self.tag,
            // A thread that is not there has no threads under it.
            parent_id: engine.resolve(self.parent_id).await?,
            main_thread_id: engine.resolve(self.main_thread_id).await?,
            created_after: self.created_after,
            created_before: self.created_before,
            updated_after: self.updated_after,
            updated_before: self.updated_before,
            title: self.title,
            sort: match self.sort.unwrap_or_default() {
                ListSort::Updated => store::ListSort::Updated,
                ListSort::Created => store::ListSort::Created,
            },
            limit: self.limit,
            cursor: self.cursor,
            offset: self.offset,
            total: self.total,
        };
        engine.list(list).await
    }
}

impl Page {
    /// The page that a call asks for.
    pub fn of(asked: &ListMessages) -> Self {
        let page = asked.cursor.clone().map_or_else(Page::first, Page::after);
        let page = match asked.order.unwrap_or_default() {
            Order::Ascending => page,
            Order::Descending => page.newest_first(),
        };
        let page = asked.limit.into_iter().fold(page, Page::limit);
        let page = asked.offset.into_iter().fold(page, Page::offset);
        let page = asked.role.into_iter().fold(page, Page::role);
        let page = asked.max_depth.into_iter().fold(page, Page::max_depth);
        let page = asked.as_of.into_iter().fold(page, Page::as_of);
        let page = if asked.counts() { page } else { page.uncounted() };
        if asked.include_silent { page.include_silent() } else { page }
    }
}

impl Carry for ListMessages {
    type Made = Seen<ShownMessages>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Seen<ShownMessages>> {
        let standing = engine.standing(thread, Verb::Read).await?;
        if let Some(from) = self.from {
            engine.call(from, Mention::of(thread)).await?;
        }
        let page = match self.around {
            Some(message) => Page::of(&self).around(engine.message_id(message).await?),
            None => Page::of(&self),
        };
        let page = engine.messages(thread, page).await?;
        let total = self.counts().then_some(page.total);
        let (first, falls) = (page.first_index, page.falls);
        let read = ShownMessages { items: page.items, next: page.next, total, first, falls, version: page.version };
        Ok(Seen { read, standing })
    }
}

impl Carry for GetMessage {
    type Made = Seen<Message>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Seen<Message>> {
        let standing = engine.standing(thread, Verb::Read).await?;
        let message = engine.message_id(self.message).await?;
        Ok(Seen { read: engine.message(thread, message, None).await?, standing })
    }
}

impl Carry for GetHistory {
    type Made = Seen<ShownHistory>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Seen<ShownHistory>> {
        let limit = engine.page_limit(self.limit)?;
        let (found, standing) = engine.seen(thread, Verb::Read).await?;
        let after = reached(self.after, &found.head)?;
        let entries = engine.history_page(thread, after, limit).await?;
        let last = entries.last().filter(|last| last.version < found.head.version);
        let next = last.map(|last| last.version.to_string());
        let reader = engine.caller.account.clone();
        Ok(Seen { read: ShownHistory { entries, next, reader }, standing })
    }
}

impl Carry for GetModelMessages {
    type Made = Vec<ModelMessage>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Vec<ModelMessage>> {
        engine.standing(thread, Verb::Read).await?;
        engine.model_messages_within(thread, self.as_of, self.context_tokens).await
    }
}

impl Carry for ListEvents {
    type Made = calls::Page<LoggedEvent>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<calls::Page<LoggedEvent>> {
        let limit = engine.page_limit(self.limit)?;
        let (found, standing) = engine.seen(thread, Verb::Read).await?;
        let after = reached(self.after, &found.head)?;
        let all = engine.events(thread).await?;
        let last = all.iter().position(|logged| place(logged) == after);
        let begin =
            last.map_or_else(|| all.iter().take_while(|logged| place(logged) <= after).count(), |last| last + 1);
        let mut items = Vec::new();
        for logged in all.iter().skip(begin).take(limit) {
            items.push(match logged {
                Logged::Message(said) => LoggedEvent::message(place(logged), &message(said, standing)?),
                Logged::Event { version, created, event } => LoggedEvent::event(*version, *created, event),
            });
        }
        let more = all.len() > begin + items.len();
        let next_cursor = items.last().filter(|_| more).map(|last| last.version.to_string());
        Ok(calls::Page::new(items, next_cursor, Some(all.len() as u64)))
    }
}

/// The version after which a list begins. One that the thread has not reached is of another thread, and is refused.
fn reached(after: Option<Version>, head: &Head) -> Result<Version> {
    let after = after.unwrap_or(Position::START);
    if after > head.version {
        return Err(Error::VersionInFuture { version: after, current: head.version });
    }
    Ok(after)
}

/// The place of an event: one inserted later is placed with the message that it precedes.
fn place(logged: &Logged) -> Position {
    match logged {
        Logged::Message(message) => message.id.position,
        Logged::Event { version, .. } => *version,
    }
}

impl Carry for GetFamily {
    type Made = calls::Family;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<calls::Family> {
        let Self { depth, breadth, limit, cursor } = self;
        Ok(engine.family_page(thread, FamilyPage { depth, breadth, limit, cursor }).await?.shown(thread))
    }
}

impl Carry for ListRelationships {
    type Made = calls::Page<Relationship>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<calls::Page<Relationship>> {
        let name = |item: &Relationship| {
            format!("relationship {} {:?} {:?} {}", item.thread_id, item.kind, item.role, item.created_at)
        };
        engine.part(thread, engine.relationships(thread).await?, (self.limit, self.cursor), name)
    }
}

impl Carry for Emit {
    type Made = EmitTold;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<EmitTold> {
        Ok(EmitTold { listeners: engine.emit(thread, &self.event, self.data).await? })
    }
}
