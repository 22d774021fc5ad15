//! What is written is read back to the letter, and nothing else is read.

use bytes::Bytes;
use threadkeep_engine::ExportItem;
use threadkeep_model::{ActorKind, Body, Bounds, Entry, Json, Kind, MessageBody, Record, Segment};
use threadkeep_store::SegmentRow;

use super::*;
use threadkeep_calls::Problem;

fn items() -> Vec<ExportItem> {
    let thread: ThreadId = "T-5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("an id");
    let (root, branch) = (SegmentId::from_bits(1), SegmentId::from_bits(2));
    let metadata = Json::parse("metadata", "{\n  \"z\": 1.0,\r\n  \"a\": 1e2\n}").expect("json");
    let record = Record { title: Some("Größe 🦀".into()), metadata: Some(metadata), ..Record::default() };
    let link = Link { parent: root, bounds: Bounds::all(Position(3)) };
    let tally = Tally { ordinals: 1, bytes: 30, last_user: Some(Timestamp::from_micros(-1)), ..Tally::default() };
    let segment = |id, first, link, birth| Segment { id, thread, first, link, birth, created: Timestamp::default() };
    let entry = |position, body| ExportItem::Entry {
        segment: root,
        position: Position(position),
        kind: Kind::MessageAppended,
        format: 1,
        time: Timestamp::from_micros(1_800_000_000_123_456),
        account: Account::local(),
        actor: Actor { kind: ActorKind::Human, name: "local".into() },
        cause: (position == 2).then(|| "run 7".to_owned()),
        tally,
        body,
    };
    let large = Bytes::from_static(b"\x00\xff large \n");
    let message = Entry::MessageAppended(MessageBody::user("one\ntwo")).encode();
    let broken = "{\"role\":\"user\",\"content\":[\n{\"type\":\"text\",\"text\":\"\\n\"}]}";
    vec![
        ExportItem::Segment(SegmentRow {
            segment: segment(root, Position(1), None, Tally::default()),
            origin: Some((Account::local(), record.clone())),
        }),
        entry(1, Body::Inline(message)),
        entry(2, Body::Inline(Bytes::from_static(broken.as_bytes()))),
        ExportItem::Blob(BlobId::of(&large), large.clone()),
        entry(3, Body::Blob(BlobId::of(&large))),
        ExportItem::Segment(SegmentRow { segment: segment(branch, Position(4), Some(link), tally), origin: None }),
        ExportItem::Thread {
            id: thread,
            account: Account::local(),
            version: Position(3),
            segment: branch,
            era: 1,
            fence: 2,
            record,
        },
    ]
}

fn write(items: &[ExportItem]) -> String {
    let mut writer = ExportWriter::new(Vec::new()).expect("a writer");
    items.iter().for_each(|item| writer.item(item).expect("written"));
    String::from_utf8(writer.finish().expect("written")).expect("text")
}

fn read(text: &str) -> Result<Vec<ExportItem>, Problem> {
    let mut reader = ExportReader::new(text.as_bytes())?;
    let mut items = Vec::new();
    while let Some(item) = reader.next()? {
        items.push(item);
    }
    Ok(items)
}

#[test]
fn what_is_written_is_read_back_to_the_letter() {
    let text = write(&items());
    assert_eq!(text.lines().count(), items().len() + 2, "one line an item:\n{text}");
    assert_eq!(read(&text).expect("items"), items());
    assert_eq!(write(&read(&text).expect("items")), text);
}

#[test]
fn an_export_looks_like_this() {
    let text = write(&items()[1..2]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], r#"{"threadkeep":"export","version":1}"#);
    assert_eq!(
        lines[1],
        concat!(
            r#"{"entry":{"segment":"0000000000000001","position":1,"kind":"message_appended","format":1,"#,
            r#""time":"2027-01-15T08:00:00.123456Z","account":"local","actor":{"type":"human","name":"local"},"#,
            r#""tally":{"ordinals":1,"inserted":0,"deleted":0,"lastChange":0,"steps":0,"bytes":30,"#,
            r#""lastUser":"1969-12-31T23:59:59.999999Z"},"body":{"role":"user","content":"one\ntwo"}}}"#
        )
    );
    assert_eq!(lines[2], r#"{"end":{"items":1}}"#);
}

#[test]
fn a_cut_off_export_is_noticed_wherever_it_was_cut() {
    let text = write(&items());
    for cut in 1..text.len() - 1 {
        let Some(part) = text.get(..cut) else { continue };
        read(part).expect_err("a cut-off export");
    }
}

#[test]
fn another_version_is_refused_and_both_are_named() {
    let text = write(&items()).replacen("\"version\":1", "\"version\":7,\"new\":true", 1);
    let problem = read(&text).expect_err("another version");
    assert!(problem.detail.contains("version 7") && problem.detail.contains("version 1"), "{}", problem.detail);
}

#[test]
fn hostile_lines_are_refused_with_their_number() {
    let [header, end] = [r#"{"threadkeep":"export","version":1}"#, r#"{"end":{"items":1}}"#];
    let entry = |rest: &str| {
        format!(
            r#"{{"entry":{{"segment":"0000000000000001","kind":"truncated","format":1,"account":"local","time":"2027-01-15T08:00:00Z","actor":{{"type":"human","name":"x"}},{rest}}}}}"#
        )
    };
    assert!(read(&format!("{header}\n{}\n{end}\n", entry(r#""position":1,"body":{}"#))).is_ok());
    for line in [
        entry(r#""position":9223372036854775808,"body":{}"#),
        entry(r#""position":-1,"body":{}"#),
        entry(r#""position":1,"body":{},"blob":"00""#),
        entry(r#""position":1,"body":{},"colour":"red""#),
        entry(r#""position":1,"body":{},"cause":"\ud800""#),
        entry(r#""position":1,"body":{}"#).replace("truncated", "exploded"),
        entry(r#""position":1,"body":{}"#).replace("\"name\":\"x\"", "\"name\":\" \""),
        r#"{"blob":{"id":"00","data":"AA=="}}"#.to_owned(),
        r#"{"song":{}}"#.to_owned(),
        "[".repeat(100_000),
        String::new(),
    ] {
        let problem = read(&format!("{header}\n{line}\n{end}\n")).expect_err(&line);
        assert!(problem.detail.starts_with("line 2: "), "{}", problem.detail);
    }
    for text in ["", "\n", "hello\n", "{}\n", r#"{"threadkeep":"song","version":1}"#, "SQLite format 3\0"] {
        read(text).expect_err(text);
    }
    let after = format!("{header}\n{{\"end\":{{\"items\":0}}}}\nmore\n");
    assert!(read(&after).expect_err("more").detail.contains("follows the end"));
}
