//! A random history on a real store, compared with the model after every step.

use std::path::PathBuf;
use std::sync::Arc;

use threadkeep::{
    Append, AppendEvent, Content, Create, Delete, DeleteMessage, EditMessage, Engine, Error, Event, EventKind, Fork,
    ForkPoint, Insert, Json, Limits, Message, MessageBody, MessageId, Page, Position, Progress, Rollback, RollbackTo,
    SetCheckpoint, SqliteStore, StoreError, Stores, Subscription, ThreadId, Truncate, TruncateFrom, Update,
};
use threadkeep_model::Kind;
use threadkeep_store::MemoryStore;

use crate::model::{Item, Model, ModelFork, ModelThread};
use crate::{Chance, Faults, Faulty, SimWorld};

/// On what to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// The store in memory.
    Memory,
    /// A file, closed and opened again, and copied as a crash would leave it.
    Sqlite,
}

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Everything random follows from it.
    pub seed: u64,
    /// How many operations.
    pub steps: usize,
    /// On what.
    pub on: Where,
    /// Every so many commits one fails; 0 for never.
    pub faults: u64,
}

/// Runs `plan`.
///
/// # Panics
/// If the store shows anything else than the model; the message names the seed and the step.
pub fn simulate(plan: Plan) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut run = Run::new(plan);
        for step in 0..plan.steps {
            run.step = step;
            run.take_step().await;
        }
        run.end().await;
    });
}

struct Run {
    plan: Plan,
    step: usize,
    chance: Chance,
    engine: Engine,
    model: Model,
    world: Arc<SimWorld>,
    faults: Faults,
    folder: tempfile::TempDir,
    /// The file in use; another one after a crash.
    file: PathBuf,
    readings: Vec<Reading>,
    followers: Vec<Follower>,
    made: u64,
}

/// Somebody who reads page by page while others write.
struct Reading {
    thread: ThreadId,
    cursor: String,
    left: Vec<(MessageId, String)>,
}

/// Somebody who follows a thread.
struct Follower {
    thread: ThreadId,
    subscription: Subscription,
    seen: u64,
}

fn quiet() -> Progress {
    Arc::new(|_, _, _| {})
}

impl Run {
    fn new(plan: Plan) -> Self {
        let world = Arc::new(SimWorld::new(plan.seed));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("0.db");
        let faults = Faults::one_in(plan.faults, plan.seed);
        let engine = open(plan.on, &file, &faults, &world);
        let chance = Chance::new(plan.seed);
        Self {
            plan,
            step: 0,
            chance,
            engine,
            model: Model::default(),
            world,
            faults,
            folder,
            file,
            readings: Vec::new(),
            followers: Vec::new(),
            made: 0,
        }
    }

    fn context(&self) -> String {
        format!("seed {}, step {}, {:?}", self.plan.seed, self.step, self.plan.on)
    }

    fn words(&mut self) -> String {
        self.made += 1;
        // Some bodies are large enough for the blob store.
        let size = if self.chance.one_in(12) { 60 } else { 1 };
        format!("{} ", self.made).repeat(size)
    }

    async fn take_step(&mut self) {
        if self.model.threads.is_empty() {
            return self.create().await;
        }
        let at = self.chance.below(self.model.threads.len() as u64) as usize;
        let thread = self.model.threads[at].id;
        match self.chance.below(100) {
            0..=4 => self.create().await,
            5..=29 => self.append(thread).await,
            30..=33 => self.event(thread).await,
            34..=41 => self.edit(thread).await,
            42..=47 => self.delete_message(thread).await,
            48..=55 => self.insert(thread).await,
            56..=60 => self.truncate(thread).await,
            61..=70 => self.fork(thread).await,
            71..=77 => self.rollback(thread).await,
            78..=80 => self.checkpoint(thread).await,
            81..=83 => self.update(thread).await,
            84..=85 => self.delete(thread).await,
            86..=88 => self.gc().await,
            89..=91 => self.begin_reading(thread).await,
            92..=94 => self.follow(thread).await,
            95..=96 => self.reopen(),
            97 => self.crash(),
            _ => self.doctor().await,
        }
        self.read_on().await;
        if self.model.threads.iter().any(|known| known.id == thread) {
            self.compare(thread).await;
        }
    }

    /// What came of an operation. If the answer was lost, the store tells whether it was carried out: the thread has
    /// new entries, or there is a thread that the model does not know.
    async fn settled<T>(&self, thread: Option<ThreadId>, result: Result<T, Error>) -> Settled<T> {
        match result {
            Ok(value) => Settled::Done(value),
            Err(Error::Store(StoreError::Unavailable { what })) if what.contains("it failed") => {
                let happened = match thread {
                    Some(thread) => {
                        let known = self.model.threads.iter().find(|known| known.id == thread);
                        let known = known.expect("a living thread").version;
                        match self.engine.thread(thread).await {
                            Ok(now) => now.head.version.0 != known,
                            Err(_) => true,
                        }
                    }
                    None => self.unknown().await.is_some(),
                };
                assert_eq!(happened, what.contains("after"), "{}: {what}", self.context());
                if happened { Settled::Lost } else { Settled::Refused }
            }
            Err(other) => panic!("{}: {other}", self.context()),
        }
    }

    /// A thread that the model does not know.
    async fn unknown(&self) -> Option<threadkeep::Thread> {
        let all =
            self.engine.list(threadkeep::List { limit: Some(1_000), ..Default::default() }).await.expect("a list");
        all.items.into_iter().find(|thread| !self.model.threads.iter().any(|known| known.id == thread.id))
    }

    /// The entries of a thread after `version`, as messages would be told of.
    async fn after(&self, thread: ThreadId, version: u64) -> Vec<(MessageId, Kind, threadkeep::Timestamp)> {
        let entries = self.engine.history(thread, Position(version), 1_000).await.expect("history");
        entries.into_iter().map(|entry| (entry.place, entry.kind, entry.time)).collect()
    }

    /// Takes over what the log says came after the model's version, for entries that leave the view alone.
    async fn log_rest(&mut self, thread: ThreadId) {
        let version = self.model.thread(thread).version;
        for (place, kind, time) in self.after(thread, version).await {
            let known = self.model.thread(thread);
            known.log(kind, time);
            assert_eq!(known.version, place.position.0, "versions have no gap");
        }
    }

    /// Takes over an entry that left the view as it is now, and one that hid something more, if there is one.
    async fn log_two(&mut self, thread: ThreadId, hidden: Option<Vec<Item>>) {
        let version = self.model.thread(thread).version;
        let told = self.after(thread, version).await;
        assert_eq!(told.len(), 1 + usize::from(hidden.is_some()), "{}", self.context());
        let known = self.model.thread(thread);
        known.log(told[0].1, told[0].2);
        if let Some(hidden) = hidden {
            known.now.view = hidden;
            known.log(told[1].1, told[1].2);
        }
    }

    async fn create(&mut self) {
        let title = if self.chance.one_in(3) { None } else { Some(format!("thread {}", self.made)) };
        let texts: Vec<String> = (0..self.chance.below(3)).map(|_| self.words()).collect();
        let mut create = title.as_deref().map_or_else(Create::new, Create::titled);
        for text in &texts {
            create = create.message(MessageBody::user(text));
        }
        let result = self.engine.create(create).await;
        let thread = match self.settled(None, result).await {
            Settled::Done(thread) => thread,
            Settled::Lost => self.unknown().await.expect("the thread that was created"),
            Settled::Refused => return,
        };
        assert_eq!(thread.head.version.0, texts.len() as u64, "{}: a new thread counts from 0", self.context());
        self.model.threads.push(ModelThread::new(thread.id, title, 0, thread.created, Vec::new()));
        self.take_messages(thread.id, &texts).await;
    }

    /// Messages with these texts were appended.
    async fn take_messages(&mut self, thread: ThreadId, texts: &[String]) {
        let version = self.model.thread(thread).version;
        let told = self.after(thread, version).await;
        assert_eq!(told.len(), texts.len(), "{}", self.context());
        for ((id, kind, time), text) in told.into_iter().zip(texts) {
            let known = self.model.thread(thread);
            known.now.view.push(item(id, id, text));
            known.log(kind, time);
        }
    }

    async fn append(&mut self, thread: ThreadId) {
        let texts: Vec<String> = (0..=self.chance.below(3)).map(|_| self.words()).collect();
        let version = self.model.thread(thread).version;
        let mut append = Append::batch(texts.iter().map(|text| MessageBody::user(text)));
        match self.chance.below(4) {
            0 => append = append.expecting(Position(version)),
            1 => {
                let wrong = append.clone().expecting(Position(version + 1));
                match self.engine.append(thread, wrong).await {
                    Err(Error::VersionConflict { current, .. }) => assert_eq!(current.0, version),
                    Err(Error::Store(StoreError::Unavailable { .. })) if self.plan.faults > 0 => {}
                    other => panic!("{}: expected a conflict, got {other:?}", self.context()),
                }
            }
            _ => {}
        }
        let result = self.engine.append(thread, append).await;
        match self.settled(Some(thread), result).await {
            Settled::Done(messages) => {
                let said: Vec<String> = messages.iter().map(|message| message.text().expect("text")).collect();
                assert_eq!(said, texts, "{}", self.context());
                self.take_messages(thread, &texts).await;
            }
            Settled::Lost => self.take_messages(thread, &texts).await,
            Settled::Refused => {}
        }
    }

    async fn event(&mut self, thread: ThreadId) {
        let data = Json::parse("data", r#"{"tool":"ls"}"#).expect("json");
        let event = AppendEvent { event: Event { kind: EventKind::ToolUse, data }, expected: None };
        let result = self.engine.append_event(thread, event).await;
        if self.settled(Some(thread), result).await.happened() {
            self.log_rest(thread).await;
        }
    }

    fn some_message(&mut self, thread: ThreadId) -> Option<(usize, Item)> {
        let shown: Vec<Item> = self.model.thread(thread).now.shown().into_iter().cloned().collect();
        let index = self.chance.below(shown.len() as u64) as usize;
        shown.get(index).map(|item| (index, item.clone()))
    }

    async fn edit(&mut self, thread: ThreadId) {
        let Some((_, target)) = self.some_message(thread) else { return };
        let text = self.words();
        let metadata = format!(r#"{{"k{}":{}}}"#, self.chance.below(2), self.made);
        let (content, merged) = match self.chance.below(3) {
            0 => (Some(Content::text(&text)), None),
            1 => (None, Some(Json::parse("metadata", &metadata).expect("json"))),
            _ => (Some(Content::text(&text)), Some(Json::parse("metadata", &metadata).expect("json"))),
        };
        let edits_text = content.is_some();
        let edit = EditMessage { message: target.id, content, metadata: merged, expected: None };
        let result = self.engine.edit_message(thread, edit).await;
        if !self.settled(Some(thread), result).await.happened() {
            return;
        }
        let shown = self.engine.message(thread, target.id, None).await.expect("the message that was edited");
        let version = self.model.thread(thread).version + 1;
        let known =
            self.model.thread(thread).now.view.iter_mut().find(|item| item.id == target.id).expect("the message");
        if edits_text {
            known.text = text;
        }
        known.metadata = metadata_of(&shown);
        known.version = version;
        self.log_rest(thread).await;
    }

    async fn delete_message(&mut self, thread: ThreadId) {
        let Some((_, target)) = self.some_message(thread) else { return };
        let result = self.engine.delete_message(thread, DeleteMessage { message: target.id, expected: None }).await;
        match self.settled(Some(thread), result).await {
            Settled::Done(deleted) => assert!(deleted, "{}", self.context()),
            Settled::Lost => {}
            Settled::Refused => return,
        }
        let known =
            self.model.thread(thread).now.view.iter_mut().find(|item| item.id == target.id).expect("the message");
        known.deleted = true;
        self.log_rest(thread).await;
        let again = self.engine.delete_message(thread, DeleteMessage { message: target.id, expected: None }).await;
        assert!(!again.expect("an answer"), "{}: what is deleted is not there to delete", self.context());
    }

    async fn insert(&mut self, thread: ThreadId) {
        let Some((_, target)) = self.some_message(thread) else { return };
        let text = self.words();
        let message = MessageBody::assistant(&text).into();
        let result = self.engine.insert(thread, Insert { before: target.id, message, expected: None }).await;
        if !self.settled(Some(thread), result).await.happened() {
            return;
        }
        let version = self.model.thread(thread).version;
        let (id, ..) = self.after(thread, version).await[0];
        let view = &mut self.model.thread(thread).now.view;
        let at = view.iter().position(|item| item.id == target.id).expect("the message");
        view.insert(at, item(id, target.root, &text));
        self.log_rest(thread).await;
    }

    async fn truncate(&mut self, thread: ThreadId) {
        let Some((index, target)) = self.some_message(thread) else {
            let from = TruncateFrom::Index(0);
            let refused = self.engine.truncate(thread, Truncate { from, expected: None }).await;
            assert!(matches!(refused, Err(Error::IndexOutOfRange { .. })), "{}", self.context());
            return;
        };
        let from =
            if self.chance.one_in(2) { TruncateFrom::Index(index as u64) } else { TruncateFrom::Message(target.id) };
        let result = self.engine.truncate(thread, Truncate { from, expected: None }).await;
        if !self.settled(Some(thread), result).await.happened() {
            return;
        }
        let known = self.model.thread(thread);
        known.undo = Some(known.version);
        let (view, hidden) = index.checked_sub(1).map_or_else(Default::default, |kept| known.now.cut_after(kept));
        known.now.view = view;
        self.log_two(thread, hidden).await;
    }

    async fn fork(&mut self, thread: ThreadId) {
        let known = self.model.thread(thread).clone();
        let (at, view, anchor) = match self.chance.below(4) {
            0 => {
                let anchor = known.now.shown().last().map(|item| item.root);
                (ForkPoint::Now, (known.now.view.clone(), None), anchor)
            }
            1 => {
                let version = known.birth + self.chance.below(known.version - known.birth + 1);
                let then = &known.then[&version];
                let anchor = then.shown().last().map(|item| item.root);
                // On an abandoned branch there is nothing a truncation could concern.
                let anchor = anchor.filter(|anchor| known.now.view.iter().any(|item| item.id == *anchor));
                (ForkPoint::Version(Position(version)), (then.view.clone(), None), anchor)
            }
            by => {
                let Some((index, target)) = self.some_message(thread) else { return };
                let point = if by == 2 { ForkPoint::Index(index as u64) } else { ForkPoint::Message(target.id) };
                (point, known.now.cut_after(index), Some(target.root))
            }
        };
        let result = self.engine.fork(thread, Fork { at, title: None, expected: None }).await;
        let child = match self.settled(Some(thread), result).await {
            Settled::Done(child) => child,
            Settled::Lost => self.unknown().await.expect("the thread that was forked"),
            Settled::Refused => return,
        };
        let version = self.model.thread(thread).version;
        self.model.forks.push(ModelFork { parent: thread, child: child.id, anchor, made: version + 1 });
        self.log_rest(thread).await;
        let expected = threadkeep_model::fork_title(self.model.thread(thread).title.as_deref());
        assert_eq!(child.record.title.as_deref(), Some(expected.as_str()), "{}", self.context());
        let (view, hidden) = view;
        let shown = hidden.as_ref().unwrap_or(&view).iter().filter(|item| !item.deleted).count() as u64;
        assert_eq!(child.record.fork_point_index, shown.checked_sub(1), "{}", self.context());
        assert_eq!(child.record.origin_thread_id, Some(thread));
        // What the cut hides is the child's first entry; everything before is its birth.
        let birth = child.head.version.0 - u64::from(hidden.is_some());
        let mut made = ModelThread::new(child.id, child.record.title.clone(), birth, child.created, view);
        if let Some(hidden) = hidden {
            made.now.view = hidden;
            made.log(Kind::MessagesDeleted, child.head.updated);
        }
        self.model.threads.push(made);
        self.compare(child.id).await;
    }

    async fn rollback(&mut self, thread: ThreadId) {
        let known = self.model.thread(thread).clone();
        let version = known.birth + self.chance.below(known.version - known.birth + 1);
        let (to, version) = match self.chance.below(4) {
            0 => (RollbackTo::Version(Position(version)), version),
            1 => {
                let time = known.times[&version];
                (RollbackTo::Timestamp(time), known.version_at(time).expect("a version at that time"))
            }
            2 => match known.checkpoints.iter().next() {
                Some((name, version)) if *version >= known.birth => (RollbackTo::Checkpoint(name.clone()), *version),
                _ => return,
            },
            _ => match known.undo {
                Some(version) => (RollbackTo::Undo, version),
                None => {
                    let refused = self.engine.rollback(thread, RollbackTo::Undo).await;
                    assert!(matches!(refused, Err(Error::NothingToUndo)), "{}", self.context());
                    return;
                }
            },
        };
        let result = self.engine.rollback(thread, Rollback { to, expected: None }).await;
        if !self.settled(Some(thread), result).await.happened() {
            return;
        }
        let known = self.model.thread(thread);
        known.undo = Some(known.version);
        known.now = known.then[&version].clone();
        self.log_rest(thread).await;
    }

    async fn checkpoint(&mut self, thread: ThreadId) {
        let name = format!("c{}", self.chance.below(3));
        let version = self.model.thread(thread).version;
        let result = self.engine.checkpoint(thread, SetCheckpoint::named(&name)).await;
        if self.settled(Some(thread), result).await.happened() {
            self.model.thread(thread).checkpoints.insert(name, version);
            self.log_rest(thread).await;
        }
    }

    async fn update(&mut self, thread: ThreadId) {
        let title = self.words().trim().to_owned();
        let result = self.engine.update(thread, Update::new().title(&title)).await;
        if self.settled(Some(thread), result).await.happened() {
            self.model.thread(thread).title = Some(title);
            self.log_rest(thread).await;
        }
    }

    async fn delete(&mut self, thread: ThreadId) {
        let result = self.engine.delete(thread, Delete::default()).await;
        if !self.settled(Some(thread), result).await.happened() {
            return;
        }
        self.model.threads.retain(|known| known.id != thread);
        self.model.deleted.push(thread);
        self.readings.retain(|reading| reading.thread != thread);
        for follower in self.followers.extract_if(.., |follower| follower.thread == thread) {
            let mut subscription = follower.subscription;
            while subscription.next().await.expect("a read").is_some() {}
        }
        let late = self.engine.append(thread, MessageBody::user("late")).await;
        let fault = self.plan.faults > 0 && matches!(late, Err(Error::Store(StoreError::Unavailable { .. })));
        assert!(fault || matches!(late, Err(Error::ThreadNotFound { .. })), "{}: {late:?}", self.context());
    }

    async fn gc(&mut self) {
        let vacuum = self.chance.one_in(2);
        self.engine.gc(vacuum, quiet()).await.expect("gc");
        for thread in self.model.threads.iter().map(|known| known.id).collect::<Vec<_>>() {
            self.compare(thread).await;
        }
    }

    async fn begin_reading(&mut self, thread: ThreadId) {
        let newest_first = self.chance.one_in(2);
        let page = Page::first().include_silent().limit(2);
        let page = if newest_first { page.newest_first() } else { page };
        let page = self.engine.messages(thread, page).await.expect("a page");
        let mut left: Vec<_> = self.model.thread(thread).now.shown().into_iter().map(told).collect();
        if newest_first {
            left.reverse();
        }
        let first: Vec<_> = page.items.iter().map(shown).collect();
        assert_eq!(first, left[..left.len().min(2)], "{}", self.context());
        if let Some(cursor) = page.next {
            self.readings.push(Reading { thread, cursor, left: left.split_off(2) });
        }
    }

    /// Everybody who reads page by page reads one more: they see what there was when they began.
    async fn read_on(&mut self) {
        let context = self.context();
        for mut reading in std::mem::take(&mut self.readings) {
            let page = Page::after(&reading.cursor).include_silent().limit(3);
            let page = self.engine.messages(reading.thread, page).await.expect("the next page");
            let wanted = reading.left.len().min(3);
            let items: Vec<_> = page.items.iter().map(shown).collect();
            assert_eq!(items, reading.left[..wanted], "{context}: a page shows the state it began with");
            match page.next {
                Some(cursor) => {
                    reading.left.drain(..wanted);
                    reading.cursor = cursor;
                    self.readings.push(reading);
                }
                None => assert_eq!(wanted, reading.left.len(), "{context}: no message is missing"),
            }
        }
    }

    async fn follow(&mut self, thread: ThreadId) {
        let known = self.model.thread(thread);
        let (birth, version) = (known.birth, known.version);
        let seen = birth + self.chance.below(version - birth + 1);
        let subscription = self.engine.subscribe(thread, Position(seen)).await.expect("a subscription");
        self.followers.push(Follower { thread, subscription, seen });
        let ahead = self.engine.subscribe(thread, Position(version + 1)).await;
        assert!(matches!(ahead, Err(Error::VersionInFuture { .. })));
    }

    fn reopen(&mut self) {
        if self.plan.on == Where::Sqlite {
            self.followers.clear();
            self.engine = open(Where::Memory, &self.file, &self.faults, &self.world);
            self.engine = open(self.plan.on, &self.file, &self.faults, &self.world);
        }
    }

    /// Goes on with a copy of the files as a crash would leave them at this moment.
    fn crash(&mut self) {
        if self.plan.on == Where::Sqlite {
            let copy = self.folder.path().join(format!("{}.db", self.step + 1));
            for suffix in ["", "-wal"] {
                let name = |path: &PathBuf| PathBuf::from(format!("{}{suffix}", path.display()));
                if name(&self.file).exists() {
                    std::fs::copy(name(&self.file), name(&copy)).expect("a copy");
                }
            }
            self.followers.clear();
            self.file = copy;
            self.engine = open(self.plan.on, &self.file, &self.faults, &self.world);
        }
    }

    async fn doctor(&mut self) {
        let report = self.engine.doctor(quiet()).await.expect("a look");
        assert!(report.is_healthy(), "{}: {report:?}", self.context());
    }

    /// Compares everything that a thread shows with the model.
    async fn compare(&mut self, thread: ThreadId) {
        let context = self.context();
        let known = self.model.thread(thread).clone();
        let now = self.engine.thread(thread).await.expect("a living thread");
        assert_eq!(now.head.version.0, known.version, "{context}");
        assert_eq!(now.record.title, known.title, "{context}");
        let limit = 1 + self.chance.below(5) as usize;
        let page = || Page::first().include_silent().limit(limit);
        let items = self.all(thread, page()).await;
        let expected: Vec<_> = known.now.shown().into_iter().cloned().collect();
        check(&context, &items, &expected);
        assert_eq!(now.head.tally.messages(), expected.len() as u64, "{context}: the count");
        let mut backwards = self.all(thread, page().newest_first()).await;
        backwards.reverse();
        check(&context, &backwards, &expected);
        let offset = self.chance.below(expected.len() as u64 + 2) as usize;
        let rest = self.all(thread, page().offset(offset as u64)).await;
        check(&format!("{context}, offset {offset}"), &rest, &expected[offset.min(expected.len())..]);
        let mut rest = self.all(thread, page().newest_first().offset(offset as u64)).await;
        rest.reverse();
        let end = expected.len().saturating_sub(offset);
        check(&format!("{context}, offset {offset} from the end"), &rest, &expected[..end]);
        let then = known.birth + self.chance.below(known.version - known.birth + 1);
        let items = self.all(thread, page().as_of(Position(then))).await;
        let expected: Vec<_> = known.then[&then].shown().into_iter().cloned().collect();
        check(&format!("{context}, as of {then}"), &items, &expected);
        let own: Vec<(u64, Kind)> = self
            .engine
            .history(thread, Position(known.birth), 10_000)
            .await
            .expect("history")
            .iter()
            .map(|entry| (entry.version.0, entry.kind))
            .collect();
        assert_eq!(own, known.history, "{context}: history");
        let mut related: Vec<(ThreadId, ThreadId)> = Vec::new();
        for relationship in self.engine.relationships(thread).await.expect("relationships") {
            related.push(match relationship.role {
                threadkeep::RelationshipRole::Parent => (thread, relationship.thread),
                threadkeep::RelationshipRole::Child => (relationship.thread, thread),
            });
        }
        let mut expected = self.model.holding(thread);
        related.sort();
        expected.sort();
        assert_eq!(related, expected, "{context}: relations");
    }

    async fn all(&self, thread: ThreadId, page: Page) -> Vec<Message> {
        let first = self.engine.messages(thread, page.clone()).await.expect("a page");
        let (mut items, mut next) = (first.items, first.next);
        while let Some(cursor) = next {
            let page =
                self.engine.messages(thread, Page::after(cursor).include_silent().limit(3)).await.expect("a page");
            items.extend(page.items);
            next = page.next;
        }
        items
    }

    /// At the end everybody who followed has seen everything once, and everything is well.
    async fn end(&mut self) {
        let context = self.context();
        for mut follower in std::mem::take(&mut self.followers) {
            let known = self.model.thread(follower.thread).clone();
            let missed = known.history.iter().filter(|(version, _)| *version > follower.seen);
            for (version, kind) in missed {
                let entry = follower.subscription.next().await.expect("a read").expect("an entry");
                assert_eq!((entry.version.0, entry.kind), (*version, *kind), "{context}: a follower");
            }
        }
        for thread in self.model.threads.iter().map(|known| known.id).collect::<Vec<_>>() {
            self.compare(thread).await;
        }
        for thread in self.model.deleted.clone() {
            assert!(matches!(self.engine.thread(thread).await, Err(Error::ThreadNotFound { .. })), "{context}");
        }
        self.doctor().await;
        self.engine.repair(quiet()).await.expect("a repair");
        self.doctor().await;
    }
}

/// What came of an operation.
enum Settled<T> {
    Done(T),
    /// It was carried out, but the answer was lost.
    Lost,
    /// It was not carried out.
    Refused,
}

impl<T> Settled<T> {
    fn happened(self) -> bool {
        match self {
            Self::Done(_) | Self::Lost => true,
            Self::Refused => false,
        }
    }
}

fn open(on: Where, file: &PathBuf, faults: &Faults, world: &Arc<SimWorld>) -> Engine {
    let stores = match on {
        Where::Memory => Stores::of(MemoryStore::new()),
        Where::Sqlite => Stores::of(SqliteStore::open(file).expect("a store that opens")),
    };
    let limits = Limits { inline_bytes_max: 100, ..Limits::default() };
    Engine::new(Faulty::wrap(stores, faults.clone()), Arc::clone(world) as Arc<dyn threadkeep::World>, limits)
}

fn item(id: MessageId, root: MessageId, text: &str) -> Item {
    Item { id, root, text: text.to_owned(), metadata: None, version: id.position.0, deleted: false }
}

fn told(item: &Item) -> (MessageId, String) {
    (item.id, item.text.clone())
}

fn shown(message: &Message) -> (MessageId, String) {
    (message.id, message.text().expect("text"))
}

fn metadata_of(message: &Message) -> Option<String> {
    message.body().expect("a body").metadata.map(|metadata| metadata.as_str().to_owned())
}

fn check(context: &str, items: &[Message], expected: &[Item]) {
    let is: Vec<_> = items.iter().map(|message| (shown(message), metadata_of(message), message.version.0)).collect();
    let ought: Vec<_> = expected.iter().map(|item| (told(item), item.metadata.clone(), item.version)).collect();
    assert_eq!(is, ought, "{context}");
}
