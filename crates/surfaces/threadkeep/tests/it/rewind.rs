//! Rollback, undo, truncation, checkpoints: nothing is lost.

use threadkeep::{
    Error, Fork, MessageBody, Page, Position, Redo, RollbackTo, SetCheckpoint, Truncate, TruncateFrom, Update,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_rollback_shows_again_what_was_and_its_version_goes_on,
    undo_steps_back_and_redo_forward,
    what_is_written_ends_the_way_forward,
    a_rollback_by_time_and_by_name,
    a_truncation_drops_messages_and_can_be_undone,
    an_append_after_a_rollback_is_a_branch_of_its_own,
    the_record_is_never_rewound,
    a_fork_can_be_rolled_back_past_its_birth,
    stale_ordinals_do_not_carry_old_changes,
    versions_that_never_were_are_refused,
    checkpoints_have_names,
);

async fn a_rollback_shows_again_what_was_and_its_version_goes_on(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let back = keep.engine.rollback(thread, RollbackTo::Version(Position(1))).await.expect("a rollback");
    assert_eq!(back.head.version, Position(4), "a version is never lowered");
    assert_eq!(keep.shows(thread).await, "a");
    assert_eq!(keep.shows_page(thread, Page::first().as_of(Position(3))).await, "a b c", "what was undone is readable");
    assert_eq!(keep.engine.thread(thread).await.expect("the thread").head.tally.messages(), 1);
}

async fn undo_steps_back_and_redo_forward(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let undo = async || keep.engine.rollback(thread, RollbackTo::Undo).await;
    let redo = async || keep.engine.redo(thread, Redo {}).await;
    assert!(matches!(undo().await, Err(Error::NothingToUndo)));
    assert!(matches!(redo().await, Err(Error::NothingToRedo)));
    keep.engine.rollback(thread, RollbackTo::Version(Position(2))).await.expect("a rollback");
    assert!(matches!(redo().await, Err(Error::NothingToRedo)));
    keep.engine.append(thread, MessageBody::user("d")).await.expect("an append");
    keep.engine.truncate(thread, Truncate::from_index(1)).await.expect("a truncation");
    assert_eq!(keep.shows(thread).await, "a");
    for round in 0..2 {
        for shows in ["a b d", "a b c"] {
            undo().await.expect("an undo");
            assert_eq!(keep.shows(thread).await, shows, "{round}");
        }
        assert!(matches!(undo().await, Err(Error::NothingToUndo)));
        keep.engine.update(thread, Update::new().title("x")).await.expect("the record is no part of it");
        for shows in ["a b d", "a"] {
            redo().await.expect("a redo");
            assert_eq!(keep.shows(thread).await, shows, "{round}");
        }
        assert!(matches!(redo().await, Err(Error::NothingToRedo)));
    }
}

async fn what_is_written_ends_the_way_forward(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let undo = async || keep.engine.rollback(thread, RollbackTo::Undo).await;
    keep.engine.rollback(thread, RollbackTo::Version(Position(1))).await.expect("a rollback");
    undo().await.expect("an undo");
    keep.engine.append(thread, MessageBody::user("c")).await.expect("an append");
    assert!(matches!(keep.engine.redo(thread, Redo {}).await, Err(Error::NothingToRedo)));
    // From now on the undo is a step like any other.
    for shows in ["a", "a b"] {
        undo().await.expect("an undo");
        assert_eq!(keep.shows(thread).await, shows);
    }
    assert!(matches!(undo().await, Err(Error::NothingToUndo)));
    keep.engine.redo(thread, Redo {}).await.expect("a redo");
    assert_eq!(keep.shows(thread).await, "a");
    keep.engine.redo(thread, Redo {}).await.expect("a redo");
    assert_eq!(keep.shows(thread).await, "a b c");
    let value = threadkeep::SetValue::new("k", threadkeep::Json::string("v")).expect("a value");
    undo().await.expect("an undo");
    keep.engine.set_value(thread, value).await.expect("a value");
    assert!(matches!(keep.engine.redo(thread, Redo {}).await, Err(Error::NothingToRedo)), "values count, too");
}

async fn a_rollback_by_time_and_by_name(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    keep.engine.checkpoint(thread, SetCheckpoint::named("two")).await.expect("a checkpoint");
    let appended = keep.engine.append(thread, MessageBody::user("c")).await.expect("an append");
    let then = appended[0].created;
    keep.engine.append(thread, MessageBody::user("d")).await.expect("an append");
    keep.engine.rollback(thread, RollbackTo::Checkpoint("two".into())).await.expect("a rollback by name");
    assert_eq!(keep.shows(thread).await, "a b");
    keep.engine.rollback(thread, RollbackTo::Timestamp(then)).await.expect("a rollback by time");
    assert!(keep.shows(thread).await.starts_with("a b c"), "abandoned branches are found by time too");
    let early = RollbackTo::Timestamp(then.plus_micros(-3_600_000_000));
    assert_eq!(keep.engine.rollback(thread, early).await.expect_err("before its birth").code(), "before_birth");
    let unknown = RollbackTo::Checkpoint("three".into());
    assert_eq!(keep.engine.rollback(thread, unknown).await.expect_err("unknown").code(), "checkpoint_not_found");
}

async fn a_truncation_drops_messages_and_can_be_undone(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c", "d"]).await;
    let ids = keep.ids(thread).await;
    let truncate = |from| Truncate { from };
    keep.engine.truncate(thread, truncate(TruncateFrom::Index(3))).await.expect("by index");
    assert_eq!(keep.shows(thread).await, "a b c");
    keep.engine.truncate(thread, truncate(TruncateFrom::Message(ids[1].into()))).await.expect("by id");
    assert_eq!(keep.shows(thread).await, "a");
    keep.engine.append(thread, MessageBody::user("e")).await.expect("an append");
    assert_eq!(keep.shows(thread).await, "a e");
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("undo");
    assert_eq!(keep.shows(thread).await, "a b c");
    keep.engine.truncate(thread, truncate(TruncateFrom::Index(0))).await.expect("all");
    assert_eq!(keep.shows(thread).await, "");
    let none = keep.engine.truncate(thread, truncate(TruncateFrom::Index(0))).await;
    assert_eq!(none.expect_err("nothing to truncate").code(), "index_out_of_range");
    let gone = keep.engine.truncate(thread, truncate(TruncateFrom::Message(ids[1].into()))).await;
    assert_eq!(gone.expect_err("a message that is gone").code(), "message_not_found");
}

async fn an_append_after_a_rollback_is_a_branch_of_its_own(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    keep.engine.rollback(thread, RollbackTo::Version(Position(1))).await.expect("a rollback");
    keep.engine.append(thread, MessageBody::user("c")).await.expect("an append");
    assert_eq!(keep.shows(thread).await, "a c");
    let then = keep.engine.fork(thread, Fork::at_version(Position(2))).await.expect("a fork of the old branch");
    assert_eq!(keep.shows(then.id).await, "a b");
    let kinds: Vec<_> = keep.engine.history(thread, Position(0), 99).await.expect("history");
    let kinds: Vec<_> = kinds.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["message_appended", "message_appended", "rolled_back", "message_appended", "forked"]);
}

async fn the_record_is_never_rewound(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    keep.engine.update(thread, Update::new().title("new")).await.expect("an update");
    keep.engine.checkpoint(thread, SetCheckpoint::named("here")).await.expect("a checkpoint");
    keep.engine.rollback(thread, RollbackTo::Version(Position(0))).await.expect("a rollback");
    let now = keep.engine.thread(thread).await.expect("the thread");
    assert_eq!((now.record.title.as_deref(), now.head.tally.messages()), (Some("new"), 0));
    assert_eq!(keep.engine.checkpoints(thread).await.expect("checkpoints").len(), 1);
}

async fn a_fork_can_be_rolled_back_past_its_birth(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let fork = keep.engine.fork(thread, Fork::at_index(2)).await.expect("a fork").id;
    keep.engine.rollback(fork, RollbackTo::Version(Position(1))).await.expect("a rollback");
    assert_eq!(keep.shows(fork).await, "a");
    keep.engine.append(fork, MessageBody::user("d")).await.expect("an append");
    assert_eq!((keep.shows(fork).await.as_str(), keep.shows(thread).await.as_str()), ("a d", "a b c"));
    keep.engine.rollback(fork, RollbackTo::Undo).await.expect("undo");
    assert_eq!(keep.shows(fork).await, "a b c");
}

/// Found by thought: ordinals are given again after a truncation, while changes stay seen up to now.
async fn stale_ordinals_do_not_carry_old_changes(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let ids = keep.ids(thread).await;
    let delete = threadkeep::DeleteMessage { message: ids[1].into() };
    keep.engine.delete_message(thread, delete).await.expect("a deletion");
    let truncate = Truncate { from: TruncateFrom::Index(1) };
    keep.engine.truncate(thread, truncate).await.expect("a truncation");
    for text in ["d", "e", "f"] {
        keep.engine.append(thread, MessageBody::user(text)).await.expect("an append");
    }
    assert_eq!(keep.shows(thread).await, "a d e f");
    for (offset, rest) in [(1, "d e f"), (2, "e f"), (3, "f")] {
        assert_eq!(keep.shows_page(thread, Page::first().offset(offset)).await, rest);
    }
    let fork = keep.engine.fork(thread, Fork::at_index(2)).await.expect("a fork");
    assert_eq!((keep.shows(fork.id).await.as_str(), fork.record.fork_point_index), ("a d e", Some(2)));
}

async fn versions_that_never_were_are_refused(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let future = keep.engine.rollback(thread, RollbackTo::Version(Position(2))).await;
    assert!(matches!(future, Err(Error::VersionInFuture { .. })));
    let stale = threadkeep::At::of(thread).expecting(Position(9));
    assert!(matches!(
        keep.engine.rollback(stale, RollbackTo::Version(Position(0))).await,
        Err(Error::VersionConflict { .. })
    ));
    assert_eq!(keep.engine.thread(thread).await.expect("the thread").head.version, Position(1));
}

async fn checkpoints_have_names(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    for wrong in ["", "  ", &"x".repeat(256)] {
        let refused = keep.engine.checkpoint(thread, SetCheckpoint::named(wrong)).await;
        assert_eq!(refused.expect_err(wrong).code(), "invalid_body");
    }
    keep.engine.checkpoint(thread, SetCheckpoint::named("x")).await.expect("a checkpoint");
    keep.engine.append(thread, MessageBody::user("b")).await.expect("an append");
    let moved = keep.engine.checkpoint(thread, SetCheckpoint::named("x")).await.expect("a checkpoint");
    assert_eq!(moved.version, Position(3));
    assert_eq!(keep.engine.checkpoints(thread).await.expect("checkpoints"), [moved]);
}
