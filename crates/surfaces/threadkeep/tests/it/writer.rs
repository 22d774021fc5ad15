//! Exclusive writers: who holds the lease writes, and nobody else changes the conversation.

use threadkeep::{
    Account, At, Caller, DeleteMessage, EditMessage, Engine, Error, Fork, IdempotencyKey, MessageBody, RollbackTo,
    SetCheckpoint, TakeWriter, ThreadId, Update,
};

use crate::{Keep, on_every_store};

on_every_store!(
    the_holder_writes_and_others_are_told_who_holds_it,
    others_can_fork_and_change_the_record,
    every_change_of_the_conversation_is_guarded,
    a_lease_that_ended_is_refused_and_says_so,
    a_retry_of_what_was_kept_is_answered_after_the_lease_ended,
    leases_are_checked_and_belong_to_their_account,
);

fn asking(holder: &str) -> TakeWriter {
    TakeWriter { ttl: Some(3_600_000), holder: Some(holder.into()) }
}

async fn say(engine: &Engine, thread: ThreadId, text: &str) -> Result<(), Error> {
    engine.append(thread, MessageBody::user(text)).await.map(drop)
}

fn is_held_by<T>(result: Result<T, Error>, holder: &str) -> bool {
    matches!(result, Err(Error::WriterHeld { by, .. }) if by.holder == holder)
}

async fn the_holder_writes_and_others_are_told_who_holds_it(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&[]).await);
    assert_eq!(engine.writer(thread).await.expect("a read"), None);
    let lease = engine.take_writer(thread, asking("ann")).await.expect("a lease");
    assert_eq!(engine.writer(thread).await.expect("a read"), Some(lease.clone()));
    let refused = say(engine, thread, "x").await.expect_err("without the token");
    assert_eq!(refused.code(), "writer_held");
    assert!(refused.to_string().contains("ann") && refused.to_string().contains(&lease.until.to_string()), "{refused}");
    assert!(is_held_by(engine.take_writer(thread, asking("bob")).await, "ann"));
    let writer = engine.writing_under(thread, lease.token);
    say(&writer, thread, "a").await.expect("the holder writes");
    let renewed = engine.renew_writer(thread, lease.token, None).await.expect("a renewal");
    assert_eq!((renewed.token, renewed.holder.as_str()), (lease.token, "ann"));
    say(&writer, thread, "b").await.expect("the holder writes");
    assert!(engine.release_writer(thread, lease.token).await.expect("a release"));
    say(engine, thread, "c").await.expect("anybody writes");
    assert_eq!(say(&writer, thread, "late").await.expect_err("it was released").code(), "writer_lost");
    assert_eq!(keep.shows(thread).await, "a b c");
}

async fn others_can_fork_and_change_the_record(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&["a", "b"]).await);
    engine.take_writer(thread, asking("ann")).await.expect("a lease");
    let fork = engine.fork(thread, Fork::at_index(0)).await.expect("a fork").id;
    say(engine, fork, "c").await.expect("the fork has no writer");
    engine.update(thread, Update::new().title("new")).await.expect("an update");
    engine.checkpoint(thread, SetCheckpoint::named("here")).await.expect("a checkpoint");
    assert_eq!(keep.shows(fork).await, "a c");
    assert_eq!(engine.relationships(thread).await.expect("relations").len(), 1);
}

async fn every_change_of_the_conversation_is_guarded(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&["a", "b"]).await);
    let ids = keep.ids(thread).await;
    let lease = engine.take_writer(thread, asking("ann")).await.expect("a lease");
    let edit = || EditMessage::content(ids[0], threadkeep::Content::text("A"));
    let delete = || DeleteMessage { message: ids[1].into() };
    let back = || RollbackTo::Version(threadkeep::Position(1));
    assert!(is_held_by(engine.edit_message(thread, edit()).await, "ann"));
    assert!(is_held_by(engine.delete_message(thread, delete()).await, "ann"));
    assert!(is_held_by(engine.rollback(thread, back()).await, "ann"));
    assert!(is_held_by(engine.delete(thread, threadkeep::Delete::default()).await, "ann"));
    assert_eq!(keep.shows(thread).await, "a b");
    let writer = engine.writing_under(thread, lease.token);
    writer.edit_message(thread, edit()).await.expect("an edit");
    writer.delete_message(thread, delete()).await.expect("a deletion");
    assert_eq!(keep.shows(thread).await, "A");
    // A branch raises the fence of the thread; the lease of its own writer goes on.
    writer.rollback(thread, back()).await.expect("a rollback");
    say(&writer, thread, "c").await.expect("an append");
    assert_eq!(keep.shows(thread).await, "a c");
    assert!(writer.delete(thread, threadkeep::Delete::default()).await.expect("a deletion"));
}

async fn a_lease_that_ended_is_refused_and_says_so(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&[]).await);
    let short = TakeWriter { ttl: Some(100), holder: Some("ann".into()) };
    let lease = engine.take_writer(thread, short).await.expect("a lease");
    while engine.writer(thread).await.expect("a read").is_some() {
        tokio::task::yield_now().await;
    }
    let paused = engine.writing_under(thread, lease.token);
    let refused = say(&paused, thread, "late").await.expect_err("it has ended");
    assert_eq!(refused.code(), "writer_lost");
    engine.take_writer(thread, asking("bob")).await.expect("a lease");
    let refused = say(&paused, thread, "late").await.expect_err("somebody else writes");
    assert!(refused.to_string().contains("bob"), "{refused}");
    let refused = engine.renew_writer(thread, lease.token, None).await.expect_err("it has ended");
    assert_eq!(refused.code(), "writer_lost");
    assert!(!engine.release_writer(thread, lease.token).await.expect("a release"));
    assert_eq!(keep.shows(thread).await, "");
}

async fn a_retry_of_what_was_kept_is_answered_after_the_lease_ended(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&[]).await);
    let lease = engine.take_writer(thread, asking("ann")).await.expect("a lease");
    let writer = engine.writing_under(thread, lease.token);
    let keyed = || At::of(thread).keyed(IdempotencyKey::new("k").expect("a key"));
    let first = writer.append(keyed(), MessageBody::user("once")).await.expect("an append");
    engine.release_writer(thread, lease.token).await.expect("a release");
    assert_eq!(writer.append(keyed(), MessageBody::user("once")).await.expect("the first answer again"), first);
    assert_eq!(keep.shows(thread).await, "once");
}

async fn leases_are_checked_and_belong_to_their_account(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&[]).await);
    for ttl in [0, 99, 86_401_000, u64::MAX] {
        let ask = TakeWriter { ttl: Some(ttl), holder: None };
        assert_eq!(engine.take_writer(thread, ask).await.expect_err("a ttl").code(), "invalid_parameter", "{ttl:?}");
    }
    for holder in ["", " \t", &"x".repeat(256)] {
        let refused = engine.take_writer(thread, asking(holder)).await.expect_err("a holder");
        assert_eq!(refused.code(), "invalid_parameter", "{holder}");
    }
    let lease = engine.take_writer(thread, TakeWriter::default()).await.expect("a lease");
    assert_eq!(lease.holder, "local", "the caller's own name");
    let account = Account::new("stranger").expect("an account");
    let stranger = engine.acting_as(Caller { account, ..Caller::local() });
    let unknown = [
        stranger.writer(thread).await.map(drop),
        stranger.take_writer(thread, asking("x")).await.map(drop),
        stranger.renew_writer(thread, lease.token, None).await.map(drop),
        stranger.release_writer(thread, lease.token).await.map(drop),
    ];
    for refused in unknown {
        assert_eq!(refused.expect_err("not theirs").code(), "thread_not_found");
    }
    assert_eq!(engine.writer(thread).await.expect("a read"), Some(lease));
}
