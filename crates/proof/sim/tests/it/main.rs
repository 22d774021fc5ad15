//! Whole histories by seed, on every store. A seed that found something stays as a test of its own.

mod env;
mod live;

use threadkeep_sim::{Plan, Where, simulate};

fn seeds(seeds: std::ops::Range<u64>, steps: usize, on: Where, faults: u64) {
    for seed in seeds {
        simulate(Plan { seed, steps, on, faults });
    }
}

#[test]
fn random_histories_in_memory() {
    seeds(0..150, 120, Where::Memory, 0);
}

#[test]
fn random_histories_in_a_file() {
    seeds(1_000..1_030, 120, Where::Sqlite, 0);
}

#[test]
fn random_histories_in_memory_with_faults() {
    seeds(2_000..2_080, 120, Where::Memory, 6);
}

#[test]
fn random_histories_in_a_file_with_faults() {
    seeds(3_000..3_020, 120, Where::Sqlite, 6);
}

#[test]
fn random_histories_on_a_server() {
    seeds(5_000..5_010, 120, Where::Postgres, 0);
}

#[test]
fn random_histories_on_a_server_with_faults() {
    seeds(6_000..6_006, 120, Where::Postgres, 6);
}

#[test]
fn long_histories() {
    seeds(4_000..4_004, 800, Where::Memory, 0);
    seeds(4_004..4_006, 600, Where::Sqlite, 8);
    seeds(4_006..4_007, 400, Where::Postgres, 8);
}

/// Tests of spawning, of rollbacks and of merges repeat these findings in plain words; the order of two merges
/// where clocks go back is tested here alone (3, 1,002).
#[test]
fn seeds_that_found_something() {
    for seed in [1, 3, 30, 95, 1_002, 1_016, 2_002, 3_023, 20_631, 770_692, 771_145] {
        simulate(Plan { seed, steps: 200, on: Where::Memory, faults: 0 });
    }
    for seed in [5_000, 5_048] {
        simulate(Plan { seed, steps: 200, on: Where::Sqlite, faults: 6 });
    }
}
