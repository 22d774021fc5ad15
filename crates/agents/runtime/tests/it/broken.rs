//! Broken files: each is told with its place, and breaks only what reaches it.

use crate::whole::{WHOLE, folder, read, write};

/// The problems of the whole folder with this file added or replaced.
fn told(path: &str, text: &str) -> Vec<String> {
    let folder = folder(&WHOLE);
    write(folder.path(), path, text);
    read(&folder).problems().map(ToString::to_string).collect()
}

#[test]
fn every_mistake_is_told_with_its_place_and_the_nearest_name() {
    for (path, text, expected) in [
        (
            "agents/a.toml",
            "\n[sideA]\nprompt = \"helpr\"\n",
            "agents/a.toml:3:1: there is no prompt 'helpr'; did you mean 'helper'?",
        ),
        (
            "agents/a.toml",
            "[sideA]\npromt = \"helper\"\n",
            "agents/a.toml:2:1: unknown field 'promt'; did you mean 'prompt'? (known: prompt, label, stopOnResponse, \
             stopTool, stopToolResponseProperty, maxSteps, sessionStop, sessionFail, sessionStatus)",
        ),
        (
            "agents/a.toml",
            "type = \"dual_ai\"\n[sideA]\nprompt = \"helper\"\n",
            "agents/a.toml:1:1: an agent of the type dual_ai needs sideB",
        ),
        (
            "agents/a.toml",
            "type = \"duo\"\n[sideA]\nprompt = \"helper\"\n",
            "agents/a.toml:1:1: 'duo' is not one of ai_human, dual_ai",
        ),
        (
            "agents/a.json",
            "{\n  \"exposeAsTool\": true,\n  \"sideA\": {\"prompt\": \"helper\"}\n}",
            "agents/a.json:2:3: an agent that is exposed as a tool needs toolDescription",
        ),
        (
            "agents/a.toml",
            "[sideA]\nprompt = \"helper\"\nsessionStop = { name = \"ad\" }\n",
            "agents/a.toml:3:17: sessionStop names 'ad', which is no tool of the prompt 'helper'; did you mean 'add'?",
        ),
        (
            "agents/a.toml",
            "name = \"b\"\n[sideA]\nprompt = \"helper\"\n",
            "agents/a.toml:1:1: the file is named 'a', and `name` says 'b'",
        ),
        ("agents/a.toml", "[sideA\n", "agents/a.toml:1:7: unclosed table, expected `]`"),
        ("prompts/p.json", "{\"prompt\": \"x\", \"model\": \"small\",}", "prompts/p.json:1:34: trailing comma"),
        ("prompts/p.toml", "prompt = \"x\"\n", "prompts/p.toml:1:1: the field 'model' is missing"),
        (
            "prompts/p.toml",
            "prompt = \"x\"\nmodel = \"small\"\ntools = [\"add\", \"mcp:files\"]\n",
            "prompts/p.toml:3:17: a tool of an MCP server is written mcp:SERVER/TOOL, not 'mcp:files'",
        ),
        (
            "prompts/p.toml",
            "prompt = \"x\"\nmodel = \"small\"\ntools = [\"add\", \"add\"]\n",
            "prompts/p.toml:3:17: the tool 'add' is listed twice",
        ),
        (
            "prompts/p.toml",
            "model = \"small\"\n[[prompt]]\ntype = \"include\"\nname = \"p\"\n",
            "prompts/p.toml:4:1: the prompt includes itself by 'p'",
        ),
        (
            "models/m.toml",
            "provider = \"openai\"\nmodel = \"x\"\nfallbacks = [\"m\"]\n",
            "models/m.toml:3:14: a model cannot fall back to itself",
        ),
        (
            "models/m.toml",
            "provider = \"openai\"\nmodel = \"x\"\nprices = { input = -1 }\n",
            "models/m.toml:3:12: a price is a number from 0 to 1,000,000,000",
        ),
        (
            "mcp/files.toml",
            "url = \"https://example.com\"\ncommand = [\"x\"]\n",
            "mcp/files.toml:1:1: an MCP server has `command` or `url`, not both",
        ),
        (
            "tools/Add.ts",
            "",
            "tools/Add.ts:1:1: a definition is named by small letters, digits, '_' and '-'; at most 64",
        ),
        ("tools/add.py", "", "tools/add.py:1:1: a file in tools/ ends in .ts, .js, .toml"),
        ("tools/add.js", "", "tools/add.ts:1:1: tools/add.js defines the tool 'add' too"),
        ("tools/deep/add.js", "", "tools/deep:1:1: tools/ has no folders inside it"),
        (
            "packages/My Kit/tools/x.ts",
            "",
            "packages/My Kit/:1:1: a package is named by small letters, digits, '_' and '-'",
        ),
    ] {
        assert_eq!(told(path, text), [expected], "{path}\n{text}");
    }
}

#[test]
fn a_broken_file_breaks_only_what_reaches_it() {
    let folder = folder(&WHOLE);
    write(folder.path(), "models/odd.toml", "provider = \"openai\"\n");
    write(folder.path(), "prompts/odd.toml", "prompt = \"x\"\nmodel = \"odd\"\n");
    write(folder.path(), "agents/odd.toml", "[sideA]\nprompt = \"odd\"\n");
    write(folder.path(), "prompts/lead.toml", "prompt = \"x\"\nmodel = \"small\"\ntools = [\"odd\"]\n");
    let all = read(&folder);
    let refused = all.agent("odd", None).expect_err("its model is broken");
    assert_eq!(
        refused.to_string(),
        "the agent 'odd' cannot be used: models/odd.toml:1:1: the field 'model' is missing"
    );
    all.prompt("lead", None).expect_err("it calls the broken prompt");
    all.agent("helper", None).expect("all others work");
    let refused = all.agent("helpe", None).expect_err("there is none");
    assert_eq!(refused.to_string(), "there is no agent 'helpe'; did you mean 'helper'?");
}

#[test]
fn what_is_no_text_too_large_or_a_link_is_refused() {
    let folder = folder(&WHOLE);
    std::fs::write(folder.path().join("skills/odd.md"), [0xff, 0xfe]).expect("a file");
    std::fs::write(folder.path().join("skills/huge.md"), vec![b'x'; (1 << 20) + 1]).expect("a file");
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("skills/link.md")).expect("a link");
    let told: Vec<_> = read(&folder).problems().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "skills/huge.md:1:1: a file has at most 1048576 bytes",
            "skills/link.md:1:1: a link is not followed: put the file itself here",
            "skills/odd.md:1:1: the file is no text in UTF-8",
        ]
    );
}
