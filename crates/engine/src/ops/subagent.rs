//! `subagent`, `notify-parent`, `status`: threads of subagents, and how they speak to the thread they work for.
//!
//! A subagent's thread knows its parent (`parentId`, `mainThreadId`); the parent has a registry of its children. Both
//! change in one commit. A subagent inherits neither messages nor values.

use std::collections::HashSet;

use threadkeep_model::{
    Attachment, Capability, Child, Entry, FieldChanges, FilePath, Invalid, ItemKind, Json, MessageBody, NewEntry,
    NewSegment, ParentCommunication, Record, Tally, Thread, ThreadChanged, ThreadCommit, ThreadId, ThreadName,
    strip_nulls,
};
use threadkeep_store::{Item, ItemQuery, StoreError};

use super::append::NewMessage;
use super::queue::Queued;
use super::tell_one;
use crate::gate::{Change, open_for};
use crate::{Engine, Error, Result, ThreadEvent};

/// A new thread for a subagent of this one.
#[derive(Debug, Clone, Default)]
pub struct Subagent {
    /// The name of the subagent.
    pub name: String,
    /// A title for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// The agent that works on the new thread.
    pub agent_id: Option<String>,
    /// Whether it stays after its work, and can be spoken to again.
    pub resumable: Option<bool>,
    /// Whether its parent waits for it.
    pub blocking: Option<bool>,
    /// A name for the thread.
    pub thread_name: Option<String>,
    /// Shared by the children that one message made.
    pub spawn_group_id: Option<String>,
    /// Whether it reports to its parent by itself.
    pub parent_communication: Option<ParentCommunication>,
    /// What it is doing at first; `created` if nothing is said.
    pub status: Option<String>,
    /// The first messages of the new thread.
    pub messages: Vec<NewMessage>,
    /// Files of this thread that the new one gets with the last of its messages, and knows as `/attachments/NAME`. Where
    /// an image or a file in a message names one of them, it names the new thread's.
    pub attachments: Vec<FilePath>,
}

/// The thread of a new subagent, and what it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentThread {
    /// The thread.
    pub thread: Thread,
    /// The files it was given, in the order in which they were named, by their paths in that thread.
    pub attachments: Vec<Attachment>,
}

/// Tells the thread this one works for.
#[derive(Debug, Clone, Default)]
pub struct NotifyParent {
    /// What to tell.
    pub content: String,
    /// Files of this thread that the parent gets with the message, and knows as `/attachments/NAME`.
    pub attachments: Vec<FilePath>,
}

/// What this thread is doing, in its own words.
#[derive(Debug, Clone)]
pub struct SetStatus {
    /// The words.
    pub status: String,
}

impl Engine {
    /// Makes a thread for a subagent, and registers it with its parent in the same commit. It is born with the files that
    /// it is given.
    ///
    /// # Errors
    /// A field or a message that breaks a rule; [`Error::FileNotFound`] and [`Error::IsADirectory`] of an attachment;
    /// [`Error::QuotaExceeded`]; [`Error::ThreadClosed`]; [`Error::ThreadTerminated`].
    pub async fn subagent(&self, thread: ThreadId, subagent: Subagent) -> Result<SubagentThread> {
        let sent = self.sent_files(thread, &subagent.attachments).await?;
        let received = self.receive(None, &Tally::default(), &sent).await?;
        let mut messages = subagent.messages;
        messages.iter_mut().try_for_each(|message| received.repoint(&mut message.body))?;
        if let Some(last) = messages.last_mut() {
            last.body.attachments.extend(received.attachments.iter().cloned());
        }
        let prepared = self.prepare(messages)?;
        let told = received.told().as_ref().map(NewEntry::new);
        let first: Vec<NewEntry> = told.into_iter().chain(prepared.entries).collect();
        let (committed, mut child) = self
            .settle(thread, || async {
                let parent = self.thread(thread).await?;
                open_for(&parent, Change::Content)?;
                if parent.record.terminated {
                    return Err(Error::ThreadTerminated);
                }
                let id = ThreadId::from_chance(self.shared.world.chance());
                let child = Child {
                    reference: id,
                    name: subagent.name.clone(),
                    title: subagent.title.clone(),
                    description: subagent.description.clone(),
                    resumable: subagent.resumable,
                    blocking: subagent.blocking,
                    thread_name: subagent.thread_name.clone(),
                    spawn_group_id: subagent.spawn_group_id.clone(),
                    created_at: self.shared.world.now(),
                    status: subagent.status.clone().unwrap_or_else(|| "created".to_owned()),
                    parent_communication: subagent.parent_communication,
                }
                .checked()?;
                let record = begin_with(&parent, &child, subagent.agent_id.clone()).checked()?;
                let birth = threadkeep_model::Create {
                    thread: id,
                    account: self.caller.account.clone(),
                    record: record.clone(),
                    segment: NewSegment { id: self.new_segment(), link: None, birth: Tally::default() },
                    entries: first.clone(),
                };
                let head = threadkeep_model::born(&birth, self.shared.world.now()).head;
                let (told, _) = tell_one(&parent, None, &[Entry::ChildChanged(child)])?;
                let mut commit = self.commit(vec![told, ThreadCommit::Create(birth)]);
                commit.blobs.extend(prepared.blobs.iter().cloned());
                let account = self.caller.account.clone();
                Ok((commit, Thread { id, account, created: head.updated, head, record }))
            })
            .await?;
        if let Some(committed) = committed.threads.iter().find(|committed| committed.thread == child.id) {
            (child.head, child.created) = (committed.head, committed.time);
        }
        Ok(SubagentThread { thread: child, attachments: received.attachments })
    }

    /// A thread, and after it the threads of its subagents and of theirs, as far as they are the caller's.
    pub(crate) async fn with_subagents(&self, thread: Thread) -> Result<Vec<Thread>> {
        let mut ids = HashSet::from([thread.id]);
        let mut family = vec![thread];
        let mut at = 0;
        while let Some(main) = family.get(at).map(|thread| thread.id) {
            let subagents = self.shared.stores.store.subagents(main).await?;
            let own = subagents.into_iter().filter(|subagent| subagent.account == self.caller.account);
            family.extend(own.filter(|subagent| ids.insert(subagent.id)));
            at += 1;
        }
        Ok(family)
    }

    /// The threads of a thread's subagents, oldest first.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn children(&self, thread: ThreadId) -> Result<Vec<Child>> {
        self.thread(thread).await?;
        let query = ItemQuery { thread, kind: ItemKind::Child, key: None, limit: usize::MAX };
        let mut children = Vec::new();
        for item in self.shared.stores.store.items(query).await? {
            children.push(self.read_child(&item).await?);
        }
        Ok(children)
    }

    /// The thread of a subagent of this one; none if it is no child of this thread, or deleted.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`] of the parent.
    pub async fn child_thread(&self, thread: ThreadId, reference: ThreadName) -> Result<Option<Thread>> {
        self.thread(thread).await?;
        match self.thread(reference).await {
            Ok(child) if self.find_child(thread, child.id).await?.is_some() => Ok(Some(child)),
            Ok(_) | Err(Error::ThreadNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The thread this one works for; none if it works for none, or that one is deleted.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn parent_thread(&self, thread: ThreadId) -> Result<Option<Thread>> {
        let child = self.thread(thread).await?;
        let Some(parent) = child.record.parent_id else { return Ok(None) };
        match self.thread(parent).await {
            Ok(parent) => Ok(Some(parent)),
            Err(Error::ThreadNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Queues a silent message for the thread this one works for; none if it works for none. The files that go with it are
    /// there from the same commit on: so an agent needs what writing files there needs, and while somebody holds the
    /// parent's lease it is refused.
    ///
    /// # Errors
    /// A blank text; [`Error::QueueFull`]; [`Error::ThreadClosed`] of the parent. With attachments also
    /// [`Error::FileNotFound`] and [`Error::IsADirectory`] of this thread; [`Error::QuotaExceeded`],
    /// [`Error::ApprovalRequired`], [`Error::WriterHeld`] and [`Error::NotADirectory`] of the parent.
    pub async fn notify_parent(&self, thread: ThreadId, notify: NotifyParent) -> Result<Option<Queued>> {
        let content = not_blank("content", notify.content)?;
        let Some(parent) = self.parent_thread(thread).await? else { return Ok(None) };
        let metadata = Json::from_value("metadata", &serde_json::json!({ "subagent_id": thread.to_string() }))?;
        let mut message = MessageBody::user(&content).silent().metadata(metadata);
        message.name = self.find_child(parent.id, thread).await?.map(|child| child.name);
        if notify.attachments.is_empty() {
            return self.queue(parent.id, message).await.map(Some);
        }
        self.refuse_queueing(&parent, message.silent).await?;
        let sent = self.sent_files(thread, &notify.attachments).await?;
        self.authorize(parent.id, Capability::CodeEdit).await?;
        self.queue_with(parent.id, message, &sent).await.map(Some)
    }

    /// Sets what a thread is doing, in its own record and in its parent's registry, in one commit; false if it works
    /// for no thread: nothing changes then.
    ///
    /// # Errors
    /// A blank status.
    pub async fn set_status(&self, thread: ThreadId, set: SetStatus) -> Result<bool> {
        let status = not_blank("status", set.status)?;
        if self.parent_thread(thread).await?.is_none() {
            return Ok(false);
        }
        let done = self
            .settle(thread, || async {
                let own = self.thread(thread).await?;
                let gone = || Error::ThreadNotFound { thread: thread.into() };
                let parent = self.parent_thread(thread).await?.ok_or_else(gone)?;
                let fields = FieldChanges([("status".to_owned(), Json::string(&status))].into());
                let (told, _) = tell_one(&own, None, &[Entry::ThreadChanged(ThreadChanged { fields })])?;
                let mut threads = vec![told];
                if let Some(child) = self.find_child(parent.id, thread).await? {
                    let child = Child { status: status.clone(), ..child }.checked()?;
                    threads.push(tell_one(&parent, None, &[Entry::ChildChanged(child)])?.0);
                }
                Ok((self.commit(threads), ()))
            })
            .await;
        done?;
        self.announce(thread, ThreadEvent::StatusChanged, &serde_json::json!({ "status": status }));
        Ok(true)
    }

    async fn find_child(&self, parent: ThreadId, child: ThreadId) -> Result<Option<Child>> {
        let query = ItemQuery { thread: parent, kind: ItemKind::Child, key: Some(child.to_string()), limit: 1 };
        match self.shared.stores.store.items(query).await?.first() {
            Some(item) => self.read_child(item).await.map(Some),
            None => Ok(None),
        }
    }

    /// What takes a child out of the registry of the thread it works for, if that one lives and is not itself among
    /// `going`.
    pub(crate) async fn unregister(&self, child: &Thread, going: &[ThreadId]) -> Result<Option<ThreadCommit>> {
        let Some(parent) = child.record.parent_id.filter(|parent| !going.contains(parent)) else { return Ok(None) };
        let parent = match self.thread(parent).await {
            Ok(parent) => parent,
            Err(Error::ThreadNotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if self.find_child(parent.id, child.id).await?.is_none() {
            return Ok(None);
        }
        let removed = threadkeep_model::ChildRemoved { reference: child.id };
        Ok(Some(tell_one(&parent, None, &[Entry::ChildRemoved(removed)])?.0))
    }

    async fn read_child(&self, item: &Item) -> Result<Child> {
        match self.decode(&item.entry).await? {
            Entry::ChildChanged(child) => Ok(child),
            other => {
                let what = format!("item {} is a {} entry", item.key, other.kind().as_str());
                Err(StoreError::corrupt(what).into())
            }
        }
    }
}

/// The first record of a subagent's thread: what describes the work goes along.
fn begin_with(parent: &Thread, child: &Child, agent_id: Option<String>) -> Record {
    let record = &parent.record;
    Record {
        title: child.title.clone().or_else(|| Some(child.name.clone())),
        agent_id,
        task_id: record.task_id.clone(),
        project_id: record.project_id.clone(),
        user_id: record.user_id.clone(),
        env: record.env.clone(),
        status: Some(child.status.clone()),
        intent: Some(child.description.clone()).filter(|text| !text.trim().is_empty()),
        main_thread_id: Some(parent.id),
        parent_id: Some(parent.id),
        ..Record::default()
    }
}

fn not_blank(field: &str, text: String) -> Result<String> {
    let text = strip_nulls(text);
    if text.trim().is_empty() {
        return Err(Invalid::body(field, "must not be blank").into());
    }
    Ok(text)
}
