//! Runs of code that have a name, by which a request ends them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use threadkeep::sandbox::Terminator;
use threadkeep::{Account, Invalid, ThreadId};

/// Runs that have a name.
pub(crate) type Runs = Mutex<HashMap<Name, Terminator>>;

/// The name of a run.
pub(crate) type Name = (Account, ThreadId, String);

/// A name that is taken for as long as its run goes on.
pub(crate) struct Taken {
    runs: Arc<Runs>,
    name: Name,
}

impl Taken {
    /// Takes a name, under which the run can be ended.
    pub(crate) fn take(runs: &Arc<Runs>, name: Name, terminator: Terminator) -> Result<Self, Invalid> {
        let mut open = runs.lock().unwrap_or_else(PoisonError::into_inner);
        if open.contains_key(&name) {
            return Err(Invalid::body("id", format!("the run '{}' of this thread is still open", name.2)));
        }
        open.insert(name.clone(), terminator);
        Ok(Self { runs: Arc::clone(runs), name })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}
