//! What could not be flushed comes back to whoever held the thread, with its content and the reason: nothing is lost in
//! silence.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use threadkeep::{
    Content, DraftStep, EditMessage, Engine, Error, Exclusive, LiveSettings, MessageBody, Position, Refused, ThreadId,
};

use crate::live::{open, say, unhurried};
use crate::{Keep, on_every_store};

on_every_store!(
    what_is_refused_comes_back_and_the_rest_goes_on,
    whoever_waits_for_refusals_is_told,
    a_lease_that_ended_hands_everything_back,
    a_lost_lease_is_known_at_once,
    a_handle_that_is_dropped_hands_over_what_waits,
    what_a_lost_lease_left_behind_is_handed_over_too,
    whenever_a_handle_is_dropped_each_update_is_kept_or_handed_over,
    a_handle_that_is_dropped_without_a_word_is_flushed_in_the_background,
    a_deleted_thread_hands_everything_back,
);

/// What an update would have appended.
fn texts(refused: &[Refused]) -> Vec<String> {
    let appended = |step: &DraftStep| match step {
        DraftStep::Append(append) => {
            append.messages.iter().map(|message| message.body.content.to_text().into_owned()).collect()
        }
        other => vec![format!("{other:?}")],
    };
    refused.iter().flat_map(|refused| refused.draft.steps()).flat_map(appended).collect()
}

async fn until_released(engine: &Engine, thread: ThreadId) {
    while engine.writer(thread).await.expect("a read").is_some() {
        tokio::task::yield_now().await;
    }
}

/// An engine on the same store that flushes only when it is told to, and gives many signs of life.
fn watchful(keep: &Keep) -> Engine {
    let (lease_heartbeat, flush_debounce) = (Some(Duration::from_millis(20)), Duration::from_secs(3_600));
    keep.engine.with_live(LiveSettings { lease_heartbeat, flush_debounce, ..LiveSettings::default() })
}

async fn what_is_refused_comes_back_and_the_rest_goes_on(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let ids = keep.ids(thread).await;
    let writer = open(&unhurried(&keep), thread).await;
    say(&writer, "c");
    writer.update(|draft| draft.delete(ids[0])).expect("an update");
    let edit = EditMessage::content(ids[0], Content::text("A"));
    let updated = writer.update(|draft| {
        draft.append(MessageBody::user("with the edit"));
        draft.edit(edit);
    });
    updated.expect("an update");
    let version = say(&writer, "d");
    let refused = writer.flush_version(version).await.expect_err("one cannot be kept");
    assert_eq!(refused.code(), "updates_refused");
    let Error::UpdatesRefused { updates } = refused else { unreachable!("checked above") };
    assert_eq!((updates.len(), updates[0].error.code()), (1, "message_not_found"));
    assert_eq!((updates[0].draft.steps().len(), &texts(&updates)[0][..]), (2, "with the edit"));
    assert_eq!(keep.shows(thread).await, "b c d", "all of it or nothing, and the order is kept");
    writer.flush_version(version).await.expect("it was told once");
    // It can be handed in again, changed or not.
    let again = updates.into_iter().next().expect("an update").draft;
    writer.update(|draft| *draft = again).expect("an update");
    let refused = writer.dispose().await.expect_err("still gone");
    assert!(matches!(refused, Error::UpdatesRefused { updates } if updates.len() == 1));
    assert_eq!(keep.engine.writer(thread).await.expect("a read"), None, "released in any case");
}

async fn whoever_waits_for_refusals_is_told(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let ids = keep.ids(thread).await;
    let writer = open(&keep.engine, thread).await;
    for _ in 0..2 {
        writer.update(|draft| draft.delete(ids[0])).expect("an update");
    }
    say(&writer, "b");
    // The flusher comes by itself.
    let refused = writer.refused().await;
    assert_eq!((refused.len(), refused[0].error.code()), (1, "message_not_found"));
    let (none, disposed) = tokio::join!(writer.refused(), writer.dispose());
    assert!(none.is_empty());
    disposed.expect("all was flushed");
    assert_eq!(keep.shows(thread).await, "b");
}

async fn a_lease_that_ended_hands_everything_back(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let settings = LiveSettings {
        lease_heartbeat: Some(Duration::from_secs(3_600)),
        flush_debounce: Duration::from_secs(3_600),
        ..LiveSettings::default()
    };
    let short = Exclusive { ttl: Some(Duration::from_millis(100)), ..Exclusive::default() };
    let writer = keep.engine.with_live(settings).exclusive(thread, short).await.expect("a read-writer");
    say(&writer, "a");
    let version = say(&writer, "b");
    until_released(&keep.engine, thread).await;
    keep.engine.append(thread, MessageBody::user("others")).await.expect("anybody writes");
    let refused = writer.flush_version(version).await.expect_err("the lease has ended");
    let Error::UpdatesRefused { updates } = refused else { panic!("{refused}") };
    assert_eq!(texts(&updates), ["a", "b"]);
    assert!(updates.iter().all(|refused| refused.error.code() == "writer_lost"));
    assert!(writer.is_lost());
    assert_eq!(writer.update(|_| {}).expect_err("lost").code(), "writer_lost");
    assert_eq!(writer.read().await.expect_err("lost").code(), "writer_lost");
    writer.dispose().await.expect("all was handed back");
    assert_eq!(keep.shows(thread).await, "others");
}

async fn a_lost_lease_is_known_at_once(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let writer = open(&watchful(&keep), thread).await;
    say(&writer, "a");
    assert!(keep.engine.release_writer(thread, writer.lease().token).await.expect("a release"));
    writer.lost().await;
    assert_eq!(texts(&writer.take_refused()), ["a"]);
    assert_eq!(writer.update(|_| {}).expect_err("lost").code(), "writer_lost");
}

async fn a_handle_that_is_dropped_hands_over_what_waits(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let listening = Arc::clone(&told);
    let exclusive = Exclusive {
        unflushed: Some(Arc::new(move |_, refused: Vec<Refused>| {
            assert!(refused.iter().all(|refused| refused.error.code() == "writer_disposed"));
            listening.lock().expect("a lock").extend(texts(&refused));
        })),
        ..Exclusive::default()
    };
    let writer = unhurried(&keep).exclusive(thread, exclusive).await.expect("a read-writer");
    let version = say(&writer, "a");
    writer.flush_version(version).await.expect("a flush");
    say(&writer, "b");
    say(&writer, "c");
    drop(writer);
    assert_eq!(*told.lock().expect("a lock"), ["b", "c"]);
    until_released(&keep.engine, thread).await;
    assert_eq!(keep.shows(thread).await, "a");
}

async fn what_a_lost_lease_left_behind_is_handed_over_too(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let told: Arc<Mutex<Vec<(String, &'static str)>>> = Arc::default();
    let listening = Arc::clone(&told);
    let unflushed = move |_: ThreadId, refused: Vec<Refused>| {
        let codes = refused.iter().map(|refused| refused.error.code());
        listening.lock().expect("a lock").extend(texts(&refused).into_iter().zip(codes));
    };
    let exclusive = Exclusive { unflushed: Some(Arc::new(unflushed)), ..Exclusive::default() };
    let writer = watchful(&keep).exclusive(thread, exclusive).await.expect("a read-writer");
    say(&writer, "a");
    assert!(keep.engine.release_writer(thread, writer.lease().token).await.expect("a release"));
    writer.lost().await;
    // Nobody took what came back.
    drop(writer);
    assert_eq!(*told.lock().expect("a lock"), [("a".to_owned(), "writer_lost")]);
}

async fn whenever_a_handle_is_dropped_each_update_is_kept_or_handed_over(keep: Keep) {
    let engine = keep.engine.with_live(LiveSettings { flush_debounce: Duration::ZERO, ..LiveSettings::default() });
    for round in 0..24 {
        let thread = keep.thread(&[]).await;
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let listening = Arc::clone(&told);
        let unflushed = move |_: ThreadId, refused: Vec<Refused>| {
            listening.lock().expect("a lock").extend(texts(&refused));
        };
        let exclusive = Exclusive { unflushed: Some(Arc::new(unflushed)), ..Exclusive::default() };
        let writer = engine.exclusive(thread, exclusive).await.expect("a read-writer");
        for n in 0..8 {
            say(&writer, &n.to_string());
            for _ in 0..round % 6 {
                tokio::task::yield_now().await;
            }
        }
        if round % 2 == 1 {
            // Given up in the middle: whoever wanted to dispose went away.
            let mut disposing = Box::pin(writer.dispose());
            for _ in 0..round {
                let _ = std::future::poll_fn(|context| std::task::Poll::Ready(disposing.as_mut().poll(context))).await;
                if writer.pending() == 0 {
                    break;
                }
            }
        }
        drop(writer);
        until_released(&keep.engine, thread).await;
        let kept = keep.shows(thread).await;
        let mut all: Vec<String> = kept.split_whitespace().map(str::to_owned).collect();
        let in_order = all.clone();
        all.extend(told.lock().expect("a lock").clone());
        assert!(in_order.is_sorted(), "{kept}");
        all.sort();
        assert_eq!(all, ["0", "1", "2", "3", "4", "5", "6", "7"], "round {round}: kept {kept}");
    }
}

async fn a_handle_that_is_dropped_without_a_word_is_flushed_in_the_background(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let writer = open(&unhurried(&keep), thread).await;
    say(&writer, "a");
    drop(writer);
    until_released(&keep.engine, thread).await;
    assert_eq!(keep.shows(thread).await, "a");
}

async fn a_deleted_thread_hands_everything_back(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let writer = open(&unhurried(&keep), thread).await;
    let version = say(&writer, "a");
    let own = keep.engine.writing_under(thread, writer.lease().token);
    assert!(own.delete(thread, threadkeep::Delete::default()).await.expect("a deletion"));
    let refused = writer.flush_version(version).await.expect_err("it is gone");
    let Error::UpdatesRefused { updates } = refused else { panic!("{refused}") };
    assert_eq!((texts(&updates), updates[0].error.code()), (vec!["a".to_owned()], "thread_not_found"));
    assert!(writer.is_lost() && writer.version() == Position(1));
    writer.dispose().await.expect("nothing is left");
}
