//! Answers in the shapes that servers are known to send, cut after every number of bytes.

use serde_json::json;
use threadkeep_providers::{AnswerPart, Message, Protocol, Request, Role, Stop, Thought, Tool, Usage};

use crate::server::{Play, Server, all, reply, stream, told};

fn request() -> Request {
    let tool = |name: &str| Tool {
        name: name.into(),
        description: "Looks things up.".into(),
        schema: json!({ "type": "object", "properties": { "q": { "type": "string" } } }),
    };
    Request {
        messages: vec![Message::text(Role::User, "hello")],
        tools: vec![tool("threadkeep/search"), tool("files")],
        answered: 3,
        ..Request::default()
    }
}

fn call(id: &str, name: &str, arguments: serde_json::Value) -> AnswerPart {
    AnswerPart::Call { id: id.into(), name: name.into(), arguments: Ok(arguments) }
}

/// The answer is the same however the bytes are cut.
async fn check(protocol: Protocol, answer: &str, pieces: &str, parts: &[AnswerPart], stop: Stop, usage: Option<Usage>) {
    for size in [1, 2, 3, 7, 64, usize::MAX] {
        let server = Server::start(vec![Play::Bytes(answer.into(), size)]).await;
        let (came, ended) = all(vec![server.model("m", protocol.clone())], request()).await;
        let ended = ended.unwrap_or_else(|failure| panic!("{failure} in pieces of {size}"));
        assert_eq!(told(&came), pieces, "pieces of {size}");
        assert_eq!((ended.parts.as_slice(), ended.stop, ended.usage), (parts, stop, usage), "pieces of {size}");
        assert_eq!(ended.model, "m");
    }
}

#[tokio::test]
async fn chat_completions_with_text_reasoning_and_parallel_calls() {
    let answer = stream(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":""}}],"usage":null}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"Hm — ü"}}]}"#,
        r#"{"choices":[{"delta":{"content":"Héllo 👋 "}}]}"#,
        r#"{"choices":[{"delta":{"content":"there"},"unknown":{"field":1}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"threadkeep_search","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":\"t"}},{"index":1,"id":"c2","function":{"name":"files","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"ea\"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":64}}}"#,
        "[DONE]",
    ]);
    let parts = [
        AnswerPart::Thinking(Thought { text: "Hm — ü".into(), provider: "openai".into(), ..Thought::default() }),
        AnswerPart::Text("Héllo 👋 there".into()),
        call("c1", "threadkeep/search", json!({ "q": "tea" })),
        call("c2", "files", json!({})),
    ];
    let usage = Usage { input: 36, cache_read: 64, cache_write: 0, output: 20 };
    let pieces = "began:m thinking:Hm — ü text:Héllo 👋 there call:threadkeep/search call:files";
    check(Protocol::OpenAi, &answer, pieces, &parts, Stop::Calls, Some(usage)).await;
}

#[tokio::test]
async fn servers_that_count_nothing_end_early_and_stop_wrongly() {
    // No index, no id, arguments as JSON, `stop` although a tool is called, no last event, no usage.
    let answer = stream(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"files","arguments":{"q":1}}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"files","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"files","arguments":"{broken"}}]},"finish_reason":"stop"}]}"#,
    ]);
    let broken = AnswerPart::Call { id: "x".into(), name: "files".into(), arguments: Err("{broken".into()) };
    let parts = [call("call_3_0", "files", json!({ "q": 1 })), call("call_3_1", "files", json!({})), broken];
    check(Protocol::OpenAi, &answer, "began:m call:files call:files call:files", &parts, Stop::Calls, None).await;
}

#[tokio::test]
async fn an_answer_that_comes_whole_is_an_answer() {
    let openai = r#"{"choices":[{"message":{"content":"All at once","tool_calls":[{"id":"c","type":"function","function":{"name":"files","arguments":"{}"}}]},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let parts = [AnswerPart::Text("All at once".into()), call("c", "files", json!({}))];
    let usage = Usage { input: 1, output: 2, ..Usage::default() };
    let pieces = "began:m text:All at once call:files";
    check(Protocol::OpenAi, &reply("200 OK", "", openai), pieces, &parts, Stop::Length, Some(usage)).await;
    let anthropic = r#"{"type":"message","content":[{"type":"text","text":"All at once"},{"type":"tool_use","id":"c","name":"files","input":{"q":[1]}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let parts = [AnswerPart::Text("All at once".into()), call("c", "files", json!({ "q": [1] }))];
    check(Protocol::Anthropic, &reply("200 OK", "", anthropic), pieces, &parts, Stop::Calls, Some(usage)).await;
}

#[tokio::test]
async fn messages_with_thinking_signatures_and_parallel_calls() {
    let answer = stream(&[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":90,"cache_creation_input_tokens":5,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm — ü"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SIG="}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"HIDDEN"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Héllo 👋"}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c1","name":"threadkeep_search","input":{}}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"q\": \"te"}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"a\"}"}}"#,
        r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"c2","name":"files","input":{}}}"#,
        r#"{"type":"later_addition","index":4}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":42}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let thought = |text: &str, signature: Option<&str>, data: Option<&str>| {
        let (signature, data) = (signature.map(str::to_owned), data.map(str::to_owned));
        AnswerPart::Thinking(Thought { text: text.into(), provider: "anthropic".into(), signature, data })
    };
    let parts = [
        thought("Hm — ü", Some("SIG="), None),
        thought("", None, Some("HIDDEN")),
        AnswerPart::Text("Héllo 👋".into()),
        call("c1", "threadkeep/search", json!({ "q": "tea" })),
        call("c2", "files", json!({})),
    ];
    let usage = Usage { input: 10, cache_read: 90, cache_write: 5, output: 42 };
    let pieces = "began:m thinking:Hm — ü text:Héllo 👋 call:threadkeep/search call:files";
    check(Protocol::Anthropic, &answer, pieces, &parts, Stop::Calls, Some(usage)).await;
}
