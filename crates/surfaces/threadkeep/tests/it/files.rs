//! Files: written, read, found and moved; every version stays; forks and rollbacks see the right one and copy nothing.

use threadkeep::{
    At, Case, DeleteFile, FilePath, Files, Find, Fork, Grep, List, MakeDirectory, MessageBody, MoveFile, NewFile, Over,
    Position, RemoveDirectory, Rollback, RollbackTo, ThreadId, Truncate, TruncateFrom, WriteFiles,
};

use crate::{Keep, on_every_store};

on_every_store!(
    what_was_written_is_read_and_every_version_stays,
    directories_are_made_implied_listed_and_removed_when_empty,
    a_path_holds_a_file_or_a_directory_and_never_both,
    several_files_are_written_together_or_not_at_all,
    a_file_or_a_directory_is_moved_with_all_that_is_below,
    forks_and_rollbacks_see_their_own_versions,
    one_file_goes_back_alone,
    a_truncation_leaves_files_and_undo_keeps_what_was_written,
    files_are_found_by_name_and_by_line,
    what_a_thread_did_to_its_files_is_counted,
    a_thread_writes_no_more_than_its_quota,
    files_survive_doctor_rebuild_and_the_deletion_of_their_origin,
    pictures_have_sizes_and_small_ones,
    content_that_comes_bit_by_bit_is_a_file_like_any_other,
);

fn path(text: &str) -> FilePath {
    text.parse().expect("a path")
}

fn file(at: &str, content: &str) -> NewFile {
    NewFile::new(at, content.to_owned()).expect("a file")
}

async fn put(keep: &Keep, thread: ThreadId, at: &str, content: &str) -> Position {
    keep.engine.write_file(thread, file(at, content)).await.expect("a file").version.expect("a version")
}

async fn get(keep: &Keep, thread: ThreadId, at: &str, as_of: Option<Position>) -> Option<String> {
    let read = keep.engine.read_file(thread, &path(at), as_of).await.expect("a read");
    read.map(|bytes| String::from_utf8(bytes.to_vec()).expect("text"))
}

/// Everything a thread holds, as `path=content`.
async fn holds(keep: &Keep, thread: ThreadId, as_of: Option<Position>) -> String {
    let (files, _) = keep.engine.files(thread, Files { as_of, ..Files::default() }).await.expect("files");
    let mut told = Vec::new();
    for record in files {
        told.push(match record.file() {
            Some(file) => {
                let content = keep.engine.file_content(file, None).await.expect("content");
                format!("{}={}", record.path, String::from_utf8_lossy(&content))
            }
            None => format!("{}/", record.path),
        });
    }
    told.join(" ")
}

async fn readdir(keep: &Keep, thread: ThreadId, at: &str) -> String {
    let found = keep.engine.readdir(thread, &path(at), None).await.expect("a directory");
    let name = |record: &threadkeep::FileRecord| {
        format!("{}{}", record.path.name(), if record.is_directory() { "/" } else { "" })
    };
    found.iter().map(name).collect::<Vec<_>>().join(" ")
}

async fn what_was_written_is_read_and_every_version_stays(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let first = put(&keep, thread, "notes//a.md", "one\n").await;
    let second = put(&keep, thread, "/notes/a.md", "two\n").await;
    assert_eq!((first, second), (Position(2), Position(3)));
    assert_eq!(get(&keep, thread, "/notes/./a.md", None).await.as_deref(), Some("two\n"));
    assert_eq!(get(&keep, thread, "/notes/a.md", Some(first)).await.as_deref(), Some("one\n"));
    assert_eq!(get(&keep, thread, "/notes/a.md", Some(Position(1))).await, None);
    assert_eq!(get(&keep, thread, "/none", None).await, None);
    put(&keep, thread, "/empty", "").await;
    assert_eq!(get(&keep, thread, "/empty", None).await.as_deref(), Some(""), "an empty file is not a missing one");
    let said =
        NewFile { metadata: Some(threadkeep::Json::parse("m", r#"{"by": 1.0}"#).expect("json")), ..file("/meta", "x") };
    keep.engine.write_file(thread, said).await.expect("a file");
    let record = keep.engine.stat(thread, &path("/meta"), None).await.expect("a read").expect("a file");
    assert_eq!(record.metadata().expect("metadata").as_str(), r#"{"by": 1.0}"#);
    keep.engine.delete_file(thread, DeleteFile { path: path("/meta") }).await.expect("gone");
    let record = keep.engine.stat(thread, &path("/notes/a.md"), None).await.expect("a read").expect("a file");
    assert_eq!((record.size(), record.version), (4, Some(second)));
    assert_eq!(record.file().expect("a file").mime_type, "text/markdown");
    assert!(record.created < record.updated, "it came to be with its first version");
    let delete = |at: &str| DeleteFile { path: path(at) };
    assert!(keep.engine.delete_file(thread, delete("/notes/a.md")).await.expect("a deletion"));
    assert!(!keep.engine.delete_file(thread, delete("/notes/a.md")).await.expect("no error"), "it was gone");
    assert_eq!(get(&keep, thread, "/notes/a.md", None).await, None);
    let versions = keep.engine.file_versions(thread, &path("/notes/a.md"), None, None).await.expect("versions");
    let told: Vec<_> = versions.iter().map(|version| (version.version.0, version.record.is_some())).collect();
    assert_eq!(told, [(7, false), (3, true), (2, true)]);
    assert!(versions.iter().all(|version| version.actor.name == keep.engine.caller().actor.name));
    let diff = keep.engine.file_diff(thread, &path("/notes/a.md"), first, Some(second)).await.expect("a difference");
    assert_eq!(diff, "--- a/notes/a.md\n+++ b/notes/a.md\n@@ -1 +1 @@\n-one\n+two\n");
}

async fn directories_are_made_implied_listed_and_removed_when_empty(keep: Keep) {
    let thread = keep.thread(&[]).await;
    for at in ["/b/c/d.txt", "/a.txt", "/b/x.txt", "/b.txt", "/b/c/e/f.txt"] {
        put(&keep, thread, at, at).await;
    }
    let make = |at: &str| MakeDirectory { path: path(at) };
    assert!(keep.engine.make_directory(thread, make("/z/deep")).await.expect("a directory"));
    assert!(!keep.engine.make_directory(thread, make("/z/deep")).await.expect("no error"));
    assert_eq!(readdir(&keep, thread, "/").await, "b/ z/ a.txt b.txt");
    assert_eq!(readdir(&keep, thread, "/b").await, "c/ x.txt");
    assert_eq!(readdir(&keep, thread, "/b/c").await, "e/ d.txt");
    assert_eq!(
        (readdir(&keep, thread, "/z/deep").await, readdir(&keep, thread, "/none").await),
        (String::new(), String::new())
    );
    let remove = async |at: &str| keep.engine.remove_directory(thread, RemoveDirectory { path: path(at) }).await;
    assert_eq!(remove("/b").await.expect_err("not empty").code(), "directory_not_empty");
    assert_eq!(remove("/a.txt").await.expect_err("a file").code(), "not_a_directory");
    assert_eq!(remove("/").await.expect_err("the root").code(), "invalid_parameter");
    assert!(remove("/z/deep").await.expect("it was there") && !remove("/z/deep").await.expect("it was not"));
    assert_eq!(readdir(&keep, thread, "/").await, "b/ a.txt b.txt");
    let stats = keep.engine.file_stats(thread, &FilePath::root(), None).await.expect("stats");
    assert_eq!((stats.file_count, stats.directory_count, stats.total_size), (5, 3, 10 + 6 + 8 + 6 + 12));
}

async fn a_path_holds_a_file_or_a_directory_and_never_both(keep: Keep) {
    let thread = keep.thread(&[]).await;
    put(&keep, thread, "/a/b.txt", "x").await;
    let refused = async |at: &str| keep.engine.write_file(thread, file(at, "y")).await.expect_err("refused").code();
    assert_eq!(refused("/a").await, "is_a_directory");
    assert_eq!(refused("/").await, "is_a_directory");
    assert_eq!(refused("/a/b.txt/c").await, "not_a_directory");
    assert_eq!(refused("/a/b.txt/c/d").await, "not_a_directory");
    let make = async |at: &str| keep.engine.make_directory(thread, MakeDirectory { path: path(at) }).await;
    assert_eq!(make("/a/b.txt").await.expect_err("a file").code(), "not_a_directory");
    assert_eq!(make("/a/b.txt/c").await.expect_err("below a file").code(), "not_a_directory");
    let delete = keep.engine.delete_file(thread, DeleteFile { path: path("/a") }).await;
    assert_eq!(delete.expect_err("a directory").code(), "is_a_directory");
    assert_eq!(
        keep.engine.readdir(thread, &path("/a/b.txt"), None).await.expect_err("a file").code(),
        "not_a_directory"
    );
    assert_eq!(keep.engine.file(thread, &path("/a"), None).await.expect_err("a directory").code(), "is_a_directory");
    assert_eq!("/a/../..".parse::<FilePath>().expect_err("outside").code.as_str(), "path_escapes_root");
    keep.engine.delete_file(thread, DeleteFile { path: path("/a/b.txt") }).await.expect("gone");
    put(&keep, thread, "/a", "now a file").await;
    assert_eq!(holds(&keep, thread, None).await, "/a=now a file");
}

async fn several_files_are_written_together_or_not_at_all(keep: Keep) {
    let thread = keep.thread(&[]).await;
    put(&keep, thread, "/in/the/way", "x").await;
    let write = async |names: &[&str]| {
        let files = names.iter().map(|at| file(at, at)).collect();
        keep.engine.write_files(thread, WriteFiles { files, over: Over::Anything }).await
    };
    assert_eq!(write(&["/one", "/in/the/way/two"]).await.expect_err("blocked").code(), "not_a_directory");
    assert_eq!(write(&["/one", "/one/two"]).await.expect_err("blocked by the other").code(), "not_a_directory");
    assert_eq!(write(&["/one", "//one"]).await.expect_err("twice").code(), "invalid_body");
    assert_eq!(write(&[]).await.expect_err("none").code(), "invalid_body");
    assert_eq!(holds(&keep, thread, None).await, "/in/the/way=x");
    let written = write(&["/one", "/two/three"]).await.expect("files");
    assert_eq!(written.iter().map(|record| record.version).collect::<Vec<_>>(), [Some(Position(2)); 2], "one entry");
    let stale = At::of(thread).expecting(Position(1));
    assert_eq!(keep.engine.write_files(stale, file("/one", "y")).await.expect_err("stale").code(), "version_conflict");
    for taken in ["/one", "/two"] {
        let new = WriteFiles { over: Over::Nothing, ..file(taken, "y").into() };
        let refused = keep.engine.write_files(thread, new).await.expect_err("it is not new");
        assert_eq!(refused.code(), "version_conflict", "{refused}");
    }
    let new = WriteFiles { over: Over::Nothing, ..file("/new", "n").into() };
    keep.engine.write_files(thread, new).await.expect("it is new");
    assert_eq!(holds(&keep, thread, None).await, "/in/the/way=x /new=n /one=/one /two/three=/two/three");
}

async fn a_file_or_a_directory_is_moved_with_all_that_is_below(keep: Keep) {
    let thread = keep.thread(&[]).await;
    for at in ["/src/a.rs", "/src/deep/b.rs", "/src.rs", "/other"] {
        put(&keep, thread, at, at).await;
    }
    let go =
        async |from: &str, to: &str| keep.engine.move_file(thread, MoveFile { from: path(from), to: path(to) }).await;
    assert_eq!(go("/src", "/lib/new").await.expect("moved"), 2);
    assert_eq!(
        holds(&keep, thread, None).await,
        "/lib/new/a.rs=/src/a.rs /lib/new/deep/b.rs=/src/deep/b.rs /other=/other /src.rs=/src.rs"
    );
    assert_eq!(go("/src.rs", "/other").await.expect("over a file"), 1);
    assert_eq!(get(&keep, thread, "/other", None).await.as_deref(), Some("/src.rs"));
    for (from, to, code) in [
        ("/none", "/x", "file_not_found"),
        ("/other", "/lib", "is_a_directory"),
        ("/lib", "/other", "is_a_directory"),
        ("/lib", "/lib/new/inside", "invalid_parameter"),
        ("/other", "/other/x", "invalid_parameter"),
        ("/lib", "/other/x", "not_a_directory"),
        ("/", "/x", "invalid_parameter"),
    ] {
        assert_eq!(go(from, to).await.expect_err("refused").code(), code, "{from} to {to}");
    }
}

async fn forks_and_rollbacks_see_their_own_versions(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    put(&keep, thread, "/f", "1").await;
    keep.engine.append(thread, MessageBody::user("b")).await.expect("an append");
    put(&keep, thread, "/f", "2").await;
    put(&keep, thread, "/g", "2").await;
    let fork = keep.engine.fork(thread, Fork::at_index(1)).await.expect("a fork").id;
    assert_eq!(holds(&keep, fork, None).await, "/f=1", "files as at the message");
    let whole = keep.engine.fork(thread, Fork::default()).await.expect("a fork").id;
    assert_eq!(holds(&keep, whole, None).await, "/f=2 /g=2");
    put(&keep, fork, "/f", "fork").await;
    put(&keep, thread, "/h", "3").await;
    assert_eq!(holds(&keep, fork, None).await, "/f=fork");
    assert_eq!(holds(&keep, whole, None).await, "/f=2 /g=2");
    let version = keep.engine.thread(thread).await.expect("a thread").head.version;
    keep.engine.rollback(thread, RollbackTo::Version(Position(3))).await.expect("a rollback");
    assert_eq!(holds(&keep, thread, None).await, "/f=1");
    assert_eq!(holds(&keep, thread, Some(version)).await, "/f=2 /g=2 /h=3", "what was undone is readable");
    put(&keep, thread, "/g", "again").await;
    assert_eq!(holds(&keep, thread, None).await, "/f=1 /g=again");
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("undo");
    assert_eq!(holds(&keep, thread, None).await, "/f=2 /g=2 /h=3");
    let grandchild = keep.engine.fork(fork, Fork::default()).await.expect("a fork").id;
    assert_eq!(holds(&keep, grandchild, None).await, "/f=fork");
}

async fn one_file_goes_back_alone(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let first = put(&keep, thread, "/f", "1\n").await;
    put(&keep, thread, "/g", "1\n").await;
    put(&keep, thread, "/f", "2\n").await;
    let to = |at: &str, version| RollbackTo::ArtifactVersion(threadkeep::ArtifactVersion { path: path(at), version });
    let back = keep.engine.rollback(thread, to("/f", first)).await.expect("back");
    assert_eq!(holds(&keep, thread, None).await, "/f=1\n /g=1\n");
    assert_eq!(back.head.version, Position(4), "it is one more change");
    keep.engine.rollback(thread, to("/g", first)).await.expect("back to nothing");
    assert_eq!(holds(&keep, thread, None).await, "/f=1\n");
    assert_eq!(keep.engine.rollback(thread, to("/x", first)).await.expect_err("never").code(), "file_not_found");
    let future = Rollback::from(to("/f", Position(99)));
    assert_eq!(keep.engine.rollback(thread, future).await.expect_err("never").code(), "version_in_future");
}

async fn a_truncation_leaves_files_and_undo_keeps_what_was_written(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    put(&keep, thread, "/f", "12345").await;
    let all = Truncate { from: TruncateFrom::Index(0) };
    keep.engine.truncate(thread, all).await.expect("a truncation");
    assert_eq!(holds(&keep, thread, None).await, "/f=12345");
    keep.engine.rollback(thread, RollbackTo::Version(Position(2))).await.expect("a rollback");
    assert_eq!(holds(&keep, thread, None).await, "");
    let written = keep.engine.thread(thread).await.expect("a thread").head.tally.work.written;
    assert_eq!(written, 5, "a rollback does not give the quota back");
    let fork = keep.engine.fork(thread, Fork::default()).await.expect("a fork");
    assert_eq!(fork.head.tally.work.written, 0, "a fork has one of its own");
}

async fn files_are_found_by_name_and_by_line(keep: Keep) {
    let thread = keep.thread(&[]).await;
    for (at, content) in [
        ("/src/main.rs", "fn main() {\n    Tokio::run();\n}\n"),
        ("/src/deep/lib.rs", "// tokio\npub fn lib() {}\r\n"),
        ("/notes.md", "the word is tokio, tokio\n"),
        ("/data.bin", "\0tokio"),
    ] {
        put(&keep, thread, at, content).await;
    }
    let before = keep.engine.thread(thread).await.expect("a thread").head.version;
    let find = async |glob: &str| {
        let (found, _) = keep.engine.find(thread, Find { glob: glob.into(), ..Find::default() }).await.expect("files");
        found.iter().map(|path| path.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(find("*.rs").await, "/src/deep/lib.rs /src/main.rs");
    assert_eq!(find("/src/*.rs").await, "/src/main.rs");
    assert_eq!(find("/src/**").await, "/src/deep/lib.rs /src/main.rs");
    assert_eq!(find("none").await, "");
    let bad = keep.engine.find(thread, Find { glob: "[a".into(), ..Find::default() }).await;
    assert_eq!(bad.expect_err("no glob").code(), "invalid_parameter");
    let grep = async |grep: Grep| {
        let found = keep.engine.grep(thread, grep).await.expect("a search");
        let line = |path: &FilePath, found: &threadkeep::calls::LineMatch| {
            format!("{path}:{}:{} {}", found.line, found.column, found.text)
        };
        let lines = found.files.iter().flat_map(|file| file.matches.iter().map(|found| line(&file.path, found)));
        (lines.collect::<Vec<_>>(), found.truncated)
    };
    let (lines, _) = grep(Grep::literal("tokio")).await;
    assert_eq!(lines, ["/notes.md:1:13 the word is tokio, tokio", "/src/deep/lib.rs:1:4 // tokio"]);
    let (lines, _) = grep(Grep { case: Case::Ignore, glob: Some("*.rs".into()), ..Grep::literal("tokio") }).await;
    assert_eq!(lines, ["/src/deep/lib.rs:1:4 // tokio", "/src/main.rs:2:5     Tokio::run();"]);
    let (lines, _) = grep(Grep::regex(r"fn \w+\(\) \{\}$")).await;
    assert_eq!(lines, ["/src/deep/lib.rs:2:5 pub fn lib() {}"]);
    let (lines, truncated) = grep(Grep { limit: Some(1), ..Grep::literal("tokio") }).await;
    assert_eq!((lines.len(), truncated), (1, true));
    let (lines, truncated) = grep(Grep { limit: Some(9), ..Grep::literal("tokio") }).await;
    assert_eq!((lines.len(), truncated), (2, false), "there is nothing more");
    put(&keep, thread, "/notes.md", "nothing\n").await;
    let (lines, _) = grep(Grep { as_of: Some(before), ..Grep::literal("word") }).await;
    assert_eq!(lines.len(), 1, "as of a version");
    assert_eq!(grep(Grep::literal("word")).await.0.len(), 0);
    let refused = keep.engine.grep(thread, Grep::regex("(")).await;
    assert_eq!(refused.expect_err("no pattern").code(), "invalid_parameter");
}

async fn what_a_thread_did_to_its_files_is_counted(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    put(&keep, thread, "/f", "a\nb\nc\n").await;
    put(&keep, thread, "/f", "a\nB\nc\nd\n").await;
    put(&keep, thread, "/f", "a\nB\nc\nd\n").await;
    put(&keep, thread, "/g", "x\n").await;
    keep.engine.delete_file(thread, DeleteFile { path: path("/g") }).await.expect("gone");
    put(&keep, thread, "/bin", "\0\n\n").await;
    put(&keep, thread, "/over", "y\ny\n").await;
    put(&keep, thread, "/from", "z\n").await;
    let moving = MoveFile { from: path("/from"), to: path("/over") };
    keep.engine.move_file(thread, moving).await.expect("a move");
    let rows = keep.engine.list(List::default()).await.expect("a list");
    let stats = rows.items[0].diff_stats;
    let told = |changed: threadkeep::Changed| (changed.added, changed.changed, changed.removed);
    assert_eq!((told(stats.files), told(stats.lines)), ((5, 1, 2), (8, 1, 3)), "what is moved over is gone");
    keep.engine.rollback(thread, RollbackTo::Version(Position(2))).await.expect("a rollback");
    let rows = keep.engine.list(List::default()).await.expect("a list");
    assert_eq!(told(rows.items[0].diff_stats.files), (1, 0, 0), "counts go back too");
}

async fn a_thread_writes_no_more_than_its_quota(keep: Keep) {
    let limits = threadkeep::Limits { files_bytes_max: 10, file_bytes_max: 8, ..*keep.engine.limits() };
    let keep = Keep { engine: keep.engine.with_limits(limits), ..keep };
    let thread = keep.thread(&[]).await;
    put(&keep, thread, "/f", "1234567").await;
    let over = keep.engine.write_file(thread, file("/g", "1234")).await;
    assert_eq!(over.expect_err("above the quota").code(), "quota_exceeded");
    let large = keep.engine.write_file(thread, file("/g", "123456789")).await;
    assert_eq!(large.expect_err("too large").code(), "too_large");
    put(&keep, thread, "/g", "123").await;
    assert_eq!(holds(&keep, thread, None).await, "/f=1234567 /g=123");
}

async fn files_survive_doctor_rebuild_and_the_deletion_of_their_origin(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let metadata = threadkeep::Json::parse("metadata", r#"{"b": 1.0,"a":[null]}"#).expect("json");
    let kept = NewFile { metadata: Some(metadata.clone()), ..file("/f", "kept") };
    keep.engine.write_file(thread, kept).await.expect("a file");
    let fork = keep.engine.fork(thread, Fork::default()).await.expect("a fork").id;
    put(&keep, thread, "/g", "gone").await;
    keep.engine.delete(thread, Default::default()).await.expect("a deletion");
    let quiet = || std::sync::Arc::new(|_: &str, _: u64, _: Option<u64>| {});
    keep.engine.gc(false, quiet()).await.expect("freed");
    assert_eq!(holds(&keep, fork, None).await, "/f=kept");
    keep.engine.repair(quiet()).await.expect("rebuilt");
    assert_eq!(holds(&keep, fork, None).await, "/f=kept");
    let record = keep.engine.stat(fork, &path("/f"), None).await.expect("a read").expect("a file");
    assert_eq!(record.metadata(), Some(&metadata), "to the letter");
    let report = keep.engine.doctor(quiet()).await.expect("a report");
    assert!(report.is_healthy(), "{report:?}");
}

async fn pictures_have_sizes_and_small_ones(keep: Keep) {
    let thread = keep.thread(&[]).await;
    // The smallest PNG: one pixel.
    let png: &[u8] = &[
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00,
        0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1f, 0x15, 0xc4, 0x89, 0x00, 0x00, 0x00,
        0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xf0, 0x1f, 0x00, 0x05, 0x00, 0x01, 0xff,
        0x89, 0x99, 0x3d, 0x1d, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
    ];
    let new = NewFile::new("/p.png", png).expect("a file");
    let record = keep.engine.write_file(thread, new).await.expect("a picture");
    let cell = record.file().expect("a file");
    assert_eq!((cell.width, cell.height, cell.mime_type.as_str()), (Some(1), Some(1), "image/png"));
    let (bytes, media) = keep.engine.thumbnail(&record, None).await.expect("a small picture");
    assert!(!bytes.is_empty() && media.starts_with("image/"), "{media}");
    let given = NewFile { thumbnail: Some(png.into()), ..file("/text", "words") };
    let record = keep.engine.write_file(thread, given).await.expect("a file");
    assert_eq!(&keep.engine.thumbnail(&record, None).await.expect("the one that was given").0[..], png);
    let record = keep.engine.write_file(thread, file("/t.png", "no picture")).await.expect("a file");
    assert_eq!(keep.engine.thumbnail(&record, None).await.expect_err("no picture").code(), "no_thumbnail");
}

#[test]
fn searches_and_small_pictures_need_no_runtime_of_the_program() {
    for keep in [Keep::memory(), Keep::sqlite()] {
        let thread = crate::live::wait(keep.thread(&[]));
        for n in 0..300 {
            crate::live::wait(put(&keep, thread, &format!("/{n}"), &format!("word {n}\n")));
        }
        let found = crate::live::wait(keep.engine.grep(thread, Grep::literal("word 29"))).expect("a search");
        let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["/29", "/290", "/291", "/292", "/293", "/294", "/295", "/296", "/297", "/298", "/299"]);
        let record = crate::live::wait(keep.engine.stat(thread, &path("/1"), None)).expect("a read").expect("a file");
        let none = crate::live::wait(keep.engine.thumbnail(&record, None));
        assert_eq!(none.expect_err("no picture").code(), "no_thumbnail");
    }
}

async fn content_that_comes_bit_by_bit_is_a_file_like_any_other(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let text = "ein Stück Schnee ☃\n".repeat(150_000);
    for size in [0, 100, text.len()] {
        let mut upload = keep.engine.upload();
        for some in text.as_bytes()[..size].chunks(99_999) {
            upload.write(some).await.expect("it is taken");
        }
        let content = upload.finish().await.expect("content");
        let new = NewFile::new(&format!("/{size}"), content).expect("a file");
        let written = keep.engine.write_file(thread, new).await.expect("a file");
        let record = written.file().expect("a file");
        assert_eq!((record.size, record.mime_type.as_str()), (size as u64, "text/plain"));
        let read = keep.engine.read_file(thread, &path(&format!("/{size}")), None).await.expect("a read");
        assert!(read.is_some_and(|bytes| bytes == text.as_bytes()[..size]), "{size} bytes");
        let part = keep.engine.file_content(record, Some(1_048_570..1_048_590)).await.expect("a part");
        assert_eq!(part.len(), if size > 1_048_590 { 20 } else { 0 });
    }
    // The same again, in one piece and bit by bit; then one that is given up, and one that is refused.
    let large = format!("/{}", text.len());
    put(&keep, thread, "/same", &text).await;
    let uploaded = async || {
        let mut upload = keep.engine.upload();
        upload.write(text.as_bytes()).await.expect("it is taken");
        upload
    };
    drop(uploaded().await);
    let new = NewFile::new(&large, uploaded().await.finish().await.expect("content")).expect("a file");
    let write = WriteFiles { files: vec![new], over: Over::Nothing };
    assert_eq!(keep.engine.write_files(thread, write).await.expect_err("taken").code(), "version_conflict");
    assert_eq!(get(&keep, thread, &large, None).await.as_ref(), Some(&text));
    assert_eq!(get(&keep, thread, "/same", None).await.as_ref(), Some(&text));
}
