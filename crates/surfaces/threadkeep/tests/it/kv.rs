//! Values: JSON under a key, durable, versioned with the log, compared and set.

use threadkeep::{Fork, Json, Position, RollbackTo, SetValue, ThreadId, Value, ValueKey, Values};

use crate::{Keep, on_every_store};

on_every_store!(
    a_value_is_set_read_and_taken_away,
    a_value_is_set_only_at_the_version_that_is_expected,
    values_are_listed_by_prefix_in_pages,
    forks_and_rollbacks_see_their_own_values,
    large_values_and_odd_keys_are_kept_to_the_letter,
);

fn key(text: &str) -> ValueKey {
    text.parse().expect("a key")
}

fn json(text: &str) -> Json {
    Json::parse("value", text).expect("json")
}

async fn set(keep: &Keep, thread: ThreadId, name: &str, value: &str) -> Option<Value> {
    keep.engine.set_value(thread, SetValue::new(name, json(value)).expect("a key")).await.expect("a value")
}

async fn get(keep: &Keep, thread: ThreadId, name: &str, as_of: Option<Position>) -> Option<String> {
    let found = keep.engine.value(thread, &key(name), as_of).await.expect("a read");
    found.map(|found| found.value.as_str().to_owned())
}

async fn a_value_is_set_read_and_taken_away(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    assert_eq!(get(&keep, thread, "k", None).await, None, "missing is nothing, and no error");
    let stored = set(&keep, thread, "k", r#"{"b": 1.0, "a": [null]}"#).await.expect("stored");
    assert_eq!(stored.version, Position(2));
    assert_eq!(get(&keep, thread, "k", None).await.as_deref(), Some(r#"{"b": 1.0, "a": [null]}"#));
    assert_eq!(set(&keep, thread, "k", "null").await, None, "null takes it away");
    assert_eq!(get(&keep, thread, "k", None).await, None);
    assert_eq!(get(&keep, thread, "k", Some(Position(2))).await.as_deref(), Some(r#"{"b": 1.0, "a": [null]}"#));
    let version = keep.engine.thread(thread).await.expect("a thread").head.version;
    assert_eq!(set(&keep, thread, "never", "null").await, None);
    assert_eq!(keep.engine.thread(thread).await.expect("a thread").head.version, version, "nothing happened");
}

async fn a_value_is_set_only_at_the_version_that_is_expected(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let swap = async |value: &str, at: u64| {
        let new = SetValue::new("k", json(value)).expect("a key");
        keep.engine.set_value(thread, SetValue { if_version: Some(Position(at)), ..new }).await
    };
    let first = swap("1", 0).await.expect("there was none").expect("a value").version;
    assert_eq!(swap("2", 0).await.expect_err("there is one").code(), "version_conflict");
    assert_eq!(swap("2", 99).await.expect_err("another version").code(), "version_conflict");
    swap("2", first.0).await.expect("the right version");
    assert_eq!(get(&keep, thread, "k", None).await.as_deref(), Some("2"));
    set(&keep, thread, "k", "null").await;
    swap("3", 0).await.expect("there is none any more");
    // Of many that compare with the same version one wins.
    let at = keep.engine.value(thread, &key("k"), None).await.expect("a read").expect("a value").version.0;
    let (a, b, c) = tokio::join!(swap("4", at), swap("5", at), swap("6", at));
    assert_eq!([a, b, c].iter().filter(|result| result.is_ok()).count(), 1);
}

async fn values_are_listed_by_prefix_in_pages(keep: Keep) {
    let thread = keep.thread(&[]).await;
    for n in 0..25 {
        set(&keep, thread, &format!("user/{n:02}"), &n.to_string()).await;
        set(&keep, thread, &format!("usex/{n:02}"), "0").await;
    }
    set(&keep, thread, "user/03", "null").await;
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let which = Values { prefix: "user/".into(), after, limit: Some(7), as_of: None };
        let (found, next) = keep.engine.values(thread, which).await.expect("values");
        assert!(found.len() <= 7);
        seen.extend(found.iter().map(|value| value.key.to_string()));
        match next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let expected: Vec<String> = (0..25).filter(|n| *n != 3).map(|n| format!("user/{n:02}")).collect();
    assert_eq!(seen, expected);
    let (all, _) =
        keep.engine.values(thread, Values { limit: Some(1_000), ..Values::default() }).await.expect("values");
    assert_eq!(all.len(), 49);
}

async fn forks_and_rollbacks_see_their_own_values(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    set(&keep, thread, "k", "1").await;
    let fork = keep.engine.fork(thread, Fork::default()).await.expect("a fork").id;
    set(&keep, thread, "k", "2").await;
    set(&keep, fork, "own", "3").await;
    assert_eq!((get(&keep, fork, "k", None).await, get(&keep, thread, "own", None).await), (Some("1".into()), None));
    keep.engine.rollback(thread, RollbackTo::Version(Position(2))).await.expect("a rollback");
    assert_eq!(get(&keep, thread, "k", None).await.as_deref(), Some("1"));
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("undo");
    assert_eq!(get(&keep, thread, "k", None).await.as_deref(), Some("2"));
    let helper = threadkeep::Subagent { name: "helper".into(), ..Default::default() };
    let child = keep.engine.subagent(thread, helper).await.expect("a subagent").thread.id;
    assert_eq!(get(&keep, child, "k", None).await, None, "a subagent inherits no values");
}

async fn large_values_and_odd_keys_are_kept_to_the_letter(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let large = format!("\"{}\"", "ä".repeat(300_000));
    for name in ["a/b c", "☃", "%2e%2e", "..", "'; DROP TABLE cells; --"] {
        set(&keep, thread, name, &large).await;
        assert_eq!(get(&keep, thread, name, None).await.as_ref(), Some(&large), "{name}");
    }
    assert_eq!("".parse::<ValueKey>().expect_err("empty").code.as_str(), "invalid_parameter");
    assert_eq!("k".repeat(513).parse::<ValueKey>().expect_err("long").code.as_str(), "invalid_parameter");
    let too_large = SetValue::new("k", json(&format!("\"{}\"", "x".repeat(1 << 20)))).expect("a key");
    assert_eq!(keep.engine.set_value(thread, too_large).await.expect_err("too large").code(), "too_large");
}
