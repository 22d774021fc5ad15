//! The operations of a random history, each carried out on the store and said again in the model.

use threadkeep::{
    ActivateSkill, Append, Assign, At, Content, Create, Delete, DeleteMessage, EditMessage, Error, Event, EventKind,
    Fork, ForkPoint, Json, MessageBody, MessageId, Position, Redo, Rollback, RollbackTo, SetCheckpoint, Skill,
    StartRun, StoreError, ThreadId, Truncate, TruncateFrom, Update,
};
use threadkeep_model::Kind;

use crate::compare::metadata_of;
use crate::model::{Item, ModelFork, ModelThread, State};
use crate::run::{Run, Settled};

impl Run {
    pub(crate) async fn create(&mut self) {
        let title = if self.chance.one_in(3) { None } else { Some(format!("thread {}", self.made)) };
        let agent = if self.chance.one_in(2) { None } else { Some(format!("a{}", self.chance.below(3))) };
        let texts: Vec<String> = (0..self.chance.below(3)).map(|_| self.words()).collect();
        let mut create = title.as_deref().map_or_else(Create::new, Create::titled);
        if let Some(agent) = &agent {
            create = create.field("agentId", Json::string(agent));
        }
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
        let mut made = ModelThread::new(thread.id, title, 0, thread.created, Vec::new());
        made.now.worker.agent = agent;
        made.then.insert(0, made.now.clone());
        self.model.threads.push(made);
        self.take_messages(thread.id, &texts).await;
    }

    /// Messages with these texts were appended.
    pub(crate) async fn take_messages(&mut self, thread: ThreadId, texts: &[String]) {
        let version = self.model.thread(thread).version;
        let told = self.after(thread, version).await;
        assert_eq!(told.len(), texts.len(), "{}", self.context());
        for ((id, kind, time), text) in told.into_iter().zip(texts) {
            let known = self.model.thread(thread);
            known.say(kind, time, |now| item(id, id, text, now));
        }
    }

    pub(crate) async fn queue(&mut self, thread: ThreadId) {
        let text = self.words();
        let is_full = self.model.thread(thread).queue.len() >= 5;
        let result = self.engine.queue(thread, MessageBody::user(&text)).await;
        if is_full {
            let fault = self.plan.faults > 0 && matches!(result, Err(Error::Store(StoreError::Unavailable { .. })));
            assert!(fault || matches!(result, Err(Error::QueueFull { .. })), "{}: {result:?}", self.context());
            return;
        }
        if self.settled(Some(thread), result).await.happened() {
            self.model.thread(thread).queue.push(text);
            self.log_rest(thread).await;
        }
    }

    /// An execution begins, replacing an open one, and takes up waiting messages.
    pub(crate) async fn begin(&mut self, thread: ThreadId) {
        let result = self.engine.start_run(thread, StartRun { take_over: true, ..StartRun::caller() }).await;
        if !self.settled(Some(thread), result).await.happened() {
            return;
        }
        let known = self.model.thread(thread);
        let (version, mut waiting) = (known.version, std::mem::take(&mut known.queue).into_iter());
        for (id, kind, time) in self.after(thread, version).await {
            let known = self.model.thread(thread);
            if kind == Kind::MessageDelivered {
                let text = waiting.next().expect("something that waited");
                known.say(kind, time, |now| item(id, id, &text, now));
            } else {
                known.log(kind, time);
            }
        }
        assert_eq!(waiting.next(), None, "{}: all of it is delivered", self.context());
    }

    pub(crate) async fn assign(&mut self, thread: ThreadId) {
        let agent = format!("a{}", self.chance.below(3));
        let result = self.engine.assign(thread, Assign::to(&agent)).await;
        if self.settled_or_same(thread, result).await {
            self.model.thread(thread).now.worker.agent = Some(agent);
            self.log_rest(thread).await;
        }
    }

    pub(crate) async fn skill(&mut self, thread: ThreadId) {
        let name = format!("s{}", self.chance.below(4));
        let skill = Skill { name: name.clone(), arguments: None };
        let result = self.engine.activate_skill(thread, ActivateSkill { skill }).await;
        if self.settled_or_same(thread, result).await {
            let skills = &mut self.model.thread(thread).now.worker.skills;
            if !skills.contains(&name) {
                skills.push(name);
            }
            self.log_rest(thread).await;
        }
    }

    pub(crate) async fn append(&mut self, thread: ThreadId) {
        let mut texts: Vec<String> = (0..=self.chance.below(3)).map(|_| self.words()).collect();
        texts.iter_mut().filter(|_| self.chance.one_in(4)).for_each(|text| text.insert(0, SILENT));
        let version = self.model.thread(thread).version;
        let append = Append::batch(texts.iter().map(|text| body(text, MessageBody::user)));
        let mut at = At::of(thread);
        match self.chance.below(4) {
            0 => at = at.expecting(Position(version)),
            1 => {
                let wrong = at.clone().expecting(Position(version + 1));
                match self.engine.append(wrong, append.clone()).await {
                    Err(Error::VersionConflict { current, .. }) => assert_eq!(current.0, version),
                    Err(Error::Store(StoreError::Unavailable { .. })) if self.plan.faults > 0 => {}
                    other => panic!("{}: expected a conflict, got {other:?}", self.context()),
                }
            }
            _ => {}
        }
        let result = self.engine.append(at, append).await;
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

    pub(crate) async fn event(&mut self, thread: ThreadId) {
        let data = Json::parse("data", r#"{"tool":"ls"}"#).expect("json");
        let event = Event { kind: EventKind::ToolUse, data };
        let result = self.engine.append_event(thread, event).await;
        if self.settled(Some(thread), result).await.happened() {
            self.log_rest(thread).await;
        }
    }

    /// A message, with its index.
    pub(crate) fn some_message(&mut self, thread: ThreadId) -> Option<(usize, Item)> {
        let now = self.model.thread(thread).now.clone();
        let at = self.chance.below(now.shown().len() as u64) as usize;
        now.shown().get(at).map(|item| (now.index_of(item.id), (*item).clone()))
    }

    pub(crate) async fn edit(&mut self, thread: ThreadId) {
        let Some((_, target)) = self.some_message(thread) else { return };
        let text = self.words();
        let metadata = format!(r#"{{"k{}":{}}}"#, self.chance.below(2), self.made);
        let (content, merged) = match self.chance.below(3) {
            0 => (Some(Content::text(&text)), None),
            1 => (None, Some(Json::parse("metadata", &metadata).expect("json"))),
            _ => (Some(Content::text(&text)), Some(Json::parse("metadata", &metadata).expect("json"))),
        };
        let edits_text = content.is_some();
        let edit = EditMessage { message: target.id.into(), content, metadata: merged };
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

    pub(crate) async fn delete_message(&mut self, thread: ThreadId) {
        let Some((_, target)) = self.some_message(thread) else { return };
        let result = self.engine.delete_message(thread, DeleteMessage { message: target.id.into() }).await;
        match self.settled(Some(thread), result).await {
            Settled::Done(deleted) => assert!(deleted, "{}", self.context()),
            Settled::Lost => {}
            Settled::Refused => return,
        }
        let known =
            self.model.thread(thread).now.view.iter_mut().find(|item| item.id == target.id).expect("the message");
        known.deleted = true;
        self.log_rest(thread).await;
        let again = self.engine.delete_message(thread, DeleteMessage { message: target.id.into() }).await;
        assert!(!again.expect("an answer"), "{}: what is deleted is not there to delete", self.context());
    }

    pub(crate) async fn insert(&mut self, thread: ThreadId) {
        let Some((_, target)) = self.some_message(thread) else { return };
        let mut text = self.words();
        if self.chance.one_in(4) {
            text.insert(0, SILENT);
        }
        let message = body(&text, MessageBody::assistant);
        let result = self.engine.append(thread, Append::before(message, target.id)).await;
        if !self.settled(Some(thread), result).await.happened() {
            return;
        }
        let version = self.model.thread(thread).version;
        let (id, ..) = self.after(thread, version).await[0];
        let view = &mut self.model.thread(thread).now.view;
        let at = view.iter().position(|item| item.id == target.id).expect("the message");
        let beside = view[at].clone();
        view.insert(
            at,
            Item { worker: beside.worker, held: beside.held, ..item(id, target.root, &text, &State::default()) },
        );
        self.log_rest(thread).await;
    }

    pub(crate) async fn truncate(&mut self, thread: ThreadId) {
        let Some((index, target)) = self.some_message(thread) else {
            let from = TruncateFrom::Index(0);
            let refused = self.engine.truncate(thread, Truncate { from }).await;
            assert!(matches!(refused, Err(Error::IndexOutOfRange { .. })), "{}", self.context());
            return;
        };
        let from = if self.chance.one_in(2) && !target.silent {
            TruncateFrom::Index(index as u64)
        } else {
            TruncateFrom::Message(target.id.into())
        };
        let result = self.engine.truncate(thread, Truncate { from }).await;
        if !self.settled(Some(thread), result).await.happened() {
            return;
        }
        let known = self.model.thread(thread);
        known.openings.push(known.version);
        let kept = index.checked_sub(1).map(|kept| known.now.listed()[kept].id);
        let (view, hidden) = kept.map_or_else(Default::default, |kept| known.now.cut_after(kept));
        known.walk = None;
        known.now.view = view;
        self.log_two(thread, hidden).await;
    }

    pub(crate) async fn fork(&mut self, thread: ThreadId) {
        let known = self.model.thread(thread).clone();
        let (at, view, anchor, (worker, held)) = match self.chance.below(4) {
            0 => {
                let anchor = known.now.shown().last().map(|item| item.root);
                let shared = (known.now.worker.clone(), known.now.held.clone());
                (ForkPoint::Now, (known.now.view.clone(), None), anchor, shared)
            }
            1 => {
                let version = known.birth + self.chance.below(known.version - known.birth + 1);
                let then = &known.then[&version];
                let anchor = then.shown().last().map(|item| item.root);
                // On an abandoned branch there is nothing a truncation could concern.
                let anchor = anchor.filter(|anchor| known.now.view.iter().any(|item| item.id == *anchor));
                let shared = (then.worker.clone(), then.held.clone());
                (ForkPoint::Version(Position(version)), (then.view.clone(), None), anchor, shared)
            }
            by => {
                let Some((index, target)) = self.some_message(thread) else { return };
                let by_index = by == 2 && !target.silent;
                let point =
                    if by_index { ForkPoint::Index(index as u64) } else { ForkPoint::Message(target.id.into()) };
                let root = known.now.view.iter().find(|item| item.id == target.root).expect("a root is in the view");
                (point, known.now.cut_after(target.id), Some(target.root), (root.worker.clone(), root.held.clone()))
            }
        };
        let result = self.engine.fork(thread, Fork { at, title: None }).await;
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
        let parent = self.engine.thread(thread).await.expect("the parent");
        assert_eq!(child.created, parent.head.updated, "{}: times never go back along a lineage", self.context());
        let (view, hidden) = view;
        let shown = hidden.as_ref().unwrap_or(&view).iter().filter(|item| !item.deleted && !item.silent).count() as u64;
        assert_eq!(child.record.fork_point_index, shown.checked_sub(1), "{}", self.context());
        assert_eq!(child.record.origin_thread_id, Some(thread));
        // The entry that hides messages after the cut is the child's first; everything before is its birth.
        let birth = child.head.version.0 - u64::from(hidden.is_some());
        let mut made = ModelThread::new(child.id, child.record.title.clone(), birth, child.created, view);
        (made.now.worker, made.now.held) = (worker, held);
        made.then.insert(birth, made.now.clone());
        if let Some(hidden) = hidden {
            made.now.view = hidden;
            made.log(Kind::MessagesDeleted, child.head.updated);
        }
        self.model.threads.push(made);
        self.compare(child.id).await;
    }

    pub(crate) async fn rollback(&mut self, thread: ThreadId) {
        let known = self.model.thread(thread).clone();
        let version = known.birth + self.chance.below(known.version - known.birth + 1);
        let shown = known.walk.map_or(known.version, |(_, shown)| shown);
        let (to, version) = match self.chance.below(5) {
            0 => (RollbackTo::Version(Position(version)), version),
            1 => {
                let time = known.times[&version];
                (RollbackTo::Timestamp(time), known.version_at(time).expect("a version at that time"))
            }
            2 => match known.checkpoints.iter().next() {
                Some((name, version)) if *version >= known.birth => (RollbackTo::Checkpoint(name.clone()), *version),
                _ => return,
            },
            3 => return self.redo(thread).await,
            _ => match known.openings.iter().rev().find(|before| **before < shown) {
                Some(version) => (RollbackTo::Undo, *version),
                None => {
                    let refused = self.engine.rollback(thread, RollbackTo::Undo).await;
                    assert!(matches!(refused, Err(Error::NothingToUndo)), "{}", self.context());
                    return;
                }
            },
        };
        let undo = to == RollbackTo::Undo;
        let result = self.engine.rollback(thread, Rollback { to }).await;
        if self.settled(Some(thread), result).await.happened() {
            let from = known.walk.map_or(known.version, |(from, _)| from);
            self.went(thread, version, undo.then_some(from)).await;
        }
    }

    /// Goes one step forward again, if the thread is on a walk that went back.
    async fn redo(&mut self, thread: ThreadId) {
        let known = self.model.thread(thread).clone();
        let next = known.walk.filter(|(from, shown)| shown < from).and_then(|(from, shown)| {
            known.openings.iter().find(|before| **before > shown).map(|version| (from, *version))
        });
        let result = self.engine.redo(thread, Redo {}).await;
        let Some((from, version)) = next else {
            assert!(matches!(result, Err(Error::NothingToRedo)), "{}: {result:?}", self.context());
            return;
        };
        if self.settled(Some(thread), result).await.happened() {
            self.went(thread, version, Some(from)).await;
        }
    }

    /// A thread shows `version` again; `walk` is where its undos and redos began.
    async fn went(&mut self, thread: ThreadId, version: u64, walk: Option<u64>) {
        let known = self.model.thread(thread);
        known.openings.push(known.version);
        known.now = known.then[&version].clone();
        self.log_rest(thread).await;
        self.model.thread(thread).walk = walk.map(|from| (from, version));
    }

    pub(crate) async fn checkpoint(&mut self, thread: ThreadId) {
        let name = format!("c{}", self.chance.below(3));
        let version = self.model.thread(thread).version;
        let result = self.engine.checkpoint(thread, SetCheckpoint::named(&name)).await;
        if self.settled(Some(thread), result).await.happened() {
            self.model.thread(thread).checkpoints.insert(name, version);
            self.log_rest(thread).await;
        }
    }

    pub(crate) async fn update(&mut self, thread: ThreadId) {
        let title = self.words().trim().to_owned();
        let result = self.engine.update(thread, Update::new().title(&title)).await;
        if self.settled(Some(thread), result).await.happened() {
            self.model.thread(thread).title = Some(title);
            self.log_rest(thread).await;
        }
    }

    pub(crate) async fn delete(&mut self, thread: ThreadId) {
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
}

fn item(id: MessageId, root: MessageId, text: &str, now: &State) -> Item {
    let (text, worker, held) = (text.to_owned(), now.worker.clone(), now.held.clone());
    let silent = text.starts_with(SILENT);
    Item { id, root, text, metadata: None, version: id.position.0, deleted: false, silent, worker, held }
}

/// Begins the text of a message that is silent.
const SILENT: char = '~';

/// The message with this text.
fn body(text: &str, of: impl Fn(&str) -> MessageBody) -> MessageBody {
    if text.starts_with(SILENT) { of(text).silent() } else { of(text) }
}
