//! The Threads contract, sentence by sentence, on every store. Each case is named by the sentence it shows.

use std::collections::HashSet;

use threadkeep::contract::{
    BackfillResult, LoadedEvent, SearchOptions, SearchResult, ThreadCreateOpts, ThreadEvent, ThreadManifest,
    ThreadMessage, Threads,
};
use threadkeep::{Event, EventKind, Json, Role, Update};

use crate::{Keep, on_every_store};

on_every_store!(
    // create
    create_guarantees_a_thread_id_that_is_unique_across_all_agents,
    create_guarantees_a_thread_id_of_12_lower_case_hex_digits,
    create_guarantees_that_the_manifest_includes_the_agent_id,
    create_guarantees_created_at_and_updated_at,
    create_guarantees_that_a_task_id_is_stored,
    create_is_not_idempotent,
    // get, getManifest, list
    get_guarantees_a_valid_manifest,
    get_guarantees_null_if_the_thread_does_not_exist,
    get_manifest_is_get,
    list_guarantees_all_threads_of_the_agent_with_valid_manifests,
    // delete
    delete_deletes_manifest_and_events,
    delete_is_idempotent,
    // appendMessage, appendEvent
    append_message_guarantees_that_the_message_is_persisted_before_it_resolves,
    append_guarantees_that_concurrent_appends_to_the_same_thread_are_serialized,
    append_message_guarantees_to_update_updated_at,
    append_event_guarantees_that_the_event_is_persisted_before_it_resolves,
    append_event_guarantees_to_update_updated_at,
    // loadEvents
    load_events_guarantees_append_order_with_messages_and_other_events,
    load_events_guarantees_an_empty_array_if_the_thread_does_not_exist,
    load_events_follows_forks_edits_and_rollbacks,
    // updateManifest
    update_manifest_is_a_shallow_merge_and_replaces_arrays,
    update_manifest_updates_updated_at_automatically,
    update_manifest_fails_if_the_thread_does_not_exist,
    update_manifest_fails_if_the_merged_result_fails_validation,
    update_manifest_is_idempotent_if_partial_matches_current_values,
    // search
    search_guarantees_results_sorted_by_relevance,
    search_guarantees_one_hit_per_thread_even_if_multiple_messages_match,
    search_guarantees_context_messages_around_the_match,
    search_guarantees_an_empty_array_if_nothing_matches,
    search_is_always_scoped_to_a_single_agent,
    search_only_searches_user_and_assistant_messages,
    // backfill
    backfill_indexes_what_is_missing_and_is_idempotent,
    backfill_removes_what_belongs_to_threads_that_no_longer_exist,
    // validation, thread safety
    implementations_must_validate_the_thread_id_format,
    implementations_must_validate_message_roles,
    implementations_must_validate_event_types,
    implementations_must_be_safe_for_concurrent_reads_and_reads_during_writes,
    implementations_must_be_safe_for_concurrent_appends_to_different_threads,
);

const AGENT: &str = "researcher";

fn threads(keep: &Keep) -> Threads {
    Threads::on(keep.engine.clone())
}

fn json(text: &str) -> Json {
    Json::parse("value", text).expect("json")
}

async fn created(threads: &Threads) -> String {
    threads.create(AGENT, ThreadCreateOpts::default()).await.expect("a thread")
}

async fn got(threads: &Threads, id: &str) -> ThreadManifest {
    threads.get(id).await.expect("a read").expect("a manifest")
}

fn tool_use(n: usize) -> ThreadEvent {
    ThreadEvent::Other(Event { kind: EventKind::ToolUse, data: json(&format!(r#"{{"n":{n}}}"#)) })
}

/// What an event says, in a word.
fn said(loaded: &LoadedEvent) -> String {
    match &loaded.event {
        ThreadEvent::Message(message) => message.content.to_text().into_owned(),
        ThreadEvent::Other(event) => event.data.as_str().to_owned(),
    }
}

async fn events(threads: &Threads, id: &str) -> Vec<String> {
    threads.load_events(id).await.expect("events").iter().map(said).collect()
}

async fn create_guarantees_a_thread_id_that_is_unique_across_all_agents(keep: Keep) {
    let threads = threads(&keep);
    let mut ids = HashSet::new();
    for n in 0..50 {
        let agent = format!("agent {}", n % 3);
        assert!(ids.insert(threads.create(&agent, ThreadCreateOpts::default()).await.expect("a thread")));
    }
}

async fn create_guarantees_a_thread_id_of_12_lower_case_hex_digits(keep: Keep) {
    let id = created(&threads(&keep)).await;
    assert_eq!(id.len(), 12);
    assert!(id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)), "{id}");
}

async fn create_guarantees_that_the_manifest_includes_the_agent_id(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    assert_eq!(got(&threads, &id).await.agent_id, AGENT);
    let refused = threads.create(" ", ThreadCreateOpts::default()).await.expect_err("no agent");
    assert!(refused.to_string().contains("agentId"), "{refused}");
}

async fn create_guarantees_created_at_and_updated_at(keep: Keep) {
    let threads = threads(&keep);
    let manifest = got(&threads, &created(&threads).await).await;
    assert!(manifest.created_at.as_micros() > 0);
    assert_eq!(manifest.updated_at, manifest.created_at);
}

async fn create_guarantees_that_a_task_id_is_stored(keep: Keep) {
    let threads = threads(&keep);
    let opts = ThreadCreateOpts { task_id: Some("task 7".into()), ..ThreadCreateOpts::default() };
    let id = threads.create(AGENT, opts).await.expect("a thread");
    assert_eq!(got(&threads, &id).await.task_id.as_deref(), Some("task 7"));
}

async fn create_is_not_idempotent(keep: Keep) {
    let threads = threads(&keep);
    assert_ne!(created(&threads).await, created(&threads).await);
    assert_eq!(threads.list(AGENT).await.expect("a list").len(), 2);
}

async fn get_guarantees_a_valid_manifest(keep: Keep) {
    let threads = threads(&keep);
    let metadata = Some(json(r#"{"tags":["a","b"]}"#));
    let opts = ThreadCreateOpts { title: Some("T".into()), metadata: metadata.clone(), ..Default::default() };
    let id = threads.create(AGENT, opts).await.expect("a thread");
    let manifest = got(&threads, &id).await;
    assert_eq!((manifest.short_id.as_str(), manifest.title.as_deref()), (id.as_str(), Some("T")));
    assert_eq!(manifest.metadata, metadata);
    // A thread that was made without an agent has no manifest, and so is none for the contract.
    let other = keep.thread(&["a"]).await.short().to_string();
    assert_eq!(threads.get(&other).await.expect("a read"), None);
}

async fn get_guarantees_null_if_the_thread_does_not_exist(keep: Keep) {
    assert_eq!(threads(&keep).get("0123456789ab").await.expect("a read"), None);
}

async fn get_manifest_is_get(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    assert_eq!(threads.get_manifest(&id).await.expect("a read"), Some(got(&threads, &id).await));
    assert_eq!(threads.get_manifest("0123456789ab").await.expect("a read"), None);
}

async fn list_guarantees_all_threads_of_the_agent_with_valid_manifests(keep: Keep) {
    let threads = threads(&keep);
    assert!(threads.list(AGENT).await.expect("a list").is_empty());
    let mut own = HashSet::new();
    for _ in 0..5 {
        own.insert(created(&threads).await);
        threads.create("another", ThreadCreateOpts::default()).await.expect("a thread");
    }
    let hidden = own.iter().next().expect("one").parse::<threadkeep::ThreadName>().expect("a name");
    let hidden = keep.engine.thread(hidden).await.expect("a thread").id;
    keep.engine.update(hidden, Update::new().field("archived", json("true"))).await.expect("an archived one");
    let listed = threads.list(AGENT).await.expect("a list");
    assert!(listed.iter().all(|manifest| manifest.agent_id == AGENT));
    assert_eq!(listed.into_iter().map(|manifest| manifest.short_id).collect::<HashSet<_>>(), own);
}

async fn delete_deletes_manifest_and_events(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    threads.append_message(&id, ThreadMessage::user("a")).await.expect("an append");
    threads.delete(&id).await.expect("a deletion");
    assert_eq!(threads.get(&id).await.expect("a read"), None);
    assert!(threads.load_events(&id).await.expect("events").is_empty());
    assert!(threads.list(AGENT).await.expect("a list").is_empty());
    let late = threads.append_message(&id, ThreadMessage::user("late")).await.expect_err("it is gone");
    assert_eq!(late.code(), "thread_not_found");
}

async fn delete_is_idempotent(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    for _ in 0..3 {
        threads.delete(&id).await.expect("nothing to do is no error");
    }
    threads.delete("0123456789ab").await.expect("nothing to do is no error");
}

async fn append_message_guarantees_that_the_message_is_persisted_before_it_resolves(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    for n in 0..20 {
        threads.append_message(&id, ThreadMessage::user(&n.to_string())).await.expect("an append");
        assert_eq!(events(&threads, &id).await.len(), n + 1, "it is there once the append returned");
    }
}

async fn append_guarantees_that_concurrent_appends_to_the_same_thread_are_serialized(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let (threads, id) = (threads.clone(), id.clone());
            tokio::spawn(async move {
                for n in 0..10 {
                    let text = format!("{writer}.{n}");
                    threads.append_message(&id, ThreadMessage::user(&text)).await.expect("an append");
                    threads.append_event(&id, tool_use(writer * 100 + n)).await.expect("an append");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer");
    }
    let all = events(&threads, &id).await;
    assert_eq!((all.len(), all.iter().collect::<HashSet<_>>().len()), (160, 160));
    for writer in 0..8usize {
        let own = all.iter().filter(|text| text.starts_with(&format!("{writer}."))).cloned().collect::<Vec<_>>();
        assert_eq!(own, (0..10).map(|n| format!("{writer}.{n}")).collect::<Vec<_>>(), "in its own order");
    }
}

async fn append_message_guarantees_to_update_updated_at(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    let before = got(&threads, &id).await;
    threads.append_message(&id, ThreadMessage::assistant("a")).await.expect("an append");
    let after = got(&threads, &id).await;
    assert!(after.updated_at > before.updated_at && after.created_at == before.created_at);
}

async fn append_event_guarantees_that_the_event_is_persisted_before_it_resolves(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    for (n, kind) in [EventKind::ToolUse, EventKind::AssistantText, EventKind::Result].into_iter().enumerate() {
        let event = Event { kind, data: json(r#"{"z":1.0,"a":"é"}"#) };
        threads.append_event(&id, ThreadEvent::Other(event.clone())).await.expect("an append");
        let loaded = threads.load_events(&id).await.expect("events");
        assert_eq!((loaded.len(), &loaded[n].event), (n + 1, &ThreadEvent::Other(event)), "to the letter");
    }
    assert_eq!(
        keep.shows(keep.engine.threads_by_prefix(&id, 2).await.expect("threads")[0].thread.id).await,
        "",
        "no message"
    );
}

async fn append_event_guarantees_to_update_updated_at(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    let before = got(&threads, &id).await.updated_at;
    threads.append_event(&id, tool_use(1)).await.expect("an append");
    assert!(got(&threads, &id).await.updated_at > before);
}

async fn load_events_guarantees_append_order_with_messages_and_other_events(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    threads.append_event(&id, tool_use(0)).await.expect("an append");
    threads.append_message(&id, ThreadMessage::user("a")).await.expect("an append");
    threads.append_event(&id, tool_use(1)).await.expect("an append");
    threads.append_event(&id, tool_use(2)).await.expect("an append");
    let message = ThreadEvent::Message(ThreadMessage::assistant("b"));
    threads.append_event(&id, message).await.expect("a message is an event too");
    threads.append_event(&id, tool_use(3)).await.expect("an append");
    assert_eq!(events(&threads, &id).await, [r#"{"n":0}"#, "a", r#"{"n":1}"#, r#"{"n":2}"#, "b", r#"{"n":3}"#]);
    let loaded = threads.load_events(&id).await.expect("events");
    assert!(loaded.is_sorted_by_key(|event| event.timestamp));
}

async fn load_events_guarantees_an_empty_array_if_the_thread_does_not_exist(keep: Keep) {
    assert!(threads(&keep).load_events("0123456789ab").await.expect("events").is_empty());
}

async fn load_events_follows_forks_edits_and_rollbacks(keep: Keep) {
    let (threads, engine) = (threads(&keep), &keep.engine);
    let id = created(&threads).await;
    for n in 0..4 {
        threads.append_message(&id, ThreadMessage::user(&n.to_string())).await.expect("an append");
        threads.append_event(&id, tool_use(n)).await.expect("an append");
    }
    let thread = engine.thread(id.parse::<threadkeep::ThreadName>().expect("a name")).await.expect("a thread").id;
    let ids = keep.ids(thread).await;
    let fork = engine.fork(thread, threadkeep::Fork::at_index(1)).await.expect("a fork").id;
    let edit = threadkeep::EditMessage::content(ids[0], threadkeep::Content::text("edited"));
    engine.edit_message(thread, edit).await.expect("an edit");
    let delete = threadkeep::DeleteMessage { message: ids[1].into() };
    engine.delete_message(thread, delete).await.expect("a deletion");
    let message = threadkeep::MessageBody::user("inserted");
    let insert = threadkeep::Append::before(message, ids[2]);
    engine.append(thread, insert).await.expect("an insertion");
    let n = |n: usize| format!(r#"{{"n":{n}}}"#);
    let shown = ["edited".into(), n(0), n(1), "inserted".into(), "2".into(), n(2), "3".into(), n(3)];
    let mut now = events(&threads, &id).await;
    // Where an inserted message stands beside events between the same two messages is open.
    now[1..4].sort();
    let mut expected = shown.to_vec();
    expected[1..4].sort();
    assert_eq!(now, expected);
    let forked: Vec<String> = engine
        .events(fork)
        .await
        .expect("events")
        .into_iter()
        .map(|logged| match logged {
            threadkeep::Logged::Message(message) => message.text().expect("text"),
            threadkeep::Logged::Event { event, .. } => event.data.as_str().to_owned(),
        })
        .collect();
    assert_eq!(forked, ["0".to_owned(), n(0), "1".into()]);
    engine.rollback(thread, threadkeep::RollbackTo::Version(threadkeep::Position(3))).await.expect("a rollback");
    assert_eq!(events(&threads, &id).await, ["0".to_owned(), n(0), "1".into()]);
}

async fn update_manifest_is_a_shallow_merge_and_replaces_arrays(keep: Keep) {
    let threads = threads(&keep);
    let opts = ThreadCreateOpts {
        title: Some("kept".into()),
        task_id: Some("task".into()),
        metadata: Some(json(r#"{"tags":["a","b"],"deep":{"x":1}}"#)),
    };
    let id = threads.create(AGENT, opts).await.expect("a thread");
    let partial = json(r#"{"metadata":{"tags":["c"]},"taskId":null}"#);
    let after = threads.update_manifest(&id, &partial).await.expect("an update");
    assert_eq!(after, got(&threads, &id).await);
    assert_eq!((after.title.as_deref(), after.task_id), (Some("kept"), None));
    assert_eq!(after.metadata, Some(json(r#"{"tags":["c"]}"#)));
}

async fn update_manifest_updates_updated_at_automatically(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    let before = got(&threads, &id).await;
    let whole = format!(
        r#"{{"shortId":"{id}","agentId":"{AGENT}","createdAt":"{}","updatedAt":"{}","title":"new"}}"#,
        before.created_at, before.updated_at
    );
    let after = threads.update_manifest(&id, &json(&whole)).await.expect("the whole manifest, with one field changed");
    assert!(after.updated_at > before.updated_at);
    assert_eq!(after, ThreadManifest { title: Some("new".into()), updated_at: after.updated_at, ..before });
}

async fn update_manifest_fails_if_the_thread_does_not_exist(keep: Keep) {
    let refused = threads(&keep).update_manifest("0123456789ab", &json(r#"{"title":"x"}"#)).await;
    assert_eq!(refused.expect_err("no such thread").code(), "thread_not_found");
}

async fn update_manifest_fails_if_the_merged_result_fails_validation(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    let before = got(&threads, &id).await;
    for (partial, names) in [
        (r#"{"title":7}"#, "title"),
        (r#"{"title":"x","metadata":[1]}"#, "metadata"),
        (r#"{"agentId":null}"#, "agentId"),
        (r#"{"agentId":""}"#, "agentId"),
        (r#"{"shortId":"0123456789ab"}"#, "shortId"),
        (r#"{"createdAt":"2020-01-01T00:00:00Z"}"#, "createdAt"),
        (r#"{"unheardOf":1}"#, "unheardOf"),
        (r#"[1]"#, "manifest"),
    ] {
        let refused = threads.update_manifest(&id, &json(partial)).await.expect_err(partial);
        assert!(refused.to_string().contains(names), "{partial}: {refused}");
        assert_eq!(got(&threads, &id).await, before, "{partial} changed nothing");
    }
}

async fn update_manifest_is_idempotent_if_partial_matches_current_values(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    let partial = json(r#"{"title":"t","metadata":{"a":[1]}}"#);
    let once = threads.update_manifest(&id, &partial).await.expect("an update");
    for _ in 0..3 {
        assert_eq!(threads.update_manifest(&id, &partial).await.expect("an update"), once);
    }
}

async fn implementations_must_validate_the_thread_id_format(keep: Keep) {
    let threads = threads(&keep);
    let full = keep.thread(&[]).await.to_string();
    for bad in ["", "0123456789a", "0123456789abc", "0123456789AB", "0123456789ag", "../../../etc", &full] {
        let refusals = [
            threads.get(bad).await.map(drop),
            threads.get_manifest(bad).await.map(drop),
            threads.delete(bad).await,
            threads.append_message(bad, ThreadMessage::user("x")).await,
            threads.append_event(bad, tool_use(1)).await,
            threads.load_events(bad).await.map(drop),
            threads.update_manifest(bad, &json("{}")).await.map(drop),
        ];
        for refused in refusals {
            let refused = refused.expect_err("a malformed id");
            assert_eq!(refused.code(), "invalid_thread_id");
            assert!(refused.to_string().contains("/^[a-f0-9]{12}$/"), "it names the rule: {refused}");
        }
    }
}

async fn implementations_must_validate_message_roles(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    for role in [Role::Info, Role::Tool, Role::System] {
        let message = ThreadMessage { role, ..ThreadMessage::user("x") };
        let refused = threads.append_message(&id, message).await.expect_err("another role").to_string();
        assert!(refused.contains("user or assistant") && refused.contains(role.as_str()), "{refused}");
    }
    assert!(events(&threads, &id).await.is_empty());
}

async fn implementations_must_validate_event_types(keep: Keep) {
    let threads = threads(&keep);
    let id = created(&threads).await;
    let refused = "tool_result".parse::<EventKind>().expect_err("another type").to_string();
    assert!(refused.contains("message, tool_use, assistant_text or result"), "{refused}");
    let wrong = ThreadEvent::Other(Event { kind: EventKind::Result, data: json("[]") });
    let refused = threads.append_event(&id, wrong).await.expect_err("no object").to_string();
    assert!(refused.contains("data"), "{refused}");
    assert!(events(&threads, &id).await.is_empty());
}

async fn implementations_must_be_safe_for_concurrent_reads_and_reads_during_writes(keep: Keep) {
    let threads = threads(&keep);
    let (read, written) = (created(&threads).await, created(&threads).await);
    threads.append_message(&read, ThreadMessage::user("a")).await.expect("an append");
    let before = got(&threads, &read).await;
    let writer = tokio::spawn({
        let threads = threads.clone();
        async move {
            for n in 0..30 {
                threads.append_message(&written, ThreadMessage::user(&n.to_string())).await.expect("an append");
            }
        }
    });
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (threads, read, before) = (threads.clone(), read.clone(), before.clone());
            tokio::spawn(async move {
                for _ in 0..10 {
                    assert_eq!(got(&threads, &read).await, before);
                    assert_eq!(threads.list(AGENT).await.expect("a list").len(), 2);
                    assert_eq!(events(&threads, &read).await, ["a"]);
                }
            })
        })
        .collect();
    for reader in readers {
        reader.await.expect("a reader");
    }
    writer.await.expect("a writer");
}

async fn implementations_must_be_safe_for_concurrent_appends_to_different_threads(keep: Keep) {
    let threads = threads(&keep);
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(created(&threads).await);
    }
    let writers: Vec<_> = ids
        .iter()
        .map(|id| {
            let (threads, id) = (threads.clone(), id.clone());
            tokio::spawn(async move {
                for n in 0..15 {
                    threads.append_message(&id, ThreadMessage::user(&format!("{id} {n}"))).await.expect("an append");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer");
    }
    for id in &ids {
        assert_eq!(events(&threads, id).await, (0..15).map(|n| format!("{id} {n}")).collect::<Vec<_>>());
    }
}

/// A thread of an agent with these messages of the user.
async fn told(threads: &Threads, agent: &str, texts: &[&str]) -> String {
    let opts = ThreadCreateOpts { title: Some("Told".to_owned()), ..ThreadCreateOpts::default() };
    let id = threads.create(agent, opts).await.expect("a thread");
    for text in texts {
        threads.append_message(&id, ThreadMessage::user(text)).await.expect("an append");
    }
    id
}

async fn searched(threads: &Threads, query: &str, opts: SearchOptions) -> Vec<SearchResult> {
    threads.search(AGENT, query, opts).await.expect("an answer")
}

async fn backfilled(threads: &Threads) -> (u64, u64) {
    let BackfillResult { embedded, cleaned } = threads.backfill(AGENT).await.expect("a backfill");
    (embedded, cleaned)
}

fn ids(results: &[SearchResult]) -> Vec<&str> {
    results.iter().map(|result| result.thread_id.as_str()).collect()
}

async fn search_guarantees_results_sorted_by_relevance(keep: Keep) {
    let threads = threads(&keep);
    let once = told(&threads, AGENT, &["among many other things that were told at length, somebody saw a tide"]).await;
    let best = told(&threads, AGENT, &["the spring tide", "tide tables"]).await;
    backfilled(&threads).await;
    let results = searched(&threads, "spring tide tables", SearchOptions::default()).await;
    assert_eq!(ids(&results), [best, once]);
    assert!(results.is_sorted_by(|one, other| one.score >= other.score));
    assert_eq!(results[0].thread_title, "Told");
    let one = SearchOptions { limit: Some(1), ..SearchOptions::default() };
    assert_eq!(searched(&threads, "spring tide tables", one).await.len(), 1);
}

async fn search_guarantees_one_hit_per_thread_even_if_multiple_messages_match(keep: Keep) {
    let threads = threads(&keep);
    let id = told(&threads, AGENT, &["a comet", "another comet", "comets everywhere"]).await;
    backfilled(&threads).await;
    assert_eq!(ids(&searched(&threads, "comet", SearchOptions::default()).await), [id]);
}

async fn search_guarantees_context_messages_around_the_match(keep: Keep) {
    let threads = threads(&keep);
    told(&threads, AGENT, &["a", "b", "c", "d", "the glacier", "e", "f", "g", "h"]).await;
    backfilled(&threads).await;
    let texts = async |opts| {
        let results = searched(&threads, "glacier", opts).await;
        let matched: Vec<_> = results[0].messages.iter().filter(|message| message.is_match).collect();
        assert_eq!((matched.len(), matched[0].text.as_str(), matched[0].role), (1, "the glacier", Role::User));
        assert_eq!(matched[0].timestamp, results[0].timestamp);
        results[0].messages.iter().map(|message| message.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(texts(SearchOptions::default()).await, ["b", "c", "d", "the glacier", "e", "f", "g"]);
    let one = SearchOptions { context_window: Some(1), ..SearchOptions::default() };
    assert_eq!(texts(one).await, ["d", "the glacier", "e"]);
}

async fn search_guarantees_an_empty_array_if_nothing_matches(keep: Keep) {
    let threads = threads(&keep);
    assert!(searched(&threads, "anything", SearchOptions::default()).await.is_empty(), "nothing is indexed");
    told(&threads, AGENT, &["a quiet evening"]).await;
    backfilled(&threads).await;
    assert!(searched(&threads, "xylophone", SearchOptions::default()).await.is_empty());
    assert!(threads.search("nobody", "evening", SearchOptions::default()).await.expect("an answer").is_empty());
    assert!(threads.search(" ", "evening", SearchOptions::default()).await.is_err());
}

async fn search_is_always_scoped_to_a_single_agent(keep: Keep) {
    let threads = threads(&keep);
    told(&threads, "somebody else", &["a volcano"]).await;
    let own = told(&threads, AGENT, &["a volcano"]).await;
    backfilled(&threads).await;
    assert_eq!(ids(&searched(&threads, "volcano", SearchOptions::default()).await), [own]);
}

async fn search_only_searches_user_and_assistant_messages(keep: Keep) {
    let threads = threads(&keep);
    let id = told(&threads, AGENT, &["a plain question"]).await;
    for kind in [EventKind::ToolUse, EventKind::AssistantText, EventKind::Result] {
        let event = ThreadEvent::Other(Event { kind, data: json(r#"{"text":"a meteor"}"#) });
        threads.append_event(&id, event).await.expect("an event");
    }
    assert_eq!(backfilled(&threads).await, (1, 0));
    assert!(searched(&threads, "meteor", SearchOptions::default()).await.is_empty());
    threads.append_message(&id, ThreadMessage::assistant("a meteor")).await.expect("an append");
    backfilled(&threads).await;
    assert_eq!(searched(&threads, "meteor", SearchOptions::default()).await.len(), 1);
}

async fn backfill_indexes_what_is_missing_and_is_idempotent(keep: Keep) {
    let threads = threads(&keep);
    let id = told(&threads, AGENT, &["one", "two"]).await;
    told(&threads, "somebody else", &["three"]).await;
    assert_eq!(backfilled(&threads).await, (2, 0), "counted for the agent");
    assert_eq!(backfilled(&threads).await, (0, 0));
    threads.append_message(&id, ThreadMessage::user("four")).await.expect("an append");
    assert_eq!(backfilled(&threads).await, (1, 0), "only what is missing");
}

async fn backfill_removes_what_belongs_to_threads_that_no_longer_exist(keep: Keep) {
    let threads = threads(&keep);
    let goes = told(&threads, AGENT, &["a nebula", "another"]).await;
    told(&threads, AGENT, &["it stays"]).await;
    backfilled(&threads).await;
    threads.delete(&goes).await.expect("a deletion");
    assert!(searched(&threads, "nebula", SearchOptions::default()).await.is_empty(), "at once");
    assert_eq!(backfilled(&threads).await, (0, 2));
    assert_eq!(backfilled(&threads).await, (0, 0));
}
