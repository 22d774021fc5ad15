//! Results of reads, as the wire shows them: the fields that visitors see, and the versions of pages.

use serde::Serialize;
use threadkeep_calls as calls;
use threadkeep_calls::Page;
use threadkeep_model::{Account, Damaged, Message, MessageBody, Thread, Version};
use threadkeep_store::{GcReport, StoreError};

use crate::files::{FileRecord, FileVersion};
use crate::history::HistoryEntry;
use crate::{
    CopyReport, DoctorReport, Error, Family, Hit, HitMessage, IndexStatus, Key, Result, Show, Shown, Standing,
};

/// Appended messages, shown as one or as a list.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendedMessages {
    /// The messages that were added, in order.
    pub messages: Vec<Message>,
    /// Their bodies, where they are at hand; else they are read from the messages.
    pub(crate) bodies: Vec<MessageBody>,
    /// Whether they are shown as a single one.
    pub(crate) single: bool,
}

impl Show for AppendedMessages {
    fn show(&self) -> Result<Shown> {
        #[derive(Serialize)]
        struct Several<'a> {
            messages: Vec<calls::Message<'a>>,
        }
        let shown = if self.bodies.len() == self.messages.len() {
            let pairs = self.messages.iter().zip(&self.bodies);
            pairs.map(|(message, body)| calls::Message::with_body(message, body)).collect()
        } else {
            self.messages.iter().map(calls::Message::new).collect::<Result<Vec<_>, _>>()?
        };
        let last = self.messages.last().ok_or(Error::broken("an append has at least one message"))?.version;
        match &shown[..] {
            [one] if self.single => Shown::at(last, one),
            _ => Shown::at(last, &Several { messages: shown }),
        }
    }
}

/// Something that visitors of a public thread may see less of.
#[derive(Debug, Clone)]
pub struct Seen<T> {
    /// The result of the read.
    pub read: T,
    /// The caller's relation to the thread.
    pub standing: Standing,
}

impl Show for Seen<Thread> {
    fn show(&self) -> Result<Shown> {
        let shown = match self.standing {
            Standing::Owner => calls::Thread::from(&self.read),
            Standing::Visitor => calls::Thread::for_visitors(&self.read),
        };
        Shown::at(self.read.head.version, &shown)
    }

    fn threads(&mut self) -> Vec<&mut Thread> {
        vec![&mut self.read]
    }
}

/// A message as a reader of this standing sees it.
pub(crate) fn message(message: &Message, standing: Standing) -> Result<calls::Message<'_>, Damaged> {
    match standing {
        Standing::Owner => calls::Message::new(message),
        Standing::Visitor => calls::Message::for_visitors(message),
    }
}

impl Show for Seen<Message> {
    fn show(&self) -> Result<Shown> {
        Shown::plain(&message(&self.read, self.standing)?)
    }
}

/// A page of messages, and the version at which it was read.
#[derive(Debug, Clone)]
pub struct ShownMessages {
    pub(crate) items: Vec<Message>,
    pub(crate) next: Option<String>,
    pub(crate) total: Option<u64>,
    /// The index of the first one, and whether the indexes fall from there on.
    pub(crate) first: Option<u64>,
    pub(crate) falls: bool,
    pub(crate) version: Version,
}

impl Show for Seen<ShownMessages> {
    fn show(&self) -> Result<Shown> {
        let ShownMessages { items, next, total, first, falls, version } = &self.read;
        let index = |place: u64| first.map(|first| if *falls { first.saturating_sub(place) } else { first + place });
        let shown =
            |(place, item)| message(item, self.standing).map(|shown| calls::Message { index: index(place), ..shown });
        let items = (0..).zip(items).map(shown).collect::<Result<Vec<_>, _>>()?;
        Shown::at(*version, &Page::new(items, next.clone(), *total))
    }
}

/// A page of values, and the version at which it was read.
#[derive(Debug, Clone)]
pub struct ShownValues(pub(crate) Page<calls::Value>, pub(crate) Version);

impl Show for ShownValues {
    fn show(&self) -> Result<Shown> {
        Shown::at(self.1, &self.0)
    }
}

/// A page of a history.
#[derive(Debug, Clone)]
pub struct ShownHistory {
    pub(crate) entries: Vec<HistoryEntry>,
    pub(crate) next: Option<String>,
    /// The account that reads.
    pub(crate) reader: Account,
}

impl Show for Seen<ShownHistory> {
    fn show(&self) -> Result<Shown> {
        let mut items = Vec::with_capacity(self.read.entries.len());
        for entry in &self.read.entries {
            items.extend(entry.seen_by(self.standing, &self.read.reader)?);
        }
        Shown::plain(&Page::new(items, self.read.next.clone(), None))
    }
}

impl HistoryEntry {
    /// The entry as the wire shows it.
    ///
    /// # Errors
    /// If the body on disk is damaged.
    pub fn shown(&self) -> Result<calls::HistoryEntry<'_>> {
        let data: &serde_json::value::RawValue = serde_json::from_slice(&self.json).map_err(|error| {
            let place = format!("entry {} of segment {}", self.place.position, self.place.segment);
            StoreError::corrupt(format!("{place}: {error}"))
        })?;
        Ok(calls::HistoryEntry {
            thread_id: self.thread,
            version: self.version,
            kind: self.kind.as_str().into(),
            time: self.time,
            account: Some((*self.account).clone()),
            actor: (*self.actor).clone(),
            cause: self.cause.clone(),
            message_id: self.kind.brings_message().then_some(self.place),
            data: std::borrow::Cow::Borrowed(data),
        })
    }

    /// The entry as a reader of this standing sees it; none if it is not for them. Entries of another account from
    /// before a fork are shown as to a visitor.
    ///
    /// # Errors
    /// If the body on disk is damaged.
    pub fn seen_by(&self, standing: Standing, reader: &Account) -> Result<Option<calls::HistoryEntry<'_>>> {
        match standing {
            Standing::Owner if *self.account == *reader => self.shown().map(Some),
            Standing::Owner | Standing::Visitor => Ok(self.shown()?.for_visitors(self.kind)),
        }
    }
}

impl Family {
    /// The family as the wire shows it, asked for by `thread`.
    pub fn shown(&self, thread: threadkeep_model::ThreadId) -> calls::Family {
        let threads = self.threads.iter().map(calls::Thread::from);
        let threads = threads.chain(self.origins.iter().map(calls::Thread::for_visitors));
        let subagent =
            |(parent, child): &(_, calls::Child)| calls::FamilySubagent { parent_id: *parent, child: child.clone() };
        calls::Family {
            thread_id: thread,
            threads: threads.collect(),
            relations: self.relations.iter().map(calls::Relation::from).collect(),
            subagents: self.subagents.iter().map(subagent).collect(),
            merges: self.merges.clone(),
            cut_off: self.cut_off,
            more: self
                .more
                .iter()
                .map(|(thread, count)| calls::MoreRelatives { thread_id: *thread, count: *count })
                .collect(),
            next_cursor: self.next.clone(),
        }
    }
}

impl From<&FileRecord> for calls::FileRecord {
    fn from(record: &FileRecord) -> Self {
        let file = record.file();
        Self {
            path: record.path.clone(),
            name: record.path.name().to_owned(),
            is_directory: record.is_directory(),
            size: record.size(),
            mime_type: file.map(|file| file.mime_type.clone()),
            hash: file.map(|file| file.hash),
            width: file.and_then(|file| file.width),
            height: file.and_then(|file| file.height),
            metadata: record.metadata().cloned(),
            created_at: record.created,
            updated_at: record.updated,
            version: record.version,
        }
    }
}

impl From<&FileVersion> for calls::FileVersion {
    fn from(version: &FileVersion) -> Self {
        let file = version.record.as_ref().and_then(FileRecord::file);
        Self {
            version: version.version,
            created_at: version.time,
            actor: (*version.actor).clone(),
            deleted: version.record.is_none(),
            size: file.map(|file| file.size),
            mime_type: file.map(|file| file.mime_type.clone()),
            hash: file.map(|file| file.hash),
        }
    }
}

impl From<&Hit> for calls::SearchResult {
    fn from(hit: &Hit) -> Self {
        Self {
            thread_id: hit.thread,
            thread_title: hit.title.clone(),
            message_id: hit.message,
            timestamp: hit.time,
            score: hit.score,
            why: calls::SearchWhy { keyword: hit.keyword, vector: hit.vector },
            also_in: hit.also_in,
            superseded: hit.superseded,
            messages: hit.messages.iter().map(calls::SearchMessage::from).collect(),
        }
    }
}

impl From<&HitMessage> for calls::SearchMessage {
    fn from(message: &HitMessage) -> Self {
        Self {
            message_id: message.message.id,
            role: message.role,
            text: message.text.clone(),
            timestamp: message.message.created,
            is_match: message.is_match,
            highlights: calls::in_units(&message.text, &message.highlights),
        }
    }
}

impl IndexStatus {
    /// The state of the index as the wire shows it, and whether it follows the log by itself.
    pub fn shown(self, following: bool) -> calls::SearchStatus {
        let Self { caught_up, behind, lag_seconds, messages, embedded, bytes, text_bytes, volumes, model, dimensions } =
            self;
        calls::SearchStatus {
            caught_up,
            behind,
            lag_seconds,
            following,
            messages,
            embedded,
            bytes,
            text_bytes,
            volumes,
            model,
            dimensions,
        }
    }
}

impl From<&Key> for calls::Key {
    fn from(key: &Key) -> Self {
        let Key { id, account, actor, scope, created, expires, revoked } = key.clone();
        let (name, kind) = (actor.name, actor.kind);
        Self { id, account, name, kind, scope, created_at: created, expires_at: expires, revoked_at: revoked }
    }
}

impl From<DoctorReport> for calls::Doctor {
    fn from(report: DoctorReport) -> Self {
        let DoctorReport { threads, entries, blobs, changed, derived, damage } = report;
        let healthy = damage.is_empty() && derived.is_empty();
        Self { healthy, repaired: false, threads, entries, blobs, changed, derived, damage }
    }
}

impl From<CopyReport> for calls::Copied {
    fn from(report: CopyReport) -> Self {
        let CopyReport { threads, segments, entries, blobs, deleted, already_there, was_finished: _, hash, lost } =
            report;
        Self {
            threads,
            segments,
            entries,
            blobs,
            deleted,
            already_there,
            hash: hash.to_string(),
            lost: lost.count,
            damage: lost.what,
        }
    }
}

/// The result of a garbage collection, as the wire shows it.
pub fn gc_shown(report: GcReport) -> calls::Gc {
    let GcReport { segments, entries, blobs, bytes } = report;
    calls::Gc { segments, entries, blobs, bytes }
}
