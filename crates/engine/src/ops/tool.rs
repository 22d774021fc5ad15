//! `queue-tool`, and what an invoked tool leaves in the log: its result, what it queued and scheduled, in one commit.

use bytes::Bytes;
use threadkeep_calls::{ListQueuedTools, NewMessage, Page, QueueTool, QueuedTool, ScheduleEffect};
use threadkeep_model::{
    BlobId, Capability, Entry, Event, Invalid, ItemKind, Json, MessageId, MessageQueued, NewEntry, QueuedId, Role,
    Thread, ThreadId, ToolQueued, ToolTaken, Uuid, Version,
};
use threadkeep_store::{BoxFuture, Item, ItemQuery, StoreError};

use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::{Plan, Told};
use crate::{Engine, Error, Result};

/// Most tools that wait on a thread.
const QUEUED_TOOLS_MAX: usize = 100;

/// Calls of a tool, or of other code of definitions, that are held back until it ends.
#[derive(Debug, Clone, Default)]
pub struct Held {
    /// Messages to queue, in order.
    pub messages: Vec<NewMessage>,
    /// Tools to queue, in order.
    pub tools: Vec<QueueTool>,
    /// Effects to schedule, in order. The code knows their ids already.
    pub effects: Vec<ScheduleEffect>,
}

impl Held {
    /// How many calls are held back.
    pub fn count(&self) -> usize {
        self.messages.len() + self.tools.len() + self.effects.len()
    }

    /// Adds those of `other`, after its own.
    pub fn extend(&mut self, other: Self) {
        self.messages.extend(other.messages);
        self.tools.extend(other.tools);
        self.effects.extend(other.effects);
    }
}

/// Calls that were held back, checked.
#[derive(Debug, Default)]
pub(crate) struct PreparedHeld {
    pub(crate) entries: Vec<Entry>,
    pub(crate) blobs: Vec<(BlobId, Bytes)>,
    silent: usize,
    loud: usize,
    tools: usize,
    effects: usize,
}

impl Carry for QueueTool {
    type Made = QueuedTool;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<QueuedTool> {
        let entry = engine.tool_entry(&self)?;
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                engine.refuse_tools(&thread, 1).await?;
                Ok(Plan::new(thread, vec![entry.clone()]))
            })
            .await?;
        queued(told)
    }
}

impl Carry for ListQueuedTools {
    type Made = Page<QueuedTool>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<QueuedTool>> {
        let queued = engine.queued_tools(thread).await?;
        engine.part(thread, queued, (self.limit, self.cursor), |item| format!("tool {}", item.id))
    }
}

fn queued(mut told: Told) -> Result<QueuedTool> {
    let position = told.position(told.entries.len().saturating_sub(1));
    match told.entries.pop() {
        Some(Entry::ToolQueued(ToolQueued { tool, args })) => {
            let id = QueuedId(MessageId { segment: told.place.segment, position });
            Ok(QueuedTool { id, tool, args, actor: (*told.by).clone(), created_at: told.place.time })
        }
        _ => Err(Error::broken("a queued tool is the last entry")),
    }
}

impl Engine {
    /// Logs the result of a tool with all that it held back: everything, or nothing. Code that is no tool has no result.
    ///
    /// # Errors
    /// As [`Engine::append_event`] and the calls that were held back. Nothing is logged then.
    pub fn log_tool(&self, thread: ThreadId, result: Option<Event>, held: Held) -> BoxFuture<'_, Result<Version>> {
        Box::pin(async move {
            let held = self.prepare_held(held).await?;
            let mut entries: Vec<Entry> = result.map(Entry::EventLogged).into_iter().collect();
            for entry in &entries {
                self.refuse_large(NewEntry::new(entry).bytes)?;
            }
            entries.extend(held.entries.iter().cloned());
            let told = self
                .tell(thread, || async {
                    let thread = self.thread(thread).await?;
                    self.admit_held(&thread, &held).await?;
                    open_for(&thread, Change::Content)?;
                    Ok(Plan::new(thread, entries.clone()).bringing(held.blobs.iter().cloned()))
                })
                .await?;
            Ok(told.place.first)
        })
    }

    /// Checks calls that were held back, as far as no thread is needed for that.
    pub(crate) async fn prepare_held(&self, held: Held) -> Result<PreparedHeld> {
        let mut prepared = PreparedHeld { tools: held.tools.len(), effects: held.effects.len(), ..Default::default() };
        for message in held.messages {
            let (message, brought) = self.prepare_one(message)?;
            match message.role {
                Role::User | Role::Assistant => {}
                Role::Info | Role::Tool | Role::System => {
                    return Err(Invalid::body("role", "is user or assistant, for a queued message").into());
                }
            }
            *(if message.silent { &mut prepared.silent } else { &mut prepared.loud }) += 1;
            prepared.entries.push(Entry::MessageQueued(MessageQueued { message }));
            prepared.blobs.extend(brought);
        }
        for tool in &held.tools {
            prepared.entries.push(self.tool_entry(tool)?);
        }
        for effect in held.effects {
            prepared.entries.push(Entry::EffectScheduled(self.scheduled(effect).await?));
        }
        for entry in &prepared.entries {
            self.refuse_large(NewEntry::new(entry).bytes)?;
        }
        Ok(prepared)
    }

    /// Passes if `thread` takes all that was held back.
    pub(crate) async fn admit_held(&self, thread: &Thread, held: &PreparedHeld) -> Result<()> {
        for (silent, count) in [(true, held.silent), (false, held.loud)] {
            if count > 0 {
                self.refuse_queueing_more(thread, silent, count).await?;
            }
        }
        if held.tools > 0 {
            self.refuse_tools(thread, held.tools).await?;
        }
        if held.effects > 0 {
            self.admit_more_effects(thread, held.effects).await?;
        }
        Ok(())
    }

    /// Passes if one more message can be queued beside `held` others that are not committed yet.
    ///
    /// # Errors
    /// [`Error::QueueFull`], [`Error::ThreadTerminated`], [`Error::ThreadClosed`].
    pub fn may_queue(&self, thread: ThreadId, silent: bool, held: usize) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let thread = self.thread(thread).await?;
            self.refuse_queueing_more(&thread, silent, held + 1).await
        })
    }

    /// A new id, from the chance of the engine.
    pub fn new_id(&self) -> Uuid {
        Uuid::from_chance(self.shared.world.chance())
    }

    /// The tools that wait on a thread, in order.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn queued_tools(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<QueuedTool>>> {
        Box::pin(async move {
            let thread = self.thread(thread).await?;
            self.waiting_tools(&thread).await
        })
    }

    pub(crate) async fn waiting_tools(&self, thread: &Thread) -> Result<Vec<QueuedTool>> {
        let query = ItemQuery { thread: thread.id, kind: ItemKind::QueuedTool, key: None, limit: usize::MAX };
        let mut waiting = Vec::new();
        for item in self.shared.stores.store.items(query).await? {
            waiting.push(self.read_queued_tool(&item).await?);
        }
        waiting.sort_by_key(|queued| queued.id.0.position);
        Ok(waiting)
    }

    /// The entries that take tools out of the queue, one for each.
    pub(crate) fn take_tools(waiting: &[QueuedTool]) -> impl Iterator<Item = Entry> {
        waiting.iter().map(|queued| Entry::ToolTaken(ToolTaken { item: queued.id }))
    }

    async fn read_queued_tool(&self, item: &Item) -> Result<QueuedTool> {
        match self.decode(&item.entry).await? {
            Entry::ToolQueued(ToolQueued { tool, args }) => {
                let (actor, created_at) = ((*item.entry.actor).clone(), item.entry.time);
                Ok(QueuedTool { id: QueuedId(item.born), tool, args, actor, created_at })
            }
            other => Err(StoreError::corrupt(format!("item {} is a {} entry", item.key, other.kind().as_str())).into()),
        }
    }

    fn tool_entry(&self, call: &QueueTool) -> Result<Entry> {
        if call.tool.is_empty() || call.tool.len() > Capability::TOOL_BYTES_MAX {
            let rule = format!("has 1 to {} bytes", Capability::TOOL_BYTES_MAX);
            return Err(Invalid::body("tool", rule).into());
        }
        if let Some(defined) = &self.defined {
            defined.tool(&call.tool)?;
        }
        let args = call.args.clone().map_or_else(|| Json::parse("args", "{}"), Ok)?;
        if !args.is_object() {
            return Err(Invalid::body("args", "must be a JSON object").into());
        }
        let entry = Entry::ToolQueued(ToolQueued { tool: call.tool.clone(), args });
        self.refuse_large(NewEntry::new(&entry).bytes)?;
        Ok(entry)
    }

    async fn refuse_tools(&self, thread: &Thread, more: usize) -> Result<()> {
        self.refuse_queueing_more(thread, true, 0).await?;
        let query = ItemQuery { thread: thread.id, kind: ItemKind::QueuedTool, key: None, limit: QUEUED_TOOLS_MAX };
        if self.shared.stores.store.items(query).await?.len() + more > QUEUED_TOOLS_MAX {
            return Err(Error::QueueFull { max: QUEUED_TOOLS_MAX, silent: false });
        }
        Ok(())
    }
}
