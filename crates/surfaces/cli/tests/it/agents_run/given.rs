//! What a prompt gives to one of its tools, and a thread to its requests, by the real binary.

use serde_json::{Value, json};

use super::hooks::{Story, write};
use super::provider::{provider, stream};
use super::{files, until};
use crate::serve::Serving;
use crate::support::DEADLINE;

#[test]
fn a_tool_gets_the_variables_and_options_that_its_prompt_gives_to_it() {
    let look = "import { defineTool } from \"threadkeep\";\n\
        export default defineTool({ description: \"Looks\", variables: [{ name: \"REGION\", type: \"text\" }],\n\
        execute: async (state, args, options) => `${await state.env(\"REGION\")} ${options.limit ?? \"none\"}` });\n";
    let calls = json!({ "calls": [{ "name": "look" }, { "name": "see" }] });
    let folder = tempfile::tempdir().expect("a folder");
    files(&folder, &json!([calls, { "text": "end" }]), &[("look.js", look), ("see.js", look)]);
    let used = "{ name = \"look\", env = { REGION = \"north-of-here\" }, options = { limit = 5 } }, \"see\"";
    write(
        &folder,
        "prompts/helper.toml",
        &format!(
            "prompt = \"Help.\"\nmodel = \"play\"\nparallelToolCalls = true\ntools = [{used}]\n\
             [env]\nREGION = \"south-of-here\"\n"
        ),
    );
    let story = Story::of(folder);
    story.ended("stop_on_response");
    let whole =
        "user go | assistant calls look, calls see | tool north-of-here 5 | tool south-of-here none | assistant end";
    assert_eq!(story.shown(), whole);
}

#[test]
fn the_tokens_of_a_thread_cap_each_request() {
    let text = stream(&[json!({ "choices": [{ "delta": { "content": "a" }, "finish_reason": "stop" }] })]);
    let (address, asked) = provider(vec![text.clone(), text]);
    let folder = tempfile::tempdir().expect("a folder");
    files(&folder, &json!([]), &[]);
    let model = format!("provider = \"openai\"\nmodel = \"m\"\nbaseUrl = \"http://{address}/v1\"\nmaxTokens = 900\n");
    write(&folder, "models/play.toml", &model);
    let serving = Serving::start(folder.path());
    for (tokens, sent) in [(70, 70), (1_000, 900)] {
        let made =
            serving.ok("POST", "/v1/threads", &json!({ "title": "T", "agentId": "helper", "maxTokens": tokens }));
        let thread = made["id"].as_str().expect("an id");
        serving.ok("POST", &format!("/v1/threads/{thread}/queue"), &json!({ "role": "user", "content": "go" }));
        until(&serving, thread, |run| run["completedAt"].is_string());
        let body: Value = asked.recv_timeout(DEADLINE).expect("a request").body;
        let field = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| body[*name].as_u64());
        assert_eq!(field, Some(sent), "{body}");
    }
}
