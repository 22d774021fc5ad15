//! Runs that a process of ours owns: the runtime takes them, and any process ends those that were asked to stop.

use std::collections::{BTreeMap, HashSet};

use threadkeep_calls::StartRun;
use threadkeep_model::{
    Account, Actor, ActorKind, Caller, Entry, Executor, ItemKind, ProcessId, Run, RunOutcome, RunStarted, RunStatus,
    Sides, Thread, ThreadId, Uuid,
};

use super::{Progressed, ended, reason, submitted_draft};
use crate::ground::open_run::still_open;
use threadkeep_store::{BoxFuture, ItemList};

use crate::ground::gate::{Change, passes};
use crate::ground::plan::Plan;
use crate::open_calls::Interrupted;
use crate::{Engine, Error, Result};

/// Items read at once in the search for work.
const READ_AT_ONCE: usize = 500;

/// A thread on which the runtime may have work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The thread itself.
    pub thread: ThreadId,
    /// The account that owns it.
    pub account: Account,
    /// The agent that it is assigned to, if it has one. Without one, tools that are queued run alone.
    pub agent: Option<String>,
}

/// The process that takes a run, and the definitions with which it works.
#[derive(Debug, Clone)]
pub struct Taking {
    /// The lease of the process.
    pub owner: ProcessId,
    /// The hash of the definitions.
    pub definitions: Option<String>,
    /// Whether a run that this process owns already is taken: one that it does not work on any more.
    pub again: bool,
    /// Whether the agent of the thread has two sides.
    pub dual: bool,
}

impl Engine {
    /// Takes the run of a thread for a process of the runtime: a queued run, one whose owner is gone, or a new one if
    /// something waits on a thread at rest. None if there is nothing to take.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::WriterHeld`].
    pub fn take_run<'a>(&'a self, thread: ThreadId, by: &'a Taking) -> BoxFuture<'a, Result<Option<Progressed>>> {
        Box::pin(async move {
            let taken = self
                .progress(thread, &[], || async {
                    let thread = self.thread(thread).await?;
                    let new = self.new_run(&thread, &StartRun::default(), Run::TTL_MICROS);
                    let waits = self.has_work(&thread).await?;
                    let owner = still_open(&thread).and_then(|open| open.owner);
                    let gone = match owner {
                        Some(owner) if owner == by.owner => by.again,
                        Some(owner) => !self.living([owner]).await?.contains(&owner),
                        None => true,
                    };
                    let Some((run, resumed)) = take(&thread, by, new, waits, gone) else {
                        return Err(Error::RunNotFound { run: Uuid::from_chance(0) });
                    };
                    let (id, definitions) = (run.id, by.definitions.clone());
                    let mut entries = vec![Entry::RunStarted(Box::new(RunStarted { run, definitions }))];
                    entries.extend(self.taken_up(&thread, id, resumed).await?);
                    if !resumed {
                        entries.extend(submitted_draft(&thread)?);
                    }
                    Ok(Plan::new(thread, entries))
                })
                .await;
            match taken {
                Ok(taken) => Ok(Some(taken)),
                Err(Error::RunNotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    /// Whether something waits on a thread that starts a run.
    async fn has_work(&self, thread: &Thread) -> Result<bool> {
        let (record, draft) = (&thread.record, thread.record.draft.as_deref().unwrap_or_default());
        // Without an agent, nothing but a tool can be carried out.
        let says = record.agent_id.is_some()
            && ((record.auto_submit_draft && !draft.trim().is_empty()) || !self.waiting(thread).await?.is_empty());
        Ok(says || !self.waiting_tools(thread).await?.is_empty())
    }

    /// Threads of all accounts on which the runtime may have work, apart from those on which it works: something waits on
    /// a thread at rest, or a run has no process that works on it. Runs of the lease `own` count as such, because the
    /// caller does not work on them. For the runtime, not for requests: permissions are not checked.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find_work<'a>(
        &'a self,
        own: Option<ProcessId>,
        active: &'a HashSet<ThreadId>,
    ) -> BoxFuture<'a, Result<Vec<Work>>> {
        Box::pin(async move {
            let mut threads = BTreeMap::new();
            // Without an agent, messages wait for an executor of the caller's.
            let kinds = [
                (ItemKind::Queued, false),
                (ItemKind::QueuedSilently, false),
                (ItemKind::Run, true),
                (ItemKind::QueuedTool, true),
            ];
            for (kind, needs_no_agent) in kinds {
                let mut after = None;
                loop {
                    let list = ItemList { kind, account: None, after, limit: READ_AT_ONCE };
                    let some = self.shared.stores.store.all_items(list).await?;
                    let found = some.iter().map(|(thread, _)| *thread).filter(|thread| !active.contains(thread));
                    threads.extend(found.map(|thread| (thread, needs_no_agent)));
                    let Some((_, last)) = some.last().filter(|_| some.len() == READ_AT_ONCE) else { break };
                    after = Some((last.made, last.key.clone()));
                }
            }
            let mut found = Vec::new();
            let mut owners = Vec::new();
            for (thread, needs_no_agent) in threads {
                let Some(thread) = self.shared.stores.store.thread(thread.into()).await? else { continue };
                let Some((owner, work)) = may_work(&thread) else { continue };
                if work.agent.is_none() && !needs_no_agent {
                    continue;
                }
                let owner = owner.filter(|owner| Some(*owner) != own);
                owners.extend(owner);
                found.push((owner, work));
            }
            let living = self.living(owners).await?;
            Ok(found
                .into_iter()
                .filter(|(owner, _)| owner.is_none_or(|id| !living.contains(&id)))
                .map(|it| it.1)
                .collect())
        })
    }

    /// Tells when something was committed, by any process.
    pub fn commits(&self) -> threadkeep_store::Signal {
        self.shared.stores.feed.signals().any()
    }

    /// Ends a run whose executor did not stop in time. Says whether it did. Any number of processes may try.
    pub(crate) async fn end_overdue(&self, thread: ThreadId, key: &str) -> Result<bool> {
        let Some(found) = self.shared.stores.store.thread(thread.into()).await? else { return Ok(false) };
        let actor = Actor { kind: ActorKind::System, name: "timeout".to_owned() };
        let system = self.acting_as(Caller { account: found.account, actor, cause: None });
        let plan = async |closes_calls: bool| -> Result<Plan> {
            let thread = system.thread(thread).await?;
            let now = system.shared.now();
            let due = |run: &Run| run.id.to_string() == key && run.stop.is_some_and(|stop| stop.due <= now);
            let Some(run) = still_open(&thread).filter(|run| due(run)).cloned() else {
                return Ok(Plan::new(thread, Vec::new()));
            };
            let mut entries = Vec::new();
            if closes_calls && thread.record.lifecycle.is_open() {
                entries.extend(system.closed_calls(&thread, &[], Interrupted::Cancel).await?);
            }
            entries.push(ended(run, RunOutcome::Stopped, Some(reason::ABORTED)));
            Box::pin(system.waking_parent(Plan::new(thread, entries))).await
        };
        let told = match system.tell(thread, || plan(true)).await {
            Err(Error::WriterHeld { .. }) => system.tell(thread, || plan(false)).await,
            told => told,
        };
        match told {
            Ok(told) => Ok(!told.entries.is_empty()),
            Err(Error::ThreadNotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The work that may wait on a thread, and the process that owns its run.
fn may_work(thread: &Thread) -> Option<(Option<ProcessId>, Work)> {
    let agent = thread.record.agent_id.clone();
    if passes(thread.record.lifecycle, Change::Work).is_err() || thread.record.terminated.is_some() {
        return None;
    }
    let owner = match still_open(thread) {
        None => None,
        Some(run) => match (run.executor, run.status()) {
            (Executor::Runtime, RunStatus::Queued | RunStatus::Running) => run.owner,
            _ => return None,
        },
    };
    Some((owner, Work { thread: thread.id, account: thread.account.clone(), agent }))
}

impl Work {
    /// The work that may wait on a thread, by its record: whether it does is found out by [`Engine::take_run`].
    pub fn on(thread: &Thread) -> Option<Self> {
        may_work(thread).map(|(_, work)| work)
    }
}

/// The run that a process takes, and whether it goes on with one.
fn take(thread: &Thread, by: &Taking, new: Run, something_waits: bool, gone: bool) -> Option<(Run, bool)> {
    let record = &thread.record;
    if passes(record.lifecycle, Change::Work).is_err() || record.terminated.is_some() {
        return None;
    }
    let (owner, sides) = (Some(by.owner), by.dual.then(Sides::default));
    let Some(open) = still_open(thread).cloned() else {
        let agent_id = record.agent_id.clone();
        return something_waits.then_some((Run { agent_id, owner, sides, ..new }, false));
    };
    let free = match open.status() {
        RunStatus::Queued => true,
        RunStatus::Running => open.executor == Executor::Runtime && gone,
        RunStatus::Waiting | RunStatus::Completed | RunStatus::Failed | RunStatus::Stopped => false,
    };
    let sides = open.sides.or(sides);
    free.then(|| (Run { attempt: open.attempt + 1, owner, until: new.until, sides, ..open }, true))
}
