//! Folders without mistakes.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use threadkeep_runtime::definitions::{AgentKind, Definition, Definitions, Kind, Price, Provider, Resumable};

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    folder
}

pub(crate) fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// An agent with all that it needs.
pub(crate) const WHOLE: [(&str, &str); 5] = [
    ("models/small.toml", "provider = \"openai\"\nmodel = \"gpt-small\"\n[prices]\ninput = 0.15\noutput = 2\n"),
    ("prompts/helper.toml", "prompt = \"Help.\"\nmodel = \"small\"\ntools = [\"add\", \"threadkeep/search\"]\n"),
    ("agents/helper.toml", "type = \"ai_human\"\n[sideA]\nprompt = \"helper\"\nstopTool = \"add\"\n"),
    ("tools/add.ts", "export default defineTool({})"),
    ("skills/review.md", "# Review\n"),
];

pub(crate) fn read(folder: &TempDir) -> Definitions {
    Definitions::read(folder.path()).expect("a folder")
}

#[test]
fn a_folder_gives_its_definitions_by_name() {
    let folder = folder(&WHOLE);
    let all = read(&folder);
    assert_eq!(all.problems().collect::<Vec<_>>(), Vec::<&_>::new());
    let (name, agent) = all.agent("helper", None).expect("an agent");
    assert_eq!((name.text().as_str(), agent.kind, agent.side_a.stop_on_response), ("helper", AgentKind::AiHuman, true));
    let (_, prompt) = all.prompt("helper", None).expect("a prompt");
    assert_eq!((prompt.recent_image_threshold, prompt.tools.len()), (10, 2));
    let (_, model) = all.model("small", None).expect("a model");
    assert_eq!(
        (model.provider, model.prices.input, model.prices.output),
        (Provider::OpenAi, Price(150_000), Price(2_000_000))
    );
    let (_, skill) = all.get(Kind::Skill, "review", None).expect("a skill");
    assert_eq!(skill, &Definition::Text("# Review\n".into()));
    let tools: Vec<_> = all.names(Kind::Tool).map(|name| name.text()).collect();
    assert_eq!(tools, ["add"]);
}

#[test]
fn json_says_the_same_as_toml() {
    let json = r#"{"prompt": [{"type": "text", "text": "Hi"}, {"type": "env", "name": "CITY"}], "model": "small",
        "tools": ["add", {"name": "helper", "blocking": false, "resumable": {"receives_messages": "side_b", "maxInstances": 2}}]}"#;
    let folder = folder(&WHOLE);
    write(folder.path(), "prompts/lead.json", json);
    let all = read(&folder);
    let (_, prompt) = all.prompt("lead", None).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(!prompt.tools[1].called.blocking);
    assert!(matches!(prompt.tools[1].called.resumable, Resumable::Yes { instances_max: Some(2), .. }));
}

#[test]
fn a_package_has_names_of_its_own_and_sees_the_root() {
    let folder = folder(&WHOLE);
    write(
        folder.path(),
        "packages/kit/prompts/helper.toml",
        "prompt = \"Kit.\"\nmodel = \"small\"\ntools = [\"add\"]\n",
    );
    write(folder.path(), "packages/kit/agents/worker.toml", "[sideA]\nprompt = \"helper\"\n");
    write(folder.path(), "agents/chief.toml", "[sideA]\nprompt = \"kit/helper\"\n");
    let all = read(&folder);
    assert_eq!(all.problems().count(), 0);
    let (name, _) = all.agent("kit/worker", None).expect("an agent");
    assert_eq!(name.package.as_deref(), Some("kit"));
    let (name, _) = all.prompt("helper", Some("kit")).expect("its own");
    assert_eq!(name.text(), "kit/helper");
    let (name, _) = all.model("small", Some("kit")).expect("that of the root");
    assert_eq!(name.text(), "small");
    all.agent("worker", None).expect_err("the root does not see into packages by bare names");
    all.agent("chief", None).expect("a full name works everywhere");
}

#[test]
fn the_hash_follows_every_file() {
    let folder = folder(&WHOLE);
    let before = read(&folder).hash().to_owned();
    assert_eq!(read(&folder).hash(), before);
    write(folder.path(), "skills/review.md", "# Review well\n");
    let after = read(&folder).hash().to_owned();
    assert_ne!(after, before);
    fs::rename(folder.path().join("skills/review.md"), folder.path().join("skills/reviews.md")).expect("a move");
    assert_ne!(read(&folder).hash(), after);
    assert_eq!(Definitions::read(&folder.path().join("none")).expect("no folder").problems().count(), 0);
}
