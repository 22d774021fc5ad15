//! `change-owner`: a thread goes to another account, with the threads of its subagents.

use threadkeep_model::{
    Account, Entry, FieldChanges, Invalid, Json, OwnerChanged, Thread, ThreadChanged, ThreadCommit, ThreadId, Version,
};

use super::tell_one;
use crate::{Engine, Result};

/// Gives a thread to another account.
#[derive(Debug, Clone)]
pub struct ChangeOwner {
    /// The account that owns it from now on.
    pub to: Account,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Engine {
    /// Gives a thread to another account, with the threads of its subagents and of theirs, in one commit. It leaves its
    /// project, which is an account's own. Who had it before knows it no more, unless it is public; forks stay whose
    /// they are. To give it to the account that has it changes nothing.
    ///
    /// # Errors
    /// A thread that works for another one goes with that one, and not by itself; [`crate::Error::VersionConflict`].
    pub async fn change_owner(&self, thread: ThreadId, change: ChangeOwner) -> Result<Thread> {
        let before = self.thread(thread).await?;
        if before.account == change.to && change.expected.is_none_or(|expected| expected == before.head.version) {
            return Ok(before);
        }
        let (committed, mut going) = self
            .settle(thread, || async {
                let mut going = self.with_subagents(self.thread(thread).await?).await?;
                if let Some(main) = going[0].record.main_thread_id {
                    let rule = format!("works for {main}: give that one away, and this one goes with it");
                    return Err(Invalid::parameter("thread", rule).into());
                }
                let mut threads = Vec::with_capacity(going.len());
                for (n, thread) in going.iter_mut().enumerate() {
                    threads.push(give(thread, &change.to, change.expected.filter(|_| n == 0))?);
                }
                Ok((self.commit(threads), going))
            })
            .await?;
        for thread in &going {
            self.shared.gates.forget(thread.id);
        }
        let mut given = going.swap_remove(0);
        if let Some(committed) = committed.threads.first() {
            given.head = committed.head;
        }
        Ok(given)
    }
}

/// What is written to a thread that goes to `to`. From here on `thread` is as it is afterwards.
fn give(thread: &mut Thread, to: &Account, expected: Option<Version>) -> Result<ThreadCommit> {
    let mut entries = vec![Entry::OwnerChanged(OwnerChanged { from: thread.account.clone(), to: to.clone() })];
    if thread.record.project_id.is_some() {
        let fields = FieldChanges([("projectId".to_owned(), Json::parse("projectId", "null")?)].into());
        entries.push(Entry::ThreadChanged(ThreadChanged { fields }));
    }
    let (mut told, record) = tell_one(thread, expected, &entries)?;
    if let ThreadCommit::Write(write) = &mut told {
        (write.owner, write.record) = (Some(to.clone()), Some(record.clone()));
    }
    (thread.account, thread.record) = (to.clone(), record);
    Ok(told)
}
