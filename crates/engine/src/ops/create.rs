//! `create`: a new thread, with its first messages if there are any.

use threadkeep_calls::{At, Create, NewMessage};
use threadkeep_model::{NewSegment, Record, Tally, Thread, ThreadCommit, ThreadId};
use threadkeep_store::BoxFuture;

use crate::ground::carry::Carry;
use crate::ground::plan::Settled;
use crate::{Engine, Result};

impl Carry for Create {
    type Made = Thread;

    async fn carry(self, engine: &Engine, no_thread: ThreadId) -> Result<Thread> {
        let record = Record::default().merge(&self.fields.checked()?)?;
        let prepared = engine.prepare(self.messages)?;
        // Ids are drawn anew for each try: a short id that is taken is no reason to refuse.
        let settled = engine
            .settle(no_thread, || async {
                let id = ThreadId::from_chance(engine.shared.world.chance());
                let segment = NewSegment { id: engine.new_segment(), link: None, birth: Tally::default() };
                let (account, entries) = (engine.caller.account.clone(), prepared.entries.clone());
                let birth = threadkeep_model::Create {
                    thread: id,
                    account,
                    record: record.clone(),
                    segment,
                    entries,
                    created: None,
                };
                let mut commit = engine.commit(vec![ThreadCommit::Create(birth)]);
                commit.blobs.extend(prepared.blobs.iter().cloned());
                Ok((Some(commit), record.clone()))
            })
            .await?;
        let place = settled.place()?.clone();
        match settled {
            Settled { kept: Some(record), .. } => {
                let account = engine.caller.account.clone();
                Ok(Thread { id: place.thread, account, created: place.time, head: place.head, record })
            }
            Settled { kept: None, .. } => engine.thread(place.thread).await,
        }
    }

    fn new_messages(&mut self) -> Vec<&mut NewMessage> {
        self.messages.iter_mut().collect()
    }
}

impl Engine {
    /// Creates a thread. It is at version 0, or at the version of its last first message.
    ///
    /// # Errors
    /// A field or a message that breaks a rule.
    pub fn create(&self, create: Create) -> BoxFuture<'_, Result<Thread>> {
        Box::pin(async move { self.call(At::none(), create).await })
    }
}
