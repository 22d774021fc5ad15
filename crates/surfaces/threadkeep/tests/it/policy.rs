//! Who sees what: one's own threads, and what others made public.

use threadkeep::model::Visibility;
use threadkeep::{
    Account, Append, Caller, ChangeOwner, Create, Delete, Engine, Error, Fork, Json, List, MessageBody, Page, Position,
    RelationshipRole, Standing, Subagent, ThreadId, Update, Verb,
};

use crate::{Keep, on_every_store};

on_every_store!(
    another_accounts_thread_is_answered_like_an_unknown_one,
    a_public_thread_is_read_and_followed_by_others_and_changed_by_nobody_else,
    a_visitors_fork_is_theirs_and_the_parent_is_told_nothing,
    a_fork_outlives_what_its_origin_does_later,
    a_stream_ends_when_its_thread_is_taken_back,
    a_thread_goes_to_another_account_with_its_subagents,
    a_thread_that_works_for_another_goes_with_that_one_alone,
);

fn acting(keep: &Keep, account: &str) -> Engine {
    let account = Account::new(account).expect("an account");
    keep.engine.acting_as(Caller { account, ..Caller::local() })
}

async fn show(owner: &Engine, thread: ThreadId, visibility: Visibility) {
    let text = if visibility == Visibility::Public { "public" } else { "private" };
    let fields = threadkeep::model::FieldChanges([("visibility".to_owned(), Json::string(text))].into());
    owner.update(thread, Update { fields }).await.expect("an update");
}

async fn another_accounts_thread_is_answered_like_an_unknown_one(keep: Keep) {
    let thread = keep.thread(&["secret"]).await;
    let bob = acting(&keep, "bob");
    for verb in [Verb::Read, Verb::Stream, Verb::Fork, Verb::Reference, Verb::ReadFile, Verb::Change] {
        assert!(matches!(bob.seen(thread, verb).await, Err(Error::ThreadNotFound { .. })), "{verb:?}");
    }
    assert!(matches!(bob.messages(thread, Page::first()).await, Err(Error::ThreadNotFound { .. })));
    assert!(matches!(bob.history(thread, Position::START, 9).await, Err(Error::ThreadNotFound { .. })));
    assert!(matches!(bob.fork(thread, Fork::default()).await, Err(Error::ThreadNotFound { .. })));
    assert!(!bob.delete(thread, Delete {}).await.is_ok_and(|deleted| deleted));
    assert_eq!(keep.shows(thread).await, "secret");
}

async fn a_public_thread_is_read_and_followed_by_others_and_changed_by_nobody_else(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let (bob, nobody) = (acting(&keep, "bob"), keep.engine.acting_as(Caller::nobody()));
    assert!(bob.messages(thread, Page::first()).await.is_err(), "what is known of it is of its era");
    show(&keep.engine, thread, Visibility::Public).await;
    for reader in [&bob, &nobody] {
        assert_eq!(reader.seen(thread, Verb::Read).await.expect("a thread").1, Standing::Visitor);
        assert_eq!(reader.messages(thread, Page::first()).await.expect("a page").items.len(), 2);
        assert_eq!(reader.model_messages(thread, None).await.expect("messages").len(), 2);
        assert!(!reader.history(thread, Position::START, 9).await.expect("a history").is_empty());
        assert!(reader.subscribe(thread, Position::START).await.is_ok());
        let append = Append::from(MessageBody::user("c"));
        assert!(matches!(reader.append(thread, append).await, Err(Error::ThreadNotFound { .. })));
        assert!(matches!(reader.thread(thread).await, Err(Error::ThreadNotFound { .. })));
        assert!(reader.list(List::default()).await.expect("a list").items.is_empty());
    }
    show(&keep.engine, thread, Visibility::Private).await;
    assert!(matches!(bob.messages(thread, Page::first()).await, Err(Error::ThreadNotFound { .. })));
}

async fn a_visitors_fork_is_theirs_and_the_parent_is_told_nothing(keep: Keep) {
    let create = Create::titled("Open")
        .field("env", Json::parse("env", r#"{"initial":{"tags":["x"]}}"#).expect("json"))
        .field("projectId", Json::string("p"))
        .field("visibility", Json::string("public"))
        .message(MessageBody::user("a"))
        .message(MessageBody::user("b"));
    let thread = keep.engine.create(create).await.expect("a thread");
    let (ann, bob) = (&keep.engine, acting(&keep, "bob"));
    let child = bob.fork(thread.id, Fork::at_index(0)).await.expect("a fork");
    assert_eq!(child.account.as_str(), "bob");
    assert_eq!(child, bob.thread(child.id).await.expect("theirs"));
    assert_eq!((child.record.env.as_ref(), child.record.project_id.as_ref()), (None, None));
    assert_eq!(child.record.visibility, Visibility::Private);
    assert!(matches!(ann.thread(child.id).await, Err(Error::ThreadNotFound { .. })));
    assert_eq!(ann.thread(thread.id).await.expect("the parent"), thread, "not even its time moved");
    assert!(ann.relationships(thread.id).await.expect("relations").is_empty());
    let seen = bob.relationships(child.id).await.expect("relations");
    assert_eq!((seen[0].thread_id, seen[0].role), (thread.id, RelationshipRole::Child));
    bob.append(child.id, MessageBody::user("mine")).await.expect("an append");
    assert_eq!(keep.shows(thread.id).await, "a b");
}

async fn a_fork_outlives_what_its_origin_does_later(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    show(&keep.engine, thread, Visibility::Public).await;
    let bob = acting(&keep, "bob");
    let child = bob.fork(thread, Fork::default()).await.expect("a fork").id;
    let shown = async || bob.messages(child, Page::first()).await.expect("a page").items.len();
    show(&keep.engine, thread, Visibility::Private).await;
    assert_eq!(shown().await, 2);
    assert!(bob.relationships(child).await.expect("relations").is_empty(), "its origin is nobody's business now");
    assert!(matches!(bob.fork(thread, Fork::default()).await, Err(Error::ThreadNotFound { .. })));
    keep.engine.delete(thread, Delete {}).await.expect("a deletion");
    keep.engine.gc(true, std::sync::Arc::new(|_, _, _| {})).await.expect("gc");
    assert_eq!(shown().await, 2);
}

async fn a_stream_ends_when_its_thread_is_taken_back(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    show(&keep.engine, thread, Visibility::Public).await;
    let mut stream = acting(&keep, "bob").subscribe(thread, Position::START).await.expect("a stream");
    while stream.next_so_far().await.expect("entries").is_some() {}
    show(&keep.engine, thread, Visibility::Private).await;
    assert_eq!(stream.next().await.expect("an end"), None);
}

async fn a_thread_goes_to_another_account_with_its_subagents(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let (ann, bob) = (&keep.engine, acting(&keep, "bob"));
    let in_project = Update::new().field("projectId", Json::string("p"));
    ann.update(thread, in_project).await.expect("an update");
    let subagent = Subagent { name: "helper".into(), ..Subagent::default() };
    let child = ann.subagent(thread, subagent.clone()).await.expect("a subagent").thread.id;
    let grandchild = ann.subagent(child, subagent).await.expect("a subagent").thread.id;
    let fork = ann.fork(thread, Fork::default()).await.expect("a fork").id;
    let mut following = ann.subscribe(thread, Position::START).await.expect("a stream");
    let to = ChangeOwner { account: Account::new("bob").expect("an account") };
    let given = ann.change_owner(thread, to.clone()).await.expect("a change of owner");
    assert_eq!((given.account.as_str(), given.record.project_id), ("bob", None));
    for gone in [thread, child, grandchild] {
        assert!(matches!(ann.thread(gone).await, Err(Error::ThreadNotFound { .. })));
        let append = Append::from(MessageBody::user("b"));
        assert!(matches!(ann.append(gone, append.clone()).await, Err(Error::ThreadNotFound { .. })));
        bob.append(gone, append).await.expect("an append by the new owner");
    }
    let listed = |engine: Engine| async move {
        let page = engine.list(List::default()).await.expect("a list");
        page.items.iter().map(|summary| summary.thread.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(ann.clone()).await, [fork], "forks stay whose they are");
    assert_eq!(listed(bob.clone()).await.len(), 3);
    assert_eq!(keep.shows(fork).await, "a");
    while following.next().await.expect("entries, then an end").is_some() {}
    let back = ChangeOwner { account: Account::local() };
    bob.change_owner(thread, back.clone()).await.expect("a change back");
    let again = ann.change_owner(thread, back).await.expect("no change");
    assert_eq!(again.head.version, ann.thread(thread).await.expect("a thread").head.version);
    assert_eq!(keep.shows(thread).await, "a b");
}

async fn a_thread_that_works_for_another_goes_with_that_one_alone(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let subagent = Subagent { name: "helper".into(), ..Subagent::default() };
    let child = keep.engine.subagent(thread, subagent).await.expect("a subagent").thread.id;
    let to = ChangeOwner { account: Account::new("bob").expect("an account") };
    let refused = keep.engine.change_owner(child, to).await.expect_err("a refusal");
    assert!(refused.to_string().contains(&thread.to_string()), "{refused}");
}
