use std::io::{Cursor, Write as _};

use threadkeep_transcripts::sources::chatgpt;
use threadkeep_transcripts::{Reading, Refused};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::show::check;

/// Two conversations with every kind of content, an edit, a regeneration, and nodes without messages.
pub const CONVERSATIONS: &str = r#"[{"id":"C1","conversation_id":"C1","title":"Fixing","create_time":1767261600.5,"update_time":1767261700.5,"is_archived":true,"current_node":"n6","moderation_results":[],"default_model_slug":"gpt-x","mapping":{
"root":{"id":"root","parent":null,"children":["n0"],"message":null},
"n0":{"id":"n0","parent":"root","children":["n1","n1b"],"message":{"id":"n0","author":{"role":"system"},"create_time":null,"content":{"content_type":"text","parts":[""]},"recipient":"all","metadata":{"is_visually_hidden_from_conversation":true}}},
"n1":{"id":"n1","parent":"n0","children":["n2"],"message":{"id":"n1","author":{"role":"user"},"create_time":1767261601,"content":{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer","asset_pointer":"file-service://file-ABC","size_bytes":2,"width":1,"height":1},"Draw it"]},"recipient":"all","metadata":{"attachments":[{"id":"file-ABC","name":"a.png","mime_type":"image/png"},{"id":"file-XYZ","name":"b.pdf"}]}}},
"n1b":{"id":"n1b","parent":"n0","children":[],"message":{"id":"n1b","author":{"role":"user"},"create_time":1767261600,"content":{"content_type":"text","parts":["Old words"]},"recipient":"all","metadata":{}}},
"n2":{"id":"n2","parent":"n1","children":["n3"],"message":{"id":"n2","author":{"role":"assistant"},"create_time":1767261602,"content":{"content_type":"thoughts","thoughts":[{"summary":"Plan","content":"draw"}]},"recipient":"all","metadata":{"model_slug":"gpt-x"}}},
"n3":{"id":"n3","parent":"n2","children":["n4"],"message":{"id":"n3","author":{"role":"assistant"},"create_time":1767261603,"content":{"content_type":"code","language":"json","text":"{\"prompt\":\"cat\"}"},"recipient":"dalle.text2im","metadata":{"model_slug":"gpt-x"}}},
"n4":{"id":"n4","parent":"n3","children":["n5","n6"],"message":{"id":"n4","author":{"role":"tool","name":"dalle.text2im"},"create_time":1767261604,"content":{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer","asset_pointer":"sediment://file_0001"}]},"recipient":"all","metadata":{}}},
"n5":{"id":"n5","parent":"n4","children":[],"message":{"id":"n5","author":{"role":"assistant"},"create_time":1767261605,"content":{"content_type":"text","parts":["First answer"]},"recipient":"all","metadata":{}}},
"n6":{"id":"n6","children":[],"message":{"id":"n6","author":{"role":"assistant"},"create_time":1767261606,"content":{"content_type":"text","parts":["Second answer"]},"recipient":"all","metadata":{"citations":[{"a":1}]}}}}},
{"conversation_id":"C2","title":null,"create_time":1767261600,"current_node":"z","mapping":{
"y":{"message":{"author":{"role":"user"},"content":{"content_type":"user_editable_context","user_profile":"me"},"metadata":{"is_user_system_message":true}},"children":["z"]},
"z":{"message":{"author":{"role":"assistant"},"content":{"content_type":"reasoning_recap","content":"Thought for 2 s"}}},
"w":{"message":{"author":{"role":"tool"},"content":{"content_type":"execution_output","text":"1"}},"parent":"z"},
"v":{"message":{"author":{"role":"tool"},"content":{"content_type":"tether_quote","title":"Page","text":"words"}},"parent":"w"},
"u":{"message":{"author":{"role":"tool"},"content":{"content_type":"tether_browsing_display","result":"page"}},"parent":"v"}}},
{"no":"mapping"}]"#;

pub fn all(bytes: &[u8]) -> Result<Reading, Refused> {
    let mut all = Reading::default();
    chatgpt::read(
        || Ok(Cursor::new(bytes)),
        |reading| {
            all.sessions.extend(reading.sessions);
            all.skipped.extend(reading.skipped);
        },
    )?;
    Ok(all)
}

const EXPECTED: &str = r#"
        = chatgpt C1 "Fixing" [archived]
        n1b user: "Old words"
        n1 user: file a.png image/png at file-service://file-ABC | "Draw it" | file b.pdf - at file-XYZ
        n2 < n1 assistant gpt-x: thinks "Plan: draw"
        n3 < n2 assistant gpt-x: calls dalle.text2im n3 {"prompt":"cat"}
        n4 < n3 tool: answers n3 [file - - at sediment://file_0001] +tool
        n5 < n4 assistant: "First answer"
        n6 < n4 assistant: "Second answer" +metadata
        active: n6
        = chatgpt C2
        y user scaffolding: raw {"content_type":"user_editable_context","user_profile":"me"}
        z < y assistant: thinks "Thought for 2 s"
        w < z tool: answers z ["1"]
        v < w tool: answers w ["Page" | "words"]
        u < v tool: answers v ["page"]
        active: z
        skipped conversations.json conversation 3: an object without a mapping"#;

#[test]
fn conversations_are_trees_and_the_current_node_is_active() {
    check(&all(CONVERSATIONS.as_bytes()).expect("conversations"), EXPECTED);
    assert!(all(b"[]").is_err());
    assert!(all(b"").is_err());
}

/// An archive of files.
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, SimpleFileOptions::default()).expect("a new entry");
        zip.write_all(bytes).expect("memory takes it");
    }
    zip.finish().expect("the end").into_inner()
}

#[test]
fn an_archive_brings_its_attachments() {
    let bytes = archive(&[
        ("user.json", b"{}"),
        ("../../etc/file-ABC-a.png", b"hi"),
        ("dalle-generations/file_0001-x.webp", b"cat"),
        ("conversations.json", CONVERSATIONS.as_bytes()),
    ]);
    let expected = EXPECTED
        .replace("file a.png image/png at file-service://file-ABC", "file a.png image/png 2 bytes")
        .replace("file - - at sediment://file_0001", "file file_0001-x.webp image/webp 3 bytes");
    check(&all(&bytes).expect("an archive"), &expected);
}

#[test]
fn shards_are_read_in_order() {
    let one = |id: &str| format!(r#"[{{"id":"{id}","mapping":{{}}}}]"#);
    let (first, second) = (one("A"), one("B"));
    let bytes = archive(&[("conversations-001.json", second.as_bytes()), ("conversations-000.json", first.as_bytes())]);
    check(&all(&bytes).expect("an archive"), "= chatgpt A\nactive: none\n= chatgpt B\nactive: none");
    assert!(all(&archive(&[("chat.html", b"x")])).expect_err("no conversations").to_string().contains("holds no"));
}

#[test]
fn bombs_and_links_are_refused() {
    let mut huge = br#"[{"id":"A","mapping":{}},"#.to_vec();
    huge.resize(40 << 20, b' ');
    let bomb = archive(&[("conversations.json", &huge)]);
    assert!(bomb.len() < 100_000);
    assert!(all(&bomb).expect_err("a bomb").to_string().contains("would unpack to more than"));

    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.add_symlink("file-ABC.png", "/etc/passwd", SimpleFileOptions::default()).expect("a link");
    zip.start_file("conversations.json", SimpleFileOptions::default()).expect("a new entry");
    zip.write_all(CONVERSATIONS.as_bytes()).expect("memory takes it");
    let bytes = zip.finish().expect("the end").into_inner();
    let reading = all(&bytes).expect("an archive");
    assert_eq!(reading.skipped.named[0].reason, "a link or an encrypted file");
    assert!(reading.sessions[0].messages.iter().all(|it| !format!("{it:?}").contains("Bytes")));
}
