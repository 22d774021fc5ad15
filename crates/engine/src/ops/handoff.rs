//! `handoff`: a new thread that goes on from a summary of this one.

use std::collections::HashSet;

use threadkeep_calls::{GetSummary, Handoff, Summary};
use threadkeep_model::{
    Entry, Json, MessageBody, NewSegment, Position, Record, Related, RelationKind, Role, Tally, Thread, ThreadCommit,
    ThreadId,
};

use threadkeep_store::{BoxFuture, MessageFilter};

use super::text::checked_text;
use crate::ground::carry::Carry;
use crate::ground::plan::Plan;
use crate::summary::summarize;
use crate::{Engine, Page, Result};

/// Messages at the beginning and at the end that the built-in summary looks at.
const FIRST_READ: usize = 20;
const LAST_READ: usize = 200;
/// Longest title that is made of a goal, in characters.
const TITLE_CHARS_MAX: usize = 80;

impl Carry for Handoff {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        let goal = checked_text("goal", self.goal)?;
        let comment = self.comment.map_or(Ok(goal.clone()), |comment| checked_text("comment", comment))?;
        let given = self.summary.map(|summary| checked_text("summary", summary)).transpose()?;
        let (summary, model) = match given {
            Some(summary) => (Some(summary), None),
            None => engine.model_summary(thread).await?.unzip(),
        };
        let told = engine
            .tell(thread, || async {
                let parent = engine.thread(thread).await?;
                let summary = match &summary {
                    Some(summary) => summary.clone(),
                    None => engine.summary_of(&parent).await?,
                };
                let id = ThreadId::from_chance(engine.shared.world.chance());
                let record = inherit(&parent, title(&goal), self.agent_id.clone()).checked()?;
                let mut first = MessageBody::new(Role::Info, &summary);
                if let Some(model) = &model {
                    first = first.metadata(Json::from_value("metadata", &serde_json::json!({ "model": model }))?);
                }
                let messages = [first, MessageBody::user(&goal)];
                let entries = engine.prepare(messages.map(Into::into).to_vec())?.entries;
                let segment = NewSegment { id: engine.new_segment(), link: None, birth: Tally::default() };
                let account = engine.caller.account.clone();
                let birth = threadkeep_model::Create { thread: id, account, record, segment, entries, created: None };
                let (index, anchor) = engine.last_place(&parent).await?;
                let comment = Some(comment.clone());
                let related = Related { child: id, kind: RelationKind::Handoff, index, anchor, comment };
                Ok(Plan::new(parent, vec![Entry::Related(related)]).with(ThreadCommit::Create(birth)))
            })
            .await?;
        told.only_made()
    }
}

impl Carry for GetSummary {
    type Made = Summary;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Summary> {
        Ok(Summary { summary: engine.summary(thread).await? })
    }
}

impl Engine {
    /// The built-in summary of a thread: its goal, decisions, files and open questions.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`].
    pub fn summary(&self, thread: ThreadId) -> BoxFuture<'_, Result<String>> {
        Box::pin(async move { self.summary_of(&self.thread(thread).await?).await })
    }

    /// The summary of a thread by the model of its agent, and the name of the model, unless the call was made before.
    async fn model_summary(&self, thread: ThreadId) -> Result<Option<(String, String)>> {
        let Some(defined) = &self.defined else { return Ok(None) };
        if self.repeated(thread).await?.is_some() {
            return Ok(None);
        }
        Ok(defined.summary(self, &self.thread(thread).await?).await)
    }

    async fn summary_of(&self, thread: &Thread) -> Result<String> {
        let page = |page: Page| page.as_of(thread.head.version);
        let first = self.messages(thread.id, page(Page::first().limit(FIRST_READ))).await?.items;
        let mut last = self.messages(thread.id, page(Page::first().newest_first().limit(LAST_READ))).await?.items;
        last.reverse();
        let view = self.view(thread.id, &thread.head, None).await?;
        let before = self.context_summary(thread, &view).await?;
        // What a summary stands for is not read again.
        let covered = before.as_ref().and_then(|before| last.iter().position(|one| one.id == before.covers.last));
        if let Some(covered) = covered {
            last.drain(..=covered);
        }
        let first = if before.is_some() { Vec::new() } else { first };
        let (mut seen, mut told) = (HashSet::new(), Vec::new());
        for message in first.iter().chain(&last).filter(|message| seen.insert(message.id)) {
            told.push((message.body()?.role, message.text()?));
        }
        Ok(summarize(before.as_ref().map(|before| before.text.as_str()), &told))
    }

    /// The index and the position of the last message a thread shows.
    pub(crate) async fn last_place(&self, thread: &Thread) -> Result<(Option<u64>, Option<Position>)> {
        let view = self.view(thread.id, &thread.head, None).await?;
        let index = self.count_under(&view, MessageFilter::SHOWN).await?.checked_sub(1);
        Ok((index, self.locate_last(&view).await?.map(|last| last.base.position)))
    }
}

/// The record of a thread that goes on from another: the fields that describe the work are copied.
fn inherit(parent: &Thread, title: String, agent_id: Option<String>) -> Record {
    let record = &parent.record;
    Record {
        title: Some(title),
        agent_mode: record.agent_mode.clone(),
        agent_id: agent_id.or_else(|| record.agent_id.clone()),
        task_id: record.task_id.clone(),
        project_id: record.project_id.clone(),
        user_id: record.user_id.clone(),
        env: record.env.clone(),
        ..Record::default()
    }
}

/// A title made from the goal of a thread, or from its first message.
pub(crate) fn title(goal: &str) -> String {
    let line = goal.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    match line.char_indices().nth(TITLE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line.to_owned(),
    }
}
