//! What visitors see of a public thread: the conversation, and what describes it.
//!
//! Left out are the account and the names of its actors, drafts, the environment, the queue, executions, projects and
//! sandboxes, and relatives, which may be private.

use threadkeep_engine::Error;
use threadkeep_model::{Actor, Damaged};

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
            execution: None,
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

impl<'a> HistoryEntry<'a> {
    /// `entry` as visitors see it; none if it is not for them.
    ///
    /// # Errors
    /// If the body on disk is damaged.
    pub fn for_visitors(entry: &'a threadkeep_engine::HistoryEntry) -> Result<Option<Self>, Error> {
        if !entry.kind.is_public() {
            return Ok(None);
        }
        let shown = Self::new(entry)?;
        Ok(Some(Self { account: None, actor: unnamed(&shown.actor), cause: None, ..shown }))
    }
}

fn unnamed(actor: &Actor) -> Actor {
    Actor { kind: actor.kind, name: String::new() }
}
