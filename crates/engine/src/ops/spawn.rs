//! `spawn`: a new thread for an intent of its own, with all, some or nothing of what this one holds.
//!
//! What is inherited is a snapshot: both threads go their own ways from then on. Messages, files and values are shared by a
//! link, which costs the same however many there are. A part of them is told again instead, in the first entries of the new
//! thread: a link shows all of a kind from its beginning. The content of files is never copied.

use std::str::FromStr;

use threadkeep_model::{
    AgentAssigned, AgentState, Bounds, DiffStats, Entry, FileCell, FileChange, FilesChanged, Invalid, MessageBody,
    NewEntry, NewSegment, Position, Record, Related, RelationKind, Tally, Thread, ThreadCommit, ThreadId, ValueChange,
    ValuesChanged, Version, Work,
};
use threadkeep_tree::Glob;

use super::cut::link;
use super::fork::{Decided, ForkPoint};
use super::handoff::{text, title};
use super::write;
use crate::calls::Interrupted;
use crate::view::View;
use crate::{Engine, FileIs, FileRecord, Result, StoredValue};

/// A new thread for an intent of its own.
#[derive(Debug, Clone, Default)]
pub struct Spawn {
    /// What the new thread is for.
    pub intent: String,
    /// What it inherits.
    pub inherit: Inherit,
    /// Whose thread it is; without it, the same agent's.
    pub agent_id: Option<String>,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Spawn {
    /// For this intent, with nothing of what the thread holds.
    pub fn new(intent: &str) -> Self {
        Self { intent: intent.to_owned(), ..Self::default() }
    }

    /// The same, inheriting this.
    #[must_use]
    pub fn inherit(self, inherit: Inherit) -> Self {
        Self { inherit, ..self }
    }
}

/// What a spawned thread inherits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Inherit {
    /// Messages, files, values, skills and the workspace it began in.
    Full,
    /// What these name.
    Partial(Vec<InheritItem>),
    /// Nothing.
    #[default]
    None,
}

/// Something that a thread inherits in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InheritItem {
    /// `messages`: the conversation.
    Messages,
    /// `messages:last=N`: the end of the conversation, copied.
    LastMessages(u64),
    /// `files` or `files:GLOB`: the files that fit.
    Files(String),
    /// `kv` or `kv:PREFIX`: the values whose keys begin like that.
    Values(String),
    /// `env`: the workspace it began in.
    Env,
    /// `skills`: the skills that are active.
    Skills,
}

/// Files that are read at once to be told again.
const TOLD_AT_ONCE: usize = 1_000;
/// Fits every file.
const ALL_FILES: &str = "**";

impl FromStr for InheritItem {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let refused = |why: &str| {
            let known = "messages, messages:last=N, files:GLOB, kv:PREFIX, env, skills";
            Invalid::body("inheritScope", format!("'{text}' {why}; it is one of {known}"))
        };
        let (name, what) = text.split_once(':').map_or((text, None), |(name, what)| (name, Some(what)));
        match (name, what) {
            ("messages", None) => Ok(Self::Messages),
            ("messages", Some(what)) => {
                let last = what.strip_prefix("last=").and_then(|last| last.parse().ok());
                last.filter(|last| *last > 0)
                    .map(Self::LastMessages)
                    .ok_or_else(|| refused("names no number of messages"))
            }
            ("files", None) => Ok(Self::Files(ALL_FILES.to_owned())),
            ("files", Some("")) => Err(refused("names no files")),
            ("files", Some(glob)) => Ok(Self::Files(glob.to_owned())),
            ("kv", prefix) => Ok(Self::Values(prefix.unwrap_or_default().to_owned())),
            ("env", None) => Ok(Self::Env),
            ("skills", None) => Ok(Self::Skills),
            _ => Err(refused("is not known")),
        }
    }
}

impl Inherit {
    fn includes(&self, item: &InheritItem) -> bool {
        match self {
            Self::Full => true,
            Self::Partial(scope) => scope.contains(item),
            Self::None => false,
        }
    }
}

impl Engine {
    /// Makes a new thread for an intent of its own. Both threads show from the same commit on where it came from
    /// ([`Engine::family`]); only owners spawn.
    ///
    /// # Errors
    /// A blank intent; a scope that breaks a rule; [`crate::Error::VersionConflict`].
    pub async fn spawn(&self, thread: ThreadId, spawn: Spawn) -> Result<Thread> {
        let intent = text("intent", &spawn.intent)?;
        self.refuse_scope(&spawn.inherit)?;
        let (committed, mut child) = self
            .settle(thread, || async {
                let parent = self.thread(thread).await?;
                let Decided { segment, first, state, .. } = match &spawn.inherit {
                    Inherit::Full => self.decide_fork(&parent, ForkPoint::Now, Interrupted::Spawn).await?,
                    Inherit::Partial(scope) => self.decide_partial(&parent, scope).await?,
                    Inherit::None => self.decide_partial(&parent, &[]).await?,
                };
                let inherited = match &spawn.inherit {
                    Inherit::Full | Inherit::None => state.clone(),
                    Inherit::Partial(_) => parent.record.state(),
                };
                let agent_id = spawn.agent_id.clone().or_else(|| parent.record.agent_id.clone());
                let state = AgentState { agent_id, ..state };
                let mut entries = first;
                let leads_to_agents = segment.link.is_some_and(|link| !link.bounds.hides_agents());
                if leads_to_agents && state != inherited {
                    // What the link leads to says otherwise, and a rollback goes by it.
                    let told = Entry::AgentAssigned(AgentAssigned { state: state.clone() });
                    entries.insert(0, NewEntry::new(&told));
                }
                let id = ThreadId::from_chance(self.shared.world.chance());
                let record = inherit(&parent, &intent, &spawn.inherit).with_state(state).checked()?;
                let account = self.caller.account.clone();
                let birth = threadkeep_model::Create { thread: id, account, record, segment, entries };
                let birth = birth.with_birth_recorded();
                let record = birth.record.clone();
                let head = threadkeep_model::born(&birth, self.shared.world.now()).head;
                let (index, anchor) = self.last_place(&parent).await?;
                let (kind, comment) = (RelationKind::Spawn, Some(intent.clone()));
                let told = NewEntry::new(&Entry::Related(Related { child: id, kind, index, anchor, comment }));
                let told = write(&parent, spawn.expected, None, vec![told], None);
                let mut commit = self.commit(vec![told, ThreadCommit::Create(birth)]);
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

    /// What a thread with a part of its parent sees, and is told first.
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
        // What the link does not lead to was never there; what the child writes itself is its own.
        tally.work = Work::default();
        if bounds.files != Position::START {
            (tally.work.last_files, tally.work.stats) = (view.tally.work.last_files, view.tally.work.stats);
        }
        if bounds.values != Position::START {
            tally.work.last_values = view.tally.work.last_values;
            // What is told of agents is seen with values.
            tally.last_state = view.tally.last_state;
        }
        let link = if bounds == Bounds::all(Position::START) { None } else { link(&view, bounds) };
        let birth = if link.is_some() { tally } else { Tally::default() };
        let segment = NewSegment { id: self.new_segment(), link, birth };
        let first = first.iter().map(NewEntry::new).collect();
        let state = AgentState { agent_id: parent.record.agent_id.clone(), skills };
        Ok(Decided { segment, first, state, index: None, anchor: None })
    }

    /// The last messages of a view, to be said again, with what closes their open calls.
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

    /// The files of `view` that fit `glob`, to be told again. No content is copied.
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

    /// The values of `view` whose keys begin with `prefix`, to be told again.
    async fn values_told(&self, view: &View, prefix: &str) -> Result<Option<Entry>> {
        let (found, _) = self.values_in(view, prefix, None, usize::MAX - 1).await?;
        let change = |found: StoredValue| ValueChange { key: found.key, value: Some(found.value) };
        let told = ValuesChanged { changes: found.into_iter().map(change).collect() };
        Ok((!told.changes.is_empty()).then_some(Entry::ValuesChanged(told)))
    }

    fn refuse_scope(&self, inherit: &Inherit) -> Result<(), Invalid> {
        let Inherit::Partial(scope) = inherit else { return Ok(()) };
        let refused = |rule: String| Err(Invalid::body("inheritScope", rule));
        if scope.is_empty() {
            return refused("names what is inherited; with inherit none nothing is".to_owned());
        }
        let max = self.shared.limits.batch_max as u64;
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
}

fn fitting(glob: &str) -> Result<Glob, Invalid> {
    Glob::new(glob).map_err(|error| Invalid::body("inheritScope", format!("files:{glob}: {error}")))
}

/// The record of a spawned thread: what says where the work belongs goes along.
fn inherit(parent: &Thread, intent: &str, inherit: &Inherit) -> Record {
    let record = &parent.record;
    Record {
        title: Some(title(intent)),
        intent: Some(intent.to_owned()),
        agent_mode: record.agent_mode.clone(),
        task_id: record.task_id.clone(),
        project_id: record.project_id.clone(),
        user_id: record.user_id.clone(),
        env: record.env.clone().filter(|_| inherit.includes(&InheritItem::Env)),
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
