//! Finds threads with work for agents that are defined here, and works on them.
//!
//! The feed tells of threads that changed. All open runs and queues of the store are looked at when the dispatcher starts,
//! and every few seconds: processes may have died.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use threadkeep_engine::{DEFAULT_AGENT, Engine, Error, FeedReader, Owned, Result, Taking, Work};
use threadkeep_model::{Account, Actor, ActorKind, Caller, ThreadId};
use threadkeep_store::FeedNews;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::begin::lacking;
use super::work::Working;
use super::{RUNS_MAX, RUNS_OF_ACCOUNT_MAX};
use crate::Runtime;

/// How often everything is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The pause after a failure of the store.
const AFTER_FAILURE: Duration = Duration::from_millis(500);
/// How long the lease is kept after the last run.
const IDLE: Duration = Duration::from_secs(4);
/// How long the feed is left alone after entries that bring no work.
const GATHER: Duration = Duration::from_millis(10);
/// The actor of runs that no agent works on.
const NO_AGENT: &str = "runtime";

/// Works on threads, now and from now on, until `stop` resolves. Runs that are open then go to another process.
pub(crate) async fn dispatch(runtime: Runtime, stop: impl Future<Output = ()>) {
    let mut dispatcher = Dispatcher {
        runtime,
        feed: None,
        changed: BTreeMap::new(),
        active: HashMap::new(),
        threads: HashMap::new(),
        tasks: JoinSet::new(),
        owned: None,
        again: Instant::now(),
    };
    tokio::pin!(stop);
    loop {
        if let Err(error) = dispatcher.look().await {
            tracing::warn!(%error, "runs cannot be started at this moment");
            dispatcher.again = Instant::now() + AFTER_FAILURE;
        }
        tokio::select! {
            () = &mut stop => break,
            () = dispatcher.rest() => {}
        }
    }
    dispatcher.tasks.shutdown().await;
}

struct Dispatcher {
    runtime: Runtime,
    /// None after a failure: then everything is looked at.
    feed: Option<FeedReader>,
    /// Threads that may have work.
    changed: BTreeMap<ThreadId, Work>,
    /// Threads on which this process works.
    active: HashMap<ThreadId, Account>,
    threads: HashMap<Id, ThreadId>,
    tasks: JoinSet<()>,
    /// The lease, and when it was last needed.
    owned: Option<(Owned, Instant)>,
    /// When everything is looked at again.
    again: Instant,
}

impl Dispatcher {
    /// Starts what can be started.
    async fn look(&mut self) -> Result<()> {
        let engine = self.runtime.engine().clone();
        if self.feed.is_none() {
            self.feed = Some(engine.feed(engine.feed_latest().await?).await?);
            self.again = Instant::now();
        }
        if self.again <= Instant::now() {
            self.again = Instant::now() + LOOK_AGAIN;
            let own = self.owned.as_ref().map(|(owned, _)| owned.id());
            let active: HashSet<ThreadId> = self.active.keys().copied().collect();
            for work in engine.find_work(own, &active).await? {
                self.changed.insert(work.thread, work);
            }
        }
        if self.changed.values().any(|work| work.agent.as_deref() == Some(DEFAULT_AGENT)) {
            self.runtime.has_default_agent().await;
        }
        for (thread, work) in std::mem::take(&mut self.changed) {
            if self.active.contains_key(&thread) || !self.is_ours(&work) {
                continue;
            }
            let of_account = self.active.values().filter(|account| **account == work.account).count();
            if self.active.len() >= RUNS_MAX || of_account >= RUNS_OF_ACCOUNT_MAX {
                // The end of a run makes room.
                self.changed.insert(thread, work);
                continue;
            }
            match Box::pin(self.take(&work)).await {
                Ok(()) => {}
                Err(Error::WriterHeld { .. } | Error::ThreadNotFound { .. } | Error::Busy) => {}
                // One thread that is damaged does not keep the others waiting.
                Err(error) => tracing::warn!(%thread, %error, "a run was not started"),
            }
        }
        if self.active.is_empty() && self.owned.as_ref().is_some_and(|(_, used)| used.elapsed() > IDLE) {
            self.owned = None;
        }
        Ok(())
    }

    /// Whether the agent of a thread is defined here.
    fn is_ours(&self, work: &Work) -> bool {
        match &work.agent {
            None => true,
            Some(agent) => self.runtime.definitions().has_agent(agent),
        }
    }

    /// Takes the run of a thread, if there is one to take, and works on it.
    async fn take(&mut self, work: &Work) -> Result<()> {
        let engine = self.runtime.engine();
        let actor = match &work.agent {
            Some(agent) => Actor::new(ActorKind::Agent, agent.clone())?,
            None => Actor { kind: ActorKind::System, name: NO_AGENT.to_owned() },
        };
        let caller = Caller { account: work.account.clone(), actor, cause: None };
        if let Some(agent) = &work.agent
            && self.lacks_variables(&engine.acting_as(caller.clone()), work.thread, agent).await?
        {
            return Ok(());
        }
        let owned = match self.owned.take() {
            Some((owned, _)) if !owned.is_lost() => owned,
            _ => engine.own().await?,
        };
        self.owned = Some((owned.clone(), Instant::now()));
        let acting = engine.acting_as(caller.clone()).owned(&owned);
        let present = self.runtime.definitions();
        let agent = work.agent.as_deref().and_then(|agent| present.agent(agent, None).ok());
        let dual = agent.is_some_and(|(_, agent)| agent.is_dual());
        let definitions = Some(present.hash().to_owned());
        let taking = Taking { owner: owned.id(), definitions, again: true, dual };
        let Some(taken) = Box::pin(acting.take_run(work.thread, &taking)).await? else { return Ok(()) };
        let cause = Some(taken.run.id.to_string());
        let acting = engine.acting_as(Caller { cause, ..caller }).owned(&owned);
        let runtime = self.runtime.clone();
        let task = self.tasks.spawn(async move {
            match Box::pin(Working::new(&runtime, acting, owned, &taken)).await {
                Ok(working) => Box::pin(working.work()).await,
                Err(error) => tracing::warn!(thread = %taken.run.thread_id, %error, "a run did not begin"),
            }
        });
        self.active.insert(work.thread, work.account.clone());
        self.threads.insert(task.id(), work.thread);
        Ok(())
    }

    /// Whether a subagent at rest lacks a variable that it needs before it starts.
    async fn lacks_variables(&self, engine: &Engine, thread: ThreadId, agent: &str) -> Result<bool> {
        let definitions = self.runtime.definitions();
        if definitions.required_for_itself(agent).is_empty() {
            return Ok(false);
        }
        let record = engine.thread(thread).await?.record;
        let waits = record.parent_id.is_some() && record.run.is_none();
        Ok(waits && !lacking(engine, &definitions, agent, Some(thread)).await?.is_empty())
    }

    /// Waits until it is worth to look again.
    async fn rest(&mut self) {
        let Some(feed) = &mut self.feed else { return sleep_until(self.again).await };
        tokio::select! {
            () = sleep_until(self.again) => {}
            Some(ended) = self.tasks.join_next_with_id() => {
                let id = match ended {
                    Ok((id, ())) => id,
                    Err(error) => {
                        tracing::error!(%error, "an attempt at a run broke off");
                        error.id()
                    }
                };
                if let Some(thread) = self.threads.remove(&id)
                    && let Some(account) = self.active.remove(&thread)
                {
                    // Something may have been queued as the run ended.
                    let agent = self.agent_of(thread, &account).await;
                    self.changed.insert(thread, Work { thread, account, agent });
                }
            }
            work = next_work(feed) => match work {
                Ok(work) => {
                    self.changed.insert(work.thread, work);
                }
                Err(error) => {
                    tracing::warn!(%error, "the feed cannot be read at this moment");
                    self.feed = None;
                    self.again = Instant::now() + AFTER_FAILURE;
                }
            },
        }
    }

    async fn agent_of(&self, thread: ThreadId, account: &Account) -> Option<String> {
        let actor = Actor { kind: ActorKind::System, name: NO_AGENT.to_owned() };
        let engine = self.runtime.engine().acting_as(Caller { account: account.clone(), actor, cause: None });
        engine.thread(thread).await.ok().and_then(|thread| thread.record.agent_id)
    }
}

/// The next thread in the feed that may have work. Cancelling it loses none.
async fn next_work(feed: &mut FeedReader) -> Result<Work> {
    loop {
        let fed = feed.next_fed().await?;
        if let Some(thread) = &fed.thread
            && says_work(&fed.item.news, thread.record.agent_id.is_some())
            && let Some(work) = Work::on(thread)
        {
            return Ok(work);
        }
        if feed.is_drained() {
            // Where others write much, many entries are read at once.
            tokio::time::sleep(GATHER).await;
        }
    }
}

/// Whether an entry may bring work to a thread.
fn says_work(news: &FeedNews, has_agent: bool) -> bool {
    use threadkeep_model::Kind;
    let FeedNews::Entry(entry) = news else { return false };
    match entry.kind {
        Kind::ToolQueued => true,
        Kind::RunStarted
        | Kind::RunWoken
        | Kind::RunEnded
        | Kind::MessageQueued
        | Kind::ThreadChanged
        | Kind::AgentAssigned
        | Kind::EnvChanged
        | Kind::LifecycleChanged => has_agent,
        _ => false,
    }
}
