//! Results of the engine, as the wire shows them: answers of calls, as JSON with their version.

use serde::Serialize;
use threadkeep_calls as calls;
use threadkeep_calls::Page;
use threadkeep_model::{Lease, Message, Thread, Version};

use crate::{Error, Result};

/// An answer on its way to the wire.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The version of the thread that it tells.
    pub version: Option<Version>,
    /// Whether it is the other one of the answers that a call declares.
    pub also: bool,
    /// The answer as JSON text.
    pub json: Vec<u8>,
}

impl Shown {
    /// `answer`, which tells no version.
    pub(crate) fn plain(answer: &impl Serialize) -> Result<Self> {
        let unwritable = |error: serde_json::Error| Error::broken_because("an answer has text keys", &error);
        Ok(Self { version: None, also: false, json: serde_json::to_vec(answer).map_err(unwritable)? })
    }

    pub(crate) fn at(version: Version, answer: &impl Serialize) -> Result<Self> {
        Ok(Self { version: Some(version), ..Self::plain(answer)? })
    }
}

/// Something that a call gives.
pub trait Show {
    /// It, as the wire shows it.
    ///
    /// # Errors
    /// If a body on disk is damaged.
    fn show(&self) -> Result<Shown>;

    /// The threads in it whose records it shows.
    fn threads(&mut self) -> Vec<&mut Thread> {
        Vec::new()
    }
}

macro_rules! plain {
    ($($type:ty),* $(,)?) => {$(
        impl Show for $type {
            fn show(&self) -> Result<Shown> {
                Shown::plain(self)
            }
        }
    )*};
}

plain! {
    calls::Approval, calls::Backfilled, calls::Checkpoint, calls::Context, calls::CreatedKey, calls::Decision, calls::Delegation,
    calls::Adopted, calls::Deleted, calls::DeltaTold, calls::Doctor, calls::Effect, calls::EmitTold, calls::EnvVariable, calls::Family, calls::Gc, calls::Injection, calls::MemoriesFound, calls::Memory, calls::Notified, calls::Observer, calls::Project, calls::Queued, calls::QueuedTool, calls::Reference, calls::References, calls::Relationship, calls::Released, calls::Revoked, calls::RequiredVariables, calls::Run, calls::RunTold, calls::SearchFound, calls::StatusSet, calls::Summary, calls::Transferred,
    calls::Writer, Option<calls::ExecutionState>, Option<calls::Writer>, Vec<calls::ModelMessage>,
    Page<calls::Approval>, Page<calls::Checkpoint>, Page<calls::Child>, Page<calls::Decision>, Page<calls::Delegation>,
    Page<calls::Effect>, Page<calls::EnvVariable>,
    Page<calls::Injection>, Page<calls::Key>, Page<calls::LoggedEvent>, Page<calls::Memory>, Page<calls::MergeTold>, Page<calls::Observer>,
    Page<calls::Project>, Page<calls::Queued>, Page<calls::QueuedTool>, Page<calls::Relationship>, Page<calls::Run>,
}

impl Show for calls::Logged {
    fn show(&self) -> Result<Shown> {
        Shown::at(self.version, self)
    }
}

impl Show for calls::MergeTold {
    fn show(&self) -> Result<Shown> {
        Ok(match self.version {
            Some(version) => Shown::at(version, self)?,
            None => Shown { also: true, ..Shown::plain(self)? },
        })
    }
}

impl Show for calls::Value {
    fn show(&self) -> Result<Shown> {
        Shown::at(self.version, self)
    }
}

impl Show for Thread {
    fn show(&self) -> Result<Shown> {
        Shown::at(self.head.version, &calls::Thread::from(self))
    }

    fn threads(&mut self) -> Vec<&mut Thread> {
        vec![self]
    }
}

impl Show for Option<Thread> {
    fn show(&self) -> Result<Shown> {
        Shown::plain(&self.as_ref().map(calls::Thread::from))
    }

    fn threads(&mut self) -> Vec<&mut Thread> {
        self.iter_mut().collect()
    }
}

impl Show for Message {
    fn show(&self) -> Result<Shown> {
        Shown::at(self.version, &calls::Message::new(self)?)
    }
}

/// A lease, as its holder sees it.
impl Show for Lease {
    fn show(&self) -> Result<Shown> {
        Shown::plain(&calls::Writer::held(self))
    }
}
