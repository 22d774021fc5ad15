//! How runs end: by themselves, by their limits, by their caller.

use std::sync::Arc;
use std::time::Duration;

use threadkeep_sandbox::{Code, Event, Status, Value, host_function};

use crate::{error, run, sandbox};

#[tokio::test]
async fn memory_ends_a_run_and_cannot_be_caught() {
    let sources = [
        "export default () => { const all = []; for (;;) all.push(new Array(1000).fill(all.length)) }",
        "export default () => { try { const all = []; for (;;) all.push({}) } catch { return 'caught' } }",
        "export default () => new ArrayBuffer(2 ** 30)",
        "export default () => 'x'.repeat(2 ** 28)",
    ];
    for source in sources {
        let mut code = Code::new(source);
        code.memory_bytes = 16 << 20;
        let outcome = run(code).await;
        assert_eq!(outcome.status, Status::Memory, "{source}: {:?}", outcome.error);
        assert_eq!(outcome.error.expect("an error").name, "MemoryError");
    }
}

#[tokio::test]
async fn a_run_is_killed_at_its_deadline() {
    for source in [
        "for (;;);",
        "await new Promise((done) => { const again = () => { Promise.resolve().then(again) }; again() })",
        "/(a+)+$/.test('a'.repeat(40) + 'b')",
        "Array(2 ** 32 - 1).join('')",
    ] {
        let mut code = Code::new(format!("console.log('began'); {source}"));
        code.timeout = Duration::from_millis(300);
        let outcome = run(code).await;
        assert_eq!(outcome.status, Status::Terminated, "{source}: {:?} {:?}", outcome.error, outcome.result);
        assert_eq!(outcome.error.expect("an error").name, "code_timeout");
        assert_eq!(outcome.logs.len(), 1, "{source}");
    }
}

#[tokio::test]
async fn a_promise_that_nothing_can_settle_is_an_error_at_once() {
    let (status, _, message) = error("export default () => new Promise(() => {})").await;
    assert_eq!((status, message.as_str()), (Status::Error, "the code waits for a promise that nothing can settle"));
    assert_eq!(error("await new Promise(() => {})").await.0, Status::Error);
}

#[tokio::test]
async fn recursion_is_an_error_that_code_can_catch() {
    assert_eq!(error("const f = () => f() + 1; export default f").await.0, Status::Error);
    let caught =
        run(Code::new("const f = () => f() + 1; export default () => { try { f() } catch { return 'ok' } }")).await;
    assert_eq!(caught.result, "ok".into());
}

#[tokio::test]
async fn a_source_that_is_nested_too_deeply_is_a_link_error() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{a:", "}"), ("!", ""), ("`${", "}`")] {
        let source = format!("export default {}1{}", open.repeat(200_000), close.repeat(200_000));
        let (status, ..) = error(&source).await;
        assert_eq!(status, Status::LinkError, "{open}");
    }
}

#[tokio::test]
async fn terminate_settles_at_once_and_keeps_what_was_told() {
    let mut run = sandbox().start(Code::new("report('here'); for (;;);")).expect("there is a place");
    assert_eq!(run.event().await, Some(Event::Report("here".into())));
    run.terminate("enough");
    let outcome = (&mut run).await.expect("it ran");
    let error = outcome.error.expect("an error");
    assert_eq!(
        (outcome.status, error.name.as_str(), error.message.as_str()),
        (Status::Terminated, "terminated", "enough")
    );
    assert_eq!(outcome.reports.iter().collect::<Vec<_>>(), [Value::from("here")]);
    assert_eq!(run.event().await, None);
}

#[tokio::test]
async fn a_dropped_handle_kills_the_run_and_frees_its_place() {
    let sandbox = sandbox();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel::<()>();
    // The function lives as long as the run does.
    let held = host_function(move |_| {
        let tell = tell.clone();
        async move {
            _ = tell.send(());
            std::future::pending().await
        }
    });
    let code = Code::new("import { wait } from 'host'; await wait()").function("host", "wait", held);
    let run = sandbox.start(code).expect("there is a place");
    assert_eq!(told.recv().await, Some(()));
    drop(run);
    assert_eq!(told.recv().await, None, "the run and its functions are gone");
}

#[tokio::test]
async fn limits_out_of_range_are_link_errors() {
    let mut code = Code::new("1");
    code.memory_bytes = 1;
    assert_eq!(run(code).await.status, Status::LinkError);
    let mut code = Code::new("1");
    code.timeout = Duration::from_secs(100_000);
    assert_eq!(run(code).await.status, Status::LinkError);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_first_runs_may_start_at_the_same_moment() {
    for round in 0..50 {
        let sandbox = sandbox();
        let gate = Arc::new(tokio::sync::Barrier::new(4));
        let firsts: Vec<_> = (0..4)
            .map(|_| {
                let (sandbox, gate) = (sandbox.clone(), Arc::clone(&gate));
                tokio::spawn(async move {
                    gate.wait().await;
                    drop(sandbox.start(Code::new("1")).expect("there is a place"));
                })
            })
            .collect();
        for first in firsts {
            first.await.unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
    }
}
