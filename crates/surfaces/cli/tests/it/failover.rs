//! Two servers on a PostgreSQL primary with a synchronous standby: the primary dies under load, the standby takes its
//! place, and the servers find it by themselves.

use threadkeep_throwaway::Cluster;

use crate::load::{Load, Servers};
use crate::serve::Serving;
use crate::support::{Keep, run, threadkeep};

const WRITERS: usize = 8;
const FOLLOWERS: usize = 12;
/// Messages that every writer gets through before and after.
const MESSAGES: usize = 10;

#[test]
fn a_standby_that_takes_over_under_load_has_all_that_was_acknowledged_and_nothing_twice() {
    let keep = Keep::new();
    let primary = Cluster::start().expect("a server");
    let standby = primary.standby().expect("a standby");
    primary.waits_for_standby();
    let store = primary.url_with(&standby);
    let serve = |name: &str| Serving::start_with(&keep.at(name), &["--store", &store]);
    let (one, two) = (serve("one"), serve("two"));
    let servers = Servers::new([&one, &two]);
    let threads = (0..4).map(|_| one.thread()).collect();
    let load = Load::new(&servers, threads, WRITERS);
    std::thread::scope(|scope| {
        let followers = load.follow(scope, FOLLOWERS);
        let writers = load.write(scope);
        load.gets_on(MESSAGES);
        primary.kill().expect("it runs");
        standby.promote().expect("it is a standby");
        // Both servers answer again, each by itself.
        load.gets_on(MESSAGES);
        load.end(&two, writers, followers);
    });
    for serving in [&one, &two] {
        let (status, _) = serving.ask("GET", "/readyz", "", "").expect("an answer");
        assert_eq!(status, 200);
    }
    let mut doctor = threadkeep();
    doctor.args(["--store", &store, "store", "doctor"]);
    assert!(run(doctor, b"").ok().ends_with("healthy"));
}
