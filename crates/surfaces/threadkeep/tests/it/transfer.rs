//! Export and import: sharing is kept, a round trip is exact, and every store takes what every other gives.

use std::sync::Arc;

use threadkeep::{
    Assign, Content, Create, Delete, EditMessage, Engine, Error, ExportItem, Fork, MessageBody, RemoveQueued,
    RollbackTo, Selection, SetCheckpoint, StartRun, Subagent, ThreadId,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_whole_store_moves_with_its_sharing,
    what_waits_who_works_and_who_helps_moves_along,
    one_thread_moves_with_what_it_shares,
    an_import_can_be_repeated_and_completed,
    a_broken_export_is_refused,
);

async fn exported(engine: &Engine, selection: Selection) -> Vec<ExportItem> {
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

async fn import(engine: &Engine, items: Vec<ExportItem>) -> Result<u64, Error> {
    let mut importer = engine.importer();
    for item in items {
        importer.push(item).await?;
    }
    importer.finish().await
}

/// Something of everything: edits, a rollback, a checkpoint, a large body, a fork, a deleted origin.
async fn furnished(keep: &Keep) -> (ThreadId, ThreadId) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let ids = keep.ids(thread).await;
    keep.engine.edit_message(thread, EditMessage::content(ids[0], Content::text("A"))).await.expect("an edit");
    keep.engine.checkpoint(thread, SetCheckpoint::named("here")).await.expect("a checkpoint");
    keep.engine.append(thread, MessageBody::user(&"large ".repeat(10_000))).await.expect("a large message");
    let fork = keep.engine.fork(thread, Fork::at_index(1)).await.expect("a fork").id;
    keep.engine.append(fork, MessageBody::user("d")).await.expect("an append");
    keep.engine.rollback(thread, RollbackTo::Checkpoint("here".into())).await.expect("a rollback");
    let origin = keep.thread(&["o", "p"]).await;
    keep.engine.fork(origin, Fork::at_index(0)).await.expect("a fork");
    keep.engine.delete(origin, Delete::default()).await.expect("a deletion");
    (thread, fork)
}

async fn healthy(engine: &Engine) {
    let report = engine.doctor(Arc::new(|_, _, _| {})).await.expect("a look");
    assert!(report.is_healthy(), "{report:?}");
}

async fn a_whole_store_moves_with_its_sharing(keep: Keep) {
    let (thread, fork) = furnished(&keep).await;
    let items = exported(&keep.engine, Selection::All).await;
    for other in [Keep::memory(), Keep::sqlite()] {
        assert_eq!(import(&other.engine, items.clone()).await.expect("an import"), 3);
        assert_eq!(exported(&other.engine, Selection::All).await, items, "a round trip is exact");
        for id in [thread, fork] {
            assert_eq!(other.shows(id).await, keep.shows(id).await);
            assert_eq!(
                other.engine.thread(id).await.expect("a thread"),
                keep.engine.thread(id).await.expect("a thread")
            );
        }
        assert_eq!(other.ids(fork).await[0], other.ids(thread).await[0], "sharing is kept");
        assert_eq!(other.engine.relationships(fork).await.expect("relations").len(), 0, "made by what was undone");
        other.engine.rollback(thread, RollbackTo::Undo).await.expect("undo in the other store");
        assert_eq!(other.engine.relationships(fork).await.expect("relations").len(), 1);
        healthy(&other.engine).await;
        other.engine.gc(true, Arc::new(|_, _, _| {})).await.expect("gc after the import");
        healthy(&other.engine).await;
    }
}

async fn what_waits_who_works_and_who_helps_moves_along(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let delivered = keep.engine.queue(thread, MessageBody::user("b")).await.expect("queued").id;
    keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution");
    keep.engine.assign(thread, Assign::to("coder")).await.expect("an assignment");
    let removed = keep.engine.queue(thread, MessageBody::user("c")).await.expect("queued").id;
    keep.engine.queue(thread, MessageBody::user(&"large ".repeat(10_000)).silent()).await.expect("queued");
    keep.engine.rollback(thread, RollbackTo::Version(threadkeep::Position(0))).await.expect("a rollback");
    let remove = RemoveQueued { item: removed };
    keep.engine.remove_queued(thread, remove).await.expect("a removal, in another segment");
    let child = Subagent { name: "critic".into(), ..Subagent::default() };
    let child = keep.engine.subagent(thread, child).await.expect("a subagent").thread.id;
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    keep.engine.redo(thread, threadkeep::Redo {}).await.expect("a redo");
    let items = exported(&keep.engine, Selection::All).await;
    for other in [Keep::memory(), Keep::sqlite(), Keep::postgres()] {
        assert_eq!(import(&other.engine, items.clone()).await.expect("an import"), 2);
        assert_eq!(exported(&other.engine, Selection::All).await, items, "a round trip is exact");
        for id in [thread, child] {
            let both =
                (other.engine.thread(id).await.expect("a thread"), keep.engine.thread(id).await.expect("a thread"));
            assert_eq!(both.0, both.1);
        }
        let both =
            (other.engine.queued(thread).await.expect("a queue"), keep.engine.queued(thread).await.expect("a queue"));
        assert_eq!(both.0, both.1);
        assert_eq!(both.0.len(), 1);
        let both = (
            other.engine.children(thread).await.expect("children"),
            keep.engine.children(thread).await.expect("children"),
        );
        assert_eq!(both.0, both.1);
        let place = other.engine.message_id(delivered).await.expect("a place");
        assert_eq!(place, keep.engine.message_id(delivered).await.expect("a place"));
        healthy(&other.engine).await;
    }
}

async fn one_thread_moves_with_what_it_shares(keep: Keep) {
    let (thread, fork) = furnished(&keep).await;
    let items = exported(&keep.engine, Selection::Thread(fork)).await;
    for other in [Keep::memory(), Keep::sqlite()] {
        assert_eq!(import(&other.engine, items.clone()).await.expect("an import"), 1);
        assert_eq!(other.shows(fork).await, "A b d");
        assert!(matches!(other.engine.thread(thread).await, Err(Error::ThreadNotFound { .. })));
        assert_eq!(exported(&other.engine, Selection::Thread(fork)).await, items);
        healthy(&other.engine).await;
        other.engine.gc(false, Arc::new(|_, _, _| {})).await.expect("gc");
        assert_eq!(other.shows(fork).await, "A b d");
        let rest = exported(&keep.engine, Selection::All).await;
        assert_eq!(import(&other.engine, rest.clone()).await.expect("the rest"), 3);
        assert_eq!(exported(&other.engine, Selection::All).await, rest);
        healthy(&other.engine).await;
    }
}

async fn an_import_can_be_repeated_and_completed(keep: Keep) {
    furnished(&keep).await;
    let items = exported(&keep.engine, Selection::All).await;
    let other = Keep::sqlite();
    let half = items[..items.len() / 2].to_vec();
    import(&other.engine, half).await.expect("the first half");
    assert!(other.engine.list(Default::default()).await.expect("a list").items.is_empty(), "no thread is half there");
    for _ in 0..2 {
        import(&other.engine, items.clone()).await.expect("the whole");
    }
    assert_eq!(exported(&other.engine, Selection::All).await, items);
    let moved = other.engine.list(Default::default()).await.expect("a list").items.remove(0).thread.id;
    other.engine.append(moved, MessageBody::user("new here")).await.expect("an append");
    let clash = import(&other.engine, items.clone()).await.expect_err("a thread that went on");
    assert_eq!(clash.code(), "import_conflict");
    other.engine.delete(moved, Delete::default()).await.expect("a deletion");
    let gone = import(&other.engine, items).await.expect_err("a deleted thread");
    assert!(gone.to_string().contains("deleted"), "{gone}");
}

async fn a_broken_export_is_refused(keep: Keep) {
    keep.engine.create(Create::new().message(MessageBody::user("a"))).await.expect("a thread");
    let items = exported(&keep.engine, Selection::All).await;
    for missing in 0..items.len() - 1 {
        let other = Keep::memory();
        let mut broken = items.clone();
        broken.remove(missing);
        let refused = import(&other.engine, broken).await.expect_err("an item is missing");
        assert_eq!(refused.code(), "import_conflict");
        assert!(other.engine.list(Default::default()).await.expect("a list").items.is_empty());
    }
    let blob = ExportItem::Blob(threadkeep::model::BlobId::of(b"x"), b"y".as_slice().into());
    assert_eq!(import(&Keep::memory().engine, vec![blob]).await.expect_err("a wrong hash").code(), "import_conflict");
}
