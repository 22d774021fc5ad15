//! Which messages of a source are in the store: the threads of a session and of its branches, by the ids at the source.
//!
//! The store is the only truth: a family is read from the metadata of threads and messages, so it needs no list of its
//! own that could be lost or left behind by a crash.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use threadkeep_calls::RelationshipRole;
use threadkeep_engine::{Engine, Error, List, Page, Values};
use threadkeep_model::{BlobId, Json, MessageId, RelationKind, Thread, ThreadId, Timestamp};
use threadkeep_store::Archived;

use super::body::KEPT;
use crate::plan::Placed;
use crate::shape::{Source, Usage};

/// The mark of an imported thread, in its metadata under `import`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadMark {
    pub(crate) source: Source,
    pub(crate) session: String,
    /// It is the thread of the session's active branch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) main: bool,
    /// The title that the source gave: a person may have given another one since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) git_branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) raw: Map<String, Value>,
}

impl ThreadMark {
    pub(crate) fn of(thread: &Thread) -> Option<Self> {
        #[derive(Deserialize)]
        struct Metadata {
            import: ThreadMark,
        }
        thread.record.metadata.as_ref()?.read::<Metadata>().ok().map(|metadata| metadata.import)
    }
}

/// Where a message of the source is.
#[derive(Debug, Clone)]
pub(crate) struct At {
    pub(crate) thread: ThreadId,
    pub(crate) message: MessageId,
    /// A hash of what it said when it was read.
    pub(crate) sum: String,
}

/// A thread of the family.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) session: String,
    pub(crate) is_main: bool,
    /// It holds only imported messages, and takes more.
    pub(crate) follows: bool,
    /// The id at the source of its last message.
    pub(crate) last: Option<String>,
    /// The time of its last message.
    pub(crate) updated: Option<Timestamp>,
    pub(crate) title: Option<String>,
}

/// The threads that share history with a session.
#[derive(Debug, Default)]
pub(crate) struct Family {
    places: HashMap<String, At>,
    /// Further names of messages. Later parts of a file may name parents by them.
    aliases: HashMap<String, String>,
    pub(crate) threads: HashMap<ThreadId, Known>,
    /// Hashes of the records that each thread keeps, once they were asked for.
    records: HashMap<ThreadId, HashSet<String>>,
}

impl Family {
    /// The threads that share history with `thread`, and all of the session; none if `thread` does not live, or was not
    /// imported.
    pub(crate) async fn load(
        engine: &Engine,
        thread: ThreadId,
        source: Source,
        session: &str,
    ) -> Result<Option<Self>, Error> {
        let Some(first) = find(engine, thread).await?.filter(|first| ThreadMark::of(first).is_some()) else {
            return Ok(None);
        };
        let mut family = Self::default();
        family.gather(engine, first).await?;
        // A session whose messages have several roots has threads that share nothing.
        let mut cursor = None;
        loop {
            let page = engine.list(List { cursor, limit: None, ..of_session(source, session, false)? }).await?;
            for row in page.items {
                family.gather(engine, row.thread).await?;
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(Some(family));
            }
        }
    }

    /// Reads `thread`, and all that it shares history with.
    async fn gather(&mut self, engine: &Engine, thread: Thread) -> Result<(), Error> {
        if self.threads.contains_key(&thread.id) {
            return Ok(());
        }
        let mut root = thread.clone();
        while let Some(origin) = root.record.origin_thread_id {
            match find(engine, origin).await?.filter(|origin| ThreadMark::of(origin).is_some()) {
                Some(origin) => root = origin,
                None => break,
            }
        }
        let mut seen = HashSet::from([root.id]);
        let mut waiting = vec![thread, root];
        while let Some(thread) = waiting.pop() {
            let id = thread.id;
            if self.threads.contains_key(&id) {
                continue;
            }
            self.read(engine, thread).await?;
            for relation in engine.relationships(id).await? {
                let is_fork = relation.kind == RelationKind::Fork && relation.role == RelationshipRole::Parent;
                if is_fork && seen.insert(relation.thread_id) {
                    let child = find(engine, relation.thread_id).await?;
                    waiting.extend(child.filter(|child| ThreadMark::of(child).is_some()));
                }
            }
        }
        Ok(())
    }

    /// Reads the messages of a thread that no thread before it has.
    async fn read(&mut self, engine: &Engine, thread: Thread) -> Result<(), Error> {
        let Some(mark) = ThreadMark::of(&thread) else { return Ok(()) };
        let shared: HashSet<MessageId> = self.places.values().map(|at| at.message).collect();
        let mut page = Page::first();
        let (mut last, mut follows) = (None, thread.record.lifecycle.is_open());
        let (mut shared_last, mut updated) = (None, None);
        'pages: loop {
            let found = engine.messages(thread.id, page.everything().uncounted().newest_first()).await?;
            for message in found.items {
                let read = kept(&message.json);
                updated = updated.or(Some(message.created));
                if shared.contains(&message.id) {
                    shared_last = read.map(|read| read.id);
                    break 'pages;
                }
                match read {
                    Some(Kept { id, sum }) => {
                        last = last.or_else(|| Some(id.clone()));
                        self.places.entry(id).or_insert(At { thread: thread.id, message: message.id, sum });
                    }
                    None => follows = false,
                }
            }
            match found.next {
                Some(cursor) => page = Page::after(cursor),
                None => break,
            }
        }
        let title = mark.title;
        let (session, is_main, last) = (mark.session, mark.main, last.or(shared_last));
        self.threads.insert(thread.id, Known { session, is_main, follows, last, updated, title });
        Ok(())
    }

    pub(crate) fn alias(&mut self, from: String, to: String) {
        self.aliases.insert(from, to);
    }

    /// Where the message of this name is.
    pub(crate) fn at(&self, name: &str) -> Option<&At> {
        let mut name = name;
        for _ in 0..=self.aliases.len() {
            match (self.places.get(name), self.aliases.get(name)) {
                (Some(at), _) => return Some(at),
                (None, Some(to)) => name = to,
                (None, None) => return None,
            }
        }
        None
    }

    /// The same for the plan of `session`.
    pub(crate) fn placed(&self, session: &str, name: &str) -> Option<Placed> {
        let at = self.at(name)?;
        let known = self.threads.get(&at.thread)?;
        let last = known.last.as_deref().and_then(|last| self.at(last));
        Some(Placed {
            thread: at.thread.to_string(),
            is_last: known.follows && last.is_some_and(|last| last.message == at.message),
            is_main: known.is_main && known.follows && known.session == session,
        })
    }

    /// Whether the message still says what it said. Copies in other sessions never change the original.
    pub(crate) fn is_same(&self, session: &str, id: &str, sum: impl FnOnce() -> Option<String>) -> bool {
        let Some(at) = self.places.get(id) else { return true };
        let is_own = self.threads.get(&at.thread).is_some_and(|known| known.session == session && known.follows);
        !is_own || sum().is_none_or(|sum| sum == at.sum)
    }

    /// The thread of the session's active branch.
    pub(crate) fn main(&self, session: &str) -> Option<ThreadId> {
        let mut found = self.threads.iter().filter(|(_, known)| known.is_main && known.session == session);
        found.next().map(|(id, _)| *id)
    }

    /// A message was written at the end of a thread.
    pub(crate) fn wrote(&mut self, id: String, time: Timestamp, at: At) {
        if let Some(known) = self.threads.get_mut(&at.thread) {
            (known.last, known.updated) = (Some(id.clone()), Some(time));
        }
        self.places.insert(id, at);
    }

    /// A message says something else from now on.
    pub(crate) fn said(&mut self, id: &str, sum: String) {
        if let Some(at) = self.places.get_mut(id) {
            at.sum = sum;
        }
    }

    /// The messages of `thread` after `kept` are in `fork` from now on. Positions rise along every lineage.
    pub(crate) fn moved(&mut self, thread: ThreadId, fork: ThreadId, kept: MessageId, last: Option<String>) {
        for at in self.places.values_mut().filter(|at| at.thread == thread && at.message.position > kept.position) {
            at.thread = fork;
        }
        if let Some(known) = self.threads.get_mut(&thread) {
            let whole = Known { is_main: false, ..known.clone() };
            known.last = last;
            self.threads.insert(fork, whole);
        }
    }

    /// Leaves of `records` those that the thread does not keep yet.
    pub(crate) async fn new_records(
        &mut self,
        engine: &Engine,
        thread: ThreadId,
        records: Vec<Value>,
    ) -> Result<Vec<Value>, Error> {
        let mut kept = match self.records.remove(&thread) {
            Some(kept) => kept,
            None => records_of(engine, thread).await?,
        };
        let new = records.into_iter().filter(|record| kept.insert(sum_of(record))).collect();
        self.records.insert(thread, kept);
        Ok(new)
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() + self.aliases.len()
    }
}

/// The keys of values that hold records without a message.
pub(crate) const RECORDS: &str = "import/";

/// The names of the records that a thread keeps.
async fn records_of(engine: &Engine, thread: ThreadId) -> Result<HashSet<String>, Error> {
    let mut kept = HashSet::new();
    let mut after = None;
    loop {
        let which = Values { prefix: RECORDS.to_owned(), after, ..Values::default() };
        let (some, next) = engine.values(thread, which).await?;
        for value in some {
            match value.value.to_value() {
                Value::Array(list) => kept.extend(list.iter().map(sum_of)),
                piece => kept.extend(piece.get("sum").and_then(Value::as_str).map(str::to_owned)),
            }
        }
        after = next;
        if after.is_none() {
            return Ok(kept);
        }
    }
}

/// The name of a record: a hash of it.
pub(crate) fn sum_of(record: &Value) -> String {
    BlobId::of(record.to_string().as_bytes()).to_string()
}

pub(crate) async fn find(engine: &Engine, thread: ThreadId) -> Result<Option<Thread>, Error> {
    match engine.thread(thread).await {
        Ok(thread) => Ok(Some(thread)),
        Err(Error::ThreadNotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The thread of a session's active branch, by its metadata.
pub(crate) async fn main_of(engine: &Engine, source: Source, session: &str) -> Result<Option<ThreadId>, Error> {
    let list = List { limit: Some(1), ..of_session(source, session, true)? };
    Ok(engine.list(list).await?.items.first().map(|row| row.thread.id))
}

/// The list of a session's threads, or only of that of its active branch.
fn of_session(source: Source, session: &str, main: bool) -> Result<List, Error> {
    let mut wanted = serde_json::json!({ "source": source.as_str(), "session": session });
    if main {
        wanted["main"] = true.into();
    }
    let metadata = Some(Json::from_value("metadata", &serde_json::json!({ KEPT: wanted }))?);
    Ok(List { metadata, archived: Archived::Any, ..List::default() })
}

/// The id and the hash in the metadata of a message.
#[derive(Deserialize)]
struct Kept {
    id: String,
    #[serde(default)]
    sum: String,
}

fn kept(json: &[u8]) -> Option<Kept> {
    #[derive(Deserialize)]
    struct Body {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        import: Kept,
    }
    serde_json::from_slice::<Body>(json).ok().map(|body| body.metadata.import)
}
