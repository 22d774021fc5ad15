//! Exports: what each format holds, and what it says it cannot hold.

use serde_json::{Value, json};
use threadkeep_transcripts::formats::{Exported, Format, export};
use threadkeep_transcripts::shape::Session;
use threadkeep_transcripts::sources::{claude_code, pi};
use threadkeep_transcripts::{Resume, Window};

use crate::show::show;

fn session(text: &str) -> Session {
    pi::read(&Window::whole("S.jsonl", text.as_bytes()), &Resume::default()).sessions.remove(0)
}

const TALK: &str = r#"{"type":"session","version":3,"id":"S","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/repo"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":[{"type":"text","text":"Fix ``` it"},{"type":"image","data":"aGk=","mimeType":"image/png"}]}}
{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","thinkingSignature":"sig"},{"type":"text","text":"Ok"},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"}}],"provider":"anthropic","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}}
{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","toolCallId":"c1","content":[{"type":"text","text":"x ``` y"}],"isError":true}}
{"type":"message","id":"dead","parentId":"b","message":{"role":"user","content":"Other way"}}
{"type":"message","id":"d","parentId":"c","message":{"role":"assistant","content":[{"type":"text","text":"Done"}],"provider":"anthropic","model":"m"}}
"#;

fn written(format: Format) -> Exported {
    export(&session(TALK), format)
}

fn json_of(format: Format) -> Value {
    serde_json::from_str(&written(format).text).expect("JSON")
}

#[test]
fn openai_has_the_active_branch() {
    assert_eq!(
        json_of(Format::OpenAi),
        json!({ "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Fix ``` it" }, { "type": "image_url", "image_url": { "url": "data:image/png;base64,aGk=" } }] },
            { "role": "assistant", "content": "Ok", "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{\"path\":\"a\"}" } }] },
            { "role": "tool", "tool_call_id": "c1", "content": "x ``` y" },
            { "role": "assistant", "content": "Done" },
        ] })
    );
    assert_eq!(
        written(Format::OpenAi).lost,
        ["1 marks of failed calls", "1 messages on other branches", "1 parts of reasoning"]
    );
}

#[test]
fn markdown_is_for_people() {
    let Exported { text, lost } = written(Format::Markdown);
    assert_eq!(
        text,
        "# Fix ``` it\n\n## User\n\nFix ``` it\n\n(file image/png)\n\n## Assistant\n\n> Hm\n\nOk\n\n**read**\n\n```json\n{\n  \"path\": \"a\"\n}\n```\n\n## Tool\n\nFailed:\n\n````\nx ``` y\n````\n\n## Assistant\n\nDone\n"
    );
    assert_eq!(lost, ["1 files", "1 messages on other branches"]);
}

#[test]
fn atif_has_results_as_observations() {
    assert_eq!(
        json_of(Format::Atif),
        json!({ "schema_version": "ATIF-v1.7", "session_id": "S", "agent": { "name": "pi", "version": "unknown", "model_name": "m" },
            "steps": [
                { "step_id": 1, "source": "user", "message": "Fix ``` it" },
                { "step_id": 2, "source": "agent", "message": "Ok", "model_name": "m", "reasoning_content": "Hm",
                  "tool_calls": [{ "tool_call_id": "c1", "function_name": "read", "arguments": { "path": "a" } }],
                  "metrics": { "prompt_tokens": 8, "completion_tokens": 2, "cached_tokens": 3 },
                  "observation": { "results": [{ "source_call_id": "c1", "content": "x ``` y" }] } },
                { "step_id": 3, "source": "agent", "message": "Done", "model_name": "m" },
            ],
            "final_metrics": { "total_prompt_tokens": 8, "total_completion_tokens": 2, "total_cached_tokens": 3, "total_steps": 3 } })
    );
    assert_eq!(
        written(Format::Atif).lost,
        ["1 files", "1 marks of failed calls", "1 messages on other branches", "1 signatures and sealed reasoning"]
    );
}

#[test]
fn jsonl_loses_nothing() {
    let Exported { text, lost } = written(Format::Jsonl);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines.len(), lost), (6, Vec::new()));
    assert_eq!(lines[0]["active"], "d");
    assert_eq!(lines[1]["parts"][1], json!({ "type": "file", "name": null, "mimeType": "image/png", "data": "aGk=" }));
    assert_eq!(lines[2]["parts"][0]["provider"], "anthropic");
    assert_eq!((&lines[4]["id"], &lines[4]["parent"]), (&json!("dead"), &json!("b")));
}

#[test]
fn claude_code_has_all_branches_and_its_reader_gives_them_back() {
    for fixture in [TALK, crate::pi::SESSION] {
        let before = session(fixture);
        let exported = export(&before, Format::ClaudeCode);
        let after = claude_code::read(&Window::whole("x.jsonl", exported.text.as_bytes()), None, &Resume::default());
        assert_eq!((after.sessions.len(), after.skipped.count), (1, 0));
        let (before, after) = (&before, &after.sessions[0]);
        assert_eq!((&after.title, &after.folder), (&before.title, &before.folder));
        assert_eq!(after.messages.len(), before.messages.len());
        let place = |session: &Session, id: &Option<String>| {
            id.as_ref().map(|id| session.messages.iter().position(|it| it.id == *id).expect("a message of the session"))
        };
        for (old, new) in before.messages.iter().zip(&after.messages) {
            assert_eq!(place(before, &old.parent), place(after, &new.parent), "{}", old.id);
            assert_eq!((old.time, old.usage, &old.model), (new.time, new.usage, &new.model), "{}", old.id);
            assert_eq!(old.scaffolding, new.scaffolding, "{}", old.id);
        }
        assert_eq!(place(before, &before.active), place(after, &after.active));
    }
    let text = show(&claude_code::read(
        &Window::whole("x", written(Format::ClaudeCode).text.as_bytes()),
        None,
        &Resume::default(),
    ));
    assert!(text.contains("thinks \"Hm\" bound to anthropic | \"Ok\" | calls read c1"), "{text}");
}

#[test]
fn an_export_of_a_file_of_claude_code_keeps_its_ids() {
    let id = "01234567-89ab-4def-8123-456789abcdef";
    let line = json!({ "type": "user", "uuid": id, "parentUuid": null, "sessionId": id, "message": { "role": "user", "content": "Hi" } });
    let read = |text: &str| claude_code::read(&Window::whole("x.jsonl", text.as_bytes()), None, &Resume::default());
    let first = read(&line.to_string());
    let second = read(&export(&first.sessions[0], Format::ClaudeCode).text);
    assert_eq!((&second.sessions[0].id, &second.sessions[0].messages[0].id), (&id.to_owned(), &id.to_owned()));
}
