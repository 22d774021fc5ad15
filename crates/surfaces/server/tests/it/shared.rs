//! Several servers on one PostgreSQL store: all serve the same threads, keys and news.

use serde_json::json;

use crate::support::Server;

#[test]
fn two_servers_on_one_store_share_threads_streams_and_keys() {
    let schema = threadkeep_throwaway::schema();
    let (one, two) = (Server::on_store(&schema.url()), Server::on_store(&schema.url()));
    let (ann, id) = one.keyed("ann", "write");
    let elsewhere = two.with_key(ann.key.as_deref().expect("a key"));
    let thread = ann.thread(&["a"]);
    let mut stream = elsewhere.stream(&format!("/v1/threads/{thread}/stream"), "");
    let mut many = elsewhere.stream(&format!("/v1/stream?threads={thread}&after=latest"), "");
    assert_eq!(stream.next().expect("an event").data["data"]["content"], "a");
    ann.say(&thread, "b");
    for stream in [&mut stream, &mut many] {
        assert_eq!(stream.next().expect("an event").data["data"]["content"], "b");
    }
    let (bob, _) = two.keyed("bob", "write");
    bob.get(&format!("/v1/threads/{thread}")).refused(404, "thread_not_found");
    ann.patch(&format!("/v1/threads/{thread}"), json!({ "visibility": "public" })).ok(200);
    let fork = bob.post(&format!("/v1/threads/{thread}/fork"), json!({})).ok(201);
    assert_eq!(bob.shows(fork["id"].as_str().expect("an id")), "a b");
    elsewhere.post("/v1/projects", json!({ "id": "p", "name": "P" })).ok(201);
    assert_eq!(ann.get("/v1/projects/p").ok(200)["name"], "P");
    assert_eq!(stream.next().expect("an event").kind, "thread_changed");
    one.admin().delete(&format!("/v1/keys/{id}")).ok(200);
    assert_eq!(stream.next(), None, "a key that is revoked there ends streams here");
}
