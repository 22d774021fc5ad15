//! Memories: texts that an account keeps across its threads, as documents of the registry.
//!
//! A memory holds while one of its source messages is shown, or if it has none, or if a person edited it; and while its
//! project exists. Reads check that, so a memory without a source is never told, however its source went away.
//! [`forget`] removes those that are gone for good; [`find`] searches.

mod alike;
mod find;
mod forget;

use serde::{Deserialize, Serialize};
use threadkeep_calls::{MEMORY_BYTES_MAX, MEMORY_SOURCES_MAX, Memory, MemoryScope};
use threadkeep_model::{
    Account, ActorKind, Invalid, MessageId, MessageName, ThreadId, ThreadName, Timestamp, Uuid, strip_nulls,
};
use threadkeep_store::{Registered, RegistryKind, RegistryQuery, StoreError};

pub use find::Among;
pub(crate) use find::Indexes;

use crate::{Engine, Error, Result};

/// Most memories of an account.
const MEMORIES_MAX: usize = 10_000;
/// Documents that are read at once.
const READ_AT_ONCE: usize = 1_000;
/// How often a change is decided again because another one was faster.
const TRIES_MAX: usize = 16;

/// A memory as the registry keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Kept {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<MessageName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<ThreadId>,
    updated: Timestamp,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    edited: bool,
}

impl Kept {
    fn told(self, id: Uuid, created_at: Timestamp) -> Memory {
        let Self { text, project, sources, thread, updated, edited } = self;
        let scope = if project.is_some() { MemoryScope::Project } else { MemoryScope::Account };
        Memory {
            id,
            text,
            scope,
            project_id: project,
            sources,
            thread_id: thread,
            created_at,
            updated_at: updated,
            edited,
        }
    }

    fn json(&self) -> Result<String> {
        Ok(serde_json::to_string(self).map_err(|error| StoreError::corrupt(error.to_string()))?)
    }
}

/// A memory that is to be kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct NewMemory {
    pub(crate) text: String,
    pub(crate) project: Option<String>,
    pub(crate) sources: Vec<MessageName>,
    pub(crate) thread: Option<ThreadName>,
}

fn place(account: &Account, id: &str) -> String {
    format!("{}:{}:{id}", account.as_str().len(), account.as_str())
}

fn read(document: &Registered) -> Result<(Uuid, Kept)> {
    let damaged = |what: String| StoreError::corrupt(format!("memory {}: {what}", document.id));
    let id = document.id.strip_prefix(&place(&document.account, ""));
    let id = id.and_then(|id| id.parse().ok()).ok_or_else(|| damaged("has no id".to_owned()))?;
    let kept = serde_json::from_str(&document.json).map_err(|error| damaged(error.to_string()))?;
    Ok((id, kept))
}

fn told(document: &Registered) -> Result<Memory> {
    let (id, kept) = read(document)?;
    Ok(kept.told(id, document.created))
}

/// A text without nulls and outer spaces.
fn checked(text: String) -> Result<String, Invalid> {
    let text = strip_nulls(text);
    let text = text.trim();
    if text.is_empty() {
        return Err(Invalid::body("text", "must not be blank"));
    }
    if text.len() > MEMORY_BYTES_MAX {
        return Err(Invalid::body("text", format!("has at most {MEMORY_BYTES_MAX} bytes")));
    }
    Ok(text.to_owned())
}

impl Engine {
    /// Some documents of an account after this id, in the order in which they were made.
    async fn memory_documents(&self, account: &Account, after: Option<Uuid>) -> Result<Vec<Registered>> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let (kind, after) = (RegistryKind::Memory, Some(place(account, &after)));
        let query = RegistryQuery { kind, account: Some(account.clone()), after, limit: READ_AT_ONCE };
        Ok(self.shared.stores.registry.registry(query).await?)
    }

    /// Every memory of an account, as it is kept.
    async fn all_memories(&self, account: &Account) -> Result<Vec<Registered>> {
        let mut all: Vec<Registered> = Vec::new();
        loop {
            let last = all.last().map(read).transpose()?.map(|(id, _)| id);
            let some = self.memory_documents(account, last).await?;
            let is_last = some.len() < READ_AT_ONCE;
            all.extend(some);
            if is_last {
                return Ok(all);
            }
        }
    }

    async fn memory_document(&self, id: Uuid) -> Result<Option<Registered>> {
        let wanted = vec![place(&self.caller.account, &id.to_string())];
        Ok(self.shared.stores.registry.registered(RegistryKind::Memory, wanted).await?.pop())
    }

    /// A memory of the account that holds.
    pub(crate) async fn memory(&self, id: Uuid) -> Result<Memory> {
        let missing = Error::MemoryNotFound { memory: id };
        let Some(document) = self.memory_document(id).await? else { return Err(missing) };
        self.memories_that_hold(vec![told(&document)?]).await?.pop().ok_or(missing)
    }

    /// Up to `limit` memories of the account after this id that hold, the oldest first; all, or those of a project.
    pub(crate) async fn memories(
        &self,
        project: Option<&str>,
        mut after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<Memory>> {
        let mut found = Vec::new();
        loop {
            let some = self.memory_documents(&self.caller.account, after).await?;
            let Some(last) = some.last() else { return Ok(found) };
            after = Some(read(last)?.0);
            let is_last = some.len() < READ_AT_ONCE;
            let mut memories = some.iter().map(told).collect::<Result<Vec<_>>>()?;
            memories.retain(|memory| project.is_none() || memory.project_id.as_deref() == project);
            for part in memories.chunks(limit.max(1)) {
                found.extend(self.memories_that_hold(part.to_vec()).await?);
                if found.len() >= limit {
                    found.truncate(limit);
                    return Ok(found);
                }
            }
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Remembers a text. The same text in the same scope is remembered once, and gets the new sources.
    pub(crate) async fn remember(&self, new: NewMemory) -> Result<Memory> {
        let NewMemory { text, project, sources, thread } = new;
        let text = checked(text)?;
        if let Some(project) = &project
            && self.project(project).await?.is_none()
        {
            return Err(Error::ProjectNotFound { project: project.clone() });
        }
        let (thread, sources) = self.sources(thread, sources).await?;
        let account = &self.caller.account;
        for _ in 0..TRIES_MAX {
            let all = self.all_memories(account).await?;
            let mut same = None;
            for document in &all {
                let (id, kept) = read(document)?;
                if kept.text == text && kept.project == project {
                    same = Some((id, kept, document));
                    break;
                }
            }
            let updated = self.shared.now();
            let (id, kept, created, before) = match same {
                Some((id, kept, document)) => {
                    let more = joined(&kept, thread, &sources, updated);
                    if more == kept
                        && self.memories_that_hold(vec![kept.clone().told(id, document.created)]).await?.len() == 1
                    {
                        return Ok(kept.told(id, document.created));
                    }
                    (id, more, document.created, Some(document.json.clone()))
                }
                None if all.len() >= MEMORIES_MAX => return Err(Error::MemoriesFull { max: MEMORIES_MAX }),
                None => {
                    let (project, sources) = (project.clone(), sources.clone());
                    let kept = Kept { text: text.clone(), project, sources, thread, updated, edited: false };
                    (self.memory_id(updated), kept, updated, None)
                }
            };
            if self.keep_memory(id, &kept, created, before).await? {
                return Ok(kept.told(id, created));
            }
        }
        Err(Error::Busy)
    }

    /// Ids rise with time, so that lists are in the order in which memories were made.
    fn memory_id(&self, now: Timestamp) -> Uuid {
        // Time is in the bits that are not the version and the variant of the uuid; the last 62 are chance.
        let (micros, chance) = (now.as_micros() as u128, self.shared.world.chance());
        Uuid::from_chance((micros >> 12) << 80 | (micros & 0xfff) << 64 | chance >> 66)
    }

    async fn keep_memory(&self, id: Uuid, kept: &Kept, created: Timestamp, before: Option<String>) -> Result<bool> {
        let (kind, account, json) = (RegistryKind::Memory, self.caller.account.clone(), kept.json()?);
        let document = Registered { kind, id: place(&account, &id.to_string()), account, json, created };
        Ok(self.shared.stores.registry.register_over(document, before).await?)
    }

    /// Replaces the text of a memory. What a person edits outlives its sources.
    pub(crate) async fn edit_memory(&self, id: Uuid, text: String) -> Result<Memory> {
        let text = checked(text)?;
        let by_person = match self.caller.actor.kind {
            ActorKind::Human => true,
            ActorKind::Agent | ActorKind::System => false,
        };
        for _ in 0..TRIES_MAX {
            self.memory(id).await?;
            let document = self.memory_document(id).await?.ok_or(Error::MemoryNotFound { memory: id })?;
            let (_, kept) = read(&document)?;
            let edited = kept.edited || by_person;
            let kept = Kept { text: text.clone(), updated: self.shared.now(), edited, ..kept };
            if self.keep_memory(id, &kept, document.created, Some(document.json)).await? {
                return Ok(kept.told(id, document.created));
            }
        }
        Err(Error::Busy)
    }

    /// Forgets a memory; false if there is none.
    pub(crate) async fn delete_memory(&self, id: Uuid) -> Result<bool> {
        let place = place(&self.caller.account, &id.to_string());
        Ok(self.shared.stores.registry.unregister(RegistryKind::Memory, place).await?)
    }

    /// The thread of the caller that shows these messages.
    async fn sources(
        &self,
        thread: Option<ThreadName>,
        sources: Vec<MessageName>,
    ) -> Result<(Option<ThreadId>, Vec<MessageName>)> {
        if sources.len() > MEMORY_SOURCES_MAX {
            return Err(Invalid::body("sources", format!("has at most {MEMORY_SOURCES_MAX} messages")).into());
        }
        let Some(first) = sources.first() else {
            // A thread without messages to show says nothing; it has to exist all the same.
            return match thread {
                Some(name) => self.own_thread(name).await.map(|_| (None, sources)),
                None => Ok((None, sources)),
            };
        };
        let missing = || Error::MessageNotFound { message: *first };
        let thread = match thread {
            Some(name) => self.own_thread(name).await?,
            None => {
                let MessageId { segment, .. } = self.message_id(*first).await?;
                // An unknown segment and one of another account are the same to the caller.
                let writer = self.lineage(segment).await.map_err(|_| missing())?.segment.thread;
                self.own_thread(writer.into()).await.map_err(|_| missing())?
            }
        };
        let view = self.view(thread.id, &thread.head, None).await?;
        for source in &sources {
            self.locate(&view, self.message_id(*source).await?).await?;
        }
        Ok((Some(thread.id), sources))
    }

    async fn own_thread(&self, name: ThreadName) -> Result<threadkeep_model::Thread> {
        let thread = self.thread(name).await?;
        if thread.account == self.caller.account { Ok(thread) } else { Err(Error::ThreadNotFound { thread: name }) }
    }
}

/// What is kept, with more sources. Those of another thread take the place of the ones before: a memory names one thread.
fn joined(kept: &Kept, thread: Option<ThreadId>, sources: &[MessageName], updated: Timestamp) -> Kept {
    if thread.is_none() {
        // It is remembered for its own sake now: nothing it depends on can go away.
        return match kept.sources.is_empty() {
            true => kept.clone(),
            false => Kept { sources: Vec::new(), thread: None, updated, ..kept.clone() },
        };
    }
    if kept.sources.is_empty() {
        return kept.clone();
    }
    let mut all = if kept.thread == thread { kept.sources.clone() } else { Vec::new() };
    all.extend(sources.iter().filter(|source| !kept.sources.contains(source) || kept.thread != thread));
    all.dedup();
    let skipped = all.len().saturating_sub(MEMORY_SOURCES_MAX);
    let all: Vec<MessageName> = all.split_off(skipped);
    if all == kept.sources { kept.clone() } else { Kept { sources: all, thread, updated, ..kept.clone() } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(at: u64) -> MessageName {
        let (segment, position) = (threadkeep_model::SegmentId::from_bits(7), threadkeep_model::Position(at));
        MessageId { segment, position }.into()
    }

    #[test]
    fn a_memory_on_disk_looks_like_this() {
        let kept = Kept {
            text: "Likes tea.".into(),
            project: Some("p".into()),
            sources: vec![source(3)],
            thread: Some(ThreadId::from_bits(5)),
            updated: Timestamp::from_micros(1),
            edited: true,
        };
        let json = kept.json().expect("JSON");
        assert!(json.starts_with(r#"{"text":"Likes tea.","project":"p","sources":[""#), "{json}");
        assert!(json.ends_with(r#""edited":true}"#), "{json}");
        assert_eq!(serde_json::from_str::<Kept>(&json).expect("a memory"), kept);
        let plain = Kept { project: None, sources: Vec::new(), thread: None, edited: false, ..kept };
        assert_eq!(plain.json().expect("JSON"), r#"{"text":"Likes tea.","updated":"1970-01-01T00:00:00.000001Z"}"#);
    }

    #[test]
    fn a_text_that_is_told_again_gets_the_new_sources() {
        let (one, other) = (Some(ThreadId::from_bits(1)), Some(ThreadId::from_bits(2)));
        let then = Timestamp::from_micros(1);
        let kept = |thread: Option<ThreadId>, sources: &[u64]| Kept {
            text: "x".into(),
            project: None,
            sources: sources.iter().map(|at| source(*at)).collect(),
            thread,
            updated: then,
            edited: false,
        };
        let join = |kept: &Kept, thread, sources: &[u64]| {
            let sources: Vec<_> = sources.iter().map(|at| source(*at)).collect();
            joined(kept, thread, &sources, then)
        };
        assert_eq!(join(&kept(one, &[1]), one, &[1, 2]), kept(one, &[1, 2]));
        assert_eq!(join(&kept(one, &[1]), other, &[9]), kept(other, &[9]));
        assert_eq!(join(&kept(None, &[]), one, &[1]), kept(None, &[]), "it depends on nothing, and stays so");
        assert_eq!(join(&kept(one, &[1]), None, &[]), kept(None, &[]));
    }

    #[test]
    fn texts_are_not_blank_and_not_long() {
        assert_eq!(checked(" a\0b \n".into()).expect("a text"), "ab");
        for odd in ["", " \n", "\0", &"x".repeat(MEMORY_BYTES_MAX + 1)] {
            assert_eq!(checked(odd.to_owned()).expect_err("refused").field, "text");
        }
    }
}
