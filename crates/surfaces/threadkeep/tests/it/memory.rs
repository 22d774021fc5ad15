//! Memories: who sees them, when they are found, and when they are forgotten.

use threadkeep::calls::{Memory, MemoryScope};
use threadkeep::{
    Account, Actor, ActorKind, AddMemory, AddProjectMemory, At, Caller, ChangeOwner, Delete, DeleteMemory,
    DeleteMessage, DeleteProject, EditMemory, Engine, Error, Fork, GetMemory, ListMemories, ListProjectMemories,
    MessageName, Rollback, RollbackTo, SearchMemories, SetAccountEnv, Uuid,
};

use crate::copy::quiet;
use crate::{Keep, on_every_store};

on_every_store!(
    a_memory_is_made_shown_listed_edited_and_forgotten,
    the_same_text_is_remembered_once,
    the_best_memory_is_found_by_words_and_by_meaning,
    memories_of_a_project_hold_there_and_go_with_it,
    a_memory_goes_with_its_last_source_unless_a_person_edited_it,
    a_memory_is_hidden_while_its_source_is_undone,
    deleting_a_thread_forgets_its_memories_and_collection_removes_what_is_left,
    no_account_sees_the_memories_of_another,
    agents_remember_no_secrets,
    a_copy_has_the_memories,
);

async fn add(engine: &Engine, text: &str, sources: &[MessageName]) -> Memory {
    let add = AddMemory { sources: sources.to_vec(), ..AddMemory::new(text) };
    engine.call(At::none(), add).await.expect("a memory")
}

async fn texts(engine: &Engine) -> Vec<String> {
    let page = engine.call(At::none(), ListMemories::default()).await.expect("a page");
    page.items.into_iter().map(|memory| memory.text).collect()
}

async fn found(engine: &Engine, query: &str) -> Vec<String> {
    let found = engine.call(At::none(), SearchMemories::new(query)).await.expect("results");
    found.results.into_iter().map(|found| found.memory.text).collect()
}

async fn names(keep: &Keep, thread: threadkeep::ThreadId) -> Vec<MessageName> {
    keep.ids(thread).await.into_iter().map(MessageName::from).collect()
}

fn agent(engine: &Engine) -> Engine {
    let actor = Actor { kind: ActorKind::Agent, name: "coder".into() };
    engine.acting_as(Caller { actor, ..engine.caller().clone() })
}

async fn a_memory_is_made_shown_listed_edited_and_forgotten(keep: Keep) {
    let engine = &keep.engine;
    let made = add(engine, "  Likes tea.\n", &[]).await;
    assert_eq!((made.text.as_str(), made.scope, made.edited), ("Likes tea.", MemoryScope::Account, false));
    let memory = made.id;
    assert_eq!(engine.call(At::none(), GetMemory { memory }).await.expect("a memory"), made);
    let edit = EditMemory { memory, text: "Likes coffee.".into() };
    let by_agent = agent(engine).call(At::none(), edit.clone()).await.expect("an edit");
    assert!(!by_agent.edited, "an agent is no person");
    let edited = engine.call(At::none(), edit).await.expect("an edit");
    assert_eq!((edited.text.as_str(), edited.edited, edited.created_at), ("Likes coffee.", true, made.created_at));
    for number in 0..5 {
        add(engine, &format!("Fact {number}"), &[]).await;
    }
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = engine.call(At::none(), ListMemories { limit: Some(2), cursor }).await.expect("a page");
        all.extend(page.items.into_iter().map(|memory| memory.text));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(all, ["Likes coffee.", "Fact 0", "Fact 1", "Fact 2", "Fact 3", "Fact 4"]);
    let other_list = engine.call(At::none(), ListMemories { limit: None, cursor: Some("x".into()) }).await;
    assert!(matches!(other_list, Err(Error::Invalid(_))), "{other_list:?}");
    assert!(engine.call(At::none(), DeleteMemory { memory }).await.expect("an answer").deleted);
    assert!(!engine.call(At::none(), DeleteMemory { memory }).await.expect("an answer").deleted);
    let gone = engine.call(At::none(), GetMemory { memory }).await;
    assert!(matches!(gone, Err(Error::MemoryNotFound { .. })), "{gone:?}");
    assert!(!found(engine, "coffee").await.contains(&"Likes coffee.".to_owned()));
    for odd in ["", " ", &"x".repeat(8_193)] {
        let refused = engine.call(At::none(), AddMemory::new(odd)).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
}

async fn the_same_text_is_remembered_once(keep: Keep) {
    let engine = &keep.engine;
    let thread = keep.thread(&["a", "b"]).await;
    let ids = names(&keep, thread).await;
    let first = add(engine, "Likes tea.", &ids[..1]).await;
    let second = add(engine, "Likes tea.", &ids[1..]).await;
    assert_eq!((second.id, second.sources), (first.id, ids.clone()));
    engine.put_project(Some("p".into()), "P".into(), None, None).await.expect("a project");
    let there = AddProjectMemory { project: "p".into(), text: "Likes tea.".into(), sources: vec![], thread_id: None };
    let there = engine.call(At::none(), there).await.expect("a memory");
    assert_ne!(there.id, first.id, "another scope is another memory");
    assert_eq!(add(engine, "Likes tea.", &[]).await.sources, [], "told by hand, it depends on no message any more");
}

async fn the_best_memory_is_found_by_words_and_by_meaning(keep: Keep) {
    let engine = &keep.engine;
    for text in [
        "The user's dog is called Rex.",
        "Invoices are due within thirty days.",
        "The staging server is eu-2.example.com.",
        "Prefers answers in German.",
        "The database password rotates every Monday.",
        "Allergic to peanuts.",
    ] {
        add(engine, text, &[]).await;
    }
    for (query, best) in [
        ("What is the name of the pet?", "The user's dog is called Rex."),
        ("staging", "The staging server is eu-2.example.com."),
        ("In which language should I reply?", "Prefers answers in German."),
        ("When do I have to pay the bill?", "Invoices are due within thirty days."),
        ("\"every Monday\"", "The database password rotates every Monday."),
    ] {
        let found = found(engine, query).await;
        assert_eq!(found.first().map(String::as_str), Some(best), "{query}: {found:?}");
    }
    let one = SearchMemories { limit: Some(1), ..SearchMemories::new("the") };
    assert!(engine.call(At::none(), one).await.expect("results").results.len() <= 1);
    for odd in ["", " "] {
        let refused = engine.call(At::none(), SearchMemories::new(odd)).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
}

async fn memories_of_a_project_hold_there_and_go_with_it(keep: Keep) {
    let engine = &keep.engine;
    for project in ["p", "q"] {
        engine.put_project(Some(project.into()), project.into(), None, None).await.expect("a project");
    }
    let in_project = |project: &str, text: &str| AddProjectMemory {
        project: project.into(),
        text: text.into(),
        sources: vec![],
        thread_id: None,
    };
    add(engine, "The server is everywhere.", &[]).await;
    let of_p = engine.call(At::none(), in_project("p", "The server is eu-2.")).await.expect("a memory");
    engine.call(At::none(), in_project("q", "The server is us-1.")).await.expect("a memory");
    assert_eq!((of_p.scope, of_p.project_id.as_deref()), (MemoryScope::Project, Some("p")));
    let list = |project: &str| ListProjectMemories { project: project.into(), limit: None, cursor: None };
    let listed = engine.call(At::none(), list("p")).await.expect("a page").items;
    assert_eq!(listed, std::slice::from_ref(&of_p));
    let search = SearchMemories { project_id: Some("p".into()), ..SearchMemories::new("server") };
    let results = engine.call(At::none(), search).await.expect("results").results;
    let mut results: Vec<_> = results.into_iter().map(|found| found.memory.text).collect();
    results.sort();
    assert_eq!(results, ["The server is eu-2.", "The server is everywhere."]);
    assert_eq!(found(engine, "server").await.len(), 3);
    for refused in [
        engine.call(At::none(), in_project("none", "x")).await.map(drop),
        engine.call(At::none(), list("none")).await.map(drop),
    ] {
        assert!(matches!(refused, Err(Error::ProjectNotFound { .. })), "{refused:?}");
    }
    engine.call(At::none(), DeleteProject { project: "p".into() }).await.expect("an answer");
    engine.put_project(Some("p".into()), "Again".into(), None, None).await.expect("a project");
    assert!(engine.call(At::none(), list("p")).await.expect("a page").items.is_empty());
    assert_eq!(texts(engine).await, ["The server is everywhere.", "The server is us-1."]);
}

async fn a_memory_goes_with_its_last_source_unless_a_person_edited_it(keep: Keep) {
    let engine = &keep.engine;
    let thread = keep.thread(&["a", "b", "c"]).await;
    let ids = names(&keep, thread).await;
    let fork = engine.fork(thread, Fork::default()).await.expect("a fork").id;
    let kept = add(engine, "Of a and b", &ids[..2]).await;
    assert_eq!(kept.thread_id, Some(thread));
    let edited = add(engine, "Of a, by hand", &ids[..1]).await;
    engine.call(At::none(), EditMemory { memory: edited.id, text: "By hand".into() }).await.expect("an edit");
    let forked =
        AddMemory { sources: ids[..1].to_vec(), thread_id: Some(fork.into()), ..AddMemory::new("Of the fork") };
    engine.call(At::none(), forked).await.expect("a memory");
    let delete = async |message: MessageName| engine.call(thread, DeleteMessage { message }).await.expect("deleted");
    delete(ids[0]).await;
    assert_eq!(texts(engine).await, ["Of a and b", "By hand", "Of the fork"], "one source is left");
    delete(ids[1]).await;
    assert_eq!(texts(engine).await, ["By hand", "Of the fork"]);
    let gone = engine.call(At::none(), GetMemory { memory: kept.id }).await;
    assert!(matches!(gone, Err(Error::MemoryNotFound { .. })), "{gone:?}");
    assert_eq!(found(engine, "of a and b").await.iter().filter(|text| *text == "Of a and b").count(), 0);
    let unknown = add_with(engine, &ids[..1]).await;
    assert!(matches!(unknown, Err(Error::MessageNotFound { .. })), "{unknown:?}");
}

async fn add_with(engine: &Engine, sources: &[MessageName]) -> Result<Memory, Error> {
    engine.call(At::none(), AddMemory { sources: sources.to_vec(), ..AddMemory::new("x") }).await
}

async fn a_memory_is_hidden_while_its_source_is_undone(keep: Keep) {
    let engine = &keep.engine;
    let thread = keep.thread(&["a", "b"]).await;
    let ids = names(&keep, thread).await;
    add(engine, "Likes tea", &ids[1..]).await;
    let back = |to| Rollback { to };
    engine.rollback(thread, back(RollbackTo::Version(threadkeep::Position(1)))).await.expect("a rollback");
    assert!(texts(engine).await.is_empty() && found(engine, "tea").await.is_empty());
    engine.gc(false, quiet()).await.expect("a collection");
    engine.rollback(thread, back(RollbackTo::Undo)).await.expect("an undo");
    assert_eq!(texts(engine).await, ["Likes tea"]);
    assert_eq!(found(engine, "tea").await, ["Likes tea"]);
}

async fn deleting_a_thread_forgets_its_memories_and_collection_removes_what_is_left(keep: Keep) {
    let engine = &keep.engine;
    let (thread, given) = (keep.thread(&["a"]).await, keep.thread(&["b"]).await);
    add(engine, "Of the thread", &names(&keep, thread).await).await;
    add(engine, "Of the other", &names(&keep, given).await).await;
    add(engine, "Of nothing", &[]).await;
    engine.delete(thread, Delete {}).await.expect("deleted");
    assert_eq!(texts(engine).await, ["Of the other", "Of nothing"]);
    let bob = Account::new("bob").expect("an account");
    engine.call(given, ChangeOwner { account: bob }).await.expect("given away");
    assert_eq!(texts(engine).await, ["Of nothing"], "its source is another account's now");
    engine.gc(false, quiet()).await.expect("a collection");
    assert_eq!(texts(engine).await, ["Of nothing"]);
}

async fn no_account_sees_the_memories_of_another(keep: Keep) {
    let engine = &keep.engine;
    let bob = engine.acting_as(Caller { account: Account::new("bob").expect("an account"), ..Caller::local() });
    let thread = keep.thread(&["a"]).await;
    let ids = names(&keep, thread).await;
    let memory = add(engine, "The code is 1234", &ids).await.id;
    assert!(texts(&bob).await.is_empty() && found(&bob, "code").await.is_empty());
    let unknown = Uuid::from_chance(7);
    for memory in [memory, unknown] {
        let edit = EditMemory { memory, text: "x".into() };
        for refused in
            [bob.call(At::none(), GetMemory { memory }).await.map(drop), bob.call(At::none(), edit).await.map(drop)]
        {
            assert!(matches!(refused, Err(Error::MemoryNotFound { .. })), "{refused:?}");
        }
        assert!(!bob.call(At::none(), DeleteMemory { memory }).await.expect("an answer").deleted);
    }
    let refused = add_with(&bob, &ids).await;
    assert!(matches!(refused, Err(Error::MessageNotFound { .. })), "{refused:?}");
    assert_eq!(texts(engine).await, ["The code is 1234"]);
}

async fn agents_remember_no_secrets(keep: Keep) {
    let engine = &keep.engine;
    engine.call(At::none(), SetAccountEnv::new("TOKEN", "sk-canary-5fe1").expect("a name")).await.expect("set");
    let made = add(&agent(engine), "The token is sk-canary-5fe1", &[]).await;
    assert_eq!(made.text, "The token is [secret:TOKEN]");
}

async fn a_copy_has_the_memories(keep: Keep) {
    let engine = &keep.engine;
    let thread = keep.thread(&["a"]).await;
    let made = add(engine, "Likes tea", &names(&keep, thread).await).await;
    let target = Keep::memory();
    engine.copy_to(&target.engine, quiet()).await.expect("a copy");
    assert_eq!(target.engine.call(At::none(), GetMemory { memory: made.id }).await.expect("a memory"), made);
    assert_eq!(found(&target.engine, "tea").await, ["Likes tea"]);
}

/// What was told in earlier threads, and a question about it in other words.
const FACTS: [(&str, &str); 40] = [
    ("The user's dog is called Rex.", "What is my pet's name?"),
    ("She is allergic to peanuts.", "Which foods must I avoid when cooking for her?"),
    ("Invoices are due within thirty days.", "How long do customers have to pay?"),
    ("The staging server is eu-2.example.com.", "Where do we deploy for staging?"),
    ("Prefers answers in German.", "In which language should I reply?"),
    ("The production database is PostgreSQL 16.", "Which database do we use in production?"),
    ("The weekly meeting is on Tuesday at ten.", "When do we meet every week?"),
    ("His daughter Anna studies medicine in Vienna.", "What does my daughter study?"),
    ("The API rate limit is 100 requests per minute.", "How many requests may a client send?"),
    ("The team uses tabs, not spaces.", "How should I indent the code?"),
    ("Lives in Oslo since 2021.", "Where do I live?"),
    ("The car is a blue Volvo from 2015.", "What car do I drive?"),
    ("Flights must be booked in economy class.", "Which class should the flight be?"),
    ("The release branch is cut on the first Monday of a month.", "When is the release branch made?"),
    ("Secrets are rotated every ninety days.", "How often do we rotate secrets?"),
    ("The customer Hansen wants paper invoices.", "How does Hansen want to be billed?"),
    ("Runs five kilometres every morning.", "What sport does he do in the morning?"),
    ("The logo must not be stretched or recoloured.", "What are the rules for the logo?"),
    ("The wifi password of the office is on the fridge.", "Where do I find the office wifi password?"),
    ("Vegetarian, but eats fish.", "Does the user eat meat?"),
    ("The error budget for this quarter is used up.", "Do we still have an error budget?"),
    ("Tests run on every pull request in GitHub Actions.", "Where does the CI run?"),
    ("The CEO is Maria Lopez.", "Who leads the company?"),
    ("Backups are kept for one year.", "How long do we keep backups?"),
    ("The mobile app is written in Kotlin.", "In which language is the app written?"),
    ("Wants short answers without bullet points.", "How should answers be formatted?"),
    ("The warehouse in Rotterdam closes at six.", "Until when is the warehouse open?"),
    ("Has a meeting with the bank on Friday.", "What is planned with the bank?"),
    ("The budget for the trip is 2,000 euros.", "How much may the trip cost?"),
    ("The printer on the second floor is broken.", "Which printer does not work?"),
    ("Use snake_case for column names.", "How are columns of tables named?"),
    ("The customer portal goes live in March.", "When does the portal launch?"),
    ("Plays the piano and the cello.", "Which instruments do I play?"),
    ("Never call customers before nine in the morning.", "From what time may we phone customers?"),
    ("The house has solar panels on the roof.", "How does the house get its energy?"),
    ("The contract with Acme ends in December.", "When does the Acme contract end?"),
    ("Prefers trains to planes.", "How does the user like to travel?"),
    ("The doctor's appointment is on the ninth of May.", "When do I see the doctor?"),
    ("Docker images are stored in the registry at registry.local.", "Where are the container images?"),
    ("Grandmother's birthday is the third of June.", "When is grandma's birthday?"),
];

#[test]
fn facts_of_earlier_threads_are_among_the_first_five() {
    crate::run(async {
        let keep = Keep::memory();
        for (fact, _) in FACTS {
            let thread = keep.thread(&[fact]).await;
            add(&keep.engine, fact, &names(&keep, thread).await).await;
        }
        let mut missed = Vec::new();
        for (fact, question) in FACTS {
            if !found(&keep.engine, question).await.iter().any(|text| text == fact) {
                missed.push(question);
            }
        }
        assert!(missed.len() * 100 <= FACTS.len() * 15, "{} of {}: {missed:?}", missed.len(), FACTS.len());
    });
}
