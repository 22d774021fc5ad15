//! Thread records: create, get, list, update, delete, accounts.

use threadkeep::{Account, Caller, Create, Delete, Error, Json, List, Position, ThreadName, Update};

use crate::{Keep, on_every_store};

on_every_store!(
    a_new_thread_is_at_version_0,
    an_update_is_a_shallow_merge,
    an_invalid_update_changes_nothing,
    lists_page_without_a_gap,
    accounts_do_not_see_each_other,
);

fn json(text: &str) -> Json {
    Json::parse("field", text).expect("json")
}

async fn a_new_thread_is_at_version_0(keep: Keep) {
    let create = Create::titled("X").field("agentId", json(r#""coder""#)).field("taskId", json(r#""t-1""#));
    let thread = keep.engine.create(create).await.expect("a thread");
    assert_eq!((thread.head.version, thread.record.agent_id.as_deref()), (Position(0), Some("coder")));
    for name in [ThreadName::Full(thread.id), ThreadName::Short(thread.id.short())] {
        assert_eq!(keep.engine.thread(name).await.expect("the thread"), thread);
    }
    for wrong in ["lifecycle", "originThreadId", "colour"] {
        let refused = keep.engine.create(Create::new().field(wrong, json(r#""x""#))).await;
        assert!(refused.expect_err(wrong).to_string().contains(wrong));
    }
}

async fn an_update_is_a_shallow_merge(keep: Keep) {
    let create = Create::titled("X").field("metadata", json(r#"{"a":{"b":1},"c":[1,2]}"#));
    let thread = keep.engine.create(create).await.expect("a thread").id;
    let update = Update::new().field("metadata", json(r#"{"c":[3]}"#)).field("title", json("null"));
    let after = keep.engine.update(thread, update).await.expect("an update");
    assert_eq!(after.record.title, None);
    assert_eq!(after.record.metadata.as_ref().expect("metadata").as_str(), r#"{"c":[3]}"#);
    assert_eq!(after.head.version, Position(1));
    assert_eq!(keep.engine.thread(thread).await.expect("the thread"), after);
    let same = keep.engine.update(thread, Update::new().field("metadata", json(r#"{"c":[3]}"#))).await;
    assert_eq!(same.expect("the same values").head.version, Position(1), "what is there already changes nothing");
    let stale = threadkeep::At::of(thread).expecting(Position(0));
    assert!(matches!(keep.engine.update(stale, Update::new().title("Y")).await, Err(Error::VersionConflict { .. })));
}

async fn an_invalid_update_changes_nothing(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let before = keep.engine.thread(thread).await.expect("the thread");
    for (field, value) in [("metadata", "3"), ("maxTokens", "-1"), ("archived", r#""yes""#), ("visibility", r#""x""#)] {
        let refused = keep.engine.update(thread, Update::new().title("new").field(field, json(value))).await;
        assert_eq!(refused.expect_err(field).code(), "invalid_body");
    }
    let unknown = threadkeep::ThreadId::from_chance(1);
    let refused = keep.engine.update(unknown, Update::new().title("new")).await;
    assert!(matches!(refused, Err(Error::ThreadNotFound { .. })));
    assert_eq!(keep.engine.thread(thread).await.expect("the thread"), before);
}

async fn lists_page_without_a_gap(keep: Keep) {
    let mut made = Vec::new();
    for _ in 0..7 {
        made.insert(0, keep.thread(&["a"]).await);
    }
    let archived = keep.thread(&[]).await;
    keep.engine.update(archived, Update::new().field("archived", json("true"))).await.expect("archived");
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = keep.engine.list(List { limit: Some(3), cursor, ..List::default() }).await.expect("a page");
        seen.extend(page.items.iter().map(|row| row.thread.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, made);
    let away = keep.engine.list(List { archived: threadkeep::Archived::Yes, ..List::default() }).await.expect("a page");
    assert_eq!(away.items.iter().map(|row| row.thread.id).collect::<Vec<_>>(), [archived]);
    for wrong in ["", "x", "t1", "t-", "tzz-1", "m1-1"] {
        let refused = keep.engine.list(List { cursor: Some(wrong.into()), ..List::default() }).await;
        assert_eq!(refused.expect_err(wrong).code(), "invalid_cursor");
    }
}

async fn accounts_do_not_see_each_other(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let stranger = Caller { account: Account::new("stranger").expect("an account"), ..Caller::local() };
    let stranger = keep.engine.acting_as(stranger);
    let told = |error: Error| error.to_string();
    let unknown = threadkeep::ThreadId::from_chance(9);
    let foreign = told(stranger.thread(thread).await.expect_err("a foreign thread"));
    let missing = told(stranger.thread(unknown).await.expect_err("an unknown thread"));
    assert_eq!(foreign.replace(&thread.to_string(), ""), missing.replace(&unknown.to_string(), ""));
    assert!(!stranger.delete(thread, Delete::default()).await.expect("an answer"));
    assert!(stranger.list(List::default()).await.expect("a list").items.is_empty());
    assert!(stranger.fork(thread, threadkeep::Fork::default()).await.is_err());
    assert!(stranger.subscribe(thread, Position(0)).await.is_err());
    assert!(stranger.history(thread, Position(0), 9).await.is_err());
    assert!(stranger.threads_by_prefix(&thread.to_string(), 9).await.expect("an answer").is_empty());
    assert_eq!(keep.shows(thread).await, "a");
}
