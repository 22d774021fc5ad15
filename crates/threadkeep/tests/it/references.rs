//! References: what a thread reads of another one, as it was or as it is.

use threadkeep::{
    Account, Binding, Caller, Delete, Error, MessageBody, Page, Position, Reference, ReferenceScope, RelationshipRole,
    RollbackTo, ThreadId, Update, Uuid,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_frozen_reference_shows_what_was_and_a_live_one_what_is,
    references_are_seen_from_both_sides_and_in_the_family,
    a_reference_shows_what_its_scope_says,
    a_reference_to_what_is_deleted_is_gone,
    access_is_asked_at_each_read,
    what_a_rollback_undid_does_not_refer,
    what_cannot_be_referred_to_is_refused,
);

async fn refer(keep: &Keep, thread: ThreadId, reference: Reference) -> Uuid {
    keep.engine.reference(thread, reference).await.expect("a reference").referenced.id
}

async fn shows(keep: &Keep, id: Uuid) -> String {
    let page = keep.engine.reference_messages(id, Page::first()).await.expect("a page");
    page.items.iter().map(|message| message.text().expect("text")).collect::<Vec<_>>().join(" ")
}

fn live(target: ThreadId) -> Reference {
    Reference { binding: Binding::Live, ..Reference::to(target) }
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.expect_err("refused").code()
}

async fn a_frozen_reference_shows_what_was_and_a_live_one_what_is(keep: Keep) {
    let (thread, target) = (keep.thread(&["x"]).await, keep.thread(&["a", "b"]).await);
    let frozen = refer(&keep, thread, Reference::to(target)).await;
    let follows = refer(&keep, thread, live(target)).await;
    keep.engine.append(target, MessageBody::user("c")).await.expect("an append");
    assert_eq!((shows(&keep, frozen).await.as_str(), shows(&keep, follows).await.as_str()), ("a b", "a b c"));
    keep.engine.rollback(target, RollbackTo::Version(Position(1))).await.expect("a rollback");
    assert_eq!((shows(&keep, frozen).await.as_str(), shows(&keep, follows).await.as_str()), ("a b", "a"));
    let read = keep.engine.reference_by_id(frozen).await.expect("a reference");
    assert_eq!((read.referenced.snapshot_version, read.thread, read.holds), (Position(2), thread, true));
    let mut page = keep.engine.reference_messages(frozen, Page::first().limit(1)).await.expect("a page");
    assert_eq!(page.items.len(), 1);
    page = keep.engine.reference_messages(frozen, Page::after(page.next.expect("more"))).await.expect("a page");
    assert_eq!(page.items[0].text().expect("text"), "b");
}

async fn references_are_seen_from_both_sides_and_in_the_family(keep: Keep) {
    let (one, two, target) = (keep.thread(&[]).await, keep.thread(&[]).await, keep.thread(&["a"]).await);
    let ids = [refer(&keep, one, Reference::to(target)).await, refer(&keep, two, live(target)).await];
    let both = keep.engine.references(target).await.expect("references");
    assert!(both.outgoing.is_empty());
    assert_eq!(both.incoming.iter().map(|reference| reference.referenced.id).collect::<Vec<_>>(), ids);
    let own = keep.engine.references(one).await.expect("references");
    assert_eq!((own.outgoing.len(), own.incoming.len()), (1, 0));
    let seen = keep.engine.relationships(target).await.expect("relations");
    assert!(seen.iter().all(|seen| seen.role == RelationshipRole::Child && seen.kind.as_str() == "reference"));
    let family = keep.engine.family(one).await.expect("a family");
    assert_eq!((family.threads.len(), family.relations.len()), (3, 2));
}

async fn a_reference_shows_what_its_scope_says(keep: Keep) {
    let (thread, target) = (keep.thread(&[]).await, keep.thread(&["a"]).await);
    let scoped = |scope: &[&str]| Reference {
        scope: scope.iter().map(|part| part.parse().expect("a scope")).collect(),
        ..Reference::to(target)
    };
    let messages = refer(&keep, thread, scoped(&["kv", "messages"])).await;
    assert_eq!(shows(&keep, messages).await, "a");
    let files = refer(&keep, thread, scoped(&["src/**", "files"])).await;
    assert_eq!(code(keep.engine.reference_messages(files, Page::first()).await), "forbidden");
    let all = keep.engine.reference(thread, scoped(&["all", "files"])).await.expect("a reference");
    assert_eq!(all.referenced.scope, [ReferenceScope::All]);
}

async fn a_reference_to_what_is_deleted_is_gone(keep: Keep) {
    let (thread, target) = (keep.thread(&[]).await, keep.thread(&["a"]).await);
    let id = refer(&keep, thread, Reference::to(target)).await;
    keep.engine.delete(target, Delete::default()).await.expect("deleted");
    assert_eq!(code(keep.engine.reference_messages(id, Page::first()).await), "reference_gone");
    keep.engine.reference_by_id(id).await.expect("what it was is known");
    keep.engine.delete(thread, Delete::default()).await.expect("deleted");
    assert_eq!(code(keep.engine.reference_by_id(id).await), "reference_not_found");
}

async fn access_is_asked_at_each_read(keep: Keep) {
    let target = keep.thread(&["a"]).await;
    let stranger = Caller { account: Account::new("stranger").expect("an account"), ..Caller::local() };
    let stranger = keep.engine.acting_as(stranger);
    let own = stranger.create(threadkeep::Create::new()).await.expect("a thread").id;
    assert_eq!(code(stranger.reference(own, Reference::to(target)).await), "thread_not_found");
    let visible = |to: &str| Update::new().field("visibility", threadkeep::Json::string(to));
    keep.engine.update(target, visible("public")).await.expect("published");
    let made = stranger.reference(own, Reference::to(target)).await.expect("a reference").referenced.id;
    assert_eq!(stranger.reference_messages(made, Page::first()).await.expect("a page").items.len(), 1);
    let seen = keep.engine.references(target).await.expect("references");
    assert!(seen.incoming.is_empty(), "who reads it is theirs to know");
    assert!(keep.engine.relationships(target).await.expect("relations").is_empty());
    assert_eq!(code(keep.engine.reference_by_id(made).await), "reference_not_found");
    keep.engine.update(target, visible("private")).await.expect("taken back");
    assert_eq!(code(stranger.reference_messages(made, Page::first()).await), "reference_gone");
}

async fn what_a_rollback_undid_does_not_refer(keep: Keep) {
    let (thread, target) = (keep.thread(&["x"]).await, keep.thread(&["a"]).await);
    let id = refer(&keep, thread, Reference::to(target)).await;
    keep.engine.rollback(thread, RollbackTo::Version(Position(1))).await.expect("a rollback");
    assert_eq!(code(keep.engine.reference_messages(id, Page::first()).await), "reference_gone");
    assert!(keep.engine.references(thread).await.expect("references").outgoing.is_empty());
    assert!(keep.engine.references(target).await.expect("references").incoming.is_empty());
    assert_eq!(keep.engine.family(thread).await.expect("a family").threads.len(), 1);
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    assert_eq!(shows(&keep, id).await, "a");
    assert_eq!(keep.engine.references(target).await.expect("references").incoming.len(), 1);
}

async fn what_cannot_be_referred_to_is_refused(keep: Keep) {
    let thread = keep.thread(&[]).await;
    assert_eq!(code(keep.engine.reference(thread, Reference::to(thread)).await), "invalid_body");
    assert_eq!(code(keep.engine.reference(thread, Reference::to(ThreadId::from_chance(9))).await), "thread_not_found");
    let unknown: Uuid = "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid");
    assert_eq!(code(keep.engine.reference_by_id(unknown).await), "reference_not_found");
    assert!(keep.engine.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a report").is_healthy());
}
