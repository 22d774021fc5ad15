//! Promises of items, of other names of messages, and of what belongs to a main thread.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use threadkeep_model::{
    Account, AgentAssigned, AgentState, Bounds, Child, ChildRemoved, Entry, Injected, InjectionTaken, InjectionType,
    ItemKind, Json, MessageBody, MessageDelivered, MessageId, MessageQueued, NewEntry, Position, QueuedEdited,
    QueuedId, QueuedRemoved, Record, ThreadId, Timestamp, Urgency, Uuid,
};

use super::Hands;
use super::hands::{quiet, said};
use crate::{Item, ItemQuery, MessageFilter, MessageQuery, Order};

fn queued(text: &str) -> NewEntry {
    NewEntry::new(&Entry::MessageQueued(MessageQueued { message: MessageBody::user(text) }))
}

fn child(reference: ThreadId, status: &str) -> NewEntry {
    NewEntry::new(&Entry::ChildChanged(Child {
        reference,
        name: "n".into(),
        title: None,
        description: String::new(),
        resumable: None,
        blocking: None,
        thread_name: None,
        spawn_group_id: None,
        created_at: Timestamp::from_micros(1),
        status: status.into(),
        parent_communication: None,
    }))
}

async fn write(hands: &Hands, thread: ThreadId, entries: Vec<NewEntry>) -> MessageId {
    let committed = hands.done(hands.commit(vec![hands.write(thread, entries)])).await;
    let place = committed.threads.first().expect("a thread");
    MessageId { segment: place.segment, position: place.first }
}

async fn items(hands: &Hands, thread: ThreadId, kind: ItemKind, key: Option<&str>) -> Vec<Item> {
    let query = ItemQuery { thread, kind, key: key.map(str::to_owned), limit: usize::MAX };
    hands.stores.store.items(query).await.expect("a read")
}

/// The bodies of items, in order.
async fn bodies(hands: &Hands, thread: ThreadId, kind: ItemKind) -> Vec<String> {
    let text = |item: &Item| String::from_utf8_lossy(item.entry.inline().expect("inline")).into_owned();
    items(hands, thread, kind, None).await.iter().map(text).collect()
}

pub async fn an_item_is_its_newest_entry_in_the_place_of_its_first(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let first = write(&hands, thread, vec![queued("one")]).await;
    write(&hands, thread, vec![queued("two")]).await;
    let key = QueuedId(first).to_string();
    let edited = QueuedEdited { item: QueuedId(first), message: MessageBody::user("ONE") };
    let newest = write(&hands, thread, vec![said("b"), NewEntry::new(&Entry::QueuedEdited(edited))]).await;
    let found = items(&hands, thread, ItemKind::Queued, None).await;
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].key.as_str(), found[0].born), (key.as_str(), first));
    assert_eq!(found[0].entry.position, newest.position.next(), "its newest entry");
    assert!(found[1].born.position > found[0].born.position);
    assert_eq!(items(&hands, thread, ItemKind::Queued, Some(&key)).await, found[..1]);
    assert!(items(&hands, thread, ItemKind::Queued, Some("x")).await.is_empty());
    assert!(items(&hands, thread, ItemKind::QueuedSilently, None).await.is_empty());
    let query = ItemQuery { thread, kind: ItemKind::Queued, key: None, limit: 1 };
    assert_eq!(hands.stores.store.items(query).await.expect("a read"), found[..1]);
    let removed = QueuedRemoved { item: QueuedId(first), silent: false };
    write(&hands, thread, vec![NewEntry::new(&Entry::QueuedRemoved(removed))]).await;
    assert_eq!(items(&hands, thread, ItemKind::Queued, None).await, found[1..]);
}

pub async fn items_of_several_threads_are_read_at_once(hands: Hands) {
    let [one, two, three] = [hands.thread(&["a"]).await, hands.thread(&["b"]).await, hands.thread(&[]).await];
    write(&hands, one, vec![child(two, "a"), queued("q"), child(three, "a")]).await;
    write(&hands, two, vec![queued("r")]).await;
    let kinds = vec![ItemKind::Queued, ItemKind::Child];
    let found = hands.stores.store.items_of(vec![two, three, one, hands.thread_id()], kinds).await.expect("a read");
    let [of_one_queued, of_one, of_two] = [(one, ItemKind::Queued), (one, ItemKind::Child), (two, ItemKind::Queued)];
    let read = async |(thread, kind)| -> Vec<(ItemKind, Item)> {
        items(&hands, thread, kind, None).await.into_iter().map(|item| (kind, item)).collect()
    };
    let mut in_order = [read(of_one).await, read(of_one_queued).await].concat();
    in_order.sort_by_key(|(_, item)| item.born.position);
    assert_eq!(
        in_order.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
        [ItemKind::Child, ItemKind::Queued, ItemKind::Child]
    );
    assert_eq!(found, [read(of_two).await, vec![], in_order, vec![]]);
    let only = hands.stores.store.items_of(vec![one], vec![ItemKind::Queued]).await.expect("a read");
    assert_eq!(only, [read(of_one_queued).await]);
}

pub async fn an_item_may_come_and_go_within_one_commit(hands: Hands) {
    let (thread, one, two) = (hands.thread(&[]).await, hands.thread_id(), hands.thread_id());
    let removed = NewEntry::new(&Entry::ChildRemoved(ChildRemoved { reference: one }));
    write(&hands, thread, vec![child(one, "a"), child(two, "a"), child(two, "b"), removed]).await;
    let found = bodies(&hands, thread, ItemKind::Child).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains(&two.to_string()) && found[0].contains(r#""status":"b""#), "{found:?}");
}

pub async fn an_item_may_take_the_place_of_one_of_another_kind(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let ids = [1, 2, 3].map(Uuid::from_chance);
    let content = || Json::parse("content", "1").expect("JSON");
    let (kind, urgency) = (InjectionType::Data, Urgency::NextStep);
    let injected = |id| NewEntry::new(&Entry::Injected(Injected { id, kind, content: content(), urgency }));
    let first = write(&hands, thread, vec![injected(ids[0]), injected(ids[1])]).await;
    let taken = |id, injected| NewEntry::new(&Entry::InjectionTaken(InjectionTaken { id, injected, execution: None }));
    let place = write(&hands, thread, vec![taken(ids[0], first)]).await;
    // Within one commit, too.
    let third = MessageId { position: place.position.next(), ..place };
    write(&hands, thread, vec![injected(ids[2]), taken(ids[2], third)]).await;
    let keys = async |kind| -> Vec<String> {
        items(&hands, thread, kind, None).await.into_iter().map(|item| item.key).collect()
    };
    for rebuilt in [false, true] {
        if rebuilt {
            hands.stores.upkeep.rebuild(quiet()).await.expect("a rebuild");
        }
        assert_eq!(keys(ItemKind::Injection).await, [ids[1].to_string()]);
        assert_eq!(keys(ItemKind::InjectionTaken).await, [ids[0].to_string(), ids[2].to_string()]);
        let found = items(&hands, thread, ItemKind::InjectionTaken, Some(&ids[0].to_string())).await;
        assert_eq!((found[0].born, found[0].entry.position), (place, place.position));
    }
}

pub async fn a_delivered_message_is_counted_and_found_by_both_names(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let waits = write(&hands, thread, vec![queued("q")]).await;
    assert_eq!(hands.stores.store.delivered(QueuedId(waits)).await.expect("a read"), None);
    let delivered = MessageDelivered { item: QueuedId(waits), message: MessageBody::user("q").silent() };
    let place = write(&hands, thread, vec![NewEntry::new(&Entry::MessageDelivered(delivered))]).await;
    assert_eq!(hands.stores.store.delivered(QueuedId(waits)).await.expect("a read"), Some(place));
    assert!(items(&hands, thread, ItemKind::Queued, None).await.is_empty(), "it does not wait any more");
    let head = hands.head(thread).await;
    assert_eq!(head.tally.ordinals, 2);
    let query = |filter| MessageQuery { spans: vec![(head.segment, 0..9)], filter, order: Order::Ascending, limit: 9 };
    let all = hands.stores.store.messages(query(MessageFilter::ALL)).await.expect("a read");
    assert_eq!(all.iter().map(|entry| entry.position.0).collect::<Vec<_>>(), [1, place.position.0]);
    let loud = MessageFilter { include_silent: false, ..MessageFilter::ALL };
    assert_eq!(hands.stores.store.messages(query(loud)).await.expect("a read").len(), 1);
    // A fork that shares it finds it by that name after its thread is gone. Without the fork it is not found.
    let fork = hands.fork(thread, Bounds::all(place.position)).await;
    hands.delete(thread).await;
    hands.gc().await;
    assert_eq!(hands.stores.store.delivered(QueuedId(waits)).await.expect("a read"), Some(place));
    hands.delete(fork).await;
    hands.gc().await;
    assert_eq!(hands.stores.store.delivered(QueuedId(waits)).await.expect("a read"), None);
}

pub async fn items_are_one_threads_own_and_go_with_it(hands: Hands) {
    let (thread, other) = (hands.thread(&["a"]).await, hands.thread(&[]).await);
    write(&hands, thread, vec![queued("q")]).await;
    let fork = hands.fork(thread, Bounds::all(Position(1))).await;
    for without in [other, fork] {
        assert!(items(&hands, without, ItemKind::Queued, None).await.is_empty());
    }
    hands.delete(thread).await;
    assert!(items(&hands, thread, ItemKind::Queued, None).await.is_empty());
}

pub async fn the_tally_says_where_agent_and_skills_are_told(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    assert_eq!(hands.head(thread).await.tally.last_state, Position::START);
    let assigned = Entry::AgentAssigned(AgentAssigned { state: AgentState::default() });
    write(&hands, thread, vec![NewEntry::new(&assigned)]).await;
    let told = hands.head(thread).await;
    assert_eq!(told.tally.last_state, told.version);
    hands.say(thread, "b").await;
    let later = hands.head(thread).await;
    assert_eq!((later.tally.last_state, later.tally.ordinals), (told.version, 2));
    let last = hands.entry(later.segment, later.version).await.expect("an entry");
    assert_eq!(last.tally, later.tally, "each entry carries it");
    for texts in [["c", "d"], ["e", "f"]] {
        hands.done(hands.commit(vec![hands.write(thread, texts.map(said).to_vec())])).await;
        assert_eq!(hands.head(thread).await.tally.last_state, told.version);
    }
}

pub async fn subagents_are_found_by_their_main_thread(hands: Hands) {
    let (main, other) = (hands.thread(&[]).await, hands.thread(&[]).await);
    let of = |main| Record { main_thread_id: Some(main), ..Record::default() };
    let one = hands.thread_with(Account::local(), of(main), &["x"]).await;
    let two = hands.thread_with(Account::local(), of(main), &[]).await;
    hands.thread_with(Account::local(), of(other), &[]).await;
    let found = hands.stores.store.subagents(main).await.expect("a read");
    assert_eq!(found.iter().map(|thread| thread.id).collect::<Vec<_>>(), [one, two], "oldest first");
    assert_eq!(found[0].head, hands.head(one).await);
    hands.delete(one).await;
    assert_eq!(hands.stores.store.subagents(main).await.expect("a read").len(), 1);
    assert!(hands.stores.store.subagents(two).await.expect("a read").is_empty());
}

pub async fn a_rebuild_brings_items_and_other_names_back(hands: Hands) {
    let (thread, kid) = (hands.thread(&["a"]).await, hands.thread_id());
    let waits = write(&hands, thread, vec![queued("q")]).await;
    write(&hands, thread, vec![queued("r"), child(kid, "a"), child(kid, "b")]).await;
    let delivered = MessageDelivered { item: QueuedId(waits), message: MessageBody::user("q") };
    let place = write(&hands, thread, vec![NewEntry::new(&Entry::MessageDelivered(delivered))]).await;
    let gone = hands.thread(&[]).await;
    write(&hands, gone, vec![queued("lost")]).await;
    hands.delete(gone).await;
    let before = (
        items(&hands, thread, ItemKind::Queued, None).await,
        items(&hands, thread, ItemKind::Child, None).await,
        hands.head(thread).await,
    );
    hands.stores.upkeep.rebuild(quiet()).await.expect("a rebuild");
    let after = (
        items(&hands, thread, ItemKind::Queued, None).await,
        items(&hands, thread, ItemKind::Child, None).await,
        hands.head(thread).await,
    );
    assert_eq!(before, after);
    assert_eq!((after.0.len(), after.1.len()), (1, 1));
    assert_eq!(hands.stores.store.delivered(QueuedId(waits)).await.expect("a read"), Some(place));
    assert!(items(&hands, gone, ItemKind::Queued, None).await.is_empty(), "what is deleted stays so");
}
