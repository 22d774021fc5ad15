//! The endpoint embedder against a real HTTP server that speaks the protocol, well and badly.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use threadkeep_embed::{EmbedError, Embedder, Endpoint, EndpointSettings, Key};

const KEY: &str = "sk-secret-0123456789";

/// What the server does with a request, instead of answering well.
enum Turn {
    Well,
    Status(u16, Option<&'static str>, Value),
    Body(String),
    Silent,
}

#[derive(Default)]
struct Script {
    turns: VecDeque<Turn>,
    asked: Vec<Vec<String>>,
}

struct Server {
    url: String,
    script: Arc<Mutex<Script>>,
}

impl Server {
    async fn start(turns: impl IntoIterator<Item = Turn>) -> Self {
        let script = Arc::new(Mutex::new(Script { turns: turns.into_iter().collect(), asked: Vec::new() }));
        let shared = script.clone();
        let handler = move |headers: HeaderMap, body: Bytes| answer(shared.clone(), headers, body);
        let app = Router::new().route("/v1/embeddings", post(handler));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, script }
    }

    fn settings(&self) -> EndpointSettings {
        EndpointSettings {
            key: Some(Key::new(KEY)),
            dimensions: Some(3),
            requests_per_minute: 60_000,
            give_up_after: Duration::from_secs(5),
            ..EndpointSettings::new(&self.url, "small")
        }
    }

    async fn connect(&self) -> Endpoint {
        Endpoint::connect(self.settings()).await.expect("settings are right")
    }

    fn asked(&self) -> Vec<Vec<String>> {
        self.script.lock().expect("not poisoned").asked.clone()
    }
}

async fn answer(script: Arc<Mutex<Script>>, headers: HeaderMap, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(request["model"], "small");
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
    let input: Vec<String> = serde_json::from_value(request["input"].clone()).expect("a list of texts");
    let turn = {
        let mut script = script.lock().expect("not poisoned");
        script.asked.push(input.clone());
        script.turns.pop_front().unwrap_or(Turn::Well)
    };
    match turn {
        // The last text first: `index` tells which is which.
        Turn::Well => {
            let item =
                |(at, text): (usize, &String)| json!({"object": "embedding", "index": at, "embedding": of(text)});
            let data: Vec<Value> = input.iter().enumerate().map(item).rev().collect();
            json!({"object": "list", "data": data, "model": "small", "usage": {"total_tokens": 1}})
                .to_string()
                .into_response()
        }
        Turn::Status(status, retry_after, body) => {
            let status = StatusCode::from_u16(status).expect("a status");
            match retry_after {
                Some(seconds) => (status, [("retry-after", seconds)], body.to_string()).into_response(),
                None => (status, body.to_string()).into_response(),
            }
        }
        Turn::Body(body) => body.into_response(),
        Turn::Silent => std::future::pending().await,
    }
}

/// The server's vector of a text: longer texts lean to the first axis.
fn of(text: &str) -> [f32; 3] {
    [text.len() as f32, 1.0, -2.0]
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

#[tokio::test]
async fn each_text_has_its_own_vector_whatever_the_order_of_the_answer() {
    let server = Server::start([]).await;
    let endpoint = server.connect().await;
    let asked = texts(["a", "four", "a much longer text"]);
    let vectors = endpoint.embed(asked.clone()).await.expect("vectors");
    let expected: Vec<_> = asked.iter().map(|text| threadkeep_embed::Vector::quantise(&of(text))).collect();
    assert_eq!(vectors, expected);
    assert_eq!(endpoint.model().dimensions, 3);
    assert!(endpoint.model().id.contains("small@127.0.0.1:"), "{}", endpoint.model().id);
}

#[tokio::test]
async fn the_length_of_vectors_is_learned_if_it_is_not_given() {
    let server = Server::start([]).await;
    let settings = EndpointSettings { dimensions: None, ..server.settings() };
    let endpoint = Endpoint::connect(settings).await.expect("it answers");
    assert_eq!((endpoint.model().dimensions, server.asked().len()), (3, 1));
}

#[tokio::test]
async fn batches_are_bounded_by_number_and_by_bytes_and_texts_are_cut() {
    let server = Server::start([]).await;
    let bounds = EndpointSettings { batch_texts_max: 2, batch_bytes_max: 10, text_chars_max: 12, ..server.settings() };
    let endpoint = Endpoint::connect(bounds).await.expect("settings are right");
    let asked = texts(["a", "b", "c", "1234567890", "", "öööööööööööööö", "d"]);
    let vectors = endpoint.embed(asked).await.expect("vectors");
    assert_eq!((vectors.len(), vectors[4].is_zero(), vectors[3].is_zero()), (7, true, false));
    let batches = server.asked();
    assert_eq!(batches, [vec!["a", "b"], vec!["c"], vec!["1234567890"], vec!["öööööööööööö"], vec!["d"]]);
}

#[tokio::test]
async fn what_was_asked_before_is_not_asked_again() {
    let server = Server::start([]).await;
    let endpoint = server.connect().await;
    let first = endpoint.embed(texts(["a", "b"])).await.expect("vectors");
    let second = endpoint.embed(texts(["b", "c", "a"])).await.expect("vectors");
    assert_eq!([&first[1], &first[0]], [&second[0], &second[2]]);
    assert_eq!(server.asked(), [vec!["a", "b"], vec!["c"]]);
}

#[tokio::test]
async fn what_fails_for_the_moment_is_tried_again_when_it_was_asked_to() {
    let server = Server::start([
        Turn::Status(503, None, json!({})),
        Turn::Status(429, Some("1"), json!({"error": {"code": "rate_limit_exceeded"}})),
    ])
    .await;
    let endpoint = server.connect().await;
    let began = std::time::Instant::now();
    assert_eq!(endpoint.embed(texts(["a"])).await.expect("vectors").len(), 1);
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn it_gives_up_in_time() {
    let server = Server::start([Turn::Status(429, Some("3600"), json!({})), Turn::Silent]).await;
    let settings =
        EndpointSettings { time_limit: Duration::from_millis(100), give_up_after: Duration::ZERO, ..server.settings() };
    let endpoint = Endpoint::connect(settings).await.expect("settings are right");
    for expected in ["429", "no answer within"] {
        let error = endpoint.embed(texts(["a"])).await.expect_err("it is not there");
        assert!(error.is_passing() && error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn nobody_there_is_for_the_moment() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/v1/", listener.local_addr().expect("an address"));
    drop(listener);
    let settings = EndpointSettings { give_up_after: Duration::ZERO, ..EndpointSettings::new(url, "small") };
    let error = Endpoint::connect(settings).await.expect_err("nobody is there");
    assert!(matches!(error, EmbedError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a_refusal_is_told_once_without_the_key_and_the_text() {
    let echo = json!({"error": {"message": format!("bad key {KEY} for private words"), "code": "invalid_api_key"}});
    let rude = json!({"error": {"code": format!("{KEY} private words")}});
    let server = Server::start([Turn::Status(401, None, echo), Turn::Status(400, None, rude)]).await;
    let endpoint = server.connect().await;
    for expected in ["invalid_api_key", "status 400"] {
        let error = endpoint.embed(texts(["private words"])).await.expect_err("refused");
        let shown = format!("{error} {error:?} {endpoint:?} {:?}", server.settings());
        assert!(matches!(error, EmbedError::Refused { .. }) && shown.contains(expected), "{shown}");
        assert!(!shown.contains("secret") && !shown.contains("private"), "{shown}");
    }
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn answers_that_are_not_what_was_asked_for_are_refused() {
    let item = |index: usize, length: usize| json!({"index": index, "embedding": vec![1.0; length]});
    let cases = [
        ("<html>private</html>".to_owned(), "no list of vectors"),
        (json!({"data": [item(0, 3)]}).to_string(), "1 vectors for 2 texts"),
        (json!({"data": [item(0, 3), item(0, 3)]}).to_string(), "two vectors for text 0"),
        (json!({"data": [item(0, 3), item(7, 3)]}).to_string(), "text 7 of 2"),
        (json!({"data": [item(0, 3), item(1, 4)]}).to_string(), "4 dimensions where 3"),
        (json!({"data": [item(0, 0), item(1, 0)]}).to_string(), "0 dimensions where 3"),
        (json!({"data": [item(0, 3), {"index": 1, "embedding": ["private"]}]}).to_string(), "no list of vectors"),
    ];
    let server = Server::start(cases.iter().map(|(body, _)| Turn::Body(body.clone()))).await;
    let endpoint = server.connect().await;
    for (_, expected) in &cases {
        let error = endpoint.embed(texts(["a", "b"])).await.expect_err(expected);
        assert!(matches!(error, EmbedError::NotUnderstood { .. }) && error.to_string().contains(expected), "{error}");
        assert!(!error.to_string().contains("private"), "{error}");
    }
    // Nothing of it was kept.
    assert_eq!(endpoint.embed(texts(["a", "b"])).await.expect("vectors").len(), 2);
}

#[tokio::test]
async fn settings_that_cannot_work_are_told_before_anything_is_sent() {
    let good = || EndpointSettings { dimensions: Some(3), ..EndpointSettings::new("http://127.0.0.1:9", "small") };
    let bad = [
        EndpointSettings { url: "api.example".to_owned(), ..good() },
        EndpointSettings { url: "http://ann:secret@api.example".to_owned(), ..good() },
        EndpointSettings { url: "http://api.example/v1?key=secret".to_owned(), ..good() },
        EndpointSettings { key: Some(Key::new("secret\n")), ..good() },
        EndpointSettings { batch_texts_max: 0, ..good() },
        EndpointSettings { model: String::new(), ..good() },
    ];
    for settings in bad {
        let error = Endpoint::connect(settings).await.expect_err("it cannot work");
        assert!(matches!(error, EmbedError::Refused { .. }) && !error.to_string().contains("secret"), "{error}");
    }
    assert!(Endpoint::connect(good()).await.is_ok());
}
