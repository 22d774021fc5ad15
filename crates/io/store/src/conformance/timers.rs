//! Promises of items that are found without knowing their thread, and of those that wait for a time.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use threadkeep_model::{
    Account, Actor, ActorKind, ApprovalAnswered, ApprovalAsked, ApprovalState, Capability, Delegation,
    DelegationRevoked, EffectScheduled, Entry, Fallback, ItemKind, Json, NewEntry, OwnerChanged, Record, ThreadCommit,
    ThreadId, Timestamp, Uuid,
};

use super::Hands;
use super::hands::quiet;
use crate::{Due, DueQuery, Item, ItemList};

fn asked(id: Uuid, due: Option<i64>) -> ApprovalAsked {
    ApprovalAsked {
        id,
        scope: vec![Capability::Deploy],
        reason: None,
        timeout_at: due.map(Timestamp::from_micros),
        fallback: Fallback::Skip,
        can_revoke: true,
        merge: None,
        call: None,
        asked_by: Actor { kind: ActorKind::Agent, name: "a".into() },
        asked_at: Timestamp::from_micros(1),
    }
}

fn uuid(n: u32) -> Uuid {
    format!("00000000-0000-4000-8000-{n:012x}").parse().expect("a uuid")
}

async fn ask(hands: &Hands, thread: ThreadId, n: u32, due: Option<i64>) {
    let entry = NewEntry::new(&Entry::ApprovalRequested(asked(uuid(n), due)));
    hands.done(hands.commit(vec![hands.write(thread, vec![entry])])).await;
}

async fn answer(hands: &Hands, thread: ThreadId, n: u32) {
    let (approval, state) = (asked(uuid(n), None), ApprovalState::Approved);
    let answered = ApprovalAnswered { approval, state, timed_out: false, reason: None };
    let entry = NewEntry::new(&Entry::ApprovalAnswered(answered));
    hands.done(hands.commit(vec![hands.write(thread, vec![entry])])).await;
}

async fn found(hands: &Hands, n: u32) -> Option<(ThreadId, Item)> {
    hands.stores.store.item(ItemKind::Approval, uuid(n).to_string()).await.expect("a read")
}

/// The last digits of what is due at `until`, all of it in pages of two.
async fn due(hands: &Hands, until: i64) -> Vec<(i64, ThreadId, u32)> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let query = DueQuery { kind: ItemKind::Approval, until: Timestamp::from_micros(until), after, limit: 2 };
        let page: Vec<Due> = hands.stores.timers.due(query).await.expect("a read");
        let Some(last) = page.last() else { return all };
        after = Some((last.due, last.key.clone()));
        assert!(page.len() <= 2 && page.iter().all(|due| due.kind == ItemKind::Approval));
        let digits = |key: &str| u32::from_str_radix(&key[key.len() - 8..], 16).expect("digits");
        all.extend(page.iter().map(|due| (due.due.as_micros(), due.thread, digits(&due.key))));
    }
}

async fn next(hands: &Hands, after: i64) -> Option<i64> {
    let next = hands.stores.timers.next_due(ItemKind::Approval, Timestamp::from_micros(after)).await.expect("a read");
    next.map(Timestamp::as_micros)
}

/// The keys of an account's approvals in pages of two.
async fn listed(hands: &Hands, account: Option<Account>) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let list = ItemList { kind: ItemKind::Approval, account: account.clone(), after, limit: 2 };
        let page = hands.stores.store.all_items(list).await.expect("a read");
        let Some((_, last)) = page.last() else { return all };
        after = Some((last.made, last.key.clone()));
        all.extend(page.into_iter().map(|(_, item)| item.key));
    }
}

pub async fn an_item_is_found_by_its_key_in_whichever_thread_it_is(hands: Hands) {
    let (one, two) = (hands.thread(&["a"]).await, hands.thread(&[]).await);
    ask(&hands, one, 1, Some(50)).await;
    ask(&hands, two, 2, None).await;
    let (thread, item) = found(&hands, 2).await.expect("an item");
    assert_eq!((thread, item.key.as_str(), item.due), (two, uuid(2).to_string().as_str(), None));
    let (thread, item) = found(&hands, 1).await.expect("an item");
    assert_eq!((thread, item.due), (one, Some(Timestamp::from_micros(50))));
    assert_eq!(item.made, item.entry.time);
    answer(&hands, one, 1).await;
    let (_, answered) = found(&hands, 1).await.expect("an item");
    assert_eq!((answered.born, answered.made), (item.born, item.made), "where and when it was made stays");
    assert!(answered.entry.position > item.entry.position);
    assert_eq!(found(&hands, 3).await, None);
    let other_kind = hands.stores.store.item(ItemKind::Delegation, uuid(1).to_string()).await.expect("a read");
    assert_eq!(other_kind, None);
    hands.delete(one).await;
    assert_eq!(found(&hands, 1).await, None);
}

pub async fn items_of_an_account_are_listed_in_the_order_they_were_made(hands: Hands) {
    let ann = Account::new("ann").expect("an account");
    let own = hands.thread_with(ann.clone(), Record::default(), &["a"]).await;
    let also = hands.thread_with(ann.clone(), Record::default(), &[]).await;
    let other = hands.thread(&[]).await;
    for (thread, n) in [(own, 5), (also, 4), (other, 3), (own, 2), (also, 1)] {
        ask(&hands, thread, n, None).await;
    }
    answer(&hands, own, 5).await;
    let keys = |numbers: &[u32]| numbers.iter().map(|n| uuid(*n).to_string()).collect::<Vec<_>>();
    assert_eq!(listed(&hands, Some(ann.clone())).await, keys(&[5, 4, 2, 1]));
    assert_eq!(listed(&hands, None).await, keys(&[5, 4, 3, 2, 1]));
    let local = Account::local();
    let changed = OwnerChanged { from: local.clone(), to: ann.clone() };
    let mut given = hands.write(other, vec![NewEntry::new(&Entry::OwnerChanged(changed))]);
    if let ThreadCommit::Write(write) = &mut given {
        (write.owner, write.record) = (Some(ann.clone()), Some(Record::default()));
    }
    hands.done(hands.commit(vec![given])).await;
    assert_eq!(listed(&hands, Some(ann.clone())).await, keys(&[5, 4, 3, 2, 1]), "items go with their thread");
    assert!(listed(&hands, Some(local)).await.is_empty());
    hands.delete(own).await;
    assert_eq!(listed(&hands, Some(ann)).await, keys(&[4, 3, 1]));
}

pub async fn what_is_due_comes_soonest_first_in_pages(hands: Hands) {
    let (one, two) = (hands.thread(&["a"]).await, hands.thread(&[]).await);
    for (thread, n, at) in [(one, 1, 500), (two, 2, 300), (one, 3, 300), (two, 4, -7), (one, 5, 900)] {
        ask(&hands, thread, n, Some(at)).await;
    }
    ask(&hands, one, 6, None).await;
    assert_eq!(due(&hands, 500).await, [(-7, two, 4), (300, two, 2), (300, one, 3), (500, one, 1)]);
    assert_eq!(due(&hands, -8).await, []);
    assert_eq!(next(&hands, i64::MIN).await, Some(-7));
    assert_eq!((next(&hands, -7).await, next(&hands, 300).await), (Some(300), Some(500)));
    assert_eq!(next(&hands, 900).await, None);
}

pub async fn an_item_that_changed_or_went_is_not_due_any_more(hands: Hands) {
    let (one, two) = (hands.thread(&["a"]).await, hands.thread(&[]).await);
    ask(&hands, one, 1, Some(100)).await;
    ask(&hands, one, 2, Some(200)).await;
    ask(&hands, two, 3, Some(300)).await;
    answer(&hands, one, 1).await;
    assert_eq!(due(&hands, 900).await, [(200, one, 2), (300, two, 3)]);
    assert_eq!(next(&hands, i64::MIN).await, Some(200));
    hands.delete(one).await;
    assert_eq!(due(&hands, 900).await, [(300, two, 3)]);
    assert_eq!(next(&hands, i64::MIN).await, Some(300));
    // An item that comes and goes within one commit is not due either.
    let delegation = Delegation {
        id: uuid(4),
        scope: vec![Capability::Deploy],
        to: None,
        reason: None,
        until: None,
        can_revoke: true,
    };
    let revoked = DelegationRevoked { id: uuid(4), reason: None };
    let entries = [Entry::Delegated(delegation), Entry::DelegationRevoked(revoked)];
    hands.done(hands.commit(vec![hands.write(two, entries.iter().map(NewEntry::new).collect())])).await;
    let gone = hands.stores.store.item(ItemKind::Delegation, uuid(4).to_string()).await.expect("a read");
    assert_eq!(gone, None);
}

pub async fn a_rebuild_keeps_when_things_are_due_and_made(hands: Hands) {
    let (one, two) = (hands.thread(&["a"]).await, hands.thread(&[]).await);
    for (thread, n, at) in [(one, 3, Some(100)), (two, 2, None), (one, 1, Some(300))] {
        ask(&hands, thread, n, at).await;
    }
    answer(&hands, one, 3).await;
    let gone = hands.thread(&[]).await;
    ask(&hands, gone, 9, Some(50)).await;
    hands.delete(gone).await;
    let before = (due(&hands, 900).await, listed(&hands, None).await, found(&hands, 3).await);
    hands.stores.upkeep.rebuild(quiet()).await.expect("a rebuild");
    assert_eq!((due(&hands, 900).await, listed(&hands, None).await, found(&hands, 3).await), before);
    assert_eq!(before.0, [(300, one, 1)]);
    assert_eq!(next(&hands, i64::MIN).await, Some(300));
}

pub async fn items_are_counted_and_due_by_their_kind(hands: Hands) {
    let (one, two) = (hands.thread(&["a"]).await, hands.thread(&[]).await);
    let count = async |thread, kind, limit| {
        let query = crate::ItemQuery { thread, kind, key: None, limit };
        hands.stores.store.count_items(query).await.expect("a count")
    };
    for n in 1..=3 {
        ask(&hands, one, n, Some(i64::from(n) * 100)).await;
    }
    let effect = |n: u32, due: i64| {
        let (at, by) = (Timestamp::from_micros(due), Actor { kind: ActorKind::Human, name: "a".into() });
        let (name, args) = ("note".parse().expect("a name"), Json::parse("args", "{}").expect("json"));
        let scheduled = EffectScheduled { id: uuid(n), name, args, at, created: at, by, store: uuid(9) };
        NewEntry::new(&Entry::EffectScheduled(scheduled))
    };
    hands.done(hands.commit(vec![hands.write(one, vec![effect(4, 50), effect(5, 250)])])).await;
    assert_eq!(due(&hands, 900).await, [(100, one, 1), (200, one, 2), (300, one, 3)], "approvals alone");
    assert_eq!(next(&hands, i64::MIN).await, Some(100));
    let timers = &hands.stores.timers;
    let query = DueQuery { kind: ItemKind::Effect, until: Timestamp::from_micros(100), after: None, limit: 9 };
    let effects = timers.due(query).await.expect("a read");
    assert_eq!(effects.iter().map(|due| due.key.clone()).collect::<Vec<_>>(), [uuid(4).to_string()]);
    let later = timers.next_due(ItemKind::Effect, Timestamp::from_micros(50)).await.expect("a read");
    assert_eq!(later, Some(Timestamp::from_micros(250)));
    assert_eq!(count(one, ItemKind::Effect, 9).await, 2);
    assert_eq!((count(one, ItemKind::Effect, 1).await, count(two, ItemKind::Effect, 9).await), (1, 0));
    assert_eq!(count(one, ItemKind::Approval, 9).await, 3);
}
