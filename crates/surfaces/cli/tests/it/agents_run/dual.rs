//! Two models that talk, by the real binary: what each of them is sent, and tools that give the turn away.

use serde_json::{Value, json};

use super::hooks::{Story, write};
use super::provider::{provider, stream};
use super::{SHOUT, files};
use crate::support::DEADLINE;

fn says(text: &str) -> (&'static str, String) {
    stream(&[json!({ "choices": [{ "delta": { "content": text }, "finish_reason": "stop" }] })])
}

fn calls(id: &str, name: &str, arguments: &Value) -> (&'static str, String) {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
    stream(&[json!({ "choices": [{ "delta": { "tool_calls": [call] }, "finish_reason": "tool_calls" }] })])
}

/// `system | user go | assistant calls | tool X`.
fn sent(body: &Value) -> String {
    let line = |one: &Value| {
        let role = one["role"].as_str().unwrap_or_default();
        match (&one["content"], &one["tool_calls"]) {
            (_, Value::Array(_)) => format!("{role} calls"),
            (Value::String(text), _) => format!("{role} {text}"),
            _ => role.to_owned(),
        }
    };
    body["messages"].as_array().expect("messages").iter().map(line).collect::<Vec<_>>().join(" | ")
}

#[test]
fn each_side_is_sent_its_own_calls_and_the_words_of_the_other() {
    let done = "import { defineTool } from \"threadkeep\";\n\
        export default defineTool({ description: \"Ends\", execute: async () => \"ended\" });\n";
    let (address, asked) = provider(vec![
        calls("a1", "shout", &json!({ "text": "x" })),
        says("draft"),
        calls("b1", "shout", &json!({ "text": "y" })),
        says("shorter"),
        says("brief"),
        calls("b2", "done", &json!({})),
    ]);
    let folder = tempfile::tempdir().expect("a folder");
    files(&folder, &json!([]), &[("shout.js", SHOUT), ("done.js", done)]);
    write(
        &folder,
        "models/play.toml",
        &format!("provider = \"openai\"\nmodel = \"m\"\nbaseUrl = \"http://{address}/v1\"\n"),
    );
    write(&folder, "prompts/critic.toml", "prompt = \"Judge.\"\nmodel = \"play\"\ntools = [\"shout\", \"done\"]\n");
    let sides = "[sideA]\nprompt = \"helper\"\n[sideB]\nprompt = \"critic\"\nsessionStop = { name = \"done\" }\n";
    write(&folder, "agents/helper.toml", &format!("type = \"dual_ai\"\n{sides}"));
    let story = Story::of(folder);
    story.ended("session_stop");
    let bodies: Vec<String> = (0..6).map(|_| sent(&asked.recv_timeout(DEADLINE).expect("a request").body)).collect();
    let expected = [
        "system Help. | user go",
        "system Help. | user go | assistant calls | tool X",
        "system Judge. | user go | user draft",
        "system Judge. | user go | user draft | assistant calls | tool Y",
        "system Help. | user go | assistant calls | tool X | assistant draft | user shorter",
        "system Judge. | user go | user draft | assistant calls | tool Y | assistant shorter | user brief",
    ];
    assert_eq!(bodies, expected);
}

#[test]
fn a_tool_gives_the_turn_to_a_side() {
    let pass = "import { defineTool } from \"threadkeep\";\n\
        export default defineTool({ description: \"Passes\", execute: async (state) => {\n\
        state.execution.forceTurn(\"b\"); return state.execution.currentSide; } });\n";
    let folder = tempfile::tempdir().expect("a folder");
    files(&folder, &json!([{ "calls": [{ "name": "pass" }] }]), &[("pass.js", pass)]);
    write(&folder, "prompts/critic.toml", "prompt = \"Judge.\"\nmodel = \"critic\"\n");
    write(&folder, "models/critic.toml", "provider = \"script\"\nmodel = \"scripts/critic.json\"\n");
    write(&folder, "scripts/critic.json", &json!({ "answers": [{ "text": "mine" }] }).to_string());
    let sides = "[sideA]\nprompt = \"helper\"\n[sideB]\nprompt = \"critic\"\n";
    write(&folder, "agents/helper.toml", &format!("type = \"dual_ai\"\nmaxSessionTurns = 2\n{sides}"));
    let story = Story::of(folder);
    story.ended("max_session_turns");
    assert_eq!(story.shown(), "user go | assistant calls pass | tool a | user mine");
}
