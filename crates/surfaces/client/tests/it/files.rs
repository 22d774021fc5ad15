//! Files and values: every route has a method, and its answer can be read.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use threadkeep_client::calls::{Create, DeleteValue, GetValue, ListValues, SetValue};
use threadkeep_client::model::{FilePath, Json, Position, ValueKey};
use threadkeep_client::{At, BoxError, FileAt, GrepFiles, ListFiles, NewFile};

use crate::support::{Server, run};

fn path(text: &str) -> FilePath {
    text.parse().expect("a path")
}

/// Some bytes, and then a failure.
struct Broken(Option<Bytes>);

impl Body for Broken {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(Some(self.0.take().map(Frame::data).ok_or_else(|| "cannot be read".into())))
    }
}

#[test]
fn a_file_is_sent_as_it_comes() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let thread = client.call(At::none(), Create::new()).await.expect("a thread").id;
        let content: Vec<u8> = (0..5 << 20).map(|number: u32| (number % 253) as u8).collect();
        let body = Full::new(Bytes::from(content.clone())).map_err(|never| match never {}).boxed_unsync();
        let new = NewFile::poured(path("/large"), body);
        let record = client.write_file(thread, new).await.expect("a file");
        assert_eq!(record.size, content.len() as u64);
        assert!(client.read_file(thread, &path("/large"), FileAt::Now).await.expect("content") == content);
        let broken = Broken(Some(content.into())).boxed_unsync();
        let refused = client.write_file(thread, NewFile::poured(path("/half"), broken)).await.expect_err("half a file");
        assert_eq!(refused.code(), "fate_unknown");
        let half = client.read_file(thread, &path("/half"), FileAt::Now).await;
        assert_eq!(half.expect_err("nothing there").code(), "file_not_found");
    });
}

#[test]
fn files_are_written_read_and_searched() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let thread = client.call(At::none(), Create::new()).await.expect("a thread").id;
        let metadata = Json::parse("metadata", "{\"größe\": \"🦀\",\n\"n\": 1.0}").expect("json");
        let odd = path("/a b/ü?#%2e/c.txt");
        let new = NewFile { metadata: Some(metadata), ..NewFile::new(odd.clone(), "one\ntwo\n") };
        let record = client.write_file(thread, new).await.expect("a file");
        assert_eq!((&record.path, record.size, record.version), (&odd, 8, Some(Position(1))));
        assert_eq!(record.metadata.expect("metadata").to_value()["größe"], "🦀");
        let late = client.expecting(Position(0)).write_file(thread, NewFile::new(odd.clone(), "late")).await;
        assert_eq!(late.expect_err("another version").code(), "version_conflict");
        client.write_file(thread, NewFile::new(odd.clone(), "one\nthree\n")).await.expect("a version");

        assert_eq!(client.read_file(thread, &odd, FileAt::Now).await.expect("content"), "one\nthree\n");
        assert_eq!(client.read_file(thread, &odd, FileAt::Version(Position(1))).await.expect("content"), "one\ntwo\n");
        assert_eq!(client.stat(thread, &odd, FileAt::AsOf(Position(1))).await.expect("a record").size, 8);
        let missing = client.read_file(thread, &path("/nowhere"), FileAt::Now).await;
        assert_eq!(missing.expect_err("nothing there").code(), "file_not_found");
        let mut part = client.open_file(thread, &odd, FileAt::Now, Some(4..9)).await.expect("a part");
        assert_eq!((part.size, part.mime_type.as_deref()), (Some(5), Some("text/plain")));
        assert_eq!(part.next().await.expect("bytes").expect("some"), "three");
        assert_eq!(part.next().await.expect("the end"), None);

        let names = client.readdir(thread, &FilePath::root(), None).await.expect("a directory");
        assert_eq!(names.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["a b"]);
        let below = ListFiles { below: Some(path("/a b")), limit: Some(1), ..Default::default() };
        assert_eq!(client.files(thread, &below).await.expect("a page").items[0].path, odd);
        assert_eq!(client.file_stats(thread, None, None).await.expect("stats").directory_count, 2);
        let found = client.find_files(thread, "**/*.txt", None, None).await.expect("paths").paths;
        assert_eq!(found, std::slice::from_ref(&odd));
        let grep = GrepFiles { pattern: "THREE".into(), ignore_case: true, ..Default::default() };
        assert_eq!(client.grep_files(thread, &grep).await.expect("lines").files[0].matches[0].line, 2);
        let grep = GrepFiles { pattern: "^t.*e$".into(), regex: true, as_of: Some(Position(1)), ..Default::default() };
        assert!(client.grep_files(thread, &grep).await.expect("lines").files.is_empty());
        let page = client.file_versions(thread, &odd, Some(1), None).await.expect("versions");
        let next = client.file_versions(thread, &odd, Some(1), page.next_cursor.as_deref()).await.expect("versions");
        assert_eq!((page.items[0].version, next.items[0].version), (Position(2), Position(1)));
        let diff = client.file_diff(thread, &odd, Position(1), None).await.expect("a difference");
        assert!(diff.contains("-two\n+three\n"), "{diff}");
        let refused = client.thumbnail(thread, &odd, FileAt::Now, Some(16)).await.expect_err("no picture");
        assert_eq!(refused.code(), "no_thumbnail");

        assert!(client.make_directory(thread, &path("/d")).await.expect("a directory").is_directory);
        assert_eq!(client.move_file(thread, &path("/a b"), &path("/d/e")).await.expect("moved").files, 1);
        let refused = client.remove_directory(thread, &path("/d")).await.expect_err("something is there");
        assert_eq!(refused.code(), "directory_not_empty");
        assert!(client.delete_file(thread, &path("/d/e/ü?#%2e/c.txt")).await.expect("deleted").deleted);
        assert!(client.remove_directory(thread, &path("/d")).await.expect("removed").deleted);
    });
}

#[test]
fn values_are_set_and_compared() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let thread = client.call(At::none(), Create::new()).await.expect("a thread").id;
        let key: ValueKey = "../a b/ü".parse().expect("a key");
        let json = |text: &str| Json::parse("value", text).expect("json");
        let get = |as_of| GetValue { key: key.clone(), as_of };
        let set = |value: &str, if_version| SetValue { key: key.clone(), value: json(value), if_version };
        assert!(client.call(thread, get(None)).await.expect("a read").is_missing());
        let first = client.call(thread, set("{\"b\": 1.0}", Some(Position(0)))).await.expect("a value").version;
        // The version expected of a thread is not the one expected of a value.
        let elsewhere = client.expecting(Position(99));
        let refused = elsewhere.call(thread, set("1", Some(Position(0)))).await.expect_err("there is one");
        assert_eq!(refused.code(), "version_conflict");
        elsewhere.call(thread, set("[2]", Some(first))).await.expect("a value");
        assert_eq!(client.call(thread, get(None)).await.expect("a value").value.as_str(), "[2]");
        assert_eq!(client.call(thread, get(Some(first))).await.expect("a value").value.as_str(), "{\"b\": 1.0}");
        client.call(thread, SetValue::new("z", json("true")).expect("a key")).await.expect("a value");
        let which = ListValues { prefix: "..".into(), ..Default::default() };
        assert_eq!(client.call(thread, which).await.expect("values").items.len(), 1);
        let page = client.call(thread, ListValues { limit: Some(1), ..Default::default() }).await.expect("values");
        let rest = ListValues { cursor: page.next_cursor, ..Default::default() };
        assert_eq!(client.call(thread, rest).await.expect("values").items[0].key.as_str(), "z");
        let delete = || DeleteValue { key: key.clone(), if_version: None };
        assert!(client.call(thread, delete()).await.expect("deleted").deleted);
        assert!(!client.call(thread, delete()).await.expect("deleted").deleted);
    });
}
