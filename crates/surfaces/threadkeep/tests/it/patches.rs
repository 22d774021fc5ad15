//! Observing a thread patch by patch: applied to what was, a patch gives what is.

use serde_json::{Value, json};
use threadkeep::{
    ActivateSkill, Append, Assign, Content, Delete, DeleteMessage, EditMessage, Engine, Fork, Json, Mention,
    MessageBody, MessageId, Page, Patch, PatchOperation, Position, RawObserver, Role, RollbackTo, SetCheckpoint, Skill,
    StartRun, StepRun, StopRun, ThreadId, Truncate, TruncateFrom, Update, Version,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_patch_is_as_small_as_the_change,
    a_cut_in_the_middle_of_insertions_is_followed,
    what_was_cut_off_comes_back_in_pieces,
    patches_lead_from_each_version_to_the_next_whatever_happens,
    a_slow_observer_catches_up_from_the_log,
    a_deleted_thread_ends_the_patches,
);

/// All messages of a thread as of a version, as the wire shows them.
async fn messages(engine: &Engine, thread: ThreadId, version: Version) -> Vec<Value> {
    let mut page = Page::first().as_of(version);
    let mut shown = Vec::new();
    loop {
        let found = engine.messages(thread, page.include_silent().limit(1_000)).await.expect("a page");
        for message in &found.items {
            let message = threadkeep_calls::Message::new(message).expect("a message");
            shown.push(serde_json::to_value(message).expect("json"));
        }
        match found.next {
            Some(cursor) => page = Page::after(cursor),
            None => return shown,
        }
    }
}

/// A thread with its messages.
async fn document(engine: &Engine, thread: &threadkeep::Thread) -> Value {
    let mut document = serde_json::to_value(threadkeep_calls::Thread::from(thread)).expect("json");
    document["messages"] = Value::Array(messages(engine, thread.id, thread.head.version).await);
    document
}

/// RFC 6902, as far as patches here go.
fn apply(document: &mut Value, patch: &Patch) {
    for operation in &patch.operations {
        let operation = serde_json::to_value(operation).expect("json");
        let (parent, key) = operation["path"].as_str().expect("a path").rsplit_once('/').expect("a pointer");
        let target = document.pointer_mut(parent).unwrap_or_else(|| panic!("nothing at {parent}"));
        let value = || operation["value"].clone();
        match (operation["op"].as_str().expect("an operation"), target) {
            ("add", Value::Array(list)) if key == "-" => list.push(value()),
            ("add", Value::Array(list)) => list.insert(key.parse().expect("an index"), value()),
            ("remove", Value::Array(list)) => drop(list.remove(key.parse().expect("an index"))),
            ("add", Value::Object(fields)) => assert!(fields.insert(key.into(), value()).is_none(), "{key} is new"),
            ("replace", Value::Object(fields)) => {
                assert!(fields.insert(key.into(), value()).is_some(), "{key} is known")
            }
            ("remove", Value::Object(fields)) => assert!(fields.shift_remove(key).is_some(), "{key} is known"),
            (other, target) => panic!("{other} on {target}"),
        }
    }
}

/// A document that is patched along.
struct Along {
    engine: Engine,
    observer: RawObserver,
    document: Value,
}

impl Along {
    async fn with(engine: &Engine, thread: ThreadId) -> Self {
        let mut observer = threadkeep::observe_raw(engine, thread).await.expect("an observer");
        let first = observer.next().await.expect("a read").expect("the thread lives");
        assert!(first.operations.is_empty() && first.complete);
        let document = document(engine, &first.thread).await;
        Self { engine: engine.clone(), observer, document }
    }

    /// Applies all there is so far, and compares after each patch that completes a version. Gives the patches.
    async fn follow(&mut self) -> Vec<Patch> {
        let mut patches = Vec::new();
        while let Some(patch) = self.observer.next_so_far().await.expect("a read") {
            apply(&mut self.document, &patch);
            if patch.complete {
                let expected = document(&self.engine, &patch.thread).await;
                assert_eq!(self.document, expected, "at version {}", patch.version);
            }
            patches.push(patch);
        }
        if let Some(last) = patches.last() {
            assert!(last.complete);
            let thread = self.engine.thread(last.thread.id).await.expect("a thread");
            assert_eq!(last.thread, thread, "in the end it is the thread itself");
        }
        patches
    }
}

/// The operations of a patch on messages, in short.
fn in_short(patch: &Patch) -> Vec<String> {
    let short = |operation: &PatchOperation| match operation {
        PatchOperation::Add { path, .. } => format!("add {path}"),
        PatchOperation::Replace { path, .. } => format!("replace {path}"),
        PatchOperation::Remove { path } => format!("remove {path}"),
    };
    patch.operations.iter().map(short).filter(|short| short.contains("messages")).collect()
}

fn edit(message: MessageId, text: &str) -> EditMessage {
    EditMessage::content(message, Content::text(text))
}

async fn a_patch_is_as_small_as_the_change(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&["a", "b", "c", "d"]).await);
    let ids = keep.ids(thread).await;
    let mut along = Along::with(engine, thread).await;
    engine.append(thread, MessageBody::user("e")).await.expect("an append");
    engine.edit_message(thread, edit(ids[1], "B")).await.expect("an edit");
    let insert = Append::before(MessageBody::user("x"), ids[2]);
    engine.append(thread, insert).await.expect("an insertion");
    engine.delete_message(thread, DeleteMessage { message: ids[0].into() }).await.expect("a deletion");
    engine.update(thread, Update::new().title("new")).await.expect("an update");
    engine.truncate(thread, Truncate { from: TruncateFrom::Index(3) }).await.expect("a truncation");
    engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    engine.rollback(thread, RollbackTo::Version(Position(5))).await.expect("a rollback");
    let patches = along.follow().await;
    let shown: Vec<_> = patches.iter().map(in_short).collect();
    assert_eq!(
        shown,
        [
            vec!["add /messages/-"],
            vec!["replace /messages/1/content", "replace /messages/1/version"],
            vec!["add /messages/2"],
            vec!["remove /messages/0"],
            vec![],
            vec!["remove /messages/3", "remove /messages/3"],
            vec!["add /messages/-", "add /messages/-"],
            vec!["remove /messages/1", "replace /messages/0/content", "replace /messages/0/version", "add /messages/0",],
        ]
    );
    assert_eq!(along.document["messages"].as_array().map(Vec::len), Some(5));
    engine.fork(thread, Fork::default()).await.expect("a fork");
    assert!(along.follow().await.iter().all(|patch| in_short(patch).is_empty()), "a back-link changes no message");
    let updated = engine.update(thread, Update::new().title("newer")).await.expect("an update");
    let patch = along.follow().await.pop().expect("a patch");
    assert_eq!(patch.thread, updated);
    let fields: Vec<_> = patch.operations.iter().map(|operation| json!(operation)["path"].clone()).collect();
    assert!(fields.contains(&json!("/title")) && fields.contains(&json!("/v")) && fields.len() <= 4, "{fields:?}");
}

async fn a_cut_in_the_middle_of_insertions_is_followed(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&["a", "b"]).await);
    let ids = keep.ids(thread).await;
    for text in ["x", "y", "z"] {
        let insert = Append::before(MessageBody::user(text), ids[1]);
        engine.append(thread, insert).await.expect("an insertion");
    }
    let mut along = Along::with(engine, thread).await;
    engine.truncate(thread, Truncate { from: TruncateFrom::Index(2) }).await.expect("a truncation");
    assert_eq!(keep.shows(thread).await, "a x");
    along.follow().await;
    engine.append(thread, MessageBody::user("c")).await.expect("an append");
    engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    along.follow().await;
    assert_eq!(keep.shows(thread).await, "a x y z b");
}

async fn what_was_cut_off_comes_back_in_pieces(keep: Keep) {
    let engine = &keep.engine;
    let thread = keep.thread(&["a"]).await;
    let many = (0..1_000).map(|n| MessageBody::user(&n.to_string()));
    engine.append(thread, threadkeep::Append::batch(many)).await.expect("an append");
    let mut along = Along::with(engine, thread).await;
    engine.truncate(thread, Truncate { from: TruncateFrom::Index(1) }).await.expect("a truncation");
    along.follow().await;
    engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    let patches = along.follow().await;
    assert!(patches.len() > 1 && patches.iter().all(|patch| patch.version == patches[0].version));
    assert_eq!(along.document["messages"].as_array().map(Vec::len), Some(1_001));
}

/// Numbers by a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

async fn patches_lead_from_each_version_to_the_next_whatever_happens(keep: Keep) {
    let engine = &keep.engine;
    for seed in 0..8 {
        let mut chance = Chance(seed);
        let origin = keep.thread(&["a", "b", "c"]).await;
        // A fork, so that its lineage reaches into another thread.
        let thread = engine.fork(origin, Fork::at_index(1)).await.expect("a fork").id;
        let mut along = Along::with(engine, thread).await;
        for step in 0..60 {
            let ids = keep.ids(thread).await;
            let any = |chance: &mut Chance| ids.get(chance.below(ids.len())).copied();
            let text = format!("{seed}-{step}");
            let version = engine.thread(thread).await.expect("a thread").head.version;
            match (chance.below(12), any(&mut chance)) {
                (0..=2, _) | (_, None) => {
                    drop(engine.append(thread, MessageBody::user(&text)).await.expect("an append"))
                }
                (3, Some(id)) => drop(engine.edit_message(thread, edit(id, &text)).await.expect("an edit")),
                (4, Some(id)) => {
                    let metadata = Json::parse("metadata", &format!(r#"{{"k{}":{step}}}"#, step % 2)).expect("json");
                    engine.edit_message(thread, EditMessage::metadata(id, metadata)).await.expect("an edit");
                }
                (5 | 6, Some(before)) => {
                    let message = MessageBody::assistant(&text);
                    engine.append(thread, Append::before(message, before)).await.expect("an insertion");
                }
                (7, Some(message)) => {
                    let delete = DeleteMessage { message: message.into() };
                    assert!(engine.delete_message(thread, delete).await.expect("a deletion"));
                }
                (8, Some(id)) => {
                    let truncate = Truncate { from: TruncateFrom::Message(id.into()) };
                    engine.truncate(thread, truncate).await.expect("a truncation");
                }
                (9, Some(_)) => {
                    let to = Position(chance.below(version.0 as usize + 1) as u64);
                    engine.rollback(thread, RollbackTo::Version(to)).await.expect("a rollback");
                }
                (10, Some(_)) => match engine.rollback(thread, RollbackTo::Undo).await {
                    Ok(_) => {}
                    Err(error) => assert_eq!(error.code(), "nothing_to_undo"),
                },
                (_, Some(_)) => match chance.below(8) {
                    // A queue that is full is emptied by the next execution.
                    4 => drop(engine.queue(thread, MessageBody::user(&text)).await),
                    5 => {
                        let begin = StartRun { take_over: true, ..StartRun::caller() };
                        let run = engine.start_run(thread, begin).await.expect("an execution").run.id;
                        let call = r#"[{"type":"tool_use","id":"1","name":"t","input":{}}]"#;
                        let call = Content::from_json(Json::parse("content", call).expect("json")).expect("content");
                        let call = MessageBody::with_content(Role::Assistant, call);
                        engine.step_run(thread, StepRun::of(run).message(call)).await.expect("a step");
                        if chance.below(2) == 0 {
                            engine.stop_run(thread, StopRun::now(run)).await.expect("an end");
                        }
                    }
                    6 => drop(engine.assign(thread, Assign::to(&text)).await.expect("an assignment")),
                    7 => {
                        let skill = Skill { name: text, arguments: None };
                        engine.activate_skill(thread, ActivateSkill { skill }).await.expect("a skill");
                    }
                    0 => drop(engine.update(thread, Update::new().title(&text)).await.expect("an update")),
                    1 => drop(engine.fork(thread, Fork::default()).await.expect("a fork")),
                    2 => drop(
                        engine
                            .mention(thread, Mention { target: origin.into(), comment: None })
                            .await
                            .expect("a mention"),
                    ),
                    _ => drop(engine.checkpoint(thread, SetCheckpoint::named(&text)).await.expect("a checkpoint")),
                },
            }
            if chance.below(3) == 0 {
                along.follow().await;
            }
        }
        along.follow().await;
    }
}

async fn a_slow_observer_catches_up_from_the_log(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&[]).await);
    let mut along = Along::with(engine, thread).await;
    let other = engine.with_live(threadkeep::LiveSettings::default());
    for n in 0..6 {
        let texts = (0..3).map(|m| MessageBody::user(&format!("{n}.{m}")));
        other.append(thread, threadkeep::Append::batch(texts)).await.expect("an append");
    }
    let waiting = along.observer.next().await.expect("a read").expect("a patch");
    apply(&mut along.document, &waiting);
    let patches = along.follow().await;
    assert_eq!(patches.last().map(|patch| patch.version), Some(Position(18)));
    let versions: Vec<u64> = patches.iter().map(|patch| patch.version.0).collect();
    assert_eq!(versions, (2..=18).collect::<Vec<_>>(), "each once, in order");
}

async fn a_deleted_thread_ends_the_patches(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&["a"]).await);
    let mut along = Along::with(engine, thread).await;
    assert!(engine.delete(thread, Delete::default()).await.expect("a deletion"));
    assert!(along.observer.next().await.expect("a read").is_none());
}
