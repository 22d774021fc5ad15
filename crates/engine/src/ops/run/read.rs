//! `run`, `runs`, `thread-runs`: runs as they are now. An open run is in the record of its thread; one that ended is in
//! the entry of its end, which says everything.

use std::collections::{HashMap, hash_map};

use threadkeep_calls as calls;
use threadkeep_calls::{GetRun, ListRuns, ListThreadRuns, ListedRuns, Page, RunStep, RunTold};
use threadkeep_model::{Entry, ItemKind, Thread, ThreadId, Timestamp, Uuid, Version};
use threadkeep_store::{BoxFuture, Item, ItemList, ItemQuery};

use crate::approvals::not_an_item;
use crate::ground::carry::Carry;
use crate::ground::cursor;
use crate::ground::open_run::still_open;
use crate::{Engine, Error, Result};

/// Items read at once where a list is filtered, and entries where steps are looked for.
const READ_AT_ONCE: usize = 200;

impl Carry for GetRun {
    type Made = RunTold;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<RunTold> {
        let owned = engine.thread(thread).await?;
        let mut run = engine.run_now(&owned, self.run).await?;
        if run.completed_at.is_none() && engine.end_overdue(thread, &self.run.to_string()).await? {
            run = engine.run_now(&engine.thread(thread).await?, self.run).await?;
        }
        let steps = engine.steps_of(&owned, &run).await?;
        Ok(RunTold::of_run(run, steps))
    }

    async fn names(&self, engine: &Engine) -> Result<Option<ThreadId>> {
        engine.thread_of_run(self.run).await.map(Some)
    }
}

impl Carry for ListThreadRuns {
    type Made = Page<calls::Run>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<calls::Run>> {
        let thread = engine.thread(thread).await?;
        let query = ItemQuery { thread: thread.id, kind: ItemKind::RunEnded, key: None, limit: usize::MAX };
        let mut runs = Vec::new();
        for item in engine.shared.stores.store.items(query).await? {
            runs.push(engine.read_ended(thread.id, &item).await?);
        }
        runs.extend(still_open(&thread).map(|run| calls::Run::open(thread.id, run)));
        runs.sort_by_key(|run| std::cmp::Reverse((run.started_at, run.completed_at.is_none(), run.completed_at)));
        engine.part(thread.id, runs, (self.limit, self.cursor), |run| format!("run {}", run.id))
    }
}

impl Carry for ListRuns {
    type Made = Page<calls::Run>;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Page<calls::Run>> {
        let status = self.status.unwrap_or(ListedRuns::All);
        let limit = engine.page_limit(self.limit)?;
        let list = ("runs", engine.caller.account.clone(), status);
        let mut place = match &self.cursor {
            Some(cursor) => Place::read(cursor::read(&list, cursor)?).ok_or_else(cursor::no_cursor)?,
            None => Place { kind: ItemKind::Run, after: None },
        };
        let mut page = Page::new(Vec::new(), None, None);
        let mut threads: HashMap<ThreadId, Option<Thread>> = HashMap::new();
        loop {
            let account = Some(engine.caller.account.clone());
            let asked = ItemList { kind: place.kind, account, after: place.after.clone(), limit: READ_AT_ONCE };
            let some = engine.shared.stores.store.all_items(asked).await?;
            let is_last = some.len() < READ_AT_ONCE;
            for (thread, item) in some {
                if page.items.len() == limit {
                    page.next_cursor = Some(cursor::after(&list, &place.written()));
                    return Ok(page);
                }
                place.after = Some((item.made, item.key.clone()));
                let run = match place.kind {
                    ItemKind::RunEnded => Some(engine.read_ended(thread, &item).await?),
                    _ => engine.read_open(&mut threads, thread, &item).await?,
                };
                page.items.extend(run.filter(|run| status.shows(run.status)));
            }
            match (is_last, place.kind) {
                (false, _) => {}
                (true, ItemKind::Run) => place = Place { kind: ItemKind::RunEnded, after: None },
                (true, _) => return Ok(page),
            }
        }
    }
}

/// Where a list of runs goes on: open ones come before ended ones.
struct Place {
    kind: ItemKind,
    after: Option<(Timestamp, String)>,
}

impl Place {
    fn written(&self) -> String {
        let (made, key) = self.after.clone().unwrap_or((Timestamp::from_micros(0), String::new()));
        format!("{}.{:x}.{key}", self.kind.code(), made.as_micros())
    }

    fn read(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once('.')?;
        let (made, key) = rest.split_once('.')?;
        let made = Timestamp::from_micros(u64::from_str_radix(made, 16).ok()? as i64);
        let kind = kind.parse().ok().and_then(ItemKind::from_code)?;
        Some(Self { kind, after: Some((made, key.to_owned())).filter(|(_, key)| !key.is_empty()) })
    }
}

impl Engine {
    /// The thread of a run, if it is the caller's.
    pub(crate) async fn thread_of_run(&self, run: Uuid) -> Result<ThreadId> {
        // Invariant: open runs are looked for first. In between, a run may end, and never the other way round.
        for kind in [ItemKind::Run, ItemKind::RunEnded] {
            if let Some((thread, _)) = self.own_item(kind, run).await? {
                return Ok(thread.id);
            }
        }
        Err(Error::RunNotFound { run })
    }

    /// A run of this account by its id, as it is now.
    ///
    /// # Errors
    /// [`Error::RunNotFound`].
    pub fn run(&self, run: Uuid) -> BoxFuture<'_, Result<calls::Run>> {
        Box::pin(async move {
            let thread = self.thread_of_run(run).await?;
            self.run_now(&self.thread(thread).await?, run).await
        })
    }

    /// A run of `thread`.
    pub(crate) async fn run_now(&self, thread: &Thread, id: Uuid) -> Result<calls::Run> {
        if let Some(open) = still_open(thread).filter(|open| open.id == id) {
            return Ok(calls::Run::open(thread.id, open));
        }
        let (kind, key) = (ItemKind::RunEnded, Some(id.to_string()));
        let query = ItemQuery { thread: thread.id, kind, key, limit: 1 };
        match self.shared.stores.store.items(query).await?.first() {
            Some(item) => self.read_ended(thread.id, item).await,
            None => Err(Error::RunNotFound { run: id }),
        }
    }

    async fn read_ended(&self, thread: ThreadId, item: &Item) -> Result<calls::Run> {
        match self.decode(&item.entry).await? {
            Entry::RunEnded(ended) => Ok(calls::Run::ended(thread, &ended, item.entry.time)),
            other => Err(not_an_item(item, &other)),
        }
    }

    /// An open run; none if it ended in between, or its thread was deleted.
    async fn read_open(
        &self,
        threads: &mut HashMap<ThreadId, Option<Thread>>,
        thread: ThreadId,
        item: &Item,
    ) -> Result<Option<calls::Run>> {
        let thread = match threads.entry(thread) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(new) => new.insert(self.shared.stores.store.thread(thread.into()).await?),
        };
        let thread = thread.as_ref();
        let open = thread.and_then(|thread| still_open(thread).map(|run| (thread.id, run)));
        Ok(open.filter(|(_, run)| run.id.to_string() == item.key).map(|(thread, run)| calls::Run::open(thread, run)))
    }

    /// The version of a thread before a run that started at this time.
    pub(crate) async fn version_before_run(&self, thread: &Thread, started: Timestamp) -> Result<Version> {
        // Times never go back along a thread, so the run comes after the last entry before it.
        match self.version_at(thread, Timestamp::from_micros(started.as_micros() - 1)).await {
            Err(Error::BeforeBirth { .. }) => Ok(Version::START),
            version => version,
        }
    }

    /// The steps of a run, from the history of its thread.
    /// The steps of a run of this thread.
    pub(crate) async fn steps_of_run(&self, thread: &Thread, run: Uuid) -> Result<Vec<RunStep>> {
        let run = self.run_now(thread, run).await?;
        self.steps_of(thread, &run).await
    }

    async fn steps_of(&self, thread: &Thread, run: &calls::Run) -> Result<Vec<RunStep>> {
        let mut after = self.version_before_run(thread, run.started_at).await?;
        let (mut steps, mut number) = (Vec::new(), 0);
        loop {
            let some = self.history_page(thread.id, after, READ_AT_ONCE).await?;
            let Some(last) = some.last().map(|last| last.version) else { return Ok(steps) };
            for logged in some {
                match logged.entry()? {
                    Entry::RunStepped(stepped) if stepped.run.id == run.id => {
                        number += u64::from(!stepped.continues);
                        steps.push(RunStep {
                            number,
                            attempt: stepped.run.attempt,
                            version: logged.version,
                            at: logged.time,
                            continues: stepped.continues,
                            model: stepped.model,
                        });
                    }
                    Entry::RunEnded(ended) if ended.run.id == run.id => return Ok(steps),
                    _ => {}
                }
            }
            after = last;
        }
    }
}
