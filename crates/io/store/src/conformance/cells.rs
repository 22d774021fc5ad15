//! Promises of files and values: the newest cell of a name that the spans show, pages by name, versions, and parts of blobs.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use bytes::Bytes;
use threadkeep_model::{
    BlobId, Bounds, CellIs, Entry, FileCell, FileChange, FilesChanged, Json, NewEntry, Position, SegmentId, Space,
    ThreadId, ValueChange, ValuesChanged,
};

use super::Hands;
use super::hands::said;
use crate::{Cell, CellNames, CellPage, CellQuery};

fn values(changes: &[(&str, Option<&str>)]) -> NewEntry {
    let change = |(key, value): &(&str, Option<&str>)| ValueChange {
        key: key.parse().expect("a key"),
        value: value.map(|value| Json::parse("value", value).expect("json")),
    };
    NewEntry::new(&Entry::ValuesChanged(ValuesChanged { changes: changes.iter().map(change).collect() }))
}

async fn set(hands: &Hands, thread: ThreadId, changes: &[(&str, Option<&str>)]) -> Position {
    hands.done(hands.commit(vec![hands.write(thread, vec![values(changes)])])).await.threads[0].first
}

async fn read(hands: &Hands, spans: &[(SegmentId, u64)], names: CellNames, limit: usize) -> CellPage {
    let spans = spans.iter().map(|(segment, until)| (*segment, Position(*until))).collect();
    hands.stores.store.cells(CellQuery { space: Space::Values, spans, names, limit }).await.expect("a read")
}

/// Cells as text: `name=value@position`.
fn told(cells: &[Cell]) -> Vec<String> {
    let is = |cell: &Cell| match &cell.is {
        CellIs::Gone => "gone".to_owned(),
        CellIs::There(text) => text.clone(),
        CellIs::InEntry => "in entry".to_owned(),
    };
    cells.iter().map(|cell| format!("{}={}@{}", cell.name, is(cell), cell.position)).collect()
}

fn all() -> CellNames {
    CellNames::Between(String::new(), None)
}

pub async fn the_newest_cell_of_a_name_counts_up_to_a_position(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let segment = hands.head(thread).await.segment;
    set(&hands, thread, &[("b", Some("1")), ("a", Some("2"))]).await;
    set(&hands, thread, &[("b", Some("3"))]).await;
    set(&hands, thread, &[("a", None), ("c", Some("\"☃\""))]).await;
    let seen = async |until| told(&read(&hands, &[(segment, until)], all(), 99).await.cells);
    assert_eq!(seen(4).await, ["a=gone@4", "b=3@3", "c=\"☃\"@4"]);
    assert_eq!(seen(3).await, ["a=2@2", "b=3@3"]);
    assert_eq!(seen(1).await, Vec::<String>::new());
    let these = CellNames::These(vec!["c".into(), "x".into(), "b".into()]);
    let mut found = told(&read(&hands, &[(segment, 4)], these, 99).await.cells);
    found.sort();
    assert_eq!(found, ["b=3@3", "c=\"☃\"@4"]);
    let versions = read(&hands, &[(segment, 9)], CellNames::VersionsOf("b".into()), 99).await;
    assert_eq!(told(&versions.cells), ["b=3@3", "b=1@2"]);
    let tally = hands.head(thread).await.tally;
    assert_eq!((tally.work.last_values, tally.work.last_files), (Position(4), Position::START));
}

pub async fn several_spans_are_seen_together_and_the_near_one_counts(hands: Hands) {
    let origin = hands.thread(&["a"]).await;
    let far = hands.head(origin).await.segment;
    set(&hands, origin, &[("a", Some("1")), ("b", Some("1")), ("d", Some("1"))]).await;
    set(&hands, origin, &[("d", Some("9"))]).await;
    let fork = hands.fork(origin, Bounds::all(Position(2))).await;
    let near = hands.head(fork).await.segment;
    let at = set(&hands, fork, &[("b", None), ("c", Some("2"))]).await;
    let spans = [(near, at.0), (far, 2)];
    let page = read(&hands, &spans, all(), 99).await;
    assert_eq!(told(&page.cells), ["a=1@2", &format!("b=gone@{at}"), &format!("c=2@{at}"), "d=1@2"]);
    assert_eq!(page.next, None);
    let range = CellNames::Between("b".into(), Some("d".into()));
    assert_eq!(read(&hands, &spans, range, 99).await.cells.len(), 2);
    let versions = read(&hands, &spans, CellNames::VersionsOf("b".into()), 99).await;
    assert_eq!(told(&versions.cells), [format!("b=gone@{at}"), "b=1@2".into()]);
}

pub async fn pages_of_names_go_on_where_they_ended(hands: Hands) {
    let origin = hands.thread(&["a"]).await;
    let far = hands.head(origin).await.segment;
    let names: Vec<String> = (0..40).map(|n| format!("{}{n:02}", if n % 3 == 0 { "ä/" } else { "x" })).collect();
    for name in &names {
        set(&hands, origin, &[(name, Some("1"))]).await;
    }
    let fork = hands.fork(origin, Bounds::all(Position(41))).await;
    let near = hands.head(fork).await.segment;
    for name in ["x01", "y", "ä/00!"] {
        set(&hands, fork, &[(name, Some("2"))]).await;
    }
    let spans = [(near, 99), (far, 41)];
    let whole = told(&read(&hands, &spans, all(), 999).await.cells);
    assert_eq!(whole.len(), 42);
    let (mut paged, mut next) = (Vec::new(), Some(String::new()));
    while let Some(from) = next {
        let page = read(&hands, &spans, CellNames::Between(from, None), 7).await;
        assert!(page.cells.len() <= 7);
        paged.extend(told(&page.cells));
        next = page.next;
    }
    assert_eq!(paged, whole);
}

pub async fn large_values_are_found_in_their_entry(hands: Hands) {
    let thread = hands.thread(&[]).await;
    let segment = hands.head(thread).await.segment;
    let large = format!("\"{}\"", "x".repeat(100_000));
    set(&hands, thread, &[("a", Some(&large)), ("b", Some("null"))]).await;
    assert_eq!(told(&read(&hands, &[(segment, 1)], all(), 9).await.cells), ["a=in entry@1", "b=null@1"]);
}

pub(super) fn file(path: &str, content: &[u8]) -> (NewEntry, (BlobId, Bytes)) {
    let hash = BlobId::of(content);
    let cell = FileCell {
        hash,
        size: content.len() as u64,
        mime_type: "text/plain".into(),
        created: None,
        width: None,
        height: None,
        thumbnail: None,
        metadata: None,
    };
    let changes = vec![FileChange::Write { path: path.parse().expect("a path"), file: cell }];
    let changed = FilesChanged { changes, stats: Default::default(), restored: None };
    (NewEntry::new(&Entry::FilesChanged(changed)), (hash, Bytes::copy_from_slice(content)))
}

pub async fn files_keep_their_content_while_they_are_seen_and_parts_of_it_are_read(hands: Hands) {
    let origin = hands.thread(&["a"]).await;
    // Above one chunk of any store.
    let content: Vec<u8> = (0..700_000_u32).map(|n| (n % 251) as u8).collect();
    for (path, content) in [("/seen", &content[..]), ("/unseen", b"x")] {
        let (entry, blob) = file(path, content);
        let mut commit = hands.commit(vec![hands.write(origin, vec![entry])]);
        commit.blobs.push(blob);
        hands.done(commit).await;
    }
    let work = hands.head(origin).await.tally.work;
    assert_eq!((work.written, work.last_files), (700_001, Position(3)));
    let segment = hands.head(origin).await.segment;
    let fork = hands.fork(origin, Bounds { messages: Position::START, ..Bounds::all(Position(2)) }).await;
    hands.delete(origin).await;
    assert_eq!(hands.gc().await.blobs, 1, "what no fork sees is gone");
    let cells = async || {
        let spans = vec![(segment, Position(99))];
        let query = CellQuery { space: Space::Files, spans, names: all(), limit: 9 };
        hands.stores.store.cells(query).await.expect("a read").cells
    };
    assert_eq!(cells().await.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>(), ["/seen"]);
    let id = BlobId::of(&content);
    let part = async |range| hands.stores.blobs.blob_part(id, range).await.expect("a read").expect("a blob");
    for range in [0..10, 262_100..262_200, 262_144..524_288, 0..700_000, 699_990..700_000, 500_000..500_001] {
        assert_eq!(part(range.start as u64..range.end as u64).await, &content[range.clone()], "{range:?}");
    }
    assert_eq!(part(699_999..u64::MAX).await.len(), 1);
    assert!(part(800_000..900_000).await.is_empty() && part(5..5).await.is_empty());
    let missing = BlobId::of(b"never");
    let several = hands.stores.blobs.blobs(vec![missing, id, id]).await.expect("a read");
    let sizes: Vec<_> = several.iter().map(|bytes| bytes.as_ref().map(Bytes::len)).collect();
    assert_eq!(sizes, [None, Some(700_000), Some(700_000)]);
    hands.stores.upkeep.rebuild(super::hands::quiet()).await.expect("a rebuild");
    assert_eq!(cells().await.len(), 1);
    hands.delete(fork).await;
    assert_eq!(hands.gc().await.blobs, 1);
    assert_eq!(hands.stores.blobs.blob_part(id, 0..1).await.expect("a read"), None);
}

pub async fn a_rebuild_brings_cells_back(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let segment = hands.head(thread).await.segment;
    set(&hands, thread, &[("a", Some("1")), ("b", Some("2"))]).await;
    hands.done(hands.commit(vec![hands.write(thread, vec![said("b"), values(&[("a", None)])])])).await;
    let before = read(&hands, &[(segment, 9)], all(), 9).await;
    assert_eq!(before.cells.len(), 2);
    hands.stores.upkeep.rebuild(super::hands::quiet()).await.expect("a rebuild");
    assert_eq!(read(&hands, &[(segment, 9)], all(), 9).await, before);
    let work = hands.head(thread).await.tally.work;
    assert_eq!(work.last_values, Position(4), "appends carry it along");
}
