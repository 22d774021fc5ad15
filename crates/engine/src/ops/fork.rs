//! `fork`: a new thread that shares the history up to a point. It costs the same for ten messages and for a million.

use threadkeep_calls::{Fork, ForkPoint};
use threadkeep_model::{
    Account, AgentState, Entry, Forked, Invalid, Json, MessageId, NewEntry, NewSegment, Position, Record, Tally,
    Thread, ThreadCommit, ThreadId, Version, fork_title,
};
use threadkeep_store::{MessageFilter, StoreError};

use super::cut::{Cut, link};
use crate::ground::carry::Carry;
use crate::ground::plan::Plan;
use crate::ground::policy::{Standing, Verb};
use crate::ground::view::View;
use crate::open_calls::Interrupted;
use crate::{Engine, Result};

/// A decided fork: the child's view, and the entries for both threads.
pub(super) struct Decided {
    pub(super) segment: NewSegment,
    /// The child's first entries: they hide messages after the cut and close open calls.
    pub(super) first: Vec<Entry>,
    pub(super) state: AgentState,
    pub(super) index: Option<u64>,
    pub(super) anchor: Option<Position>,
}

impl Carry for Fork {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        let told = engine
            .tell(thread, || async {
                let (parent, standing) = engine.seen(thread, Verb::Fork).await?;
                let point = engine.fork_point(self.at).await?;
                let decided = engine.decide_fork(&parent, point, Interrupted::Fork).await?;
                let id = ThreadId::from_chance(engine.shared.world.chance());
                let account = engine.caller.account.clone();
                decide(parent, standing, decided, self.title.clone(), (id, account))
            })
            .await?;
        told.only_made()
    }
}

/// The plan of a fork by a caller of this standing: the child, and the parent's entry about it.
fn decide(
    parent: Thread,
    standing: Standing,
    decided: Decided,
    title: Option<String>,
    (id, account): (ThreadId, Account),
) -> Result<Plan> {
    let Decided { segment, first, state, index, anchor } = decided;
    let title = title.unwrap_or_else(|| fork_title(parent.record.title.as_deref()));
    let record = inherit(&parent.record, title, parent.id, index, standing)?.with_state(state).checked()?;
    let entries = first.iter().map(NewEntry::new).collect();
    let birth = threadkeep_model::Create { thread: id, account, record, segment, entries, created: None };
    let told = match standing {
        Standing::Owner => vec![Entry::Forked(Forked { child: id, index, anchor })],
        // The parent gets no entry, but the commit still expects it to exist, and to be public.
        Standing::Visitor => Vec::new(),
    };
    Ok(Plan::new(parent, told).with(ThreadCommit::Create(birth)))
}

/// Where to fork, once a message that waited in a queue is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    Now,
    Index(u64),
    Message(MessageId),
    Version(Version),
}

impl Engine {
    async fn fork_point(&self, at: ForkPoint) -> Result<Point> {
        Ok(match at {
            ForkPoint::Now => Point::Now,
            ForkPoint::Index(index) => Point::Index(index),
            ForkPoint::Message(name) => Point::Message(self.message_id(name).await?),
            ForkPoint::Version(version) => Point::Version(version),
        })
    }

    /// The view and first entries of a thread that shares its parent's history up to a point.
    pub(super) async fn decide_fork(&self, parent: &Thread, at: Point, why: Interrupted) -> Result<Decided> {
        let version = match at {
            Point::Version(version) => Some(version),
            Point::Now | Point::Index(_) | Point::Message(_) => None,
        };
        let view = self.view(parent.id, &parent.head, version).await?;
        let named = match at {
            Point::Index(index) => Some(self.locate_index(&view, index).await?),
            Point::Message(message) => Some(self.locate(&view, message).await?),
            Point::Now | Point::Version(_) => None,
        };
        // Reads that do not need each other are made at once: on a server each is a round trip.
        let (cut, index, anchor, closed) = match &named {
            Some(located) => {
                let (index, cut) =
                    tokio::try_join!(self.last_index_at(&view, located), self.cut_after(&view, located))?;
                let closed = self.close_calls(&view, cut.count(), &[], why).await?;
                (cut, index, Some(located.base.position), closed)
            }
            None => {
                let cut = Cut { bounds: view.bounds, tally: view.tally, hidden: None };
                let ((last, closed), count) =
                    tokio::try_join!(self.end_of(&view, why), self.count_under(&view, MessageFilter::SHOWN))?;
                let anchor = match last {
                    Some(last) => self.anchor(parent, last).await?,
                    None => None,
                };
                (cut, count.checked_sub(1), anchor, closed)
            }
        };
        let segment = match link(&view, cut.bounds) {
            Some(link) => {
                let mut birth = cut.tally;
                // Its quota counts only its own writes.
                birth.work.written = 0;
                NewSegment { id: self.new_segment(), link: Some(link), birth }
            }
            None => NewSegment { id: self.new_segment(), link: None, birth: Tally::default() },
        };
        let hidden = cut.hidden.map(Entry::MessagesDeleted);
        let first = hidden.into_iter().chain(closed).collect();
        // Where agents are hidden, messages or files reach further than the entries about agents.
        let seen = cut.bounds.messages.max(cut.bounds.files).max(cut.bounds.values);
        let (lineage, bounds) = view.lineage.at(seen, view.bounds.min(cut.bounds));
        let state = self.state_in(parent, &View { lineage, bounds, tally: cut.tally }).await?;
        Ok(Decided { segment, first, state, index, anchor })
    }

    /// The position of the message a fork is made at, if the parent shows it now: an old version may lie on a branch
    /// that was abandoned, and then no truncation concerns it.
    async fn anchor(&self, parent: &Thread, last: MessageId) -> Result<Option<Position>> {
        let now = self.view(parent.id, &parent.head, None).await?;
        let bounds = now.lineage.bounds_of(last.segment, now.bounds);
        Ok(bounds.filter(|bounds| last.position <= bounds.messages).map(|_| last.position))
    }
}

/// The record of a fork: fields that describe the work are copied, fields that belong to one thread alone are
/// not. A visitor gets only the fields that visitors see.
fn inherit(parent: &Record, title: String, origin: ThreadId, index: Option<u64>, standing: Standing) -> Result<Record> {
    let own = |field: &Option<String>| field.clone().filter(|_| standing == Standing::Owner);
    // Metadata was checked when it came in: unreadable metadata is damage, and is reported.
    let read = |metadata: &Json| Json::parse("metadata", metadata.as_str());
    let damaged = |invalid: Invalid| StoreError::corrupt(format!("metadata of thread {origin}: {invalid}"));
    let metadata = parent.metadata.as_ref().map(read).transpose().map_err(damaged)?;
    Ok(Record {
        title: Some(title),
        agent_mode: parent.agent_mode.clone(),
        max_tokens: parent.max_tokens,
        task_id: own(&parent.task_id),
        project_id: own(&parent.project_id),
        user_id: own(&parent.user_id),
        metadata,
        env: parent.env.clone().filter(|_| standing == Standing::Owner),
        origin_thread_id: Some(origin),
        fork_point_index: index,
        ..Record::default()
    })
}
