//! `handoff`: a new thread that goes on from a summary of this one.

use threadkeep_model::{
    Entry, Invalid, MessageBody, NewEntry, NewSegment, Record, Related, RelationKind, Role, Tally, Thread,
    ThreadCommit, ThreadId, Version, strip_nulls,
};

use super::write;
use crate::summary::summarize;
use crate::{Engine, Page, Result};

/// Messages at the beginning and at the end that the built-in summary looks at.
const FIRST_READ: usize = 20;
const LAST_READ: usize = 200;
/// Longest title that is made of a goal, in characters.
const TITLE_CHARS_MAX: usize = 80;
/// Longest goal or comment, in bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A new thread that goes on from a summary of another one.
#[derive(Debug, Clone, Default)]
pub struct Handoff {
    /// What the new thread is for.
    pub goal: String,
    /// What it should know; without it, the built-in summary of the conversation so far.
    pub summary: Option<String>,
    /// A description of the relation; without it, the goal.
    pub comment: Option<String>,
    /// Whose thread it is; without it, the same agent's.
    pub agent_id: Option<String>,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Handoff {
    /// For this goal, with the built-in summary.
    pub fn to(goal: &str) -> Self {
        Self { goal: goal.to_owned(), ..Self::default() }
    }
}

impl Engine {
    /// Makes a new thread that begins with a summary of this one (as `info`) and the goal (as `user`). Both threads show
    /// the relation from then on.
    ///
    /// # Errors
    /// A blank goal; [`crate::Error::VersionConflict`].
    pub async fn handoff(&self, thread: ThreadId, handoff: Handoff) -> Result<Thread> {
        let goal = text("goal", &handoff.goal)?;
        let comment = handoff.comment.as_deref().map_or(Ok(goal.clone()), |comment| text("comment", comment))?;
        let (committed, mut child) = self
            .settle(thread, || async {
                let parent = self.thread(thread).await?;
                let summary = match &handoff.summary {
                    Some(summary) => text("summary", summary)?,
                    None => self.summary_of(&parent).await?,
                };
                let id = ThreadId::from_chance(self.shared.world.chance());
                let record = inherit(&parent, title(&goal), handoff.agent_id.clone()).checked()?;
                let messages = [MessageBody::new(Role::Info, &summary), MessageBody::user(&goal)];
                let entries = self.prepare(messages.map(Into::into).to_vec())?.entries;
                let segment = NewSegment { id: self.new_segment(), link: None, birth: Tally::default() };
                let account = self.caller.account.clone();
                let birth = threadkeep_model::Create { thread: id, account, record: record.clone(), segment, entries };
                let head = threadkeep_model::born(&birth, self.shared.world.now()).head;
                let (index, anchor) = self.last_place(&parent).await?;
                let comment = Some(comment.clone());
                let told = Entry::Related(Related { child: id, kind: RelationKind::Handoff, index, anchor, comment });
                let told = write(&parent, handoff.expected, None, vec![NewEntry::new(&told)], None);
                let commit = self.commit(vec![told, ThreadCommit::Create(birth)]);
                let account = self.caller.account.clone();
                Ok((commit, Thread { id, account, created: head.updated, head, record }))
            })
            .await?;
        if let Some(committed) = committed.threads.iter().find(|committed| committed.thread == child.id) {
            (child.head, child.created) = (committed.head, committed.time);
        }
        Ok(child)
    }

    /// The built-in summary of what a thread shows: its goal, decisions, files and open questions.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`].
    pub async fn summary(&self, thread: ThreadId) -> Result<String> {
        self.summary_of(&self.thread(thread).await?).await
    }

    async fn summary_of(&self, thread: &Thread) -> Result<String> {
        let page = |page: Page| page.as_of(thread.head.version);
        let first = self.messages(thread.id, page(Page::first().limit(FIRST_READ))).await?.items;
        let mut last = self.messages(thread.id, page(Page::first().newest_first().limit(LAST_READ))).await?.items;
        last.reverse();
        summarize(&first, &last)
    }

    /// The index and the position of the last message a thread shows.
    pub(crate) async fn last_place(
        &self,
        thread: &Thread,
    ) -> Result<(Option<u64>, Option<threadkeep_model::Position>)> {
        let Some(index) = thread.head.tally.messages().checked_sub(1) else { return Ok((None, None)) };
        let view = self.view(thread.id, &thread.head, None).await?;
        let located = self.locate_index(&view, index).await?;
        Ok((Some(index), Some(located.base.position)))
    }
}

/// The record of a thread that goes on from another: what describes the work goes along.
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

/// A title that is made of what a thread is for.
pub(super) fn title(goal: &str) -> String {
    let line = goal.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    match line.char_indices().nth(TITLE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line.to_owned(),
    }
}

pub(super) fn text(field: &str, text: &str) -> Result<String, Invalid> {
    let text = strip_nulls(text.to_owned());
    if text.trim().is_empty() {
        return Err(Invalid::body(field, "must not be blank"));
    }
    if text.len() > TEXT_BYTES_MAX {
        let rule = format!("has at most {TEXT_BYTES_MAX} bytes");
        return Err(Invalid::new(threadkeep_model::Code::TooLarge, field, rule));
    }
    Ok(text)
}
