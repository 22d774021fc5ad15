//! The printed files are those in the repository.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use threadkeep_print::{calls, python, typescript};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn document() -> Value {
    let document = fs::read_to_string(root().join("spec/openapi.json")).expect("the document");
    serde_json::from_str(&document).expect("JSON")
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
    let document = document();
    let calls = calls(&document);
    check("clients/typescript/src/printed/types.ts", &typescript::types(&document));
    check("clients/typescript/src/printed/calls.ts", &typescript::methods(&calls));
}

#[test]
fn the_python_client_has_every_call() {
    let document = document();
    let calls = calls(&document);
    let printed = "clients/python/src/threadkeep/printed";
    check(&format!("{printed}/types.py"), &python::types(&document, &calls));
    check(&format!("{printed}/facts.py"), &python::facts(&document, &calls));
    let methods = python::methods(&document, &calls);
    check(&format!("{printed}/aio/calls.py"), &methods);
    check(&format!("{printed}/sync/calls.py"), &python::sync(&methods));
}

#[test]
fn the_sync_half_of_the_python_client_is_its_async_half() {
    for name in ["transport", "way", "follow", "files", "client"] {
        let source = root().join(format!("clients/python/src/threadkeep/aio/{name}.py"));
        let source = fs::read_to_string(source).expect("a file of the async half");
        check(&format!("clients/python/src/threadkeep/printed/sync/{name}.py"), &python::sync(&source));
    }
}
