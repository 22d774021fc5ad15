//! Two servers with all parts (PostgreSQL, Redis, an S3 service) while parts fail at random, by seed: nothing that was
//! acknowledged is lost, doubled or reordered, and every follower is exact.
//!
//! `THREADKEEP_TEST_MINUTES=10` goes on for longer, `THREADKEEP_TEST_SEED=7` with other faults.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use threadkeep_throwaway::s3::{BUCKET, Fault, KEY_ID, KEY_SECRET, S3};
use threadkeep_throwaway::{Cluster, RedisServer, sql};

use crate::load::{Load, Servers};
use crate::serve::Serving;
use crate::support::{Chance, Keep, run, threadkeep};

const SEED: u64 = 20_261_118;
/// How long faults come, unless the environment says otherwise.
const SECONDS: u64 = 20;
const WRITERS: usize = 16;
const FOLLOWERS: usize = 100;
const THREADS: usize = 8;
/// Messages that every writer gets through after each fault, before the next one.
const MESSAGES_BETWEEN: usize = 2;
/// Longest time that a fault lasts.
const FAULT_MILLIS_MAX: u64 = 1_500;
/// A file that is an object: more than `over` in the URL of the objects.
const FILE_BYTES: usize = 100_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// All parts, and the two servers.
struct Team {
    keep: Keep,
    database: Cluster,
    redis: RedisServer,
    objects: S3,
    servers: [Option<Serving>; 2],
}

impl Team {
    fn start() -> Self {
        let keep = Keep::new();
        let (database, redis) = (Cluster::start().expect("a server"), RedisServer::start().expect("Redis"));
        let objects = S3::start(&keep.at("s3"));
        let mut team = Self { keep, database, redis, objects, servers: [None, None] };
        (0..2).for_each(|at| team.serve(at));
        team
    }

    fn objects_url(&self) -> String {
        format!("s3://{BUCKET}/team?endpoint={}&over=65536&timeout=2", self.objects.endpoint())
    }

    /// Starts the server at this place, with the data folder that it had before.
    fn serve(&mut self, at: usize) {
        let (store, streams, objects) = (self.database.url(), self.redis.url(), self.objects_url());
        let arguments = ["--store", &store, "--streams", &streams, "--objects", &objects];
        let variables = [("AWS_ACCESS_KEY_ID", KEY_ID), ("AWS_SECRET_ACCESS_KEY", KEY_SECRET)];
        let folder = self.keep.at(["one", "two"][at]);
        self.servers[at] = Some(Serving::start_in(&folder, &arguments, &variables));
    }

    fn serving(&self, at: usize) -> &Serving {
        self.servers[at].as_ref().expect("it runs")
    }

    /// One fault, which is over once this returns; what it was.
    fn fault(&mut self, chance: &mut Chance, servers: &Servers) -> &'static str {
        let lasts = Duration::from_millis(chance.below(FAULT_MILLIS_MAX));
        match chance.below(8) {
            0 => {
                self.redis.ask("FLUSHALL").expect("an answer");
                "Redis flushed"
            }
            1 => {
                self.redis.stop();
                std::thread::sleep(lasts);
                self.redis.restart().expect("Redis");
                "Redis stopped"
            }
            2 => {
                self.redis.ask(&format!("CLIENT PAUSE {} ALL", lasts.as_millis())).expect("an answer");
                std::thread::sleep(lasts);
                "Redis slow"
            }
            3 => {
                self.objects.set(Fault::FailsFrom(chance.below(4)));
                std::thread::sleep(lasts);
                self.objects.set(Fault::None);
                "objects failing"
            }
            4 => {
                self.objects.set(Fault::Hangs);
                std::thread::sleep(lasts);
                self.objects.set(Fault::None);
                "objects hanging"
            }
            5 => {
                let at = chance.below(2) as usize;
                self.servers[at].take().expect("it runs").running.kill();
                std::thread::sleep(lasts);
                self.serve(at);
                servers.replace(at, self.serving(at));
                "server killed"
            }
            6 => {
                let cut =
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'threadkeep'";
                sql(&self.database.url(), cut);
                "connections cut"
            }
            _ => {
                self.database.crash().expect("it runs");
                std::thread::sleep(lasts);
                self.database.restart().expect("it starts");
                "database crashed"
            }
        }
    }
}

/// A file by its number.
fn file(number: usize) -> String {
    format!("{number} ").repeat(FILE_BYTES / 2)[..FILE_BYTES].to_owned()
}

/// Puts files until the load is over; how many.
fn put_files(load: &Load<'_>, thread: &str) -> usize {
    let mut put = 0;
    while !load.is_over() {
        let path = format!("/v1/threads/{thread}/files/{put}.txt");
        load.insist(put, ("PUT", &path), &format!("file {put}"), &Value::String(file(put)));
        put += 1;
    }
    put
}

/// Has a run speak until the load is over: text as it is made, which may be lost, and steps, which may not. How many steps.
fn speak(load: &Load<'_>, thread: &str) -> usize {
    let start = json!({ "executor": "caller", "message": { "role": "user", "content": "Go on." } });
    let run = load.insist(0, ("POST", &format!("/v1/threads/{thread}/runs")), "run", &start);
    let run = run["id"].as_str().expect("an id");
    let mut steps = 0;
    while !load.is_over() {
        for piece in 0..5 {
            load.try_once(steps, ("POST", &format!("/v1/runs/{run}/delta")), &json!({ "text": format!("{piece} ") }));
        }
        let step = json!({ "messages": [{ "role": "assistant", "content": format!("step {steps}") }] });
        load.insist(steps, ("POST", &format!("/v1/runs/{run}/step")), &format!("step {steps}"), &step);
        steps += 1;
    }
    load.insist(0, ("POST", &format!("/v1/runs/{run}/end")), "end", &json!({ "status": "completed" }));
    steps
}

#[test]
fn parts_that_fail_at_random_lose_double_and_reorder_nothing() {
    let seed = number("THREADKEEP_TEST_SEED").unwrap_or(SEED);
    let lasts = Duration::from_secs(number("THREADKEEP_TEST_MINUTES").map_or(SECONDS, |minutes| minutes * 60));
    let mut team = Team::start();
    let servers = Servers::new([team.serving(0), team.serving(1)]);
    let mut threads: Vec<String> = (0..THREADS + 2).map(|_| team.serving(0).thread()).collect();
    let [files, spoken] = [threads.pop(), threads.pop()].map(|thread| thread.expect("a thread"));
    let load = Load::new(&servers, threads, WRITERS);
    let mut chance = Chance(seed);
    let faults = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let followers = load.follow(scope, FOLLOWERS);
        let writers = load.write(scope);
        let put = scope.spawn(|| put_files(&load, &files));
        let said = scope.spawn(|| speak(&load, &spoken));
        load.gets_on(MESSAGES_BETWEEN);
        let began = Instant::now();
        while began.elapsed() < lasts {
            let number = faults.fetch_add(1, Ordering::Relaxed);
            let what = team.fault(&mut chance, &servers);
            eprintln!("seed {seed}, fault {number} after {:.1} s: {what}", began.elapsed().as_secs_f64());
            load.gets_on(MESSAGES_BETWEEN);
        }
        load.is_enough();
        let (put, steps) = (put.join().expect("it went well"), said.join().expect("it went well"));
        load.end(team.serving(1), writers, followers);
        for number in 0..put {
            let path = format!("/v1/threads/{files}/files/{number}.txt");
            let read = team.serving(number % 2).ok("GET", &path, &Value::Null);
            assert_eq!(read, Value::String(file(number)), "file {number} is whole");
        }
        let told: Vec<String> = (0..steps).map(|step| format!("step {step}")).collect();
        assert_eq!(team.serving(0).messages(&spoken)[1..], told, "every step once and in order");
        eprintln!("{} faults, {put} files, {steps} steps", faults.load(Ordering::Relaxed));
    });
    doctor(&team, team.keep.folder());
}

/// The store is healthy, and so are its objects.
fn doctor(team: &Team, folder: &Path) {
    let mut command = threadkeep();
    command.current_dir(folder).args(["--store", &team.database.url(), "--objects", &team.objects_url()]);
    command.env("AWS_ACCESS_KEY_ID", KEY_ID).env("AWS_SECRET_ACCESS_KEY", KEY_SECRET).args(["store", "doctor"]);
    assert!(run(command, b"").ok().ends_with("healthy"));
}
