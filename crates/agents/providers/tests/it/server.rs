//! A server that plays answers: one for each request, written to the socket byte for byte.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use threadkeep_providers::{Answer, Failure, Key, Model, Models, Patience, Piece, Prices, Protocol, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How one request is answered.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    /// These bytes, so many at a time, then the connection is closed.
    Bytes(String, usize),
    /// These bytes, then silence.
    Hang(String),
}

/// What a request said.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Answers the requests in this order, and the last way for all that follow.
    pub(crate) async fn start(plays: Vec<Play>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((socket, _)) = listener.accept().await {
                let play = plays[number.min(plays.len() - 1)].clone();
                number += 1;
                tokio::spawn(answer(socket, play, Arc::clone(&seen)));
            }
        });
        Self { url, asked }
    }

    pub(crate) fn model(&self, name: &str, protocol: Protocol) -> Model {
        let base_url = if let Protocol::Anthropic = protocol { self.url.clone() } else { format!("{}/v1", self.url) };
        Model {
            name: name.into(),
            protocol,
            model: format!("{name}-large"),
            base_url,
            key: Some(Key::new("sk-secret-key-1234")),
            reach: threadkeep_providers::Reach::Anywhere,
            prices: Prices::default(),
        }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("unpoisoned").clone()
    }
}

async fn answer(mut socket: TcpStream, play: Play, seen: Arc<Mutex<Vec<Asked>>>) {
    let Some(asked) = read(&mut socket).await else { return };
    seen.lock().expect("unpoisoned").push(asked);
    match play {
        Play::Bytes(text, size) => {
            for piece in text.as_bytes().chunks(size.max(1)) {
                // The other end may have had enough.
                if socket.write_all(piece).await.is_err() || socket.flush().await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        }
        Play::Hang(text) => {
            drop(socket.write_all(text.as_bytes()).await);
            let mut end = [0];
            // It ends when the client goes.
            drop(socket.read(&mut end).await);
        }
    }
}

async fn read(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = socket.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
        let length: usize = length.unwrap_or_default();
        if body.len() >= length {
            return Some(Asked { body: serde_json::from_str(body).unwrap_or_default(), head });
        }
    }
}

/// The head of a stream, and its events.
pub(crate) fn stream(events: &[&str]) -> String {
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{events}")
}

/// A whole answer of another kind.
pub(crate) fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Patience for tests: nothing waits longer than it must.
pub(crate) fn impatient() -> Patience {
    let millis = Duration::from_millis;
    Patience { first: millis(2_000), between: millis(300), pause: millis(1), ..Patience::default() }
}

/// All pieces, and how it ended.
pub(crate) async fn all(models: Vec<Model>, request: Request) -> (Vec<Piece>, Result<Answer, Failure>) {
    let mut asking = Models::new(impatient()).ask(models, request);
    let mut pieces = Vec::new();
    loop {
        match asking.next().await {
            Ok(Some(Piece::Ended(answer))) => {
                assert_eq!(asking.next().await, Ok(None), "nothing comes after the end");
                return (pieces, Ok(answer));
            }
            Ok(Some(piece)) => pieces.push(piece),
            Ok(None) => panic!("an answer has an end"),
            Err(failure) => {
                assert_eq!(asking.next().await, Ok(None), "nothing comes after a failure");
                return (pieces, Err(failure));
            }
        }
    }
}

/// Pieces in one line: `began:a text:hello call:search`, with neighbours joined.
pub(crate) fn told(pieces: &[Piece]) -> String {
    let mut told: Vec<(String, String)> = Vec::new();
    for piece in pieces {
        let (kind, what) = match piece {
            Piece::Began { model } => ("began", model.clone()),
            Piece::Text(text) => ("text", text.clone()),
            Piece::Thinking(text) => ("thinking", text.clone()),
            Piece::Call { name } => ("call", name.clone()),
            Piece::Discarded { .. } => ("discarded", String::new()),
            Piece::Ended(_) => ("ended", String::new()),
        };
        match told.last_mut() {
            Some((last, text)) if last == kind && kind != "call" => text.push_str(&what),
            _ => told.push((kind.to_owned(), what)),
        }
    }
    told.into_iter().map(|(kind, what)| format!("{kind}:{what}")).collect::<Vec<_>>().join(" ")
}
