//! Faults: what is tried again, what falls back, what is told.

use std::sync::Arc;

use threadkeep_providers::{Message, Problem, Protocol, Request, Role, Script, Stop, find_local};

use crate::server::{Play, Server, all, reply, stream, told};

const HALF: &str = r#"{"choices":[{"delta":{"content":"half"}}]}"#;
const GOOD: &str = r#"{"choices":[{"delta":{"content":"good"},"finish_reason":"stop"}]}"#;

fn request() -> Request {
    Request { messages: vec![Message::text(Role::User, "hello")], ..Request::default() }
}

fn bytes(text: impl Into<String>) -> Play {
    Play::Bytes(text.into(), usize::MAX)
}

#[tokio::test]
async fn passing_faults_are_tried_again_and_what_was_shown_is_discarded() {
    let middle = r#"{"error":{"message":"overloaded","type":"server_error"}}"#;
    for (fault, pieces) in [
        (bytes(reply("429 Too Many Requests", "Retry-After: 0\r\n", "{}")), "began:m text:good"),
        (bytes(reply("503 Service Unavailable", "", "")), "began:m text:good"),
        (bytes(reply("408 Request Timeout", "", "")), "began:m text:good"),
        (bytes(stream(&[])), "began:m text:good"),
        (bytes(stream(&[HALF])), "began:m text:half discarded: began:m text:good"),
        // A fault that comes with the text leaves nothing to discard.
        (bytes(stream(&[HALF, middle])), "began:m text:good"),
        (bytes(stream(&[HALF, "{not json"])), "began:m text:good"),
        (bytes(stream(&["[DONE]"])), "began:m text:good"),
        (bytes(""), "began:m text:good"),
        (Play::Hang(stream(&[HALF])), "began:m text:half discarded: began:m text:good"),
    ] {
        let server = Server::start(vec![fault.clone(), bytes(stream(&[GOOD, "[DONE]"]))]).await;
        let (came, ended) = all(vec![server.model("m", Protocol::OpenAi)], request()).await;
        let came: Vec<_> = came.into_iter().collect();
        let ended = ended.unwrap_or_else(|failure| panic!("{failure} after {fault:?}"));
        // A try that ended before its first piece may have begun.
        let told = told(&came).replace("began:mm", "began:m");
        assert_eq!((told.as_str(), ended.text().as_str()), (pieces, "good"), "{fault:?}");
        assert_eq!(server.asked().len(), 2);
    }
}

#[tokio::test]
async fn the_next_model_is_asked_when_one_has_failed_twice() {
    let down = Server::start(vec![bytes(reply("500 Oops", "", "{}"))]).await;
    let good = Server::start(vec![bytes(stream(&[GOOD]))]).await;
    let models = vec![down.model("first", Protocol::OpenAi), good.model("second", Protocol::OpenAi)];
    let (came, ended) = all(models, request()).await;
    assert_eq!((told(&came).as_str(), ended.expect("an answer").model.as_str()), ("began:second text:good", "second"));
    assert_eq!((down.asked().len(), good.asked().len()), (2, 1));

    let late = Server::start(vec![bytes(reply("429 Slow", "Retry-After: 3600\r\n", "{}"))]).await;
    let models = vec![late.model("first", Protocol::OpenAi), good.model("second", Protocol::OpenAi)];
    all(models, request()).await.1.expect("an answer");
    assert_eq!(late.asked().len(), 1, "an hour is not waited for");
}

#[tokio::test]
async fn a_mistake_is_told_at_once_without_the_key() {
    for (status, body, problem) in [
        ("401 Unauthorized", r#"{"error":{"message":"wrong key sk-secret-key-1234"}}"#, Problem::Key),
        ("404 Not Found", r#"{"error":{"message":"model not found"}}"#, Problem::Unknown),
        ("400 Bad Request", r#"{"type":"error","error":{"message":"prompt is too long: 9 > 8"}}"#, Problem::TooLong),
        ("422 Unprocessable", r#"{"detail":"bad"}"#, Problem::Request),
    ] {
        let server = Server::start(vec![bytes(reply(status, "", body))]).await;
        let fallback = Server::start(vec![bytes(stream(&[GOOD]))]).await;
        let models = vec![server.model("m", Protocol::Anthropic), fallback.model("other", Protocol::OpenAi)];
        let failure = all(models, request()).await.1.expect_err(status);
        assert_eq!(failure.problem, problem, "{failure}");
        assert!(!failure.to_string().contains("sk-secret"), "{failure}");
        assert_eq!((server.asked().len(), fallback.asked().len()), (1, 0));
    }
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>";
    let server = Server::start(vec![bytes(page)]).await;
    let failure = all(vec![server.model("m", Protocol::OpenAi)], request()).await.1.expect_err("a page");
    assert!(failure.problem == Problem::Unknown && failure.to_string().contains("text/html"), "{failure}");
}

#[tokio::test]
async fn no_private_address_is_reached_for_a_url_that_others_chose() {
    let server = Server::start(vec![bytes(stream(&[GOOD]))]).await;
    let mut model = server.model("m", Protocol::OpenAi);
    model.reach = threadkeep_providers::Reach::Public;
    let failure = all(vec![model], request()).await.1.expect_err("refused");
    assert_eq!((failure.problem, server.asked().len()), (Problem::Connection, 0));
}

#[tokio::test]
async fn dropping_a_request_ends_it_at_the_provider() {
    let server = Server::start(vec![Play::Hang(stream(&[HALF]))]).await;
    let patience = threadkeep_providers::Patience::default();
    let mut asking = threadkeep_providers::Models::new(patience).ask([server.model("m", Protocol::OpenAi)], request());
    assert!(matches!(asking.next().await, Ok(Some(threadkeep_providers::Piece::Began { .. }))));
    assert_eq!(asking.next().await, Ok(Some(threadkeep_providers::Piece::Text("half".into()))));
    drop(asking);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_script_plays_the_answer_of_its_place() {
    let text = r#"{"answers": [
        {"thinking": "Look first.", "calls": [{"name": "threadkeep/search", "arguments": {"q": "tea"}}]},
        {"text": "You said {{user}}.", "usage": {"input": 7, "output": 3}},
        {"fails": 400},
        {"text": "cut", "cut": true}
    ]}"#;
    let script = Arc::new(Script::parse("demo.json", text).expect("a script"));
    let server = Server::start(vec![bytes("")]).await;
    let model = || server.model("demo", Protocol::Script(Arc::clone(&script)));
    let play = |answered| all(vec![model()], Request { answered, ..request() });
    let (came, ended) = play(0).await;
    let ended = ended.expect("an answer");
    assert_eq!(
        (told(&came).as_str(), ended.stop),
        ("began:demo thinking:Look first. call:threadkeep/search", Stop::Calls)
    );
    let (came, ended) = play(1).await;
    assert_eq!(
        (told(&came).as_str(), ended.expect("an answer").usage.expect("usage").output),
        ("began:demo text:You said hello.", 3)
    );
    assert_eq!(play(2).await.1.expect_err("a failure").problem, Problem::Request);
    assert_eq!(play(3).await.1.expect("an answer").stop, Stop::Length);
    assert!(play(4).await.1.expect_err("the end").to_string().contains("4 answers"));
    let refused = Script::parse("demo.json", "{\n  \"answers\": [{\"txt\": 1}]}").expect_err("an unknown field");
    assert!(refused.to_string().starts_with("demo.json:2:"), "{refused}");
}

#[tokio::test]
async fn model_servers_of_this_machine_are_found() {
    let ollama = Server::start(vec![bytes(reply("200 OK", "", r#"{"models":[{"name":"llama3:8b"}]}"#))]).await;
    let model = ollama.model("m", Protocol::Anthropic);
    let at = model.base_url.trim_start_matches("http://").to_owned();
    // A port that nothing listens on any more.
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").to_string()
    };
    let found = find_local(Some(&at), Some(&closed)).await;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].program, found[0].models.as_slice()), ("ollama", &["llama3:8b".to_owned()][..]));
    assert_eq!(found[0].base_url, format!("http://{at}/v1"));
    assert_eq!(find_local(Some(&closed), Some(&at)).await, [], "another program there is not taken for one");
}
