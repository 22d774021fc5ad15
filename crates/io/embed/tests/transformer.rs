//! The local transformer, held against what the reference computes (`table/transformer.py`): always with a tiny model of
//! random weights, and with the real one where `THREADKEEP_TEST_MINILM` names its folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use threadkeep_embed::{EmbedError, Embedder, Transformer, Vector};

#[derive(Deserialize)]
struct Golden {
    text: String,
    vector: Vec<f32>,
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

async fn check(folder: &Path, goldens: &str) {
    let transformer = Transformer::open(folder).expect("a model");
    let lines = fs::read_to_string(tests().join(goldens)).expect("goldens");
    let goldens: Vec<Golden> = lines.lines().map(|line| serde_json::from_str(line).expect("a golden")).collect();
    let vectors = transformer.embed(goldens.iter().map(|golden| golden.text.clone()).collect()).await.expect("vectors");
    assert_eq!((vectors.len(), goldens.len()), (5, 5));
    for (vector, golden) in vectors.iter().zip(&goldens) {
        assert_eq!(vector.dimensions(), transformer.model().dimensions);
        let expected = Vector::quantise(&golden.vector);
        for (ours, theirs) in vector.as_bytes().iter().zip(expected.as_bytes()) {
            assert!(ours.cast_signed().abs_diff(theirs.cast_signed()) <= 1, "{:?}", golden.text);
        }
    }
}

#[tokio::test]
async fn a_tiny_model_gives_what_the_reference_gives() {
    check(&tests().join("tiny"), "tiny.jsonl").await;
}

#[tokio::test]
#[ignore = "needs the weights of MiniLM, which are not here: THREADKEEP_TEST_MINILM names their folder"]
async fn minilm_gives_what_the_reference_gives() {
    let folder = std::env::var_os("THREADKEEP_TEST_MINILM").expect("THREADKEEP_TEST_MINILM names a folder");
    check(Path::new(&folder), "minilm.jsonl").await;
}

#[tokio::test]
async fn any_number_of_texts_and_any_text_has_a_vector() {
    let transformer = Transformer::open(tests().join("tiny")).expect("a model");
    let texts: Vec<String> =
        (0..50).map(|at| if at % 7 == 0 { " \0".to_owned() } else { "\u{1F600}x".repeat(at * 99) }).collect();
    let vectors = transformer.embed(texts).await.expect("vectors");
    assert_eq!(vectors.len(), 50);
    for (at, vector) in vectors.iter().enumerate() {
        assert_eq!((vector.dimensions(), vector.is_zero()), (16, at % 7 == 0), "{at}");
    }
}

/// The tiny model with one file changed, or gone.
fn changed(file: &str, change: impl FnOnce(Vec<u8>) -> Option<Vec<u8>>) -> Result<Transformer, EmbedError> {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["config.json", "vocab.txt", "model.safetensors"] {
        fs::copy(tests().join("tiny").join(name), folder.path().join(name)).expect("a copy");
    }
    let path = folder.path().join(file);
    match change(fs::read(&path).expect("the file")) {
        Some(bytes) => fs::write(&path, bytes).expect("written"),
        None => fs::remove_file(&path).expect("removed"),
    }
    Transformer::open(folder.path())
}

#[test]
fn the_id_names_the_weights() {
    let id = |transformer: Result<Transformer, EmbedError>| transformer.expect("a model").model().id.clone();
    let same = id(changed("vocab.txt", Some));
    assert_eq!(same, id(Transformer::open(tests().join("tiny"))));
    let other = changed("model.safetensors", |mut bytes| {
        *bytes.last_mut().expect("bytes") ^= 1;
        Some(bytes)
    });
    assert_ne!(same, id(other));
}

#[test]
fn what_cannot_be_used_is_told() {
    let replaced = |from: &'static str, to: &'static str| {
        move |bytes: Vec<u8>| Some(String::from_utf8(bytes).expect("text").replace(from, to).into_bytes())
    };
    let cases = [
        (changed("config.json", |_| None), "no config.json"),
        (changed("vocab.txt", |_| None), "vocab.txt"),
        (changed("model.safetensors", |_| None), "model.safetensors"),
        (changed("config.json", replaced("\"bert\"", "\"roberta\"")), "not BERT"),
        (changed("config.json", replaced("\"hidden_size\": 16", "\"hidden_size\": 18")), "config.json"),
        (changed("config.json", replaced("\"num_attention_heads\": 2", "\"num_attention_heads\": 0")), "heads"),
        (
            changed("config.json", replaced("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3")),
            "has no encoder.layer.2",
        ),
        (changed("vocab.txt", replaced("cat\n", "")), "not the vocabulary"),
        (changed("vocab.txt", replaced("[CLS]", "[cls]")), "no [CLS]"),
        (changed("model.safetensors", |bytes| Some(bytes[..5].to_vec())), "damaged"),
        (changed("model.safetensors", |bytes| Some(bytes[..bytes.len() - 5].to_vec())), "cut off"),
        (changed("model.safetensors", |_| Some(vec![0xFF; 100])), "damaged"),
    ];
    for (opened, expected) in cases {
        let error = opened.expect_err(expected);
        assert!(matches!(&error, EmbedError::Unusable { what, .. } if what.contains(expected)), "{error}: {expected}");
    }
}
