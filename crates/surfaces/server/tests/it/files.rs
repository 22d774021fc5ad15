//! Files and values over HTTP: ranges, conditions, tricks with paths, searches that mean harm, limits.

use serde_json::{Value, json};

use crate::support::{Client, Reply, Server, raw};

/// A thread's files, as `client` sees them.
pub struct Files {
    pub client: Client,
    address: String,
    pub at: String,
}

impl Files {
    pub fn new(server: &Server) -> Self {
        let client = server.admin();
        let thread = client.thread(&["a"]);
        Self { client, address: server.address().to_owned(), at: format!("/v1/threads/{thread}") }
    }

    fn path(&self, rest: &str) -> String {
        format!("{}/files{rest}", self.at)
    }

    fn get(&self, rest: &str) -> Reply {
        self.client.get(&self.path(rest))
    }

    fn get_with(&self, rest: &str, headers: &str) -> Reply {
        self.client.send("GET", &self.path(rest), headers, None)
    }

    /// Writes bytes, with these headers.
    fn put_with(&self, rest: &str, headers: &str, content: &[u8]) -> Reply {
        let key = self.client.key.as_ref().expect("a key");
        let head = format!(
            "PUT {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n{headers}Content-Length: {}\r\n\r\n",
            self.path(rest),
            self.address,
            content.len()
        );
        raw(&self.address, &[head.as_bytes(), content].concat())
    }

    #[track_caller]
    fn put(&self, rest: &str, content: &str) -> Value {
        let reply = self.put_with(rest, "Content-Type: text/plain\r\n", content.as_bytes());
        assert!(matches!(reply.status, 200 | 201), "{reply:?}");
        reply.json()
    }
}

#[test]
fn a_file_is_written_read_and_kept_in_every_version() {
    let server = Server::start();
    let files = Files::new(&server);
    let metadata = "Content-Type: text/markdown; charset=utf-8\r\nThreadkeep-Metadata: {\"by\":\"me\"}\r\n";
    let first = files.put_with("/notes/plan.md", metadata, "# Plan\n".as_bytes());
    let record = first.ok(201);
    assert_eq!(first.header("etag"), Some("\"2\""), "the version of the thread");
    for (name, value) in [
        ("path", json!("/notes/plan.md")),
        ("name", json!("plan.md")),
        ("mimeType", json!("text/markdown; charset=utf-8")),
        ("size", json!(7)),
        ("isDirectory", json!(false)),
        ("metadata", json!({ "by": "me" })),
        ("version", json!(2)),
    ] {
        assert_eq!(record[name], value, "{record}");
    }
    assert!(
        record.get("storage").is_none() && record["hash"].as_str().is_some_and(|hash| hash.len() == 64),
        "{record}"
    );
    let second = files.put_with("/notes/plan.md", "If-Match: \"2\"\r\n", b"# Plan\n\nDone.\n");
    assert_eq!(second.ok(200)["createdAt"], record["createdAt"]);
    assert_eq!(second.json()["mimeType"], "text/markdown", "guessed");
    let late = files.put_with("/notes/plan.md", "If-Match: \"2\"\r\n", b"late");
    assert_eq!(late.refused(412, "version_conflict")["currentVersion"], 3);

    files.put_with("/notes/plan.md", "If-None-Match: *\r\n", b"new?").refused(412, "version_conflict");
    files.put_with("/notes", "If-None-Match: *\r\n", b"new?").refused(412, "version_conflict");

    let read = files.get("/notes/plan.md");
    assert_eq!((read.status, read.body.as_str()), (200, "# Plan\n\nDone.\n"));
    assert_eq!(read.header("content-type"), Some("text/markdown"));
    assert_eq!(files.get("/notes/plan.md?version=2").body, "# Plan\n");
    assert_eq!(files.get("/notes/plan.md?asOf=2").body, "# Plan\n");
    files.get("/notes/plan.md?version=1").refused(404, "file_not_found");
    files.get("/notes/plan.md?asOf=1").refused(404, "file_not_found");
    files.get("/notes/plan.md?asOf=99").refused(400, "version_in_future");
    files.get("/notes/plan.md?asOf=2&version=2").refused(400, "invalid_parameter");
    files.get("/other.md").refused(404, "file_not_found");
    files.get("/notes").refused(409, "is_a_directory");

    let versions = files.get("/notes/plan.md?versions").ok(200);
    let told: Vec<_> =
        versions["items"].as_array().expect("items").iter().map(|item| item["version"].clone()).collect();
    assert_eq!(told, [3, 2]);
    let page = files.get("/notes/plan.md?versions&limit=1").ok(200);
    let next = page["nextCursor"].as_str().expect("more");
    assert_eq!(files.get(&format!("/notes/plan.md?versions&limit=1&cursor={next}")).ok(200)["items"][0]["version"], 2);
    let diff = files.get("/notes/plan.md?diff=2");
    assert_eq!(diff.header("content-type"), Some("text/x-diff; charset=utf-8"));
    assert!(diff.body.starts_with("--- a/notes/plan.md\n+++ b/notes/plan.md\n"), "{diff:?}");
    assert!(diff.body.contains("+Done."), "{diff:?}");
    assert_eq!(files.get("/notes/plan.md?stat").ok(200)["version"], 3);
    assert_eq!(files.get("/notes/plan.md?stat&asOf=2").ok(200)["version"], 2);
    files.get("/notes/plan.md?stat&list").refused(400, "invalid_parameter");
    files.get("/notes/plan.md?colour=red").refused(400, "invalid_parameter");

    let summary = files.client.get("/v1/threads").ok(200);
    let stats = json!({
        "files": { "added": 1, "changed": 1, "removed": 0 },
        "lines": { "added": 3, "changed": 0, "removed": 0 },
    });
    assert_eq!(summary["items"][0]["diffStats"], stats);

    let back = json!({ "artifactVersion": { "path": "/notes/plan.md", "version": 2 } });
    files.client.post(&format!("{}/rollback", files.at), back).ok(200);
    assert_eq!(files.get("/notes/plan.md").body, "# Plan\n");
    assert_eq!(files.client.shows(files.at.rsplit('/').next().expect("an id")), "a", "everything else stays");
    let both = json!({ "version": 1, "artifactVersion": { "path": "/notes/plan.md", "version": 2 } });
    files.client.post(&format!("{}/rollback", files.at), both).refused(400, "invalid_body");
    assert_eq!(files.client.delete(&files.path("/notes/plan.md")).ok(200), json!({ "deleted": true }));
    assert_eq!(files.client.delete(&files.path("/notes/plan.md")).ok(200), json!({ "deleted": false }));
    assert_eq!(files.get("/notes/plan.md?versions").ok(200)["items"][0]["deleted"], true);
}

#[test]
fn parts_of_a_file_are_read_and_what_a_client_has_is_not_sent_again() {
    let server = Server::start();
    let files = Files::new(&server);
    let text: String = (0..300_000).map(|n| format!("{n:07}\n")).collect();
    files.put("/large.txt", &text);
    let whole = files.get("/large.txt");
    assert!(whole.status == 200 && whole.body == text, "piece by piece, and whole");
    assert_eq!(whole.header("content-length"), Some("2400000"));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let tag = whole.header("etag").expect("a tag").to_owned();
    let head = files.client.send("HEAD", &files.path("/large.txt"), "", None);
    let same = |name: &str| assert_eq!(head.header(name), whole.header(name), "{name}");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    ["content-length", "content-type", "etag", "accept-ranges", "content-security-policy"]
        .iter()
        .for_each(|name| same(name));
    for (range, bytes) in [
        ("bytes=0-0", 0..1),
        ("bytes=8-15", 8..16),
        ("bytes=1048570-1048585", 1_048_570..1_048_586),
        ("bytes=500000-1999999", 500_000..2_000_000),
        ("bytes=2399990-", 2_399_990..2_400_000),
        ("bytes=-10", 2_399_990..2_400_000),
        ("bytes=2399999-9999999999", 2_399_999..2_400_000),
    ] {
        let part = files.get_with("/large.txt", &format!("Range: {range}\r\n"));
        assert!(part.status == 206 && part.body == text[bytes.clone()], "{range}: {} {}", part.status, part.body.len());
        let said = format!("bytes {}-{}/2400000", bytes.start, bytes.end - 1);
        assert_eq!(part.header("content-range"), Some(said.as_str()), "{range}");
        assert_eq!(part.header("content-length"), Some(bytes.len().to_string().as_str()), "{range}");
    }
    for range in ["bytes=0-1,5-6", "bytes=5-1", "lines=1-2", "bytes=x"] {
        assert_eq!(files.get_with("/large.txt", &format!("Range: {range}\r\n")).status, 200, "{range}");
    }
    for range in ["bytes=2400000-", "bytes=-0", "bytes=99999999999999999999999-"] {
        let beyond = files.get_with("/large.txt", &format!("Range: {range}\r\n"));
        beyond.refused(416, "range_not_satisfiable");
        assert_eq!(beyond.header("content-range"), Some("bytes */2400000"), "{range}");
    }
    let again = files.get_with("/large.txt", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((again.status, again.body.as_str(), again.header("etag")), (304, "", Some(tag.as_str())));
    assert_eq!(files.get_with("/large.txt", "If-None-Match: \"other\"\r\n").status, 200);
    let part = |known: &str| files.get_with("/large.txt", &format!("Range: bytes=0-1\r\nIf-Range: {known}\r\n")).status;
    assert_eq!((part(&tag), part("\"other\"")), (206, 200));
    files.put_with("/empty", "If-None-Match: *\r\n", b"").ok(201);
    assert_eq!((files.get("/empty").status, files.get("/empty").body.as_str()), (200, ""));
    files.get_with("/empty", "Range: bytes=0-\r\n").refused(416, "range_not_satisfiable");
    assert_eq!(files.get_with("/empty", "Accept: image/png\r\n").status, 200, "a file is what it is");
}

#[test]
fn what_is_stored_does_not_run_in_a_browser() {
    let server = Server::start();
    let files = Files::new(&server);
    files.put_with("/page.html", "Content-Type: text/html\r\n", b"<script>alert(1)</script>").ok(201);
    let page = files.get("/page.html");
    assert_eq!(page.header("content-type"), Some("text/html"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("content-security-policy"), Some("default-src 'none'; sandbox"));
    assert_eq!(page.header("content-disposition"), Some("attachment; filename*=UTF-8''page.html"));
    assert_eq!(page.header("cache-control"), Some("private, no-cache"));
    files.put_with("/odd%22%0Aname", "", b"x").refused(400, "invalid_parameter");
    files.put_with("/a%22;b", "", b"x").ok(201);
    assert_eq!(files.get("/a%22;b").header("content-disposition"), Some("inline; filename*=UTF-8''a%22%3Bb"));
}

#[test]
fn no_path_leads_out_of_its_thread() {
    let server = Server::start();
    let (files, other) = (Files::new(&server), Files::new(&server));
    other.put("/secret.txt", "secret");
    let foreign = other.path("/secret.txt");
    let foreign = foreign.strip_prefix("/v1/threads/").expect("a path");
    for path in [
        "/..".to_owned(),
        "/../..".to_owned(),
        "/%2e%2e/%2e%2e/x".to_owned(),
        "/%2E%2E%2F%2E%2E%2Fx".to_owned(),
        "/a/../../x".to_owned(),
        format!("/../../{foreign}"),
        format!("/%2e%2e/%2e%2e/{foreign}"),
        "/..%2f..%2f..%2f..%2fetc/passwd".to_owned(),
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            files.client.send(method, &files.path(&path), "", None).refused(400, "path_escapes_root");
        }
        let query = format!("/a?moveTo={}", path.trim_start_matches('/').replace('%', "%25"));
        let moved = files.client.send("POST", &files.path(&query), "", None);
        assert!(matches!(moved.status, 400 | 404), "{path}: {moved:?}");
    }
    let long = format!("/{}", "x".repeat(256));
    let deep = "/abc".repeat(300);
    for path in ["/a%00b", "/a%0Ab", "/%ff%fe", "/%C0%AE%C0%AE/x", long.as_str(), deep.as_str()] {
        files.get(path).refused(400, "invalid_parameter");
        files.put_with(path, "", b"x").refused(400, "invalid_parameter");
    }
    files.get(&format!("/{}", "x/".repeat(5_000))).refused(414, "too_large");
    // An unusual spelling names the same file, and no other.
    files.put("/a/b.txt", "here");
    for path in ["/a/b.txt", "//a///b.txt", "/a/b.txt/", "/a%2Fb.txt", "/./a/./b.txt", "/x/../a/b.txt", "/%61/b.txt"] {
        assert_eq!(files.get(path).body, "here", "{path}");
    }
    // Names that mean something elsewhere are names like others here.
    for name in
        ["/stream", "/ws", "/..foo", "/etc/passwd", "/C:%5Cx", "/~root", "/a%3Fb", "/ä ß".replace(' ', "%20").as_str()]
    {
        let name = name.replace('ä', "%C3%A4").replace('ß', "%C3%9F");
        assert_eq!(files.put(&name, &name)["isDirectory"], false, "{name}");
        assert_eq!(files.get(&name).body, name);
    }
    files.client.get(&files.path("/")).refused(404, "route_not_found");
    assert_eq!(other.get("/secret.txt").body, "secret");
    assert_eq!(files.get("/secret.txt").refused(404, "file_not_found")["field"], Value::Null);
}

#[test]
fn a_tree_is_made_listed_moved_and_counted() {
    let server = Server::start();
    let files = Files::new(&server);
    for (path, text) in [("/src/main.rs", "fn main() {}\n"), ("/src/lib/a.rs", "// A\n"), ("/README.md", "Read\n")] {
        files.put(path, text);
    }
    let post = |rest: &str| files.client.send("POST", &files.path(rest), "", None);
    assert_eq!(post("/empty?mkdir").ok(201)["isDirectory"], true);
    assert_eq!(post("/empty?mkdir=true").ok(200)["path"], "/empty");
    post("/README.md?mkdir").refused(409, "not_a_directory");
    post("/README.md").refused(400, "invalid_parameter");
    post("/README.md?mkdir&moveTo=/x").refused(400, "invalid_parameter");
    let names = |listed: Value| -> Vec<String> {
        let entries = listed["entries"].as_array().expect("entries").iter();
        entries.map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(files.get("?list").ok(200)), ["empty", "src", "README.md"]);
    assert_eq!(names(files.get("/src?list").ok(200)), ["lib", "main.rs"]);
    assert_eq!(names(files.get("/nowhere?list").ok(200)), Vec::<String>::new());
    files.get("/README.md?list").refused(409, "not_a_directory");
    assert_eq!(files.get("?stats").ok(200), json!({ "fileCount": 3, "directoryCount": 3, "totalSize": 23 }));
    assert_eq!(files.get("?stats&below=/src").ok(200)["fileCount"], 2);

    // Pages show the state at which the first one was read.
    let first = files.get("?limit=2").ok(200);
    files.put("/aaa", "new");
    let cursor = first["nextCursor"].as_str().expect("more").replace('/', "%2F");
    let second = files.get(&format!("?limit=10&cursor={cursor}")).ok(200);
    let paths = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().expect("items").iter();
        items.map(|item| item["path"].as_str().expect("a path").to_owned()).collect()
    };
    assert_eq!([paths(&first), paths(&second)].concat(), ["/README.md", "/empty", "/src/lib/a.rs", "/src/main.rs"]);
    assert_eq!(second["nextCursor"], Value::Null);
    for cursor in ["x", "1", "1.", "-1./a", "99./../..", ".", "%00"] {
        let refused = files.get(&format!("?cursor={cursor}"));
        assert_eq!(refused.status, 400, "{cursor}: {refused:?}");
    }
    files.get("?limit=0").refused(400, "invalid_parameter");
    files.get("?limit=1001").refused(400, "invalid_parameter");

    assert_eq!(post("/src?moveTo=/code").ok(200), json!({ "path": "/code", "files": 2 }));
    assert_eq!(files.get("/code/lib/a.rs").body, "// A\n");
    files.get("/src/main.rs").refused(404, "file_not_found");
    post("/src?moveTo=/x").refused(404, "file_not_found");
    post("/code?moveTo=/code/inside").refused(400, "invalid_parameter");
    let remove = |rest: &str| files.client.delete(&files.path(rest));
    remove("/code?rmdir").refused(409, "directory_not_empty");
    remove("/code").refused(409, "is_a_directory");
    remove("/README.md?rmdir").refused(409, "not_a_directory");
    assert_eq!(remove("/empty?rmdir").ok(200)["deleted"], true);
    assert_eq!(remove("/empty?rmdir").ok(200)["deleted"], false);
    assert_eq!(files.put_with("/code", "", b"x").refused(409, "is_a_directory")["status"], 409);
    files.put_with("/README.md/below", "", b"x").refused(409, "not_a_directory");
}

#[test]
fn files_are_found_by_name_and_by_line_and_hostile_patterns_are_refused_in_words() {
    let server = Server::start();
    let files = Files::new(&server);
    files.put("/a.rs", "fn main() {\n    // TODO: (a)\n}\n");
    files.put("/docs/b.md", "todo later\nTODO now\n");
    let grepped = |query: &str| -> Vec<String> {
        let found = files.get(&format!("?{query}")).ok(200);
        let files = found["files"].as_array().expect("files").iter();
        files
            .flat_map(|file| {
                let path = file["path"].as_str().expect("a path").to_owned();
                let matches = file["matches"].as_array().expect("matches").iter();
                matches.map(move |found| format!("{path}:{}:{}", found["line"], found["column"])).collect::<Vec<_>>()
            })
            .collect()
    };
    assert_eq!(grepped("grep=TODO"), ["/a.rs:2:8", "/docs/b.md:2:1"]);
    assert_eq!(grepped("grep=(a)"), ["/a.rs:2:14"], "the text itself");
    assert_eq!(grepped("grep=(a)&regex=true"), ["/a.rs:1:5", "/a.rs:2:15", "/docs/b.md:1:7"]);
    assert_eq!(grepped("grep=todo&ignoreCase=true&glob=**/*.md"), ["/docs/b.md:1:1", "/docs/b.md:2:1"]);
    assert_eq!(grepped("grep=TODO&ignoreCase=smart").len(), 2);
    assert_eq!(grepped("grep=todo&ignoreCase=smart").len(), 3);
    assert_eq!(grepped("grep=nothing"), Vec::<String>::new());
    assert_eq!(files.get("?grep=o&limit=1").ok(200)["truncated"], true);
    assert_eq!(grepped("grep=TODO&asOf=2"), ["/a.rs:2:8"]);
    assert_eq!(files.get("?find=**/*.md").ok(200), json!({ "paths": ["/docs/b.md"], "truncated": false }));
    for (query, code) in [
        ("grep=", "invalid_parameter"),
        ("grep=(&regex=true", "invalid_parameter"),
        ("grep=(a%7B1000%7D)%7B1000%7D&regex=true", "invalid_parameter"),
        ("grep=x&regex=maybe", "invalid_parameter"),
        ("grep=x&ignoreCase=maybe", "invalid_parameter"),
        ("grep=x&find=y", "invalid_parameter"),
        ("grep=x&limit=0", "invalid_parameter"),
        ("grep=x&limit=100001", "invalid_parameter"),
        ("grep=x&glob=%5B", "invalid_parameter"),
        ("regex=true", "invalid_parameter"),
        ("find=%7Ba,%7Ba,%7Ba,%7Ba,%7Ba,%7Ba,%7Ba,%7Ba,%7Ba,b%7D%7D%7D%7D%7D%7D%7D%7D%7D", "invalid_parameter"),
        ("find=x&below=/a", "invalid_parameter"),
        ("list&below=/../x", "path_escapes_root"),
    ] {
        files.get(&format!("?{query}")).refused(400, code);
    }
    files.get(&format!("?grep={}", "x".repeat(5_000))).refused(400, "invalid_parameter");
    // Patterns that take other engines for ever.
    files.put("/evil.txt", &"a".repeat(100_000));
    let begun = std::time::Instant::now();
    assert_eq!(grepped("grep=(a%2B)%2B%24b&regex=true"), Vec::<String>::new());
    assert_eq!(files.get(&format!("?find={}b", "*a".repeat(100))).ok(200)["paths"], json!([]));
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn files_have_bounds_and_uploads_are_read_no_further() {
    let server = Server::with_limits(threadkeep::Limits {
        file_bytes_max: 40 << 20,
        files_bytes_max: 50 << 20,
        ..threadkeep::Limits::default()
    });
    let files = Files::new(&server);
    // More than a body of JSON may have.
    let large = vec![b'x'; 33 << 20];
    assert_eq!(files.put_with("/large", "", &large).ok(201)["size"], 33 << 20);
    files.put_with("/large", "", &large).refused(413, "quota_exceeded");
    let head = |headers: &str| {
        let key = files.client.key.as_ref().expect("a key");
        let head = format!(
            "PUT {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n{headers}\r\n",
            files.path("/x"),
            files.address
        );
        head.into_bytes()
    };
    raw(&files.address, &head("Content-Length: 99999999999\r\n")).refused(413, "too_large");
    let chunk = [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b'y'; 1 << 20], b"\r\n".to_vec()].concat();
    let endless = [head("Transfer-Encoding: chunked\r\n"), chunk.repeat(41), b"0\r\n\r\n".to_vec()].concat();
    raw(&files.address, &endless).refused(413, "too_large");
    let chunked = [head("Transfer-Encoding: chunked\r\n"), b"5\r\nhello\r\n0\r\n\r\n".to_vec()].concat();
    assert_eq!(raw(&files.address, &chunked).ok(201)["size"], 5, "without a length it is taken as it comes");
    files.put_with("/x", "Content-Encoding: gzip\r\n", b"x").refused(415, "unsupported_media_type");
    files.put_with("/x", "Threadkeep-Metadata: [1]\r\n", b"x").refused(400, "invalid_body");
    files.put_with("/x", "Threadkeep-Metadata: {\r\n", b"x").refused(400, "invalid_body");
    let half = [head("Content-Length: 10\r\n"), b"half".to_vec()].concat();
    let mut socket = crate::support::connect(&files.address);
    std::io::Write::write_all(&mut socket, &half).expect("it is sent");
    drop(socket);
    assert_eq!(files.get("/x").body, "hello", "half a file is none");
}

#[test]
fn a_picture_is_shown_small_and_other_files_are_not() {
    let server = Server::start();
    let files = Files::new(&server);
    // One white pixel.
    let png = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0cIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\x0d\xefF\xb8\x00\x00\x00\x00IEND\xaeB`\x82";
    let record = files.put_with("/dot.png", "", png).ok(201);
    assert_eq!((&record["width"], &record["height"], &record["mimeType"]), (&json!(1), &json!(1), &json!("image/png")));
    let small = files.get("/dot.png?thumbnail=64");
    assert!(
        small.status == 200 && small.header("content-type").is_some_and(|kind| kind.starts_with("image/")),
        "{small:?}"
    );
    files.put("/a.txt", "no picture");
    files.get("/a.txt?thumbnail").refused(404, "no_thumbnail");
    for edge in ["0", "2049", "x", "-1"] {
        files.get(&format!("/dot.png?thumbnail={edge}")).refused(400, "invalid_parameter");
    }
    assert_eq!(files.put_with("/drawing.svg?width=3&height=4", "", b"<svg/>").ok(201)["height"], 4);
}

#[test]
fn files_and_values_of_a_public_thread_are_read_by_visitors_and_changed_by_nobody_else() {
    let server = Server::start();
    let files = Files::new(&server);
    files.put("/a.txt", "public");
    files.client.put(&format!("{}/kv/k", files.at), json!(1)).ok(200);
    let (stranger, nobody) = (server.keyed("bob", "write").0, server.anonymous());
    let reads =
        [files.path("/a.txt"), files.path("?list"), files.path("/a.txt?versions"), format!("{}/kv/k", files.at)];
    for path in &reads {
        stranger.get(path).refused(404, "thread_not_found");
        nobody.get(path).refused(401, "unauthorized");
    }
    files.client.patch(&files.at, json!({ "visibility": "public" })).ok(200);
    for path in &reads {
        for client in [&stranger, &nobody] {
            assert_eq!(client.get(path).status, 200, "{path}");
        }
    }
    assert_eq!(nobody.get(&files.path("/a.txt?versions")).ok(200)["items"][0]["actor"]["name"], "");
    stranger.send("PUT", &files.path("/a.txt"), "", None).refused(404, "thread_not_found");
    stranger.delete(&format!("{}/kv/k", files.at)).refused(404, "thread_not_found");
    nobody.delete(&files.path("/a.txt")).refused(401, "unauthorized");
    files.client.patch(&files.at, json!({ "visibility": "private" })).ok(200);
    stranger.get(&files.path("/a.txt")).refused(404, "thread_not_found");
}

#[test]
fn a_lease_guards_files_and_values_too() {
    let server = Server::start();
    let files = Files::new(&server);
    let lease = files.client.post(&format!("{}/writer", files.at), json!({ "ttl": 60_000 })).ok(201);
    let token = format!("Threadkeep-Writer: {}\r\n", lease["token"].as_str().expect("a token"));
    files.put_with("/a", "", b"x").refused(409, "writer_held");
    files.put_with("/a", &token, b"x").ok(201);
    files.client.send("POST", &files.path("/d?mkdir"), "", None).refused(409, "writer_held");
    files.client.delete(&files.path("/a")).refused(409, "writer_held");
    let value = format!("{}/kv/k", files.at);
    files.client.put(&value, json!(1)).refused(409, "writer_held");
    files.client.send("PUT", &value, &token, Some("1")).ok(200);
    files.client.delete(&value).refused(409, "writer_held");
}

#[test]
fn a_thumbnail_can_come_with_its_file() {
    let server = Server::start();
    let ann = server.admin();
    let file = format!("/v1/threads/{}/files/clip.mp4", ann.thread(&[]));
    ann.send("PUT", &file, "Threadkeep-Thumbnail: c21hbGw=\r\n", Some("film")).ok(201);
    let small = ann.get(&format!("{file}?thumbnail"));
    assert_eq!((small.status, small.body.as_str()), (200, "small"));
    let refused = ann.send("PUT", &file, "Threadkeep-Thumbnail: no picture\r\n", Some("film"));
    assert_eq!(refused.refused(400, "invalid_parameter")["field"], "Threadkeep-Thumbnail");
    ann.put(&file, serde_json::json!("new")).ok(200);
    ann.get(&format!("{file}?thumbnail")).refused(404, "no_thumbnail");
}
