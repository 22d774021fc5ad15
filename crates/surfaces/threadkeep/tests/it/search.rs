//! Search: what a question finds, and what it never does.

use std::collections::BTreeSet;
use std::sync::Arc;

use threadkeep::embed::{BoxFuture, EmbedError, Embedder, Model, Vector};
use threadkeep::model::Value;
use threadkeep::{
    Account, Append, Caller, ChangeOwner, Content, Create, Delete, DeleteMessage, EditMessage, Engine, Fork, Hit, Json,
    Limits, MemoryStore, MessageBody, Position, Progress, Role, RollbackTo, Search, StartRun, Stores, SystemWorld,
    ThreadId, TimeRange, Update,
};

use threadkeep_store::Reshelving;

use crate::{Keep, on_every_store};

on_every_store!(
    a_question_finds_its_thread_opened_at_the_message,
    what_a_person_said_is_found_by_the_name,
    an_edit_a_deletion_and_a_rollback_take_effect_at_once,
    what_is_superseded_is_found_where_it_is_asked_for,
    a_shared_message_is_found_once_under_the_thread_that_wrote_it,
    a_fork_never_finds_what_its_origin_said_later,
    other_accounts_find_nothing_until_a_thread_is_theirs,
    a_fork_of_what_others_published_is_found_by_its_owner_also_when_the_origin_is_gone,
    filters_hold_before_the_limit_counts,
    phrases_stand_as_they_are_asked_for_and_nothing_else_is_syntax,
    backfill_is_repeatable_and_counts_for_the_one_who_asks,
    deleted_threads_are_gone_from_the_index,
    a_fork_stays_known_when_its_origin_and_its_sibling_go,
    inserted_and_delivered_messages_are_found,
    many_small_steps_give_what_one_large_step_gives,
    another_embedder_gives_new_vectors_and_never_mixes,
    a_failing_embedder_leaves_the_words,
);

fn quiet() -> Progress {
    Arc::new(|_, _, _| {})
}

fn acting(keep: &Keep, account: &str) -> Engine {
    let account = Account::new(account).expect("an account");
    keep.engine.acting_as(Caller { account, ..Caller::local() })
}

async fn index(engine: &Engine) -> (u64, u64) {
    let done = engine.backfill(None, quiet()).await.expect("a backfill");
    (done.embedded, done.cleaned)
}

async fn ask(engine: &Engine, search: Search) -> Vec<Hit> {
    engine.search(search).await.expect("an answer")
}

/// Threads and the texts that matched.
async fn found(engine: &Engine, query: &str) -> Vec<(ThreadId, String)> {
    let hits = ask(engine, Search { limit: Some(100), ..Search::new(query) }).await;
    hits.into_iter().map(|hit| (hit.thread, matched(&hit))).collect()
}

fn matched(hit: &Hit) -> String {
    let matched: Vec<_> = hit.messages.iter().filter(|message| message.is_match).collect();
    assert_eq!(matched.len(), 1, "one message matches");
    assert_eq!(matched[0].message.id, hit.message);
    matched[0].text.clone()
}

async fn a_question_finds_its_thread_opened_at_the_message(keep: Keep) {
    let talk =
        ["hello there", "what shall we cook", "a quiche with leeks", "and for dessert", "plums", "good night", "bye"];
    let cooking = keep.thread(&talk).await;
    let sailing = keep.thread(&["the harbour opens at nine", "we sail with the tide"]).await;
    assert!(ask(&keep.engine, Search::new("quiche")).await.is_empty(), "the library indexes on request");
    assert_eq!(index(&keep.engine).await, (9, 0));
    let hits = ask(&keep.engine, Search::new("How do I make a quiche?")).await;
    assert_eq!(hits[0].thread, cooking);
    assert_eq!((hits[0].title.as_deref(), matched(&hits[0]).as_str()), (Some("T"), talk[2]));
    assert_eq!(hits[0].message, keep.ids(cooking).await[2]);
    let texts: Vec<_> = hits[0].messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, talk[..6], "three on either side, as far as there are");
    let shown = hits[0].messages.iter().find(|message| message.is_match).expect("a match");
    let marked: Vec<_> = shown.highlights.iter().map(|span| &shown.text[span.clone()]).collect();
    assert_eq!(marked, ["quiche"]);
    assert!(hits[0].score > 0.0 && hits[0].score <= 1.0 && hits[0].keyword > 0.0);
    assert_eq!(found(&keep.engine, "tides").await[0], (sailing, "we sail with the tide".to_owned()));
    let alone = ask(&keep.engine, Search { context: Some(0), ..Search::new("quiche") }).await;
    assert_eq!(alone[0].messages.len(), 1);
    assert!(found(&keep.engine, "xylophonist").await.is_empty());
    let status = keep.engine.index_status().await.expect("a status");
    assert!(status.caught_up && status.messages == 9 && status.embedded == 9 && status.behind == 0, "{status:?}");
    keep.engine.append(sailing, MessageBody::user("anchor")).await.expect("an append");
    assert!(!keep.engine.index_status().await.expect("a status").caught_up);
}

async fn what_a_person_said_is_found_by_the_name(keep: Keep) {
    let said = async |name: &str| {
        let thread = keep.thread(&["good morning"]).await;
        let text = "I want to learn to play the cello before the winter";
        let body = MessageBody { name: Some(name.to_owned()), ..MessageBody::user(text) };
        keep.engine.append(thread, body).await.expect("an append");
        thread
    };
    let (nora, ivan) = (said("Nora").await, said("Ivan").await);
    // The message about both of them is longer, and by neither.
    let both = keep.thread(&["Nora and Ivan are coming to the concert of the cello class tonight"]).await;
    index(&keep.engine).await;
    let order = async |query: &str| found(&keep.engine, query).await.into_iter().map(|(thread, _)| thread).collect();
    let about_nora: Vec<ThreadId> = order("Which instrument did Nora want to play, the cello?").await;
    let about_ivan: Vec<ThreadId> = order("Which instrument did Ivan want to play, the cello?").await;
    assert_eq!((about_nora[0], about_ivan[0]), (nora, ivan));
    assert_eq!(about_nora.len(), 3);
    assert!(about_nora.contains(&both));
}

async fn an_edit_a_deletion_and_a_rollback_take_effect_at_once(keep: Keep) {
    let thread = keep.thread(&["alpaca one", "between", "bison two", "cormorant three"]).await;
    let ids = keep.ids(thread).await;
    index(&keep.engine).await;
    keep.engine.edit_message(thread, EditMessage::content(ids[0], Content::text("dromedary"))).await.expect("an edit");
    assert!(found(&keep.engine, "alpaca").await.is_empty(), "before the index knows of it");
    index(&keep.engine).await;
    assert!(found(&keep.engine, "alpaca").await.is_empty());
    assert_eq!(found(&keep.engine, "dromedary").await, [(thread, "dromedary".to_owned())]);
    assert_eq!(ask(&keep.engine, Search::new("dromedary")).await[0].message, ids[0], "it is the same message");
    let before = keep.engine.thread(thread).await.expect("a thread").head.version;
    keep.engine.delete_message(thread, DeleteMessage { message: ids[2].into() }).await.expect("a deletion");
    assert!(found(&keep.engine, "bison").await.is_empty(), "and not by its neighbours");
    keep.engine.rollback(thread, RollbackTo::Version(Position(2))).await.expect("a rollback");
    assert!(found(&keep.engine, "cormorant").await.is_empty());
    assert_eq!(found(&keep.engine, "alpaca").await, [(thread, "alpaca one".to_owned())], "what shows again is found");
    assert!(found(&keep.engine, "dromedary").await.is_empty());
    index(&keep.engine).await;
    keep.engine.rollback(thread, RollbackTo::Version(before)).await.expect("a rollback");
    assert_eq!(found(&keep.engine, "bison").await, [(thread, "bison two".to_owned())]);
    assert_eq!(found(&keep.engine, "cormorant").await, [(thread, "cormorant three".to_owned())]);
}

async fn what_is_superseded_is_found_where_it_is_asked_for(keep: Keep) {
    let thread = keep.thread(&["first", "walrus", "otter"]).await;
    let ids = keep.ids(thread).await;
    keep.engine.edit_message(thread, EditMessage::content(ids[1], Content::text("seal"))).await.expect("an edit");
    keep.engine.rollback(thread, RollbackTo::Version(Position(1))).await.expect("a rollback");
    index(&keep.engine).await;
    for word in ["walrus", "otter", "seal"] {
        assert!(found(&keep.engine, word).await.is_empty(), "{word}");
        let hits = ask(&keep.engine, Search { include_superseded: true, ..Search::new(word) }).await;
        assert_eq!((hits[0].thread, hits[0].superseded, matched(&hits[0]).as_str()), (thread, true, word));
    }
    let hits = ask(&keep.engine, Search { include_superseded: true, ..Search::new("first") }).await;
    assert!(!hits[0].superseded);
}

async fn a_shared_message_is_found_once_under_the_thread_that_wrote_it(keep: Keep) {
    let agent = |name: &str| {
        Create::titled(name).field("agentId", Json::parse("agentId", &format!("\"{name}\"")).expect("json"))
    };
    let origin = keep.engine.create(agent("a").message(MessageBody::user("heron"))).await.expect("a thread").id;
    keep.engine.append(origin, MessageBody::user("stork")).await.expect("an append");
    let mut forks = Vec::new();
    for _ in 0..20 {
        forks.push(keep.engine.fork(origin, Fork::at_version(Position(2))).await.expect("a fork").id);
    }
    keep.engine.append(forks[3], MessageBody::user("a crane of its own")).await.expect("an append");
    assert_eq!(index(&keep.engine).await, (3, 0), "each entry once");
    let hits = ask(&keep.engine, Search { limit: Some(50), ..Search::new("heron") }).await;
    assert_eq!(hits.iter().map(|hit| (hit.thread, hit.also_in)).collect::<Vec<_>>(), [(origin, 20)]);
    assert_eq!(found(&keep.engine, "crane").await[0], (forks[3], "a crane of its own".to_owned()));
    let set = Update::new().field("agentId", Json::parse("agentId", "\"b\"").expect("json"));
    keep.engine.update(forks[2], set.clone()).await.expect("an update");
    keep.engine.update(forks[7], set).await.expect("an update");
    let of_b = Search { agent: Some("b".to_owned()), ..Search::new("heron") };
    let hits = ask(&keep.engine, of_b).await;
    assert_eq!(
        hits.iter().map(|hit| (hit.thread, hit.also_in)).collect::<Vec<_>>(),
        [(forks[2], 1)],
        "the oldest that passes"
    );
    let family = ask(&keep.engine, Search { thread: Some(forks[3]), ..Search::new("heron") }).await;
    assert_eq!(family.iter().map(|hit| hit.thread).collect::<Vec<_>>(), [forks[3]]);
    let family = ask(&keep.engine, Search { thread: Some(origin), ..Search::new("crane") }).await;
    assert_eq!(family[0].thread, forks[3], "a thread and its forks");
    keep.engine.rollback(origin, RollbackTo::Version(Position(0))).await.expect("a rollback");
    assert_eq!(found(&keep.engine, "\"stork\"").await, [(forks[0], "stork".to_owned())], "a fork still shows it");
}

async fn a_fork_never_finds_what_its_origin_said_later(keep: Keep) {
    let origin = keep.thread(&["shared tern"]).await;
    let fork = keep.engine.fork(origin, Fork::default()).await.expect("a fork").id;
    keep.engine.append(origin, MessageBody::user("later gannet")).await.expect("an append");
    keep.engine.append(fork, MessageBody::user("own puffin")).await.expect("an append");
    index(&keep.engine).await;
    let within = |query: &str| Search { thread: Some(fork), ..Search::new(query) };
    assert!(ask(&keep.engine, within("gannet")).await.is_empty());
    assert_eq!(ask(&keep.engine, within("tern")).await[0].thread, fork);
    let hits = ask(&keep.engine, within("puffin")).await;
    let texts: Vec<_> = hits[0].messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["shared tern", "own puffin"]);
    keep.engine.delete(origin, Delete::default()).await.expect("a deletion");
    assert!(found(&keep.engine, "gannet").await.is_empty());
    assert_eq!(found(&keep.engine, "tern").await, [(fork, "shared tern".to_owned())]);
    index(&keep.engine).await;
    keep.engine.gc(false, quiet()).await.expect("gc");
    assert_eq!(found(&keep.engine, "tern").await, [(fork, "shared tern".to_owned())]);
    assert_eq!(keep.engine.index_status().await.expect("a status").messages, 2, "what nobody sees is gone");
}

async fn other_accounts_find_nothing_until_a_thread_is_theirs(keep: Keep) {
    let (ann, bob) = (acting(&keep, "ann"), acting(&keep, "bob"));
    let thread = ann.create(Create::titled("T").message(MessageBody::user("a lynx"))).await.expect("a thread").id;
    let published = Update::new().field("visibility", Json::parse("visibility", "\"public\"").expect("json"));
    ann.update(thread, published).await.expect("an update");
    assert_eq!(index(&bob).await, (0, 0), "what others wrote is not counted");
    assert_eq!(found(&ann, "lynx").await.len(), 1);
    assert!(found(&bob, "lynx").await.is_empty(), "also when it is public");
    assert!(keep.engine.acting_as(Caller::nobody()).search(Search::new("lynx")).await.expect("nothing").is_empty());
    let of_ann = Search { thread: Some(thread), ..Search::new("lynx") };
    assert_eq!(bob.search(of_ann).await.expect_err("refused").code(), "thread_not_found");
    ann.change_owner(thread, ChangeOwner { account: Account::new("bob").expect("an account") })
        .await
        .expect("given away");
    assert!(found(&ann, "lynx").await.is_empty(), "before the index knows of it");
    index(&bob).await;
    assert_eq!(found(&bob, "lynx").await, [(thread, "a lynx".to_owned())]);
    assert!(found(&ann, "lynx").await.is_empty());
    assert_eq!(ann.index_status().await.expect("a status").messages, 0, "nothing of it is left there");
}

async fn a_fork_of_what_others_published_is_found_by_its_owner_also_when_the_origin_is_gone(keep: Keep) {
    let (ann, bob) = (acting(&keep, "ann"), acting(&keep, "bob"));
    let open = Create::titled("T").field("visibility", Json::parse("visibility", "\"public\"").expect("json"));
    let thread = ann.create(open.message(MessageBody::user("an ibex"))).await.expect("a thread").id;
    let fork = bob.fork(thread, Fork::default()).await.expect("a fork").id;
    ann.append(thread, MessageBody::user("a chamois")).await.expect("an append");
    index(&ann).await;
    assert_eq!(found(&bob, "ibex").await, [(fork, "an ibex".to_owned())]);
    assert!(found(&bob, "chamois").await.is_empty());
    ann.delete(thread, Delete::default()).await.expect("a deletion");
    index(&ann).await;
    ann.gc(false, quiet()).await.expect("gc");
    assert_eq!(found(&bob, "ibex").await, [(fork, "an ibex".to_owned())]);
    assert!(found(&ann, "ibex").await.is_empty());
}

async fn filters_hold_before_the_limit_counts(keep: Keep) {
    let text = |name: &str, value: &str| Json::parse(name, value).expect("json");
    let mut wanted = None;
    for n in 0..30 {
        let mut create = Create::titled("T").message(MessageBody::user("badger badger badger"));
        if n == 17 {
            create = Create::titled("T")
                .field("agentId", text("agentId", "\"scout\""))
                .field("metadata", text("metadata", r#"{"tags":["deep"],"team":{"name":"red"}}"#))
                .message(MessageBody::user("one badger, among many other things that are said here at some length"))
                .message(MessageBody::assistant("a badger answers"));
        }
        let thread = keep.engine.create(create).await.expect("a thread").id;
        if n == 17 {
            wanted = Some(thread);
        }
    }
    let wanted = wanted.expect("a thread");
    index(&keep.engine).await;
    let one = |search: Search| Search { limit: Some(1), ..search };
    let badger = || Search::new("badger");
    for search in [
        Search { agent: Some("scout".to_owned()), ..badger() },
        Search { tag: Some("deep".to_owned()), ..badger() },
        Search { metadata: Some(Value::of(&text("metadata", r#"{"team":{"name":"red"}}"#))), ..badger() },
        Search { role: Some(Role::Assistant), ..badger() },
        Search { thread: Some(wanted), ..badger() },
    ] {
        let hits = ask(&keep.engine, one(search.clone())).await;
        assert_eq!(hits.iter().map(|hit| hit.thread).collect::<Vec<_>>(), [wanted], "{search:?}");
    }
    assert_eq!(ask(&keep.engine, Search { limit: Some(100), ..badger() }).await.len(), 30, "the limit counts threads");
    let far = TimeRange { after: Some("2100-01-01T00:00:00Z".parse().expect("a time")), before: None };
    assert!(ask(&keep.engine, Search { time: far, ..badger() }).await.is_empty());
    let past = TimeRange { after: None, before: far.after };
    assert_eq!(ask(&keep.engine, Search { time: past, ..badger() }).await.len(), 5);
    let twice = [ask(&keep.engine, badger()).await, ask(&keep.engine, badger()).await];
    assert_eq!(twice[0], twice[1], "the order is the same each time");
    for (search, field) in [
        (Search { limit: Some(0), ..badger() }, "limit"),
        (Search { limit: Some(1_000), ..badger() }, "limit"),
        (Search { context: Some(1_000), ..badger() }, "contextWindow"),
        (Search::new("  "), "query"),
        (Search::new(&"x".repeat(1 << 20)), "query"),
    ] {
        assert!(keep.engine.search(search).await.expect_err("refused").to_string().contains(field));
    }
}

async fn phrases_stand_as_they_are_asked_for_and_nothing_else_is_syntax(keep: Keep) {
    let one = keep.thread(&["the rate limit is forty"]).await;
    let other = keep.thread(&["limit the rate to forty", "a NEAR( b AND * c"]).await;
    index(&keep.engine).await;
    assert_eq!(found(&keep.engine, "\"rate limit\"").await, [(one, "the rate limit is forty".to_owned())]);
    assert_eq!(found(&keep.engine, "\"limit the rate\" forty").await.len(), 1);
    assert!(found(&keep.engine, "\"forty limits\"").await.is_empty());
    assert_eq!(found(&keep.engine, "near(").await[0].0, other);
    let long = "word ".repeat(10_000);
    for query in [
        "\"",
        "*",
        "AND",
        "NEAR(",
        "\"\"",
        "😀",
        "a\0b",
        "\u{202e}\u{200f}",
        "%_'--;",
        &long,
        "\u{0}",
        "(((((",
        "col:x",
    ] {
        keep.engine.search(Search::new(query)).await.unwrap_or_else(|error| panic!("{query:?}: {error}"));
    }
}

async fn backfill_is_repeatable_and_counts_for_the_one_who_asks(keep: Keep) {
    let agent = Create::titled("T").field("agentId", Json::parse("agentId", "\"a1\"").expect("json"));
    keep.engine.create(agent.message(MessageBody::user("one"))).await.expect("a thread");
    keep.thread(&["two", "three"]).await;
    let first = keep.engine.backfill(Some("a1".to_owned()), quiet()).await.expect("a backfill");
    assert_eq!((first.embedded, first.cleaned), (1, 0));
    assert_eq!(index(&keep.engine).await, (0, 0));
    let before = keep.engine.index_status().await.expect("a status");
    let anew = keep.engine.rebuild_index(quiet()).await.expect("a rebuild");
    assert_eq!((anew.embedded, anew.cleaned), (3, 0));
    assert_eq!(keep.engine.index_status().await.expect("a status").messages, before.messages);
    let not_searched = MessageBody::user("hush").silent();
    let thread = keep.thread(&["x"]).await;
    let tool = MessageBody::new(Role::Tool, "a tool says gibbon");
    let system = MessageBody::new(Role::System, "a system says gibbon");
    keep.engine.append(thread, Append::batch([not_searched, tool, system])).await.expect("an append");
    assert_eq!(index(&keep.engine).await, (1, 0), "only what users and assistants say");
    assert!(found(&keep.engine, "gibbon").await.is_empty());
}

async fn deleted_threads_are_gone_from_the_index(keep: Keep) {
    let stays = keep.thread(&["ocelot here"]).await;
    let goes = keep.thread(&["ocelot there", "margay"]).await;
    index(&keep.engine).await;
    keep.engine.delete(goes, Delete::default()).await.expect("a deletion");
    assert_eq!(found(&keep.engine, "ocelot").await, [(stays, "ocelot here".to_owned())], "at once");
    assert_eq!(index(&keep.engine).await, (0, 2));
    assert_eq!(index(&keep.engine).await, (0, 0));
    assert_eq!(keep.engine.index_status().await.expect("a status").messages, 1);
}

async fn a_fork_stays_known_when_its_origin_and_its_sibling_go(keep: Keep) {
    let origin = keep.thread(&["a coati"]).await;
    index(&keep.engine).await;
    let goes = keep.engine.fork(origin, Fork::default()).await.expect("a fork").id;
    let stays = keep.engine.fork(origin, Fork::default()).await.expect("a fork").id;
    index(&keep.engine).await;
    for thread in [goes, origin] {
        keep.engine.delete(thread, Delete::default()).await.expect("a deletion");
    }
    assert_eq!(index(&keep.engine).await, (0, 0), "the fork that is left still shows it");
    assert_eq!(found(&keep.engine, "coati").await, [(stays, "a coati".to_owned())]);
}

async fn inserted_and_delivered_messages_are_found(keep: Keep) {
    let thread = keep.thread(&["first", "last"]).await;
    let ids = keep.ids(thread).await;
    keep.engine.append(thread, Append::before(MessageBody::user("a tapir between"), ids[1])).await.expect("inserted");
    keep.engine.queue(thread, MessageBody::user("an okapi waits")).await.expect("queued");
    index(&keep.engine).await;
    assert!(found(&keep.engine, "okapi").await.is_empty(), "it waits");
    keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution");
    index(&keep.engine).await;
    assert_eq!(found(&keep.engine, "okapi").await, [(thread, "an okapi waits".to_owned())]);
    let hits = ask(&keep.engine, Search::new("tapir")).await;
    let texts: Vec<_> = hits[0].messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["first", "a tapir between", "last", "an okapi waits"]);
}

async fn many_small_steps_give_what_one_large_step_gives(keep: Keep) {
    let words = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath"];
    let text = |n: usize| format!("{} {} {}", words[n % 8], words[n / 8 % 8], words[n * 5 % 8]);
    let threads = [keep.thread(&["start"]).await, keep.thread(&["start"]).await, keep.thread(&["start"]).await];
    for n in 0..60 {
        keep.engine.append(threads[n % 3], MessageBody::user(&text(n))).await.expect("an append");
        index(&keep.engine).await;
    }
    let status = keep.engine.index_status().await.expect("a status");
    assert!(status.volumes < 20 && status.messages == 63, "{status:?}");
    let answers = async || {
        let mut answers = Vec::new();
        for query in ["amber", "birch dune", "heath fjord cedar", "\"grove heath\""] {
            answers.push(ask(&keep.engine, Search::new(query)).await);
        }
        answers
    };
    let by_steps = answers().await;
    keep.engine.rebuild_index(quiet()).await.expect("a rebuild");
    assert_eq!(keep.engine.index_status().await.expect("a status").volumes, 1);
    for (stepped, at_once) in by_steps.iter().zip(answers().await) {
        assert!(!stepped.is_empty());
        // Scores are told beside the best of all as each volume knows it, so near ties may change places.
        let told = |hits: &[Hit]| hits.iter().map(|hit| hit.thread).collect::<BTreeSet<_>>();
        assert_eq!(told(stepped), told(&at_once));
    }
}

#[tokio::test]
async fn an_index_that_was_made_in_another_way_is_made_anew() {
    let stores = Stores::of(MemoryStore::new());
    let shelves = Arc::clone(&stores.shelves);
    let engine = Engine::new(stores, Arc::new(SystemWorld), Limits::default());
    let thread = engine.create(Create::titled("Coast")).await.expect("a thread").id;
    engine.append(thread, Append::batch(["a lighthouse", "a beacon"].map(MessageBody::user))).await.expect("an append");
    assert_eq!(index(&engine).await, (2, 0));
    let (edition, note) = shelves.edition().await.expect("an edition");
    let mut older: serde_json::Value = serde_json::from_str(&note).expect("JSON");
    older["way"] = 1.into();
    let change = Reshelving { edition, note: older.to_string(), ..Reshelving::default() };
    assert!(shelves.reshelve(change).await.expect("written"));
    assert!(!engine.index_status().await.expect("a status").caught_up);
    assert_eq!(index(&engine).await, (2, 0));
    assert_eq!(engine.index_status().await.expect("a status").messages, 2, "and not doubled");
    assert_eq!(found(&engine, "beacon").await, [(thread, "a beacon".to_owned())]);
}

/// Points in one direction for each first letter.
struct Letters(Model);

impl Letters {
    fn shared(id: &str) -> Arc<dyn Embedder> {
        Arc::new(Self(Model { id: id.to_owned(), dimensions: 26 }))
    }
}

impl Embedder for Letters {
    fn model(&self) -> &Model {
        &self.0
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        let vector = |text: &String| {
            let mut values = [0.0; 26];
            for byte in text.bytes().take(1).filter(u8::is_ascii_lowercase) {
                values[usize::from(byte - b'a')] = 1.0;
            }
            Vector::quantise(&values)
        };
        Box::pin(std::future::ready(Ok(texts.iter().map(vector).collect())))
    }
}

async fn another_embedder_gives_new_vectors_and_never_mixes(keep: Keep) {
    let thread = keep.thread(&["quagga"]).await;
    keep.thread(&["zorilla"]).await;
    index(&keep.engine).await;
    let letters = keep.engine.with_embedder(Letters::shared("letters-1"));
    assert_eq!(found(&letters, "quagga").await.len(), 1, "words answer until there are vectors");
    let status = letters.index_status().await.expect("a status");
    assert_eq!((status.messages, status.embedded, status.model.as_str()), (2, 0, "letters-1"));
    assert_eq!(index(&letters).await, (0, 0));
    let status = letters.index_status().await.expect("a status");
    assert_eq!((status.messages, status.embedded, status.dimensions), (2, 2, 26));
    assert_eq!(found(&letters, "q").await, [(thread, "quagga".to_owned())], "by what it means");
    assert_eq!(keep.engine.index_status().await.expect("a status").embedded, 0);
    assert!(found(&keep.engine, "q").await.is_empty());
}

struct Broken(Model);

impl Embedder for Broken {
    fn model(&self) -> &Model {
        &self.0
    }

    fn embed(&self, _: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        let (who, what) = ("the test".to_owned(), "on purpose".to_owned());
        Box::pin(std::future::ready(Err(EmbedError::Unavailable { who, what })))
    }
}

async fn a_failing_embedder_leaves_the_words(keep: Keep) {
    let thread = keep.thread(&["vicuna"]).await;
    let broken = keep.engine.with_embedder(Arc::new(Broken(Model { id: "broken".to_owned(), dimensions: 4 })));
    assert_eq!(broken.backfill(None, quiet()).await.expect_err("no vectors").code(), "embedder_failed");
    assert_eq!(found(&broken, "vicuna").await, [(thread, "vicuna".to_owned())]);
    index(&keep.engine).await;
    assert_eq!(keep.engine.index_status().await.expect("a status").embedded, 1);
}

/// A store in a file, at `path`.
fn opened(path: &std::path::Path) -> Engine {
    threadkeep::open(&format!("sqlite:{}", path.display())).expect("a store")
}

async fn said(engine: &Engine, text: &str) -> ThreadId {
    engine.create(Create::titled("T").message(MessageBody::user(text))).await.expect("a thread").id
}

#[tokio::test]
async fn an_older_backup_beside_a_newer_index_is_found_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, backup) = (folder.path().join("threads.db"), folder.path().join("old.db"));
    let index = folder.path().join("threads-search.db");
    let engine = opened(&data);
    let old = said(&engine, "an old heron").await;
    threadkeep::backup(&engine, &backup, quiet()).await.expect("a backup");
    for n in 0..20 {
        said(&engine, &format!("a newer heron {n}")).await;
    }
    self::index(&engine).await;
    assert_eq!(found(&engine, "heron").await.len(), 21);
    drop(engine);
    for suffix in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(folder.path().join(format!("threads.db{suffix}"))));
    }
    std::fs::copy(&backup, &data).expect("put back");
    assert!(index.exists());
    let engine = opened(&data);
    assert_eq!(found(&engine, "heron").await, [(old, "an old heron".to_owned())], "nothing that is not there");
    let status = engine.index_status().await.expect("a status");
    assert!(!status.caught_up && status.behind > 0, "{status:?}");
    let new = said(&engine, "a heron of today").await;
    assert_eq!(self::index(&engine).await, (2, 0), "made anew");
    let mut threads: Vec<_> = found(&engine, "heron").await.into_iter().map(|(thread, _)| thread).collect();
    threads.sort();
    let mut expected = [old, new];
    expected.sort();
    assert_eq!(threads, expected);
    assert_eq!(engine.index_status().await.expect("a status").messages, 2);
    // Into a store without threads whose index is left over from another one.
    let elsewhere = folder.path().join("elsewhere.db");
    std::fs::copy(&index, folder.path().join("elsewhere-search.db")).expect("a leftover");
    let engine = opened(&elsewhere);
    threadkeep::restore(&engine, &backup, folder.path(), quiet()).await.expect("restored");
    self::index(&engine).await;
    assert_eq!(found(&engine, "heron").await, [(old, "an old heron".to_owned())]);
    assert_eq!(engine.index_status().await.expect("a status").messages, 1);
}

#[tokio::test]
async fn an_index_that_is_damaged_is_found_out_and_made_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, index) = (folder.path().join("threads.db"), folder.path().join("threads-search.db"));
    let engine = opened(&data);
    let thread = said(&engine, "a marten").await;
    self::index(&engine).await;
    assert!(engine.doctor(quiet()).await.expect("a doctor").is_healthy());
    drop(engine);
    let connection = rusqlite::Connection::open(&index).expect("the index");
    connection.execute("UPDATE contents SET content = zeroblob(100)", []).expect("damage");
    drop(connection);
    let engine = opened(&data);
    let report = engine.doctor(quiet()).await.expect("a doctor");
    assert!(report.derived.iter().any(|finding| finding.contains("search index")), "{report:?}");
    assert!(report.damage.is_empty(), "{report:?}");
    engine.repair(quiet()).await.expect("a repair");
    assert!(engine.doctor(quiet()).await.expect("a doctor").is_healthy());
    assert_eq!(self::index(&engine).await, (1, 0));
    assert_eq!(found(&engine, "marten").await, [(thread, "a marten".to_owned())]);
    drop(engine);
    for suffix in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(folder.path().join(format!("threads-search.db{suffix}"))));
    }
    let engine = opened(&data);
    assert_eq!(self::index(&engine).await, (1, 0), "one that was deleted is made anew");
    drop(engine);
    // The file may even be no database.
    for suffix in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(folder.path().join(format!("threads-search.db{suffix}"))));
    }
    std::fs::write(&index, "no database at all").expect("damage");
    let engine = opened(&data);
    let report = engine.doctor(quiet()).await.expect("a doctor all the same");
    assert!(report.derived.iter().any(|finding| finding.contains("threads-search.db")), "{report:?}");
    let refused = engine.search(Search::new("marten")).await.expect_err("refused").to_string();
    assert!(refused.contains("threads-search.db") && refused.contains("index rebuild"), "{refused}");
    engine.thread(thread).await.expect("threads are read without an index");
    // Another one on the same files goes on once the index was made anew.
    let other = opened(&data);
    assert!(other.index_status().await.is_err());
    assert_eq!(engine.rebuild_index(quiet()).await.expect("made anew").embedded, 1);
    for engine in [&engine, &other] {
        assert_eq!(found(engine, "marten").await, [(thread, "a marten".to_owned())]);
    }
    assert_eq!(std::fs::read(folder.path().join("threads-search.db.damaged")).expect("kept"), b"no database at all");
    drop((engine, other));
    std::fs::write(&index, "no database at all").expect("damage");
    let engine = opened(&data);
    engine.repair(quiet()).await.expect("a repair");
    assert!(engine.doctor(quiet()).await.expect("a doctor").is_healthy());
    assert_eq!(self::index(&engine).await, (1, 0));
}

#[tokio::test]
async fn a_store_that_is_called_like_the_index_of_another_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = opened(&folder.path().join("threads-search.db"));
    let kept = said(&other, "a kept stoat").await;
    drop(other);
    let engine = opened(&folder.path().join("threads.db"));
    said(&engine, "a stoat").await;
    let refused = engine.backfill(None, quiet()).await.expect_err("refused").to_string();
    assert!(refused.contains("threads-search.db") && refused.contains("rename"), "{refused}");
    let refused = engine.rebuild_index(quiet()).await.expect_err("refused").to_string();
    assert!(refused.contains("rename"), "{refused}");
    drop(engine);
    let other = opened(&folder.path().join("threads-search.db"));
    other.thread(kept).await.expect("it is all there");
    assert!(other.doctor(quiet()).await.expect("a doctor").is_healthy());
}

/// Makes vectors of messages, and never answers once it is asked for a question's.
struct Stuck(Model, std::sync::atomic::AtomicBool, std::sync::atomic::AtomicUsize);

impl Embedder for Stuck {
    fn model(&self) -> &Model {
        &self.0
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        use std::sync::atomic::Ordering::Relaxed;
        if !self.1.load(Relaxed) {
            return Box::pin(std::future::ready(Ok(texts.iter().map(|_| Vector::quantise(&[0.6, 0.8])).collect())));
        }
        Box::pin(async {
            self.2.fetch_add(1, Relaxed);
            std::future::pending().await
        })
    }
}

#[tokio::test]
async fn a_search_does_not_wait_for_an_embedder_that_hangs() {
    let keep = Keep::memory();
    let stuck = Arc::new(Stuck(Model { id: "stuck".to_owned(), dimensions: 2 }, false.into(), 0.into()));
    let engine = keep.engine.with_embedder(Arc::clone(&stuck) as Arc<dyn Embedder>);
    let thread = said(&engine, "a lemur").await;
    index(&engine).await;
    stuck.1.store(true, std::sync::atomic::Ordering::Relaxed);
    for _ in 0..3 {
        assert_eq!(found(&engine, "lemurs").await, [(thread, "a lemur".to_owned())], "the words answer");
    }
    assert_eq!(stuck.2.load(std::sync::atomic::Ordering::Relaxed), 1, "and only one search waited");
}

/// Makes vectors once it is let.
struct Patient(Model, tokio::sync::watch::Receiver<bool>);

impl Embedder for Patient {
    fn model(&self) -> &Model {
        &self.0
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        let mut let_go = self.1.clone();
        Box::pin(async move {
            let_go.wait_for(|go| *go).await.expect("the test goes on");
            Ok(texts.iter().map(|_| Vector::quantise(&[0.6, 0.8])).collect())
        })
    }
}

#[tokio::test]
async fn words_are_indexed_while_vectors_are_being_made() {
    let keep = Keep::memory();
    let (let_go, is_let) = tokio::sync::watch::channel(false);
    let patient = Patient(Model { id: "patient".to_owned(), dimensions: 2 }, is_let);
    let engine = keep.engine.with_embedder(Arc::new(patient));
    let follower = tokio::spawn(engine.clone().run_index(|trouble| panic!("{trouble:?}")));
    let eventually = async |what: &str, is_so: &dyn Fn(&threadkeep::IndexStatus) -> bool| {
        let reached = async {
            while !is_so(&engine.index_status().await.expect("a status")) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), reached).await.expect(what);
    };
    let first = said(&engine, "a lemur").await;
    eventually("the first message", &|status| status.caught_up && status.messages == 1).await;
    assert_eq!(found(&engine, "lemurs").await, [(first, "a lemur".to_owned())]);
    // Somebody makes vectors of the first one, and is not done.
    let second = said(&engine, "a tarsier").await;
    eventually("the second message", &|status| status.caught_up && status.messages == 2).await;
    assert_eq!(found(&engine, "tarsiers").await, [(second, "a tarsier".to_owned())]);
    assert_eq!(engine.index_status().await.expect("a status").embedded, 0);
    let_go.send_replace(true);
    eventually("all vectors", &|status| status.embedded == 2).await;
    follower.abort();
}

/// Makes vectors of so many texts, and then no more.
struct Tiring(Model, std::sync::atomic::AtomicUsize);

impl Embedder for Tiring {
    fn model(&self) -> &Model {
        &self.0
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        use std::sync::atomic::Ordering::Relaxed;
        let left = self.1.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(texts.len()));
        let made = match left {
            Ok(_) => Ok(texts.iter().map(|_| Vector::quantise(&[0.6, 0.8])).collect()),
            Err(_) => Err(EmbedError::Unavailable { who: "it".to_owned(), what: "tired".to_owned() }),
        };
        Box::pin(std::future::ready(made))
    }
}

#[tokio::test]
async fn vectors_of_many_messages_are_made_in_parts_that_stay() {
    const AT_ONCE: usize = 800;
    let keep = Keep::memory();
    let thread = keep.thread(&[]).await;
    for _ in 0..6 {
        let texts = (0..AT_ONCE).map(|n| MessageBody::user(&format!("guillemot {n}")));
        keep.engine.append(thread, Append::batch(texts)).await.expect("an append");
        index(&keep.engine).await;
    }
    let all = 6 * AT_ONCE as u64;
    let status = keep.engine.index_status().await.expect("a status");
    assert_eq!((status.volumes, status.embedded), (1, all), "merged into one");
    let tiring = |texts: usize| {
        let model = Model { id: "tiring".to_owned(), dimensions: 2 };
        keep.engine.with_embedder(Arc::new(Tiring(model, texts.into())))
    };
    let engine = tiring(4_200);
    assert_eq!(engine.backfill(None, quiet()).await.expect_err("tired").code(), "embedder_failed");
    let status = engine.index_status().await.expect("a status");
    assert_eq!((status.messages, status.embedded), (all, all - 4_096), "what was made stays");
    assert_eq!(found(&engine, "guillemot").await.len(), 1);
    said(&engine, "a razorbill").await;
    assert!(tiring(1).backfill(None, quiet()).await.is_err());
    assert_eq!(engine.index_status().await.expect("a status").embedded, all - 4_095, "what was just said comes first");
    let engine = tiring(4_096);
    engine.backfill(None, quiet()).await.expect("only the rest is made");
    let status = engine.index_status().await.expect("a status");
    assert_eq!((status.messages, status.embedded), (all + 1, all + 1));
    assert_eq!(found(&engine, "\"guillemot 799\"").await, [(thread, "guillemot 799".to_owned())]);
}
