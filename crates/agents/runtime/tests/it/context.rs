//! What the model of a prompt is given: skills, summary, memories and the conversation.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use threadkeep_calls::{ActivateSkill, AddMemory, At, Create, GetContext, Update};
use threadkeep_model::{FieldChanges, Json, MessageBody, Role, RunSide, Skill, ThreadId};
use threadkeep_runtime::Runtime;
use threadkeep_runtime::context::{Ask, Given, Summarize, given};
use threadkeep_runtime::definitions::{Agent, Model, Prompt};
use threadkeep_store::BoxFuture;

use crate::support::engine;

fn prompt(more: serde_json::Value) -> Prompt {
    let mut fields = json!({ "prompt": "You plan trips.", "model": "small" });
    fields.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    serde_json::from_value(fields).expect("a prompt")
}

fn model(tokens: u64) -> Model {
    let fields = json!({ "provider": "openai", "model": "gpt-5-mini", "contextTokens": tokens, "maxTokens": 500 });
    serde_json::from_value(fields).expect("a model")
}

fn runtime(prompt: Prompt, model: Model) -> Runtime {
    let agent: Agent = serde_json::from_value(json!({ "sideA": { "prompt": "planner" } })).expect("an agent");
    Runtime::builder(engine()).agent("guide", agent).prompt("planner", prompt).model("small", model).build()
}

async fn thread(runtime: &Runtime, messages: usize) -> ThreadId {
    let engine = runtime.engine();
    let id = engine.create(Create::titled("T")).await.expect("a thread").id;
    let fields = FieldChanges([("agentId".to_owned(), Json::string("guide"))].into());
    engine.call(id, Update { fields }).await.expect("an agent");
    for number in 0..messages {
        let role = if number % 2 == 0 { Role::User } else { Role::Assistant };
        let text = format!("Message {number} says a few words about the trip to Rome and its hotels.");
        engine.append(id, MessageBody::new(role, &text)).await.expect("an append");
    }
    id
}

async fn ask(runtime: &Runtime, thread: ThreadId, summarize: Option<&dyn Summarize>) -> Given {
    let definitions = runtime.definitions();
    let (_, prompt) = definitions.prompt("planner", None).expect("a prompt");
    let (_, model) = definitions.model("small", None).expect("a model");
    let engine = runtime.engine();
    let ask = Ask {
        engine,
        thread,
        definitions: &definitions,
        package: None,
        prompt,
        model,
        side: RunSide::A,
        fixed: None,
        percent: 100,
        summarize,
    };
    given(ask).await.expect("a conversation")
}

fn text(given: &Given, at: usize) -> String {
    given.messages[at].content.to_text().into_owned()
}

/// A model that counts how often it is asked.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Summarize for Counting {
    fn summarize<'a>(&'a self, told: &'a str, _: u64) -> BoxFuture<'a, Option<(String, String)>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(told.starts_with("user: Message 0 says a few words"), "{told}");
        let text = format!("They spoke of Rome, {} bytes.", told.len());
        Box::pin(std::future::ready(Some((text, "gpt-5".to_owned()))))
    }
}

#[tokio::test]
async fn what_is_cut_is_summarized_once_by_the_model_that_is_brought() {
    let runtime = runtime(prompt(json!({})), model(3_000));
    let thread = thread(&runtime, 200).await;
    let counting = Counting::default();
    let first = ask(&runtime, thread, Some(&counting)).await;
    assert!(text(&first, 0).starts_with("[Summary of the earlier conversation]\nThey spoke of Rome"));
    assert!(first.tokens.total <= 3_000 - 500, "{:?}", first.tokens);
    let second = ask(&runtime, thread, Some(&counting)).await;
    assert_eq!((counting.0.load(Ordering::Relaxed), &second.messages), (1, &first.messages));
    let shown = runtime.engine().call(thread, GetContext::default()).await.expect("a context");
    let summary = shown.summary.expect("a summary");
    assert_eq!((summary.model.as_deref(), shown.model.as_deref()), (Some("gpt-5"), Some("gpt-5-mini")));
    assert!(shown.cut > 100 && shown.budget <= 2_500, "{} {}", shown.cut, shown.budget);
}

#[tokio::test]
async fn without_a_model_the_summary_is_picked_from_the_messages() {
    let runtime = runtime(prompt(json!({})), model(3_000));
    let thread = thread(&runtime, 200).await;
    let given = ask(&runtime, thread, None).await;
    assert!(text(&given, 0).contains("Goal: Message 0 says a few words"), "{}", text(&given, 0));
}

#[tokio::test]
async fn memories_come_before_the_last_question_and_skills_beside_the_prompt() {
    let runtime = runtime(prompt(json!({ "recentMessages": 2 })), model(20_000));
    let thread = thread(&runtime, 5).await;
    let engine = runtime.engine();
    engine.call(At::none(), AddMemory::new("Never books hotels near airports.")).await.expect("a memory");
    engine.call(At::none(), AddMemory::new("The database runs on port 5432.")).await.expect("a memory");
    engine.append(thread, MessageBody::user("Which hotels should I look at?")).await.expect("an append");
    let skill = Skill { name: "unknown".into(), arguments: None };
    engine.call(thread, ActivateSkill { skill }).await.expect("a skill");
    let given = ask(&runtime, thread, None).await;
    assert_eq!(given.messages.len(), 3, "{:?}", given.messages);
    assert_eq!(text(&given, 2), "Which hotels should I look at?");
    let remembered = text(&given, 1);
    assert!(remembered.contains("near airports") && !remembered.contains("5432"), "{remembered}");
    assert!(given.skills.is_empty(), "a skill that is not defined has no text");
    assert!(given.tokens.memories > 0 && given.tokens.system > 0);
}
