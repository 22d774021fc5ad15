//! Fields of a thread that steer its runs: its models, its tokens, its title.

use serde_json::{Value, json};
use tempfile::TempDir;
use threadkeep_calls::{Create, Update};
use threadkeep_engine::Engine;
use threadkeep_model::{FieldChanges, Json, MessageBody, Position, ThreadId};
use threadkeep_runtime::Runtime;

use crate::agents::{folder, run};

/// A folder whose agent `helper` has the model `play`, which falls back to `deep`; `other` is a model that it does not name.
fn models() -> TempDir {
    let folder = folder(&json!([{ "text": "by play" }, { "text": "again" }]), "", &[]);
    let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).expect("a file");
    let script = |name: &str| format!("provider = \"script\"\nmodel = \"scripts/{name}.json\"\n");
    write("models/play.toml", &format!("{}fallbacks = [\"deep\"]\n", script("play")));
    for name in ["deep", "other"] {
        write(&format!("models/{name}.toml"), &script(name));
        write(&format!("scripts/{name}.json"), &json!({ "answers": [{ "text": format!("by {name}") }] }).to_string());
    }
    folder
}

/// A thread with these fields, after one run.
async fn ran(engine: &Engine, fields: &Value, said: &str) -> ThreadId {
    let mut create = Create::default().field("agentId", Json::string("helper"));
    for (name, value) in fields.as_object().expect("fields") {
        create = create.field(name, Json::from_value("field", value).expect("JSON"));
    }
    let thread = engine.create(create).await.expect("a thread").id;
    more(engine, thread, said, 1).await;
    thread
}

async fn more(engine: &Engine, thread: ThreadId, said: &str, runs: usize) {
    engine.queue(thread, MessageBody::user(said)).await.expect("queued");
    let mut log = engine.subscribe(thread, Position(0)).await.expect("a subscription");
    let mut left = runs;
    while left > 0 {
        let entry = log.next().await.expect("an entry").expect("a thread");
        left -= usize::from(entry.kind.as_str() == "run_ended");
    }
}

async fn answer(engine: &Engine, thread: ThreadId) -> String {
    let page = engine.messages(thread, threadkeep_engine::Page::first().newest_first()).await.expect("messages");
    page.items[0].body().expect("a body").content.to_text().into_owned()
}

async fn title(engine: &Engine, thread: ThreadId) -> Option<String> {
    engine.thread(thread).await.expect("a thread").record.title
}

#[test]
fn a_thread_chooses_among_the_models_of_its_agent() {
    run(|| async {
        let folder = models();
        let runtime = Runtime::builder(crate::support::engine()).definitions(folder.path()).build();
        let (engine, background) = (runtime.engine().clone(), runtime.start());
        for (fields, expected) in [
            (json!({}), "by play"),
            (json!({ "agentMode": "deep" }), "by deep"),
            (json!({ "metadata": { "tags": ["model:deep"] } }), "by deep"),
            (json!({ "agentMode": "deep", "metadata": { "tags": ["model:play"] } }), "by play"),
            (json!({ "agentMode": "other", "metadata": { "tags": ["model:other"] } }), "by play"),
        ] {
            let thread = ran(&engine, &fields, "go").await;
            assert_eq!(answer(&engine, thread).await, expected, "{fields}");
        }
        background.stop().await;
    });
}

#[test]
fn an_untitled_thread_gets_a_title_after_its_first_run_and_never_over_a_persons() {
    run(|| async {
        let folder = models();
        let runtime = Runtime::builder(crate::support::engine()).definitions(folder.path()).build();
        let (engine, background) = (runtime.engine().clone(), runtime.start());
        let thread = ran(&engine, &json!({}), "\n  Which tea is best?\nI like green.").await;
        assert_eq!(title(&engine, thread).await.as_deref(), Some("Which tea is best?"));
        let named = ran(&engine, &json!({ "title": "Tea" }), "Which tea is best?").await;
        assert_eq!(title(&engine, named).await.as_deref(), Some("Tea"));
        // Somebody takes the title away: it stays away.
        let fields = FieldChanges([("title".to_owned(), Json::parse("title", "null").expect("JSON"))].into());
        engine.call(thread, Update { fields }).await.expect("updated");
        more(&engine, thread, "And coffee?", 2).await;
        assert_eq!(title(&engine, thread).await, None);
        background.stop().await;
    });
}
