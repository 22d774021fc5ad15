//! Runs random histories until one fails: `threadkeep-sim [FIRST_SEED] [COUNT] [memory|sqlite|postgres] [FAULTS]`.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use threadkeep_sim::{Plan, Where, simulate};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| match arguments.get(at) {
        Some(text) => text.parse().unwrap_or_else(|_| panic!("'{text}' is not a number")),
        None => default,
    };
    let on = match arguments.get(2).map(String::as_str) {
        None | Some("memory") => Where::Memory,
        Some("sqlite") => Where::Sqlite,
        Some("postgres") => Where::Postgres,
        Some(other) => panic!("'{other}' is not a store: memory, sqlite or postgres"),
    };
    let (first, count, faults) = (number(0, 0), number(1, 100), number(3, 0));
    for seed in first..first + count {
        simulate(Plan { seed, steps: 200, on, faults });
        if (seed + 1 - first).is_multiple_of(100) {
            println!("{} histories, all well", seed + 1 - first);
        }
    }
}
