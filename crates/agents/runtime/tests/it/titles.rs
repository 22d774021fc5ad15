//! Titles by the model of an agent, from a server of the test that speaks chat completions.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use serde_json::{Value, json};
use threadkeep_calls::{Create, Update};
use threadkeep_model::{FieldChanges, Json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::agents::{Story, echo, folder, run};
use crate::requests::request;

/// How the server answers.
#[derive(Clone)]
struct Plays {
    /// The answer to a question for a title.
    title: (&'static str, Value),
    /// Titles are answered from then on.
    may_title: watch::Receiver<bool>,
    /// How many titles were answered.
    titled: Arc<watch::Sender<usize>>,
    /// Whether the first answer calls a tool, and the second one comes after the title.
    calls_first: bool,
}

fn says(text: &str, tokens: u64) -> (&'static str, Value) {
    let usage = json!({ "prompt_tokens": tokens, "completion_tokens": 1 });
    ("200 OK", json!({ "choices": [{ "message": { "content": text }, "finish_reason": "stop" }], "usage": usage }))
}

async fn answer(plays: &mut Plays, body: &Value) -> (&'static str, Value) {
    let said = body["messages"].as_array().expect("messages");
    if said[0]["content"].as_str().is_some_and(|system| system.contains("Write a title")) {
        plays.may_title.wait_for(|may| *may).await.expect("a sender");
        return plays.title.clone();
    }
    if plays.calls_first && said.last().expect("a message")["role"] == "user" {
        let call = json!({ "id": "c", "type": "function", "function": { "name": "echo", "arguments": "{}" } });
        let usage = json!({ "prompt_tokens": 10, "completion_tokens": 1 });
        let message = json!({ "content": null, "tool_calls": [call] });
        let choice = json!({ "message": message, "finish_reason": "tool_calls" });
        return ("200 OK", json!({ "choices": [choice], "usage": usage }));
    }
    if plays.calls_first {
        plays.titled.subscribe().wait_for(|count| *count > 0).await.expect("a sender");
    }
    says("It is tea.", 10)
}

/// A story on a thread without a title, whose model is at a server that plays this.
async fn story(plays: Plays) -> Story {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut plays = plays.clone();
            tokio::spawn(async move {
                let (_, body) = request(&mut socket).await;
                let is_title = body.to_string().contains("Write a title");
                let (status, said) = answer(&mut plays, &body).await;
                let said = said.to_string();
                let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close");
                let whole = format!("{head}\r\ncontent-length: {}\r\n\r\n{said}", said.len());
                // The other end may have had enough.
                drop(socket.write_all(whole.as_bytes()).await);
                drop(socket.shutdown().await);
                if is_title {
                    plays.titled.send_modify(|count| *count += 1);
                }
            });
        }
    });
    let folder = folder(&json!([]), "", &["echo"]);
    let model = format!("provider = \"openai\"\nmodel = \"m\"\nbaseUrl = \"http://{address}/v1\"\n");
    std::fs::write(folder.path().join("models/play.toml"), model).expect("a file");
    let count = Arc::new(AtomicUsize::new(0));
    Story::on(folder, Create::default(), |it| it.tool("echo", echo(&count))).await
}

fn plays(title: (&'static str, Value), may_title: watch::Receiver<bool>, calls_first: bool) -> Plays {
    Plays { title, may_title, titled: Arc::new(watch::Sender::new(0)), calls_first }
}

async fn title(story: &Story) -> Option<String> {
    story.engine.thread(story.thread).await.expect("a thread").record.title
}

/// Waits until the thread has this title.
async fn until_titled(story: &Story, expected: &str) {
    let mut log = story.engine.subscribe(story.thread, threadkeep_model::Position(0)).await.expect("a subscription");
    while title(story).await.as_deref() != Some(expected) {
        log.next().await.expect("an entry").expect("a thread");
    }
}

#[test]
fn a_thread_without_a_title_gets_one_by_the_model_and_its_tokens_count_for_the_run() {
    run(|| async {
        let (_open, may) = watch::channel(true);
        let story = story(plays(says("\"All about tea.\"\n", 5), may, true)).await;
        story.say("Which tea is best?\nI like it green.").await;
        let ended = story.ended().await;
        assert_eq!(title(&story).await.as_deref(), Some("All about tea"));
        assert_eq!((ended.usage.input_tokens, ended.usage.output_tokens), (25, 3), "two steps and the title");
        story.stop().await;
    });
}

#[test]
fn a_run_does_not_wait_for_a_title_and_a_late_one_takes_the_place_of_the_first_words() {
    run(|| async {
        let (open, may) = watch::channel(false);
        let story = story(plays(says("All about tea", 5), may, false)).await;
        story.say("Which tea is best?").await;
        let ended = story.ended().await;
        assert_eq!(title(&story).await.as_deref(), Some("Which tea is best?"));
        assert_eq!(ended.usage.input_tokens, 10);
        open.send_replace(true);
        until_titled(&story, "All about tea").await;
        story.stop().await;
    });
}

#[test]
fn a_title_of_the_model_never_takes_the_place_of_a_persons() {
    run(|| async {
        let (open, may) = watch::channel(false);
        let plays = plays(says("All about tea", 5), may, false);
        let titled = Arc::clone(&plays.titled);
        let story = story(plays).await;
        story.say("Which tea is best?").await;
        story.ended().await;
        let fields = FieldChanges([("title".to_owned(), Json::string("Mine"))].into());
        story.engine.call(story.thread, Update { fields }).await.expect("titled");
        open.send_replace(true);
        titled.subscribe().wait_for(|count| *count > 0).await.expect("a sender");
        story.engine.improve_title(story.thread, "Which tea is best?", "All about tea").await.expect("decided");
        story.say("And coffee?").await;
        story.until("run_ended", 2).await;
        assert_eq!(title(&story).await.as_deref(), Some("Mine"));
        story.stop().await;
    });
}

#[test]
fn without_an_answer_of_the_model_the_first_words_are_the_title() {
    run(|| async {
        let (_open, may) = watch::channel(true);
        let refusal = ("400 Bad Request", json!({ "error": { "message": "no" } }));
        let story = story(plays(refusal, may, true)).await;
        story.say("Which tea is best?").await;
        story.ended().await;
        assert_eq!(title(&story).await.as_deref(), Some("Which tea is best?"));
        story.stop().await;
    });
}
