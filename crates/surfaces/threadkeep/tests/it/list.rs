//! Lists: every filter, summaries, pages by cursor and by offset, and reads that do not grow with the page.

use std::sync::Arc;

use threadkeep::model::{Lifecycle, RelationKind, Visibility};
use threadkeep::{
    Account, Archived, Caller, Create, Delete, DiffStats, Engine, Fork, Handoff, Json, Limits, List, ListSort,
    MemoryStore, Mention, MessageBody, RelationshipRole, RollbackTo, Stores, SystemWorld, ThreadId, Total, Update,
};

use crate::{Keep, on_every_store};

on_every_store!(
    each_filter_finds_its_threads,
    filters_hold_together,
    a_summary_says_what_there_is_to_know_without_messages,
    parents_are_told_while_they_hold,
    a_cursor_is_of_one_list_only,
    pages_by_offset_have_a_total_also_past_the_end,
    archived_threads_are_listed_when_asked,
    what_cannot_be_asked_is_refused_with_its_field,
    a_list_follows_changes_deletions_and_copies,
    the_doctor_finds_nothing_wrong_with_lists,
);

fn json(text: &str) -> Json {
    Json::parse("json", text).expect(text)
}

fn titled(title: &str, fields: &[(&str, &str)]) -> Create {
    fields.iter().fold(Create::titled(title), |create, (name, value)| create.field(name, json(value)))
}

async fn make(keep: &Keep, title: &str, fields: &[(&str, &str)]) -> ThreadId {
    keep.engine.create(titled(title, fields)).await.expect("a thread").id
}

async fn titles(engine: &Engine, list: List) -> Vec<String> {
    let page = engine.list(list).await.expect("a list");
    page.items.into_iter().map(|row| row.thread.record.title.unwrap_or_default()).collect()
}

async fn some(keep: &Keep) {
    make(keep, "Release notes", &[("agentId", r#""writer""#), ("metadata", r#"{"n":1,"tags":["red"]}"#)]).await;
    make(keep, "Parser", &[("projectId", r#""p""#), ("metadata", r#"{"n":1.0,"by":{"name":"ann"}}"#)]).await;
    make(keep, "release plan", &[("env", r#"{"initial":{"tags":["red"]}}"#), ("agentId", r#""coder""#)]).await;
}

async fn each_filter_finds_its_threads(keep: Keep) {
    some(&keep).await;
    let parser = keep.engine.list(List { project_id: Some("p".into()), ..List::default() }).await.expect("a list");
    let parser = &parser.items[0].thread;
    keep.engine.update(parser.id, Update::new().field("visibility", json(r#""public""#))).await.expect("public");
    let (born, changed) = (parser.created, keep.engine.thread(parser.id).await.expect("a thread").head.updated);
    for (list, expected) in [
        (List { agent_id: Some("writer".into()), ..List::default() }, vec!["Release notes"]),
        (List { project_id: Some("p".into()), ..List::default() }, vec!["Parser"]),
        (List { lifecycle: Some(Lifecycle::Completed), ..List::default() }, vec![]),
        (
            List { lifecycle: Some(Lifecycle::Active), ..List::default() },
            vec!["Parser", "release plan", "Release notes"],
        ),
        (List { visibility: Some(Visibility::Public), ..List::default() }, vec!["Parser"]),
        (List { metadata: Some(json(r#"{"n":1}"#)), ..List::default() }, vec!["Parser", "Release notes"]),
        (List { metadata: Some(json(r#"{"by":{"name":"ann"}}"#)), ..List::default() }, vec!["Parser"]),
        (List { metadata: Some(json(r#"{"n":"1"}"#)), ..List::default() }, vec![]),
        (List { tag: Some("red".into()), ..List::default() }, vec!["release plan", "Release notes"]),
        (List { title: Some("RELEASE".into()), ..List::default() }, vec!["release plan", "Release notes"]),
        (List { title: Some("%".into()), ..List::default() }, vec![]),
        (
            List { created_after: Some(born), sort: ListSort::Created, ..List::default() },
            vec!["release plan", "Parser"],
        ),
        (List { created_before: Some(born), ..List::default() }, vec!["Release notes"]),
        (List { updated_after: Some(changed), ..List::default() }, vec!["Parser"]),
        (List { updated_before: Some(changed), ..List::default() }, vec!["release plan", "Release notes"]),
        (List { parent_id: Some(parser.id), ..List::default() }, vec![]),
        (List { main_thread_id: Some(parser.id), ..List::default() }, vec![]),
        (List { sort: ListSort::Created, ..List::default() }, vec!["release plan", "Parser", "Release notes"]),
    ] {
        assert_eq!(titles(&keep.engine, list.clone()).await, expected, "{list:?}");
    }
}

async fn filters_hold_together(keep: Keep) {
    some(&keep).await;
    let both = List { tag: Some("red".into()), title: Some("release".into()), ..List::default() };
    assert_eq!(titles(&keep.engine, both.clone()).await, ["release plan", "Release notes"]);
    let three = List { agent_id: Some("writer".into()), ..both.clone() };
    assert_eq!(titles(&keep.engine, three.clone()).await, ["Release notes"]);
    let four = List { metadata: Some(json(r#"{"tags":["red"],"n":1}"#)), ..three };
    assert_eq!(titles(&keep.engine, four.clone()).await, ["Release notes"]);
    assert!(titles(&keep.engine, List { visibility: Some(Visibility::Public), ..four }).await.is_empty());
    let stranger = Caller { account: Account::new("stranger").expect("an account"), ..Caller::local() };
    assert!(titles(&keep.engine.acting_as(stranger), both).await.is_empty());
}

async fn a_summary_says_what_there_is_to_know_without_messages(keep: Keep) {
    let quiet = make(&keep, "quiet", &[]).await;
    let thread = keep.thread(&["a", "b"]).await;
    keep.engine.append(thread, MessageBody::assistant("c")).await.expect("an append");
    let page = keep.engine.list(List::default()).await.expect("a list");
    let [first, second] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!((first.thread.id, first.thread.head.tally.messages()), (thread, 3));
    assert_eq!(Some(first.user_last_interacted()), first.thread.head.tally.last_user);
    assert!(first.user_last_interacted() < first.thread.head.updated);
    assert_eq!((second.thread.id, second.user_last_interacted()), (quiet, second.thread.created));
    assert_eq!((first.diff_stats, &first.parent_relationships), (DiffStats::default(), &vec![]));
    assert_eq!(first.thread, keep.engine.thread(thread).await.expect("the thread"));
}

async fn parents_are_told_while_they_hold(keep: Keep) {
    let parent = keep.thread(&["a", "b", "c"]).await;
    let version = keep.engine.thread(parent).await.expect("the parent").head.version;
    let fork = keep.engine.fork(parent, Fork::default()).await.expect("a fork").id;
    let handoff = keep.engine.handoff(parent, Handoff::to("go on")).await.expect("a handoff").id;
    keep.engine
        .mention(fork, Mention { target: handoff.into(), comment: Some("see".into()) })
        .await
        .expect("a mention");
    let told = async || {
        let mut told = Vec::new();
        for row in keep.engine.list(List::default()).await.expect("a list").items {
            for relation in &row.parent_relationships {
                assert_eq!(relation.role, RelationshipRole::Child);
                told.push((row.thread.id, relation.thread_id, relation.kind));
            }
            let all = keep.engine.relationships(row.thread.id).await.expect("relations");
            let above: Vec<_> = all.into_iter().filter(|one| one.role == RelationshipRole::Child).collect();
            assert_eq!(row.parent_relationships, above, "as the thread itself tells");
        }
        told.sort_by_key(|(child, _, kind)| (*child != fork, *kind));
        told
    };
    let all = [
        (fork, parent, RelationKind::Fork),
        (handoff, parent, RelationKind::Handoff),
        (handoff, fork, RelationKind::Mention),
    ];
    assert_eq!(told().await, all);
    keep.engine.rollback(parent, RollbackTo::Version(version)).await.expect("a rollback");
    assert_eq!(told().await, [(handoff, fork, RelationKind::Mention)], "what made the others is undone");
    keep.engine.delete(fork, Delete::default()).await.expect("deleted");
    assert_eq!(told().await, []);
}

async fn a_cursor_is_of_one_list_only(keep: Keep) {
    for n in 0..5 {
        make(&keep, &format!("Thread {n}"), &[("agentId", r#""a""#)]).await;
    }
    let list = List { agent_id: Some("a".into()), limit: Some(2), ..List::default() };
    let cursor = keep.engine.list(list.clone()).await.expect("a page").next.expect("more");
    make(&keep, "made meanwhile", &[("agentId", r#""a""#)]).await;
    let next = List { cursor: Some(cursor.clone()), ..list.clone() };
    assert_eq!(titles(&keep.engine, next.clone()).await, ["Thread 2", "Thread 1"]);
    assert_eq!(
        titles(&keep.engine, List { limit: Some(9), ..next.clone() }).await.len(),
        3,
        "pages may differ in size"
    );
    let stranger = Caller { account: Account::new("stranger").expect("an account"), ..Caller::local() };
    let others = [
        List { agent_id: None, ..next.clone() },
        List { agent_id: Some("b".into()), ..next.clone() },
        List { sort: ListSort::Created, ..next.clone() },
        List { archived: Archived::Any, ..next.clone() },
        List { title: Some("Thread".into()), ..next.clone() },
        List { cursor: Some(cursor.to_uppercase()), ..next.clone() },
        List { cursor: Some(format!("{cursor}0")), ..next.clone() },
        List { cursor: Some(cursor.replace('0', "1")), ..next.clone() },
        List { cursor: Some("täää".into()), ..next.clone() },
    ];
    for other in others {
        let refused = keep.engine.list(other.clone()).await.expect_err("another list");
        assert_eq!(refused.code(), "invalid_cursor", "{other:?}");
    }
    let foreign = keep.engine.acting_as(stranger).list(next).await.expect_err("another account");
    assert_eq!(foreign.code(), "invalid_cursor");
}

async fn pages_by_offset_have_a_total_also_past_the_end(keep: Keep) {
    for n in 0..7 {
        make(&keep, &format!("Thread {n}"), &[("metadata", &format!(r#"{{"odd":{}}}"#, n % 2 == 1))]).await;
    }
    let odd = List { metadata: Some(json(r#"{"odd":true}"#)), ..List::default() };
    for (list, count) in [(List::default(), 7), (odd, 3)] {
        let total = Total { count, is_exact: true };
        let whole = titles(&keep.engine, list.clone()).await;
        for offset in [0, 1, 2, 5, 7, 100] {
            let page = List { offset: Some(offset), limit: Some(2), ..list.clone() };
            let found = keep.engine.list(page.clone()).await.expect("a page");
            let expected: Vec<_> = whole.iter().skip(offset).take(2).cloned().collect();
            assert_eq!((titles(&keep.engine, page).await, found.total), (expected, Some(total)), "from {offset}");
            assert_eq!(found.next.is_some(), offset + 2 < whole.len());
        }
        assert_eq!(keep.engine.list(list.clone()).await.expect("a page").total, None);
        let asked = keep.engine.list(List { total: true, limit: Some(1), ..list }).await.expect("a page");
        assert_eq!(asked.total, Some(total));
    }
}

async fn archived_threads_are_listed_when_asked(keep: Keep) {
    some(&keep).await;
    let away = keep.engine.list(List { title: Some("parser".into()), ..List::default() }).await.expect("a list");
    let away = away.items[0].thread.id;
    keep.engine.update(away, Update::new().field("archived", json("true"))).await.expect("archived");
    let of = |archived| List { archived, metadata: Some(json(r#"{"n":1}"#)), ..List::default() };
    assert_eq!(titles(&keep.engine, of(Archived::No)).await, ["Release notes"]);
    assert_eq!(titles(&keep.engine, of(Archived::Yes)).await, ["Parser"]);
    assert_eq!(titles(&keep.engine, of(Archived::Any)).await, ["Parser", "Release notes"]);
    keep.engine.update(away, Update::new().field("archived", json("false"))).await.expect("back");
    assert_eq!(titles(&keep.engine, of(Archived::No)).await, ["Parser", "Release notes"]);
    assert!(titles(&keep.engine, of(Archived::Yes)).await.is_empty());
}

async fn what_cannot_be_asked_is_refused_with_its_field(keep: Keep) {
    for (list, field) in [
        (List { metadata: Some(json("[1]")), ..List::default() }, "metadata"),
        (List { limit: Some(0), ..List::default() }, "limit"),
        (List { limit: Some(1_001), ..List::default() }, "limit"),
        (List { cursor: Some("t".into()), offset: Some(1), ..List::default() }, "offset"),
        (List { cursor: Some("t".into()), ..List::default() }, "cursor"),
    ] {
        let refused = keep.engine.list(list.clone()).await.expect_err("refused");
        assert!(refused.to_string().contains(field), "{list:?}: {refused}");
    }
}

async fn a_list_follows_changes_deletions_and_copies(keep: Keep) {
    some(&keep).await;
    let red = || List { tag: Some("red".into()), ..List::default() };
    let notes = keep.engine.list(List { agent_id: Some("writer".into()), ..List::default() }).await.expect("a list");
    let notes = notes.items[0].thread.id;
    let update = Update::new().title("Changelog").field("metadata", json(r#"{"tags":["blue"]}"#));
    keep.engine.update(notes, update).await.expect("an update");
    assert_eq!(titles(&keep.engine, red()).await, ["release plan"]);
    assert_eq!(titles(&keep.engine, List { title: Some("LOG".into()), ..List::default() }).await, ["Changelog"]);
    keep.engine.delete(notes, Delete::default()).await.expect("deleted");
    assert!(titles(&keep.engine, List { tag: Some("blue".into()), ..List::default() }).await.is_empty());
    let other = Engine::new(Stores::of(MemoryStore::new()), Arc::new(SystemWorld), Limits::default());
    let quiet: threadkeep::Progress = Arc::new(|_: &str, _: u64, _: Option<u64>| {});
    keep.engine.copy_to(&other, quiet).await.expect("a copy");
    assert_eq!(titles(&other, red()).await, ["release plan"]);
}

async fn the_doctor_finds_nothing_wrong_with_lists(keep: Keep) {
    some(&keep).await;
    let quiet: threadkeep::Progress = Arc::new(|_: &str, _: u64, _: Option<u64>| {});
    let report = keep.engine.doctor(quiet).await.expect("a report");
    assert!(report.is_healthy(), "{report:?}");
}
