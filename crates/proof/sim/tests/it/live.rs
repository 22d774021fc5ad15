//! Read-writers on stores that fail: write-behind gives the same result as direct writes, whether commits fail
//! before or after they are kept. Nothing is lost silently, and nothing is doubled.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use threadkeep::{
    Append, Content, Create, DeleteMessage, DraftStep, EditMessage, Engine, Error, Event, EventKind, Exclusive, Json,
    Limits, LiveSettings, MemoryStore, MessageBody, MessageId, Page, Position, ReadWriter, SqliteStore, Stores,
    ThreadId, Timestamp, Update, World,
};
use threadkeep_sim::{Chance, Faults, Faulty, SimWorld};

/// A step of an update. Messages go by the text they were first given, which no two share.
#[derive(Debug, Clone)]
enum Step {
    Append(String),
    Event(u64),
    Title(String),
    Insert { before: String, text: String },
    Note { target: String, key: u64, value: u64 },
    Rewrite { target: String, text: String },
    Delete(String),
}

fn body(text: &str) -> MessageBody {
    let tag = Json::parse("metadata", &format!(r#"{{"tag":"{text}"}}"#)).expect("json");
    MessageBody::user(text).metadata(tag)
}

fn event(number: u64) -> Event {
    Event { kind: EventKind::Result, data: Json::parse("data", &format!(r#"{{"n":{number}}}"#)).expect("json") }
}

fn note(message: MessageId, key: u64, value: u64) -> EditMessage {
    EditMessage::metadata(message, Json::parse("metadata", &format!(r#"{{"k{key}":{value}}}"#)).expect("json"))
}

/// The messages of a thread: the tag of each, its text and its metadata, and its id.
async fn shown(engine: &Engine, thread: ThreadId) -> Vec<(String, String, String, MessageId)> {
    let page = engine.messages(thread, Page::first().limit(1_000)).await.expect("a page");
    let items = page.items.iter().map(|message| {
        let body = message.body().expect("a body");
        let metadata = body.metadata.expect("a tag");
        let tag = metadata.to_value()["tag"].as_str().expect("a tag").to_owned();
        (tag, body.content.to_text().into_owned(), metadata.as_str().to_owned(), message.id)
    });
    items.collect()
}

async fn kinds(engine: &Engine, thread: ThreadId) -> Vec<&'static str> {
    let history = engine.history(thread, Position(0), 100_000).await.expect("a history");
    history.iter().map(|entry| entry.kind.as_str()).collect()
}

/// Two threads that ought to show the same: one is written to directly, the other one behind.
struct Twins {
    engine: Engine,
    chance: Chance,
    direct: ThreadId,
    writer: ReadWriter,
    /// The messages that the other one shows durably, by their tags.
    ids: HashMap<String, MessageId>,
    deleted: HashSet<String>,
    made: u64,
    /// Updates that have to be refused, and those that were.
    hopeless: usize,
    refused: usize,
}

impl Twins {
    async fn new(stores: Stores, seed: u64, faults: u64) -> Self {
        let world: Arc<dyn World> = Arc::new(SimWorld::new(seed));
        let faulty = Faulty::wrap(stores.clone(), Faults::one_in(faults, seed));
        let engine = Engine::new(stores, Arc::clone(&world), Limits::default());
        let settings = LiveSettings {
            // The clock of this world leaps.
            lease_ttl: Duration::from_secs(86_400),
            flush_debounce: Duration::from_millis(1),
            retry: Duration::from_millis(1),
            retry_max: Duration::from_millis(2),
            ..LiveSettings::default()
        };
        let behind = Engine::new(faulty, world, Limits::default()).with_live(settings);
        let direct = engine.create(Create::titled("T")).await.expect("a thread").id;
        let other = engine.create(Create::titled("T")).await.expect("a thread").id;
        let writer = behind.exclusive(other, Exclusive::default()).await.expect("a read-writer");
        let (ids, deleted) = (HashMap::new(), HashSet::new());
        let chance = Chance::new(seed);
        Self { engine, chance, direct, writer, ids, deleted, made: 0, hopeless: 0, refused: 0 }
    }

    fn steps(&mut self) -> Vec<Step> {
        let mut known: Vec<String> = self.ids.keys().cloned().collect();
        known.sort();
        let mut titled = false;
        (0..1 + self.chance.below(4))
            .map(|_| {
                self.made += 1;
                let text = format!("m{}", self.made);
                let Some(target) = self.chance.pick(&known).cloned() else { return Step::Append(text) };
                match self.chance.below(12) {
                    0 => Step::Event(self.made),
                    1 if !titled => {
                        titled = true;
                        Step::Title(text)
                    }
                    2 | 3 => Step::Insert { before: target, text },
                    4 | 5 => Step::Note { target, key: self.made % 3, value: self.made },
                    6 => Step::Rewrite { target, text },
                    7 => Step::Delete(target),
                    _ => Step::Append(text),
                }
            })
            .collect()
    }

    /// Makes an update on both.
    async fn update(&mut self) {
        let steps = self.steps();
        let ids = &self.ids;
        let updated = self.writer.update(|draft| {
            for step in &steps {
                match step {
                    Step::Append(text) => draft.append(body(text)),
                    Step::Event(number) => draft.append_event(event(*number)),
                    Step::Title(text) => draft.title(text),
                    Step::Insert { before, text } => draft.insert_before(ids[before], body(text)),
                    Step::Note { target, key, value } => draft.edit(note(ids[target], *key, *value)),
                    Step::Rewrite { target, text } => {
                        draft.edit(EditMessage::content(ids[target], Content::text(text)));
                    }
                    Step::Delete(target) => draft.delete(ids[target]),
                }
            }
        });
        updated.expect("an update");
        let mut deleted = self.deleted.clone();
        let possible = steps.iter().all(|step| match step {
            Step::Append(_) | Step::Event(_) | Step::Title(_) => true,
            Step::Insert { before: target, .. } | Step::Note { target, .. } | Step::Rewrite { target, .. } => {
                !deleted.contains(target)
            }
            Step::Delete(target) => deleted.insert(target.clone()),
        });
        if !possible {
            self.hopeless += 1;
            return;
        }
        self.deleted = deleted;
        let own: HashMap<String, MessageId> =
            shown(&self.engine, self.direct).await.into_iter().map(|(tag, _, _, id)| (tag, id)).collect();
        let mut draft = threadkeep::Draft::default();
        for step in steps {
            match step {
                Step::Append(text) => draft.append(body(&text)),
                Step::Event(number) => draft.append_event(event(number)),
                Step::Title(text) => draft.title(&text),
                Step::Insert { before, text } => draft.insert_before(own[&before], body(&text)),
                Step::Note { target, key, value } => draft.edit(note(own[&target], key, value)),
                Step::Rewrite { target, text } => {
                    draft.edit(EditMessage::content(own[&target], Content::text(&text)));
                }
                Step::Delete(target) => draft.delete(own[&target]),
            }
        }
        for step in draft.steps() {
            let (engine, direct) = (&self.engine, self.direct);
            match step.clone() {
                DraftStep::Append(append) => engine.append(direct, append).await.map(drop),
                DraftStep::AppendEvent(event) => engine.append_event(direct, event).await.map(drop),
                DraftStep::Insert { before, message } => {
                    engine.append(direct, Append::before(message, before)).await.map(drop)
                }
                DraftStep::EditMessage(edit) => engine.edit_message(direct, edit).await.map(drop),
                DraftStep::DeleteMessage(message) => {
                    engine.delete_message(direct, DeleteMessage { message: message.into() }).await.map(drop)
                }
                DraftStep::Update(update) => engine.update(direct, update).await.map(drop),
            }
            .expect("the same, directly");
        }
    }

    async fn settle(&mut self) {
        let version = self.writer.version();
        match self.writer.flush_version(version).await {
            Ok(()) => assert!(self.hopeless > 0 || self.writer.durable_version() >= version),
            Err(Error::UpdatesRefused { updates }) => {
                assert!(updates.iter().all(|refused| refused.error.code() == "message_not_found"));
                self.refused += updates.len();
            }
            Err(error) => panic!("{error}"),
        }
        // Refused updates are handed back once all before them are settled, and others may still wait.
        while self.writer.pending() > 0 {
            match self.writer.flush_version(version).await {
                Ok(()) => {}
                Err(Error::UpdatesRefused { updates }) => self.refused += updates.len(),
                Err(error) => panic!("{error}"),
            }
        }
        self.refused += self.writer.take_refused().len();
        assert_eq!(self.refused, self.hopeless, "what cannot be is refused, and nothing else");
        let (one, other) = (shown(&self.engine, self.direct).await, shown(&self.engine, self.writer.thread()).await);
        let plain = |shown: &[(String, String, String, MessageId)]| -> Vec<(String, String, String)> {
            shown.iter().map(|(tag, text, metadata, _)| (tag.clone(), text.clone(), metadata.clone())).collect()
        };
        assert_eq!(plain(&one), plain(&other));
        let title = async |thread| self.engine.thread(thread).await.expect("a thread").record.title;
        assert_eq!(title(self.direct).await, title(self.writer.thread()).await);
        self.ids = other.into_iter().map(|(tag, _, _, id)| (tag, id)).collect();
    }
}

/// A random history on both, and a comparison now and then.
fn compare(stores: Stores, seed: u64, faults: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut twins = Twins::new(stores, seed, faults).await;
        for _ in 0..80 {
            twins.update().await;
            if twins.chance.one_in(5) {
                twins.settle().await;
            }
            if twins.chance.one_in(9) {
                // Another writer changes the record: pending updates are decided again.
                let draft = Json::string(&twins.made.to_string());
                for thread in [twins.direct, twins.writer.thread()] {
                    let update = Update::new().field("draft", draft.clone());
                    twins.engine.update(thread, update).await.expect("an update");
                }
            }
        }
        twins.settle().await;
        twins.writer.dispose().await.expect("nothing is left");
        let (mut one, mut other) =
            (kinds(&twins.engine, twins.direct).await, kinds(&twins.engine, twins.writer.thread()).await);
        // Others may come in between; apart from that it is entry by entry the same, and none twice.
        one.sort_unstable();
        other.sort_unstable();
        assert_eq!(one, other);
    });
}

#[test]
fn what_is_written_behind_is_what_is_written_directly() {
    for seed in 0..30 {
        compare(Stores::of(MemoryStore::new()), seed, 0);
    }
}

#[test]
fn a_store_that_fails_loses_and_doubles_nothing() {
    for seed in 100..130 {
        compare(Stores::of(MemoryStore::new()), seed, 3);
    }
}

#[test]
fn a_file_that_fails_loses_and_doubles_nothing() {
    for seed in 200..206 {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(folder.path().join("live.db")).expect("a store");
        compare(Stores::of(store), seed, 3);
    }
}

#[test]
fn a_server_that_fails_loses_and_doubles_nothing() {
    for seed in 300..303 {
        let schema = threadkeep_throwaway::schema();
        let url = schema.url().parse().expect("a URL");
        compare(Stores::of(threadkeep::PostgresStore::open(url).expect("a store")), seed, 3);
    }
}

/// A clock that does not move by itself.
#[derive(Debug, Default)]
struct Standing(AtomicI64, std::sync::Mutex<Option<Chance>>);

impl World for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000 + self.0.load(Ordering::SeqCst))
    }

    fn chance(&self) -> u128 {
        let mut chance = self.1.lock().expect("a lock");
        let chance = chance.get_or_insert_with(|| Chance::new(7));
        u128::from(chance.bits()) << 64 | u128::from(chance.bits())
    }
}

#[test]
fn what_a_broken_store_never_took_is_handed_back_once_the_lease_is_over() {
    let (world, stores) = (Arc::new(Standing::default()), Stores::of(MemoryStore::new()));
    let settings = LiveSettings {
        lease_heartbeat: Some(Duration::from_millis(5)),
        retry: Duration::from_millis(1),
        retry_max: Duration::from_millis(2),
        ..LiveSettings::default()
    };
    let sound = Engine::new(stores.clone(), world.clone(), Limits::default());
    let broken = Engine::new(Faulty::wrap(stores, Faults::one_in(1, 1)), world.clone(), Limits::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let thread = sound.create(Create::titled("T")).await.expect("a thread").id;
        let writer = broken.with_live(settings).exclusive(thread, Exclusive::default()).await.expect("a read-writer");
        for text in ["a", "b"] {
            writer.update(|draft| draft.append(MessageBody::user(text))).expect("an update");
        }
        let late = writer.flush_version_within(Position(2), Duration::from_millis(50)).await.expect_err("it is broken");
        assert!(matches!(late, Error::FlushTimeout { pending: 2, .. }), "{late}");
        assert!(!writer.is_lost(), "it is tried for as long as the lease holds");
        world.0.store(31_000_000, Ordering::SeqCst);
        writer.lost().await;
        let refused = writer.take_refused();
        let texts: Vec<String> = refused
            .iter()
            .flat_map(|refused| refused.draft.steps())
            .map(|step| match step {
                DraftStep::Append(append) => append.messages[0].body.content.to_text().into_owned(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts, ["a", "b"], "each once, with its content");
        for refused in &refused {
            let code = refused.error.code();
            assert!(code == "unavailable" || code == "writer_lost", "{code}");
        }
        assert_eq!(writer.update(|_| {}).expect_err("lost").code(), "writer_lost");
        writer.dispose().await.expect("all was handed back");
    });
}
