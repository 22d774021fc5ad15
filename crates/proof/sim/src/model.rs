//! The reference model: the state that threads should show, as simple as possible.
//!
//! Every thread has its own copy of everything. History and view are apart: the view is a list of messages, and a
//! snapshot of it is kept for every version.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use threadkeep::{MessageId, ThreadId, Timestamp};
use threadkeep_model::Kind;

/// A message in a view. Deleted ones stay in the list, so that order is plain.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The id of the message.
    pub id: MessageId,
    /// The appended message whose slot it is in; its own id if it was appended.
    pub root: MessageId,
    /// The text of the message.
    pub text: String,
    /// Its metadata, as JSON.
    pub metadata: Option<String>,
    /// The version at which it got its present form.
    pub version: u64,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Whether the default list leaves it out.
    pub silent: bool,
    /// Agent and skills when it was said.
    pub worker: Worker,
    /// Files and values when it was said.
    pub held: Held,
}

/// The files and values of a thread.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Held {
    /// The content of files, by their paths.
    pub files: Cells,
    /// Values as JSON, by their keys.
    pub values: Cells,
    /// The history of the files.
    pub file_trail: Trail,
    /// The history of the values.
    pub value_trail: Trail,
}

/// Files or values, by their names.
pub type Cells = BTreeMap<String, String>;

impl Held {
    /// An entry was logged: notes the files and values after it.
    fn step(&mut self) {
        self.file_trail = self.file_trail.then(&self.files);
        self.value_trail = self.value_trail.then(&self.values);
    }
}

/// The entries that a thread sees, up to one of them, each with the files and values after it. Threads that grew
/// from each other share the beginning.
#[derive(Clone, Default)]
pub struct Trail(Option<Rc<Step>>);

struct Step {
    before: Trail,
    length: usize,
    after: Cells,
}

impl Trail {
    fn length(&self) -> usize {
        self.0.as_ref().map_or(0, |step| step.length)
    }

    fn then(&self, after: &Cells) -> Self {
        Self(Some(Rc::new(Step { before: self.clone(), length: self.length() + 1, after: after.clone() })))
    }

    /// The files and values where two trails part; none if they share nothing.
    pub fn parting(&self, other: &Self) -> Option<Cells> {
        let (mut one, mut other) = (self, other);
        loop {
            match (&one.0, &other.0) {
                (Some(here), Some(there)) if Rc::ptr_eq(here, there) => return Some(here.after.clone()),
                (Some(here), Some(there)) if here.length >= there.length => one = &here.before,
                (Some(_), Some(there)) => other = &there.before,
                (None, _) | (_, None) => return None,
            }
        }
    }
}

/// The history makes no difference to equality.
impl PartialEq for Trail {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Trail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} entries", self.length())
    }
}

/// A merge that went through.
#[derive(Debug, Clone)]
pub struct ModelMerge {
    /// The thread that took.
    pub target: ThreadId,
    /// The thread that was taken from.
    pub source: ThreadId,
    /// As it was at this version.
    pub version: u64,
    /// The version of the target's entry that tells of it.
    pub made: u64,
    /// The files and values that it covered.
    pub scope: MergeScope,
}

/// The files and values that a merge covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeScope {
    /// Files, values and decisions.
    All,
    /// The files below `/d`.
    Below,
    /// The values that begin with `k`.
    Keys,
}

/// The agent of a thread, and its skills.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Worker {
    /// The agent it is assigned to.
    pub agent: Option<String>,
    /// The skills, in order.
    pub skills: Vec<String>,
}

/// The state of a thread at some version.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The messages that it shows.
    pub view: Vec<Item>,
    /// The versions of the thread's own entries that are in view.
    pub lineage: BTreeSet<u64>,
    /// Its agent and active skills.
    pub worker: Worker,
    /// Its files and values.
    pub held: Held,
}

/// A thread that is not deleted.
#[derive(Debug, Clone)]
pub struct ModelThread {
    /// The id of the thread.
    pub id: ThreadId,
    /// The title, if it has one.
    pub title: Option<String>,
    /// Its version at birth.
    pub birth: u64,
    /// The version of its head.
    pub version: u64,
    /// The state at its head.
    pub now: State,
    /// The state at each version since its birth.
    pub then: BTreeMap<u64, State>,
    /// The entries logged to it, by version.
    pub history: Vec<(u64, Kind)>,
    /// When each version came to be; its birth too.
    pub times: BTreeMap<u64, Timestamp>,
    /// Versions by the names of checkpoints.
    pub checkpoints: BTreeMap<String, u64>,
    /// The versions before each rollback, truncation, undo and redo, rising.
    pub openings: Vec<u64>,
    /// The walk of undos and redos it is on: the version where that began, and the one that is shown.
    pub walk: Option<(u64, u64)>,
    /// The queued messages, in order.
    pub queue: Vec<String>,
    /// The thread it was spawned from, and its version after its first entries.
    pub spawned: Option<(ThreadId, u64)>,
}

/// A fork, as the model knows it.
#[derive(Debug, Clone)]
pub struct ModelFork {
    /// The thread it was made on.
    pub parent: ThreadId,
    /// The thread that was made.
    pub child: ThreadId,
    /// The appended message that anchors the fork point.
    pub anchor: Option<MessageId>,
    /// The version of the parent's entry that tells of it.
    pub made: u64,
}

/// All threads as they ought to be.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// Living threads, in the order they were made.
    pub threads: Vec<ModelThread>,
    /// The ids of deleted threads.
    pub deleted: Vec<ThreadId>,
    /// Every fork that was made.
    pub forks: Vec<ModelFork>,
    /// Merges, in the order in which they were made.
    pub merges: Vec<ModelMerge>,
}

impl State {
    /// The messages that show, in order.
    pub fn shown(&self) -> Vec<&Item> {
        self.view.iter().filter(|item| !item.deleted).collect()
    }

    /// The messages of the default list, in order: their places are their indexes.
    pub fn listed(&self) -> Vec<&Item> {
        self.view.iter().filter(|item| !item.deleted && !item.silent).collect()
    }

    /// How many messages of the default list come before this one.
    pub fn index_of(&self, id: MessageId) -> usize {
        let before = self.view.iter().take_while(|item| item.id != id);
        before.filter(|item| !item.deleted && !item.silent).count()
    }

    /// The rest if the conversation ends after this message: first everything up to the end of that
    /// message's slot, then, where the slot goes on behind it, the same with the rest of the slot deleted.
    pub fn cut_after(&self, kept: MessageId) -> (Vec<Item>, Option<Vec<Item>>) {
        let at = self.view.iter().position(|item| item.id == kept).expect("a shown message is in the view");
        let root = self.view[at].root;
        let end = self.view.iter().position(|item| item.id == root).expect("a root is in the view");
        let slot = self.view[..=end].to_vec();
        let mut hidden = slot.clone();
        hidden[at + 1..].iter_mut().for_each(|after| after.deleted = true);
        let hides = hidden != slot;
        (slot, hides.then_some(hidden))
    }
}

impl ModelThread {
    /// A thread at its birth.
    pub fn new(id: ThreadId, title: Option<String>, birth: u64, time: Timestamp, view: Vec<Item>) -> Self {
        let now = State { view, ..State::default() };
        Self {
            id,
            title,
            birth,
            version: birth,
            then: BTreeMap::from([(birth, now.clone())]),
            now,
            history: Vec::new(),
            times: BTreeMap::from([(birth, time)]),
            checkpoints: BTreeMap::new(),
            openings: Vec::new(),
            walk: None,
            queue: Vec::new(),
            spawned: None,
        }
    }

    /// An entry was logged; the view is as it is now.
    pub fn log(&mut self, kind: Kind, time: Timestamp) {
        self.now.held.step();
        self.note(kind, time);
    }

    /// A message was appended. A thread that sees the message sees its entry.
    pub fn say(&mut self, kind: Kind, time: Timestamp, said: impl FnOnce(&State) -> Item) {
        self.now.held.step();
        let said = said(&self.now);
        self.now.view.push(said);
        self.note(kind, time);
    }

    fn note(&mut self, kind: Kind, time: Timestamp) {
        if kind.class() != threadkeep_model::Class::Record {
            self.walk = None;
        }
        self.version += 1;
        self.history.push((self.version, kind));
        self.times.insert(self.version, time);
        self.now.lineage.insert(self.version);
        self.then.insert(self.version, self.now.clone());
    }

    /// The version it was at, at `time`, if it existed.
    pub fn version_at(&self, time: Timestamp) -> Option<u64> {
        self.times.iter().rev().find(|(_, at)| **at <= time).map(|(version, _)| *version)
    }
}

impl Model {
    /// The thread with this id, which is not deleted.
    pub fn thread(&mut self, id: ThreadId) -> &mut ModelThread {
        self.threads.iter_mut().find(|thread| thread.id == id).expect("a living thread")
    }

    /// The forks of a thread, from both ends, that hold: both threads live, and the fork's entry is in the parent's
    /// view.
    pub fn holding(&self, id: ThreadId) -> Vec<(ThreadId, ThreadId)> {
        let find = |id: ThreadId| self.threads.iter().find(|thread| thread.id == id);
        let holds = |fork: &&ModelFork| {
            let (Some(parent), Some(_)) = (find(fork.parent), find(fork.child)) else { return false };
            let anchored = fork.anchor.is_none_or(|anchor| parent.now.view.iter().any(|item| item.id == anchor));
            anchored && parent.now.lineage.contains(&fork.made)
        };
        let own = self.forks.iter().filter(|fork| fork.parent == id || fork.child == id);
        own.filter(holds).map(|fork| (fork.parent, fork.child)).collect()
    }
}
