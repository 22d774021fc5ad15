//! Operations on a thread's files and values, and spawning, which shares them in part.

use threadkeep::{
    DeleteFile, Error, FilePath, Files, Inherit, InheritItem, Json, MoveFile, NewFile, Position, RollbackTo, SetValue,
    Spawn, ThreadId, Values,
};
use threadkeep_model::Kind;

use crate::model::{Held, Item, ModelThread, Worker};
use crate::run::{Run, Settled};

/// The files there can be.
const PATHS: [&str; 5] = ["/a.txt", "/b.txt", "/d/a.txt", "/d/b.txt", "/d/e/c.txt"];
/// The values there can be.
const KEYS: [&str; 4] = ["k0", "k1", "m0", "m1"];
/// The glob for a part of the files.
const BELOW: &str = "d/**";
/// How the keys of a part of the values begin.
const PREFIX: &str = "k";

fn path(name: &str) -> FilePath {
    name.parse().expect("a path")
}

impl Run {
    fn some_path(&mut self) -> &'static str {
        PATHS[self.chance.below(PATHS.len() as u64) as usize]
    }

    pub(crate) async fn write_file(&mut self, thread: ThreadId) {
        let (name, text) = (self.some_path(), self.words());
        let result = self.engine.write_file(thread, NewFile::new(name, text.clone()).expect("a file")).await;
        if self.settled(Some(thread), result).await.happened() {
            self.model.thread(thread).now.held.files.insert(name.to_owned(), text);
            self.log_rest(thread).await;
        }
    }

    pub(crate) async fn delete_file(&mut self, thread: ThreadId) {
        let name = self.some_path();
        if !self.model.thread(thread).now.held.files.contains_key(name) {
            return;
        }
        let result = self.engine.delete_file(thread, DeleteFile { path: path(name) }).await;
        if self.settled(Some(thread), result).await.happened() {
            self.model.thread(thread).now.held.files.remove(name);
            self.log_rest(thread).await;
        }
    }

    pub(crate) async fn move_file(&mut self, thread: ThreadId) {
        let (from, to) = (self.some_path(), self.some_path());
        if from == to {
            return;
        }
        let moving = MoveFile { from: path(from), to: path(to) };
        let result = self.engine.move_file(thread, moving).await;
        let Some(text) = self.model.thread(thread).now.held.files.get(from).cloned() else {
            assert!(matches!(result, Err(Error::FileNotFound { .. })), "{}: {result:?}", self.context());
            return;
        };
        if self.settled(Some(thread), result).await.happened() {
            let files = &mut self.model.thread(thread).now.held.files;
            files.remove(from);
            files.insert(to.to_owned(), text);
            self.log_rest(thread).await;
        }
    }

    /// Restores one file as it was at some version.
    pub(crate) async fn restore_file(&mut self, thread: ThreadId) {
        let name = self.some_path();
        let known = self.model.thread(thread).clone();
        let version = known.birth + self.chance.below(known.version - known.birth + 1);
        let was = known.then[&version].held.files.get(name).cloned();
        let to =
            RollbackTo::ArtifactVersion(threadkeep::ArtifactVersion { path: path(name), version: Position(version) });
        let result = self.engine.rollback(thread, to).await;
        if was.is_none() && !known.now.held.files.contains_key(name) {
            assert!(matches!(result, Err(Error::FileNotFound { .. })), "{}: {result:?}", self.context());
            return;
        }
        if self.settled(Some(thread), result).await.happened() {
            let files = &mut self.model.thread(thread).now.held.files;
            match was {
                Some(text) => drop(files.insert(name.to_owned(), text)),
                None => drop(files.remove(name)),
            }
            self.log_rest(thread).await;
        }
    }

    pub(crate) async fn set_value(&mut self, thread: ThreadId) {
        let key = KEYS[self.chance.below(KEYS.len() as u64) as usize];
        let is_there = self.model.thread(thread).now.held.values.contains_key(key);
        let value = if is_there && self.chance.one_in(3) { None } else { Some(Json::string(&self.words())) };
        let set = SetValue {
            key: key.parse().expect("a key"),
            value: value.clone().unwrap_or_else(Json::null),
            if_version: None,
        };
        let result = self.engine.set_value(thread, set).await;
        if self.settled(Some(thread), result).await.happened() {
            let values = &mut self.model.thread(thread).now.held.values;
            match value {
                Some(value) => drop(values.insert(key.to_owned(), value.as_str().to_owned())),
                None => drop(values.remove(key)),
            }
            self.log_rest(thread).await;
        }
    }

    /// Files and values as the store shows them.
    pub(crate) async fn held(&self, thread: ThreadId, as_of: Option<Position>) -> Held {
        let mut held = Held::default();
        let (found, _) = self.engine.files(thread, Files { as_of, ..Files::default() }).await.expect("files");
        for record in found {
            let file = record.file().expect("nobody made a directory");
            let content = self.engine.file_content(file, None).await.expect("content");
            held.files.insert(record.path.to_string(), String::from_utf8(content.to_vec()).expect("text"));
        }
        let (found, _) = self.engine.values(thread, Values { as_of, ..Values::default() }).await.expect("values");
        for value in found {
            held.values.insert(value.key.to_string(), value.value.as_str().to_owned());
        }
        held
    }

    /// Spawns a thread with all, some or nothing of this one's state.
    pub(crate) async fn spawn(&mut self, thread: ThreadId) {
        use InheritItem::{Files, Messages, Skills, Values};
        let parent = self.model.thread(thread).now.clone();
        let all = || Files("**".to_owned());
        let some = || Files(BELOW.to_owned());
        let inherit = match self.chance.below(11) {
            0 | 1 => Inherit::Full,
            2 => Inherit::Partial(vec![Messages]),
            3 => Inherit::Partial(vec![Skills, Messages]),
            4 => Inherit::Partial(vec![Messages, all()]),
            5 => Inherit::Partial(vec![all(), Values(String::new()), Messages, Skills]),
            6 => Inherit::Partial(vec![some(), Values(PREFIX.to_owned())]),
            7 => Inherit::Partial(vec![Messages, some(), Values(PREFIX.to_owned())]),
            8 => Inherit::Partial(vec![all()]),
            9 => Inherit::Partial(vec![Values(String::new())]),
            _ => Inherit::None,
        };
        let agent_id = if self.chance.one_in(2) { None } else { Some(format!("a{}", self.chance.below(3))) };
        let shares = |wanted: InheritItem| match &inherit {
            Inherit::Full => true,
            Inherit::Partial(scope) => scope.contains(&wanted),
            Inherit::None => false,
        };
        let skills = if shares(Skills) { parent.worker.skills.clone() } else { Vec::new() };
        let worker = Worker { agent: agent_id.clone().or_else(|| parent.worker.agent.clone()), skills };
        let intent = format!("intent {}", self.made);
        let spawn = Spawn { intent: intent.clone(), inherit: inherit.clone(), agent_id };
        let result = self.engine.spawn(thread, spawn).await;
        let child = match self.settled(Some(thread), result).await {
            Settled::Done(child) => child,
            Settled::Lost => self.unknown().await.expect("the thread that was spawned"),
            Settled::Refused => return,
        };
        self.log_rest(thread).await;
        assert_eq!(child.record.parent_id, Some(thread), "{}", self.context());
        // State that the link does not show is logged first: another agent, or a part of the files and values.
        let mut told = self.after(child.id, 0).await;
        told.retain(|(place, ..)| place.segment == child.head.segment);
        let birth = child.head.version.0 - told.len() as u64;
        let (files, values) = (shares(all()), shares(Values(String::new())));
        let linked = |held: &Held| Held {
            files: if files { held.files.clone() } else { Default::default() },
            values: if values { held.values.clone() } else { Default::default() },
            file_trail: if files { held.file_trail.clone() } else { Default::default() },
            value_trail: if values { held.value_trail.clone() } else { Default::default() },
        };
        let tells_agent = told.iter().any(|(_, kind, _)| *kind == Kind::AgentAssigned);
        let keeps_workers = tells_agent || values && worker == parent.worker;
        let shown = if shares(Messages) { parent.view } else { Vec::new() };
        let shown = shown.into_iter().map(|item| Item {
            // Without values it does not see who worked when its messages were said.
            worker: if keeps_workers { item.worker } else { worker.clone() },
            held: linked(&item.held),
            ..item
        });
        let mut made = ModelThread::new(child.id, Some(intent), birth, child.created, shown.collect());
        made.now.worker = if tells_agent { parent.worker } else { worker.clone() };
        made.now.held = linked(&parent.held);
        made.then.insert(birth, made.now.clone());
        for (_, kind, time) in told {
            match kind {
                Kind::AgentAssigned => made.now.worker = worker.clone(),
                Kind::FilesChanged => {
                    let below = parent.held.files.iter().filter(|(name, _)| name.starts_with("/d/"));
                    made.now.held.files.extend(below.map(|(name, text)| (name.clone(), text.clone())));
                }
                Kind::ValuesChanged => {
                    let fit = parent.held.values.iter().filter(|(key, _)| key.starts_with(PREFIX));
                    made.now.held.values.extend(fit.map(|(key, value)| (key.clone(), value.clone())));
                }
                other => panic!("{}: a spawned thread is told first of {}", self.context(), other.as_str()),
            }
            made.log(kind, time);
        }
        made.spawned = Some((thread, made.version));
        self.model.threads.push(made);
        self.compare(child.id).await;
    }
}
