//! The state that a tool is given: its thread, by the calls that exist, with the caller's authority.

use serde_json::{Value, json};

use super::{Story, tool};

#[test]
fn a_tool_reads_and_writes_its_thread() {
    let body = r#"
        const said = await state.injectMessage({ role: "assistant", content: "hello", metadata: { a: 1 } });
        await state.updateMessage(said.id, { content: "hello!" });
        const { messages, total, hasMore } = await state.getMessages();
        await state.setValue("plan", { steps: [1, 2] });
        const file = await state.writeFile("notes/a.txt", "content", "text/plain", { metadata: { by: "tool" } });
        const bytes = new Uint8Array(await state.readFile("/notes/a.txt"));
        const chunks = [];
        for await (const chunk of await state.readFileStream("/notes/a.txt", { chunkSize: 4 })) chunks.push([chunk.data.length, chunk.isLast]);
        await state.mkdirFile("/empty");
        state.emit("progress", { step: 1 });
        state.context.seen = true;
        return { status: "success", result: {
            id: state.threadId, created: Number.isInteger(state.createdAt), agent: state.agentId, user: state.userId,
            children: state.children, terminated: state.terminated, execution: state.execution,
            shown: messages.map(({ role, content, metadata, status, tool_calls }) => ({ role, content, metadata, status, tool_calls })),
            total, hasMore, none: await state.getMessage("M-00000000000000011"),
            value: await state.getValue("plan"), missing: await state.getValue("none"),
            file: [file.path, file.size, file.mimeType, file.isDirectory, Number.isInteger(file.createdAt)],
            text: String.fromCharCode(...bytes), chunks,
            listed: (await state.readdirFile("/")).entries.map((entry) => entry.path),
            found: (await state.findFiles("**/*.txt")).paths,
            matches: (await state.grepFiles("cont.nt")).map((found) => found.path),
            stats: await state.getFileStats(), unread: await state.readFile("/none"),
            agents: state.getAgentNames(), prompt: (await state.loadPrompt("helper")).prompt,
            deleted: await state.deleteMessage(said.id),
        } };"#;
    let story = Story::new(&[
        ("tools/all.ts", &tool("", body)),
        ("models/small.toml", "provider = \"openai\"\nmodel = \"x\"\n"),
        ("prompts/helper.toml", "prompt = \"Help.\"\nmodel = \"small\"\n"),
        ("agents/helper.toml", "[sideA]\nprompt = \"helper\"\n"),
    ]);
    let told = story.gives("all", &json!({}));
    let expected = json!({
        "id": story.thread, "created": true, "agent": "", "user": null, "children": [], "terminated": null,
        "execution": null,
        "shown": [{ "role": "assistant", "content": "hello!", "metadata": { "a": 1 }, "status": "completed", "tool_calls": null }],
        "total": 1, "hasMore": false, "none": null, "value": { "steps": [1, 2] }, "missing": null,
        "file": ["/notes/a.txt", 7, "text/plain", false, true], "text": "content", "chunks": [[4, false], [3, true]],
        "listed": ["/empty", "/notes"], "found": ["/notes/a.txt"], "matches": ["/notes/a.txt"],
        "stats": told["stats"], "unread": null, "agents": ["helper"], "prompt": "Help.", "deleted": true,
    });
    assert_eq!(told, expected, "{told:#}");
    assert_eq!(story.get("/kv/plan")["value"], json!({ "steps": [1, 2] }));
}

#[test]
fn what_a_tool_queues_is_committed_with_its_result_or_not_at_all() {
    let queues = "await state.queueMessage({ role: 'user', content: 'later' }); state.queueTool('none_such' === args.tool ? args.tool : 'quiet');";
    let story = Story::new(&[
        ("tools/quiet.js", &tool("", "return 1;")),
        ("tools/good.js", &tool("args: z.object({}),", &format!("{queues} return 'done';"))),
        ("tools/bad.js", &tool("args: z.object({}),", &format!("{queues} throw new Error('no');"))),
        ("tools/odd.js", &tool("args: z.object({ tool: z.string() }),", &format!("{queues} return 'done';"))),
        (
            "tools/many.js",
            &tool("", "for (let i = 0; i < 9; i += 1) await state.queueMessage({ content: String(i) });"),
        ),
        (
            "tools/outer.js",
            &tool("", "return (await state.invokeTool('good')).result + (await state.invokeTool('bad')).status;"),
        ),
    ]);
    // An executor of its own takes what is queued.
    story.serving.ok("POST", &story.path("/assign"), &json!({ "agentId": "elsewhere" }));
    let queued = || {
        let (messages, tools) = (story.get("/queue"), story.get("/tools/queue"));
        (messages["items"].as_array().map_or(0, Vec::len), tools["items"].as_array().map_or(0, Vec::len))
    };
    assert!(story.fails("bad", &json!({})).starts_with("no (tools/bad.js:"));
    assert_eq!(queued(), (0, 0), "a tool that fails queues nothing");
    assert!(story.fails("odd", &json!({ "tool": "none_such" })).contains("there is no tool 'none_such'"));
    assert_eq!(queued(), (0, 0));
    assert!(story.fails("many", &json!({})).contains("the queue is full"));
    assert_eq!(queued(), (0, 0), "bounds count what is held back");
    assert_eq!(story.gives("good", &json!({})), "done");
    assert_eq!(queued(), (1, 1));
    assert_eq!(story.gives("outer", &json!({})), "doneerror");
    assert_eq!(queued(), (2, 2), "what an inner tool queued comes with the outer result");
    assert_eq!(story.get("/tools/queue")["items"][0]["tool"], "quiet");
    story.serving.ok("POST", &story.path("/terminate"), &json!({}));
    assert_eq!(queued(), (0, 0));
}

#[test]
fn a_tool_sees_the_variables_that_it_declares_and_no_others() {
    let variables = "args: z.object({ name: z.string() }), variables: [{ name: 'CITY', type: 'text' }, { name: 'MISSING' }, { name: 'FROM_AGENT' }, { name: 'FROM_PROMPT' }],";
    let story = Story::new(&[
        ("tools/read.js", &tool(variables, "return await state.env(args.name);")),
        ("models/small.toml", "provider = \"openai\"\nmodel = \"x\"\n"),
        (
            "prompts/helper.toml",
            "prompt = \"Help.\"\nmodel = \"small\"\n[env]\nFROM_PROMPT = \"p\"\nFROM_AGENT = \"hidden\"\n",
        ),
        ("agents/helper.toml", "[sideA]\nprompt = \"helper\"\n[env]\nFROM_AGENT = \"a\"\n"),
    ]);
    for name in ["CITY", "HIDDEN"] {
        let set = json!({ "value": "Rome", "type": "text" });
        story.serving.ok("PUT", &story.path(&format!("/env/{name}")), &set);
    }
    assert_eq!(story.gives("read", &json!({ "name": "CITY" })), "Rome");
    assert!(story.fails("read", &json!({ "name": "HIDDEN" })).contains("not among the variables"));
    assert!(story.fails("read", &json!({ "name": "MISSING" })).contains("MISSING"));
    assert!(story.fails("read", &json!({ "name": "FROM_AGENT" })).contains("FROM_AGENT"), "no agent works here");
    story.serving.ok("POST", &story.path("/assign"), &json!({ "agentId": "helper" }));
    assert_eq!(story.gives("read", &json!({ "name": "FROM_AGENT" })), "a", "the agent comes before the prompt");
    assert_eq!(story.gives("read", &json!({ "name": "FROM_PROMPT" })), "p");
}

#[test]
fn a_scoped_variable_is_not_taken_from_the_parent() {
    let tool = tool(
        "variables: [{ name: 'OWN' }, { name: 'SHARED' }],",
        "return [await state.env('SHARED'), await state.env('OWN').catch(() => null)];",
    );
    let prompt = "prompt = \"Help.\"\nmodel = \"small\"\n[[variables]]\nname = \"OWN\"\nscoped = true\n";
    let story = Story::new(&[
        ("tools/read.js", &tool),
        ("models/small.toml", "provider = \"openai\"\nmodel = \"x\"\n"),
        ("prompts/worker.toml", prompt),
        ("agents/worker.toml", "[sideA]\nprompt = \"worker\"\n"),
    ]);
    for name in ["OWN", "SHARED"] {
        story.serving.ok("PUT", &story.path(&format!("/env/{name}")), &json!({ "value": name, "type": "text" }));
    }
    let child = story.serving.ok("POST", &story.path("/children"), &json!({ "name": "w", "agentId": "worker" }));
    let child = Story { thread: child["id"].as_str().expect("an id").to_owned(), ..story };
    assert_eq!(child.gives("read", &json!({})), json!(["SHARED", null]));
    child.serving.ok("PUT", &child.path("/env/OWN"), &json!({ "value": "mine", "type": "text" }));
    assert_eq!(child.gives("read", &json!({})), json!(["SHARED", "mine"]));
}

#[test]
fn a_large_result_and_attachments_become_files() {
    let story = Story::new(&[
        ("tools/large.js", &tool("", "return 'x'.repeat(300 * 1024);")),
        (
            "tools/picture.js",
            &tool(
                "",
                "return { status: 'success', result: 'ok', attachments: [{ name: 'a.bin', mimeType: 'image/png', data: new Uint8Array([1, 2, 3]) }] };",
            ),
        ),
    ]);
    let told = story.invoke("large", &json!({}));
    assert_eq!(told["result"], json!({ "file": "result.txt", "bytes": 300 * 1024 }));
    let path = told["attachments"][0]["path"].as_str().expect("a path");
    assert_eq!(story.get(&format!("/files{path}?stat"))["size"], 300 * 1024);
    let told = story.invoke("picture", &json!({}));
    assert_eq!(told["attachments"][0]["mimeType"], "image/png");
    assert_eq!(told["attachments"][0]["size"], 3);
}

#[test]
fn a_model_remembers_with_what_the_user_said_as_the_source() {
    let story = Story::new(&[]);
    story.serving.ok("POST", &story.path("/messages"), &json!({ "role": "user", "content": "I moved to Oslo." }));
    let made = story.gives("remember", &json!({ "text": "Lives in Oslo." }));
    assert_eq!(made["text"], "Lives in Oslo.");
    let found = story.serving.ok("POST", "/v1/memories/search", &json!({ "query": "Oslo" }));
    let memory = &found["results"][0]["memory"];
    assert_eq!((&memory["id"], memory["sources"].as_array().map(Vec::len)), (&made["id"], Some(1)));
    assert!(story.fails("remember", &json!({ "text": "x", "scope": "project" })).contains("no project"));
    assert!(story.fails("remember", &json!({})).contains("text"));
}

#[test]
fn a_skill_gates_a_tool_and_the_calls_are_tools() {
    let story = Story::new(&[
        ("skills/pdf.md", "# How to read PDFs\n"),
        ("tools/pages.js", &tool("skill: 'pdf',", "return 3;")),
    ]);
    assert!(story.fails("pages", &json!({})).contains("the skill 'pdf'"));
    assert_eq!(story.gives("skill", &json!({ "name": "pdf" })), "# How to read PDFs\n");
    assert_eq!(story.gives("pages", &json!({})), 3);
    assert!(story.fails("skill", &json!({ "name": "pd" })).contains("did you mean 'pdf'"));
    let other = story.serving.thread();
    story.serving.ok(
        "POST",
        &format!("/v1/threads/{other}/messages"),
        &json!({ "role": "user", "content": "over there" }),
    );
    let read = story.gives("threadkeep/messages", &json!({ "thread": other }));
    assert_eq!(read["items"][0]["content"], "over there");
    let related = story.get("/relationships");
    assert_eq!(
        related["items"][0]["threadId"].as_str().or(related["items"][0]["target"].as_str()),
        Some(other.as_str()),
        "{related}"
    );
    assert_eq!(story.gives("threadkeep/append", &json!({ "role": "user", "content": "x" }))["content"], "x");
    let (status, _) = story.ask(story.serving.key(), "threadkeep/env", &json!({}));
    assert_eq!(status, 404, "variables are no tools");
}

#[test]
fn a_tool_runs_code_and_ends_at_its_limits() {
    let deep = tool(
        "args: z.object({ n: z.number() }),",
        "const told = await state.invokeTool('deep', { n: args.n + 1 }); return told.error ?? told.result;",
    );
    let story = Story::new(&[
        (
            "tools/code.js",
            &tool(
                "",
                "const run = await state.runCode('export default () => 6 * 7'); return [run.status, run.result];",
            ),
        ),
        ("tools/slow.js", &tool("timeoutMs: 200,", "while (true) {}")),
        ("tools/deep.js", &deep),
        (
            "tools/typed.ts",
            &tool(
                "args: z.object({ n: z.number().int().min(1).default(5), s: z.enum(['a', 'b']).optional() }),",
                "return args;",
            ),
        ),
    ]);
    assert_eq!(story.gives("code", &json!({})), json!(["success", 42]));
    assert!(story.fails("slow", &json!({})).contains("200 ms"));
    let told = story.gives("deep", &json!({ "n": 0 }));
    assert!(told.as_str().is_some_and(|said| said.contains("8 levels")), "{told}");
    assert_eq!(story.gives("typed", &json!({})), json!({ "n": 5 }));
    assert_eq!(story.fails("typed", &json!({ "n": 1.5 })), "the arguments are wrong: args.n: is number, not integer");
    assert_eq!(story.fails("typed", &json!({ "s": "c" })), "the arguments are wrong: args.s: is none of \"a\", \"b\"");
    assert_eq!(story.get("/messages")["items"], Value::Array(Vec::new()));
}
