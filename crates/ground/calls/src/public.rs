//! The parts of a public thread that visitors see: the conversation, and its description.
//!
//! Left out are the account and the names of its actors, drafts, the environment, the queue, runs, projects and
//! sandboxes, and relatives, which may be private.

use threadkeep_model::{Actor, Damaged, Kind};

use crate::{HistoryEntry, Message, Thread};

impl Thread {
    /// `thread` as visitors see it.
    pub fn for_visitors(thread: &threadkeep_model::Thread) -> Self {
        Self {
            account_id: None,
            draft: None,
            auto_submit_draft: false,
            task_id: None,
            project_id: None,
            user_id: None,
            status: None,
            env: None,
            origin_thread_id: None,
            fork_point_index: None,
            main_thread_id: None,
            parent_id: None,
            activated_skills: Vec::new(),
            run: None,
            ..Self::from(thread)
        }
    }
}

impl<'a> Message<'a> {
    /// `message` as visitors see it.
    ///
    /// # Errors
    /// If the body on disk is damaged.
    pub fn for_visitors(message: &'a threadkeep_model::Message) -> Result<Self, Damaged> {
        let shown = Self::new(message)?;
        Ok(Self { actor: unnamed(&shown.actor), ..shown })
    }
}

impl HistoryEntry<'_> {
    /// The entry as visitors see it; none if it is not for them.
    #[must_use]
    pub fn for_visitors(self, kind: Kind) -> Option<Self> {
        kind.is_public().then(|| Self { account: None, actor: unnamed(&self.actor), cause: None, ..self })
    }
}

fn unnamed(actor: &Actor) -> Actor {
    Actor { kind: actor.kind, name: String::new() }
}
