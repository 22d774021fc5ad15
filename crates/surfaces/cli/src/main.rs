//! The command `threadkeep`: threads on the command line, by a server or on the bare store.
//!
//! [`commands`] lists the commands, and [`cli`] finds the way from arguments to an exit code. Each group of commands lives in a file of its own, with its flags beside its
//! code, written once, against a client. [`reach`] finds the server, or opens the store and serves it [`inside`]
//! this process; [`context`] finds threads, [`out`] writes to stdout, [`failure`] prints errors.

// The future of a command that calls the engine in this process is a deep type.
#![recursion_limit = "256"]

mod agent;
mod agents;
mod allocator;
mod ask;
mod attached;
mod authority;
mod backup;
mod branch;
mod call;
mod cells;
mod chat;
mod cli;
mod code;
mod commands;
mod config;
mod context;
mod copy;
mod demo;
mod duration;
mod editor;
mod effects;
mod embedding;
mod emit;
mod env;
mod events;
mod examples;
mod exclusive;
mod export;
mod failure;
mod files;
mod follow;
mod found;
mod given;
mod health;
mod help;
mod import;
mod inject;
mod input;
mod inside;
mod keys;
mod lifecycle;
mod lines;
mod list;
mod lost;
mod markdown;
mod mcp;
mod memory;
mod merge;
mod message;
mod naming;
mod notify;
mod objects;
mod open;
mod out;
mod owner;
mod pager;
mod pages;
mod place;
mod plain;
mod progress;
mod projects;
mod reach;
mod reading;
mod refer;
mod refusal;
mod relate;
mod retry;
mod runs;
mod say;
mod screen;
mod search;
mod serve;
mod settings;
mod shell;
mod show;
mod spelling;
mod suggest;
mod text;
mod thread;
mod tools;
mod transfer;
mod tree;
mod tree_files;
mod upkeep;
mod values;
mod watch;
mod work;
mod writer;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A process that was started to run code does nothing else.
    threadkeep::worker_if_asked();
    #[cfg(feature = "failpoints")]
    let _scenario = fail::FailScenario::setup();
    cli::run(std::env::args_os().collect())
}
