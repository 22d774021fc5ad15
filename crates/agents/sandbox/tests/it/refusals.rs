//! When no code runs: a weak kernel, a program that is no worker, a full house.

use threadkeep_sandbox::limits::{RUNS_MAX, WAITING_MAX};
use threadkeep_sandbox::{Code, Level, Origin, Protections, Sandbox, Settings, Status, Unavailable, host_function};

use crate::{sandbox, settings};

fn on(landlock: bool, seccomp: bool, level: Level) -> Sandbox {
    Sandbox::new(Settings { protections: Protections { landlock, seccomp }, level, ..settings() })
}

#[test]
fn a_weaker_kernel_refuses_unless_the_setting_allows_it() {
    use {Level::*, Origin::*};
    for (landlock, seccomp, level, origin, runs) in [
        (true, true, Full, Request, true),
        (false, true, Full, Request, false),
        (false, true, Full, Definition, true),
        (false, true, Seccomp, Request, true),
        (true, false, Full, Request, false),
        (true, false, Full, Definition, false),
        (true, false, Seccomp, Definition, false),
        (false, false, Full, Definition, false),
        (false, false, Rlimits, Request, true),
    ] {
        let checked = on(landlock, seccomp, level).check(origin);
        assert_eq!(checked.is_ok(), runs, "{landlock} {seccomp} {level:?} {origin:?}");
        assert!(runs || matches!(checked, Err(Unavailable::Weak(_))));
    }
}

#[tokio::test]
async fn code_runs_without_either_where_the_setting_says_so() {
    let sandbox = on(false, false, Level::Rlimits);
    let outcome = sandbox.start(Code::new("export default 1")).expect("it is allowed").await.expect("it runs");
    assert_eq!(outcome.status, Status::Success);
}

#[test]
fn a_program_that_is_no_worker_runs_no_code() {
    let sandbox = Sandbox::new(Settings { worker: None, ..settings() });
    assert!(matches!(sandbox.check(Origin::Request), Err(Unavailable::NotAsked)));
    assert!(matches!(sandbox.start(Code::new("1")), Err(Unavailable::NotAsked)));
}

#[tokio::test]
async fn another_program_is_no_worker() {
    let sandbox = Sandbox::new(Settings { worker: Some("/bin/true".into()), ..settings() });
    let ended = sandbox.start(Code::new("1")).expect("there is a place").await;
    assert!(matches!(ended, Err(Unavailable::Failed(_))), "{ended:?}");
}

#[tokio::test]
async fn a_full_house_refuses_and_a_free_place_is_taken_by_those_who_wait() {
    let sandbox = sandbox();
    let held = host_function(|_| async { std::future::pending().await });
    let code = Code::new("import { wait } from 'host'; await wait()").function("host", "wait", held);
    let start = || sandbox.start(code.clone());
    // Those that wait for a place have no process yet.
    let mut all: Vec<_> = (0..RUNS_MAX + WAITING_MAX).map(|_| start().expect("there is a place")).collect();
    assert!(matches!(start(), Err(Unavailable::Full)));
    let mut first = all.remove(0);
    first.terminate("enough");
    assert_eq!((&mut first).await.expect("it ran").status, Status::Terminated);
    while let Err(Unavailable::Full) = start() {
        tokio::task::yield_now().await;
    }
}
