//! Timeouts: each fires once, whoever looks, and not while it is undone.

use std::time::Duration;

use threadkeep::{
    Actor, ActorKind, Approval, ApprovalState, Caller, Capability, Engine, Fallback, ListApprovals, ListedState,
    Position, RollbackTo, ThreadId, Transfer, Uuid,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_timeout_fires_without_anybody_reading,
    a_due_approval_is_answered_before_it_is_shown,
    a_blocking_approval_stays_pending_and_says_that_it_is_overdue,
    auto_approval_needs_a_delegation,
    many_who_look_at_once_fire_each_once,
    an_undone_timeout_fires_once_it_is_brought_back,
);

const SOON: Duration = Duration::from_millis(150);

async fn ask(engine: &Engine, thread: ThreadId, fallback: Fallback, timeout: Duration) -> Uuid {
    let (timeout, fallback) = (Some(timeout), Some(fallback));
    let transfer = Transfer { timeout, fallback, ..Transfer::request_approval([Capability::Deploy]) };
    engine.transfer(thread, transfer).await.expect("a transfer").approval_id.expect("an approval")
}

/// The kinds of entries after the first `after`, once there are `count` of them.
async fn logged(keep: &Keep, thread: ThreadId, after: u64, count: usize) -> Vec<String> {
    let mut subscription = keep.engine.subscribe(thread, Position(after)).await.expect("a subscription");
    let mut kinds = Vec::new();
    while kinds.len() < count {
        let next = tokio::time::timeout(Duration::from_secs(20), subscription.next()).await.expect("in time");
        kinds.push(next.expect("an entry").expect("a thread").kind.as_str().to_owned());
    }
    kinds
}

async fn read(keep: &Keep, id: Uuid) -> Approval {
    keep.engine.approval(id).await.expect("an approval")
}

async fn answers(keep: &Keep, thread: ThreadId) -> usize {
    let history = keep.engine.history(thread, Position(0), 1_000).await.expect("a history");
    history.iter().filter(|entry| entry.kind.as_str() == "approval_answered").count()
}

async fn a_timeout_fires_without_anybody_reading(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let timers = tokio::spawn(keep.engine.clone().run_timers());
    let asked = ask(&keep.engine, thread, Fallback::Skip, SOON).await;
    assert_eq!(logged(&keep, thread, 1, 2).await, ["approval_requested", "approval_answered"]);
    let denied = read(&keep, asked).await;
    assert_eq!(denied.state, ApprovalState::Denied);
    assert!(denied.timed_out && denied.answered_by.expect("an answer").kind == ActorKind::System);
    assert!(denied.answered_at.expect("an answer") >= denied.timeout_at.expect("a timeout"), "not too early");
    timers.abort();
}

async fn a_due_approval_is_answered_before_it_is_shown(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let one = ask(&keep.engine, thread, Fallback::Skip, Duration::ZERO).await;
    assert_eq!(read(&keep, one).await.state, ApprovalState::Denied);
    let two = ask(&keep.engine, thread, Fallback::Skip, Duration::ZERO).await;
    let denied = ListApprovals { state: Some(ListedState::Denied), ..ListApprovals::default() };
    let listed = keep.engine.approvals(denied).await.expect("a page").items;
    assert_eq!(listed.iter().map(|approval| approval.id).collect::<Vec<_>>(), [one, two]);
    let late = keep.engine.approve(threadkeep::At::none(), threadkeep::Approve::of(two)).await;
    assert_eq!(late.expect_err("too late").code(), "approval_answered");
    assert_eq!(answers(&keep, thread).await, 2);
}

async fn a_blocking_approval_stays_pending_and_says_that_it_is_overdue(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let asked = ask(&keep.engine, thread, Fallback::Block, Duration::ZERO).await;
    let read = read(&keep, asked).await;
    assert_eq!((read.state, read.overdue), (ApprovalState::Pending, true));
}

async fn auto_approval_needs_a_delegation(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let actor = Actor::new(ActorKind::Agent, "coder").expect("an actor");
    let coder = keep.engine.acting_as(Caller { actor, ..Caller::local() });
    let asked = ask(&coder, thread, Fallback::AutoApprove, Duration::ZERO).await;
    assert_eq!(read(&keep, asked).await.state, ApprovalState::Denied, "nobody allowed it");
    let to = |name: &str| Transfer { to: Some(name.into()), ..Transfer::delegate([Capability::Deploy]) };
    keep.engine.transfer(thread, to("other")).await.expect("a delegation");
    let asked = ask(&coder, thread, Fallback::AutoApprove, Duration::ZERO).await;
    assert_eq!(read(&keep, asked).await.state, ApprovalState::Denied, "it was allowed to another agent");
    keep.engine.transfer(thread, to("coder")).await.expect("a delegation");
    let asked = ask(&coder, thread, Fallback::AutoApprove, Duration::ZERO).await;
    let approved = read(&keep, asked).await;
    assert!(approved.state == ApprovalState::Approved && approved.answered_by.is_some() && approved.timed_out);
}

async fn many_who_look_at_once_fire_each_once(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let timers: Vec<_> = (0..3).map(|_| tokio::spawn(keep.engine.clone().run_timers())).collect();
    let mut asked = Vec::new();
    for n in 0..40 {
        asked.push(ask(&keep.engine, thread, Fallback::Skip, Duration::from_millis(n * 10)).await);
    }
    let kinds = logged(&keep, thread, 1, 80).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "approval_answered").count(), 40);
    for id in asked {
        assert_eq!(read(&keep, id).await.state, ApprovalState::Denied);
    }
    assert_eq!(answers(&keep, thread).await, 40, "each once");
    timers.iter().for_each(tokio::task::JoinHandle::abort);
}

async fn an_undone_timeout_fires_once_it_is_brought_back(keep: Keep) {
    let (thread, other) = (keep.thread(&["a"]).await, keep.thread(&["a"]).await);
    let asked = ask(&keep.engine, thread, Fallback::Skip, SOON).await;
    keep.engine.rollback(thread, RollbackTo::Version(Position(1))).await.expect("a rollback");
    let timers = tokio::spawn(keep.engine.clone().run_timers());
    // Something that is due later fires, so what is due sooner was looked at.
    ask(&keep.engine, other, Fallback::Skip, SOON * 2).await;
    assert_eq!(logged(&keep, other, 1, 2).await, ["approval_requested", "approval_answered"]);
    assert_eq!(answers(&keep, thread).await, 0);
    assert_eq!(read(&keep, asked).await.state, ApprovalState::Pending);
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    assert_eq!(logged(&keep, thread, 1, 4).await.last().map(String::as_str), Some("approval_answered"));
    assert_eq!(read(&keep, asked).await.state, ApprovalState::Denied);
    assert_eq!(answers(&keep, thread).await, 1);
    timers.abort();
}
