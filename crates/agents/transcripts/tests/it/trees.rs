//! Random conversations, written in every format and read back: the same messages, on the same branches.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use threadkeep_transcripts::formats::{Format, export};
use threadkeep_transcripts::shape::{Message, Session};
use threadkeep_transcripts::sources::{
    amp, claude_code, cline, codex, gemini_cli, goose, langgraph, opencode, pi, zed,
};
use threadkeep_transcripts::{Reading, Resume, Window};

use crate::seeds::Chance;
use crate::show::show_part;

const TREES: u64 = 200;

#[derive(Debug)]
struct Node {
    parent: Option<usize>,
    role: &'static str,
    text: String,
    calls: Vec<String>,
    results: Vec<String>,
}

/// What a format can hold.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Any tree; each result is a message.
    Tree,
    /// Any tree of text.
    TextTree,
    /// Turns of text, and rewinds to the beginning of a turn.
    Rewinds,
    /// One branch; the results of a reply are one message.
    Line,
}

enum Event {
    Said(usize),
    /// The last turns are dropped, of which this is the first message.
    Rewound {
        turns: usize,
        first: usize,
    },
}

#[derive(Default)]
struct Story {
    nodes: Vec<Node>,
    events: Vec<Event>,
    last: Option<usize>,
}

impl Story {
    fn new(seed: u64, kind: Kind) -> Self {
        let mut chance = Chance::new(seed);
        let mut story = Self::default();
        let mut turns: Vec<usize> = Vec::new();
        for _ in 0..=chance.below(20) {
            match kind {
                Kind::Tree | Kind::TextTree if chance.below(4) == 0 => {
                    let closed: Vec<usize> = (0..story.nodes.len()).filter(|at| story.is_closed(*at)).collect();
                    story.last = closed.get(chance.below(closed.len() + 1)).copied();
                }
                Kind::Rewinds if chance.below(4) == 0 && !turns.is_empty() => {
                    let dropped = 1 + chance.below(turns.len());
                    let first = turns[turns.len() - dropped];
                    turns.truncate(turns.len() - dropped);
                    story.last = story.nodes[first].parent;
                    story.events.push(Event::Rewound { turns: dropped, first });
                }
                Kind::Tree | Kind::TextTree | Kind::Rewinds | Kind::Line => {}
            }
            turns.push(story.say("user", Vec::new(), Vec::new()));
            let calls = if [Kind::Tree, Kind::Line].contains(&kind) { chance.below(4) } else { 0 };
            let calls: Vec<String> = (0..calls).map(|at| format!("c{}-{at}", story.nodes.len())).collect();
            story.say("assistant", calls.clone(), Vec::new());
            if kind == Kind::Line && !calls.is_empty() {
                story.say("tool", Vec::new(), calls.clone());
            } else {
                for call in &calls {
                    story.say("tool", Vec::new(), vec![call.clone()]);
                }
            }
            if !calls.is_empty() {
                story.say("assistant", Vec::new(), Vec::new());
            }
        }
        story
    }

    fn is_closed(&self, at: usize) -> bool {
        self.nodes[at].role == "assistant" && self.nodes[at].calls.is_empty()
    }

    fn say(&mut self, role: &'static str, calls: Vec<String>, results: Vec<String>) -> usize {
        let at = self.nodes.len();
        // Characters that formats have to escape.
        let text = if role == "tool" { String::new() } else { format!("t{at} \"ü\"\\\n😀</x>") };
        self.nodes.push(Node { parent: self.last, role, text, calls, results });
        self.last = Some(at);
        self.events.push(Event::Said(at));
        at
    }

    fn signature(&self, at: usize) -> String {
        let node = &self.nodes[at];
        let text = (!node.text.is_empty()).then(|| format!("{:?}", node.text));
        let calls = node.calls.iter().map(|call| format!("calls f {call} {{}}"));
        let results = node.results.iter().map(|call| format!("answers {call} [\"r {call}\"]"));
        let parts: Vec<String> = text.into_iter().chain(calls).chain(results).collect();
        format!("{}: {}", node.role, parts.join(" | "))
    }

    #[track_caller]
    fn check(&self, seed: u64, session: &Session) {
        let shown = |message: &Message| {
            let parts: Vec<String> = message.parts.iter().map(show_part).collect();
            format!("{}: {}", message.role.as_str(), parts.join(" | "))
        };
        let by_id: BTreeMap<&str, &Message> = session.messages.iter().map(|it| (it.id.as_str(), it)).collect();
        let name = |id: &Option<String>| id.as_ref().map(|id| shown(by_id[id.as_str()]));
        let found: BTreeMap<String, Option<String>> =
            session.messages.iter().map(|message| (shown(message), name(&message.parent))).collect();
        let nodes = 0..self.nodes.len();
        let expected: BTreeMap<String, Option<String>> =
            nodes.map(|at| (self.signature(at), self.nodes[at].parent.map(|at| self.signature(at)))).collect();
        assert_eq!(found, expected, "seed {seed}");
        assert_eq!(session.messages.len(), expected.len(), "seed {seed}: each message is there once");
        assert_eq!(name(&session.active), self.last.map(|at| self.signature(at)), "seed {seed}: the active message");
    }

    /// Content in the style of Anthropic's API, with the names of a dialect.
    fn blocks(&self, at: usize) -> Vec<Value> {
        let node = &self.nodes[at];
        let text = (!node.text.is_empty()).then(|| json!({ "type": "text", "text": node.text }));
        let calls = node.calls.iter().map(|call| json!({ "type": "tool_use", "id": call, "name": "f", "input": {} }));
        let results = node
            .results
            .iter()
            .map(|call| json!({ "type": "tool_result", "tool_use_id": call, "content": format!("r {call}") }));
        text.into_iter().chain(calls).chain(results).collect()
    }

    /// The role where results are from the user.
    fn spoken(&self, at: usize) -> &'static str {
        if self.nodes[at].role == "assistant" { "assistant" } else { "user" }
    }
}

fn each(kind: Kind, write: impl Fn(&Story) -> Reading) {
    for seed in 0..TREES {
        let story = Story::new(seed, kind);
        let reading = write(&story);
        assert_eq!((reading.sessions.len(), reading.skipped.count), (1, 0), "seed {seed}");
        story.check(seed, &reading.sessions[0]);
    }
}

fn text_of(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn lines(lines: &[Value], read: impl Fn(&Window<'_>, &Resume) -> Reading) -> Reading {
    read(&Window::whole("x.jsonl", text_of(lines).as_bytes()), &Resume::default())
}

fn object(value: &Value, read: impl Fn(&Window<'_>) -> Result<Reading, threadkeep_transcripts::Refused>) -> Reading {
    read(&Window::whole("x.json", value.to_string().as_bytes())).expect("it reads what is written")
}

#[test]
fn claude_code_keeps_the_tree() {
    each(Kind::Tree, |story| {
        let mut all = Vec::new();
        // The last line of each message, and the line of each call.
        let mut ends: Vec<String> = Vec::new();
        let mut called: BTreeMap<&str, String> = BTreeMap::new();
        for (at, node) in story.nodes.iter().enumerate() {
            let mut parent = node.parent.map(|parent| ends[parent].clone());
            if let Some(call) = node.results.first() {
                parent = Some(called[call.as_str()].clone());
            }
            let blocks = story.blocks(at);
            let (role, mut end) = (story.spoken(at), String::new());
            let groups: Vec<Vec<Value>> =
                if role == "assistant" { blocks.into_iter().map(|it| vec![it]).collect() } else { vec![blocks] };
            for (count, group) in groups.into_iter().enumerate() {
                end = format!("{at}-{count}");
                if let Some(id) = group[0]["id"].as_str() {
                    let call = node.calls.iter().find(|call| *call == id).expect("a call of the node");
                    called.insert(call, end.clone());
                }
                all.push(json!({ "type": role, "uuid": end, "parentUuid": parent, "sessionId": "S", "message": { "id": format!("m{at}"), "role": role, "content": group } }));
                parent = Some(end.clone());
            }
            ends.push(end);
        }
        lines(&all, |window, from| claude_code::read(window, None, from))
    });
}

/// A random tree as a file of pi, and the check that a session is that tree.
pub fn tree_of_pi(seed: u64) -> (String, impl Fn(&Session)) {
    let story = Story::new(seed, Kind::Tree);
    (text_of(&pi_lines(&story)), move |session: &Session| story.check(seed, session))
}

fn in_pi(story: &Story) -> Reading {
    lines(&pi_lines(story), pi::read)
}

fn pi_lines(story: &Story) -> Vec<Value> {
    let mut all = vec![json!({ "type": "session", "version": 3, "id": "S", "cwd": "/" })];
    for (at, node) in story.nodes.iter().enumerate() {
        let message = match node.results.first() {
            Some(call) => {
                json!({ "role": "toolResult", "toolCallId": call, "content": [{ "type": "text", "text": format!("r {call}") }] })
            }
            None => {
                let mut content = story.blocks(at);
                for block in content.iter_mut().filter(|block| block["type"] == "tool_use") {
                    *block = json!({ "type": "toolCall", "id": block["id"], "name": "f", "arguments": {} });
                }
                json!({ "role": node.role, "content": content })
            }
        };
        all.push(json!({ "type": "message", "id": at.to_string(), "parentId": node.parent.map(|at| at.to_string()), "message": message }));
    }
    all
}

#[test]
fn pi_keeps_the_tree() {
    each(Kind::Tree, in_pi);
}

#[test]
fn an_export_for_claude_code_reads_as_the_same_tree() {
    each(Kind::Tree, |story| {
        let exported = export(&in_pi(story).sessions[0], Format::ClaudeCode);
        assert_eq!(exported.lost, Vec::<String>::new());
        claude_code::read(&Window::whole("x.jsonl", exported.text.as_bytes()), None, &Resume::default())
    });
}

#[test]
fn chatgpt_keeps_the_tree() {
    each(Kind::TextTree, |story| {
        let mut mapping = serde_json::Map::new();
        mapping.insert("root".to_owned(), json!({ "parent": null, "message": null }));
        // Nodes in any order: the parents say which comes first.
        for (at, node) in story.nodes.iter().enumerate().rev() {
            let parent = node.parent.map_or("root".to_owned(), |at| at.to_string());
            mapping.insert(at.to_string(), json!({ "id": at.to_string(), "parent": parent, "message": { "author": { "role": node.role }, "content": { "content_type": "text", "parts": [node.text] }, "recipient": "all" } }));
        }
        let last = story.last.expect("a message").to_string();
        let text = json!([{ "id": "C", "mapping": mapping, "current_node": last }]).to_string();
        crate::chatgpt::all(text.as_bytes()).expect("conversations")
    });
}

#[test]
fn langgraph_keeps_the_tree() {
    each(Kind::Tree, |story| {
        let listed = langgraph::Listed { thread: "T".to_owned(), namespace: String::new() };
        let message = |at: usize| {
            let node = &story.nodes[at];
            let kind = match node.role {
                "user" => "human",
                "assistant" => "ai",
                _ => "tool",
            };
            let calls: Vec<Value> =
                node.calls.iter().map(|call| json!({ "id": call, "name": "f", "args": {} })).collect();
            let text = node.results.first().map_or(node.text.clone(), |call| format!("r {call}"));
            json!({ "~class": "langchain_core.messages.X", "type": kind, "id": at.to_string(), "content": text, "tool_calls": calls, "tool_call_id": node.results.first() })
        };
        let rows = (0..story.nodes.len()).map(|last| {
            let mut path: Vec<Value> = Vec::new();
            let mut at = Some(last);
            while let Some(this) = at {
                path.push(message(this));
                at = story.nodes[this].parent;
            }
            path.reverse();
            let bytes = crate::langgraph::pack(&json!({ "channel_values": { "messages": path } }));
            let value = langgraph::Stored { kind: "msgpack".to_owned(), bytes };
            langgraph::Checkpoint { id: format!("{last:06}"), value, ..langgraph::Checkpoint::default() }
        });
        langgraph::read_rows(&listed, rows)
    });
}

#[test]
fn codex_keeps_rollbacks_as_branches() {
    each(Kind::Rewinds, |story| {
        let mut all = vec![json!({ "type": "session_meta", "payload": { "id": "T" } })];
        for event in &story.events {
            all.push(match event {
                Event::Said(at) => {
                    let node = &story.nodes[*at];
                    json!({ "type": "response_item", "payload": { "type": "message", "role": node.role, "content": [{ "type": "input_text", "text": node.text }] } })
                }
                Event::Rewound { turns, .. } => {
                    json!({ "type": "event_msg", "payload": { "type": "thread_rolled_back", "num_turns": turns } })
                }
            });
        }
        lines(&all, codex::read)
    });
}

#[test]
fn gemini_cli_keeps_rewinds_as_branches() {
    each(Kind::Rewinds, |story| {
        let mut all = vec![json!({ "sessionId": "S" })];
        for event in &story.events {
            all.push(match event {
                Event::Said(at) => {
                    let node = &story.nodes[*at];
                    let kind = if node.role == "user" { "user" } else { "gemini" };
                    json!({ "id": at.to_string(), "type": kind, "content": node.text })
                }
                Event::Rewound { first, .. } => json!({ "$rewindTo": first.to_string() }),
            });
        }
        lines(&all, gemini_cli::read)
    });
}

#[test]
fn cline_amp_and_goose_keep_the_order() {
    each(Kind::Line, |story| {
        let all = (0..story.nodes.len()).map(|at| json!({ "role": story.spoken(at), "content": story.blocks(at) }));
        object(&Value::Array(all.collect()), cline::read_object)
    });
    each(Kind::Line, |story| {
        let all = (0..story.nodes.len()).map(|at| {
            let mut content = story.blocks(at);
            for block in content.iter_mut().filter(|block| block["type"] == "tool_result") {
                *block = json!({ "type": "tool_result", "toolUseID": block["tool_use_id"], "run": { "status": "done", "result": block["content"] } });
            }
            json!({ "role": story.spoken(at), "messageId": at, "content": content })
        });
        object(&json!({ "id": "T-1", "created": 1, "messages": all.collect::<Vec<_>>() }), amp::read_object)
    });
    each(Kind::Line, |story| {
        let all = (0..story.nodes.len()).map(|at| {
            let mut content = story.blocks(at);
            for block in &mut content {
                if block["type"] == "tool_use" {
                    *block = json!({ "type": "toolRequest", "id": block["id"], "toolCall": { "status": "success", "value": { "name": "f", "arguments": {} } } });
                } else if block["type"] == "tool_result" {
                    *block = json!({ "type": "toolResponse", "id": block["tool_use_id"], "toolResult": { "status": "success", "value": { "content": [{ "type": "text", "text": block["content"] }] } } });
                }
            }
            json!({ "role": story.spoken(at), "created": at, "content": content })
        });
        object(&json!({ "id": "S", "conversation": all.collect::<Vec<_>>() }), goose::read_object)
    });
}

#[test]
fn opencode_and_zed_keep_the_order() {
    // Both hold a reply and its results as one message.
    let results =
        |story: &Story, at: usize| story.nodes.get(at + 1).map(|next| next.results.clone()).unwrap_or_default();
    each(Kind::Line, |story| {
        let mut all = Vec::new();
        for (at, node) in story.nodes.iter().enumerate().filter(|(_, node)| node.role != "tool") {
            let mut parts = vec![json!({ "type": "text", "text": node.text })];
            for call in results(story, at) {
                parts.push(json!({ "type": "tool", "callID": call, "tool": "f", "state": { "status": "completed", "input": {}, "output": format!("r {call}") } }));
            }
            all.push(json!({ "info": { "id": at.to_string(), "role": node.role }, "parts": parts }));
        }
        object(&json!({ "info": { "id": "ses_1" }, "messages": all }), opencode::read_object)
    });
    each(Kind::Line, |story| {
        let mut all = Vec::new();
        for (at, node) in story.nodes.iter().enumerate().filter(|(_, node)| node.role != "tool") {
            let mut content = vec![json!({ "Text": node.text })];
            if node.role == "user" {
                all.push(json!({ "User": { "id": format!("u{at}"), "content": content } }));
                continue;
            }
            let mut answers = serde_json::Map::new();
            for call in results(story, at) {
                content.push(json!({ "ToolUse": { "id": call, "name": "f", "input": {} } }));
                let answer = json!({ "tool_use_id": call, "content": { "Text": format!("r {call}") } });
                answers.insert(call, answer);
            }
            all.push(json!({ "Agent": { "content": content, "tool_results": answers } }));
        }
        let text = json!({ "version": "0.3.0", "messages": all }).to_string();
        zed::read_object("T", text.as_bytes()).expect("a thread")
    });
}
