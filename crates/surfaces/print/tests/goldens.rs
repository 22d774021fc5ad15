//! The printed files are those in the repository.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use threadkeep_print::{calls, methods, types};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn check(path: &str, printed: &str) {
    let path = root().join(path);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, printed).expect("a golden is written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == printed, "{} is not what the table says: BLESS=1 cargo test -p threadkeep-print", path.display());
}

#[test]
fn the_typescript_client_has_every_call() {
    let document = fs::read_to_string(root().join("spec/openapi.json")).expect("the document");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let calls = calls(&document);
    check("clients/typescript/src/printed/types.ts", &types(&document));
    check("clients/typescript/src/printed/calls.ts", &methods(&calls));
}
