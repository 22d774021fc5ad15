//! `archive`, `unarchive`: hidden from the main list, and back.

use threadkeep_calls::{Archive, Unarchive, Update};
use threadkeep_model::{Json, Thread, ThreadId};

use crate::ground::carry::Carry;
use crate::{Engine, Result};

impl Carry for Archive {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        set_archived(engine, thread, "true").await
    }
}

impl Carry for Unarchive {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        set_archived(engine, thread, "false").await
    }
}

async fn set_archived(engine: &Engine, thread: ThreadId, json: &str) -> Result<Thread> {
    Update::new().field("archived", Json::parse("archived", json)?).carry(engine, thread).await
}
