//! The sandbox with real workers: what code sees, what crosses, and how runs end.

mod ends;
mod globals;
mod modules;
mod refusals;
mod values;

use std::path::PathBuf;

use threadkeep_sandbox::{Code, Outcome, Protections, Sandbox, Settings, Status, Value};

/// The program that is a worker.
fn worker() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_threadkeep-worker"))
}

fn settings() -> Settings {
    Settings { worker: Some(worker()), ..Settings::default() }
}

fn sandbox() -> Sandbox {
    let settings = settings();
    assert_eq!(settings.protections, Protections { landlock: true, seccomp: true }, "the tests need both");
    Sandbox::new(settings)
}

async fn run(code: Code) -> Outcome {
    sandbox().start(code).expect("there is a place").await.expect("a worker starts")
}

/// The result of code that succeeds, as JSON text.
async fn result(source: &str) -> String {
    let outcome = run(Code::new(source)).await;
    assert_eq!(outcome.status, Status::Success, "{source}: {:?}", outcome.error);
    outcome.result.to_json().to_string()
}

/// The error of code that fails.
async fn error(source: &str) -> (Status, String, String) {
    let outcome = run(Code::new(source)).await;
    let error = outcome.error.unwrap_or_else(|| panic!("{source} gave {:?}", outcome.result));
    (outcome.status, error.name, error.message)
}

fn text(value: &str) -> Value {
    value.into()
}
