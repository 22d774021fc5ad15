//! The same values on every store: the same operations on each, in the same world, and everything compared to the
//! letter: numbers, unicode, the order of keys, null bytes, names, times, ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use threadkeep::{
    Account, Actor, ActorKind, Append, At, Caller, Clock, Content, Create, DeleteMessage, EditMessage, Engine, Event,
    EventKind, ExportItem, Fork, HistoryEntry, IdempotencyKey, Json, Limits, List, MemoryStore, MessageBody, MessageId,
    NewMessage, Page, Position, PostgresStore, Role, RollbackTo, Selection, SetCheckpoint, SqliteStore, Stores, Thread,
    ThreadId, Timestamp, Truncate, TruncateFrom, Update, World,
};

/// Values that a database might make something else of.
const VALUES: [&str; 22] = [
    "0",
    "-0",
    "-0.0",
    "1.0",
    "1e2",
    "1E+2",
    "0.1",
    "1e-7",
    "5e-324",
    "1.7976931348623157e308",
    "9007199254740993",
    "18446744073709551616",
    "123456789012345678901234567890.123456789012345678901234567890",
    r#""\u00e9 é \/ / \ud83d\ude00 😀""#,
    r#""\u202e right to left, e\u0301 and é, \uffff, 􏿿, ß, İ""#,
    r#""\u0001\t\n\\\"'; DROP TABLE entries; --$$""#,
    r#"{"z":1,"a":2,"m":{"y":[],"b":{}}}"#,
    r#"{ "spaced" : [ 1 , 2 ] }"#,
    r#"{"null\u0000byte":"a\u0000b"}"#,
    "null",
    "[true,false,null]",
    r#""""#,
];

/// Time and chance that are the same in every run.
#[derive(Default)]
struct Counting(AtomicU64);

impl World for Counting {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_001 + 999_983 * self.0.fetch_add(1, Ordering::Relaxed) as i64)
    }

    fn chance(&self) -> u128 {
        let drawn = u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1);
        drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

/// All that a store shows.
#[derive(Debug, PartialEq)]
struct Shown {
    threads: Vec<Thread>,
    export: Vec<ExportItem>,
    history: Vec<HistoryEntry>,
    messages: Vec<(MessageId, Vec<u8>)>,
    relations: Vec<String>,
    refusals: Vec<String>,
}

async fn fill(engine: &Engine) -> Shown {
    let who = Caller {
        account: Account::new("Ünïcode & 'quotes'").expect("an account"),
        actor: Actor::new(ActorKind::Agent, "agent \u{1f600} \"x\"").expect("an actor"),
        cause: Some("cause $1 \u{202e}".into()),
    };
    let engine = engine.acting_as(who);
    let json = |text: &str| Json::parse("value", text).expect("json");
    let object = |value: &str| json(&format!(r#"{{"v":{value}}}"#));
    let create = Create::titled("Tïtle 😀 \u{0}with 'quotes'").field("metadata", object(VALUES[12]));
    let thread = engine.create(create).await.expect("a thread").id;
    for value in VALUES {
        let text = format!("{value} \u{0}😀");
        engine.append(thread, MessageBody::user(&text).metadata(object(value))).await.expect("an append");
        let event = Event { kind: EventKind::ToolUse, data: object(value) };
        engine.append_event(thread, event).await.expect("an event");
        let input = format!(r#"[{{"type":"tool_use","id":"1","name":"n","input":{}}}]"#, object(value).as_str());
        let content = Content::from_json(json(&input)).expect("content");
        let many = (0..20).map(|_| MessageBody::with_content(Role::Assistant, content.clone()));
        engine.append(thread, Append::batch(many)).await.expect("a batch");
        engine.update(thread, Update::new().field("metadata", object(value))).await.expect("an update");
    }
    let keyed = || {
        let key = IdempotencyKey::new("key 😀 '").expect("a key");
        At::of(thread).keyed(key)
    };
    let once = engine.append(keyed(), MessageBody::user("once")).await.expect("an append");
    assert_eq!(engine.append(keyed(), MessageBody::user("once")).await.expect("a retry"), once);
    let large = NewMessage::from(MessageBody::user(&"large ünïcode ".repeat(3_000)));
    engine.append(thread, large.attach("näme", "text/plain", &b"\x00\xff bytes"[..])).await.expect("a large message");
    let ids = |page: &[threadkeep::Message]| page.iter().map(|message| message.id).collect::<Vec<_>>();
    let first = ids(&engine.messages(thread, Page::first().limit(9)).await.expect("a page").items);
    engine.edit_message(thread, EditMessage::content(first[0], Content::text("edited é"))).await.expect("an edit");
    engine.edit_message(thread, EditMessage::metadata(first[1], json(VALUES[16]))).await.expect("an edit");
    engine.delete_message(thread, DeleteMessage { message: first[2].into() }).await.expect("a deletion");
    engine.append(thread, Append::before(MessageBody::user("inserted"), first[3])).await.expect("an insertion");
    engine.checkpoint(thread, SetCheckpoint::named("chéckpoint 😀")).await.expect("a checkpoint");
    let fork = engine.fork(thread, Fork::at_index(30)).await.expect("a fork").id;
    engine.truncate(fork, Truncate { from: TruncateFrom::Index(25) }).await.expect("a truncation");
    engine.rollback(thread, RollbackTo::Version(Position(50))).await.expect("a rollback");
    engine.rollback(thread, RollbackTo::Checkpoint("chéckpoint 😀".into())).await.expect("a rollback");
    let mut refusals = Vec::new();
    for text in ["1e400", "\"\\ud800\"", r#"{"a":1,"a":2}"#, "01", "NaN"] {
        refusals.push(Json::parse("value", text).expect_err(text).to_string());
    }
    refusals.push(engine.thread(ThreadId::from_chance(1)).await.expect_err("no thread").to_string());
    show(&engine, &[thread, fork], refusals).await
}

async fn show(engine: &Engine, threads: &[ThreadId], refusals: Vec<String>) -> Shown {
    let (mut history, mut messages, mut relations) = (Vec::new(), Vec::new(), Vec::new());
    for thread in threads {
        history.extend(engine.history(*thread, Position(0), 10_000).await.expect("history"));
        let page = engine.messages(*thread, Page::first().include_silent().limit(1_000)).await.expect("a page");
        messages.extend(page.items.into_iter().map(|message| (message.id, message.json.to_vec())));
        relations.push(format!("{:?}", engine.relationships(*thread).await.expect("relations")));
    }
    let mut export = Vec::new();
    let sink = |item: ExportItem| {
        export.push(item);
        Ok::<(), threadkeep::Error>(())
    };
    engine.export(Selection::All, sink).await.expect("an export");
    let rows = engine.list(List::default()).await.expect("a list").items;
    let threads = rows.into_iter().map(|row| row.thread).collect();
    Shown { threads, export, history, messages, relations, refusals }
}

#[test]
fn every_store_keeps_the_same_values_to_the_letter() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let schema = threadkeep_throwaway::schema();
    let url = schema.url().parse().expect("a url");
    crate::run(async {
        let stores = [
            ("memory", Stores::of(MemoryStore::new())),
            ("sqlite", Stores::of(SqliteStore::open(folder.path().join("threads.db")).expect("a store"))),
            ("postgres", Stores::of(PostgresStore::open_with(url, Clock::Caller).expect("a store"))),
        ];
        let mut reference: Option<Shown> = None;
        for (name, stores) in stores {
            let shown = fill(&Engine::new(stores, Arc::new(Counting::default()), Limits::default())).await;
            assert!(shown.messages.len() > VALUES.len() && shown.history.len() > 500, "{name} shows something");
            match &reference {
                None => reference = Some(shown),
                Some(reference) => {
                    assert_eq!(shown.history, reference.history, "history in {name}");
                    assert_eq!(shown.messages, reference.messages, "messages in {name}");
                    assert_eq!(shown, *reference, "{name}");
                }
            }
        }
    });
}
