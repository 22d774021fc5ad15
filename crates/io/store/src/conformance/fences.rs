//! Promises of fences: what a frozen account cannot do, and what is left of a released one.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use threadkeep_model::{
    Account, BlobId, Caller, Commit, Create, Entry, Expect, Idempotency, ItemKind, MessageBody, MessageDelivered,
    MessageId, MessageQueued, NewEntry, NewSegment, QueuedId, Record, Tally, ThreadCommit, ThreadId, Write,
};

use super::Hands;
use super::hands::said;
use super::upkeep::{derived, furnished, whole};
use crate::{ImportBatch, ItemQuery, KeyQuery, ListQuery, Registered, RegistryKind, Result, StoreError};

fn account(name: &str) -> Account {
    Account::new(name).expect("an account")
}

async fn thread_of(hands: &Hands, owner: &str) -> ThreadId {
    hands.thread_with(account(owner), Record::default(), &["a"]).await
}

/// A refusal by the fence of `owner`, with its note.
fn is_frozen<T>(result: &Result<T>, owner: &str, why: &str) -> bool {
    matches!(result, Err(StoreError::Frozen { account, note }) if account.as_str() == owner && note == why)
}

fn birth(hands: &Hands, owner: &str) -> ThreadCommit {
    let segment = NewSegment { id: hands.segment_id(), link: None, birth: Tally::default() };
    let (thread, record) = (hands.thread_id(), Record::default());
    ThreadCommit::Create(Create {
        thread,
        account: account(owner),
        record,
        segment,
        entries: Vec::new(),
        created: None,
    })
}

pub async fn a_frozen_account_writes_nothing_and_others_do(hands: Hands) {
    let (anns, bobs) = (thread_of(&hands, "ann").await, thread_of(&hands, "bob").await);
    let fences = &hands.stores.fences;
    assert_eq!(fences.frozen(account("ann")).await.expect("a read"), None);
    fences.freeze(account("ann"), "rests".into()).await.expect("frozen");
    fences.freeze(account("ann"), "moves".into()).await.expect("frozen again");
    assert_eq!(fences.frozen(account("ann")).await.expect("a read").as_deref(), Some("moves"));
    let record = Some(Record::default());
    let given = Write {
        thread: bobs,
        expect: Expect::default(),
        branch: None,
        entries: Vec::new(),
        record,
        owner: Some(account("ann")),
    };
    let refused: [(&str, Vec<ThreadCommit>); 7] = [
        ("an append", vec![hands.write(anns, vec![said("b")])]),
        ("several entries", vec![hands.write(anns, (0..20).map(|_| said("b")).collect())]),
        ("a branch", vec![hands.branch(anns, hands.head(anns).await.segment, threadkeep_model::Position(1))]),
        ("a birth", vec![birth(&hands, "ann")]),
        ("a deletion", vec![ThreadCommit::Delete { thread: anns, expect: Expect::default() }]),
        ("a new owner", vec![ThreadCommit::Write(given)]),
        ("two threads", vec![hands.write(bobs, vec![said("b")]), hands.write(anns, vec![said("b")])]),
    ];
    for (what, threads) in refused {
        let result = hands.try_commit(hands.commit(threads)).await;
        assert!(is_frozen(&result, "ann", "moves"), "{what}: {result:?}");
    }
    let result = hands.try_commit(hands.keyed(anns, "b", "key")).await;
    assert!(is_frozen(&result, "ann", "moves"), "under a key: {result:?}");
    assert_eq!((hands.texts(anns).await, hands.texts(bobs).await), (vec!["a".to_owned()], vec!["a".to_owned()]));
    hands.say(bobs, "b").await;
    hands.done(hands.commit(vec![birth(&hands, "bob")])).await;
    assert!(fences.thaw(account("ann")).await.expect("an answer"));
    assert!(!fences.thaw(account("ann")).await.expect("an answer"), "it was frozen no longer");
    hands.say(anns, "b").await;
    assert_eq!(hands.texts(anns).await, ["a", "b"]);
}

pub async fn documents_of_a_frozen_account_stay_as_they_are_and_keys_do_not(hands: Hands) {
    let (registry, fences) = (&hands.stores.registry, &hands.stores.fences);
    let document = |kind: RegistryKind, owner: &str, json: &str| {
        let id = format!("{owner} {}", kind.code());
        Registered { kind, id, account: account(owner), json: json.into(), created: hands.now() }
    };
    let [project, key] = [RegistryKind::Project, RegistryKind::Key].map(|kind| document(kind, "ann", "{}"));
    registry.register(project.clone()).await.expect("registered");
    fences.freeze(account("ann"), "moves".into()).await.expect("frozen");
    let changed = Registered { json: r#"{"name":"b"}"#.into(), ..project.clone() };
    let new = document(RegistryKind::Memory, "ann", "{}");
    assert!(is_frozen(&registry.register(changed.clone()).await, "ann", "moves"));
    assert!(is_frozen(&registry.register_over(changed, Some(project.json.clone())).await, "ann", "moves"));
    assert!(is_frozen(&registry.register_over(new, None).await, "ann", "moves"));
    assert!(is_frozen(&registry.unregister(project.kind, project.id.clone()).await, "ann", "moves"));
    let found = registry.registered(project.kind, vec![project.id.clone()]).await.expect("a read");
    assert_eq!(found, [project]);
    registry.register(key.clone()).await.expect("a key is of the store, and not of its account");
    assert!(registry.unregister(key.kind, key.id).await.expect("an answer"));
    registry.register(document(RegistryKind::Project, "bob", "{}")).await.expect("another account's");
}

pub async fn what_was_acknowledged_before_the_freeze_is_all_there_is(hands: Hands) {
    let thread = thread_of(&hands, "ann").await;
    let stop = Arc::new(AtomicBool::new(false));
    let writers = (0..4).map(|writer| {
        let (stores, stop, time) = (hands.stores.clone(), Arc::clone(&stop), hands.now());
        // Appends and larger commits take different ways.
        let entries: Vec<NewEntry> = (0..1 + 16 * (writer % 2)).map(|_| said("b")).collect();
        tokio::spawn(async move {
            let mut acknowledged = 0;
            while !stop.load(Ordering::SeqCst) {
                let expect = Expect::default();
                let (branch, record, owner) = (None, None, None);
                let write = Write { thread, expect, branch, entries: entries.clone(), record, owner };
                let commit = Commit {
                    caller: threadkeep_model::Caller::local(),
                    time,
                    threads: vec![ThreadCommit::Write(write)],
                    blobs: Vec::new(),
                    idempotency: None,
                    owner: None,
                };
                match stores.store.commit(commit).await {
                    Ok(_) => acknowledged += entries.len(),
                    Err(StoreError::Frozen { .. }) => return acknowledged,
                    Err(error) => panic!("{error}"),
                }
                tokio::task::yield_now().await;
            }
            acknowledged
        })
    });
    let writers: Vec<_> = writers.collect();
    while hands.texts(thread).await.len() < 100 {
        tokio::task::yield_now().await;
    }
    hands.stores.fences.freeze(account("ann"), "moves".into()).await.expect("frozen");
    let at_once = hands.texts(thread).await.len();
    let mut acknowledged = 1;
    for writer in writers {
        acknowledged += writer.await.expect("a writer");
    }
    stop.store(true, Ordering::SeqCst);
    assert_eq!(hands.texts(thread).await.len(), at_once, "nothing was written after the freeze");
    assert_eq!(at_once, acknowledged, "all that was acknowledged is there, and nothing else");
}

pub async fn a_released_account_is_gone_and_may_come_back(hands: Hands) {
    let (thread, _) = furnished(&hands).await;
    let kept = thread_of(&hands, "bob").await;
    let queued = |text: &str| NewEntry::new(&Entry::MessageQueued(MessageQueued { message: MessageBody::user(text) }));
    let committed = hands.done(hands.commit(vec![hands.write(thread, vec![queued("one"), queued("two")])])).await;
    let place = committed.threads.first().expect("a thread");
    let item = QueuedId(MessageId { segment: place.segment, position: place.first });
    let delivered = Entry::MessageDelivered(MessageDelivered { item, message: MessageBody::user("one") });
    hands.done(hands.commit(vec![hands.write(thread, vec![NewEntry::new(&delivered)])])).await;
    let project = Registered {
        kind: RegistryKind::Project,
        id: "p".into(),
        account: Account::local(),
        json: "{}".into(),
        created: hands.now(),
    };
    hands.stores.registry.register(project).await.expect("registered");
    let items = async || {
        let query = ItemQuery { thread, kind: ItemKind::Queued, key: None, limit: 9 };
        hands.stores.store.items(query).await.expect("a read")
    };
    let mut batch = whole(&hands).await;
    batch.threads.retain(|thread| thread.id != kept);
    let before = (derived(&hands).await, items().await);
    assert_eq!(before.1.len(), 1, "the other one was delivered");
    for with_gc in [false, true] {
        assert_eq!(released(&hands, "local", "moved").await, None, "no fence, nothing goes");
        hands.stores.fences.freeze(Account::local(), "moved".into()).await.expect("frozen");
        assert_eq!(released(&hands, "local", "another move").await, None);
        assert_eq!(hands.texts(kept).await, ["a"]);
        assert!(hands.stores.store.head(thread).await.expect("a read").is_some());
        assert_eq!(released(&hands, "local", "moved").await, Some(2));
        assert!(hands.stores.store.list(ListQuery::of(Account::local(), 9)).await.expect("a list").is_empty());
        assert!(hands.stores.store.head(thread).await.expect("a read").is_none());
        let left = hands.stores.registry.registered(RegistryKind::Project, vec!["p".into()]).await.expect("a read");
        assert!(left.is_empty());
        assert_eq!(hands.texts(kept).await, ["a"], "another account's");
        if with_gc {
            assert!(hands.gc().await.entries > 0);
            assert_eq!(hands.entries(hands.head(kept).await.segment, 0, 99).await.len(), 1);
        }
        hands.stores.upkeep.import(batch.clone()).await.expect("it comes back");
        assert_eq!((derived(&hands).await, items().await.len()), (before.0.clone(), 1));
        assert_eq!(hands.stores.upkeep.check_lists(9).await.expect("a check"), Vec::<String>::new());
        hands.stores.fences.thaw(Account::local()).await.expect("thawed");
    }
    hands.stores.fences.freeze(account("nobody"), "moved".into()).await.expect("frozen");
    assert_eq!(released(&hands, "nobody", "moved").await, Some(0));
}

async fn released(hands: &Hands, owner: &str, note: &str) -> Option<u64> {
    hands.stores.fences.release(account(owner), note.to_owned()).await.expect("an answer")
}

pub async fn idempotency_keys_go_along_with_their_threads(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let other = thread_of(&hands, "bob").await;
    let asked = hands.keyed(thread, "b", "to the thread");
    let first = hands.done(asked.clone()).await;
    hands.done(hands.keyed(other, "b", "to another")).await;
    let key = |key: &str| {
        let (key, hash) = (threadkeep_model::IdempotencyKey::new(key).expect("a key"), BlobId::of(b"birth"));
        Some(Idempotency { key, hash })
    };
    let birth_of_one = Commit { idempotency: key("a birth"), ..hands.commit(vec![birth(&hands, "local")]) };
    let born = hands.done(birth_of_one.clone()).await;
    let mut caller = Caller::local();
    caller.account = account("bob");
    let bobs = Commit { caller, idempotency: key("a birth"), ..hands.commit(vec![birth(&hands, "bob")]) };
    hands.done(bobs).await;
    let mut batch = whole(&hands).await;
    batch.threads.retain(|thread| thread.account == Account::local());
    let mut keys = hands.stores.fences.keys(Account::local(), vec![thread, KeyQuery::NEW]).await.expect("keys");
    keys.sort_by(|one, other| one.key.as_str().cmp(other.key.as_str()));
    assert_eq!(keys.iter().map(|kept| kept.key.as_str()).collect::<Vec<_>>(), ["a birth", "to the thread"]);
    hands.stores.fences.freeze(Account::local(), "moved".into()).await.expect("frozen");
    assert!(released(&hands, "local", "moved").await.is_some());
    hands.stores.fences.thaw(Account::local()).await.expect("thawed");
    hands.gc().await;
    batch.keys = keys;
    hands.stores.upkeep.import(batch).await.expect("it comes back");
    for (asked, told) in [(asked, first), (birth_of_one, born)] {
        let again = hands.done(asked).await;
        assert!(again.replayed);
        assert_eq!((again.threads[0].thread, again.threads[0].first), (told.threads[0].thread, told.threads[0].first));
    }
    assert_eq!(hands.texts(thread).await, ["a", "b"], "nothing is there twice");
}

pub async fn an_import_brings_the_documents_of_an_account(hands: Hands) {
    let document = |owner: &str, id: &str, json: &str| Registered {
        kind: RegistryKind::Memory,
        id: id.into(),
        account: account(owner),
        json: json.into(),
        created: hands.now(),
    };
    for known in [document("ann", "old", "{}"), document("ann", "both", "{}"), document("bob", "his", "{}")] {
        hands.stores.registry.register(known).await.expect("registered");
    }
    hands.stores.fences.freeze(account("ann"), "moves".into()).await.expect("frozen");
    let brought = vec![document("ann", "both", r#"{"a":1}"#), document("ann", "new", "{}")];
    let documents = Some((account("ann"), brought));
    let batch = ImportBatch { documents, finished: true, now: hands.now(), ..ImportBatch::default() };
    hands.stores.upkeep.import(batch).await.expect("an import passes the fence");
    let ids = ["old", "both", "new", "his"].map(str::to_owned).to_vec();
    let mut found = hands.stores.registry.registered(RegistryKind::Memory, ids).await.expect("a read");
    found.sort_by(|one, other| one.id.cmp(&other.id));
    let found: Vec<_> = found.iter().map(|one| (one.id.as_str(), one.json.as_str())).collect();
    assert_eq!(found, [("both", r#"{"a":1}"#), ("his", "{}"), ("new", "{}")]);
}
