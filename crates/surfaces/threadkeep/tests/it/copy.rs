//! A whole store moves to another one: exact, with its sharing, and verified. What happens when it is broken off is next
//! door, in `resume`.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use threadkeep::model::{BlobId, Body, FieldChanges};
use threadkeep::{
    Account, Actor, ActorKind, Append, Caller, Content, CopyReport, Create, Delete, DeleteMessage, EditMessage, Engine,
    Error, ExportItem, Fork, Json, Limits, MemoryStore, MessageBody, NewMessage, Progress, RollbackTo, Selection,
    SetCheckpoint, Stores, SystemWorld, ThreadId, Truncate, TruncateFrom, Update,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_copy_is_equal_with_every_account_and_its_sharing,
    the_order_of_an_export_follows_from_what_is_in_it,
    a_finished_copy_is_verified_and_nothing_is_written,
    a_target_that_differs_is_refused_before_anything_is_written,
    a_thread_that_was_deleted_on_the_target_is_refused,
    what_was_deleted_in_the_source_cannot_come_back_on_the_target,
    a_target_keeps_what_is_its_own,
    keys_and_projects_go_along_and_what_the_target_has_stays,
    what_an_import_left_out_is_filled_in,
    a_copy_taken_while_others_write_is_what_was_there_when_it_began,
    a_copy_has_both_sides_of_every_relation,
    a_backup_is_a_store_in_one_file_and_comes_back_whole,
    a_backup_replaces_no_file_and_a_restore_no_threads,
);

/// Above what is moved at once, so that a copy takes several steps.
const MANY: usize = 1_600;

pub(crate) fn quiet() -> Progress {
    Arc::new(|_, _, _| {})
}

fn targets() -> [Keep; 3] {
    [Keep::memory(), Keep::sqlite(), Keep::postgres()]
}

pub(crate) async fn exported(engine: &Engine, selection: Selection) -> Vec<ExportItem> {
    let mut items = Vec::new();
    let done: Result<(), Error> = engine
        .export(selection, |item| {
            items.push(item);
            Ok(())
        })
        .await;
    done.expect("an export");
    items
}

async fn keys_and_projects_go_along_and_what_the_target_has_stays(keep: Keep) {
    let source = &keep.engine;
    let (account, actor) = (Account::local(), Caller::local().actor);
    let new = threadkeep::NewKey { account, actor, scope: threadkeep::Scope::Read, expires: None };
    let (key, secret) = source.create_key(new).await.expect("a key");
    let project = source.put_project(Some("p".into()), "P".into(), None, None).await.expect("a project");
    for target in targets() {
        copied(source, &target.engine).await;
        assert_eq!(target.engine.key_with(&secret).await.expect("a read"), Some(key.clone()));
        assert_eq!(target.engine.project("p").await.expect("a read"), Some(project.clone()));
        assert!(target.engine.revoke_key(&key.id).await.expect("an answer"));
        copied(source, &target.engine).await;
        let there = target.engine.key_with(&secret).await.expect("a read").expect("a key");
        assert!(there.revoked.is_some(), "what was revoked stays revoked");
    }
}

pub(crate) async fn copied(from: &Engine, to: &Engine) -> CopyReport {
    from.copy_to(to, quiet()).await.expect("a copy")
}

async fn refused(from: &Engine, to: &Engine) -> Error {
    let error = from.copy_to(to, quiet()).await.expect_err("a target that differs");
    assert_eq!(error.code(), "copy_differs", "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("an empty store")));
    error
}

/// Both stores hold the same, and the copy is in order.
pub(crate) async fn equal(from: &Engine, to: &Engine) {
    let items = exported(from, Selection::Store).await;
    assert!(exported(to, Selection::Store).await == items, "the copy is not what was copied");
    let report = to.doctor(quiet()).await.expect("a look");
    assert!(report.is_healthy(), "{report:?}");
}

pub(crate) async fn is_empty(engine: &Engine) -> bool {
    !exported(engine, Selection::Store).await.iter().any(|item| matches!(item, ExportItem::Thread { .. }))
}

fn somebody_else(engine: &Engine) -> Engine {
    engine.acting_as(Caller {
        account: Account::new("somebody else").expect("an account"),
        actor: Actor { kind: ActorKind::Agent, name: "helper".into() },
        cause: Some("run 7".into()),
    })
}

/// Something of everything, in two accounts: edits, deletions, insertions, rollbacks, a truncation, large bodies, an
/// attachment, forks, and an origin that is deleted although a fork still sees some of it.
pub(crate) async fn furnished(engine: &Engine) -> Vec<ThreadId> {
    let other = somebody_else(engine);
    let words = "large ".repeat(10_000);
    let mut threads = Vec::new();
    for engine in [engine, &other] {
        let begun = Create::titled("Größe 🦀")
            .field("metadata", Json::parse("metadata", r#"{"z": 1.0, "a": 1e2}"#).expect("JSON"))
            .message(MessageBody::user("a"))
            .message(MessageBody::assistant("b"));
        let thread = engine.create(begun).await.expect("a thread").id;
        let message = engine.append(thread, MessageBody::user("c")).await.expect("an append").remove(0).id;
        engine.edit_message(thread, EditMessage::content(message, Content::text("C"))).await.expect("an edit");
        let insert = Append::before(MessageBody::user("between"), message);
        engine.append(thread, insert).await.expect("an insertion");
        engine.checkpoint(thread, SetCheckpoint::named("here")).await.expect("a checkpoint");
        // The same large body twice, also in the other account.
        engine.append(thread, Append::batch(vec![MessageBody::user(&words); 2])).await.expect("large messages");
        let file =
            NewMessage::from(MessageBody::user("see file")).attach("f.bin", "application/octet-stream", vec![7; 999]);
        engine.append(thread, file).await.expect("an attachment");
        let fork = engine.fork(thread, Fork::at_index(1)).await.expect("a fork").id;
        engine.append(fork, MessageBody::user("d")).await.expect("an append");
        let truncate = Truncate { from: TruncateFrom::Index(3) };
        engine.truncate(thread, truncate).await.expect("a truncation");
        engine.rollback(thread, RollbackTo::Checkpoint("here".into())).await.expect("a rollback");
        let delete = DeleteMessage { message: message.into() };
        engine.delete_message(thread, delete).await.expect("a deletion");
        engine.update(thread, Update::new().title("Renamed")).await.expect("an update");
        let origin =
            engine.create(Create::titled("Origin").message(MessageBody::user("o"))).await.expect("a thread").id;
        engine.update(origin, Update::new().title("Origin, renamed")).await.expect("an update");
        engine.append(origin, MessageBody::user("p")).await.expect("an append");
        let orphan = engine.fork(origin, Fork::at_index(1)).await.expect("a fork").id;
        engine.append(origin, MessageBody::user(&format!("{words}, seen by nobody"))).await.expect("an append");
        let human = engine.acting_as(Caller { actor: Caller::local().actor, ..engine.caller().clone() });
        human.delete(origin, Delete::default()).await.expect("a deletion");
        let empty = engine.create(Create { fields: FieldChanges::default(), messages: Vec::new() }).await;
        threads.extend([thread, fork, orphan, empty.expect("a thread").id]);
    }
    let long = engine.create(Create::titled("Long")).await.expect("a thread").id;
    for start in (0..MANY).step_by(800) {
        let said = (start..start + 800).map(|n| MessageBody::user(&format!("message {n}")));
        engine.append(long, Append::batch(said)).await.expect("an append");
    }
    threads.push(long);
    threads.push(engine.fork(long, Fork::at_index(MANY as u64 / 2)).await.expect("a fork").id);
    threads
}

async fn a_copy_is_equal_with_every_account_and_its_sharing(keep: Keep) {
    let threads = furnished(&keep.engine).await;
    let items = exported(&keep.engine, Selection::Store).await;
    for other in targets() {
        let report = copied(&keep.engine, &other.engine).await;
        equal(&keep.engine, &other.engine).await;
        let count = |is: fn(&ExportItem) -> bool| items.iter().filter(|item| is(item)).count() as u64;
        assert_eq!(report.threads, threads.len() as u64);
        assert_eq!(report.segments, count(|item| matches!(item, ExportItem::Segment(_))));
        assert_eq!(report.entries, count(|item| matches!(item, ExportItem::Entry { .. })));
        assert_eq!(report.blobs, 2, "a large body and an attachment, each once");
        assert_eq!((report.already_there, report.was_finished), (0, false));
        let other_account = somebody_else(&other.engine);
        for id in &threads {
            let mut seen = 0;
            for (here, there) in [(&keep.engine, &other.engine), (&somebody_else(&keep.engine), &other_account)] {
                match (here.thread(*id).await, there.thread(*id).await) {
                    (Ok(here), Ok(there)) => {
                        assert_eq!(here, there);
                        seen += 1;
                    }
                    (Err(_), Err(Error::ThreadNotFound { .. })) => {}
                    (here, there) => panic!("{here:?} became {there:?}"),
                }
            }
            assert_eq!(seen, 1, "it belongs to one account, the same in both stores");
        }
        // There is no garbage in a copy, and the collector knows that it is finished.
        assert_eq!(other.engine.gc(false, quiet()).await.expect("gc"), Default::default());
        other.engine.rollback(threads[0], RollbackTo::Undo).await.expect("undo in the copy");
        assert!(other.engine.doctor(quiet()).await.expect("a look").is_healthy());
    }
}

async fn the_order_of_an_export_follows_from_what_is_in_it(keep: Keep) {
    let mut threads = furnished(&keep.engine).await;
    let items = exported(&keep.engine, Selection::Store).await;
    let mut brought = HashSet::<BlobId>::new();
    for item in &items {
        match item {
            ExportItem::Blob(id, _) => assert!(brought.insert(*id), "a blob comes once"),
            ExportItem::Entry { body: Body::Blob(id), .. } => assert!(brought.contains(id), "a blob comes first"),
            ExportItem::Segment(_) | ExportItem::Lost(_) | ExportItem::Entry { .. } | ExportItem::Thread { .. } => {}
        }
    }
    // The same threads, brought one by one in another order, each with what it shares.
    threads.reverse();
    let other = Keep::memory();
    for id in &threads {
        let mut importer = other.engine.importer();
        for item in exported(&keep.engine, Selection::Threads(vec![*id])).await {
            importer.push(item).await.expect("an import");
        }
        importer.finish().await.expect("an import");
    }
    assert!(exported(&other.engine, Selection::Store).await == items);
    threads.push(threads[0]);
    assert!(exported(&other.engine, Selection::Threads(threads)).await == items, "whatever the order of the ids");
    let own = exported(&other.engine, Selection::All).await.len();
    assert!(own < items.len(), "all threads of the account are not all threads");
}

async fn a_finished_copy_is_verified_and_nothing_is_written(keep: Keep) {
    furnished(&keep.engine).await;
    for other in targets() {
        let first = copied(&keep.engine, &other.engine).await;
        let latest = other.engine.feed_latest().await.expect("a cursor");
        let again = copied(&keep.engine, &other.engine).await;
        assert_eq!(again, CopyReport { already_there: first.entries, was_finished: true, ..first });
        assert_eq!(other.engine.feed_latest().await.expect("a cursor"), latest, "nothing happened");
        // A copy of the copy is the same again.
        assert_eq!(copied(&other.engine, &Keep::memory().engine).await.hash, first.hash);
        let nobody = copied(&Keep::memory().engine, &other.engine).await;
        assert_eq!((nobody.threads, nobody.was_finished), (0, true), "an empty store is copied at once");
    }
}

async fn a_target_that_differs_is_refused_before_anything_is_written(keep: Keep) {
    let threads = furnished(&keep.engine).await;
    for other in targets() {
        copied(&keep.engine, &other.engine).await;
        let new = keep.engine.create(Create::titled("New")).await.expect("a thread").id;
        other.engine.append(threads[1], MessageBody::user("its own way")).await.expect("an append");
        let before = exported(&other.engine, Selection::Store).await;
        let error = refused(&keep.engine, &other.engine).await.to_string();
        assert!(error.contains(&threads[1].to_string()) && error.contains("version"), "{error}");
        assert!(exported(&other.engine, Selection::Store).await == before, "nothing was written");
        assert!(other.engine.thread(new).await.is_err());
        other.engine.gc(false, quiet()).await.expect("no import is under way");
        // At the same version, but not the same.
        keep.engine.append(threads[1], MessageBody::user("another way")).await.expect("an append");
        let error = refused(&keep.engine, &other.engine).await.to_string();
        assert!(error.contains("differs"), "{error}");
    }
}

async fn what_was_deleted_in_the_source_cannot_come_back_on_the_target(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let old = exported(&keep.engine, Selection::Thread(thread)).await;
    keep.engine.delete(thread, Delete::default()).await.expect("a deletion");
    let target = threadkeep::open("memory:").expect("a store");
    let report = copied(&keep.engine, &target).await;
    assert_eq!((report.threads, report.deleted), (0, 1));
    assert_eq!(copied(&keep.engine, &target).await.hash, report.hash);
    let mut importer = target.importer();
    let mut refused = Ok(());
    for item in old {
        refused = refused.and(importer.push(item).await);
    }
    let refused = refused.and(importer.finish().await.map(drop)).expect_err("it was deleted");
    assert!(refused.to_string().contains("was deleted"), "{refused}");
}

async fn a_thread_that_was_deleted_on_the_target_is_refused(keep: Keep) {
    let threads = furnished(&keep.engine).await;
    for other in targets() {
        copied(&keep.engine, &other.engine).await;
        other.engine.delete(threads[1], Delete::default()).await.expect("a deletion");
        let error = refused(&keep.engine, &other.engine).await.to_string();
        assert!(error.contains(&threads[1].to_string()) && error.contains("deleted"), "{error}");
    }
}

async fn a_target_keeps_what_is_its_own(keep: Keep) {
    furnished(&keep.engine).await;
    for other in targets() {
        let own = other.thread(&["mine"]).await;
        let report = copied(&keep.engine, &other.engine).await;
        assert_eq!(report.hash, copied(&keep.engine, &Keep::memory().engine).await.hash);
        assert_eq!(other.shows(own).await, "mine");
        assert!(copied(&keep.engine, &other.engine).await.was_finished);
    }
}

async fn what_an_import_left_out_is_filled_in(keep: Keep) {
    let threads = furnished(&keep.engine).await;
    for other in targets() {
        // The fork sees some of its origin: what is the origin's alone is missing, in the middle too.
        let mut importer = other.engine.importer();
        for item in exported(&keep.engine, Selection::Thread(threads[1])).await {
            importer.push(item).await.expect("an import");
        }
        importer.finish().await.expect("an import");
        let report = copied(&keep.engine, &other.engine).await;
        assert!((1..report.entries).contains(&report.already_there), "{report:?}");
        equal(&keep.engine, &other.engine).await;
    }
}

async fn a_copy_taken_while_others_write_is_what_was_there_when_it_began(keep: Keep) {
    const ROUNDS: usize = 100;
    let thread = keep.thread(&["first"]).await;
    for other in targets() {
        let writer = keep.engine.clone();
        let writing = tokio::spawn(async move {
            for _ in 0..ROUNDS {
                writer.append(thread, MessageBody::user("more")).await.expect("an append");
                let fork = writer.fork(thread, Fork::at_index(0)).await.expect("a fork").id;
                writer.append(fork, MessageBody::user("mine")).await.expect("an append");
                writer.rollback(thread, RollbackTo::Version(threadkeep::Position(1))).await.expect("a rollback");
                writer.delete(fork, Delete::default()).await.expect("a deletion");
            }
        });
        copied(&keep.engine, &other.engine).await;
        assert!(other.shows(thread).await.starts_with("first"));
        assert!(other.engine.doctor(quiet()).await.expect("a look").is_healthy());
        writing.await.expect("it wrote");
    }
}

async fn a_copy_has_both_sides_of_every_relation(keep: Keep) {
    const FORKS: usize = 100;
    let thread = keep.thread(&["first"]).await;
    for _ in 0..MANY {
        keep.engine.create(Create::new()).await.expect("a thread");
    }
    let writer = keep.engine.clone();
    let forking = tokio::spawn(async move {
        for _ in 0..FORKS {
            writer.fork(thread, Fork::at_index(0)).await.expect("a fork");
            tokio::task::yield_now().await;
        }
    });
    while !forking.is_finished() {
        let target = Keep::memory();
        copied(&keep.engine, &target.engine).await;
        let told = target.engine.relationships(thread).await.expect("relations").len();
        let items = exported(&target.engine, Selection::Store).await;
        let is_fork = |item: &&ExportItem| match item {
            ExportItem::Thread { record, .. } => record.origin_thread_id == Some(thread),
            _ => false,
        };
        assert_eq!(told, items.iter().filter(is_fork).count());
    }
    forking.await.expect("it forked");
}

async fn a_backup_is_a_store_in_one_file_and_comes_back_whole(keep: Keep) {
    furnished(&keep.engine).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("backup.db");
    let taken = threadkeep::backup(&keep.engine, &file, quiet()).await.expect("a backup");
    let names =
        || -> Vec<_> { std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|f| f.file_name()).collect() };
    assert_eq!(names(), ["backup.db"], "one file, whole");
    let before = std::fs::read(&file).expect("bytes");
    for other in targets() {
        let restored = threadkeep::restore(&other.engine, &file, folder.path(), quiet()).await.expect("a restore");
        assert_eq!((restored.hash, restored.threads), (taken.hash, taken.threads));
        assert_eq!(exported(&other.engine, Selection::Store).await, exported(&keep.engine, Selection::Store).await);
    }
    assert_eq!(names(), ["backup.db"], "nothing is left behind");
    assert_eq!(std::fs::read(&file).expect("bytes"), before, "a backup is only read");
}

async fn a_backup_replaces_no_file_and_a_restore_no_threads(keep: Keep) {
    keep.thread(&["kept"]).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("backup.db");
    std::fs::write(&file, "mine").expect("a file");
    let refused = threadkeep::backup(&keep.engine, &file, quiet()).await.expect_err("a refusal");
    assert!(refused.to_string().contains("is there already"), "{refused}");
    assert_eq!(std::fs::read(&file).expect("bytes"), b"mine");
    let refused = threadkeep::restore(&Keep::memory().engine, &file, folder.path(), quiet()).await;
    assert!(refused.is_err(), "it is no store");
    std::fs::remove_file(&file).expect("gone");
    threadkeep::backup(&keep.engine, &file, quiet()).await.expect("a backup");
    let refused = threadkeep::restore(&keep.engine, &file, folder.path(), quiet()).await.expect_err("a refusal");
    assert!(refused.to_string().contains("without threads"), "{refused}");
}

/// Runs SQL on a store's file, behind its back.
fn tamper(path: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).expect("the file");
    let changed = connection.execute(sql, []).expect("SQL");
    assert_ne!(changed, 0, "{sql}");
}

#[test]
fn what_the_target_does_not_give_back_is_noticed() {
    crate::run(async {
        let keep = Keep::memory();
        furnished(&keep.engine).await;
        for (sql, says) in [
            // The length and the place are right, and nothing but the checksum can tell.
            (
                "UPDATE blob_chunks SET bytes = CAST(replace(bytes, 'large', 'LARGE') AS BLOB)",
                "is not what was written",
            ),
            (
                "UPDATE blob_chunks SET bytes = zeroblob(length(bytes)) WHERE length(bytes) = 999",
                "is not what was written",
            ),
            ("UPDATE segments SET created = created + 1 WHERE account IS NOT NULL", "differs"),
            ("UPDATE entries SET body = CAST(replace(body, 'message 7', 'MESSAGE 7') AS BLOB)", "entry 8 of thread"),
            ("UPDATE entries SET time = time + 1 WHERE position = 1", "entry 1 of thread"),
            ("UPDATE entries SET body = x'7b' WHERE position = 2", "entry 2 of thread"),
            ("DELETE FROM blobs", "is missing"),
            ("DELETE FROM entries WHERE position = 600", "differs"),
            ("UPDATE heads SET fence = fence + 1", "differs"),
        ] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join("copy.db");
            {
                let other = threadkeep::open(&path.display().to_string()).expect("a store");
                copied(&keep.engine, &other).await;
            }
            tamper(&path, sql);
            let other = threadkeep::open(&path.display().to_string()).expect("a store");
            let error = refused(&keep.engine, &other).await.to_string();
            assert!(error.contains(says), "{sql}: {error}");
        }
    });
}

#[test]
fn damage_in_the_source_is_not_copied() {
    crate::run(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("source.db");
        {
            let engine = threadkeep::open(&path.display().to_string()).expect("a store");
            furnished(&engine).await;
        }
        tamper(&path, "UPDATE entries SET body = x'7b' WHERE position = 2");
        let (keep, other) = (threadkeep::open(&path.display().to_string()).expect("a store"), Keep::memory());
        let error = keep.copy_to(&other.engine, quiet()).await.expect_err("damage");
        assert_eq!(error.code(), "store_damaged", "{error}");
        assert!(is_empty(&other.engine).await);
    });
}

#[test]
fn progress_tells_of_both_halves() {
    crate::run(async {
        let keep = Keep::memory();
        furnished(&keep.engine).await;
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let progress: Progress = Arc::new(move |what, done, total| {
            heard.lock().expect("told").push((what.to_owned(), done, total));
        });
        let target = Engine::new(Stores::of(MemoryStore::new()), Arc::new(SystemWorld), Limits::default());
        // It can run on any thread.
        let engine = keep.engine.clone();
        let copy = tokio::spawn(async move { engine.copy_to(&target, progress).await });
        let entries = copy.await.expect("it ran").expect("a copy").entries;
        let told = told.lock().expect("told");
        assert!(told.contains(&("entries".to_owned(), entries, Some(entries))), "{told:?}");
        assert!(told.iter().all(|(_, done, total)| total.is_some_and(|total| *done <= total)), "how much is left");
        assert_eq!(told.last(), Some(&("entries verified".to_owned(), entries, Some(entries))));
    });
}
