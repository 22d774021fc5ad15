//! Imports into a store: once, twice, from files that grow, after a crash, and back out.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::json;
use threadkeep_calls::Delete;
use threadkeep_engine::{Engine, List, Page, Values};
use threadkeep_model::{MessageBody, Thread, Timestamp};
use threadkeep_transcripts::import::{Ledger, Options, import, search, session_of};
use threadkeep_transcripts::shape::Source;

use crate::imported::{Folder, bring, bring_anew, bring_with, lines, memory, seen, shown, sqlite};
use crate::seeds::Chance;

fn ledger() -> Ledger {
    Ledger::in_memory("").expect("a ledger")
}

#[tokio::test]
async fn a_session_becomes_a_thread_with_its_branches_and_subagents() {
    let (engine, folder) = (memory(), Folder::new());
    folder.put("claude-code/p/S.jsonl", crate::claude_code::SESSION);
    let report = bring(&engine, &mut ledger(), &folder, Source::ClaudeCode).await;
    assert_eq!(
        (report.sessions, report.threads, report.branches, report.messages, report.skipped),
        (2, 2, 1, 15, 1),
        "{report:?}"
    );
    assert!(report.problems[0].ends_with("S.jsonl:14: not JSON"), "{:?}", report.problems);
    let time = |seconds: u32| format!("2026-01-01T10:00:{seconds:02}.000000Z");
    let all = shown(&engine).await;
    let heads: Vec<&str> = all.lines().filter(|line| line.starts_with("= ")).collect();
    let [main, subagent, fork] = &heads[..] else { panic!("{all}") };
    assert!(main.contains(&format!("\"Parser work\" v14 {}..{}", time(0), time(15))), "{main}");
    assert!(subagent.contains("\"Look around\"") && subagent.contains(" subagent of "), "{subagent}");
    assert!(fork.contains("\"Forked: Parser work\"") && fork.ends_with("at Some(4)"), "{fork}");
    // Scaffolding is silent, and keeps its place.
    assert!(all.contains(&format!("user* {} \"So far: parser\"", time(14))), "{all}");
    assert!(all.contains(&format!("user {} \"Now the printer\"", time(12))), "{all}");
    assert_eq!(all.matches("Now the lexer").count(), 1, "a branch is in its fork alone: {all}");
    assert_eq!(all.matches("Fix the parser").count(), 2, "the fork shows what it shares: {all}");
}

#[tokio::test]
async fn marks_of_a_message_are_in_its_metadata() {
    let (engine, folder) = (memory(), Folder::new());
    folder.put("claude-code/p/S.jsonl", crate::claude_code::SESSION);
    bring_anew(&engine, &folder, Source::ClaudeCode).await;
    let main = thread_named(&engine, "Parser work").await;
    let all = lines(&engine, main.id).await;
    let of = |text: &str| {
        let found = all.iter().find(|(line, _)| line.contains(text));
        found.map(|(_, metadata)| metadata["import"].clone()).expect("a message")
    };
    let reply = of("c1");
    assert_eq!((reply["id"].as_str(), reply["model"].as_str()), (Some("a1"), Some("claude-x")));
    assert_eq!(reply["usage"], json!({ "input": 1, "output": 9, "cacheRead": 3, "cacheWrite": 4 }));
    let bound = json!([{ "at": [0], "thinking": { "boundTo": "anthropic", "signature": "sig" } }]);
    assert_eq!((&reply["parts"], &reply["raw"]["requestId"]), (&bound, &json!("r1")));
    assert_eq!(of("Conversation compacted")["compaction"]["tokensBefore"], 900);
    assert_eq!(of("So far: parser")["compaction"]["summary"], true);
    assert_eq!(of("toolUseId\":\"c2")["subagents"], json!([{ "session": "S/agent-77", "call": "c2" }]));
    let metadata = main.record.metadata.as_ref().map(threadkeep_model::Json::to_value).expect("metadata");
    assert_eq!(metadata["import"]["folder"], "/repo");
    assert_eq!(metadata["tags"], json!(["claude-code"]));
    assert_eq!(
        main.record.env.as_ref().map(|env| env.to_value()["initial"]["trees"][0]["uri"].clone()),
        Some(json!("file:///repo"))
    );
    // Records without a message are values of the thread.
    let (values, _) = engine.values(main.id, Values::default()).await.expect("values");
    assert!(values[0].value.as_str().contains("brand-new-type"), "{values:?}");
}

async fn thread_named(engine: &Engine, title: &str) -> Thread {
    let list = List { title: Some(title.to_owned()), ..List::default() };
    let found = engine.list(list).await.expect("a list").items;
    found.into_iter().map(|row| row.thread).find(|it| it.record.title.as_deref() == Some(title)).expect("the thread")
}

#[tokio::test]
async fn search_finds_prompts_and_leaves_scaffolding_out() {
    let (engine, folder) = (memory(), Folder::new());
    folder.put("claude-code/p/S.jsonl", crate::claude_code::SESSION);
    bring_anew(&engine, &folder, Source::ClaudeCode).await;
    engine.backfill(None, Arc::new(|_, _, _| {})).await.expect("an index");
    let found = async |query: &str| engine.search(threadkeep_engine::Search::new(query)).await.expect("hits").len();
    assert!(found("\"Now the printer\"").await > 0);
    assert_eq!(found("\"So far: parser\"").await, 0);
}

/// The files of every source that has one as text.
fn every_source(folder: &Folder) -> Vec<Source> {
    folder.put("claude-code/p/S.jsonl", crate::claude_code::SESSION);
    folder.put("codex/2026/rollout-2026-01-01T10-00-00-x.jsonl", crate::codex::ROLLOUT);
    folder.put("opencode/ses_1.json", crate::opencode::EXPORT);
    folder.put("goose/a.json", crate::goose::EXPORT);
    folder.put("pi/a.jsonl", crate::pi::SESSION);
    folder.put("amp/T-1.json", crate::amp::THREAD);
    folder.put("gemini-cli/x/chats/session-1.jsonl", crate::gemini_cli::SESSION);
    folder.put("cline/t1/x.messages.json", crate::cline::SDK);
    folder.put("chatgpt/conversations.json", crate::chatgpt::CONVERSATIONS);
    let database = |name: &str, write: fn(&std::path::Path)| {
        let path = folder.put(name, "");
        std::fs::remove_file(&path).expect("a place");
        write(&path);
    };
    database("zed/threads.db", crate::zed::database);
    database("langgraph/saver.db", crate::langgraph::database);
    Source::ALL.to_vec()
}

#[tokio::test]
async fn importing_twice_changes_nothing() {
    let folder = Folder::new();
    let engine = sqlite(&folder.path("store.db"));
    let mut ledger = Ledger::open(&folder.path("imports.db"), "x").expect("a ledger");
    for source in every_source(&folder) {
        let first = bring(&engine, &mut ledger, &folder, source).await;
        assert!(first.threads > 0 && first.messages > 0, "{source}: {first:?}");
        let before = shown(&engine).await;
        let again = bring(&engine, &mut ledger, &folder, source).await;
        assert_eq!((again.messages, again.unchanged), (0, 1), "{source}: {again:?}");
        // Without a ledger, the store knows what it has.
        let anew = bring_anew(&engine, &folder, source).await;
        let made = (anew.threads, anew.branches, anew.messages, anew.edited);
        assert_eq!((made, anew.known), ((0, 0, 0, 0), first.messages), "{source}: {anew:?}");
        assert_eq!(shown(&engine).await, before, "{source}");
    }
}

#[tokio::test]
async fn a_dry_run_counts_and_writes_nothing() {
    let (engine, folder) = (memory(), Folder::new());
    for source in every_source(&folder) {
        let options = Options { is_dry: true, ..Options::default() };
        let dry = bring_with(&engine, &mut ledger(), &folder, source, &options).await;
        assert_eq!(shown(&engine).await, "", "{source}");
        let other = memory();
        let real = bring_anew(&other, &folder, source).await;
        assert_eq!(dry, real, "{source}");
    }
}

#[tokio::test]
async fn a_file_that_grows_ends_as_one_that_was_whole() {
    let cases = [
        (Source::ClaudeCode, "claude-code/p/S.jsonl", crate::claude_code::SESSION),
        (Source::Codex, "codex/rollout-x.jsonl", crate::codex::ROLLOUT),
        (Source::Pi, "pi/a.jsonl", crate::pi::SESSION),
        (Source::GeminiCli, "gemini-cli/chats/session-1.jsonl", crate::gemini_cli::SESSION),
        (Source::Goose, "goose/a.jsonl", crate::goose::LINES),
    ];
    for (source, name, text) in cases {
        let folder = Folder::new();
        folder.put(name, text);
        let whole = memory();
        bring_anew(&whole, &folder, source).await;
        for seed in 0..20 {
            let (engine, folder) = (memory(), Folder::new());
            let mut ledger = Ledger::open(&folder.path("imports.db"), "x").expect("a ledger");
            let mut chance = Chance::new(seed);
            let mut cuts: Vec<usize> = (0..4).map(|_| chance.below(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            for cut in cuts {
                folder.put(name, &text.as_bytes()[..cut]);
                bring(&engine, &mut ledger, &folder, source).await;
            }
            // A title may come late, and then the branches keep the older one.
            let said = |all: Vec<String>| -> Vec<String> {
                let body = |text: String| text.split_once('\n').map(|(_, said)| said.to_owned()).unwrap_or_default();
                let mut all: Vec<String> = all.into_iter().map(body).collect();
                all.sort();
                all
            };
            let (found, expected) = (said(seen(&engine).await), said(seen(&whole).await));
            assert_eq!(found, expected, "{source} seed {seed}");
        }
    }
}

#[tokio::test]
async fn a_run_that_is_killed_goes_on() {
    let folder = Folder::new();
    let sources = every_source(&folder);
    let whole = memory();
    for source in &sources {
        bring_anew(&whole, &folder, *source).await;
    }
    let expected = seen(&whole).await;
    for seed in 0..60 {
        let engine = memory();
        let ledger_path = folder.path(&format!("ledger-{seed}.db"));
        let mut chance = Chance::new(seed);
        for _ in 0..chance.below(6) {
            for source in &sources {
                let mut ledger = Ledger::open(&ledger_path, "x").expect("a ledger");
                let options = Options::default();
                let run = import(&engine, &mut ledger, folder.found(*source), &options, |_, _| {});
                // A future that is dropped is a run that was killed.
                abandoned(pin!(run), chance.below(12)).await;
            }
        }
        let mut ledger = Ledger::open(&ledger_path, "x").expect("a ledger");
        for source in &sources {
            bring(&engine, &mut ledger, &folder, *source).await;
        }
        assert_eq!(seen(&engine).await, expected, "seed {seed}");
    }
}

/// Lets a future be polled so many times, and then no more.
async fn abandoned<F: Future>(mut future: std::pin::Pin<&mut F>, polls: usize) {
    for _ in 0..polls {
        let polled = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        if polled.is_ready() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

fn entry(id: &str, parent: Option<&str>, text: &str) -> String {
    let message = json!({ "role": "user", "content": text });
    let time = format!("2026-01-01T10:00:{:02}Z", id.len());
    format!("{}\n", json!({ "type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message }))
}

fn header(id: &str) -> String {
    format!(
        "{}\n",
        json!({ "type": "session", "version": 3, "id": id, "cwd": "/home/ann/a", "timestamp": "2026-01-01T10:00:00Z" })
    )
}

/// Titles and texts, in the order of lists by text.
async fn texts(engine: &Engine) -> Vec<String> {
    let said = |text: String| text.replace('\n', " | ").replace("user 2026-01-01T10:00:", "");
    seen(engine).await.into_iter().map(said).collect()
}

#[tokio::test]
async fn a_session_that_goes_back_keeps_the_way_it_left() {
    let (engine, folder) = (memory(), Folder::new());
    let mut ledger = ledger();
    let mut text = header("S") + &entry("aaaaaaaa1", None, "one") + &entry("aaaaaaaaa2", Some("aaaaaaaa1"), "two");
    folder.put("pi/s.jsonl", &text);
    bring(&engine, &mut ledger, &folder, Source::Pi).await;
    let main = thread_named(&engine, "one").await.id;
    text += &entry("aaaaaaaaaaa3", Some("aaaaaaaa1"), "three");
    folder.put("pi/s.jsonl", &text);
    let report = bring(&engine, &mut ledger, &folder, Source::Pi).await;
    assert_eq!((report.messages, report.branches, report.threads), (1, 1, 0), "{report:?}");
    let line = |seconds: &str, text: &str| format!("{seconds}.000000Z \"{text}\"");
    let (one, two, three) = (line("09", "one"), line("10", "two"), line("12", "three"));
    assert_eq!(texts(&engine).await, [format!("Forked: one | {one} | {two}"), format!("one | {one} | {three}")]);
    assert_eq!(thread_named(&engine, "one").await.id, main, "the thread follows the session");
    // Once more changes nothing, also without a ledger.
    let before = shown(&engine).await;
    bring_anew(&engine, &folder, Source::Pi).await;
    assert_eq!(shown(&engine).await, before);
}

#[tokio::test]
async fn a_copy_of_a_session_shares_its_history() {
    let (engine, folder) = (memory(), Folder::new());
    let shared = entry("aaaaaaaa1", None, "one") + &entry("aaaaaaaaa2", Some("aaaaaaaa1"), "two");
    folder.put("pi/s.jsonl", header("S") + &shared);
    folder.put("pi/t.jsonl", header("T") + &shared + &entry("aaaaaaaaaaa3", Some("aaaaaaaaa2"), "three"));
    let report = bring_anew(&engine, &folder, Source::Pi).await;
    assert_eq!((report.threads, report.messages, report.known), (2, 3, 2), "{report:?}");
    let all = shown(&engine).await;
    assert_eq!(all.lines().filter(|line| line.contains("fork of")).count(), 1, "{all}");
    let before = shown(&engine).await;
    bring_anew(&engine, &folder, Source::Pi).await;
    assert_eq!(shown(&engine).await, before);
}

#[tokio::test]
async fn a_thread_that_went_on_here_is_left_alone() {
    let (engine, folder) = (memory(), Folder::new());
    let text = header("S") + &entry("aaaaaaaa1", None, "one");
    folder.put("pi/s.jsonl", &text);
    bring_anew(&engine, &folder, Source::Pi).await;
    let main = thread_named(&engine, "one").await.id;
    engine.append(main, MessageBody::user("Said here.")).await.expect("a message");
    folder.put("pi/s.jsonl", text + &entry("aaaaaaaaa2", Some("aaaaaaaa1"), "two"));
    let report = bring_anew(&engine, &folder, Source::Pi).await;
    assert_eq!((report.messages, report.edited), (1, 0), "{report:?}");
    assert_eq!(lines(&engine, main).await.len(), 2);
    let all = shown(&engine).await;
    assert!(all.contains("fork of") && all.contains("\"two\""), "{all}");
    let before = shown(&engine).await;
    bring_anew(&engine, &folder, Source::Pi).await;
    assert_eq!(shown(&engine).await, before);
}

#[tokio::test]
async fn a_thread_that_was_deleted_here_stays_deleted() {
    let (engine, folder) = (memory(), Folder::new());
    folder.put("pi/s.jsonl", header("S") + &entry("aaaaaaaa1", None, "one"));
    folder.put("pi/t.jsonl", header("T") + &entry("bbbbbbbb1", None, "other"));
    bring_anew(&engine, &folder, Source::Pi).await;
    let main = thread_named(&engine, "one").await.id;
    engine.delete(main, Delete {}).await.expect("a deletion");
    let report = bring_anew(&engine, &folder, Source::Pi).await;
    assert_eq!((report.deleted, report.threads, report.known, report.skipped), (1, 0, 1, 0), "{report:?}");
    assert!(!shown(&engine).await.contains("\"one\""));
}

#[tokio::test]
async fn a_deleted_thread_whose_session_goes_on_stays_deleted() {
    let (engine, folder) = (memory(), Folder::new());
    let mut ledger = ledger();
    let text = header("S") + &entry("aaaaaaaa1", None, "one");
    folder.put("pi/s.jsonl", &text);
    bring(&engine, &mut ledger, &folder, Source::Pi).await;
    let main = thread_named(&engine, "one").await.id;
    engine.delete(main, Delete {}).await.expect("a deletion");
    folder.put("pi/s.jsonl", text + &entry("aaaaaaaaa2", Some("aaaaaaaa1"), "two"));
    for _ in 0..2 {
        let report = bring(&engine, &mut ledger, &folder, Source::Pi).await;
        assert_eq!((report.deleted, report.threads, report.messages), (1, 0, 0), "{report:?}");
    }
    assert_eq!(shown(&engine).await, "");
}

#[tokio::test]
async fn a_ledger_of_another_store_hides_nothing() {
    let folder = Folder::new();
    let mut ledger = ledger();
    let text = header("S") + &entry("aaaaaaaa1", None, "one");
    folder.put("pi/s.jsonl", &text);
    folder.put("goose/a.json", crate::goose::EXPORT);
    let first = memory();
    bring(&first, &mut ledger, &folder, Source::Pi).await;
    let goose = bring(&first, &mut ledger, &folder, Source::Goose).await;
    // The files grow, and the store is made anew.
    let second = memory();
    folder.put("pi/s.jsonl", text + &entry("aaaaaaaaa2", Some("aaaaaaaa1"), "two"));
    folder.put("goose/a.json", format!("{}\n", crate::goose::EXPORT));
    let report = bring(&second, &mut ledger, &folder, Source::Pi).await;
    assert_eq!((report.threads, report.messages), (1, 2), "{report:?}");
    assert_eq!(bring(&second, &mut ledger, &folder, Source::Goose).await.messages, goose.messages);
}

#[tokio::test]
async fn a_changed_beginning_is_a_new_version_and_the_old_one_stays() {
    let (engine, folder) = (memory(), Folder::new());
    let mut ledger = ledger();
    let rest = entry("aaaaaaaaa2", Some("aaaaaaaa1"), "two");
    folder.put("pi/s.jsonl", header("S") + &entry("aaaaaaaa1", None, "one") + &rest);
    bring(&engine, &mut ledger, &folder, Source::Pi).await;
    let main = thread_named(&engine, "one").await;
    let changed = header("S") + &entry("aaaaaaaa1", None, "ONE, and more") + &rest;
    folder.put("pi/s.jsonl", changed + &entry("aaaaaaaaaa3", Some("aaaaaaaaa2"), "three"));
    let report = bring(&engine, &mut ledger, &folder, Source::Pi).await;
    assert_eq!((report.edited, report.messages), (1, 1), "{report:?}");
    let texts = async |page: Page| -> Vec<String> {
        let found = engine.messages(main.id, page).await.expect("messages").items;
        found.iter().map(|message| message.text().expect("text")).collect()
    };
    assert_eq!(texts(Page::first()).await, ["ONE, and more", "two", "three"]);
    assert_eq!(texts(Page::first().as_of(main.head.version)).await, ["one", "two"]);
    // Another first message is another conversation.
    folder.put("pi/s.jsonl", header("S") + &entry("cccccccc1", None, "anew"));
    let report = bring(&engine, &mut ledger, &folder, Source::Pi).await;
    assert_eq!((report.threads, report.edited), (1, 0), "{report:?}");
    assert_eq!(texts(Page::first()).await, ["ONE, and more", "two", "three"]);
}

#[tokio::test]
async fn options_choose_sessions_by_folder_and_by_time() {
    let (engine, folder) = (memory(), Folder::new());
    folder.put("pi/s.jsonl", header("S") + &entry("aaaaaaaa1", None, "one"));
    folder.put("pi/t.jsonl", header("T").replace("/home/ann/a", "/home/ann/ab") + &entry("bbbbbbbb1", None, "other"));
    let mut ledger = ledger();
    let later =
        Options { since: Some("2027-01-01T00:00:00Z".parse::<Timestamp>().expect("a time")), ..Options::default() };
    assert_eq!(bring_with(&engine, &mut ledger, &folder, Source::Pi, &later).await.threads, 0);
    let here = Options { project: Some("/home/ann/a".into()), ..Options::default() };
    let report = bring_with(&engine, &mut ledger, &folder, Source::Pi, &here).await;
    assert_eq!((report.threads, texts(&engine).await.len()), (1, 1));
    // Sessions that were left out come with the next import.
    assert_eq!(bring(&engine, &mut ledger, &folder, Source::Pi).await.threads, 1);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let folder = Folder::new();
    let secret = folder.put("secret.jsonl", header("S"));
    folder.put("pi/a.jsonl", header("S"));
    std::os::unix::fs::symlink(&secret, folder.path("pi/b.jsonl")).expect("a link");
    std::os::unix::fs::symlink(folder.path("."), folder.path("pi/c")).expect("a link");
    let found = search(Source::Pi, &[folder.path("pi")]);
    assert_eq!((found.files.len(), found.refused.len()), (1, 2), "{found:?}");
}

#[tokio::test]
async fn rows_that_are_only_in_the_write_ahead_log_are_read_and_the_database_stays_as_it_is() {
    let (engine, folder) = (memory(), Folder::new());
    let path = folder.put("goose/sessions.db", "");
    std::fs::remove_file(&path).expect("a place");
    crate::goose::database(&path);
    let connection = rusqlite::Connection::open(&path).expect("a database");
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").expect("a log");
    connection
        .execute("UPDATE sessions SET description = 'Only in the log'", [])
        .or_else(|_| connection.execute("UPDATE sessions SET name = 'Only in the log'", []))
        .expect("a change");
    let before = std::fs::read(&path).expect("bytes");
    bring_anew(&engine, &folder, Source::Goose).await;
    let all = shown(&engine).await;
    assert!(all.contains("Only in the log"), "{all}");
    assert_eq!(std::fs::read(&path).expect("bytes"), before);
}

#[tokio::test]
async fn random_trees_come_back_from_the_store_as_they_were() {
    for seed in 0..60 {
        let (engine, folder) = (memory(), Folder::new());
        let (text, check) = crate::trees::tree_of_pi(seed);
        folder.put("pi/s.jsonl", text);
        bring_anew(&engine, &folder, Source::Pi).await;
        let list = engine.list(List { limit: Some(1_000), ..List::default() }).await.expect("a list").items;
        let main = list.iter().find(|row| {
            let metadata =
                row.thread.record.metadata.as_ref().map(threadkeep_model::Json::to_value).unwrap_or_default();
            metadata["import"]["main"] == true
        });
        let Some(main) = main else { panic!("seed {seed}: no thread") };
        let mut session = session_of(&engine, main.thread.id).await.expect("a session");
        // Branches that share nothing with the thread are threads of their own.
        for row in
            list.iter().filter(|row| row.thread.record.origin_thread_id.is_none() && row.thread.id != main.thread.id)
        {
            let other = session_of(&engine, row.thread.id).await.expect("a session");
            session.messages.extend(other.messages);
        }
        check(&session);
    }
}
