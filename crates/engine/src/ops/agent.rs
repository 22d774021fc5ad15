//! `assign` and `skill`: the agent of a thread, and its skills. A rollback restores both, and a fork inherits
//! them.

use threadkeep_calls::{ActivateSkill, Assign};
use threadkeep_model::{
    AgentAssigned, AgentState, Code, Entry, Invalid, Segment, SegmentId, Skill, SkillActivated, Thread, ThreadId,
};
use threadkeep_store::StoreError;

use super::text::not_blank;
use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::ground::view::View;
use crate::{Engine, Result};

impl Carry for Assign {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        let agent_id = not_blank("agentId", self.agent_id)?;
        let told = engine.tell(thread, || async { assign(engine.thread(thread).await?, &agent_id) }).await?;
        Ok(told.thread)
    }
}

impl Carry for ActivateSkill {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        let skill = self.skill.checked()?;
        let told = engine.tell(thread, || async { activate(engine.thread(thread).await?, &skill) }).await?;
        Ok(told.thread)
    }
}

/// The plan that hands `thread` to an agent; nothing if it has it already.
fn assign(thread: Thread, agent_id: &str) -> Result<Plan> {
    let state = thread.record.state();
    if state.agent_id.as_deref() == Some(agent_id) {
        return Ok(Plan::new(thread, Vec::new()));
    }
    open_for(&thread, Change::Content)?;
    let state = AgentState { agent_id: Some(agent_id.to_owned()), ..state };
    Ok(Plan::new(thread, vec![Entry::AgentAssigned(AgentAssigned { state })]))
}

/// The plan that activates a skill; nothing if it is active.
fn activate(thread: Thread, skill: &Skill) -> Result<Plan> {
    let mut state = thread.record.state();
    if state.skills.iter().any(|active| active.name == skill.name) {
        return Ok(Plan::new(thread, Vec::new()));
    }
    open_for(&thread, Change::Content)?;
    if state.skills.len() >= Skill::COUNT_MAX {
        let rule = format!("a thread has at most {} skills", Skill::COUNT_MAX);
        return Err(Invalid::new(Code::TooLarge, "skill", rule).into());
    }
    state.skills.push(skill.clone());
    Ok(Plan::new(thread, vec![Entry::SkillActivated(SkillActivated { name: skill.name.clone(), state })]))
}

impl Engine {
    /// Agent and skills as they hold in a view of `thread`, which may be of the past.
    pub(crate) async fn state_in(&self, thread: &Thread, view: &View) -> Result<AgentState> {
        let at = view.tally.last_state;
        if at == thread.head.tally.last_state {
            return Ok(thread.record.state());
        }
        let (holder, seen) = view.lineage.at(at, view.bounds);
        if at > seen.values || view.bounds.hides_agents() {
            // The conversation goes back further than the seen entries about agents, and none was logged since.
            return match self.spawned_in_part(thread, view).await? {
                Some(began) => self.state_begun(&began).await,
                None => Ok(self.state_at_birth(thread.id).await?.unwrap_or_default()),
            };
        }
        if at == threadkeep_model::Position::START {
            // No entry sets the agent up to there, so it is the one that the first of these threads was born with:
            // those that grew from it began the same way, or have an entry. Where no link leads to a birth, only the
            // default is left without an entry. A thread that began without its parent's agents is where this ends,
            // also if the view goes back to before its birth.
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

    /// Agent and skills with which a segment begins that nothing before it tells of: those of its thread's birth. Where
    /// that was freed, the segment is a later one of the thread, and began by telling them.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::plan::testing::thread;

    #[test]
    fn the_same_agent_or_skill_again_changes_nothing() {
        let mut working = thread();
        let skill = Skill { name: "pdf".into(), arguments: None };
        working.record =
            working.record.with_state(AgentState { agent_id: Some("a".into()), skills: vec![skill.clone()] });
        assert!(assign(working.clone(), "a").expect("a plan").entries.is_empty());
        assert!(activate(working.clone(), &skill).expect("a plan").entries.is_empty());
        let assigned = assign(working, "b").expect("a plan").entries;
        assert!(matches!(&assigned[..], [Entry::AgentAssigned(told)] if told.state.skills == [skill]));
    }
}
