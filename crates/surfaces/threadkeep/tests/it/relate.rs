//! Handoffs and mentions: relations that both threads show, from the same commit on, and lose together.

use threadkeep::model::RelationKind;
use threadkeep::{
    Create, Delete, Error, Handoff, Json, Mention, MessageBody, Page, Relationship, RelationshipRole, Role, RollbackTo,
    ThreadId, Truncate, TruncateFrom,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_handoff_begins_with_a_summary_and_the_goal,
    a_handoff_takes_the_callers_summary_comment_and_agent,
    the_built_in_summary_names_goal_decisions_files_and_open_questions,
    a_mention_is_recorded_once_and_seen_from_both_ends,
    relations_go_with_the_message_they_were_made_at_and_come_back_with_it,
    relations_go_with_either_thread,
    what_cannot_be_related_is_refused,
);

async fn related(keep: &Keep, thread: ThreadId) -> Vec<Relationship> {
    keep.engine.relationships(thread).await.expect("relations")
}

fn mention(target: ThreadId) -> Mention {
    Mention { target: target.into(), comment: None }
}

async fn a_handoff_begins_with_a_summary_and_the_goal(keep: Keep) {
    let thread = keep.thread(&["Build a parser.", "Now."]).await;
    let child = keep.engine.handoff(thread, Handoff::to("Write its tests\nand run them")).await.expect("a handoff");
    assert_eq!(child.record.title.as_deref(), Some("Write its tests"));
    let shown = keep.engine.messages(child.id, Page::first()).await.expect("a page").items;
    let roles: Vec<Role> = shown.iter().map(|message| message.body().expect("a body").role).collect();
    assert_eq!(roles, [Role::Info, Role::User]);
    assert!(shown[0].text().expect("text").starts_with("Goal: Build a parser."));
    assert_eq!(shown[1].text().expect("text"), "Write its tests\nand run them");
    assert_eq!(child, keep.engine.thread(child.id).await.expect("the child"), "what was answered is what is read");
    let (from_parent, from_child) = (related(&keep, thread).await, related(&keep, child.id).await);
    assert_eq!((from_parent.len(), from_child.len()), (1, 1));
    let [of_parent, of_child] = [&from_parent[0], &from_child[0]];
    assert_eq!((of_parent.thread_id, of_parent.role), (child.id, RelationshipRole::Parent));
    assert_eq!((of_child.thread_id, of_child.role), (thread, RelationshipRole::Child));
    for seen in [of_parent, of_child] {
        assert_eq!((seen.kind, seen.message_index), (RelationKind::Handoff, Some(1)));
        assert_eq!(seen.comment.as_deref(), Some("Write its tests\nand run them"));
    }
    let family = keep.engine.family(thread).await.expect("a family");
    assert_eq!((family.threads.len(), family.relations.len()), (2, 1));
}

async fn a_handoff_takes_the_callers_summary_comment_and_agent(keep: Keep) {
    let create = Create::titled("T").field("agentId", Json::string("planner")).field("taskId", Json::string("7"));
    let thread = keep.engine.create(create).await.expect("a thread").id;
    let handoff = Handoff {
        summary: Some("All that matters.\0".into()),
        comment: Some("the rest".into()),
        agent_id: Some("coder".into()),
        ..Handoff::to("Code it")
    };
    let child = keep.engine.handoff(thread, handoff).await.expect("a handoff");
    assert_eq!((child.record.agent_id.as_deref(), child.record.task_id.as_deref()), (Some("coder"), Some("7")));
    assert_eq!(keep.shows(child.id).await, "All that matters. Code it");
    assert_eq!(related(&keep, child.id).await[0].comment.as_deref(), Some("the rest"));
    assert_eq!(related(&keep, child.id).await[0].message_index, None, "there was no message");
    let same = keep.engine.handoff(thread, Handoff::to("Plan on")).await.expect("a handoff");
    assert_eq!(same.record.agent_id.as_deref(), Some("planner"));
    assert!(keep.shows(same.id).await.starts_with("Nothing was said yet."));
}

async fn the_built_in_summary_names_goal_decisions_files_and_open_questions(keep: Keep) {
    let thread = keep.thread(&["Please move src/lexer.rs to logos. It is slow."]).await;
    for body in [
        MessageBody::assistant("I looked at src/lexer.rs and Cargo.toml. We decided to keep the tests."),
        MessageBody::user("Going with logos 0.15 then."),
        MessageBody::assistant("Done in src/lexer.rs. Should I remove the old one? It is still used by tests/old.rs."),
    ] {
        keep.engine.append(thread, body).await.expect("an append");
    }
    let summary = keep.engine.summary(thread).await.expect("a summary");
    let expected = "Goal: Please move src/lexer.rs to logos.\n\n\
                    Decisions:\n- We decided to keep the tests.\n- Going with logos 0.15 then.\n\n\
                    Files:\n- src/lexer.rs\n- Cargo.toml\n- tests/old.rs\n\n\
                    Open questions:\n- Should I remove the old one?\n\n\
                    Last said: It is still used by tests/old.rs.";
    assert_eq!(summary, expected);
    assert_eq!(keep.engine.summary(thread).await.expect("a summary"), expected, "the same again");
}

async fn a_mention_is_recorded_once_and_seen_from_both_ends(keep: Keep) {
    let (thread, other) = (keep.thread(&["a"]).await, keep.thread(&["b"]).await);
    let made = keep.engine.mention(thread, mention(other)).await.expect("a mention");
    assert_eq!((made.thread_id, made.kind, made.message_index), (other, RelationKind::Mention, Some(0)));
    let version = keep.engine.thread(thread).await.expect("a thread").head.version;
    let by_short = Mention { target: threadkeep::ThreadName::Short(other.short()), comment: Some("again".into()) };
    assert_eq!(keep.engine.mention(thread, by_short).await.expect("a mention"), made);
    assert_eq!(keep.engine.thread(thread).await.expect("a thread").head.version, version, "nothing was added");
    assert_eq!(related(&keep, other).await[0].role, RelationshipRole::Child);
    keep.engine.mention(other, mention(thread)).await.expect("the other way round is another one");
    assert_eq!((related(&keep, thread).await.len(), related(&keep, other).await.len()), (2, 2));
}

async fn relations_go_with_the_message_they_were_made_at_and_come_back_with_it(keep: Keep) {
    let (thread, other) = (keep.thread(&["a", "b"]).await, keep.thread(&[]).await);
    keep.engine.mention(thread, mention(other)).await.expect("a mention");
    let child = keep.engine.handoff(thread, Handoff::to("go on")).await.expect("a handoff").id;
    let truncate = Truncate { from: TruncateFrom::Index(1) };
    keep.engine.truncate(thread, truncate).await.expect("a truncation");
    for gone in [thread, other, child] {
        assert!(related(&keep, gone).await.is_empty(), "gone from both");
    }
    keep.engine.rollback(thread, threadkeep::Rollback { to: RollbackTo::Undo }).await.expect("an undo");
    assert_eq!(related(&keep, thread).await.len(), 2);
    assert_eq!((related(&keep, other).await.len(), related(&keep, child).await.len()), (1, 1));
}

async fn relations_go_with_either_thread(keep: Keep) {
    let (thread, other) = (keep.thread(&["a"]).await, keep.thread(&["b"]).await);
    keep.engine.mention(thread, mention(other)).await.expect("a mention");
    let child = keep.engine.handoff(thread, Handoff::to("go on")).await.expect("a handoff").id;
    keep.engine.delete(other, Delete::default()).await.expect("a deletion");
    assert_eq!(related(&keep, thread).await.len(), 1);
    keep.engine.delete(thread, Delete::default()).await.expect("a deletion");
    assert!(related(&keep, child).await.is_empty());
    assert!(keep.shows(child).await.ends_with("go on"), "the child keeps its own");
    let report = keep.engine.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a look");
    assert!(report.is_healthy(), "{report:?}");
}

async fn what_cannot_be_related_is_refused(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let unknown = ThreadId::from_chance(7);
    for target in [thread, unknown] {
        assert!(keep.engine.mention(thread, mention(target)).await.is_err());
    }
    assert!(matches!(keep.engine.mention(unknown, mention(thread)).await, Err(Error::ThreadNotFound { .. })));
    for goal in ["", " \n", "\0", &"x".repeat(70_000)] {
        assert!(keep.engine.handoff(thread, Handoff::to(goal)).await.is_err());
    }
    let stale = threadkeep::At::of(thread).expecting(threadkeep::Position(9));
    let refused = keep.engine.handoff(stale, Handoff::to("x")).await.expect_err("another version");
    assert_eq!(refused.code(), "version_conflict");
    assert!(related(&keep, thread).await.is_empty());
    assert_eq!(keep.engine.list(threadkeep::List::default()).await.expect("a list").items.len(), 1);
}
