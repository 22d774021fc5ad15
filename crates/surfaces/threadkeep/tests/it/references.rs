//! References: what a thread reads of another one, as it was or as it is.

use threadkeep::{
    Account, Binding, Caller, Delete, Error, FilePath, Files, Json, MessageBody, NewFile, Page, Position, Refer,
    ReferenceScope, RelationshipRole, RollbackTo, SetValue, ThreadId, Update, Uuid, ValueKey, Values,
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
    files_and_values_are_read_as_they_were_or_as_they_are,
    a_reference_shows_the_files_of_its_scope,
    files_of_what_is_gone_or_hidden_are_not_read,
);

async fn refer(keep: &Keep, thread: ThreadId, reference: Refer) -> Uuid {
    keep.engine.reference(thread, reference).await.expect("a reference").ref_id
}

async fn shows(keep: &Keep, id: Uuid) -> String {
    let page = keep.engine.reference_messages(id, Page::first()).await.expect("a page");
    page.items.iter().map(|message| message.text().expect("text")).collect::<Vec<_>>().join(" ")
}

fn live(target: ThreadId) -> Refer {
    Refer { binding: Binding::Live, ..Refer::to(target) }
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.expect_err("refused").code()
}

async fn a_frozen_reference_shows_what_was_and_a_live_one_what_is(keep: Keep) {
    let (thread, target) = (keep.thread(&["x"]).await, keep.thread(&["a", "b"]).await);
    let frozen = refer(&keep, thread, Refer::to(target)).await;
    let follows = refer(&keep, thread, live(target)).await;
    keep.engine.append(target, MessageBody::user("c")).await.expect("an append");
    assert_eq!((shows(&keep, frozen).await.as_str(), shows(&keep, follows).await.as_str()), ("a b", "a b c"));
    keep.engine.rollback(target, RollbackTo::Version(Position(1))).await.expect("a rollback");
    assert_eq!((shows(&keep, frozen).await.as_str(), shows(&keep, follows).await.as_str()), ("a b", "a"));
    let read = keep.engine.reference_by_id(frozen).await.expect("a reference");
    assert_eq!((read.snapshot_version, read.thread_id, read.holds), (Position(2), thread, true));
    let mut page = keep.engine.reference_messages(frozen, Page::first().limit(1)).await.expect("a page");
    assert_eq!(page.items.len(), 1);
    page = keep.engine.reference_messages(frozen, Page::after(page.next.expect("more"))).await.expect("a page");
    assert_eq!(page.items[0].text().expect("text"), "b");
}

async fn references_are_seen_from_both_sides_and_in_the_family(keep: Keep) {
    let (one, two, target) = (keep.thread(&[]).await, keep.thread(&[]).await, keep.thread(&["a"]).await);
    let ids = [refer(&keep, one, Refer::to(target)).await, refer(&keep, two, live(target)).await];
    let both = keep.engine.references(target).await.expect("references");
    assert!(both.outgoing.is_empty());
    assert_eq!(both.incoming.iter().map(|reference| reference.ref_id).collect::<Vec<_>>(), ids);
    let own = keep.engine.references(one).await.expect("references");
    assert_eq!((own.outgoing.len(), own.incoming.len()), (1, 0));
    let seen = keep.engine.relationships(target).await.expect("relations");
    assert!(seen.iter().all(|seen| seen.role == RelationshipRole::Child && seen.kind.as_str() == "reference"));
    let family = keep.engine.family(one).await.expect("a family");
    assert_eq!((family.threads.len(), family.relations.len()), (3, 2));
}

async fn a_reference_shows_what_its_scope_says(keep: Keep) {
    let (thread, target) = (keep.thread(&[]).await, keep.thread(&["a"]).await);
    let scoped = |scope: &[&str]| Refer {
        scope: scope.iter().map(|part| part.parse().expect("a scope")).collect(),
        ..Refer::to(target)
    };
    let messages = refer(&keep, thread, scoped(&["kv", "messages"])).await;
    assert_eq!(shows(&keep, messages).await, "a");
    let files = refer(&keep, thread, scoped(&["src/**", "files"])).await;
    assert_eq!(code(keep.engine.reference_messages(files, Page::first()).await), "forbidden");
    let all = keep.engine.reference(thread, scoped(&["all", "files"])).await.expect("a reference");
    assert_eq!(all.scope, [ReferenceScope::All]);
}

async fn a_reference_to_what_is_deleted_is_gone(keep: Keep) {
    let (thread, target) = (keep.thread(&[]).await, keep.thread(&["a"]).await);
    let id = refer(&keep, thread, Refer::to(target)).await;
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
    assert_eq!(code(stranger.reference(own, Refer::to(target)).await), "thread_not_found");
    let visible = |to: &str| Update::new().field("visibility", threadkeep::Json::string(to));
    keep.engine.update(target, visible("public")).await.expect("published");
    let made = stranger.reference(own, Refer::to(target)).await.expect("a reference").ref_id;
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
    let id = refer(&keep, thread, Refer::to(target)).await;
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
    assert_eq!(code(keep.engine.reference(thread, Refer::to(thread)).await), "invalid_body");
    assert_eq!(code(keep.engine.reference(thread, Refer::to(ThreadId::from_chance(9))).await), "thread_not_found");
    let unknown: Uuid = "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid");
    assert_eq!(code(keep.engine.reference_by_id(unknown).await), "reference_not_found");
    assert!(keep.engine.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a report").is_healthy());
}

async fn write(keep: &Keep, thread: ThreadId, path: &str, text: &str) {
    let file = NewFile::new(path, text.to_owned()).expect("a file");
    keep.engine.write_file(thread, file).await.expect("a file");
}

/// What a reference shows of the file, or that it shows none.
async fn says(keep: &Keep, id: Uuid, path: &str) -> String {
    match keep.engine.reference_stat(id, &path.parse().expect("a path")).await.expect("a read") {
        Some(found) => match found.file() {
            Some(file) => {
                let content = keep.engine.file_content(file, None).await.expect("content");
                String::from_utf8(content.to_vec()).expect("text")
            }
            None => "a directory".to_owned(),
        },
        None => "nothing".to_owned(),
    }
}

async fn files_of(keep: &Keep, id: Uuid) -> Vec<String> {
    let page = keep.engine.reference_files(id, Files::default()).await.expect("a page");
    page.items.iter().map(|file| file.path.to_string()).collect()
}

async fn set(keep: &Keep, thread: ThreadId, value: &str) {
    keep.engine.set_value(thread, SetValue::new("k", Json::string(value)).expect("a key")).await.expect("a value");
}

async fn files_and_values_are_read_as_they_were_or_as_they_are(keep: Keep) {
    let (thread, target) = (keep.thread(&["x"]).await, keep.thread(&["a"]).await);
    write(&keep, target, "a.txt", "one").await;
    set(&keep, target, "one").await;
    let frozen = refer(&keep, thread, Refer::to(target)).await;
    let follows = refer(&keep, thread, live(target)).await;
    write(&keep, target, "a.txt", "two").await;
    write(&keep, target, "b/c.txt", "new").await;
    set(&keep, target, "two").await;
    let key: ValueKey = "k".parse().expect("a key");
    let value = async |id: Uuid| keep.engine.reference_value(id, &key).await.expect("a read").map(|it| it.value);
    assert_eq!((says(&keep, frozen, "a.txt").await, says(&keep, follows, "a.txt").await), ("one".into(), "two".into()));
    assert_eq!(files_of(&keep, frozen).await, ["/a.txt"]);
    assert_eq!(files_of(&keep, follows).await, ["/a.txt", "/b/c.txt"]);
    assert_eq!((value(frozen).await, value(follows).await), (Some(Json::string("one")), Some(Json::string("two"))));
    keep.engine.rollback(target, RollbackTo::Version(Position(1))).await.expect("a rollback");
    assert_eq!(
        (says(&keep, frozen, "a.txt").await, says(&keep, follows, "a.txt").await),
        ("one".into(), "nothing".into())
    );
    assert_eq!((value(frozen).await, value(follows).await), (Some(Json::string("one")), None));
    let values = keep.engine.reference_values(frozen, Values::default()).await.expect("values");
    assert_eq!((values.items.len(), values.version), (1, Position(3)));
}

async fn a_reference_shows_the_files_of_its_scope(keep: Keep) {
    let (thread, target) = (keep.thread(&["x"]).await, keep.thread(&["a"]).await);
    for path in ["a.txt", "src/a.rs", "src/deep/b.rs", "src/deep/c.txt", "docs/d.md"] {
        write(&keep, target, path, path).await;
    }
    let with = |scope: &[&str]| {
        let scope = scope.iter().map(|part| part.parse().expect("a scope")).collect();
        Refer { scope, ..Refer::to(target) }
    };
    let rust = refer(&keep, thread, with(&["src/**/*.rs"])).await;
    assert_eq!(files_of(&keep, rust).await, ["/src/a.rs", "/src/deep/b.rs"]);
    assert_eq!(says(&keep, rust, "src/a.rs").await, "src/a.rs");
    for (path, shown) in
        [("a.txt", "nothing"), ("docs", "nothing"), ("src", "a directory"), ("src/deep/c.txt", "nothing")]
    {
        assert_eq!(says(&keep, rust, path).await, shown, "{path}");
    }
    let inside = keep.engine.reference_readdir(rust, &"src/deep".parse().expect("a path")).await.expect("a directory");
    assert_eq!(inside.iter().map(|file| file.path.to_string()).collect::<Vec<_>>(), ["/src/deep/b.rs"]);
    let top = keep.engine.reference_readdir(rust, &FilePath::root()).await.expect("a directory");
    assert_eq!(top.iter().map(|file| file.path.to_string()).collect::<Vec<_>>(), ["/src"]);
    let one = keep.engine.reference_files(rust, Files { limit: Some(1), ..Files::default() }).await.expect("a page");
    let rest = Files { after: one.next.clone(), ..Files::default() };
    let rest = keep.engine.reference_files(rust, rest).await.expect("a page");
    assert_eq!((one.items.len(), rest.items.len(), rest.next), (1, 1, None));
    let path: FilePath = "a.txt".parse().expect("a path");
    for (scope, files, values) in [(["messages"], false, false), (["files"], true, false), (["kv"], false, true)] {
        let id = refer(&keep, thread, with(&scope)).await;
        let (file, value) = (
            keep.engine.reference_stat(id, &path).await,
            keep.engine.reference_value(id, &"k".parse().expect("a key")).await,
        );
        assert_eq!((file.is_ok(), value.is_ok()), (files, values), "{scope:?}");
        for refused in [file.err(), value.err()].into_iter().flatten() {
            assert_eq!(refused.code(), "forbidden");
        }
    }
    assert_eq!(code(keep.engine.reference(thread, with(&["src/[a"])).await), "invalid_body", "no pattern");
}

async fn files_of_what_is_gone_or_hidden_are_not_read(keep: Keep) {
    let (thread, target) = (keep.thread(&["x"]).await, keep.thread(&["a"]).await);
    write(&keep, target, "a.txt", "one").await;
    let id = refer(&keep, thread, Refer::to(target)).await;
    keep.engine.delete(target, Delete::default()).await.expect("a deletion");
    let path: FilePath = "a.txt".parse().expect("a path");
    assert_eq!(code(keep.engine.reference_stat(id, &path).await), "reference_gone");
    assert_eq!(code(keep.engine.reference_files(id, Files::default()).await), "reference_gone");
    assert_eq!(code(keep.engine.reference_values(id, Values::default()).await), "reference_gone");
}
