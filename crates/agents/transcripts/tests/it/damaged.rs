//! Every reader against 10,000 damaged files: it gives an error or a part, and never more than the file can hold.

use std::path::Path;

use threadkeep_transcripts::sources::{
    amp, claude_code, cline, codex, gemini_cli, goose, langgraph, opencode, pi, zed,
};
use threadkeep_transcripts::{Database, Reading, Resume, Window};

use crate::seeds::Chance;

/// Damaged files for each reader.
const FILES: u64 = 10_000;
/// Messages cannot be more than the bytes of the file, over the fewest that one takes.
const MESSAGE_BYTES_MIN: usize = 2;

/// The file with one to four kinds of damage: bytes flipped, cut, repeated, welded, or deep nesting put in.
fn damage(chance: &mut Chance, whole: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len() + 1);
        match chance.below(8) {
            0 | 1 => {
                for _ in 0..=chance.below(8) {
                    let at = chance.below(bytes.len());
                    let flipped = chance.next() as u8;
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = flipped;
                    }
                }
            }
            2 => bytes.truncate(at),
            3 => {
                bytes.drain(at..(at + chance.below(200)).min(bytes.len()));
            }
            4 => {
                let from = chance.below(whole.len());
                let piece = &whole[from..(from + chance.below(300)).min(whole.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            5 => bytes.retain(|byte| *byte != b'\n'),
            6 => {
                let open: &[u8] = [&b"["[..], b"{\"a\":", b"[{\"type\":"][chance.below(3)];
                let nest = open.repeat(chance.below(400));
                bytes.splice(at..at, nest);
            }
            _ => {
                // A value in the place of another: the right JSON of the wrong type.
                let values: [&[u8]; 6] = [b"null", b"-1", b"1e400", b"{}", b"[[]]", b"\"\\ud800\""];
                let value = values[chance.below(6)];
                if let Some(colon) = bytes[at..].iter().position(|byte| *byte == b':').map(|found| at + found + 1) {
                    let end = bytes[colon..].iter().position(|byte| b",}]".contains(byte));
                    bytes.splice(colon..colon + end.unwrap_or(0), value.iter().copied());
                }
            }
        }
    }
    bytes
}

fn run(name: &str, whole: &[u8], read: impl Fn(&[u8]) -> Option<Reading>) {
    assert!(read(whole).is_some_and(|reading| !reading.sessions.is_empty()), "{name} reads its own fixture");
    let mut read_some = 0;
    for seed in 0..FILES {
        let bytes = damage(&mut Chance::new(seed), whole);
        let Some(reading) = read(&bytes) else { continue };
        let messages: usize = reading.sessions.iter().map(|session| session.messages.len()).sum();
        assert!(messages <= bytes.len() / MESSAGE_BYTES_MIN + 1, "{name} seed {seed}: {messages} messages");
        assert!(reading.resume.offset <= bytes.len() as u64, "{name} seed {seed}: it ended after the end");
        read_some += u64::from(messages > 0);
    }
    assert!(read_some > FILES / 100, "{name} read only {read_some} of the damaged files: the damage tests nothing");
}

/// A file of lines, read whole and piece by piece.
fn lines(name: &str, text: &str, read: impl Fn(&Window<'_>, &Resume) -> Reading) {
    run(name, text.as_bytes(), |bytes| Some(read(&Window::whole("x.jsonl", bytes), &Resume::default())));
    run(&format!("{name} in pieces"), text.as_bytes(), |bytes| Some(in_pieces(bytes, &read)));
}

/// Reads a file as one that grows: each reading gets some more bytes after those that are settled.
fn in_pieces(bytes: &[u8], read: impl Fn(&Window<'_>, &Resume) -> Reading) -> Reading {
    let mut chance = Chance::new(bytes.len() as u64);
    let (mut resume, mut seen) = (Resume::default(), 0);
    let mut all = Reading::default();
    loop {
        seen = (seen + 1 + chance.below(2_000)).min(bytes.len());
        let from = usize::try_from(resume.offset).expect("an offset within the file");
        let window = Window { name: "x.jsonl", bytes: &bytes[from..seen], is_last: seen == bytes.len() };
        let reading = read(&window, &resume);
        assert!(reading.resume.offset >= resume.offset, "a reading never goes back");
        resume = reading.resume;
        // What is not settled is given again, so only the longest reading of a session counts.
        if reading.sessions.iter().any(|session| !session.messages.is_empty()) {
            all.sessions = reading.sessions;
        }
        if seen == bytes.len() {
            return Reading { resume, ..all };
        }
    }
}

#[test]
fn claude_code_reads_damaged_files() {
    lines("claude-code", crate::claude_code::SESSION, |window, from| claude_code::read(window, None, from));
}

#[test]
fn codex_reads_damaged_files() {
    lines("codex", crate::codex::ROLLOUT, codex::read);
    let read = |bytes: &[u8]| codex::read_object(&Window::whole("x.json", bytes)).ok();
    run("codex object", crate::codex::OBJECT, read);
}

#[test]
fn pi_reads_damaged_files() {
    lines("pi", crate::pi::SESSION, pi::read);
    lines("pi v4", crate::pi::WRITES, pi::read);
}

#[test]
fn gemini_cli_reads_damaged_files() {
    lines("gemini-cli", crate::gemini_cli::SESSION, gemini_cli::read);
    let read = |bytes: &[u8]| gemini_cli::read_object(&Window::whole("x.json", bytes)).ok();
    run("gemini-cli object", crate::gemini_cli::OBJECT, read);
}

#[test]
fn goose_reads_damaged_files() {
    run("goose", crate::goose::EXPORT.as_bytes(), |bytes| goose::read_object(&Window::whole("x.json", bytes)).ok());
    lines("goose lines", crate::goose::LINES, goose::read);
}

#[test]
fn opencode_reads_damaged_files() {
    let read = |bytes: &[u8]| opencode::read_object(&Window::whole("x.json", bytes)).ok();
    run("opencode", crate::opencode::EXPORT.as_bytes(), read);
    // The older tree: the session, a message and its part, each a line here.
    let tree = concat!(
        r#"{"id":"ses_1","title":"Old","directory":"/repo","time":{"created":1,"updated":2}}"#,
        "\n",
        r#"{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1}}"#,
        "\n",
        r#"{"id":"prt_1","messageID":"msg_1","type":"text","text":"Hi"}"#,
        "\n",
    );
    run("opencode tree", tree.as_bytes(), |bytes| {
        let mut files = bytes.splitn(3, |byte| *byte == b'\n');
        let mut next = || files.next().unwrap_or_default();
        opencode::read_tree(("ses_1", next()), &[("msg_1", next())], &[("prt_1", next())]).ok()
    });
}

#[test]
fn cline_amp_and_zed_read_damaged_files() {
    run("cline", crate::cline::SDK.as_bytes(), |bytes| cline::read_object(&Window::whole("x.json", bytes)).ok());
    run("amp", crate::amp::THREAD.as_bytes(), |bytes| amp::read_object(&Window::whole("x.json", bytes)).ok());
    run("zed", crate::zed::THREAD.as_bytes(), |bytes| zed::read_object("T", bytes).ok());
}

#[test]
fn chatgpt_reads_damaged_files() {
    run("chatgpt", crate::chatgpt::CONVERSATIONS.as_bytes(), |bytes| crate::chatgpt::all(bytes).ok());
    let files: [(&str, &[u8]); 2] =
        [("conversations.json", crate::chatgpt::CONVERSATIONS.as_bytes()), ("file-ABC-a.png", b"hi")];
    let archive = crate::chatgpt::archive(&files);
    for seed in 0..FILES {
        // Compressed conversations are larger than their archive, so only their existence is checked.
        drop(crate::chatgpt::all(&damage(&mut Chance::new(seed), &archive)));
    }
}

/// Damages the pages of a database, and reads every session of what is left.
fn databases(write: impl Fn(&Path), read: impl Fn(&Database) -> usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, path) = (folder.path().join("whole.db"), folder.path().join("damaged.db"));
    write(&whole);
    assert!(read(&Database::open(&whole).expect("a database")) > 0);
    let whole = std::fs::read(&whole).expect("the file");
    let mut read_some = 0;
    for seed in 0..FILES {
        let mut chance = Chance::new(seed);
        let bytes = damage(&mut chance, &whole);
        std::fs::write(&path, &bytes).expect("the file");
        if let Ok(database) = Database::open(&path) {
            let messages = read(&database);
            assert!(messages <= bytes.len(), "seed {seed}: {messages} messages");
            read_some += usize::from(messages > 0);
        }
    }
    assert!(read_some > 0, "no damaged database was read: the damage tests nothing");
}

fn count(reading: Result<Reading, threadkeep_transcripts::Refused>) -> usize {
    reading.map_or(0, |reading| reading.sessions.iter().map(|session| session.messages.len()).sum())
}

#[test]
fn damaged_databases_are_read_in_part() {
    databases(crate::goose::database, |database| {
        let ids = goose::sessions(database).unwrap_or_default();
        ids.iter().map(|id| count(goose::read_session(database, id))).sum()
    });
    databases(crate::opencode::database, |database| {
        let ids = opencode::sessions(database).unwrap_or_default();
        ids.iter().map(|id| count(opencode::read_session(database, id))).sum()
    });
    databases(crate::zed::database, |database| {
        let ids = zed::sessions(database).unwrap_or_default();
        ids.iter().map(|id| count(zed::read_session(database, id))).sum()
    });
    databases(crate::langgraph::database, |database| {
        let ids = langgraph::sessions(database).unwrap_or_default();
        ids.iter().map(|id| count(langgraph::read_session(database, id))).sum()
    });
}

#[test]
fn langgraph_reads_damaged_checkpoints() {
    let messages = serde_json::json!([crate::langgraph::human("a", "Hi"), crate::langgraph::human("b", "Ho")]);
    let whole = crate::langgraph::pack(
        &serde_json::json!({ "ts": "2026-01-01T10:00:00Z", "channel_values": { "messages": messages } }),
    );
    let listed = langgraph::Listed { thread: "T".to_owned(), namespace: String::new() };
    run("langgraph", &whole, |bytes| {
        let value = langgraph::Stored { kind: "msgpack".to_owned(), bytes: bytes.to_vec() };
        let row = langgraph::Checkpoint { id: "1".to_owned(), value, ..langgraph::Checkpoint::default() };
        Some(langgraph::read_rows(&listed, [row]))
    });
}
