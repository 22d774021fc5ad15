//! `memories`, `add-memory`, `search-memories` and the other calls about memories.

use threadkeep_calls::{
    AddMemory, AddProjectMemory, DeleteMemory, Deleted, EditMemory, GetMemory, ListMemories, ListProjectMemories,
    MemoriesFound, Memory, Page, SearchMemories,
};
use threadkeep_model::{ThreadId, ThreadName};

use crate::ground::carry::Carry;
use crate::ground::cursor::{after, no_cursor, read};
use crate::memory::{Among, NewMemory};
use crate::{Engine, Error, Result};

async fn page(
    engine: &Engine,
    project: Option<&str>,
    limit: Option<usize>,
    cursor: Option<&str>,
) -> Result<Page<Memory>> {
    let limit = engine.page_limit(limit)?;
    let list = ("memories", engine.caller.account.clone(), project.map(str::to_owned));
    let last = match cursor {
        Some(cursor) => Some(read(&list, cursor)?.parse().map_err(|_| no_cursor())?),
        None => None,
    };
    let mut items = engine.memories(project, last, limit + 1).await?;
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| after(&list, &last.id.to_string()));
    Ok(Page::new(items, next, None))
}

/// The thread whose secrets the text must not hold: the one that it was taken from.
async fn told_in(engine: &Engine, thread: Option<ThreadName>) -> Result<Option<ThreadId>> {
    engine.resolve(thread).await
}

impl Carry for ListMemories {
    type Made = Page<Memory>;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Page<Memory>> {
        page(engine, None, self.limit, self.cursor.as_deref()).await
    }
}

impl Carry for ListProjectMemories {
    type Made = Page<Memory>;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Page<Memory>> {
        if engine.project(&self.project).await?.is_none() {
            return Err(Error::ProjectNotFound { project: self.project });
        }
        page(engine, Some(&self.project), self.limit, self.cursor.as_deref()).await
    }
}

impl Carry for AddMemory {
    type Made = Memory;

    async fn names(&self, engine: &Engine) -> Result<Option<ThreadId>> {
        told_in(engine, self.thread_id).await
    }

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Memory> {
        let Self { text, sources, thread_id } = self;
        engine.remember(NewMemory { text, project: None, sources, thread: thread_id }).await
    }
}

impl Carry for AddProjectMemory {
    type Made = Memory;

    async fn names(&self, engine: &Engine) -> Result<Option<ThreadId>> {
        told_in(engine, self.thread_id).await
    }

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Memory> {
        let Self { project, text, sources, thread_id } = self;
        engine.remember(NewMemory { text, project: Some(project), sources, thread: thread_id }).await
    }
}

impl Carry for GetMemory {
    type Made = Memory;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Memory> {
        engine.memory(self.memory).await
    }
}

impl Carry for EditMemory {
    type Made = Memory;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Memory> {
        engine.edit_memory(self.memory, self.text).await
    }
}

impl Carry for DeleteMemory {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Deleted> {
        Ok(Deleted { deleted: engine.delete_memory(self.memory).await? })
    }
}

impl Carry for SearchMemories {
    type Made = MemoriesFound;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<MemoriesFound> {
        let among = self.project_id.map_or(Among::All, |project| Among::Project(Some(project)));
        Ok(MemoriesFound { results: engine.find_memories(&self.query, &among, self.limit).await? })
    }
}
