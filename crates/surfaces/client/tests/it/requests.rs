//! Calls arrive as they were meant, and their answers can be read.

use serde::de::DeserializeOwned;
use serde_json::json;
use threadkeep_client::calls::*;
use threadkeep_client::model::{Json, MessageBody, Position, Role};
use threadkeep_client::{After, News};

use crate::support::{Server, run};

/// A request as JSON has it.
fn asked<T: DeserializeOwned>(json: serde_json::Value) -> T {
    serde_json::from_str(&json.to_string()).expect("a request")
}

#[test]
fn a_conversation_and_other_ways_through_it() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let create = Create::titled("Work").message(MessageBody::user("first"));
        let thread = client.call(At::none(), create).await.expect("a thread");
        assert_eq!((thread.title.as_deref(), thread.message_count), (Some("Work"), 1));
        let id = thread.id;
        let said = client.append(id, MessageBody::assistant("second")).await.expect("a message");
        assert_eq!((said.content.get(), said.version), ("\"second\"", Position(2)));
        let batch = Append::batch([MessageBody::user("3"), MessageBody::user("4")]);
        let batch = client.call(id, batch).await.expect("a batch").messages;
        assert_eq!(batch.iter().map(|message| message.number).collect::<Vec<_>>(), [3, 4]);
        client.call(id, Append::before(MessageBody::user("between"), said.id)).await.expect("an insertion");
        client.call(id, asked::<EditMessage>(json!({"message": said.id, "content": "2nd"}))).await.expect("an edit");
        assert_eq!(client.call(id, GetMessage { message: said.id }).await.expect("a message").content.get(), "\"2nd\"");
        assert!(client.call(id, DeleteMessage { message: batch[1].id }).await.expect("a deletion").deleted);
        assert!(!client.call(id, DeleteMessage { message: batch[1].id }).await.expect("a deletion").deleted);

        let which = ListMessages { order: Some(Order::Descending), limit: Some(2), ..Default::default() };
        let page = client.messages(id, &which).await.expect("a page");
        assert_eq!((page.page.items.len(), page.page.total, page.version), (2, Some(4), Some(Position(7))));
        assert_eq!(page.page.items[0].content.get(), "\"3\"");
        let which = ListMessages { cursor: page.page.next_cursor, role: Some(Role::User), ..Default::default() };
        assert_eq!(client.messages(id, &which).await.expect("a page").page.items.len(), 2);
        let history = client.call(id, GetHistory { after: Some(Position(4)), limit: Some(2) }).await.expect("entries");
        assert_eq!(
            history.items.iter().map(|entry| entry.kind.as_ref()).collect::<Vec<_>>(),
            ["message_inserted", "message_edited"]
        );
        client.call(id, asked::<AppendEvent>(json!({"type": "tool_use", "data": {"a": 1.0}}))).await.expect("an event");
        let events = client.call(id, ListEvents::default()).await.expect("events");
        assert_eq!(events.items.last().map(|event| event.data.get()), Some(r#"{"a":1.0}"#));
        assert_eq!(client.call(id, GetModelMessages::default()).await.expect("messages").len(), 4);

        client.call(id, SetCheckpoint::named("here")).await.expect("a checkpoint");
        assert_eq!(client.call(id, ListCheckpoints::default()).await.expect("checkpoints").items[0].name, "here");
        assert_eq!(client.call(id, Truncate::from_index(1)).await.expect("less").message_count, 1);
        assert_eq!(client.call(id, Rollback::from(RollbackTo::Undo)).await.expect("more").message_count, 4);
        let fork = client.call(id, Fork::at_index(0)).await.expect("a fork");
        let merge: Merge = asked(json!({"sources": [fork.id], "artifactScope": ["**"]}));
        let merged = client.call(id, merge).await.expect("a merge");
        assert_eq!(client.call(id, ListMerges::default()).await.expect("merges").items, std::slice::from_ref(&merged));
        let by_id = merged.merge_id.expect("an id");
        assert_eq!(client.call(id, GetMerge { merge: by_id }).await.expect("a merge"), merged);
        let handoff = client.call(id, Handoff::to("go on")).await.expect("a handoff");
        client.call(id, Mention::of(fork.id)).await.expect("a mention");
        assert_eq!(client.call(id, ListRelationships::default()).await.expect("relations").items.len(), 3);
        assert_eq!(client.call(id, GetFamily::default()).await.expect("a family").threads.len(), 3);
        assert!(!client.call(id, GetSummary {}).await.expect("a summary").summary.is_empty());
        assert!(client.call(handoff.id, Archive {}).await.expect("archived").archived);
        let which = ListThreads {
            archived: Some(Archived::Any),
            sort: Some(ListSort::Created),
            total: true,
            ..Default::default()
        };
        assert_eq!(client.call(At::none(), which.clone()).await.expect("threads").total, Some(3));
        let prefix = id.to_string()[..20].to_owned();
        let which = ListThreads { id_prefix: Some(prefix), limit: Some(5), ..Default::default() };
        assert_eq!(
            client
                .call(At::none(), which.clone())
                .await
                .expect("threads")
                .items
                .iter()
                .map(|row| row.id)
                .collect::<Vec<_>>(),
            [id]
        );
        let refused = client.call(At::none(), ListThreads { tag: Some("x".into()), ..which }).await.expect_err("both");
        assert_eq!(refused.code(), "invalid_parameter");
        assert!(!client.call(handoff.id, Unarchive {}).await.expect("back").archived);
        assert!(client.call(handoff.id, Delete {}).await.expect("deleted").deleted);
        let update: Update = asked(json!({"title": "Still work", "metadata": {"a": 12345678901234567890_u64}}));
        assert_eq!(client.call(id, update).await.expect("a change").title.as_deref(), Some("Still work"));
    });
}

#[test]
fn what_is_said_passes_through_to_the_letter_also_in_a_batch_and_in_an_event() {
    const ODD: &str = r#"{"z": 1.0,"a":12345678901234567890123}"#;
    let server = Server::start();
    run(async {
        let client = server.client();
        let id = client.call(At::none(), Create::new()).await.expect("a thread").id;
        let mut said = MessageBody::user("a");
        said.metadata = Some(Json::parse("metadata", ODD).expect("JSON"));
        let one = client.append(id, said.clone()).await.expect("a message");
        let batch = client.call(id, Append::batch([said])).await.expect("a batch").messages;
        assert_eq!((one.metadata.get(), batch[0].metadata.get()), (ODD, ODD));
        let mut stream = client.stream(id, After::Latest).await.expect("a stream");
        let emit: Emit = serde_json::from_str(&format!(r#"{{"event":"x","data":{ODD}}}"#)).expect("an event");
        let hear = async {
            match stream.next().await.expect("it goes on") {
                Some(News::Emitted(told)) => told.data.get().to_owned(),
                other => panic!("{other:?}"),
            }
        };
        let tell = async { while client.call(id, emit.clone()).await.expect("told").listeners == 0 {} };
        let (heard, ()) = tokio::join!(hear, tell);
        assert_eq!(heard, ODD);
    });
}

#[test]
fn work_keys_projects_and_upkeep() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let id = client.call(At::none(), Create::new()).await.expect("a thread").id;
        let queued = client.call(id, Queue::from(MessageBody::user("later"))).await.expect("queued");
        client.call(id, asked::<EditQueued>(json!({"item": queued.id, "content": "soon"}))).await.expect("an edit");
        let second = client.call(id, Queue::from(MessageBody::user("never"))).await.expect("queued");
        assert!(client.call(id, RemoveQueued { item: second.id }).await.expect("removed").deleted);
        assert_eq!(client.call(id, ListQueue::default()).await.expect("the queue").items.len(), 1);
        let begun = client.call(id, StartRun::caller()).await.expect("an execution");
        assert_eq!((begun.delivered.len(), begun.messages.map(|given| given.len())), (1, Some(1)));
        let step = StepRun::of(begun.id).message(MessageBody::assistant("hm"));
        assert_eq!(client.call(id, step).await.expect("a step").delivered.len(), 1);
        client.call(id, asked::<EndRun>(json!({"run": begun.id}))).await.expect("an end");
        let again = client.call(id, StartRun::caller()).await.expect("a run");
        client.call(At::none(), StopRun::now(again.id)).await.expect("stopped");
        assert_eq!(client.call(id, Assign::to("a")).await.expect("assigned").agent_id.as_deref(), Some("a"));
        let skilled = client.call(id, asked::<ActivateSkill>(json!({"name": "pdf"}))).await.expect("a skill");
        assert_eq!(skilled.activated_skills.len(), 1);
        let child = client.call(id, asked::<Subagent>(json!({"name": "critic"}))).await.expect("a subagent").thread;
        assert_eq!(client.call(id, ListSubagents::default()).await.expect("children").items[0].reference, child.id);
        assert_eq!(client.call(child.id, GetParent {}).await.expect("a parent").map(|parent| parent.id), Some(id));
        assert_eq!(client.call(id, GetParent {}).await.expect("none"), None);
        assert!(client.call(child.id, asked::<NotifyParent>(json!({"content": "done"}))).await.expect("told").notified);
        let asks = json!({"name": "critic", "attachments": ["/none"]});
        assert_eq!(client.call(id, asked::<Subagent>(asks)).await.expect_err("no such file").code(), "file_not_found");
        assert!(client.call(child.id, asked::<SetStatus>(json!({"status": "running"}))).await.expect("set").set);
        assert_eq!(
            client.call(id, asked::<Emit>(json!({"event": "x", "data": null}))).await.expect("told").listeners,
            0
        );
        let taken = client.call(id, asked::<TakeWriter>(json!({"ttl": 60_000}))).await.expect("a lease");
        let token = taken.token.expect("a token");
        client.call(At::of(id).under(token), asked::<RenewWriter>(json!({"ttl": 90_000}))).await.expect("renewed");
        client.writing_under(token).append(id, MessageBody::user("mine")).await.expect("a message");
        assert!(client.call(id, GetWriter {}).await.expect("a lease").is_some());
        assert!(client.call(At::of(id).under(token), ReleaseWriter {}).await.expect("released").released);

        let project: CreateProject =
            asked(json!({"id": "p", "name": "P", "sandbox": {"externalId": "b", "config": {"z": 1.0}}}));
        let made = client.call(At::none(), project).await.expect("a project");
        let config = made.sandbox.and_then(|sandbox| sandbox.config);
        assert_eq!(config.as_ref().map(Json::as_str), Some(r#"{"z":1.0}"#));
        let changes: UpdateProject = asked(json!({"project": "p", "name": "Q"}));
        assert_eq!(client.call(At::none(), changes).await.expect("a change").name, "Q");
        let put: PutProject = asked(json!({"project": "p", "name": "R"}));
        assert_eq!(client.call(At::none(), put).await.expect("a change").sandbox, None);
        assert_eq!(client.call(At::none(), GetProject { project: "p".into() }).await.expect("a project").name, "R");
        assert_eq!(client.call(At::none(), ListProjects::default()).await.expect("projects").items.len(), 1);
        assert!(client.call(At::none(), DeleteProject { project: "p".into() }).await.expect("deleted").deleted);
        let key = client.call(At::none(), asked::<CreateKey>(json!({"account": "ann"}))).await.expect("a key").about;
        assert_eq!(
            client.call(At::none(), ListKeys { limit: Some(10), cursor: None }).await.expect("keys").items,
            std::slice::from_ref(&key)
        );
        assert!(client.call(At::none(), RevokeKey { key: key.id }).await.expect("revoked").revoked);
        let path = format!("/v1/threads/{id}/stream");
        assert_eq!(client.ticket(&asked(json!({"path": path}))).await.expect("a ticket").path, path);
        client.is_ready().await.expect("it is ready");
        assert!(client.metrics().await.expect("counts").contains("threadkeep"));
        client.call(At::none(), RunGc::default()).await.expect("a collection");
        assert!(client.call(At::none(), RunDoctor::default()).await.expect("a report").healthy);

        let mut export = client.export().await.expect("an export");
        let mut bytes = Vec::new();
        while let Some(chunk) = export.next().await.expect("more") {
            bytes.extend_from_slice(&chunk);
        }
        assert!(threadkeep_transcripts::is_export_end(&bytes));
        let other = Server::start();
        let body = http_body_util::BodyExt::boxed_unsync(http_body_util::BodyExt::map_err(
            http_body_util::Full::new(bytes::Bytes::from(bytes)),
            |never| match never {},
        ));
        assert_eq!(other.client().import(body).await.expect("an import").threads, 2);
        assert_eq!(other.client().thread(id).await.expect("a thread").v, client.thread(id).await.expect("a thread").v);
    });
}

#[test]
fn a_search_finds_what_was_said_once_it_is_indexed() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let create = Create::new().message(MessageBody::user("a quiet lagoon 🦀 with turtles"));
        let thread = client.call(At::none(), create).await.expect("a thread").id;
        // Entries that the server indexed meanwhile are not counted again.
        let done = client.call(At::none(), RunBackfill::default()).await.expect("a backfill");
        assert!(done.embedded <= 1 && done.cleaned == 0, "{done:?}");
        let status = client.search_status().await.expect("a status");
        assert!(status.caught_up && status.messages == 1, "{status:?}");
        let question = SearchThreads { limit: Some(1), ..SearchThreads::new("turtle") };
        let found = client.call(At::none(), question).await.expect("an answer");
        assert_eq!(found.results[0].thread_id, thread);
        let message = &found.results[0].messages[0];
        let marked: Vec<&str> = message.highlighted().into_iter().map(|range| &message.text[range]).collect();
        assert_eq!(marked, ["turtles"]);
        let refused = client.call(At::none(), SearchThreads::new(" ")).await.expect_err("refused");
        assert_eq!(refused.code(), "invalid_parameter");
    });
}

#[test]
fn a_call_is_also_known_by_its_declaration() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let id = client.call(At::none(), Create::new()).await.expect("a thread").id;
        let json = |text: &str| Json::parse("body", text).expect("JSON");
        let set = json(r#"{"valueKey": "a/b", "value": {"z": 1.0}, "ifVersion": "0"}"#);
        let told = client.call_json(&SetValue::DECLARATION, id, &set).await.expect("a value");
        assert_eq!(told.read::<Value>().expect("a value").value.as_str(), r#"{"z": 1.0}"#);
        let refused = client.call_json(&SetValue::DECLARATION, id, &set).await.expect_err("it is there");
        assert_eq!(refused.code(), "version_conflict");
        let refused = client.call_json(&GetValue::DECLARATION, id, &json("{}")).await.expect_err("no key");
        assert_eq!(refused.code(), "invalid_body");
    });
}

#[test]
fn conditions_that_a_call_does_not_honour_are_not_carried_and_refused_where_they_are_named() {
    let server = Server::start();
    run(async {
        let key = || threadkeep_client::model::IdempotencyKey::new("once").expect("a key");
        let client = server.client().expecting(Position(1)).keyed(key());
        let made = client.call(At::none(), Create::new()).await.expect("a thread, whatever is expected");
        let again = client.call(At::none(), Create::new()).await.expect("the same thread");
        assert_eq!(made.id, again.id, "a key is honoured");
        let late = client.append(made.id, MessageBody::user("a")).await.expect_err("nothing was said yet");
        assert_eq!(late.code(), "version_conflict");
        assert!(client.call(made.id, Delete {}).await.is_err_and(|error| error.code() == "version_conflict"));
        let refused = client.call(At::of(made.id).keyed(key()), Delete {}).await.expect_err("no key");
        assert_eq!(refused.code(), "invalid_parameter");
        let refused = client.call(At::none().expecting(Position(1)), Create::new()).await.expect_err("no version");
        assert_eq!(refused.code(), "invalid_parameter");
    });
}
