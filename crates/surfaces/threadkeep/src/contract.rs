//! The Threads contract: one boundary for thread CRUD, event logging and episodic search, whatever the store.
//!
//! Callers know agents, threads, messages and events, and nothing of how they are kept. A thread is named by its short
//! id: 12 lower-case hex digits. A name that breaks that rule is an error; one that is unknown is `None`, an empty list,
//! or nothing to do.
//!
//! ```
//! use threadkeep::contract::{ThreadMessage, Threads};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> threadkeep::Result<()> {
//! let threads = Threads::on(threadkeep::open("memory:")?); // or sqlite:PATH, or postgres://…
//! let id = threads.create("researcher", Default::default()).await?;
//! threads.append_message(&id, ThreadMessage::user("What do we know of tides?")).await?;
//! assert_eq!(threads.load_events(&id).await?.len(), 1);
//! assert_eq!(threads.list("researcher").await?[0].short_id, id);
//!
//! threads.backfill("researcher").await?;
//! let found = threads.search("researcher", "what about the tide?", Default::default()).await?;
//! assert_eq!(found[0].thread_id, id);
//! # Ok(())
//! # }
//! ```

mod search;

use threadkeep_calls::{Create, Delete, Update};
use threadkeep_engine::{Engine, Error, List, Logged, Result};
use threadkeep_model::{
    Code, Content, Event, FieldChanges, Invalid, Json, MessageBody, Role, Thread, ThreadId, Timestamp,
};
use threadkeep_store::Archived;

pub use search::{BackfillResult, SearchOptions, SearchResult, SearchResultMessage};

/// Threads of agents, on any store.
#[derive(Clone)]
pub struct Threads {
    engine: Engine,
}

/// What a new thread may begin with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadCreateOpts {
    /// The task it serves.
    pub task_id: Option<String>,
    /// What it is called.
    pub title: Option<String>,
    /// Anything else about it: a JSON object.
    pub metadata: Option<Json>,
}

/// What there is to know of a thread without its events.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadManifest {
    /// Its id: 12 lower-case hex digits.
    pub short_id: String,
    /// The agent whose thread it is.
    pub agent_id: String,
    /// The task it serves.
    pub task_id: Option<String>,
    /// What it is called.
    pub title: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Anything else about it.
    pub metadata: Option<Json>,
}

/// Something a user or an assistant said.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadMessage {
    /// Who said it: [`Role::User`] or [`Role::Assistant`].
    pub role: Role,
    /// The text or the parts of the message.
    pub content: Content,
}

impl ThreadMessage {
    /// A message of the user.
    pub fn user(text: &str) -> Self {
        Self { role: Role::User, content: Content::text(text) }
    }

    /// A message of the assistant.
    pub fn assistant(text: &str) -> Self {
        Self { role: Role::Assistant, content: Content::text(text) }
    }
}

/// Something that happened in a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum ThreadEvent {
    /// A message was appended.
    Message(ThreadMessage),
    /// A tool was used, the assistant wrote a fragment, or a piece of work ended.
    Other(Event),
}

/// An event of a thread, and when it was appended.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedEvent {
    /// When it was appended.
    pub timestamp: Timestamp,
    /// The event as it was logged.
    pub event: ThreadEvent,
}

impl Threads {
    /// The threads that `engine` keeps, for its caller's account.
    pub fn on(engine: Engine) -> Self {
        Self { engine }
    }

    /// Creates a thread for an agent, and returns its id, which no other thread of any agent has.
    ///
    /// # Errors
    /// A blank agent; options that break a rule.
    pub async fn create(&self, agent_id: &str, opts: ThreadCreateOpts) -> Result<String> {
        let mut create = Create::new().field("agentId", Json::string(agent(agent_id)?));
        let texts = [("taskId", opts.task_id), ("title", opts.title)];
        for (field, text) in texts.into_iter().filter_map(|(field, text)| Some((field, text?))) {
            create = create.field(field, Json::string(&text));
        }
        if let Some(metadata) = opts.metadata {
            create = create.field("metadata", metadata);
        }
        Ok(self.engine.create(create).await?.id.short().to_string())
    }

    /// What there is to know of a thread; none if there is no such thread. Its events are not loaded.
    ///
    /// # Errors
    /// If the id is malformed.
    pub async fn get(&self, thread_id: &str) -> Result<Option<ThreadManifest>> {
        Ok(self.find(thread_id).await?.and_then(manifest))
    }

    /// The same as [`Threads::get`].
    ///
    /// # Errors
    /// If the id is malformed.
    pub async fn get_manifest(&self, thread_id: &str) -> Result<Option<ThreadManifest>> {
        self.get(thread_id).await
    }

    /// All threads of an agent, the last changed first.
    ///
    /// # Errors
    /// If the agent id is blank.
    pub async fn list(&self, agent_id: &str) -> Result<Vec<ThreadManifest>> {
        let agent_id = agent(agent_id)?;
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let (limit, archived) = (Some(self.engine.limits().page_max), Archived::Any);
            let page = List { archived, agent_id: Some(agent_id.to_owned()), limit, cursor, ..List::default() };
            let page = self.engine.list(page).await?;
            found.extend(page.items.into_iter().filter_map(|row| manifest(row.thread)));
            cursor = page.next;
            if cursor.is_none() {
                return Ok(found);
            }
        }
    }

    /// Deletes a thread with its events. Nothing happens if there is no such thread.
    ///
    /// # Errors
    /// If the id is malformed.
    pub async fn delete(&self, thread_id: &str) -> Result<()> {
        match self.find(thread_id).await? {
            Some(thread) => self.engine.delete(thread.id, Delete::default()).await.map(drop),
            None => Ok(()),
        }
    }

    /// Appends what a user or an assistant said. It is kept once this returns.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; any other role.
    pub async fn append_message(&self, thread_id: &str, message: ThreadMessage) -> Result<()> {
        let thread = self.existing(thread_id).await?;
        match message.role {
            Role::User | Role::Assistant => {}
            other @ (Role::Info | Role::Tool | Role::System) => {
                let rule = format!("'{other}' is not a role of messages here: user or assistant");
                return Err(Invalid::body("role", rule).into());
            }
        }
        self.engine.append(thread, MessageBody::with_content(message.role, message.content)).await.map(drop)
    }

    /// Appends an event. It is kept once this returns.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; an event that breaks a rule.
    pub async fn append_event(&self, thread_id: &str, event: ThreadEvent) -> Result<()> {
        match event {
            ThreadEvent::Message(message) => self.append_message(thread_id, message).await,
            ThreadEvent::Other(event) => {
                let thread = self.existing(thread_id).await?;
                self.engine.append_event(thread, event).await.map(drop)
            }
        }
    }

    /// All events of a thread, messages among them, in the order in which they were appended.
    ///
    /// # Errors
    /// If the id is malformed.
    pub async fn load_events(&self, thread_id: &str) -> Result<Vec<LoadedEvent>> {
        let Some(thread) = self.find(thread_id).await? else { return Ok(Vec::new()) };
        let logged = match self.engine.events(thread.id).await {
            // It was deleted in between.
            Err(Error::ThreadNotFound { .. }) => return Ok(Vec::new()),
            logged => logged?,
        };
        let load = |logged: Logged| -> Result<LoadedEvent> {
            Ok(match logged {
                Logged::Message(message) => {
                    let body = message.body()?;
                    let event = ThreadEvent::Message(ThreadMessage { role: body.role, content: body.content });
                    LoadedEvent { timestamp: message.created, event }
                }
                Logged::Event { created, event, .. } => {
                    LoadedEvent { timestamp: created, event: ThreadEvent::Other(event) }
                }
            })
        };
        logged.into_iter().map(load).collect()
    }

    /// Merges fields into the manifest: those that are named are replaced whole, null clears. `updatedAt` follows by
    /// itself; what cannot change may be named with the value it has.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; a result that is no manifest. Nothing has changed then.
    pub async fn update_manifest(&self, thread_id: &str, partial: &Json) -> Result<ThreadManifest> {
        let thread = self.existing(thread_id).await?;
        let not_an_object = |_| Error::from(Invalid::body("manifest", "must be a JSON object"));
        let FieldChanges(fields) = partial.read().map_err(not_an_object)?;
        let before = self.get(thread_id).await?.ok_or(Error::ThreadNotFound { thread: thread.into() })?;
        let mut update = Update::new();
        for (field, value) in fields {
            let kept = match field.as_str() {
                "title" | "taskId" | "metadata" => None,
                "agentId" => {
                    let name = value.read::<String>().ok();
                    let name = name.ok_or_else(|| Invalid::body("agentId", "must be a string; a thread has an agent"));
                    agent(&name?)?;
                    None
                }
                "shortId" => Some(before.short_id.clone()),
                "createdAt" => Some(before.created_at.to_string()),
                "updatedAt" => continue,
                other => {
                    let rule = format!("'{other}' is no field of a manifest; put it into metadata");
                    return Err(Invalid::body("manifest", rule).into());
                }
            };
            match kept {
                None => update = update.field(&field, value),
                Some(kept) if value.read::<String>().ok().as_ref() == Some(&kept) => {}
                Some(kept) => return Err(Invalid::body(field, format!("is {kept}, and cannot change")).into()),
            }
        }
        let after = self.engine.update(thread, update).await?;
        manifest(after).ok_or(Error::ThreadNotFound { thread: thread.into() })
    }

    async fn find(&self, thread_id: &str) -> Result<Option<Thread>> {
        let is_short =
            thread_id.len() == 12 && thread_id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !is_short {
            let rule = format!("'{thread_id}' is not a thread id: 12 lower-case hex digits, /^[a-f0-9]{{12}}$/");
            return Err(Invalid::new(Code::InvalidThreadId, "threadId", rule).into());
        }
        let name: threadkeep_model::ThreadName = thread_id.parse()?;
        match self.engine.thread(name).await {
            Ok(thread) => Ok(Some(thread)),
            Err(Error::ThreadNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn existing(&self, thread_id: &str) -> Result<ThreadId> {
        match self.find(thread_id).await? {
            Some(thread) => Ok(thread.id),
            None => Err(Error::ThreadNotFound { thread: thread_id.parse()? }),
        }
    }
}

/// A thread as the contract sees it; none if it has no agent.
fn manifest(thread: Thread) -> Option<ThreadManifest> {
    Some(ThreadManifest {
        short_id: thread.id.short().to_string(),
        agent_id: thread.record.agent_id?,
        task_id: thread.record.task_id,
        title: thread.record.title,
        created_at: thread.created,
        updated_at: thread.head.updated,
        metadata: thread.record.metadata,
    })
}

fn agent(agent_id: &str) -> Result<&str, Invalid> {
    if agent_id.trim().is_empty() {
        return Err(Invalid::body("agentId", "must not be blank; a thread has an agent"));
    }
    Ok(agent_id)
}
