//! Threads for an intent of their own, with all, some or nothing of what their parent holds.

use threadkeep::model::RelationKind;
use threadkeep::{
    ActivateSkill, Assign, Caller, Content, Create, Delete, EditMessage, Error, Fork, ForkPoint, Inherit, InheritItem,
    Json, LifecycleAction, List, MessageBody, MessageId, NewFile, Part, Position, Role, RollbackTo, SetValue, Skill,
    Spawn, StepName, Thread, ThreadId, Truncate, TruncateFrom, Update,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_thread_is_spawned_with_everything_and_goes_its_own_way,
    a_thread_is_spawned_with_nothing,
    a_thread_is_spawned_with_what_its_scope_names,
    the_last_messages_are_copied_and_their_open_calls_closed,
    a_call_without_a_result_is_closed_in_the_spawned_thread,
    a_spawned_thread_is_seen_in_the_family_from_both_sides_until_it_is_undone,
    a_spawned_thread_keeps_its_agent_and_skills_when_it_is_rolled_back,
    a_fork_of_what_a_spawned_thread_was_at_first_has_its_first_agent,
    what_a_spawned_thread_was_given_is_there_as_of_its_birth,
    a_fork_is_rolled_back_to_the_agent_it_was_made_with,
    a_fork_at_what_a_spawned_thread_inherited_is_rolled_back_to_the_agent_of_that_thread,
    a_scope_that_breaks_a_rule_is_refused_and_nothing_is_made,
    spawning_goes_on_whatever_state_the_parent_is_in,
    files_and_values_are_inherited_whole_in_part_or_not_at_all,
    a_rollback_to_a_step_shows_it_with_its_results,
    a_step_is_found_in_what_is_inherited_and_after_a_rollback,
);

async fn spawn(keep: &Keep, parent: ThreadId, inherit: Inherit) -> Thread {
    keep.engine.spawn(parent, Spawn::new("Fix it\nsoon").inherit(inherit)).await.expect("a thread")
}

fn partial(items: &[InheritItem]) -> Inherit {
    Inherit::Partial(items.to_vec())
}

/// A parent with an agent, a skill, a project and a workspace.
async fn parent(keep: &Keep) -> ThreadId {
    let env = Json::parse("env", r#"{"initial":{"tags":["t"]}}"#).expect("json");
    let create = Create::titled("P").field("agentId", Json::string("coder")).field("env", env);
    let create = create.field("projectId", Json::string("p"));
    let create = ["a", "b", "c"].iter().fold(create, |create, text| create.message(MessageBody::user(text)));
    let thread = keep.engine.create(create).await.expect("a thread").id;
    let skill = Skill { name: "pdf".into(), arguments: None };
    keep.engine.activate_skill(thread, ActivateSkill { skill }).await.expect("a skill");
    thread
}

fn skills(thread: &Thread) -> Vec<&str> {
    thread.record.activated_skills.iter().map(|skill| skill.name.as_str()).collect()
}

async fn a_thread_is_spawned_with_everything_and_goes_its_own_way(keep: Keep) {
    let parent = parent(&keep).await;
    let ids = keep.ids(parent).await;
    let child = spawn(&keep, parent, Inherit::Full).await;
    let record = &child.record;
    assert_eq!((record.title.as_deref(), record.intent.as_deref()), (Some("Fix it"), Some("Fix it\nsoon")));
    assert_eq!((record.parent_id, record.origin_thread_id), (Some(parent), None));
    assert_eq!((record.agent_id.as_deref(), record.project_id.as_deref()), (Some("coder"), Some("p")));
    assert_eq!((skills(&child), record.env.is_some()), (vec!["pdf"], true));
    assert_eq!(keep.engine.thread(child.id).await.expect("the thread"), child, "what is answered is what is read");
    assert_eq!((keep.shows(child.id).await.as_str(), keep.ids(child.id).await), ("a b c", ids.clone()));
    // A snapshot: nothing that happens to the parent later reaches the child, nor the other way round.
    let edit = EditMessage::content(ids[0], Content::text("A"));
    keep.engine.edit_message(parent, edit).await.expect("an edit");
    keep.engine.append(parent, MessageBody::user("d")).await.expect("an append");
    keep.engine.append(child.id, MessageBody::user("x")).await.expect("an append");
    assert_eq!((keep.shows(parent).await.as_str(), keep.shows(child.id).await.as_str()), ("A b c d", "a b c x"));
    keep.engine.delete(parent, Delete::default()).await.expect("a deletion");
    keep.engine.gc(false, std::sync::Arc::new(|_, _, _| {})).await.expect("gc");
    assert_eq!(keep.shows(child.id).await, "a b c x", "it outlives its parent");
}

async fn a_thread_is_spawned_with_nothing(keep: Keep) {
    let parent = parent(&keep).await;
    let child = spawn(&keep, parent, Inherit::None).await;
    assert_eq!((child.head.version, keep.shows(child.id).await.as_str()), (Position(0), ""));
    assert_eq!((skills(&child), child.record.env.is_none(), child.record.parent_id), (vec![], true, Some(parent)));
    let to_writer = Spawn { agent_id: Some("writer".into()), ..Spawn::new("x") };
    let other = keep.engine.spawn(parent, to_writer).await.expect("a thread");
    assert_eq!(other.record.agent_id.as_deref(), Some("writer"));
    let under = List { parent_id: Some(parent), ..List::default() };
    assert_eq!(keep.engine.list(under).await.expect("a list").items.len(), 2, "lists find them by their parent");
}

async fn a_thread_is_spawned_with_what_its_scope_names(keep: Keep) {
    let parent = parent(&keep).await;
    let ids = keep.ids(parent).await;
    let child = spawn(&keep, parent, partial(&[InheritItem::Messages])).await;
    assert_eq!((keep.shows(child.id).await.as_str(), keep.ids(child.id).await), ("a b c", ids));
    assert_eq!((skills(&child), child.record.env.is_none()), (vec![], true));
    let child = spawn(&keep, parent, partial(&[InheritItem::Skills, InheritItem::Env])).await;
    assert_eq!((keep.shows(child.id).await.as_str(), skills(&child)), ("", vec!["pdf"]));
    assert!(child.record.env.is_some());
    let all = [InheritItem::Messages, "files:**".parse().expect("an item"), "kv:".parse().expect("an item")];
    let child = spawn(&keep, parent, partial(&all)).await;
    assert_eq!(keep.shows(child.id).await, "a b c");
    let quiet = || std::sync::Arc::new(|_: &str, _, _| {});
    let healthy = keep.engine.doctor(quiet()).await.expect("a report");
    assert!(healthy.is_healthy(), "{healthy:?}");
    keep.engine.repair(quiet()).await.expect("a rebuild");
    assert_eq!(keep.engine.thread(child.id).await.expect("the thread"), child);
}

fn call(id: &str) -> MessageBody {
    let part = Part::ToolUse { id: id.into(), name: "sh".into(), input: serde_json::json!({}) };
    MessageBody::with_content(Role::Assistant, Content::parts(&[part]).expect("parts"))
}

fn result(id: &str) -> MessageBody {
    let content = serde_json::Value::String(format!("result {id}"));
    let part = Part::ToolResult { tool_use_id: id.into(), content, is_error: false };
    MessageBody::with_content(Role::Tool, Content::parts(&[part]).expect("parts"))
}

async fn the_last_messages_are_copied_and_their_open_calls_closed(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let last = |count| partial(&[InheritItem::LastMessages(count)]);
    let child = spawn(&keep, thread, last(2)).await;
    assert_eq!((child.head.version, keep.shows(child.id).await.as_str()), (Position(2), "b c"));
    assert_ne!(keep.ids(child.id).await, keep.ids(thread).await[1..], "copies have ids of their own");
    assert_eq!(keep.shows(spawn(&keep, thread, last(9)).await.id).await, "a b c");
    keep.engine.append(thread, call("1")).await.expect("a call");
    let child = spawn(&keep, thread, partial(&[InheritItem::LastMessages(2), "files".parse().expect("an item")])).await;
    let given = keep.engine.model_messages(child.id, None).await.expect("messages");
    assert_eq!(given.iter().map(|message| message.role).collect::<Vec<_>>(), [Role::User, Role::Assistant, Role::Tool]);
    assert_eq!(keep.ids(child.id).await.len(), 3, "the call was closed in the log");
    let deleted = threadkeep::DeleteMessage { message: keep.ids(thread).await[2].into() };
    keep.engine.delete_message(thread, deleted).await.expect("a deletion");
    let shown = spawn(&keep, thread, last(3)).await;
    assert!(keep.shows(shown.id).await.starts_with("a b "), "what is not shown is not copied");
}

async fn a_call_without_a_result_is_closed_in_the_spawned_thread(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    keep.engine.append(thread, call("1")).await.expect("a call");
    for inherit in [Inherit::Full, partial(&[InheritItem::Messages])] {
        let child = spawn(&keep, thread, inherit).await;
        let page = keep.engine.messages(child.id, threadkeep::Page::first()).await.expect("a page").items;
        let last = page.last().expect("a message").body().expect("a body");
        assert_eq!((page.len(), last.role), (3, Role::Tool));
        assert_eq!(last.metadata.expect("metadata").as_str(), r#"{"repair":"spawn"}"#);
    }
    assert_eq!(keep.ids(thread).await.len(), 2, "the parent still waits for its result");
}

async fn a_spawned_thread_is_seen_in_the_family_from_both_sides_until_it_is_undone(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let before = keep.engine.thread(thread).await.expect("the thread").head.version;
    let child = spawn(&keep, thread, Inherit::Full).await.id;
    let seen = async |from: ThreadId| {
        let family = keep.engine.family(from).await.expect("a family");
        let relations: Vec<_> = family.relations.iter().map(|one| (one.parent, one.child, one.kind)).collect();
        (family.threads.len(), relations)
    };
    let held = (2, vec![(thread, child, RelationKind::Spawn)]);
    assert_eq!((seen(thread).await, seen(child).await), (held.clone(), held.clone()));
    for side in [thread, child] {
        assert!(keep.engine.relationships(side).await.expect("relations").is_empty(), "5.1 knows no spawns");
    }
    keep.engine.rollback(thread, RollbackTo::Version(before)).await.expect("a rollback");
    assert_eq!(seen(thread).await, (1, vec![]), "what was undone does not hold");
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    assert_eq!(seen(thread).await, held);
    let truncate = Truncate { from: TruncateFrom::Index(0) };
    keep.engine.truncate(thread, truncate).await.expect("a truncation");
    assert_eq!(seen(thread).await, (1, vec![]), "it was made at a message that is gone");
    assert_eq!(keep.engine.parent_thread(child).await.expect("a parent").map(|parent| parent.id), Some(thread));
    let stranger = Caller { account: threadkeep::Account::new("bob").expect("an account"), ..Caller::local() };
    let public = Update::new().field("visibility", Json::string("public"));
    keep.engine.update(thread, public).await.expect("published");
    let refused = keep.engine.acting_as(stranger).spawn(thread, Spawn::new("x")).await.expect_err("not theirs");
    assert!(matches!(refused, Error::ThreadNotFound { .. }), "visitors fork, and do not spawn: {refused}");
}

async fn a_spawned_thread_keeps_its_agent_and_skills_when_it_is_rolled_back(keep: Keep) {
    let parent = parent(&keep).await;
    for inherit in [Inherit::Full, partial(&[InheritItem::Messages]), partial(&[InheritItem::Skills]), Inherit::None] {
        let spawned = Spawn { agent_id: Some("writer".into()), ..Spawn::new("x").inherit(inherit.clone()) };
        let child = keep.engine.spawn(parent, spawned).await.expect("a thread");
        keep.engine.append(child.id, MessageBody::user("x")).await.expect("an append");
        keep.engine.assign(child.id, Assign::to("other")).await.expect("assigned");
        let back = keep.engine.rollback(child.id, RollbackTo::Version(child.head.version)).await.expect("a rollback");
        assert_eq!(back.record.agent_id.as_deref(), Some("writer"), "{inherit:?}");
        assert_eq!(skills(&back), skills(&child), "{inherit:?}");
    }
}

async fn a_scope_that_breaks_a_rule_is_refused_and_nothing_is_made(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let before = keep.engine.thread(thread).await.expect("the thread");
    for (inherit, word) in [
        (partial(&[]), "names what is inherited"),
        (partial(&[InheritItem::Messages, InheritItem::LastMessages(1)]), "more than once"),
        (partial(&[InheritItem::LastMessages(1_001)]), "at most 1000"),
        (partial(&["files:src/[*.rs".parse().expect("an item")]), "files:src/[*.rs"),
    ] {
        let refused = keep.engine.spawn(thread, Spawn::new("x").inherit(inherit)).await.expect_err(word);
        let Error::Invalid(refused) = refused else { panic!("{refused}") };
        assert!(refused.field == "inheritScope" && refused.rule.contains(word), "{refused}");
    }
    let blank = keep.engine.spawn(thread, Spawn::new(" ")).await.expect_err("a blank intent");
    assert_eq!(blank.code(), "invalid_body");
    assert_eq!(keep.engine.thread(thread).await.expect("the thread"), before);
    assert_eq!(keep.engine.list(List::default()).await.expect("a list").items.len(), 1);
}

async fn files_and_values_are_inherited_whole_in_part_or_not_at_all(keep: Keep) {
    use threadkeep::{Files, NewFile, SetValue, Values};
    let parent = keep.thread(&["a"]).await;
    let put = async |thread, at: &str| {
        keep.engine.write_file(thread, NewFile::new(at, at.to_owned()).expect("a file")).await.expect("a file");
        let value = SetValue::new(at, Json::string(at)).expect("a key");
        keep.engine.set_value(thread, value).await.expect("a value");
    };
    for at in ["/src/a.rs", "/src/b.md", "/c.rs"] {
        put(parent, at).await;
    }
    let holds = async |thread| {
        let (files, _) = keep.engine.files(thread, Files::default()).await.expect("files");
        let (values, _) = keep.engine.values(thread, Values::default()).await.expect("values");
        let files: Vec<_> = files.iter().map(|file| file.path.to_string()).collect();
        let values: Vec<_> = values.iter().map(|value| value.key.to_string()).collect();
        format!("{} | {} | {}", keep.shows(thread).await, files.join(" "), values.join(" "))
    };
    let items = |items: &[&str]| Inherit::Partial(items.iter().map(|item| item.parse().expect("an item")).collect());
    for (inherit, held) in [
        (Inherit::None, " |  | "),
        (Inherit::Full, "a | /c.rs /src/a.rs /src/b.md | /c.rs /src/a.rs /src/b.md"),
        (items(&["messages"]), "a |  | "),
        (items(&["files"]), " | /c.rs /src/a.rs /src/b.md | "),
        (items(&["kv"]), " |  | /c.rs /src/a.rs /src/b.md"),
        (items(&["files:src/**"]), " | /src/a.rs /src/b.md | "),
        (items(&["messages", "files:*.rs", "kv:/src"]), "a | /c.rs /src/a.rs | /src/a.rs /src/b.md"),
        (items(&["files:none", "kv:none"]), " |  | "),
    ] {
        let child = spawn(&keep, parent, inherit.clone()).await.id;
        assert_eq!(holds(child).await, held, "{inherit:?}");
        put(child, "/own").await;
        assert!(holds(child).await.contains("/own"), "{inherit:?}");
    }
    assert_eq!(holds(parent).await, "a | /c.rs /src/a.rs /src/b.md | /c.rs /src/a.rs /src/b.md");
    let report = keep.engine.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a report");
    assert!(report.is_healthy(), "{report:?}");
}

async fn spawning_goes_on_whatever_state_the_parent_is_in(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    for action in [LifecycleAction::Suspend, LifecycleAction::Resume, LifecycleAction::Cancel, LifecycleAction::Archive]
    {
        keep.engine.lifecycle(thread, action).await.expect("a move");
        let child = spawn(&keep, thread, Inherit::Full).await;
        keep.engine.append(child.id, MessageBody::user("b")).await.expect("an append");
        assert_eq!(keep.shows(child.id).await, "a b");
    }
}

/// A thread whose assistant made two calls in its first step, and said something in its second.
async fn worked(keep: &Keep) -> (ThreadId, Vec<MessageId>) {
    let thread = keep.thread(&["do it"]).await;
    let calls = ["1", "2"].map(|id| Part::ToolUse { id: id.into(), name: "sh".into(), input: serde_json::json!({}) });
    let both = MessageBody::with_content(Role::Assistant, Content::parts(&calls).expect("parts"));
    for message in [both, result("1"), MessageBody::user("and?"), result("2"), MessageBody::assistant("done")] {
        keep.engine.append(thread, message).await.expect("an append");
    }
    keep.engine.append(thread, MessageBody::user("thanks")).await.expect("an append");
    let ids = keep.ids(thread).await;
    (thread, ids)
}

async fn a_rollback_to_a_step_shows_it_with_its_results(keep: Keep) {
    for (name, shown) in [(0, 5), (1, 6)] {
        let (thread, ids) = worked(&keep).await;
        let index = [1, 5][name];
        for step in [StepName::Index(index), StepName::Message(ids[index as usize].into())] {
            keep.engine.rollback(thread, RollbackTo::Step(step)).await.expect("a rollback");
            assert_eq!(keep.ids(thread).await, ids[..shown], "with its results, and without a repair");
            keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
            assert_eq!(keep.ids(thread).await, ids);
        }
    }
    let (thread, ids) = worked(&keep).await;
    let refused = keep.engine.rollback(thread, RollbackTo::Step(StepName::Index(0))).await.expect_err("the user's");
    assert!(refused.to_string().contains("a step is a message of the assistant"), "{refused}");
    let refused = keep.engine.rollback(thread, RollbackTo::Step(StepName::Index(99))).await.expect_err("no such index");
    assert!(matches!(refused, Error::IndexOutOfRange { .. }), "{refused}");
    let other = keep.thread(&["x"]).await;
    let refused =
        keep.engine.rollback(other, RollbackTo::Step(StepName::Message(ids[1].into()))).await.expect_err("elsewhere");
    assert!(matches!(refused, Error::MessageNotFound { .. }), "{refused}");
    keep.engine.lifecycle(thread, LifecycleAction::Suspend).await.expect("suspended");
    let refused = keep.engine.rollback(thread, RollbackTo::Step(StepName::Index(1))).await.expect_err("it rests");
    assert_eq!(refused.code(), "thread_suspended");
}

async fn a_step_is_found_in_what_is_inherited_and_after_a_rollback(keep: Keep) {
    let (thread, ids) = worked(&keep).await;
    let child = spawn(&keep, thread, Inherit::Full).await.id;
    keep.engine.append(child, MessageBody::user("more")).await.expect("an append");
    keep.engine.rollback(child, RollbackTo::Step(StepName::Message(ids[1].into()))).await.expect("a rollback");
    assert_eq!(keep.ids(child).await, ids[..5]);
    keep.engine.append(child, MessageBody::assistant("another way")).await.expect("an append");
    keep.engine.append(child, MessageBody::user("no")).await.expect("an append");
    keep.engine.rollback(child, RollbackTo::Step(StepName::Index(5))).await.expect("a rollback");
    assert_eq!(keep.ids(child).await.len(), 6);
    let left =
        keep.engine.rollback(child, RollbackTo::Step(StepName::Message(ids[5].into()))).await.expect_err("left behind");
    assert!(matches!(left, Error::MessageNotFound { .. }), "{left}");
    assert_eq!(keep.ids(thread).await, ids, "the parent is as it was");
}

async fn a_fork_of_what_a_spawned_thread_was_at_first_has_its_first_agent(keep: Keep) {
    // Nothing was ever told of the parent's agent, and the child does not see it.
    let parent = keep.thread(&["a", "b", "c"]).await;
    let new = Spawn { agent_id: Some("other".into()), ..Spawn::new("x").inherit(partial(&[InheritItem::Messages])) };
    let child = keep.engine.spawn(parent, new).await.expect("a thread");
    let skill = Skill { name: "csv".into(), arguments: None };
    keep.engine.activate_skill(child.id, ActivateSkill { skill }).await.expect("a skill");
    let first = child.head.version;
    let points =
        [ForkPoint::Version(first), ForkPoint::Index(1), ForkPoint::Message(keep.ids(child.id).await[2].into())];
    for at in points {
        let fork = keep.engine.fork(child.id, Fork { at, title: None }).await.expect("a fork");
        assert_eq!((fork.record.agent_id.as_deref(), skills(&fork)), (Some("other"), Vec::new()), "{at:?}");
    }
}

async fn what_a_spawned_thread_was_given_is_there_as_of_its_birth(keep: Keep) {
    let parent = parent(&keep).await;
    let file = NewFile::new("a.txt", "one").expect("a file");
    keep.engine.write_file(parent, file).await.expect("a file");
    keep.engine.set_value(parent, SetValue::new("k", Json::string("v")).expect("a key")).await.expect("a value");
    let (files, values) = (InheritItem::Files("**".into()), InheritItem::Values(String::new()));
    let (path, key) = ("a.txt".parse().expect("a path"), "k".parse().expect("a key"));
    for (scope, shown) in [
        (vec![files.clone()], (true, false)),
        (vec![values.clone()], (false, true)),
        (vec![InheritItem::Messages], (false, false)),
        (vec![InheritItem::Messages, values.clone()], (false, true)),
        (vec![InheritItem::Messages, files, values], (true, true)),
    ] {
        let child = spawn(&keep, parent, partial(&scope)).await;
        let skill = Skill { name: "csv".into(), arguments: None };
        keep.engine.activate_skill(child.id, ActivateSkill { skill }).await.expect("a skill");
        let back = keep.engine.rollback(child.id, RollbackTo::Version(child.head.version)).await.expect("a rollback");
        assert_eq!((back.record.agent_id.as_deref(), skills(&back)), (Some("coder"), Vec::new()), "{scope:?}");
        assert_eq!(back.head.tally.work.stats, child.head.tally.work.stats, "{scope:?}");
        for as_of in [Some(child.head.version), None] {
            let file = keep.engine.stat(child.id, &path, as_of).await.expect("a read");
            let value = keep.engine.value(child.id, &key, as_of).await.expect("a read");
            assert_eq!((file.is_some(), value.is_some()), shown, "{scope:?} as of {as_of:?}");
        }
    }
}

async fn a_fork_is_rolled_back_to_the_agent_it_was_made_with(keep: Keep) {
    let first = keep.thread(&["a", "b"]).await;
    let new = Spawn { agent_id: Some("other".into()), ..Spawn::new("x").inherit(Inherit::Full) };
    let second = keep.engine.spawn(first, new).await.expect("a thread").id;
    let ids = keep.ids(second).await;
    keep.engine.edit_message(second, EditMessage::content(ids[0], Content::text("A"))).await.expect("an edit");
    let at = ForkPoint::Index(0);
    let fork = keep.engine.fork(second, Fork { at, title: None }).await.expect("a fork");
    assert_eq!(fork.record.agent_id, None, "nobody was assigned when that was said");
    keep.engine.assign(fork.id, Assign::to("third")).await.expect("another agent");
    let back = keep.engine.rollback(fork.id, RollbackTo::Version(fork.head.version)).await.expect("a rollback");
    assert_eq!(back.record.agent_id, None);
}

async fn a_fork_at_what_a_spawned_thread_inherited_is_rolled_back_to_the_agent_of_that_thread(keep: Keep) {
    let parent = keep.thread(&["a", "b"]).await;
    let other = Spawn { agent_id: Some("other".into()), ..Spawn::new("x").inherit(partial(&[InheritItem::Messages])) };
    let spawned = keep.engine.spawn(parent, other).await.expect("a thread").id;
    // What it changed leads through it, though the fork ends before its birth.
    let ids = keep.ids(spawned).await;
    let edit = EditMessage::content(ids[0], Content::text("A"));
    keep.engine.edit_message(spawned, edit).await.expect("an edit");
    let fork = keep.engine.fork(spawned, Fork::at_index(0)).await.expect("a fork");
    assert_eq!(fork.record.agent_id.as_deref(), Some("other"));
    keep.engine.assign(fork.id, Assign::to("third")).await.expect("an assignment");
    let back = keep.engine.rollback(fork.id, RollbackTo::Version(fork.head.version)).await.expect("a rollback");
    assert_eq!(back.record.agent_id.as_deref(), Some("other"));
    assert_eq!(keep.shows(fork.id).await, "A");
}
