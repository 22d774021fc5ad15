//! Leases of processes in the store in memory.

use std::future::ready;
use std::time::{Duration, Instant};

use threadkeep_model::ProcessId;

use super::MemoryStore;
use super::state::State;
use crate::{BoxFuture, Processes, Result};

impl State {
    /// Whether the lease of `process` holds.
    pub(super) fn owns(&self, process: ProcessId) -> bool {
        let (now, longest) = (Instant::now(), until(ProcessId::TTL_MICROS_MAX));
        self.processes.get(&process).is_some_and(|until| *until > now && *until <= longest)
    }
}

fn until(ttl_micros: i64) -> Instant {
    Instant::now() + Duration::from_micros(u64::try_from(ttl_micros).unwrap_or(0))
}

impl Processes for MemoryStore {
    fn begin(&self, process: ProcessId, ttl_micros: i64) -> BoxFuture<'_, Result<()>> {
        let mut state = self.lock();
        let now = Instant::now();
        state.processes.retain(|_, until| *until > now);
        state.processes.insert(process, until(ttl_micros));
        Box::pin(ready(Ok(())))
    }

    fn renew(&self, process: ProcessId, ttl_micros: i64) -> BoxFuture<'_, Result<bool>> {
        let mut state = self.lock();
        let holds = state.owns(process);
        if holds {
            state.processes.insert(process, until(ttl_micros));
        }
        Box::pin(ready(Ok(holds)))
    }

    fn holding(&self, processes: Vec<ProcessId>) -> BoxFuture<'_, Result<Vec<ProcessId>>> {
        self.read(|state| Ok(processes.into_iter().filter(|process| state.owns(*process)).collect()))
    }
}
