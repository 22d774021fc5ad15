//! What is sent, in each protocol's words.

use bytes::Bytes;
use serde_json::{Value, json};
use threadkeep_providers::{Choice, Image, Message, Part, Protocol, Request, Role, Thought, Tool};

use crate::server::{Play, Server, all, reply};

/// A conversation with everything in it.
fn request() -> Request {
    let picture = || Image { mime_type: "image/png".into(), bytes: Bytes::from_static(b"png") };
    let call = |id: &str, arguments: Value| Part::Call { id: id.into(), name: "mcp:files/read".into(), arguments };
    let thought = |provider: &str, signature: Option<&str>| {
        let (provider, signature) = (provider.into(), signature.map(str::to_owned));
        Part::Thinking(Thought { text: "Hm.".into(), provider, signature, data: None })
    };
    let result = |call: &str, is_error| Part::Result {
        call: call.into(),
        text: "a b c".into(),
        images: vec![picture()],
        is_error,
    };
    let message = |role, parts| Message { role, parts };
    Request {
        system: vec!["You are kind.".into(), "Today is Monday.".into()],
        messages: vec![
            message(Role::User, vec![Part::Text("Look:".into()), Part::Image(picture())]),
            message(
                Role::Assistant,
                vec![
                    thought("anthropic", Some("SIG")),
                    thought("openai", None),
                    Part::Text("I look.".into()),
                    call("id:1", json!({ "path": "a" })),
                    call("id/1", json!([1])),
                ],
            ),
            message(Role::User, vec![Part::Text("And?".into()), result("id:1", false)]),
            message(Role::User, vec![result("id/1", true)]),
            message(Role::Assistant, vec![Part::Text(String::new())]),
            message(Role::User, vec![Part::Text("Go on.".into())]),
        ],
        tools: vec![Tool {
            name: "mcp:files/read".into(),
            description: "Reads.".into(),
            schema: json!({ "type": "object" }),
        }],
        choice: Choice::Required,
        tokens_max: Some(500),
        options: json!({ "temperature": 0 }).as_object().cloned().expect("an object"),
        ..Request::default()
    }
}

async fn sent(protocol: Protocol, request: Request) -> (String, Value) {
    let server = Server::start(vec![Play::Bytes(reply("400 Bad Request", "", "{}"), usize::MAX)]).await;
    all(vec![server.model("m", protocol)], request).await.1.expect_err("refused");
    let asked = server.asked().remove(0);
    (asked.head, asked.body)
}

#[tokio::test]
async fn chat_completions() {
    let (head, body) = sent(Protocol::OpenAi, request()).await;
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer sk-secret-key-1234"), "{head}");
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,cG5n" } });
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "mcp_files_read", "arguments": arguments } });
    assert_eq!(
        body,
        json!({
            "model": "m-large",
            "messages": [
                { "role": "system", "content": "You are kind.\n\nToday is Monday." },
                { "role": "user", "content": [{ "type": "text", "text": "Look:" }, image] },
                { "role": "assistant", "content": "I look.",
                  "tool_calls": [call("id_1", "{\"path\":\"a\"}"), call("id_1_2", "[1]")] },
                { "role": "tool", "tool_call_id": "id_1", "content": "a b c" },
                { "role": "user", "content": [{ "type": "text", "text": "And?" }, image] },
                { "role": "tool", "tool_call_id": "id_1_2", "content": "Error: a b c" },
                { "role": "user", "content": [image] },
                { "role": "user", "content": "Go on." },
            ],
            "stream": true,
            "stream_options": { "include_usage": true },
            "tools": [{ "type": "function", "function":
                { "name": "mcp_files_read", "description": "Reads.", "parameters": { "type": "object" } } }],
            "tool_choice": "required",
            "parallel_tool_calls": false,
            "max_tokens": 500,
            "temperature": 0,
        })
    );
}

#[tokio::test]
async fn messages() {
    let (head, body) = sent(Protocol::Anthropic, request()).await;
    assert!(head.starts_with("post /v1/messages http/1.1"), "{head}");
    assert!(head.contains("x-api-key: sk-secret-key-1234") && head.contains("anthropic-version: 2023-06-01"), "{head}");
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "cG5n" } });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let marked = |mut block: Value| {
        block["cache_control"] = json!({ "type": "ephemeral" });
        block
    };
    let result = |id: &str, is_error: bool| json!({ "type": "tool_result", "tool_use_id": id, "content": [text("a b c"), image], "is_error": is_error });
    let call =
        |id: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": "mcp_files_read", "input": input });
    assert_eq!(
        body,
        json!({
            "model": "m-large",
            "max_tokens": 500,
            "system": [text("You are kind."), marked(text("Today is Monday."))],
            "messages": [
                { "role": "user", "content": [text("Look:"), marked(image.clone())] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "Hm.", "signature": "SIG" },
                    text("I look."),
                    call("id_1", json!({ "path": "a" })),
                    call("id_1_2", json!({ "arguments": [1] })),
                ] },
                { "role": "user", "content":
                    [result("id_1", false), result("id_1_2", true), text("And?"), marked(text("Go on."))] },
            ],
            "tools": [marked(json!({ "name": "mcp_files_read", "description": "Reads.", "input_schema": { "type": "object" } }))],
            "tool_choice": { "type": "any", "disable_parallel_tool_use": true },
            "stream": true,
            "temperature": 0,
        })
    );
}

#[tokio::test]
async fn thinking_has_a_budget_within_the_limit() {
    let thinking = |reasoning: &str, tokens_max| {
        let request = Request { reasoning: Some(reasoning.into()), tokens_max, choice: Choice::Auto, ..request() };
        async move { sent(Protocol::Anthropic, request).await.1 }
    };
    assert_eq!(thinking("low", None).await["thinking"], json!({ "type": "enabled", "budget_tokens": 2048 }));
    assert_eq!(thinking("low", None).await["max_tokens"], 2048 + 8192);
    assert_eq!(thinking("4000", Some(3_000)).await["thinking"]["budget_tokens"], 2_999);
    assert_eq!(thinking("high", Some(500)).await["thinking"], Value::Null, "too little to think with");
    assert_eq!(thinking("off", None).await["thinking"], Value::Null);
}

#[tokio::test]
async fn a_conversation_that_begins_with_the_model_gets_a_beginning() {
    let request = Request { messages: vec![Message::text(Role::Assistant, "I was saying")], ..Request::default() };
    let (_, body) = sent(Protocol::Anthropic, request).await;
    let roles: Vec<_> = body["messages"].as_array().expect("messages").iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
}

#[tokio::test]
async fn ids_of_calls_that_repeat_are_told_apart() {
    let call = || Part::Call { id: "c".into(), name: "t".into(), arguments: json!({}) };
    let result = || Part::Result { call: "c".into(), text: "ok".into(), images: Vec::new(), is_error: false };
    let message = |role, parts| Message { role, parts };
    let turn = || [message(Role::Assistant, vec![call()]), message(Role::User, vec![result()])];
    let request = || Request { messages: turn().into_iter().chain(turn()).collect(), ..Request::default() };
    let (_, openai) = sent(Protocol::OpenAi, request()).await;
    let ids = [0, 2].map(|at| openai["messages"][at]["tool_calls"][0]["id"].clone());
    let answered = [1, 3].map(|at| openai["messages"][at]["tool_call_id"].clone());
    assert_eq!((ids[0] == ids[1], &ids), (false, &answered));
    let (_, anthropic) = sent(Protocol::Anthropic, request()).await;
    let ids = [1, 3].map(|at| anthropic["messages"][at]["content"][0]["id"].clone());
    let answered = [2, 4].map(|at| anthropic["messages"][at]["content"][0]["tool_use_id"].clone());
    assert_eq!((ids[0] == ids[1], &ids), (false, &answered));
}

#[tokio::test]
async fn a_model_does_not_think_where_the_provider_refuses_it() {
    let thought = || {
        Part::Thinking(Thought {
            text: "Hm.".into(),
            provider: "anthropic".into(),
            signature: Some("SIG".into()),
            data: None,
        })
    };
    let call = || Part::Call { id: "c".into(), name: "t".into(), arguments: json!({}) };
    let result = || Part::Result { call: "c".into(), text: "ok".into(), images: Vec::new(), is_error: false };
    let asked = async |step: Vec<Part>, choice: Choice| {
        let messages = vec![
            Message::text(Role::User, "go"),
            Message { role: Role::Assistant, parts: step },
            Message { role: Role::User, parts: vec![result()] },
        ];
        let request = Request { messages, choice, reasoning: Some("low".into()), ..Request::default() };
        sent(Protocol::Anthropic, request).await.1
    };
    assert_eq!(asked(vec![thought(), call()], Choice::Auto).await["thinking"]["type"], "enabled");
    assert_eq!(asked(vec![call()], Choice::Auto).await["thinking"], Value::Null, "the step began without");
    assert_eq!(asked(vec![thought(), call()], Choice::Required).await["thinking"], Value::Null);
    let only = asked(vec![call(), thought()], Choice::Auto).await;
    assert_eq!(only["messages"][1]["content"].as_array().map(Vec::len), Some(1), "none at the end: {only}");
}
