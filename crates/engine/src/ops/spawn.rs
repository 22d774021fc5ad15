//! `spawn`: a new thread for an intent of its own, with all, some or nothing of this one's state.
//!
//! The inherited state is a snapshot: later changes of one thread do not reach the other. Messages, files and
//! values are shared by a link, which costs the same however many there are. A part of them is logged again
//! instead, in the first entries of the new thread: a link shows all of a kind from its beginning. The content of
//! files is never copied.

use threadkeep_calls::{Inherit, InheritItem, Spawn, Spawned, Value};
use threadkeep_model::{
    Account, AgentAssigned, AgentState, Bounds, DiffStats, Entry, FileCell, FileChange, FilesChanged, Invalid,
    MessageBody, NewEntry, NewSegment, Position, Record, Related, RelationKind, Tally, Thread, ThreadCommit, ThreadId,
    ValueChange, ValuesChanged, Work,
};
use threadkeep_tree::Glob;

use super::cut::link;
use super::fork::{Decided, Point};
use super::handoff::title;
use super::text::checked_text;
use crate::ground::carry::Carry;
use crate::ground::plan::Plan;
use crate::ground::show::Shown;
use crate::ground::view::View;
use crate::open_calls::Interrupted;
use crate::{Engine, Error, FileIs, FileRecord, Result};

/// Files that are read at once to be logged again.
const TOLD_AT_ONCE: usize = 1_000;
const ALL_FILES: &str = "**";

fn includes(inherit: &Inherit, item: &InheritItem) -> bool {
    match inherit {
        Inherit::Full => true,
        Inherit::Partial(scope) => scope.contains(item),
        Inherit::None => false,
    }
}

impl Carry for Spawn {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        let intent = checked_text("intent", self.intent)?;
        refuse_scope(&self.inherit, engine.shared.limits.batch_max as u64)?;
        let told = engine
            .tell(thread, || async {
                let parent = engine.thread(thread).await?;
                let decided = match &self.inherit {
                    Inherit::Full => engine.decide_fork(&parent, Point::Now, Interrupted::Spawn).await?,
                    Inherit::Partial(scope) => engine.decide_partial(&parent, scope).await?,
                    Inherit::None => engine.decide_partial(&parent, &[]).await?,
                };
                let (index, anchor) = engine.last_place(&parent).await?;
                let child = ThreadId::from_chance(engine.shared.world.chance());
                let (kind, comment) = (RelationKind::Spawn, Some(intent.clone()));
                let related = Related { child, kind, index, anchor, comment };
                let account = engine.caller.account.clone();
                decide(parent, decided, &self.inherit, self.agent_id.clone(), related, account)
            })
            .await?;
        told.only_made()
    }

    async fn told(made: Thread, _: &Engine) -> Result<Shown> {
        let parent_id = made.record.parent_id.ok_or(Error::broken("a spawned thread names its parent"))?;
        Shown::plain(&Spawned { thread_id: made.id, parent_id })
    }
}

/// The plan: the child with its inherited state, and the parent's entry about it.
fn decide(
    parent: Thread,
    decided: Decided,
    inherits: &Inherit,
    agent_id: Option<String>,
    related: Related,
    account: Account,
) -> Result<Plan> {
    let Decided { segment, first, state, .. } = decided;
    let inherited = match inherits {
        Inherit::Full | Inherit::None => state.clone(),
        Inherit::Partial(_) => parent.record.state(),
    };
    let agent_id = agent_id.or_else(|| parent.record.agent_id.clone());
    let state = AgentState { agent_id, ..state };
    let mut entries = first;
    let leads_to_agents = segment.link.is_some_and(|link| !link.bounds.hides_agents());
    if leads_to_agents && state != inherited {
        // The linked segment has another agent: without this entry, a rollback would restore that one.
        entries.insert(0, Entry::AgentAssigned(AgentAssigned { state: state.clone() }));
    }
    let intent = related.comment.clone().unwrap_or_default();
    let record = inherit(&parent, &intent, inherits).with_state(state).checked()?;
    let entries = entries.iter().map(NewEntry::new).collect();
    let birth = threadkeep_model::Create { thread: related.child, account, record, segment, entries, created: None };
    let birth = ThreadCommit::Create(birth.with_birth_recorded());
    Ok(Plan::new(parent, vec![Entry::Related(related)]).with(birth))
}

impl Engine {
    /// The view and first entries of a thread that inherits a part of its parent.
    async fn decide_partial(&self, parent: &Thread, scope: &[InheritItem]) -> Result<Decided> {
        let view = self.view(parent.id, &parent.head, None).await?;
        let mut bounds = Bounds::all(Position::START);
        let mut tally = Tally::default();
        let mut first = Vec::new();
        let mut skills = Vec::new();
        for item in scope {
            match item {
                InheritItem::Messages => {
                    bounds = Bounds { messages: view.bounds.messages, changes: view.bounds.changes, ..bounds };
                    tally = Tally { last_state: Position::START, ..view.tally };
                    let count = view.tally.messages();
                    first.extend(self.close_calls(&view, count, &[], Interrupted::Spawn).await?);
                }
                InheritItem::LastMessages(count) => first.extend(self.last_said(&view, *count).await?),
                InheritItem::Files(glob) if glob == ALL_FILES => bounds.files = view.bounds.files,
                InheritItem::Files(glob) => first.extend(self.files_told(&view, glob).await?),
                InheritItem::Values(prefix) if prefix.is_empty() => bounds.values = view.bounds.values,
                InheritItem::Values(prefix) => first.extend(self.values_told(&view, prefix).await?),
                InheritItem::Skills => skills.clone_from(&parent.record.activated_skills),
                InheritItem::Env => {}
            }
        }
        // Work outside the link is not counted; the child counts its own.
        tally.work = Work::default();
        if bounds.files != Position::START {
            (tally.work.last_files, tally.work.stats) = (view.tally.work.last_files, view.tally.work.stats);
        }
        if bounds.values != Position::START {
            tally.work.last_values = view.tally.work.last_values;
            // Entries about agents are seen with values.
            tally.last_state = view.tally.last_state;
        }
        let link = if bounds == Bounds::all(Position::START) { None } else { link(&view, bounds) };
        let birth = if link.is_some() { tally } else { Tally::default() };
        let segment = NewSegment { id: self.new_segment(), link, birth };
        let state = AgentState { agent_id: parent.record.agent_id.clone(), skills };
        Ok(Decided { segment, first, state, index: None, anchor: None })
    }

    /// The last messages of a view, to be logged again, with results for their open calls.
    async fn last_said(&self, view: &View, last: u64) -> Result<Vec<Entry>> {
        let shown = view.tally.messages();
        let mut bodies: Vec<MessageBody> = Vec::new();
        while (bodies.len() as u64) < last.min(shown) {
            let read = bodies.len() as u64;
            let found = self.last_of(view, shown - read, (last.min(shown) - read) as usize).await?;
            if found.is_empty() {
                break;
            }
            for message in &found {
                bodies.push(message.body()?);
            }
        }
        bodies.reverse();
        let closed = self.close_calls(view, 0, &bodies, Interrupted::Spawn).await?;
        Ok(bodies.into_iter().map(Entry::MessageAppended).chain(closed).collect())
    }

    /// The files of `view` that fit `glob`, to be logged again. No content is copied.
    async fn files_told(&self, view: &View, glob: &str) -> Result<Option<Entry>> {
        let glob = fitting(glob)?;
        let mut changes = Vec::new();
        let mut after = None;
        loop {
            let (found, next) = self.files_in(view, None, after.as_ref(), TOLD_AT_ONCE).await?;
            for FileRecord { path, is, created, .. } in found {
                if let FileIs::File(file) = is
                    && glob.matches(path.as_str())
                {
                    changes.push(FileChange::Write { path, file: FileCell { created, ..file } });
                }
            }
            match next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        let told = FilesChanged { changes, stats: DiffStats::default(), restored: None };
        Ok((!told.changes.is_empty()).then_some(Entry::FilesChanged(told)))
    }

    /// The values of `view` whose keys begin with `prefix`, to be logged again.
    async fn values_told(&self, view: &View, prefix: &str) -> Result<Option<Entry>> {
        let (found, _) = self.values_in(view, prefix, None, usize::MAX - 1).await?;
        let change = |found: Value| ValueChange { key: found.key, value: Some(found.value) };
        let told = ValuesChanged { changes: found.into_iter().map(change).collect() };
        Ok((!told.changes.is_empty()).then_some(Entry::ValuesChanged(told)))
    }
}

fn refuse_scope(inherit: &Inherit, max: u64) -> Result<(), Invalid> {
    let Inherit::Partial(scope) = inherit else { return Ok(()) };
    let refused = |rule: String| Err(Invalid::body("inheritScope", rule));
    if scope.is_empty() {
        return refused("names what is inherited; with inherit none nothing is".to_owned());
    }
    let said = |item: &&InheritItem| matches!(item, InheritItem::Messages | InheritItem::LastMessages(_));
    if scope.iter().filter(said).count() > 1 {
        return refused("names messages more than once".to_owned());
    }
    for item in scope {
        if let InheritItem::Files(glob) = item {
            fitting(glob)?;
        }
    }
    if scope.iter().any(|item| matches!(item, InheritItem::LastMessages(last) if *last > max)) {
        return refused(format!("copies at most {max} messages; all of them are shared with 'messages'"));
    }
    Ok(())
}

fn fitting(glob: &str) -> Result<Glob, Invalid> {
    Glob::new(glob).map_err(|error| Invalid::body("inheritScope", format!("files:{glob}: {error}")))
}

/// The record of a spawned thread: the fields that say where the work belongs are copied.
fn inherit(parent: &Thread, intent: &str, inherit: &Inherit) -> Record {
    let record = &parent.record;
    Record {
        title: Some(title(intent)),
        intent: Some(intent.to_owned()),
        agent_mode: record.agent_mode.clone(),
        task_id: record.task_id.clone(),
        project_id: record.project_id.clone(),
        user_id: record.user_id.clone(),
        env: record.env.clone().filter(|_| includes(inherit, &InheritItem::Env)),
        parent_id: Some(parent.id),
        ..Record::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_read_item_by_item_and_what_is_unknown_names_what_is() {
        let read = |text: &str| text.parse::<InheritItem>();
        assert_eq!(read("messages"), Ok(InheritItem::Messages));
        assert_eq!(read("messages:last=20"), Ok(InheritItem::LastMessages(20)));
        assert_eq!(read("files:src/**/*.rs"), Ok(InheritItem::Files("src/**/*.rs".into())));
        assert_eq!(read("kv:a:b"), Ok(InheritItem::Values("a:b".into())));
        assert_eq!((read("env"), read("skills")), (Ok(InheritItem::Env), Ok(InheritItem::Skills)));
        for odd in ["", "memory", "messages:", "messages:last=0", "messages:first=3", "files:", "env:x", "Messages"] {
            let refused = read(odd).expect_err(odd);
            assert!(refused.rule.contains("messages:last=N, files:GLOB, kv:PREFIX, env, skills"), "{}", refused.rule);
        }
    }
}
