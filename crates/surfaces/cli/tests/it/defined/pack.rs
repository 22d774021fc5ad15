//! `agents pack`: definitions as a package that loads elsewhere.

use serde_json::json;
use tempfile::TempDir;

use crate::support::{Ran, run, threadkeep};
use crate::tools::{Story, tool};

fn write(folder: &TempDir, path: &str, text: &str) {
    let path = folder.path().join("definitions").join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn agents(folder: &TempDir, args: &[&str]) -> Ran {
    let mut command = threadkeep();
    command.current_dir(folder.path()).arg("--data").arg(folder.path()).arg("agents").args(args);
    run(command, b"")
}

/// A folder with a first agent.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    agents(&folder, &["new", "helper"]).ok();
    folder
}

#[test]
fn a_packed_folder_loads_again_as_a_package() {
    let folder = folder();
    write(&folder, "tools/shared.js", &tool("", "return 'shared';"));
    write(
        &folder,
        "tools/twice.ts",
        "import shared from './shared';\nimport { defineTool } from 'threadkeep';\nexport default defineTool({ description: 'x', execute: async (state) => (await state.invokeTool('shared')).result + shared.description });\n",
    );
    write(&folder, "packages/other/skills/x.md", "# not packed\n");
    let other = Story::new(&[]);
    let to = other.folder.path().join("definitions/packages/kit");
    let told = agents(&folder, &["pack", "kit", "--to", to.to_str().expect("text")]).ok();
    let mut files: Vec<_> = told.lines().map(|line| line.rsplit("packages/kit/").next().unwrap_or_default()).collect();
    files.sort_unstable();
    let expected = [
        "agents/helper.toml",
        "models/default.toml",
        "prompts/helper.toml",
        "tools/count_words.ts",
        "tools/shared.js",
        "tools/twice.ts",
    ];
    assert_eq!(files, expected);
    let list = other.reload();
    assert_eq!(list["problems"], json!([]));
    let names: Vec<_> = list["items"].as_array().expect("items").iter().map(|item| item["name"].clone()).collect();
    assert!(names.contains(&json!("kit/helper")) && names.contains(&json!("kit/count_words")), "{names:?}");
    assert_eq!(other.gives("kit/count_words", &json!({ "text": "three short words" })), 3);
    agents(&folder, &["pack", "kit", "--to", to.to_str().expect("text")]).refused(6, &["exists already"]);
    agents(&folder, &["pack", "My Kit"]).refused(2, &["small letters"]);
}

#[test]
fn code_that_needs_its_program_is_not_packed_and_each_place_is_told() {
    let folder = folder();
    let uses = "import { defineTool } from 'threadkeep';\n// _notPackableRuntimeContext in a comment is none\nexport default defineTool({ description: 'no _notPackableRuntimeContext here', execute: async (state) => {\n  const { _notPackableRuntimeContext: own } = state;\n  return state[\"_notPackableRuntimeContext\"] ?? state?._notPackableRuntimeContext?.env as unknown;\n} });\n";
    write(&folder, "tools/query.ts", uses);
    let refused = agents(&folder, &["pack", "kit"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for place in [
        "tools/query.ts:4:11: `_notPackable",
        "tools/query.ts:5:16: `_notPackable",
        "tools/query.ts:5:56: `_notPackable",
        "3 mistakes",
    ] {
        assert!(refused.stderr.contains(place), "{place} in {}", refused.stderr);
    }
    assert!(!folder.path().join("kit").exists());
}

#[test]
fn a_package_has_no_mistakes_and_names_nothing_outside() {
    let folder = folder();
    write(&folder, "packages/other/tools/x.js", &tool("", "return 1;"));
    write(&folder, "prompts/helper.toml", "prompt = \"x\"\nmodel = \"default\"\ntools = [\"other/x\"]\n");
    agents(&folder, &["check"]).ok();
    let refused = agents(&folder, &["pack", "kit"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("prompts/helper.toml:3:"), "{refused:?}");
    write(&folder, "prompts/helper.toml", "prompt = \"x\"\nmodel = \"defualt\"\n");
    let refused = agents(&folder, &["pack", "kit"]);
    assert!(refused.stderr.contains("did you mean 'default'"), "{refused:?}");
}

#[test]
fn code_of_a_package_finds_the_tools_and_effects_of_its_package_first() {
    let story = Story::new(&[
        ("tools/sum.ts", &tool("", "return 'root';")),
        ("tools/outer.ts", &tool("", "return (await state.invokeTool('kit/both')).result;")),
        ("packages/kit/tools/sum.ts", &tool("", "return 'kit';")),
        (
            "packages/kit/tools/both.ts",
            &tool("", "return [(await state.invokeTool('sum')).result, (await state.invokeTool('only_root')).result];"),
        ),
        ("tools/only_root.ts", &tool("", "return (await state.invokeTool('sum')).result;")),
    ]);
    assert_eq!(story.gives("kit/both", &json!({})), json!(["kit", "root"]));
    assert_eq!(story.gives("outer", &json!({})), json!(["kit", "root"]), "a tool looks where its own file is");
}
