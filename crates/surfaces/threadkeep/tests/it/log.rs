//! Appending, editing, reading.

use threadkeep::{
    Append, At, Content, Create, DeleteMessage, EditMessage, Error, Event, EventKind, IdempotencyKey, Json,
    MessageBody, NewMessage, Page, Position, Role,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_batch_is_appended_whole_and_in_order,
    an_expected_version_is_checked,
    sixteen_writers_with_expected_versions_lose_nothing,
    concurrent_plain_appends_all_hold,
    a_retry_with_a_key_adds_nothing,
    pages_go_both_ways_and_filter,
    a_reader_sees_the_state_its_first_page_began_with,
    edits_and_deletions_are_changes_that_as_of_reads_undo,
    a_message_is_inserted_before_another_one,
    null_bytes_are_stripped_everywhere,
    hostile_messages_are_refused_and_change_nothing,
    large_bodies_and_attachments_are_stored_once,
    json_is_kept_to_the_letter,
    events_are_history_but_not_messages,
    metadata_edits_merge,
    cursors_are_checked,
);

async fn a_batch_is_appended_whole_and_in_order(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let batch = ["a", "b", "c"].map(MessageBody::user);
    let appended = keep.engine.append(thread, Append::batch(batch)).await.expect("a batch");
    assert_eq!(appended.iter().map(|message| message.number).collect::<Vec<_>>(), [1, 2, 3]);
    let read = keep.engine.messages(thread, Page::first()).await.expect("a page").items;
    assert_eq!(read, appended, "what was answered is what is read");
    let nothing = keep.engine.append(thread, Append::default()).await;
    assert_eq!(nothing.expect_err("an empty batch").code(), "invalid_body");
    let wrong = Append::batch([
        MessageBody::user("d"),
        MessageBody::user("e").metadata(Json::parse("metadata", "3").expect("json")),
    ]);
    assert!(keep.engine.append(thread, wrong).await.is_err());
    assert_eq!(keep.shows(thread).await, "a b c", "a batch with a wrong message adds nothing");
}

async fn an_expected_version_is_checked(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let stale = At::of(thread).expecting(Position(0));
    match keep.engine.append(stale, MessageBody::user("b")).await {
        Err(Error::VersionConflict { expected, current }) => {
            assert_eq!((expected, current), (Position(0), Position(1)));
        }
        other => panic!("{other:?}"),
    }
    let right = At::of(thread).expecting(Position(1));
    keep.engine.append(right, MessageBody::user("b")).await.expect("the right version");
    assert_eq!(keep.shows(thread).await, "a b");
}

async fn sixteen_writers_with_expected_versions_lose_nothing(keep: Keep) {
    const EACH: usize = 10;
    let thread = keep.thread(&["first", "second"]).await;
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    // A reader that pages meanwhile sees the state its first page began with, each message once.
    let reader = tokio::spawn({
        let (engine, done) = (keep.engine.clone(), std::sync::Arc::clone(&done));
        async move {
            let mut rounds = 0;
            while rounds == 0 || !done.load(std::sync::atomic::Ordering::Relaxed) {
                rounds += 1;
                let first = engine.messages(thread, Page::first().limit(1)).await.expect("a page");
                let (version, total) = (first.version, first.total);
                let (mut seen, mut next) = (first.items, first.next);
                while let Some(cursor) = next {
                    let page = engine.messages(thread, Page::after(cursor).limit(7)).await.expect("the next page");
                    assert_eq!((page.version, page.total), (version, total));
                    seen.extend(page.items);
                    next = page.next;
                }
                let numbers: Vec<u64> = seen.iter().map(|message| message.number).collect();
                assert_eq!(numbers, (1..=version.0).collect::<Vec<_>>(), "everything up to then, once");
                assert_eq!(total, version.0);
                tokio::task::yield_now().await;
            }
        }
    });
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let engine = keep.engine.clone();
            tokio::spawn(async move {
                let mut accepted = 0;
                while accepted < EACH {
                    let version = engine.thread(thread).await.expect("the thread").head.version;
                    let text = format!("{writer}.{accepted}");
                    match engine.append(At::of(thread).expecting(version), MessageBody::user(&text)).await {
                        Ok(_) => accepted += 1,
                        Err(Error::VersionConflict { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer that ends");
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    reader.await.expect("a reader that ends");
    let texts: Vec<String> = keep.shows(thread).await.split(' ').map(str::to_owned).collect();
    assert_eq!(texts.len(), 2 + 16 * EACH);
    for writer in 0..16 {
        let own: Vec<_> = texts.iter().filter(|text| text.starts_with(&format!("{writer}."))).collect();
        let expected: Vec<_> = (0..EACH).map(|n| format!("{writer}.{n}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>(), "each writer's order is kept");
    }
}

async fn concurrent_plain_appends_all_hold(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let writers: Vec<_> = (0..200)
        .map(|n| {
            let engine = keep.engine.clone();
            tokio::spawn(async move {
                if n % 50 == 7 {
                    let update = threadkeep::Update::new().title(&format!("{n}"));
                    engine.update(thread, update).await.expect("an update among appends");
                }
                engine.append(thread, MessageBody::user(&format!("{n}"))).await.expect("a plain append");
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer that ends");
    }
    let mut texts: Vec<u32> = keep.shows(thread).await.split(' ').map(|n| n.parse().expect("a number")).collect();
    texts.sort_unstable();
    assert_eq!(texts, (0..200).collect::<Vec<_>>());
}

async fn a_retry_with_a_key_adds_nothing(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let key = || IdempotencyKey::new("k-1").expect("a key");
    let keyed = || At::of(thread).keyed(key());
    let batch = || Append::batch(["a", "b"].map(MessageBody::user));
    let first = keep.engine.append(keyed(), batch()).await.expect("the first");
    keep.engine.append(thread, MessageBody::user("c")).await.expect("another");
    assert_eq!(keep.engine.append(keyed(), batch()).await.expect("a retry"), first);
    let other = MessageBody::user("x");
    assert_eq!(keep.engine.append(keyed(), other).await.expect_err("another body").code(), "idempotency_key_reused");
    assert_eq!(keep.shows(thread).await, "a b c");
    assert!(IdempotencyKey::new("").is_err() && IdempotencyKey::new("x".repeat(256)).is_err());
}

async fn pages_go_both_ways_and_filter(keep: Keep) {
    let thread = keep.thread(&["1", "2"]).await;
    let more = [
        MessageBody::assistant("3"),
        MessageBody::new(Role::Tool, "4").depth(1),
        MessageBody::assistant("5").silent(),
        MessageBody::user("6"),
    ];
    keep.engine.append(thread, Append::batch(more)).await.expect("more");
    assert_eq!(
        keep.shows_page(thread, Page::first()).await,
        "1 2 3 6",
        "silent ones and those at a depth are left out"
    );
    assert_eq!(keep.shows_page(thread, Page::first().include_silent().newest_first().limit(2)).await, "6 5");
    assert_eq!(keep.shows_page(thread, Page::first().role(Role::Assistant)).await, "3");
    assert_eq!(keep.shows_page(thread, Page::first().max_depth(1)).await, "1 2 3 4 6");
    assert_eq!(keep.shows_page(thread, Page::first().everything().offset(4)).await, "5 6");
    assert_eq!(keep.shows_page(thread, Page::first().offset(99)).await, "");
    for page in [Page::first().limit(3), Page::first().newest_first().limit(3)] {
        let first = keep.engine.messages(thread, page).await.expect("a page");
        assert_eq!(first.total, 4);
        let rest = keep.engine.messages(thread, Page::after(first.next.expect("more"))).await.expect("a page");
        assert_eq!((first.items.len(), rest.items.len(), rest.next), (3, 1, None));
    }
    for limit in [0, 1_001] {
        let refused = keep.engine.messages(thread, Page::first().limit(limit)).await;
        assert_eq!(refused.expect_err("a limit out of range").code(), "invalid_parameter");
    }
}

async fn a_reader_sees_the_state_its_first_page_began_with(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c", "d"]).await;
    let ids = keep.ids(thread).await;
    let first = keep.engine.messages(thread, Page::first().limit(2)).await.expect("a page");
    keep.engine.append(thread, MessageBody::user("e")).await.expect("an append");
    let edit = EditMessage::content(ids[2], Content::text("C"));
    keep.engine.edit_message(thread, edit).await.expect("an edit");
    let delete = DeleteMessage { message: ids[3].into() };
    assert!(keep.engine.delete_message(thread, delete).await.expect("a deletion"));
    let rest = keep.shows_page(thread, Page::after(first.next.expect("more"))).await;
    assert_eq!(rest, "c d");
    assert_eq!(keep.shows(thread).await, "a b C e");
}

async fn edits_and_deletions_are_changes_that_as_of_reads_undo(keep: Keep) {
    let thread = keep.thread(&["a", "b", "c"]).await;
    let ids = keep.ids(thread).await;
    let edited = keep.engine.edit_message(thread, EditMessage::content(ids[1], Content::text("B"))).await;
    let edited = edited.expect("an edit");
    assert_eq!((edited.id, edited.version, edited.number), (ids[1], Position(4), 2));
    let delete = || DeleteMessage { message: ids[0].into() };
    assert!(keep.engine.delete_message(thread, delete()).await.expect("a deletion"));
    assert!(!keep.engine.delete_message(thread, delete()).await.expect("a second deletion"));
    assert_eq!(keep.shows(thread).await, "B c");
    assert_eq!(keep.shows_page(thread, Page::first().as_of(Position(4))).await, "a B c");
    assert_eq!(keep.shows_page(thread, Page::first().as_of(Position(3))).await, "a b c");
    assert_eq!(keep.shows_page(thread, Page::first().as_of(Position(0))).await, "");
    let future = keep.engine.messages(thread, Page::first().as_of(Position(6))).await;
    assert!(matches!(future, Err(Error::VersionInFuture { current: Position(5), .. })));
    let gone = keep.engine.edit_message(thread, EditMessage::content(ids[0], Content::text("x"))).await;
    assert!(matches!(gone, Err(Error::MessageNotFound { .. })));
    assert_eq!(keep.engine.message(thread, ids[1], None).await.expect("a message").text().expect("text"), "B");
    let then = keep.engine.message(thread, ids[0], Some(Position(3))).await.expect("as of then");
    assert_eq!(then.text().expect("text"), "a");
    assert!(matches!(keep.engine.message(thread, ids[0], None).await, Err(Error::MessageNotFound { .. })));
}

async fn a_message_is_inserted_before_another_one(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let ids = keep.ids(thread).await;
    let insert = |before, text: &str| Append::before(MessageBody::user(text), before);
    let x = keep.engine.append(thread, insert(ids[1], "x")).await.expect("an insertion").remove(0);
    keep.engine.append(thread, insert(ids[1], "y")).await.expect("an insertion");
    keep.engine.append(thread, insert(x.id, "w")).await.expect("before an inserted one");
    keep.engine.append(thread, insert(ids[0], "0")).await.expect("before the first");
    assert_eq!(keep.shows(thread).await, "0 a w x y b");
    assert_eq!(keep.ids(thread).await[1], ids[0], "nothing is renumbered");
    assert_eq!(keep.shows_page(thread, Page::first().newest_first().limit(3)).await, "b y x");
    let first = keep.engine.messages(thread, Page::first().limit(3)).await.expect("a page");
    assert_eq!(keep.shows_page(thread, Page::after(first.next.expect("more"))).await, "x y b");
    let delete = DeleteMessage { message: ids[1].into() };
    keep.engine.delete_message(thread, delete).await.expect("a deletion");
    assert_eq!(keep.shows(thread).await, "0 a w x y", "what was inserted before it stays");
    let gone = keep.engine.append(thread, insert(ids[1], "z")).await;
    assert!(matches!(gone, Err(Error::MessageNotFound { .. })));
}

async fn null_bytes_are_stripped_everywhere(keep: Keep) {
    let create = Create::new().field("title", Json::parse("title", r#""a\u0000b""#).expect("json"));
    let thread = keep.engine.create(create).await.expect("a thread");
    assert_eq!(thread.record.title.as_deref(), Some("ab"));
    let metadata = Json::parse("metadata", r#"{"k\u0000":"v\u0000"}"#).expect("json");
    keep.engine.append(thread.id, MessageBody::user("x\0y").metadata(metadata)).await.expect("an append");
    let message = &keep.engine.messages(thread.id, Page::first()).await.expect("a page").items[0];
    assert_eq!(message.text().expect("text"), "xy");
    assert_eq!(message.body().expect("a body").metadata.expect("metadata").as_str(), r#"{"k":"v"}"#);
}

async fn hostile_messages_are_refused_and_change_nothing(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let huge = "x".repeat(50 << 20);
    let refused = keep.engine.append(thread, MessageBody::user(&huge)).await.expect_err("50 MB");
    assert_eq!(refused.code(), "too_large");
    assert!(refused.to_string().contains("8388608"), "{refused}");
    let many = Append::batch((0..1_001).map(|_| MessageBody::user("x")));
    assert_eq!(keep.engine.append(thread, many).await.expect_err("too many").code(), "too_large");
    let unknown = threadkeep::ThreadId::from_chance(7);
    let refused = keep.engine.append(unknown, MessageBody::user("x")).await.expect_err("an unknown thread");
    assert_eq!(refused.code(), "thread_not_found");
    let stranger = keep.engine.acting_as(threadkeep::Caller {
        account: threadkeep::Account::new("stranger").expect("an account"),
        ..threadkeep::Caller::local()
    });
    for _ in 0..2 {
        let foreign = stranger.append(thread, MessageBody::user("x")).await.expect_err("another account's thread");
        assert_eq!(foreign.to_string(), format!("there is no thread {thread}"));
        keep.engine.append(thread, MessageBody::user("b")).await.expect("the owner, whose gate is known now");
    }
    assert_eq!(keep.shows(thread).await, "a b b");
}

async fn large_bodies_and_attachments_are_stored_once(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let picture = vec![7u8; 300_000];
    for _ in 0..2 {
        let message = NewMessage::from(MessageBody::user(&"long ".repeat(10_000)));
        let message = message.attach("a.png", "image/png", picture.clone());
        keep.engine.append(thread, message).await.expect("a large message");
    }
    let page = keep.engine.messages(thread, Page::first()).await.expect("a page");
    assert_eq!(page.items[0].text().expect("text").len(), 50_000);
    let attachments = page.items[1].body().expect("a body").attachments;
    assert_eq!((attachments[0].name.as_str(), attachments[0].size), ("a.png", 300_000));
    let bytes = keep.engine.attachment(thread, page.items[1].id, attachments[0].id).await.expect("the bytes");
    assert_eq!(bytes, picture);
    let unknown = threadkeep::model::BlobId::of(b"unknown");
    let missing = keep.engine.attachment(thread, page.items[1].id, unknown).await;
    assert_eq!(missing.expect_err("an unknown attachment").code(), "attachment_not_found");
    let report = keep.engine.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a look");
    assert_eq!((report.blobs, report.is_healthy()), (2, true), "one body and one picture: {report:?}");
}

async fn json_is_kept_to_the_letter(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let text = r#"[{"type":"tool_use","id":"1","name":"n","input":{"z":1.0,"a":1e2,"n":12345678901234567890123}}]"#;
    let content = Content::from_json(Json::parse("content", text).expect("json")).expect("content");
    let metadata = Json::parse("metadata", r#"{ "b" : 1.50, "a":[ ] }"#).expect("json");
    let body = MessageBody::with_content(Role::Assistant, content).metadata(metadata);
    keep.engine.append(thread, body).await.expect("an append");
    let read = keep.engine.messages(thread, Page::first()).await.expect("a page").items.remove(0);
    let read = read.body().expect("a body");
    assert_eq!(read.content.as_json().as_str(), text);
    assert_eq!(read.metadata.expect("metadata").as_str(), r#"{ "b" : 1.50, "a":[ ] }"#);
}

async fn events_are_history_but_not_messages(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let data = Json::parse("data", r#"{"name":"ls"}"#).expect("json");
    let event = Event { kind: EventKind::ToolUse, data };
    assert_eq!(keep.engine.append_event(thread, event).await.expect("an event").version, Position(2));
    let blank = Event { kind: EventKind::Result, data: Json::parse("data", "[]").expect("json") };
    let refused = keep.engine.append_event(thread, blank).await;
    assert_eq!(refused.expect_err("data that is no object").code(), "invalid_body");
    assert_eq!(keep.shows(thread).await, "a");
    let history = keep.engine.history(thread, Position(0), 9).await.expect("history");
    let kinds: Vec<_> = history.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["message_appended", "event_logged"]);
}

async fn metadata_edits_merge(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let id = keep.ids(thread).await[0];
    for edit in [r#"{"a":1,"b":2}"#, r#"{"b":null,"c":[3]}"#] {
        let edit = EditMessage::metadata(id, Json::parse("metadata", edit).expect("json"));
        keep.engine.edit_message(thread, edit).await.expect("an edit");
    }
    let message = keep.engine.message(thread, id, None).await.expect("a message");
    let body = message.body().expect("a body");
    assert_eq!(body.metadata.expect("metadata").as_str(), r#"{"a":1,"c":[3]}"#);
    assert_eq!(body.content.to_text(), "a");
    let nothing = EditMessage { message: id.into(), content: None, metadata: None };
    assert_eq!(keep.engine.edit_message(thread, nothing).await.expect_err("no edit").code(), "invalid_body");
}

async fn cursors_are_checked(keep: Keep) {
    let (one, other) = (keep.thread(&["a", "b"]).await, keep.thread(&["c", "d"]).await);
    let next = keep.engine.messages(one, Page::first().limit(1)).await.expect("a page").next.expect("more");
    let foreign = keep.engine.messages(other, Page::after(next.clone())).await.expect_err("another thread's cursor");
    assert_eq!(foreign.code(), "invalid_cursor");
    let far = next.replace("-2-", "-ffff-");
    for wrong in ["", "x", "ma", "m☃", "ma-1-1-1", &next[..next.len() - 1], &format!("{next}-0"), &far] {
        let refused = keep.engine.messages(one, Page::after(wrong)).await;
        let code = refused.expect_err(wrong).code();
        assert!(["invalid_cursor", "version_in_future"].contains(&code), "{wrong}: {code}");
    }
}
