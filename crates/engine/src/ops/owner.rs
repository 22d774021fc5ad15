//! `change-owner`: a thread goes to another account, with the threads of its subagents.

use threadkeep_calls::ChangeOwner;
use threadkeep_model::{
    Account, Entry, EnvChange, EnvChanged, FieldChanges, Invalid, Json, NewEntry, OwnerChanged, Thread, ThreadChanged,
    ThreadCommit, ThreadId,
};

use crate::env::sealed_of;
use crate::ground::carry::Carry;
use crate::ground::plan::{Settled, record_after, write};
use crate::{Engine, Error, Result};

impl Carry for ChangeOwner {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        engine.admit_owner(&self.account).await?;
        let settled = engine
            .settle(thread, || async {
                let going = engine.with_subagents(engine.thread(thread).await?).await?;
                if let Some(main) = going[0].record.main_thread_id {
                    let rule = format!("works for {main}: give that one away, and this one goes with it");
                    return Err(Invalid::parameter("thread", rule).into());
                }
                if going[0].account == self.account {
                    let given = going.into_iter().next();
                    let unchanged = given.as_ref().map(|thread| write(thread, None, None, Vec::new(), None));
                    let commit = unchanged.filter(|_| !engine.carries_nothing());
                    return Ok((commit.map(|write| engine.commit(vec![write])), (given, Vec::new())));
                }
                let (mut threads, mut given) = (Vec::new(), Vec::new());
                for thread in &going {
                    // They would act for people of the account that gives it away.
                    let cancelled = engine.cancelled_effects(thread.id, "the thread changed its owner").await?;
                    let (told, after) = give(thread, &self.account, cancelled)?;
                    threads.push(told);
                    given.push(after);
                }
                Ok((Some(engine.commit(threads)), (Some(given.swap_remove(0)), going)))
            })
            .await?;
        let place = settled.place()?.clone();
        let Settled { kept, .. } = settled;
        let (given, before) = kept.unwrap_or_default();
        for thread in &before {
            engine.drop_sealed(thread.id, sealed_of(thread, true)).await;
        }
        match given {
            Some(given) => Ok(Thread { head: place.head, ..given }),
            // The account that gave it away does not see it any more, but a repeated call gets the first answer.
            None => {
                let found = engine.shared.stores.store.thread(thread.into()).await?;
                found.ok_or(Error::ThreadNotFound { thread: thread.into() })
            }
        }
    }
}

/// The commit to a thread that goes to `to`, with the entries that cancel its effects, and the thread as it is afterwards.
fn give(thread: &Thread, to: &Account, cancelled: Vec<Entry>) -> Result<(ThreadCommit, Thread)> {
    let mut entries = vec![Entry::OwnerChanged(OwnerChanged { from: thread.account.clone(), to: to.clone() })];
    if thread.record.project_id.is_some() {
        let fields = FieldChanges([("projectId".to_owned(), Json::null())].into());
        entries.push(Entry::ThreadChanged(ThreadChanged { fields }));
    }
    // Secrets are not given away with the thread.
    let dropped = sealed_of(thread, true).into_iter().map(|(name, _)| EnvChange { name, variable: None });
    let changes: Vec<EnvChange> = dropped.collect();
    if !changes.is_empty() {
        entries.push(Entry::EnvChanged(EnvChanged { changes }));
    }
    entries.extend(cancelled);
    let record = record_after(thread, &entries)?;
    let entries = entries.iter().map(NewEntry::new).collect();
    let mut told = write(thread, None, None, entries, Some(record.clone()));
    if let ThreadCommit::Write(write) = &mut told {
        write.owner = Some(to.clone());
    }
    Ok((told, Thread { account: to.clone(), record, ..thread.clone() }))
}
