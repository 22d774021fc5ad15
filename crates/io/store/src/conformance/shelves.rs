//! Promises of where the search index lies.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::Account;

use super::Hands;
use crate::{GcOptions, NewVolume, Progress, Reshelving};

fn account(name: &str) -> Account {
    Account::new(name).expect("an account")
}

fn volume(name: &str, documents: u64, content: Vec<u8>) -> NewVolume {
    let (account, model) = (account(name), "m1 ☃".to_owned());
    NewVolume { account, documents, text_bytes: 7 * documents, model, content: content.into() }
}

async fn ids(hands: &Hands, of: Option<&str>) -> Vec<u64> {
    let found = hands.stores.shelves.volumes(of.map(account)).await.expect("volumes");
    found.into_iter().map(|row| row.id).collect()
}

pub async fn volumes_are_added_read_and_removed_by_account(hands: Hands) {
    let shelves = &hands.stores.shelves;
    assert_eq!(shelves.edition().await.expect("an edition"), (0, String::new()));
    let large: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7 % 251) as u8).collect();
    let add = vec![volume("ann", 3, large.clone()), volume("bob", 0, Vec::new()), volume("ann", 1, vec![0, 255])];
    let change = Reshelving { edition: 0, note: "first ☃".to_owned(), add, remove: Vec::new() };
    assert!(shelves.reshelve(change).await.expect("a change"));
    assert_eq!(shelves.edition().await.expect("an edition"), (1, "first ☃".to_owned()));
    let rows = shelves.volumes(Some(account("ann"))).await.expect("volumes");
    let told: Vec<_> = rows.iter().map(|row| (row.documents, row.text_bytes, row.bytes, row.model.as_str())).collect();
    assert_eq!(told, [(3, 21, 3_000_000, "m1 ☃"), (1, 7, 2, "m1 ☃")]);
    assert_eq!(shelves.volume(rows[0].id).await.expect("a volume"), Some(Bytes::from(large.clone())));
    let ranges = vec![0..0, 0..1, 4_000..4_200, 10..1_000_000, 2_999_999..3_000_000, 3_000_000..3_000_000, 500..900];
    let expected: Vec<Bytes> = ranges.iter().map(|range| Bytes::copy_from_slice(&large[range.clone()])).collect();
    assert_eq!(shelves.parts(rows[0].id, ranges).await.expect("parts"), Some(expected));
    assert_eq!(shelves.parts(rows[1].id, vec![0..2, 1..2]).await.expect("parts").expect("there")[1][..], [255]);
    assert!(shelves.parts(rows[1].id, vec![0..2, 1..3]).await.is_err(), "it ends before");
    assert_eq!(shelves.parts(rows[1].id, Vec::new()).await.expect("no parts"), Some(Vec::new()));
    let all = ids(&hands, None).await;
    assert!(all.len() == 3 && all.is_sorted());
    let remove = vec![rows[0].id, 999_999];
    let change = Reshelving { edition: 1, note: String::new(), add: vec![volume("cyd", 1, vec![1])], remove };
    assert!(shelves.reshelve(change).await.expect("a change"));
    assert_eq!(shelves.volume(rows[0].id).await.expect("no volume"), None);
    assert_eq!(shelves.parts(rows[0].id, vec![0..9, 9..10]).await.expect("no volume"), None);
    assert_eq!(ids(&hands, Some("ann")).await, [rows[1].id]);
    let new = ids(&hands, Some("cyd")).await;
    assert!(new[0] > all[2], "a number is never given twice");
    shelves.sweep().await.expect("a sweep");
    assert_eq!(ids(&hands, None).await.len(), 3);
}

pub async fn of_two_who_change_the_index_one_is_told_to_look_again(hands: Hands) {
    let shelves = &hands.stores.shelves;
    let change = |note: &str| Reshelving {
        edition: 0,
        note: note.to_owned(),
        add: vec![volume("ann", 1, vec![1])],
        remove: Vec::new(),
    };
    assert!(shelves.reshelve(change("one")).await.expect("a change"));
    assert!(!shelves.reshelve(change("two")).await.expect("no change"));
    assert_eq!(shelves.edition().await.expect("an edition"), (1, "one".to_owned()));
    assert_eq!(ids(&hands, None).await.len(), 1);
}

pub async fn an_index_that_was_cleared_is_empty_and_whoever_changed_it_is_told(hands: Hands) {
    let shelves = &hands.stores.shelves;
    let add = vec![volume("ann", 1, vec![1]), volume("bob", 1, vec![2])];
    let change = Reshelving { note: "a note".to_owned(), add: add.clone(), ..Reshelving::default() };
    assert!(shelves.reshelve(change).await.expect("a change"));
    let before = ids(&hands, None).await;
    shelves.clear().await.expect("cleared");
    assert_eq!(ids(&hands, None).await, [0; 0]);
    assert_eq!(shelves.volume(before[0]).await.expect("no volume"), None);
    let (edition, note) = shelves.edition().await.expect("an edition");
    assert!(edition > 1 && note.is_empty(), "{edition} {note}");
    assert!(!shelves.reshelve(Reshelving { edition: 1, ..Reshelving::default() }).await.expect("no change"));
    assert!(shelves.reshelve(Reshelving { edition, add, ..Reshelving::default() }).await.expect("a change"));
    assert!(ids(&hands, None).await[0] > before[1], "a number is never given twice");
}

pub async fn gc_and_rebuild_leave_volumes_alone(hands: Hands) {
    let shelves = &hands.stores.shelves;
    let add = vec![volume("ann", 1, vec![1, 2, 3])];
    assert!(shelves.reshelve(Reshelving { add, ..Reshelving::default() }).await.expect("a change"));
    let quiet: Progress = Arc::new(|_, _, _| {});
    hands.stores.upkeep.gc(GcOptions { vacuum: true, now: hands.now() }, quiet.clone()).await.expect("gc");
    hands.stores.upkeep.rebuild(quiet).await.expect("a rebuild");
    let found = ids(&hands, None).await;
    assert_eq!(shelves.volume(found[0]).await.expect("a volume"), Some(Bytes::from_static(&[1, 2, 3])));
}
