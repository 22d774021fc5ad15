//! Values over HTTP: compared by their own version, kept to the letter, listed in pages.

use serde_json::json;

use crate::files::Files;
use crate::support::Server;

#[test]
fn values_are_compared_and_set() {
    let server = Server::start();
    let files = Files::new(&server);
    let key = |key: &str| format!("{}/kv/{key}", files.at);
    let missing = files.client.get(&key("k"));
    assert_eq!(missing.ok(200), json!({ "key": "k", "value": null, "version": 0 }), "missing is null, and no error");
    assert_eq!(missing.header("etag"), Some("\"0\""));
    let put = |headers: &str, body: &str| files.client.send("PUT", &key("k"), headers, Some(body));
    let first = put("If-None-Match: *\r\n", r#"{"z": 1.0, "a": [null]}"#);
    assert_eq!(first.ok(200)["version"], 2);
    assert!(first.body.contains(r#""value":{"z": 1.0, "a": [null]}"#), "to the letter: {first:?}");
    assert_eq!(first.header("etag"), Some("\"2\""));
    put("If-None-Match: *\r\n", "2").refused(412, "version_conflict");
    assert_eq!(put("If-Match: \"0\"\r\n", "2").refused(412, "version_conflict")["currentVersion"], 2);
    files.client.say(files.at.rsplit('/').next().expect("an id"), "the thread moves, the value does not");
    assert_eq!(put("If-Match: \"2\"\r\n", "2").ok(200)["version"], 4);
    put("If-Match: \"2\"\r\n", "3").refused(412, "version_conflict");
    for odd in
        ["If-Match: *\r\n", "If-Match: 2\r\n", "If-None-Match: \"2\"\r\n", "If-Match: \"2\"\r\nIf-None-Match: *\r\n"]
    {
        put(odd, "3").refused(400, "invalid_parameter");
    }
    assert_eq!(files.client.get(&format!("{}?asOf=2", key("k"))).ok(200)["value"], json!({ "z": 1.0, "a": [null] }));
    for (body, status, code) in [
        ("", 400, "invalid_body"),
        ("{", 400, "invalid_body"),
        ("NaN", 400, "invalid_body"),
        (r#"{"a":1,"a":2}"#, 400, "invalid_body"),
        (&format!("\"{}\"", "x".repeat(1 << 20)), 413, "too_large"),
        (&format!("{}{}", "[".repeat(200), "]".repeat(200)), 400, "json_too_deep"),
    ] {
        put("", body).refused(status, code);
    }
    assert_eq!(files.client.get(&key("k")).ok(200)["value"], 2, "what is refused leaves the old value");
    assert_eq!(put("", "null").ok(200), json!({ "key": "k", "value": null, "version": 0 }), "null takes it away");
    assert_eq!(files.client.delete(&key("k")).ok(200), json!({ "deleted": false }));
    for odd in ["a%2Fb", "%2E%2E", "a%20b%3Fc", "stream", "%E2%9C%93", &"x".repeat(512)] {
        files.client.put(&key(odd), json!(odd)).ok(200);
        assert_eq!(files.client.get(&key(odd)).ok(200)["value"], odd);
    }
    for odd in [&"x".repeat(513), "%00", "%ff"] {
        assert_eq!(files.client.get(&key(odd)).status, 400, "{odd}");
    }
    let listed = |query: &str| files.client.get(&format!("{}/kv?{query}", files.at)).ok(200);
    assert_eq!(listed("")["items"].as_array().map(Vec::len), Some(6));
    assert_eq!(listed("prefix=a")["items"].as_array().map(Vec::len), Some(2));
    let page = listed("limit=4");
    let cursor = page["nextCursor"].as_str().expect("more");
    assert_eq!(
        listed(&format!("limit=4&cursor={}", cursor.replace(' ', "%20").replace('?', "%3F")))["items"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    assert_eq!(files.client.get(&format!("{}/kv?cursor=x", files.at)).status, 400);
    assert_eq!(files.client.delete(&key("stream")).ok(200), json!({ "deleted": true }));
}
