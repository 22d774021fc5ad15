//! Two processes run the effects of one store, and are killed and paused at random, while effects are scheduled, removed,
//! rolled back and undone. A small model says which effects have to end, by seed.
//!
//! `THREADKEEP_EFFECTS=1000 THREADKEEP_KILLS=20` makes a longer test of it, and `--nocapture` tells how late effects ran.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use threadkeep::{
    Append, ChangeLifecycle, Create, Engine, Lifecycle, LifecycleAction, ListEffects, MessageBody, Position,
    RemoveEffect, RollbackTo, ScheduleEffect, Terminate, ThreadId, Uuid, Version,
};
use threadkeep_runtime::effects::{EffectCall, RustEffects, run_effects};

/// The address of the store, for a process that runs effects.
const STORE: &str = "THREADKEEP_EFFECTS_STORE";
const THREADS: usize = 6;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A process that runs effects, if this is one.
#[test]
fn child() {
    let Ok(url) = std::env::var(STORE) else { return };
    crate::run(async {
        let engine = threadkeep::open(&url).expect("the store");
        let ran = |call: EffectCall| async move {
            let (thread, id) = (call.effect.thread, call.effect.id.to_string());
            tokio::time::sleep(Duration::from_millis(u64::from(id.as_bytes()[0]) % 16)).await;
            let told = call.engine.append(thread, MessageBody::assistant(&id)).await;
            told.map(drop).map_err(|error| error.to_string())
        };
        let handlers = RustEffects::default().with("note", ran);
        run_effects(engine, Arc::new(handlers), std::future::pending()).await;
    });
}

/// A process that runs effects until it is dropped.
struct Process(Child);

impl Process {
    fn start(url: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("a program"));
        command.args(["effects_kills::child", "--exact", "--test-threads=1"]).env(STORE, url);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process"))
    }

    fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.0.id().to_string()]).status().expect("a signal");
        assert!(done.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// What the model knows of a thread.
#[derive(Default)]
struct Model {
    scheduled: BTreeSet<Uuid>,
    /// The effects in view, ended or not.
    visible: BTreeSet<Uuid>,
    /// Those that were in view at a version.
    known: BTreeMap<Version, BTreeSet<Uuid>>,
    /// Those that were in view before the last rollback.
    before: Option<BTreeSet<Uuid>>,
    removed: BTreeSet<Uuid>,
}

struct Test {
    engine: Engine,
    dice: Dice,
    threads: Vec<(ThreadId, Model)>,
}

impl Test {
    async fn begin(engine: Engine, seed: u64) -> Self {
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            let thread = engine.create(Create::titled("Effects")).await.expect("a thread").id;
            threads.push((thread, Model::default()));
        }
        Self { engine, dice: Dice(seed), threads }
    }

    /// Does something to a thread, by chance. Gives the number of effects that it scheduled.
    async fn act(&mut self) -> usize {
        let at = self.dice.below(self.threads.len());
        let (thread, model) = &mut self.threads[at];
        let (engine, thread, dice) = (&self.engine, *thread, &mut self.dice);
        let record = engine.thread(thread).await.expect("a thread").record;
        if record.lifecycle == Lifecycle::Suspended {
            let resume = ChangeLifecycle { action: LifecycleAction::Resume, reason: None };
            engine.lifecycle(thread, resume).await.expect("a resumption");
        }
        let mut count = 0;
        match dice.below(20) {
            0..12 => {
                let mut append = Append::from(MessageBody::user("work"));
                for _ in 0..=dice.below(4) {
                    let id = Uuid::from_chance(u128::from(dice.0) << 64 | dice.below(1 << 20) as u128);
                    let effect = ScheduleEffect::new("note").expect("a name").after_ms(dice.below(1_500) as u64);
                    append = append.scheduling(ScheduleEffect { id: Some(id), ..effect });
                    model.scheduled.insert(id);
                    model.visible.insert(id);
                    count += 1;
                }
                engine.append(thread, append).await.expect("an append");
            }
            12..15 => {
                let waiting = engine.effects(thread, ListEffects::default()).await.expect("a list").items;
                if !waiting.is_empty() {
                    let effect = waiting[dice.below(waiting.len())].id;
                    if engine.remove_effect(thread, RemoveEffect { effect }).await.expect("a removal") {
                        model.removed.insert(effect);
                    }
                }
            }
            15..17 => {
                let versions: Vec<Version> = model.known.keys().copied().collect();
                if !versions.is_empty() {
                    let to = versions[dice.below(versions.len())];
                    engine.rollback(thread, RollbackTo::Version(to)).await.expect("a rollback");
                    model.before = Some(std::mem::replace(&mut model.visible, model.known[&to].clone()));
                }
            }
            17..19 => {
                if let Some(before) = model.before.take() {
                    engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
                    model.visible = before;
                }
            }
            _ => {
                let suspend = ChangeLifecycle { action: LifecycleAction::Suspend, reason: None };
                engine.lifecycle(thread, suspend).await.expect("a pause");
            }
        }
        let version = engine.thread(thread).await.expect("a thread").head.version;
        model.known.insert(version, model.visible.clone());
        count
    }

    /// Lets everything run that can, and compares the log with the model.
    async fn check(mut self) {
        for (thread, _) in &self.threads {
            if self.engine.thread(*thread).await.expect("a thread").record.lifecycle == Lifecycle::Suspended {
                let resume = ChangeLifecycle { action: LifecycleAction::Resume, reason: None };
                self.engine.lifecycle(*thread, resume).await.expect("a resumption");
            }
        }
        let mut latest = 0;
        let threads = std::mem::take(&mut self.threads);
        for (number, (thread, model)) in threads.into_iter().enumerate() {
            self.until_ended(thread, &model.visible).await;
            if number == 0 {
                self.engine.call(thread, Terminate {}).await.expect("an end");
            }
            let log = Log::read(&self.engine, thread).await;
            latest = latest.max(log.latest);
            for id in &model.scheduled {
                let ends = log.ends.get(id).map_or(&[][..], Vec::as_slice);
                let must = model.visible.contains(id) || model.removed.contains(id) || number == 0;
                assert!(ends.len() <= 1 && (!must || ends.len() == 1), "{id} of {thread} ended {ends:?}");
                let Some((at, outcome)) = ends.first() else { continue };
                let fits = match outcome.as_str() {
                    "cancelled: it was removed" => model.removed.contains(id),
                    "cancelled: the thread was terminated" => number == 0,
                    _ => !outcome.starts_with("cancelled") && !model.removed.contains(id),
                };
                assert!(fits, "{id} of {thread} {outcome}");
                let ran = log.ran.get(id).map_or(&[][..], Vec::as_slice);
                assert!(ran.iter().all(|ran| ran < at), "{id} of {thread} ended at {at} and ran at {ran:?}");
                assert!(outcome != "completed" || !ran.is_empty(), "{id} of {thread} completed without running");
            }
            let unknown = log.ends.keys().find(|id| !model.scheduled.contains(id));
            assert_eq!(unknown, None);
        }
        eprintln!("the latest effect began {} ms after it was due", latest / 1_000);
    }

    /// Waits until all of these effects have ended.
    async fn until_ended(&self, thread: ThreadId, effects: &BTreeSet<Uuid>) {
        let mut open = effects.clone();
        let mut news = self.engine.subscribe(thread, Position(0)).await.expect("a subscription");
        while !open.is_empty() {
            let next = tokio::time::timeout(Duration::from_secs(60), news.next()).await;
            let entry = next.unwrap_or_else(|_| panic!("{open:?} do not end")).expect("an entry").expect("a thread");
            if entry.kind.as_str() == "effect_ended" {
                open.remove(&id_of(&entry.json));
            }
        }
    }
}

fn id_of(json: &[u8]) -> Uuid {
    let body: serde_json::Value = serde_json::from_slice(json).expect("json");
    body["id"].as_str().expect("an id").parse().expect("an id")
}

/// What the log of a thread says of its effects.
#[derive(Default)]
struct Log {
    ends: BTreeMap<Uuid, Vec<(u64, String)>>,
    ran: BTreeMap<Uuid, Vec<u64>>,
    /// The longest time from when an effect was due, and in view, to its first claim, in microseconds.
    latest: i64,
}

impl Log {
    async fn read(engine: &Engine, thread: ThreadId) -> Self {
        let (mut log, mut after, mut claimed) = (Self::default(), Position(0), BTreeSet::new());
        // Effects that were hidden or suspended for a while are late for a reason.
        let mut excused = BTreeSet::new();
        let mut due: BTreeMap<Uuid, i64> = BTreeMap::new();
        loop {
            let some = engine.history(thread, after, 1_000).await.expect("a history");
            let Some(last) = some.last() else { return log };
            after = last.version;
            for entry in &some {
                let at = entry.version.0;
                let body: serde_json::Value = serde_json::from_slice(&entry.json).expect("json");
                let time = |name: &str| -> i64 {
                    serde_json::from_value::<threadkeep::Timestamp>(body[name].clone()).expect("a time").as_micros()
                };
                match entry.kind.as_str() {
                    "effect_scheduled" => drop(due.insert(id_of(&entry.json), time("at"))),
                    "effect_claimed" => {
                        let id = id_of(&entry.json);
                        if claimed.insert(id) && !excused.contains(&id) {
                            log.latest = log.latest.max(entry.time.as_micros() - due[&id]);
                        }
                    }
                    "effect_ended" => {
                        let why = body["error"].as_str().map_or(String::new(), |why| format!(": {why}"));
                        let outcome = format!("{}{why}", body["outcome"].as_str().expect("an outcome"));
                        log.ends.entry(id_of(&entry.json)).or_default().push((at, outcome));
                    }
                    "rolled_back" | "lifecycle_changed" => excused.extend(due.keys().copied()),
                    "message_appended" => {
                        let ran = body["content"].as_str().and_then(|text| text.parse().ok());
                        ran.into_iter().for_each(|id: Uuid| log.ran.entry(id).or_default().push(at));
                    }
                    _ => {}
                }
            }
        }
    }
}

async fn kill_and_check(url: &str, seed: u64) {
    let (effects, kills) = (number("THREADKEEP_EFFECTS", 150), number("THREADKEEP_KILLS", 5));
    let engine = threadkeep::open(url).expect("the store");
    let mut test = Test::begin(engine, seed).await;
    let mut processes = [Process::start(url), Process::start(url)];
    let (mut scheduled, mut killed) = (0, 0);
    while scheduled < effects || killed < kills {
        scheduled += test.act().await;
        // Kills are spread over the effects.
        if killed < kills && scheduled * kills >= (killed + 1) * effects {
            killed += 1;
            let one = test.dice.below(2);
            if killed == kills / 2 {
                // One is paused past its lease, and then goes on.
                processes[1 - one].signal("-STOP");
                tokio::time::sleep(Duration::from_secs(7)).await;
                processes[1 - one].signal("-CONT");
            }
            processes[one] = Process::start(url);
        }
        tokio::time::sleep(Duration::from_millis(test.dice.below(30) as u64)).await;
    }
    test.check().await;
}

#[test]
fn effects_end_once_while_processes_on_one_file_are_killed() {
    crate::run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("threads.db").display());
        kill_and_check(&url, number("THREADKEEP_SEED", 1) as u64).await;
    });
}

#[test]
fn effects_end_once_while_processes_on_one_server_are_killed() {
    crate::run(async {
        let schema = threadkeep_throwaway::schema();
        kill_and_check(&schema.url(), number("THREADKEEP_SEED", 1) as u64).await;
    });
}
