//! When no code runs: a weak kernel, a program that is no worker, a full house.

use threadkeep_sandbox::{Code, Level, Origin, Protections, Sandbox, Settings, Status, Unavailable};

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
    let hold = || sandbox.start(Code::new("await new Promise(() => {})"));
    // Those that wait for a place are not started: they cost nothing.
    let all: Vec<_> = (0..64 + 256).map(|_| hold()).collect();
    let refused = all.iter().filter(|run| matches!(run, Err(Unavailable::Full))).count();
    assert!(refused <= 256, "runs that ended made place");
    for run in all.into_iter().flatten() {
        assert_eq!(run.await.expect("it ran").status, Status::Error);
    }
    assert!(hold().is_ok());
}
