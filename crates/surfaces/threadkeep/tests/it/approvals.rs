//! Approvals and delegations: who asks, who answers, once, and what an agent may do.

use std::time::Duration;

use threadkeep::{
    Actor, ActorKind, Approval, ApprovalState, Approve, At, Caller, Capability, DeleteFile, Deny, Engine, Error,
    Fallback, FilePath, Find, Json, LifecycleAction, ListApprovals, ListedState, MakeDirectory, MessageBody, MoveFile,
    NewFile, Position, RemoveDirectory, RevokeApproval, RevokeDelegation, RollbackTo, SetValue, ThreadId, ThreadName,
    Transfer, Uuid,
};

use crate::{Keep, on_every_store};

on_every_store!(
    an_approval_is_asked_listed_and_answered_once,
    whoever_asked_withdraws_and_a_human_takes_back,
    an_agent_needs_a_delegation_or_an_approval,
    the_same_agent_is_told_of_the_same_pending_approval,
    a_delegation_names_agents_and_ends,
    what_a_rollback_undid_does_not_hold_until_that_is_undone,
    approvals_of_other_accounts_are_unknown,
    lists_go_through_all_threads_in_order,
    an_approval_passes_a_writer_and_what_is_wrong_is_refused,
    what_a_former_owner_allowed_is_not_allowed_by_the_next,
    an_agent_changes_files_only_where_it_may,
    nobody_is_asked_to_allow_what_a_closed_thread_refuses,
);

fn agent(keep: &Keep, name: &str) -> Engine {
    let actor = Actor::new(ActorKind::Agent, name).expect("an actor");
    keep.engine.acting_as(Caller { actor, ..Caller::local() })
}

fn asking(capability: Capability) -> Transfer {
    Transfer::request_approval([capability])
}

async fn ask(engine: &Engine, thread: ThreadId, transfer: Transfer) -> Approval {
    let made = engine.transfer(thread, transfer).await.expect("an approval");
    assert_eq!(made.delegation_id, None);
    engine.approval(made.approval_id.expect("an approval")).await.expect("an approval")
}

async fn give(engine: &Engine, thread: ThreadId, transfer: Transfer) -> Uuid {
    let made = engine.transfer(thread, transfer).await.expect("a delegation");
    assert_eq!(made.approval_id, None);
    made.delegation_id.expect("a delegation")
}

fn yes(approval: Uuid) -> Approve {
    Approve { approval, reason: Some("because".into()) }
}

fn no(approval: Uuid) -> Deny {
    Deny { approval, reason: Some("because".into()) }
}

fn back(approval: Uuid) -> RevokeApproval {
    RevokeApproval { approval, reason: Some("because".into()) }
}

fn revoked(delegation: Uuid) -> RevokeDelegation {
    RevokeDelegation { delegation, reason: Some("because".into()) }
}

async fn pending(engine: &Engine) -> Vec<Uuid> {
    let asked = ListApprovals { state: Some(ListedState::Pending), ..ListApprovals::default() };
    engine.approvals(asked).await.expect("a page").items.iter().map(|approval| approval.id).collect()
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.expect_err("refused").code()
}

async fn an_approval_is_asked_listed_and_answered_once(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let coder = agent(&keep, "coder");
    let transfer = Transfer { reason: Some("it is old".into()), ..asking(Capability::DeleteFile) };
    let asked = ask(&coder, thread, transfer).await;
    let id = asked.id;
    assert_eq!(keep.engine.approval(id).await.expect("an approval"), asked, "what was answered is what is read");
    assert_eq!(pending(&keep.engine).await, [id]);
    assert_eq!(code(coder.approve(At::none(), yes(id)).await), "forbidden", "nobody approves what they asked");
    let approved = keep.engine.approve(At::none(), yes(id)).await.expect("an answer");
    let read = keep.engine.approval(id).await.expect("an approval");
    assert_eq!(read, approved);
    let by = read.answered_by.expect("an answer");
    assert_eq!((by.name.as_str(), read.answer_reason.as_deref(), read.timed_out), ("local", Some("because"), false));
    for second in [keep.engine.approve(At::none(), yes(id)).await, keep.engine.deny(At::none(), no(id)).await] {
        let second = second.expect_err("answered");
        assert_eq!(second.code(), "approval_answered");
        assert!(second.to_string().contains("approved") && second.to_string().contains("local"), "{second}");
    }
    assert!(pending(&keep.engine).await.is_empty());
    let kinds: Vec<&str> = keep
        .engine
        .history(thread, Position(1), 9)
        .await
        .expect("a history")
        .iter()
        .map(|entry| entry.kind.as_str())
        .collect();
    assert_eq!(kinds, ["approval_requested", "approval_answered"]);
}

async fn whoever_asked_withdraws_and_a_human_takes_back(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let (coder, other) = (agent(&keep, "coder"), agent(&keep, "other"));
    let first = ask(&coder, thread, asking(Capability::Deploy)).await.id;
    assert_eq!(code(other.revoke_approval(At::none(), back(first)).await), "forbidden");
    let withdrawn = coder.revoke_approval(At::none(), back(first)).await.expect("withdrawn");
    assert_eq!(withdrawn.state, ApprovalState::Revoked);
    let second = ask(&coder, thread, asking(Capability::Deploy)).await.id;
    keep.engine.approve(At::none(), yes(second)).await.expect("approved");
    coder.authorize(thread, Capability::Deploy).await.expect("authority");
    assert_eq!(code(coder.revoke_approval(At::none(), back(second)).await), "forbidden");
    keep.engine.revoke_approval(At::none(), back(second)).await.expect("taken back");
    assert_eq!(code(coder.authorize(thread, Capability::Deploy).await), "approval_required");
    let for_good = Transfer { can_revoke: Some(false), ..asking(Capability::CodeEdit) };
    let third = ask(&coder, thread, for_good).await.id;
    keep.engine.approve(At::none(), yes(third)).await.expect("approved");
    assert_eq!(code(keep.engine.revoke_approval(At::none(), back(third)).await), "forbidden");
}

async fn an_agent_needs_a_delegation_or_an_approval(keep: Keep) {
    let (thread, elsewhere) = (keep.thread(&["a"]).await, keep.thread(&["a"]).await);
    let (coder, other) = (agent(&keep, "coder"), agent(&keep, "other"));
    for capability in Capability::STANDARD {
        keep.engine.authorize(thread, capability).await.expect("humans may");
    }
    for auto in [Capability::Read, Capability::Search, Capability::Analyze, Capability::TestRun] {
        coder.authorize(thread, auto).await.expect("nobody has to be asked");
    }
    let Err(Error::ApprovalRequired { approval, .. }) = coder.authorize(thread, Capability::CodeEdit).await else {
        panic!("an approval is needed")
    };
    let asked = keep.engine.approval(approval).await.expect("an approval");
    assert_eq!((asked.scope.as_slice(), asked.asked_by.name.as_str()), (&[Capability::CodeEdit][..], "coder"));
    keep.engine.deny(At::none(), no(approval)).await.expect("denied");
    let Err(Error::ApprovalRequired { approval: again, .. }) = coder.authorize(thread, Capability::CodeEdit).await
    else {
        panic!("it was denied")
    };
    assert_ne!(again, approval);
    keep.engine.approve(At::none(), yes(again)).await.expect("approved");
    coder.authorize(thread, Capability::CodeEdit).await.expect("it was approved");
    assert_eq!(code(other.authorize(thread, Capability::CodeEdit).await), "approval_required", "another agent");
    assert_eq!(code(coder.authorize(elsewhere, Capability::CodeEdit).await), "approval_required", "another thread");
    assert_eq!(code(coder.authorize(thread, Capability::DeleteFile).await), "approval_required", "something else");
    let tool = Capability::Tool("web.fetch".into());
    assert_eq!(code(coder.authorize(thread, tool.clone()).await), "approval_required");
    give(&keep.engine, thread, Transfer::delegate([tool.clone(), Capability::DeleteFile])).await;
    coder.authorize(thread, tool).await.expect("it was delegated");
    other.authorize(thread, Capability::DeleteFile).await.expect("to every agent");
}

async fn the_same_agent_is_told_of_the_same_pending_approval(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let coder = agent(&keep, "coder");
    let tries: Vec<_> = (0..8)
        .map(|_| {
            let coder = coder.clone();
            tokio::spawn(async move { coder.authorize(thread, Capability::ExecuteCommand).await })
        })
        .collect();
    let mut told = Vec::new();
    for tried in tries {
        match tried.await.expect("no panic") {
            Err(Error::ApprovalRequired { approval, .. }) => told.push(approval),
            other => panic!("{other:?}"),
        }
    }
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(pending(&keep.engine).await, told);
}

async fn a_delegation_names_agents_and_ends(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let (coder, other) = (agent(&keep, "coder"), agent(&keep, "other"));
    assert_eq!(code(coder.transfer(thread, Transfer::delegate([Capability::Deploy])).await), "forbidden");
    let to_coder = Transfer { to: Some("coder".into()), ..Transfer::delegate([Capability::CodeEdit]) };
    let given = give(&keep.engine, thread, to_coder).await;
    coder.authorize(thread, Capability::CodeEdit).await.expect("it was delegated");
    assert_eq!(code(other.authorize(thread, Capability::CodeEdit).await), "approval_required");
    let over = Transfer { timeout: Some(Duration::ZERO), ..Transfer::delegate([Capability::Deploy]) };
    give(&keep.engine, thread, over).await;
    assert_eq!(code(coder.authorize(thread, Capability::Deploy).await), "approval_required", "its time is over");
    let held: Vec<Uuid> = delegations(&keep, thread).await;
    assert_eq!(held, [given]);
    assert_eq!(code(coder.revoke_delegation(At::none(), revoked(given)).await), "forbidden");
    keep.engine.revoke_delegation(At::none(), revoked(given)).await.expect("revoked");
    assert_eq!(code(keep.engine.revoke_delegation(At::none(), revoked(given)).await), "delegation_not_found");
    assert_eq!(code(coder.authorize(thread, Capability::CodeEdit).await), "approval_required");
    assert!(delegations(&keep, thread).await.is_empty());
    // An agent to whom it was delegated answers merges, and nothing else.
    let judge = agent(&keep, "judge");
    let (merge, deploy) = (
        ask(&coder, thread, asking(Capability::ApproveMerge)).await,
        ask(&coder, thread, asking(Capability::Deploy)).await,
    );
    assert_eq!(code(judge.approve(At::none(), yes(merge.id)).await), "forbidden");
    give(&keep.engine, thread, Transfer { to: Some("judge".into()), ..Transfer::delegate([Capability::ApproveMerge]) })
        .await;
    assert_eq!(code(judge.approve(At::none(), yes(deploy.id)).await), "forbidden");
    judge.approve(At::none(), yes(merge.id)).await.expect("a merge is approved");
}

async fn delegations(keep: &Keep, thread: ThreadId) -> Vec<Uuid> {
    let held = keep.engine.delegations(thread).await.expect("delegations");
    held.iter().map(|given| given.id).collect()
}

async fn what_a_rollback_undid_does_not_hold_until_that_is_undone(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let coder = agent(&keep, "coder");
    let before = keep.engine.thread(thread).await.expect("a thread").head.version;
    let asked = ask(&coder, thread, asking(Capability::Deploy)).await.id;
    give(&keep.engine, thread, Transfer::delegate([Capability::CodeEdit])).await;
    keep.engine.rollback(thread, RollbackTo::Version(before)).await.expect("a rollback");
    assert!(pending(&keep.engine).await.is_empty());
    assert!(!keep.engine.approval(asked).await.expect("an approval").holds);
    assert_eq!(code(keep.engine.approve(At::none(), yes(asked)).await), "approval_undone");
    assert_eq!(code(coder.authorize(thread, Capability::CodeEdit).await), "approval_required");
    assert!(delegations(&keep, thread).await.is_empty());
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    assert_eq!(pending(&keep.engine).await, [asked], "the one that was asked in between is undone");
    keep.engine.approve(At::none(), yes(asked)).await.expect("it holds again");
    coder.authorize(thread, Capability::CodeEdit).await.expect("so does the delegation");
    // What was answered stays answered: only what asked is rewound.
    let now = keep.engine.thread(thread).await.expect("a thread").head.version;
    keep.engine.rollback(thread, RollbackTo::Version(Position(now.0 - 1))).await.expect("a rollback");
    assert_eq!(keep.engine.approval(asked).await.expect("an approval").state, ApprovalState::Approved);
}

async fn approvals_of_other_accounts_are_unknown(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let asked = ask(&keep.engine, thread, asking(Capability::Deploy)).await.id;
    let given = give(&keep.engine, thread, Transfer::delegate([Capability::Deploy])).await;
    let stranger = Caller { account: threadkeep::Account::new("stranger").expect("an account"), ..Caller::local() };
    let stranger = keep.engine.acting_as(stranger);
    assert_eq!(code(stranger.approval(asked).await), "approval_not_found");
    assert_eq!(code(stranger.approve(At::none(), yes(asked)).await), "approval_not_found");
    assert_eq!(code(stranger.revoke_delegation(At::none(), revoked(given)).await), "delegation_not_found");
    assert!(pending(&stranger).await.is_empty());
    assert_eq!(code(stranger.delegations(thread).await), "thread_not_found");
    let actor = Actor::new(ActorKind::Agent, "coder").expect("an actor");
    let theirs = stranger.acting_as(Caller { actor, ..stranger.caller().clone() });
    assert_eq!(code(theirs.authorize(thread, Capability::Deploy).await), "thread_not_found");
}

async fn what_a_former_owner_allowed_is_not_allowed_by_the_next(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let coder = agent(&keep, "coder");
    give(&keep.engine, thread, Transfer::delegate([Capability::CodeEdit])).await;
    let asked = ask(&coder, thread, asking(Capability::Deploy)).await.id;
    keep.engine.approve(At::none(), yes(asked)).await.expect("approved");
    let waits = ask(&coder, thread, asking(Capability::DeleteFile)).await.id;
    let bob = threadkeep::Account::new("bob").expect("an account");
    let given = threadkeep::ChangeOwner { account: bob.clone() };
    keep.engine.change_owner(thread, given).await.expect("given away");
    let human = keep.engine.acting_as(Caller { account: bob.clone(), ..Caller::local() });
    let theirs = keep.engine.acting_as(Caller { account: bob, ..coder.caller().clone() });
    for capability in [Capability::CodeEdit, Capability::Deploy] {
        assert_eq!(code(theirs.authorize(thread, capability).await), "approval_required");
    }
    assert!(human.delegations(thread).await.expect("delegations").is_empty());
    human.deny(At::none(), no(waits)).await.expect("what waits goes along");
}

async fn lists_go_through_all_threads_in_order(keep: Keep) {
    let threads = [keep.thread(&[]).await, keep.thread(&[]).await, keep.thread(&[]).await];
    let mut all = Vec::new();
    for n in 0..12 {
        all.push(ask(&keep.engine, threads[n % 3], asking(Capability::Deploy)).await.id);
    }
    for id in &all[..3] {
        keep.engine.deny(At::none(), no(*id)).await.expect("denied");
    }
    let page = async |state, thread: Option<ThreadId>, cursor| {
        let thread_id = thread.map(ThreadName::Full);
        let asked = ListApprovals { state: Some(state), thread_id, limit: Some(4), cursor };
        let page = keep.engine.approvals(asked).await.expect("a page");
        (page.items.iter().map(|approval| approval.id).collect::<Vec<_>>(), page.next_cursor)
    };
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let (some, next) = page(ListedState::All, None, cursor).await;
        assert!(some.len() <= 4);
        seen.extend(some);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, all);
    assert_eq!(page(ListedState::Denied, None, None).await.0, all[..3]);
    assert_eq!(page(ListedState::Pending, Some(threads[1]), None).await.0, [all[4], all[7], all[10]]);
    let wrong = ListApprovals { cursor: Some("x".into()), ..ListApprovals::default() };
    assert_eq!(code(keep.engine.approvals(wrong).await), "invalid_cursor");
    keep.engine.delete(threads[0], threadkeep::Delete::default()).await.expect("deleted");
    assert_eq!(code(keep.engine.approval(all[3]).await), "approval_not_found", "it goes with its thread");
}

async fn an_approval_passes_a_writer_and_what_is_wrong_is_refused(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    keep.engine.take_writer(thread, threadkeep::TakeWriter::default()).await.expect("a lease");
    assert_eq!(code(keep.engine.append(thread, MessageBody::user("b")).await), "writer_held");
    let asked = ask(&keep.engine, thread, asking(Capability::Deploy)).await.id;
    keep.engine.approve(At::none(), yes(asked)).await.expect("an answer needs no lease");
    for wrong in [
        Transfer::request_approval([]),
        Transfer { to: Some("x".into()), ..asking(Capability::Deploy) },
        Transfer { fallback: Some(Fallback::Skip), ..Transfer::delegate([Capability::Deploy]) },
        Transfer { to: Some(" ".into()), ..Transfer::delegate([Capability::Deploy]) },
        Transfer { reason: Some("x".repeat(5_000)), ..asking(Capability::Deploy) },
    ] {
        assert_eq!(code(keep.engine.transfer(thread, wrong).await), "invalid_body");
    }
    let unknown: Uuid = "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid");
    assert_eq!(code(keep.engine.revoke_approval(At::none(), back(unknown)).await), "approval_not_found");
    assert!(keep.engine.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a report").is_healthy());
}

/// The approval that a refusal names.
fn needed<T: std::fmt::Debug>(result: Result<T, Error>) -> Uuid {
    match result.expect_err("nobody allowed it") {
        Error::ApprovalRequired { approval, .. } => approval,
        other => panic!("{other}"),
    }
}

async fn an_agent_changes_files_only_where_it_may(keep: Keep) {
    let (thread, engine) = (keep.thread(&["a"]).await, &keep.engine);
    let coder = agent(&keep, "coder");
    let path = |text: &str| text.parse::<FilePath>().expect("a path");
    let file = |text: &str| NewFile::new("a.txt", text.to_owned()).expect("a file");
    let said = |engine: &Engine| {
        let (engine, path) = (engine.clone(), path("a.txt"));
        async move { engine.read_file(thread, &path, None).await.expect("a read") }
    };
    let remove = || RemoveDirectory { path: path("e") };
    engine.make_directory(thread, MakeDirectory { path: path("e") }).await.expect("humans may");
    let before = engine.write_file(thread, file("one")).await.expect("humans may").version.expect("a version");
    assert_eq!(said(&coder).await.as_deref(), Some(&b"one"[..]), "nobody is asked for reading");
    let (found, _) = coder.find(thread, Find { glob: "*".into(), ..Find::default() }).await.expect("nor for searching");
    assert_eq!(found, [path("a.txt")]);
    let edit = needed(coder.write_file(thread, file("two")).await);
    let moving = |to: &str| MoveFile { from: path("a.txt"), to: path(to) };
    let make = || MakeDirectory { path: path("d") };
    let back = || RollbackTo::ArtifactVersion(threadkeep::ArtifactVersion { path: path("a.txt"), version: before });
    assert_eq!(needed(coder.move_file(thread, moving("b.txt")).await), edit, "the same authority, asked for once");
    assert_eq!(needed(coder.make_directory(thread, make()).await), edit);
    assert_eq!(needed(coder.rollback(thread, back()).await), edit);
    let delete = || DeleteFile { path: path("a.txt") };
    let gone = needed(coder.delete_file(thread, delete()).await);
    assert_eq!(needed(coder.remove_directory(thread, remove()).await), gone);
    assert_ne!(edit, gone);
    let history = engine.history(thread, before, 9).await.expect("a history");
    let kinds: Vec<&str> = history.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["approval_requested"; 2], "nothing was written");
    assert_eq!(said(engine).await.as_deref(), Some(&b"one"[..]));
    let value = SetValue::new("k", Json::string("v")).expect("a value");
    coder.set_value(thread, value).await.expect("values need none");

    engine.approve(At::none(), yes(edit)).await.expect("approved");
    coder.write_file(thread, file("two")).await.expect("it was approved");
    coder.rollback(thread, back()).await.expect("so is this");
    assert_eq!(said(engine).await.as_deref(), Some(&b"one"[..]));
    coder.make_directory(thread, make()).await.expect("and this");
    coder.move_file(thread, moving("d/a.txt")).await.expect("a move edits");
    coder.move_file(thread, MoveFile { from: path("d/a.txt"), to: path("a.txt") }).await.expect("back");
    assert_eq!(needed(coder.delete_file(thread, delete()).await), gone, "deleting is something else");
    give(engine, thread, Transfer::delegate([Capability::DeleteFile])).await;
    assert!(coder.delete_file(thread, delete()).await.expect("it was delegated"));
    assert!(coder.remove_directory(thread, remove()).await.expect("it was delegated"));
}

async fn nobody_is_asked_to_allow_what_a_closed_thread_refuses(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    keep.engine.lifecycle(thread, LifecycleAction::Done).await.expect("done");
    let file = NewFile::new("a.txt", "one").expect("a file");
    assert_eq!(code(agent(&keep, "coder").write_file(thread, file).await), "thread_closed");
    assert!(pending(&keep.engine).await.is_empty());
}
