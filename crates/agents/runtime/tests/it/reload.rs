//! The definitions of a runtime: read once, swapped as a whole.

use serde_json::{Map, Value, json};
use threadkeep_calls::Create;
use threadkeep_runtime::Runtime;
use threadkeep_runtime::definitions::{Kind, Problems};
use threadkeep_runtime::tools::{Call, Declared, RustTool, ToolResult, never};

use crate::support::engine;
use crate::whole::{WHOLE, folder, write};

#[test]
fn work_keeps_the_definitions_with_which_it_began() {
    let folder = folder(&WHOLE);
    let runtime = Runtime::builder(engine()).definitions(folder.path()).build();
    let began = runtime.definitions();
    write(folder.path(), "agents/second.toml", "[sideA]\nprompt = \"helper\"\n");
    let now = runtime.reload().expect("a folder");
    assert_eq!((began.names(Kind::Agent).count(), now.names(Kind::Agent).count()), (1, 2));
    let same = runtime.reload().expect("a folder");
    assert!(std::sync::Arc::ptr_eq(&now, &same), "an unchanged folder is not swapped");
}

#[test]
fn a_tool_of_the_program_wins_over_a_file_and_is_found_like_one() {
    let folder = folder(&WHOLE);
    let declared = Declared::new("Adds", Map::new());
    let add = RustTool::new(declared, |_, args| async move {
        let number = |name: &str| args.get(name).and_then(Value::as_i64).unwrap_or_default();
        ToolResult::success(number("a") + number("b"))
    });
    let runtime = Runtime::builder(engine()).definitions(folder.path()).tool("add", add).build();
    assert_eq!(runtime.definitions().problems().count(), 0);
    let run = async {
        let thread = runtime.engine().create(Create::titled("T")).await.expect("a thread").id;
        let attempt = runtime.attempt(runtime.engine(), thread).await.expect("a thread");
        let args = json!({ "a": 2, "b": 3 }).as_object().cloned().expect("an object");
        let call = Call { id: "c1".into(), name: "add".into(), args };
        let outcome = runtime.run_tool(&attempt, &call, &never()).await.expect("an outcome");
        assert_eq!(outcome.result, ToolResult::success(5));
        let unknown = Call { name: "ad".into(), ..call };
        let refused = runtime.run_tool(&attempt, &unknown, &never()).await.expect_err("there is none");
        assert_eq!(refused.to_string(), "there is no tool 'ad'; did you mean 'add'?");
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(run);
    let missing = runtime.definitions().agent("none", None).map(drop);
    assert!(matches!(missing, Err(Problems::NotFound { .. })));
}

#[test]
fn the_files_of_a_new_agent_pass_the_check() {
    let folder = folder(&[]);
    let written = threadkeep_runtime::starter::write(folder.path(), "helper").expect("files");
    assert_eq!(
        written,
        [
            "agents/helper.toml",
            "prompts/helper.toml",
            "models/default.toml",
            "scripts/hello.json",
            "tools/count_words.ts"
        ]
    );
    let runtime = Runtime::builder(engine()).definitions(folder.path()).build();
    let definitions = runtime.definitions();
    assert_eq!(definitions.problems().collect::<Vec<_>>(), Vec::<&_>::new());
    definitions.agent("helper", None).expect("an agent");
    threadkeep_runtime::starter::write(folder.path(), "helper").expect_err("it is there already");
    threadkeep_runtime::starter::write(folder.path(), "../helper").expect_err("a path is no name");
    assert_eq!(threadkeep_runtime::starter::write(folder.path(), "second").expect("files").len(), 2);
}
