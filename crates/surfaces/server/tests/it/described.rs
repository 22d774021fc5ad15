//! The server's description of itself: the OpenAPI document, its golden file, and the pages.

use serde_json::Value;

use crate::support::Server;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../spec/openapi.json");

#[test]
fn the_document_is_the_golden_file() {
    let server = Server::start();
    let served = server.anonymous().get("/openapi.json");
    served.ok(200);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(GOLDEN, &served.body).expect("the golden file is written");
    }
    let golden = std::fs::read_to_string(GOLDEN).expect("the golden file");
    assert!(
        served.body == golden,
        "spec/openapi.json is not what the routes say; BLESS=1 cargo test -p threadkeep-server described"
    );
}

#[test]
fn everything_a_document_refers_to_is_there_and_every_body_has_an_example() {
    let server = Server::start();
    let document = server.anonymous().get("/openapi.json").ok(200);
    let mut seen = 0;
    look(&document, &mut |value| {
        if let Some(to) = value["$ref"].as_str() {
            seen += 1;
            assert!(document.pointer(to.trim_start_matches('#')).is_some(), "{to}");
        }
        if let Some(body) = value.pointer("/requestBody/content/application~1json") {
            assert!(body["example"].is_object(), "{value}");
        }
    });
    assert!(seen > 500, "{seen}");
    let ids: Vec<_> = operations(&document).map(|operation| operation["operationId"].to_string()).collect();
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(ids.len(), distinct.len(), "{ids:?}");
}

fn operations(document: &Value) -> impl Iterator<Item = &Value> {
    let paths = document["paths"].as_object().expect("paths").values();
    paths.flat_map(|path| path.as_object().expect("methods").values())
}

fn look(value: &Value, at: &mut impl FnMut(&Value)) {
    at(value);
    match value {
        Value::Object(fields) => fields.values().for_each(|value| look(value, at)),
        Value::Array(items) => items.iter().for_each(|value| look(value, at)),
        _ => {}
    }
}

#[test]
fn the_pages_need_nothing_from_elsewhere_and_their_links_lead_somewhere() {
    let server = Server::start();
    let client = server.anonymous();
    let html = "Accept: text/html,application/xhtml+xml\r\n";
    let front = client.send("GET", "/", html, None);
    assert_eq!((front.status, front.header("location")), (303, Some("/sign-in")));
    let index = client.get("/docs").body;
    let mut pages = vec!["/docs".to_owned(), "/docs/errors".to_owned()];
    let mut read = 0;
    while let Some(path) = pages.get(read).cloned() {
        read += 1;
        let page = client.send("GET", &path, html, None);
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        assert!(page.header("content-security-policy").is_some_and(|policy| policy.starts_with("default-src 'none'")));
        let own = page.body.replace(&format!("http://{}", server.address()), "");
        for foreign in ["<script", "src=", "url(", "@import", "<link", "http://", "https://"] {
            assert!(!own.contains(foreign), "{path} has {foreign}");
        }
        for link in page.body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let (to, place) = link.split_once('#').unwrap_or((link, ""));
            let there = if to.is_empty() { &page.body } else { &index };
            assert!(to.is_empty() || place.is_empty() || to == "/docs", "{path}: {link}");
            assert!(place.is_empty() || there.contains(&format!("id=\"{place}\"")), "{path}: {link}");
            let is_page = !to.is_empty() && !["/openapi.json", "/llms.txt"].contains(&to);
            if is_page && !pages.iter().any(|page| page == to) {
                pages.push(to.to_owned());
            }
        }
        let tag = page.header("etag").expect("a tag");
        assert_eq!(client.send("GET", &path, &format!("If-None-Match: {tag}\r\n"), None).status, 304, "{path}");
    }
    let reference: String = pages.iter().map(|page| client.get(page).body).collect();
    let document = client.get("/openapi.json").ok(200);
    for operation in operations(&document) {
        let id = operation["operationId"].as_str().expect("a name");
        assert_eq!(reference.matches(&format!("<article id=\"{id}\">")).count(), 1, "{id}");
    }
    assert!(read > 60, "a page for each code: {read}");
    client.get("/docs/errors/no_such_code").refused(404, "route_not_found");
}

#[test]
fn the_type_of_a_problem_leads_to_its_page() {
    let server = Server::start();
    let problem = server.admin().get("/v1/threads/T-00000000-0000-4000-8000-000000000000");
    let problem = problem.refused(404, "thread_not_found");
    let page = server.anonymous().get(problem["type"].as_str().expect("a path"));
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<h1><code>thread_not_found</code></h1>"), "{}", page.body);
    let unknown = server.anonymous().get("/v1/nowhere").refused(404, "route_not_found");
    assert_eq!(unknown["hint"], "/docs lists the paths");
}
