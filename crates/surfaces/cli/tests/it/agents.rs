//! The folder of definitions, by the real binary.

use serde_json::{Value, json};

use crate::serve::Serving;
use crate::support::{run, threadkeep};

#[test]
fn a_new_agent_passes_the_check_and_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let agents = |args: &[&str]| {
        let mut command = threadkeep();
        command.arg("--data").arg(folder.path()).arg("agents").args(args);
        run(command, b"")
    };
    let written = agents(&["new", "helper"]).ok();
    assert!(written.lines().any(|line| line.ends_with("definitions/agents/helper.toml")), "{written}");
    agents(&["new", "helper"]).refused(6, &["exists already"]);
    agents(&["new", "Not A Name"]).refused(2, &["small letters"]);
    agents(&["check"]).ok();
    assert!(!folder.path().join("threadkeep.db").exists(), "a check needs no store");
    let prompt = folder.path().join("definitions/prompts/helper.toml");
    std::fs::write(&prompt, "prompt = \"x\"\nmodel = \"defalt\"\n").expect("a file");
    let checked = agents(&["check", "--json"]);
    let told: Value = serde_json::from_str(&checked.stdout).expect("json");
    assert_eq!(checked.code, Some(2));
    let mistake = json!({ "file": "prompts/helper.toml", "line": 2, "column": 1,
        "rule": "there is no model 'defalt'; did you mean 'default'?" });
    assert_eq!(told, json!({ "definitions": 4, "problems": [mistake] }));
    let serving = Serving::start_with(folder.path(), &[]);
    let (status, list) = serving.ask("GET", "/v1/definitions", serving.key(), "").expect("an answer");
    assert_eq!((status, &list["problems"]), (200, &json!([mistake])));
    std::fs::write(&prompt, "prompt = \"x\"\nmodel = \"default\"\n").expect("a file");
    let (_, list) = serving.ask("POST", "/v1/definitions/reload", serving.key(), "{}").expect("an answer");
    assert_eq!(list["problems"], json!([]));
    let shown: Value = serde_json::from_str(&agents(&["show", "helper", "--json"]).ok()).expect("json");
    assert_eq!(shown["definition"]["sideA"], json!({ "prompt": "helper" }));
    assert!(agents(&["list", "--kind", "tools"]).ok().contains("count_words"));
}

#[test]
fn another_folder_of_definitions_is_named_by_a_flag() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(other.path().join("skills")).expect("a folder");
    std::fs::write(other.path().join("skills/review.md"), "# Review\n").expect("a file");
    let flags = ["--definitions", other.path().to_str().expect("text")];
    let serving = Serving::start_with(folder.path(), &flags);
    let (status, shown) = serving.ask("GET", "/v1/definitions/skills/review", serving.key(), "").expect("an answer");
    assert_eq!((status, &shown["definition"]), (200, &json!({ "text": "# Review\n" })));
}
