//! Tools of MCP servers, by the real binary. The server is one of ours: `threadkeep mcp`.

use serde_json::json;

use crate::support::{eventually, threadkeep};
use crate::tools::Story;

/// The definition of a server on stdio that keeps its threads in `folder`.
fn ours(story: &Story, more: &str) -> String {
    let program = threadkeep().get_program().to_string_lossy().into_owned();
    let folder = story.folder.path().join("other");
    format!("command = [{:?}, \"--data\", {:?}, \"mcp\"]\n{more}", program, folder.to_string_lossy())
}

/// The processes that run on a folder as MCP servers.
fn running(story: &Story) -> Vec<u32> {
    let folder = story.folder.path().join("other").to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    ids.filter(|id| {
        let args = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let args = String::from_utf8_lossy(&args).into_owned();
        args.contains("\0mcp\0") && args.contains(&folder)
    })
    .collect()
}

#[test]
fn a_tool_of_a_program_is_called_by_its_name_and_ends_with_its_definition() {
    let story = Story::new(&[]);
    story.write("mcp/keep.toml", &ours(&story, "needs = []\n"));
    assert_eq!(story.reload()["problems"], json!([]));
    assert_eq!(running(&story), [0; 0], "nothing starts before the first use");
    let made = story.invoke("mcp:keep/create", &json!({ "title": "Made by MCP" }));
    assert_eq!(made["status"], "success", "{made}");
    let listed = story.invoke("mcp:keep/list_threads", &json!({}));
    assert!(listed.to_string().contains("Made by MCP"), "{listed}");
    assert_eq!(running(&story).len(), 1, "one process serves all calls of an account");
    let events = story.get("/history?limit=100").to_string();
    assert!(events.contains("mcp:keep/create"), "{events}");
    let (status, refused) = story.ask(story.serving.key(), "mcp:keep/lst_threads", &json!({}));
    assert_eq!((status, &refused["code"]), (404, &json!("tool_not_found")));
    assert!(refused["detail"].as_str().is_some_and(|said| said.contains("mcp:keep/list_threads")), "{refused}");
    assert!(story.fails("mcp:keep/create", &json!({ "title": 5 })).contains("title"));
    story.write("mcp/keep.toml", &ours(&story, "needs = []\ntimeoutMs = 5000\n"));
    story.reload();
    eventually("the program ends with its definition", || running(&story).is_empty());
    story.gives("mcp:keep/list_threads", &json!({}));
    assert_eq!(running(&story).len(), 1);
    let Story { serving, folder, thread } = story;
    serving.running.signal("TERM");
    let (ended, _) = serving.running.end();
    assert!(ended.success());
    let serving = crate::serve::Serving::start_with(folder.path(), &[]);
    let story = Story { serving, folder, thread };
    eventually("the program ends with the server", || running(&story).is_empty());
}

#[test]
fn an_agent_needs_the_use_of_a_tool_unless_the_server_declares_its_needs() {
    let story = Story::new(&[]);
    story.write("mcp/keep.toml", &ours(&story, "tools = [\"list_threads\"]\n"));
    story.write("mcp/free.toml", &ours(&story, "needs = []\n"));
    story.reload();
    let agent = story.agent();
    let (status, told) = story.ask(&agent, "mcp:keep/list_threads", &json!({}));
    assert_eq!((status, &told["code"]), (403, &json!("approval_required")), "{told}");
    assert!(told.to_string().contains("list_threads"), "{told}");
    assert_eq!(story.ask(&agent, "mcp:free/list_threads", &json!({})).0, 200);
    let (status, told) = story.ask(story.serving.key(), "mcp:keep/create", &json!({}));
    assert_eq!((status, &told["code"]), (404, &json!("tool_not_found")), "it is not among `tools`: {told}");
    let queued = story.serving.ok("POST", &story.path("/tools/mcp:keep%2Flist_threads/queue"), &json!({}));
    assert_eq!(queued["tool"], "mcp:keep/list_threads");
}

#[test]
fn a_server_that_cannot_be_used_is_told_with_its_file() {
    let story = Story::new(&[
        ("mcp/gone.toml", "command = [\"/no/such/program\"]\n"),
        ("mcp/mute.toml", "command = [\"true\"]\n"),
        ("mcp/far.toml", "url = \"http://169.254.169.254.nip.example/mcp\"\n"),
    ]);
    for (name, why) in [("gone", "No such file"), ("mute", "cannot be used"), ("far", "cannot be used")] {
        let (status, told) = story.ask(story.serving.key(), &format!("mcp:{name}/x"), &json!({}));
        assert_eq!((status, &told["code"]), (409, &json!("definition_invalid")), "{told}");
        let detail = told["detail"].as_str().expect("a detail");
        assert!(detail.contains(&format!("mcp/{name}.toml:1:1")) && detail.contains(why), "{detail}");
    }
    let (status, told) = story.ask(story.serving.key(), "mcp:nobody/x", &json!({}));
    assert_eq!((status, &told["code"]), (404, &json!("tool_not_found")));
}

#[test]
fn what_a_program_writes_to_stderr_is_logged_without_secrets() {
    let script = "echo \"token $TOKEN\" >&2; exec cat > /dev/null";
    let story = Story::new(&[(
        "mcp/loud.toml",
        &format!("command = [\"sh\", \"-c\", {script:?}]\n[env]\nTOKEN = \"${{env:LOUD_TOKEN}}\"\n"),
    )]);
    let set = json!({ "value": "a-very-long-canary", "type": "secret" });
    story.serving.ok("PUT", &story.path("/env/LOUD_TOKEN"), &set);
    // It never answers; the client goes away, and the line is in the log.
    let path = story.path("/tools/mcp:loud%2Fx/invoke");
    let socket = story.serving.connect();
    std::io::Write::write_all(&mut &socket, story.serving.head("POST", &path, story.serving.key(), 2).as_bytes())
        .expect("it is sent");
    std::io::Write::write_all(&mut &socket, b"{}").expect("it is sent");
    let line = std::iter::from_fn(|| story.serving.running.next_error()).find(|line| line.contains("token"));
    let line = line.expect("a line of the log");
    assert!(line.contains("[secret]") && !line.contains("a-very-long-canary"), "{line}");
}
