//! Who works on a thread: assignment, skills, subagents, archive.

use threadkeep::{
    ActivateSkill, Archive, Archived, Assign, At, Child, Create, Delete, Error, Fork, Json, List, MessageBody,
    NotifyParent, ParentCommunication, RollbackTo, SetStatus, Skill, StartRun, Subagent, Thread, ThreadId, Truncate,
    TruncateFrom, Unarchive, Update, calls::Notified,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_thread_is_assigned_to_another_agent_and_its_history_stays,
    a_skill_is_activated_once_for_each_name,
    a_rollback_restores_agent_and_skills_and_undo_brings_them_back,
    a_fork_inherits_agent_and_skills_as_at_its_point,
    a_truncation_leaves_agent_and_skills_alone,
    archive_hides_and_unarchive_brings_back,
    a_subagent_is_registered_with_its_parent_in_one_commit,
    a_subagent_reports_to_its_parent,
    a_parent_reads_how_its_subagent_is,
    without_a_parent_nothing_is_told,
    a_deletion_names_the_subagent_that_is_being_written,
    deleting_a_thread_deletes_its_subagents_and_theirs,
    deleting_a_subagent_takes_it_out_of_the_registry,
    what_breaks_a_rule_is_refused,
    what_is_derived_of_agents_can_be_rebuilt,
);

fn skill(name: &str) -> ActivateSkill {
    ActivateSkill { skill: Skill { name: name.into(), arguments: None } }
}

fn subagent(name: &str) -> Subagent {
    Subagent { name: name.into(), description: "helps".into(), ..Subagent::default() }
}

async fn thread(keep: &Keep, id: ThreadId) -> Thread {
    keep.engine.thread(id).await.expect("a thread")
}

async fn state(keep: &Keep, id: ThreadId) -> String {
    let record = thread(keep, id).await.record;
    let skills: Vec<&str> = record.activated_skills.iter().map(|skill| skill.name.as_str()).collect();
    format!("{}: {}", record.agent_id.as_deref().unwrap_or("nobody"), skills.join(" "))
}

async fn children(keep: &Keep, id: ThreadId) -> Vec<Child> {
    keep.engine.children(id).await.expect("children")
}

async fn a_thread_is_assigned_to_another_agent_and_its_history_stays(keep: Keep) {
    let id = keep.thread(&["a"]).await;
    let assigned = keep.engine.assign(id, Assign::to("coder")).await.expect("an assignment");
    assert_eq!(assigned, thread(&keep, id).await, "what was answered is what is read");
    assert_eq!((state(&keep, id).await.as_str(), keep.shows(id).await.as_str()), ("coder: ", "a"));
    let again = keep.engine.assign(id, Assign::to("coder")).await.expect("the same again");
    assert_eq!(again.head.version, assigned.head.version, "changes nothing");
    let found = keep.engine.list(List { agent_id: Some("coder".into()), ..List::default() }).await.expect("a list");
    assert_eq!(found.items.len(), 1);
    keep.engine.update(id, Update::new().field("agentId", Json::string("tester"))).await.expect("an update");
    assert_eq!(state(&keep, id).await, "tester: ");
}

async fn a_skill_is_activated_once_for_each_name(keep: Keep) {
    let id = keep.thread(&[]).await;
    let arguments = Some(Json::parse("arguments", r#"{"pages":2}"#).expect("JSON"));
    let with = ActivateSkill { skill: Skill { name: "pdf".into(), arguments } };
    keep.engine.activate_skill(id, with).await.expect("a skill");
    let before = keep.engine.activate_skill(id, skill("web")).await.expect("a skill");
    let again = keep.engine.activate_skill(id, skill("pdf")).await.expect("active already");
    assert_eq!(again, before);
    let skills = thread(&keep, id).await.record.activated_skills;
    assert_eq!(skills.len(), 2);
    assert_eq!(skills[0].arguments.as_ref().map(Json::as_str), Some(r#"{"pages":2}"#), "the first arguments stay");
}

async fn a_rollback_restores_agent_and_skills_and_undo_brings_them_back(keep: Keep) {
    let create = Create::titled("T").field("agentId", Json::string("planner"));
    let id = keep.engine.create(create).await.expect("a thread").id;
    keep.engine.append(id, MessageBody::user("a")).await.expect("an append");
    let at_first = thread(&keep, id).await.head.version;
    keep.engine.assign(id, Assign::to("coder")).await.expect("an assignment");
    keep.engine.activate_skill(id, skill("pdf")).await.expect("a skill");
    let later = thread(&keep, id).await.head.version;
    keep.engine.append(id, MessageBody::user("b")).await.expect("an append");
    keep.engine.update(id, Update::new().field("agentId", Json::string("tester"))).await.expect("an update");
    keep.engine.activate_skill(id, skill("web")).await.expect("a skill");
    assert_eq!(state(&keep, id).await, "tester: pdf web");

    let back = keep.engine.rollback(id, RollbackTo::Version(later)).await.expect("a rollback");
    assert_eq!(back, thread(&keep, id).await, "what was answered is what is read");
    assert_eq!(state(&keep, id).await, "coder: pdf");
    keep.engine.rollback(id, RollbackTo::Version(at_first)).await.expect("a rollback");
    assert_eq!(state(&keep, id).await, "planner: ");
    keep.engine.rollback(id, RollbackTo::Undo).await.expect("an undo");
    assert_eq!(state(&keep, id).await, "coder: pdf");
    keep.engine.rollback(id, RollbackTo::Version(later)).await.expect("a rollback to what holds");
    assert_eq!(state(&keep, id).await, "coder: pdf");
    keep.engine.activate_skill(id, skill("new")).await.expect("a skill");
    assert_eq!(state(&keep, id).await, "coder: pdf new");
}

async fn a_fork_inherits_agent_and_skills_as_at_its_point(keep: Keep) {
    let create = Create::titled("T").field("agentId", Json::string("planner")).message(MessageBody::user("a"));
    let id = keep.engine.create(create).await.expect("a thread").id;
    keep.engine.activate_skill(id, skill("pdf")).await.expect("a skill");
    keep.engine.append(id, MessageBody::user("b")).await.expect("an append");
    keep.engine.assign(id, Assign::to("coder")).await.expect("an assignment");
    for (at, expected) in
        [(Fork::at_index(0), "planner: "), (Fork::at_index(1), "planner: pdf"), (Fork::default(), "coder: pdf")]
    {
        let child = keep.engine.fork(id, at).await.expect("a fork").id;
        assert_eq!(state(&keep, child).await, expected);
        // What the child changes from there, it can take back to where it began.
        keep.engine.activate_skill(child, skill("own")).await.expect("a skill");
        keep.engine.append(child, MessageBody::user("c")).await.expect("an append");
        let grandchild = keep.engine.fork(child, Fork::at_index(0)).await.expect("a fork").id;
        assert_eq!(state(&keep, grandchild).await, "planner: ");
        let began = threadkeep::Position(thread(&keep, child).await.head.version.0 - 3);
        keep.engine.rollback(child, RollbackTo::Version(began)).await.expect("a rollback");
        assert_eq!(state(&keep, child).await, expected);
    }
}

async fn a_truncation_leaves_agent_and_skills_alone(keep: Keep) {
    let id = keep.thread(&["a", "b"]).await;
    keep.engine.activate_skill(id, skill("pdf")).await.expect("a skill");
    keep.engine.assign(id, Assign::to("coder")).await.expect("an assignment");
    let truncate = Truncate { from: TruncateFrom::Index(1) };
    keep.engine.truncate(id, truncate).await.expect("a truncation");
    assert_eq!((state(&keep, id).await.as_str(), keep.shows(id).await.as_str()), ("coder: pdf", "a"));
    let child = keep.engine.fork(id, Fork::default()).await.expect("a fork").id;
    assert_eq!(state(&keep, child).await, "coder: pdf");
}

async fn archive_hides_and_unarchive_brings_back(keep: Keep) {
    let id = keep.thread(&[]).await;
    let listed =
        async |archived| keep.engine.list(List { archived, ..List::default() }).await.expect("a list").items.len();
    let hidden = keep.engine.archive(id, Archive::default()).await.expect("archived");
    assert!(hidden.record.archived);
    assert_eq!(keep.engine.archive(id, Archive::default()).await.expect("again"), hidden, "changes nothing");
    assert_eq!((listed(Archived::No).await, listed(Archived::Yes).await), (0, 1));
    keep.engine.append(id, MessageBody::user("still alive")).await.expect("an append");
    let back = keep.engine.unarchive(id, Unarchive::default()).await.expect("brought back");
    assert!(!back.record.archived);
    assert_eq!((listed(Archived::No).await, listed(Archived::Yes).await), (1, 0));
    let stale = At::of(id).expecting(threadkeep::Position(0));
    assert!(matches!(keep.engine.archive(stale, Archive {}).await, Err(Error::VersionConflict { .. })));
}

async fn a_subagent_is_registered_with_its_parent_in_one_commit(keep: Keep) {
    let create = Create::titled("Main").field("projectId", Json::string("p")).message(MessageBody::user("secret"));
    let parent = keep.engine.create(create).await.expect("a thread").id;
    let ask = Subagent {
        title: Some("Review".into()),
        agent_id: Some("reviewer".into()),
        resumable: Some(true),
        parent_communication: Some(ParentCommunication::Explicit),
        spawn_group_id: Some("g".into()),
        messages: vec![MessageBody::user("please").into()],
        ..subagent("critic")
    };
    let child = keep.engine.subagent(parent, ask).await.expect("a subagent").thread;
    assert_eq!(child, thread(&keep, child.id).await, "what was answered is what is read");
    let record = &child.record;
    assert_eq!((record.main_thread_id, record.parent_id), (Some(parent), Some(parent)));
    assert_eq!((record.agent_id.as_deref(), record.project_id.as_deref()), (Some("reviewer"), Some("p")));
    assert_eq!(keep.shows(child.id).await, "please", "it inherits no messages");
    let registered = children(&keep, parent).await;
    assert_eq!(registered.len(), 1);
    let entry = &registered[0];
    assert_eq!((entry.reference, entry.name.as_str(), entry.status.as_str()), (child.id, "critic", "created"));
    assert_eq!((entry.resumable, entry.blocking), (Some(true), None));
    assert_eq!(keep.engine.parent_thread(child.id).await.expect("a parent").map(|thread| thread.id), Some(parent));
    let found =
        keep.engine.child_thread(parent, threadkeep::ThreadName::Short(child.id.short())).await.expect("a child");
    assert_eq!(found.map(|thread| thread.id), Some(child.id));
    let other = keep.thread(&[]).await;
    assert_eq!(keep.engine.child_thread(parent, other.into()).await.expect("no child of it"), None);
    assert_eq!(keep.engine.child_thread(other, child.id.into()).await.expect("no child of it"), None);
    assert_eq!(keep.engine.parent_thread(parent).await.expect("no parent"), None);
}

async fn a_subagent_reports_to_its_parent(keep: Keep) {
    let parent = keep.thread(&["a"]).await;
    let child = keep.engine.subagent(parent, subagent("critic")).await.expect("a subagent").thread.id;
    let notify = |content: &str| NotifyParent { content: content.into(), ..Default::default() };
    let queued = keep.engine.notify_parent(child, notify("half of it")).await.expect("told").queued.expect("a parent");
    assert!(queued.queued_message.silent);
    assert_eq!(queued.queued_message.name.as_deref(), Some("critic"));
    let metadata = queued.queued_message.metadata.as_ref().expect("metadata").to_value();
    assert_eq!(metadata["subagent_id"], child.to_string());
    assert!(keep.engine.set_status(child, SetStatus { status: "running".into() }).await.expect("set").set);
    assert_eq!(children(&keep, parent).await[0].status, "running");
    assert_eq!(thread(&keep, child).await.record.status.as_deref(), Some("running"));
    keep.engine.start_run(parent, StartRun::caller()).await.expect("an execution");
    assert_eq!(keep.shows(parent).await, "a Subagent critic: running half of it");
    for blank in ["", " \n", "\0"] {
        keep.engine.notify_parent(child, notify(blank)).await.expect_err("blank");
        keep.engine.set_status(child, SetStatus { status: blank.into() }).await.expect_err("blank");
    }
}

async fn a_parent_reads_how_its_subagent_is(keep: Keep) {
    let parent = keep.thread(&["plan"]).await;
    let critic = threadkeep::Subagent { name: "critic".into(), ..Default::default() };
    let child = keep.engine.subagent(parent, critic).await.expect("a subagent").thread.id;
    let status = |status: &str| threadkeep::SetStatus { status: status.into() };
    keep.engine.set_status(child, status("working")).await.expect("a status");
    keep.engine.set_status(child, status("working")).await.expect("the same status");
    let shown = keep.engine.messages(parent, threadkeep::Page::first()).await.expect("a page").items;
    let told = shown.last().expect("a message").body().expect("a body");
    let metadata = told.metadata.expect("metadata").to_value();
    assert_eq!((shown.len(), told.role), (2, threadkeep::Role::System));
    let marks = ["status_kind", "subagent_id", "status"].map(|name| metadata[name].as_str().map(str::to_owned));
    assert_eq!(marks, ["subagent_status".to_owned(), child.to_string(), "working".to_owned()].map(Some));
    keep.engine.take_writer(parent, threadkeep::TakeWriter::default()).await.expect("a lease");
    keep.engine.call(child, threadkeep::Terminate {}).await.expect("no lease of the parent stops it");
    let waiting = keep.engine.queued(parent).await.expect("the queue");
    let told = &waiting.last().expect("a message").queued_message;
    assert!(told.silent && told.content.to_text().ends_with("terminated"), "it waits until the writer is done");
}

async fn a_deletion_names_the_subagent_that_is_being_written(keep: Keep) {
    let parent = keep.thread(&["plan"]).await;
    let critic = threadkeep::Subagent { name: "critic".into(), ..Default::default() };
    let child = keep.engine.subagent(parent, critic).await.expect("a subagent").thread.id;
    keep.engine.take_writer(child, threadkeep::TakeWriter::default()).await.expect("a lease");
    let refused = keep.engine.delete(parent, threadkeep::Delete::default()).await.expect_err("it is being written");
    assert_eq!(refused.code(), "writer_held");
    assert!(refused.to_string().contains(&child.to_string()), "{refused}");
}

async fn without_a_parent_nothing_is_told(keep: Keep) {
    let alone = keep.thread(&[]).await;
    let before = thread(&keep, alone).await;
    let told = keep
        .engine
        .notify_parent(alone, NotifyParent { content: "hello?".into(), ..Default::default() })
        .await
        .expect("no-op");
    assert_eq!(told, Notified { notified: false, queued: None });
    assert!(!keep.engine.set_status(alone, SetStatus { status: "lonely".into() }).await.expect("no-op").set);
    assert_eq!(thread(&keep, alone).await, before);
}

async fn deleting_a_thread_deletes_its_subagents_and_theirs(keep: Keep) {
    let main = keep.thread(&["a"]).await;
    let child = keep.engine.subagent(main, subagent("one")).await.expect("a subagent").thread.id;
    let other = keep.engine.subagent(main, subagent("two")).await.expect("a subagent").thread.id;
    let grandchild = keep.engine.subagent(child, subagent("three")).await.expect("a subagent").thread.id;
    let fork = keep.engine.fork(child, Fork::default()).await.expect("a fork").id;
    assert!(keep.engine.delete(main, Delete::default()).await.expect("a deletion"));
    for gone in [main, child, other, grandchild] {
        assert!(matches!(keep.engine.thread(gone).await, Err(Error::ThreadNotFound { .. })));
        keep.engine.append(gone, MessageBody::user("late")).await.expect_err("it stays deleted");
    }
    thread(&keep, fork).await;
    assert!(!keep.engine.delete(main, Delete::default()).await.expect("once more"), "deleting is idempotent");
}

async fn deleting_a_subagent_takes_it_out_of_the_registry(keep: Keep) {
    let main = keep.thread(&["a"]).await;
    let one = keep.engine.subagent(main, subagent("one")).await.expect("a subagent").thread.id;
    let two = keep.engine.subagent(main, subagent("two")).await.expect("a subagent").thread.id;
    keep.engine.delete(one, Delete::default()).await.expect("a deletion");
    let left: Vec<ThreadId> = children(&keep, main).await.iter().map(|child| child.reference).collect();
    assert_eq!(left, [two]);
    assert_eq!(keep.engine.child_thread(main, one.into()).await.expect("gone"), None);
    assert!(keep.engine.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a report").is_healthy());
}

async fn what_breaks_a_rule_is_refused(keep: Keep) {
    let id = keep.thread(&[]).await;
    for name in ["", "  ", "\0"] {
        keep.engine.assign(id, Assign::to(name)).await.expect_err("blank");
        keep.engine.activate_skill(id, skill(name)).await.expect_err("blank");
        keep.engine.subagent(id, subagent(name)).await.expect_err("blank");
    }
    let long = "x".repeat(5_000);
    keep.engine.activate_skill(id, skill(&long)).await.expect_err("too long");
    keep.engine.subagent(id, subagent(&long)).await.expect_err("too long");
    let unknown = ThreadId::from_bits(7);
    assert!(matches!(keep.engine.subagent(unknown, subagent("x")).await, Err(Error::ThreadNotFound { .. })));
    let late = At::of(id).expecting(threadkeep::Position(9));
    assert!(matches!(keep.engine.activate_skill(late, skill("pdf")).await, Err(Error::VersionConflict { .. })));
    assert_eq!(thread(&keep, id).await.head.version, threadkeep::Position(0), "nothing was written");
}

async fn what_is_derived_of_agents_can_be_rebuilt(keep: Keep) {
    let main = keep.thread(&["a"]).await;
    let child = keep.engine.subagent(main, subagent("one")).await.expect("a subagent").thread.id;
    keep.engine.set_status(child, SetStatus { status: "running".into() }).await.expect("set");
    keep.engine.activate_skill(main, skill("pdf")).await.expect("a skill");
    keep.engine.assign(main, Assign::to("coder")).await.expect("an assignment");
    let first = threadkeep::Position(1);
    keep.engine.rollback(main, RollbackTo::Version(first)).await.expect("a rollback");
    keep.engine.rollback(main, RollbackTo::Undo).await.expect("an undo");
    keep.engine.start_run(main, StartRun::caller()).await.expect("an execution");
    let quiet = || std::sync::Arc::new(|_: &str, _, _| {});
    let report = keep.engine.doctor(quiet()).await.expect("a report");
    assert!(report.is_healthy(), "{report:?}");
    let before = (thread(&keep, main).await, thread(&keep, child).await, children(&keep, main).await);
    keep.engine.repair(quiet()).await.expect("a rebuild");
    let after = (thread(&keep, main).await, thread(&keep, child).await, children(&keep, main).await);
    assert_eq!(before, after);
}
