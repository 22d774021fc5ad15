//! Checkpoints on a real PostgreSQL server, in tables as the saver makes them.

use serde_json::{Value, json};
use threadkeep_throwaway::{Schema, schema, sql};
use threadkeep_transcripts::import::{Ledger, Options, import, server};
use threadkeep_transcripts::shape::Source;

use crate::imported::{memory, shown};
use crate::langgraph::{human, pack};

/// A saver, in a schema of its own.
struct Saver(Schema);

impl Saver {
    fn new() -> Self {
        let saver = Self(schema());
        sql(threadkeep_throwaway::postgres(), &format!("CREATE SCHEMA {}", saver.0.name()));
        saver.sql(
            "CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',
                 checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint JSONB NOT NULL,
                 metadata JSONB NOT NULL DEFAULT '{}', PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
             CREATE TABLE checkpoint_blobs (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',
                 channel TEXT NOT NULL, version TEXT NOT NULL, type TEXT NOT NULL, blob BYTEA,
                 PRIMARY KEY (thread_id, checkpoint_ns, channel, version));
             CREATE TABLE checkpoint_writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',
                 checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL,
                 type TEXT, blob BYTEA NOT NULL, task_path TEXT NOT NULL DEFAULT '',
                 PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));",
        );
        saver
    }

    fn sql(&self, statements: &str) -> Vec<Vec<Option<String>>> {
        sql(&self.0.url(), statements)
    }

    /// Puts a checkpoint, whose messages are those of `version`.
    fn put(&self, (thread, namespace): (&str, &str), id: &str, parent: Option<&str>, version: &str) {
        let checkpoint = json!({
            "v": 4, "id": id, "ts": "2026-01-01T10:00:00+00:00", "channel_values": { "step": 1 },
            "channel_versions": { "messages": version, "__start__": "1" }, "versions_seen": {},
        });
        let parent = parent.map_or("NULL".to_owned(), |parent| format!("'{parent}'"));
        self.sql(&format!(
            "INSERT INTO checkpoints VALUES ('{thread}', '{namespace}', '{id}', {parent}, NULL, '{checkpoint}',
                 '{{\"source\":\"loop\"}}');
             INSERT INTO checkpoint_blobs VALUES ('{thread}', '{namespace}', '__start__', '1', 'empty', NULL)
                 ON CONFLICT DO NOTHING"
        ));
    }

    fn messages(&self, (thread, namespace): (&str, &str), version: &str, messages: &Value) {
        let bytes = hex(&pack(messages));
        self.sql(&format!(
            "INSERT INTO checkpoint_blobs VALUES
                 ('{thread}', '{namespace}', 'messages', '{version}', 'msgpack', '\\x{bytes}')"
        ));
    }

    fn pending(&self, thread: &str, checkpoint: &str, task: (&str, &str), messages: &Value) {
        let (path, task, bytes) = (task.0, task.1, hex(&pack(messages)));
        self.sql(&format!(
            "INSERT INTO checkpoint_writes VALUES
                 ('{thread}', '', '{checkpoint}', '{task}', 0, 'messages', 'msgpack', '\\x{bytes}', '{path}')"
        ));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A thread with a fork, pending writes of two tasks, and a subgraph.
fn filled() -> Saver {
    let (saver, main) = (Saver::new(), ("T", ""));
    saver.messages(main, "1", &json!([human("m1", "Hi")]));
    saver.messages(main, "2", &json!([human("m1", "Hi"), human("m2", "One way")]));
    saver.messages(main, "3", &json!([human("m1", "Hi"), human("m3", "Other way")]));
    saver.put(main, "1", None, "1");
    // Its messages did not change, so it shares their row.
    saver.put(main, "2", Some("1"), "1");
    saver.put(main, "3", Some("2"), "2");
    saver.put(main, "4", Some("2"), "3");
    saver.pending("T", "2", ("~1", "a"), &json!([human("x", "A later checkpoint holds it")]));
    saver.pending("T", "4", ("~2", "a"), &json!([human("m5", "Second task")]));
    saver.pending("T", "4", ("~1", "b"), &json!([human("m4", "First task")]));
    saver.messages(("T", "sub:1"), "1", &json!([human("s1", "Inside")]));
    saver.put(("T", "sub:1"), "1", None, "1");
    saver
}

#[tokio::test]
async fn threads_of_a_saver_on_postgresql_are_imported_with_their_forks() {
    let (saver, engine) = (filled(), memory());
    let mut ledger = Ledger::in_memory("").expect("a ledger");
    let mut bring = async || {
        let found = server(Source::LangGraph, &saver.0.url()).expect("a URL");
        import(&engine, &mut ledger, vec![found], &Options::default(), |_, _| {}).await.expect("an import")
    };
    let report = bring().await;
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!((report.threads, report.branches, report.messages), (2, 1, 6), "{report:?}");
    let all = shown(&engine).await;
    let place = |text: &str| all.find(text).unwrap_or_else(|| panic!("{text}: {all}"));
    assert!(place("Other way") < place("First task") && place("First task") < place("Second task"), "{all}");
    assert_eq!(all.matches("One way").count(), 1, "{all}");
    assert!(all.contains(" subagent of ") && !all.contains("A later checkpoint"), "{all}");

    let again = bring().await;
    assert_eq!((again.threads, again.messages, again.known), (0, 0, 6), "{again:?}");
    saver.messages(("T", ""), "4", &json!([human("m1", "Hi"), human("m2", "One way"), human("m6", "And on")]));
    saver.put(("T", ""), "5", Some("3"), "4");
    let more = bring().await;
    assert_eq!((more.messages, more.known), (1, 6), "{more:?}");
    assert!(shown(&engine).await.contains("And on"));
}

#[tokio::test]
async fn a_damaged_row_is_named_and_the_others_are_read() {
    let (saver, engine) = (filled(), memory());
    saver.sql(
        "UPDATE checkpoint_blobs SET blob = '\\x92' WHERE version = '2' AND channel = 'messages';
         UPDATE checkpoints SET checkpoint = '{\"channel_versions\": 7}' WHERE checkpoint_ns = 'sub:1'",
    );
    let found = server(Source::LangGraph, &saver.0.url()).expect("a URL");
    let mut ledger = Ledger::in_memory("").expect("a ledger");
    let report = import(&engine, &mut ledger, vec![found], &Options::default(), |_, _| {}).await.expect("an import");
    assert!(report.problems[0].contains("checkpoint 3 channel messages"), "{report:?}");
    assert_eq!((report.messages, report.skipped), (4, 1), "{report:?}");
}

#[tokio::test]
async fn older_tables_and_other_databases() {
    let saver = filled();
    saver.sql("ALTER TABLE checkpoint_writes DROP COLUMN task_path");
    let engine = memory();
    let bring = async |url: &str| {
        let found = server(Source::LangGraph, url).expect("a URL");
        let mut ledger = Ledger::in_memory("").expect("a ledger");
        import(&engine, &mut ledger, vec![found], &Options::default(), |_, _| {}).await.expect("an import")
    };
    assert_eq!(bring(&saver.0.url()).await.messages, 6);
    let other = bring(&format!("{}_none", saver.0.url())).await;
    assert!(other.problems[0].contains("schema=NAME"), "{other:?}");
    let gone = bring("postgres://ann:secret@127.0.0.1:1/none").await;
    assert!(gone.problems[0].starts_with("postgres://ann@127.0.0.1:1/none: "), "{gone:?}");
    assert!(!format!("{gone:?}").contains("secret"), "{gone:?}");
    let refused = server(Source::Codex, "postgres://ann@h/d").expect_err("Codex has no servers");
    assert!(refused.rule.contains("codex"), "{refused}");
}

#[tokio::test]
async fn the_connection_cannot_write() {
    let saver = filled();
    let url = threadkeep_postgres::PostgresUrl::of_another_program(&saver.0.url()).expect("a URL");
    let client = threadkeep_postgres::visit(&url).await.expect("a connection");
    let refused = client.batch_execute("DELETE FROM checkpoints").await.expect_err("it is read-only");
    let code = refused.code().map(|code| code.code().to_owned());
    assert_eq!(code.as_deref(), Some("25006"), "{refused}");
}
