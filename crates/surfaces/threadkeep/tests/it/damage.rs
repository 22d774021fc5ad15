//! One flipped bit in a stored text: each read gives the right answer or an error, the doctor reports it, and everything
//! else stays readable.

use threadkeep::{
    Append, Create, Engine, FilePath, Files, Fork, Handoff, List, Mention, MessageBody, MessageId, NewFile, Page,
    Position, Search, Selection, SetValue, ThreadId, ValueKey, Values,
};

use crate::run;

/// The word that is damaged. One bit of its first letter makes it [`DAMAGED`].
const WORD: &str = "precious";
const DAMAGED: &str = "qrecious";

/// Where a store is, so that it can be opened again, and damaged in between.
enum Place {
    Sqlite(tempfile::TempDir),
    Postgres(threadkeep_throwaway::Schema),
}

impl Place {
    fn open(&self) -> Engine {
        match self {
            Self::Sqlite(folder) => threadkeep::open(&folder.path().join("threads.db").display().to_string()),
            Self::Postgres(schema) => threadkeep::open(&schema.url()),
        }
        .expect("a store")
    }

    /// Runs SQL on the store while it is closed.
    fn sql(&self, sqlite: &str, postgres: &str) {
        match self {
            Self::Sqlite(folder) => {
                let connection = rusqlite::Connection::open(folder.path().join("threads.db")).expect("a file");
                let changed = connection.execute(sqlite, []).expect("damaged");
                assert!(changed > 0, "nothing was damaged: {sqlite}");
            }
            Self::Postgres(schema) => {
                let sql = format!("WITH changed AS ({postgres} RETURNING 1) SELECT count(*) FROM changed");
                let changed = threadkeep_throwaway::sql(&schema.url(), &sql);
                assert_ne!(changed[0][0].as_deref(), Some("0"), "nothing was damaged: {postgres}");
            }
        }
    }

    /// Flips a bit of the word wherever it is in a column.
    fn flip(&self, table: &str, column: &str, is_text: bool) {
        let (sqlite, postgres) = if is_text {
            let changed = format!("replace({column}, '{WORD}', '{DAMAGED}')");
            (changed.clone(), changed)
        } else {
            let text = format!("convert_from({column}, 'UTF8')");
            let sqlite = format!("CAST(replace(CAST({column} AS TEXT), '{WORD}', '{DAMAGED}') AS BLOB)");
            (sqlite, format!("convert_to(replace({text}, '{WORD}', '{DAMAGED}'), 'UTF8')"))
        };
        let has = |text: String| format!("{text} LIKE '%{WORD}%'");
        let (in_sqlite, in_postgres) = if is_text {
            (has(column.to_owned()), has(column.to_owned()))
        } else {
            (has(format!("CAST({column} AS TEXT)")), has(format!("convert_from({column}, 'UTF8')")))
        };
        self.sql(
            &format!("UPDATE {table} SET {column} = {sqlite} WHERE {in_sqlite}"),
            &format!("UPDATE {table} SET {column} = {postgres} WHERE {in_postgres}"),
        );
    }
}

/// A store with the word in every place that holds text, and a thread that has nothing of it.
struct Held {
    place: Place,
    thread: ThreadId,
    fork: ThreadId,
    fine: ThreadId,
    whole: Vec<MessageId>,
}

async fn held(place: Place) -> Held {
    let keep = place.open();
    keep.put_project(None, format!("{WORD} project"), None, None).await.expect("a project");
    let create = Create::titled(&format!("{WORD} title")).message(MessageBody::user("before"));
    let thread = keep.create(create).await.expect("a thread").id;
    keep.append(thread, MessageBody::assistant(&format!("{WORD} words"))).await.expect("a message");
    keep.append(thread, MessageBody::user("after")).await.expect("a message");
    let many = (0..3).map(|n| MessageBody::user(&format!("{n} of {WORD} many"))).collect::<Vec<_>>();
    keep.append(thread, Append::batch(many)).await.expect("messages");
    let large = format!("{WORD} {}", "x".repeat(40_000));
    keep.append(thread, MessageBody::user(&large)).await.expect("a large message");
    keep.append(thread, MessageBody::user("the end")).await.expect("a message");
    let value = threadkeep::Json::parse("value", &format!("\"{WORD} value\"")).expect("JSON");
    keep.set_value(thread, SetValue::new("key", value).expect("a key")).await.expect("a value");
    let file = NewFile::new("/a.txt", format!("{WORD} file")).expect("a file");
    keep.write_file(thread, file).await.expect("a file");
    let fork = keep.fork(thread, Fork::default()).await.expect("a fork").id;
    let fine = keep.create(Create::titled("Fine").message(MessageBody::user("all is well"))).await.expect("one").id;
    let comment = Some(format!("{WORD} comment"));
    keep.mention(thread, Mention { target: fine.into(), comment }).await.expect("a mention");
    keep.handoff(thread, Handoff::to(&format!("{WORD} goal"))).await.expect("a handoff");
    keep.backfill(None, std::sync::Arc::new(|_, _, _| {})).await.expect("an index");
    let page = keep.messages(thread, Page::first()).await.expect("a page");
    let whole = page.items.iter().filter(|message| !message.text().expect("text").contains(WORD));
    let whole = whole.map(|message| message.id).collect();
    assert!(keep.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a check").is_healthy());
    drop(keep);
    Held { place, thread, fork, fine, whole }
}

/// Every way to read the store, as text: the answer, or the error.
async fn reads(keep: &Engine, held: &Held) -> Vec<(String, Result<String, String>)> {
    let mut read: Vec<(String, Result<String, String>)> = Vec::new();
    macro_rules! read {
        ($name:expr, $answer:expr) => {{
            let answer = async { $answer }.await;
            let answer: Result<String, threadkeep::Error> = answer.map(|answer| format!("{answer:?}"));
            read.push((format!("{}", $name), answer.map_err(|error| error.to_string())));
        }};
    }
    for (name, thread) in [("thread", held.thread), ("fork", held.fork)] {
        let pages = [
            ("oldest first", Page::first()),
            ("newest first", Page::first().newest_first()),
            ("as of", Page::first().as_of(Position(3))),
            ("all", Page::first().include_silent()),
        ];
        for (page, which) in pages {
            read!(format!("messages of the {name}, {page}"), keep.messages(thread, which).await);
        }
        for n in 0..8 {
            let one = Page::first().offset(n).limit(1);
            read!(format!("message {n} of the {name}"), keep.messages(thread, one).await);
        }
        for version in 0..12 {
            read!(format!("history of the {name} after {version}"), keep.history(thread, Position(version), 100).await);
        }
        read!(format!("value of the {name}"), keep.value(thread, &"key".parse::<ValueKey>()?, None).await);
        read!(format!("values of the {name}"), keep.values(thread, Values::default()).await);
        read!(format!("files of the {name}"), keep.files(thread, Files::default()).await);
        let path: FilePath = "/a.txt".parse().expect("a path");
        read!(format!("file of the {name}"), keep.read_file(thread, &path, None).await);
        read!(format!("record of the {name}"), keep.thread(thread).await);
        read!(format!("relationships of the {name}"), keep.relationships(thread).await);
        read!(format!("family of the {name}"), keep.family(thread).await);
        let mut items = Vec::new();
        let exported = keep
            .export(Selection::Thread(thread), |item| {
                items.push(format!("{item:?}"));
                Ok::<_, threadkeep::Error>(())
            })
            .await;
        read!(format!("export of the {name}"), exported.map(|()| items.clone()));
    }
    read!("list", keep.list(List::default()).await);
    read!("projects", keep.projects(None, 10).await);
    read!("search", keep.search(Search::new(WORD)).await);
    let target = threadkeep::open("memory:").expect("a store");
    read!("copy", keep.copy_to(&target, std::sync::Arc::new(|_, _, _| {})).await.map(|_| "copied"));
    read
}

/// Damages one column, reads everything, and says how many reads gave an error.
async fn check(place: fn() -> Place, table: &str, column: &str, is_text: bool) {
    let held = held(place()).await;
    held.place.flip(table, column, is_text);
    let keep = held.place.open();
    let reads = reads(&keep, &held).await;
    let at = format!("{table}.{column}");
    for (name, answer) in &reads {
        match answer {
            Ok(answer) => assert!(!answer.contains(DAMAGED), "{at}: {name} shows a damaged text: {answer}"),
            Err(error) => {
                assert!(error.contains("is not what was written") && !error.contains(DAMAGED), "{at}: {name}: {error}");
                let help = ["threadkeep --data NEW restore FILE", "threadkeep doctor --repair"];
                assert!(help.iter().any(|help| error.contains(help)), "{at}: {name}: {error}");
            }
        }
    }
    assert!(reads.iter().any(|(_, answer)| answer.is_err()), "{at}: nothing was read from it");
    let report = keep.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a check");
    assert!(!report.is_healthy(), "{at}: the doctor finds nothing");
    // What lies beside it can be read, unless it is the record itself that is damaged: then a repair brings it back.
    if table == "threads" {
        keep.repair(std::sync::Arc::new(|_, _, _| {})).await.expect("a repair");
        assert!(keep.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a check").is_healthy());
        assert_eq!(keep.thread(held.thread).await.expect("a thread").record.title, Some(format!("{WORD} title")));
    }
    for id in &held.whole {
        keep.message(held.thread, *id, None).await.expect("a whole message");
        keep.message(held.fork, *id, None).await.expect("a whole message");
    }
    let fine = keep.messages(held.fine, Page::first()).await.expect("a page");
    assert_eq!(fine.items[0].text().expect("text"), "all is well");
    keep.append(held.thread, MessageBody::user("and on")).await.expect("a message");
}

fn sqlite() -> Place {
    Place::Sqlite(tempfile::tempdir().expect("a folder"))
}

fn postgres() -> Place {
    Place::Postgres(threadkeep_throwaway::schema())
}

/// Every column that holds text, and whether it is text or bytes.
const COLUMNS: [(&str, &str, bool); 7] = [
    ("entries", "body", false),
    ("blob_chunks", "bytes", false),
    ("threads", "record", true),
    ("segments", "record", true),
    ("cells", "cell", true),
    ("relations", "comment", true),
    ("registry", "json", true),
];

#[test]
fn a_flipped_bit_is_never_shown_and_everything_else_is_sqlite() {
    for (table, column, is_text) in COLUMNS {
        run(check(sqlite, table, column, is_text));
    }
}

#[test]
fn a_flipped_bit_is_never_shown_and_everything_else_is_postgres() {
    for (table, column, is_text) in COLUMNS {
        run(check(postgres, table, column, is_text));
    }
}

/// The error names the thread and the position; pages end before the damage, and go on behind it.
async fn named(place: Place) {
    let held = held(place).await;
    held.place.flip("entries", "body", false);
    let keep = held.place.open();
    let first = keep.messages(held.thread, Page::first()).await.expect("a page");
    assert_eq!(first.items.iter().map(|message| message.text().expect("text")).collect::<Vec<_>>(), ["before"]);
    let next = Page::after(first.next.expect("there is more"));
    let error = keep.messages(held.thread, next).await.expect_err("damaged").to_string();
    assert!(error.contains(&format!("entry 2 of thread {}", held.thread)), "{error}");
    let last = keep.messages(held.fork, Page::first().newest_first()).await.expect("a page");
    assert_eq!(last.items.first().map(|message| message.text().expect("text")), Some("the end".into()));
    let history = keep.history(held.thread, Position(0), 100).await.expect("what lies before it");
    assert_eq!(history.len(), 1);
    assert_eq!(keep.history(held.thread, Position(2), 1).await.expect("what lies behind it")[0].version, Position(3));
    // A repair does not hide it.
    keep.repair(std::sync::Arc::new(|_, _, _| {})).await.expect("a repair");
    keep.messages(held.thread, Page::first().offset(1).limit(1)).await.expect_err("damaged");
    assert!(!keep.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a check").damage.is_empty());
}

#[test]
fn the_error_names_thread_and_position_sqlite() {
    run(named(sqlite()));
}

#[test]
fn the_error_names_thread_and_position_postgres() {
    run(named(postgres()));
}

/// Two rows that change places are noticed, though each is whole.
async fn swapped(place: Place) {
    let held = held(place).await;
    let swap =
        "UPDATE entries SET position = CASE position WHEN 5 THEN 1000001 ELSE 1000000 END WHERE position IN (5, 6)";
    held.place.sql(swap, swap);
    let back = "UPDATE entries SET position = position - 1000000 + 5 WHERE position >= 1000000";
    held.place.sql(back, back);
    let keep = held.place.open();
    for index in [4, 5] {
        let error = keep.messages(held.thread, Page::first().offset(index).limit(1)).await.expect_err("moved");
        assert!(error.to_string().contains("is not what was written"), "{error}");
    }
}

#[test]
fn rows_that_change_places_are_noticed_sqlite() {
    run(swapped(sqlite()));
}

#[test]
fn rows_that_change_places_are_noticed_postgres() {
    run(swapped(postgres()));
}

/// A segment that others link to is lost while the store is open, and had been read before.
async fn lost(place: Place) {
    let held = held(place).await;
    let keep = held.place.open();
    for thread in [held.thread, held.fork] {
        keep.messages(thread, Page::first()).await.expect("a page");
    }
    let linked = "DELETE FROM segments WHERE id IN (SELECT parent FROM segments WHERE parent IS NOT NULL)";
    held.place.sql(linked, linked);
    let report = keep.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a check");
    assert!(format!("{report:?}").contains("is missing, and others link to it"), "{report:?}");
}

#[test]
fn a_lost_segment_is_told_by_a_store_that_knew_it_sqlite() {
    run(lost(sqlite()));
}

#[test]
fn a_lost_segment_is_told_by_a_store_that_knew_it_postgres() {
    run(lost(postgres()));
}

/// Rows without a checksum, of an earlier version, are read as they are.
async fn earlier(place: Place) {
    let held = held(place).await;
    held.place.sql("UPDATE entries SET sum = NULL", "UPDATE entries SET sum = NULL");
    held.place.sql("UPDATE blob_chunks SET sum = NULL", "UPDATE blob_chunks SET sum = NULL");
    let keep = held.place.open();
    assert!(reads(&keep, &held).await.iter().all(|(_, answer)| answer.is_ok()));
    assert!(keep.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a check").is_healthy());
}

#[test]
fn rows_of_an_earlier_version_are_read_as_they_are_sqlite() {
    run(earlier(sqlite()));
}

#[test]
fn rows_of_an_earlier_version_are_read_as_they_are_postgres() {
    run(earlier(postgres()));
}

/// A backup has everything but the damaged data, which it names; so has the store that it is restored to.
async fn backed_up(place: fn() -> Place, table: &str, column: &str, is_text: bool, lost: &[&str]) {
    let held = held(place()).await;
    held.place.flip(table, column, is_text);
    let keep = held.place.open();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("backup.db");
    let quiet = || std::sync::Arc::new(|_: &str, _: u64, _: Option<u64>| {});
    let taken = threadkeep::backup(&keep, &file, quiet()).await.expect("a backup");
    let at = format!("{table}.{column}");
    assert_eq!(taken.lost.count as usize, lost.len(), "{at}: {:?}", taken.lost);
    assert!(taken.lost.what.iter().all(|what| what.contains("is not what was written")), "{at}: {:?}", taken.lost);
    for says in lost {
        assert!(taken.lost.what.iter().any(|what| what.contains(says)), "{at}: {says}: {:?}", taken.lost);
    }
    let restored = threadkeep::open("memory:").expect("a store");
    let report = threadkeep::restore(&restored, &file, folder.path(), quiet()).await.expect("a restore");
    assert_eq!((report.hash, report.threads), (taken.hash, taken.threads));
    let fine = restored.messages(held.fine, Page::first()).await.expect("a page");
    assert_eq!(fine.items[0].text().expect("text"), "all is well");
    for thread in [held.thread, held.fork] {
        for id in &held.whole {
            restored.message(thread, *id, None).await.expect("a whole message");
        }
    }
    let shown = reads(&restored, &held).await;
    assert!(!shown.iter().any(|(_, answer)| answer.as_ref().is_ok_and(|answer| answer.contains(DAMAGED))), "{at}");
    restored.append(held.thread, MessageBody::user("and on")).await.expect("a message");
}

const LOST: [(&str, &str, bool, &[&str]); 3] = [
    // A message, three of a batch, a value, a mention, a handoff, and the two messages of the thread that it made.
    (
        "entries",
        "body",
        false,
        &[
            "entry 2 of thread",
            "entry 4 of",
            "entry 5 of",
            "entry 6 of",
            "entry 9",
            "entry 12",
            "entry 13",
            "entry 1",
            "entry 2",
        ],
    ),
    // A large message, and a file.
    ("blob_chunks", "bytes", false, &["blob", "blob"]),
    ("segments", "record", true, &["first record", "first record", "first record"]),
];

#[test]
fn a_backup_keeps_all_but_the_damage_and_names_it_sqlite() {
    for (table, column, is_text, lost) in LOST {
        run(backed_up(sqlite, table, column, is_text, lost));
    }
}

#[test]
fn a_backup_keeps_all_but_the_damage_and_names_it_postgres() {
    for (table, column, is_text, lost) in LOST {
        run(backed_up(postgres, table, column, is_text, lost));
    }
}
