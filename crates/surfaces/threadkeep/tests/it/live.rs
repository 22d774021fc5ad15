//! Exclusive read-writers: one a thread, updates that show at once and are kept a moment later.

use std::time::Duration;

use threadkeep::{
    Content, DeleteMessage, EditMessage, Engine, Error, Exclusive, Fork, Json, LiveSettings, Mention, MessageBody,
    MessageId, Page, Position, ReadWriter, Rollback, RollbackTo, ThreadId, Update,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_second_read_writer_is_refused_and_told_who_holds_it,
    updates_show_at_once_and_are_durable_once_flushed,
    the_flusher_keeps_updates_by_itself,
    use_after_dispose_is_an_error_and_disposing_twice_is_not,
    others_fork_and_change_the_record_while_it_is_held,
    an_update_sees_its_own_steps,
    the_record_is_replaced_by_write,
    what_a_draft_cannot_record_is_carried_out_at_once,
    the_lease_is_renewed_while_the_handle_lives,
    what_waits_is_bounded,
    a_version_that_never_comes_times_out_and_one_of_others_is_waited_for,
    many_threads_are_flushed_in_turns,
);

/// An engine on the same store that flushes only when it is told to.
pub(crate) fn unhurried(keep: &Keep) -> Engine {
    keep.engine.with_live(LiveSettings { flush_debounce: Duration::from_secs(3_600), ..LiveSettings::default() })
}

pub(crate) async fn open(engine: &Engine, thread: ThreadId) -> ReadWriter {
    engine.exclusive(thread, Exclusive::default()).await.expect("a read-writer")
}

pub(crate) fn say(writer: &ReadWriter, text: &str) -> Position {
    writer.update(|draft| draft.append(MessageBody::user(text))).expect("an update")
}

async fn a_second_read_writer_is_refused_and_told_who_holds_it(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let asking = |holder: &str| Exclusive { holder: Some(holder.into()), ..Exclusive::default() };
    let writer = keep.engine.exclusive(thread, asking("ann")).await.expect("a read-writer");
    for other in [&keep.engine, &unhurried(&keep)] {
        let refused = other.exclusive(thread, asking("bob")).await.expect_err("it is held");
        assert_eq!(refused.code(), "writer_held");
        assert!(
            matches!(refused, Error::WriterHeld { by, .. } if by.holder == "ann" && by.until >= writer.lease().until)
        );
        let refused = other.append(thread, MessageBody::user("x")).await.expect_err("it is held");
        assert_eq!(refused.code(), "writer_held");
    }
    writer.dispose().await.expect("all is flushed");
    open(&keep.engine, thread).await.dispose().await.expect("nothing to flush");
}

async fn updates_show_at_once_and_are_durable_once_flushed(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let writer = open(&unhurried(&keep), thread).await;
    let version = writer
        .update(|draft| {
            draft.append(MessageBody::user("b"));
            draft.append(MessageBody::assistant("c"));
            draft.title("new");
        })
        .expect("an update");
    assert_eq!((version, writer.version(), writer.durable_version()), (Position(4), Position(4), Position(1)));
    let seen = writer.read().await.expect("a read");
    assert_eq!((seen.version, seen.message_count, seen.thread.head.version), (Position(4), 3, Position(1)));
    assert_eq!(seen.thread.record.title.as_deref(), Some("new"));
    assert_eq!(seen.pending.len(), 2);
    let title = writer.update(|draft| assert_eq!(draft.record().title.as_deref(), Some("new")));
    assert_eq!(title.expect("nothing changes"), version);
    assert_eq!(writer.update(|draft| draft.title("new")).expect("it is called that"), version);
    assert_eq!(writer.pending(), 1);
    assert_eq!(keep.shows(thread).await, "a");
    writer.flush_version(version).await.expect("a flush");
    assert_eq!((writer.durable_version(), writer.pending()), (Position(4), 0));
    assert_eq!(keep.shows(thread).await, "a b c");
    let found = keep.engine.thread(thread).await.expect("a thread");
    assert_eq!((found.head.version, found.record.title.as_deref()), (Position(4), Some("new")));
    assert_eq!(writer.messages(Page::first()).await.expect("a page").items.len(), 3);
    writer.dispose().await.expect("nothing to flush");
}

async fn the_flusher_keeps_updates_by_itself(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let mut follower = keep.engine.subscribe(thread, Position(0)).await.expect("a subscription");
    let writer = open(&keep.engine, thread).await;
    say(&writer, "a");
    say(&writer, "b");
    for version in [1, 2] {
        assert_eq!(follower.next().await.expect("a read").expect("an entry").version, Position(version));
    }
    writer.dispose().await.expect("nothing to flush");
}

async fn use_after_dispose_is_an_error_and_disposing_twice_is_not(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let writer = open(&unhurried(&keep), thread).await;
    say(&writer, "a");
    writer.dispose().await.expect("all is flushed");
    assert_eq!(keep.shows(thread).await, "a");
    assert_eq!(keep.engine.writer(thread).await.expect("a read"), None);
    writer.dispose().await.expect("once more");
    let refused = [
        writer.update(|_| {}).map(drop),
        writer.write(Update::new().title("x").fields).map(drop),
        writer.read().await.map(drop),
        writer.messages(Page::first()).await.map(drop),
        writer.flush_version(Position(1)).await,
        writer.room().await,
        writer.call(Fork::default()).await.map(drop),
    ];
    for refused in refused {
        assert_eq!(refused.expect_err("it was disposed").code(), "writer_disposed");
    }
}

async fn others_fork_and_change_the_record_while_it_is_held(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let writer = open(&unhurried(&keep), thread).await;
    say(&writer, "b");
    let version = writer.update(|draft| draft.set("draft", Json::string("d"))).expect("an update");
    // All of them take versions that the estimate did not count on.
    let fork = keep.engine.fork(thread, Fork::default()).await.expect("a fork").id;
    let mention = Mention { target: keep.thread(&[]).await.into(), comment: None };
    keep.engine.mention(thread, mention).await.expect("a mention");
    keep.engine.update(thread, Update::new().title("others")).await.expect("an update");
    writer.flush_version(version).await.expect("decided again on what is there now");
    assert!(writer.durable_version() >= version && writer.version() >= writer.durable_version());
    assert_eq!((keep.shows(thread).await, keep.shows(fork).await), ("a b".into(), "a".into()));
    let record = keep.engine.thread(thread).await.expect("a thread").record;
    assert_eq!((record.title.as_deref(), record.draft.as_deref()), (Some("others"), Some("d")));
    keep.engine.update(thread, Update::new().title("again")).await.expect("an update");
    assert_eq!(writer.read().await.expect("a read").thread.record.title.as_deref(), Some("again"));
    writer.dispose().await.expect("nothing to flush");
}

fn edit(message: MessageId, text: &str) -> EditMessage {
    EditMessage::content(message, Content::text(text))
}

async fn an_update_sees_its_own_steps(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let ids = keep.ids(thread).await;
    let metadata = |json: &str| EditMessage::metadata(ids[1], Json::parse("metadata", json).expect("json"));
    let writer = open(&unhurried(&keep), thread).await;
    let version = writer
        .update(|draft| {
            draft.insert_before(ids[1], MessageBody::user("x"));
            draft.edit(metadata(r#"{"k":1}"#));
            draft.edit(metadata(r#"{"l":2}"#));
            draft.edit(edit(ids[1], "B"));
            draft.delete(ids[0]);
            draft.append(MessageBody::user("d"));
            draft.title("new");
            draft.clear("draft");
        })
        .expect("an update");
    assert_eq!(writer.read().await.expect("a read").message_count, 4);
    writer.flush_version(version).await.expect("a flush");
    assert_eq!(keep.shows(thread).await, "x B c d");
    let message = keep.engine.message(thread, ids[1], None).await.expect("a message");
    assert_eq!(message.body().expect("a body").metadata.expect("metadata").as_str(), r#"{"k":1,"l":2}"#);
    assert_eq!(keep.engine.thread(thread).await.expect("a thread").head.version, version);
    let gone = writer.update(|draft| {
        draft.delete(ids[1]);
        draft.edit(edit(ids[1], "late"));
    });
    let gone = gone.expect("an update");
    let refused = writer.flush_version(gone).await.expect_err("it deleted what it edits");
    assert!(matches!(refused, Error::UpdatesRefused { updates } if updates[0].error.code() == "message_not_found"));
    assert_eq!(keep.shows(thread).await, "x B c d");
    writer.dispose().await.expect("nothing to flush");
}

async fn the_record_is_replaced_by_write(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    keep.engine.update(thread, Update::new().field("draft", Json::string("d"))).await.expect("an update");
    let writer = open(&keep.engine, thread).await;
    let version = writer.write(Update::new().field("agentId", Json::string("x")).fields).expect("a write");
    writer.flush_version(version).await.expect("a flush");
    let record = keep.engine.thread(thread).await.expect("a thread").record;
    assert_eq!((record.title, record.draft, record.agent_id.as_deref()), (None, None, Some("x")));
    assert_eq!(keep.shows(thread).await, "a");
    let refused = writer.write(Update::new().field("lifecycle", Json::string("archived")).fields);
    assert_eq!(refused.expect_err("not directly").code(), "invalid_body");
    assert_eq!(writer.version(), Position(version.0 + 1), "an agent is assigned by an entry of its own");
    writer.dispose().await.expect("nothing to flush");
}

async fn what_a_draft_cannot_record_is_carried_out_at_once(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let writer = open(&unhurried(&keep), thread).await;
    say(&writer, "c");
    let back = Rollback::from(RollbackTo::Version(Position(1)));
    writer.call(back).await.expect("a rollback under the lease");
    assert_eq!((keep.shows(thread).await, writer.durable_version()), ("a".into(), Position(4)));
    let version = say(&writer, "d");
    writer.flush_version(version).await.expect("a flush");
    assert_eq!((keep.shows(thread).await, version), ("a d".into(), Position(5)));
    writer.dispose().await.expect("nothing to flush");
}

async fn the_lease_is_renewed_while_the_handle_lives(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let short = Exclusive { ttl: Some(Duration::from_millis(500)), ..Exclusive::default() };
    let writer = keep.engine.exclusive(thread, short).await.expect("a read-writer");
    let first = writer.lease();
    loop {
        let lease = keep.engine.writer(thread).await.expect("a read").expect("it is held");
        assert_eq!(lease.token, first.token);
        if lease.until > first.until.plus_micros(500_000) {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(!writer.is_lost());
    writer.dispose().await.expect("nothing to flush");
}

async fn what_waits_is_bounded(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let settings = LiveSettings {
        pending_updates_max: 2,
        pending_bytes_max: 1_000,
        flush_debounce: Duration::from_secs(3_600),
        ..LiveSettings::default()
    };
    let writer = open(&keep.engine.with_live(settings), thread).await;
    let large = |draft: &mut threadkeep::Draft| draft.append(MessageBody::user(&"x".repeat(2_000)));
    writer.update(large).expect("a large update that is alone");
    assert_eq!(writer.update(large).expect_err("too many bytes").code(), "write_behind_full");
    writer.flush_version(Position(1)).await.expect("a flush");
    writer.room().await.expect("room");
    let version = (say(&writer, "a"), say(&writer, "b")).1;
    let refused = writer.update(|draft| draft.append(MessageBody::user("c")));
    assert_eq!(refused.expect_err("too many").code(), "write_behind_full");
    writer.flush_version(version).await.expect("a flush");
    writer.room().await.expect("room");
    say(&writer, "c");
    writer.dispose().await.expect("all is flushed");
    assert!(keep.shows(thread).await.ends_with("x a b c"));
}

async fn a_version_that_never_comes_times_out_and_one_of_others_is_waited_for(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let writer = open(&keep.engine, thread).await;
    say(&writer, "b");
    let late =
        writer.flush_version_within(Position(4), Duration::from_millis(200)).await.expect_err("nobody brings it");
    assert_eq!(late.code(), "flush_timeout");
    assert!(matches!(late, Error::FlushTimeout { target: Position(4), durable: Position(2), pending: 0 }), "{late}");
    keep.engine.fork(thread, Fork::default()).await.expect("a fork");
    keep.engine.update(thread, Update::new().title("others")).await.expect("an update");
    writer.flush_version(Position(4)).await.expect("others brought it");
    assert_eq!(writer.durable_version(), Position(4));
    writer.dispose().await.expect("nothing to flush");
}

async fn many_threads_are_flushed_in_turns(keep: Keep) {
    let mut writers = Vec::new();
    for _ in 0..20 {
        writers.push(open(&keep.engine, keep.thread(&[]).await).await);
    }
    for text in ["a", "b", "c"] {
        for writer in &writers {
            say(writer, text);
        }
    }
    for writer in &writers {
        writer.flush_version(Position(3)).await.expect("a flush");
        assert_eq!(keep.shows(writer.thread()).await, "a b c");
        writer.dispose().await.expect("nothing to flush");
        let delete = DeleteMessage { message: keep.ids(writer.thread()).await[0].into() };
        assert!(keep.engine.delete_message(writer.thread(), delete).await.expect("anybody writes again"));
    }
}

/// Waits without any runtime.
pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut work = std::pin::pin!(work);
    loop {
        match work.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(done) => return done,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn live_threads_need_no_runtime_of_the_program() {
    for keep in [Keep::memory(), Keep::sqlite()] {
        let thread = wait(keep.thread(&[]));
        let mut observer = wait(keep.engine.observe(thread)).expect("an observer");
        let writer = wait(open(&keep.engine, thread));
        let version = say(&writer, "a");
        wait(writer.flush_version(version)).expect("a flush");
        while !matches!(wait(observer.next()), Some(threadkeep::Observed::Snapshot(seen)) if seen.version == version) {}
        say(&writer, "b");
        drop(writer);
        while wait(keep.engine.writer(thread)).expect("a read").is_some() {}
        assert_eq!(wait(keep.shows(thread)), "a b");
    }
}
