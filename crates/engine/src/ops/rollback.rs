//! `rollback`: back to an earlier version, and `undo`. Nothing is lost: undone entries stay readable as of their
//! version. `redo` is next door, with the steps of undo.

use threadkeep_calls::{ArtifactVersion, Rollback, RollbackTo, StepName};
use threadkeep_model::{
    AgentAssigned, AgentState, Entry, Invalid, Message, MessageBody, NewSegment, Part, Position, Role, RolledBack,
    RunOutcome, Segment, Thread, ThreadChanged, ThreadId, Timestamp, Version, Walk,
};
use threadkeep_store::BoxFuture;

use super::cut::link;
use super::run::{ends_with, reason};
use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::ground::view::{Located, View};
use crate::open_calls::Interrupted;
use crate::{Engine, Error, Result};

/// How many messages after a step its results are looked for in. They come right after it.
const RESULTS_LOOK_AHEAD: u64 = 64;

impl Carry for Rollback {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        if let RollbackTo::ArtifactVersion(ArtifactVersion { path, version }) = &self.to {
            engine.restore_file(thread, path, *version).await?;
            return engine.thread(thread).await;
        }
        engine.go(thread, Way::To(&self.to)).await
    }
}

/// The way that a thread goes.
pub(super) enum Way<'a> {
    To(&'a RollbackTo),
    Redo,
}

/// Where a thread goes.
pub(super) struct Step {
    /// The version it shows again.
    pub(super) to: Version,
    /// Whether it is an undo.
    pub(super) undo: bool,
    /// The version before the walk of undos and redos that it belongs to.
    pub(super) from: Option<Version>,
}

impl Engine {
    /// Opens a segment that shows the version to which `way` leads.
    pub(super) async fn go(&self, thread: ThreadId, way: Way<'_>) -> Result<Thread> {
        let engine = self;
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                open_for(&thread, Change::Work)?;
                let Step { to, undo, from } = match &way {
                    Way::To(RollbackTo::Undo) => engine.undone(&thread).await?,
                    Way::To(to) => Step { to: engine.version_of(&thread, to).await?, undo: false, from: None },
                    Way::Redo => engine.redone(&thread).await?,
                };
                let view = engine.view(thread.id, &thread.head, Some(to)).await?;
                let mut birth = view.tally;
                // Written bytes stay counted: an undo can restore the content.
                birth.work.written = thread.head.tally.work.written;
                let segment = NewSegment { id: engine.new_segment(), link: link(&view, view.bounds), birth };
                let mut entries = Vec::new();
                let state = engine.state_in(&thread, &view).await?;
                let leads_to_agents = segment.link.is_some_and(|link| !link.bounds.hides_agents());
                if !leads_to_agents && state != AgentState::default() {
                    // Nothing leads from here to the thread's birth, which may be freed one day.
                    entries.push(Entry::AgentAssigned(AgentAssigned { state }));
                } else {
                    let fields = thread.record.changes_to(&thread.record.clone().with_state(state));
                    let changed = (!fields.0.is_empty()).then_some(ThreadChanged { fields });
                    entries.extend(changed.map(Entry::ThreadChanged));
                }
                entries.extend(engine.close_calls(&view, view.tally.messages(), &[], Interrupted::Rollback).await?);
                entries.extend(ends_with(&thread, RunOutcome::Stopped, reason::ROLLED_BACK));
                let walk = from.map(|from| Walk { from, entries: entries.len() as u64 });
                entries.insert(0, Entry::RolledBack(RolledBack { to, undo, walk }));
                Box::pin(engine.waking_parent(Plan::new(thread, entries).on(segment))).await
            })
            .await?;
        engine.shared.live().rewound.notify_one();
        Ok(told.thread)
    }

    async fn version_of(&self, thread: &Thread, to: &RollbackTo) -> Result<Version> {
        match to {
            RollbackTo::Version(version) | RollbackTo::ArtifactVersion(ArtifactVersion { version, .. }) => Ok(*version),
            RollbackTo::Timestamp(time) => self.version_at(thread, *time).await,
            RollbackTo::Checkpoint(name) => {
                let checkpoints = self.shared.stores.store.checkpoints(thread.id).await?;
                let found = checkpoints.into_iter().find(|checkpoint| checkpoint.name == *name);
                found.map(|checkpoint| checkpoint.version).ok_or(Error::CheckpointNotFound { name: name.clone() })
            }
            RollbackTo::Step(step) => self.version_after_step(thread, *step).await,
            RollbackTo::Undo => self.undone(thread).await.map(|step| step.to),
        }
    }

    /// The version just after a step: the position of the last result of its calls, or its own.
    async fn version_after_step(&self, thread: &Thread, step: StepName) -> Result<Version> {
        let view = self.view(thread.id, &thread.head, None).await?;
        let located = match step {
            StepName::Index(index) => self.locate_index(&view, index).await?,
            StepName::Message(name) => self.locate(&view, self.message_id(name).await?).await?,
        };
        let said = self.assemble(&located.base, located.item()).await?;
        let body = said.body()?;
        if body.role != Role::Assistant {
            let rule =
                format!("message {} is of the role {}; a step is a message of the assistant", said.id, body.role);
            return Err(Invalid::body("step", rule).into());
        }
        let results = self.results_after(&view, &located, &calls_of(&body)).await?;
        Ok(results.iter().map(|result| result.id.position).fold(said.id.position, Position::max))
    }

    /// The messages with results of `calls`, which the message at `located` makes. They come right after it.
    pub(crate) async fn results_after(&self, view: &View, located: &Located, calls: &[String]) -> Result<Vec<Message>> {
        let first = self.place_of(view, located).await? + 1;
        let last = view.tally.messages().min(first + RESULTS_LOOK_AHEAD);
        let mut results = Vec::new();
        if calls.is_empty() || last == first {
            return Ok(results);
        }
        let mut after = self.last_of(view, last, (last - first) as usize).await?;
        after.reverse();
        for message in after {
            let body = message.body()?;
            if body.role == Role::Assistant && body.depth == 0 {
                break;
            }
            if results_of(&body).iter().any(|answered| calls.contains(answered)) {
                results.push(message);
            }
        }
        Ok(results)
    }

    /// The versions at which a thread went back to an earlier one, or was truncated: the newest `limit`, rising.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn rewinds(&self, thread: ThreadId, limit: usize) -> BoxFuture<'_, Result<Vec<Version>>> {
        Box::pin(async move {
            self.thread(thread).await?;
            let mut own = self.shared.stores.store.segments(thread, Position::END, limit + 1).await?;
            // The segment of its birth is no way back; the others each begin with one.
            if own.len() <= limit {
                own.pop();
            }
            own.truncate(limit);
            Ok(own.iter().rev().map(|segment| segment.first).collect())
        })
    }

    /// The version a thread was at, at `time`.
    pub(crate) async fn version_at(&self, thread: &Thread, time: Timestamp) -> Result<Version> {
        if time < thread.created {
            return Err(Error::BeforeBirth { time });
        }
        let own = self.shared.stores.store.segments(thread.id, Position::END, usize::MAX).await?;
        for segment in own.iter().filter(|segment| segment.created <= time) {
            let end = own.iter().map(|other| other.first).filter(|first| *first > segment.first).min();
            let end = end.map_or(thread.head.version, Position::previous);
            if let Some(version) = self.last_before(segment, end, time).await? {
                return Ok(version);
            }
        }
        Ok(own.last().map_or(Position::START, |first| first.first.previous()))
    }

    /// The last entry of a segment up to `end` that is not later than `time`, by halving: times never go back.
    async fn last_before(&self, segment: &Segment, end: Position, time: Timestamp) -> Result<Option<Version>> {
        let (mut low, mut high) = (segment.first.0, end.0 + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let entry = self.entry_before(segment, Position(middle)).await?;
            if entry.is_none_or(|entry| entry.time <= time) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = if low > segment.first.0 { self.entry_before(segment, Position(low - 1)).await? } else { None };
        Ok(found.map(|entry| entry.position))
    }
}

/// The calls that a message makes.
pub(crate) fn calls_of(body: &MessageBody) -> Vec<String> {
    let call = |part: Part| if let Part::ToolUse { id, .. } = part { Some(id) } else { None };
    body.content.to_parts().into_iter().filter_map(call).collect()
}

/// The calls that a message answers.
fn results_of(body: &MessageBody) -> Vec<String> {
    let result = |part: Part| if let Part::ToolResult { tool_use_id, .. } = part { Some(tool_use_id) } else { None };
    body.content.to_parts().into_iter().filter_map(result).collect()
}
