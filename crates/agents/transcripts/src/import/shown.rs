//! A thread with its branches as a session, for exports.

use std::collections::{HashMap, HashSet};

use serde_json::Map;
use threadkeep_calls::RelationshipRole;
use threadkeep_engine::{Engine, Error, Page};
use threadkeep_model::{Json, MessageId, RelationKind, Thread, ThreadId, ThreadName};

use super::body::shaped;
use super::family::ThreadMark;
use crate::shape::{Message, Origin, OriginKind, Session, Source};

/// Most branches of an export.
const BRANCHES_MAX: usize = 1_000;

/// The thread and its forks in the neutral shape: the thread is the active branch, and each fork another one.
///
/// # Errors
/// If the thread does not exist, or the store cannot be read.
pub async fn session_of(engine: &Engine, thread: ThreadId) -> Result<Session, Error> {
    let first = engine.thread(thread).await?;
    let mark = ThreadMark::of(&first);
    let (source, id) = match &mark {
        Some(mark) => (mark.source, mark.session.clone()),
        None => (Source::Threadkeep, first.id.to_string()),
    };
    let mut session = Session::new(source, id);
    session.title.clone_from(&first.record.title);
    (session.created, session.updated) = (Some(first.created), Some(first.head.updated));
    if first.record.archived {
        session.tags.push("archived".to_owned());
    }
    session.tags.extend(tags_of(&first, source));
    if let Some(parent) = first.record.parent_id {
        let other = engine.thread(ThreadName::Full(parent)).await.ok().as_ref().and_then(ThreadMark::of);
        let session_id = other.map_or_else(|| parent.to_string(), |mark| mark.session);
        session.origin = Some(Origin { kind: OriginKind::Subagent, session: session_id, message: None, call: None });
    }
    if let Some(ThreadMark { folder, git_branch, usage, raw, .. }) = mark {
        (session.folder, session.git_branch, session.usage, session.raw) = (folder, git_branch, usage, raw);
    } else {
        session.raw = Map::new();
    }
    let (mut names, mut seen) = (HashMap::new(), HashSet::from([thread]));
    let mut waiting = vec![thread];
    while let Some(branch) = waiting.pop() {
        let last = read(engine, branch, &mut names, &mut session.messages).await?;
        if branch == thread {
            session.active = last;
        }
        for relation in engine.relationships(branch).await? {
            let is_fork = relation.kind == RelationKind::Fork && relation.role == RelationshipRole::Parent;
            if is_fork && seen.len() <= BRANCHES_MAX && seen.insert(relation.thread_id) {
                waiting.push(relation.thread_id);
            }
        }
    }
    Ok(session)
}

fn tags_of(thread: &Thread, source: Source) -> Vec<String> {
    let metadata = thread.record.metadata.as_ref().map(Json::to_value).unwrap_or_default();
    let tags = metadata.get("tags").and_then(|tags| tags.as_array()).into_iter().flatten();
    tags.filter_map(|tag| tag.as_str()).filter(|tag| *tag != source.as_str()).map(str::to_owned).collect()
}

/// Adds the messages of a thread that no thread before it has. The result is the name of its last message.
async fn read(
    engine: &Engine,
    thread: ThreadId,
    names: &mut HashMap<MessageId, String>,
    messages: &mut Vec<Message>,
) -> Result<Option<String>, Error> {
    let mut page = Page::first();
    let mut before: Option<String> = None;
    loop {
        let found = engine.messages(thread, page.everything().uncounted()).await?;
        for message in found.items {
            if let Some(name) = names.get(&message.id) {
                before = Some(name.clone());
                continue;
            }
            let body = message.body()?;
            let mut files = HashMap::new();
            for attachment in &body.attachments {
                let bytes = engine.attachment(thread, message.id, attachment.id).await?;
                files.insert(attachment.name.clone(), bytes.to_vec());
            }
            let mut shaped = shaped(message.name().to_string(), &body, message.created, &files);
            shaped.parent = before.replace(shaped.id.clone());
            names.insert(message.id, shaped.id.clone());
            messages.push(shaped);
        }
        match found.next {
            Some(cursor) => page = Page::after(cursor),
            None => return Ok(before),
        }
    }
}
