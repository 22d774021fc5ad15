//! `truncate`: drops all messages from a point on. Files and values stay, and nothing is lost: it can be undone.

use threadkeep_calls::{Truncate, TruncateFrom};
use threadkeep_model::{
    AgentAssigned, AgentState, Bounds, Entry, NewSegment, RunOutcome, Tally, Thread, ThreadId, Truncated,
};

use super::cut::link;
use super::run::{ends_with, reason};
use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::ground::view::{Located, View};
use crate::open_calls::Interrupted;
use crate::{Engine, Result};

impl Carry for Truncate {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = engine.view(thread.id, &thread.head, None).await?;
                let index = match self.from {
                    TruncateFrom::Index(index) => {
                        engine.locate_index(&view, index).await?;
                        index
                    }
                    TruncateFrom::Message(name) => {
                        let located = engine.locate(&view, engine.message_id(name).await?).await?;
                        engine.index_of(&view, &located).await?
                    }
                };
                // Messages that lists leave out belong to the message they precede, and go with it.
                let kept = match index.checked_sub(1) {
                    Some(kept) => Some(engine.locate_index(&view, kept).await?),
                    None => None,
                };
                engine.decide_truncate(thread, &view, index, kept.as_ref()).await
            })
            .await?;
        Ok(told.thread)
    }
}

impl Engine {
    /// The plan that drops all messages after `kept`, the first of which has this index.
    pub(super) async fn decide_truncate(
        &self,
        thread: Thread,
        view: &View,
        index: u64,
        kept: Option<&Located>,
    ) -> Result<Plan> {
        let cut = match kept {
            Some(kept) => self.cut_after(view, kept).await?,
            None => self.cut_all(),
        };
        // Messages up to the cut, everything else up to now.
        let now = Bounds::all(thread.head.version);
        let bounds = Bounds { messages: cut.bounds.messages, ..now };
        let Tally { last_change, last_state, work, .. } = view.tally;
        let tally = Tally { last_change, last_state, work, ..cut.tally };
        let segment = NewSegment { id: self.new_segment(), link: link(view, bounds), birth: tally };
        let mut entries = vec![Entry::Truncated(Truncated { from_index: index })];
        let leads_to_agents = segment.link.is_some_and(|link| !link.bounds.hides_agents());
        let state = thread.record.state();
        if !leads_to_agents && state != AgentState::default() {
            // Nothing leads from here to the thread's birth, which may be freed one day.
            entries.push(Entry::AgentAssigned(AgentAssigned { state }));
        }
        let closed = self.close_calls(view, cut.count(), &[], Interrupted::Truncate).await?;
        entries.extend(cut.hidden.map(Entry::MessagesDeleted));
        entries.extend(closed);
        entries.extend(ends_with(&thread, RunOutcome::Stopped, reason::ROLLED_BACK));
        Box::pin(self.waking_parent(Plan::new(thread, entries).on(segment))).await
    }
}
