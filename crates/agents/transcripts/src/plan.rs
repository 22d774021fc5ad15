//! From a session to threads: which threads to make, where to fork, what to append. Nothing here touches a store.
//!
//! The active branch is the thread of the session. Every other branch is a fork at the message where it left, so what
//! branches share is stored once. A message that is already placed is not written again.

use std::collections::HashMap;

use crate::shape::{Message, OriginKind, Session};

/// A thread that a plan speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ThreadName {
    /// A thread of the store, by its id.
    Stored(String),
    /// The thread that the step of this number makes; steps count from 0.
    Made(usize),
}

/// Where a message of the source is in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The thread that holds it.
    pub thread: String,
    /// It is the last message of the thread.
    pub is_last: bool,
    /// The thread is that of this session's active branch, and holds only imported messages: it follows the session. A
    /// thread that went on here is left alone, and the session goes on in a fork.
    pub is_main: bool,
}

/// What an earlier import left.
pub struct Known<'a> {
    /// Where a message is, by session and by id or alias. Formats that copy history with its ids (Claude Code, pi) may be
    /// answered with the place in another session: the copy then becomes a fork.
    pub placed: &'a dyn Fn(&str, &str) -> Option<Placed>,
    /// Whether a placed message still says the same. The last reply of a file that grew may say more.
    pub is_same: &'a dyn Fn(&Message) -> bool,
    /// The thread of another session of the source: subagents work for it.
    pub thread: &'a dyn Fn(&str) -> Option<String>,
}

impl Known<'_> {
    /// Nothing was imported before.
    pub fn nothing() -> Self {
        Known { placed: &|_, _| None, is_same: &|_| true, thread: &|_| None }
    }
}

/// One step. Steps are carried out in order.
#[derive(Debug, PartialEq)]
pub enum Step<'a> {
    /// Makes a thread without history: with `create`, or as a subagent of the thread that holds the named message.
    Create {
        /// It is the thread of the session; else it is a branch that shares nothing.
        is_main: bool,
        /// The parent, if the session is a subagent whose parent is in the store.
        parent: Option<ThreadName>,
    },
    /// Makes a thread that shares `from` up to `after`.
    Fork {
        /// It is the thread of the session; else it is a dead branch.
        is_main: bool,
        /// The thread that has the history.
        from: ThreadName,
        /// The last message both have.
        after: &'a str,
    },
    /// Keeps everything `from` holds as a fork, before `from` is cut.
    Keep {
        /// The thread that went another way.
        from: ThreadName,
    },
    /// Cuts a thread after a message.
    Truncate {
        /// The thread of the session.
        thread: ThreadName,
        /// The message that becomes its last.
        after: &'a str,
    },
    /// Adds a message at the end of a thread.
    Append {
        /// The thread.
        thread: ThreadName,
        /// The message.
        message: &'a Message,
    },
    /// Replaces a message that says more than before.
    Edit {
        /// The thread that holds it.
        thread: ThreadName,
        /// The message as it is now.
        message: &'a Message,
    },
}

/// The steps that bring `session` to the store.
pub fn plan<'a>(session: &'a Session, known: &Known<'_>) -> Vec<Step<'a>> {
    let mut planner = Planner::new(session, known);
    planner.main();
    planner.branches();
    planner.steps
}

struct Planner<'a, 'k> {
    session: &'a Session,
    known: &'k Known<'k>,
    steps: Vec<Step<'a>>,
    messages: HashMap<&'a str, &'a Message>,
    aliases: HashMap<&'a str, &'a str>,
    /// The thread of each message, and whether it is the thread's last so far.
    places: HashMap<&'a str, (ThreadName, bool)>,
    /// The last message of each thread that this plan writes to.
    ends: HashMap<ThreadName, &'a str>,
    /// The thread that is cut, and the step that keeps what it held.
    kept: Option<(String, usize)>,
}

impl<'a, 'k> Planner<'a, 'k> {
    fn new(session: &'a Session, known: &'k Known<'k>) -> Self {
        Self {
            session,
            known,
            steps: Vec::new(),
            messages: session.messages.iter().map(|message| (message.id.as_str(), message)).collect(),
            aliases: session.aliases.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect(),
            places: HashMap::new(),
            ends: HashMap::new(),
            kept: None,
        }
    }

    fn resolve(&self, name: &'a str) -> &'a str {
        let mut name = name;
        // Aliases of aliases are rare; a circle of them must still end.
        for _ in 0..=self.aliases.len() {
            match self.aliases.get(name) {
                Some(to) if !self.messages.contains_key(name) => name = to,
                _ => break,
            }
        }
        name
    }

    /// Where a message is in the store.
    fn stored(&self, name: &str) -> Option<Placed> {
        (self.known.placed)(&self.session.id, name)
    }

    /// The branch that ends at the active message, oldest first, and the message before it if that is not in this
    /// session.
    fn active_branch(&self) -> (Vec<&'a Message>, Option<&'a str>) {
        let mut branch = Vec::new();
        let mut at = self.session.active.as_deref().map(|active| self.resolve(active));
        while let Some(message) = at.and_then(|id| self.messages.get(id)) {
            branch.push(*message);
            at = message.parent.as_deref().map(|parent| self.resolve(parent));
            if branch.len() > self.messages.len() {
                break;
            }
        }
        branch.reverse();
        (branch, at)
    }

    fn main(&mut self) {
        let (branch, before) = self.active_branch();
        let shared = branch.iter().rposition(|message| self.stored(&message.id).is_some());
        let base = match shared {
            Some(at) => Some((branch[at].id.as_str(), self.stored(&branch[at].id))),
            None => before.map(|before| (before, self.stored(before))),
        };
        for message in branch.iter().take(shared.map_or(0, |at| at + 1)) {
            self.already(message);
        }
        let rest = &branch[shared.map_or(0, |at| at + 1)..];
        if rest.is_empty() && shared.is_none() {
            return;
        }
        let thread = match base {
            Some((id, Some(placed))) => self.continued(id, placed, rest.is_empty()),
            _ => self.begun(),
        };
        for message in rest {
            self.append(&thread, message);
        }
    }

    /// The thread of the session, which has `id` already.
    fn continued(&mut self, id: &'a str, placed: Placed, is_whole: bool) -> ThreadName {
        let stored = ThreadName::Stored(placed.thread);
        match (placed.is_main, placed.is_last) {
            (true, true) => stored,
            (true, false) => {
                // The session went back and on: its thread follows, and the old way stays as a fork.
                if let ThreadName::Stored(id) = &stored {
                    self.kept = Some((id.clone(), self.steps.len()));
                }
                self.steps.push(Step::Keep { from: stored.clone() });
                self.steps.push(Step::Truncate { thread: stored.clone(), after: id });
                stored
            }
            (false, _) if is_whole => stored,
            (false, _) => self.forked(true, stored, id),
        }
    }

    /// A new thread for the session.
    fn begun(&mut self) -> ThreadName {
        let origin = self.session.origin.as_ref();
        let placed = origin.and_then(|origin| {
            let message = origin.message.as_deref()?;
            Some((message, (self.known.placed)(&origin.session, message)?))
        });
        match (origin.map(|origin| origin.kind), placed) {
            (Some(OriginKind::Fork), Some((message, placed))) => {
                self.forked(true, ThreadName::Stored(placed.thread), message)
            }
            (Some(OriginKind::Subagent), placed) => {
                let named = || origin.and_then(|origin| (self.known.thread)(&origin.session));
                let parent = placed.map(|(_, placed)| placed.thread).or_else(named).map(ThreadName::Stored);
                self.made(Step::Create { is_main: true, parent })
            }
            (Some(OriginKind::Fork) | None, _) => self.made(Step::Create { is_main: true, parent: None }),
        }
    }

    fn made(&mut self, step: Step<'a>) -> ThreadName {
        self.steps.push(step);
        ThreadName::Made(self.steps.len() - 1)
    }

    fn forked(&mut self, is_main: bool, from: ThreadName, after: &'a str) -> ThreadName {
        self.made(Step::Fork { is_main, from, after })
    }

    fn append(&mut self, thread: &ThreadName, message: &'a Message) {
        if let Some(end) = self.ends.insert(thread.clone(), &message.id)
            && let Some((_, is_last)) = self.places.get_mut(end)
        {
            *is_last = false;
        }
        self.places.insert(&message.id, (thread.clone(), true));
        self.steps.push(Step::Append { thread: thread.clone(), message });
    }

    /// A message that the store has.
    fn already(&mut self, message: &'a Message) {
        let Some(placed) = self.stored(&message.id) else { return };
        if !(self.known.is_same)(message) {
            self.steps.push(Step::Edit { thread: ThreadName::Stored(placed.thread.clone()), message });
        }
        let place = self.place(placed);
        self.places.insert(&message.id, place);
    }

    /// The thread of a stored message, and whether another one may be added after it. What a thread held before it is cut
    /// is in the fork that keeps it.
    fn place(&self, placed: Placed) -> (ThreadName, bool) {
        match &self.kept {
            Some((cut, step)) if *cut == placed.thread => (ThreadName::Made(*step), placed.is_last),
            _ => (ThreadName::Stored(placed.thread), placed.is_last && !placed.is_main),
        }
    }

    /// Everything that is not on the active branch, in the order of the source.
    fn branches(&mut self) {
        let main: Option<ThreadName> = self
            .session
            .active
            .as_deref()
            .and_then(|active| self.places.get(self.resolve(active)).map(|(thread, _)| thread.clone()));
        for message in &self.session.messages {
            if self.places.contains_key(message.id.as_str()) {
                continue;
            }
            if self.stored(&message.id).is_some() {
                self.already(message);
                continue;
            }
            let parent = message.parent.as_deref().map(|parent| self.resolve(parent));
            let place = parent.and_then(|parent| {
                let known = self.places.get(parent).cloned();
                known.or_else(|| Some(self.place(self.stored(parent)?)))
            });
            let thread = match (parent, place) {
                (Some(_), Some((thread, true))) if Some(&thread) != main.as_ref() => thread,
                (Some(parent), Some((thread, _))) => self.forked(false, thread, parent),
                _ => self.made(Step::Create { is_main: false, parent: None }),
            };
            self.append(&thread, message);
        }
    }
}
