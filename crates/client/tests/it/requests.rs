//! Every route has a method, and what it answers can be read.

use serde::de::DeserializeOwned;
use serde_json::json;
use threadkeep_client::api::{CreateThread, ProjectChanges, SearchThreads};
use threadkeep_client::model::{Json, MessageBody, Position, Role};
use threadkeep_client::{After, Archived, ListMessages, ListThreads, News, Order, Sort};

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
        let mut create = CreateThread::default();
        create.fields.0.insert("title".into(), Json::string("Work"));
        create.messages = vec![MessageBody::user("first").into()];
        let thread = client.create(&create).await.expect("a thread");
        assert_eq!((thread.title.as_deref(), thread.message_count), (Some("Work"), 1));
        let id = thread.id;
        let said = client.append(id, MessageBody::assistant("second")).await.expect("a message");
        assert_eq!((said.content.get(), said.version), ("\"second\"", Position(2)));
        let batch = [MessageBody::user("3").into(), MessageBody::user("4").into()];
        let batch = client.append_batch(id, &batch).await.expect("a batch");
        assert_eq!(batch.iter().map(|message| message.number).collect::<Vec<_>>(), [3, 4]);
        client.insert(id, said.id, MessageBody::user("between")).await.expect("an insertion");
        client.edit_message(id, said.id, &asked(json!({"content": "2nd"}))).await.expect("an edit");
        assert_eq!(client.message(id, said.id).await.expect("a message").content.get(), "\"2nd\"");
        assert!(client.delete_message(id, batch[1].id).await.expect("a deletion").deleted);
        assert!(!client.delete_message(id, batch[1].id).await.expect("a deletion").deleted);

        let which = ListMessages { order: Order::NewestFirst, limit: Some(2), ..Default::default() };
        let page = client.messages(id, &which).await.expect("a page");
        assert_eq!((page.page.items.len(), page.page.total, page.version), (2, Some(4), Some(Position(7))));
        assert_eq!(page.page.items[0].content.get(), "\"3\"");
        let which = ListMessages { cursor: page.page.next_cursor, role: Some(Role::User), ..Default::default() };
        assert_eq!(client.messages(id, &which).await.expect("a page").page.items.len(), 2);
        let history = client.history(id, Position(4), Some(2)).await.expect("entries");
        assert_eq!(
            history.items.iter().map(|entry| entry.kind.as_ref()).collect::<Vec<_>>(),
            ["message_inserted", "message_edited"]
        );
        client.append_event(id, &asked(json!({"type": "tool_use", "data": {"a": 1.0}}))).await.expect("an event");
        let events = client.events(id, Position::START, None).await.expect("events");
        assert_eq!(events.items.last().map(|event| event.data.get()), Some(r#"{"a":1.0}"#));
        assert_eq!(client.model_messages(id, None).await.expect("messages").len(), 4);

        client.checkpoint(id, &asked(json!({"name": "here"}))).await.expect("a checkpoint");
        assert_eq!(client.checkpoints(id).await.expect("checkpoints")[0].name, "here");
        assert_eq!(client.truncate(id, &asked(json!({"fromIndex": 1}))).await.expect("less").message_count, 1);
        assert_eq!(client.rollback(id, &asked(json!({"undo": true}))).await.expect("more").message_count, 4);
        let fork = client.fork(id, &asked(json!({"messageIndex": 0}))).await.expect("a fork");
        let merge = asked(json!({"sources": [fork.id], "artifactScope": ["**"]}));
        let merged = client.merge(id, &merge).await.expect("a merge");
        assert_eq!(client.merges(id).await.expect("merges"), std::slice::from_ref(&merged));
        let by_id = merged.merge_id.expect("an id");
        assert_eq!(client.merge_by_id(id, by_id).await.expect("a merge"), merged);
        let handoff = client.handoff(id, &asked(json!({"goal": "go on"}))).await.expect("a handoff");
        client.mention(id, &asked(json!({"target": fork.id}))).await.expect("a mention");
        assert_eq!(client.relationships(id).await.expect("relations").len(), 3);
        assert_eq!(client.tree(id).await.expect("a family").threads.len(), 3);
        assert!(!client.summary(id).await.expect("a summary").summary.is_empty());
        assert!(client.archive(handoff.id).await.expect("archived").archived);
        let which = ListThreads { archived: Archived::Any, sort: Sort::Created, total: true, ..Default::default() };
        assert_eq!(client.threads(&which).await.expect("threads").total, Some(3));
        let prefix = id.to_string()[..20].to_owned();
        let which = ListThreads { id_prefix: Some(prefix), limit: Some(5), ..Default::default() };
        assert_eq!(
            client.threads(&which).await.expect("threads").items.iter().map(|row| row.id).collect::<Vec<_>>(),
            [id]
        );
        let refused = client.threads(&ListThreads { tag: Some("x".into()), ..which }).await.expect_err("both");
        assert_eq!(refused.code(), "invalid_parameter");
        assert!(!client.unarchive(handoff.id).await.expect("back").archived);
        assert!(client.delete(handoff.id).await.expect("deleted").deleted);
        let update = asked(json!({"title": "Still work", "metadata": {"a": 12345678901234567890_u64}}));
        assert_eq!(client.update(id, &update).await.expect("a change").title.as_deref(), Some("Still work"));
    });
}

#[test]
fn what_is_said_passes_through_to_the_letter_also_in_a_batch_and_in_an_event() {
    const ODD: &str = r#"{"z": 1.0,"a":12345678901234567890123}"#;
    let server = Server::start();
    run(async {
        let client = server.client();
        let id = client.create(&CreateThread::default()).await.expect("a thread").id;
        let mut said = MessageBody::user("a");
        said.metadata = Some(Json::parse("metadata", ODD).expect("JSON"));
        let one = client.append(id, said.clone()).await.expect("a message");
        let batch = client.append_batch(id, &[said.into()]).await.expect("a batch");
        assert_eq!((one.metadata.get(), batch[0].metadata.get()), (ODD, ODD));
        let mut stream = client.stream(id, After::Latest).await.expect("a stream");
        let emit = serde_json::from_str(&format!(r#"{{"event":"x","data":{ODD}}}"#)).expect("an event");
        let hear = async {
            match stream.next().await.expect("it goes on") {
                Some(News::Emitted(told)) => told.data.get().to_owned(),
                other => panic!("{other:?}"),
            }
        };
        let tell = async { while client.emit(id, &emit).await.expect("told").listeners == 0 {} };
        let (heard, ()) = tokio::join!(hear, tell);
        assert_eq!(heard, ODD);
    });
}

#[test]
fn work_keys_projects_and_upkeep() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let id = client.create(&CreateThread::default()).await.expect("a thread").id;
        let queued = client.queue(id, MessageBody::user("later")).await.expect("queued");
        client.edit_queued(id, queued.id, &asked(json!({"content": "soon"}))).await.expect("an edit");
        let second = client.queue(id, MessageBody::user("never")).await.expect("queued");
        assert!(client.remove_queued(id, second.id).await.expect("removed").deleted);
        assert_eq!(client.queued(id).await.expect("the queue").len(), 1);
        let begun = client.begin(id, &asked(json!({}))).await.expect("an execution");
        assert_eq!((begun.delivered.len(), begun.messages.map(|given| given.len())), (1, Some(1)));
        let step = asked(json!({"messages": [{"role": "assistant", "content": "hm"}]}));
        assert_eq!(client.step(id, begun.execution_id, &step).await.expect("a step").delivered.len(), 1);
        client.end(id, begun.execution_id, &asked(json!({}))).await.expect("an end");
        client.begin(id, &asked(json!({}))).await.expect("an execution");
        client.cancel(id).await.expect("cancelled");
        assert_eq!(
            client.assign(id, &asked(json!({"agentId": "a"}))).await.expect("assigned").agent_id.as_deref(),
            Some("a")
        );
        let skilled = client.activate_skill(id, &asked(json!({"name": "pdf"}))).await.expect("a skill");
        assert_eq!(skilled.activated_skills.len(), 1);
        let child = client.subagent(id, &asked(json!({"name": "critic"}))).await.expect("a subagent").thread;
        assert_eq!(client.children(id).await.expect("children")[0].reference, child.id);
        assert_eq!(client.parent(child.id).await.expect("a parent").map(|parent| parent.id), Some(id));
        assert_eq!(client.parent(id).await.expect("none"), None);
        assert!(client.notify_parent(child.id, &asked(json!({"content": "done"}))).await.expect("told").notified);
        let asks = json!({"name": "critic", "attachments": ["/none"]});
        assert_eq!(client.subagent(id, &asked(asks)).await.expect_err("no such file").code(), "file_not_found");
        assert!(client.set_status(child.id, &asked(json!({"status": "running"}))).await.expect("set").set);
        assert_eq!(client.emit(id, &asked(json!({"event": "x", "data": null}))).await.expect("told").listeners, 0);
        let taken = client.take_writer(id, &asked(json!({"ttl": 60_000}))).await.expect("a lease");
        let token = taken.token.expect("a token");
        client.renew_writer(id, token, Some(90_000)).await.expect("renewed");
        client.writing_under(token).append(id, MessageBody::user("mine")).await.expect("a message");
        assert!(client.writer(id).await.expect("a lease").is_some());
        assert!(client.release_writer(id, token).await.expect("released").released);

        let project = asked(json!({"id": "p", "name": "P", "sandbox": {"externalId": "b", "config": {"z": 1.0}}}));
        let made = client.create_project(&project).await.expect("a project");
        let config = made.sandbox.and_then(|sandbox| sandbox.config);
        assert_eq!(config.as_ref().map(Json::as_str), Some(r#"{"z":1.0}"#));
        let changes = ProjectChanges([("name".to_owned(), Json::string("Q"))].into());
        assert_eq!(client.update_project("p", &changes).await.expect("a change").name, "Q");
        assert_eq!(client.put_project("p", &asked(json!({"name": "R"}))).await.expect("a change").sandbox, None);
        assert_eq!(client.project("p").await.expect("a project").name, "R");
        assert_eq!(client.projects(None, None).await.expect("projects").items.len(), 1);
        assert!(client.delete_project("p").await.expect("deleted").deleted);
        let key = client.create_key(&asked(json!({"account": "ann"}))).await.expect("a key").about;
        assert_eq!(client.keys(None, Some(10)).await.expect("keys").items, std::slice::from_ref(&key));
        assert!(client.revoke_key(&key.id).await.expect("revoked").revoked);
        let path = format!("/v1/threads/{id}/stream");
        assert_eq!(client.ticket(&asked(json!({"path": path}))).await.expect("a ticket").path, path);
        client.is_ready().await.expect("it is ready");
        assert!(client.metrics().await.expect("counts").contains("threadkeep"));
        client.gc(&asked(json!({}))).await.expect("a collection");
        assert!(client.doctor(&asked(json!({}))).await.expect("a report").healthy);

        let mut export = client.export().await.expect("an export");
        let mut bytes = Vec::new();
        while let Some(chunk) = export.next().await.expect("more") {
            bytes.extend_from_slice(&chunk);
        }
        assert!(threadkeep_client::api::is_export_end(&bytes));
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
        let messages = vec![MessageBody::user("a quiet lagoon 🦀 with turtles").into()];
        let create = CreateThread { messages, ..CreateThread::default() };
        let thread = client.create(&create).await.expect("a thread").id;
        // Whatever the server indexed meanwhile is not counted again.
        let done = client.backfill(&asked(json!({}))).await.expect("a backfill");
        assert!(done.embedded <= 1 && done.cleaned == 0, "{done:?}");
        let status = client.search_status().await.expect("a status");
        assert!(status.caught_up && status.messages == 1, "{status:?}");
        let question = SearchThreads { limit: Some(1), ..SearchThreads::new("turtle") };
        let found = client.search(&question).await.expect("an answer");
        assert_eq!(found.results[0].thread_id, thread);
        let message = &found.results[0].messages[0];
        let marked: Vec<&str> = message.highlighted().into_iter().map(|range| &message.text[range]).collect();
        assert_eq!(marked, ["turtles"]);
        let refused = client.search(&SearchThreads::new(" ")).await.expect_err("refused");
        assert_eq!(refused.code(), "invalid_parameter");
    });
}
