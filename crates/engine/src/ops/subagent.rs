//! `subagent`, `notify-parent`, `status`: threads of subagents, and how they speak to the thread they work for.
//!
//! A subagent's thread knows its parent (`parentId`, `mainThreadId`); the parent has a registry of its children. Both
//! change in one commit. A subagent inherits neither messages nor values.

use std::collections::HashSet;

use threadkeep_calls as calls;
use threadkeep_calls::{
    At, GetParent, ListSubagents, NewMessage, Notified, NotifyParent, Page, Queue, Queued, SetStatus, StatusSet,
    Subagent,
};
use threadkeep_model::{
    Attachment, Child, Content, Entry, FieldChanges, FilePath, ItemKind, Json, MessageBody, MessageQueued, NewEntry,
    NewSegment, Position, Record, Role, Tally, Thread, ThreadChanged, ThreadCommit, ThreadId, ThreadName, Timestamp,
    Wait,
};
use threadkeep_store::{BoxFuture, Item, ItemQuery, StoreError};

use super::attach::Sent;
use super::queue::queued;
use super::text::not_blank;
use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::open_run::wakes;
use crate::ground::plan::{Plan, tell_other, write};
use crate::ground::policy::Verb;
use crate::ground::redacted::redacted;
use crate::ground::way_out::WayOut;
use crate::{Engine, Error, Result, Show, Shown};

/// The thread of a new subagent, and the files it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentThread {
    /// The thread of the subagent.
    pub thread: Thread,
    /// The files it was given, in the order in which they were named, by their paths in that thread.
    pub attachments: Vec<Attachment>,
}

impl Carry for Subagent {
    type Made = SubagentThread;

    async fn carry(mut self, engine: &Engine, thread: ThreadId) -> Result<SubagentThread> {
        let sent = engine.unless_repeated(thread, engine.sent_files(thread, &self.attachments, None)).await?;
        let received = engine.receive(None, &Tally::default(), &sent).await?;
        let mut messages = std::mem::take(&mut self.messages);
        messages.iter_mut().try_for_each(|message| received.repoint(&mut message.body))?;
        if let Some(last) = messages.last_mut() {
            last.body.attachments.extend(received.attachments.iter().cloned());
        }
        let prepared = engine.prepare(messages)?;
        let told = received.told().as_ref().map(NewEntry::new);
        let first: Vec<NewEntry> = told.into_iter().chain(prepared.entries).collect();
        let told = engine
            .tell(thread, || async {
                let parent = engine.thread(thread).await?;
                let id = ThreadId::from_chance(engine.shared.world.chance());
                let segment = NewSegment { id: engine.new_segment(), link: None, birth: Tally::default() };
                let account = engine.caller.account.clone();
                let child = registered(&self, id, engine.shared.now()).checked()?;
                let record = begin_with(&parent, &child, self.agent_id.clone()).checked()?;
                let entries = first.clone();
                let birth = threadkeep_model::Create { thread: id, account, record, segment, entries, created: None };
                Ok(decide(parent, child, birth)?.bringing(prepared.blobs.iter().cloned()))
            })
            .await?;
        let given = if told.repeated {
            // The files that were given then, even if they changed since.
            let before = Some(Position(told.place.first.0.saturating_sub(1)));
            let sent = engine.sent_files(thread, &self.attachments, before).await?;
            engine.receive(None, &Tally::default(), &sent).await?
        } else {
            received
        };
        Ok(SubagentThread { thread: told.only_made()?, attachments: given.attachments })
    }

    fn new_messages(&mut self) -> Vec<&mut NewMessage> {
        self.messages.iter_mut().collect()
    }
}

/// The plan: the child, and its entry in the parent's registry.
fn decide(parent: Thread, child: Child, birth: threadkeep_model::Create) -> Result<Plan> {
    open_for(&parent, Change::Content)?;
    if parent.record.terminated.is_some() {
        return Err(Error::ThreadTerminated);
    }
    let birth = ThreadCommit::Create(birth.with_birth_recorded());
    Ok(Plan::new(parent, vec![Entry::ChildChanged(child)]).with(birth))
}

/// The entry for a new subagent in its parent's registry.
fn registered(subagent: &Subagent, id: ThreadId, created_at: Timestamp) -> Child {
    Child {
        reference: id,
        name: subagent.name.clone(),
        title: subagent.title.clone(),
        description: subagent.description.clone(),
        resumable: subagent.resumable,
        blocking: subagent.blocking,
        thread_name: subagent.thread_name.clone(),
        spawn_group_id: subagent.spawn_group_id.clone(),
        created_at,
        status: subagent.status.clone().unwrap_or_else(|| "created".to_owned()),
        parent_communication: subagent.parent_communication,
    }
}

impl Show for SubagentThread {
    fn show(&self) -> Result<Shown> {
        let thread = calls::Thread::from(&self.thread);
        let told = calls::SubagentThread { thread, attachments: self.attachments.clone() };
        Shown::at(self.thread.head.version, &told)
    }
}

impl Carry for ListSubagents {
    type Made = Page<Child>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<Child>> {
        let children = engine.children(thread).await?;
        engine.part(thread, children, (self.limit, self.cursor), |item| format!("child {}", item.reference))
    }
}

impl Carry for GetParent {
    type Made = Option<Thread>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Option<Thread>> {
        engine.parent_thread(thread).await
    }
}

impl Carry for NotifyParent {
    type Made = Notified;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Notified> {
        let content = not_blank("content", self.content)?;
        let Some(parent) = engine.parent_thread(thread).await? else {
            engine.check_expected(thread).await?;
            return Ok(Notified { notified: false, queued: None });
        };
        let metadata = Json::from_value("metadata", &serde_json::json!({ "subagent_id": thread.to_string() }))?;
        let mut message = MessageBody::user(&content).silent().metadata(metadata);
        message.name = engine.find_child(parent.id, thread).await?.map(|child| child.name);
        let message = message.checked()?;
        let sent = if self.attachments.is_empty() {
            Vec::new()
        } else {
            let checks = async {
                engine.refuse_queueing(&parent, message.silent).await?;
                engine.sent_files(thread, &self.attachments, None).await
            };
            engine.unless_repeated(parent.id, checks).await?
        };
        // The key lies under the parent, which gets the message; this thread is only looked at.
        let told = engine
            .tell(parent.id, || async {
                let parent = engine.thread(parent.id).await?;
                engine.refuse_queueing(&parent, message.silent).await?;
                let entries = engine.queued_with(&parent, message.clone(), &sent).await?;
                let plan = Plan::new(parent, entries);
                if engine.expects().is_none() {
                    return Ok(plan);
                }
                let own = engine.thread(thread).await?;
                Ok(plan.with(write(&own, None, None, Vec::new(), None)))
            })
            .await?;
        Ok(Notified { notified: true, queued: Some(queued(told)?) })
    }
}

impl Carry for SetStatus {
    type Made = StatusSet;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<StatusSet> {
        let status = not_blank("status", self.status)?;
        if engine.parent_thread(thread).await?.is_none() {
            engine.check_expected(thread).await?;
            return Ok(StatusSet { set: false });
        }
        engine
            .tell(thread, || async {
                let own = engine.thread(thread).await?;
                let gone = || Error::ThreadNotFound { thread: thread.into() };
                let parent = engine.parent_thread(thread).await?.ok_or_else(gone)?;
                let fields = FieldChanges([("status".to_owned(), Json::string(&status))].into());
                let plan = Plan::new(own, vec![Entry::ThreadChanged(ThreadChanged { fields })]);
                let Some(child) = engine.find_child(parent.id, thread).await? else { return Ok(plan) };
                let is_new = child.status != status;
                let child = Child { status: status.clone(), ..child }.checked()?;
                let message = if is_new { engine.status_message(&parent, &child).await? } else { None };
                let told: Vec<Entry> = std::iter::once(Entry::ChildChanged(child)).chain(message).collect();
                Ok(plan.with(tell_other(&parent, &told)?))
            })
            .await?;
        Ok(StatusSet { set: true })
    }
}

impl Engine {
    /// Queues a message of the user for a thread, with files of the thread `sender`. The receiver gets them below
    /// `/attachments` in the same commit.
    ///
    /// # Errors
    /// As `queue`; [`Error::FileNotFound`] if the sender has no such file.
    pub fn queue_with_files<'a>(
        &'a self,
        at: At,
        message: MessageBody,
        (sender, paths): (ThreadId, &'a [FilePath]),
    ) -> BoxFuture<'a, Result<Queued>> {
        Box::pin(async move {
            let thread = self.resolve(at.thread).await?;
            let message = match self.guard(WayOut::Call, thread).await? {
                Some(redactor) => redacted(Queue { message: message.into() }, &redactor)?.message.body,
                None => message,
            };
            let message = message.checked()?;
            let mut request = vec![message.content.as_json().as_str().as_bytes()];
            request.extend(paths.iter().map(|path| path.as_str().as_bytes()));
            let (engine, thread) = self.enter(at, "queue-with-files", &request).await?;
            let sent = engine.unless_repeated(thread, engine.sent_files(sender, paths, None)).await?;
            let told = engine
                .tell(thread, || async {
                    let thread = engine.thread(thread).await?;
                    engine.refuse_queueing(&thread, message.silent).await?;
                    let woken = wakes(&thread, Wait::Human).filter(|_| message.role == Role::User && !message.silent);
                    let entries = engine.queued_with(&thread, message.clone(), &sent).await?;
                    Ok(Plan::new(thread, woken.into_iter().chain(entries).collect()))
                })
                .await?;
            queued(told)
        })
    }

    /// The entries that queue a message with these files for a thread.
    async fn queued_with(&self, to: &Thread, mut message: MessageBody, sent: &[Sent]) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        if !sent.is_empty() {
            let view = self.view(to.id, &to.head, None).await?;
            let received = self.receive(Some(&view), &to.head.tally, sent).await?;
            received.repoint(&mut message)?;
            message.attachments.extend(received.attachments.iter().cloned());
            entries.extend(received.told());
        }
        // Invariant: the message is the last entry, which its name is made of.
        entries.push(Entry::MessageQueued(MessageQueued { message }));
        entries.iter().try_for_each(|entry| self.refuse_large(NewEntry::new(entry).bytes))?;
        Ok(entries)
    }

    /// Refuses a thread that is not at the version that the caller expects, where nothing is written to it.
    async fn check_expected(&self, thread: ThreadId) -> Result<()> {
        let current = self.head(thread, Verb::Change).await?.version;
        match self.expects_of(thread).filter(|expected| *expected != current) {
            Some(expected) => Err(Error::VersionConflict { expected, current }),
            None => Ok(()),
        }
    }

    /// The message that tells a thread of the status of a subagent, marked by `status_kind` in its metadata. While
    /// another writer holds the thread or a run is open, it waits in the queue; a thread that takes nothing more gets
    /// none.
    pub(crate) async fn status_message(&self, parent: &Thread, child: &Child) -> Result<Option<Entry>> {
        if open_for(parent, Change::Content).is_err() || parent.record.terminated.is_some() {
            return Ok(None);
        }
        let metadata = serde_json::json!({
            "status_kind": "subagent_status",
            "subagent_id": child.reference.to_string(),
            "status": child.status,
        });
        let said = format!("Subagent {}: {}", child.name, child.status);
        let message = MessageBody::with_content(Role::System, Content::text(&said));
        let message = message.metadata(Json::from_value("metadata", &metadata)?).checked()?;
        let lease = self.shared.stores.leases.lease(parent.id, self.shared.now()).await?;
        if lease.is_none() && parent.record.run.is_none() {
            return Ok(Some(Entry::MessageAppended(message)));
        }
        match self.refuse_queueing(parent, true).await {
            Ok(()) => Ok(Some(Entry::MessageQueued(MessageQueued { message: message.silent() }))),
            Err(Error::QueueFull { .. }) => Ok(None),
            Err(error) => Err(error),
        }
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
    pub fn children(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Child>>> {
        Box::pin(async move {
            self.thread(thread).await?;
            let query = ItemQuery { thread, kind: ItemKind::Child, key: None, limit: usize::MAX };
            let mut children = Vec::new();
            for item in self.shared.stores.store.items(query).await? {
                children.push(self.read_child(&item).await?);
            }
            Ok(children)
        })
    }

    /// The thread of a subagent of this one; none if it is no child of this thread, or deleted.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`] of the parent.
    pub fn child_thread(&self, thread: ThreadId, reference: ThreadName) -> BoxFuture<'_, Result<Option<Thread>>> {
        Box::pin(async move {
            self.thread(thread).await?;
            match self.thread(reference).await {
                Ok(child) if self.find_child(thread, child.id).await?.is_some() => Ok(Some(child)),
                Ok(_) | Err(Error::ThreadNotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    /// The thread this one works for; none if it works for none, or that one is deleted.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn parent_thread(&self, thread: ThreadId) -> BoxFuture<'_, Result<Option<Thread>>> {
        Box::pin(async move {
            let child = self.thread(thread).await?;
            let Some(parent) = child.record.parent_id else { return Ok(None) };
            match self.thread(parent).await {
                Ok(parent) => Ok(Some(parent)),
                Err(Error::ThreadNotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    /// The thread that this one works for, and this thread's entry in its registry.
    pub(crate) async fn registered_child(&self, thread: ThreadId) -> Result<Option<(Thread, Child)>> {
        let Some(parent) = self.parent_thread(thread).await? else { return Ok(None) };
        let child = self.find_child(parent.id, thread).await?;
        Ok(child.map(|child| (parent, child)))
    }

    pub(crate) async fn find_child(&self, parent: ThreadId, child: ThreadId) -> Result<Option<Child>> {
        let query = ItemQuery { thread: parent, kind: ItemKind::Child, key: Some(child.to_string()), limit: 1 };
        match self.shared.stores.store.items(query).await?.first() {
            Some(item) => self.read_child(item).await.map(Some),
            None => Ok(None),
        }
    }

    /// The commit that removes a child from the registry of its parent, and wakes a run that waits for the child; none if
    /// the parent does not exist or is itself among `going`.
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
        let woken = wakes(&parent, Wait::Child { thread_id: child.id });
        let told: Vec<Entry> = std::iter::once(Entry::ChildRemoved(removed)).chain(woken).collect();
        Ok(Some(tell_other(&parent, &told)?))
    }

    pub(crate) async fn read_child(&self, item: &Item) -> Result<Child> {
        match self.decode(&item.entry).await? {
            Entry::ChildChanged(child) => Ok(child),
            other => {
                let what = format!("item {} is a {} entry", item.key, other.kind().as_str());
                Err(StoreError::corrupt(what).into())
            }
        }
    }
}

/// The first record of a subagent's thread: the fields that describe the work are copied.
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
