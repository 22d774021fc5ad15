//! Promises of the registry.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use std::sync::Arc;

use threadkeep_model::Account;

use super::Hands;
use crate::{GcOptions, Progress, Registered, RegistryKind, RegistryQuery};

fn document(hands: &Hands, kind: RegistryKind, id: &str, account: &str, json: &str) -> Registered {
    let account = Account::new(account).expect("an account");
    Registered { kind, id: id.into(), account, json: json.into(), created: hands.now() }
}

async fn ids(hands: &Hands, kind: RegistryKind, account: Option<&str>, after: Option<&str>, limit: usize) -> String {
    let account = account.map(|account| Account::new(account).expect("an account"));
    let query = RegistryQuery { kind, account, after: after.map(str::to_owned), limit };
    let found = hands.stores.registry.registry(query).await.expect("a read");
    found.into_iter().map(|document| document.id).collect::<Vec<_>>().join(" ")
}

pub async fn documents_are_registered_found_replaced_and_taken_out(hands: Hands) {
    let first = document(&hands, RegistryKind::Project, "p1", "ann", r#"{"name":"A ☃"}"#);
    hands.stores.registry.register(first.clone()).await.expect("registered");
    let find = async |ids: &[&str]| {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        hands.stores.registry.registered(RegistryKind::Project, ids).await.expect("a read")
    };
    assert_eq!(find(&["p1", "p2"]).await, std::slice::from_ref(&first));
    let again = document(&hands, RegistryKind::Project, "p1", "bob", "{}");
    hands.stores.registry.register(again.clone()).await.expect("registered");
    assert_eq!(find(&["p1"]).await, [Registered { created: first.created, ..again }], "its first time stays");
    assert!(hands.stores.registry.unregister(RegistryKind::Project, "p1".into()).await.expect("an answer"));
    assert!(!hands.stores.registry.unregister(RegistryKind::Project, "p1".into()).await.expect("an answer"));
    assert!(find(&["p1"]).await.is_empty() && find(&[]).await.is_empty());
}

pub async fn a_document_is_replaced_only_if_it_is_as_expected(hands: Hands) {
    let registry = &hands.stores.registry;
    let first = document(&hands, RegistryKind::DataKey, "current", "ann", r#"{"key":"a"}"#);
    assert!(registry.register_over(first.clone(), None).await.expect("an answer"));
    let second = document(&hands, RegistryKind::DataKey, "current", "ann", r#"{"key":"b"}"#);
    for before in [None, Some(r#"{"key":"c"}"#)] {
        let replaced = registry.register_over(second.clone(), before.map(str::to_owned)).await;
        assert!(!replaced.expect("an answer"), "{before:?}");
    }
    let find = async || registry.registered(RegistryKind::DataKey, vec!["current".into()]).await.expect("a read");
    assert_eq!(find().await, std::slice::from_ref(&first));
    assert!(registry.register_over(second.clone(), Some(first.json)).await.expect("an answer"));
    assert_eq!(find().await, [Registered { created: first.created, ..second.clone() }]);
    let missing = document(&hands, RegistryKind::DataKey, "other", "ann", "{}");
    assert!(!registry.register_over(missing, Some("{}".into())).await.expect("an answer"));
    // Of several at once, one wins.
    let tries = (0..8).map(|number| {
        let json = format!(r#"{{"key":{number}}}"#);
        let registry = Arc::clone(registry);
        let next = Registered { json, ..second.clone() };
        let before = Some(second.json.clone());
        tokio::spawn(async move { registry.register_over(next, before).await.expect("an answer") })
    });
    let mut won = 0;
    for each in tries.collect::<Vec<_>>() {
        won += usize::from(each.await.expect("a task"));
    }
    assert_eq!(won, 1);
}

pub async fn documents_are_listed_by_kind_and_account_in_pages(hands: Hands) {
    for (kind, id, account) in [
        (RegistryKind::Project, "b", "ann"),
        (RegistryKind::Project, "a", "ann"),
        (RegistryKind::Project, "c", "bob"),
        (RegistryKind::Key, "a", "ann"),
    ] {
        hands.stores.registry.register(document(&hands, kind, id, account, "{}")).await.expect("registered");
    }
    assert_eq!(ids(&hands, RegistryKind::Project, None, None, 9).await, "a b c");
    assert_eq!(ids(&hands, RegistryKind::Project, Some("ann"), None, 9).await, "a b");
    assert_eq!(ids(&hands, RegistryKind::Project, None, Some("a"), 1).await, "b");
    assert_eq!(ids(&hands, RegistryKind::Key, None, None, 9).await, "a");
    assert_eq!(ids(&hands, RegistryKind::Key, Some("bob"), None, 9).await, "");
}

pub async fn gc_and_rebuild_leave_documents_alone(hands: Hands) {
    let key = document(&hands, RegistryKind::Key, "k1", "ann", "{}");
    hands.stores.registry.register(key.clone()).await.expect("registered");
    let quiet: Progress = Arc::new(|_, _, _| {});
    let options = GcOptions { vacuum: true, now: hands.now() };
    hands.stores.upkeep.gc(options, quiet.clone()).await.expect("gc");
    hands.stores.upkeep.rebuild(quiet).await.expect("a rebuild");
    assert_eq!(hands.stores.registry.registered(RegistryKind::Key, vec!["k1".into()]).await.expect("a read"), [key]);
}
