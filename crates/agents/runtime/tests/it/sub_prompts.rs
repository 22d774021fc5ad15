//! Prompts that a prompt calls as tools.

use serde_json::{Value, json};
use tempfile::TempDir;
use threadkeep_engine::Page;
use threadkeep_model::{Part, RunStatus};

use crate::agents::{Story, folder, run};

/// A folder whose agent `helper` may call the prompt `poet`, used as `used`; `more` has more lines for that prompt.
fn with_poet(answers: &Value, poet: &Value, used: &str, more: &str) -> TempDir {
    let folder = folder(answers, "", &[]);
    let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).expect("a file");
    write("prompts/helper.toml", &format!("prompt = \"Help.\"\nmodel = \"play\"\ntools = [{used}]\n"));
    write(
        "prompts/poet.toml",
        &format!("prompt = \"Rhyme.\"\nmodel = \"poet\"\ntoolDescription = \"Rhymes\"\n{more}\n"),
    );
    let prices = "[prices]\ninput = 1.0\noutput = 2.0\n";
    write("models/poet.toml", &format!("provider = \"script\"\nmodel = \"scripts/poet.json\"\n{prices}"));
    write("scripts/poet.json", &json!({ "answers": [poet] }).to_string());
    folder
}

fn ask_poet(arguments: Value) -> Value {
    json!({ "calls": [{ "name": "poet", "arguments": arguments }] })
}

#[test]
fn a_prompt_that_is_called_is_one_model_call_whose_answer_is_the_result() {
    run(|| async {
        let answers = json!([ask_poet(json!({ "message": "on tea" })), { "text": "Here: {{result}}" }]);
        let poet = json!({ "text": "a rhyme {{user}}", "usage": { "input": 7, "output": 3 } });
        let story = Story::new(with_poet(&answers, &poet, "\"poet\"", ""), |it| it).await;
        story.say("go").await;
        let ended = story.ended().await;
        let shown = story.shown().await;
        assert_eq!((ended.status, ended.step_count), (RunStatus::Completed, 2), "{shown}");
        let whole = "user go | assistant calls poet | tool a rhyme on tea | assistant Here: a rhyme on tea";
        assert_eq!(shown, whole, "what it was asked and said is below the conversation");
        assert_eq!((ended.usage.input_tokens, ended.usage.output_tokens, ended.usage.cost_micros), (7, 3, 13));
        let page = Page::first().include_silent().max_depth(1);
        let below: Vec<_> = story.engine.messages(story.thread, page).await.expect("messages").items;
        let caller = below[1].id;
        let below: Vec<_> = below.iter().map(|it| it.body().expect("a body")).filter(|it| it.depth == 1).collect();
        let said: Vec<_> = below.iter().map(|it| it.content.to_text().into_owned()).collect();
        assert_eq!(said, ["on tea", "a rhyme on tea"]);
        assert!(below.iter().all(|it| it.parent_id == Some(caller) && it.name.as_deref() == Some("poet")));
        story.stop().await;
    });
}

#[test]
fn a_sub_prompt_gives_what_its_use_asks_for() {
    let call = json!({ "text": "words", "calls": [{ "name": "echo", "arguments": { "say": "x" } }] });
    for (poet, used, more, arguments, expected) in [
        (call.clone(), "{ name = \"poet\" }", "", json!({ "message": "a" }), "tool words".to_owned()),
        (
            call.clone(),
            "{ name = \"poet\", includeTextResponse = false, includeToolCalls = true }",
            "",
            json!({ "message": "a" }),
            "\"name\":\"echo\"".to_owned(),
        ),
        (
            json!({ "text": "about {{user}}" }),
            "{ name = \"poet\", initUserMessageProperty = \"topic\" }",
            "",
            json!({ "topic": "tea" }),
            "tool about tea".to_owned(),
        ),
        (
            json!({ "text": "x" }),
            "\"poet\"",
            "requiredSchema = { type = \"object\", properties = { count = { type = \"number\" } }, required = [\"count\"] }",
            json!({ "count": "many" }),
            "tool error the arguments are wrong: args.count".to_owned(),
        ),
        (
            json!({ "fails": 400 }),
            "{ name = \"poet\", includeErrors = true }",
            "",
            json!({ "message": "a" }),
            "tool error the prompt 'poet' could not be asked: ".to_owned(),
        ),
        (
            json!({ "fails": 400 }),
            "\"poet\"",
            "",
            json!({ "message": "a" }),
            "tool error the prompt 'poet' could not be asked | ".to_owned(),
        ),
    ] {
        run(|| async {
            let answers = json!([ask_poet(arguments), { "text": "end" }]);
            let story = Story::new(with_poet(&answers, &poet, used, more), |it| it).await;
            story.say("go").await;
            story.ended().await;
            let shown = story.shown().await;
            assert!(shown.contains(&expected), "{expected}: {shown}");
            story.stop().await;
        });
    }
}

#[test]
fn a_sub_prompt_with_the_chat_is_given_the_conversation_up_to_its_call() {
    run(|| async {
        // The script tells what came before the question: with the chat, that is what the user said.
        let answers = json!([{ "text": "So.", "calls": [{ "name": "poet", "arguments": { "message": "rhyme it" } }] },
            { "text": "end" }]);
        let poet = json!({ "text": "{{user}}" });
        let story = Story::new(with_poet(&answers, &poet, "\"poet\"", "includeChat = true"), |it| it).await;
        story.say("go").await;
        let ended = story.ended().await;
        let told = story.engine.call(threadkeep_calls::At::none(), threadkeep_calls::GetRun { run: ended.id }).await;
        let asked: Vec<_> = told.expect("a run").steps.into_iter().filter_map(|step| step.model).collect();
        let of_poet = asked.iter().find(|model| model.prompt.as_deref() == Some("poet")).expect("it was asked");
        assert_eq!(of_poet.messages, 3, "what the user said, what the caller said, and the question");
        let calls = |part: &Part| matches!(part, Part::ToolUse { .. });
        let page = story.engine.messages(story.thread, Page::first()).await.expect("messages").items;
        assert!(page[1].body().expect("a body").content.to_parts().iter().any(calls), "the caller keeps its call");
        story.stop().await;
    });
}
