//! `assign` and `skill`: who works on a thread, and with what. A rollback restores both, and a fork inherits them.

use threadkeep_model::{
    AgentAssigned, AgentState, Code, Entry, Invalid, Segment, SegmentId, Skill, SkillActivated, Thread, ThreadId,
    Version, strip_nulls,
};
use threadkeep_store::StoreError;

use super::tell_one;
use crate::gate::{Change, open_for};
use crate::view::View;
use crate::{Engine, Result};

/// The thread is handed to another agent. Its history stays.
#[derive(Debug, Clone)]
pub struct Assign {
    /// The agent.
    pub agent_id: String,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Assign {
    /// To `agent_id`.
    pub fn to(agent_id: &str) -> Self {
        Self { agent_id: agent_id.to_owned(), expected: None }
    }
}

/// A skill is activated, once for each name.
#[derive(Debug, Clone)]
pub struct ActivateSkill {
    /// The skill.
    pub skill: Skill,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Engine {
    /// Assigns the thread to an agent, and gives the thread as it is now. The same agent again changes nothing.
    ///
    /// # Errors
    /// A blank name; [`crate::Error::ThreadClosed`]; [`crate::Error::VersionConflict`].
    pub async fn assign(&self, thread: ThreadId, assign: Assign) -> Result<Thread> {
        let agent_id = strip_nulls(assign.agent_id);
        if agent_id.trim().is_empty() {
            return Err(Invalid::body("agentId", "must not be blank").into());
        }
        self.change_state(thread, assign.expected, |state| {
            if state.agent_id.as_ref() == Some(&agent_id) {
                return Ok(None);
            }
            let state = AgentState { agent_id: Some(agent_id.clone()), ..state };
            Ok(Some(Entry::AgentAssigned(AgentAssigned { state })))
        })
        .await
    }

    /// Activates a skill, and gives the thread as it is now. A skill that is active already changes nothing.
    ///
    /// # Errors
    /// A blank name, arguments that are no object; [`crate::Error::ThreadClosed`]; [`crate::Error::VersionConflict`].
    pub async fn activate_skill(&self, thread: ThreadId, activate: ActivateSkill) -> Result<Thread> {
        let skill = activate.skill.checked()?;
        self.change_state(thread, activate.expected, |mut state| {
            if state.skills.iter().any(|active| active.name == skill.name) {
                return Ok(None);
            }
            if state.skills.len() >= Skill::COUNT_MAX {
                let rule = format!("a thread has at most {} skills", Skill::COUNT_MAX);
                return Err(Invalid::new(Code::TooLarge, "skill", rule).into());
            }
            state.skills.push(skill.clone());
            Ok(Some(Entry::SkillActivated(SkillActivated { name: skill.name.clone(), state })))
        })
        .await
    }

    async fn change_state(
        &self,
        thread: ThreadId,
        expected: Option<Version>,
        change: impl Fn(AgentState) -> Result<Option<Entry>>,
    ) -> Result<Thread> {
        let before = self.thread(thread).await?;
        let unmoved = expected.is_none_or(|expected| expected == before.head.version);
        if unmoved && change(before.record.state())?.is_none() {
            return Ok(before);
        }
        let (committed, mut after) = self
            .settle(thread, || async {
                let mut thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let entries: Vec<Entry> = change(thread.record.state())?.into_iter().collect();
                let (write, record) = tell_one(&thread, expected, &entries)?;
                thread.record = record;
                Ok((self.commit(vec![write]), thread))
            })
            .await?;
        if let Some(committed) = committed.threads.first() {
            after.head = committed.head;
        }
        Ok(after)
    }

    /// Agent and skills as they hold in a view of `thread`, which may be of the past.
    pub(crate) async fn state_in(&self, thread: &Thread, view: &View) -> Result<AgentState> {
        let at = view.tally.last_state;
        if at == thread.head.tally.last_state {
            return Ok(thread.record.state());
        }
        let (holder, seen) = view.lineage.at(at, view.bounds);
        if at > seen.values || view.bounds.hides_agents() {
            // The conversation goes back further than what is seen of agents, and nothing was told since.
            return match self.spawned_in_part(thread, view).await? {
                Some(began) => self.state_begun(&began).await,
                None => Ok(self.state_at_birth(thread.id).await?.unwrap_or_default()),
            };
        }
        if at == threadkeep_model::Position::START {
            // Nothing was told up to there, so it is what the first of these threads was born with: those that grew from
            // it began the same way, or were told otherwise. Where no link leads to a birth, nothing but the default is
            // left untold. A thread that began without its parent's agents is where this ends, also if the view goes back
            // to before its birth.
            let (mut first, mut bounds) = (std::sync::Arc::clone(&view.lineage), view.bounds);
            while let (Some(link), Some(parent)) = (first.segment.link, first.parent.clone()) {
                bounds = bounds.min(link.bounds);
                if bounds.hides_agents() {
                    break;
                }
                first = parent;
            }
            return self.state_begun(&first.segment).await;
        }
        let segment = holder.segment.id;
        let missing = || StoreError::corrupt(format!("entry {at} of segment {segment} is missing"));
        let entry = self.entry_at(threadkeep_model::MessageId { segment, position: at }).await?.ok_or_else(missing)?;
        match self.decode(&entry).await? {
            Entry::SkillActivated(activated) => Ok(activated.state),
            Entry::AgentAssigned(assigned) => Ok(assigned.state),
            _ => Err(StoreError::corrupt(format!("entry {at} of segment {segment} tells of no agent")).into()),
        }
    }

    /// Where a thread began without its parent's agents: the nearest such place that a view of `thread` leads through.
    async fn spawned_in_part(&self, thread: &Thread, view: &View) -> Result<Option<Segment>> {
        let whole = self.lineage(thread.head.segment).await?;
        let seen = view.bounds.messages.max(view.bounds.files);
        let above = whole.chain().take_while(|lineage| lineage.segment.first > seen);
        let mut hides = above.filter(|lineage| lineage.segment.link.is_some_and(|link| link.bounds.hides_agents()));
        Ok(hides.next().map(|lineage| lineage.segment.clone()))
    }

    /// Agent and skills with which a segment begins that nothing before it tells of: those of its thread's birth. Where that
    /// was freed, the segment is a later one of the thread, and began by telling them.
    async fn state_begun(&self, segment: &Segment) -> Result<AgentState> {
        if let Some(state) = self.state_at_birth(segment.thread).await? {
            return Ok(state);
        }
        let told = threadkeep_model::MessageId { segment: segment.id, position: segment.first.next() };
        let Some(entry) = self.entry_at(told).await? else { return Ok(AgentState::default()) };
        match self.decode(&entry).await? {
            Entry::AgentAssigned(assigned) => Ok(assigned.state),
            _ => Ok(AgentState::default()),
        }
    }

    /// Agent and skills with which a thread came into being, if that is still known.
    async fn state_at_birth(&self, thread: ThreadId) -> Result<Option<AgentState>> {
        let own = self.shared.stores.store.segments(thread, threadkeep_model::Position::END, usize::MAX).await?;
        let Some(birth) = own.last().map(|segment| segment.id) else { return Ok(None) };
        // Segments are listed in the order of their ids, so the one after the id before it is the one itself.
        let before = SegmentId::from_bits(birth.bits() - 1);
        let rows = self.shared.stores.upkeep.all_segments(Some(before), 1).await?;
        let origin = rows.into_iter().next().filter(|row| row.segment.id == birth).and_then(|row| row.origin);
        Ok(origin.map(|(_, record)| record.state()))
    }
}
