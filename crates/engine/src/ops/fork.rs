//! `fork`: a new thread that shares the history up to a point. It costs the same for ten messages and for a million.

use threadkeep_model::{
    AgentState, Entry, Forked, Json, MessageId, NewEntry, NewSegment, Position, Record, Tally, Thread, ThreadCommit,
    ThreadId, Version, fork_title,
};

use super::cut::{Cut, link};
use super::write;
use crate::calls::Interrupted;
use crate::policy::{Standing, Verb};
use crate::view::{Located, View};
use crate::{Engine, Result};

/// Where to fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForkPoint {
    /// As the thread is now.
    #[default]
    Now,
    /// After the message with this index, inclusive.
    Index(u64),
    /// After this message, inclusive.
    Message(MessageId),
    /// As the thread was at this version.
    Version(Version),
}

/// A new thread that shares the history up to a point.
#[derive(Debug, Clone, Default)]
pub struct Fork {
    /// Where.
    pub at: ForkPoint,
    /// A title; without one it is `Forked: X`, then `Forked(2): X`, and so on.
    pub title: Option<String>,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Fork {
    /// After the message with this index, inclusive.
    pub fn at_index(index: u64) -> Self {
        Self { at: ForkPoint::Index(index), ..Self::default() }
    }

    /// After this message, inclusive.
    pub fn at_message(message: MessageId) -> Self {
        Self { at: ForkPoint::Message(message), ..Self::default() }
    }

    /// As the thread was at this version.
    pub fn at_version(version: Version) -> Self {
        Self { at: ForkPoint::Version(version), ..Self::default() }
    }

    /// Called `title`.
    #[must_use]
    pub fn titled(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        self
    }
}

/// A decided fork: what the child sees, and what both threads are told.
pub(super) struct Decided {
    pub(super) segment: NewSegment,
    /// What the child is told first: what to hide, and what closes open calls.
    pub(super) first: Vec<NewEntry>,
    pub(super) state: AgentState,
    pub(super) index: Option<u64>,
    pub(super) anchor: Option<Position>,
}

impl Engine {
    /// Forks a thread. The child shows the messages up to the point as the parent shows them now; then both go their
    /// own ways.
    ///
    /// The public thread of another account can be forked too. The child belongs to the caller, who alone sees where it
    /// came from: the parent is told nothing, so visitors never write to it. What the owner does later, taking its
    /// visibility back or deleting it, does not reach the child.
    ///
    /// # Errors
    /// [`crate::Error::MessageNotFound`], [`crate::Error::IndexOutOfRange`], [`crate::Error::VersionInFuture`]: the
    /// point is not in the parent's view; [`crate::Error::VersionConflict`].
    pub async fn fork(&self, thread: ThreadId, fork: Fork) -> Result<Thread> {
        let (committed, mut child) = self
            .settle(thread, || async {
                let (parent, standing) = self.seen(thread, Verb::Fork).await?;
                let Decided { segment, first, state, index, anchor } =
                    self.decide_fork(&parent, fork.at, Interrupted::Fork).await?;
                let id = ThreadId::from_chance(self.shared.world.chance());
                let title = match &fork.title {
                    Some(title) => title.clone(),
                    None => fork_title(parent.record.title.as_deref()),
                };
                let record = inherit(&parent.record, title, thread, index, standing).with_state(state).checked()?;
                let birth = threadkeep_model::Create {
                    thread: id,
                    account: self.caller.account.clone(),
                    record: record.clone(),
                    segment,
                    entries: first,
                };
                let head = threadkeep_model::born(&birth, self.shared.world.now()).head;
                let told = match standing {
                    Standing::Owner => vec![NewEntry::new(&Entry::Forked(Forked { child: id, index, anchor }))],
                    // Nothing is told, but the commit still expects the parent to be there, and to be public.
                    Standing::Visitor => Vec::new(),
                };
                let threads = vec![write(&parent, fork.expected, None, told, None), ThreadCommit::Create(birth)];
                let mut commit = self.commit(threads);
                // Times never go back along a lineage, whatever the clock does.
                commit.time = commit.time.max(parent.head.updated);
                let account = self.caller.account.clone();
                Ok((commit, Thread { id, account, created: head.updated, head, record }))
            })
            .await?;
        if let Some(committed) = committed.threads.iter().find(|committed| committed.thread == child.id) {
            (child.head, child.created) = (committed.head, committed.time);
        }
        Ok(child)
    }

    /// What a thread that shares its parent's history up to a point sees, and is told first.
    pub(super) async fn decide_fork(&self, parent: &Thread, at: ForkPoint, why: Interrupted) -> Result<Decided> {
        let version = match at {
            ForkPoint::Version(version) => Some(version),
            ForkPoint::Now | ForkPoint::Index(_) | ForkPoint::Message(_) => None,
        };
        let view = self.view(parent.id, &parent.head, version).await?;
        let (cut, anchor) = match at {
            ForkPoint::Index(index) => {
                let located = self.locate_index(&view, index).await?;
                (self.cut_after(&view, &located).await?, Some(located.base.position))
            }
            ForkPoint::Message(message) => {
                let located = self.locate(&view, message).await?;
                (self.cut_after(&view, &located).await?, Some(located.base.position))
            }
            ForkPoint::Now | ForkPoint::Version(_) => {
                let anchor = match view.tally.messages().checked_sub(1) {
                    Some(last) => self.anchor(parent, &self.locate_index(&view, last).await?).await?,
                    None => None,
                };
                (Cut { bounds: view.bounds, tally: view.tally, hidden: None }, anchor)
            }
        };
        let segment = match link(&view, cut.bounds) {
            Some(link) => {
                let mut birth = cut.tally;
                // Its quota counts what it writes itself.
                birth.work.written = 0;
                NewSegment { id: self.new_segment(), link: Some(link), birth }
            }
            None => NewSegment { id: self.new_segment(), link: None, birth: Tally::default() },
        };
        let index = cut.count().checked_sub(1);
        let closed = self.close_calls(&view, cut.count(), &[], why).await?;
        let hidden = cut.hidden.map(Entry::MessagesDeleted);
        let first = hidden.iter().chain(&closed).map(NewEntry::new).collect();
        // Where agents are hidden, messages or files reach further than what is told of them.
        let seen = cut.bounds.messages.max(cut.bounds.files).max(cut.bounds.values);
        let (lineage, bounds) = view.lineage.at(seen, view.bounds.min(cut.bounds));
        let state = self.state_in(parent, &View { lineage, bounds, tally: cut.tally }).await?;
        Ok(Decided { segment, first, state, index, anchor })
    }

    /// The position of the message a fork is made at, if the parent shows it now: an old version may lie on a branch
    /// that was abandoned, and then no truncation concerns it.
    async fn anchor(&self, parent: &Thread, located: &Located) -> Result<Option<Position>> {
        let now = self.view(parent.id, &parent.head, None).await?;
        let base = &located.base;
        let bounds = now.lineage.bounds_of(base.segment, now.bounds);
        Ok(bounds.filter(|bounds| base.position <= bounds.messages).map(|_| base.position))
    }
}

/// The record of a fork: what describes the work goes along, what belongs to one thread alone does not. A visitor gets
/// what visitors see.
fn inherit(parent: &Record, title: String, origin: ThreadId, index: Option<u64>, standing: Standing) -> Record {
    let own = |field: &Option<String>| field.clone().filter(|_| standing == Standing::Owner);
    Record {
        title: Some(title),
        agent_mode: parent.agent_mode.clone(),
        max_tokens: parent.max_tokens,
        task_id: own(&parent.task_id),
        project_id: own(&parent.project_id),
        user_id: own(&parent.user_id),
        metadata: parent.metadata.as_ref().and_then(|metadata| Json::parse("metadata", metadata.as_str()).ok()),
        env: parent.env.clone().filter(|_| standing == Standing::Owner),
        origin_thread_id: Some(origin),
        fork_point_index: index,
        ..Record::default()
    }
}
