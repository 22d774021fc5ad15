//! The doctor compares each thread at one version, whatever is written meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use threadkeep::{Delete, Engine, Fork, MessageBody, RemoveQueued, RollbackTo, SetCheckpoint, ThreadId};

use crate::{Keep, on_every_store};

/// How often the doctor looks while others write.
const LOOKS: usize = 4;

on_every_store!(a_store_that_is_written_to_without_pause_is_healthy);

async fn a_store_that_is_written_to_without_pause_is_healthy(keep: Keep) {
    let threads = [keep.thread(&["a", "b", "c"]).await, keep.thread(&["d"]).await];
    for thread in threads {
        for number in 0..100 {
            keep.engine.append(thread, MessageBody::user(&format!("before {number}"))).await.expect("appended");
        }
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let (appended, news) = std::sync::mpsc::channel();
    let appends = tokio::spawn({
        let (engine, is_over) = (keep.engine.clone(), Arc::clone(&is_over));
        async move {
            while !is_over.load(Ordering::Relaxed) {
                engine.append(threads[0], MessageBody::user("more")).await.expect("appended");
                appended.send(()).expect("the test listens");
            }
        }
    });
    let others = tokio::spawn({
        let (engine, is_over) = (keep.engine.clone(), Arc::clone(&is_over));
        async move {
            for round in 0.. {
                others(&engine, threads[1], round).await;
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
    });
    // Between the list of threads and the first comparison there are two more appends, so one that began later.
    let news = Mutex::new(news);
    let between = Arc::new(move |what: &str, done: u64, _| {
        if (what, done) == ("segments", 0) {
            let news = news.lock().expect("one doctor");
            while news.try_recv().is_ok() {}
            news.recv().and_then(|()| news.recv()).expect("two appends");
        }
    });
    for _ in 0..LOOKS {
        let report = keep.engine.doctor(between.clone()).await.expect("a report");
        assert!(report.is_healthy() && report.changed > 0, "{report:?}");
    }
    is_over.store(true, Ordering::Relaxed);
    appends.await.expect("a writer");
    others.await.expect("a writer");
    drop(between);
    let report = keep.engine.doctor(Arc::new(|_, _, _| {})).await.expect("a report");
    assert!(report.is_healthy() && report.changed == 0, "{report:?}");
}

/// Whatever has rows beside messages: a queue, checkpoints, branches, relations, deletions.
async fn others(engine: &Engine, thread: ThreadId, round: usize) {
    let queued = engine.queue(thread, MessageBody::user("later")).await.expect("queued");
    let name = format!("here {}", round % 3);
    engine.checkpoint(thread, SetCheckpoint::named(&name)).await.expect("a checkpoint");
    engine.append(thread, MessageBody::user("gone again")).await.expect("appended");
    engine.rollback(thread, RollbackTo::Checkpoint(name)).await.expect("a rollback");
    let fork = engine.fork(thread, Fork::default()).await.expect("a fork").id;
    engine.remove_queued(thread, RemoveQueued { item: queued.id }).await.expect("removed");
    engine.delete(fork, Delete::default()).await.expect("deleted");
}
