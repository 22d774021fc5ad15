//! Token counts beside the published tables: exact with a tokenizer's file, estimated without.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use threadkeep_calls::{Create, GetContext};
use threadkeep_engine::{CountTokens, Estimate};
use threadkeep_model::{Json, MessageBody};
use threadkeep_runtime::Runtime;
use threadkeep_runtime::context::load_tokenizer;
use tiktoken_rs::CoreBPE;

use crate::support::engine;

/// Tokens of `o200k_base`; the other table has fewer.
const RANKS: u32 = 199_998;

/// Writes a table as its publisher does.
fn write_table(bpe: &CoreBPE, at: &Path) {
    let mut lines = String::new();
    for rank in 0..RANKS {
        if let Ok(bytes) = bpe.decode_bytes(&[rank]) {
            writeln!(lines, "{} {rank}", STANDARD.encode(bytes)).expect("a line");
        }
    }
    std::fs::create_dir_all(at.parent().expect("a folder")).expect("a folder");
    std::fs::write(at, lines).expect("a table");
}

/// Texts in many languages, and of programs.
fn texts() -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> = serde_json::from_str(include_str!("texts.json")).expect("texts");
    let part = |text: &str| text.chars().take(4_000).collect::<String>();
    texts.insert("rust".into(), part(include_str!("agents.rs")));
    texts.insert("toml".into(), part(include_str!("../../Cargo.toml")));
    texts.insert("javascript".into(), part(include_str!("../../src/code/js/state.js")));
    texts.insert("english".into(), part(include_str!("../../../../../docs/concepts.md")));
    texts.insert("json".into(), part(include_str!("../../../../../spec/openapi.json")));
    texts
}

/// Texts at which tokenizers are known to go wrong.
fn edges() -> Vec<String> {
    let mut edges: Vec<String> = [
        "",
        " ",
        "  ",
        "   x",
        "x  ",
        "\n",
        "\r\n\r\n",
        " \n  y",
        "a\n\n\n  b",
        "\t\tif x:\n\t\t\treturn",
        "x \n ",
        "  \n",
        "I'm we'LL they've it's 'S",
        "don't DON'T",
        "HTTPServer2Go",
        "1234567 12,345.67",
        "...!!!???",
        "// ///\n",
        "/path/to/\n",
        "naïve café ﬁ Å é",
        "👩‍👩‍👧 🏳️‍🌈 👍🏽",
        "\u{a0}x\u{2003}y",
        "a\u{200b}b",
        "<|endoftext|>",
        "ǅ ʰ ª",
        "٣٤٥٦ Ⅷ ½",
        "ا\u{64b}ل",
    ]
    .map(str::to_owned)
    .to_vec();
    edges.push("a".repeat(3_000));
    edges.push("ab ".repeat(1_000) + "  ");
    edges.push("=".repeat(999));
    edges
}

#[test]
fn a_tokenizers_file_counts_as_the_published_one_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let tables =
        [("o200k_base", tiktoken_rs::o200k_base_singleton()), ("cl100k_base", tiktoken_rs::cl100k_base_singleton())];
    for (name, published) in tables {
        let file = folder.path().join(format!("{name}.tiktoken"));
        write_table(published, &file);
        let ours = load_tokenizer(&file).expect("a tokenizer");
        assert_eq!((ours.name(), ours.is_estimate()), (name, false));
        for text in texts().into_values().chain(edges()) {
            let expected = published.encode_ordinary(&text).len() as u64;
            assert_eq!(ours.count(&text), expected, "{name}: {text:?}");
        }
    }
}

#[test]
fn estimates_are_near_the_published_tokenizers() {
    let tables = [
        (Estimate::O200K, tiktoken_rs::o200k_base_singleton(), 0),
        // Languages in plain Latin letters look like English, of which this table knows much more.
        (Estimate::CL100K, tiktoken_rs::cl100k_base_singleton(), 3),
    ];
    for (estimate, published, exceptions) in tables {
        let mut off = Vec::new();
        for (name, text) in texts() {
            let (guess, exact) = (estimate.count(&text), published.encode_ordinary(&text).len() as u64);
            if guess * 100 < exact * 85 || guess * 100 > exact * 115 {
                off.push(format!("{name}: {guess} of {exact}"));
            }
        }
        assert!(off.len() <= exceptions, "{}: {off:?}", estimate.name());
    }
}

#[tokio::test]
async fn a_model_that_names_its_tokenizer_is_counted_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("agents/guide.toml", "[sideA]\nprompt = \"guide\"\n");
    write("prompts/guide.toml", "prompt = \"You plan trips.\"\nmodel = \"small\"\n");
    let table = "tokenizers/o200k_base.tiktoken";
    write("models/small.toml", &format!("provider = \"openai\"\nmodel = \"local\"\ntokenizer = \"{table}\"\n"));
    let runtime = Runtime::builder(engine()).definitions(folder.path()).build();
    let problem = runtime.definitions().problems().next().expect("a problem").to_string();
    assert!(problem.starts_with("models/small.toml:3:") && problem.contains("cannot be read"), "{problem}");
    let published = tiktoken_rs::o200k_base_singleton();
    write_table(published, &folder.path().join(table));
    let definitions = runtime.reload().expect("definitions");
    assert_eq!(definitions.problems().count(), 0, "the table is there now");
    let create = Create::titled("T").field("agentId", Json::string("guide"));
    let thread = runtime.engine().create(create).await.expect("a thread").id;
    let said = "Der Zug fährt um acht Uhr ab, at 8:00.";
    runtime.engine().append(thread, MessageBody::user(said)).await.expect("a message");
    let told = runtime.engine().call(thread, GetContext::default()).await.expect("a context");
    let expected = published.encode_ordinary(said).len() as u64;
    assert_eq!((told.estimated, told.tokens.messages), (false, expected + 4), "and 4 for the message itself");
    assert_eq!(told.tokens.system, published.encode_ordinary("You plan trips.").len() as u64);
}
